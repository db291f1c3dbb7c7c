//! CUBRID's broker and CAS protocol: no sockets, no clock, no Python.
//!
//! * [`messages`]: the wire: the login, requests and replies;
//! * [`types`]: column values and parameters;
//! * [`errors`]: the meaning of the server's errors, in terms that all databases share;
//! * [`lexer`]: placeholders and statements in CUBRID's SQL;
//! * [`machine`]: the connection.
//!
//! A client connects to the *broker*, which passes the connection to a process of its own, the *CAS*. The CAS executes
//! requests one by one and answers each with one reply, in order.
#![forbid(unsafe_code)]

pub mod errors;
pub mod lexer;
pub mod limits;
pub mod machine;
pub mod messages;
pub mod mirrored;
pub mod types;
