//! Enumerations for Python.

use crate::globals::globals;
use headrace_core::TransactionStatus;
use pyo3::prelude::*;

/// What happened to a request that was abandoned.
#[pyclass(frozen, eq, rename_all = "SCREAMING_SNAKE_CASE", module = "headrace._native")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// The server has nothing of it.
    Gone,
    /// The server has it, and a cancel request can hit nothing else.
    Alone,
    /// Requests of others are after it, which a cancel request could hit.
    Followed,
    /// The server has it, and it ends a transaction block: it must not be cancelled.
    Ending,
}

impl From<headrace_core::Discarded> for Discarded {
    fn from(discarded: headrace_core::Discarded) -> Self {
        match discarded {
            headrace_core::Discarded::Gone => Self::Gone,
            headrace_core::Discarded::Alone => Self::Alone,
            headrace_core::Discarded::Followed => Self::Followed,
            headrace_core::Discarded::Ending => Self::Ending,
        }
    }
}

/// The state of a COPY or a LOAD DATA LOCAL.
#[pyclass(frozen, eq, rename_all = "SCREAMING_SNAKE_CASE", module = "headrace._native")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The server has not answered.
    Waiting,
    /// Data can be sent.
    Streaming,
    /// The session has ended.
    Ended,
}

/// `headrace.types.TransactionStatus`, whose numbers are libpq's, of an open connection with nothing in flight.
///
/// # Errors
/// The exception for a server's error.
pub fn status(py: Python<'_>, status: TransactionStatus) -> PyResult<Bound<'_, PyAny>> {
    named_status(
        py,
        match status {
            TransactionStatus::Idle => "IDLE",
            TransactionStatus::InTransaction => "INTRANS",
            TransactionStatus::Failed => "INERROR",
        },
    )
}

/// The same by its name.
///
/// # Errors
/// The exception for a server's error.
pub fn named_status<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    globals(py)?.transaction_status.bind(py).getattr(name)
}
