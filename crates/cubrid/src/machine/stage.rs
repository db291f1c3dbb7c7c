//! The progress of a pending request: its states, the events, and the table of transitions.
//!
//! The states are what a request still has to send: only the request that was started last may be in a state other
//! than `Sent`. Events are of three kinds: the machine starts or continues a request, a reply belongs to it, or its
//! response handler has failed or was discarded. [`PendingRequest::go`](super::pending::PendingRequest::go) is the only
//! function that changes a state.
//!
//! Not in the table: replies that are only counted; the END_TRAN that ends what a statement outside of a block has left
//! open; and requests that leave the queue, which they do in any state when the session ends and in `Sent` when all is
//! answered.

use super::batch::Batch;
use super::pages::Pages;
use headrace_core::transitions::Transitions;

/// The state of a request, and the data that is valid only in it.
#[derive(Debug)]
pub(super) enum Stage {
    Queued,
    Preparing,
    Bindable,
    Reading {
        /// Rows that have come.
        rows: i32,
        /// Rows of the result.
        total: i32,
        /// The pages that were requested.
        pages: Pages,
    },
    /// A batch whose rows are being sent.
    Sending(Box<Batch>),
    /// A batch of which no more rows are sent.
    Draining(Box<Batch>),
    Sent,
}

headrace_core::names! {
    /// The state of a pending request, without its data.
    pub enum RequestState {
        Queued = "nothing of it was sent",
        Preparing = "PREPARE was sent",
        Bindable = "its statement is known",
        Reading = "EXECUTE of a statement with rows, or FETCH of a further page, was sent",
        Sending = "a batch whose rows are being sent",
        Draining = "a batch of which no more rows are sent; replies are to come",
        Sent = "all of it was sent",
    }
}

headrace_core::names! {
    /// An event that changes the state of a pending request.
    pub enum RequestEvent {
        StartWhole = "it is started, and is sent in one piece, or need not be sent",
        StartKnown = "it is started, and its statement is known",
        StartPrepare = "it is started, and its statement is not known",
        Prepared = "its statement is prepared",
        PreparedLast = "its statement is prepared, and nothing else has to be sent",
        Refused = "the server does not prepare it, or a value does not fit",
        Executed = "EXECUTE is sent, of a statement without rows, or PARAMETER_INFO",
        Opened = "EXECUTE is sent, of a statement with rows, or SCHEMA_INFO, MAKE_OUT_RS, or FETCH of an open result",
        BatchBegun = "it has many rows of parameters, or many texts",
        LastPage = "the last page of rows has come, or an error in its place",
        RowsSent = "the last row was sent, or the response handler fails",
        RowFailed = "a row has failed",
        BatchEnded = "every reply has come; the end of the guard is sent",
        Abandoned = "its response handler is gone",
        Again = "its statement has to be prepared again or with another text, or executed in a transaction: it begins again",
        Released = "the broker has given the CAS to another client before it read any of it: it begins again",
    }
}

impl Stage {
    /// The state's name.
    pub(super) fn state(&self) -> RequestState {
        match self {
            Stage::Queued => RequestState::Queued,
            Stage::Preparing => RequestState::Preparing,
            Stage::Bindable => RequestState::Bindable,
            Stage::Reading { .. } => RequestState::Reading,
            Stage::Sending(_) => RequestState::Sending,
            Stage::Draining(_) => RequestState::Draining,
            Stage::Sent => RequestState::Sent,
        }
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<RequestState, RequestEvent> = {
    use RequestEvent::*;
    use RequestState::*;
    Transitions {
        machine: "cubrid",
        rows: headrace_core::rows![
            (Queued, StartWhole, Sent),
            (Queued, StartKnown, Bindable),
            (Queued, StartPrepare, Preparing),
            (Preparing, Prepared, Bindable),
            (Preparing, PreparedLast, Sent),
            (Queued, Opened, Reading),
            (Queued | Preparing | Bindable, Refused, Sent),
            (Bindable, Executed, Sent),
            (Bindable, Opened, Reading),
            (Queued | Bindable, BatchBegun, Sending),
            (Reading, LastPage, Sent),
            (Sending, RowsSent, Draining),
            (Sending, RowFailed, Draining),
            (Draining, BatchEnded, Sent),
            (Bindable | Reading, Abandoned, Sent),
            (Bindable | Sent | Reading | Draining, Again, Queued),
            (Preparing | Reading | Sending | Draining | Sent, Released, Queued),
        ],
    }
};
