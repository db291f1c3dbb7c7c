//! Every limit and time of the server, by name and with its unit.

use std::time::Duration;

/// A page of rows is full when it has passed this number of bytes, as with the default NET_BUF_SIZE.
pub const PAGE: usize = 16 * 1024;
/// A result outside of a transaction is committed with its execution if its rows have less bytes than these in the
/// server's own files, whatever they have in a reply.
pub const COMMITTED_AT_ONCE: usize = 15 * 1024;
/// Bytes of a large object in the reply to one read.
pub const LOB_READ: usize = 81_908;
/// Prepared statements of one CAS.
pub const STATEMENTS: usize = 2000;
/// Results that a transaction may have, as with the default `max_query_per_tran`.
pub const RESULTS: usize = 100;
/// The largest request, in bytes; more is a client out of step.
pub const REQUEST: usize = 256 << 20;
/// Between two attempts to get a lock.
pub const LOCK_PAUSE: Duration = Duration::from_millis(3);
/// Steps of SQLite's machine between two looks at the clock.
pub const STEPS_PER_LOOK: i32 = 5_000;
/// Between two looks while a statement sleeps.
pub const SLEEP_PAUSE: Duration = Duration::from_millis(2);
/// The maximum nesting depth of brackets and queries.
pub const NESTING: usize = 120;
/// Operators in a row, as in `1 + 1 + 1`: each is one deeper than the one before, and SQLite takes a depth of 1000.
pub const OPERATORS: usize = 900;
/// The longest string, as parameter 3 reports it.
pub const STRING: i32 = 1_073_741_823;
/// How deep the server evaluates expressions within others.
pub const EVALUATED: usize = 400;
