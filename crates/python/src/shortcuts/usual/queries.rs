//! What `fetch`, `fetchrow` and `fetchval` of a connection do in the usual case.

use super::{Places, Wanted, raised, truth};
use crate::shortcuts::slots::get;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::ptr::null_mut;

impl Places {
    /// `fetch(sql, *args, timeout=None)` of a blocking connection, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn fetch(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract.
        unsafe { self.query(Wanted::Rows, args, count, names) }
    }

    /// `fetchrow(sql, *args, timeout=None)` of a blocking connection, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn fetchrow(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract.
        unsafe { self.query(Wanted::Row, args, count, names) }
    }

    /// `fetchval(sql, *args, timeout=None)` of a blocking connection, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn fetchval(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract.
        unsafe { self.query(Wanted::Value, args, count, names) }
    }

    /// The tuple of a query's parameters, which are the arguments from the third on; NULL with an exception set.
    ///
    /// # Safety
    /// As for [`Places::execute`]; there must be three arguments or more.
    pub(in crate::shortcuts) unsafe fn rest(&self, args: *const *mut PyObject, count: usize) -> *mut PyObject {
        // SAFETY: the tuple is new, and gets as many references as it has places.
        unsafe {
            let tuple = ffi::PyTuple_New((count - 2) as ffi::Py_ssize_t);
            if !tuple.is_null() {
                for at in 2..count {
                    ffi::PyTuple_SET_ITEM(tuple, (at - 2) as ffi::Py_ssize_t, ffi::Py_NewRef(*args.add(at)));
                }
            }
            tuple
        }
    }

    /// A query of a blocking connection, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    unsafe fn query(
        &self,
        wanted: Wanted,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe {
            let (py, none) = (Python::assume_attached(), ffi::Py_None());
            let timeout = self.timeout_of(args, count, names, none)?;
            if count < 2 || !self.connection.has(*args) {
                return None;
            }
            let core = Bound::from_borrowed_ptr(py, self.usual_core(*args)?);
            let connection = Bound::from_borrowed_ptr(py, *args);
            if !self.has_left_nothing(&connection) {
                return None;
            }
            let limit = if timeout == none { get(core.as_ptr(), self.command_timeout) } else { timeout };
            let limit = Bound::from_borrowed_ptr_or_opt(py, limit)?;
            let way = Bound::from_borrowed_ptr_or_opt(py, get(core.as_ptr(), self.way))?;
            let run = Bound::from_borrowed_ptr_or_opt(py, get(core.as_ptr(), self.run))?;
            let factory = self.factory(&connection, wanted)?;
            let is_bare = factory.as_ptr() == get(core.as_ptr(), self.tuples);
            let params = if count > 2 { self.rest(args, count) } else { ffi::Py_NewRef(none) };
            let Some(params) = Bound::from_owned_ptr_or_opt(py, params) else { return Some(null_mut()) };
            let (first, bare) = (truth(wanted != Wanted::Rows), truth(is_bare));
            let arguments = [*args.add(1), params.as_ptr(), way.as_ptr(), first, bare, limit.as_ptr()];
            let outcome = ffi::PyObject_Vectorcall(run.as_ptr(), arguments.as_ptr(), arguments.len(), null_mut());
            let outcome = match Bound::from_owned_ptr_or_opt(py, outcome) {
                Some(rows) if is_bare && ffi::PyList_CheckExact(rows.as_ptr()) != 0 => Ok(rows),
                Some(outcome) => core.call_method1(intern!(py, "without_notices"), (outcome,)),
                None => Err(PyErr::fetch(py)),
            };
            Some(match outcome {
                Ok(outcome) => self.chosen((&connection, &core), &factory, is_bare, wanted, &outcome),
                Err(error) => {
                    raised(&connection, (&core, None), &limit, error);
                    null_mut()
                }
            })
        }
    }

    /// The row factory of a query; `None` where the connection has none.
    pub(super) fn factory<'py>(&self, connection: &Bound<'py, PyAny>, wanted: Wanted) -> Option<Bound<'py, PyAny>> {
        let py = connection.py();
        match wanted {
            Wanted::Value => Some(self.tuple_row.bind(py).clone()),
            Wanted::Rows | Wanted::Row => connection.getattr(self.its_factory.bind(py)).ok(),
        }
    }

    /// What is wanted of the outcome of a query; NULL with an exception set.
    pub(super) fn chosen(
        &self,
        (connection, core): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        factory: &Bound<'_, PyAny>,
        is_bare: bool,
        wanted: Wanted,
        outcome: &Bound<'_, PyAny>,
    ) -> *mut PyObject {
        let py = connection.py();
        let chosen = || -> PyResult<Bound<'_, PyAny>> {
            let rows = match is_bare && outcome.is_exact_instance_of::<PyList>() {
                true => outcome.clone(),
                false => connection.call_method1(intern!(py, "_made_rows"), (core, factory, outcome))?,
            };
            let row = match (wanted, rows.len()?) {
                (Wanted::Rows, _) => return Ok(rows),
                (Wanted::Row | Wanted::Value, 0) => return Ok(py.None().into_bound(py)),
                (Wanted::Row | Wanted::Value, _) => match rows.cast_exact::<PyList>() {
                    Ok(rows) => rows.get_item(0)?,
                    Err(_) => rows.get_item(0)?,
                },
            };
            match (wanted, row.cast_exact::<PyTuple>()) {
                (Wanted::Value, Ok(row)) => row.get_item(0),
                (Wanted::Value, Err(_)) => row.get_item(0),
                _ => Ok(row),
            }
        };
        chosen().map_or_else(
            |error| {
                error.restore(py);
                null_mut()
            },
            Bound::into_ptr,
        )
    }
}
