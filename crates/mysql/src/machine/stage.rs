//! The progress of a pending request and of its batch: the states, the events, and the tables of transitions.
//!
//! The states of a request are those of sending: only the request that was started last may be in a state other than
//! `Sent`. A batch, as it has to wait for its own replies in between, is in a state of its own while the request is in
//! `Batch`. Events are of three kinds: the machine starts or continues a request, a reply belongs to it, or its
//! response handler has failed or was discarded. [`PendingRequest::go`](super::pending::PendingRequest::go) and
//! [`Batch::go`](super::batch::Batch::go) are the only functions that change them.
//!
//! Not in the tables: replies that are only counted, and rows; requests that leave the queue, which they do in any
//! state when the session ends, in `Sent` when all is answered, and in any other when nothing of them was sent; and
//! packets that the server must not send in a state, which end the session.

use super::batch::Batch;
use super::chunk::Chunk;
use super::table::Said;
use crate::sql::Table;
use headrace_core::transitions::Transitions;

/// The state of a request.
#[derive(Debug)]
pub(super) enum Stage {
    Queued,
    Preparing {
        /// COM_STMT_EXECUTE was sent after COM_STMT_PREPARE.
        is_executed: bool,
    },
    Bindable,
    Asking {
        table: Table,
        /// What the answers have said so far.
        said: Box<Said>,
    },
    Batch(Box<Batch>),
    Uploading {
        /// The name of the file that the server requests.
        file: Vec<u8>,
        /// The number that the next packet of the file must have.
        sequence: u8,
    },
    /// Sent: the file is over.
    Uploaded,
    /// Sent: a cursor is opened, and its first rows are requested.
    Opening {
        /// The number of warnings of the opening, which are reported with the first rows.
        warnings: u16,
    },
    Sent,
}

headrace_core::names! {
    /// The state of a pending request, without its data.
    pub enum RequestState {
        Queued = "nothing of it was sent",
        Preparing = "COM_STMT_PREPARE was sent, on MariaDB with COM_STMT_EXECUTE after it where that is possible",
        Bindable = "its statement is known, or is sent as text",
        Asking = "a batch whose rows may be sent together: the server was asked whether it makes of them what it makes of single ones",
        Batch = "a batch: see its own table",
        Uploading = "the server receives a file",
        Sent = "all of it was sent",
    }
}

headrace_core::names! {
    /// An event that changes the state of a pending request.
    pub enum RequestEvent {
        StartWhole = "it is started, and is sent in one piece",
        StartKnown = "it is started, and its statement is known, or is sent as text",
        StartPrepare = "it is started, and its statement is not known",
        StartBatch = "it is started: a batch whose rows are joined, so that nothing is prepared",
        AskTable = "it is started: a batch whose rows may be sent together, into a table of which that is not known",
        TableKnown = "the answer is complete: the batch begins",
        Interrupted = "the question was interrupted, which was meant for the batch",
        StartNeedless = "it is started, and its result is known already; earlier requests are unanswered",
        Prepared = "COM_STMT_PREPARE_OK",
        PreparedLast = "COM_STMT_PREPARE_OK, and nothing else has to be sent",
        GoesAsText = "the server does not prepare it: its parameters become literals",
        Refused = "the server does not prepare it",
        Executed = "its parameters were sent",
        Rebound = "its statement is bound to other types: COM_STMT_PREPARE is sent again",
        BatchBegun = "it has many rows of parameters",
        Abandoned = "its response handler is gone, or a value does not fit; earlier requests are unanswered",
        FileRequested = "the server requests a file",
        FileEnded = "the file has ended",
        Again = "its statement was stale: it begins again",
    }
}

impl Stage {
    /// The state's name.
    pub(super) fn state(&self) -> RequestState {
        match self {
            Stage::Queued => RequestState::Queued,
            Stage::Preparing { .. } => RequestState::Preparing,
            Stage::Bindable => RequestState::Bindable,
            Stage::Asking { .. } => RequestState::Asking,
            Stage::Batch(_) => RequestState::Batch,
            Stage::Uploading { .. } => RequestState::Uploading,
            Stage::Uploaded | Stage::Opening { .. } | Stage::Sent => RequestState::Sent,
        }
    }
}

/// The transitions of a request.
pub static TRANSITIONS: Transitions<RequestState, RequestEvent> = {
    use RequestEvent::*;
    use RequestState::*;
    Transitions {
        machine: "mysql",
        rows: &[
            (Queued, StartWhole, Sent),
            (Queued, StartKnown, Bindable),
            (Queued, StartPrepare, Preparing),
            (Queued, StartBatch, Batch),
            (Queued, AskTable, Asking),
            (Asking, TableKnown, Queued),
            (Asking, Interrupted, Sent),
            (Queued, StartNeedless, Sent),
            (Preparing, Prepared, Bindable),
            (Preparing, PreparedLast, Sent),
            (Preparing, GoesAsText, Bindable),
            (Preparing, Refused, Sent),
            (Bindable, Executed, Sent),
            (Bindable, Rebound, Preparing),
            (Bindable, BatchBegun, Batch),
            (Preparing, Abandoned, Sent),
            (Bindable, Abandoned, Sent),
            (Sent, FileRequested, Uploading),
            (Uploading, FileEnded, Sent),
            (Sent, Again, Queued),
            (Batch, Again, Queued),
        ],
    }
};

/// The state of a batch.
#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    Rows {
        /// They are all encoded.
        exhausted: bool,
    },
    Drain,
    Undo {
        /// The chunk that failed.
        chunk: Chunk,
    },
    Repeat {
        chunk: Chunk,
        /// The row of it that is sent next.
        next: usize,
        /// The number of its rows that are answered.
        answered: usize,
        /// The row that failed alone.
        found: Option<u64>,
    },
    Close,
    Closing {
        /// The savepoint of the whole batch is gone, so its transaction has to be rolled back.
        lost: bool,
    },
}

headrace_core::names! {
    /// The state of a batch, without its data.
    pub enum BatchState {
        Idle = "nothing of it was sent",
        Rows = "rows are being sent",
        Drain = "no more rows are sent; replies are to come",
        Undo = "the chunk that failed is being rolled back",
        Repeat = "the rows of the chunk that failed are sent one by one, to find the failing row",
        Close = "only its end has to be sent",
        Closing = "COMMIT, RELEASE or ROLLBACK was sent, if there is something to end",
    }
}

headrace_core::names! {
    /// An event that changes the state of a batch.
    pub enum BatchEvent {
        FirstRow = "the first row is available: the beginning of the guard is sent",
        RowsSent = "the last row was sent",
        GivenUp = "a row has failed, or its response handler is gone",
        NotInBulk = "all is answered: the server does not accept the statement in bulk, and the rows can be read again",
        ChunkFailed = "all is answered: rows that travelled together failed, and their ROLLBACK is sent",
        Answered = "all is answered otherwise",
        Undone = "the table has transactions",
        NotUndone = "the table has no transactions, so that rows sent again would be applied twice, or the savepoint is gone",
        Repeated = "the row is found, or all are sent and answered",
        EndSent = "all is answered, and the end of the guard is sent",
    }
}

impl Phase {
    /// The state's name.
    pub(super) fn state(&self) -> BatchState {
        match self {
            Phase::Idle => BatchState::Idle,
            Phase::Rows { .. } => BatchState::Rows,
            Phase::Drain => BatchState::Drain,
            Phase::Undo { .. } => BatchState::Undo,
            Phase::Repeat { .. } => BatchState::Repeat,
            Phase::Close => BatchState::Close,
            Phase::Closing { .. } => BatchState::Closing,
        }
    }
}

/// The transitions of a batch.
pub static BATCH_TRANSITIONS: Transitions<BatchState, BatchEvent> = {
    use BatchEvent::*;
    use BatchState::*;
    Transitions {
        machine: "mysql-batch",
        rows: &[
            (Idle, FirstRow, Rows),
            (Rows, RowsSent, Drain),
            (Rows, GivenUp, Drain),
            (Drain, NotInBulk, Rows),
            (Drain, ChunkFailed, Undo),
            (Drain, Answered, Close),
            (Undo, Undone, Repeat),
            (Undo, NotUndone, Close),
            (Repeat, Repeated, Close),
            (Repeat, GivenUp, Close),
            (Close, EndSent, Closing),
        ],
    }
};
