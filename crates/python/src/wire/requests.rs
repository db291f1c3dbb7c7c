//! Submitting requests, in one way for blocking and asyncio callers.

use super::{Io, State, Wire};
use crate::call::{PyCall, Want};
use crate::columns::PgColumns;
use crate::engine::{Dialect, Postgres};
use crate::errors;
use crate::params::{Args, PyValue};
use crate::query::{Query, Sql};
use crate::sink::Settings;
use headrace_core::{Discarded, Fatal, FatalKind, Protocol, limits};
use headrace_postgres::machine::{Cursor, Execute, Portal, PortalId, Prepare, Request, Rows};
use headrace_postgres::types::{self, Kind, Oid, UserType};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Wire {
    /// The statement in the server's style, remembered.
    pub(super) fn query(&self, state: &State, sql: &Bound<'_, PyString>, with_params: bool) -> PyResult<Py<Query>> {
        let py = sql.py();
        let queries = state.queries.bind(py);
        // The two readings of one text differ only where a percent sign stands, so they are kept apart.
        if with_params {
            if let Some(known) = queries.get_item(sql)? {
                return Ok(known.cast::<Query>().map_err(PyErr::from)?.clone().unbind());
            }
        } else if let Some(known) = queries.get_item((sql,))? {
            return Ok(known.cast::<Query>().map_err(PyErr::from)?.clone().unbind());
        }
        let text = sql.to_str()?;
        let query = Py::new(py, state.machine.convert(py, text, with_params)?)?;
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

    /// What begins a transaction in front of a request, unless nothing is to begin one any more: between the look of the
    /// thread that gives it and the lock another one may have ended the block that it was for. A portal needs a
    /// transaction in any case.
    pub(super) fn prelude(&self, prelude: Option<&str>, is_needed: bool) -> Option<Arc<str>> {
        prelude.filter(|_| is_needed || self.begins.load(Ordering::SeqCst)).map(Arc::from)
    }

    /// Queues a request, unless the caller has something open that it would wait for, and sees that its bytes get going.
    pub(super) fn enqueue<D: Dialect>(
        &self,
        py: Python<'_>,
        state: super::Held<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
    ) -> PyResult<Py<PyAny>> {
        for gate in &state.gates {
            gate.call0(py)?;
        }
        self.enqueue_ungated(py, state, request, call)
    }

    /// The same for a request that is part of what is open.
    pub(super) fn enqueue_ungated<D: Dialect>(
        &self,
        py: Python<'_>,
        mut state: super::Held<'_>,
        request: <D::Machine as Protocol>::Request,
        call: PyCall<D>,
    ) -> PyResult<Py<PyAny>> {
        self.check_open(py, &state)?;
        if !state.machine.is_ready() {
            return Err(errors::interface(py, "the connection is not ready for requests yet"));
        }
        let object = call.completion.object(py);
        let busy = state.machine.in_flight() > 0;
        state.machine.of::<D>(py)?.submit(request, call);
        if let Io::Transport { .. } = state.io {
            drop(state);
            if busy {
                // Whatever else this turn of the loop asks for leaves in the same write.
                self.flush_soon(py)?;
            } else {
                self.flush(py)?;
            }
        }
        Ok(object)
    }

    pub(super) fn call<D: Dialect>(
        &self,
        py: Python<'_>,
        state: &State,
        args: Args,
        want: Want,
        sql: Arc<str>,
    ) -> PyResult<PyCall<D>> {
        Ok(PyCall::new(self.completion(py)?, args, want, state.settings.clone(), Some(sql)))
    }
}

#[pymethods]
impl Wire {
    /// Queues a statement of the extended protocol, and gives the ticket or future of its result.
    ///
    /// `prelude` is a statement to run in front of it in the same group (BEGIN), `portal` a portal to keep open and the
    /// rows to fetch at first: where statements begin no transactions, one that the prelude begins is the portal's own, and
    /// all other requests wait until it is closed. `declares` is the cursor that the statement declares, and whether it is
    /// one WITH HOLD; `uses` is the number of the one that it needs: where that is gone nothing is sent, and the result
    /// has no tag. `named` false prepares nothing that outlives the request. `pipeline` is the number
    /// of the pipeline that it belongs to, whose errors let the server skip what has no `sync` before it.
    /// `expected` are the columns of a statement without parameters that goes in one round trip, whatever the server then
    /// says of its rows.
    #[pyo3(signature = (
        sql, params=None, *, prelude=None, portal=None, declares=None, uses=None, named=true, sync=true,
        ordered=false, pipeline=0, expected=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn execute(
        &self,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        prelude: Option<&str>,
        portal: Option<(PortalKey, i32)>,
        declares: Option<(PortalKey, bool)>,
        uses: Option<u64>,
        named: bool,
        sync: bool,
        ordered: bool,
        pipeline: u64,
        expected: Option<&Bound<'_, PgColumns>>,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let query = self.query(&state, &sql.0, params.is_some())?;
        let query = query.get();
        let row = query.arrange(py, params)?;
        let hints = if query.is_hinted() { hints(&row, &state.settings) } else { Vec::new() };
        let call = self.call::<Postgres>(py, &state, Args::Row(row.unbind()), Want::One, query.sql.clone())?;
        // Under the lock: another thread may have ended or begun a block since the caller looked.
        let reserves = !self.begins.load(Ordering::SeqCst);
        let declares = declares.map(|(portal, hold)| Cursor::Declare { portal: portal_id(portal), hold });
        let request = Request::Execute(Execute {
            sql: query.sql.clone(),
            hints,
            rows: Rows::One,
            prepare: if named { Prepare::Named } else { Prepare::Unnamed },
            prelude: self.prelude(prelude, portal.is_some()),
            portal: portal.map(|(portal, max_rows)| Portal { id: portal_id(portal), max_rows, reserves }),
            cursor: declares.or(uses.map(Cursor::Use)),
            sync,
            ordered,
            pipeline,
            expected: expected.map(|columns| columns.get().columns.clone()),
        });
        self.enqueue(py, state, request, call)
    }

    /// Queues a batch: one statement, many rows of parameters, all or none. With `returning` the result is a list
    /// with one result per row, with `flat` one result with the rows of all.
    #[pyo3(signature = (sql, rows, *, prelude=None, named=true, returning=false, flat=false, pipeline=0))]
    #[allow(clippy::too_many_arguments)]
    fn execute_batch(
        &self,
        py: Python<'_>,
        sql: Sql<'_>,
        rows: Py<PyAny>,
        prelude: Option<&str>,
        named: bool,
        returning: bool,
        flat: bool,
        pipeline: u64,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let query = self.query(&state, &sql.0, true)?;
        let args = Args::Batch {
            source: rows,
            query: query.get().is_hinted().then(|| query.clone_ref(py)),
            rows: None,
            row: None,
        };
        let want = match (returning, flat) {
            (_, true) => Want::Flat,
            (true, false) => Want::All,
            (false, false) => Want::One,
        };
        let call = self.call::<Postgres>(py, &state, args, want, query.get().sql.clone())?;
        let request = Request::Execute(Execute {
            sql: query.get().sql.clone(),
            hints: Vec::new(),
            rows: if query.get().is_hinted() { Rows::TypedBatch } else { Rows::Batch },
            prepare: if named { Prepare::Named } else { Prepare::Unnamed },
            prelude: self.prelude(prelude, false),
            portal: None,
            cursor: None,
            sync: true,
            ordered: false,
            pipeline,
            expected: None,
        });
        self.enqueue(py, state, request, call)
    }

    /// Queues statements of the simple protocol; the result is a list of results. With `copy` the caller feeds or
    /// reads a COPY, whose data arrives there. `discarded` is sent in its place if it is discarded before it was sent.
    #[pyo3(signature = (sql, *, prelude=None, copy=None, ends_block=false, discarded=None))]
    fn script(
        &self,
        py: Python<'_>,
        sql: Sql<'_>,
        prelude: Option<&str>,
        copy: Option<Py<super::CopyBuffer>>,
        ends_block: bool,
        discarded: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        if sql.0.to_str()?.contains('\0') {
            return Err(errors::programming(py, "the statement has a NUL character; remove it"));
        }
        let state = self.hold(py)?;
        let sql: Arc<str> = sql.0.to_str()?.into();
        let args = Args::Row(PyTuple::empty(py).unbind());
        let mut call = self.call::<Postgres>(py, &state, args, Want::All, sql.clone())?;
        call.script = true;
        call.copy = copy;
        let copy = call.copy.is_some();
        let (prelude, discarded) = (self.prelude(prelude, false), discarded.map(Arc::from));
        let request = Request::Script { sql, prelude, copy, ends_block, discarded };
        self.enqueue(py, state, request, call)
    }

    /// Queues a description: the result has the columns of a statement, and no rows.
    fn describe(&self, py: Python<'_>, sql: Sql<'_>) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let sql: Arc<str> = sql.0.to_str()?.into();
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Postgres>(py, &state, args, Want::One, sql.clone())?;
        self.enqueue(py, state, Request::Describe { sql }, call)
    }

    /// Queues the description of a portal, a cursor for one: the result has its columns, and no rows. Where it is gone
    /// nothing is sent, and the result has no columns.
    fn describe_portal(&self, py: Python<'_>, portal: PortalKey) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Postgres>(py, &state, args, Want::One, "".into())?;
        self.enqueue(py, state, Request::DescribePortal { portal: portal_id(portal) }, call)
    }

    /// Queues a fetch of at most `max_rows` rows from a portal; `columns` are those of its first result.
    /// Where it is gone nothing is sent, and the result has no tag.
    fn fetch(
        &self,
        py: Python<'_>,
        portal: PortalKey,
        max_rows: i32,
        columns: &Bound<'_, PgColumns>,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Postgres>(py, &state, args, Want::One, "".into())?;
        let columns = columns.get().columns.clone();
        self.enqueue_ungated(py, state, Request::Fetch { portal: portal_id(portal), max_rows, columns }, call)
    }

    /// Whether statements begin a transaction where none is open: not with autocommit on, outside of blocks.
    fn set_begins(&self, begins: bool) {
        self.begins.store(begins, Ordering::SeqCst);
    }

    /// Whether the portal of this number is open, as far as what was sent tells.
    fn has_portal(&self, py: Python<'_>, portal: u64) -> PyResult<bool> {
        Ok(self.hold(py)?.machine.postgres(py)?.has_portal(portal))
    }

    /// Whether a portal has the connection for itself: the one of this number, or any.
    #[pyo3(signature = (portal=None))]
    fn is_reserved(&self, py: Python<'_>, portal: Option<u64>) -> PyResult<bool> {
        let mut state = self.hold(py)?;
        let reserved = state.machine.postgres(py)?.reserved();
        Ok(reserved.is_some_and(|reserved| portal.is_none_or(|portal| portal == reserved)))
    }

    /// From now on `gate` is called before a request is queued, and raises where it must not be: while something is open
    /// on the connection that would have to wait for itself. It must not use the connection.
    fn occupy(&self, py: Python<'_>, gate: Py<PyAny>) -> PyResult<()> {
        self.hold(py)?.gates.push(gate);
        Ok(())
    }

    /// The inverse of [`Wire::occupy`].
    fn vacate(&self, py: Python<'_>, gate: &Bound<'_, PyAny>) -> PyResult<()> {
        self.hold(py)?.gates.retain(|known| !gate.is(known));
        Ok(())
    }

    /// Queues the end of a portal where it is open, and of the transaction that is its own.
    fn close_portal(&self, py: Python<'_>, portal: PortalKey) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Postgres>(py, &state, args, Want::One, "".into())?;
        self.enqueue_ungated(py, state, Request::ClosePortal { portal: portal_id(portal) }, call)
    }

    /// Queues the Sync that ends a group of requests submitted with `sync=False`.
    fn sync(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Postgres>(py, &state, args, Want::One, "".into())?;
        self.enqueue_ungated(py, state, Request::Sync, call)
    }

    /// Forgets who asked for the request of this ticket or future: its reply will be read and dropped, or it is not
    /// sent at all. Says whether the server is working on it now, so that a cancel request makes sense.
    fn discard(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.forget(py, ticket, false)?.0 == Discarded::Alone)
    }

    /// The same for who will send a cancel request. Gives what has to be done, and the number of the request:
    ///
    /// 0: nothing, the server has nothing of it; 1: nothing is started before `hold_requests(False)`, and a cancel request
    /// can hit nothing else; 2: requests of others are behind it, which a cancel request could hit.
    fn abandon(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<(u8, u64)> {
        let (discarded, id) = self.forget(py, ticket, true)?;
        let todo = match discarded {
            Discarded::Gone => 0,
            Discarded::Alone => 1,
            Discarded::Followed => 2,
        };
        Ok((todo, id))
    }

    /// Leaves a request that was abandoned, or all of them, to whoever waits next, in place of `hold_requests(False)`:
    /// nothing is started before it is answered, and the connection is given up where that takes more than `seconds`.
    fn leave_to_others(&self, py: Python<'_>, id: Option<u64>, seconds: f64) -> PyResult<()> {
        let until = super::blocking::deadline(Some(seconds)).unwrap_or_else(Instant::now);
        if self.hold(py)?.owed.replace((id, until)).is_some() {
            self.holds.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Whether a request was left to others that is not answered yet.
    fn has_left(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.hold(py)?.is_owed())
    }

    /// Whether the server works on nothing but what was discarded.
    fn at_discarded(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.hold(py)?.machine.is_at_discarded())
    }

    /// Whether a cancel request is worth repeating, as the server is still at what was discarded. Then nothing is started
    /// before `hold_requests(False)`.
    fn hold_discarded(&self, py: Python<'_>) -> PyResult<bool> {
        let mut state = self.hold(py)?;
        let at = state.machine.is_at_discarded();
        if at {
            self.holds.fetch_add(1, Ordering::SeqCst);
            state.machine.hold(true);
        }
        Ok(at)
    }

    /// What is done when a notification has come, or the connection has ended. Several may wait. Who waits no longer says so
    /// by `forget_notified`.
    fn notified(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let mut state = self.hold(py)?;
        self.check_open(py, &state)?;
        let object = completion.object(py);
        if state.machine.notifications() > 0 {
            completion.complete(py, Ok(py.None()));
        } else {
            state.notified.push(completion);
        }
        Ok(object)
    }

    /// Nobody waits any more for what `notified` returned.
    fn forget_notified(&self, py: Python<'_>, waiting: &Bound<'_, PyAny>) -> PyResult<()> {
        self.hold(py)?.notified.retain(|completion| !completion.is(waiting));
        Ok(())
    }

    /// Registers loaders and dumpers. `loaders` maps a type's oid to a callable that takes bytes, `binary_loaders` are the
    /// oids whose loader wants the binary form; `dumpers` maps a class to a callable that takes the value and gives
    /// bytes (binary) or str (text).
    fn set_adapters(
        &self,
        py: Python<'_>,
        loaders: &Bound<'_, PyDict>,
        binary_loaders: Vec<Oid>,
        dumpers: &Bound<'_, PyDict>,
        records: HashMap<Oid, Py<PyAny>>,
    ) -> PyResult<()> {
        let mut state = self.hold(py)?;
        let oids = loaders.keys().iter().map(|oid| oid.extract::<Oid>()).collect::<PyResult<Vec<_>>>()?;
        let registry = state.machine.postgres(py)?.registry_mut();
        for oid in oids {
            registry.set_custom(oid, binary_loaders.contains(&oid));
        }
        state.settings = Arc::new(Settings {
            unrepresentable: state.settings.unrepresentable,
            json_text: state.settings.json_text,
            records,
            loaders: (!loaders.is_empty()).then(|| loaders.clone().unbind()),
            dumpers: (!dumpers.is_empty()).then(|| dumpers.clone().unbind()),
        });
        Ok(())
    }

    /// Forgets what was learnt of user-defined types: they may have changed.
    fn forget_types(&self, py: Python<'_>) -> PyResult<()> {
        self.hold(py)?.machine.postgres(py)?.registry_mut().ask_again();
        Ok(())
    }

    /// The SQL name of a type.
    fn type_name(&self, py: Python<'_>, oid: Oid) -> PyResult<String> {
        Ok(self.hold(py)?.machine.postgres(py)?.registry().name(oid))
    }

    /// Says how a type is built, without asking the server: an enumeration.
    fn register_enum(&self, py: Python<'_>, oid: Oid, name: String) -> PyResult<()> {
        self.hold(py)?.machine.postgres(py)?.registry_mut().register(oid, UserType { name, kind: Kind::Enum });
        Ok(())
    }

    /// Closes the connection: says goodbye and ends every request in flight, another thread's too. In the child of a
    /// fork nothing happens.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.interrupt();
        let mut state = self.hold(py)?;
        if self.closed.swap(true, Ordering::Relaxed) && matches!(state.io, Io::None) {
            return Ok(());
        }
        let mut farewell = headrace_core::Outbox::new();
        if state.outbox.is_empty() {
            state.machine.terminate(&mut farewell);
        }
        let reason = Fatal::new(FatalKind::Closed, "the connection is closed");
        let io = std::mem::replace(&mut state.io, Io::None);
        self.die(py, &mut state, &reason);
        drop(state);
        match io {
            Io::None => {}
            Io::Blocking(mut link) => py.detach(|| link.farewell(&mut farewell)),
            Io::Transport { transport, tls, .. } => {
                let transport = transport.bind(py);
                let mut bytes = Vec::new();
                match tls {
                    Some(mut tls) => {
                        // A TLS layer that cannot say goodbye any more is closed without.
                        let _ = tls.transmit(&mut farewell, &mut bytes);
                        tls.close_notify();
                        let _ = tls.transmit(&mut farewell, &mut bytes);
                    }
                    None => bytes = farewell.take(),
                }
                if !bytes.is_empty() {
                    transport.call_method1("write", (pyo3::types::PyBytes::new(py, &bytes),))?;
                }
                transport.call_method0("close")?;
            }
        }
        Ok(())
    }
}

impl Wire {
    /// Forgets who asked for a request. If it is `held`, nothing is started from the same moment on that a cancel request
    /// for it could hit.
    fn forget(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, held: bool) -> PyResult<(Discarded, u64)> {
        let mut state = self.hold(py)?;
        let Some(id) = self.id_of(&state, ticket) else { return Ok((Discarded::Gone, 0)) };
        let discarded = state.machine.discard(id);
        if held && discarded == Discarded::Alone {
            self.holds.fetch_add(1, Ordering::SeqCst);
            state.machine.hold(true);
        }
        drop(state);
        self.flush(py)?;
        Ok((discarded, id))
    }

    /// Sends the urgent byte that interrupts an Informix statement; says whether the socket is still there.
    pub(super) fn urge(&self, py: Python<'_>, byte: u8) -> PyResult<bool> {
        match self.hangup.get() {
            Some(hangup) => hangup.urge(byte).map_err(|error| errors::fatal(py, &Fatal::gone(error.to_string()))),
            None => Ok(false),
        }
    }

    /// The number of the request that this ticket or future belongs to.
    pub(super) fn id_of(&self, state: &State, ticket: &Bound<'_, PyAny>) -> Option<u64> {
        state.machine.find(ticket)
    }
}

/// A portal's name on the server, and its number.
type PortalKey = (String, u64);

fn portal_id((name, number): PortalKey) -> PortalId {
    PortalId { name, number }
}

fn hints(row: &Bound<'_, PyTuple>, settings: &Settings) -> Vec<Oid> {
    row.iter().map(|value| types::hint(&PyValue::new(value, settings))).collect()
}
