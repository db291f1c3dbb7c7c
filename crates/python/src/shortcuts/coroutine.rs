//! What a shortcut of a loop's method returns: a coroutine that is not written in Python.
//!
//! It begins when it is sent something for the first time, as every coroutine does. If the case is the usual one then, it
//! awaits the future of the engine itself; otherwise it makes the coroutine that is written in Python, and passes on to
//! it whatever comes. So does one that nobody has awaited when it is freed, for the warning of that.

mod class;

use super::usual::{Begun, PLACES, Wanted, raise_left};
use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::ffi::{self, PyObject, PySendResult};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// The method that a coroutine is a call of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// `execute(sql, params=None, *, timeout=None)` of a cursor.
    Execute,
    /// `fetchall(*, timeout=None)` of a cursor.
    FetchAll,
    /// `fetchone(*, timeout=None)` of a cursor.
    FetchOne,
    /// `close(*, timeout=None)` of a cursor.
    Close,
    /// `__aenter__()` of a cursor.
    Enter,
    /// `__aexit__(kind, error, trace)` of a cursor.
    Exit,
    /// `execute(sql, params=None, *, timeout=None)` of a connection.
    ExecuteNew,
    /// `fetch`, `fetchrow` or `fetchval(sql, *args, timeout=None)` of a connection.
    Query(Wanted),
}

/// How far a coroutine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was sent to it.
    Created,
    /// It runs.
    Running,
    /// Nothing was sent to it, and `inner` is the coroutine written in Python: its frame was asked for.
    Made,
    /// It awaits the future of a statement, whose iterator is `inner`.
    Waiting,
    /// `inner` is the coroutine written in Python.
    InPython,
    /// It has ended.
    Finished,
}

/// The objects of a coroutine. It owns them, and NULL stands for those that it does not have.
#[derive(Clone, Copy)]
pub(super) struct Objects {
    /// The method written in Python.
    pub function: *mut PyObject,
    /// What it is a method of: a cursor, or a connection.
    pub object: *mut PyObject,
    /// The statement, or the first argument of another method.
    pub sql: *mut PyObject,
    /// The parameters: for a [`Method::Query`] and a [`Method::Exit`] a tuple of them.
    pub params: *mut PyObject,
    pub timeout: *mut PyObject,
    /// The connection of a statement that was submitted, and its core.
    pub connection: *mut PyObject,
    pub core: *mut PyObject,
    /// The row factory of a [`Method::Query`], and whether its rows stay as they are.
    pub factory: *mut PyObject,
    pub is_bare: bool,
    /// The future of its result.
    pub future: *mut PyObject,
    /// What it awaits.
    pub inner: *mut PyObject,
}

impl Objects {
    fn all(&self) -> [*mut PyObject; 10] {
        let Self { function, object, sql, params, timeout, connection, core, factory, future, inner, .. } = *self;
        [function, object, sql, params, timeout, connection, core, factory, future, inner]
    }

    /// Those of a coroutine that has ended.
    fn of_ended(function: *mut PyObject) -> Self {
        let none = null_mut();
        Self {
            function,
            object: none,
            sql: none,
            params: none,
            timeout: none,
            connection: none,
            core: none,
            factory: none,
            is_bare: false,
            future: none,
            inner: none,
        }
    }
}

/// A coroutine.
#[repr(C)]
struct Coroutine {
    base: PyObject,
    method: Method,
    state: State,
    of: Objects,
    /// Weak references to it.
    weak: *mut PyObject,
}

/// What one step of a coroutine has led to.
enum Step {
    /// It waits for this.
    Yields(*mut PyObject),
    /// It has ended with this.
    Returns(*mut PyObject),
    /// It has ended with an exception, which is set.
    Raises,
}

impl Step {
    /// As a call of C returns it.
    unsafe fn into_send(self, result: *mut *mut PyObject) -> PySendResult {
        let (object, sent) = match self {
            Self::Yields(object) => (object, PySendResult::PYGEN_NEXT),
            Self::Returns(object) => (object, PySendResult::PYGEN_RETURN),
            Self::Raises => (null_mut(), PySendResult::PYGEN_ERROR),
        };
        // SAFETY: a place of the caller's.
        unsafe { *result = object };
        sent
    }

    /// As a method of Python returns it: the end is a StopIteration.
    unsafe fn into_object(self) -> *mut PyObject {
        match self {
            Self::Yields(object) => object,
            Self::Raises => null_mut(),
            // SAFETY: the object is owned. An instance is set, as the class would take a tuple for several arguments.
            Self::Returns(object) => unsafe {
                let stop = ffi::PyObject_CallOneArg(ffi::PyExc_StopIteration, object);
                if !stop.is_null() {
                    ffi::PyErr_SetObject(ffi::PyExc_StopIteration, stop);
                    ffi::Py_DECREF(stop);
                }
                ffi::Py_DECREF(object);
                null_mut()
            },
        }
    }

    /// Of what the iterator has done that the coroutine awaits.
    unsafe fn of_send(sent: PySendResult, object: *mut PyObject) -> Self {
        match sent {
            PySendResult::PYGEN_NEXT => Self::Yields(object),
            PySendResult::PYGEN_RETURN => Self::Returns(object),
            PySendResult::PYGEN_ERROR => Self::Raises,
        }
    }

    /// Of what a method of Python has returned, whose end is a StopIteration.
    unsafe fn of_object(object: *mut PyObject) -> Self {
        if !object.is_null() {
            return Self::Yields(object);
        }
        let of_error = |py: Python<'_>| {
            let error = PyErr::fetch(py);
            match error.is_instance_of::<PyStopIteration>(py) {
                true => match error.value(py).getattr("value") {
                    Ok(value) => Self::Returns(value.into_ptr()),
                    Err(error) => Self::raise(error),
                },
                false => Self::raise(error),
            }
        };
        // SAFETY: the interpreter is attached.
        unsafe { attached(of_error) }
    }

    fn raise(error: PyErr) -> Self {
        // SAFETY: an error is there only where the interpreter is attached.
        error.restore(unsafe { Python::assume_attached() });
        Self::Raises
    }
}

/// Attached once more, so that PyO3 frees at once what is dropped in the call: after this it may not be called again
/// for long. It refuses that while the interpreter ends.
///
/// # Safety
/// The interpreter must be attached.
pub(super) unsafe fn attached<T>(mut call: impl FnMut(Python<'_>) -> T) -> T {
    // SAFETY: by this function's own contract.
    Python::try_attach(&mut call).unwrap_or_else(|| call(unsafe { Python::assume_attached() }))
}

impl Coroutine {
    /// `cr_frame`: None while it awaits a future, as it has no frame then, and at its end. NULL with an exception set.
    unsafe fn frame(this: *mut Self) -> *mut PyObject {
        // SAFETY: called with a live coroutine.
        unsafe {
            if (*this).state == State::Created {
                let inner = (*this).in_python();
                if inner.is_null() {
                    return inner;
                }
                // It may have begun meanwhile.
                if (*this).state != State::Created {
                    ffi::Py_DECREF(inner);
                    return ffi::Py_NewRef(ffi::Py_None());
                }
                (*this).of.inner = inner;
                (*this).state = State::Made;
            }
            let inner = match (*this).state {
                State::Made | State::InPython => (*this).of.inner,
                _ => null_mut(),
            };
            match inner.is_null() {
                true => ffi::Py_NewRef(ffi::Py_None()),
                false => ffi::PyObject_GetAttrString(inner, c"cr_frame".as_ptr()),
            }
        }
    }

    /// The coroutine written in Python of the same call; NULL with an exception set.
    ///
    /// # Safety
    /// The interpreter must be attached, and the coroutine not have begun.
    unsafe fn in_python(&self) -> *mut PyObject {
        let Objects { function, object, sql, params, timeout, .. } = self.of;
        // SAFETY: the arguments are owned by the coroutine, whose state does not let them go meanwhile.
        unsafe {
            let mut arguments: Vec<_> = [object, sql].into_iter().filter(|object| !object.is_null()).collect();
            match self.method {
                _ if params.is_null() => {}
                Method::Query(_) | Method::Exit => {
                    arguments.extend((0..ffi::PyTuple_GET_SIZE(params)).map(|at| ffi::PyTuple_GET_ITEM(params, at)));
                }
                _ => arguments.push(params),
            }
            let count = arguments.len();
            let names = match (timeout.is_null(), PLACES.get()) {
                (false, Some(places)) => places.names.as_ptr(),
                _ => null_mut(),
            };
            arguments.push(timeout);
            ffi::PyObject_Vectorcall(function, arguments.as_ptr(), count, names)
        }
    }

    /// Lets everything go that the coroutine has but its function.
    unsafe fn release(this: *mut Self, state: State) {
        // SAFETY: a live coroutine. What it owns is out of it before it is released, which may run any code.
        unsafe {
            let of = (*this).of;
            (*this).state = state;
            (*this).of = Objects::of_ended(of.function);
            for object in of.all().into_iter().skip(1) {
                ffi::Py_XDECREF(object);
            }
        }
    }

    /// The first step.
    unsafe fn begin(this: *mut Self) -> Step {
        // SAFETY: a live coroutine that has not begun; the caller refers to it.
        unsafe {
            (*this).state = State::Running;
            let begun = PLACES.get().and_then(|places| match (*this).method {
                Method::Execute => places.begin_execute(&mut (*this).of),
                Method::FetchAll => places.fetchall(&raw const (*this).of.object, 1, null_mut()).map(Begun::of),
                Method::FetchOne => places.fetchone(&raw const (*this).of.object, 1, null_mut()).map(Begun::of),
                Method::Close => places.close_on_loop((*this).of.object).map(Begun::of),
                Method::Exit => Some(places.begin_exit(&mut (*this).of)),
                Method::Enter => Some(Begun::Returned(ffi::Py_NewRef((*this).of.object))),
                Method::ExecuteNew => Some(match places.begin_with_new(&mut (*this).of) {
                    Some(begun) => {
                        // From here on it is the call of the cursor that it has.
                        (*this).method = Method::Execute;
                        begun
                    }
                    None => places.begin_new(&mut (*this).of),
                }),
                Method::Query(wanted) => places.begin_query(&mut (*this).of, wanted),
            });
            match begun {
                Some(Begun::Returned(object)) => Step::Returns(object),
                Some(Begun::Submitted) => Self::wait(this, ffi::Py_None()),
                Some(Begun::Called) => Self::pass_on(this, ffi::Py_None()),
                Some(Begun::Failed) => Self::fail(this),
                Some(Begun::Raised) => Step::Raises,
                None => {
                    let inner = (*this).in_python();
                    if inner.is_null() {
                        return Step::Raises;
                    }
                    (*this).of.inner = inner;
                    Self::pass_on(this, ffi::Py_None())
                }
            }
        }
    }

    /// The next step of a coroutine that awaits its future.
    unsafe fn wait(this: *mut Self, value: *mut PyObject) -> Step {
        // SAFETY: a live coroutine that the caller refers to.
        unsafe {
            let mut object = null_mut();
            let step = Step::of_send(ffi::PyIter_Send((*this).of.inner, value, &raw mut object), object);
            Self::waited(this, step)
        }
    }

    /// What the iterator of its future has done.
    unsafe fn waited(this: *mut Self, step: Step) -> Step {
        // SAFETY: as in `wait`.
        unsafe {
            match step {
                Step::Yields(object) => {
                    (*this).state = State::Waiting;
                    Step::Yields(object)
                }
                Step::Raises => Self::fail(this),
                Step::Returns(outcome) => {
                    let taken = PLACES.get().map(|places| match (*this).method {
                        Method::Query(wanted) => places.end_query(&(*this).of, wanted, outcome),
                        _ => places.end_execute(&(*this).of, outcome),
                    });
                    match taken {
                        Some(Begun::Returned(object)) => Step::Returns(object),
                        Some(Begun::Failed) => Self::fail(this),
                        _ => Step::Raises,
                    }
                }
            }
        }
    }

    /// A step of the coroutine written in Python.
    unsafe fn pass_on(this: *mut Self, value: *mut PyObject) -> Step {
        // SAFETY: as in `wait`.
        unsafe {
            let mut object = null_mut();
            let step = Step::of_send(ffi::PyIter_Send((*this).of.inner, value, &raw mut object), object);
            if let Step::Yields(_) = step {
                (*this).state = State::InPython;
            }
            step
        }
    }

    /// The statement has failed, or the wait for it, with the exception that is set.
    #[cold]
    unsafe fn fail(this: *mut Self) -> Step {
        // SAFETY: as in `wait`.
        unsafe {
            let is_of_cursor = (*this).method == Method::Execute;
            raise_left(&(*this).of, is_of_cursor);
        }
        Step::Raises
    }

    /// A step that ends the coroutine, unless it waits again.
    unsafe fn step(this: *mut Self, step: impl FnOnce() -> Step) -> Step {
        // SAFETY: as in `wait`.
        unsafe {
            (*this).state = State::Running;
            // What it calls may drop the last other reference.
            ffi::Py_INCREF(this.cast());
            // A panic must not leave a call of the interpreter's.
            let step = catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| {
                ffi::PyErr_SetString(ffi::PyExc_SystemError, c"the engine has panicked".as_ptr());
                Step::Raises
            });
            let step = match step {
                // Whatever `close` has returned, the exception is the block's.
                Step::Returns(object) if (*this).method == Method::Exit => {
                    ffi::Py_DECREF(object);
                    Step::Returns(ffi::Py_NewRef(ffi::Py_None()))
                }
                step => step,
            };
            if let Step::Raises = step {
                not_stopped();
            }
            if !matches!(step, Step::Yields(_)) {
                Self::release(this, State::Finished);
            }
            ffi::Py_DECREF(this.cast());
            step
        }
    }

    /// `send(value)`.
    unsafe fn send(this: *mut Self, value: *mut PyObject) -> Step {
        // SAFETY: called with a live coroutine, which the caller refers to for as long as it runs.
        unsafe {
            match (*this).state {
                State::Created | State::Made if value != ffi::Py_None() => {
                    Step::raise(PyTypeError::new_err("can't send non-None value to a just-started coroutine"))
                }
                State::Created => Self::step(this, || Self::begin(this)),
                State::Waiting => Self::step(this, || Self::wait(this, value)),
                State::Made | State::InPython => Self::step(this, || Self::pass_on(this, value)),
                State::Running => Step::raise(PyValueError::new_err("coroutine already executing")),
                State::Finished => Step::raise(PyRuntimeError::new_err("cannot reuse already awaited coroutine")),
            }
        }
    }

    /// `throw(type, value, traceback)`, whose arguments are those of a call.
    unsafe fn throw(this: *mut Self, args: *const *mut PyObject, count: usize) -> Step {
        // SAFETY: as in `send`; the arguments are live as long as the call.
        unsafe {
            let thrown = |inner: *mut PyObject| {
                let Some(places) = PLACES.get() else { return Step::Raises };
                let arguments: Vec<_> = std::iter::once(inner).chain((0..count).map(|at| *args.add(at))).collect();
                let name = places.throw.as_ptr();
                Step::of_object(ffi::PyObject_VectorcallMethod(name, arguments.as_ptr(), arguments.len(), null_mut()))
            };
            match (*this).state {
                State::Created => Self::step(this, || {
                    let inner = (*this).in_python();
                    if inner.is_null() {
                        return Step::Raises;
                    }
                    (*this).of.inner = inner;
                    thrown(inner)
                }),
                State::Waiting => Self::step(this, || Self::waited(this, thrown((*this).of.inner))),
                State::Made | State::InPython => Self::step(this, || {
                    let step = thrown((*this).of.inner);
                    if let Step::Yields(_) = step {
                        (*this).state = State::InPython;
                    }
                    step
                }),
                State::Running => Step::raise(PyValueError::new_err("coroutine already executing")),
                State::Finished => Step::raise(PyRuntimeError::new_err("cannot reuse already awaited coroutine")),
            }
        }
    }

    /// `close()`.
    unsafe fn close(this: *mut Self) -> *mut PyObject {
        // SAFETY: as in `send`.
        unsafe {
            match (*this).state {
                State::Created => Self::release(this, State::Finished),
                State::Finished => {}
                State::Running => {
                    ffi::PyErr_SetString(ffi::PyExc_ValueError, c"coroutine already executing".as_ptr());
                    return null_mut();
                }
                State::Made | State::Waiting | State::InPython => {
                    let exit = [ffi::PyExc_GeneratorExit];
                    match Self::throw(this, exit.as_ptr(), exit.len()) {
                        Step::Yields(object) => {
                            ffi::Py_DECREF(object);
                            let ignored = c"coroutine ignored GeneratorExit";
                            ffi::PyErr_SetString(ffi::PyExc_RuntimeError, ignored.as_ptr());
                            return null_mut();
                        }
                        Step::Returns(object) => ffi::Py_DECREF(object),
                        Step::Raises if ffi::PyErr_ExceptionMatches(ffi::PyExc_GeneratorExit) != 0 => {
                            ffi::PyErr_Clear();
                        }
                        Step::Raises => return null_mut(),
                    }
                }
            }
            ffi::Py_NewRef(ffi::Py_None())
        }
    }
}

/// A coroutine raises RuntimeError in place of StopIteration (PEP 479).
unsafe fn not_stopped() {
    // SAFETY: the interpreter is attached, and an exception is set.
    unsafe {
        if ffi::PyErr_ExceptionMatches(ffi::PyExc_StopIteration) != 0 {
            let py = Python::assume_attached();
            let raised = PyRuntimeError::new_err("coroutine raised StopIteration");
            raised.set_cause(py, Some(PyErr::fetch(py)));
            raised.restore(py);
        }
    }
}

/// Makes the class.
///
/// # Errors
/// MemoryError.
pub(super) fn prepare(py: Python<'_>) -> PyResult<()> {
    class::class(py).map(drop)
}

/// The call of a method; `None` where the arguments are not usual ones. NULL with an exception set if there is no memory.
///
/// # Safety
/// The interpreter must be attached; the arguments must be those of a vectorcall of `function`.
pub(super) unsafe fn call(
    method: Method,
    function: *mut PyObject,
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> Option<*mut PyObject> {
    // SAFETY: the arguments are live as long as the call. The class is one of coroutines, whose instances are laid out as
    // `Coroutine`; allocation returns a zeroed one that is tracked, or NULL with an exception set. It owns its objects.
    unsafe {
        if cfg!(not(Py_3_11)) {
            // `inspect.getcoroutinestate` looks at the frame of one that waits, and there is none.
            return None;
        }
        let places = PLACES.get()?;
        let timeout = places.timeout_of(args, count, names, null_mut())?;
        let (least, most) = match method {
            Method::Execute | Method::ExecuteNew => (2, 3),
            Method::FetchAll | Method::FetchOne | Method::Close | Method::Enter => (1, 1),
            Method::Exit => (4, 4),
            Method::Query(_) => (2, usize::MAX),
        };
        if count < least || count > most || (matches!(method, Method::Enter | Method::Exit) && !timeout.is_null()) {
            return None;
        }
        let method = match method {
            Method::Query(_) if places.connection.has(*args) => method,
            Method::Execute if places.connection.has(*args) => Method::ExecuteNew,
            Method::Query(_) | Method::ExecuteNew => return None,
            _ if places.cursor.has(*args) => method,
            _ => return None,
        };
        let params = match method {
            _ if count < 3 => null_mut(),
            Method::Query(_) | Method::Exit => places.rest(args, count),
            _ => ffi::Py_NewRef(*args.add(2)),
        };
        if count > 2 && params.is_null() {
            return Some(params);
        }
        let Ok(class) = class::class(Python::assume_attached()).map(PyTypeMethods::as_type_ptr) else { return None };
        let made = ffi::PyType_GenericAlloc(class, 0);
        if made.is_null() {
            ffi::Py_XDECREF(params);
            return Some(made);
        }
        let this = made.cast::<Coroutine>();
        (*this).method = method;
        (*this).state = State::Created;
        (*this).of.function = ffi::Py_NewRef(function);
        (*this).of.object = ffi::Py_NewRef(*args);
        (*this).of.sql = if count > 1 { ffi::Py_NewRef(*args.add(1)) } else { null_mut() };
        (*this).of.params = params;
        (*this).of.timeout = ffi::Py_XNewRef(timeout);
        Some(made)
    }
}
