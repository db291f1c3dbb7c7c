//! Refusals: replies that are errors, and what of them makes the driver send a statement in another way. MySQL:
//! "ERR_Packet", "Error Message Reference".

use super::pending::{Stage, Used};
use super::reply::ReplyKind;
use super::request::{AsText, Execute, ParameterRows, Request, VerbStatement};
use super::stage::RequestEvent;
use super::statement::Statement;
use super::{Machine, MyHandler};
use crate::errors::numbers::{
    AGGREGATE_IN_ORDER_NOT_SELECT, AGGREGATE_ORDER_NON_AGG_QUERY, FIELD_IN_ORDER_NOT_SELECT,
    IMPOSSIBLE_STRING_CONVERSION, MAX_PREPARED_STMT_COUNT_REACHED, MIX_OF_GROUP_FUNC_AND_FIELDS, NEED_REPREPARE,
    NON_DML_DYNAMIC_PARAMETERS, PARSE_ERROR, PS_MANY_PARAM, SP_NOT_VAR_ARG, UNKNOWN_STMT_HANDLER, UNSUPPORTED_PS,
    WRONG_FIELD_WITH_GROUP,
};
use crate::packets::capabilities::StatusFlags;
use crate::packets::reply::ServerError;
use crate::sql::{Modes, Scan, is_one_of, verb};
use headrace_core::Session as _;
use headrace_core::transaction;
use headrace_core::verb::Effect;
use headrace_core::{Fatal, FatalKind, IN_DOUBT};
use std::sync::Arc;

/// Returns true if no other statement is executed in the course of a statement that could end with an error about a
/// prepared statement of its own: a procedure may (EXECUTE, DEALLOCATE PREPARE), after it has changed something;
/// functions and triggers have no such statements.
fn executes_no_prepared(sql: &str) -> bool {
    const VERBS: [&str; 7] = ["select", "insert", "replace", "update", "delete", "with", "do"];
    verb(sql).is_some_and(|verb| is_one_of(verb, &VERBS))
}

/// Returns true if the server has refused a prepared statement before it executed anything of it.
pub(super) fn is_stale(error: &ServerError, statement: &Statement) -> bool {
    let Some(id) = statement.id else { return false };
    match error.code {
        UNKNOWN_STMT_HANDLER => executes_no_prepared(&statement.sql) || error.message.contains(&format!("({id})")),
        NEED_REPREPARE => executes_no_prepared(&statement.sql),
        _ => false,
    }
}

/// Returns true if a value was refused for the character set of its parameter, which MySQL (9.7 is one) takes from a
/// column when it prepares the statement, and does not update when the column gets another one. Nothing was executed;
/// but other rows of a batch may have been.
pub(super) fn is_of_another_charset(error: &ServerError, statement: &Statement) -> bool {
    error.code == IMPOSSIBLE_STRING_CONVERSION
        && error.message.ends_with("parameter")
        && statement.id.is_some()
        && executes_no_prepared(&statement.sql)
}

/// Returns true if a query was refused for what it selects or orders by beside groups: a column that is compared with a
/// literal is a constant, and one that is compared with a parameter is none.
fn groups_otherwise(code: u16) -> bool {
    matches!(
        code,
        WRONG_FIELD_WITH_GROUP
            | MIX_OF_GROUP_FUNC_AND_FIELDS
            | AGGREGATE_ORDER_NON_AGG_QUERY
            | FIELD_IN_ORDER_NOT_SELECT
            | AGGREGATE_IN_ORDER_NOT_SELECT
    )
}

/// Returns true if literals can be put in the place of a statement's parameters.
pub(super) fn takes_literals(sql: &str, modes: Modes) -> bool {
    let scan = Scan::new(sql, modes);
    !scan.placeholders.is_empty() && scan.takes_literals()
}

impl<H: MyHandler> Machine<H> {
    /// The reply is an error.
    pub(super) fn failed(&mut self, cx: H::Context<'_>, kind: ReplyKind, mut error: ServerError) -> Result<(), Fatal> {
        let goodbye = error
            .is_fatal()
            .then(|| Fatal::new(FatalKind::SessionEnded, format!("the server ended the session: {}", error.message)));
        if goodbye.is_some() {
            if error.ends_midway() && self.is_executed(kind) {
                error = error.of_unknown_outcome();
            }
            self.closing_error = Some(error.clone());
        }
        self.mark_transaction_doubtful(&error);
        if error.ends_transaction() {
            self.session.transaction.on(transaction::Event::Doubted);
        }
        if !self.session.status.contains(StatusFlags::AUTOCOMMIT) {
            self.session.holds_locks = true;
        }
        if let Some(reason) = Self::own_refused(kind, &error.message) {
            return Err(reason);
        }
        if kind == ReplyKind::Kill && goodbye.is_none() {
            return self.answered(cx);
        }
        if kind == ReplyKind::Table && goodbye.is_none() {
            self.table_is_refused(error);
            return self.table_is_known(cx);
        }
        if kind == ReplyKind::Displaced && goodbye.is_none() {
            // The statement that the new one displaced was closed after it was prepared; there is no room for more.
            self.forget_statements();
            return self.answered(cx);
        }
        let alone = self.queue.started() == 1;
        let statement = self.front()?.statement().cloned();
        let stale = statement.as_ref().is_some_and(|statement| is_stale(&error, statement));
        if stale || error.code == 0 {
            self.forget(error.code)?;
        }
        let narrow = statement.filter(|statement| is_of_another_charset(&error, statement));
        if let Some(statement) = &narrow {
            statement.narrow();
        }
        let modes = self.session.modes();
        let id = self.front()?.slot.id;
        let cursor_open = self.cursors.contains_key(&id);
        let pending = self.front()?;
        if goodbye.is_none() && pending.request.is_end_refused_by(&error) {
            if pending.slot.handler.is_none() {
                // Nobody is told. The next end would find no transaction, or one with what was to be undone, and succeed.
                return Err(Fatal::end_failed(&error.message));
            }
            if error.is_interruption()
                && let Some(interrupted) = pending.request.interrupted_end()
            {
                return self.end_again(cx, interrupted, error);
            }
        }
        let cursor = matches!(&pending.request, Request::Execute(execute) if execute.cursor.is_some());
        match kind {
            ReplyKind::Prepare => {
                self.not_prepared(error)?;
            }
            // The execution after a preparation that failed.
            ReplyKind::ResultWithPrepare if pending.statement().is_none_or(|statement| statement.id.is_none()) => {}
            // The fetch after an execution that failed, or that opened no cursor.
            ReplyKind::Fetch if cursor && !cursor_open && pending.begins_again && alone => {
                return self.retry(cx, error);
            }
            ReplyKind::Fetch if cursor && !cursor_open => {}
            ReplyKind::Result { .. } if stale && pending.is_from_cache() && alone && pending.slot.may_repeat() => {
                return self.retry(cx, error);
            }
            ReplyKind::Result { .. } if narrow.is_some() && alone && pending.may_be_written(modes) => {
                pending.write_literals();
                return self.retry(cx, error);
            }
            _ if matches!(pending.stage(), Stage::Batch(_)) => self.batch_reply(kind, Err(error))?,
            _ => {
                if error.code == SP_NOT_VAR_ARG && pending.went_as_text() {
                    error.message.push_str(
                        "; the parameters were literals, because one of them is part of an expression, or because the \
                         server has prepared no more statements (max_prepared_stmt_count): use callproc(), or raise \
                         that limit",
                    );
                }
                let statement = pending.statement().cloned().filter(|_| cursor && !stale);
                let fetched = if let Request::Fetch { cursor, .. } = pending.request { Some(cursor) } else { None };
                pending.slot.fail(error);
                if let Some(statement) = fetched.and_then(|cursor| self.cursors.remove(&cursor)) {
                    // The state of the cursor after an error is unknown.
                    self.statements.close(&statement);
                }
                if let (ReplyKind::Result { .. }, Some(statement)) = (kind, statement) {
                    self.keep(statement);
                }
            }
        }
        match goodbye {
            Some(reason) => {
                self.answered(cx)?;
                Err(reason)
            }
            None => self.answered(cx),
        }
    }

    /// Returns true if the reply is that of a statement of the program or of a row, or of the end of a transaction.
    fn is_executed(&self, kind: ReplyKind) -> bool {
        use ReplyKind::{Chunk, Commit, Repeat, Result, ResultWithPrepare, Row};
        let is_program = |request: &Request| match request {
            Request::Verb(VerbStatement { effect, .. }) => matches!(effect, Effect::Ends(_)),
            _ => true,
        };
        match kind {
            Result { .. } => self.queue.first().is_some_and(|pending| is_program(&pending.request)),
            _ => matches!(kind, ResultWithPrepare | Row { .. } | Chunk | Repeat | Commit),
        }
    }

    /// Why the session cannot go on if the error is the reply to a command of the driver's own.
    fn own_refused(kind: ReplyKind, message: &str) -> Option<Fatal> {
        match kind {
            // Without it the next statements would be committed one by one.
            ReplyKind::AutocommitOff | ReplyKind::HoldBlock => {
                Some(Fatal::peer(format!("the server did not turn autocommit off: {message}; {IN_DOUBT}")))
            }
            // What comes after it has committed what was to be undone.
            ReplyKind::SecondRollback => {
                Some(Fatal::peer(format!("the server did not roll back: {message}; {IN_DOUBT}")))
            }
            // What it comes after may be committed.
            ReplyKind::Restore => Some(Fatal::peer(format!(
                "the server did not take back a setting of the driver's: {message}; {IN_DOUBT}"
            ))),
            // The next statements would be part of it, and be lost with it.
            ReplyKind::Unchain => Some(Fatal::end_failed(message)),
            _ => Self::charsets_refused(kind, message),
        }
    }

    /// The statement of the request in front is of no use any more.
    fn forget(&mut self, code: u16) -> Result<(), Fatal> {
        let Some(statement) = self.front()?.statement().cloned() else { return Ok(()) };
        if code == UNKNOWN_STMT_HANDLER {
            self.statements.take(&statement.sql);
        } else {
            self.statements.forget(&statement.sql);
        }
        Ok(())
    }

    /// COM_STMT_PREPARE failed.
    fn not_prepared(&mut self, error: ServerError) -> Result<(), Fatal> {
        let modes = self.session.modes();
        let pending = self.front()?;
        let sql = pending.request.sql().cloned();
        let execute = matches!(&pending.request, Request::Execute(execute) if execute.text != AsText::Never);
        let single = execute && matches!(&pending.request, Request::Execute(Execute { rows: ParameterRows::One, .. }));
        match (error.code, sql) {
            // There may be no parameters there (CREATE USER ... IDENTIFIED BY ?), but literals: as text, this time.
            (PARSE_ERROR | NON_DML_DYNAMIC_PARAMETERS, Some(sql)) if single && takes_literals(&sql, modes) => {
                pending.used = Some(Used::Own(Arc::new(Statement::text(sql))));
                pending.go(RequestEvent::GoesAsText, Stage::Bindable);
            }
            // It is sent as text from now on.
            (code, Some(sql))
                if execute
                    && (matches!(code, UNSUPPORTED_PS | PS_MANY_PARAM)
                        || groups_otherwise(code) && takes_literals(&sql, modes)) =>
            {
                let statement = Arc::new(Statement::text(sql));
                pending.used = Some(Used::Own(statement.clone()));
                pending.go(RequestEvent::GoesAsText, Stage::Bindable);
                self.keep(statement);
            }
            // It is sent as text this time, and cached statements are closed to make room.
            (MAX_PREPARED_STMT_COUNT_REACHED, Some(sql)) if execute => {
                pending.used = Some(Used::Own(Arc::new(Statement::text(sql))));
                pending.go(RequestEvent::GoesAsText, Stage::Bindable);
                self.forget_statements();
            }
            _ => {
                pending.slot.fail(error);
                pending.go(RequestEvent::Refused, Stage::Sent);
            }
        }
        Ok(())
    }

    /// Drops a statement that the server does not have any more from the cache, and runs its request again. Nothing was
    /// executed, and nothing later is in flight, so the order stays.
    ///
    /// A fetch may be in flight after it, whose error comes next: then it is run again after that, or ends with this error
    /// if a later request was started in the meantime.
    pub(super) fn retry(&mut self, cx: H::Context<'_>, error: ServerError) -> Result<(), Fatal> {
        let pending = self.front()?;
        if pending.replies_due > 1 {
            pending.begins_again = true;
            pending.slot.fail(error);
            return self.answered(cx);
        }
        pending.begins_again = false;
        pending.used = None;
        pending.go(RequestEvent::Again, Stage::Queued);
        pending.slot.repeat();
        pending.replies_due = 0;
        self.expects.pop_front();
        self.queue.unstart();
        Ok(())
    }
}
