//! headraced: a daemon that lends a few server connections to many local clients.
//!
//! Clients speak PostgreSQL's protocol, version 3.0, on a Unix socket. [`relay`] has what happens to their messages,
//! without I/O; [`client`] moves the bytes.

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
