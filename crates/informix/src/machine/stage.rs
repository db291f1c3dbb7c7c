//! The progress of a pending request: its states, the events, and the table of transitions.
//!
//! The states are what a request still has to send. Only the request that was started last has parameters or rows to
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
    fn state(&self) -> RequestState;
}

impl<H: ResponseHandler> HasState for Stage<H> {
    #[inline]
    fn state(&self) -> RequestState {
        match self {
            Stage::Queued => RequestState::Queued,
            Stage::Preparing => RequestState::Preparing,
            Stage::Bindable => RequestState::Bindable,
            Stage::Batch(batch) => batch.step().state(),
            Stage::Query(query) => query.step().state(),
            Stage::Executed(_) | Stage::Sent => RequestState::Sent,
        }
    }
}

/// Changes the state to the one that `event` leads to.
#[inline]
pub(super) fn go<S: HasState>(from: &mut S, event: RequestEvent, to: S) {
    TRANSITIONS.take(from.state(), event, to.state());
    *from = to;
}

headrace_core::names! {
    /// The state of a pending request, without its data.
    pub enum RequestState {
        Queued = "nothing of it was sent",
        Preparing = "SQ_PREPARE, SQ_CIDESCRIBE or SQ_GETROUTINE was sent",
        Bindable = "its statement or routine is known",
        Sending = "a batch whose rows are being sent",
        Draining = "a batch of which no more rows are sent; replies are to come",
        Fetching = "a block of rows, or values of one, were requested",
        FetchMore = "a block of rows has come, and the next one has to be requested",
        FetchLarge = "a block of rows has come, and its BYTE and TEXT values have to be requested",
        Sent = "all of it was sent",
    }
}

headrace_core::names! {
    /// An event that changes the state of a pending request.
    pub enum RequestEvent {
        StartWhole = "it is started, and is sent in one piece, or need not be sent",
        StartKnown = "it is started, and its statement or routine is known",
        StartPrepare = "it is started, and its statement or routine is not known: it is requested",
        StartFetch = "it is started: more rows of an open cursor are requested",
        DescribedOnly = "its statement is known, and was to be prepared only",
        Refused = "it cannot be sent: its text, a value or a cursor is invalid",
        Described = "the statement is described, or the handle of the routine has come",
        TypesRequested = "the types of its parameters are not known: SQ_CIDESCRIBE is sent",
        TypesDescribed = "the types of its parameters have come, or the server does not report them",
        Error = "SQ_ERR",
        Executed = "SQ_EXECUTE or SQ_EXFPROUTINE is sent",
        Opened = "SQ_OPEN is sent, with the request for the first rows",
        BatchBegun = "it has many rows of parameters",
        RowsSent = "the last row was sent, or a value does not fit",
        RowFailed = "SQ_ERR to one of the rows, or to the savepoint before them",
        PutFailed = "every reply has come: an insert cursor failed, is rolled back, and the rows are sent with another strategy",
        BatchEnded = "every reply has come: COMMIT, ROLLBACK or their savepoint variants are sent, if there is a guard",
        EndFailed = "the COMMIT failed, or an interrupt hit the ROLLBACK: it is rolled back",
        BlockEnded = "a block of rows ended without SQ_DONE",
        LastBlock = "the last block of rows ended, or the response handler is gone",
        ValuesDescribed = "a block of rows ended that has only descriptors of some values",
        BlockRequested = "SQ_NFETCH is sent",
        ValuesRequested = "SQ_FETCHBLOB is sent for each value",
        Abandoned = "its response handler is gone",
        Again = "its statement was older than its table: it begins again",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<RequestState, RequestEvent> = {
    use RequestEvent::*;
    use RequestState::*;
    Transitions {
        machine: "informix",
        rows: headrace_core::rows![
            (Queued, StartWhole, Sent),
            (Queued, StartKnown, Bindable),
            (Queued, StartPrepare, Preparing),
            (Queued, StartFetch, Fetching),
            (Queued | Bindable, Refused, Sent),
            (Bindable, DescribedOnly, Sent),
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
            (Fetching | FetchMore, LastBlock, Sent),
            (Fetching, ValuesDescribed, FetchLarge),
            (FetchMore, BlockRequested, Fetching),
            (FetchLarge, ValuesRequested, Fetching),
            (Bindable | FetchMore | FetchLarge, Abandoned, Sent),
            (Sent, Again, Queued),
        ],
    }
};
