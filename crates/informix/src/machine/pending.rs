//! A request in the queue, and its progress.

use super::batch::{Batch, Guard, Step};
use super::query::Query;
use super::request::{Execute, ParameterRows, Request};
use super::stage::{Executed, HasState, RequestEvent, go};
pub(super) use super::stage::{RequestState, Stage};
use super::statement::Statement;
use super::{IfxHandler, Logging};
use crate::limits as own;
use crate::messages::kind;
use crate::messages::server::ServerError;
pub(super) use headrace_core::Failure;
use headrace_core::{
    Effect, IfUnsent, Mismatch, Pending, Pipelining, ResponseHandler, Slot, Statements, Verb, WhenLost,
};
use std::sync::Arc;

/// The statement of a request, and its source.
#[derive(Debug)]
pub(super) struct Used {
    pub statement: Arc<Statement>,
    pub source: Source,
}

/// The source of a request's statement, which decides what happens to it after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Prepared for this request alone.
    Prepared,
    /// Prepared for this request, and in the cache since.
    Kept,
    /// In the cache, before this request.
    Cached,
    /// A duplicate of the one in the cache, whose cursor is in use: see [`super::side_by_side`].
    Duplicate,
    /// Taken out of the cache for a cursor that stays open.
    Taken,
    /// Of a cursor that is open.
    Cursor,
}

impl Source {
    /// Returns true if it was prepared before the request, so it may be older than its table.
    fn is_from_cache(self) -> bool {
        matches!(self, Self::Cached | Self::Duplicate | Self::Taken)
    }

    /// It, or the one that it duplicates, is in the cache.
    pub(super) fn is_kept(self) -> bool {
        matches!(self, Self::Kept | Self::Cached | Self::Duplicate)
    }
}

/// A request in the queue.
#[derive(Debug)]
pub struct PendingRequest<H: ResponseHandler> {
    pub(super) slot: Slot<H>,
    pub(super) request: Request,
    stage: Stage<H>,
    /// Its statement, once that is known.
    pub(super) used: Option<Used>,
    /// Groups in flight.
    pub(super) groups: usize,
}

impl<H: IfxHandler> PendingRequest<H> {
    pub(super) fn new(slot: Slot<H>, request: Request) -> Self {
        Self { slot, request, stage: Stage::Queued, used: None, groups: 0 }
    }

    /// Its state.
    #[inline]
    pub(super) fn state(&self) -> RequestState {
        self.stage.state()
    }

    /// The state with its data.
    #[inline]
    pub(super) fn stage(&self) -> &Stage<H> {
        &self.stage
    }

    /// Its statement, once that is known.
    #[inline]
    pub(super) fn statement(&self) -> Option<&Arc<Statement>> {
        self.used.as_ref().map(|used| &used.statement)
    }

    /// Returns true if it is a query, whose cursor may be open at the same time as those of other queries: see
    /// [`super::side_by_side`].
    #[inline]
    pub(super) fn reads(&self) -> bool {
        self.statement().is_some_and(|statement| statement.kind == kind::SELECT) && self.request.cursor().is_none()
    }

    fn is_from_cache(&self) -> bool {
        self.used.as_ref().is_some_and(|used| used.source.is_from_cache())
    }

    /// Puts it into another state, which `event` brings it to.
    #[inline]
    pub(super) fn go(&mut self, event: RequestEvent, to: Stage<H>) {
        go(&mut self.stage, event, to);
    }

    /// Its data as a batch.
    pub(super) fn batch(&self) -> Option<&Batch<H>> {
        match &self.stage {
            Stage::Batch(batch) => Some(batch),
            _ => None,
        }
    }

    /// Mutable access to the same.
    pub(super) fn batch_mut(&mut self) -> Option<&mut Batch<H>> {
        match &mut self.stage {
            Stage::Batch(batch) => Some(batch),
            _ => None,
        }
    }

    /// A batch, the slot and the statement.
    pub(super) fn batch_parts(&mut self) -> Option<(&mut Batch<H>, &mut Slot<H>, &Arc<Statement>)> {
        match (&mut self.stage, &self.used) {
            (Stage::Batch(batch), Some(used)) => Some((batch, &mut self.slot, &used.statement)),
            _ => None,
        }
    }

    /// Its data as a query.
    #[inline]
    pub(super) fn query(&self) -> Option<&Query> {
        match &self.stage {
            Stage::Query(query) => Some(query),
            _ => None,
        }
    }

    /// Mutable access to the same.
    #[inline]
    pub(super) fn query_mut(&mut self) -> Option<&mut Query> {
        match &mut self.stage {
            Stage::Query(query) => Some(query),
            _ => None,
        }
    }

    /// A query, the slot and the statement.
    #[inline]
    pub(super) fn query_parts(&mut self) -> Option<(&mut Query, &mut Slot<H>, &Arc<Statement>)> {
        match (&mut self.stage, &self.used) {
            (Stage::Query(query), Some(used)) => Some((query, &mut self.slot, &used.statement)),
            _ => None,
        }
    }

    /// Its data as a statement that was executed once.
    pub(super) fn executed_mut(&mut self) -> Option<&mut Executed> {
        match &mut self.stage {
            Stage::Executed(executed) => Some(executed),
            _ => None,
        }
    }

    /// What it does to a transaction; a batch that has begun one ends it.
    pub(super) fn effect(&self) -> Effect {
        match self.guard() {
            Guard::Transaction => Effect::Ends(IfUnsent::RollBack),
            _ => self.request.effect(),
        }
    }

    /// How it is made atomic.
    pub(super) fn guard(&self) -> Guard {
        self.batch().map_or(Guard::None, |batch| batch.guard)
    }

    /// Rows affected, or fetched.
    pub(super) fn rows(&self) -> i64 {
        match &self.stage {
            Stage::Batch(batch) => batch.affected,
            Stage::Query(query) => query.rows,
            Stage::Executed(executed) => executed.rows,
            _ => 0,
        }
    }

    /// The same request from its beginning.
    pub(super) fn again(mut self) -> Self {
        self.go(RequestEvent::Again, Stage::Queued);
        self.slot.repeat();
        Self::new(self.slot, self.request)
    }

    /// Ends it for a reason of the response handler's own making.
    pub(super) fn refuse(&mut self, message: String) {
        self.slot.failure = Some(Failure::Client { error: Mismatch::wrong_type(message).into(), row: None });
        if self.state() != RequestState::Sent {
            self.go(RequestEvent::Refused, Stage::Sent);
        }
    }

    /// The server refused one of the rows, and no more are sent. Returns true if this failure is the one to report.
    pub(super) fn rows_failed(&mut self, error: ServerError, row: Option<u64>) -> bool {
        let is_first = self.slot.fail_row(Failure::Server { error, row });
        self.stop_sending();
        is_first
    }

    /// Returns true if the statement of a batch may be older than its table, as the server has executed nothing of it
    /// yet: then it has to be prepared again, and the batch to be read again.
    pub(super) fn may_be_outdated(&self) -> bool {
        self.is_from_cache() && self.batch().is_some_and(|batch| !batch.current)
    }

    /// Returns true if the next row of a batch has to wait for the reply to those that were sent: with it, the batch
    /// could not be read again.
    pub(super) fn waits_for_reply(&self) -> bool {
        self.may_be_outdated()
            && self.groups > 0
            && self.batch().is_some_and(Batch::has_sent)
            && self.slot.handler.as_ref().is_some_and(ResponseHandler::loses_next)
    }

    /// No more rows of a batch are sent.
    pub(super) fn stop_sending(&mut self) {
        if let Some(batch) = self.batch_mut().filter(|batch| batch.step() == Step::Sending) {
            batch.go(RequestEvent::RowFailed, Step::Draining);
        }
    }

    /// Returns true if nothing is left to be sent or received. Blocks that were requested ahead of the end may still
    /// come.
    pub(super) fn is_over(&self) -> bool {
        self.state() == RequestState::Sent && (self.groups == 0 || self.query().is_some_and(Query::is_ended))
    }

    /// Returns true if its response handler is gone, but rows are in flight: its cursor is closed only after them.
    pub(super) fn closes_later(&self) -> bool {
        let reads = self.statement().is_some_and(|statement| statement.columns.is_some());
        reads && self.request.cursor().is_none() && !self.is_over()
    }

    /// Returns true if the statement is older than its table, and was not executed.
    pub(super) fn is_stale(&self) -> bool {
        matches!(&self.slot.failure, Some(Failure::Server { error, .. }) if error.sqlcode == own::STALE)
    }

    /// Returns true if a value did not fit a parameter as it was described earlier, so that nothing was sent to the
    /// server. The column may have changed since.
    pub(super) fn is_refused(&self) -> bool {
        self.is_from_cache() && matches!(&self.slot.failure, Some(Failure::Client { .. }))
    }

    /// Returns true if a value did not fit the column. The column may be another than the one that the statement was
    /// prepared for.
    pub(super) fn is_conversion_error(&self) -> bool {
        let is_conversion = |code: i32| own::CONVERSION.contains(&code) || own::EXTENDED_CONVERSION.contains(&code);
        matches!(&self.slot.failure, Some(Failure::Server { error, .. }) if is_conversion(error.sqlcode))
    }

    /// Returns true if the statement came from the cache, and did nothing because its table has changed: it is to be
    /// prepared again.
    pub(super) fn is_worth_retrying(&self, statements: &Statements<Arc<str>, Statement>, logging: Logging) -> bool {
        let outdated = || self.statement().is_some_and(|statement| statements.is_outdated(statement));
        // Nothing was sent of a batch whose first row was refused, or that has no guard any more; of another one the
        // server reports with the first row that its table has changed.
        let refused = self.is_refused()
            && (!self.is_batch()
                || self.guard() == Guard::None
                || matches!(self.slot.failure, Some(Failure::Client { row: Some(0), .. })));
        let undone = match (self.is_batch(), self.guard()) {
            (false, _) => self.rows() == 0,
            // Other rows of the group may have been executed if a value did not fit.
            (true, Guard::None) => self.rows() == 0 && (self.is_stale() || refused),
            (true, Guard::Savepoint | Guard::Transaction) => true,
        };
        // Elsewhere, too, a column may have become another; a batch that fails at once costs little to repeat, and so
        // does a single row, if the server undoes the statement.
        let fills = || self.statement().is_some_and(|statement| statement.targets().iter().any(Option::is_some));
        let first = match self.is_batch() {
            true => matches!(&self.slot.failure, Some(Failure::Server { row: Some(0), .. })),
            false => logging != Logging::None && fills(),
        };
        // The error may be one of what a routine executes, after it has changed something.
        let routine = self.statement().is_some_and(|statement| statement.kind == kind::EXECUTE_PROCEDURE);
        let failed = self.is_stale() || self.is_conversion_error() && (first || outdated());
        (refused || failed && !(routine && self.guard() == Guard::None))
            && self.is_from_cache()
            && undone
            && self.slot.may_repeat()
    }

    /// Returns true if it ends a block, or a transaction without keeping it. If that were interrupted, a transaction
    /// without an owner would stay open, and later statements would run in it.
    pub(super) fn ends_block(&self) -> bool {
        let of_savepoint =
            |verb: &Verb| matches!(verb, Verb::Savepoint { .. } | Verb::Release(_) | Verb::RollbackTo(_));
        self.request.is_owed_end() || matches!(&self.request, Request::Verb(verb) if of_savepoint(verb))
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(&self.request, Request::Execute(Execute { rows: ParameterRows::Batch, .. }))
    }
}

impl<H: IfxHandler> Pending for PendingRequest<H> {
    headrace_core::pending_of_field!();

    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        let Request::Verb(verb) = &self.request else { return false };
        let Some(instead) = verb.if_discarded() else { return false };
        self.request = Request::Verb(instead);
        true
    }

    /// Whether a transaction is open after several statements, which database is, and what tables are, is unknown before
    /// they are answered.
    fn pipelining(&self) -> Pipelining {
        let is_unknown = |statement: &Arc<Statement>| {
            statement.several || statement.changes_database() || statement.changes_definitions()
        };
        if self.statement().is_some_and(is_unknown) { Pipelining::Last } else { Pipelining::Free }
    }

    fn is_at_server(&self) -> bool {
        self.groups > 0
    }

    /// Returns true if it may be interrupted: a batch, whose rollback is part of it, must not be.
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned && !self.is_batch() && !self.ends_block()
    }

    fn is_end(&self) -> bool {
        self.ends_block()
    }

    fn when_lost(&self) -> WhenLost {
        self.request.when_lost()
    }
}
