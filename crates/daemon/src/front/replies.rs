//! Messages to a client: what a server of PostgreSQL would send.

use super::types::TargetColumn;
use headrace_core::TransactionStatus;
use headrace_postgres::messages::frontend::message;
use headrace_postgres::messages::tag::{backend as tag, field};
use headrace_postgres::types::{Format, Oid};

/// An error of a statement, which the client's connection survives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// SQLSTATE.
    pub sqlstate: String,
    /// What is wrong.
    pub message: String,
    /// The server's own number, and what else it has sent.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// The function of the server's source by which drivers identify the error.
    pub routine: Option<&'static str>,
}

impl Failure {
    /// An error of the daemon's own.
    pub fn new(sqlstate: &str, message: impl Into<String>) -> Self {
        Self { sqlstate: sqlstate.into(), message: message.into(), detail: None, hint: None, routine: None }
    }

    /// A statement whose result has other columns than the client was told: in the words of PostgreSQL's server.
    pub fn outdated() -> Self {
        let routine = Some("RevalidateCachedQuery");
        Self { routine, ..Self::new("0A000", "cached plan must not change result type") }
    }

    /// A feature that there is not.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new("0A000", message)
    }

    /// With a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// ErrorResponse.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_fields(out, tag::ERROR_RESPONSE, "ERROR", self);
    }

    /// NoticeResponse.
    pub fn write_notice(&self, out: &mut Vec<u8>) {
        write_fields(out, tag::NOTICE_RESPONSE, "WARNING", self);
    }
}

fn write_fields(out: &mut Vec<u8>, tag: u8, severity: &str, failure: &Failure) {
    message(out, tag, |out| {
        let mut put = |name: u8, text: &str| {
            out.push(name);
            out.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
            out.push(0);
        };
        put(field::SEVERITY, severity);
        put(field::SEVERITY_UNTRANSLATED, severity);
        put(field::CODE, &failure.sqlstate);
        put(field::MESSAGE, &failure.message);
        if let Some(detail) = &failure.detail {
            put(b'D', detail);
        }
        if let Some(hint) = &failure.hint {
            put(b'H', hint);
        }
        if let Some(routine) = failure.routine {
            put(field::ROUTINE, routine);
        }
        out.push(0);
    });
}

fn cstr(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
    out.push(0);
}

/// A message without a body.
pub fn bare(out: &mut Vec<u8>, tag: u8) {
    message(out, tag, |_| {});
}

/// ReadyForQuery.
pub fn ready(out: &mut Vec<u8>, status: TransactionStatus) {
    let letter = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::InTransaction => b'T',
        TransactionStatus::Failed => b'E',
    };
    message(out, tag::READY_FOR_QUERY, |out| out.push(letter));
}

/// CommandComplete.
pub fn complete(out: &mut Vec<u8>, command: &str) {
    message(out, tag::COMMAND_COMPLETE, |out| cstr(out, command));
}

/// ParameterStatus.
pub fn parameter(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, tag::PARAMETER_STATUS, |out| {
        cstr(out, name);
        cstr(out, value);
    });
}

/// ParameterDescription.
pub fn parameters(out: &mut Vec<u8>, types: &[Oid]) {
    message(out, tag::PARAMETER_DESCRIPTION, |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// RowDescription.
pub fn columns(out: &mut Vec<u8>, columns: &[TargetColumn], formats: &[Format]) {
    message(out, tag::ROW_DESCRIPTION, |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (number, column) in columns.iter().enumerate() {
            cstr(out, &column.name);
            // Neither a table nor a column of one.
            out.extend_from_slice(&[0; 6]);
            out.extend_from_slice(&column.oid.to_be_bytes());
            out.extend_from_slice(&column.size.to_be_bytes());
            out.extend_from_slice(&column.modifier.to_be_bytes());
            out.extend_from_slice(&u16::from(format(formats, number) == Format::Binary).to_be_bytes());
        }
    });
}

/// The format of a column, of those that a Bind gives: none for text, one for all, or one for each.
pub fn format(formats: &[Format], number: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(number).copied().unwrap_or(Format::Text),
    }
}

/// CopyOutResponse.
pub fn copy_out(out: &mut Vec<u8>, columns: usize, format: Format) {
    let code = u8::from(format == Format::Binary);
    message(out, tag::COPY_OUT_RESPONSE, |out| {
        out.push(code);
        out.extend_from_slice(&(columns as u16).to_be_bytes());
        for _ in 0..columns {
            out.extend_from_slice(&u16::from(code).to_be_bytes());
        }
    });
}

/// DataRow of texts, for answers of the daemon itself.
pub fn row(out: &mut Vec<u8>, cells: &[Option<&str>]) {
    message(out, tag::DATA_ROW, |out| {
        out.extend_from_slice(&(cells.len() as u16).to_be_bytes());
        for cell in cells {
            match cell {
                None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(text) => {
                    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
    });
}
