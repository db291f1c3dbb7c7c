//! A request in the queue, and its progress.

use super::MyHandler;
use super::refusal::takes_literals;
use super::request::{AsText, Execute, ParameterRows, Request, VerbStatement};
pub(super) use super::stage::Stage;
use super::stage::{RequestEvent, RequestState, TRANSITIONS};
use super::statement::Statement;
use crate::sql::{Facts, Modes};
pub(super) use headrace_core::Failure;
use headrace_core::verb::Effect;
use headrace_core::{Pending, Pipelining, ResponseHandler, Slot, WhenLost};
use std::sync::Arc;

/// The statement of a request.
#[derive(Debug)]
pub(super) enum Used {
    /// Prepared for it, or of a cursor that is open; or its text with literals.
    Own(Arc<Statement>),
    /// Out of the cache: the server may have forgotten it.
    Cached(Arc<Statement>),
}

impl Used {
    fn statement(&self) -> &Arc<Statement> {
        match self {
            Self::Own(statement) | Self::Cached(statement) => statement,
        }
    }
}

/// A request in the queue.
#[derive(Debug)]
pub struct PendingRequest<H: ResponseHandler> {
    pub(super) slot: Slot<H>,
    pub(super) request: Request,
    /// The reservation that it is part of; 0 for none.
    pub(super) reservation: u64,
    stage: Stage,
    /// What the machine reads in its text.
    pub(super) facts: Facts,
    /// Statements prepared before it may have another meaning after it.
    pub(super) changes_meaning: bool,
    pipelining: Pipelining,
    /// Its statement, once that is known.
    pub(super) used: Option<Used>,
    /// What was prepared has literals in the place of the parameters.
    pub(super) literal: bool,
    /// The execution was refused before anything was done: it begins again after the reply to its fetch.
    pub(super) begins_again: bool,
    /// It is a batch that lasts while the mode is strict for every table.
    pub(super) is_strict: bool,
    /// The number of replies that are still to come.
    pub(super) replies_due: usize,
}

impl<H: MyHandler> PendingRequest<H> {
    /// `several` is true if the server accepts several statements in one text, `local_infile` whether it may request
    /// a file.
    pub(super) fn new(slot: Slot<H>, request: Request, several: bool, local_infile: bool) -> Self {
        let (reservation, request) = match request {
            Request::Within { reservation, request } => (reservation, *request),
            request => (0, request),
        };
        let facts = request.facts(several);
        let changes_meaning = request.changes_meaning(facts.changes);
        let is_alone = changes_meaning || request.is_exclusive(local_infile);
        Self {
            slot,
            facts,
            changes_meaning,
            pipelining: if is_alone { Pipelining::Alone } else { Pipelining::Free },
            request,
            reservation,
            stage: Stage::Queued,
            used: None,
            literal: false,
            begins_again: false,
            is_strict: false,
            replies_due: 0,
        }
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

    /// Mutable access to the data of the state and to the queue's part.
    pub(super) fn stage_and_slot(&mut self) -> (&mut Stage, &mut Slot<H>) {
        (&mut self.stage, &mut self.slot)
    }

    /// The name of its state.
    #[inline]
    pub(super) fn state(&self) -> RequestState {
        self.stage.state()
    }

    /// Its statement, once that is known.
    #[inline]
    pub(super) fn statement(&self) -> Option<&Arc<Statement>> {
        self.used.as_ref().map(Used::statement)
    }

    /// Returns true if the server may have forgotten its statement.
    pub(super) fn is_from_cache(&self) -> bool {
        matches!(self.used, Some(Used::Cached(_)))
    }

    /// Puts it into another state, which `event` brings it to.
    #[inline]
    pub(super) fn go(&mut self, event: RequestEvent, to: Stage) {
        TRANSITIONS.take(self.stage.state(), event, to.state());
        self.stage = to;
    }

    /// Returns true if it can be executed once more with literals in the place of its parameters: it is no batch, has no
    /// cursor, and was not repeated before. (A query that is refused bound is refused with the literal, too.)
    pub(super) fn may_be_written(&self, modes: Modes) -> bool {
        matches!(
            &self.request,
            Request::Execute(Execute { sql, rows: ParameterRows::One, text: AsText::IfUnprepared, cursor: None, .. })
                if takes_literals(sql, modes)
        ) && self.slot.may_repeat()
    }

    /// Has its parameters written as literals, whenever it is sent.
    pub(super) fn write_literals(&mut self) {
        if let Request::Execute(execute) = &mut self.request {
            execute.text = AsText::Always;
        }
    }

    /// Returns true if its parameters are literals because the server did not prepare it.
    pub(super) fn went_as_text(&self) -> bool {
        let as_text = self.statement().is_some_and(|statement| statement.id.is_none());
        as_text && matches!(&self.request, Request::Execute(execute) if execute.text == AsText::IfUnprepared)
    }
}

impl<H: MyHandler> Pending for PendingRequest<H> {
    headrace_core::pending_of_field!();

    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        match &mut self.request {
            Request::Verb(VerbStatement { sql, discarded: Some(instead), .. }) => {
                *sql = instead.clone();
                true
            }
            _ => false,
        }
    }

    fn pipelining(&self) -> Pipelining {
        self.pipelining
    }

    fn is_at_server(&self) -> bool {
        self.replies_due > 0
    }

    /// Returns true if it may be cancelled: the rollback of a batch must not be, nor the end of an inner block.
    fn is_cancellable(&self) -> bool {
        let undone = matches!(&self.stage, Stage::Batch(batch) if batch.is_ending());
        self.slot.abandoned && !undone && !self.is_end()
    }

    /// Returns true if it is sent in any case and nothing would tell that it has not taken place: MariaDB (10.11 is one)
    /// interrupts a ROLLBACK TO SAVEPOINT, and the next COMMIT would keep what it was to undo. A COMMIT or ROLLBACK that is
    /// interrupted ends the session.
    fn is_end(&self) -> bool {
        matches!(
            &self.request,
            Request::Verb(VerbStatement { discarded: Some(_), effect, .. }) if !matches!(effect, Effect::Ends(_))
        )
    }

    fn when_lost(&self) -> WhenLost {
        match self.request.when_lost() {
            // Of a load's own transaction.
            when if when.is_end() && self.reservation != 0 => WhenLost::Sent,
            when => when,
        }
    }
}
