//! The class of coroutines, with what the interpreter and programs call of it.

use super::{Coroutine, State};
use pyo3::ffi::{self, PyObject, PySendResult};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::{offset_of, size_of};
use std::ptr::null_mut;

unsafe extern "C" fn am_send(
    coroutine: *mut PyObject,
    value: *mut PyObject,
    result: *mut *mut PyObject,
) -> PySendResult {
    // SAFETY: called by the interpreter with a live coroutine, and a place for the result.
    unsafe { Coroutine::send(coroutine.cast(), value).into_send(result) }
}

unsafe extern "C" fn next(coroutine: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe { Coroutine::send(coroutine.cast(), ffi::Py_None()).into_object() }
}

unsafe extern "C" fn send(coroutine: *mut PyObject, value: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe { Coroutine::send(coroutine.cast(), value).into_object() }
}

unsafe extern "C" fn throw(
    coroutine: *mut PyObject,
    args: *mut *mut PyObject,
    count: ffi::Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine and so many arguments.
    unsafe {
        match count {
            1..=3 => Coroutine::throw(coroutine.cast(), args, count as usize).into_object(),
            _ => {
                ffi::PyErr_SetString(ffi::PyExc_TypeError, c"throw() takes one to three arguments".as_ptr());
                null_mut()
            }
        }
    }
}

unsafe extern "C" fn close(coroutine: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe { Coroutine::close(coroutine.cast()) }
}

/// `__await__`: itself, as an iterator.
unsafe extern "C" fn awaited(coroutine: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe {
        match (*coroutine.cast::<Coroutine>()).state {
            State::Waiting | State::InPython => {
                ffi::PyErr_SetString(ffi::PyExc_RuntimeError, c"coroutine is being awaited already".as_ptr());
                null_mut()
            }
            State::Created | State::Made | State::Running | State::Finished => ffi::Py_NewRef(coroutine),
        }
    }
}

/// What `__await__` returns to programs, for a `yield from`, which takes nothing but what is iterable. A coroutine is not.
#[pyclass(frozen, module = "headrace._native")]
struct Awaiting {
    coroutine: Py<PyAny>,
}

#[pymethods]
impl Awaiting {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.send(py.None().into_bound(py))
    }

    fn send(&self, value: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.coroutine.call_method1(value.py(), intern!(value.py(), "send"), (&value,))
    }

    #[pyo3(signature = (*thrown))]
    fn throw(&self, thrown: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        self.coroutine.call_method1(thrown.py(), intern!(thrown.py(), "throw"), thrown.clone())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.coroutine.call_method0(py, intern!(py, "close")).map(drop)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.coroutine)
    }
}

/// `__await__()`, called by a program.
unsafe extern "C" fn await_of(coroutine: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe {
        let itself = awaited(coroutine);
        let py = Python::assume_attached();
        let Some(itself) = Bound::from_owned_ptr_or_opt(py, itself) else { return null_mut() };
        match Bound::new(py, Awaiting { coroutine: itself.unbind() }) {
            Ok(made) => made.into_any().into_ptr(),
            Err(error) => {
                error.restore(py);
                null_mut()
            }
        }
    }
}

/// `__class__`: programs that ask whether something is a coroutine mean one that they await.
unsafe extern "C" fn shown_class(_: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: the class is the interpreter's.
    unsafe { ffi::Py_NewRef((&raw mut ffi::PyCoro_Type).cast()) }
}

unsafe extern "C" fn frame(coroutine: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe { Coroutine::frame(coroutine.cast()) }
}

unsafe extern "C" fn is_running(coroutine: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe { ffi::PyBool_FromLong(((*coroutine.cast::<Coroutine>()).state == State::Running).into()) }
}

unsafe extern "C" fn is_suspended(coroutine: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe {
        let state = (*coroutine.cast::<Coroutine>()).state;
        ffi::PyBool_FromLong(matches!(state, State::Waiting | State::InPython).into())
    }
}

/// An attribute of the method, whose name is in `name`.
unsafe extern "C" fn of_method(coroutine: *mut PyObject, name: *mut c_void) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine, and with the name of the attribute.
    unsafe { ffi::PyObject_GetAttrString((*coroutine.cast::<Coroutine>()).of.function, name.cast::<c_char>()) }
}

unsafe extern "C" fn shown(coroutine: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by the interpreter with a live coroutine.
    unsafe {
        let name = of_method(coroutine, c"__qualname__".as_ptr().cast_mut().cast());
        let Some(name) = Bound::from_owned_ptr_or_opt(Python::assume_attached(), name) else { return null_mut() };
        PyString::new(name.py(), &format!("<coroutine object {name} at {coroutine:p}>")).into_any().into_ptr()
    }
}

unsafe extern "C" fn traverse(coroutine: *mut PyObject, visit: ffi::visitproc, context: *mut c_void) -> c_int {
    // SAFETY: called by the collector with a live coroutine; it owns a reference to its class.
    unsafe {
        let of = (*coroutine.cast::<Coroutine>()).of;
        for object in of.all().into_iter().chain([ffi::Py_TYPE(coroutine).cast()]) {
            let stop = if object.is_null() { 0 } else { visit(object, context) };
            if stop != 0 {
                return stop;
            }
        }
    }
    0
}

/// Warns of a call that was not awaited: what is written in Python does that when it is freed.
#[cold]
#[allow(
    deprecated,
    reason = "PyErr::take goes on with a panic whose exception is set, which must not leave this function"
)]
unsafe fn warn(coroutine: *mut Coroutine) {
    // SAFETY: called with a coroutine that is freed after that; an exception that is set stays set.
    unsafe {
        let (mut class, mut value, mut traceback) = (null_mut(), null_mut(), null_mut());
        ffi::PyErr_Fetch(&raw mut class, &raw mut value, &raw mut traceback);
        let unawaited = (*coroutine).in_python();
        match unawaited.is_null() {
            true => ffi::PyErr_Clear(),
            false => ffi::Py_DECREF(unawaited),
        }
        ffi::PyErr_Restore(class, value, traceback);
    }
}

unsafe extern "C" fn end(coroutine: *mut PyObject) {
    // SAFETY: called by the interpreter with a coroutine that nothing refers to any more; what it owns is released, and
    // its class last.
    unsafe {
        let (class, this) = (ffi::Py_TYPE(coroutine), coroutine.cast::<Coroutine>());
        ffi::PyObject_GC_UnTrack(coroutine.cast());
        if !(*this).weak.is_null() {
            ffi::PyObject_ClearWeakRefs(coroutine);
        }
        if (*this).state == State::Created {
            warn(this);
        }
        for object in (*this).of.all() {
            ffi::Py_XDECREF(object);
        }
        ffi::PyObject_GC_Del(coroutine.cast());
        ffi::Py_DECREF(class.cast());
    }
}

/// The class of coroutines.
pub(super) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS.get_or_try_init(py, || {
        let mut members = [
            ffi::PyMemberDef {
                name: c"__weaklistoffset__".as_ptr(),
                type_code: ffi::Py_T_PYSSIZET,
                offset: offset_of!(Coroutine, weak) as ffi::Py_ssize_t,
                flags: ffi::Py_READONLY,
                doc: std::ptr::null(),
            },
            ffi::PyMemberDef::default(),
        ];
        let getter = |name: &'static CStr, get: ffi::getter, closure: *const c_char| ffi::PyGetSetDef {
            name: name.as_ptr(),
            get: Some(get),
            set: None,
            doc: std::ptr::null(),
            closure: closure.cast_mut().cast(),
        };
        let of_method = |name: &'static CStr| getter(name, of_method, name.as_ptr());
        // They live as long as the class.
        let attributes = Box::leak(Box::new([
            of_method(c"__name__"),
            of_method(c"__qualname__"),
            getter(c"__class__", shown_class, std::ptr::null()),
            getter(c"cr_frame", frame, std::ptr::null()),
            getter(c"cr_running", is_running, std::ptr::null()),
            getter(c"cr_suspended", is_suspended, std::ptr::null()),
            ffi::PyGetSetDef::default(),
        ]));
        let method = |name: &'static CStr, function: ffi::PyMethodDefPointer, flags, doc: &'static CStr| {
            ffi::PyMethodDef { ml_name: name.as_ptr(), ml_meth: function, ml_flags: flags, ml_doc: doc.as_ptr() }
        };
        let methods = Box::leak(Box::new([
            method(
                c"send",
                ffi::PyMethodDefPointer { PyCFunction: send },
                ffi::METH_O,
                c"Resumes the coroutine with a value.",
            ),
            method(
                c"throw",
                ffi::PyMethodDefPointer { PyCFunctionFast: throw },
                ffi::METH_FASTCALL,
                c"Raises an exception in the coroutine.",
            ),
            method(
                c"__await__",
                ffi::PyMethodDefPointer { PyCFunction: await_of },
                ffi::METH_NOARGS | ffi::METH_COEXIST,
                c"Returns an iterator that runs the coroutine.",
            ),
            method(c"close", ffi::PyMethodDefPointer { PyCFunction: close }, ffi::METH_NOARGS, c"Ends the coroutine."),
            ffi::PyMethodDef::zeroed(),
        ]));
        let slot = |slot, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
        let mut slots = [
            slot(ffi::Py_am_await, awaited as *mut c_void),
            slot(ffi::Py_am_send, am_send as *mut c_void),
            slot(ffi::Py_tp_dealloc, end as *mut c_void),
            slot(ffi::Py_tp_getset, attributes.as_mut_ptr().cast()),
            slot(ffi::Py_tp_iternext, next as *mut c_void),
            slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
            slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
            slot(ffi::Py_tp_repr, shown as *mut c_void),
            slot(ffi::Py_tp_traverse, traverse as *mut c_void),
            slot(0, null_mut()),
        ];
        let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_GC | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
        let mut spec = ffi::PyType_Spec {
            name: c"headrace._native.Coroutine".as_ptr(),
            basicsize: size_of::<Coroutine>() as c_int,
            itemsize: 0,
            flags: flags as _,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: the specification, its slots and its members live until the call has returned, which copies them, and
        // methods and attributes for ever. Returns a new reference or NULL with an exception set.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}
