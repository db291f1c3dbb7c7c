//! IBM Informix's SQLI protocol: no sockets, no clock, no Python.
//!
//! * [`messages`]: the wire: the login packets, and the messages that make up a group;
//! * [`types`]: column values and parameters;
//! * [`capabilities`]: the features that client and server have in common;
//! * [`codeset`]: the code set of the database, in which all text travels;
//! * [`errors`]: the meaning of the server's errors, in terms that all databases share;
//! * [`lexer`]: placeholders in Informix's SQL;
//! * [`limits`]: its limits, by name and with their units;
//! * [`machine`]: the connection.
//!
//! A client sends *groups*: messages closed by SQ_EOT. The server answers each group with one group, in order.
#![forbid(unsafe_code)]

pub mod capabilities;
pub mod errors;
pub mod lexer;
pub mod limits;
pub mod machine;
pub mod messages;
pub mod types;

pub use headrace_core::codeset;

/// Variables that a login carries; every other one is sent with SQ_INFO once the session is open.
pub const LOGIN_VARIABLES: [&str; 17] = [
    "CLIENT_LOCALE",
    "CLNT_PAM_CAPABLE",
    "DBDATE",
    "DBPATH",
    "DBSPACETEMP",
    "DB_LOCALE",
    "DELIMIDENT",
    "GL_DATE",
    "IFX_LONGID",
    "IFX_UPDDESC",
    "INFORMIXSTACKSIZE",
    "NODEFDAC",
    "ONEDB_STACKSIZE",
    "RASHELP",
    "SLABEL",
    "STMT_CACHE",
    "STMT_CACHE_DEBUG",
];
