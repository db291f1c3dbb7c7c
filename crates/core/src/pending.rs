//! A request in the queue, as far as that does not depend on the protocol.

use crate::block::WhenLost;
use crate::protocol::{Outcome, ResponseHandler};
use std::fmt;

/// Why a request will not be done.
pub enum Failure<H: ResponseHandler> {
    /// The server has refused it.
    Server {
        /// Its error.
        error: H::ServerError,
        /// The 0-based row of a batch that it was about.
        row: Option<u64>,
    },
    /// The response handler has failed: a value that does not fit, an iterator that raised.
    Client {
        /// Its error.
        error: H::Error,
        /// The 0-based row of a batch that it was about.
        row: Option<u64>,
    },
}

impl<H: ResponseHandler> Failure<H> {
    /// The row of a batch that it is about.
    pub fn row(&self) -> Option<u64> {
        match self {
            Failure::Server { row, .. } | Failure::Client { row, .. } => *row,
        }
    }

    /// Returns true if it is about an earlier row than `other`. An error of the server without a row is about one of those
    /// that were sent, an error of the response handler about one that was not sent.
    fn is_before(&self, other: &Self) -> bool {
        match (self, other) {
            (Failure::Server { row: None, .. }, Failure::Client { row: Some(_), .. }) => true,
            _ => self.row().zip(other.row()).is_some_and(|(row, other)| row < other),
        }
    }

    /// The outcome of a request that failed with it.
    pub fn outcome(self) -> Outcome<H::ServerError, H::Error> {
        match self {
            Failure::Server { error, row } => Outcome::Server { error, row },
            Failure::Client { error, row } => Outcome::Client { error, row },
        }
    }
}

/// The part of a pending request that the queue uses.
pub struct Slot<H: ResponseHandler> {
    /// The number by which the request is known.
    pub id: u64,
    /// The response handler; `None` once it was discarded: the reply is read and dropped.
    pub handler: Option<H>,
    /// See [`ResponseHandler::lane`].
    pub lane: u64,
    /// The number of the program's transaction block that it is part of; 0 for none.
    pub block: u64,
    /// The response handler was discarded after something of the request was sent.
    pub abandoned: bool,
    /// Why the request will not be done.
    pub failure: Option<Failure<H>>,
    /// It is done for the second time.
    pub(crate) repeated: bool,
}

// By hand: errors and response handlers need not be shown.
impl<H: ResponseHandler> fmt::Debug for Failure<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, row) = match self {
            Failure::Server { row, .. } => ("Server", row),
            Failure::Client { row, .. } => ("Client", row),
        };
        f.debug_struct(kind).field("row", row).finish_non_exhaustive()
    }
}

impl<H: ResponseHandler> fmt::Debug for Slot<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, lane, abandoned, failure, .. } = self;
        let mut shown = f.debug_struct("Slot");
        shown.field("id", id).field("lane", lane).field("abandoned", abandoned).field("failure", failure);
        shown.finish_non_exhaustive()
    }
}

impl<H: ResponseHandler> Slot<H> {
    /// The slot of a request that the machine itself makes, in the lane of another one.
    pub fn own(id: u64, lane: u64) -> Self {
        Self { id, handler: None, lane, block: 0, abandoned: false, failure: None, repeated: false }
    }

    /// Returns true if a request whose statement was stale may be done again with a fresh one: once, and only if its response
    /// handler was not discarded. What was cancelled would otherwise be executed after its cancel.
    pub fn may_repeat(&self) -> bool {
        self.handler.is_some() && !self.repeated
    }

    /// The request is done again: the failure of the first attempt is not its outcome.
    pub fn repeat(&mut self) {
        self.failure = None;
        self.repeated = true;
    }

    /// Notes an error of the server, unless the request has failed already.
    pub fn fail(&mut self, error: H::ServerError) {
        self.failure.get_or_insert(Failure::Server { error, row: None });
    }

    /// Notes a failure of a batch; returns true if it is the one to report. Of several failures that is the first row's, as
    /// if the rows were executed one after the other, whichever strategy sends them and whichever failure is known first:
    /// the response handler may fail to deliver a row while the server refuses an earlier one.
    ///
    /// A machine may take back what it has encoded, if nothing of the batch was sent when the response handler fails: then
    /// the server has seen none of the rows, and that failure is the only one.
    pub fn fail_row(&mut self, failure: Failure<H>) -> bool {
        let is_first = self.failure.as_ref().is_none_or(|known| failure.is_before(known));
        if is_first {
            self.failure = Some(failure);
        }
        is_first
    }

    /// Passes the outcome to the response handler: its failure, or success.
    pub fn finish(mut self, cx: H::Context<'_>) {
        let outcome = self.failure.take().map_or(Outcome::Done, Failure::outcome);
        self.finish_with(cx, outcome);
    }

    /// Passes the outcome to the response handler.
    pub fn finish_with(self, cx: H::Context<'_>, outcome: Outcome<H::ServerError, H::Error>) {
        if let Some(handler) = self.handler {
            handler.finish(cx, outcome);
        }
    }
}

/// Which other requests may be in flight together with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipelining {
    /// Any.
    Free,
    /// Those that were sent before it. Before it is answered nothing is sent after it.
    Last,
    /// None: it is not sent before the earlier ones are answered either.
    Alone,
}

/// The items of [`Pending`](crate::Pending) that a request has by its field `slot`, of a response handler `H`: the same
/// for every protocol.
#[macro_export]
macro_rules! pending_of_field {
    () => {
        type Handler = H;

        fn slot(&self) -> &$crate::Slot<H> {
            &self.slot
        }

        fn slot_mut(&mut self) -> &mut $crate::Slot<H> {
            &mut self.slot
        }

        fn into_slot(self) -> $crate::Slot<H> {
            self.slot
        }
    };
}

/// A request in the queue, with the data that its protocol needs.
pub trait Pending {
    /// The type of response handlers.
    type Handler: ResponseHandler;

    /// The part that the queue uses.
    fn slot(&self) -> &Slot<Self::Handler>;
    /// Mutable access to the same.
    fn slot_mut(&mut self) -> &mut Slot<Self::Handler>;
    /// The same, by value, when the request has ended.
    fn into_slot(self) -> Slot<Self::Handler>;

    /// The request is discarded before anything of it was sent: it becomes the request that has to be sent in its
    /// place. Returns false if there is none, so that it leaves the queue. `before` is the request that precedes it.
    fn replace_discarded(&mut self, before: Option<&Self>) -> bool;
    /// Which other requests may be in flight together with it.
    fn pipelining(&self) -> Pipelining;
    /// Returns true if the server may still be working on something of it, now that it has begun to be sent.
    fn is_at_server(&self) -> bool;
    /// Returns true if a cancel request may hit it.
    fn is_cancellable(&self) -> bool;
    /// Returns true if it ends a transaction block, and must not be cancelled.
    fn is_end(&self) -> bool {
        false
    }
    /// What becomes of it in a transaction block that the server has ended.
    fn when_lost(&self) -> WhenLost {
        WhenLost::Sent
    }
    /// Returns true if nothing may be in flight before it: an earlier request may end the transaction that it is to
    /// commit. PostgreSQL's server refuses to commit it then.
    fn awaits_replies(&self) -> bool {
        self.when_lost() == WhenLost::Commits
    }
}
