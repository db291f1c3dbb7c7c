//! Messages that the daemon itself sends to clients.

use crate::postgres::pool::NotLent;
use crate::postgres::relay::Refused;
use headrace_core::{Fatal, FatalKind};
use headrace_postgres::messages::frontend::message;
use headrace_postgres::messages::tag::{authentication, backend, field};
use std::collections::BTreeMap;

/// An error that ends a client's connection, with its SQLSTATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// SQLSTATE. Those of class HR are the daemon's own.
    pub sqlstate: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

/// As many clients wait for a server connection as may.
pub const QUEUE_FULL: &str = "HR001";
/// No server connection came back in time.
pub const QUEUE_TIMEOUT: &str = "HR002";
/// A message is larger than the daemon keeps in memory.
pub const TOO_LARGE: &str = "HR003";
/// The daemon is about to end.
pub const DRAINING: &str = "HR004";
/// The server connection was lost; whether what was under way was done is not known.
pub const SERVER_LOST: &str = "HR005";
/// There is no such database in the configuration.
pub const UNKNOWN_DATABASE: &str = "3D000";
/// The client is not speaking the protocol.
pub const PROTOCOL_VIOLATION: &str = "08P01";
/// The server refuses a session.
pub const REJECTED: &str = "08004";
/// The server cannot be reached.
pub const UNREACHABLE: &str = "08001";
/// Who asks may not.
pub const NOT_ALLOWED: &str = "28000";

impl Ended {
    /// An error.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }
}

impl From<NotLent> for Ended {
    fn from(reason: NotLent) -> Self {
        match reason {
            NotLent::QueueFull => {
                Self::new(QUEUE_FULL, "headraced: as many clients wait for a server connection as queue_length allows")
            }
            NotLent::QueueTimeout => {
                Self::new(QUEUE_TIMEOUT, "headraced: no server connection became free within queue_wait")
            }
            NotLent::Failed(fatal) => Self::opening(&fatal),
        }
    }
}

impl From<Refused> for Ended {
    fn from(reason: Refused) -> Self {
        match reason {
            Refused::Malformed(message) => Self::new(PROTOCOL_VIOLATION, format!("headraced: {message}")),
            Refused::TooLarge(message) => Self::new(TOO_LARGE, format!("headraced: {message}")),
        }
    }
}

impl Ended {
    /// No session could be opened.
    pub fn opening(fatal: &Fatal) -> Self {
        let sqlstate = match fatal.kind {
            FatalKind::LoginRefused | FatalKind::AuthenticationRefused => REJECTED,
            _ => UNREACHABLE,
        };
        Self::new(sqlstate, format!("headraced: no session on the server: {fatal}"))
    }

    /// ErrorResponse.
    pub fn write(&self, out: &mut Vec<u8>) {
        message(out, backend::ERROR_RESPONSE, |out| {
            for (field, text) in [
                (field::SEVERITY, "FATAL"),
                (field::SEVERITY_UNTRANSLATED, "FATAL"),
                (field::CODE, self.sqlstate),
                (field::MESSAGE, &self.message),
            ] {
                out.push(field);
                out.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
                out.push(0);
            }
            out.push(0);
        });
    }
}

/// What a client is told once it may send queries.
pub fn welcome(out: &mut Vec<u8>, parameters: &BTreeMap<String, String>, process_id: i32, secret: i32) {
    message(out, backend::AUTHENTICATION, |out| out.extend_from_slice(&authentication::OK.to_be_bytes()));
    for (name, value) in parameters {
        message(out, backend::PARAMETER_STATUS, |out| {
            for text in [name, value] {
                out.extend_from_slice(text.as_bytes());
                out.push(0);
            }
        });
    }
    message(out, backend::BACKEND_KEY_DATA, |out| {
        out.extend_from_slice(&process_id.to_be_bytes());
        out.extend_from_slice(&secret.to_be_bytes());
    });
    message(out, backend::READY_FOR_QUERY, |out| out.push(b'I'));
}

/// The answer to a version or to options that the daemon does not have: version 3.0, and none of these options.
pub fn negotiate(out: &mut Vec<u8>, options: &[String]) {
    message(out, backend::NEGOTIATE_PROTOCOL_VERSION, |out| {
        out.extend_from_slice(&0i32.to_be_bytes());
        out.extend_from_slice(&(options.len() as u32).to_be_bytes());
        for option in options {
            out.extend_from_slice(option.as_bytes());
            out.push(0);
        }
    });
}
