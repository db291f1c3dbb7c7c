//! The rows of parameters of a request: one, or those of an iterator.

use crate::any_params::AnyParams;
use crate::arrow_rows::ArrowRows;
use crate::engine::Dialect;
use crate::errors::ClientError;
use crate::globals::type_name;
use crate::limits;
use crate::params::{PyParams, is_unordered};
use crate::settings::Settings;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyMapping, PyMemoryView, PyString, PyTuple};

/// The source of a request's parameters.
#[derive(Debug)]
pub enum Args {
    /// One row.
    Row(Py<PyTuple>),
    /// Many rows.
    Batch(Batch),
    /// The rows of an Arrow stream.
    Arrow(Box<ArrowRows>),
}

/// The rows of a batch.
#[derive(Debug)]
pub struct Batch {
    /// The object that they come from.
    source: Py<PyAny>,
    /// Turns a row into the order of the statement.
    query: Option<Py<crate::query::Query>>,
    /// The remaining rows.
    rows: Option<Py<PyIterator>>,
    /// The current row.
    row: Option<Py<PyTuple>>,
    beginning: Beginning,
}

/// How a batch gets at its first rows again.
#[derive(Debug)]
enum Beginning {
    /// From the source, a list or a tuple.
    InSource,
    /// All rows that an iterator has given until now, and the error after them; `read` is the number of those that
    /// were read since the last rewind. That a statement is stale is known after the first rows.
    Kept { rows: Vec<Py<PyTuple>>, failed: Option<ClientError>, read: usize, bytes: usize },
    /// Nowhere: an iterator has given too many rows to keep.
    Lost,
}

impl Args {
    /// Many rows, each arranged by the query if there is one.
    ///
    /// # Errors
    /// The columns of an Arrow stream are not the parameters of the query.
    pub fn batch(py: Python<'_>, source: Source, query: Option<Py<crate::query::Query>>) -> PyResult<Self> {
        let source = match source {
            Source::Arrow(mut rows) => {
                rows.arrange(py, query.as_ref().map(|query| query.get()))?;
                return Ok(Args::Arrow(rows));
            }
            Source::Python(source) => source,
        };
        let rows = source.bind(py);
        let rereads = rows.is_instance_of::<PyList>() || rows.is_instance_of::<PyTuple>();
        let beginning = if rereads {
            Beginning::InSource
        } else {
            Beginning::Kept { rows: Vec::new(), failed: None, read: 0, bytes: 0 }
        };
        Ok(Args::Batch(Batch { source, query, rows: None, row: None, beginning }))
    }

    /// Returns true if there may be many rows.
    pub fn is_batch(&self) -> bool {
        !matches!(self, Args::Row(_))
    }

    /// To the next row.
    pub fn advance(&mut self, py: Python<'_>) -> Result<bool, ClientError> {
        match self {
            Args::Row(_) => Ok(false),
            Args::Batch(batch) => batch.advance(py),
            Args::Arrow(rows) => rows.advance(py),
        }
    }

    /// Returns true if the rows can be read again however many of them were read.
    pub fn rereads(&self) -> bool {
        match self {
            Args::Row(_) => true,
            Args::Batch(batch) => matches!(batch.beginning, Beginning::InSource),
            Args::Arrow(rows) => rows.rereads(),
        }
    }

    /// Returns true if the rows can be read again now, and not after the next one.
    pub fn loses_next(&self) -> bool {
        let Args::Batch(Batch { beginning: Beginning::Kept { rows, read, bytes, .. }, .. }) = self else {
            return false;
        };
        // A row more of the size that they have.
        let next = bytes / rows.len().max(1);
        *read == rows.len() && (rows.len() == limits::ROWS_KEPT || bytes + next > limits::ROWS_KEPT_BYTES)
    }

    /// The number of rows, of a list or a tuple.
    pub fn rows_in_all(&self, py: Python<'_>) -> Option<u64> {
        let Args::Batch(batch) = self else { return None };
        let rows = batch.source.bind(py);
        // Without a method of a subclass.
        let list = rows.cast::<PyList>().ok().map(|rows| rows.len());
        list.or_else(|| rows.cast::<PyTuple>().ok().map(|rows| rows.len())).map(|rows| rows as u64)
    }

    /// Returns to before the first row; returns false if the rows cannot be read again.
    pub fn rewind(&mut self) -> bool {
        match self {
            Args::Row(_) => true,
            Args::Batch(batch) => batch.rewind(),
            Args::Arrow(rows) => rows.rewind(),
        }
    }

    /// The current row.
    #[inline]
    pub fn current<'a>(&'a self, py: Python<'a>, settings: &'a Settings) -> AnyParams<'a> {
        if let Args::Arrow(rows) = self
            && let Some(row) = rows.current()
        {
            return AnyParams::Arrow(row);
        }
        AnyParams::Python(self.python(py, settings))
    }

    /// The current row, if it is one of Python objects.
    #[inline]
    pub fn python<'a>(&'a self, py: Python<'a>, settings: &'a Settings) -> PyParams<'a> {
        let row = match self {
            Args::Row(row) => Some(row),
            Args::Batch(batch) => batch.row.as_ref(),
            Args::Arrow(_) => None,
        };
        PyParams::new(py, row.map(|row| row.bind(py)), settings)
    }

    /// The error about a value of the current row, with the column that it is of if the rows are an Arrow stream's.
    pub fn located(&self, error: ClientError) -> ClientError {
        match self {
            Args::Arrow(rows) => rows.located(error),
            _ => error,
        }
    }
}

/// An object with rows, before they are asked for.
#[derive(Debug)]
pub enum Source {
    /// An iterable, as far as is known.
    Python(Py<PyAny>),
    /// An Arrow stream.
    Arrow(Box<ArrowRows>),
}

impl Source {
    /// The rows of an object. An Arrow stream is opened.
    ///
    /// # Errors
    /// The stream cannot be opened, or has a column that cannot be sent.
    pub fn of<D: Dialect>(py: Python<'_>, rows: Py<PyAny>) -> PyResult<Self> {
        Ok(match ArrowRows::open(rows.bind(py), D::STRUCTS)? {
            Some(arrow) => Source::Arrow(Box::new(arrow)),
            None => Source::Python(rows),
        })
    }

    /// See [`ArrowRows::hold`].
    pub fn hold(&self) -> Option<impl Drop + use<>> {
        match self {
            Source::Arrow(rows) => rows.hold(),
            Source::Python(_) => None,
        }
    }
}

impl Batch {
    fn advance(&mut self, py: Python<'_>) -> Result<bool, ClientError> {
        if let Beginning::Kept { rows, failed, read, .. } = &mut self.beginning {
            if let Some(row) = rows.get(*read) {
                *read += 1;
                self.row = Some(row.clone_ref(py));
                return Ok(true);
            }
            if let Some(error) = failed {
                return Err(error.clone_ref(py));
            }
        }
        let rows = match &self.rows {
            Some(rows) => rows.bind(py).clone(),
            None => {
                let source = self.source.bind(py);
                let iterator = PyIterator::from_object(source)
                    .map_err(|error| ClientError::NoRows(no_rows(source).unwrap_or(error)))?;
                self.rows = Some(iterator.clone().unbind());
                iterator
            }
        };
        let mut rows = rows;
        let Some(next) = rows.next() else { return Ok(false) };
        let row = next.map_err(ClientError::from).and_then(|next| match &self.query {
            Some(query) => query.get().arrange_row(py, &next),
            None if is_empty_mapping(&next) => Ok(PyTuple::empty(py)),
            None => sequence(&next),
        });
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                // A generator would not raise it a second time, but end.
                if let Beginning::Kept { failed, .. } = &mut self.beginning {
                    *failed = Some(error.clone_ref(py));
                }
                return Err(error);
            }
        };
        self.beginning.keep(&row);
        self.row = Some(row.unbind());
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        match &mut self.beginning {
            Beginning::InSource => self.rows = None,
            Beginning::Kept { read, .. } => *read = 0,
            Beginning::Lost => return false,
        }
        self.row = None;
        true
    }
}

impl Beginning {
    /// Keeps a row that an iterator has given, or no row at all from the limits on.
    fn keep(&mut self, row: &Bound<'_, PyTuple>) {
        let Beginning::Kept { rows, read, bytes, .. } = self else { return };
        *bytes += row.iter_borrowed().map(|value| length(&value)).sum::<usize>();
        if rows.len() == limits::ROWS_KEPT || *bytes > limits::ROWS_KEPT_BYTES {
            *self = Beginning::Lost;
            return;
        }
        rows.push(row.clone().unbind());
        *read += 1;
    }
}

/// Bytes, characters or elements of a value that may be large.
fn length(value: &Bound<'_, PyAny>) -> usize {
    let sized = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyDict>();
    if sized { value.len().unwrap_or_default() } else { 0 }
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
/// For an object that is not a sequence, or is text: a str given as the parameters is nearly always a mistake; and
/// whatever the object's own iterator raises.
pub fn sequence<'py>(row: &Bound<'py, PyAny>) -> Result<Bound<'py, PyTuple>, ClientError> {
    if let Ok(tuple) = row.cast_exact::<PyTuple>() {
        return Ok(tuple.clone());
    }
    if let Ok(list) = row.cast_exact::<PyList>() {
        return Ok(list.to_tuple());
    }
    let is_text = row.is_instance_of::<PyString>() || row.is_instance_of::<PyBytes>();
    if is_text || is_unordered(row) || as_mapping(row).is_some() || is_batch(row) {
        return Err(no_sequence(row));
    }
    let values = match row.try_iter() {
        Ok(values) => values,
        Err(error) if error.is_instance_of::<PyTypeError>(row.py()) => return Err(no_sequence(row)),
        // Its own iterator has failed.
        Err(error) => return Err(error.into()),
    };
    Ok(PyTuple::new(row.py(), values.collect::<PyResult<Vec<_>>>()?)?)
}

/// The object as a mapping, if it is one: iterating it would give its names as the values.
pub fn as_mapping<'a, 'py>(row: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyMapping>> {
    // The class of a mapping that is no dict is looked for among abstract classes.
    let is_sequence = row.is_instance_of::<PyTuple>() || row.is_instance_of::<PyList>();
    if is_sequence { None } else { row.cast::<PyMapping>().ok() }
}

/// Returns true for a mapping without names, which is a row without values.
pub fn is_empty_mapping(row: &Bound<'_, PyAny>) -> bool {
    as_mapping(row).is_some_and(|mapping| mapping.is_empty().unwrap_or(false))
}

/// Returns true for a record batch or a table: their items are columns, not values.
fn is_batch(row: &Bound<'_, PyAny>) -> bool {
    let has = |name: &str| row.hasattr(name).unwrap_or(false);
    has("__arrow_c_array__") && has("num_columns") || has("__arrow_c_stream__") && has("columns")
}

fn no_sequence(row: &Bound<'_, PyAny>) -> ClientError {
    if is_batch(row) {
        return ClientError::NotARow(format!(
            "{} is Arrow data, and not a row: several batches are given as one reader of them, such as \
             pyarrow.RecordBatchReader.from_batches(schema, batches)",
            type_name(row)
        ));
    }
    ClientError::NotARow(format!(
        "parameters must be a sequence such as a tuple or a list, not {}; a single one is written (value,)",
        type_name(row)
    ))
}
