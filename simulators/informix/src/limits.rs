//! Every limit and time of the server, by name and with its unit.

use std::time::Duration;

/// The time that even `NOT WAIT` waits for a lock: SQLite locks a whole database where a server locks a row.
pub const LOCK_GRACE: Duration = Duration::from_millis(300);
/// Between two attempts to get a lock.
pub const LOCK_PAUSE: Duration = Duration::from_millis(3);
/// How long the parts of a large object wait for the locks of others.
pub const OBJECT_PATIENCE: Duration = Duration::from_secs(10);
/// Steps of SQLite's machine between two checks for an interrupt: rarely enough to cost nothing, often enough to end at
/// once.
pub const STEPS_PER_LOOK: i32 = 20_000;
/// How long a change of rows may continue after an interrupt. SQLite rolls back the whole transaction with a change
/// that is interrupted, so one that is nearly done is allowed to end.
pub const CHANGE_PATIENCE: Duration = Duration::from_millis(100);
/// Time between two checks for an interrupt while a statement sleeps.
pub const SLEEP_PAUSE: Duration = Duration::from_millis(2);
/// Bytes read at once from a client.
pub const READ_BUFFER: usize = 1 << 16;
/// Bytes of replies to pipelined groups that are gathered before they are sent.
pub const REPLY_BUFFER: usize = 1 << 16;
/// The longest field a client may announce, in bytes; more is a client out of step.
pub const FIELD: usize = 1 << 30;
/// The longest piece of a BYTE or TEXT in one SQ_BLOB, in bytes.
pub const BLOB_PIECE: usize = 1024;
/// The longest piece of a client's file in one message, in bytes.
pub const FILE_PIECE: usize = 1024;
/// The longest piece of a smart large object in one SQ_LODATA, in bytes.
pub const OBJECT_PIECE: u16 = 32_000;
/// The maximum nesting depth of brackets, queries and signs.
pub const NESTING: usize = 150;
