//! What can be asked of a connection, and how far each request has come.

use super::IfxCaller;
use super::statement::Statement;
use crate::limits as own;
use crate::messages::server::ServerError;
pub(super) use headrace_core::Failure;
use headrace_core::words::keeps_transaction;
use headrace_core::{Caller, Epoch, Mismatch, Pending, Prepared, Slot};
use std::sync::Arc;

/// Which parameters an execution has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row, the caller's current one.
    One,
    /// As many as the caller's `next_row` gives, all or none of them.
    Batch,
}

/// How a batch travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// Rows in the columns' own form, put into an insert cursor.
    Put,
    /// Many SQ_BIND and SQ_EXECUTE in a group.
    Groups,
    /// A group for each row, one behind the other.
    Rows,
}

/// An execution.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The statement, with parameters as `?`.
    pub sql: Arc<str>,
    /// One row of parameters or many.
    pub rows: Rows,
    /// Begin a transaction first, unless one is open then or the database has none.
    pub begin: bool,
    /// How a batch is to travel, for measuring; without it what its statement and its rows allow decides.
    pub road: Option<Road>,
}

/// A cursor that stays open: its rows are fetched by further requests.
#[derive(Clone, Debug)]
pub struct Declare {
    /// The caller's number for it.
    pub cursor: u64,
    /// The query.
    pub sql: Arc<str>,
    /// The name for `WHERE CURRENT OF`; without one the machine makes one up.
    pub name: Option<Arc<str>>,
    /// Its rows are fetched by number.
    pub scroll: bool,
    /// It outlives its transaction.
    pub hold: bool,
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

/// What is to be done with a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Savepoint {
    /// Set it.
    Set,
    /// Forget it.
    Release,
    /// Undo what came after it.
    Rollback,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Execute a statement.
    Execute(Execute),
    /// Open a cursor, and fetch its first rows. Its result is suspended where there may be more.
    Declare(Declare),
    /// Fetch more rows of a cursor, up to so many bytes of them but at least one.
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
        /// What it is, as `function informix.ifx_lo_close(integer)`.
        signature: Arc<str>,
        /// Begin a transaction first, as for [`Execute::begin`].
        begin: bool,
    },
    /// Read so many bytes of a smart large object from where it stands. The result is one row of one value.
    ReadObject {
        /// Its handle.
        object: i16,
        /// How many.
        bytes: i32,
    },
    /// Write to a smart large object at where it stands. The result counts the bytes.
    WriteObject {
        /// Its handle.
        object: i16,
        /// What to write.
        data: Arc<[u8]>,
    },
    /// A savepoint of this name.
    Savepoint(Savepoint, Arc<str>),
    /// COMMIT WORK, if a transaction is open then.
    Commit {
        /// It ends a block that has to end: discarded before it was sent, it is a ROLLBACK.
        block: bool,
    },
    /// ROLLBACK WORK, if a transaction is open then.
    Rollback,
    /// BEGIN WORK, unless a transaction is open then.
    Begin,
    /// A round trip that does nothing else (SQ_VERSION).
    Ping,
}

impl Request {
    /// The statement that it has to be prepared for.
    pub(super) fn sql(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(execute) => Some(&execute.sql),
            Request::Declare(declare) => Some(&declare.sql),
            _ => None,
        }
    }

    /// Whether it wants a transaction.
    pub(super) fn begins(&self) -> bool {
        match self {
            Request::Execute(execute) => execute.begin,
            Request::Declare(declare) => declare.begin,
            _ => false,
        }
    }

    /// Whether a transaction is open after it, by whether one was before. `None` if only the
    /// answer tells: a text of the user's, a BEGIN WORK in front of a statement that may be refused before it is sent, and
    /// a COMMIT WORK that is interrupted, or leaves the queue where it is cancelled before.
    pub(super) fn leaves_transaction(&self, open: bool) -> Option<bool> {
        match self {
            Request::Commit { block } => block.then_some(false),
            Request::Rollback => Some(false),
            Request::Begin | Request::Routine { begin: true, .. } => open.then_some(true),
            Request::Execute(_) | Request::Declare(_) => {
                let keeps = self.sql().is_some_and(|sql| keeps_transaction(sql));
                (keeps && (open || !self.begins())).then_some(open)
            }
            _ => Some(open),
        }
    }

    /// The cursor that stays open behind it.
    pub(super) fn cursor(&self) -> Option<u64> {
        match self {
            Request::Declare(Declare { cursor, .. })
            | Request::Fetch { cursor, .. }
            | Request::Scroll { cursor, .. } => Some(*cursor),
            _ => None,
        }
    }
}

/// How far a request has come.
///
/// | from | event | to |
/// |---|---|---|
/// | Queued | statement known | Bindable |
/// | Queued | statement unknown: SQ_PREPARE sent | Preparing |
/// | Preparing | SQ_DESCRIBE, SQ_IDESCRIBE | Bindable |
/// | Bindable | types of parameters unknown: SQ_CIDESCRIBE sent | Preparing |
/// | Bindable | SQ_EXECUTE sent | Sent |
/// | Bindable | SQ_OPEN and SQ_NFETCH sent | Fetching |
/// | Queued | routine unknown: SQ_GETROUTINE sent | Preparing |
/// | Bindable | SQ_EXFPROUTINE sent | Sent |
/// | Bindable | batch begun | Sending |
/// | Sending | all rows sent, or an error | Draining |
/// | Draining | every reply is there | Sent: COMMIT, ROLLBACK or their savepoint twins went out |
/// | Draining | an insert cursor failed: undone | Sending, on another road |
/// | Fetching | a block ended without SQ_DONE | FetchMore, then Fetching |
/// | Fetching | a block has BYTE or TEXT values | FetchLarge, then as if the block had just ended |
/// | any | nothing more to send | Sent, and over with its last reply |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Preparing,
    Bindable,
    Sending,
    Draining,
    Fetching,
    FetchMore,
    FetchLarge,
    Sent,
}

/// What makes a batch atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The database has no transactions.
    None,
    /// A transaction of its own.
    Transaction,
    /// A savepoint in the transaction that was open.
    Savepoint,
}

/// What a group asked, so that its reply is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Prepare,
    /// The types of a statement's parameters.
    Types,
    /// The question for the locale of a database that was opened.
    LocalePrepare,
    /// Its row.
    LocaleFetch,
    Begin,
    /// SQ_EXECUTE of so many rows, the first of them this one.
    Execute {
        first: u64,
    },
    /// SQ_PUT of so many rows, the first of them this one.
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
    /// COMMIT at the end of what was asked.
    Commit,
    /// COMMIT behind a statement of its own.
    AutoCommit,
    Rollback,
    /// The savepoint of a batch.
    Guard,
    /// ROLLBACK, or back to the savepoint, before a batch is repeated.
    Undo,
    /// CLOSE or RELEASE, or a ping that takes a late interrupt upon itself: nobody waits, and an error changes nothing.
    CleanUp,
    Ping,
    Savepoint,
    /// A further preparation of a query.
    Copy,
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
    /// The entry it was sent for; it may be over already.
    pub entry: u64,
    pub asked: Asked,
}

/// What has come of the reply that is being read.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub error: Option<ServerError>,
    /// SQ_DONEs so far.
    pub dones: u64,
    /// How many of them came before the error. A server that goes on after it sends more.
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

/// How far a batch has come on its road.
#[derive(Debug)]
pub(super) struct Batch<C: Caller> {
    pub road: Road,
    /// The caller's current row is still to be sent: the road before could not take it.
    pub row_waits: bool,
    /// What the server said of the rows that it took from an insert cursor, until that is closed: SQ_DONEs, the sum of
    /// their rows, and the rows of the last.
    pub put: (u64, i64, i64),
    /// The failure came of putting rows.
    pub put_failed: bool,
    /// Why the batch is being repeated without putting rows.
    pub first_failure: Option<Failure<C>>,
}

/// A request in the queue.
#[derive(Debug)]
pub struct Entry<C: Caller> {
    pub(super) slot: Slot<C>,
    pub(super) request: Request,
    pub(super) stage: Stage,
    pub(super) statement: Option<Arc<Statement>>,
    /// The statement is in the cache, so it outlives the request.
    pub(super) kept: bool,
    /// The statement is a copy of the one in the cache.
    pub(super) copy: bool,
    /// The statement came from the cache, so it may be older than its table.
    pub(super) from_cache: bool,
    pub(super) retried: bool,
    /// A query, whose cursor may be open beside those of other queries: see [`super::side_by_side`].
    pub(super) reads: bool,
    pub(super) guard: Guard,
    pub(super) batch: Batch<C>,
    /// Groups in flight.
    pub(super) groups: usize,
    /// Rows of a batch that were sent.
    pub(super) rows_sent: u64,
    /// Rows affected, or fetched.
    pub(super) rows: i64,
    pub(super) serial: Option<i64>,
    /// A block of rows has come to its end.
    pub(super) block_ended: bool,
    /// SQ_DONE of a query has come: the cursor is at its end.
    pub(super) ended: bool,
    /// The number of the row of a scroll cursor that came last.
    pub(super) row_number: Option<i32>,
    /// Rows that wait for their BYTE and TEXT values.
    pub(super) held: Vec<Vec<u8>>,
    pub(super) large: Vec<Vec<u8>>,
}

impl<C: IfxCaller> Entry<C> {
    pub(super) fn new(slot: Slot<C>, request: Request) -> Self {
        Self {
            slot,
            request,
            stage: Stage::Queued,
            statement: None,
            kept: false,
            copy: false,
            from_cache: false,
            retried: false,
            reads: false,
            guard: Guard::None,
            batch: Batch {
                road: Road::Groups,
                row_waits: false,
                put: (0, 0, 0),
                put_failed: false,
                first_failure: None,
            },
            groups: 0,
            rows_sent: 0,
            rows: 0,
            serial: None,
            block_ended: false,
            ended: false,
            row_number: None,
            held: Vec::new(),
            large: Vec::new(),
        }
    }

    /// Ends it for a reason of the caller's own making.
    pub(super) fn refuse(&mut self, message: String) {
        self.slot.failure = Some(Failure::Caller { error: Mismatch::wrong_type(message).into(), row: None });
        self.stage = Stage::Sent;
    }

    /// The server took one of the rows for wrong. Of several failed groups the first names the row; an error of the
    /// caller's own behind it is not news. Says whether this failure counts.
    pub(super) fn rows_failed(&mut self, error: ServerError, row: Option<u64>) -> bool {
        let earlier = match (&self.slot.failure, row) {
            (Some(Failure::Server { .. }), _) => true,
            (Some(Failure::Caller { row: Some(ours), .. }), Some(row)) => *ours < row,
            (Some(Failure::Caller { .. }), _) => true,
            (None, _) => false,
        };
        if !earlier {
            self.slot.failure = Some(Failure::Server { error, row });
        }
        if self.stage == Stage::Sending {
            self.stage = Stage::Draining;
        }
        !earlier
    }

    /// Nothing is left to be sent or to be told. Blocks that were asked for ahead of the end may still come.
    pub(super) fn is_over(&self) -> bool {
        let read_to_the_end = self.ended && self.statement.is_some();
        self.stage == Stage::Sent && (self.groups == 0 || read_to_the_end)
    }

    /// Nobody wants its rows any more, but some are on their way: only behind them will its cursor be closed.
    pub(super) fn closes_later(&self) -> bool {
        let reads = self.statement.as_ref().is_some_and(|statement| statement.columns.is_some());
        reads && self.request.cursor().is_none() && !self.is_over()
    }

    /// The statement is older than its table, and was not executed.
    pub(super) fn is_stale(&self) -> bool {
        matches!(&self.slot.failure, Some(Failure::Server { error, .. }) if error.sqlcode == own::STALE)
    }

    /// A value did not fit a parameter as it was described once, so that the server has not been asked. The column may be
    /// another by now.
    pub(super) fn is_refused(&self) -> bool {
        self.from_cache && matches!(&self.slot.failure, Some(Failure::Caller { .. }))
    }

    /// A value was not what the column takes. The column may be another than the statement was prepared for.
    pub(super) fn is_conversion_error(&self) -> bool {
        matches!(&self.slot.failure, Some(Failure::Server { error, .. }) if own::CONVERSION.contains(&error.sqlcode))
    }

    /// The statement came from the cache, and did nothing because its table has changed: it is to be prepared again.
    /// `now` is the session's epoch.
    pub(super) fn is_worth_retrying(&self, now: Epoch) -> bool {
        let outdated = || self.statement.as_ref().is_some_and(|statement| statement.epoch() < now);
        // Of a batch whose first row was refused nothing was sent.
        let refused = self.is_refused()
            && (!self.is_batch() || matches!(self.slot.failure, Some(Failure::Caller { row: Some(0), .. })));
        let undone = match (self.is_batch(), self.guard) {
            (false, _) => self.rows == 0,
            // Other rows of the group may have been executed where a value did not fit.
            (true, Guard::None) => self.rows == 0 && (self.is_stale() || refused),
            (true, Guard::Savepoint | Guard::Transaction) => true,
        };
        // Elsewhere, too, a column may have become another; a batch that fails at once costs little to repeat.
        let first = self.is_batch() && matches!(&self.slot.failure, Some(Failure::Server { row: Some(0), .. }));
        (self.is_stale() || refused || (self.is_conversion_error() && (first || outdated())))
            && self.from_cache
            && !self.retried
            && undone
            && self.slot.caller.is_some()
    }

    /// It ends a block, or a transaction without keeping it. If that were interrupted, what nobody waits for any more would
    /// stay open, and what comes next would be in it.
    pub(super) fn ends_block(&self) -> bool {
        matches!(self.request, Request::Commit { block: true } | Request::Rollback | Request::Savepoint(..))
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(&self.request, Request::Execute(Execute { rows: Rows::Batch, .. }))
    }
}

impl<C: IfxCaller> Pending for Entry<C> {
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

    /// What undoes something is sent in any case.
    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        match self.request {
            Request::Commit { block: true } => {
                self.request = Request::Rollback;
                true
            }
            Request::Savepoint(Savepoint::Release, ref name) => {
                // The end of a block that is cancelled undoes it, as that of a whole transaction does.
                self.request = Request::Savepoint(Savepoint::Rollback, name.clone());
                true
            }
            Request::Rollback | Request::Savepoint(Savepoint::Rollback, _) => true,
            _ => false,
        }
    }

    fn is_at_server(&self) -> bool {
        self.groups > 0
    }

    /// What undoes a batch is part of it, and not to be hit.
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned && !self.is_batch() && !self.ends_block()
    }
}
