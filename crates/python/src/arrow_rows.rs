//! The rows of an Arrow stream as the parameters of a batch: no Python object is made of a value.
//!
//! Batches are pulled as the connection takes their rows, with the interpreter detached: the stream may be computed by other
//! threads that need it, or read another connection.

use crate::errors::{self, ClientError};
use crate::ffi;
use crate::globals::{globals, type_name};
use crate::limits;
use crate::params::PyValue;
use crate::query::Query;
use crate::settings::Settings;
use headrace_arrow::Nanoseconds;
use headrace_arrow::input::{Batch, Input, InputError, Meaning, Row};
use headrace_core::civil::{DAY_MICROS, civil_from_days};
use headrace_core::{Mismatch, Value, ValueKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rows of an Arrow stream.
#[derive(Debug)]
pub struct ArrowRows {
    /// The object that they come from.
    source: Py<PyAny>,
    meaning: Meaning,
    names: Vec<String>,
    /// The columns that are parameters, in their order; without it all of them.
    order: Option<Vec<usize>>,
    /// `None` if it has to be opened again.
    input: Option<Arc<Mutex<Input>>>,
    batch: Option<Arc<Batch>>,
    /// The current row in the batch.
    at: usize,
    beginning: Beginning,
    /// Rows since the last rewind, and the most that there were before one.
    read: u64,
    known: u64,
}

/// How the stream gets at its first rows again.
#[derive(Debug)]
enum Beginning {
    /// From the object, whose rows are in memory: it makes another stream.
    InSource,
    /// All batches until now; `next` is the number of those that were read since the last rewind.
    Kept { batches: Vec<Arc<Batch>>, bytes: usize, next: usize, failed: Option<ClientError> },
    /// Nowhere: there were too many.
    Lost,
}

impl ArrowRows {
    /// Opens the Arrow stream of an object; `None` if it has none, or one of something other than rows, and can be
    /// iterated over: a series whose values are rows.
    ///
    /// # Errors
    /// The stream cannot be opened, or has a column that cannot be sent.
    pub fn open(source: &Bound<'_, PyAny>, structs: ValueKind) -> PyResult<Option<Self>> {
        let py = source.py();
        if source.is_exact_instance_of::<PyList>()
            || source.is_exact_instance_of::<PyTuple>()
            || source.is_exact_instance_of::<PyDict>()
        {
            return Ok(None);
        }
        let mut source = source.clone();
        let mut is_stream = source.hasattr(pyo3::intern!(py, "__arrow_c_stream__"))?;
        if !is_stream && !source.hasattr(pyo3::intern!(py, "__arrow_c_array__"))? {
            let Some(made) = executed(&source)? else { return Ok(None) };
            (source, is_stream) = (made, true);
        }
        // A series of pandas: its values may be tuples, of which Arrow has no form.
        if source.getattr_opt(pyo3::intern!(py, "ndim"))?.is_some_and(|ndim| ndim.eq(1).unwrap_or(false)) {
            return Ok(None);
        }
        let source = &with_index(&source)?;
        let meaning = Meaning { structs, local: local_instant, nanoseconds: Nanoseconds::Refused };
        let input = match input_of(source, meaning)? {
            Err(InputError::NoBatches(what))
                if !is_column(source, &what)? && source.hasattr(pyo3::intern!(py, "__iter__"))? =>
            {
                return Ok(None);
            }
            input => input.map_err(|error| errors::client_error(py, refused(py, &error), None))?,
        };
        check_objects(source, &input)?;
        // What has a length is in memory; a reader has none, and its stream can be read once.
        let rereads = !is_stream || source.hasattr(pyo3::intern!(py, "__len__"))?;
        let kept = Beginning::Kept { batches: Vec::new(), bytes: 0, next: 0, failed: None };
        Ok(Some(Self {
            source: source.clone().unbind(),
            meaning,
            names: input.names().map(str::to_owned).collect(),
            order: None,
            input: Some(Arc::new(Mutex::new(input))),
            batch: None,
            at: 0,
            beginning: if rereads { Beginning::InSource } else { kept },
            read: 0,
            known: 0,
        }))
    }

    /// Keeps the stream open for as long as the result lives: one that reads a connection must not be closed while that
    /// connection is locked.
    pub fn hold(&self) -> Option<Arc<Mutex<Input>>> {
        self.input.clone()
    }

    /// Takes the columns that are the parameters of a statement.
    ///
    /// # Errors
    /// ProgrammingError if their number or their names do not fit.
    pub fn arrange(&mut self, py: Python<'_>, query: Option<&Query>) -> PyResult<()> {
        if let Some(query) = query {
            self.order = query.project(&self.names).map_err(|error| errors::client_error(py, error, None))?;
        }
        Ok(())
    }

    /// To the next row; false after the last.
    ///
    /// # Errors
    /// The stream has failed, or the row is null.
    pub fn advance(&mut self, py: Python<'_>) -> Result<bool, ClientError> {
        match &self.batch {
            Some(batch) if self.at + 1 < batch.rows() => self.at += 1,
            _ => {
                self.batch = self.next_batch(py)?;
                self.at = 0;
            }
        }
        let Some(batch) = &self.batch else {
            if self.read < self.known {
                let (read, known) = (self.read, self.known);
                let message =
                    format!("the Arrow stream had {known} rows or more, and has {read} when it is read again");
                return Err(ClientError::Raised(errors::interface(py, &message)));
            }
            return Ok(false);
        };
        batch.settle();
        if batch.is_null(self.at) {
            return Err(Mismatch::out_of_range("the row is null as a whole; make it one of nulls").into());
        }
        self.read += 1;
        Ok(true)
    }

    fn next_batch(&mut self, py: Python<'_>) -> Result<Option<Arc<Batch>>, ClientError> {
        if let Beginning::Kept { batches, next, failed, .. } = &mut self.beginning {
            if let Some(batch) = batches.get(*next) {
                *next += 1;
                return Ok(Some(batch.clone()));
            }
            if let Some(error) = failed {
                return Err(error.clone_ref(py));
            }
        }
        // The memory of the batch before is free before the next one is made.
        self.batch = None;
        if self.input.is_none() {
            let input = input_of(self.source.bind(py), self.meaning).map_err(ClientError::Raised)?;
            let input = input.map_err(|error| refused(py, &error))?;
            if !input.names().eq(self.names.iter().map(String::as_str)) {
                let message = "the Arrow stream has other columns when it is read again";
                return Err(ClientError::Raised(errors::interface(py, message)));
            }
            self.input = Some(Arc::new(Mutex::new(input)));
        }
        let Some(input) = &self.input else { return Ok(None) };
        let input = input.clone();
        let next = || input.lock().unwrap_or_else(PoisonError::into_inner).next_batch();
        let batch = py.detach(next).map_err(|error| refused(py, &error));
        match (batch, &mut self.beginning) {
            (Ok(None), _) => Ok(None),
            (Ok(Some(batch)), beginning) => {
                let batch = Arc::new(batch);
                beginning.keep(&batch);
                Ok(Some(batch))
            }
            (Err(error), beginning) => {
                // A stream that has failed would not fail a second time, but end.
                if let Beginning::Kept { failed, .. } = beginning {
                    *failed = Some(error.clone_ref(py));
                }
                Err(error)
            }
        }
    }

    /// Returns true if the rows can be read again however many of them were read.
    pub fn rereads(&self) -> bool {
        matches!(self.beginning, Beginning::InSource)
    }

    /// Returns to before the first row; returns false if the rows cannot be read again.
    pub fn rewind(&mut self) -> bool {
        match &mut self.beginning {
            Beginning::InSource => self.input = None,
            Beginning::Kept { next, .. } => *next = 0,
            Beginning::Lost => return false,
        }
        self.known = self.known.max(self.read);
        self.read = 0;
        self.batch = None;
        true
    }

    /// The current row.
    #[inline]
    pub fn current(&self) -> Option<Row<'_, ClientError>> {
        self.batch.as_ref().map(|batch| batch.row(self.at, self.order.as_deref()))
    }

    /// Passes the current row to `write`, and the rows after it for as long as it returns true and they are of the same
    /// batch, which are then the current one in turn. The interpreter is detached meanwhile.
    pub fn each(&mut self, py: Python<'_>, mut write: impl FnMut(&Row<'_, ClientError>) -> bool + Send) {
        let Some(batch) = self.batch.as_deref() else { return };
        let (order, at, read) = (self.order.as_deref(), &mut self.at, &mut self.read);
        py.detach(move || {
            while write(&batch.row(*at, order)) && *at + 1 < batch.rows() && !batch.is_null(*at + 1) {
                batch.settle();
                *at += 1;
                *read += 1;
            }
        });
    }

    /// The error about a value, with its column.
    pub fn located(&self, error: ClientError) -> ClientError {
        let column = self.batch.as_ref().and_then(|batch| batch.last_read());
        match (error, column) {
            // The value cannot be sent, whatever the reason: the statement has as many parameters as there are columns.
            (ClientError::Mismatch(mismatch), Some(column)) => {
                Mismatch::out_of_range(format!("{column}: {}", mismatch.message)).into()
            }
            (error, _) => error,
        }
    }
}

impl Beginning {
    /// Keeps a batch, or no batch at all from the limit on. The first is always kept.
    fn keep(&mut self, batch: &Arc<Batch>) {
        let Beginning::Kept { batches, bytes, next, .. } = self else { return };
        *bytes += batch.bytes();
        if *bytes > limits::ROWS_KEPT_BYTES && !batches.is_empty() {
            *self = Beginning::Lost;
            return;
        }
        batches.push(batch.clone());
        *next += 1;
    }
}

/// The rows of an Arrow stream, for a bulk load.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct ArrowSource(Mutex<ArrowRows>);

impl ArrowSource {
    /// The rows, for one thread at a time.
    pub fn lock(&self, py: Python<'_>) -> MutexGuard<'_, ArrowRows> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ArrowSource {
    /// Opens the stream of an object that has `__arrow_c_stream__` or `__arrow_c_array__`; None for any other. Its
    /// structs become JSON, or else objects with attributes.
    #[staticmethod]
    #[pyo3(signature = (source, *, json=false))]
    fn of(source: &Bound<'_, PyAny>, json: bool) -> PyResult<Option<Self>> {
        let structs = if json { ValueKind::Json } else { ValueKind::Other };
        Ok(ArrowRows::open(source, structs)?.map(|rows| Self(Mutex::new(rows))))
    }

    /// Takes the columns for those of a table: by their names, where they have those of the table's columns, also if
    /// there are more; by position where they have none of them. Raises ProgrammingError where they have some.
    fn pair(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<()> {
        let mut rows = self.lock(py);
        let order = paired(&rows.names, &columns).map_err(|message| errors::programming(py, &message))?;
        if order.is_some() {
            rows.order = order;
        }
        Ok(())
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self, py: Python<'_>) -> Vec<String> {
        self.lock(py).names.clone()
    }
}

/// The places of columns among those that are given, by name; `None` if none of them has one of these names.
fn paired(given: &[String], columns: &[String]) -> Result<Option<Vec<usize>>, String> {
    let places = |is_same: fn(&str, &str) -> bool| {
        let place = |column: &String| {
            let mut found = (0..given.len()).filter(|i| is_same(&given[*i], column));
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => Err(format!("the rows have several columns '{column}'")),
                (place, _) => Ok(place),
            }
        };
        columns.iter().map(place).collect::<Result<Vec<_>, _>>()
    };
    let mut found = places(|given, column| given == column)?;
    if found.iter().all(Option::is_none) {
        found = places(str::eq_ignore_ascii_case)?;
    }
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let named = found.iter().zip(columns).map(|(place, column)| {
        place.ok_or_else(|| {
            format!(
                "columns= has the names of some of the rows' columns, and '{column}', which is none of them: name all of \
                 them as they are in the rows, to be paired by name, or none, to be paired by position"
            )
        })
    });
    named.collect::<Result<_, _>>().map(Some)
}

/// Returns true if an object's class is one of a library.
fn is_of(source: &Bound<'_, PyAny>, library: &str) -> PyResult<bool> {
    let module = source.get_type().module()?;
    let module = module.to_str()?;
    Ok(module.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Returns true for a column, of such values, that pyarrow or polars have by itself: an item of it is not a row.
fn is_column(source: &Bound<'_, PyAny>, values: &str) -> PyResult<bool> {
    Ok(is_of(source, "pyarrow")? || is_of(source, "polars")? && !values.contains("List"))
}

/// What has the rows of something that has yet to be executed: a lazy frame of polars, which is collected, and a dataset
/// of pyarrow or its scanner, of which a reader is made. `None` for any other object.
fn executed<'py>(source: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if is_of(source, "polars")? && source.get_type().name()? == "LazyFrame" {
        return source.call_method0("collect").map(Some);
    }
    if !is_of(source, "pyarrow")? {
        return Ok(None);
    }
    if source.hasattr("scanner")? {
        return source.call_method0("scanner")?.call_method0("to_reader").map(Some);
    }
    if source.hasattr("to_reader")? { source.call_method0("to_reader").map(Some) } else { Ok(None) }
}

/// The same object. A frame of pandas whose index has a name and is a range becomes a table, as Arrow has no column for such
/// an index otherwise, and does for any other with a name.
fn with_index<'py>(source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    if !is_of(source, "pandas")? {
        return Ok(source.clone());
    }
    let Some(index) = source.getattr_opt(pyo3::intern!(py, "index"))? else { return Ok(source.clone()) };
    if index.get_type().name()? != "RangeIndex" || index.getattr(pyo3::intern!(py, "name"))?.is_none() {
        return Ok(source.clone());
    }
    let keywords = PyDict::new(py);
    keywords.set_item("preserve_index", true)?;
    py.import("pyarrow")?.getattr("Table")?.call_method("from_pandas", (source,), Some(&keywords))
}

/// Raises DataError for a frame of polars with a column of Python's objects: Arrow has their addresses only, as bytes, which
/// no other column of polars is.
fn check_objects(source: &Bound<'_, PyAny>, input: &Input) -> PyResult<()> {
    let py = source.py();
    match input.plain_fixed_bytes() {
        Some(name) if is_of(source, "polars")? => {
            let message = format!(
                "column '{name}' has the polars type Object, whose values are objects of Python: give it \
                 another type"
            );
            Err(errors::client_error(py, Mismatch::out_of_range(message).into(), None))
        }
        _ => Ok(()),
    }
}

/// The Arrow stream of an object, or its only array.
fn input_of(source: &Bound<'_, PyAny>, meaning: Meaning) -> PyResult<Result<Input, InputError>> {
    let py = source.py();
    let name = pyo3::intern!(py, "__arrow_c_stream__");
    Ok(if source.hasattr(name)? {
        let capsule = source.call_method0(name)?;
        let stream = ffi::arrow_stream(capsule.cast::<PyCapsule>()?)?;
        // It may run code that needs the interpreter.
        py.detach(|| Input::of_stream(stream, meaning))
    } else {
        let capsules = source.call_method0(pyo3::intern!(py, "__arrow_c_array__"))?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract().map_err(|_| {
            PyTypeError::new_err(format!("{}.__arrow_c_array__ returns no capsules", type_name(source)))
        })?;
        ffi::arrow_array(&schema, &array)?.and_then(|array| Input::of_array(array, meaning))
    })
}

/// The error for a stream that has no further batch.
#[cold]
fn refused(py: Python<'_>, error: &InputError) -> ClientError {
    let message = error.to_string();
    match error {
        InputError::Producer(_) | InputError::Malformed(..) => ClientError::Raised(errors::interface(py, &message)),
        InputError::NoBatches(_) => Mismatch::wrong_type(message).into(),
        InputError::Unsupported(..) => Mismatch::out_of_range(message).into(),
    }
}

/// The instant of a timestamp without zone in the machine's local zone, as for a `datetime` without one.
fn local_instant(micros: i64) -> Result<i64, Mismatch> {
    let no_instant = || {
        Mismatch::out_of_range(
            "a timestamp without zone that has no time in UTC that Python can hold: give its column a zone",
        )
    };
    Python::attach(|py| {
        let (year, month, day) = civil_from_days(micros.div_euclid(DAY_MICROS));
        let clock = micros.rem_euclid(DAY_MICROS);
        let (seconds, fraction) = (clock / 1_000_000, clock % 1_000_000);
        let parts = (year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, fraction);
        let class = globals(py).map_err(|_| no_instant())?.datetime.bind(py);
        let settings = Settings::default();
        let timestamp = class.call1(parts).map_err(|_| no_instant())?;
        PyValue::new(timestamp, &settings).timestamptz().map_err(|_| no_instant())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_paired_by_name_where_there_are_names() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let pair = |given: &str, columns: &str| paired(&names(given), &names(columns));
        assert_eq!(pair("qty id", "id qty"), Ok(Some(vec![1, 0])));
        assert_eq!(pair("qty more id", "id qty"), Ok(Some(vec![2, 0])));
        assert_eq!(pair("QTY ID", "id qty"), Ok(Some(vec![1, 0])));
        assert_eq!(pair("a b", "id qty"), Ok(None));
        assert!(pair("qty b", "id qty").unwrap_err().contains("'id'"));
        assert!(pair("id id", "id qty").unwrap_err().contains("several"));
    }
}
