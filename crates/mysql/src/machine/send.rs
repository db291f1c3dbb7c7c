//! The sending half: from the queue to the write buffer.

use super::batch::Batch;
use super::binding::Sending;
use super::block::Autocommit;
use super::pending::{Failure, PendingRequest, Stage, Used};
use super::reply::{Expect, ReplyKind};
use super::request::{AsText, Execute, ParameterRows, Request, VerbStatement};
use super::session::SessionState;
use super::stage::{RequestEvent, RequestState};
use super::statement::{Statement, are_numbers_of_rows};
use super::table::Together;
use super::verb::{COMMIT, ROLLBACK};
use super::wire::Wire;
use super::{LastPrepared, Machine, MyHandler, Phase};
use crate::errors::numbers::STMT_HAS_NO_OPEN_CURSOR;
use crate::packets::command::{self, Command, LAST_PREPARED};
use crate::packets::frame;
use crate::packets::reply::ServerError;
use crate::sql::{Scan, limits};
use crate::types::{Destination, Lists, encode_param, encode_param_for_mysql, splice_literal};
use headrace_core::verb::Effect;
use headrace_core::{
    Mismatch, Parameters, Pending as _, Reported, ResponseHandler, WhenLost, WriteBuffer, transaction,
};
use std::sync::Arc;

impl<H: MyHandler> Machine<H> {
    pub(super) fn send(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        if !matches!(self.phase, Phase::Ready) {
            return;
        }
        while !write_buffer.is_full() {
            let went_on = match self.queue.last().map(PendingRequest::state) {
                None | Some(RequestState::Sent) => true,
                Some(RequestState::Bindable) => {
                    self.bind_tail(cx, write_buffer);
                    true
                }
                Some(RequestState::Batch) => self.advance_batch(cx, write_buffer),
                Some(RequestState::Uploading) => self.abandon_upload(write_buffer),
                Some(RequestState::Preparing | RequestState::Queued | RequestState::Asking) => false,
            };
            if !went_on {
                return;
            }
            if matches!(self.queue.last().map(PendingRequest::state), None | Some(RequestState::Sent)) {
                if !self.may_start() || self.asks_for_status() {
                    return;
                }
                match self.queue.take_refused() {
                    Some(refused) => self.finish(cx, refused),
                    None => self.start_next(cx, write_buffer),
                }
            }
        }
    }

    /// Returns true if the next request can be sent after those that were started.
    fn may_start(&mut self) -> bool {
        if self.reservation.is_some() && !self.bring_forward() {
            return false;
        }
        self.queue.may_start() && self.expects.len() < self.window
    }

    /// Records that a reply to the last started request is to come.
    pub(super) fn expect(&mut self, sequence: u8, kind: ReplyKind) {
        self.expects.push_back(Expect { sequence, kind });
        if let Some(pending) = self.queue.last_mut() {
            pending.replies_due += 1;
        }
    }

    /// Takes the last started request out of the queue and ends it; if replies are to come, once they have.
    pub(super) fn drop_tail(&mut self, cx: H::Context<'_>, failure: Option<Failure<H>>) {
        let Some(pending) = self.queue.last_mut() else { return };
        pending.slot.failure = failure;
        if pending.replies_due > 0 {
            match pending.state() {
                // It waits for its replies already.
                RequestState::Sent => {}
                RequestState::Queued => pending.go(RequestEvent::StartNeedless, Stage::Sent),
                _ => pending.go(RequestEvent::Abandoned, Stage::Sent),
            }
        } else if let Some(pending) = self.queue.remove_last() {
            self.finish(cx, pending);
        }
    }

    /// Removes what the last started request has put into the write buffer since `mark`, when it expected `replies_due`
    /// replies, if none of it has been sent; returns true if it was removed.
    pub(super) fn take_back(&mut self, write_buffer: &mut WriteBuffer, mark: u64, replies_due: usize) -> bool {
        if !write_buffer.truncate(mark) {
            return false;
        }
        if let Some(at) = self.queue.last_at() {
            let pending = &mut self.queue[at];
            let taken = pending.replies_due - replies_due;
            pending.replies_due = replies_due;
            self.expects.truncate(self.expects.len() - taken);
        }
        true
    }

    fn start_next(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let at = self.queue.start();
        for id in self.statements.take_closed() {
            self.wire.write(write_buffer, |out| command::statement(out, Command::StmtClose, id));
        }
        self.take_kill(write_buffer);
        self.send_settings(write_buffer);
        if self.session.transaction.is_chained() {
            self.session.transaction.on(transaction::Event::Ended);
            self.own_query(&self.session.end(COMMIT), ReplyKind::Unchain, write_buffer);
        }
        if self.is_to_hold_block(at) {
            self.own_query("SET autocommit=0", ReplyKind::HoldBlock, write_buffer);
            self.autocommit = Autocommit::OffInBlock;
        }
        let pending = &mut self.queue[at];
        if !matches!(pending.request, Request::Execute(_) | Request::Prepare { .. }) {
            pending.go(RequestEvent::StartWhole, Stage::Sent);
        }
        let when_lost = pending.when_lost();
        let (ends_block, undoes) = (when_lost.is_end(), when_lost == WhenLost::RollsBack);
        let table_changes = pending.facts.changes.tables;
        self.tables_change(table_changes);
        match self.queue[at].request.clone() {
            Request::Execute(execute) => self.start_execute(at, &execute, cx, write_buffer),
            Request::Prepare { sql } => self.start_prepare(at, &sql, cx, write_buffer),
            Request::Verb(VerbStatement { sql, effect: Effect::Ends(_), .. }) if self.session.completes_otherwise => {
                self.own_query(&self.session.end(&sql), ReplyKind::Result { binary: false }, write_buffer);
            }
            Request::Query { sql, .. } | Request::Verb(VerbStatement { sql, .. }) => {
                let next = self.wire.write(write_buffer, |out| command::text(out, Command::Query, sql.as_bytes()));
                self.expect(next, ReplyKind::Result { binary: false });
            }
            Request::Fetch { cursor, rows } => self.start_fetch(at, cursor, rows, cx, write_buffer),
            Request::CloseCursor { cursor } => match self.cursors.remove(&cursor) {
                Some(statement) => {
                    let id = statement.id.unwrap_or(LAST_PREPARED);
                    let next = self.wire.write(write_buffer, |out| command::statement(out, Command::StmtReset, id));
                    self.expect(next, ReplyKind::Simple);
                    self.keep(statement);
                }
                None => self.drop_tail(cx, None),
            },
            Request::InitDb { schema } => {
                let next = self.wire.write(write_buffer, |out| command::text(out, Command::InitDb, schema.as_bytes()));
                self.expect(next, ReplyKind::Simple);
            }
            Request::Ping => {
                let next = self.wire.write(write_buffer, |out| command::bare(out, Command::Ping));
                self.expect(next, ReplyKind::Simple);
            }
            Request::Reserve => {
                self.reserve(self.queue[at].slot.id);
                if self.session.transaction == Reported::Doubtful {
                    // The answer has the status that the last error did not contain.
                    let next = self.wire.write(write_buffer, |out| command::bare(out, Command::Ping));
                    self.expect(next, ReplyKind::Simple);
                } else {
                    self.drop_tail(cx, None);
                }
            }
            // [`PendingRequest::new`] has unwrapped it.
            Request::Within { .. } => self.drop_tail(cx, None),
            Request::ResetConnection => {
                // The server forgets every statement with it, and every setting.
                self.statements.lost_all();
                self.forget_settings();
                self.cursors.clear();
                self.last_prepared = LastPrepared::Unknown;
                let next = self.wire.write(write_buffer, |out| command::bare(out, Command::ResetConnection));
                self.expect(next, ReplyKind::Simple);
                self.autocommit.take_off_in_block();
            }
        }
        if ends_block && self.autocommit.take_off_in_block() {
            if undoes && self.session.mariadb {
                self.own_query(&self.session.end(ROLLBACK), ReplyKind::SecondRollback, write_buffer);
            }
            self.own_query("SET autocommit=1", ReplyKind::Restore, write_buffer);
        }
    }

    /// Sends a statement that absorbs a KILL QUERY that has come too late for its own statement, if there may be one;
    /// returns true if it did. The statement uses no table: MySQL 5.6 checks the mark only after it, when there is
    /// nothing to interrupt.
    pub(super) fn take_kill(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let due = std::mem::take(&mut self.kill_due);
        if due {
            self.own_query("DO 0", ReplyKind::Kill, write_buffer);
        }
        due
    }

    /// Sends a statement of our own.
    pub(super) fn own_query(&mut self, sql: &str, kind: ReplyKind, write_buffer: &mut WriteBuffer) {
        let next = self.wire.write(write_buffer, |out| command::text(out, Command::Query, sql.as_bytes()));
        self.expect(next, kind);
    }

    fn start_fetch(&mut self, at: usize, cursor: u64, rows: u32, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(statement) = self.cursors.get(&cursor).cloned() else {
            let text = "the cursor is not open any more: it has given its last row, or was closed";
            let error = ServerError::of_driver(STMT_HAS_NO_OPEN_CURSOR, text);
            return self.drop_tail(cx, Some(Failure::Server { error, row: None }));
        };
        let id = statement.id.unwrap_or(LAST_PREPARED);
        let pending = &mut self.queue[at];
        pending.used = Some(Used::Own(statement));
        let next = self.wire.write(write_buffer, |out| command::fetch(out, id, rows));
        self.expect(next, ReplyKind::Fetch);
    }

    fn prepare(&mut self, sql: &str, write_buffer: &mut WriteBuffer) {
        if self.last_prepared == LastPrepared::None {
            self.last_prepared = LastPrepared::Ours;
        }
        let next = self.wire.write(write_buffer, |out| command::text(out, Command::StmtPrepare, sql.as_bytes()));
        self.expect(next, ReplyKind::Prepare);
    }

    fn start_prepare(&mut self, at: usize, sql: &Arc<str>, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        // A statement that is sent as text has no description.
        match self.statements.get(sql).filter(|statement| statement.id.is_some()).cloned() {
            Some(statement) => {
                if let Some(handler) = &mut self.queue[at].slot.handler {
                    statement.describe(cx, handler);
                }
                self.drop_tail(cx, None);
            }
            None => {
                self.queue[at].go(RequestEvent::StartPrepare, Stage::Preparing { is_executed: false });
                self.prepare(sql, write_buffer);
            }
        }
    }

    fn start_execute(&mut self, at: usize, execute: &Execute, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let sql = &execute.sql;
        if let Some((table, insert)) = Batch::insert(execute, &self.session) {
            let handler = self.queue[at].slot.handler.as_ref();
            // One row is not sent with another.
            let is_single = handler.is_none_or(|handler| handler.rows_in_all(cx).is_some_and(|rows| rows < 2));
            let together = if is_single { Some(Together::Freely) } else { self.together(&table, insert.is_none()) };
            let Some(together) = together else { return self.ask_about_table(at, table, write_buffer) };
            self.queue[at].is_strict = together == Together::Strictly;
            if let Some(insert) = insert.filter(|_| together != Together::Never) {
                let batch = Batch::without_preparing(execute, insert, &self.session);
                return self.queue[at].go(RequestEvent::StartBatch, Stage::Batch(Box::new(batch)));
            }
        }
        let always = execute.text == AsText::Always;
        let known = if always { Some(Arc::new(Statement::text(sql.clone()))) } else { self.known(execute) };
        let pending = &mut self.queue[at];
        if let Some(statement) = known {
            pending.used = Some(if always { Used::Own(statement) } else { Used::Cached(statement) });
            pending.go(RequestEvent::StartKnown, Stage::Bindable);
            return self.bind_tail(cx, write_buffer);
        }
        let scan = Scan::new(sql, self.session.modes());
        let given = pending.slot.handler.as_mut().map(|handler| handler.params(cx).count());
        let is_given_none = given == Some(0) && execute.rows == ParameterRows::One;
        // Without any, the count is wrong.
        let may_write = execute.text != AsText::Never && !is_given_none;
        pending.literal = false;
        let binds = self.session.binds(sql, &scan);
        // Nothing has to be put into it, so it does not matter what its comments are.
        let is_whole = is_given_none && scan.placeholders.is_empty() && !scan.several;
        let differs = is_whole && self.session.executes_otherwise(&scan);
        if !self.session.prepares(&scan) || differs || may_write && !binds {
            if execute.cursor.is_some() && !scan.diagnoses && self.session.opens_cursor(sql) {
                return self.prepare_literal(at, sql, RequestEvent::StartPrepare, cx, write_buffer);
            }
            // It is sent as text from now on; parameters that only the server sees need it prepared.
            let statement = Arc::new(Statement::text(sql.clone()));
            pending.used = Some(Used::Own(statement.clone()));
            pending.go(RequestEvent::StartKnown, Stage::Bindable);
            if !scan.uncertain && self.statements.get(sql).is_none() {
                self.keep(statement);
            }
            return self.bind_tail(cx, write_buffer);
        }
        pending.go(RequestEvent::StartPrepare, Stage::Preparing { is_executed: false });
        // The server's count of parameters must be certain.
        let countable = !scan.uncertain && given == Some(scan.placeholders.len());
        let one = execute.rows == ParameterRows::One && execute.cursor.is_none();
        let known = self.last_prepared != LastPrepared::Unknown;
        let limits = limits(sql, self.session.modes());
        // As for a statement that is known.
        let handler = pending.slot.handler.as_mut();
        let is_bound = handler.is_none_or(|handler| are_numbers_of_rows(&handler.params(cx), &limits));
        if one && countable && is_bound && known && self.session.prepares_ahead() && self.window > 1 {
            return self.execute_ahead(at, sql, cx, write_buffer);
        }
        self.prepare(sql, write_buffer);
    }

    /// The cached statement that an execution can use.
    fn known(&mut self, execute: &Execute) -> Option<Arc<Statement>> {
        let known = self.statements.get(&execute.sql)?;
        if !known.binds && execute.text != AsText::Never {
            // It was prepared to be described.
            return None;
        }
        match execute.cursor {
            None => Some(known.clone()),
            // A cursor has its statement for itself, with its parameters bound.
            Some(_) if self.session.mariadb && known.id.is_some() => {
                let scan = Scan::new(&execute.sql, self.session.modes());
                let binds = execute.text == AsText::Never || self.session.binds(&execute.sql, &scan);
                if binds { self.statements.take(&execute.sql) } else { None }
            }
            Some(_) => None,
        }
    }

    /// Sends COM_STMT_PREPARE with literals in the place of the parameters, for a cursor.
    fn prepare_literal(
        &mut self,
        at: usize,
        sql: &Arc<str>,
        event: RequestEvent,
        cx: H::Context<'_>,
        write_buffer: &mut WriteBuffer,
    ) {
        let statement = Statement::text(sql.clone());
        let pending = &mut self.queue[at];
        let Some(handler) = &mut pending.slot.handler else { return self.drop_tail(cx, None) };
        let command = Command::StmtPrepare;
        match write_text(&mut self.wire, &self.session, handler, &statement, command, cx, write_buffer) {
            Ok(next) => {
                pending.literal = true;
                pending.used = None;
                pending.go(event, Stage::Preparing { is_executed: false });
                if self.last_prepared == LastPrepared::None {
                    self.last_prepared = LastPrepared::Ours;
                }
                self.expect(next, ReplyKind::Prepare);
            }
            Err(error) => self.drop_tail(cx, Some(Failure::Client { error, row: None })),
        }
    }

    /// Sends COM_STMT_EXECUTE in the same round trip as COM_STMT_PREPARE. The statement prepared before is then no
    /// longer the last one: see [`LastPrepared`].
    fn execute_ahead(&mut self, at: usize, sql: &str, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let (mark, replies_due) = (write_buffer.mark(), self.queue[at].replies_due);
        if self.last_prepared == LastPrepared::Ours {
            let next = self.wire.write(write_buffer, |out| command::text(out, Command::StmtPrepare, b"DO 0"));
            self.expect(next, ReplyKind::Displaced);
            self.wire.write(write_buffer, |out| command::statement(out, Command::StmtClose, LAST_PREPARED));
        }
        self.prepare(sql, write_buffer);
        let Some(handler) = &mut self.queue[at].slot.handler else { return };
        let lists = |_| self.session.lists(sql);
        let how = Execution { id: LAST_PREPARED, params: handler.params(cx).count(), statement: None, flags: 0 };
        match write_execute(&mut self.wire, &self.session, handler, how, lists, cx, write_buffer) {
            Ok(next) => {
                *self.queue[at].stage_mut() = Stage::Preparing { is_executed: true };
                self.expect(next, ReplyKind::ResultWithPrepare);
            }
            Err(error) => {
                self.take_back(write_buffer, mark, replies_due);
                self.drop_tail(cx, Some(Failure::Client { error, row: None }));
            }
        }
    }

    /// The statement of the last started request is known: executes it, or begins its batch.
    fn bind_tail(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let pending = &mut self.queue[at];
        let (Request::Execute(execute), Some(statement)) = (pending.request.clone(), pending.statement().cloned())
        else {
            return self.drop_tail(cx, None);
        };
        if pending.slot.handler.is_none() {
            // Discarded while it was being prepared.
            if execute.cursor.is_some() {
                self.keep(statement);
            }
            return self.drop_tail(cx, None);
        }
        if let Some(error) = self.queue.refusal(self.queue[at].slot.block) {
            // The transaction has ended while it was being prepared.
            return self.drop_tail(cx, Some(Failure::Client { error, row: None }));
        }
        let pending = &mut self.queue[at];
        let Some(handler) = &mut pending.slot.handler else { return };
        if let ParameterRows::Batch { .. } = execute.rows {
            pending
                .go(RequestEvent::BatchBegun, Stage::Batch(Box::new(Batch::new(&execute, &statement, &self.session))));
            return;
        }
        let sending = statement.sending(&handler.params(cx));
        let statement = match sending {
            Sending::Bound => statement,
            Sending::Again => {
                // A new one is bound to nothing.
                pending.go(RequestEvent::Rebound, Stage::Preparing { is_executed: false });
                pending.used = None;
                self.statements.take(&execute.sql);
                self.statements.close(&statement);
                return self.prepare(&execute.sql, write_buffer);
            }
            Sending::Written if execute.cursor.is_some() => {
                self.statements.close(&statement);
                return self.prepare_literal(at, &execute.sql, RequestEvent::Rebound, cx, write_buffer);
            }
            Sending::Written => {
                let statement = Arc::new(Statement::text(execute.sql.clone()));
                pending.used = Some(Used::Own(statement.clone()));
                statement
            }
        };
        let cursor = execute.cursor.filter(|_| statement.id.is_some() && self.session.opens_cursor(&execute.sql));
        let flags = if cursor.is_some() { command::CURSOR_TYPE_READ_ONLY } else { 0 };
        match write_row(&mut self.wire, &self.session, handler, &statement, flags, cx, write_buffer) {
            Ok(next) => {
                let stage = if cursor.is_some() { Stage::Opening { warnings: 0 } } else { Stage::Sent };
                pending.go(RequestEvent::Executed, stage);
                self.expect(next, ReplyKind::Result { binary: statement.id.is_some() });
                if let (Some(rows), Some(id)) = (cursor, statement.id) {
                    let next = self.wire.write(write_buffer, |out| command::fetch(out, id, rows));
                    self.expect(next, ReplyKind::Fetch);
                }
            }
            Err(error) => {
                if execute.cursor.is_some() {
                    self.keep(statement);
                }
                self.drop_tail(cx, Some(Failure::Client { error, row: None }));
            }
        }
    }
}

/// Sends the response handler's current row: by COM_STMT_EXECUTE, or as text for a statement without a number. Nothing
/// is appended on an error.
pub(super) fn write_row<H: MyHandler>(
    wire: &mut Wire,
    session: &SessionState,
    handler: &mut H,
    statement: &Statement,
    flags: u8,
    cx: H::Context<'_>,
    write_buffer: &mut WriteBuffer,
) -> Result<u8, H::Error> {
    if let Some(id) = statement.id {
        let given = handler.params(cx).count();
        if given != statement.params && !statement.literal {
            return Err(count_mismatch(statement.params, given).into());
        }
        let lists = |i| match session.mariadb {
            true => session.lists(&statement.sql),
            false if statement.vectors.contains(&i) => Lists::Vector,
            false => Lists::Refused,
        };
        let how = Execution { id, params: statement.params, statement: Some(statement), flags };
        return write_execute(wire, session, handler, how, lists, cx, write_buffer);
    }
    write_text(wire, session, handler, statement, Command::Query, cx, write_buffer)
}

/// Sends a command with the text of a statement, the response handler's current row as literals in it. Nothing is
/// appended on an error.
fn write_text<H: MyHandler>(
    wire: &mut Wire,
    session: &SessionState,
    handler: &mut H,
    statement: &Statement,
    command: Command,
    cx: H::Context<'_>,
    write_buffer: &mut WriteBuffer,
) -> Result<u8, H::Error> {
    let sql = &statement.sql;
    let params = handler.params(cx);
    let scan = statement.scan(session.modes());
    if params.count() > 0 && scan.uncertain {
        return Err(Mismatch::wrong_type(
            "parameters cannot be put into this text: it has a comment that is executed, a string without end, or several \
             statements of which one may change what a backslash or a double quote is (sql_mode)",
        )
        .into());
    }
    if params.count() > 0 && params.count() != scan.placeholders.len() {
        return Err(count_mismatch(scan.placeholders.len(), params.count()).into());
    }
    let lists = session.lists_of(&scan);
    wire.try_write(write_buffer, |out| {
        frame::try_packet(out, 0, |out| {
            out.push(command as u8);
            let mut at = 0;
            for (i, placeholder) in scan.placeholders.iter().enumerate().take(params.count()) {
                out.extend_from_slice(&sql.as_bytes()[at..*placeholder]);
                at = placeholder + 1;
                splice_literal(&params.get(i)?, lists, &sql.as_bytes()[at..], out)?;
            }
            out.extend_from_slice(&sql.as_bytes()[at..]);
            Ok(())
        })
    })
}

/// One COM_STMT_EXECUTE.
struct Execution<'a> {
    /// The number of the statement.
    id: u32,
    /// The number of its parameters.
    params: usize,
    /// The statement, once it is prepared.
    statement: Option<&'a Statement>,
    flags: u8,
}

/// Sends COM_STMT_EXECUTE. `lists` selects how a list is sent as a parameter.
fn write_execute<H: ResponseHandler>(
    wire: &mut Wire,
    session: &SessionState,
    handler: &mut H,
    execution: Execution<'_>,
    lists: impl Fn(usize) -> Lists,
    cx: H::Context<'_>,
    write_buffer: &mut WriteBuffer,
) -> Result<u8, H::Error> {
    let params = handler.params(cx);
    let Execution { id, params: count, statement, flags } = execution;
    wire.try_write(write_buffer, |out| {
        command::execute(out, id, flags, count, |i, out| {
            let value = params.get(i)?;
            match session.mariadb {
                true => encode_param(&value, || lists(i), out),
                false => {
                    let target = statement.map_or(Destination::Expression, |statement| statement.target(i));
                    encode_param_for_mysql(&value, target, || lists(i), out)
                }
            }
        })
    })
}

pub(super) fn count_mismatch(expected: usize, given: usize) -> Mismatch {
    Mismatch::wrong_type(format!(
        "the statement has {expected} parameter{}, but {given} {} given",
        if expected == 1 { "" } else { "s" },
        if given == 1 { "was" } else { "were" },
    ))
}
