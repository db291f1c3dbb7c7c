//! Outcomes to Python exceptions.

use crate::globals::globals;
use headrace_core::sqlstate::CONDITIONS;
use headrace_core::{Condition, Diagnostics, ErrorClass, Fatal, Mismatch, MismatchKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// An error on the client's side: values that do not fit, or an exception that Python raised.
#[derive(Debug)]
pub enum ClientError {
    /// A value that does not fit, or values whose number or names do not fit the statement.
    Mismatch(Mismatch),
    /// An object that is not a row of parameters; the text of the TypeError.
    NotARow(String),
    /// There are no rows: an error that is not about one of them.
    NoRows(PyErr),
    /// Python raised.
    Raised(PyErr),
}

impl ClientError {
    /// The same error again.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            ClientError::Mismatch(mismatch) => ClientError::Mismatch(mismatch.clone()),
            ClientError::NotARow(message) => ClientError::NotARow(message.clone()),
            ClientError::NoRows(error) => ClientError::NoRows(error.clone_ref(py)),
            ClientError::Raised(error) => ClientError::Raised(error.clone_ref(py)),
        }
    }
}

impl From<Mismatch> for ClientError {
    fn from(mismatch: Mismatch) -> Self {
        ClientError::Mismatch(mismatch)
    }
}

impl From<PyErr> for ClientError {
    fn from(error: PyErr) -> Self {
        ClientError::Raised(error)
    }
}

fn raise(py: Python<'_>, class: &Py<PyAny>, message: String) -> PyErr {
    match class.bind(py).call1((message,)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Every SQLSTATE with an exception class of its own, and the name of its condition.
#[pyfunction]
pub fn conditions() -> BTreeMap<&'static str, &'static str> {
    CONDITIONS.iter().map(|(state, name)| (state.as_str(), *name)).collect()
}

/// The name of PEP 249's class of a SQLSTATE, even of an unknown one.
#[pyfunction]
pub fn error_class(sqlstate: &str) -> &'static str {
    ErrorClass::of_sqlstate(sqlstate).name()
}

/// The exception for a server's error: its class, its text, and the attributes that all databases have.
///
/// # Errors
/// The exception for a server's error.
pub fn of_server<'py>(
    py: Python<'py>,
    error: &impl Diagnostics,
    text: &str,
    statement: Option<&str>,
    row: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let globals = globals(py)?;
    let class = match error.condition() {
        Condition::State(state) => globals.error_for.bind(py).call1((state.as_str(),))?,
        Condition::Class(class) => globals.errors.bind(py).getattr(class.name())?,
    };
    let made = class.call1((text,))?;
    made.setattr("message", error.message())?;
    made.setattr("statement", statement.filter(|statement| !statement.is_empty()))?;
    made.setattr("row", row)?;
    Ok(made)
}

/// The exception object for a server's error, or the exception that was raised while making it.
pub fn made(error: PyResult<Bound<'_, PyAny>>) -> PyErr {
    error.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for the client's own error.
pub fn client_error(py: Python<'_>, failure: ClientError, row: Option<u64>) -> PyErr {
    let of_row = |message: String| match row {
        Some(row) => format!("row {row}: {message}"),
        None => message,
    };
    let error = match failure {
        ClientError::NoRows(error) => return error,
        ClientError::Raised(error) => error,
        ClientError::NotARow(message) => PyTypeError::new_err(of_row(message)),
        ClientError::Mismatch(mismatch) => match globals(py) {
            Err(error) => error,
            Ok(globals) => {
                let class = match mismatch.kind {
                    MismatchKind::WrongType => &globals.programming_error,
                    MismatchKind::OutOfRange => &globals.data_error,
                    MismatchKind::LostTransaction => &globals.in_failed_transaction,
                };
                raise(py, class, of_row(mismatch.message))
            }
        },
    };
    if let Some(row) = row {
        // An exception of the user's own iterator may refuse attributes; the row is then only in the note.
        let _ = error.value(py).setattr("row", row);
    }
    error
}

/// The exception for the end of a connection.
pub fn fatal(py: Python<'_>, fatal: &Fatal) -> PyErr {
    ended(py, fatal, fatal.kind.is_gone())
}

/// The exception for the use of a connection that has ended so.
pub fn closed(py: Python<'_>, fatal: &Fatal) -> PyErr {
    ended(py, fatal, true)
}

fn ended(py: Python<'_>, fatal: &Fatal, is_gone: bool) -> PyErr {
    match globals(py) {
        Err(error) => error,
        Ok(globals) => {
            let class = if is_gone { &globals.connection_closed } else { &globals.operational_error };
            let error = coded(py, raise(py, class, fatal.message.clone()), fatal);
            if let Some(sqlstate) = &fatal.sqlstate {
                let _ = error.value(py).setattr("sqlstate", sqlstate);
            }
            error
        }
    }
}

/// The server's closing error, with the code of the end of the connection.
pub fn coded(py: Python<'_>, error: PyErr, fatal: &Fatal) -> PyErr {
    // The driver's own classes take attributes; an exception that was raised instead is left unchanged.
    let _ = error.value(py).setattr("code", fatal.kind.code());
    error
}

/// The exception for a request that was skipped because an earlier one of its pipeline failed.
pub fn skipped(py: Python<'_>) -> PyErr {
    match globals(py) {
        Err(error) => error,
        Ok(globals) => raise(
            py,
            &globals.pipeline_aborted,
            "not executed: an earlier statement of the same pipeline failed".to_owned(),
        ),
    }
}

/// InterfaceError with a message.
pub fn interface(py: Python<'_>, message: &str) -> PyErr {
    match globals(py) {
        Err(error) => error,
        Ok(globals) => raise(py, &globals.interface_error, message.to_owned()),
    }
}

/// ProgrammingError with a message.
pub fn programming(py: Python<'_>, message: &str) -> PyErr {
    match globals(py) {
        Err(error) => error,
        Ok(globals) => raise(py, &globals.programming_error, message.to_owned()),
    }
}

/// NotSupportedError with a message.
pub fn unsupported(py: Python<'_>, message: &str) -> PyErr {
    match globals(py) {
        Err(error) => error,
        Ok(globals) => raise(py, &globals.not_supported_error, message.to_owned()),
    }
}
