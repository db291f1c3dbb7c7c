//! Shared by the tests: a response handler, and sessions over a socket or a recording.
#![allow(dead_code, unused_imports)] // Each test file uses its part.

mod handler;
pub mod server;
pub mod session;
mod trace;

pub use handler::TestHandler;
use std::path::{Path, PathBuf};
pub use trace::trace;

/// The file of a recorded conversation.
pub fn recording_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.txt"))
}
