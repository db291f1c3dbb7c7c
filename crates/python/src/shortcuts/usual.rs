//! What `execute`, `fetchall` and `fetchone` of a cursor do in the usual case.

mod cursors;
mod loops;
mod queries;

pub(super) use loops::{Begun, raise_left};

use super::coroutine::attached;
use super::slots::{Class, Place, get, place, set};
use crate::result::RequestResult;
use cursors::Plain;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple, PyType};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Where everything is that the shortcuts read and write.
pub(super) struct Places {
    pub(super) cursor: Class,
    pub(super) connection: Class,
    core: Class,
    // Those of a cursor.
    of_connection: Place,
    of_core: Place,
    row_factory: Place,
    closed: Place,
    pending: Place,
    kept: Place,
    more: Place,
    rows: Place,
    position: Place,
    make: Place,
    keeps_rows: Place,
    error: Place,
    arrow: Place,
    told: Place,
    // Those of a connection.
    its_core: Place,
    cursor_type: Place,
    // Those of a core.
    command_timeout: Place,
    pipelines: Place,
    noticed: Place,
    run: Place,
    timing: Place,
    tuples: Place,
    watch: Place,
    way: Place,
    wire: Place,
    plain: Plain,
    // Objects.
    left: Py<PyString>,
    ending: Py<PyString>,
    timeout: Py<PyString>,
    /// That alone: the names of the arguments of a call.
    pub(super) names: Py<PyTuple>,
    pub(super) throw: Py<PyString>,
    start: Py<PyString>,
    its_factory: Py<PyString>,
    its_execute: Py<PyString>,
    its_close: Py<PyString>,
    tuple_row: Py<PyAny>,
    handed_over: Py<PyAny>,
    nothing: Py<PyTuple>,
    nothing_told: Py<PyTuple>,
    zero: Py<PyAny>,
}

/// What a connection's short forms return of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// `fetch`: all rows.
    Rows,
    /// `fetchrow`: the first row, or None.
    Row,
    /// `fetchval`: the first value of the first row, or None.
    Value,
}

/// Of the classes of cursors, connections and their cores, once they are there.
pub(super) static PLACES: OnceLock<Places> = OnceLock::new();

impl Places {
    /// `execute(sql, params=None, *, timeout=None)` of a cursor, or of a connection; `None` where the case is not the usual one. NULL with
    /// an exception set if it fails.
    ///
    /// # Safety
    /// The arguments must be those of a vectorcall, and the interpreter attached.
    pub(super) unsafe fn execute(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: the arguments are live as long as the call. Slots are read of objects of the classes that have them.
        unsafe {
            let (py, none) = (Python::assume_attached(), ffi::Py_None());
            let timeout = self.timeout_of(args, count, names, none)?;
            if count != 2 && count != 3 {
                return None;
            }
            let given = [*args.add(1), if count == 3 { *args.add(2) } else { none }, timeout];
            if !self.cursor.has(*args) {
                return self.execute_with_new(*args, given);
            }
            let cursor = *args;
            let (connection, core) = self.usual(cursor)?;
            if get(core, self.tuples) != get(cursor, self.row_factory) {
                return None;
            }
            let used = [cursor, connection, core].map(|object| Bound::from_borrowed_ptr(py, object));
            if !self.has_left_nothing(&used[1]) {
                return None;
            }
            self.execute_on(used, given)
        }
    }

    /// Executes a statement, with its parameters and its timeout, on a cursor of a connection that has this core, and has
    /// left nothing.
    ///
    /// # Safety
    /// The objects must be of the classes that have the slots, what is `given` live as long as the call, and the
    /// interpreter attached.
    unsafe fn execute_on(
        &self,
        [cursor, connection, core]: [Bound<'_, PyAny>; 3],
        [sql, params, timeout]: [*mut PyObject; 3],
    ) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract; what is used after other code may have run is referred to from here.
        unsafe {
            let (py, none) = (cursor.py(), ffi::Py_None());
            let limit = if timeout == none { get(core.as_ptr(), self.command_timeout) } else { timeout };
            let limit = Bound::from_borrowed_ptr_or_opt(py, limit)?;
            let way = Bound::from_borrowed_ptr_or_opt(py, get(core.as_ptr(), self.way))?;
            let run = Bound::from_borrowed_ptr_or_opt(py, get(core.as_ptr(), self.run))?;
            self.clear(&cursor);
            let no = ffi::Py_False();
            let arguments = [sql, params, way.as_ptr(), no, no, limit.as_ptr()];
            let outcome = ffi::PyObject_Vectorcall(run.as_ptr(), arguments.as_ptr(), arguments.len(), null_mut());
            let taken = match Bound::from_owned_ptr_or_opt(py, outcome) {
                Some(outcome) => self.take(&cursor, &core, &outcome),
                None => Err(PyErr::fetch(py)),
            };
            Some(match taken {
                Ok(()) => cursor.into_ptr(),
                Err(error) => {
                    raised(&connection, (&core, Some(&cursor)), &limit, error);
                    null_mut()
                }
            })
        }
    }

    /// The argument `timeout`, or `absent`; `None` where another argument has a name.
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(super) unsafe fn timeout_of(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
        absent: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract.
        unsafe {
            match if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) } {
                0 => Some(absent),
                1 if ffi::PyTuple_GET_ITEM(names, 0) == self.timeout.as_ptr() => Some(*args.add(count)),
                _ => None,
            }
        }
    }

    /// The connection and the core of a cursor that may execute a statement as usual.
    ///
    /// # Safety
    /// `cursor` must be live, and the interpreter attached.
    unsafe fn usual(&self, cursor: *mut PyObject) -> Option<(*mut PyObject, *mut PyObject)> {
        // SAFETY: slots are read of objects of the classes that have them.
        unsafe {
            if !self.cursor.has(cursor) || get(cursor, self.closed) != ffi::Py_False() {
                return None;
            }
            let connection = get(cursor, self.of_connection);
            if get(cursor, self.pending) != ffi::Py_None() || !self.connection.has(connection) {
                return None;
            }
            Some((connection, self.usual_core(connection)?))
        }
    }

    /// The core of a connection that may execute a statement as usual.
    ///
    /// # Safety
    /// `connection` must be of the class of connections, and the interpreter attached.
    unsafe fn usual_core(&self, connection: *mut PyObject) -> Option<*mut PyObject> {
        // SAFETY: slots are read of objects of the classes that have them.
        unsafe {
            let core = get(connection, self.its_core);
            let is_usual = self.core.has(core)
                && !get(core, self.pipelines).is_null()
                && get(core, self.timing) == ffi::Py_False()
                && ffi::PyDict_Size(get(core, self.pipelines)) == 0;
            is_usual.then_some(core)
        }
    }

    /// Returns true if a blocking connection has left nothing that the next statement is to wait for.
    fn has_left_nothing(&self, connection: &Bound<'_, PyAny>) -> bool {
        let py = connection.py();
        [&self.left, &self.ending]
            .into_iter()
            .all(|name| connection.getattr(name.bind(py)).is_ok_and(|left| left.is_none()))
    }

    /// Puts a result in a cursor whose rows stay as they are.
    ///
    /// # Safety
    /// `cursor` must be of the class of cursors.
    unsafe fn put(&self, cursor: *mut PyObject, outcome: &Bound<'_, PyAny>, result: &RequestResult) {
        // SAFETY: by this function's own contract; the objects are live.
        unsafe {
            set(cursor, self.kept, outcome.as_ptr());
            set(cursor, self.rows, result.rows.as_ptr());
            set(cursor, self.make, ffi::Py_None());
        }
    }

    /// Forgets the last result of a cursor.
    ///
    /// # Safety
    /// `cursor` must be of the class of cursors.
    unsafe fn clear(&self, cursor: &Bound<'_, PyAny>) {
        // SAFETY: by this function's own contract.
        unsafe {
            let (cursor, none) = (cursor.as_ptr(), ffi::Py_None());
            set(cursor, self.keeps_rows, ffi::Py_True());
            set(cursor, self.kept, none);
            set(cursor, self.rows, none);
            set(cursor, self.arrow, none);
            set(cursor, self.error, none);
            set(cursor, self.more, self.nothing.as_ptr());
            set(cursor, self.position, self.zero.as_ptr());
        }
    }

    /// Takes what the engine has returned for a cursor whose rows stay as they are.
    ///
    /// # Errors
    /// What a handler of notices raises.
    ///
    /// # Safety
    /// `cursor` must be of the class of cursors.
    unsafe fn take(
        &self,
        cursor: &Bound<'_, PyAny>,
        core: &Bound<'_, PyAny>,
        outcome: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = cursor.py();
        let Ok(result) = outcome.cast_exact::<RequestResult>() else {
            let told = core.call_method1(intern!(py, "without_notices"), (outcome,))?;
            cursor.call_method1(intern!(py, "_take"), (told,))?;
            return Ok(());
        };
        // SAFETY: by this function's own contract.
        unsafe { self.put(cursor.as_ptr(), outcome, result.get()) };
        Ok(())
    }

    /// The rows of a cursor whose result is there, and whose rows stay as they are; `None` for any other.
    ///
    /// # Safety
    /// As for [`Places::execute`].
    unsafe fn rows(&self, args: *const *mut PyObject, count: usize, names: *mut PyObject) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`; nothing here runs other code.
        unsafe {
            let none = ffi::Py_None();
            if count != 1 || !names.is_null() || !self.cursor.has(*args) {
                return None;
            }
            let (cursor, core) = (*args, get(*args, self.of_core));
            let rows = get(cursor, self.rows);
            let is_usual = get(cursor, self.pending) == none
                && get(cursor, self.make) == none
                && self.core.has(core)
                && get(core, self.timing) == ffi::Py_False()
                && !rows.is_null()
                && ffi::PyList_CheckExact(rows) != 0;
            is_usual.then_some(rows)
        }
    }

    /// `fetchall()` of a cursor, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(super) unsafe fn fetchall(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `rows`. The list is referred to from here before its slot is written to.
        unsafe {
            let rows = self.rows(args, count, names)?;
            let cursor = *args;
            if get(cursor, self.position) != self.zero.as_ptr() {
                return None;
            }
            ffi::Py_INCREF(rows);
            let (rest, position) = match ffi::PyList_GET_SIZE(rows) {
                0 => (ffi::PyList_New(0), None),
                len => (ffi::Py_NewRef(self.handed_over.as_ptr()), Some(ffi::PyLong_FromSsize_t(len))),
            };
            if rest.is_null() || position.is_some_and(|position| position.is_null()) {
                ffi::Py_DECREF(rows);
                ffi::Py_XDECREF(rest);
                return Some(null_mut());
            }
            set(cursor, self.rows, rest);
            ffi::Py_DECREF(rest);
            if let Some(position) = position {
                set(cursor, self.position, position);
                ffi::Py_DECREF(position);
            }
            Some(rows)
        }
    }

    /// `fetchone()` of a cursor that has a next row, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(super) unsafe fn fetchone(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `rows`. The row is referred to from here before the cursor is written to.
        unsafe {
            let rows = self.rows(args, count, names)?;
            let cursor = *args;
            let position = get(cursor, self.position);
            if position.is_null() || ffi::PyLong_CheckExact(position) == 0 {
                return None;
            }
            let at = ffi::PyLong_AsSsize_t(position);
            if at < 0 {
                ffi::PyErr_Clear();
                return None;
            }
            if at >= ffi::PyList_GET_SIZE(rows) {
                return None;
            }
            let row = ffi::Py_NewRef(ffi::PyList_GET_ITEM(rows, at));
            let next = ffi::PyLong_FromSsize_t(at + 1);
            if next.is_null() {
                ffi::Py_DECREF(row);
                return Some(null_mut());
            }
            set(cursor, self.position, next);
            ffi::Py_DECREF(next);
            Some(row)
        }
    }
}

/// Sets the exception with which a statement's call ends, after nothing is left of the statement: what `_raise` of the
/// connection raises. An interrupt may come before its first step, so that it is called again then.
#[cold]
fn raised(
    connection: &Bound<'_, PyAny>,
    of: (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
    limit: &Bound<'_, PyAny>,
    error: PyErr,
) {
    let mut error = Some(error);
    let end = |py: Python<'_>| {
        let Some(mut error) = error.take() else { return };
        for _ in 0..2 {
            let value = error.value(py).clone();
            let Err(raised) = connection.call_method1(intern!(py, "_raise"), (of.0, of.1, &value, limit)) else {
                break;
            };
            let is_same = raised.value(py).is(&value);
            error = raised;
            if is_same {
                break;
            }
        }
        error.restore(py);
    };
    // SAFETY: there are objects.
    unsafe { attached(end) };
}

/// Python's bool, borrowed.
fn truth(is_true: bool) -> *mut PyObject {
    // SAFETY: both live for ever.
    unsafe { if is_true { ffi::Py_True() } else { ffi::Py_False() } }
}

/// From now on shortcuts are taken: these are the classes of cursors, connections and their cores, which have the
/// slots, what stands for rows that were handed over, and what a cursor says of its last statement where there was none.
///
/// # Errors
/// TypeError if a class does not have a slot.
#[pyfunction]
#[pyo3(signature = (cursor, connection, core, handed_over, nothing_told, /))]
pub fn use_shortcuts(
    cursor: &Bound<'_, PyType>,
    connection: &Bound<'_, PyType>,
    core: &Bound<'_, PyType>,
    handed_over: &Bound<'_, PyList>,
    nothing_told: &Bound<'_, PyTuple>,
) -> PyResult<()> {
    let py = cursor.py();
    let places = Places {
        of_connection: place(cursor, "_connection")?,
        of_core: place(cursor, "_core")?,
        row_factory: place(cursor, "_row_factory")?,
        closed: place(cursor, "_closed")?,
        pending: place(cursor, "_pending")?,
        kept: place(cursor, "_result")?,
        more: place(cursor, "_more")?,
        rows: place(cursor, "_rows")?,
        position: place(cursor, "_position")?,
        make: place(cursor, "_make")?,
        keeps_rows: place(cursor, "_keeps_rows")?,
        error: place(cursor, "_error")?,
        arrow: place(cursor, "_arrow")?,
        told: place(cursor, "_told")?,
        its_core: place(connection, "_core")?,
        cursor_type: place(connection, "_cursor_type")?,
        command_timeout: place(core, "command_timeout")?,
        pipelines: place(core, "pipelines")?,
        noticed: place(core, "noticed")?,
        run: place(core, "run")?,
        timing: place(core, "timing")?,
        tuples: place(core, "tuples")?,
        watch: place(core, "watch")?,
        way: place(core, "way")?,
        wire: place(core, "wire")?,
        plain: Plain::of(cursor)?,
        left: PyString::intern(py, "_left").unbind(),
        ending: PyString::intern(py, "_ending").unbind(),
        timeout: PyString::intern(py, "timeout").unbind(),
        names: PyTuple::new(py, [PyString::intern(py, "timeout")])?.unbind(),
        throw: PyString::intern(py, "throw").unbind(),
        start: PyString::intern(py, "start").unbind(),
        its_factory: PyString::intern(py, "row_factory").unbind(),
        its_execute: PyString::intern(py, "execute").unbind(),
        its_close: PyString::intern(py, "close").unbind(),
        tuple_row: py.import("headrace.rows")?.getattr("tuple_row")?.unbind(),
        handed_over: handed_over.clone().into_any().unbind(),
        nothing: PyTuple::empty(py).unbind(),
        nothing_told: nothing_told.clone().unbind(),
        zero: PyInt::new(py, 0).into_any().unbind(),
        cursor: Class(cursor.clone().unbind()),
        connection: Class(connection.clone().unbind()),
        core: Class(core.clone().unbind()),
    };
    let _ = PLACES.set(places);
    Ok(())
}
