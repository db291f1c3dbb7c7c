//! Calls of a blocking cursor in the usual case, without a frame of Python's.
//!
//! What [`shortcut`] returns stands in a class in the place of a method that is written in Python, and has all of its
//! attributes. When it is called, it finds out whether the case is the usual one, and does then what the method would
//! do; otherwise it calls the method, which is the description of every case. What it looks at is in slots of the
//! objects (`__slots__`), which are read where they are: that takes a few instructions, as in Python's specialised
//! bytecode.
//!
//! Without the global lock there are no shortcuts: a slot could be written by another thread while it is read.

#[cfg(Py_GIL_DISABLED)]
use pyo3::prelude::*;

#[cfg(not(Py_GIL_DISABLED))]
pub use locked::{shortcut, use_shortcuts};

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
#[pyo3(signature = (cursor, connection, core, handed_over, /))]
pub fn use_shortcuts(
    cursor: &Bound<'_, PyAny>,
    connection: &Bound<'_, PyAny>,
    core: &Bound<'_, PyAny>,
    handed_over: &Bound<'_, PyAny>,
) {
    let _ = (cursor, connection, core, handed_over);
}

#[cfg(not(Py_GIL_DISABLED))]
mod locked {
    use crate::result::RequestResult;
    use pyo3::exceptions::PyTypeError;
    use pyo3::ffi::{self, PyObject, PyTypeObject};
    use pyo3::intern;
    use pyo3::prelude::*;
    use pyo3::sync::PyOnceLock;
    use pyo3::types::{PyInt, PyList, PyString, PyTuple, PyType};
    use std::ffi::{c_int, c_void};
    use std::mem::{offset_of, size_of};
    use std::ptr::null_mut;
    use std::sync::OnceLock;

    /// A slot: how many bytes after the beginning of an object it is.
    type Place = usize;

    /// The class of objects that have slots, and the classes that inherit from it.
    struct Class(Py<PyType>);

    /// Where everything is that the shortcuts read and write.
    struct Places {
        cursor: Class,
        connection: Class,
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
        // That of a connection.
        its_core: Place,
        // Those of a core.
        command_timeout: Place,
        pipelines: Place,
        run: Place,
        timing: Place,
        tuples: Place,
        way: Place,
        // Objects.
        left: Py<PyString>,
        ending: Py<PyString>,
        timeout: Py<PyString>,
        handed_over: Py<PyAny>,
        nothing: Py<PyTuple>,
        zero: Py<PyAny>,
    }

    static PLACES: OnceLock<Places> = OnceLock::new();
    /// `types.MethodType`, from before the first shortcut is made.
    static METHOD: OnceLock<Py<PyAny>> = OnceLock::new();

    /// What a shortcut is: `call` does it, `function` is the method.
    #[repr(C)]
    struct Shortcut {
        base: PyObject,
        call: ffi::vectorcallfunc,
        function: *mut PyObject,
    }

    /// The place of a slot that a class has itself, or inherits.
    ///
    /// # Errors
    /// TypeError if it has no such slot.
    fn place(class: &Bound<'_, PyType>, name: &str) -> PyResult<Place> {
        let descriptor = class.getattr(name)?;
        // SAFETY: the type of the descriptor is checked before it is read as one; its member lives as long as the class.
        let found = unsafe {
            if ffi::Py_TYPE(descriptor.as_ptr()) != &raw mut ffi::PyMemberDescr_Type {
                None
            } else {
                let member = (*descriptor.as_ptr().cast::<ffi::PyMemberDescrObject>()).d_member;
                let member = member.cast::<ffi::PyMemberDef>();
                ((*member).type_code == ffi::Py_T_OBJECT_EX).then(|| (*member).offset)
            }
        };
        found
            .and_then(|offset| Place::try_from(offset).ok())
            .ok_or_else(|| PyTypeError::new_err(format!("{name} is not a slot")))
    }

    impl Class {
        /// Returns true if an object is of the class, or of one that inherits from it.
        ///
        /// # Safety
        /// `object` must be live, or NULL.
        #[inline]
        unsafe fn has(&self, object: *mut PyObject) -> bool {
            // SAFETY: by this function's own contract; the class is live as long as this.
            unsafe {
                !object.is_null()
                    && ffi::PyType_IsSubtype(ffi::Py_TYPE(object), self.0.as_ptr().cast::<PyTypeObject>()) != 0
            }
        }
    }

    /// What is in a slot, borrowed: NULL if nothing was ever put there.
    ///
    /// # Safety
    /// `object` must be live, and of the class whose slot it is.
    #[inline]
    unsafe fn get(object: *mut PyObject, at: Place) -> *mut PyObject {
        // SAFETY: by this function's own contract a pointer is there, aligned as the class has laid it out.
        unsafe { *object.byte_add(at).cast::<*mut PyObject>() }
    }

    /// Puts a borrowed object in a slot. What was there may be freed, which may run any code.
    ///
    /// # Safety
    /// As for [`get`]; `value` must be live.
    #[inline]
    unsafe fn set(object: *mut PyObject, at: Place, value: *mut PyObject) {
        // SAFETY: by this function's own contract; the slot owns what is in it, and has the new value before the old one
        // is released.
        unsafe {
            let slot = object.byte_add(at).cast::<*mut PyObject>();
            let before = *slot;
            if before != value {
                ffi::Py_INCREF(value);
                *slot = value;
                ffi::Py_XDECREF(before);
            }
        }
    }

    impl Places {
        /// `execute(sql, params=None, *, timeout=None)` of a cursor; `None` where the case is not the usual one. NULL with
        /// an exception set if it fails.
        ///
        /// # Safety
        /// The arguments must be those of a vectorcall, and the interpreter attached.
        unsafe fn execute(
            &self,
            args: *const *mut PyObject,
            count: usize,
            names: *mut PyObject,
        ) -> Option<*mut PyObject> {
            // SAFETY: the arguments are live as long as the call. Slots are read of objects of the classes that have them,
            // and what is used after other code may have run is referred to from here.
            unsafe {
                let (py, none) = (Python::assume_attached(), ffi::Py_None());
                let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) };
                let timeout = match named {
                    0 => none,
                    1 if ffi::PyTuple_GET_ITEM(names, 0) == self.timeout.as_ptr() => *args.add(count),
                    _ => return None,
                };
                if count != 2 && count != 3 {
                    return None;
                }
                let (cursor, sql, params) = (*args, *args.add(1), if count == 3 { *args.add(2) } else { none });
                if !self.cursor.has(cursor) || get(cursor, self.closed) != ffi::Py_False() {
                    return None;
                }
                let connection = get(cursor, self.of_connection);
                if get(cursor, self.pending) != none || !self.connection.has(connection) {
                    return None;
                }
                let core = get(connection, self.its_core);
                if !self.core.has(core)
                    || get(core, self.pipelines).is_null()
                    || get(core, self.timing) != ffi::Py_False()
                    || get(core, self.tuples) != get(cursor, self.row_factory)
                    || ffi::PyDict_Size(get(core, self.pipelines)) != 0
                {
                    return None;
                }
                let cursor = Bound::from_borrowed_ptr(py, cursor);
                let connection = Bound::from_borrowed_ptr(py, connection);
                let core = Bound::from_borrowed_ptr(py, core);
                for name in [&self.left, &self.ending] {
                    if !connection.getattr(name.bind(py)).is_ok_and(|left| left.is_none()) {
                        return None;
                    }
                }
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
                        raised(&connection, (&core, &cursor), &limit, error);
                        null_mut()
                    }
                })
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
            // SAFETY: by this function's own contract; the objects are live.
            unsafe {
                let (cursor, none) = (cursor.as_ptr(), ffi::Py_None());
                set(cursor, self.kept, outcome.as_ptr());
                set(cursor, self.rows, result.get().rows.as_ptr());
                set(cursor, self.make, none);
            }
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
        unsafe fn fetchall(
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
        unsafe fn fetchone(
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
        of: (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        limit: &Bound<'_, PyAny>,
        error: PyErr,
    ) {
        Python::attach(|py| {
            let mut error = error;
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
        });
    }

    /// The method of a shortcut.
    ///
    /// # Safety
    /// `shortcut` must be one.
    unsafe fn function_of(shortcut: *mut PyObject) -> *mut PyObject {
        // SAFETY: by this function's own contract.
        unsafe { (*shortcut.cast::<Shortcut>()).function }
    }

    macro_rules! calls {
        ($($name:ident)*) => {
            $(unsafe extern "C" fn $name(
                shortcut: *mut PyObject,
                args: *const *mut PyObject,
                count: usize,
                names: *mut PyObject,
            ) -> *mut PyObject {
                // SAFETY: called by the interpreter with a shortcut and the arguments of a vectorcall.
                unsafe {
                    let given = ffi::PyVectorcall_NARGS(count) as usize;
                    match PLACES.get().and_then(|places| places.$name(args, given, names)) {
                        Some(result) => result,
                        None => ffi::PyObject_Vectorcall(function_of(shortcut), args, count, names),
                    }
                }
            })*

            /// What does the method of this name in the usual case.
            fn call_of(name: &str) -> Option<ffi::vectorcallfunc> {
                match name {
                    $(stringify!($name) => Some($name),)*
                    _ => None,
                }
            }
        };
    }

    calls! { execute fetchall fetchone }

    /// `cursor.execute`: a method object.
    unsafe extern "C" fn bind(shortcut: *mut PyObject, object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
        // SAFETY: called by the interpreter with a shortcut and an object that are live, or without an object.
        unsafe {
            match object.is_null() || object == ffi::Py_None() {
                true => ffi::Py_NewRef(shortcut),
                false => match METHOD.get() {
                    Some(method) => {
                        let arguments = [shortcut, object];
                        ffi::PyObject_Vectorcall(method.as_ptr(), arguments.as_ptr(), arguments.len(), null_mut())
                    }
                    None => ffi::PyErr_NoMemory(),
                },
            }
        }
    }

    /// An attribute of the method.
    unsafe extern "C" fn attribute(shortcut: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
        // SAFETY: called by the interpreter with a shortcut and a name.
        unsafe { ffi::PyObject_GetAttr(function_of(shortcut), name) }
    }

    /// The representation of the method.
    unsafe extern "C" fn shown(shortcut: *mut PyObject) -> *mut PyObject {
        // SAFETY: called by the interpreter with a shortcut.
        unsafe { ffi::PyObject_Repr(function_of(shortcut)) }
    }

    unsafe extern "C" fn traverse(shortcut: *mut PyObject, visit: ffi::visitproc, context: *mut c_void) -> c_int {
        // SAFETY: called by the collector with a shortcut, which may not have its method yet; it owns a reference to its
        // class.
        unsafe {
            for object in [function_of(shortcut), ffi::Py_TYPE(shortcut).cast()] {
                let stop = if object.is_null() { 0 } else { visit(object, context) };
                if stop != 0 {
                    return stop;
                }
            }
        }
        0
    }

    unsafe extern "C" fn end(shortcut: *mut PyObject) {
        // SAFETY: called by the interpreter with a shortcut that nothing refers to any more; what it owns is released, and
        // its class last.
        unsafe {
            let class = ffi::Py_TYPE(shortcut);
            ffi::PyObject_GC_UnTrack(shortcut.cast());
            ffi::Py_XDECREF(function_of(shortcut));
            ffi::PyObject_GC_Del(shortcut.cast());
            ffi::Py_DECREF(class.cast());
        }
    }

    /// The class of shortcuts.
    fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let made = CLASS.get_or_try_init(py, || {
            let call = ffi::PyMemberDef {
                name: c"__vectorcalloffset__".as_ptr(),
                type_code: ffi::Py_T_PYSSIZET,
                offset: offset_of!(Shortcut, call) as ffi::Py_ssize_t,
                flags: ffi::Py_READONLY,
                doc: std::ptr::null(),
            };
            let mut members = [call, ffi::PyMemberDef::default()];
            let slot = |slot, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
            let mut slots = [
                slot(ffi::Py_tp_call, ffi::PyVectorcall_Call as *mut c_void),
                slot(ffi::Py_tp_dealloc, end as *mut c_void),
                slot(ffi::Py_tp_descr_get, bind as *mut c_void),
                slot(ffi::Py_tp_getattro, attribute as *mut c_void),
                slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
                slot(ffi::Py_tp_repr, shown as *mut c_void),
                slot(ffi::Py_tp_traverse, traverse as *mut c_void),
                slot(0, null_mut()),
            ];
            let flags = ffi::Py_TPFLAGS_DEFAULT
                | ffi::Py_TPFLAGS_HAVE_GC
                | ffi::Py_TPFLAGS_HAVE_VECTORCALL
                | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR;
            let mut spec = ffi::PyType_Spec {
                name: c"headrace._native.Shortcut".as_ptr(),
                basicsize: size_of::<Shortcut>() as c_int,
                itemsize: 0,
                flags: flags as _,
                slots: slots.as_mut_ptr(),
            };
            // SAFETY: the specification, its slots and its members live until the call has returned, which copies them.
            // Returns a new reference or NULL with an exception set.
            let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
            Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
        })?;
        Ok(made.bind(py))
    }

    /// What stands in a class in place of a method of a cursor, and does the usual case of it: `execute`, `fetchall` or
    /// `fetchone`. Returns any other function itself.
    ///
    /// # Errors
    /// MemoryError.
    #[pyfunction]
    #[pyo3(signature = (function, /))]
    pub fn shortcut(function: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
        let py = function.py();
        let name = function.getattr(intern!(py, "__name__"))?.extract::<String>()?;
        let Some(call) = call_of(&name) else { return Ok(function) };
        let class = class(py)?.as_type_ptr();
        if METHOD.get().is_none() {
            let _ = METHOD.set(py.import("types")?.getattr("MethodType")?.unbind());
        }
        // SAFETY: the class is one of shortcuts, whose instances are laid out as `Shortcut`; allocation returns a zeroed
        // one, or NULL with an exception set. It owns the reference to the function.
        unsafe {
            let made = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
            let object = made.as_ptr().cast::<Shortcut>();
            (*object).call = call;
            (*object).function = function.into_ptr();
            Ok(made)
        }
    }

    /// From now on shortcuts are taken: these are the classes of cursors, connections and their cores, which have the
    /// slots, and what stands for rows that were handed over.
    ///
    /// # Errors
    /// TypeError if a class does not have a slot.
    #[pyfunction]
    #[pyo3(signature = (cursor, connection, core, handed_over, /))]
    pub fn use_shortcuts(
        cursor: &Bound<'_, PyType>,
        connection: &Bound<'_, PyType>,
        core: &Bound<'_, PyType>,
        handed_over: &Bound<'_, PyList>,
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
            its_core: place(connection, "_core")?,
            command_timeout: place(core, "command_timeout")?,
            pipelines: place(core, "pipelines")?,
            run: place(core, "run")?,
            timing: place(core, "timing")?,
            tuples: place(core, "tuples")?,
            way: place(core, "way")?,
            left: PyString::intern(py, "_left").unbind(),
            ending: PyString::intern(py, "_ending").unbind(),
            timeout: PyString::intern(py, "timeout").unbind(),
            handed_over: handed_over.clone().into_any().unbind(),
            nothing: PyTuple::empty(py).unbind(),
            zero: PyInt::new(py, 0).into_any().unbind(),
            cursor: Class(cursor.clone().unbind()),
            connection: Class(connection.clone().unbind()),
            core: Class(core.clone().unbind()),
        };
        let _ = PLACES.set(places);
        Ok(())
    }
}
