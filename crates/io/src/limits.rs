//! The limits of the loops, each with its unit, and those of the engine.

use std::time::Duration;

pub use headrace_core::limits::*;

/// Time for which a thread lets bytes of the server accumulate instead of being woken by each piece of a long answer.
pub const GATHER: std::time::Duration = std::time::Duration::from_micros(50);
/// Bytes of an answer after which it is a long one. With 32 KiB an answer of 40 KiB takes a tenth longer.
pub const GATHER_AFTER_BYTES: usize = 128 * 1024;
/// Replies in flight from which on they are let accumulate, however short they are. A server needs longer than
/// [`GATHER`] for so many.
pub const GATHER_REPLIES: usize = 128;
/// How many times [`GATHER`] a thread sleeps at most for replies in flight, each time twice as long while few have come,
/// and never longer than for [`GATHER_REPLIES`] each.
pub const GATHER_PATIENCE: u32 = 8;
/// Bytes that the last call has received from which on the client is the slower one, and need not wait.
pub const GATHERED_BYTES: usize = 64 * 1024;
/// Bytes below which waiting was in vain: two pieces of PostgreSQL, which sends 8 KiB each.
pub const GATHERED_FEWEST_BYTES: usize = 16 * 1024;
/// How long the blocking loop may sleep before its owner checks for interrupts: Ctrl-C is then handled well within 0.2
/// s even if the signal went to another thread.
pub const TICK: std::time::Duration = std::time::Duration::from_millis(100);
/// How long to wait before the next attempt to connect to a Unix socket whose queue is full: the kernel does not report
/// when it has room.
pub const QUEUE_PAUSE: Duration = Duration::from_millis(5);
