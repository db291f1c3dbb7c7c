//! Batches: one statement and many rows of parameters, all of them or none.
//!
//! Rows travel with one of three strategies ([`BatchStrategy`]). An insert cursor takes them in the columns' own form,
//! which is the shortest; but the server converts nothing there, so a row with another value is sent with SQ_BIND and
//! SQ_EXECUTE, and so are the rows after it. If anything goes wrong with an insert cursor it is rolled back, and the
//! batch is repeated without one: the error that the user sees, and its row number, are those of plain executions.

use super::pending::{Failure, PendingRequest};
use super::request::{BatchStrategy, Execute, Expect, Group, Reply, Request};
use super::send::bind_row;
use super::stage::{HasState, RequestEvent, RequestState, Stage, go};
use super::{IfxHandler, Logging, Machine};
use crate::capabilities::Feature;
use crate::limits as own;
use crate::messages::server::ServerError;
use crate::messages::{client, tag};
use headrace_core::{ResponseHandler, Sent, Transaction, WriteBuffer};
use std::sync::atomic::Ordering;

/// The savepoint of a batch inside a transaction.
const SAVEPOINT: &[u8] = b"headrace_batch";

/// How a batch is made atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The database has no transactions.
    None,
    /// A transaction of its own.
    Transaction,
    /// A savepoint in the transaction that was open.
    Savepoint,
}

/// A batch whose rows are being sent, or were sent.
#[derive(Debug)]
pub(super) struct Batch<H: ResponseHandler> {
    step: Step,
    /// How it is made atomic.
    pub guard: Guard,
    beginning: Beginning,
    travels: Travels,
    /// Rows that were sent.
    sent: u64,
    /// Rows affected.
    pub affected: i64,
    /// The server has executed rows, so the statement is not older than its table, which cannot be altered before the
    /// end of the batch.
    pub current: bool,
    /// The server's reply about the rows of an insert cursor, until that is closed.
    put: Put,
    putting: Putting<H>,
}

/// The state before a batch, which it returns to if nothing of it was sent.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// The position in the write buffer.
    mark: u64,
    transaction: Transaction,
}

/// The state of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Sending,
    Draining,
    Sent,
}

impl HasState for Step {
    #[inline]
    fn state(&self) -> RequestState {
        match self {
            Step::Sending => RequestState::Sending,
            Step::Draining => RequestState::Draining,
            Step::Sent => RequestState::Sent,
        }
    }
}

/// How the next rows are sent.
#[derive(Debug)]
enum Travels {
    /// By SQ_PUT.
    Put,
    /// By SQ_BIND and SQ_EXECUTE.
    Execute {
        /// Bytes of a group.
        group: usize,
        /// The response handler's current row is still to be sent: it did not fit an insert cursor.
        row_waits: bool,
    },
}

impl Travels {
    fn on(strategy: BatchStrategy) -> Self {
        match strategy {
            BatchStrategy::Put => Self::Put,
            BatchStrategy::Groups => Self::Execute { group: own::GROUP_BYTES, row_waits: false },
            BatchStrategy::Rows => Self::Execute { group: 1, row_waits: false },
        }
    }
}

/// SQ_DONEs, the sum of their rows, and the rows of the last.
#[derive(Debug, Default)]
struct Put {
    dones: u64,
    affected: i64,
    last: i64,
}

/// Whether rows that were put have failed.
#[derive(Debug, Default)]
enum Putting<H: ResponseHandler> {
    /// They have not, or the failure has been handled.
    #[default]
    Good,
    /// The batch failed because rows were put.
    Failed,
    /// The batch is being repeated without putting rows; the reason.
    Repeated(Box<Failure<H>>),
}

impl<H: ResponseHandler> Batch<H> {
    fn new(guard: Guard, beginning: Beginning, strategy: BatchStrategy) -> Self {
        Self {
            step: Step::Sending,
            guard,
            beginning,
            travels: Travels::on(strategy),
            sent: 0,
            affected: 0,
            current: false,
            put: Put::default(),
            putting: Putting::Good,
        }
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// Returns true if rows were sent.
    pub(super) fn has_sent(&self) -> bool {
        self.sent > 0
    }

    /// Puts it into another state, which `event` brings it to.
    pub(super) fn go(&mut self, event: RequestEvent, to: Step) {
        go(&mut self.step, event, to);
    }
}

impl<H: IfxHandler> Machine<H> {
    /// Makes a batch atomic: a transaction of its own, or a savepoint in the one that is open.
    pub(super) fn begin_batch(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let guard = match self.logging {
            Logging::None => Guard::None,
            _ if !self.transaction.is_open_ahead() => Guard::Transaction,
            _ if self.capabilities.has(Feature::Savepoints) => Guard::Savepoint,
            // A server before 11.50: the rows of a failed batch stay in the user's transaction.
            _ => Guard::None,
        };
        let beginning = Beginning { mark: write_buffer.mark(), transaction: self.transaction };
        self.guard_batch(guard, write_buffer);
        let pending = &mut self.queue[at];
        let Request::Execute(Execute { strategy, .. }) = pending.request else { return };
        let Some(statement) = pending.used.as_ref().map(|used| &used.statement) else { return };
        let plan = statement.put.as_ref().filter(|_| !statement.put_refused.load(Ordering::Relaxed));
        let best = plan.filter(|plan| !plan.padded).map_or(BatchStrategy::Groups, |_| BatchStrategy::Put);
        let strategy = strategy.unwrap_or(best);
        // Rows are put only if that can be rolled back and the rows can be read a second time.
        let can = plan.is_some() && guard != Guard::None;
        let again = can && pending.slot.handler.as_ref().is_some_and(ResponseHandler::rereads);
        let strategy = if strategy == BatchStrategy::Put && !again { BatchStrategy::Groups } else { strategy };
        pending.go(RequestEvent::BatchBegun, Stage::Batch(Batch::new(guard, beginning, strategy)));
    }

    fn guard_batch(&mut self, guard: Guard, write_buffer: &mut WriteBuffer) {
        match guard {
            Guard::None => {}
            Guard::Transaction => self.begin(write_buffer),
            Guard::Savepoint => {
                client::savepoint(write_buffer.tail(), tag::SQ_SQLISETSVPT, SAVEPOINT);
                client::eot(write_buffer.tail());
                self.expect(Expect::Guard);
            }
        }
    }

    /// Sends one group of rows, a shorter one where others wait for their turn.
    pub(super) fn send_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        match self.queue.last().and_then(PendingRequest::batch).map(|batch| &batch.travels) {
            Some(Travels::Put) => self.put_rows(cx, write_buffer),
            Some(Travels::Execute { .. }) => self.execute_rows(cx, write_buffer),
            None => {}
        }
    }

    /// Sends SQ_BIND and SQ_EXECUTE for rows until a group is full.
    fn execute_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let codeset = self.codeset;
        let is_sure = self.queue.last().is_some_and(|pending| !pending.may_be_outdated());
        let Some((batch, slot, statement)) = self.queue.last_mut().and_then(PendingRequest::batch_parts) else {
            return;
        };
        let Travels::Execute { group, row_waits } = &mut batch.travels else { return };
        let most = write_buffer.turn(*group);
        let first = batch.sent;
        let out = write_buffer.tail();
        let start = out.len();
        client::id(out, statement.id);
        let empty = out.len();
        let (mut more, mut refused) = (slot.failure.is_none(), None);
        while more && (out.len() == empty || out.len() - start < most) {
            let mark = out.len();
            let waits = std::mem::take(row_waits);
            let Some(handler) = &mut slot.handler else {
                more = false;
                break;
            };
            if !waits && !is_sure && batch.sent > 0 && handler.loses_next() {
                break;
            }
            let written = match if waits { Ok(true) } else { handler.next_row(cx) } {
                Ok(true) => bind_row(handler, statement, codeset, cx, out),
                Ok(false) => {
                    more = false;
                    break;
                }
                Err(error) => Err(error),
            };
            match written {
                Ok(()) => {
                    client::plain(out, tag::SQ_EXECUTE);
                    batch.sent += 1;
                }
                Err(error) => {
                    out.truncate(mark);
                    refused = Some(Failure::Client { error, row: Some(batch.sent) });
                    more = false;
                }
            }
        }
        if !more {
            batch.go(RequestEvent::RowsSent, Step::Draining);
        }
        if batch.sent == first {
            out.truncate(start);
        } else {
            client::eot(out);
            self.expect(Expect::Execute { first });
        }
        if let Some(failure) = refused {
            self.refuse_row(failure, write_buffer);
        }
    }

    /// Opens the insert cursor, puts rows until a group is full, and closes it: the server's count is then that of this
    /// group, and a later error does not belong to an earlier group.
    fn put_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let codeset = self.codeset;
        let cursor = self.cursor_name();
        let Some((batch, slot, statement)) = self.queue.last_mut().and_then(PendingRequest::batch_parts) else {
            return;
        };
        let Some(plan) = &statement.put else { return };
        let (id, first) = (statement.id, batch.sent);
        let most = write_buffer.turn(own::GROUP_BYTES);
        let out = write_buffer.tail();
        let start = out.len();
        client::id(out, id);
        client::curname(out, &cursor);
        client::plain(out, tag::SQ_OPEN);
        client::ret_type(out, true, &plan.types);
        let (mut more, mut refused) = (slot.failure.is_none(), None);
        while more && (batch.sent == first || out.len() - start < most) {
            let Some(handler) = &mut slot.handler else {
                more = false;
                break;
            };
            let put = match handler.next_row(cx) {
                Ok(true) => client::put(out, |out| plan.row(&handler.params(cx), codeset, out)),
                Ok(false) => {
                    more = false;
                    break;
                }
                Err(error) => Err(error),
            };
            match put {
                Ok(true) => batch.sent += 1,
                Ok(false) => {
                    batch.travels = Travels::Execute { group: own::GROUP_BYTES, row_waits: true };
                    break;
                }
                Err(error) => {
                    refused = Some(Failure::Client { error, row: Some(batch.sent) });
                    more = false;
                }
            }
        }
        if !more {
            batch.go(RequestEvent::RowsSent, Step::Draining);
        }
        let count = batch.sent - first;
        if count == 0 {
            out.truncate(start);
        } else {
            client::eot(out);
            client::id(out, id);
            client::plain(out, tag::SQ_CLOSE);
            client::eot(out);
            self.expect(Expect::Put { first, count });
            self.expect(Expect::PutClose { first, count });
        }
        if let Some(failure) = refused {
            self.refuse_row(failure, write_buffer);
        }
    }

    /// The response handler's own error about a row. If nothing of the batch has left yet, nothing will.
    fn refuse_row(&mut self, failure: Failure<H>, write_buffer: &mut WriteBuffer) {
        let Some(pending) = self.queue.last_mut() else { return };
        pending.slot.fail_row(failure);
        let id = pending.slot.id;
        let Some(batch) = pending.batch_mut() else { return };
        let Beginning { mark, transaction } = batch.beginning;
        if !write_buffer.truncate(mark) {
            return;
        }
        // A transaction that is not only that of the batch was begun before it.
        let own = std::mem::replace(&mut batch.guard, Guard::None) == Guard::Transaction;
        let is_of_batch = |group: &&Group| group.request_id == id && (own || !matches!(group.expect, Expect::Begin));
        let taken = self.groups.iter().rev().take_while(is_of_batch).count();
        self.groups.truncate(self.groups.len() - taken);
        pending.groups -= taken;
        self.transaction.take_back(transaction);
    }

    /// Every row is answered: keeps them all, or none, or begins again with another strategy.
    pub(super) fn end_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        if self.repeat_batch(cx, write_buffer) {
            return;
        }
        let Some((batch, slot, statement)) = self.queue.last_mut().and_then(PendingRequest::batch_parts) else {
            return;
        };
        batch.go(RequestEvent::BatchEnded, Step::Sent);
        if let Putting::Repeated(first) = std::mem::take(&mut batch.putting) {
            match &slot.failure {
                None => statement.put_refused.store(true, Ordering::Relaxed),
                // Rows that could not be read a second time.
                Some(Failure::Client { .. }) => slot.failure = Some(*first),
                Some(Failure::Server { .. }) => {}
            }
        }
        let good = slot.failure.is_none() && slot.handler.is_some();
        let guard = batch.guard;
        let out = write_buffer.tail();
        match (guard, good) {
            (Guard::None, _) => return,
            (Guard::Transaction, true) => client::plain(out, tag::SQ_CMMTWORK),
            (Guard::Transaction, false) => client::rollback(out),
            (Guard::Savepoint, true) => {
                // No request waits for this: it is sent with the next group, as the closing of a cursor is.
                client::savepoint(out, tag::SQ_SQLIRELSVPT, SAVEPOINT);
                client::eot(out);
                self.groups.push_back(Group { request_id: 0, expect: Expect::CleanUp });
                return;
            }
            (Guard::Savepoint, false) => client::savepoint(out, tag::SQ_SQLIRBACKSVPT, SAVEPOINT),
        }
        client::eot(out);
        if guard == Guard::Transaction {
            self.transaction.sent = Sent::Idle;
        }
        self.expect(match (guard, good) {
            (Guard::Transaction, true) => Expect::Commit,
            (Guard::Transaction, false) => Expect::Rollback,
            _ => Expect::Guard,
        });
    }

    /// Rolls back the rows of an insert cursor that failed, and repeats the batch without one; returns true if it does.
    fn repeat_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(pending) = self.queue.last_mut() else { return false };
        let told = matches!(&pending.slot.failure, Some(Failure::Server { error, .. }) if !is_of_others(error));
        let stale = pending.is_stale();
        let Some((batch, slot, _)) = pending.batch_parts() else { return false };
        if !matches!(batch.putting, Putting::Failed) {
            return false;
        }
        batch.putting = Putting::Good;
        if !told || stale || !slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)) {
            return false;
        }
        let Some(first) = slot.failure.take() else { return false };
        let (guard, beginning) = (batch.guard, batch.beginning);
        batch.go(RequestEvent::PutFailed, Step::Sending);
        let again = Batch::new(guard, beginning, BatchStrategy::Groups);
        *batch = Batch { putting: Putting::Repeated(Box::new(first)), ..again };
        match guard {
            Guard::Savepoint => client::savepoint(write_buffer.tail(), tag::SQ_SQLIRBACKSVPT, SAVEPOINT),
            _ => client::rollback(write_buffer.tail()),
        }
        client::eot(write_buffer.tail());
        self.expect(Expect::Undo);
        if guard == Guard::Transaction {
            self.transaction.sent = Sent::Idle;
            self.guard_batch(guard, write_buffer);
        }
        true
    }

    /// Rows were put. The server may also report their number when the cursor is closed.
    pub(super) fn put(&mut self, group: Group, first: u64, count: u64, reply: Reply) {
        let Some(pending) = self.pending(group.request_id) else { return };
        let Some(batch) = pending.batch_mut() else { return };
        batch.put = Put { dones: reply.dones, affected: reply.affected, last: reply.last };
        if let Some(error) = reply.error {
            pending.put_failed(error, first + reply.good.min(count - 1));
        }
    }

    /// The cursor that took the rows is closed.
    pub(super) fn put_closed(&mut self, group: Group, first: u64, count: u64, reply: Reply) {
        let Some(pending) = self.pending(group.request_id) else { return };
        let Some((batch, slot, _)) = pending.batch_parts() else { return };
        if slot.failure.is_some() {
            return;
        }
        let Put { dones, affected, last } = batch.put;
        let told = i64::try_from(count).unwrap_or(i64::MAX);
        // The count of each row or each block, or the total so far.
        let all = dones + reply.dones > 0 && [affected + reply.affected, last, reply.last].contains(&told);
        if let Some(error) = reply.error {
            pending.put_failed(error, first);
        } else if all {
            batch.affected += told;
        } else {
            let token = format!("{} of {count} rows", affected + reply.affected);
            pending.put_failed(ServerError { sqlcode: own::NOT_INSERTED, token, ..ServerError::default() }, first);
        }
    }
}

impl<H: IfxHandler> PendingRequest<H> {
    fn put_failed(&mut self, error: ServerError, row: u64) {
        if self.rows_failed(error, Some(row))
            && let Some(batch) = self.batch_mut()
        {
            batch.putting = Putting::Failed;
        }
    }
}

/// Returns true if an error has nothing to do with the rows: an interrupt, or a lock of another session. It would occur
/// again, or cost its time again, with any strategy.
fn is_of_others(error: &ServerError) -> bool {
    error.sqlcode == own::INTERRUPTED || own::LOCKED.contains(&error.isam)
}
