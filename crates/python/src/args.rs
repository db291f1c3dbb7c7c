//! The rows of parameters of a request: one, or those of an iterator.

use crate::errors::ClientError;
use crate::globals::type_name;
use crate::params::PyParams;
use crate::sink::Settings;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};

/// The source of a request's parameters.
#[derive(Debug)]
pub enum Args {
    /// One row.
    Row(Py<PyTuple>),
    /// Many rows.
    Batch {
        /// The object that they come from, to start over.
        source: Py<PyAny>,
        /// Turns a row into the order of the statement.
        query: Option<Py<crate::query::Query>>,
        /// The remaining rows.
        rows: Option<Py<PyIterator>>,
        /// The current row.
        row: Option<Py<PyTuple>>,
    },
}

impl Args {
    /// Returns true if there may be many rows.
    pub fn is_batch(&self) -> bool {
        matches!(self, Args::Batch { .. })
    }

    /// To the next row.
    pub fn advance(&mut self, py: Python<'_>) -> Result<bool, ClientError> {
        let Args::Batch { source, query, rows, row } = self else { return Ok(false) };
        let rows = match rows {
            Some(rows) => rows.bind(py).clone(),
            None => {
                let source = source.bind(py);
                let iterator = PyIterator::from_object(source).map_err(|error| no_rows(source).unwrap_or(error))?;
                *rows = Some(iterator.clone().unbind());
                iterator
            }
        };
        let mut rows = rows;
        let Some(next) = rows.next() else { return Ok(false) };
        let next = next?;
        *row = Some(match query {
            Some(query) => query.get().arrange(py, Some(&next))?.unbind(),
            None => sequence(&next)?.unbind(),
        });
        Ok(true)
    }

    /// Returns to before the first row; returns false if the rows cannot be read again.
    pub fn rewind(&mut self, py: Python<'_>) -> bool {
        match self {
            Args::Row(_) => true,
            Args::Batch { source, rows, row, .. } => {
                let source = source.bind(py);
                let again = source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>();
                if again {
                    *rows = None;
                    *row = None;
                }
                again
            }
        }
    }

    /// The current row.
    pub fn current<'a>(&'a self, py: Python<'a>, settings: &'a Settings) -> PyParams<'a> {
        let row = match self {
            Args::Row(row) => Some(row),
            Args::Batch { row, .. } => row.as_ref(),
        };
        PyParams::new(py, row.map(|row| row.bind(py)), settings)
    }
}

/// The error for rows of a batch that cannot be iterated over; None if their own iterator reports it.
#[cold]
fn no_rows(source: &Bound<'_, PyAny>) -> Option<PyErr> {
    let has = |name: &str| source.hasattr(name).unwrap_or(true);
    if has("__iter__") {
        return None;
    }
    let class = type_name(source);
    let todo = if has("__aiter__") {
        ", and cannot wait for the next one while it sends: give it lists of them, such as \
         [row async for row in rows], in one transaction()"
    } else {
        ""
    };
    let message = format!("executemany() takes the rows from a list or an iterator, not {class}{todo}");
    Some(pyo3::exceptions::PyTypeError::new_err(message))
}

/// A row of parameters as a tuple.
///
/// # Errors
/// TypeError for an object that is not a sequence, or is text: a str given as the parameters is nearly always a
/// mistake.
pub fn sequence<'py>(row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    if let Ok(tuple) = row.cast_exact::<PyTuple>() {
        return Ok(tuple.clone());
    }
    if let Ok(list) = row.cast_exact::<PyList>() {
        return Ok(list.to_tuple());
    }
    if row.is_instance_of::<PyString>() || row.is_instance_of::<PyBytes>() || row.is_instance_of::<PyDict>() {
        return Err(no_sequence(row));
    }
    let Ok(values) = row.try_iter() else { return Err(no_sequence(row)) };
    PyTuple::new(row.py(), values.collect::<PyResult<Vec<_>>>()?)
}

fn no_sequence(row: &Bound<'_, PyAny>) -> PyErr {
    pyo3::exceptions::PyTypeError::new_err(format!(
        "parameters must be a sequence such as a tuple or a list, not {}; a single one is written (value,)",
        type_name(row)
    ))
}
