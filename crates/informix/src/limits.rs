//! Limits and numbers of SQLI beside those of the engine.

use std::time::Duration;

/// Bytes of rows requested when a cursor is opened.
pub const FIRST_FETCH_BYTES: i32 = 64 * 1024;

/// Bytes of rows requested by every further fetch.
pub const FETCH_BYTES: i32 = 128 * 1024;

/// Fetches of one query that are in flight, so that the server makes the next rows while these are decoded.
pub const FETCHES_IN_FLIGHT: usize = 4;

/// Queries of a pipeline whose cursors are open at the same time.
pub const SELECTS_IN_FLIGHT: usize = 32;

/// Executions of one query that have to be waiting before duplicates of its statement are prepared for them.
pub const COPIES_WORTH: usize = 4;

/// Bytes of rows that a server without large fetch buffers takes at most.
pub const OLD_FETCH_BYTES: i32 = 32_767;

/// Bytes of a batch's rows that travel in one group.
pub const GROUP_BYTES: usize = 32 * 1024;

/// Bytes of CHAR columns in a row up to which rows are put into an insert cursor, where blanks are sent too.
pub const PADDED_BYTES: usize = 64;

/// The lowest sqlcode of statements that are older than their table (-710) and have to be prepared again.
pub const STALE: i32 = -710;

/// The sqlcodes of values that cannot be converted to a column's type.
pub const CONVERSION: std::ops::RangeInclusive<i32> = -1299..=-1203;

/// Those of values that cannot be converted to an extended type, and to BOOLEAN.
pub const EXTENDED_CONVERSION: [i32; 2] = [-9632, -9648];

/// The sqlcode of a statement that was interrupted.
pub const INTERRUPTED: i32 = -213;

/// ISAM errors about locks of other sessions: record, table, deadlock, lock timeout.
pub const LOCKED: [i32; 5] = [-107, -113, -143, -144, -154];

/// The sqlcode of rows that could not be inserted.
pub const NOT_INSERTED: i32 = -271;
/// Bytes of one SQ_DESCRIBE: a good half more than 32,767 columns with names, types and owners of full length take.
pub const DESCRIPTION_BYTES: usize = 16 * 1024 * 1024;
/// How long the server gets to read the group that it works on next.
pub const INTERRUPT_READING: Duration = Duration::from_millis(250);
/// How long an urgent byte gets to take effect. A server that answers nothing for this long loses the connection
/// anyway.
pub const INTERRUPT_PATIENCE: Duration = Duration::from_secs(2);
