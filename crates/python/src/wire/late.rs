//! The limits in time of statements that tasks await. Each is kept with its request, so that nothing is left to do when
//! that is answered; one timer of the connection, which is Python's, asks for those that are late.

use super::{Wire, WireState, asyncio::OwnLoop, blocking};
use crate::limits::TIMER_EARLY;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds that a call may take, from the `Limit` of Python; `None` for no limit.
pub(crate) struct Seconds(pub Option<f64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Seconds {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self(None));
        }
        if given.is_exact_instance_of::<PyFloat>() || given.is_exact_instance_of::<PyInt>() {
            match given.extract::<f64>() {
                Ok(seconds) if !seconds.is_nan() => return Ok(Self(Some(seconds))),
                Err(error) if !error.is_instance_of::<PyOverflowError>(given.py()) => return Err(error),
                _ => {}
            }
        }
        let left = given.py().import("headrace._shared.limits")?.getattr("seconds_left")?;
        Ok(Self(Some(left.call1((given,))?.extract()?)))
    }
}

/// A timer that the selector of a loop waits for: its file descriptor can be read from once it is due.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct Alarm(Mutex<Option<headrace_io::Alarm>>);

#[pymethods]
impl Alarm {
    /// One that is due after a number of seconds. Raises OSError where the system has none.
    #[new]
    fn new(seconds: f64) -> PyResult<Self> {
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        Ok(Self(Mutex::new(Some(headrace_io::Alarm::after(time)?))))
    }

    /// The number of its file descriptor, -1 once it is closed.
    fn fileno(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(-1, headrace_io::Alarm::fd)
    }

    /// Closes it.
    fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Wire {
    /// The future of a statement that was queued just now, which is late after `timeout` seconds.
    pub(super) fn limited(
        &self,
        py: Python<'_>,
        own: &OwnLoop,
        future: Py<PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let Some(until) = blocking::deadline(timeout) else { return Ok(future) };
        let mut state = self.lock(py)?;
        let (id, _) = state.latest;
        state.connection.machine.limit(id, until);
        if state.timer_due.is_none_or(|due| until < due) {
            state.timer_due = Some(until);
            drop(state);
            if let Err(error) = self.arm(py, own, until) {
                self.discard(py, future.bind(py))?;
                return Err(error);
            }
        }
        Ok(future)
    }

    #[cold]
    fn arm(&self, py: Python<'_>, own: &OwnLoop, until: Instant) -> PyResult<()> {
        if let Some(arm) = own.arm.get() {
            arm.call1(py, (until.saturating_duration_since(Instant::now()).as_secs_f64(),))?;
        }
        Ok(())
    }
}

impl WireState {
    /// The futures of the statements that are late, and when the next one will be.
    fn late(&mut self, py: Python<'_>) -> (Vec<Py<PyAny>>, Option<Duration>) {
        let now = Instant::now();
        let (late, next) = self.connection.machine.late(py, now + TIMER_EARLY);
        self.timer_due = next;
        (late, next.map(|next| next.saturating_duration_since(now)))
    }
}

#[pymethods]
impl Wire {
    /// `arm` is called with the number of seconds after which [`Wire::overdue`] is to be called at the latest.
    fn on_limit(&self, arm: Py<PyAny>) {
        if let Some(own) = &self.event_loop {
            let _ = own.arm.set(arm);
        }
    }

    /// The futures of the statements whose time is up, and the seconds after which this is to be called again, if any
    /// other has a limit.
    fn overdue(&self, py: Python<'_>) -> PyResult<(Vec<Py<PyAny>>, Option<f64>)> {
        let (late, next) = self.lock(py)?.late(py);
        Ok((late, next.map(|next| next.as_secs_f64())))
    }
}
