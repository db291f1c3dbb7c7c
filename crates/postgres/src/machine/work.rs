//! The data of a pending request that depends on its kind, apart from the request itself.

use super::batch_joined::MultiRowInsert;
use super::deferred::Deferred;
use super::request::Request;
use super::statement::Statement;
use super::typing::Typing;
use crate::types::Oid;
use std::sync::Arc;

/// The data of a request, by its kind.
#[derive(Debug)]
pub(super) enum Work {
    /// It has a statement that is prepared, or a portal that is described: `Execute`, `Describe` and `DescribePortal`.
    Statement(Preparation),
    /// `Script`.
    Script {
        /// True if the script may set DateStyle itself, once that was needed.
        sets_style: Option<bool>,
        /// It takes rows by the simple protocol, so more of them may be in flight when it fails.
        fed: bool,
    },
    /// `Copy`.
    Copy {
        /// The types of its columns have been looked up.
        looked_up: bool,
    },
    /// `LookUp`: the results that are decoded once their types are known.
    Decode(Box<Deferred>),
    /// `LookUp`: a COPY whose rows were decoded as they came, and whose types may have been altered since they were
    /// looked up.
    Check(Box<Deferred>),
    /// Nothing: `Fetch`, `ClosePortal`, `Sync`, `QueryServerProcess`, and a `LookUp` that is answered.
    Nothing,
}

impl Work {
    /// The initial data of a request. The types of its parameters are moved here.
    pub(super) fn new(request: &mut Request) -> Self {
        match request {
            Request::Execute(execute) => Self::Statement(Preparation::new(std::mem::take(&mut execute.hints))),
            Request::Describe { .. } | Request::DescribePortal { .. } => Self::Statement(Preparation::new(Vec::new())),
            Request::Script { .. } => Self::Script { sets_style: None, fed: false },
            Request::Copy(_) => Self::Copy { looked_up: false },
            _ => Self::Nothing,
        }
    }
}

/// The statement of a request, and its state at the server.
#[derive(Debug)]
pub(super) struct Preparation {
    /// The types that the statement is, or will be, prepared with.
    pub(super) hints: Vec<Oid>,
    /// The statement, once it is known.
    pub(super) source: Option<Source>,
    pub(super) portal: PortalDescription,
    /// True once BindComplete has come: a failure before it has executed nothing.
    pub(super) bound: bool,
    /// The same, of the row of a batch whose result is the next.
    pub(super) is_row_bound: bool,
    /// The catalogue has shown that the statement was prepared for other types of columns.
    pub(super) outdated: bool,
    /// The current row of a batch has been read and not been sent.
    pub(super) types_pending: bool,
    /// A Flush was sent after the rows of a batch that can be read again.
    pub(super) is_flushed: bool,
    /// Whether it was found out, for a batch, how it can go on.
    pub(super) bulk: BulkProgress,
    /// The rows of a batch that goes on in statements of many rows.
    pub(super) joined: Option<Box<MultiRowInsert>>,
    /// The types of a batch whose values decide the types of its parameters.
    pub(super) typing: Option<Box<Typing>>,
}

impl Preparation {
    pub(super) fn new(hints: Vec<Oid>) -> Self {
        Self {
            hints,
            source: None,
            portal: PortalDescription::Unneeded,
            bound: false,
            is_row_bound: false,
            outdated: false,
            types_pending: false,
            is_flushed: false,
            bulk: BulkProgress::Untried,
            joined: None,
            typing: None,
        }
    }

    #[inline]
    pub(super) fn statement(&self) -> Option<&Arc<Statement>> {
        self.source.as_ref().map(Source::statement)
    }

    /// Returns true if a statement that it uses, or has used, came from the cache.
    pub(super) fn is_reused(&self) -> bool {
        self.source.as_ref().is_some_and(Source::is_reused)
            || self.typing.as_ref().is_some_and(|typing| typing.has_reused())
    }

    /// Returns true if the server has chosen types for a statement that it uses, or has used.
    pub(super) fn has_chosen_types(&self) -> bool {
        self.statement().is_some_and(|statement| statement.has_chosen_types(&self.hints))
            || self.typing.as_ref().is_some_and(|typing| typing.has_chosen_types())
    }

    /// Returns true if the current statement may have been prepared for a table that has changed since, in whichever
    /// session: it, or the statement that its encoders are of, came from the cache, and the server has chosen types for
    /// it.
    pub(super) fn may_be_outdated(&self) -> bool {
        let Some(source) = &self.source else { return false };
        let is_reused = match source {
            Source::Blind(_) => self.typing.as_ref().is_some_and(|typing| typing.is_of_reused()),
            _ => source.is_reused(),
        };
        is_reused && source.statement().has_chosen_types(&self.hints)
    }

    /// The statement that was prepared again for this request, without waiting, and the types it was prepared with.
    pub(super) fn reprepared(&self) -> Option<(&[Oid], &Arc<Statement>)> {
        match (self.typing.as_ref().and_then(|typing| typing.reprepared()), &self.source) {
            // A batch may have switched to other types.
            (Some(used), _) => Some(used),
            (None, Some(Source::Reprepared(statement))) => Some((&self.hints, statement)),
            (None, _) => None,
        }
    }
}

/// How far it is found out whether a batch can go on as a COPY, or in statements of many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BulkProgress {
    /// It has sent no row.
    Untried,
    /// It has enough rows for statements of many.
    Many,
    /// The number of its rows is not known: it has not sent enough for statements of many, nor for a COPY.
    Counting,
    /// The same, and it is none for a COPY.
    NoCopy,
    /// It has not sent enough for a COPY, and has too few rows for statements of many, or is none for those.
    Few,
    /// The catalogue was asked.
    CatalogQueried,
    /// It is known.
    Decided,
}

/// A statement, and the reason why it is valid.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The server has described it for this request.
    Described(Arc<Statement>),
    /// The request names the expected columns; it is prepared as it is executed.
    Expected(Arc<Statement>),
    /// It came from the cache: the server may have dropped or changed it.
    Cached(Arc<Statement>),
    /// The same, and it was prepared again before the request, without waiting for the reply.
    Reprepared(Arc<Statement>),
    /// Nothing: it was prepared for rows of a batch without waiting, and is not described.
    Blind(Arc<Statement>),
}

impl Source {
    #[inline]
    pub(super) fn statement(&self) -> &Arc<Statement> {
        match self {
            Self::Described(statement)
            | Self::Expected(statement)
            | Self::Cached(statement)
            | Self::Reprepared(statement)
            | Self::Blind(statement) => statement,
        }
    }

    pub(super) fn is_reused(&self) -> bool {
        matches!(self, Self::Cached(_) | Self::Reprepared(_))
    }

    #[inline]
    pub(super) fn is_blind(&self) -> bool {
        matches!(self, Self::Blind(_))
    }
}

/// Whether the portal is described as it is executed, if there is no other description of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortalDescription {
    /// It is not, or the description has come.
    Unneeded,
    /// It has to be requested with the first row of parameters.
    Needed,
    /// It was requested and has not come.
    Awaited,
}
