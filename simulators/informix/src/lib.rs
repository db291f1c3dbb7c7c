//! A test server for SQLI, the protocol of IBM Informix, with SQLite inside.
//!
//! It is made from what clients send and accept, not from a server: it shows that a client uses the protocol as IBM's
//! JDBC driver does, and proves nothing about a genuine server. Its limits are in `docs/howto/informix-test-server.md`.

#![forbid(unsafe_code)]

pub mod capabilities;
pub mod catalog;
pub mod codec;
pub mod database;
pub mod engine;
pub mod errors;
pub mod limits;
pub mod login;
pub mod messages;
pub mod server;
pub mod session;
pub mod sql;
pub mod types;
pub mod usertypes;
pub mod wire;
