//! The receiving half: from the read buffer to the response handlers.

use super::batch::{Guard, Step};
use super::pending::{Failure, PendingRequest, RequestState, Source, Stage, Used};
use super::query::Query;
use super::request::{Declare, Expect, Group, Reply, Request};
use super::stage::{Executed, RequestEvent};
use super::statement::Statement;
use super::{IfxHandler, Logging, Machine};
use crate::limits as own;
use crate::messages::server::{self, Description, Message, ServerError};
use crate::messages::{client, kind};
use headrace_core::protocol::Summary;
use headrace_core::transaction::Event as Report;
use headrace_core::{Fatal, FatalKind, IN_DOUBT, ReadBuffer, Requests, Sent, WriteBuffer};
use std::sync::Arc;

/// A transaction is already open.
const ALREADY_OPEN: i32 = -535;
/// The transaction is rolled back, as it has filled the logical logs. Manual: "-458 Long transaction aborted".
const LONG_TRANSACTION_ABORTED: i32 = -458;

impl<H: IfxHandler> Machine<H> {
    pub(super) fn read_replies(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        if self.queue.full().is_some() {
            return Ok(());
        }
        if !self.may_be_whole(read_buffer)? {
            self.read_ahead(write_buffer);
            return Ok(());
        }
        while self.queue.full().is_none() {
            if read_buffer.unread().starts_with(&[0, 14]) {
                let consumed = self.rows(cx, read_buffer.unread())?;
                if consumed > 0 {
                    read_buffer.consume(consumed);
                    continue;
                }
            }
            let (message, used) = match server::read(read_buffer.unread(), self.capabilities, self.codeset) {
                Ok(read) => read,
                Err(Ok(total)) => {
                    self.needed = total;
                    self.may_be_whole(read_buffer)?;
                    // Not before: the end may have come together with the rows.
                    self.read_ahead(write_buffer);
                    return Ok(());
                }
                Err(Err(fatal)) => return Err(fatal),
            };
            self.message(cx, message, write_buffer)?;
            read_buffer.consume(used);
            self.scan.reset();
        }
        Ok(())
    }

    /// Returns true if a message of which only the beginning had come can be complete by now; until then it is not read
    /// again.
    pub(super) fn may_be_whole(&mut self, read_buffer: &mut ReadBuffer) -> Result<bool, Fatal> {
        let unread = read_buffer.unread();
        if self.needed > 0 && unread.len() >= self.needed.min(2) {
            self.needed = self.needed.max(self.scan.needs(unread, self.capabilities)?);
        }
        if unread.len() < self.needed {
            read_buffer.want(self.needed);
            return Ok(false);
        }
        self.needed = 0;
        Ok(true)
    }

    /// The request that the reply belongs to.
    pub(super) fn group(&self) -> Result<Group, Fatal> {
        self.groups
            .front()
            .copied()
            .ok_or_else(|| Fatal::peer("the server sent a message although no request was pending"))
    }

    pub(super) fn pending(&mut self, id: u64) -> Option<&mut PendingRequest<H>> {
        self.queue.started_by_id_mut(id)
    }

    fn message(
        &mut self,
        cx: H::Context<'_>,
        message: Message<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let group = self.group()?;
        match message {
            Message::Eot => return self.end_of_group(cx, group, write_buffer),
            Message::Done { warnings, rows, serial } => {
                self.reply.dones += 1;
                self.reply.affected += rows;
                self.reply.last = rows;
                if serial != 0 {
                    self.reply.serial = Some(i64::from(serial));
                }
                if let Expect::Execute { .. } = group.expect
                    && self
                        .pending(group.request_id)
                        .and_then(|pending| pending.statement())
                        .is_some_and(|s| matches!(s.kind, kind::DATABASE | kind::CREATE_DATABASE))
                {
                    self.opened(warnings);
                }
            }
            Message::Err(error) => {
                if self.reply.error.is_none() {
                    let put = matches!(group.expect, Expect::Put { .. });
                    self.reply.good =
                        if put { u64::try_from(self.reply.affected).unwrap_or(0) } else { self.reply.dones };
                    self.reply.error = Some(error);
                }
            }
            Message::PutErr { rows, error } if matches!(group.expect, Expect::Put { .. }) => {
                if self.reply.error.is_none() {
                    self.reply.good = u64::try_from(rows).unwrap_or(0);
                    self.reply.error = Some(error);
                }
            }
            Message::XactStat { open } => {
                self.reply.has_ended |= self.transaction.is_open() && !open;
                self.transaction.on(if open { Report::Begun } else { Report::Ended });
            }
            Message::InsertDone { serial8, bigserial } => {
                if serial8 != 0 || bigserial != 0 {
                    self.reply.serial = Some(if serial8 != 0 { serial8 } else { bigserial });
                }
            }
            Message::Describe(described) if group.expect == Expect::Prepare => self.described(group, described),
            Message::DescribeInput(fields) if group.expect == Expect::Types => {
                if let Some(statement) = self.pending(group.request_id).and_then(|pending| pending.statement()) {
                    statement.described_input(fields);
                }
            }
            Message::Describe(described) if group.expect == Expect::LocalePrepare => self.described_locale(described),
            Message::Describe(described) if group.expect == Expect::Duplicate => self.duplicated(&described),
            Message::Blob(piece) if group.expect == Expect::Large => self.value_piece(group, piece)?,
            Message::Routine { database, handle } if group.expect == Expect::GetRoutine => {
                self.got_routine(group, database, handle);
            }
            Message::Returned(values) if group.expect == Expect::Routine => self.returned(cx, group, &values)?,
            Message::Read(pieces) if group.expect == Expect::Object => self.read_object(cx, group, &pieces)?,
            Message::Written(bytes) if group.expect == Expect::Object => self.wrote_object(cx, group, bytes),
            Message::Version(_) if matches!(group.expect, Expect::Ping | Expect::CleanUp) => {}
            Message::Cost => {}
            Message::TupId(number) => {
                if let Some(query) = self.pending(group.request_id).and_then(PendingRequest::query_mut) {
                    query.row_number = Some(number);
                }
            }
            Message::Exit => return Err(self.session_ended()),
            other => {
                return Err(Fatal::peer(format!(
                    "the server sent {}, which is not a reply to the pending request",
                    other.name()
                )));
            }
        }
        Ok(())
    }

    /// The server has sent the end of the session in the place of a reply.
    fn session_ended(&self) -> Fatal {
        let executes = |group: &Group| {
            use Expect::{AutoCommit, Commit, Execute, Fetch, Put, PutClose, Routine};
            matches!(
                group.expect,
                Execute { .. } | Put { .. } | PutClose { .. } | Commit | AutoCommit | Routine | Fetch
            )
        };
        let ended = "the server ended the session";
        let is_unknown = self.groups.iter().any(executes);
        let message = if is_unknown { format!("{ended}; {IN_DOUBT}") } else { ended.to_owned() };
        Fatal::new(FatalKind::SessionEnded, message)
    }

    /// A statement is prepared.
    fn described(&mut self, group: Group, described: Description) {
        let (capabilities, codeset, epoch) = (self.capabilities, self.codeset, self.statements.epoch());
        let Some(pending) = self.pending(group.request_id) else { return };
        let Some(sql) = pending.request.sql().cloned() else { return };
        let statement = Arc::new(Statement::new(described, sql.clone(), epoch, capabilities, codeset));
        let keep = pending.request.cursor().is_none() && statement.is_worth_keeping() && self.statements.keeps(&sql);
        let source = if keep { Source::Kept } else { Source::Prepared };
        if let Some(pending) = self.pending(group.request_id) {
            pending.used = Some(Used { statement: statement.clone(), source });
        }
        if keep {
            self.statements.keep(sql, statement);
        }
    }

    fn end_of_group(&mut self, cx: H::Context<'_>, group: Group, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        self.groups.pop_front();
        self.read_past_urgent();
        let reply = std::mem::take(&mut self.reply);
        self.check_block(group, &reply);
        if group.expect == Expect::Duplicate {
            self.copy_answered(reply.error.is_some());
        }
        match group.expect {
            Expect::Rollback => self.transaction_undone(true),
            Expect::Savepoint => self.transaction_undone(false),
            Expect::Commit if reply.error.is_none() => {
                self.transaction.redefined = false;
            }
            _ => {}
        }
        if let Expect::Begin | Expect::Commit | Expect::AutoCommit | Expect::Rollback | Expect::Undo = group.expect {
            self.transaction_answered(group, &reply)?;
        }
        if group.expect == Expect::AutoCommit && reply.error.is_some() {
            self.leave_transaction(write_buffer);
        }
        let open = self.transaction.is_open();
        let Some(pending) = self.pending(group.request_id) else { return Ok(()) };
        pending.groups -= 1;
        match group.expect {
            Expect::Prepare => {
                if let Some(error) = reply.error {
                    pending.slot.failure = Some(Failure::Server { error, row: None });
                    pending.go(RequestEvent::Error, Stage::Sent);
                } else if pending.used.is_some() {
                    pending.go(RequestEvent::Described, Stage::Bindable);
                } else {
                    return Err(Fatal::peer("the server prepared a statement without describing it"));
                }
            }
            Expect::LocalePrepare | Expect::LocaleFetch => self.locale_answered(group, &reply, write_buffer)?,
            Expect::Types => match reply.error {
                Some(error) if error.sqlcode == own::INTERRUPTED => {
                    pending.slot.failure = Some(Failure::Server { error, row: None });
                    pending.go(RequestEvent::Error, Stage::Sent);
                }
                // It can be executed without.
                _ => {
                    pending.go(RequestEvent::TypesDescribed, Stage::Bindable);
                    if let Some(statement) = pending.statement() {
                        statement.described_input(Vec::new());
                    }
                }
            },
            Expect::Execute { first } => self.executed(group, first, reply),
            Expect::Put { first, count } => self.put(group, first, count, reply),
            Expect::PutClose { first, count } => self.put_closed(group, first, count, reply),
            Expect::Undo => {
                if let Some(error) = reply.error {
                    let code = error.sqlcode;
                    return Err(Fatal::new(
                        FatalKind::TransactionInDoubt,
                        format!("a batch could not be undone before its repetition: error {code}"),
                    ));
                }
            }
            Expect::Fetch => self.fetched(cx, group, reply)?,
            Expect::Large => self.value_came(cx, group, reply)?,
            // An interrupt that came too late for its statement.
            Expect::Ping if reply.error.as_ref().is_some_and(|error| error.sqlcode == own::INTERRUPTED) => {}
            Expect::Guard
            | Expect::Commit
            | Expect::AutoCommit
            | Expect::Rollback
            | Expect::Ping
            | Expect::Savepoint => self.bracket_answered(group, reply, open)?,
            Expect::GetRoutine | Expect::Routine | Expect::Object => self.routine_answered(group, reply),
            Expect::Begin | Expect::CleanUp | Expect::Duplicate => {}
        }
        self.settle(cx, write_buffer);
        Ok(())
    }

    /// The COMMIT of a statement in autocommit has failed in MODE ANSI. Its transaction is rolled back, before anything
    /// else is sent: the server may execute nothing more in it.
    fn leave_transaction(&mut self, write_buffer: &mut WriteBuffer) {
        if self.groups.iter().all(|group| group.request_id == 0) {
            client::rollback(write_buffer.tail());
            client::eot(write_buffer.tail());
            self.groups.push_back(Group { request_id: 0, expect: Expect::CleanUp });
        }
    }

    /// The beginning or the end of a transaction, of a batch or of a savepoint is answered, or a round trip.
    fn bracket_answered(&mut self, group: Group, reply: Reply, open: bool) -> Result<(), Fatal> {
        let unlogged = self.logging == Logging::None;
        let Some(pending) = self.pending(group.request_id) else { return Ok(()) };
        let guarded = pending.guard() == Guard::Transaction;
        if let Some(error) = reply.error {
            let is_end = open && pending.request.is_owed_end() || pending.request.is_end_of_program();
            if pending.slot.handler.is_none() && is_end {
                // Nobody is told. If the server has rolled back, the next commit would find no transaction, and succeed.
                return Err(Fatal::end_failed(&format!("error {}", error.sqlcode)));
            }
            let again = match group.expect {
                // A constraint that is checked at the end, for one. Nothing of the batch may stay.
                Expect::Commit => guarded,
                // Hit by an interrupt that was meant for the statement that is rolled back.
                Expect::Rollback if guarded && error.sqlcode == own::INTERRUPTED => true,
                Expect::Rollback if guarded => return Err(unfinished(&error)),
                _ => false,
            };
            if again {
                if let Some(batch) = pending.batch_mut() {
                    batch.go(RequestEvent::EndFailed, Step::Draining);
                }
                if self.queue.get(self.queue.started() - 1).is_none_or(|last| last.slot.id != group.request_id) {
                    // Later statements ran in its transaction.
                    return Err(unfinished(&error));
                }
            }
            let Some(pending) = self.pending(group.request_id) else { return Ok(()) };
            let lost = group.expect == Expect::Guard && pending.guard() == Guard::Savepoint;
            pending.slot.fail(error);
            if lost && pending.state() == RequestState::Sending {
                pending.stop_sending();
            } else if lost && !unlogged {
                return Err(Fatal::new(
                    FatalKind::TransactionInDoubt,
                    "a batch failed, and the server could not roll back to the savepoint before it",
                ));
            }
        }
        Ok(())
    }

    /// The server may have ended the transaction of a block with an error. What follows would be no part of it.
    fn check_block(&mut self, group: Group, reply: &Reply) {
        let Some(error) = &reply.error else { return };
        let is_end = matches!(
            group.expect,
            Expect::Commit | Expect::AutoCommit | Expect::Rollback | Expect::Undo | Expect::Begin | Expect::CleanUp
        );
        if !is_end && self.transaction.is_open_ahead() && (reply.has_ended || error.sqlcode == LONG_TRANSACTION_ABORTED)
        {
            self.transaction.sent = Sent::of(self.transaction.is_open());
            let block = self.pending(group.request_id).map_or(0, |pending| pending.slot.block);
            self.queue.transaction_lost(block, &error.to_string());
        }
    }

    /// Tracks the transaction, by SQ_XACTSTAT or by the kind of request. If a BEGIN failed, the statements sent after
    /// it ran outside of a transaction: such a connection is closed.
    fn transaction_answered(&mut self, group: Group, reply: &Reply) -> Result<(), Fatal> {
        match (&reply.error, group.expect) {
            (None, Expect::Begin) => self.transaction.on(Report::Begun),
            (Some(error), Expect::Begin) if error.sqlcode == ALREADY_OPEN => self.transaction.on(Report::Begun),
            (Some(error), Expect::Begin) => {
                return Err(Fatal::new(
                    FatalKind::TransactionInDoubt,
                    format!("the server refused BEGIN WORK with error {}", error.sqlcode),
                ));
            }
            // Back to a savepoint, inside of a transaction.
            (None, Expect::Undo) if self.savepoint_guards(group) => {}
            // In MODE ANSI the next one is open, if what was sent after the end has begun it.
            (None, _) if self.logging == Logging::Ansi && self.transaction.is_open_ahead() => {
                self.transaction.on(Report::Begun);
            }
            (None, _) => self.transaction.on(Report::Ended),
            (Some(_), _) => {}
        }
        Ok(())
    }

    fn executed(&mut self, group: Group, first: u64, reply: Reply) {
        let Some(pending) = self.pending(group.request_id) else { return };
        let batch = pending.is_batch();
        if let Some(batch) = pending.batch_mut() {
            batch.affected += reply.affected;
            batch.current |= reply.error.is_none();
        } else if let Some(executed) = pending.executed_mut() {
            *executed = Executed { rows: reply.affected, serial: reply.serial };
        }
        let kind = pending.statement().map_or(0, |statement| statement.kind);
        let several = pending.statement().is_some_and(|statement| statement.several);
        if several {
            // Nothing was sent after it.
            self.transaction.settle();
        }
        let Some(pending) = self.pending(group.request_id) else { return };
        if let Some(error) = reply.error {
            let row = batch.then_some(first + reply.good);
            let code = error.sqlcode;
            pending.rows_failed(error, row);
            if kind == kind::BEGIN && !(code == ALREADY_OPEN && self.logging == Logging::Logged) {
                // Later statements are not in the transaction that it did not begin.
                self.transaction.settle();
            }
            return;
        }
        let changes = pending.statement().is_some_and(|statement| statement.changes_definitions());
        match kind {
            kind::COMMIT if !several => {
                self.transaction.redefined = false;
            }
            kind::ROLLBACK | kind::SAVEPOINT if !several => self.transaction_undone(kind == kind::ROLLBACK),
            _ if several || changes => {
                self.transaction.redefined = true;
                self.statements.advance();
            }
            _ => {}
        }
        match kind {
            kind::BEGIN => self.transaction.on(Report::Begun),
            kind::COMMIT | kind::ROLLBACK => self.transaction.on(Report::Ended),
            kind::DATABASE | kind::CREATE_DATABASE | kind::CLOSE_DATABASE => {
                // Statements belong to their database.
                self.release_duplicates();
                self.statements.lost_all();
                self.routines.clear();
                self.open_cursors.clear();
                if kind == kind::CLOSE_DATABASE {
                    self.logging = Logging::None;
                }
            }
            _ => {}
        }
    }

    /// A transaction was rolled back, the `whole` or a part of it: its definitions are gone.
    fn transaction_undone(&mut self, whole: bool) {
        if self.transaction.redefined {
            self.statements.advance();
        }
        if whole {
            self.transaction.redefined = false;
        }
    }

    fn savepoint_guards(&mut self, group: Group) -> bool {
        self.pending(group.request_id).is_some_and(|pending| pending.guard() == Guard::Savepoint)
    }

    /// Finishes the requests at the front that have nothing left to send or to receive.
    pub(super) fn settle(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        while let Some(pending) = self.queue.first() {
            if self.queue.started() == 0 || !pending.is_over() || self.retry(cx, write_buffer) {
                return;
            }
            let Some(pending) = self.queue.pop_front() else { return };
            self.finish(cx, pending, write_buffer);
        }
    }

    /// Passes the outcome to the response handler, and puts the statement back into the cache.
    fn finish(&mut self, cx: H::Context<'_>, mut pending: PendingRequest<H>, write_buffer: &mut WriteBuffer) {
        let refused = pending.is_refused();
        if let Some(Used { statement, source }) = pending.used.take() {
            // After a failed batch the statement may have no cursor; only cursors are closed.
            let ended = pending.query().is_some_and(Query::is_ended);
            let opened = statement.columns.is_some() && (ended || pending.rows() > 0 || pending.slot.handler.is_none());
            let again = pending.is_conversion_error() || refused;
            let unsure = again && self.queue.started() == 0 && source != Source::Duplicate;
            let stale = pending.is_stale() || (unsure && pending.request.cursor().is_none());
            if stale && source.is_kept() {
                self.statements.take(&*statement.sql);
            }
            let scroll =
                matches!(&pending.request, Request::Declare(Declare { scroll: true, .. }) | Request::Scroll { .. });
            let more = pending.slot.failure.is_none() && (scroll || !ended);
            match pending.request.cursor() {
                Some(cursor) if statement.columns.is_some() && !stale => {
                    let keep = more && pending.slot.handler.is_some();
                    self.keep_cursor(cursor, &pending.request, statement.clone(), keep, write_buffer);
                }
                _ => {
                    let keep =
                        source.is_kept() && !stale && (source != Source::Duplicate || self.take_back(&statement));
                    self.clean_up(write_buffer, statement.id, opened, !keep);
                }
            }
            let rows = match pending.query() {
                Some(query) if scroll => query.row_number.and_then(|number| u64::try_from(number).ok()),
                _ => counted(&statement).then(|| u64::try_from(pending.rows()).unwrap_or(0)),
            };
            // The value generated for one row of many is not reported, and rows that are put have none.
            let generated = match pending.stage() {
                Stage::Executed(executed) => executed.serial.map(i128::from),
                _ => None,
            };
            if let (Some(handler), None) = (&mut pending.slot.handler, &pending.slot.failure) {
                let tag = kind::name(statement.kind).as_bytes();
                let suspended = more && pending.request.cursor().is_some();
                handler.result(cx, Summary { tag, rows, generated, suspended, ..Summary::default() });
            }
        }
        pending.slot.finish(cx);
    }

    /// Has statements prepared again that are older than their tables. They had no effect, whatever the transaction.
    /// Queries in flight at the same time are read first. Returns true if the front of the queue must not be finished
    /// yet.
    fn retry(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(front) = self.queue.first() else { return false };
        if !front.is_worth_retrying(&self.statements, self.logging) || !(self.queue.started() == 1 || front.reads()) {
            return false;
        }
        if !self.queue.in_flight().all(PendingRequest::is_over) {
            return true;
        }
        self.release_duplicates();
        let mut again = Vec::new();
        let ended: Vec<_> = std::iter::from_fn(|| self.queue.pop_started()).collect();
        for mut pending in ended {
            let wanted = pending.is_worth_retrying(&self.statements, self.logging)
                && (!pending.is_batch() || pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)));
            if !wanted {
                self.finish(cx, pending, write_buffer);
                continue;
            }
            if let Some(Used { statement, .. }) = pending.used.take() {
                self.statements.take(&*statement.sql);
                self.clean_up(write_buffer, statement.id, false, true);
            }
            // The errors of blocks that were requested ahead are still to come.
            for group in self.groups.iter_mut().filter(|group| group.request_id == pending.slot.id) {
                group.request_id = 0;
            }
            again.push(pending.again());
        }
        for pending in again.into_iter().rev() {
            self.queue.put_back(pending);
        }
        true
    }
}

/// A batch is neither kept nor undone. Only the end of the session undoes it for certain.
fn unfinished(error: &ServerError) -> Fatal {
    Fatal::new(
        FatalKind::TransactionInDoubt,
        format!("a batch could be neither committed nor rolled back: error {}", error.sqlcode),
    )
}

/// Returns true if the rows of SQ_DONE are rows that the statement changed or returned.
fn counted(statement: &Statement) -> bool {
    statement.columns.is_some()
        || matches!(statement.kind, kind::SELECT_INTO..=kind::LOAD | kind::DELETE_ALL | kind::UPDATE_ALL)
}
