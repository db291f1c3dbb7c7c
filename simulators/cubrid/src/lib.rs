//! A test server for the protocol of CUBRID's broker, with SQLite inside.
//!
//! It is made from what a genuine CUBRID 11.3 sends and accepts. Its limits are in
//! `docs/howto/cubrid-test-server.md`.

#![forbid(unsafe_code)]

pub mod broker;
pub mod catalog;
pub mod charset;
pub mod convert;
pub mod database;
pub mod decimal;
pub mod engine;
pub mod errors;
pub mod limits;
pub mod lobs;
pub mod server;
pub mod session;
pub mod sql;
pub mod times;
pub mod types;
pub mod values;
pub mod wire;
