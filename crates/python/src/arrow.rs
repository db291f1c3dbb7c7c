//! Results as Arrow record batches: the C data interface's two capsules (Arrow's documentation, "The Arrow PyCapsule
//! Interface").

use crate::errors::{self, ClientError};
use crate::sink::{Settings, Unrepresentable};
use headrace_arrow::export::{export_schema, export_stream};
use headrace_arrow::{Batches, Numeric, Options, RecordBatch, SchemaRef};
use headrace_core::{Column, Fatal, Mismatch, Run};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What a caller wants in Python: how exact numbers without a precision are represented, and the rows of a batch.
pub type ArrowKey = (String, usize);

/// The rows of a request as record batches.
#[derive(Debug)]
pub struct Columnar {
    options: Options,
    batches: Option<Batches>,
}

impl Columnar {
    /// As a caller wants it.
    ///
    /// # Errors
    /// ProgrammingError for a value that is none.
    pub fn wanted(py: Python<'_>, key: Option<ArrowKey>) -> PyResult<Option<Box<Self>>> {
        let Some((numeric, batch_rows)) = key else { return Ok(None) };
        let numeric = match &*numeric {
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
        let options = Options { numeric, batch_rows, ..Options::default() };
        Ok(Some(Box::new(Self { options, batches: None })))
    }

    /// The columns of the rows that follow.
    pub fn describe(&mut self, columns: &[Column], settings: &Settings) {
        self.options.null_unrepresentable = settings.unrepresentable == Unrepresentable::None;
        self.batches = Some(Batches::new(columns, self.options));
    }

    /// Rows that have come. They are decoded while other threads use the interpreter.
    ///
    /// # Errors
    /// [`Run::by_column`]
    pub fn rows<R: Run>(&mut self, py: Python<'_>, run: &mut R) -> Result<(), Fatal> {
        let Some(batches) = &mut self.batches else { return Ok(()) };
        py.detach(|| {
            run.by_column(batches)?;
            batches.settle();
            Ok(())
        })
    }

    /// Forgets what has come: the statement is executed again.
    pub fn clear(&mut self) {
        self.batches = None;
    }

    /// All rows that have come, as an [`ArrowResult`].
    ///
    /// # Errors
    /// DataError for a value that its column cannot represent.
    pub fn take(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Some(mut batches) = self.batches.take() else { return Ok(py.None()) };
        py.detach(|| batches.cut());
        if let Some(refused) = batches.refused() {
            let mismatch = Mismatch::out_of_range(refused.to_string());
            return Err(errors::client_error(py, ClientError::Mismatch(mismatch), None));
        }
        let (schema, rows) = (batches.schema().clone(), batches.rows());
        let batches = std::iter::from_fn(|| batches.take()).collect();
        Ok(Py::new(py, ArrowResult { schema, batches, rows })?.into_any())
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
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let columns = self.schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type()));
        format!("<ArrowResult of {} rows: {}>", self.rows, columns.collect::<Vec<_>>().join(", "))
    }

    /// The schema, as a capsule of an ``ArrowSchema``.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = export_schema(&self.schema)
            .map_err(|error| errors::interface(py, &format!("the Arrow schema cannot be exported: {error}")))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
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
