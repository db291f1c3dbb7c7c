//! Blocks whose transaction the server has ended: [`headrace_core::block`].
//!
//! An ERR packet has no status. Some errors always end the transaction. Of others that may, the server is asked before
//! anything else of the block is sent: the answer to COM_PING has the status. After any other error the status that
//! comes next is compared: a table's engine may have numbers of its own.
//!
//! Requests that are in flight after one that ends the transaction are executed all the same. With autocommit on each
//! would be committed. So autocommit is turned off before the first request of a block that is sent while another is in
//! flight, and before a batch, until the end of the block: they are then part of another transaction, which the
//! ROLLBACK at the end of the block undoes.

use super::pending::{PendingRequest, Stage};
use super::reply::ReplyKind;
use super::request::{Execute, ParameterRows, Request, VerbStatement};
use super::session::DoubtfulTransaction;
use super::{Machine, MyHandler};
use crate::packets::capabilities::StatusFlags;
use crate::packets::reply::ServerError;
use headrace_core::verb::Effect;
use headrace_core::{Pending as _, WhenLost};

/// Whether the server commits each statement by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Autocommit {
    /// As the server reports it.
    AsReported,
    /// It was turned off for the rest of a block, after which it is on again.
    OffInBlock,
    /// `SET autocommit=0` is to be sent before the next request.
    OffPending,
    /// That was sent, and is not answered.
    Off,
}

impl Autocommit {
    /// Turns it off if that is due; returns true if it was.
    pub(super) fn take_pending(&mut self) -> bool {
        self.replace(Self::OffPending, Self::Off)
    }

    /// A block that has turned it off ends, or has not begun; returns true if there was one.
    pub(super) fn take_off_in_block(&mut self) -> bool {
        self.replace(Self::OffInBlock, Self::AsReported)
    }

    /// The server has turned it off, as the program asked for: from now on its status is the truth.
    pub(super) fn confirm_off(&mut self) {
        self.replace(Self::Off, Self::AsReported);
    }

    fn replace(&mut self, from: Self, to: Self) -> bool {
        let is = *self == from;
        if is {
            *self = to;
        }
        is
    }
}

impl<H: MyHandler> Machine<H> {
    /// The reply to a request of the driver's has come. If it was the last one that turns autocommit off for the program,
    /// the status is from now on that of the server: the program may turn autocommit on again by a statement of its own.
    ///
    /// Until then the status is that of before, or of a statement in between, and a server whose reply still has the flag
    /// is not believed later either.
    pub(super) fn note_autocommit_off(&mut self, kind: ReplyKind) {
        let is_last = matches!(kind, ReplyKind::AutocommitOff | ReplyKind::Setup)
            && self.expects.iter().skip(1).all(|expected| expected.kind != ReplyKind::AutocommitOff);
        if is_last && !self.session.status.contains(StatusFlags::AUTOCOMMIT) {
            self.autocommit.confirm_off();
        }
    }

    /// The request in front has failed.
    pub(super) fn mark_transaction_doubtful(&mut self, error: &ServerError) {
        let block = self.queue.first().map_or(0, |pending| pending.slot.block);
        if block == 0 || !self.shares_transaction() {
            return;
        }
        if error.always_ends_transaction() {
            self.session.doubtful = None;
            return self.queue.transaction_lost(block, &error.to_string());
        }
        let is_likely = error.ends_transaction() || error.may_end_transaction();
        let is_known = self.session.doubtful.as_ref().is_some_and(|known| known.is_likely || !is_likely);
        if !is_known && (is_likely || self.front_keeps_transaction()) {
            self.session.doubtful = Some(DoubtfulTransaction { block, reason: error.to_string(), is_likely });
        }
    }

    /// The server has reported the status after the request in front.
    pub(super) fn check_doubtful_transaction(&mut self, kind: ReplyKind) {
        let Some(doubtful) = self.session.doubtful.take() else { return };
        // What ends a transaction leaves none, whatever came before.
        if !self.front_keeps_transaction() {
            return;
        }
        let status = self.session.status;
        let is_own = matches!(
            kind,
            ReplyKind::AutocommitOff | ReplyKind::HoldBlock | ReplyKind::Setup | ReplyKind::Charset | ReplyKind::Ask
        );
        let is_asked = is_own || matches!(self.queue.first().map(|pending| &pending.request), Some(Request::Ping));
        // Without autocommit, a statement that was in flight has begun another transaction.
        let is_another = doubtful.is_likely && !is_asked && !status.contains(StatusFlags::AUTOCOMMIT);
        if is_another || !status.contains(StatusFlags::IN_TRANS) {
            self.queue.transaction_lost(doubtful.block, &doubtful.reason);
        }
    }

    /// Returns true if the request in front neither ends nor begins a transaction.
    fn front_keeps_transaction(&self) -> bool {
        let Some(front) = self.queue.first() else { return false };
        match &front.request {
            Request::Execute(_) | Request::Query { .. } => front.facts.keeps_transaction,
            Request::Verb(VerbStatement { effect, .. }) => *effect == Effect::Keeps,
            Request::ResetConnection => false,
            _ => true,
        }
    }

    /// Returns true if autocommit has to be off before a request that was just started, or a batch that begins, is sent.
    pub(super) fn is_to_hold_block(&self, at: usize) -> bool {
        let pending = &self.queue[at];
        let follows = match &pending.request {
            // It is sent in a batch's first message, which may be taken back.
            Request::Execute(Execute { rows: ParameterRows::Batch { .. }, .. }) => {
                matches!(pending.stage(), Stage::Batch(_))
            }
            Request::Execute(_) | Request::Query { .. } | Request::Fetch { .. } => self.queue.started() > 1,
            _ => false,
        };
        let autocommits =
            self.autocommit == Autocommit::AsReported && self.session.status.contains(StatusFlags::AUTOCOMMIT);
        pending.slot.block != 0 && follows && autocommits
    }

    /// Returns true if an error may have ended the transaction of the block that is open, and nothing may be sent before
    /// the server has reported the status. It is asked for it once everything in flight is answered.
    pub(super) fn asks_for_status(&mut self) -> bool {
        let Some(block) = self.session.doubtful.as_ref().filter(|known| known.is_likely).map(|known| known.block)
        else {
            return false;
        };
        match self.queue.next().map(|next| (next.when_lost(), next.slot.lane, next.slot.block)) {
            None => false,
            Some((_, _, other)) if other != block => {
                self.session.doubtful = None;
                false
            }
            // It is a rollback, or its answer has the status too.
            Some((WhenLost::RollsBack | WhenLost::Sent, ..)) => false,
            Some((_, lane, _)) if self.queue.started() == 0 => {
                self.queue.insert_own(lane, |slot| PendingRequest::new(slot, Request::Ping, false, false));
                false
            }
            Some(_) => true,
        }
    }
}
