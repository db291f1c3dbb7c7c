//! What the test servers share: connections with and without TLS, injected faults, the listener, the command line.
//!
//! Nothing in here knows a protocol or a dialect of SQL.

#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod channel;
pub mod command;
pub mod faults;
pub mod limits;
pub mod listener;
pub mod sqlite;

/// Takes a lock, even if another thread panicked with it: the state is never half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
