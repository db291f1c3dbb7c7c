//! Calls of cursors and connections in the usual case, without a frame of Python's.
//!
//! What [`shortcut`] returns stands in a class in the place of a method that is written in Python, and has all of its
//! attributes. When it is called, it finds out whether the case is the usual one, and does then what the method would
//! do; otherwise it calls the method, which is the description of every case. What it looks at is in slots of the
//! objects (`__slots__`), which are read where they are: that takes a few instructions, as in Python's specialised
//! bytecode.
//!
//! A profiler sees the calls of functions written in Python. While there is one, the methods are called.
//!
//! Without the global lock there are no shortcuts: a slot could be written by another thread while it is read.

#[cfg(Py_GIL_DISABLED)]
use pyo3::prelude::*;

#[cfg(not(Py_GIL_DISABLED))]
mod coroutine;
#[cfg(not(Py_GIL_DISABLED))]
mod descriptor;
#[cfg(not(Py_GIL_DISABLED))]
mod slots;
#[cfg(not(Py_GIL_DISABLED))]
mod usual;

#[cfg(not(Py_GIL_DISABLED))]
pub use {descriptor::shortcut, usual::use_shortcuts};

/// Returns the function itself: without the global lock there are no shortcuts.
#[cfg(Py_GIL_DISABLED)]
#[pyfunction]
#[pyo3(signature = (function, /))]
pub fn shortcut(function: Py<PyAny>) -> Py<PyAny> {
    function
}

/// Does nothing: without the global lock there are no shortcuts.
#[cfg(Py_GIL_DISABLED)]
#[pyfunction]
#[pyo3(signature = (cursor, connection, core, handed_over, nothing_told, /))]
pub fn use_shortcuts(
    cursor: &Bound<'_, PyAny>,
    connection: &Bound<'_, PyAny>,
    core: &Bound<'_, PyAny>,
    handed_over: &Bound<'_, PyAny>,
    nothing_told: &Bound<'_, PyAny>,
) {
    let _ = (cursor, connection, core, handed_over, nothing_told);
}
