//! The code that tests, benchmarks and fuzz targets of every protocol crate share: values to send, sinks, a response
//! handler that keeps what it receives, recorded conversations replayed cut and split, the names of the messages that a
//! client sent, the coverage of a state machine's table, and the loop of the fuzz targets.

#![forbid(unsafe_code)]

mod fuzz;
mod handler;
mod receiving;
mod replay;
mod sink;
mod trace;
mod transitions;
mod value;
mod ways;

pub use fuzz::{drive, drive_with};
pub use handler::{Completion, Dialect, Received, Shared, TestHandler};
pub use receiving::receive;
pub use replay::{Peer, Replay, Step, hex, read_recording, server_bytes, unhex, write_recording};
pub use sink::{CheckedSink, DiscardSink, TextSink};
pub use trace::Trace;
pub use transitions::{assert_documented, assert_taken};
pub use value::{TestParameters, TestValue};
