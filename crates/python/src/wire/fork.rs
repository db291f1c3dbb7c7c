//! Connections that a process inherits by a fork. The socket is the parent's: whatever the child sent would be taken for
//! the parent's words.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// What is said to who uses one.
pub(super) const INHERITED: &str =
    "the connection was opened before a fork, and is the parent's; every process needs a connection of its own";

/// Notes that this process is the child of a fork; what is open was opened by its parent.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks are between this process and the first.
pub(super) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}
