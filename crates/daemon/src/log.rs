//! Lines on standard error.

use std::io::Write;

/// Writes a line. A disk that is full, or a pipe that nobody reads, does not end the daemon.
pub fn log(what: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "headraced: {what}");
}
