//! What the coroutines of a loop's cursors and connections do in the usual case: they submit a statement, and take what
//! its future returns.

use super::cursors::Shell;
use super::{Places, Wanted, truth};
use crate::result::RequestResult;
use crate::shortcuts::coroutine::{Objects, attached};
use crate::shortcuts::slots::get;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use std::ffi::c_int;
use std::ptr::null_mut;

/// What a statement on a loop has come to.
pub(in crate::shortcuts) enum Begun {
    /// Its result is there.
    Returned(*mut PyObject),
    /// It was submitted: there is a future, and what waits for it.
    Submitted,
    /// Another coroutine was made, which does it.
    Called,
    /// It has failed, with the exception that is set: see [`raise_left`].
    Failed,
    /// Another exception is set.
    Raised,
}

impl Begun {
    /// What a call has returned.
    pub(in crate::shortcuts) fn of(object: *mut PyObject) -> Self {
        if object.is_null() { Self::Raised } else { Self::Returned(object) }
    }
}

impl Places {
    /// A cursor of a connection, with its row factory; `None` with an exception set.
    ///
    /// # Safety
    /// `connection` must be of the class of connections, and the interpreter attached.
    unsafe fn new_cursor<'py>(&self, connection: *mut PyObject) -> Option<Bound<'py, PyAny>> {
        // SAFETY: by this function's own contract; calls return a new reference, or NULL with an exception set.
        unsafe {
            let py = Python::assume_attached();
            let factory = ffi::PyObject_GetAttr(connection, self.its_factory.as_ptr());
            let factory = Bound::from_owned_ptr_or_opt(py, factory)?;
            let Some(make) = Bound::from_borrowed_ptr_or_opt(py, get(connection, self.cursor_type)) else {
                ffi::PyErr_SetString(ffi::PyExc_AttributeError, c"_cursor_type".as_ptr());
                return None;
            };
            let arguments = [connection, factory.as_ptr()];
            let made = ffi::PyObject_Vectorcall(make.as_ptr(), arguments.as_ptr(), arguments.len(), null_mut());
            Bound::from_owned_ptr_or_opt(py, made)
        }
    }

    /// Submits the statement of `execute(sql, params=None, *, timeout=None)` of a loop's cursor; `None` where the case is
    /// not the usual one.
    ///
    /// # Safety
    /// `of` must be that of a coroutine which is one of `execute`, and the interpreter attached.
    pub(in crate::shortcuts) unsafe fn begin_execute(&self, of: &mut Objects) -> Option<Begun> {
        // SAFETY: the coroutine owns its objects for as long as it runs, also what is put there: first of all the
        // connection and its core, so that nothing that runs meanwhile can free them.
        unsafe {
            let (connection, core) = self.usual(of.object)?;
            of.connection = ffi::Py_NewRef(connection);
            of.core = ffi::Py_NewRef(core);
            self.clear(&Bound::from_borrowed_ptr(Python::assume_attached(), of.object));
            Some(self.submit(of, false, false))
        }
    }

    /// Makes the cursor of `execute` of a loop's connection, whose place the cursor takes, and submits its statement; `None`
    /// where the case is not the usual one.
    ///
    /// # Safety
    /// As for [`Places::begin_execute`], but for the object, which is a connection.
    pub(in crate::shortcuts) unsafe fn begin_with_new(&self, of: &mut Objects) -> Option<Begun> {
        // SAFETY: as in `begin_execute`; the connection is let go in one place after it was referred to in another.
        unsafe {
            let py = Python::assume_attached();
            let used = [of.object, self.usual_core(of.object)?].map(|object| Bound::from_borrowed_ptr(py, object));
            let factory = used[0].getattr(self.its_factory.bind(py)).ok()?;
            let made = self.made(&used[0], &used[1], &factory, Shell::Loop)?;
            let [connection, core] = used;
            let Some(cursor) = made else { return Some(Begun::Raised) };
            of.connection = connection.into_ptr();
            of.core = core.into_ptr();
            let before = std::mem::replace(&mut of.object, cursor.into_ptr());
            ffi::Py_DECREF(before);
            Some(self.submit(of, false, false))
        }
    }

    /// Makes the cursor of `execute` of a loop's connection, and calls its own `execute`.
    ///
    /// # Safety
    /// `of` must be that of a coroutine which is one of that, and the interpreter attached.
    pub(in crate::shortcuts) unsafe fn begin_new(&self, of: &mut Objects) -> Begun {
        // SAFETY: as in `begin_execute`.
        unsafe {
            let Some(cursor) = self.new_cursor(of.object) else { return Begun::Raised };
            let arguments = [cursor.as_ptr(), of.sql, or_none(of.params), or_none(of.timeout)];
            let (name, names) = (self.its_execute.as_ptr(), self.names.as_ptr());
            await_call(of, ffi::PyObject_VectorcallMethod(name, arguments.as_ptr(), 3, names))
        }
    }

    /// Calls `close` of a loop's cursor, whatever that is, for its `__aexit__`.
    ///
    /// # Safety
    /// As for [`Places::begin_execute`].
    pub(in crate::shortcuts) unsafe fn begin_exit(&self, of: &mut Objects) -> Begun {
        // SAFETY: as in `begin_execute`.
        unsafe {
            let called = ffi::PyObject_VectorcallMethod(self.its_close.as_ptr(), &raw const of.object, 1, null_mut());
            await_call(of, called)
        }
    }

    /// Submits the query of a loop's connection; `None` where the case is not the usual one.
    ///
    /// # Safety
    /// As for [`Places::begin_execute`].
    pub(in crate::shortcuts) unsafe fn begin_query(&self, of: &mut Objects, wanted: Wanted) -> Option<Begun> {
        // SAFETY: as in `begin_execute`.
        unsafe {
            let core = self.usual_core(of.object)?;
            let connection = Bound::from_borrowed_ptr(Python::assume_attached(), of.object);
            of.connection = ffi::Py_NewRef(of.object);
            of.core = ffi::Py_NewRef(core);
            of.factory = self.factory(&connection, wanted)?.into_ptr();
            of.is_bare = of.factory == get(core, self.tuples);
            Some(self.submit(of, wanted != Wanted::Rows, of.is_bare))
        }
    }

    /// What is wanted of the outcome of a query, which is owned.
    ///
    /// # Safety
    /// As for [`Places::begin_query`], which has submitted the query.
    pub(in crate::shortcuts) unsafe fn end_query(&self, of: &Objects, wanted: Wanted, outcome: *mut PyObject) -> Begun {
        // SAFETY: as in `begin_execute`.
        unsafe {
            let py = Python::assume_attached();
            let outcome = Bound::from_owned_ptr(py, outcome);
            if let Err(error) = self.tell_notices(of) {
                error.restore(py);
                return Begun::Failed;
            }
            let used = [of.connection, of.core, of.factory];
            let [connection, core, factory] = used.map(|object| Bound::from_borrowed_ptr(py, object));
            Begun::of(self.chosen((&connection, &core), &factory, of.is_bare, wanted, &outcome))
        }
    }

    /// Submits a statement of a loop.
    ///
    /// # Safety
    /// As for [`Places::begin_execute`]; `of` must have the connection and its core.
    unsafe fn submit(&self, of: &mut Objects, is_first: bool, is_bare: bool) -> Begun {
        // SAFETY: as in `begin_execute`; what is called is referred to from here.
        unsafe {
            let (py, none) = (Python::assume_attached(), ffi::Py_None());
            let limit = match or_none(of.timeout) {
                given if given != none => given,
                _ => get(of.core, self.command_timeout),
            };
            let used = [limit, get(of.core, self.way), get(of.core, self.run), get(of.core, self.watch)];
            let [limit, way, run, watch] = used.map(|object| Bound::from_borrowed_ptr(py, or_none(object)));
            let (first, bare) = (truth(is_first), truth(is_bare));
            let arguments = [of.sql, or_none(of.params), way.as_ptr(), first, bare, limit.as_ptr()];
            of.future = ffi::PyObject_Vectorcall(run.as_ptr(), arguments.as_ptr(), arguments.len(), null_mut());
            if of.future.is_null() {
                return Begun::Failed;
            }
            if !watch.is_none()
                && let Err(error) = watch.call_method0(self.start.bind(py))
            {
                error.restore(py);
                return Begun::Failed;
            }
            of.inner = awaited(of.future);
            if of.inner.is_null() { Begun::Failed } else { Begun::Submitted }
        }
    }

    /// Passes notices that have come to the handlers.
    ///
    /// # Errors
    /// What a handler raises.
    ///
    /// # Safety
    /// As for [`Places::submit`].
    unsafe fn tell_notices(&self, of: &Objects) -> PyResult<()> {
        // SAFETY: the core is of the class that has the slot.
        unsafe {
            let noticed = get(of.core, self.noticed);
            if !noticed.is_null() && ffi::PyList_CheckExact(noticed) != 0 && ffi::PyList_GET_SIZE(noticed) == 0 {
                return Ok(());
            }
            let core = Bound::from_borrowed_ptr(Python::assume_attached(), of.core);
            core.call_method0(intern!(core.py(), "notices")).map(drop)
        }
    }

    /// Takes what the future of a statement has returned, which is owned; the result is the cursor, or a failure.
    ///
    /// # Safety
    /// As for [`Places::begin_execute`], which has submitted the statement.
    pub(in crate::shortcuts) unsafe fn end_execute(&self, of: &Objects, outcome: *mut PyObject) -> Begun {
        // SAFETY: as in `begin_execute`; the core and the cursor are of their classes.
        unsafe {
            let py = Python::assume_attached();
            let outcome = Bound::from_owned_ptr(py, outcome);
            let cursor = Bound::from_borrowed_ptr(py, of.object);
            let taken = || -> PyResult<()> {
                self.tell_notices(of)?;
                let Ok(result) = outcome.cast_exact::<RequestResult>() else {
                    cursor.call_method1(intern!(py, "_take"), (&outcome,))?;
                    return Ok(());
                };
                if get(of.core, self.tuples) != get(of.object, self.row_factory) {
                    cursor.call_method1(intern!(py, "_set"), (&outcome,))?;
                    return Ok(());
                }
                self.put(of.object, &outcome, result.get());
                Ok(())
            };
            match taken() {
                Ok(()) => Begun::Returned(cursor.into_ptr()),
                Err(error) => {
                    error.restore(py);
                    Begun::Failed
                }
            }
        }
    }
}

/// The object, or None where there is none; borrowed.
fn or_none(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: it lives for ever.
    if object.is_null() { unsafe { ffi::Py_None() } } else { object }
}

/// Awaits what a call has returned, which is owned; NULL is an exception that is set.
///
/// # Safety
/// `of` must be that of a coroutine that has begun, and the interpreter attached.
unsafe fn await_call(of: &mut Objects, called: *mut PyObject) -> Begun {
    // SAFETY: by this function's own contract.
    unsafe {
        if called.is_null() {
            return Begun::Raised;
        }
        of.inner = if ffi::PyCoro_CheckExact(called) != 0 || is_coroutine(called) {
            called
        } else {
            let inner = awaited(called);
            ffi::Py_DECREF(called);
            inner
        };
        if of.inner.is_null() { Begun::Raised } else { Begun::Called }
    }
}

/// Returns true for a generator that may be awaited, as a function with `types.coroutine` returns.
///
/// # Safety
/// `called` must be live, and the interpreter attached.
unsafe fn is_coroutine(called: *mut PyObject) -> bool {
    // SAFETY: by this function's own contract.
    unsafe {
        let py = Python::assume_attached();
        let flags = || -> PyResult<c_int> {
            let code = Bound::from_borrowed_ptr(py, called).getattr(intern!(py, "gi_code"))?;
            code.getattr(intern!(py, "co_flags"))?.extract()
        };
        ffi::PyGen_CheckExact(called) != 0 && flags().is_ok_and(|flags| flags & ffi::CO_ITERABLE_COROUTINE != 0)
    }
}

/// What awaits a future; NULL with an exception set.
///
/// # Safety
/// `future` must be live, and the interpreter attached.
unsafe fn awaited(future: *mut PyObject) -> *mut PyObject {
    // SAFETY: by this function's own contract; a slot of its class takes the object.
    unsafe {
        let methods = (*ffi::Py_TYPE(future)).tp_as_async;
        match methods.as_ref().and_then(|methods| methods.am_await) {
            Some(slot) => slot(future),
            None => {
                ffi::PyErr_SetString(ffi::PyExc_TypeError, c"a future cannot be awaited".as_ptr());
                null_mut()
            }
        }
    }
}

/// Sets the exception with which the coroutine of a statement ends, after nothing is left of the statement: what `_raise`
/// of a loop's connection raises for the one that is set.
///
/// # Safety
/// `of` must be that of a coroutine whose statement was begun, and the interpreter attached.
pub(in crate::shortcuts) unsafe fn raise_left(of: &Objects, is_of_cursor: bool) {
    // SAFETY: the coroutine owns its objects for as long as it runs.
    unsafe {
        attached(|py| {
            let error = PyErr::fetch(py).into_value(py);
            let object = |object: *mut PyObject| Bound::from_borrowed_ptr_or_opt(py, object);
            let cursor = object(of.object).filter(|_| is_of_cursor);
            let arguments = (object(of.core), cursor, object(of.future), error, object(of.timeout));
            let connection = Bound::from_borrowed_ptr(py, of.connection);
            match connection.call_method1(intern!(py, "_raise"), arguments) {
                Ok(_) => ffi::PyErr_SetString(ffi::PyExc_SystemError, c"an error was not raised".as_ptr()),
                Err(raised) => raised.restore(py),
            }
        });
    }
}
