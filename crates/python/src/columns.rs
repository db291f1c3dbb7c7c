//! The columns of a result, for Python's `description`.

use crate::engine::Dialect;
use crate::errors;
use headrace_core::{Column, Described};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A protocol's plan for the columns of a result.
pub trait Plan: Described + Any + Debug + Send + Sync {}

impl<P: Described + Any + Debug + Send + Sync> Plan for P {}

/// The columns of a result.
#[pyclass(frozen, module = "headrace._native")]
pub struct Columns {
    plan: Arc<dyn Plan>,
    /// [`Dialect::field`]
    field: for<'py> fn(Python<'py>, &Column) -> PyResult<Bound<'py, PyTuple>>,
    names: PyOnceLock<Py<PyTuple>>,
}

impl Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Columns").field(&self.plan).finish()
    }
}

impl Columns {
    /// For Python.
    pub fn new<D: Dialect>(plan: Arc<D::Columns>) -> Self {
        Self { plan, field: D::field, names: PyOnceLock::new() }
    }

    /// Returns true if they are of this plan: of the very same, not of an equal one.
    pub fn is_of<C: Plan>(&self, plan: &Arc<C>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.plan), Arc::as_ptr(plan))
    }

    /// The protocol's own plan.
    ///
    /// # Errors
    /// ProgrammingError if they are of another database's result.
    pub fn of<C: Plan>(&self, py: Python<'_>) -> PyResult<Arc<C>> {
        let plan: Arc<dyn Any + Send + Sync> = self.plan.clone();
        plan.downcast().map_err(|_| foreign(py))
    }
}

/// ProgrammingError: columns of another database.
pub fn foreign(py: Python<'_>) -> PyErr {
    errors::programming(py, "the columns are of a result of another kind of database")
}

#[pymethods]
impl Columns {
    /// The names, in order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = || -> PyResult<_> {
            let names: Vec<&str> = self.plan.columns().iter().map(|column| &*column.name).collect();
            Ok(PyTuple::new(py, names)?.unbind())
        };
        let names = self.names.get_or_try_init(py, made)?;
        Ok(names.bind(py).clone())
    }

    /// One tuple per column, as [`Dialect::field`] of its database has it.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let fields: PyResult<Vec<_>> = self.plan.columns().iter().map(|column| (self.field)(py, column)).collect();
        PyList::new(py, fields?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }
}
