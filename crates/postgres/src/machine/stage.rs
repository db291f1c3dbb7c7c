//! The progress of a pending request: its states, the events, and the table of transitions.
//!
//! The states are those of *sending*: only the request that was started last may be in a state other than
//! [`Stage::Sent`], with one exception, [`Stage::AwaitSync`], in which a request waits for room in the write buffer.
//! Each owns the data that is valid only in it; the part of the reply that has come is in
//! [`Answer`](super::answer::Answer), and the data that requests of one kind need in every state is in
//! [`Work`](super::work::Work).
//!
//! Events are of three kinds: the machine starts or continues a request, a message of the server belongs to it, or its
//! response handler has failed or was discarded. [`PendingRequest::go`](super::pending::PendingRequest::go) is the only
//! function that changes a state.
//!
//! Not in the table: rows, notices and replies that are only counted (they change no state); requests that leave the
//! queue, which they may do in any state when the session ends, in `Sent` when they are answered, and in any but `Sent`
//! when they are taken back with everything written for them; and messages that the server must not send in a state,
//! which end the session.

use super::batch_table::Bulk;
use super::statement::Statement;
use crate::messages::backend::Field;
use crate::types::Oid;
use headrace_core::transitions::Transitions;
use std::sync::Arc;

/// The state of a request.
#[derive(Debug)]
pub(super) enum Stage {
    Queued,
    Describing {
        /// The statement that is being described, as far as it is known.
        draft: Arc<Statement>,
        /// The parameters' types, once ParameterDescription has come.
        parameters: Vec<Oid>,
    },
    Introspecting {
        rows: Vec<CatalogueRow>,
        /// The statement that continues then.
        statement: Arc<Statement>,
        /// It was known, and is described again if one of the types is another by now.
        checked: bool,
        /// The question is part of the request's group of messages, which goes on after its answer.
        within: bool,
    },
    Bindable {
        unsent: Unsent,
    },
    Sending {
        unsent: Unsent,
    },
    Answering,
    DescribingCopy {
        /// The columns of the query, once they have come.
        fields: Option<Vec<Field>>,
        /// The numbers of those that are left out.
        left_out: Vec<i16>,
    },
    IntrospectingCopy {
        rows: Vec<CatalogueRow>,
    },
    Opening,
    Copying,
    CheckingTable {
        rows: Vec<CatalogueRow>,
        /// What may be sent then.
        bulk: Box<Bulk>,
    },
    Feeding,
    LookingUp {
        rows: Vec<CatalogueRow>,
    },
    AwaitSync,
    Sent,
}

/// What can be taken back of a request if a value does not fit: everything written since a mark of the write buffer,
/// while all of it is still there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unsent {
    /// All of it.
    Whole(u64),
    /// Continues after Parse and Describe, which are answered but not followed by a Sync yet.
    Described(u64),
    /// Nothing: rows of it were sent before the current statement was described.
    Nothing,
}

/// A row of the query for types.
pub(super) type CatalogueRow = Vec<Option<String>>;

headrace_core::names! {
    /// The state of a pending request, without its data.
    pub enum RequestState {
        Queued = "nothing of it was sent",
        Describing = "Describe was sent; the reply is not complete yet",
        Introspecting = "its statement is known, and types of its parameters and columns were requested from the catalogue",
        Bindable = "its statement is known",
        Sending = "a batch whose rows are being sent",
        Answering = "a batch whose rows are all sent, and too many of them unanswered for its Sync",
        DescribingCopy = "the columns of a COPY were requested",
        IntrospectingCopy = "the types of a COPY's columns were requested",
        Opening = "a COPY was sent; what comes next depends on whether the server takes rows",
        Copying = "the server takes the rows of a COPY",
        CheckingTable = "a batch that may go on as a COPY, or in statements of many rows: its table was requested from the catalogue",
        Feeding = "a batch whose rows are sent as those of a COPY",
        LookingUp = "its results are deferred, and their types were requested",
        AwaitSync = "only the Sync that ends it has to be sent",
        Sent = "all of it was sent",
    }
}

headrace_core::names! {
    /// An event that changes the state of a pending request.
    pub enum RequestEvent {
        StartWhole = "it is started, and is sent in one piece",
        StartKnown = "it is started, and its statement is known",
        StartTypes = "it is started, its statement is known, and its values fit by the names of attributes: these are requested",
        StartDescribe = "it is started, or continues with a row of other types, or with columns that were altered: Describe is sent",
        StartCopy = "it is started, and may be a COPY that is fed",
        StartDescribeCopy = "it is started: the columns of its COPY are requested",
        StartLookUp = "it is started: the types of its results are requested",
        StartSkipped = "it is started in a group that has failed, the rest of which the server skips",
        StartNeedless = "it is started, and its portal is not open any more",
        Described = "the description has come, and all types are known",
        DescribedUnknown = "the description has come, and has unknown types",
        CatalogueRead = "the query for types is answered",
        NothingToExecute = "it was only to be described",
        RowSent = "its only row of parameters was sent",
        BatchBegun = "it has many rows of parameters",
        RowsSent = "the last row was sent",
        FewUnanswered = "few rows are unanswered",
        StartCheck = "a batch has sent enough rows: its table is looked up in the catalogue",
        TableDiffers = "to the table a COPY, or statements of many rows, would mean something else",
        JoinBegun = "to the table statements of many rows mean the same: the next rows are kept for them",
        OtherRow = "a row does not have the binary form of its columns: the COPY ends before it",
        CopySent = "the COPY is sent",
        CopyInResponse = "CopyInResponse: the server takes rows",
        CopyRefused = "CopyInResponse, but its response handler has no rows: CopyFail is sent",
        CopyOutResponse = "CopyOutResponse",
        CopyEnded = "the last row was sent, or the program has no more rows because of an error",
        SyncSent = "Sync is sent, if it has one of its own",
        Abandoned = "its response handler is gone, or a value does not fit",
        Poisoned = "the same, or columns were altered, when rows are in flight: an invalid Parse makes the server roll them back",
        Error = "ErrorResponse, to it or to an earlier request of its group",
        Again = "it failed because its statement was stale: it begins again",
        ResultsDeferred = "it is answered, and the types of its results have to be looked up",
    }
}

impl Stage {
    /// The state's name.
    pub(super) fn state(&self) -> RequestState {
        match self {
            Stage::Queued => RequestState::Queued,
            Stage::Describing { .. } => RequestState::Describing,
            Stage::Introspecting { .. } => RequestState::Introspecting,
            Stage::Bindable { .. } => RequestState::Bindable,
            Stage::Sending { .. } => RequestState::Sending,
            Stage::Answering => RequestState::Answering,
            Stage::DescribingCopy { .. } => RequestState::DescribingCopy,
            Stage::IntrospectingCopy { .. } => RequestState::IntrospectingCopy,
            Stage::Opening => RequestState::Opening,
            Stage::Copying => RequestState::Copying,
            Stage::CheckingTable { .. } => RequestState::CheckingTable,
            Stage::Feeding => RequestState::Feeding,
            Stage::LookingUp { .. } => RequestState::LookingUp,
            Stage::AwaitSync => RequestState::AwaitSync,
            Stage::Sent => RequestState::Sent,
        }
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<RequestState, RequestEvent> = {
    use RequestEvent::*;
    use RequestState::*;
    Transitions {
        machine: "postgres",
        rows: headrace_core::rows![
            (Queued, StartWhole, Sent),
            (Queued, StartKnown, Bindable),
            (Queued, StartTypes, Introspecting),
            (Queued | Sending | CheckingTable | Introspecting, StartDescribe, Describing),
            (Queued, StartCopy, Opening),
            (Queued, StartDescribeCopy, DescribingCopy),
            (Queued, StartLookUp, LookingUp),
            (Queued, StartSkipped, AwaitSync),
            (Queued, StartNeedless, AwaitSync),
            (Describing, Described, Bindable),
            (Describing, DescribedUnknown, Introspecting),
            (DescribingCopy, DescribedUnknown, IntrospectingCopy),
            (Introspecting, CatalogueRead, Bindable),
            (IntrospectingCopy, CatalogueRead, DescribingCopy),
            (LookingUp, CatalogueRead, Sent),
            (Bindable, NothingToExecute, AwaitSync),
            (Bindable, RowSent, AwaitSync),
            (Bindable, BatchBegun, Sending),
            (Sending, RowsSent, Answering),
            (Answering, FewUnanswered, AwaitSync),
            (Sending, StartCheck, CheckingTable),
            (CheckingTable, TableDiffers, Sending),
            (CheckingTable, JoinBegun, Sending),
            (CheckingTable | DescribingCopy, StartCopy, Opening),
            (DescribingCopy, CopySent, Sent),
            (Opening, CopyInResponse, Copying),
            (Opening, CopyInResponse, Feeding),
            (Feeding, OtherRow, Sending),
            (Feeding, RowsSent, Answering),
            (Sent, CopyInResponse, Copying),
            (Opening | Sent | AwaitSync | Sending | Answering, CopyRefused, Sent),
            (Opening, CopyOutResponse, Sent),
            (Copying, CopyEnded, Sent),
            (AwaitSync, SyncSent, Sent),
            (Queued | Bindable | DescribingCopy | Sending | Feeding, Abandoned, AwaitSync),
            (Bindable | Sending | Answering | CheckingTable, Poisoned, AwaitSync),
            (
                Describing
                    | Introspecting
                    | Bindable
                    | Sending
                    | Answering
                    | DescribingCopy
                    | IntrospectingCopy
                    | Opening
                    | Copying
                    | CheckingTable
                    | Feeding
                    | LookingUp,
                Error,
                AwaitSync
            ),
            (Opening | Copying | LookingUp, Error, Sent),
            (Sent | Bindable | Sending, Again, Queued),
            (Sent | AwaitSync, ResultsDeferred, Queued),
        ],
    }
};
