//! Resumes a task in the callback of the loop that has read the reply that the task awaits.
//!
//! A future schedules the wake-up of its task for the next turn of the loop, which costs on asyncio a sixth of a statement
//! and does nothing else. So a future that a read of the loop completes loses the wake-up before it has its result, and
//! the wake-up is called once the read is processed whole and the engine has released its lock. It is called at all only
//! if no task runs. The future itself is the loop's own, with all that asyncio makes of it.
//!
//! Scheduled for the next turn as ever are:
//!
//! - The wake-ups of a read that has answered several requests: what their tasks request then is sent in one write.
//! - That of a read that has filled its place: uvloop reads on within the turn, and others are to have theirs. So a
//!   connection resumes at most one task in a turn of the loop, which costs the others no more than a wake-up does.
//! - Callbacks that are not a task's wake-up, and wake-ups of tasks that are not those of CPython's `_asyncio`.
//! - What does not come by a read of the loop: a cancellation, the end of a limit, a loss.

use crate::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The wake-up of a task whose future is done.
#[derive(Debug)]
pub struct WakeUp {
    function: Py<PyAny>,
    context: Py<PyAny>,
    future: Py<PyAny>,
}

/// What a read of the loop has completed so far.
#[derive(Debug)]
enum Completed {
    /// This thread does not read for a loop.
    NoRead,
    Nothing,
    One(WakeUp),
    Several,
}

thread_local! {
    static COMPLETED: Cell<Completed> = const { Cell::new(Completed::NoRead) };
}

/// A read of the loop in this thread.
#[derive(Debug)]
pub struct Read {
    /// What the read around this one has completed, if a function of the program's own runs a loop within it.
    around: Option<Completed>,
}

impl Read {
    /// Begins one.
    pub fn begin() -> Self {
        Self { around: Some(COMPLETED.replace(Completed::Nothing)) }
    }

    /// Ends it. Returns the wake-up, if exactly one is due.
    pub fn end(mut self) -> Option<WakeUp> {
        self.over()
    }

    fn over(&mut self) -> Option<WakeUp> {
        match COMPLETED.replace(self.around.take()?) {
            Completed::One(wake_up) => Some(wake_up),
            _ => None,
        }
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        // After a panic.
        if let Some(wake_up) = self.over() {
            Python::attach(|py| wake_up.schedule(py));
        }
    }
}

/// A future of the loop is about to be completed, unless it is done. If it is the first one of this thread's read that
/// anything waits for, and a task does, its wake-up is kept for the end of the read, and the result is true: it is not done.
///
/// # Errors
/// None of asyncio's own futures.
pub fn take_wake_up(future: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (completed, is_taken) = match COMPLETED.replace(Completed::Several) {
        Completed::NoRead => (Completed::NoRead, false),
        Completed::Nothing => match waiting(future)? {
            Waiting::Nobody => (Completed::Nothing, false),
            Waiting::Task(wake_up) => (Completed::One(wake_up), true),
            Waiting::Others => (Completed::Several, false),
        },
        Completed::One(first) => {
            first.schedule(future.py());
            (Completed::Several, false)
        }
        Completed::Several => (Completed::Several, false),
    };
    COMPLETED.set(completed);
    Ok(is_taken)
}

static FUTURE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TASK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A class of asyncio, which a blocking connection does not import.
fn class<'p>(py: Python<'p>, known: &'static PyOnceLock<Py<PyAny>>, name: &str) -> PyResult<&'p Bound<'p, PyAny>> {
    Ok(known.get_or_try_init(py, || py.import("asyncio")?.getattr(name).map(Bound::unbind))?.bind(py))
}

/// What waits for a future.
enum Waiting {
    Nobody,
    /// A task alone, whose wake-up the future does not have any more.
    Task(WakeUp),
    Others,
}

fn waiting(future: &Bound<'_, PyAny>) -> PyResult<Waiting> {
    let py = future.py();
    if !future.get_type().is(class(py, &FUTURE, "Future")?) {
        return Ok(Waiting::Others);
    }
    // The only way to them: None or a list.
    let callbacks = future.getattr(pyo3::intern!(py, "_callbacks"))?;
    let Ok(callbacks) = callbacks.cast_exact::<PyList>() else { return Ok(Waiting::Nobody) };
    let callback = match callbacks.len() {
        0 => return Ok(Waiting::Nobody),
        1 => callbacks.get_item(0)?.cast_into::<PyTuple>()?,
        _ => return Ok(Waiting::Others),
    };
    let (function, context) = (callback.get_item(0)?, callback.get_item(1)?);
    if !is_wake_up(&function)? {
        return Ok(Waiting::Others);
    }
    future.call_method1(pyo3::intern!(py, "remove_done_callback"), (&function,))?;
    let (function, context, future) = (function.unbind(), context.unbind(), future.clone().unbind());
    Ok(Waiting::Task(WakeUp { function, context, future }))
}

/// Returns true if a callback is the wake-up of a task of CPython's `_asyncio`, which raises nothing but what ends the
/// loop. Tasks of another kind are resumed by the loop.
fn is_wake_up(callback: &Bound<'_, PyAny>) -> PyResult<bool> {
    /// The address of its function, once it is known.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let py = callback.py();
    let Some(address) = ffi::address_of_function(callback) else { return Ok(false) };
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(known == address);
    }
    let is_it = callback.getattr("__name__")?.eq("task_wakeup")?
        && callback.getattr("__self__")?.is_instance(class(py, &TASK, "Task")?)?;
    if is_it {
        KNOWN.store(address, Ordering::Relaxed);
    }
    Ok(is_it)
}

impl WakeUp {
    /// Resumes the task.
    ///
    /// # Errors
    /// What the task does not keep as its own outcome: KeyboardInterrupt and SystemExit.
    pub fn call(self, py: Python<'_>) -> PyResult<()> {
        let Self { function, context, future } = self;
        context.call_method1(py, pyo3::intern!(py, "run"), (function, future))?;
        Ok(())
    }

    /// Has the loop resume the task in its next turn.
    pub fn schedule(self, py: Python<'_>) {
        let Self { function, context, future } = self;
        let future = future.bind(py);
        let scheduled = future
            .call_method0(pyo3::intern!(py, "get_loop"))
            .and_then(|event_loop| ffi::call_soon(&event_loop, function.bind(py), future, context.bind(py)));
        if let Err(error) = scheduled {
            // The loop is closed: the task is never resumed.
            error.write_unraisable(py, Some(future));
        }
    }
}
