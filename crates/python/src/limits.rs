//! The limits of the extension for Python, each with its unit, and those of the engine.

use std::time::Duration;

pub use headrace_core::limits::*;

/// Rows of a batch that are kept while an iterator gives them, so that a batch whose statement turns out to be stale can
/// be repeated. Those of a list or a tuple can be read again in any number.
pub const ROWS_KEPT: usize = 1024;
/// Seconds within which a blocking connection opens a socket for a session that was lost. The session itself is waited
/// for as its requests are.
pub const RECONNECT_SECONDS: f64 = 30.0;
/// Statements whose parameter style was converted that are cached per connection; beyond this the cache is emptied.
pub const QUERIES: usize = 1024;
/// Bytes of the texts of all cached statements whose parameter style was converted.
pub const QUERIES_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of one such text: a longer one is converted each time.
pub const QUERY_BYTES: usize = 64 * 1024;
/// Milliseconds of a transfer after which a blocking call checks for interrupts, whatever has come.
pub const LOOK_MILLIS: u64 = 50;
/// Bytes of Arrow values that a stream of record batches asks a portal of PostgreSQL for at a time, as far as they can
/// be foreseen: a portal counts rows.
pub const ARROW_FETCH_BYTES: u64 = 4 * 1024 * 1024;
/// Rows that such a stream asks for first.
pub const ARROW_FETCH_ROWS_FIRST: u64 = 1024;
/// How many times as many rows as for the last time it asks for at most.
pub const ARROW_FETCH_GROWTH: u64 = 16;
/// Dates that a result caches at most, a power of two: dates repeat often within a result, and a look-up costs a tenth
/// of making one. Consecutive days do not displace each other; the size covers five years of them.
pub const DATES: usize = 2048;
/// Dates that the cache of a result has room for at first.
pub const DATES_FIRST: usize = 32;
/// Bytes of a COPY that wait unread before no more is taken.
pub const COPY_HELD_BYTES: usize = 1024 * 1024;
/// How much before its time a timer of a loop may be due: uvloop's count milliseconds.
pub const TIMER_EARLY: Duration = Duration::from_millis(1);
/// The maximum sleep of a thread that waits for the end of a stream or COPY: a wake-up between its check and its sleep
/// is lost.
pub const LOOK: Duration = Duration::from_millis(20);
/// The minimum interval at which [`Wire::pump_once`] sends and reads.
pub const PUMP_TURNS: usize = 16;
/// The minimum interval at which it moves bytes. A system call for each statement of a pipeline would cost more than
/// the statement; in this time a program queues some dozens, which keep a server busy for longer than it takes to queue
/// as many again.
pub const PUMP_PAUSE: Duration = Duration::from_micros(250);
/// The maximum time that it waits for a reply without which nothing more can be sent.
pub const PUMP_WAIT: Duration = Duration::from_millis(10);
/// How long a thread lets others move the connection's bytes, that waits for what they receive as a rule.
pub const LEAD_PATIENCE: Duration = Duration::from_millis(20);
