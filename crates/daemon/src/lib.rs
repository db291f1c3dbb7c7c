//! headraced: a daemon that lends a few server connections to many local clients.
//!
//! Clients speak PostgreSQL's protocol, version 3.0, on a Unix socket. [`client`] reads what a client asks for.
//! [`postgres`] lends connections of PostgreSQL: its `relay` has what happens to the messages, without I/O.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod auth_query;
pub mod chain;
pub mod client;
pub mod config;
pub mod console;
pub mod control;
pub mod front;
pub mod gate;
pub mod hub;
pub mod leaving;
pub mod lifecycle;
pub mod limits;
pub mod log;
mod login;
pub mod metrics;
mod network;
pub mod orders;
pub mod place;
pub mod pool;
pub mod postgres;
pub mod registry;
pub mod replies;
pub mod scram;
pub mod secret;
pub mod servers;
mod spare;
pub mod startup;
pub mod stats;
pub mod status;
pub mod takeover;
pub mod timeouts;
pub mod traffic;

/// What a mutex holds. What a thread that panicked has left in it is whole: nothing is changed there in two steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
