//! Errors of ADBC: a status, the SQLSTATE, the server's own number, and details.

use adbc_core::error::{Error, Status};
use headrace_core::protocol::BulkDirection;
use headrace_core::sqlstate::SqlState;
use headrace_core::{Condition, Diagnostics, ErrorClass, Fatal, FatalKind, Mismatch, MismatchKind};
use std::ffi::c_char;

/// The key of the detail with the 0-based number of the row of parameters that an error is about.
pub const ROW: &str = "headrace:row";
/// The key of the detail with the stable code of an error of the driver's own.
pub const CODE: &str = "headrace:code";

/// The key of the detail with the server's own number: where an error has details, ADBC 1.1 has no room for it elsewhere.
pub const VENDOR_CODE: &str = "headrace:vendor_code";

/// A server's error as ADBC needs it.
pub trait Refusal: Diagnostics {
    /// The server's own number, 0 if it has none.
    fn vendor_code(&self) -> i32;
    /// What the server reports besides the message: names and values.
    fn details(&self) -> Vec<(&'static str, String)>;
    /// The text for people.
    fn text(&self) -> String;
}

/// An error without a SQLSTATE.
pub fn of(status: Status, message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, status)
}

/// The program's own mistake.
pub fn invalid(message: impl Into<String>) -> Error {
    of(Status::InvalidArguments, message)
}

/// The right call at the wrong time.
pub fn state(message: impl Into<String>) -> Error {
    of(Status::InvalidState, message)
}

/// The error of a statement that the program has cancelled before the server has answered.
pub fn cancelled() -> Error {
    Error { sqlstate: sqlstate("57014"), ..of(Status::Cancelled, "the statement was cancelled") }
}

/// The error of the commit of a transaction that has failed.
pub fn failed_transaction() -> Error {
    let message = "the transaction was rolled back, not committed: one of its statements had failed";
    Error { sqlstate: sqlstate("25P02"), ..state(message) }
}

/// The error of the commit of a connection that has ended, perhaps while a transaction was open.
pub fn closed_transaction() -> Error {
    let message = "the connection is closed: nothing was committed, and a transaction that was open is lost, unless an \
                   earlier error says that it is unknown";
    Error { sqlstate: sqlstate("08003"), ..state(message) }
}

/// The error of the child of a fork.
pub fn inherited() -> Error {
    state("the connection was opened before a fork, and is the parent's; every process needs a connection of its own")
}

/// A feature that there is not.
pub fn unsupported(message: impl Into<String>) -> Error {
    of(Status::NotImplemented, message)
}

/// The error about a table that is not there; the name is quoted.
pub fn no_table(name: &str) -> Error {
    let message = format!("the table {} does not exist", headrace_core::shortened(name));
    Error { sqlstate: sqlstate("42P01"), ..of(Status::NotFound, message) }
}

/// The error of a COPY that was executed as a statement: ADBC has no place for its data.
pub fn misplaced_copy(direction: BulkDirection) -> Error {
    let message = match direction {
        BulkDirection::Out => {
            "the statement sent the data of a COPY, which were dropped: execute the query itself, whose rows are record \
             batches"
        }
        BulkDirection::In => {
            "COPY FROM STDIN waits for data, which were not given: ingest record batches into the table (adbc_ingest), which \
             is a COPY where that is faster"
        }
    };
    Error { sqlstate: sqlstate("0A000"), ..unsupported(message) }
}

fn sqlstate(state: &str) -> [c_char; 5] {
    let mut code = [0; 5];
    for (to, from) in code.iter_mut().zip(state.bytes()) {
        *to = from as c_char;
    }
    code
}

/// The status of a condition; `cancelled` if the program has cancelled the statement.
fn status(condition: Condition, cancelled: bool) -> Status {
    let state = condition.sqlstate();
    match state.as_ref().map(SqlState::as_str) {
        Some("57014") if cancelled => return Status::Cancelled,
        Some("57014") => return Status::Timeout,
        Some("42501") => return Status::Unauthorized,
        Some("42P01" | "42703" | "42704" | "42883" | "3D000" | "3F000") => return Status::NotFound,
        Some("42P07" | "42701" | "42710" | "42P06" | "42P04" | "42723") => return Status::AlreadyExists,
        Some(code) if code.starts_with("28") => return Status::Unauthenticated,
        Some(code) if code.starts_with("08") || code.starts_with("57P") => return Status::IO,
        _ => {}
    }
    match condition.class() {
        ErrorClass::Data => Status::InvalidData,
        ErrorClass::Integrity => Status::Integrity,
        ErrorClass::Internal => Status::Internal,
        ErrorClass::Programming => Status::InvalidArguments,
        ErrorClass::NotSupported => Status::NotImplemented,
        ErrorClass::Operational | ErrorClass::Database => Status::Unknown,
    }
}

/// The error that a server has sent, about a row of parameters if it was about one.
pub fn of_server(error: &impl Refusal, row: Option<u64>, cancelled: bool) -> Error {
    let condition = error.condition();
    let mut details: Vec<_> =
        error.details().into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect();
    let number = Some(error.vendor_code()).filter(|number| *number != 0);
    details.extend(number.map(|number| (VENDOR_CODE.to_owned(), number.to_string().into_bytes())));
    details.extend(row.map(|row| (ROW.to_owned(), row.to_string().into_bytes())));
    Error {
        message: in_row(error.text(), row),
        status: if cancelled { Status::Cancelled } else { status(condition, cancelled) },
        vendor_code: error.vendor_code(),
        sqlstate: condition.sqlstate().map_or([0; 5], |state| sqlstate(state.as_str())),
        details: Some(details).filter(|details| !details.is_empty()),
    }
}

/// The end of a connection.
pub fn of_fatal(fatal: &Fatal) -> Error {
    let status = match fatal.kind {
        FatalKind::UnusableSetting => Status::InvalidArguments,
        FatalKind::AuthenticationRefused | FatalKind::LoginRefused => Status::Unauthenticated,
        FatalKind::UnsupportedServer => Status::NotImplemented,
        FatalKind::ProtocolViolation | FatalKind::InternalError => Status::Internal,
        FatalKind::NoAnswer => Status::Timeout,
        FatalKind::Closed => Status::InvalidState,
        FatalKind::ConnectFailed
        | FatalKind::TlsRefused
        | FatalKind::ConnectionLost
        | FatalKind::SessionEnded
        | FatalKind::EncodingChanged
        | FatalKind::TransactionInDoubt => Status::IO,
    };
    // "connection exception", class 08 of the standard's codes.
    let code = match fatal.kind {
        FatalKind::ConnectFailed => "08001",
        FatalKind::Closed => "08003",
        FatalKind::ConnectionLost | FatalKind::SessionEnded | FatalKind::NoAnswer => "08006",
        FatalKind::TransactionInDoubt => "08007",
        FatalKind::ProtocolViolation => "08P01",
        FatalKind::AuthenticationRefused | FatalKind::LoginRefused => "28000",
        _ => "",
    };
    let details = vec![(CODE.to_owned(), fatal.kind.code().as_bytes().to_vec())];
    Error { details: Some(details), sqlstate: sqlstate(code), ..of(status, fatal.message.clone()) }
}

/// A value that does not fit.
pub fn of_mismatch(mismatch: &Mismatch, row: Option<u64>) -> Error {
    let status = match mismatch.kind {
        MismatchKind::OutOfRange => Status::InvalidData,
        MismatchKind::WrongType => Status::InvalidArguments,
        MismatchKind::LostTransaction => Status::InvalidState,
    };
    let details = row.map(|row| vec![(ROW.to_owned(), row.to_string().into_bytes())]);
    Error { details, ..of(status, in_row(mismatch.message.clone(), row)) }
}

fn in_row(message: String, row: Option<u64>) -> String {
    match row {
        Some(row) => format!("row {row}: {message}"),
        None => message,
    }
}
