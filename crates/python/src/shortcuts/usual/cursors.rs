//! Cursors that are made without `__init__`, and closed: what a connection's `execute` and `cursor` do in the usual case,
//! and a `with` statement for a cursor.
//!
//! It is the usual case where the class of the connection's cursors does nothing of this otherwise: [`Plain`]. Cursors
//! of a class that does are made and closed by its methods.

use super::Places;
use crate::result::RequestResult;
use crate::shortcuts::descriptor::is_shortcut;
use crate::shortcuts::slots::{begin, get, set, version};
use crate::wire::Wire;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ptr::{fn_addr_eq, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The shell of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shortcuts) enum Shell {
    Blocking,
    Loop,
}

/// The methods of cursors that are written in Python, and are not called where a cursor is made or closed here.
const METHODS: [&str; 3] = ["__init__", "_free", "_keep_counts"];

/// Tells a class of cursors whose methods are those that this module stands for.
pub(super) struct Plain {
    methods: [Py<PyAny>; METHODS.len()],
    /// A class for which that was found out, by [`Shell`]. It is kept: while it lives its number is no other's.
    known: [Known; 2],
    /// The last one whose methods are others. Nothing is lost where it is gone and another one is taken for it.
    other: [Known; 2],
}

/// A class and the number of the state ([`version`]) in which it was seen, read and written with the global lock.
#[derive(Default)]
struct Known {
    class: AtomicPtr<PyObject>,
    number: AtomicU32,
}

impl Known {
    #[inline]
    fn is(&self, class: *mut PyObject, number: u32) -> bool {
        number != 0 && number == self.number.load(Ordering::Relaxed) && class == self.class.load(Ordering::Relaxed)
    }

    /// Returns what it was before.
    fn put(&self, class: *mut PyObject, number: u32) -> *mut PyObject {
        self.number.store(number, Ordering::Relaxed);
        self.class.swap(class, Ordering::Relaxed)
    }
}

impl Plain {
    /// Of the class that has the methods.
    ///
    /// # Errors
    /// AttributeError if it does not have them.
    pub(super) fn of(cursor: &Bound<'_, PyType>) -> PyResult<Self> {
        let [first, second, third] = METHODS.map(|name| cursor.getattr(name).map(Bound::unbind));
        Ok(Self { methods: [first?, second?, third?], known: Default::default(), other: Default::default() })
    }

    /// Returns true if the methods of a class are those.
    fn are_of(&self, class: &Bound<'_, PyType>, shell: Shell) -> bool {
        let py = class.py();
        let is = |name: &str, is: &dyn Fn(&Bound<'_, PyAny>) -> bool| class.getattr(name).is_ok_and(|found| is(&found));
        METHODS.into_iter().zip(&self.methods).all(|(name, method)| is(name, &|found| found.is(method.bind(py))))
            && is("execute", &|found| is_shortcut(found, "execute", shell == Shell::Loop))
    }
}

impl Places {
    /// Returns true if the cursors of a class are made and closed as this module does it.
    ///
    /// # Safety
    /// The interpreter must be attached.
    unsafe fn is_plain(&self, of: &Bound<'_, PyAny>, shell: Shell) -> bool {
        // SAFETY: by this function's own contract; that it is a class is found out first. `known` owns its class.
        unsafe {
            let class = of.as_ptr();
            if ffi::Py_TYPE(class) != &raw mut ffi::PyType_Type {
                return false;
            }
            let [known, other] = [&self.plain.known, &self.plain.other].map(|both| &both[shell as usize]);
            let version = || version(class.cast()).map_or(0, u32::from);
            let number = version();
            if known.is(class, number) {
                return true;
            }
            if other.is(class, number) {
                return false;
            }
            let is_plain = self.is_made_as_any(class.cast())
                && of.cast::<PyType>().is_ok_and(|class| self.plain.are_of(class, shell));
            // Looking its methods up gives it a number, and may run code that changes it.
            if number != 0 && number == version() {
                if is_plain {
                    let before = known.put(ffi::Py_NewRef(class), number);
                    ffi::Py_XDECREF(before);
                } else {
                    other.put(class, number);
                }
            }
            is_plain
        }
    }

    /// Returns true if objects of a class are cursors that the interpreter allocates, and whose attributes it sets.
    ///
    /// # Safety
    /// `class` must be a live class, and the interpreter attached.
    unsafe fn is_made_as_any(&self, class: *mut PyTypeObject) -> bool {
        // SAFETY: by this function's own contract; what is compared with lives for ever.
        unsafe {
            let usual = &raw const ffi::PyBaseObject_Type;
            let (of, object) = (&*class, &*usual);
            ffi::PyType_IsSubtype(class, self.cursor.0.as_ptr().cast()) != 0
                && of.tp_flags & ffi::Py_TPFLAGS_IS_ABSTRACT == 0
                && matches!((of.tp_new, object.tp_new), (Some(its), Some(usual)) if fn_addr_eq(its, usual))
                && matches!((of.tp_alloc, object.tp_alloc), (Some(its), Some(usual)) if fn_addr_eq(its, usual))
                && matches!((of.tp_setattro, object.tp_setattro), (Some(its), Some(usual)) if fn_addr_eq(its, usual))
        }
    }

    /// A new cursor of a connection with this row factory, its own; `None` where that is not made here. The inner `None`
    /// is an exception that is set.
    ///
    /// # Safety
    /// `connection` must be of the class of connections, `core` its core, and the interpreter attached.
    pub(super) unsafe fn made<'py>(
        &self,
        connection: &Bound<'py, PyAny>,
        core: &Bound<'py, PyAny>,
        factory: &Bound<'py, PyAny>,
        shell: Shell,
    ) -> Option<Option<Bound<'py, PyAny>>> {
        // SAFETY: by this function's own contract. The class is one of cursors, which have the slots, and nothing is in
        // those of a new one: allocation zeroes it. What `__init__` would set is set, and it owns that.
        unsafe {
            let (py, none) = (connection.py(), ffi::Py_None());
            let class = Bound::from_borrowed_ptr_or_opt(py, get(connection.as_ptr(), self.cursor_type))?;
            if !self.is_plain(&class, shell) {
                return None;
            }
            let made = ffi::PyType_GenericAlloc(class.as_ptr().cast(), 0);
            let Some(made) = Bound::from_owned_ptr_or_opt(py, made) else { return Some(None) };
            for (at, value) in [
                (self.of_connection, connection.as_ptr()),
                (self.of_core, core.as_ptr()),
                (self.row_factory, factory.as_ptr()),
                (self.closed, ffi::Py_False()),
                (self.pending, none),
                (self.kept, none),
                (self.more, self.nothing.as_ptr()),
                (self.rows, none),
                (self.position, self.zero.as_ptr()),
                (self.make, none),
                (self.keeps_rows, ffi::Py_True()),
                (self.error, none),
                (self.arrow, none),
                (self.told, self.nothing_told.as_ptr()),
            ] {
                begin(made.as_ptr(), at, value);
            }
            Some(Some(made))
        }
    }

    /// `execute` of a blocking connection, as [`Places::execute`]; what is `given` are its arguments.
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(super) unsafe fn execute_with_new(
        &self,
        connection: *mut PyObject,
        given: [*mut PyObject; 3],
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe {
            if !self.connection.has(connection) {
                return None;
            }
            let py = Python::assume_attached();
            let used = [connection, self.usual_core(connection)?];
            let [connection, core] = used.map(|object| Bound::from_borrowed_ptr(py, object));
            let factory = connection.getattr(self.its_factory.bind(py)).ok()?;
            if factory.as_ptr() != get(core.as_ptr(), self.tuples) || !self.has_left_nothing(&connection) {
                return None;
            }
            let made = self.made(&connection, &core, &factory, Shell::Blocking)?;
            let Some(cursor) = made else { return Some(null_mut()) };
            self.execute_on([cursor, connection, core], given)
        }
    }

    /// `cursor()` of a connection, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn cursor(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe {
            if count != 1 || !names.is_null() || !self.connection.has(*args) {
                return None;
            }
            let py = Python::assume_attached();
            let core = get(*args, self.its_core);
            if !self.core.has(core) {
                return None;
            }
            let [connection, core] = [*args, core].map(|object| Bound::from_borrowed_ptr(py, object));
            let wire = Bound::from_borrowed_ptr_or_opt(py, get(core.as_ptr(), self.wire))?;
            let wire = wire.cast::<Wire>().ok()?.get();
            if wire.is_closed(py) {
                return None;
            }
            let shell = if wire.is_on_loop() { Shell::Loop } else { Shell::Blocking };
            let factory = connection.getattr(self.its_factory.bind(py)).ok()?;
            let made = self.made(&connection, &core, &factory, shell)?;
            Some(made.map_or(null_mut(), Bound::into_ptr))
        }
    }

    /// `close(*, timeout=None)` of a blocking cursor, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn close(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe {
            self.timeout_of(args, count, names, null_mut())?;
            if count == 1 { self.close_of(*args, Shell::Blocking) } else { None }
        }
    }

    /// `__enter__()` of a blocking cursor, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn __enter__(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe { (count == 1 && names.is_null()).then(|| ffi::Py_NewRef(*args)) }
    }

    /// `__exit__(kind, error, trace)` of a blocking cursor, as [`Places::execute`].
    ///
    /// # Safety
    /// As for [`Places::execute`].
    pub(in crate::shortcuts) unsafe fn __exit__(
        &self,
        args: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> Option<*mut PyObject> {
        // SAFETY: as in `execute`.
        unsafe {
            if count != 4 || !names.is_null() {
                return None;
            }
            // Whatever the object has as its `close`.
            let py = Python::assume_attached();
            let closed = ffi::PyObject_VectorcallMethod(self.its_close.as_ptr(), args, 1, null_mut());
            Some(Bound::from_owned_ptr_or_opt(py, closed).map_or(null_mut(), |_| ffi::Py_NewRef(ffi::Py_None())))
        }
    }

    /// What a loop's cursor does when it is closed; `None` where the case is not the usual one.
    ///
    /// # Safety
    /// `cursor` must be live, and the interpreter attached.
    pub(in crate::shortcuts) unsafe fn close_on_loop(&self, cursor: *mut PyObject) -> Option<*mut PyObject> {
        // SAFETY: by this function's own contract.
        unsafe { self.close_of(cursor, Shell::Loop) }
    }

    /// Closes a cursor, of which nothing waits.
    ///
    /// # Safety
    /// `cursor` must be live, and the interpreter attached.
    unsafe fn close_of(&self, cursor: *mut PyObject, shell: Shell) -> Option<*mut PyObject> {
        // SAFETY: slots are read and written of an object whose class has them; it is referred to from here, as what is
        // freed may run any code.
        unsafe {
            if !self.cursor.has(cursor) {
                return None;
            }
            let (py, none) = (Python::assume_attached(), ffi::Py_None());
            let cursor = Bound::from_borrowed_ptr(py, cursor);
            if !self.is_plain(cursor.get_type().as_any(), shell) {
                return None;
            }
            let told = match Bound::from_borrowed_ptr_or_opt(py, get(cursor.as_ptr(), self.kept))? {
                kept if kept.is_none() => None,
                kept => {
                    let kept = kept.cast_exact::<RequestResult>().ok()?.get();
                    Some((kept.rowcount, kept.generated).into_pyobject(py).ok()?)
                }
            };
            set(cursor.as_ptr(), self.closed, ffi::Py_True());
            if let Some(told) = told {
                set(cursor.as_ptr(), self.told, told.as_ptr());
            }
            set(cursor.as_ptr(), self.rows, none);
            set(cursor.as_ptr(), self.arrow, none);
            set(cursor.as_ptr(), self.kept, none);
            set(cursor.as_ptr(), self.more, self.nothing.as_ptr());
            Some(ffi::Py_NewRef(none))
        }
    }
}
