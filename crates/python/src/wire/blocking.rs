//! Waiting on a blocking connection.

use super::{Io, State, Wire};
use crate::call::Ticket;
use crate::errors;
use headrace_core::{Fatal, Inbox, Outbox, limits};
use headrace_pump::{Link, Liveness, Progress};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a thread that waits for a stream's or COPY's end sleeps at most: a wake-up between its look and its sleep is lost.
const LOOK: Duration = Duration::from_millis(20);

/// How often [`Wire::nudge`] sends and reads at most.
const NUDGE_TURNS: usize = 16;

/// How long it waits at most.
const NUDGE_WAIT: Duration = Duration::from_millis(10);

impl Wire {
    /// Moves bytes once.
    fn turn(&self, py: Python<'_>, state: &mut State, deadline: Option<Instant>) -> PyResult<Progress> {
        let State { machine, outbox, .. } = state;
        machine.transmit(py, outbox);
        self.turn_with(py, state, |link, inbox, outbox| link.exchange(inbox, outbox, deadline))
    }

    fn turn_with(
        &self,
        py: Python<'_>,
        state: &mut State,
        go: impl FnOnce(&mut Link, &mut Inbox, &mut Outbox) -> Result<Progress, Fatal> + Send,
    ) -> PyResult<Progress> {
        let State { io, inbox, outbox, .. } = state;
        let Io::Blocking(link) = io else {
            return Err(errors::interface(py, "the connection is not open"));
        };
        let progress = py.detach(|| go(link, inbox, outbox));
        match &progress {
            Ok(Progress::Received) => self.digest(py, state),
            Ok(Progress::Sent | Progress::Timeout) => {}
            Ok(Progress::Tick) => {
                // The handshake may be over without a byte for the machine.
                self.digest(py, state);
                py.check_signals()?;
            }
            Ok(Progress::Eof) => {
                self.digest(py, state);
                let reason = self.ended("the server closed the connection unexpectedly");
                self.die(py, state, &reason);
            }
            Err(fatal) => {
                // What came before the reset, an error message above all, still counts.
                self.digest(py, state);
                let fatal = if self.closing.load(Ordering::Relaxed) { self.ended("") } else { fatal.clone() };
                self.die(py, state, &fatal);
            }
        }
        Ok(progress.unwrap_or(Progress::Eof))
    }

    /// Moves bytes once, within `deadline` and the time that nothing may move at all, which began at `idle`. Says
    /// whether the deadline has passed.
    pub(super) fn turn_in_time(
        &self,
        py: Python<'_>,
        state: &mut State,
        deadline: Option<Instant>,
        idle: &mut Instant,
    ) -> PyResult<bool> {
        let (limit, what) = match (state.outbox.is_empty(), self.write_timeout) {
            (false, Some(limit)) => (Some(limit), "write_timeout"),
            _ => (self.read_timeout, "read_timeout"),
        };
        let silent = limit.and_then(|limit| idle.checked_add(limit));
        let until = [deadline, silent].into_iter().flatten().min();
        match self.turn_with(py, state, |link, inbox, outbox| link.exchange(inbox, outbox, until))? {
            Progress::Timeout if deadline.is_some_and(|deadline| Some(deadline) <= until) => return Ok(true),
            Progress::Timeout => {
                let limit = limit.unwrap_or_default().as_secs_f64();
                let reason =
                    format!("the connection was given up: nothing was heard of the server for {what}={limit} s");
                self.die(py, state, &Fatal::gone(reason));
            }
            Progress::Received | Progress::Sent if limit.is_some() => *idle = Instant::now(),
            _ => {}
        }
        Ok(false)
    }

    /// Waits until the stream or COPY that has the connection for itself may have let go of it.
    fn wait_for_release(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(pyo3::exceptions::PyTimeoutError::new_err("the time is up"));
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        py.detach(|| {
            if let Ok(guard) = self.released.0.lock() {
                // Signals are looked at in between.
                let _ = self.released.1.wait_timeout(guard, left.map_or(LOOK, |left| left.min(LOOK)));
            }
        });
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        py.check_signals()
    }

    /// Wakes those who wait in [`Wire::wait_for_release`].
    pub(super) fn tell_waiting(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.released.1.notify_all();
        }
    }

    /// Why the connection came to its end: ours, or as `otherwise` has it.
    fn ended(&self, otherwise: &str) -> Fatal {
        let closing = self.closing.load(Ordering::Relaxed);
        Fatal::gone(if closing { "the connection was closed by another thread" } else { otherwise })
    }
}

#[pymethods]
impl Wire {
    /// Waits until `ticket` is done, and gives its result or raises its error.
    ///
    /// After `timeout` seconds it raises TimeoutError, and whatever a signal handler raises comes through at once;
    /// the request is then still in flight, and the ticket can be waited for again.
    #[pyo3(signature = (ticket, timeout=None))]
    fn wait(&self, py: Python<'_>, ticket: &Bound<'_, Ticket>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let (bound, ticket) = (ticket.as_any(), ticket.get());
        if let Some(outcome) = ticket.take() {
            return outcome;
        }
        let deadline = timeout.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.max(0.0)));
        let mut idle = Instant::now();
        let mut state = self.hold(py)?;
        loop {
            // Another thread may have waited for it meanwhile.
            if let Some(outcome) = ticket.take() {
                return outcome;
            }
            self.check_open(py, &state)?;
            let State { machine, outbox, .. } = &mut *state;
            machine.transmit(py, outbox);
            // What had its last reply may end only now, when it finds that it has nothing more to send.
            if ticket.is_done() {
                continue;
            }
            if state.machine.is_occupied() {
                if state.machine.is_kept_waiting(bound) {
                    // Not with the lock held: whoever has the connection needs it.
                    drop(state);
                    self.wait_for_release(py, deadline)?;
                    idle = Instant::now();
                    state = self.hold(py)?;
                    continue;
                }
            } else {
                self.tell_waiting();
            }
            if self.turn_in_time(py, &mut state, deadline, &mut idle)? && !ticket.is_done() {
                return Err(pyo3::exceptions::PyTimeoutError::new_err("the time is up"));
            }
        }
    }

    /// Sends what the socket takes at once, and reads what is there: a pipeline is on its way while more is queued.
    /// Where nothing more can be sent before an answer has come, the description of a new statement, it waits a little.
    fn nudge(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.hold(py)?;
        let now = Instant::now();
        for _ in 0..NUDGE_TURNS {
            self.check_open(py, &state)?;
            if let Io::Transport { .. } = state.io {
                break;
            }
            let State { machine, outbox, .. } = &mut *state;
            machine.transmit(py, outbox);
            let stuck = machine.in_flight() < machine.queued() && outbox.len() < limits::OUTBOX_HIGH_BYTES;
            let until = if stuck { now + NUDGE_WAIT } else { now };
            if self.turn(py, &mut state, Some(until))? == Progress::Timeout {
                break;
            }
        }
        Ok(())
    }

    /// Sends what is queued without waiting for anything but room in the socket.
    fn push(&self, py: Python<'_>, limit: usize) -> PyResult<()> {
        let mut state = self.hold(py)?;
        loop {
            let State { machine, outbox, .. } = &mut *state;
            machine.transmit(py, outbox);
            if state.outbox.len() <= limit {
                if !state.machine.is_occupied() {
                    self.tell_waiting();
                }
                return Ok(());
            }
            self.check_open(py, &state)?;
            self.turn_with(py, &mut state, Link::send)?;
        }
    }

    /// Whether an idle connection is still there, without a round trip. What the server said unasked is handled.
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        if self.closed.load(Ordering::Relaxed) || self.is_inherited() {
            return Ok(false);
        }
        let mut state = self.hold(py)?;
        let Io::Blocking(link) = &state.io else {
            return Ok(!matches!(state.io, Io::None) && state.dead.is_none());
        };
        match link.peek() {
            Liveness::Quiet => Ok(true),
            Liveness::Closed => {
                let reason = Fatal::gone("the server closed the connection while it was idle");
                self.die(py, &mut state, &reason);
                Ok(false)
            }
            Liveness::Data => {
                let deadline = Some(Instant::now());
                self.turn(py, &mut state, deadline)?;
                Ok(state.dead.is_none())
            }
        }
    }

    /// The socket's number, or -1.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let state = self.hold(py)?;
        let transport = match &state.io {
            Io::Blocking(link) => return Ok(link.fd()),
            Io::Transport { transport, .. } => transport.clone_ref(py),
            Io::None => return Ok(-1),
        };
        drop(state);
        let socket = transport.call_method1(py, "get_extra_info", ("socket",))?;
        if socket.is_none(py) { Ok(-1) } else { socket.call_method0(py, "fileno")?.extract(py) }
    }
}
