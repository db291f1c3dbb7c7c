//! What the tests, benchmarks and fuzz targets of every protocol crate share: values to send, sinks, a response handler
//! that keeps what it received, recorded conversations replayed cut and split, what a client sent
//! by the names of its messages, which rows of a state machine's table are taken, and the loop of the fuzz targets.

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

pub use fuzz::drive;
pub use handler::{Completion, Dialect, Received, Shared, TestHandler};
pub use receiving::receive;
pub use replay::{Peer, Replay, Step, hex, read_recording, server_bytes, unhex, write_recording};
pub use sink::{CheckedSink, DiscardSink, TextSink};
pub use trace::Trace;
pub use transitions::{assert_documented, assert_taken};
pub use value::{TestParameters, TestValue};
