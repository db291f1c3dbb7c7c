//! The columns of a result, for Python's `description`.

use crate::errors;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What a database says of the columns of a result.
pub trait Described: Any + Debug + Send + Sync {
    /// Their names, in order.
    fn names(&self) -> Vec<&str>;
    /// One tuple per column, of what this database says of one, its name first.
    ///
    /// # Errors
    /// What Python raises.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>>;
}

/// The columns of a result.
#[pyclass(frozen, module = "headrace._native")]
pub struct Columns {
    columns: Arc<dyn Described>,
    names: PyOnceLock<Py<PyTuple>>,
}

impl Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Columns").field(&self.columns).finish()
    }
}

impl Columns {
    /// For Python.
    pub fn new(columns: Arc<dyn Described>) -> Self {
        Self { columns, names: PyOnceLock::new() }
    }

    /// The engine's own view.
    ///
    /// # Errors
    /// ProgrammingError where they are of another database's result.
    pub fn of<C: Described>(&self, py: Python<'_>) -> PyResult<Arc<C>> {
        let columns: Arc<dyn Any + Send + Sync> = self.columns.clone();
        columns.downcast().map_err(|_| errors::programming(py, "the columns are those of another database's result"))
    }
}

#[pymethods]
impl Columns {
    /// The names, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names = self.names.get_or_try_init(py, || PyTuple::new(py, self.columns.names()).map(Bound::unbind))?;
        Ok(names.bind(py).clone())
    }

    /// One tuple per column, as [`Described::fields`] of its database has it.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.columns.fields(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }
}
