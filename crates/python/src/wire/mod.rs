//! One physical connection: that of `headrace_connection`, which does not depend on a socket, and the code that moves
//! its bytes.
//!
//! The same object serves blocking callers ([`blocking`]) and an asyncio loop ([`asyncio`]); requests are submitted and
//! answered in the same way ([`requests`]).
//!
//! Locking: the state is behind one mutex. Of the threads that wait for replies one, the *leader*, has the lock while
//! the interpreter is detached, moves the bytes of all of them, and wakes the others (*followers*) when their replies
//! have come; they check for interrupts and deadlines of their own meanwhile. A thread that needs the lock for
//! something else wakes the leader, which releases it: see [`turns`]. Python code that runs while the lock is taken (an
//! iterator of `executemany`, a dumper) must not use the connection, and gets a clear error instead of a deadlock.
//! Nothing that may call back into this object (a transport's `write`) is called with the lock taken, and signal
//! handlers run without it.

mod asyncio;
pub(crate) mod blocking;
mod collected;
mod fork;
mod late;
mod lock;
mod questions;
pub(crate) mod requests;
pub(crate) mod setup;
mod states;
mod straight;
mod streams;

pub use asyncio::ReadBufferView;
pub(crate) use fork::after_fork_in_child;
pub use late::Alarm;
pub(crate) use late::Seconds;
pub(crate) use lock::{StateGuard, thread_number};
pub use states::{Discarded, Transfer};

use crate::call::{Completion, Ticket};
use crate::engine::Engine;
use crate::errors;
use crate::settings::Settings;
use asyncio::OwnLoop;
use headrace_connection::{Connection, Limits};
use headrace_core::{Cancellation, Fatal, NextStep, TransactionStatus, WriteBuffer};
use headrace_io::{Address, Hangup, Link, TcpOptions, Waker};
use headrace_tls::TlsConnection;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The code that moves the bytes.
#[derive(Debug)]
pub(crate) enum Io {
    /// Nothing yet, or nothing any more.
    None,
    /// A blocking socket.
    Blocking(Box<Link>),
    /// An asyncio transport, and what sends on its socket: see [`straight`].
    Transport { transport: Py<PyAny>, send: Option<Py<PyAny>> },
}

#[derive(Debug)]
pub(crate) struct WireState {
    /// Everything but the socket. Its buffers are lent to the loop, so they do not move when the transport goes.
    pub(crate) connection: Connection<dyn Engine>,
    pub(crate) io: Io,
    queries: Py<PyDict>,
    /// When the timer is due that looks at the limits of a loop's statements.
    timer_due: Option<Instant>,
    /// Bytes of their texts.
    queries_bytes: Cell<usize>,
    pub(crate) settings: Arc<Settings>,
    /// The server reported why it ended the session while no request was pending: the next request raises it.
    has_unreported_error: Cell<bool>,
    /// The status of the transaction when the session ended.
    at_end: Cell<StatusAtEnd>,
    /// The future of a session that is being opened.
    ready: Option<Completion>,
    /// The futures of those who wait for notifications: each checks for one when some have come.
    notified: Vec<Completion>,
    /// The futures of those who wait for room in the write buffer.
    drained: Option<Completion>,
    /// Called before a request is queued: each may refuse it.
    gates: Vec<Py<PyAny>>,
    /// When [`Wire::pump_once`] moved bytes last.
    pumped: Option<Instant>,
    /// How long the loop has decoded since it may have had its last turn.
    read_for: Duration,
    /// It has waited for a reply that did not come, and nothing has come since.
    pumped_in_vain: bool,
    /// The number and the lane of the statement that was queued last: see [`Wire::withdraw`].
    latest: (u64, u64),
    /// A ticket that nobody refers to, for the next statement.
    spare: RefCell<Option<Py<Ticket>>>,
}

/// The status of the transaction when a session ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StatusAtEnd {
    /// As of the last reply.
    Known(TransactionStatus),
    /// None was open as of the last reply, and requests were pending, or were made later, that begin one.
    Pending,
}

/// The attribute of an exception with the number of the connection that has refused a request with it.
const REFUSED_BY: &str = "_refused_by";

/// The kinds of operations that are timed.
const TIMED: [&str; 5] = ["connect", "execute", "fetch", "commit", "close"];

/// Counters of one kind of operation.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Counter {
    fn add(&self, nanos: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// One physical connection to a server.
#[pyclass(frozen, weakref, subclass, module = "headrace._native")]
#[derive(Debug)]
pub struct Wire {
    state: Mutex<WireState>,
    address: Option<Address>,
    tcp: TcpOptions,
    /// The thread that has the lock, or 0.
    owner: AtomicU64,
    /// The number of threads that need the lock for a short time.
    wanted: AtomicUsize,
    /// The number of threads that wait for the leader, and the condition variable that they wait on.
    followers: AtomicUsize,
    parked: Mutex<()>,
    news: Condvar,
    /// Ends the leader's wait; made when it is first needed.
    waker: OnceLock<Option<Arc<Waker>>>,
    /// Pauses that were begun, less those that were ended, without the machine: see [`Wire::pause_requests`].
    pauses_due: AtomicIsize,
    /// The number of views of the read buffer that are lent out.
    exports: AtomicUsize,
    /// The transport takes nothing more for now.
    paused: AtomicBool,
    /// Something was written to the transport, which it may not have sent yet.
    unsent: AtomicBool,
    /// The transport was told not to read, as a response handler is full, or until the loop's next turn.
    full: AtomicBool,
    /// Nothing is read until the loop's next turn.
    turn_over: AtomicBool,
    /// A flush of the write buffer is scheduled on the loop.
    flush_due: AtomicBool,
    closed: AtomicBool,
    /// The session was open once: one that was lost may be opened again while requests wait.
    opened: AtomicBool,
    /// Called on a loop to connect the session again.
    reconnector: OnceLock<Py<PyAny>>,
    /// It was called, and has not connected yet.
    reconnecting: AtomicBool,
    /// Another thread is closing the connection under a request.
    closing: AtomicBool,
    /// The statements whose calls have ended before they were answered, by the thread's number: see
    /// [`Wire::unfinished`].
    unfinished: Mutex<Vec<(u64, Py<Ticket>)>>,
    /// Ends the socket from another thread, outside of the lock.
    hangup: Mutex<Option<Hangup>>,
    process_id: AtomicI32,
    /// Outside of the lock: a thread that cancels does so while another thread has it.
    cancellation: Mutex<Cancellation>,
    event_loop: Option<OwnLoop>,
    timings: [Counter; TIMED.len()],
    /// How long no byte may move while a blocking caller waits.
    limits: Limits,
    /// A list that is not empty while there are notices.
    noticed: Py<PyList>,
    /// Statements begin a transaction if none is open.
    pub(crate) begins: AtomicBool,
    /// The number of the transaction block that is open: the machine reads it.
    block: Arc<AtomicU64>,
    /// The number of threads whose requests wait until a stream or a COPY has released the connection.
    waiting: AtomicUsize,
    released: (Mutex<()>, Condvar),
    /// Counts received data, for the timeouts of an asyncio connection.
    arrivals: AtomicU64,
    /// The number of forks between this process and the first when the connection was made.
    forks: u32,
    /// A number that no other connection of this process has: see [`Wire::has_refused`].
    number: u64,
}

/// The number of connections that were made.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

impl Wire {
    /// Returns true if the connection was made by the process that this one was forked from.
    fn is_inherited(&self) -> bool {
        self.forks != fork::forks()
    }

    /// Ends the socket from another thread.
    fn hangup(&self) -> Option<Hangup> {
        self.hangup.lock().ok()?.clone()
    }

    /// How the running statement is cancelled.
    pub(crate) fn cancel(&self) -> Cancellation {
        self.cancellation.lock().map_or(Cancellation::Impossible, |cancellation| cancellation.clone())
    }

    /// Handles the content of the read buffer; a fatal error ends every pending request.
    fn process_input(&self, py: Python<'_>, state: &mut WireState) {
        let handled = state.connection.handle(py);
        self.processed_input(py, state, handled);
    }

    /// The content of the read buffer was handled: completes the futures of those who wait for something other than a
    /// request.
    fn processed_input(&self, py: Python<'_>, state: &mut WireState, handled: Result<(), Fatal>) {
        if state.connection.machine.has_notices() {
            self.note_notices(py);
        }
        if let Err(fatal) = handled {
            if !self.survives_loss(py, state, &fatal) {
                self.die(py, state, &fatal);
            }
            return;
        }
        if let NextStep::Reconnect { host, port, .. } = state.connection.next_step() {
            let place = (host, port).into_pyobject(py).map(|place| place.into_any().unbind());
            if let Some(ready) = state.ready.take() {
                ready.complete(py, place);
            }
            return;
        }
        let is_again = self.opened.load(Ordering::Relaxed) && self.process_id.load(Ordering::Relaxed) == 0;
        if (state.ready.is_some() || is_again) && state.connection.machine.is_opened() {
            self.opened.store(true, Ordering::Relaxed);
            self.process_id.store(state.connection.machine.process_id(), Ordering::Relaxed);
            if let Ok(mut cancellation) = self.cancellation.lock() {
                *cancellation = state.connection.machine.cancellation();
            }
            if let Some(ready) = state.ready.take() {
                ready.complete(py, Ok(py.None()));
            }
        }
        if state.connection.machine.notifications() > 0 {
            for waiting in std::mem::take(&mut state.notified) {
                waiting.complete(py, Ok(py.None()));
            }
        }
    }

    /// The notices are taken.
    pub(crate) fn notices_taken(&self, py: Python<'_>) -> PyResult<()> {
        let noticed = self.noticed.bind(py);
        noticed.del_slice(0, noticed.len())
    }

    #[cold]
    fn note_notices(&self, py: Python<'_>) {
        let noticed = self.noticed.bind(py);
        if noticed.is_empty()
            && let Err(error) = noticed.append(py.None())
        {
            error.write_unraisable(py, None);
        }
    }

    /// Handles the bytes that were left in the read buffer by a response handler that was full, if it has room again.
    fn process_input_due(&self, py: Python<'_>, state: &mut WireState) {
        if state.connection.is_due() && state.connection.ended().is_none() {
            self.process_input(py, state);
        }
    }

    /// The response handler of a request takes more.
    pub(crate) fn resume(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        if let Some(id) = self.id_of(&state, ticket) {
            state.connection.machine.resume(id);
        }
        drop(state);
        self.complete_waiting();
        self.flush(py)
    }

    /// The end of input, or a socket that failed: what came before it, an error message above all, still counts.
    fn lose(&self, py: Python<'_>, state: &mut WireState, reason: &Fatal) {
        if state.connection.ended().is_none() {
            let handled = state.connection.handle_last(py);
            self.processed_input(py, state, handled);
        }
        if !state.connection.is_redirected() && !self.survives_loss(py, state, reason) {
            self.die(py, state, reason);
        }
    }

    /// Returns true if the session goes on although its connection was lost. It is connected again when a request waits:
    /// at once, the server would take the process of another client for it.
    fn survives_loss(&self, py: Python<'_>, state: &mut WireState, reason: &Fatal) -> bool {
        let can = self.opened.load(Ordering::Relaxed)
            && !self.closing.load(Ordering::Relaxed)
            && (self.event_loop.is_none() || self.reconnector.get().is_some());
        if !can || !state.connection.survives_loss(py, reason) {
            return false;
        }
        self.process_id.store(0, Ordering::Relaxed);
        if let Ok(mut cancellation) = self.cancellation.lock() {
            *cancellation = Cancellation::Impossible;
        }
        if let Io::Blocking(_) = &state.io {
            state.io = Io::None;
        }
        true
    }

    /// Returns true if the connection was lost, and a session that goes on has to be connected again: to its server, or
    /// to the place that this one has named when it was. On a blocking connection the socket to it is still there then.
    pub(super) fn is_to_reconnect(&self, state: &WireState) -> bool {
        !matches!(state.io, Io::Transport { .. })
            && self.opened.load(Ordering::Relaxed)
            && state.connection.ended().is_none()
            && state.connection.is_redirected()
    }

    /// Ends the connection, and every pending request with it.
    fn die(&self, py: Python<'_>, state: &mut WireState, reason: &Fatal) {
        self.closed.store(true, Ordering::Relaxed);
        if state.connection.ended().is_none() {
            state.at_end.set(self.status_at_end(state));
        }
        let is_unreported = state.connection.ended().is_none() && !state.connection.machine.is_awaited();
        let reason = state.connection.end(py, reason);
        state.has_unreported_error.set(is_unreported || state.has_unreported_error.get());
        let notified = std::mem::take(&mut state.notified);
        for waiting in [state.ready.take(), state.drained.take()].into_iter().flatten().chain(notified) {
            waiting.complete(py, Err(state.end(py, &reason)));
            state.has_unreported_error.set(false);
        }
        self.complete_waiting();
        if let Io::Blocking(_) = &state.io {
            state.io = Io::None;
        }
    }

    /// The status of the transaction of a session that ends now. Requests that are pending would have been part of a
    /// transaction where they begin one; so were those whose end the server has not reported.
    fn status_at_end(&self, state: &WireState) -> StatusAtEnd {
        let machine = &state.connection.machine;
        match machine.shared_transaction() {
            TransactionStatus::Idle
                if (machine.queued() > 0 || machine.is_status_due()) && self.begins.load(Ordering::SeqCst) =>
            {
                StatusAtEnd::Pending
            }
            status => StatusAtEnd::Known(status),
        }
    }

    /// A request is refused as the session has ended: if it would have begun a transaction, it was pending.
    pub(super) fn refused(&self, state: &WireState) {
        if self.begins.load(Ordering::SeqCst)
            && let StatusAtEnd::Known(TransactionStatus::Idle) = state.at_end.get()
        {
            state.at_end.set(StatusAtEnd::Pending);
        }
    }

    pub(crate) fn check_open(&self, py: Python<'_>, state: &WireState) -> PyResult<()> {
        if state.has_unreported_error.take()
            && let Some(error) = state.connection.machine.last_error(py)
        {
            return Err(match state.connection.ended() {
                Some(reason) => errors::coded(py, error, reason),
                None => error,
            });
        }
        match state.connection.ended() {
            Some(reason) => {
                let mut closed = reason.clone();
                if !closed.message.contains("closed") {
                    closed.message = format!("the connection is closed: {}", closed.message);
                }
                let error = errors::closed(py, &closed);
                // The driver's own class takes attributes; what was raised in its place is left unchanged.
                let _ = error.value(py).setattr(intern!(py, REFUSED_BY), self.number);
                Err(error)
            }
            None => Ok(()),
        }
    }
}

impl WireState {
    /// The exception for the end of the connection: the server's closing error, or `reason`.
    fn end(&self, py: Python<'_>, reason: &Fatal) -> PyErr {
        match self.connection.machine.last_error(py) {
            Some(error) => errors::coded(py, error, reason),
            None => errors::fatal(py, reason),
        }
    }

    /// Returns the memory that a large value took to the allocator, once nothing is in flight.
    fn rest(&mut self) {
        if self.connection.machine.is_idle() {
            self.connection.buffers.rest();
        }
    }

    /// The machine, and its write buffer.
    pub(crate) fn parts(&mut self) -> (&mut dyn Engine, &mut WriteBuffer) {
        (&mut *self.connection.machine, &mut self.connection.buffers.write_buffer)
    }

    fn tls_client(&self) -> Option<&TlsConnection> {
        match &self.io {
            Io::None => None,
            Io::Blocking(_) | Io::Transport { .. } => self.connection.buffers.tls(),
        }
    }
}

impl Wire {
    /// Returns true if the connection is closed, as far as is known.
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) || self.is_inherited()
    }
}
