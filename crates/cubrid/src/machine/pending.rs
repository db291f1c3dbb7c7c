//! A request in the queue, and its progress.

use super::CasHandler;
use super::request::{Execute, ParameterRows, Request};
pub(super) use super::stage::Stage;
use super::stage::{RequestEvent, RequestState, TRANSITIONS};
use super::statement::Statement;
use crate::lexer::Facts;
pub(super) use headrace_core::Failure;
use headrace_core::verb::Effect;
use headrace_core::{Modes, Pending, Pipelining, ResponseHandler, Slot, Verb, WhenLost};
use std::sync::Arc;

/// A request in the queue.
#[derive(Debug)]
pub struct PendingRequest<H: ResponseHandler> {
    pub(super) slot: Slot<H>,
    pub(super) request: Request,
    stage: Stage,
    /// Its statement, once that is known.
    pub(super) statement: Option<Arc<Statement>>,
    /// The facts of its text.
    pub(super) facts: Facts,
    /// The statement was in the cache: its handle may be unknown to the server.
    pub(super) is_cached: bool,
    /// The statement is prepared for the second time: its plan is pinned.
    pub(super) is_pinned: bool,
    /// The types of its values are in its text, as far as they have to be.
    pub(super) is_typed: bool,
    /// The type of its empty bytes is in its text.
    pub(super) is_bits_typed: bool,
    /// It is executed for the second time, as the server has closed its result before its end.
    pub(super) is_reexecuted: bool,
    /// It is part of a transaction block.
    pub(super) in_block: bool,
    /// What a statement outside of a block has left open is being ended.
    pub(super) is_settling: bool,
    /// The server commits with its execution.
    pub(super) commits_itself: bool,
    /// The number of replies that are still to come.
    pub(super) replies_due: usize,
    /// A reply to it has come.
    pub(super) is_answered: bool,
    /// Its EXECUTE was answered: only pages of its rows can follow.
    pub(super) is_executed: bool,
    /// Its batch has failed, and is undone.
    pub(super) is_undone: bool,
    /// Rows that a batch has changed, once it is over.
    pub(super) affected: Option<u64>,
    /// One of the texts of its batch changes definitions.
    pub(super) has_redefined: bool,
    /// Results after the present one, of a text with several statements.
    pub(super) results_left: usize,
}

impl<H: CasHandler> PendingRequest<H> {
    pub(super) fn new(slot: Slot<H>, request: Request) -> Self {
        Self {
            slot,
            facts: request.facts(),
            request,
            stage: Stage::Queued,
            statement: None,
            is_cached: false,
            is_pinned: false,
            is_typed: false,
            is_bits_typed: false,
            is_reexecuted: false,
            in_block: false,
            is_settling: false,
            commits_itself: false,
            replies_due: 0,
            is_answered: false,
            is_executed: false,
            is_undone: false,
            affected: None,
            has_redefined: false,
            results_left: 0,
        }
    }

    /// The verb that it is, if it is one.
    pub(super) fn verb(&self) -> Option<Verb> {
        self.request.verb(self.facts)
    }

    /// Its effect on the transaction.
    pub(super) fn effect(&self) -> Effect {
        self.request.effect(self.facts)
    }

    /// Mutable access to its state, to change the data of the state.
    pub(super) fn stage_mut(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// Mutable access to its response handler and to the data of its state.
    pub(super) fn handler_and_stage(&mut self) -> (Option<&mut H>, &mut Stage) {
        (self.slot.handler.as_mut(), &mut self.stage)
    }

    /// The name of its state.
    pub(super) fn state(&self) -> RequestState {
        self.stage.state()
    }

    /// Puts it into another state, which `event` brings it to, and returns the one before.
    pub(super) fn go(&mut self, event: RequestEvent, to: Stage) -> Stage {
        TRANSITIONS.take(self.stage.state(), event, to.state());
        std::mem::replace(&mut self.stage, to)
    }

    /// No more rows of its batch are sent.
    pub(super) fn drain(&mut self, event: RequestEvent) {
        match std::mem::replace(&mut self.stage, Stage::Sent) {
            Stage::Sending(batch) => {
                TRANSITIONS.take(RequestState::Sending, event, RequestState::Draining);
                self.stage = Stage::Draining(batch);
            }
            other => self.stage = other,
        }
    }

    /// Its batch, if it is one that has begun.
    pub(super) fn batch_mut(&mut self) -> Option<&mut super::batch::Batch> {
        match &mut self.stage {
            Stage::Sending(batch) | Stage::Draining(batch) => Some(batch),
            _ => None,
        }
    }

    /// Records that it will not be done, for a reason of the client's.
    pub(super) fn refuse(&mut self, error: H::Error) {
        self.slot.failure = Some(Failure::Client { error, row: None });
        self.go(RequestEvent::Refused, Stage::Sent);
    }

    /// Returns true if the server only fetches pages of its rows. A CAS of 11.3.2 that is interrupted in FETCH
    /// dereferences a null pointer in `cursor_next_tuple`. No page takes long, as the rows were made by EXECUTE.
    pub(super) fn is_fetching(&self) -> bool {
        self.is_executed || matches!(self.request, Request::FetchAt { .. })
    }

    /// Returns true if it has many rows of parameters, or many texts.
    pub(super) fn is_batch(&self) -> bool {
        matches!(
            self.request,
            Request::Execute(Execute { rows: ParameterRows::Batch { .. }, .. }) | Request::Texts { .. }
        )
    }
}

impl<H: CasHandler> Pending for PendingRequest<H> {
    headrace_core::pending_of_field!();

    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        let Request::Verb(verb) = &self.request else { return false };
        match verb.if_discarded() {
            Some(instead) => {
                self.request = Request::Verb(instead);
                true
            }
            None => false,
        }
    }

    /// Batches depend on their replies. For all others the machine decides by the transaction: see
    /// [`Machine::may_start`](super::Machine).
    fn pipelining(&self) -> Pipelining {
        match &self.request {
            _ if self.is_batch() => Pipelining::Alone,
            // If the server refuses the isolation level there is no block.
            Request::Verb(Verb::Begin(Modes { isolation: Some(_), .. })) => Pipelining::Last,
            _ => Pipelining::Free,
        }
    }

    fn is_at_server(&self) -> bool {
        self.replies_due > 0
    }

    /// The end of a transaction must not be cancelled, and neither must FETCH.
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned && !self.is_fetching() && !self.is_end()
    }

    fn is_end(&self) -> bool {
        let is_batch_over = matches!(&self.stage, Stage::Sent if self.is_batch());
        self.is_settling || is_batch_over || self.effect().is_owed_end()
    }

    fn when_lost(&self) -> WhenLost {
        self.request.when_lost()
    }
}
