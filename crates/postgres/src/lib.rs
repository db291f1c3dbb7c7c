//! The PostgreSQL frontend/backend protocol, version 3, as a state machine without sockets, clocks or Python.
//!
//! * [`errors`]: what the server's errors mean, in terms that all databases share;
//! * [`messages`]: what travels, by the manual's names;
//! * [`types`]: the types, and how they are decoded and encoded;
//! * [`machine`]: the connection.
#![forbid(unsafe_code)]

pub mod errors;
pub mod machine;
pub mod messages;
pub mod sql;
pub mod types;
