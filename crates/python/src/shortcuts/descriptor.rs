//! What stands in a class in the place of a method: a descriptor that looks like it.

use super::coroutine::{self, Method};
use super::usual::{PLACES, Wanted};
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::ffi::{CStr, c_int, c_void};
use std::mem::{offset_of, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// `types.MethodType`, from before the first shortcut is made.
static METHOD: OnceLock<Py<PyAny>> = OnceLock::new();

/// What a shortcut is: `call` does it, `function` is the method.
#[repr(C)]
struct Shortcut {
    base: PyObject,
    call: ffi::vectorcallfunc,
    function: *mut PyObject,
    /// Weak references to it, of which a `WeakMethod` has one.
    weak: *mut PyObject,
}

/// The method of a shortcut.
///
/// # Safety
/// `shortcut` must be one.
unsafe fn function_of(shortcut: *mut PyObject) -> *mut PyObject {
    // SAFETY: by this function's own contract.
    unsafe { (*shortcut.cast::<Shortcut>()).function }
}

/// What tells whether a profiler has asked for the calls, which it has of functions written in Python.
struct Profiling {
    /// `sys.getprofile`.
    function: Py<PyAny>,
    /// `sys.get_coroutine_origin_tracking_depth`: asyncio's debug mode asks for where coroutines were made.
    tracked: Py<PyAny>,
    /// `sys.monitoring.get_tool` and the number of a profiler, by which `cProfile` asks since Python 3.12.
    tool: Option<(Py<PyAny>, Py<PyAny>)>,
}

static PROFILING: OnceLock<Profiling> = OnceLock::new();

/// Returns true while a profiler is told of calls.
///
/// # Safety
/// The interpreter must be attached.
unsafe fn is_profiled() -> bool {
    let Some(profiling) = PROFILING.get() else { return false };
    // SAFETY: by this function's own contract; both functions take no other argument, and return a reference or NULL with
    // an exception set.
    unsafe {
        let is_none = |found: *mut PyObject| {
            match found.is_null() {
                true => ffi::PyErr_Clear(),
                false => ffi::Py_DECREF(found),
            }
            found == ffi::Py_None()
        };
        !is_none(ffi::PyObject_CallNoArgs(profiling.function.as_ptr()))
            || profiling
                .tool
                .as_ref()
                .is_some_and(|(get, number)| !is_none(ffi::PyObject_CallOneArg(get.as_ptr(), number.as_ptr())))
    }
}

/// Returns true while coroutines keep where they were made.
///
/// # Safety
/// The interpreter must be attached.
unsafe fn is_tracked() -> bool {
    let Some(profiling) = PROFILING.get() else { return false };
    // SAFETY: by this function's own contract; the function takes no argument, and returns a small number.
    unsafe {
        let depth = ffi::PyObject_CallNoArgs(profiling.tracked.as_ptr());
        if depth.is_null() {
            ffi::PyErr_Clear();
            return true;
        }
        let depth = Bound::from_owned_ptr(Python::assume_attached(), depth);
        ffi::PyLong_AsLong(depth.as_ptr()) != 0
    }
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
                let usual = || match is_profiled() {
                    true => None,
                    false => PLACES.get().and_then(|places| places.$name(args, given, names)),
                };
                // An exception that stands for a panic of the engine goes on as one, which must not leave this function.
                match catch_unwind(AssertUnwindSafe(usual)) {
                    Ok(Some(result)) => result,
                    Ok(None) => ffi::PyObject_Vectorcall(function_of(shortcut), args, count, names),
                    Err(_) => {
                        ffi::PyErr_SetString(ffi::PyExc_SystemError, c"the engine has panicked".as_ptr());
                        null_mut()
                    }
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

calls! { execute fetchall fetchone fetch fetchrow fetchval cursor close __enter__ __exit__ }

macro_rules! coroutines {
    ($($name:ident: $begun:ident $method:expr,)*) => {
        $(unsafe extern "C" fn $begun(
            shortcut: *mut PyObject,
            args: *const *mut PyObject,
            count: usize,
            names: *mut PyObject,
        ) -> *mut PyObject {
            // SAFETY: called by the interpreter with a shortcut and the arguments of a vectorcall.
            unsafe {
                let (function, given) = (function_of(shortcut), ffi::PyVectorcall_NARGS(count) as usize);
                let made = match is_profiled() || is_tracked() {
                    true => None,
                    false => coroutine::call($method, function, args, given, names),
                };
                made.unwrap_or_else(|| ffi::PyObject_Vectorcall(function, args, count, names))
            }
        })*

        /// What makes the coroutine of a loop's method of this name.
        fn coroutine_of(name: &str) -> Option<ffi::vectorcallfunc> {
            match name {
                $(stringify!($name) => Some($begun),)*
                _ => None,
            }
        }
    };
}

coroutines! {
    execute: begin_execute Method::Execute,
    close: begin_close Method::Close,
    __aenter__: begin_enter Method::Enter,
    __aexit__: begin_exit Method::Exit,
    fetchall: begin_fetchall Method::FetchAll,
    fetchone: begin_fetchone Method::FetchOne,
    fetch: begin_fetch Method::Query(Wanted::Rows),
    fetchrow: begin_fetchrow Method::Query(Wanted::Row),
    fetchval: begin_fetchval Method::Query(Wanted::Value),
}

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
        ffi::PyObject_ClearWeakRefs(shortcut);
        ffi::Py_XDECREF(function_of(shortcut));
        ffi::PyObject_GC_Del(shortcut.cast());
        ffi::Py_DECREF(class.cast());
    }
}

/// The class of shortcuts.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS.get_or_try_init(py, || {
        let member = |name: &'static CStr, offset: usize| ffi::PyMemberDef {
            name: name.as_ptr(),
            type_code: ffi::Py_T_PYSSIZET,
            offset: offset as ffi::Py_ssize_t,
            flags: ffi::Py_READONLY,
            doc: std::ptr::null(),
        };
        let mut members = [
            member(c"__vectorcalloffset__", offset_of!(Shortcut, call)),
            member(c"__weaklistoffset__", offset_of!(Shortcut, weak)),
            ffi::PyMemberDef::default(),
        ];
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
            | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR
            | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
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

/// Returns true if an object is a shortcut for a method of this name, which is a coroutine function or not.
pub(super) fn is_shortcut(object: &Bound<'_, PyAny>, name: &str, is_coroutine: bool) -> bool {
    let py = object.py();
    if !class(py).is_ok_and(|class| object.get_type().is(class)) {
        return false;
    }
    // SAFETY: its type was checked; it owns the function.
    let function = unsafe { Bound::from_borrowed_ptr(py, function_of(object.as_ptr())) };
    let is_named = function.getattr(intern!(py, "__name__")).and_then(|named| named.eq(name));
    is_named.unwrap_or(false) && is_coroutine_function(&function).is_ok_and(|is| is == is_coroutine)
}

fn is_coroutine_function(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = function.py();
    let flags = function.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_flags"))?.extract::<c_int>()?;
    Ok(flags & ffi::CO_COROUTINE != 0)
}

/// What stands in a class in place of a method of a cursor or of a connection, and does the usual case of it: `execute`,
/// `fetchall`, `fetchone`, `close` and what a `with` statement calls, `cursor`, `fetch`, `fetchrow` or `fetchval`, which
/// may be coroutine functions. Returns any other function itself.
///
/// # Errors
/// MemoryError.
#[pyfunction]
#[pyo3(signature = (function, /))]
pub fn shortcut(function: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = function.py();
    let name = function.getattr(intern!(py, "__name__"))?.extract::<String>()?;
    let is_coroutine = is_coroutine_function(&function)?;
    let Some(call) = (if is_coroutine { coroutine_of(&name) } else { call_of(&name) }) else { return Ok(function) };
    let class = class(py)?.as_type_ptr();
    coroutine::prepare(py)?;
    if METHOD.get().is_none() {
        let _ = METHOD.set(py.import("types")?.getattr("MethodType")?.unbind());
        let sys = py.import("sys")?;
        let tool = match sys.getattr_opt("monitoring")? {
            Some(tools) => Some((tools.getattr("get_tool")?.unbind(), tools.getattr("PROFILER_ID")?.unbind())),
            None => None,
        };
        let tracked = sys.getattr("get_coroutine_origin_tracking_depth")?.unbind();
        let _ = PROFILING.set(Profiling { function: sys.getattr("getprofile")?.unbind(), tracked, tool });
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
