//! Submits requests, in one way for blocking and asyncio callers.

use super::{Io, Wire, WireState};
use crate::args::Args;
use crate::call::{Completion, PyCall, ResultShape};
use crate::engine::Dialect;
use crate::errors;
use crate::limits;
use crate::query::{Query, not_unicode};
use headrace_core::{
    CancelledRequest, Discarded, Fatal, FatalKind, IfUnsent, Isolation, Modes, Protocol, ResponseHandler, Verb,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Wire {
    /// The statement in the server's style, remembered.
    pub(crate) fn query(&self, state: &WireState, sql: &Bound<'_, PyString>, with_params: bool) -> PyResult<Py<Query>> {
        let py = sql.py();
        let queries = state.queries.bind(py);
        // The two conversions of one text differ only if it has a percent sign, so they are cached separately.
        let known = if with_params { queries.get_item(sql)? } else { queries.get_item((sql,))? };
        if let Some(known) = known {
            let known = known.cast::<Query>().map_err(PyErr::from)?;
            if known.get().stands(|| state.connection.machine.reading()) {
                return Ok(known.clone().unbind());
            }
        }
        let text = sql.to_str().map_err(|error| not_unicode(py, &error))?;
        let query = Py::new(py, state.connection.machine.convert(py, text, with_params)?)?;
        if text.len() > limits::QUERY_BYTES {
            return Ok(query);
        }
        let bytes = state.queries_bytes.get() + text.len();
        if queries.len() >= limits::QUERIES || bytes > limits::QUERIES_BYTES {
            queries.clear();
            state.queries_bytes.set(text.len());
        } else {
            state.queries_bytes.set(bytes);
        }
        if with_params {
            queries.set_item(sql, &query)?;
        } else {
            queries.set_item((sql,), &query)?;
        }
        Ok(query)
    }

    /// The statement that begins a transaction before a request, unless that is no longer wanted: between the check by
    /// the calling thread and the lock another thread may have ended the block that it was for. A portal needs a
    /// transaction in any case.
    pub(crate) fn prelude(&self, prelude: Option<&str>, is_needed: bool) -> Option<Arc<str>> {
        prelude.filter(|_| is_needed || self.begins.load(Ordering::SeqCst)).map(Arc::from)
    }

    /// Returns true if a request still begins a transaction, under the lock: see [`Wire::prelude`].
    pub(crate) fn still_begins(&self, begin: bool) -> bool {
        begin && self.begins.load(Ordering::SeqCst)
    }

    /// Queues a request, unless something open on the connection would make it wait for itself, and sees that its bytes
    /// are sent.
    pub(crate) fn enqueue<D: Dialect>(
        &self,
        py: Python<'_>,
        state: super::StateGuard<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
    ) -> PyResult<Py<PyAny>> {
        let may_be_withdrawn = call.is_plain();
        self.enqueue_gated(py, state, request, call, may_be_withdrawn)
    }

    fn enqueue_gated<D: Dialect>(
        &self,
        py: Python<'_>,
        state: super::StateGuard<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
        may_be_withdrawn: bool,
    ) -> PyResult<Py<PyAny>> {
        // First: objects that were open on a closed connection block nothing.
        if let Err(error) = self.check_ready(py, &state) {
            self.refused(&state);
            return Err(error);
        }
        for gate in &state.gates {
            gate.call0(py)?;
        }
        self.put(py, state, request, call, may_be_withdrawn)
    }

    /// The same for a request that is part of what is open.
    pub(crate) fn enqueue_ungated<D: Dialect>(
        &self,
        py: Python<'_>,
        state: super::StateGuard<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
    ) -> PyResult<Py<PyAny>> {
        self.check_ready(py, &state)?;
        self.put(py, state, request, call, false)
    }

    /// Queues a request of a connection that is ready. One that `may_be_withdrawn` is a call of its own, whose caller waits
    /// for it at once.
    fn put<D: Dialect>(
        &self,
        py: Python<'_>,
        mut state: super::StateGuard<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
        may_be_withdrawn: bool,
    ) -> PyResult<Py<PyAny>> {
        let object = call.completion.object(py);
        let busy = state.connection.machine.in_flight() > 0;
        let lane = call.lane();
        let id = state.connection.machine.of::<D>(py)?.submit(request, call);
        if may_be_withdrawn {
            state.latest = (id, lane);
        }
        self.get_going(py, state, busy)?;
        Ok(object)
    }

    /// Makes sure that the bytes of queued requests are sent; `busy` indicates whether something was in flight before.
    fn get_going(&self, py: Python<'_>, state: super::StateGuard<'_>, busy: bool) -> PyResult<()> {
        if let Io::Transport { .. } = state.io {
            if !busy {
                return self.flush_with(py, state);
            }
            // Other requests of this turn of the loop are sent in the same write.
            drop(state);
            return self.flush_soon(py);
        }
        if self.event_loop.is_some() && self.is_to_reconnect(&state) {
            self.call_reconnector(py, state)?;
        }
        Ok(())
    }

    fn check_ready(&self, py: Python<'_>, state: &WireState) -> PyResult<()> {
        self.check_open(py, state)?;
        // A session that was lost is opened again while requests wait.
        if !state.connection.machine.is_ready() && !self.opened.load(Ordering::Relaxed) {
            return Err(errors::interface(py, "the connection is not ready for requests yet"));
        }
        Ok(())
    }

    /// Queues a request without parameters, which may be withdrawn.
    pub(crate) fn bare_statement<D: Dialect>(
        &self,
        py: Python<'_>,
        request: <D::Machine as Protocol>::Request,
    ) -> PyResult<Py<PyAny>> {
        let (state, call) = self.bare_call::<D>(py)?;
        self.enqueue_gated(py, state, request, call, true)
    }

    /// Queues a request without parameters.
    pub(crate) fn bare<D: Dialect>(
        &self,
        py: Python<'_>,
        request: <D::Machine as Protocol>::Request,
    ) -> PyResult<Py<PyAny>> {
        let (state, call) = self.bare_call::<D>(py)?;
        self.enqueue(py, state, request, call)
    }

    fn bare_call<D: Dialect>(&self, py: Python<'_>) -> PyResult<(super::StateGuard<'_>, PyCall<D>)> {
        let state = self.lock(py)?;
        let call = self.call::<D>(py, &state, Args::Row(PyTuple::empty(py).unbind()), ResultShape::One, "".into())?;
        Ok((state, call))
    }

    pub(crate) fn call<D: Dialect>(
        &self,
        py: Python<'_>,
        state: &WireState,
        args: Args,
        shape: ResultShape,
        sql: Arc<str>,
    ) -> PyResult<PyCall<D>> {
        let completion = match state.spare.take() {
            Some(ticket) => Completion::Ticket(ticket),
            None => self.completion(py)?,
        };
        Ok(PyCall::new(completion, args, shape, state.settings.clone(), Some(sql)))
    }
}

/// A transaction's modes in Python: the isolation level's name, whether it is read-only, whether it is deferrable.
pub(crate) type ModeKey = (Option<String>, Option<bool>, Option<bool>);

/// Those modes.
///
/// # Errors
/// ProgrammingError for an isolation level that is none.
pub(crate) fn modes(py: Python<'_>, (isolation, read_only, deferrable): ModeKey) -> PyResult<Modes> {
    let known = |name: &str| Isolation::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name));
    let isolation = match isolation.as_deref() {
        None => None,
        Some(name) => match known(name) {
            Some(level) => Some(level),
            None => return Err(errors::programming(py, &format!("{name:?} is not an isolation level"))),
        },
    };
    Ok(Modes { isolation, read_only, deferrable })
}

#[pymethods]
impl Wire {
    /// Queues an operation: `begin`, `commit`, `rollback`, `savepoint`, `release`, `rollback_to` (which releases, too),
    /// `prepare`, `commit_prepared`, `rollback_prepared`, `reset` or `ping`. Returns the tickets or futures of its requests, which are all queued at once.
    ///
    /// With `begin` a savepoint begins a transaction of these modes first. An end that is `owed` becomes a rollback if
    /// it is discarded before it was sent.
    #[pyo3(signature = (verb, name=None, *, begin=None, owed=false))]
    fn verb(
        &self,
        py: Python<'_>,
        verb: &str,
        name: Option<&str>,
        begin: Option<ModeKey>,
        owed: bool,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let mut state = self.lock(py)?;
        let unsent = if owed { IfUnsent::RollBack } else { IfUnsent::Forget };
        let begin = begin.map(|begin| modes(py, begin)).transpose()?;
        let verb = match (verb, name) {
            ("begin", None) => Verb::Begin(begin.unwrap_or_default()),
            ("commit", None) => Verb::Commit(unsent),
            ("rollback", None) => Verb::Rollback(unsent),
            ("savepoint", Some(name)) => {
                // Under the lock: see `prelude`.
                let begin = begin.filter(|_| self.begins.load(Ordering::SeqCst));
                Verb::Savepoint { name: name.into(), begin }
            }
            ("release", Some(name)) => Verb::Release(name.into()),
            ("rollback_to", Some(name)) => Verb::RollbackTo(name.into()),
            ("prepare", Some(id)) => Verb::Prepare(id.into()),
            ("commit_prepared", Some(id)) => Verb::CommitPrepared(id.into()),
            ("rollback_prepared", Some(id)) => Verb::RollbackPrepared(id.into()),
            ("reset", None) => Verb::Reset,
            ("ping", None) => Verb::Ping,
            _ => {
                return Err(errors::programming(py, &format!("{verb:?} is an unknown verb, or one that needs a name")));
            }
        };
        self.check_ready(py, &state)?;
        for gate in &state.gates {
            gate.call0(py)?;
        }
        let busy = state.connection.machine.in_flight() > 0;
        let settings = state.settings.clone();
        let tickets = state.connection.machine.ask(py, &verb, &settings, &mut || self.completion(py))?;
        self.get_going(py, state, busy)?;
        Ok(tickets)
    }

    /// Whether statements begin a transaction if none is open: not with autocommit on, outside of blocks.
    fn set_begins(&self, begins: bool) {
        self.begins.store(begins, Ordering::SeqCst);
    }

    /// A transaction block is open from now on, with a number that no other of the connection has; 0 for none. If the
    /// server ends its transaction, nothing of it is sent any more.
    fn set_block(&self, number: u64) {
        self.block.store(number, Ordering::SeqCst);
    }

    /// From now on `gate` is called before a request is queued, and raises if the request must not be queued: while
    /// something is open on the connection for which it would have to wait. It must not use the connection.
    fn occupy(&self, py: Python<'_>, gate: Py<PyAny>) -> PyResult<()> {
        self.lock(py)?.gates.push(gate);
        Ok(())
    }

    /// Returns true if it is occupied: a stream or a COPY is open.
    fn is_occupied(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.lock(py)?.gates.is_empty())
    }

    /// The inverse of [`Wire::occupy`].
    fn vacate(&self, py: Python<'_>, gate: &Bound<'_, PyAny>) -> PyResult<()> {
        self.lock(py)?.gates.retain(|known| !gate.is(known));
        Ok(())
    }

    /// Forgets the request of this ticket or future: its reply will be read and dropped, or it is not sent at all.
    /// Returns true if the server is working on it now, so that a cancel request makes sense.
    pub(super) fn discard(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.forget(py, ticket, false)?.0 == Discarded::Alone)
    }

    /// Takes back the statement that this thread has queued last, if its call ends by an interrupt before anything was
    /// waited for, and its ticket may be lost: it is not sent, or where another thread has sent it meanwhile its reply is
    /// read and dropped. Does nothing once it is answered or discarded. Who waits for it all the same gets an error.
    ///
    /// Not for statements of a pipeline, and not on a loop, where a task can be cancelled only while it waits.
    fn withdraw(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let (id, lane) = state.latest;
        // That of a loop's calls is no thread's.
        if lane == super::thread_number() {
            state.connection.machine.withdraw(py, id);
        }
        Ok(())
    }

    /// The same for a caller that will send a cancel request. Returns what happened to the request, and its number: if
    /// no other request is at the server, nothing is started before `pause_requests(False)`.
    fn abandon(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<(super::Discarded, u64)> {
        let (discarded, id) = self.forget(py, ticket, true)?;
        Ok((discarded.into(), id))
    }

    /// Leaves a request that was abandoned, or all of them, to the next caller that waits, in place of
    /// `pause_requests(False)`: nothing is started before it is answered, and the connection is closed if that takes
    /// more than `seconds`.
    fn leave_to_others(&self, py: Python<'_>, id: Option<u64>, seconds: f64) -> PyResult<()> {
        let until = super::blocking::deadline(Some(seconds)).unwrap_or_else(Instant::now);
        let mut state = self.lock(py)?;
        self.take_up_pauses(&mut state);
        state.connection.machine.leave_cancelled(CancelledRequest { request: id, until });
        Ok(())
    }

    /// The number of a request that is queued or in flight.
    fn request_id(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let state = self.lock(py)?;
        Ok(self.id_of(&state, ticket))
    }

    /// Returns true if a request was left to others that is not answered yet.
    fn has_left(&self, py: Python<'_>) -> PyResult<bool> {
        let machine = &self.lock(py)?.connection.machine;
        Ok(machine.left().is_some_and(|left| machine.is_unanswered(left.request)))
    }

    /// Returns true if the request of this number is not answered.
    fn is_unanswered(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.is_unanswered(Some(id)))
    }

    /// Returns true if the server works on nothing but discarded requests.
    fn at_discarded(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.is_at_discarded())
    }

    /// Returns true if a cancel request would hit a statement of the engine's own, and is to be sent later.
    fn is_cancel_early(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.is_cancel_early())
    }

    /// Returns true if the server only sends rows that it has made already, so that there is nothing to cancel.
    fn only_fetches(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.only_fetches())
    }

    /// Returns true if a cancel request is worth repeating, as the server still works on discarded requests. Then
    /// nothing is started before `pause_requests(False)`.
    fn pause_at_discarded(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.pause_at_discarded())
    }

    /// A future that is done when a notification has come, or the connection has ended. There may be several. A caller
    /// that stops waiting calls `forget_notified`.
    fn notified(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let mut state = self.lock(py)?;
        self.check_open(py, &state)?;
        let object = completion.object(py);
        if state.connection.machine.notifications() > 0 {
            completion.complete(py, Ok(py.None()));
        } else {
            state.notified.push(completion);
        }
        Ok(object)
    }

    /// Drops a future that `notified` returned.
    fn forget_notified(&self, py: Python<'_>, waiting: &Bound<'_, PyAny>) -> PyResult<()> {
        self.lock(py)?.notified.retain(|completion| !completion.is(waiting));
        Ok(())
    }

    /// Closes the connection: sends the closing message and ends every pending request, another thread's too. Does
    /// nothing in the child of a fork.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.interrupt();
        let mut state = self.lock(py)?;
        if self.closed.swap(true, Ordering::Relaxed) && matches!(state.io, Io::None) {
            return Ok(());
        }
        let reason = Fatal::new(FatalKind::Closed, "the connection is closed");
        state.connection.write_terminate();
        // A TLS layer that has failed sends no close_notify.
        let goodbye = state.connection.buffers.take_outgoing().unwrap_or_default();
        let io = std::mem::replace(&mut state.io, Io::None);
        self.die(py, &mut state, &reason);
        drop(state);
        match io {
            Io::None => {}
            Io::Blocking(link) => py.detach(|| link.farewell(&goodbye)),
            Io::Transport { transport, .. } => {
                let transport = transport.bind(py);
                if !goodbye.is_empty() {
                    transport.call_method1("write", (pyo3::types::PyBytes::new(py, &goodbye),))?;
                }
                transport.call_method0("close")?;
            }
        }
        Ok(())
    }
}

impl Wire {
    /// Forgets the response handler of a request. With `pause` no request is started from then on that a cancel request
    /// for it could hit.
    fn forget(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, pause: bool) -> PyResult<(Discarded, u64)> {
        let mut state = self.lock(py)?;
        let Some(id) = self.id_of(&state, ticket) else { return Ok((Discarded::Gone, 0)) };
        let machine = &mut state.connection.machine;
        let discarded = if pause { machine.abandon(id) } else { machine.discard(id) };
        drop(state);
        self.flush(py)?;
        Ok((discarded, id))
    }

    /// Sends the urgent byte that interrupts an Informix statement; returns true if the socket is still there.
    pub(crate) fn urge(&self, py: Python<'_>, byte: u8) -> PyResult<bool> {
        match self.hangup() {
            Some(hangup) => hangup.urge(byte).map_err(|error| errors::fatal(py, &Fatal::gone(error.to_string()))),
            None => Ok(false),
        }
    }

    /// The number of the request that this ticket or future belongs to.
    pub(crate) fn id_of(&self, state: &WireState, ticket: &Bound<'_, PyAny>) -> Option<u64> {
        state.connection.machine.find(ticket)
    }
}
