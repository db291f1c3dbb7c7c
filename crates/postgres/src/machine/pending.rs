//! A request in the queue, and its progress.

use super::PgHandler;
use super::answer::{Answer, Block};
use super::facts::Facts;
use super::request::{Request, mentions};
pub(super) use super::stage::Stage;
use super::stage::{CatalogueRow, RequestEvent, TRANSITIONS};
use super::statement::Statement;
use super::typing::Typing;
use super::verb;
use super::work::{Preparation, Work};
use crate::types::Oid;
pub(super) use headrace_core::Failure;
use headrace_core::{Effect, Pending, Pipelining, ResponseHandler, Slot, WhenLost};
use std::sync::Arc;

/// A request in the queue.
#[derive(Debug)]
pub struct PendingRequest<H: ResponseHandler> {
    pub(super) slot: Slot<H>,
    pub(super) request: Request,
    /// Those of its text.
    pub(super) facts: Facts,
    stage: Stage,
    pub(super) work: Work,
    pub(super) answer: Answer,
    pub(super) block: Block,
    /// It may be a COPY, now that it is started.
    pub(super) may_copy: bool,
    /// Something was executed in its group of messages, which is open. A Query in the midst of that would leave the server in
    /// an implicit transaction block that a Sync without a Bind between them does not end (PostgreSQL 18).
    pub(super) has_executed: bool,
}

impl<H: PgHandler> PendingRequest<H> {
    pub(super) fn new(slot: Slot<H>, mut request: Request) -> Self {
        let facts = Facts::of_request(&request);
        let work = Work::new(&mut request);
        Self {
            slot,
            request,
            facts,
            stage: Stage::Queued,
            work,
            answer: Answer::default(),
            block: Block::new(),
            may_copy: false,
            has_executed: false,
        }
    }

    /// Its effect on the transaction block.
    pub(super) fn effect(&self) -> Effect {
        self.request.effect(self.facts)
    }

    /// Its state.
    #[inline]
    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Mutable access to the same, to change the data of the state.
    pub(super) fn stage_mut(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// Puts it into another state, which `event` brings it to.
    #[inline]
    pub(super) fn go(&mut self, event: RequestEvent, to: Stage) -> Stage {
        TRANSITIONS.take(self.stage.state(), event, to.state());
        std::mem::replace(&mut self.stage, to)
    }

    /// The server skips the rest of it after an error.
    pub(super) fn skip_to(&mut self, stage: Stage) {
        if !matches!(self.stage, Stage::Sent | Stage::AwaitSync) {
            self.go(RequestEvent::Error, stage);
        }
    }

    /// The data of a request with a statement.
    #[inline]
    pub(super) fn preparation(&self) -> Option<&Preparation> {
        match &self.work {
            Work::Statement(preparation) => Some(preparation),
            _ => None,
        }
    }

    /// Mutable access to the same.
    #[inline]
    pub(super) fn preparation_mut(&mut self) -> Option<&mut Preparation> {
        match &mut self.work {
            Work::Statement(preparation) => Some(preparation),
            _ => None,
        }
    }

    /// Its statement, once it is known.
    #[inline]
    pub(super) fn statement(&self) -> Option<&Arc<Statement>> {
        self.preparation().and_then(Preparation::statement)
    }

    /// The types that its statement is, or will be, prepared with.
    #[inline]
    pub(super) fn hints(&self) -> &[Oid] {
        self.preparation().map_or(&[], |preparation| &preparation.hints)
    }

    /// The types of a batch whose values decide the types of its parameters.
    #[inline]
    pub(super) fn typing(&self) -> Option<&Typing> {
        self.preparation().and_then(|preparation| preparation.typing.as_deref())
    }

    /// The rows of the query for types, while it is in flight.
    pub(super) fn catalogue_rows(&mut self) -> Option<&mut Vec<CatalogueRow>> {
        match &mut self.stage {
            Stage::Introspecting { rows, .. }
            | Stage::IntrospectingCopy { rows }
            | Stage::CheckingTable { rows, .. }
            | Stage::LookingUp { rows } => Some(rows),
            _ => None,
        }
    }

    /// The same request from its beginning.
    pub(super) fn again(mut self) -> Self {
        self.go(RequestEvent::Again, Stage::Queued);
        self.slot.repeat();
        let mut fresh = Self::new(self.slot, self.request);
        if let Work::Statement(Preparation { hints, .. }) = self.work {
            fresh.work = Work::Statement(Preparation::new(hints));
        }
        fresh
    }

    /// Returns true if statements of this script that have been executed may have set DateStyle.
    pub(super) fn may_set_style(&mut self) -> bool {
        if self.answer.results == 0 {
            return false;
        }
        let (Request::Script { sql, .. }, Work::Script { sets_style, .. }) = (&self.request, &mut self.work) else {
            return false;
        };
        let words = ["datestyle", "reset", "discard", "rollback", "commit", "abort"];
        *sets_style.get_or_insert_with(|| mentions(sql, &words))
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(&self.request, Request::Execute(execute) if execute.rows.is_batch())
    }

    /// The row that an error would be about now: none once all rows are answered, and their commit fails. A batch that
    /// has failed is not committed: the error of the Parse that rolls it back is about the row after those that were
    /// sent.
    pub(super) fn row(&self) -> Option<u64> {
        let over = matches!(self.stage, Stage::Sent) && self.answer.is_whole() && self.slot.failure.is_none();
        (self.is_batch() && !over).then(|| self.answer.row_of(self.answer.results))
    }
}

impl<H: PgHandler> Pending for PendingRequest<H> {
    headrace_core::pending_of_field!();

    /// The end of a block has to be sent, and so have that of a portal and the Sync that ends a group of requests.
    fn replace_discarded(&mut self, before: Option<&Self>) -> bool {
        if let Request::Verb { verb, .. } = &self.request
            && let Some(instead) = verb.if_discarded()
            && let Ok(instead) = verb::request(&instead)
        {
            self.request = instead;
            return true;
        }
        if matches!(self.request, Request::ClosePortal { .. }) {
            // A portal's own transaction keeps all other requests waiting.
            return true;
        }
        if self.is_batch() && self.answer.owed > 0 {
            // It is resumed, and rows of it were executed: without a response handler it rolls them back.
            return true;
        }
        let ends_group = self.request.syncs() && before.is_some_and(|before| !before.request.syncs());
        if ends_group {
            self.request = Request::Sync;
            self.facts = Facts::default();
            self.work = Work::Nothing;
        }
        ends_group
    }

    #[inline]
    fn pipelining(&self) -> Pipelining {
        if self.may_copy { Pipelining::Last } else { Pipelining::Free }
    }

    fn is_at_server(&self) -> bool {
        self.slot.abandoned
    }

    /// The block whose BEGIN has failed is lost. After any other error the server executes nothing that follows.
    fn when_lost(&self) -> WhenLost {
        match &self.request {
            Request::Verb { verb, .. } => verb.when_lost(),
            Request::Execute(_) | Request::Script { .. } | Request::Copy(_) | Request::Describe { .. } => {
                WhenLost::Refused
            }
            _ => WhenLost::Sent,
        }
    }

    fn awaits_replies(&self) -> bool {
        false
    }

    /// Returns true if a cancel request may hit it: it was abandoned, or a hit is harmless, as for a Sync and the query
    /// for the server process.
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned || matches!(self.request, Request::Sync | Request::QueryServerProcess)
    }
}
