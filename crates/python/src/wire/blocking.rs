//! Waiting on a blocking connection.

use super::{Io, Wire, WireState, thread_number};
use crate::call::Ticket;
use crate::errors;
use crate::limits;
use crate::limits::LOOK;
use crate::limits::PUMP_PAUSE;
use crate::limits::PUMP_TURNS;
use crate::limits::PUMP_WAIT;
use headrace_connection::Buffers;
use headrace_core::{Fatal, FatalKind};
use headrace_io::{Link, Liveness, Progress};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

impl Wire {
    /// Moves bytes once.
    fn turn(&self, py: Python<'_>, state: &mut WireState, deadline: Option<Instant>) -> PyResult<Progress> {
        self.transmit(py, state);
        self.turn_with(py, state, |link, buffers| link.exchange(buffers, deadline, 0))
    }

    /// Encodes queued requests.
    pub(super) fn transmit(&self, py: Python<'_>, state: &mut WireState) {
        self.process_input_due(py, state);
        self.take_up_pauses(state);
        if state.connection.left_until().is_some() {
            self.check_left(py, state);
        }
        state.connection.transmit(py);
    }

    /// Notes that the server has ended an idle connection, before a request is sent on it.
    fn check_released(&self, py: Python<'_>, state: &mut WireState) {
        let machine = &state.connection.machine;
        if machine.in_flight() > 0 || machine.queued() == 0 || !machine.may_be_released() {
            return;
        }
        if let Io::Blocking(link) = &state.io
            && link.peek(&state.connection.buffers) == Liveness::Closed
        {
            self.lose(py, state, &Fatal::end_of_input());
        }
    }

    /// Passes pauses that were begun or ended without the lock on to the machine.
    pub(super) fn take_up_pauses(&self, state: &mut WireState) {
        let due = self.pauses_due.swap(0, Ordering::SeqCst);
        for _ in 0..due {
            state.connection.machine.pause();
        }
        for _ in due..0 {
            state.connection.machine.unpause();
        }
    }

    /// Closes the connection if the server does not answer the cancelled request that was left to the session.
    fn check_left(&self, py: Python<'_>, state: &mut WireState) {
        if let Err(fatal) = state.connection.machine.check_left(Instant::now()) {
            self.die(py, state, &fatal);
        }
    }

    fn turn_with(
        &self,
        py: Python<'_>,
        state: &mut WireState,
        go: impl FnOnce(&mut Link, &mut Buffers) -> Result<Progress, Fatal> + Send,
    ) -> PyResult<Progress> {
        let WireState { io, connection, .. } = state;
        let Io::Blocking(link) = io else {
            return Err(errors::interface(py, "the connection is not open"));
        };
        if let Some(waker) = self.waker() {
            link.listen_to(waker);
        }
        let progress = py.detach(|| go(link, &mut connection.buffers));
        match &progress {
            Ok(Progress::Received) => self.process_input(py, state),
            Ok(Progress::Sent | Progress::Timeout) => {}
            // The handshake may be over without a byte for the machine.
            Ok(Progress::Tick) => self.process_input(py, state),
            Ok(Progress::Eof) => self.lose(py, state, &self.ended(Fatal::end_of_input())),
            Err(fatal) => self.lose(py, state, &self.ended(fatal.clone())),
        }
        Ok(progress.unwrap_or(Progress::Eof))
    }

    /// Moves bytes once, within `deadline` and the time in which a byte must move, which began at `idle`, or begins now.
    /// Returns true if the deadline has passed.
    pub(super) fn turn_in_time(
        &self,
        py: Python<'_>,
        state: &mut WireState,
        deadline: Option<Instant>,
        idle: &mut Option<Instant>,
    ) -> PyResult<bool> {
        let silence = state.connection.silence(self.limits);
        let silent = silence.and_then(|silence| idle.get_or_insert_with(Instant::now).checked_add(silence.limit));
        let until = [deadline, silent].into_iter().flatten().min();
        // Nobody else is to wait while replies accumulate.
        let replies = if self.is_wanted() { 0 } else { state.connection.machine.in_flight() };
        match self.turn_with(py, state, |link, buffers| link.exchange(buffers, until, replies))? {
            Progress::Timeout if deadline.is_some_and(|deadline| Some(deadline) <= until) => return Ok(true),
            Progress::Timeout => {
                if let Some(silence) = silence {
                    self.die(py, state, &silence.reason());
                }
            }
            // From its next turn on.
            Progress::Received | Progress::Sent => *idle = None,
            _ => {}
        }
        Ok(false)
    }

    /// Waits until the stream or COPY that has the connection to itself may have released it.
    fn wait_for_release(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
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

    /// Wakes the threads in [`Wire::wait_for_release`].
    pub(crate) fn complete_waiting(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.released.1.notify_all();
        }
    }

    /// Moves bytes until `done` returns a result: as the leader, or until another thread has received it, which
    /// `is_done` decides without the lock. If it needs the lock, `patience` is how long to let other threads lead.
    /// `asked` is the ticket of the request, if it is one that is waited for.
    ///
    /// `None` when `is_done`, or the time is up. Signal handlers run without the lock.
    pub(crate) fn drive<T>(
        &self,
        py: Python<'_>,
        deadline: Option<Instant>,
        patience: Option<Duration>,
        asked: Option<&Bound<'_, PyAny>>,
        is_done: impl Fn() -> bool + Sync,
        mut done: impl FnMut(&mut WireState) -> PyResult<Option<T>>,
    ) -> PyResult<Option<T>> {
        // The clock is asked where something is not answered at once.
        let (mut idle, mut looked) = (None, None);
        let mut lead = self.follow(py, &is_done, deadline, patience)?;
        if let (Some(state), Some(asked)) = (&mut lead, asked)
            && let Some(id) = self.id_of(state, asked)
        {
            state.connection.machine.request_reply(id);
        }
        loop {
            let late = deadline.is_some_and(|deadline| deadline <= Instant::now());
            let mut state = match lead.take() {
                Some(state) => state,
                None if late || is_done() => return Ok(None),
                None => self.lock(py)?,
            };
            if let Some(result) = done(&mut state)? {
                return Ok(Some(result));
            }
            self.check_open(py, &state)?;
            self.check_released(py, &mut state);
            if self.is_to_reconnect(&state) {
                self.reconnect(py, &mut state)?;
            }
            self.transmit(py, &mut state);
            // A request that had its last reply may end only now, when it turns out that it has nothing more to send.
            if let Some(result) = done(&mut state)? {
                return Ok(Some(result));
            }
            let full = !state.connection.may_read();
            if !full && !state.connection.machine.is_occupied() {
                self.complete_waiting();
            } else if !late && (full || asked.is_some_and(|asked| self.is_kept_waiting(&state, asked))) {
                if full {
                    // Its reader may follow.
                    self.notify_followers();
                }
                // Not with the lock held: the thread that has the connection needs it.
                drop(state);
                self.wait_for_release(py, deadline)?;
                idle = None;
                lead = self.follow(py, &is_done, deadline, patience)?;
                continue;
            }
            if full {
                // The deadline has passed, and received rows would have to be kept in memory.
                return Ok(None);
            }
            // Also after the deadline: what is there already counts.
            let is_over = self.turn_in_time(py, &mut state, deadline, &mut idle)? || late;
            if let Some(result) = done(&mut state)? {
                return Ok(Some(result));
            }
            if is_over {
                return Ok(None);
            }
            let now = Instant::now();
            let look =
                looked.is_none_or(|looked| now.duration_since(looked) >= Duration::from_millis(limits::LOOK_MILLIS));
            if look || self.is_wanted() {
                drop(state);
                if look {
                    looked = Some(now);
                    py.check_signals()?;
                }
                lead = self.follow(py, &is_done, deadline, patience)?;
            } else {
                self.notify_followers();
                lead = Some(state);
            }
        }
    }

    /// Waits for the result of a request; `answered` is called with the state that has it, unless another thread has
    /// received it.
    fn wait_for(
        &self,
        py: Python<'_>,
        ticket: &Bound<'_, Ticket>,
        timeout: Option<f64>,
        mut answered: impl FnMut(&WireState),
    ) -> PyResult<Py<PyAny>> {
        let (bound, ticket) = (ticket.as_any(), ticket.get());
        let deadline = deadline(timeout);
        let done = |state: &mut WireState| {
            Ok(ticket.take().inspect(|_| {
                answered(state);
                state.rest();
            }))
        };
        let done = self.drive(py, deadline, None, Some(bound), || ticket.is_done(), done)?;
        let done = done.or_else(|| ticket.take());
        done.unwrap_or_else(|| Err(pyo3::exceptions::PyTimeoutError::new_err("the time is up")))
    }

    /// Waits for the result of a statement that this call of Python's has queued just now. If there are notices, the
    /// result is the only item of a tuple.
    ///
    /// If an interrupt or the end of the time ends the wait, the request is in flight or queued all the same, whatever
    /// was written of it: [`Wire::unfinished`] returns its ticket.
    ///
    /// On a loop it returns the future, which is not done.
    pub(crate) fn answer(&self, py: Python<'_>, ticket: Py<PyAny>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        if let Some(own) = &self.event_loop {
            return self.limited(py, own, ticket, timeout);
        }
        let ticket = ticket.into_bound(py).cast_into::<Ticket>()?;
        let mut noticed = None;
        let outcome = self.wait_for(py, &ticket, timeout, |state| {
            noticed = Some(state.connection.machine.has_notices());
            // Nothing else has ever had it but the request, which has ended.
            state.spare.replace(Some(ticket.clone().unbind()));
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // It is the error of the request, and the ticket may be another thread's by now.
            Err(error) if noticed.is_some() => return Err(error),
            Err(error) => {
                self.leave_unfinished(py, ticket);
                return Err(error);
            }
        };
        let noticed = match noticed {
            Some(noticed) => noticed,
            None => self.lock(py)?.connection.machine.has_notices(),
        };
        if noticed { Ok(PyTuple::new(py, [outcome])?.into_any().unbind()) } else { Ok(outcome) }
    }

    /// Keeps the ticket of a request whose wait has ended with an error, if it is not done.
    #[cold]
    fn leave_unfinished(&self, py: Python<'_>, ticket: Bound<'_, Ticket>) {
        let Ok(state) = self.lock(py) else { return };
        let is_pending = |ticket: &Bound<'_, PyAny>| self.id_of(&state, ticket).is_some();
        if !is_pending(ticket.as_any()) {
            return;
        }
        let unfinished = || self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *unfinished());
        let is_left =
            |(thread, left): &(u64, Py<Ticket>)| *thread != thread_number() && is_pending(left.bind(py).as_any());
        let (mut left, gone): (Vec<_>, Vec<_>) = before.into_iter().partition(is_left);
        left.push((thread_number(), ticket.unbind()));
        *unfinished() = left;
        drop(state);
        // What they hold may run code of its own.
        drop(gone);
    }

    /// Returns true if the request of a ticket is not begun with because a stream, a COPY or a load has the connection
    /// for itself.
    fn is_kept_waiting(&self, state: &WireState, ticket: &Bound<'_, PyAny>) -> bool {
        self.id_of(state, ticket).is_some_and(|id| state.connection.machine.is_kept_waiting(id))
    }

    /// Why the connection has ended: the driver's own reason, or `otherwise`.
    fn ended(&self, otherwise: Fatal) -> Fatal {
        match self.closing.load(Ordering::Relaxed) {
            true => Fatal::new(FatalKind::Closed, "the connection was closed by another thread"),
            false => otherwise,
        }
    }
}

#[pymethods]
impl Wire {
    /// Waits until `ticket` is done, and returns its result or raises its error.
    ///
    /// After `timeout` seconds it raises TimeoutError, and an exception of a signal handler is raised at once; the
    /// request is then still in flight, and the ticket can be waited for again.
    #[pyo3(signature = (ticket, timeout=None))]
    fn wait(&self, py: Python<'_>, ticket: &Bound<'_, Ticket>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        match ticket.get().take() {
            Some(outcome) => outcome,
            None => self.wait_for(py, ticket, timeout, |_| ()),
        }
    }

    /// The ticket of the statement that this thread has executed last by one call, if that has ended by an interrupt, or
    /// as the time was up, and the request was neither answered nor abandoned since.
    fn unfinished(&self, py: Python<'_>) -> PyResult<Option<Py<Ticket>>> {
        let left = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = left.iter().find(|(thread, _)| *thread == thread_number()).map(|(_, ticket)| ticket.clone_ref(py));
        drop(left);
        let Some(ticket) = mine else { return Ok(None) };
        let state = self.lock(py)?;
        let is_pending = self.id_of(&state, ticket.bind(py).as_any()).is_some();
        Ok(is_pending.then_some(ticket))
    }

    /// Waits until a request that was abandoned has left the connection: its reply was read and dropped. Without an
    /// `id` until a cancel request has nothing more to do.
    ///
    /// After `timeout` seconds it raises TimeoutError.
    #[pyo3(signature = (id=None, timeout=None))]
    fn wait_until_answered(&self, py: Python<'_>, id: Option<u64>, timeout: Option<f64>) -> PyResult<()> {
        let gone = |state: &mut WireState| Ok((!state.connection.machine.is_unanswered(id)).then_some(()));
        let done = self.drive(py, deadline(timeout), Some(limits::LEAD_PATIENCE), None, || false, gone)?;
        done.ok_or_else(|| pyo3::exceptions::PyTimeoutError::new_err("the time is up"))
    }

    /// Sends what the socket takes at once, and reads what is there: a pipeline is sent while more of it is queued.
    /// Does nothing if the last call was only a short time ago.
    ///
    /// If nothing more can be sent before a reply has come (the description of a new statement), it waits a little, but
    /// not again before something has come. If the connection is lost, the requests that wait and those queued later
    /// raise the error.
    fn pump_once(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let now = Instant::now();
        if state.pumped.is_some_and(|pumped| now.duration_since(pumped) < PUMP_PAUSE) {
            return Ok(());
        }
        for _ in 0..PUMP_TURNS {
            if !matches!(state.io, Io::Blocking(_)) {
                break;
            }
            self.transmit(py, &mut state);
            if state.connection.machine.is_occupied() || !state.connection.may_read() {
                break;
            }
            let (machine, write_buffer) = state.parts();
            let stuck = machine.in_flight() < machine.queued() && !write_buffer.is_full();
            let until = if stuck && !state.pumped_in_vain { now + PUMP_WAIT } else { now };
            match self.turn(py, &mut state, Some(until))? {
                Progress::Received => state.pumped_in_vain = false,
                // There is more to encode.
                Progress::Sent => {}
                Progress::Timeout if stuck => {
                    state.pumped_in_vain = true;
                    break;
                }
                Progress::Timeout | Progress::Tick | Progress::Eof => break,
            }
        }
        // Its own time does not count, or a pipeline whose bytes take long would do nothing else.
        state.pumped = Some(Instant::now());
        Ok(())
    }

    /// Sends queued bytes, except for `limit` bytes, without waiting for anything but room in the socket.
    ///
    /// After `timeout` seconds it raises TimeoutError; the rest is sent by the next wait.
    #[pyo3(signature = (limit, timeout=None))]
    fn push(&self, py: Python<'_>, limit: usize, timeout: Option<f64>) -> PyResult<()> {
        let deadline = deadline(timeout);
        let mut state = self.lock(py)?;
        let mut looked = Instant::now();
        loop {
            self.transmit(py, &mut state);
            if state.connection.buffers.write_buffer.len() <= limit {
                if !state.connection.machine.is_occupied() {
                    self.complete_waiting();
                }
                return Ok(());
            }
            self.check_open(py, &state)?;
            if state.connection.may_read() {
                self.turn_with(py, &mut state, Link::send)?;
            } else {
                // If the socket takes nothing, incoming data would have to be received.
                drop(state);
                self.wait_for_release(py, deadline)?;
                state = self.lock(py)?;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now())
                && state.connection.buffers.write_buffer.len() > limit
            {
                return Err(pyo3::exceptions::PyTimeoutError::new_err("the time is up"));
            }
            if looked.elapsed() >= Duration::from_millis(limits::LOOK_MILLIS) {
                looked = Instant::now();
                drop(state);
                py.check_signals()?;
                state = self.lock(py)?;
            }
        }
    }

    /// Returns true if an idle connection is still alive, without a round trip. Unsolicited messages of the server are
    /// handled.
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        if self.closed.load(Ordering::Relaxed) || self.is_inherited() {
            return Ok(false);
        }
        let mut state = self.lock(py)?;
        let Io::Blocking(link) = &state.io else {
            let is_there = !matches!(state.io, Io::None) || self.is_to_reconnect(&state);
            return Ok(is_there && state.connection.ended().is_none());
        };
        match link.peek(&state.connection.buffers) {
            Liveness::Quiet => Ok(true),
            Liveness::Closed => {
                let reason = Fatal::gone("the server closed the connection while it was idle");
                self.lose(py, &mut state, &reason);
                Ok(state.connection.ended().is_none())
            }
            Liveness::Data => {
                let deadline = Some(Instant::now());
                self.turn(py, &mut state, deadline)?;
                Ok(state.connection.ended().is_none())
            }
        }
    }

    /// The socket's number, or -1.
    fn fileno(&self, py: Python<'_>) -> PyResult<i64> {
        let state = self.lock(py)?;
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

/// The end of this number of seconds; `None` without a limit.
pub(crate) fn deadline(timeout: Option<f64>) -> Option<Instant> {
    let seconds = Duration::try_from_secs_f64(timeout?.max(0.0)).ok()?;
    Instant::now().checked_add(seconds)
}
