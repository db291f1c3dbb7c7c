//! Replies: the first packet of each, the description of its rows, and its end. MySQL: "COM_QUERY Response",
//! "COM_STMT_PREPARE Response", "COM_STMT_EXECUTE Response"; MariaDB: "Result set packets".

use super::binding::{Binding, Expected};
use super::pending::{Stage, Used};
use super::request::{Request, VerbStatement};
use super::stage::{RequestEvent, RequestState};
use super::statement::{Columns, Draft, Statement};
use super::{LastPrepared, Machine, MyHandler};
use crate::packets::body::Body;
use crate::packets::capabilities::{Capabilities, StatusFlags};
use crate::packets::column::{Column, PrepareOk};
use crate::packets::header;
use crate::packets::reply::{Completion, ServerError, StateChange};
use crate::sql::{ModesAfter, Scan, limits};
use crate::types::ColumnType;
use headrace_core::Session as _;
use headrace_core::protocol::Summary;
use headrace_core::transaction;
use headrace_core::verb::Effect;
use headrace_core::{Fatal, WriteBuffer};
use std::sync::Arc;

/// An expected reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expect {
    /// The number that its first packet must have.
    pub sequence: u8,
    pub kind: ReplyKind,
}

/// The command that a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// COM_STMT_PREPARE.
    Prepare,
    /// The response handler's statement, its rows in the binary protocol or as text.
    Result { binary: bool },
    /// The same, sent in the same round trip as COM_STMT_PREPARE.
    ResultWithPrepare,
    /// COM_STMT_FETCH.
    Fetch,
    /// A command that is answered by an OK packet alone.
    Simple,
    /// A row of a batch, in the binary protocol or as text.
    Row { binary: bool },
    /// Many rows of a batch.
    Chunk,
    /// The question whether the rows of a batch can be joined.
    Table,
    /// The statement that opens the guard of a batch: a savepoint, `SET autocommit=0`.
    Guard,
    /// Back to before the chunk that failed.
    Undo,
    /// One row of the chunk that failed, again.
    Repeat,
    /// COMMIT of a batch.
    Commit,
    /// RELEASE SAVEPOINT or ROLLBACK of a batch.
    Release,
    /// ROLLBACK TO SAVEPOINT of a batch.
    RollbackTo,
    /// A ROLLBACK without which rows of a failed batch or block would stay: the second one before `SET autocommit=1`, which
    /// would commit what the first has left ([`super::interrupted`]), and that of a transaction which later rows have begun.
    SecondRollback,
    /// `SET autocommit=1` after a batch or a block.
    Restore,
    /// `SET autocommit=0` before a request, as the program asked for: see [`Machine::commit_manually`].
    AutocommitOff,
    /// `SET autocommit=0` in a block or before a batch, for the rest of the block.
    HoldBlock,
    /// `SET NAMES` before the first request, with `autocommit=0` if that is due.
    Setup,
    /// The statement that sets the character sets back.
    Charset,
    /// The question whether they are utf8mb4.
    Ask,
    /// COMMIT of a transaction that the server has chained to one that the driver has ended.
    Unchain,
    /// COM_STMT_PREPARE of `DO 0`, which is closed at once: the statement before it is then no longer the last prepared
    /// one.
    Displaced,
    /// `DO 0`, which absorbs a KILL QUERY that came too late.
    Kill,
}

impl ReplyKind {
    /// Returns true if rows and results are the response handler's.
    pub fn is_for_handler(self) -> bool {
        matches!(
            self,
            ReplyKind::Result { .. }
                | ReplyKind::ResultWithPrepare
                | ReplyKind::Fetch
                | ReplyKind::Row { .. }
                | ReplyKind::Simple
        )
    }

    /// Returns true if the command decides what becomes of the statements that are in flight with it. If it does not take
    /// place the connection is closed, or the rows of a batch are committed one by one.
    fn is_setting(self) -> bool {
        use ReplyKind::{Ask, AutocommitOff, Charset, HoldBlock, Restore, Setup, Unchain};
        matches!(self, Setup | Ask | Charset | AutocommitOff | HoldBlock | Unchain | Restore)
    }

    pub fn is_binary(self) -> bool {
        !matches!(
            self,
            ReplyKind::Result { binary: false }
                | ReplyKind::Row { binary: false }
                | ReplyKind::Simple
                | ReplyKind::Table
        )
    }
}

/// The progress of the reply at the front.
#[derive(Debug)]
pub(super) enum Reply {
    /// Its first packet, or that of its next result, is to come.
    First,
    /// Column definitions.
    Definitions { left: usize, draft: Draft },
    /// The EOF packet after them, without DEPRECATE_EOF.
    DefinitionsEnd { columns: Arc<Columns> },
    /// Rows.
    Rows {
        columns: Arc<Columns>,
        /// The status before the rows of OUT parameters (that they are such, and that more follows): MySQL 5.6 does not
        /// repeat it after them. Empty for other rows.
        announced: StatusFlags,
    },
    /// COM_STMT_PREPARE: definitions of parameters, then of columns, each with an EOF packet after without
    /// DEPRECATE_EOF.
    Prepared { ok: PrepareOk, params_left: usize, columns_left: usize, draft: Draft },
}

impl<H: MyHandler> Machine<H> {
    /// The first packet of a reply, or of the next result of a reply with several.
    pub(super) fn first(
        &mut self,
        cx: H::Context<'_>,
        kind: ReplyKind,
        sequence: u8,
        payload: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        match (kind, payload) {
            (_, [header::ERR, ..]) => self.failed(cx, kind, ServerError::read(payload, self.session.numbering())?),
            (ReplyKind::Prepare, _) => {
                let ok = PrepareOk::read(payload)?;
                let (params_left, columns_left) = (self.definitions(ok.params), self.definitions(ok.columns));
                if params_left + columns_left == 0 {
                    return self.prepared(cx, ok, Draft::default());
                }
                self.reply = Reply::Prepared { ok, params_left, columns_left, draft: Draft::default() };
                Ok(())
            }
            (ReplyKind::Displaced, _) => {
                PrepareOk::read(payload)?;
                self.answered(cx)
            }
            (ReplyKind::Fetch, _) => {
                let pending = self.front()?;
                let columns = pending.statement().and_then(|statement| statement.columns());
                let columns = columns.ok_or_else(|| Fatal::peer("the server sent rows of an unknown cursor"))?;
                // Not when it was sent: the columns may not have been known yet.
                if let Some(handler) = &mut pending.slot.handler {
                    handler.columns(cx, &columns);
                }
                self.reply = Reply::Rows { columns, announced: StatusFlags::empty() };
                self.packet(cx, sequence, payload, write_buffer)
            }
            (_, [header::OK, ..]) => {
                let (ok, changes) = Completion::read_ok(payload, self.session.capabilities)?;
                self.completed(cx, kind, Some(ok.affected_rows), StatusFlags::empty(), ok, changes)
            }
            (_, [header::LOCAL_INFILE_REQUEST, name @ ..]) => {
                self.local_infile(cx, name, sequence.wrapping_add(1), write_buffer)
            }
            _ => {
                let mut body = Body::new("column count", payload);
                let left = usize::try_from(body.lenenc()?).unwrap_or(usize::MAX);
                let cached = self.session.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA);
                if cached && body.u8()? == 0 {
                    let columns = self.front()?.statement().and_then(|statement| statement.columns());
                    let columns = columns.filter(|columns| columns.fields.len() == left);
                    let columns = columns
                        .ok_or_else(|| Fatal::peer("the server left out column definitions that it never sent"))?;
                    if self.session.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                        return self.described(cx, kind, columns, StatusFlags::empty());
                    }
                    self.reply = Reply::DefinitionsEnd { columns };
                    return Ok(());
                }
                if left == 0 || left > usize::from(u16::MAX) {
                    return Err(Fatal::peer(format!("the server announced {left} columns")));
                }
                self.reply = Reply::Definitions { left, draft: Draft::default() };
                Ok(())
            }
        }
    }

    /// The number of packets that describe `count` parameters or columns.
    fn definitions(&self, count: u16) -> usize {
        let eof = !self.session.capabilities.contains(Capabilities::DEPRECATE_EOF);
        if count == 0 { 0 } else { usize::from(count) + usize::from(eof) }
    }

    /// The columns of a result are known; rows follow. `announced` is the status of [`Reply::Rows`].
    pub(super) fn described(
        &mut self,
        cx: H::Context<'_>,
        kind: ReplyKind,
        columns: Arc<Columns>,
        announced: StatusFlags,
    ) -> Result<(), Fatal> {
        let pending = self.front()?;
        if let Some(statement) = pending.statement().filter(|_| columns.binary) {
            statement.set_columns(&columns);
        }
        if let Some(handler) = pending.slot.handler.as_mut().filter(|_| kind.is_for_handler()) {
            handler.columns(cx, &columns);
        }
        self.reply = Reply::Rows { columns, announced };
        Ok(())
    }

    pub(super) fn prepared_part(
        &mut self,
        cx: H::Context<'_>,
        ok: PrepareOk,
        (params_left, columns_left): (usize, usize),
        mut draft: Draft,
        payload: &[u8],
    ) -> Result<(), Fatal> {
        let (params_left, columns_left) = if params_left > 0 {
            // MariaDB describes nothing.
            let at = self.definitions(ok.params) - params_left;
            if self.session.settles_types() && at < usize::from(ok.params) {
                draft.expected.push(Expected::new(&Column::read(payload, self.session.capabilities)?));
            }
            (params_left - 1, columns_left)
        } else {
            if draft.len() < usize::from(ok.columns) {
                draft.push(payload);
            }
            (0, columns_left.saturating_sub(1))
        };
        if params_left + columns_left == 0 {
            return self.prepared(cx, ok, draft);
        }
        self.reply = Reply::Prepared { ok, params_left, columns_left, draft };
        Ok(())
    }

    /// The reply to COM_STMT_PREPARE is complete.
    fn prepared(&mut self, cx: H::Context<'_>, ok: PrepareOk, mut draft: Draft) -> Result<(), Fatal> {
        let expected = std::mem::take(&mut draft.expected);
        // The type of a parameter may be a guess, but it is VECTOR only if one is stored or computed with.
        let vectors = (0..expected.len()).filter(|at| expected[*at].kind == ColumnType::VECTOR).collect();
        self.last_prepared = LastPrepared::Ours;
        let capabilities = self.session.capabilities;
        let sql = self.front()?.request.sql().map(AsRef::as_ref);
        let columns = if ok.columns == 0 { None } else { Some(draft.finish(true, capabilities, None, sql)?) };
        let (settles, modes) = (self.session.settles_types() && ok.params > 0, self.session.modes());
        let (mariadb, epoch) = (self.session.mariadb, self.statements.epoch());
        let sql = self.front()?.request.sql().cloned();
        let settles_names = |sql| self.session.settles_variables(sql) || self.session.settles_table(sql);
        let volatile = sql.as_deref().is_some_and(settles_names);
        // Not before: it may be executed without the values of its parameters, or be described.
        let (binds, differs) = sql.as_deref().map_or((true, false), |sql| {
            let scan = Scan::new(sql, modes);
            let binds = self.session.binds(sql, &scan) && self.session.prepares(&scan);
            (binds, self.session.executes_otherwise(&scan))
        });
        let pending = self.front()?;
        let Some(sql) = pending.request.sql().cloned() else {
            return Err(Fatal::peer("the server prepared a statement although that was not requested"));
        };
        let cursor = matches!(&pending.request, Request::Execute(execute) if execute.cursor.is_some());
        let once = volatile || differs || cursor && !mariadb || pending.literal;
        let only = matches!(pending.request, Request::Prepare { .. });
        let binding = settles.then(|| Binding::new(&sql, modes, expected));
        let ok_params = ok.params;
        let mut statement = Statement::prepared(sql, ok, columns.clone(), binding, vectors, once, epoch);
        statement.binds = binds;
        if ok_params > 0 {
            statement.limits = limits(&statement.sql, modes);
        }
        statement.literal = pending.literal && ok.params == 0;
        let statement = Arc::new(statement);
        pending.used = Some(Used::Own(statement.clone()));
        let is_executed = matches!(pending.stage(), Stage::Preparing { is_executed: true });
        if is_executed || only {
            pending.go(RequestEvent::PreparedLast, Stage::Sent);
        } else {
            pending.go(RequestEvent::Prepared, Stage::Bindable);
        }
        if let (true, Some(handler)) = (only, &mut pending.slot.handler) {
            statement.describe(cx, handler);
        }
        if !cursor {
            self.keep(statement);
        }
        self.answered(cx)
    }

    /// Caches a statement, or queues its COM_STMT_CLOSE.
    pub(super) fn keep(&mut self, statement: Arc<Statement>) {
        let outdated = statement.id.is_some() && self.statements.is_outdated(&statement);
        if statement.once || outdated {
            self.statements.close(&statement);
        } else {
            self.statements.keep(statement.sql.clone(), statement);
        }
    }

    /// What the statement of the request in front has done to the SQL modes, with this status in its reply.
    fn modes_after(&mut self, kind: ReplyKind, status: StatusFlags) -> Result<ModesAfter, Fatal> {
        if !self.session.are_modes_unclear(status) {
            return Ok(ModesAfter::Kept);
        }
        let modes = self.session.modes();
        let request = &self.front()?.request;
        Ok(match (request, request.sql()) {
            (Request::ResetConnection, _) => ModesAfter::Set,
            (_, Some(sql)) if kind.is_for_handler() => ModesAfter::of(sql, modes),
            _ => ModesAfter::Kept,
        })
    }

    /// One result is complete; `completion` is its last packet, `rows` the number of changed rows if it has no rows,
    /// `announced` the status before its rows.
    pub(super) fn completed(
        &mut self,
        cx: H::Context<'_>,
        kind: ReplyKind,
        rows: Option<u64>,
        announced: StatusFlags,
        completion: Completion,
        changes: Vec<StateChange>,
    ) -> Result<(), Fatal> {
        let ends = matches!(&self.front()?.request, Request::Verb(VerbStatement { effect: Effect::Ends(_), .. }));
        self.note_charsets(kind, &changes);
        let modes = self.modes_after(kind, completion.status)?;
        if self.session.report(&completion, changes, modes) {
            self.forget_statements();
        }
        self.note_autocommit_off(kind);
        self.check_doubtful_transaction(kind);
        if kind == ReplyKind::Table {
            return self.table_is_known(cx);
        }
        if completion.status.contains(StatusFlags::IN_TRANS) && matches!(kind, ReplyKind::Result { binary: false }) {
            self.note_chained();
        }
        if ends || completion.status.contains(StatusFlags::AUTOCOMMIT) {
            self.session.holds_locks = false;
        }
        let suspended = self.cursor_moved(kind, completion.status);
        let pending = self.front()?;
        let status = completion.status | announced;
        let more = status.contains(StatusFlags::MORE_RESULTS_EXISTS);
        let waits = suspended && kind != ReplyKind::Fetch;
        let mut warnings = completion.warnings;
        if let Stage::Opening { warnings: earlier } = pending.stage_mut() {
            warnings = warnings.max(*earlier);
            *earlier = if waits { warnings } else { 0 };
        }
        if let Some(handler) =
            pending.slot.handler.as_mut().filter(|_| (kind.is_for_handler() || kind == ReplyKind::Chunk) && !waits)
        {
            let generated = (completion.last_insert_id > 0).then_some(completion.last_insert_id.into());
            let out_params = status.contains(StatusFlags::PS_OUT_PARAMS);
            handler.result(cx, Summary { tag: &completion.info, rows, generated, warnings, suspended, out_params });
        }
        if more {
            return Ok(());
        }
        if let Stage::Batch(_) = pending.stage() {
            self.batch_reply(kind, Ok(completion))?;
        }
        self.answered(cx)
    }

    /// A transaction is open after the reply to the request in front. If the request was to end it, the server's
    /// `completion_type` has chained another to it.
    fn note_chained(&mut self) {
        let autocommits = self.session.status.contains(StatusFlags::AUTOCOMMIT);
        let alone = self.queue.started() == 1;
        match self.queue.first().map(|pending| (&pending.request, pending.facts)) {
            Some((Request::Verb(VerbStatement { effect: Effect::Ends(_), .. }), _)) => {
                self.session.completes_otherwise = true;
                self.session.status.remove(StatusFlags::IN_TRANS);
                // Without autocommit, what is in flight after the end belongs to the next transaction anyway.
                let is_chained = autocommits || alone;
                self.session.transaction.on(match is_chained {
                    true => transaction::Event::Chained,
                    false => transaction::Event::Ended,
                });
            }
            // What was in flight after the end has begun a transaction of its own, or may have.
            Some((request, facts))
                if self.session.transaction.is_chained()
                    && !matches!(request.effect(facts, autocommits), Effect::Keeps | Effect::MayEnd) =>
            {
                self.session.transaction.on(transaction::Event::Begun);
            }
            _ => {}
        }
    }

    /// Records the state of the cursor after a result; returns true if more rows can be fetched.
    fn cursor_moved(&mut self, kind: ReplyKind, status: StatusFlags) -> bool {
        let Some(pending) = self.queue.first_mut() else { return false };
        let (opener, opens) = match (&pending.request, kind) {
            (Request::Execute(execute), ReplyKind::Result { .. }) if execute.cursor.is_some() => {
                (pending.slot.id, true)
            }
            (Request::Execute(_), ReplyKind::Fetch) => (pending.slot.id, false),
            (Request::Fetch { cursor, .. }, ReplyKind::Fetch) => (*cursor, false),
            _ => return false,
        };
        let open = status.contains(StatusFlags::CURSOR_EXISTS) && !status.contains(StatusFlags::LAST_ROW_SENT);
        match pending.statement() {
            // No response handler is left to close it.
            Some(statement) if open && opens && pending.slot.handler.is_none() => self.statements.close(statement),
            Some(statement) if open && opens => {
                self.cursors.insert(opener, statement.clone());
            }
            Some(statement) if !open => {
                // The end of the rows closes the cursor, and the statement is free for others.
                let statement = statement.clone();
                if self.cursors.remove(&opener).is_some() || opens {
                    self.keep(statement);
                }
            }
            _ => {}
        }
        open
    }

    /// Returns true if a command of the driver's own is not answered that a cancel request must not hit. The savepoints
    /// between the chunks of a batch may be hit: the batch is rolled back to the one before them.
    pub(super) fn awaits_setting(&self) -> bool {
        let rows = |kind| matches!(kind, ReplyKind::Row { .. } | ReplyKind::Chunk);
        let mut before_rows = self.expects.iter().map(|expect| expect.kind).take_while(|kind| !rows(*kind));
        before_rows.any(|kind| kind == ReplyKind::Guard) || self.expects.iter().any(|expect| expect.kind.is_setting())
    }

    /// A whole reply has come: the next packet belongs to the next reply, and a request without more replies ends.
    pub(super) fn answered(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        self.expects.pop_front();
        self.reply = Reply::First;
        let pending = self.front()?;
        pending.replies_due = pending.replies_due.saturating_sub(1);
        let done = pending.replies_due == 0 && pending.state() == RequestState::Sent;
        if done {
            self.settle_charsets()?;
            self.note_left();
            self.finish_front(cx);
        }
        Ok(())
    }
}
