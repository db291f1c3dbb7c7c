//! A request in the queue, and how far it has come.

use super::PgCaller;
use super::answer::{Answer, Block};
use super::request::{Request, mentions};
pub(super) use super::stage::Stage;
use super::stage::{CatalogueRow, Event, TRANSITIONS};
use super::statement::Statement;
use super::typing::Typing;
use crate::types::Oid;
pub(super) use headrace_core::Failure;
use headrace_core::{Caller, Pending, Slot};
use std::sync::Arc;

/// A request in the queue.
#[derive(Debug)]
pub struct Entry<C: Caller> {
    pub(super) slot: Slot<C>,
    pub(super) request: Request,
    stage: Stage,
    pub(super) answer: Answer,
    pub(super) block: Block,
    pub(super) statement: Option<Arc<Statement>>,
    /// The types that the statement is, or will be, prepared with; the request's are moved here.
    pub(super) hints: Vec<Oid>,
    /// A batch whose values decide the types of its parameters.
    pub(super) typing: Option<Box<Typing>>,
    /// The caller's current row has not been sent.
    pub(super) pending: bool,
    /// The types of this COPY have been looked up.
    pub(super) looked_up: bool,
    /// The statement came from the cache, so the server may have forgotten or changed it.
    pub(super) from_cache: bool,
    pub(super) retried: bool,
    /// Its statement was prepared in front of it, without waiting.
    pub(super) prepares: bool,
    /// Its portals are described: nothing else vouches for what their rows are.
    pub(super) describes_portal: bool,
    /// The portal was asked for its description, which has not come.
    pub(super) awaits_portal: bool,
    /// BindComplete has come: what fails before it has executed nothing.
    pub(super) bound: bool,
    /// Whether this script may set DateStyle itself, once that was asked for.
    pub(super) sets_style: Option<bool>,
    /// It takes rows by the simple protocol, so there may be more of them on their way when it fails.
    pub(super) fed: bool,
}

impl<C: PgCaller> Entry<C> {
    pub(super) fn new(slot: Slot<C>, mut request: Request) -> Self {
        let hints = match &mut request {
            Request::Execute(execute) => std::mem::take(&mut execute.hints),
            _ => Vec::new(),
        };
        Self {
            slot,
            request,
            stage: Stage::Queued,
            answer: Answer::default(),
            block: Block::new(),
            statement: None,
            hints,
            typing: None,
            pending: false,
            looked_up: false,
            from_cache: false,
            retried: false,
            prepares: false,
            describes_portal: false,
            awaits_portal: false,
            bound: false,
            sets_style: None,
            fed: false,
        }
    }

    /// How far it has come.
    #[inline]
    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The same, to change what the state owns.
    pub(super) fn stage_mut(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// Puts it into another state, which `event` brings it to.
    #[inline]
    pub(super) fn go(&mut self, event: Event, to: Stage) -> Stage {
        TRANSITIONS.take(self.stage.state(), event, to.state());
        std::mem::replace(&mut self.stage, to)
    }

    /// The server skips what is left of it after an error.
    pub(super) fn skip_to(&mut self, stage: Stage) {
        if !matches!(self.stage, Stage::Sent | Stage::AwaitSync) {
            self.go(Event::Error, stage);
        }
    }

    /// Where rows of the query for types go while they are asked for.
    pub(super) fn catalogue_rows(&mut self) -> Option<&mut Vec<CatalogueRow>> {
        match &mut self.stage {
            Stage::Introspecting { rows, .. } | Stage::IntrospectingCopy { rows } | Stage::LookingUp { rows } => {
                Some(rows)
            }
            _ => None,
        }
    }

    /// The same request from its beginning.
    pub(super) fn again(mut self) -> Self {
        self.go(Event::Again, Stage::Queued);
        let mut fresh = Self::new(Slot { abandoned: false, failure: None, ..self.slot }, self.request);
        fresh.hints = self.hints;
        fresh.retried = true;
        fresh
    }

    /// Whether statements of this script that have been executed may have set DateStyle.
    pub(super) fn may_set_style(&mut self) -> bool {
        if self.answer.results == 0 {
            return false;
        }
        let Request::Script { sql, .. } = &self.request else { return false };
        let words = ["datestyle", "reset", "discard", "rollback", "commit", "abort"];
        *self.sets_style.get_or_insert_with(|| mentions(sql, &words))
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(&self.request, Request::Execute(execute) if execute.rows.is_batch())
    }

    /// The row that a failure now would be about: none once all are answered, and what fails is their commit.
    pub(super) fn row(&self) -> Option<u64> {
        let over = matches!(self.stage, Stage::Sent) && self.answer.is_whole();
        (self.is_batch() && !over).then_some(self.answer.results)
    }
}

impl<C: PgCaller> Pending for Entry<C> {
    type Caller = C;

    fn slot(&self) -> &Slot<C> {
        &self.slot
    }

    fn slot_mut(&mut self) -> &mut Slot<C> {
        &mut self.slot
    }

    fn into_slot(self) -> Slot<C> {
        self.slot
    }

    /// The end of a block has to come, and so has the Sync that ends a group of requests.
    fn replace_discarded(&mut self, before: Option<&Self>) -> bool {
        if let Request::Script { sql, discarded: Some(instead), .. } = &mut self.request {
            *sql = instead.clone();
            return true;
        }
        let ends_group = self.request.syncs() && before.is_some_and(|before| !before.request.syncs());
        if ends_group {
            self.request = Request::Sync;
        }
        ends_group
    }

    fn is_at_server(&self) -> bool {
        self.slot.abandoned
    }

    /// A Sync is nothing that could be cancelled, and a question to the server is over at once.
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned || matches!(self.request, Request::Sync | Request::AskServer)
    }
}
