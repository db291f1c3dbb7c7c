//! The requests that only Informix has.

pub mod dialect;
mod setup;

use crate::args::{Args, Source, sequence};
use crate::arrow::ArrowSink;
use crate::call::ResultShape;
use crate::errors::{self, client_error};
use crate::query::Sql;
use crate::wire::{Io, Seconds, Wire};
use dialect::Informix;
use headrace_core::{Cancellation, Interrupt, NextStep};
use headrace_drivers::protocols::informix::machine::{
    BatchStrategy, Declare, Execute, Logging, ParameterRows, Position, Request,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::Arc;

impl Wire {
    /// Queues a statement with one row of parameters.
    fn with_row(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        params: Option<&Bound<'_, PyAny>>,
        (arrow, first, bare): (Option<Py<ArrowSink>>, bool, bool),
        request: impl FnOnce(Arc<str>) -> Request,
    ) -> PyResult<Py<PyAny>> {
        let state = self.lock(py)?;
        let known = self.query(&state, sql, true)?;
        let query = known.get();
        let row = query.arrange(py, params)?;
        let mut call = self.call(py, &state, Args::Row(row.unbind()), ResultShape::One, query.sql.clone())?;
        call.arrow = arrow;
        call.first = first;
        call.bare = bare;
        call.query = Some(known.clone_ref(py));
        self.enqueue::<Informix>(py, state, request(query.sql.clone()), call)
    }
}

/// A connection to Informix, with the requests that only it has.
#[pyclass(frozen, extends = Wire, module = "headrace._native")]
#[derive(Debug)]
pub struct InformixWire;

#[pymethods]
impl InformixWire {
    /// A connection that is not open yet: see [`Wire`].
    #[new]
    #[pyo3(signature = (options, event_loop=None))]
    fn new(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        event_loop: Option<Py<PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        Wire::subclass(py, options, event_loop, setup::prepare, Self)
    }

    /// Queues a statement; with `begin` in a transaction, which it begins if none is open. `arrow` makes
    /// record batches of its rows; with `first` only the first of them is kept, with
    /// `bare` only the list of them, if there are any.
    #[pyo3(signature = (sql, params=None, begin=false, first=false, *, bare=false, arrow=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn execute(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
        first: bool,
        bare: bool,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let request = |sql| {
            let begin = wire.still_begins(begin);
            Request::Execute(Execute { sql, rows: ParameterRows::One, begin, strategy: None })
        };
        wire.with_row(py, &sql, params.as_ref(), (arrow, first, bare), request)
    }

    /// Executes a statement and waits for its result, in one call: `execute`, and then `wait`. If there are notices, the
    /// result is the only item of a tuple; if it is `bare` and has rows, it is the list of them. After an error,
    /// `unfinished` returns the ticket if it is still in flight. On a loop it returns the future of the result.
    #[pyo3(signature = (sql, params, begin, first, bare, timeout, /))]
    #[expect(clippy::too_many_arguments, reason = "those of execute")]
    fn run(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
        first: bool,
        bare: bool,
        timeout: Seconds,
    ) -> PyResult<Py<PyAny>> {
        let ticket = Self::execute(slf, py, sql, params, begin, first, bare, None)?;
        slf.as_super().get().answer(py, ticket, timeout.0)
    }

    /// Queues a batch: one statement, many rows of parameters, all or none. `strategy` fixes how they are sent, for
    /// measurements: `put`, `groups` or `rows`.
    #[pyo3(signature = (sql, rows, *, begin=false, strategy=None))]
    fn execute_batch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        rows: Py<PyAny>,
        begin: bool,
        strategy: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, true)?;
        let strategy = match strategy {
            None => None,
            Some("put") => Some(BatchStrategy::Put),
            Some("groups") => Some(BatchStrategy::Groups),
            Some("rows") => Some(BatchStrategy::Rows),
            Some(other) => {
                return Err(errors::programming(py, &format!("strategy {other:?} is not one of put, groups, rows")));
            }
        };
        let rows = Source::of::<Informix>(py, rows)?;
        let _held = rows.hold();
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let arranged = query.get().arranges().then(|| query.clone_ref(py));
        let args = Args::batch(py, rows, arranged)?;
        let call = wire.call(py, &state, args, ResultShape::One, query.get().sql.clone())?;
        let begin = wire.still_begins(begin);
        let request =
            Request::Execute(Execute { sql: query.get().sql.clone(), rows: ParameterRows::Batch, begin, strategy });
        wire.enqueue::<Informix>(py, state, request, call)
    }

    /// Sends the urgent byte that interrupts the running statement, if the server has read the one before. Returns
    /// `sent`; `send` if the caller has to send it, on the socket of a loop's transport; `later` if it has to call
    /// again; `needless` if nothing is running, or the last byte has not taken effect yet.
    fn interrupt(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<&'static str> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        if let Io::Transport { transport, .. } = &state.io {
            let transport = transport.clone_ref(py);
            let unsent = !state.connection.buffers.write_buffer.is_empty();
            drop(state);
            // A byte that overtakes its statement is read before there is anything to interrupt.
            if unsent || transport.call_method0(py, pyo3::intern!(py, "get_write_buffer_size"))?.is_truthy(py)? {
                return Ok("later");
            }
            state = wire.lock(py)?;
        }
        match state.connection.machine.interrupt(std::time::Instant::now()) {
            Interrupt::Later => Ok("later"),
            Interrupt::Needless => Ok("needless"),
            Interrupt::Send => {
                drop(state);
                let Cancellation::UrgentByte(byte) = wire.cancel() else { return Ok("needless") };
                Ok(if wire.urge(py, byte)? { "sent" } else { "send" })
            }
        }
    }

    /// Queues the opening of a cursor that stays open: its first rows up to this number of `bytes`, but at least one;
    /// none of a scroll cursor. `cursor` is a number that the caller chooses. `arrow` makes record batches of its rows.
    #[pyo3(signature = (
        cursor, sql, params=None, *, name=None, scroll=false, hold=false, begin=false, bytes=65536, arrow=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn declare(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        cursor: u64,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
        scroll: bool,
        hold: bool,
        begin: bool,
        bytes: i32,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let name = name.map(Into::into);
        let request = |sql| {
            let begin = wire.still_begins(begin);
            Request::Declare(Declare { cursor, sql, name, scroll, with_hold: hold, begin, bytes })
        };
        wire.with_row(py, &sql, params.as_ref(), (arrow, false, false), request)
    }

    /// Queues the fetch of more rows of a cursor. `arrow` makes record batches of them.
    #[pyo3(signature = (cursor, bytes, *, arrow=None))]
    fn fetch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        cursor: u64,
        bytes: i32,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let mut call = wire.call::<Informix>(py, &state, args, ResultShape::One, "".into())?;
        call.arrow = arrow;
        wire.enqueue(py, state, Request::Fetch { cursor, bytes }, call)
    }

    /// Queues the fetch of one row of a scroll cursor, counted from 1, or of its last one. The result's rowcount is the
    /// number of the row, -1 if there is none.
    fn scroll(slf: &Bound<'_, Self>, py: Python<'_>, cursor: u64, row: Option<i32>) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<Informix>(py, Request::Scroll { cursor, to: row.map_or(Position::Last, Position::Row) })
    }

    /// Queues the closing of a cursor; does nothing if it is closed.
    fn close_cursor(slf: &Bound<'_, Self>, py: Python<'_>, cursor: u64) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<Informix>(py, Request::Close { cursor })
    }

    /// Queues the call of a routine over the fast path, by its signature; the result has one row. With `begin` in a
    /// transaction, as for a statement.
    #[pyo3(signature = (signature, params, *, begin=false))]
    fn routine(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        signature: &str,
        params: &Bound<'_, PyAny>,
        begin: bool,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let row = sequence(params).map_err(|error| client_error(py, error, None))?;
        let call = wire.call::<Informix>(py, &state, Args::Row(row.unbind()), ResultShape::One, signature.into())?;
        let begin = wire.still_begins(begin);
        wire.enqueue(py, state, Request::Routine { signature: signature.into(), begin }, call)
    }

    /// Queues a read of this number of bytes of a smart large object; the result has one row of one value.
    fn lo_read(slf: &Bound<'_, Self>, py: Python<'_>, object: i16, bytes: i32) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<Informix>(py, Request::ReadObject { object, bytes })
    }

    /// Queues a write to a smart large object; the result's rowcount is the number of bytes.
    fn lo_write(slf: &Bound<'_, Self>, py: Python<'_>, object: i16, data: &[u8]) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<Informix>(py, Request::WriteObject { object, data: data.into() })
    }

    /// Facts about the session: the server's banner, the database's locale (None unless it was queried), its code set,
    /// and its transaction mode (`none`, `logged`, `ansi`).
    fn session(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
    ) -> PyResult<(String, Option<String>, &'static str, &'static str)> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let machine = state.connection.machine.of::<Informix>(py)?;
        let logging = match machine.logging() {
            Logging::None => "none",
            Logging::Logged => "logged",
            Logging::Ansi => "ansi",
        };
        Ok((machine.banner().to_owned(), machine.locale().map(str::to_owned), machine.codeset().name(), logging))
    }

    /// The question at login that waits for an answer, and whether the answer may be shown while it is typed.
    fn challenge(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Option<(String, bool)>> {
        let wire = slf.as_super().get();
        Ok(match wire.lock(py)?.connection.machine.next_step() {
            NextStep::Question { text, is_shown } => Some((text.to_owned(), is_shown)),
            _ => None,
        })
    }

    /// Answers it; then wait for the session as before.
    fn respond(slf: &Bound<'_, Self>, py: Python<'_>, answer: &str) -> PyResult<()> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let (machine, write_buffer) = state.parts();
        machine.of::<Informix>(py)?.respond(answer, write_buffer);
        if let Io::Transport { .. } = state.io {
            drop(state);
            wire.flush(py)?;
        }
        Ok(())
    }

    /// Returns true if the server refused the session because it asks questions at login.
    fn asks_questions(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Informix>(py)?.asks_questions())
    }
}
