//! A connection on an asyncio loop: the loop's own transport calls these methods as its protocol.

use super::{Io, StateGuard, Wire, WireState, straight};
use crate::ffi;
use crate::limits;
use crate::resume::{self, WakeUp};
use headrace_core::{Fatal, FatalKind, NextStep};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyString};
use std::os::raw::c_int;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The part of the read buffer that the loop reads into.
///
/// The buffer it lends is the landing place of `Buffers`: memory of the read buffer itself, or the one for ciphertext.
/// Both are freed with the `Wire`, which the view keeps alive, not with the transport. The read buffer moves or
/// reallocates only in `get_buffer`, which refuses to while a buffer is lent out, and in `WireState::rest`, which is not
/// called then; the other one never does once there is TLS.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug)]
pub struct ReadBufferView {
    wire: Py<Wire>,
}

#[pymethods]
impl ReadBufferView {
    #[new]
    fn new(wire: Py<Wire>) -> Self {
        Self { wire }
    }

    fn __traverse__(&self, visit: pyo3::gc::PyVisit<'_>) -> Result<(), pyo3::gc::PyTraverseError> {
        visit.call(&self.wire)
    }

    /// asyncio.BufferedProtocol.get_buffer: makes room, and lends it.
    fn get_buffer(slf: Bound<'_, Self>, _sizehint: isize) -> PyResult<Bound<'_, Self>> {
        let wire = slf.get().wire.get();
        let mut state = wire.lock(slf.py())?;
        if wire.exports.load(Ordering::Relaxed) > 0 {
            return Err(PyBufferError::new_err("the last buffer is still in use"));
        }
        state.connection.buffers.make_room();
        drop(state);
        Ok(slf)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.wire.get().lock(py)?.connection.buffers.landing().len())
    }

    /// # Safety
    /// Called by the interpreter with a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut pyo3::ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let wire = slf.get().wire.get();
        let mut state = wire.lock(slf.py())?;
        // SAFETY: `view` is valid by this function's own contract. The memory does not move until the buffer is
        // released: see the type.
        unsafe { ffi::lend(slf.as_any(), state.connection.buffers.landing(), view, flags)? };
        wire.exports.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// # Safety
    /// Called by the interpreter for a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut pyo3::ffi::Py_buffer) {
        self.wire.get().exports.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The loop of a connection.
#[derive(Debug)]
pub(crate) struct OwnLoop {
    /// It.
    pub event_loop: Py<PyAny>,
    /// asyncio's function that returns the loop that this thread runs, or None.
    pub running: Py<PyAny>,
    /// One that may read from a socket again and again within one turn, while there is something. asyncio's own read
    /// once.
    reads_on: bool,
    current: CurrentTask,
    /// The class of its futures and the keywords to make one, where the loop's own method does nothing but that.
    future: Option<(Py<PyAny>, Py<PyDict>)>,
    /// Sets the timer of [`Wire::overdue`].
    pub arm: OnceLock<Py<PyAny>>,
    /// The number of the thread that has run the loop when the last request was made.
    pub thread: AtomicU64,
}

impl OwnLoop {
    /// The loop that carries a connection.
    ///
    /// # Errors
    /// What importing asyncio raises.
    pub fn new(py: Python<'_>, event_loop: Py<PyAny>) -> PyResult<Self> {
        let asyncio = py.import("asyncio")?;
        let running = asyncio.getattr("_get_running_loop")?.unbind();
        let reads_on = !event_loop.bind(py).is_instance(&asyncio.getattr("BaseEventLoop")?)?;
        let current = CurrentTask::new(&asyncio)?;
        let makes = event_loop.bind(py).get_type().getattr("create_future")?;
        let future = if makes.is(&asyncio.getattr("BaseEventLoop")?.getattr("create_future")?) {
            let keywords = PyDict::new(py);
            keywords.set_item("loop", &event_loop)?;
            Some((asyncio.getattr("Future")?.unbind(), keywords.unbind()))
        } else {
            None
        };
        Ok(Self { event_loop, running, reads_on, current, future, arm: OnceLock::new(), thread: AtomicU64::new(0) })
    }

    /// A future of the loop.
    ///
    /// # Errors
    /// MemoryError, and what a loop of the program's own raises.
    pub fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.future {
            Some((class, keywords)) => class.bind(py).call((), Some(keywords.bind(py))),
            None => self.event_loop.bind(py).call_method0(pyo3::intern!(py, "create_future")),
        }
    }
}

/// How the task is found that a loop runs.
#[derive(Debug)]
enum CurrentTask {
    /// By asyncio's function, which returns it, or None.
    Function(Py<PyAny>),
    /// In asyncio's dictionary of them by their loops. Before CPython 3.12 the function is Python's, and does no more.
    Dictionary(Py<PyDict>),
}

impl CurrentTask {
    fn new(asyncio: &Bound<'_, PyModule>) -> PyResult<Self> {
        let function = asyncio.getattr("current_task")?;
        let tasks = asyncio.getattr("tasks")?;
        let is_own = function.is(&tasks.getattr("current_task")?) && !function.is_instance_of::<PyCFunction>();
        let kept = tasks.getattr_opt("_current_tasks")?.and_then(|kept| kept.cast_into_exact::<PyDict>().ok());
        Ok(match kept {
            Some(kept) if is_own => Self::Dictionary(kept.unbind()),
            _ => Self::Function(function.unbind()),
        })
    }

    /// Returns true if the loop runs none.
    fn is_none(&self, py: Python<'_>, event_loop: &Py<PyAny>) -> PyResult<bool> {
        match self {
            Self::Function(function) => Ok(function.call1(py, (event_loop,))?.is_none(py)),
            Self::Dictionary(kept) => Ok(kept.bind(py).get_item(event_loop)?.is_none()),
        }
    }
}

/// A read of the loop that is long enough to be timed.
#[derive(Debug)]
struct Read {
    bytes: usize,
    /// It has filled its place: there may be more.
    is_full: bool,
    /// When decoding it began.
    began: Instant,
}

/// Whether there may be more than what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    Whole,
    /// It has filled its place: the loop may read on within this turn.
    Full,
}

impl Wire {
    /// Returns true if an event loop carries the connection.
    pub(crate) fn is_on_loop(&self) -> bool {
        self.event_loop.is_some()
    }

    /// Passes queued bytes to the transport. A blocking connection sends when it waits.
    ///
    /// The rows of a batch may have no end, and the server may take them as fast as they are made: the loop's other
    /// tasks have their turn in between.
    pub(crate) fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.lock(py)?;
        self.flush_with(py, state)
    }

    /// The same with the lock that was taken.
    pub(super) fn flush_with(&self, py: Python<'_>, state: StateGuard<'_>) -> PyResult<()> {
        self.flush_due.store(false, Ordering::Relaxed);
        let mut held = Some(state);
        // Since the write buffer was full for the first time; most requests never fill it.
        let mut began: Option<Instant> = None;
        loop {
            if began.is_some_and(|began| began.elapsed() > limits::FLUSH_TURN) {
                drop(held);
                return self.flush_soon(py);
            }
            let mut state = match held.take() {
                Some(state) => state,
                None => self.lock(py)?,
            };
            let Io::Transport { transport, send } = &state.io else { return Ok(()) };
            let (transport, send) = (transport.clone_ref(py), send.as_ref().map(|send| send.clone_ref(py)));
            // Also while nothing can be written: the server may read on only when its own data is taken.
            self.process_input_due(py, &mut state);
            if let Some(change) = self.reading_changed(&state) {
                drop(state);
                transport.call_method0(py, change)?;
                continue;
            }
            if self.paused.load(Ordering::Relaxed) {
                return Ok(());
            }
            let filling = began.map(|_| Instant::now());
            self.transmit(py, &mut state);
            let write_buffer = &mut state.connection.buffers.write_buffer;
            let stopped = write_buffer.take_stopped();
            let is_filled = stopped || write_buffer.is_full();
            if is_filled {
                if let Some(filling) = filling {
                    write_buffer.adapt(filling.elapsed());
                }
                began.get_or_insert_with(Instant::now);
            }
            let bytes = match state.connection.buffers.outgoing() {
                Ok([]) => None,
                Ok(bytes) => Some((PyBytes::new(py, bytes), bytes.len())),
                Err(fatal) => {
                    self.die(py, &mut state, &fatal);
                    drop(state);
                    transport.call_method0(py, "abort")?;
                    return Ok(());
                }
            };
            let Some((bytes, n)) = bytes else {
                if stopped {
                    held = Some(state);
                    continue;
                }
                if let Some(drained) = state.drained.take() {
                    drained.complete(py, Ok(py.None()));
                }
                return Ok(());
            };
            state.connection.buffers.sent(n);
            // Nothing could be added to the bytes, and nobody waits until they are gone.
            let is_all = !is_filled && state.drained.is_none() && state.connection.buffers.tls().is_none();
            drop(state);
            self.send_on(py, transport.bind(py), send.as_ref(), bytes)?;
            if is_all {
                return Ok(());
            }
        }
    }

    /// Flushes in a call of the loop's own, which only logs what is raised. After a panic nobody might take the lock
    /// again, and those who wait would wait for ever: it is taken here, which ends the connection.
    fn flush_for_loop(&self, py: Python<'_>) -> PyResult<()> {
        panic::catch_unwind(AssertUnwindSafe(|| self.flush(py))).unwrap_or_else(|panic| {
            if let Ok(state) = self.lock(py)
                && let Io::Transport { transport, .. } = &state.io
            {
                let transport = transport.clone_ref(py);
                drop(state);
                let _ = transport.call_method0(py, "abort");
            }
            panic::resume_unwind(panic)
        })
    }

    /// Flushes at the end of this turn of the loop.
    pub(crate) fn flush_soon(&self, py: Python<'_>) -> PyResult<()> {
        if self.flush_due.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.lock(py)?;
        let Io::Transport { transport, .. } = &state.io else { return Ok(()) };
        let transport = transport.clone_ref(py);
        drop(state);
        self.call_soon(py, transport.bind(py), pyo3::intern!(py, "flush"))
    }

    /// Has the loop call a method of the transport's protocol in its next turn.
    fn call_soon(&self, py: Python<'_>, transport: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        let Some(own) = &self.event_loop else { return Ok(()) };
        let protocol = transport.call_method0(pyo3::intern!(py, "get_protocol"))?;
        own.event_loop.call_method1(py, pyo3::intern!(py, "call_soon"), (protocol.getattr(name)?,))?;
        Ok(())
    }

    /// What was read is decoded: adapts how many bytes are read at a time. Returns true if the loop would read on within
    /// this turn, although its time is over.
    fn was_decoded(&self, state: &mut WireState, read: &Read) -> bool {
        let took = read.began.elapsed();
        state.connection.buffers.read_buffer.adapt(read.bytes, took);
        let reads_on = read.is_full && self.event_loop.as_ref().is_some_and(|own| own.reads_on);
        let spent = if reads_on { state.read_for + took } else { Duration::ZERO };
        // Another read like this one would be too much.
        let is_over = reads_on && spent + took > limits::READ_TURN;
        state.read_for = if is_over { Duration::ZERO } else { spent };
        if is_over {
            self.turn_over.store(true, Ordering::Relaxed);
        }
        is_over
    }

    fn after_input(&self, py: Python<'_>, mut state: StateGuard<'_>, read: Option<&Read>) -> PyResult<()> {
        self.process_input(py, &mut state);
        let is_turn_over = read.is_some_and(|read| self.was_decoded(&mut state, read));
        if self.exports.load(Ordering::Relaxed) == 0 {
            state.rest();
        }
        let Io::Transport { transport, .. } = &state.io else { return Ok(()) };
        let dead = state.connection.ended().is_some();
        if state.connection.is_redirected() {
            let transport = transport.clone_ref(py);
            state.io = Io::None;
            drop(state);
            transport.call_method0(py, "get_protocol")?.call_method1(py, "leave", (transport,))?;
            let state = self.lock(py)?;
            return self.reconnect_if_awaited(py, state);
        }
        if dead {
            let transport = transport.clone_ref(py);
            drop(state);
            transport.call_method0(py, "abort")?;
            return Ok(());
        }
        let reads_on = is_turn_over.then(|| transport.clone_ref(py));
        self.flush_with(py, state)?;
        match reads_on {
            Some(transport) => self.call_soon(py, transport.bind(py), pyo3::intern!(py, "read_on")),
            None => Ok(()),
        }
    }

    /// Handles bytes that were read.
    fn received(&self, py: Python<'_>, nbytes: usize) -> PyResult<Received> {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock(py)?;
        let buffers = &mut state.connection.buffers;
        let room = buffers.landing().len();
        let n = nbytes.min(room);
        let received = if n < room { Received::Whole } else { Received::Full };
        let read =
            (n >= limits::READ_FEWEST_BYTES).then(|| Read { bytes: n, is_full: n == room, began: Instant::now() });
        if let Err(fatal) = buffers.received(n) {
            // Sends the TLS alert to the peer, as far as the transport sends it at once.
            let alert = buffers.take_outgoing().unwrap_or_default();
            self.die(py, &mut state, &fatal);
            if let Io::Transport { transport, .. } = &state.io {
                let transport = transport.clone_ref(py);
                drop(state);
                transport.call_method1(py, pyo3::intern!(py, "write"), (PyBytes::new(py, &alert),))?;
                transport.call_method0(py, "abort")?;
            }
            return Ok(received);
        }
        self.after_input(py, state, read.as_ref())?;
        Ok(received)
    }

    /// Resumes the task whose request a read has answered: at once, if that is the loop's own call and no task runs.
    fn wake_up(&self, py: Python<'_>, wake_up: WakeUp) -> PyResult<()> {
        let Some(own) = &self.event_loop else { return Ok(()) };
        let is_here = own.thread.load(Ordering::Relaxed) == super::thread_number();
        // It may be a function of Python's: a signal may be handled in it, and its handler may raise.
        let is_free = if is_here { own.current.is_none(py, &own.event_loop) } else { Ok(false) };
        let outcome = match is_free {
            Ok(true) => wake_up.call(py),
            otherwise => {
                wake_up.schedule(py);
                otherwise.map(drop)
            }
        };
        let Err(error) = outcome else { return Ok(()) };
        if !own.reads_on {
            // asyncio's transports pass on what ends the loop.
            return Err(error);
        }
        // Others would close the connection for it.
        let failed = own.event_loop.call_method0(py, pyo3::intern!(py, "create_future"))?;
        failed.call_method1(py, "set_exception", (error.into_value(py),))?;
        own.event_loop.call_method1(py, pyo3::intern!(py, "call_soon"), (failed.getattr(py, "result")?,))?;
        Ok(())
    }

    fn reconnect_if_awaited(&self, py: Python<'_>, state: StateGuard<'_>) -> PyResult<()> {
        let is_awaited = state.connection.machine.queued() > 0;
        if is_awaited && self.is_to_reconnect(&state) {
            self.call_reconnector(py, state)?;
        }
        Ok(())
    }

    /// Has the loop connect the session again.
    pub(super) fn call_reconnector(&self, py: Python<'_>, state: StateGuard<'_>) -> PyResult<()> {
        let Some(reconnector) = self.reconnector.get() else { return Ok(()) };
        let NextStep::Reconnect { port, .. } = state.connection.next_step() else { return Ok(()) };
        drop(state);
        if !self.reconnecting.swap(true, Ordering::Relaxed) {
            reconnector.call1(py, (port,))?;
        }
        Ok(())
    }

    /// Stops or resumes reading of the transport when a response handler has become full, or has room again.
    fn reading_changed(&self, state: &WireState) -> Option<&'static str> {
        let may_read = state.connection.may_read() && !self.turn_over.load(Ordering::Relaxed);
        let was_full = self.full.swap(!may_read, Ordering::Relaxed);
        match (was_full, may_read) {
            (false, false) => Some("pause_reading"),
            (true, true) => Some("resume_reading"),
            _ => None,
        }
    }
}

#[pymethods]
impl Wire {
    /// asyncio.BaseProtocol.connection_made
    fn connection_made(&self, py: Python<'_>, transport: Py<PyAny>) -> PyResult<()> {
        // Of the transport to a server that has named this one.
        self.paused.store(false, Ordering::Relaxed);
        self.unsent.store(false, Ordering::Relaxed);
        self.full.store(false, Ordering::Relaxed);
        self.turn_over.store(false, Ordering::Relaxed);
        self.reconnecting.store(false, Ordering::Relaxed);
        let mut state = self.lock(py)?;
        state.connection.buffers.write_buffer.be_careful();
        state.connection.buffers.read_buffer.be_careful();
        let send = straight::send_of(py, transport.bind(py));
        self.connected(py, &mut state, Io::Transport { transport, send });
        self.after_input(py, state, None)
    }

    /// asyncio.BaseProtocol.connection_lost
    fn connection_lost(&self, py: Python<'_>, error: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let reason = match error {
            Some(error) => Fatal::gone(format!("the connection to the server was lost: {}", error.str()?)),
            None => Fatal::end_of_input(),
        };
        self.lose(py, &mut state, &reason);
        state.io = Io::None;
        self.reconnect_if_awaited(py, state)
    }

    /// asyncio.BufferedProtocol.buffer_updated
    fn buffer_updated(&self, py: Python<'_>, nbytes: usize) -> PyResult<()> {
        let read = resume::Read::begin();
        let received = self.received(py, nbytes);
        let Some(wake_up) = read.end() else { return received.map(drop) };
        match received {
            Ok(Received::Whole) => return self.wake_up(py, wake_up),
            Ok(Received::Full) | Err(_) => wake_up.schedule(py),
        }
        received.map(drop)
    }

    /// The turn of the loop is over in which reading was stopped: it reads on.
    fn read_on(&self, py: Python<'_>) -> PyResult<()> {
        self.turn_over.store(false, Ordering::Relaxed);
        self.flush_for_loop(py)
    }

    /// asyncio.BufferedProtocol.eof_received
    fn eof_received(&self, py: Python<'_>) -> PyResult<bool> {
        let mut state = self.lock(py)?;
        self.lose(py, &mut state, &Fatal::end_of_input());
        if self.opened.load(Ordering::Relaxed)
            && state.connection.is_redirected()
            && let Io::Transport { transport, .. } = std::mem::replace(&mut state.io, Io::None)
        {
            // What becomes of the transport is not the session's any more.
            drop(state);
            transport.call_method0(py, "get_protocol")?.call_method1(py, "leave", (transport,))?;
            state = self.lock(py)?;
        }
        self.reconnect_if_awaited(py, state)?;
        Ok(false)
    }

    /// asyncio.BaseProtocol.pause_writing
    fn pause_writing(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    /// asyncio.BaseProtocol.resume_writing
    fn resume_writing(&self, py: Python<'_>) -> PyResult<()> {
        self.paused.store(false, Ordering::Relaxed);
        self.flush_for_loop(py)
    }

    /// `reconnect` is called, with the port, when a session that goes on after its connection was lost has to be
    /// connected again; without one such a session ends. If the server then names another port, it is called for that.
    fn on_reconnect(&self, reconnect: Py<PyAny>) {
        let _ = self.reconnector.set(reconnect);
    }

    /// Counts received data.
    fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::Relaxed)
    }

    /// The number of seconds in which a byte must move, if the transport has something `unsent` or nothing, and the
    /// reason with which the connection is closed otherwise.
    fn silence(&self, unsent: bool) -> Option<(f64, String)> {
        self.limits.silence(unsent).map(|silence| (silence.limit.as_secs_f64(), silence.reason().message))
    }

    /// Ends the connection, whose server has not answered in time, with the reason `why`.
    fn give_up(&self, py: Python<'_>, why: String) -> PyResult<()> {
        let mut state = self.lock(py)?;
        self.die(py, &mut state, &Fatal::new(FatalKind::NoAnswer, why));
        let Io::Transport { transport, .. } = &state.io else { return Ok(()) };
        let transport = transport.clone_ref(py);
        drop(state);
        transport.call_method0(py, "abort")?;
        Ok(())
    }

    /// Passes queued bytes to the transport.
    #[pyo3(name = "flush")]
    fn flush_now(&self, py: Python<'_>) -> PyResult<()> {
        self.flush_for_loop(py)
    }

    /// A future that is done when all queued bytes have been passed to the transport.
    fn drained(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.lock(py)?;
        self.check_open(py, &state)?;
        state.drained = Some(completion);
        drop(state);
        self.flush(py)?;
        Ok(object)
    }
}
