//! The requests of a connection, and the groups that were sent for them.

use crate::messages::server::ServerError;
use headrace_core::WhenLost;
use headrace_core::verb::{Effect, IfUnsent, Verb};
use headrace_core::words::keeps_transaction;
use std::sync::Arc;

/// Which parameters an execution has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRows {
    /// One row, the response handler's current one.
    One,
    /// As many rows as the response handler's `next_row` delivers, all or none of them.
    Batch,
}

/// The strategy of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStrategy {
    /// Rows in the columns' own form, put into an insert cursor.
    Put,
    /// Many SQ_BIND and SQ_EXECUTE in a group.
    Groups,
    /// A group for each row, one after the other.
    Rows,
}

/// An execution.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The statement, with parameters as `?`.
    pub sql: Arc<str>,
    /// One row of parameters or many.
    pub rows: ParameterRows,
    /// Begin a transaction first, unless one is open then or the database has none.
    pub begin: bool,
    /// A fixed strategy for the batch, for measurements; without it the statement and its rows decide.
    pub strategy: Option<BatchStrategy>,
}

/// A cursor that stays open: its rows are fetched by further requests.
#[derive(Clone, Debug)]
pub struct Declare {
    /// The response handler's number for it.
    pub cursor: u64,
    /// The query.
    pub sql: Arc<str>,
    /// The name for `WHERE CURRENT OF`; without one the machine makes one up.
    pub name: Option<Arc<str>>,
    /// Its rows are fetched by number.
    pub scroll: bool,
    /// It survives its transaction.
    pub with_hold: bool,
    /// Begin a transaction first, as for [`Execute::begin`].
    pub begin: bool,
    /// Bytes of rows that come with the opening (none of a scroll cursor); at least one row does.
    pub bytes: i32,
}

/// A row of a scroll cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// By its number, counted from 1.
    Row(i32),
    /// The last one.
    Last,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Execute a statement.
    Execute(Execute),
    /// Prepare a statement and describe its columns, without executing it.
    Prepare {
        /// The statement.
        sql: Arc<str>,
    },
    /// Open a cursor, and fetch its first rows. Its result is suspended if there may be more.
    Declare(Declare),
    /// Fetch more rows of a cursor, up to this number of bytes but at least one row.
    Fetch {
        /// Its number.
        cursor: u64,
        /// Bytes of rows.
        bytes: i32,
    },
    /// Fetch one row of a scroll cursor. The result's count is the row's number.
    Scroll {
        /// Its number.
        cursor: u64,
        /// Which row.
        to: Position,
    },
    /// Close a cursor.
    Close {
        /// Its number.
        cursor: u64,
    },
    /// Call a routine over the fast path. Its result is one row.
    Routine {
        /// The signature, as `function informix.ifx_lo_close(integer)`.
        signature: Arc<str>,
        /// Begin a transaction first, as for [`Execute::begin`].
        begin: bool,
    },
    /// Read this number of bytes of a smart large object from its current position. The result is one row of one value.
    ReadObject {
        /// Its handle.
        object: i16,
        /// The number of bytes.
        bytes: i32,
    },
    /// Write to a smart large object at its current position. The result counts the bytes.
    WriteObject {
        /// Its handle.
        object: i16,
        /// The bytes to write.
        data: Arc<[u8]>,
    },
    /// A verb of the session. BEGIN WORK is sent unless a transaction is open then, COMMIT WORK and ROLLBACK WORK if one
    /// is.
    Verb(Verb),
}

impl Request {
    /// What becomes of it in a block whose transaction the server has ended.
    pub(super) fn when_lost(&self) -> WhenLost {
        match self {
            Request::Verb(verb) => verb.when_lost(),
            Request::Close { .. } => WhenLost::Sent,
            _ => WhenLost::Refused,
        }
    }

    /// Returns true if it is the end of a block, which has to be sent.
    pub(super) fn is_owed_end(&self) -> bool {
        matches!(self, Request::Verb(verb) if verb.effect().is_owed_end())
    }

    /// Returns true if it is a COMMIT that the program may ask for again. It is the verb that has this effect: the
    /// request's own is unknown, as it may be interrupted.
    pub(super) fn is_end_of_program(&self) -> bool {
        matches!(self, Request::Verb(verb) if verb.effect().is_end_of_program())
    }

    /// The statement that it has to be prepared for.
    pub(super) fn sql(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(execute) => Some(&execute.sql),
            Request::Declare(declare) => Some(&declare.sql),
            Request::Prepare { sql } => Some(sql),
            _ => None,
        }
    }

    /// Returns true if it needs a transaction.
    pub(super) fn begins(&self) -> bool {
        match self {
            Request::Execute(execute) => execute.begin,
            Request::Declare(declare) => declare.begin,
            _ => false,
        }
    }

    /// Its effect on the transaction.
    pub(super) fn effect(&self) -> Effect {
        match self {
            // Sent, it may be interrupted.
            Request::Verb(Verb::Commit(IfUnsent::Forget)) => Effect::Unknown,
            Request::Verb(verb) => verb.effect(),
            Request::Routine { begin: true, .. } => Effect::Begins,
            Request::Execute(_) | Request::Declare(_) => match self.sql().is_some_and(|sql| keeps_transaction(sql)) {
                true if self.begins() => Effect::Begins,
                true => Effect::Keeps,
                false => Effect::Unknown,
            },
            _ => Effect::Keeps,
        }
    }

    /// The cursor that stays open after it.
    pub(super) fn cursor(&self) -> Option<u64> {
        match self {
            Request::Declare(Declare { cursor, .. })
            | Request::Fetch { cursor, .. }
            | Request::Scroll { cursor, .. } => Some(*cursor),
            _ => None,
        }
    }
}

/// The kind of reply that a group expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Prepare,
    /// The types of a statement's parameters.
    Types,
    /// The question for the locale of a database that was opened.
    LocalePrepare,
    /// Its row.
    LocaleFetch,
    Begin,
    /// SQ_EXECUTE of rows from this one on.
    Execute {
        first: u64,
    },
    /// SQ_PUT of this number of rows, from this one on.
    Put {
        first: u64,
        count: u64,
    },
    /// CLOSE of the insert cursor that took these rows.
    PutClose {
        first: u64,
        count: u64,
    },
    Fetch,
    Large,
    /// COMMIT at the end of a request.
    Commit,
    /// COMMIT after a single statement.
    AutoCommit,
    Rollback,
    /// The savepoint of a batch.
    Guard,
    /// ROLLBACK, or back to the savepoint, before a batch is repeated.
    Undo,
    /// Fire-and-forget: CLOSE, RELEASE, or a ping that absorbs a late interrupt. Errors are ignored.
    CleanUp,
    Ping,
    Savepoint,
    /// A further preparation of a query.
    Duplicate,
    /// The handle of a routine.
    GetRoutine,
    /// A routine's result.
    Routine,
    /// Content of a smart large object.
    Object,
}

/// A group in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The request it was sent for; it may be over already.
    pub request_id: u64,
    pub expect: Expect,
}

/// The part of the current reply that has come.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub error: Option<ServerError>,
    /// The server has reported that the transaction has ended.
    pub has_ended: bool,
    /// SQ_DONEs so far.
    pub dones: u64,
    /// The number of them before the error. A server that continues after it sends more.
    pub good: u64,
    /// The sum of their rows.
    pub affected: i64,
    /// The rows of the last of them.
    pub last: i64,
    pub serial: Option<i64>,
    /// Bytes of rows so far.
    pub row_bytes: usize,
    /// A piece of a BYTE or TEXT value has come.
    pub pieces: bool,
}
