//! The PostgreSQL frontend/backend protocol, version 3, as a state machine without sockets, clocks or Python.
//!
//! * [`messages`]: what travels, by the manual's names;
//! * [`types`]: the types, and how they are decoded and encoded;
//! * [`machine`]: the connection.
#![forbid(unsafe_code)]

pub mod machine;
pub mod messages;
pub mod sql;
pub mod types;
