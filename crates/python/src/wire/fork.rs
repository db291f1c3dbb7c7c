//! Connections that a process inherits by a fork. The socket is the parent's: bytes sent by the child would corrupt the
//! parent's session.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// The message of the error for using one.
pub(super) const INHERITED: &str =
    "the connection was opened before a fork, and is the parent's; every process needs a connection of its own";

/// Records that this process is the child of a fork; open connections belong to its parent.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The number of forks between this process and the first.
pub(super) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}
