//! Batches: many rows of parameters for one statement, applied all or none.
//!
//! The protocol has no "skip to the end after an error", so a batch brings its own guard. In autocommit that is `SET
//! autocommit=0` ... `COMMIT` and `SET autocommit=1`, not START TRANSACTION: a deadlock ends a transaction in the
//! middle of the batch, and the rows already in flight must then fall into a new one, which is rolled back too, and not
//! be committed one by one. Inside a transaction the guard is a savepoint; if that transaction was begun by START
//! TRANSACTION in autocommit, the rows after a deadlock could not be caught, so there one command is in flight at a
//! time.
//!
//! Each strategy, measured on MariaDB 10.11 over loopback (medians of 7, `cargo bench -p headrace-mysql`; 3 columns):
//!
//! | rows | Pipelined | Joined | Bulk |
//! |---|---|---|---|
//! | insert 1,000 | 11.8 ms | 3.4 ms | 2.6 ms |
//! | insert 100,000 | 1,251 ms | 242 ms | 221 ms |
//! | update 10,000 | 153 ms | | 57 ms |
//!
//! Rows that travel together get a savepoint for each chunk but the first: if a chunk fails, the session rolls back to
//! the savepoint before it, and the chunk's rows are sent again one by one, which names the row: unless they were
//! interrupted, or the batch was abandoned.
//!
//! A cached statement can be stale. The server prepares it again by itself, but some versions of MariaDB (11.4.5 is
//! one) do not for COM_STMT_BULK_EXECUTE and answer with an error that has no number. The batch is then rolled back and
//! repeated with a newly prepared statement.
//!
//! The progress of a batch is a state of its own: see [`super::stage`].

use super::MyHandler;
use super::chunk::{Chunk, Frame};
use super::pending::Failure;
use super::request::{AsText, BatchStrategy, Execute, ParameterRows, may_load};
use super::session::SessionState;
use super::stage::{BATCH_TRANSITIONS, BatchEvent, Phase};
use super::statement::Statement;
use crate::limits::{CHUNK_BYTES, CHUNK_ROWS};
use crate::packets::capabilities::{Capabilities, StatusFlags};
use crate::sql::{Insert, Scan, Table};
use std::collections::VecDeque;

/// The savepoint of a batch inside a transaction.
pub(super) const SAVEPOINT: &str = "headrace_batch";

/// The savepoint before chunk `number`. The server forgets the one before the last when its name is used again.
pub(super) fn chunk_savepoint(number: u64) -> String {
    format!("headrace_chunk_{}", number % 2)
}

/// How the batch is rolled back if a row fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    None,
    Autocommit,
    Savepoint,
}

/// What can be done about a batch that has failed.
#[derive(Debug)]
pub(super) enum Remedy {
    /// The server does not take the statement in bulk, after all: the rows are sent one by one.
    NotInBulk,
    /// The cached statement was stale, or a text is to be written as a literal: the batch is rolled back, and repeated.
    Again,
    /// Rows that travelled together failed: they are rolled back, and sent one by one to find the row.
    Repeat {
        chunk: Chunk,
        /// That of its savepoint.
        number: u64,
    },
}

/// A batch in progress.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) atomic: bool,
    pub(super) guard: Guard,
    pub(super) phase: Phase,
    /// The chunk that rows travel together in; `None` if each is a command of its own.
    pub(super) frame: Option<Frame>,
    /// Commands in flight at most.
    pub(super) window: usize,
    /// Being filled.
    pub(super) chunk: Chunk,
    /// After `chunk`, with a row of other types.
    pub(super) following: Option<Chunk>,
    pub(super) flying: VecDeque<Chunk>,
    /// Chunks sent so far.
    pub(super) chunks: u64,
    /// What is to be done about the failure, once all is answered.
    pub(super) remedy: Option<Remedy>,
    /// The position in the write buffer at which it began.
    pub(super) mark: u64,
    /// It turns autocommit off, for the rest of the program's block: see [`super::block`].
    pub(super) holds_block: bool,
    /// Rows encoded.
    pub(super) encoded: u64,
    /// Rows answered, if each is a command of its own.
    pub(super) answered: u64,
    /// The guard is set, or was refused.
    pub(super) is_open: bool,
    /// Chunks but the first have savepoints.
    pub(super) saves: bool,
    /// What becomes of the rows that the server has applied, if the batch fails.
    pub(super) kept: Kept,
}

/// Rows of a batch that the server has applied.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Their number.
    pub(super) rows: u64,
    /// The rows of the chunk that failed: some of them may be applied, too.
    pub(super) doubtful: usize,
    /// They cannot be undone: a table has no transactions, or the transaction takes no savepoint.
    pub(super) is_final: bool,
    /// The server has refused to turn autocommit off: each of them is committed.
    pub(super) is_committed: bool,
}

impl Kept {
    /// Adds to the error of a batch that could not be undone which of its rows are applied.
    pub(super) fn explain<H: MyHandler>(&self, failure: &mut Failure<H>) {
        let Failure::Server { error, .. } = failure else { return };
        if !(self.is_final || self.is_committed) || self.rows == 0 && self.doubtful < 2 {
            return;
        }
        let reason = if self.is_committed { "autocommit was not turned off" } else { "a table has no transactions" };
        let plural = if self.rows == 1 { "" } else { "s" };
        let doubtful = match self.doubtful {
            0 | 1 => String::new(),
            rows => format!(", and of the next {rows} those before the one that was refused"),
        };
        error.message.push_str(&format!(
            "; the batch could not be undone, as {reason}: {} row{plural} of it stay applied{doubtful}",
            self.rows
        ));
    }
}

impl Batch {
    /// Returns true if it is being rolled back, or closed.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Undo { .. } | Phase::Close | Phase::Closing { .. })
    }

    /// Puts it into another state, which `event` brings it to.
    pub(super) fn go(&mut self, event: BatchEvent, to: Phase) {
        BATCH_TRANSITIONS.take(self.phase.state(), event, to.state());
        self.phase = to;
    }

    /// Returns true if it has begun a transaction that is only its own.
    pub(super) fn has_own_transaction(&self) -> bool {
        self.guard == Guard::Autocommit
    }

    fn begin(execute: &Execute, frame: Option<Frame>, window: usize) -> Self {
        let atomic = matches!(execute.rows, ParameterRows::Batch { atomic: true, .. });
        Self {
            atomic,
            holds_block: false,
            guard: Guard::None,
            phase: Phase::Idle,
            frame,
            window,
            chunk: Chunk::default(),
            following: None,
            flying: VecDeque::new(),
            chunks: 0,
            remedy: None,
            mark: 0,
            encoded: 0,
            answered: 0,
            is_open: false,
            saves: true,
            kept: Kept::default(),
        }
    }

    /// The server has refused a savepoint, since a table that the transaction has changed has none. The rest is sent
    /// without, one chunk at a time: what is in flight after a chunk that fails would be applied.
    pub(super) fn has_no_savepoints(&mut self) {
        if !self.is_open && self.guard == Guard::Savepoint {
            self.guard = Guard::None;
            self.kept.is_final = true;
        }
        self.saves = false;
        self.window = 1;
    }

    /// The batch of a statement that is known.
    pub fn new(execute: &Execute, statement: &Statement, session: &SessionState) -> Self {
        // Each number of rows is looked at.
        let is_free = statement.params > 0 && statement.limits.is_empty();
        let frame = match statement.id {
            Some(statement_id) if is_free && offers_bulk(execute, session) => {
                let lists = session.lists(&execute.sql);
                Some(Frame::Bulk { statement_id, params: statement.params, lists })
            }
            _ => None,
        };
        // The server takes whatever follows a LOAD DATA LOCAL for the file.
        let loads = || {
            let scan = Scan::new(&execute.sql, session.modes());
            scan.verb == "load" || scan.uncertain
        };
        let is_fed = frame.is_none() && session.capabilities.contains(Capabilities::LOCAL_FILES);
        let window = if is_fed && may_load(&execute.sql) && loads() { 1 } else { usize::MAX };
        Self::begin(execute, frame, window)
    }

    /// The table of an INSERT whose rows may be sent together, and the statement if they would be joined; in bulk
    /// otherwise.
    pub fn insert(execute: &Execute, session: &SessionState) -> Option<(Table, Option<Insert>)> {
        let ParameterRows::Batch { strategy, .. } = execute.rows else { return None };
        if strategy == BatchStrategy::Pipelined {
            return None;
        }
        if offers_bulk(execute, session) {
            return Some((Table::new(&execute.sql, session.modes())?, None));
        }
        let insert = Insert::new(&execute.sql, session.modes())?;
        // MariaDB (10.11 is one) refuses a row of INSERT IGNORE that a CHECK, or that of a view, excludes; but within a
        // statement of many rows it skips such a row, with a warning.
        let skips = insert.ignores && session.mariadb;
        (!skips).then(|| (insert.table.clone(), Some(insert)))
    }

    /// The batch of a statement that needs no preparing, because its rows are joined.
    pub fn without_preparing(execute: &Execute, insert: Insert, session: &SessionState) -> Self {
        let frame = Frame::Insert { insert, lists: session.lists(&execute.sql) };
        Self::begin(execute, Some(frame), usize::MAX)
    }

    /// Chooses the guard by the state of the session, of which nothing is in flight now.
    pub(super) fn set_guard(&mut self, status: StatusFlags) {
        let autocommit = status.contains(StatusFlags::AUTOCOMMIT);
        let open = status.contains(StatusFlags::IN_TRANS);
        self.guard = match (self.atomic, autocommit && !open) {
            (false, _) => Guard::None,
            (true, true) => Guard::Autocommit,
            (true, false) => Guard::Savepoint,
        };
        // Without a guard a chunk can only be sent again if nothing was in flight after it.
        if self.guard == Guard::Savepoint && autocommit || self.guard == Guard::None && self.frame.is_some() {
            self.window = 1;
        }
    }

    /// From now on each row is a command of its own.
    pub(super) fn sends_rows_alone(&mut self) {
        self.frame = None;
        // Chunks are sent again, rows are not. Without the savepoint that was to be, one is in flight at a time, still.
        if !self.atomic {
            self.window = usize::MAX;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.following.is_some() || self.chunk.bytes() >= CHUNK_BYTES || self.chunk.rows() >= CHUNK_ROWS
    }
}

/// Returns true if COM_STMT_BULK_EXECUTE is requested, offered by the server, and possible for this statement. The
/// server refuses it for statements that return rows.
fn offers_bulk(execute: &Execute, session: &SessionState) -> bool {
    let wanted =
        matches!(execute.rows, ParameterRows::Batch { strategy: BatchStrategy::Auto | BatchStrategy::Bulk, .. });
    if !wanted
        || execute.text == AsText::Always
        || !session.capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    {
        return false;
    }
    let scan = Scan::new(&execute.sql, session.modes());
    let possible = scan.bulk && !scan.returning && scan.takes_literals() && !scan.placeholders.is_empty();
    possible && session.binds(&execute.sql, &scan)
}
