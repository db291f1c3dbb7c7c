//! Rows whose values are found by the names of their columns, too: a subclass of tuple with a function in C's terms,
//! because an index in a subclass of Python's own would cost several times a tuple's.

use crate::ffi;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyType};

fn base(py: Python<'_>) -> PyResult<&Py<PyType>> {
    static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    BASE.get_or_try_init(py, || ffi::record_base(py).map(Bound::unbind))
}

/// The base class: `row["name"]` looks the number up in the dict `_index` of the row's class. Everything else is
/// tuple's.
///
/// # Errors
/// MemoryError.
#[pyfunction]
pub fn record_base(py: Python<'_>) -> PyResult<Py<PyType>> {
    base(py).map(|base| base.clone_ref(py))
}

/// Makes the tuples of a list rows of `class`, which is a subclass of [`record_base`] without attributes of its own.
///
/// # Errors
/// TypeError for another class.
#[pyfunction]
#[pyo3(signature = (rows, class, /))]
pub fn as_records(rows: &Bound<'_, PyList>, class: &Bound<'_, PyType>) -> PyResult<()> {
    if !class.is_subclass(base(rows.py())?.bind(rows.py()))? || !ffi::is_laid_out_as_tuple(class) {
        return Err(PyTypeError::new_err("the class is no subclass of a record without attributes of its own"));
    }
    ffi::as_records(rows, class)
}
