//! Messages that the daemon itself sends to clients.

use crate::pool::NotLent;
use crate::postgres::relay::Refused;
use crate::postgres::server::NotOpened;
use headrace_core::FatalKind;
use headrace_postgres::messages::backend::ServerError;
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
    /// The server's own words in its place.
    server: Option<ServerError>,
    /// Every client is told it.
    of_all: bool,
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
/// A transaction in a pool whose connections go back at the end of each statement.
pub const NO_TRANSACTIONS: &str = "HR006";
/// The client has cancelled its request.
pub const CANCELLED: &str = "57014";
/// An operator has ended the connection; of PostgreSQL (`pg_terminate_backend`).
pub const KILLED: &str = "57P01";
/// The client was idle in a transaction for too long; of PostgreSQL (`idle_in_transaction_session_timeout`).
pub const IDLE_IN_TRANSACTION: &str = "25P03";
/// The transaction has taken too long; of PostgreSQL 17 (`transaction_timeout`).
pub const LONG_TRANSACTION: &str = "25P04";
/// The client was idle for too long; of PostgreSQL (`idle_session_timeout`).
pub const IDLE_SESSION: &str = "57P05";
/// As many clients are connected as may be.
pub const TOO_MANY_CLIENTS: &str = "53300";
/// A setting of the client is malformed.
pub const MALFORMED_SETTING: &str = "22023";
/// There is no such database in the configuration.
pub const UNKNOWN_DATABASE: &str = "3D000";
/// The client is not speaking the protocol.
pub const PROTOCOL_VIOLATION: &str = "08P01";
/// The server refuses a session.
pub const REJECTED: &str = "08004";
/// The server cannot be reached.
pub const UNREACHABLE: &str = "08001";
/// The password is wrong, or there is no such user.
pub const WRONG_PASSWORD: &str = "28P01";
/// Who asks may not.
pub const NOT_ALLOWED: &str = "28000";

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;

impl Ended {
    /// An error.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into(), server: None, of_all: false }
    }

    /// What every client is told, because the daemon ends or another one has taken over.
    pub fn of_all(sqlstate: &'static str, message: &str) -> Self {
        Self { of_all: true, ..Self::new(sqlstate, message) }
    }

    /// Returns true if every client is told it.
    pub fn is_of_all(&self) -> bool {
        self.of_all
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
            NotLent::Failed(reason) => Self::opening(reason),
        }
    }
}

impl From<Refused> for Ended {
    fn from(reason: Refused) -> Self {
        match reason {
            Refused::Malformed(message) => Self::new(PROTOCOL_VIOLATION, format!("headraced: {message}")),
            Refused::TooLarge(message) => Self::new(TOO_LARGE, format!("headraced: {message}")),
            Refused::CancelledBegin => Self::new(
                CANCELLED,
                "headraced: the request was cancelled while it waited for a server connection, and was to begin a \
                 transaction; the connection is closed, as what was sent after it would be executed outside of one",
            ),
            Refused::Transaction => Self::new(
                NO_TRANSACTIONS,
                "headraced: a transaction of several statements is not possible with pool_mode = \"statement\"",
            ),
        }
    }
}

impl Ended {
    /// No session could be opened. A server that has answered speaks for itself.
    pub fn opening(reason: impl Into<NotOpened>) -> Self {
        let NotOpened { fatal, error } = reason.into();
        let sqlstate = match fatal.kind {
            FatalKind::LoginRefused | FatalKind::AuthenticationRefused => REJECTED,
            _ => UNREACHABLE,
        };
        let message = format!("headraced: no session on the server: {fatal}");
        Self { server: error, ..Self::new(sqlstate, message) }
    }

    /// The server has refused something without which the client cannot be served: the error in its own words ends the
    /// connection, as it would have at the server.
    pub fn of_server(mut error: ServerError) -> Self {
        for (code, text) in &mut error.fields {
            if matches!(*code, field::SEVERITY | field::SEVERITY_UNTRANSLATED) {
                "FATAL".clone_into(text);
            }
        }
        let message = error.field(field::MESSAGE).to_owned();
        Self { server: Some(error), ..Self::new(REJECTED, message) }
    }

    /// ErrorResponse.
    pub fn write(&self, out: &mut Vec<u8>) {
        let own = [
            (field::SEVERITY, "FATAL"),
            (field::SEVERITY_UNTRANSLATED, "FATAL"),
            (field::CODE, self.sqlstate),
            (field::MESSAGE, &self.message),
        ];
        let servers = self.server.iter().flat_map(|error| &error.fields).map(|(code, text)| (*code, text.as_str()));
        let fields: Vec<(u8, &str)> = if self.server.is_some() { servers.collect() } else { own.to_vec() };
        message(out, backend::ERROR_RESPONSE, |out| {
            for (field, text) in fields {
                out.push(field);
                out.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
                out.push(0);
            }
            out.push(0);
        });
    }
}

/// The client's request was cancelled before the server has seen it.
pub fn cancelled(out: &mut Vec<u8>) {
    message(out, backend::ERROR_RESPONSE, |out| {
        for (field, text) in [
            (field::SEVERITY, "ERROR"),
            (field::SEVERITY_UNTRANSLATED, "ERROR"),
            (field::CODE, CANCELLED),
            (field::MESSAGE, "headraced: the request was cancelled while it waited for a server connection"),
        ] {
            out.push(field);
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        out.push(0);
    });
}

/// ReadyForQuery, outside of a transaction.
pub fn idle(out: &mut Vec<u8>) {
    message(out, backend::READY_FOR_QUERY, |out| out.push(b'I'));
}

/// The client is to log in by one of these mechanisms of SASL.
pub fn ask_sasl(out: &mut Vec<u8>, mechanisms: &[&str]) {
    message(out, backend::AUTHENTICATION, |out| {
        out.extend_from_slice(&authentication::SASL.to_be_bytes());
        for name in mechanisms {
            out.extend_from_slice(name.as_bytes());
            out.push(0);
        }
        out.push(0);
    });
}

/// AuthenticationSASLContinue or AuthenticationSASLFinal.
pub fn sasl(out: &mut Vec<u8>, step: u32, data: &[u8]) {
    message(out, backend::AUTHENTICATION, |out| {
        out.extend_from_slice(&step.to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// The client is to send its password.
pub fn ask_password(out: &mut Vec<u8>) {
    message(out, backend::AUTHENTICATION, |out| {
        out.extend_from_slice(&authentication::CLEARTEXT_PASSWORD.to_be_bytes())
    });
}

/// The messages that a client receives before its first ReadyForQuery.
pub fn startup(out: &mut Vec<u8>, parameters: &BTreeMap<String, String>, (process_id, secret): (i32, i32)) {
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
    idle(out);
}

/// The answer to a version or to options that the daemon does not have: version 3.0, and none of these options.
///
/// The manual calls the number the minor version; the server sends the whole one, and libpq and pgjdbc read it so.
pub fn negotiate(out: &mut Vec<u8>, options: &[String]) {
    message(out, backend::NEGOTIATE_PROTOCOL_VERSION, |out| {
        out.extend_from_slice(&PROTOCOL.to_be_bytes());
        out.extend_from_slice(&(options.len() as u32).to_be_bytes());
        for option in options {
            out.extend_from_slice(option.as_bytes());
            out.push(0);
        }
    });
}
