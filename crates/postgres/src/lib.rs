//! The PostgreSQL frontend/backend protocol, version 3, as a state machine without sockets, clocks or Python.
//!
//! * [`errors`]: the meaning of the server's errors, in terms that all databases share;
//! * [`messages`]: the messages, by the manual's names;
//! * [`types`]: the types, their decoders and encoders;
//! * [`machine`]: the connection.
#![forbid(unsafe_code)]

pub mod errors;
pub mod limits;
pub mod machine;
pub mod messages;
pub mod sql;
pub mod types;
