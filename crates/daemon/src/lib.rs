//! headraced: a daemon that lends a few server connections to many local clients.
//!
//! Clients speak PostgreSQL's protocol, version 3.0, on a Unix socket. [`relay`] has what happens to their messages,
//! without I/O; [`client`] moves the bytes.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod client;
pub mod config;
pub mod hub;
pub mod limits;
pub mod pool;
pub mod relay;
pub mod replies;
pub mod server;
pub mod startup;
pub mod statements;

/// What a mutex holds. What a thread that panicked has left in it is whole: nothing is changed there in two steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
