//! How a request has ended, as the client is told.

use super::backend::Backend;
use super::replies::{self, Failure};
use super::requests::Running;
use super::session::server_lost;
use super::transactions::IN_FAILED_TRANSACTION;
use super::values::{COPY_SIGNATURE, Shape};
use crate::replies::Ended;
use headrace_core::{Diagnostics, ErrorClass, Mismatch, MismatchKind, Outcome};
use headrace_postgres::messages::frontend::message;
use headrace_postgres::messages::tag::backend as tag;

/// The end of a request that has not failed.
pub(super) fn complete<E>(out: &mut Vec<u8>, running: &Running<E>, has_rows: bool, rows: u64, affected: u64) {
    if !has_rows && running.describes {
        replies::bare(out, tag::NO_DATA);
    }
    if has_rows && running.shape != Shape::Row {
        if running.shape == Shape::CopyBinary {
            message(out, tag::COPY_DATA, |out| {
                if rows == 0 {
                    out.extend_from_slice(COPY_SIGNATURE);
                }
                out.extend_from_slice(&(-1i16).to_be_bytes());
            });
        }
        replies::bare(out, tag::COPY_DONE);
        return replies::complete(out, &format!("COPY {rows}"));
    }
    let command = running.command.as_str();
    let command = match (command, has_rows) {
        ("INSERT", _) => format!("INSERT 0 {}", if has_rows { rows } else { affected }),
        ("UPDATE" | "DELETE" | "MERGE" | "REPLACE", _) => {
            format!("{command} {}", if has_rows { rows } else { affected })
        }
        (_, true) => format!("SELECT {rows}"),
        (_, false) => command.to_owned(),
    };
    replies::complete(out, &command);
}

/// The error that a client receives at the end of a request; `None` if it has not failed.
pub(super) fn failure<B: Backend>(
    outcome: Outcome<B::Error, Mismatch>,
    problem: Option<String>,
) -> Result<Option<Failure>, Ended> {
    Ok(match outcome {
        Outcome::Done => problem.map(|why| Failure::new("22000", format!("headraced: {why}"))),
        Outcome::Server { error, .. } => {
            let condition = error.condition();
            let sqlstate = match condition.sqlstate() {
                Some(state) => state.as_str().to_owned(),
                None => of_class(condition.class()).to_owned(),
            };
            let detail = Some(B::detail(&error));
            Some(Failure { sqlstate, message: error.message().into_owned(), detail, hint: None, routine: None })
        }
        Outcome::Client { error, .. } => {
            let sqlstate = match error.kind {
                MismatchKind::OutOfRange => "22003",
                MismatchKind::WrongType => "22023",
                MismatchKind::LostTransaction => IN_FAILED_TRANSACTION,
            };
            Some(Failure::new(sqlstate, format!("headraced: {}", error.message)))
        }
        Outcome::Skipped => Some(Failure::new(IN_FAILED_TRANSACTION, "headraced: an earlier statement has failed")),
        Outcome::Fatal(fatal) => return Err(server_lost(&fatal)),
    })
}

/// The SQLSTATE for an error of which only the class is known.
fn of_class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Data => "22000",
        ErrorClass::Operational => "58000",
        ErrorClass::Integrity => "23000",
        ErrorClass::Programming => "42000",
        ErrorClass::NotSupported => "0A000",
        ErrorClass::Database | ErrorClass::Internal => "XX000",
    }
}
