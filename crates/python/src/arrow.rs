//! Results as Arrow record batches: the C data interface's capsules (Arrow's documentation, "The Arrow PyCapsule
//! Interface").
//!
//! Requests put their rows into an [`ArrowSink`], and the reader takes finished batches out of it. Several requests may
//! share one: a stream that fetches its rows in parts.

use crate::errors::{self, ClientError};
use crate::limits;
use crate::settings::{Settings, Unrepresentable};
use headrace_arrow::export::{export_array, export_reader, export_schema, export_stream};
use headrace_arrow::{ArrowError, ArrowOptions, Batches, Numeric, RecordBatch, RecordBatchReader, Refused, SchemaRef};
use headrace_core::{Column, Fatal, Mismatch, Run};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyIterator};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The rows of requests as record batches: those that came, and not yet those that were taken.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct ArrowSink(Mutex<ReceivedBatches>);

#[derive(Debug)]
struct ReceivedBatches {
    options: ArrowOptions,
    /// `None` before the columns are known.
    batches: Option<Batches>,
    /// The result has ended: what follows is another one.
    ended: bool,
    /// Rows and bytes when the last fetch was sized, and its rows.
    sized: (u64, u64, u64),
}

impl ArrowSink {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, ReceivedBatches> {
        // Nothing in it is half done after a panic that its batches could show.
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of the rows that follow. Those of a further fetch, and of a further result, are ignored.
    pub fn describe(&self, py: Python<'_>, columns: &[Column], settings: &Settings) {
        let mut rows = self.lock(py);
        if rows.ended || rows.batches.as_ref().is_some_and(|batches| batches.rows() > 0) {
            return;
        }
        rows.options.null_unrepresentable = settings.unrepresentable == Unrepresentable::None;
        rows.batches = Some(Batches::new(columns, rows.options));
    }

    /// Rows that have come. They are decoded while other threads use the interpreter.
    ///
    /// # Errors
    /// [`Run::by_column`]
    pub fn rows<R: Run>(&self, py: Python<'_>, run: &mut R) -> Result<(), Fatal> {
        py.detach(|| {
            let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let ReceivedBatches { batches: Some(batches), ended: false, .. } = &mut *rows else { return Ok(()) };
            run.by_column(batches)?;
            batches.settle();
            Ok(())
        })
    }

    /// Forgets what has come: the statement is executed again.
    pub fn clear(&self, py: Python<'_>) {
        let mut rows = self.lock(py);
        rows.batches = None;
        rows.ended = false;
    }

    /// The result has ended: its last batch is what has come since the one before.
    pub fn end(&self, py: Python<'_>) {
        py.detach(|| {
            let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            rows.ended = true;
            if let Some(batches) = &mut rows.batches {
                batches.cut();
            }
        });
    }

    /// Returns true if there is a batch to take, or the error of one.
    pub fn is_ready(&self, py: Python<'_>) -> bool {
        self.lock(py).batches.as_ref().is_some_and(|batches| batches.ready() > 0 || batches.refused().is_some())
    }

    /// The number of rows so far.
    pub fn count(&self, py: Python<'_>) -> u64 {
        self.lock(py).batches.as_ref().map_or(0, Batches::rows)
    }

    /// The schema that no later batch changes.
    fn fixed(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        let schema = self.lock(py).batches.as_mut().map(|batches| batches.fixed().clone());
        schema.ok_or_else(|| {
            errors::programming(py, "the columns of the stream are known once its first record batch was read")
        })
    }

    fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        let schema = self.lock(py).batches.as_ref().map(|batches| batches.schema().clone());
        schema.ok_or_else(|| {
            errors::programming(py, "the columns of the stream are known once its first record batch was read")
        })
    }
}

/// The error of a value that its column cannot represent.
fn refusal(py: Python<'_>, refused: &Refused) -> PyErr {
    errors::client_error(py, ClientError::Mismatch(Mismatch::out_of_range(refused.to_string())), None)
}

#[pymethods]
impl ArrowSink {
    /// Without rows. `numeric` is the representation of exact numbers without a precision; `fixed` has their type not depend
    /// on the numbers.
    #[new]
    #[pyo3(signature = (numeric, batch_rows, batch_bytes, fixed=false))]
    fn new(py: Python<'_>, numeric: &str, batch_rows: usize, batch_bytes: usize, fixed: bool) -> PyResult<Self> {
        let numeric = match numeric {
            "decimal" => Numeric::Decimal,
            "string" => Numeric::Text,
            "float64" => Numeric::Float64,
            other => {
                let what = headrace_core::shortened(other);
                return Err(errors::programming(
                    py,
                    &format!("numeric={what:?} is not one of decimal, string, float64"),
                ));
            }
        };
        if batch_rows == 0 {
            return Err(errors::programming(py, "batch_rows must be at least 1"));
        }
        if !(1..=headrace_arrow::limits::ARROW_BATCH_BYTES_MAX).contains(&batch_bytes) {
            let most = headrace_arrow::limits::ARROW_BATCH_BYTES_MAX;
            return Err(errors::programming(py, &format!("batch_bytes must be at least 1 and at most {most}")));
        }
        let options = ArrowOptions { numeric, batch_rows, batch_bytes, fixed, ..ArrowOptions::default() };
        Ok(Self(Mutex::new(ReceivedBatches { options, batches: None, ended: false, sized: (0, 0, 0) })))
    }

    /// Takes the next batch that has ended; None if there is none. After the batches before it, raises DataError for a
    /// value that its column cannot represent.
    fn take(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let mut rows = self.lock(py);
        let Some(batches) = &mut rows.batches else { return Ok(None) };
        if let Some(batch) = batches.take() {
            return Ok(Some(ArrowBatch { batch }));
        }
        let refused = batches.refused().cloned();
        drop(rows);
        refused.map_or(Ok(None), |refused| Err(refusal(py, &refused)))
    }

    /// All rows that have come and were not taken. Raises DataError as `take` does.
    fn result(&self, py: Python<'_>) -> PyResult<ArrowResult> {
        let schema = self.schema(py)?;
        let (mut batches, mut refused) = (Vec::new(), None);
        if let Some(all) = &mut self.lock(py).batches {
            refused = all.refused().cloned();
            batches.extend(std::iter::from_fn(|| all.take()));
        }
        if let Some(refused) = refused {
            return Err(refusal(py, &refused));
        }
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        Ok(ArrowResult { schema, batches, rows })
    }

    /// The number of rows that the next fetch of a stream asks for: as many as fit a fixed number of bytes, if they are
    /// like those of the last fetch.
    fn fetch_rows(&self, py: Python<'_>) -> u64 {
        let mut rows = self.lock(py);
        let most = (rows.options.batch_rows as u64).min(i32::MAX as u64);
        let (all, bytes) = rows.batches.as_ref().map_or((0, 0), |batches| (batches.rows(), batches.all_bytes()));
        let (known, known_bytes, asked) = rows.sized;
        let next = match all.checked_sub(known) {
            None | Some(0) => limits::ARROW_FETCH_ROWS_FIRST,
            Some(fetched) => {
                let each = ((bytes - known_bytes) / fetched).max(bytes / all).max(1);
                (limits::ARROW_FETCH_BYTES / each).clamp(1, asked.saturating_mul(limits::ARROW_FETCH_GROWTH))
            }
        };
        rows.sized = (all, bytes, next.min(most));
        next.min(most)
    }

    /// The names of the columns. Raises ProgrammingError before they are known.
    #[getter]
    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(names(&self.schema(py)?))
    }

    /// Returns true if the columns are known.
    #[getter]
    fn described(&self, py: Python<'_>) -> bool {
        self.lock(py).batches.is_some()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        usize::try_from(self.count(py)).unwrap_or(usize::MAX)
    }

    /// The schema, as a capsule of an ``ArrowSchema``. Raises ProgrammingError before it is known.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.fixed(py)?)
    }

    /// What an iterator returns whose batches come from here, as a capsule of an ``ArrowArrayStream``: it calls the
    /// iterator for each batch, and its `close` if it is released before the end.
    fn stream<'py>(&self, py: Python<'py>, batches: Py<PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let reader = Reader { schema: self.fixed(py)?, batches: Some(batches), failed: None };
        PyCapsule::new_with_value(py, export_reader(Box::new(reader)), c"arrow_array_stream")
    }
}

/// The batches of an iterator of Python's.
struct Reader {
    schema: SchemaRef,
    /// `None` after the last.
    batches: Option<Py<PyAny>>,
    /// The error that has ended it: who asks again must not take the rows before it for all.
    failed: Option<String>,
}

impl Reader {
    fn step(py: Python<'_>, batches: &Py<PyAny>) -> PyResult<Option<RecordBatch>> {
        let next = batches.bind(py).cast::<PyIterator>()?.clone().next().transpose()?;
        next.map(|batch| Ok(batch.cast::<ArrowBatch>()?.get().batch.clone())).transpose()
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(failed) = &self.failed {
            return Some(Err(ArrowError::ExternalError(failed.clone().into())));
        }
        let batches = self.batches.take()?;
        let next = Python::try_attach(|py| match Self::step(py, &batches) {
            Ok(None) => None,
            Ok(Some(batch)) => {
                self.batches = Some(batches);
                Some(Ok(batch))
            }
            Err(error) => {
                let failed = self.failed.insert(error.to_string());
                Some(Err(ArrowError::ExternalError(failed.clone().into())))
            }
        });
        next.unwrap_or_else(|| Some(Err(ArrowError::ExternalError("the interpreter has ended".into()))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(batches) = self.batches.take() else { return };
        Python::try_attach(move |py| {
            // The capsule may be dropped while an exception is on its way, which is not that of `close`.
            let raised = PyErr::take(py);
            if let Err(error) = batches.call_method0(py, pyo3::intern!(py, "close")) {
                error.write_unraisable(py, Some(batches.bind(py)));
            }
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

fn shown(schema: &SchemaRef) -> String {
    let columns = schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type()));
    columns.collect::<Vec<_>>().join(", ")
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = export_schema(schema).map_err(|error| not_exported(py, &error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn not_exported(py: Python<'_>, error: &ArrowError) -> PyErr {
    errors::interface(py, &format!("the Arrow data cannot be exported: {error}"))
}

/// Rows of a result as one Arrow record batch. Any library that speaks the Arrow PyCapsule interface takes it:
/// ``pyarrow.record_batch(batch)``, ``polars.DataFrame(batch)``. It can be taken any number of times, and shares its
/// memory with what took it.
#[pyclass(frozen, module = "headrace")]
#[derive(Debug)]
pub struct ArrowBatch {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowBatch {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.batch.schema())
    }

    /// The number of bytes of memory that the batch keeps. Batches that were cut from one share it.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<ArrowBatch of {} rows: {}>", self.num_rows(), shown(&self.batch.schema()))
    }

    /// The schema, as a capsule of an ``ArrowSchema``.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    /// The batch, as capsules of an ``ArrowSchema`` and an ``ArrowArray``. A requested schema is not converted to.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array = export_array(&self.batch).map_err(|error| not_exported(py, &error))?;
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The batch, as a capsule of an ``ArrowArrayStream``.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = export_stream(&self.batch.schema(), vec![self.batch.clone()]);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The rows of a result as Arrow record batches. Any library that speaks the Arrow PyCapsule interface takes it:
/// ``pyarrow.table(result)``, ``polars.DataFrame(result)``, ``duckdb.from_arrow(result)``. It can be taken any number of
/// times, and shares its memory with what took it.
#[pyclass(frozen, module = "headrace")]
#[derive(Debug)]
pub struct ArrowResult {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: u64,
}

#[pymethods]
impl ArrowResult {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.rows
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.schema.fields().len()
    }

    /// The number of record batches.
    #[getter]
    fn num_batches(&self) -> usize {
        self.batches.len()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("<ArrowResult of {} rows: {}>", self.rows, shown(&self.schema))
    }

    /// The schema, as a capsule of an ``ArrowSchema``.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// The batches, as a capsule of an ``ArrowArrayStream``. A requested schema is not converted to: the interface
    /// leaves that to the producer.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, export_stream(&self.schema, self.batches.clone()), c"arrow_array_stream")
    }
}
