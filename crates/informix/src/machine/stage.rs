//! The progress of a pending request: its states, the events, and the table of transitions.
//!
//! The states tell what a request still has to send. Only the request that was started last has parameters or rows to
//! send; of concurrent queries (see [`super::side_by_side`]) any may have blocks of rows to request. The expected
//! replies are in a queue of their own: [`Expect`](super::request::Expect).
//!
//! A state owns the data that is valid only in it: [`Stage`]. A batch and a query have states of their own, and own
//! data that is valid in all of these: [`Batch`], [`Query`].
//!
//! Events are of three kinds: the machine starts or continues a request, a reply belongs to it, or its response handler
//! has failed or was discarded. [`go`] is the only function that changes a state.
//!
//! Not in the table: rows, and the replies that are only counted; requests that leave the queue, which they do in any
//! state when the session ends and in `Sent` with their last reply; and messages that the server must not send, which
//! end the session.

use super::batch::Batch;
use super::query::Query;
use headrace_core::ResponseHandler;
use headrace_core::transitions::Transitions;

/// The state of a request, and the data that is valid only in it.
#[derive(Debug)]
pub(super) enum Stage<H: ResponseHandler> {
    Queued,
    Preparing,
    Bindable,
    /// Sending, Draining or Sent.
    Batch(Batch<H>),
    /// Fetching, FetchMore, FetchLarge or Sent.
    Query(Query),
    /// Sent: a statement that returns no rows.
    Executed(Executed),
    Sent,
}

/// The data of a statement that was executed once.
#[derive(Debug, Default)]
pub(super) struct Executed {
    /// Rows affected.
    pub rows: i64,
    /// The number that the server has generated.
    pub serial: Option<i64>,
}

/// Has a state of the table.
pub(super) trait HasState {
    fn state(&self) -> State;
}

impl<H: ResponseHandler> HasState for Stage<H> {
    #[inline]
    fn state(&self) -> State {
        match self {
            Stage::Queued => State::Queued,
            Stage::Preparing => State::Preparing,
            Stage::Bindable => State::Bindable,
            Stage::Batch(batch) => batch.step().state(),
            Stage::Query(query) => query.step().state(),
            Stage::Executed(_) | Stage::Sent => State::Sent,
        }
    }
}

/// Changes the state to the one that `event` leads to.
#[inline]
pub(super) fn go<S: HasState>(from: &mut S, event: Event, to: S) {
    TRANSITIONS.take(from.state(), event, to.state());
    *from = to;
}

headrace_core::names! {
    /// The state of a pending request, without its data.
    pub enum State {
        Queued = "nothing of it was sent",
        Preparing = "SQ_PREPARE, SQ_CIDESCRIBE or SQ_GETROUTINE was sent",
        Bindable = "its statement or routine is known",
        Sending = "a batch whose rows are being sent",
        Draining = "a batch of which no more rows are sent; replies are to come",
        Fetching = "a block of rows, or values of one, were asked for",
        FetchMore = "a block of rows is there, and the next one has to be asked for",
        FetchLarge = "a block of rows is there, and its BYTE and TEXT values have to be asked for",
        Sent = "nothing more is sent of it",
    }
}

headrace_core::names! {
    /// An event that changes the state of a pending request.
    pub enum Event {
        StartWhole = "it is started, and is sent in one piece, or needs not be sent",
        StartKnown = "it is started, and its statement or routine is known",
        StartPrepare = "it is started, and its statement or routine is not known: that is asked for",
        StartFetch = "it is started: more rows of an open cursor are asked for",
        Refused = "it cannot be sent: its text, a value or a cursor is not what it should be",
        Described = "the statement is described, or the handle of the routine is told",
        TypesRequested = "the types of its parameters are not known: SQ_CIDESCRIBE is sent",
        TypesDescribed = "the types of its parameters are told, or the server does not tell them",
        Error = "SQ_ERR",
        Executed = "SQ_EXECUTE or SQ_EXFPROUTINE is sent",
        Opened = "SQ_OPEN is sent, with what asks for the first rows",
        BatchBegun = "it has many rows of parameters",
        RowsSent = "the last row was sent, or a value does not fit",
        RowFailed = "SQ_ERR to one of the rows, or to the savepoint before them",
        PutFailed = "every reply is there: an insert cursor failed, is undone, and the rows go another way",
        BatchEnded = "every reply is there: COMMIT, ROLLBACK or their savepoint twins are sent, where there is a guard",
        EndFailed = "the COMMIT failed, or an interrupt hit the ROLLBACK: it is rolled back",
        BlockEnded = "a block of rows ended without SQ_DONE",
        LastBlock = "the last block of rows ended, or nobody waits for more",
        ValuesDescribed = "a block of rows ended that only names some of its values",
        BlockRequested = "SQ_NFETCH is sent",
        ValuesRequested = "SQ_FETCHBLOB is sent for each value",
        Abandoned = "nobody waits for it any more",
        Again = "its statement was older than its table: it begins again",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<State, Event> = {
    use Event::*;
    use State::*;
    Transitions {
        machine: "informix",
        rows: &[
            (Queued, StartWhole, Sent),
            (Queued, StartKnown, Bindable),
            (Queued, StartPrepare, Preparing),
            (Queued, StartFetch, Fetching),
            (Queued, Refused, Sent),
            (Bindable, Refused, Sent),
            (Preparing, Described, Bindable),
            (Bindable, TypesRequested, Preparing),
            (Preparing, TypesDescribed, Bindable),
            (Preparing, Error, Sent),
            (Bindable, Executed, Sent),
            (Bindable, Opened, Fetching),
            (Bindable, BatchBegun, Sending),
            (Sending, RowsSent, Draining),
            (Sending, RowFailed, Draining),
            (Draining, PutFailed, Sending),
            (Draining, BatchEnded, Sent),
            (Sent, EndFailed, Draining),
            (Fetching, BlockEnded, FetchMore),
            (Fetching, LastBlock, Sent),
            (FetchMore, LastBlock, Sent),
            (Fetching, ValuesDescribed, FetchLarge),
            (FetchMore, BlockRequested, Fetching),
            (FetchLarge, ValuesRequested, Fetching),
            (Bindable, Abandoned, Sent),
            (FetchMore, Abandoned, Sent),
            (FetchLarge, Abandoned, Sent),
            (Sent, Again, Queued),
        ],
    }
};
