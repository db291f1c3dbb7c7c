//! The requests that only CUBRID has.

pub mod dialect;
mod setup;

use crate::args::{Args, Source};
use crate::arrow::ArrowSink;
use crate::call::ResultShape;
use crate::errors;
use crate::query::Sql;
use crate::wire::{Seconds, Wire};
use dialect::Cubrid;
use headrace_core::CodeSet;
use headrace_drivers::protocols::cubrid;
use headrace_drivers::protocols::cubrid::machine::{BatchStrategy, Execute, ParameterRows, Request};
use headrace_drivers::protocols::cubrid::messages::login::BrokerInfo;
use headrace_drivers::protocols::cubrid::messages::parameter;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;

/// A connection to CUBRID, with the requests that only it has.
#[pyclass(frozen, extends = Wire, module = "headrace._native")]
#[derive(Debug)]
pub struct CubridWire;

impl CubridWire {
    /// Queues a statement with one row of parameters.
    fn one_row(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
        request: impl FnOnce(Arc<str>, bool) -> Request,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let query = query.get();
        let row = query.arrange(py, params.as_ref())?;
        let call = wire.call::<Cubrid>(py, &state, Args::Row(row.unbind()), ResultShape::One, query.sql.clone())?;
        wire.enqueue(py, state, request(query.sql.clone(), wire.still_begins(begin)), call)
    }
}

fn strategy(py: Python<'_>, name: &str) -> PyResult<BatchStrategy> {
    match name {
        "auto" => Ok(BatchStrategy::Auto),
        "joined" => Ok(BatchStrategy::Joined),
        "array" => Ok(BatchStrategy::Array),
        _ => Err(errors::programming(py, &format!("{name:?} is not one of auto, joined, array"))),
    }
}

#[pymethods]
impl CubridWire {
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

    /// Queues a statement, or a text with several, whose results are a list; with `begin` in a transaction, which it begins if none is open. With `block` it is a stream,
    /// whose rows are taken in lists of this number while they come, the rest with its result. `arrow` makes record
    /// batches of its rows; with `first` only the first of them is kept, with
    /// `bare` only the list of them, if there are any.
    #[pyo3(signature = (sql, params=None, begin=false, first=false, *, block=None, bare=false, arrow=None))]
    #[allow(clippy::too_many_arguments)]
    fn execute(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
        first: bool,
        block: Option<usize>,
        bare: bool,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let state = wire.lock(py)?;
        let known = wire.query(&state, &sql, true)?;
        let query = known.get();
        let row = query.arrange(py, params.as_ref())?;
        let (args, shape) = (Args::Row(row.unbind()), ResultShape::Several);
        let mut call = wire.call::<Cubrid>(py, &state, args, shape, query.sql.clone())?;
        let facts: Option<cubrid::lexer::Facts> = query.facts();
        call.script = facts.map_or_else(|| cubrid::lexer::is_several(&query.sql), |facts| facts.is_several);
        call.block = block;
        call.arrow = arrow;
        call.first = first;
        call.bare = bare;
        call.query = Some(known.clone_ref(py));
        let begin = wire.still_begins(begin);
        wire.enqueue(
            py,
            state,
            Request::Execute(Execute { facts, sql: query.sql.clone(), rows: ParameterRows::One, begin }),
            call,
        )
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
        let ticket = Self::execute(slf, py, sql, params, begin, first, None, bare, None)?;
        slf.as_super().get().answer(py, ticket, timeout.0)
    }

    /// Queues a batch: one statement, many rows of parameters. `strategy` is `auto`, `joined` or `array`; `atomic` all
    /// rows or none.
    #[pyo3(signature = (sql, rows, *, begin=false, strategy="auto", atomic=true))]
    fn execute_batch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        rows: Py<PyAny>,
        begin: bool,
        strategy: &str,
        atomic: bool,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, true)?;
        let strategy = self::strategy(py, strategy)?;
        let rows = Source::of::<Cubrid>(py, rows)?;
        let _held = rows.hold();
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let arranged = query.get().arranges().then(|| query.clone_ref(py));
        let args = Args::batch(py, rows, arranged)?;
        let call = wire.call::<Cubrid>(py, &state, args, ResultShape::One, query.get().sql.clone())?;
        let (rows, begin) = (ParameterRows::Batch { strategy, atomic }, wire.still_begins(begin));
        wire.enqueue(
            py,
            state,
            Request::Execute(Execute { facts: query.get().facts(), sql: query.get().sql.clone(), rows, begin }),
            call,
        )
    }

    /// Queues a batch of texts: rows of one text each.
    #[pyo3(signature = (rows, *, begin=false))]
    fn execute_texts(slf: &Bound<'_, Self>, py: Python<'_>, rows: Py<PyAny>, begin: bool) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let rows = Source::of::<Cubrid>(py, rows)?;
        let _held = rows.hold();
        let state = wire.lock(py)?;
        let args = Args::batch(py, rows, None)?;
        let call = wire.call::<Cubrid>(py, &state, args, ResultShape::One, "".into())?;
        wire.enqueue(py, state, Request::Texts { begin: wire.still_begins(begin) }, call)
    }

    /// Queues a query whose result stays open at the server under this number, with `holds` after a commit too. Its
    /// first page comes with the reply.
    #[pyo3(signature = (number, sql, params=None, *, holds=false, begin=false))]
    fn open_cursor(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        number: u64,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        holds: bool,
        begin: bool,
    ) -> PyResult<Py<PyAny>> {
        Self::one_row(slf, py, sql, params, begin, |sql, begin| Request::Open { sql, number, holds, begin })
    }

    /// Returns true if a result is open under this number.
    fn has_cursor(slf: &Bound<'_, Self>, py: Python<'_>, number: u64) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        Ok(state.connection.machine.of::<Cubrid>(py)?.has_cursor(number))
    }

    /// Returns true if FETCH may begin with any row.
    fn seeks(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        Ok(state.connection.machine.of::<Cubrid>(py)?.broker().is_none_or(BrokerInfo::seeks))
    }

    /// Queues a FETCH of one page of an open result, from this row on.
    fn fetch_at(slf: &Bound<'_, Self>, py: Python<'_>, number: u64, position: i32) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::FetchAt { number, position })
    }

    /// Queues the closing of an open result.
    fn close_cursor(slf: &Bound<'_, Self>, py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::CloseCursor { number })
    }

    /// Queues an INSERT whose result is the keys that it generates.
    #[pyo3(signature = (sql, params=None, *, begin=false))]
    fn generated_keys(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
    ) -> PyResult<Py<PyAny>> {
        Self::one_row(slf, py, sql, params, begin, |sql, begin| {
            Request::Execute(Execute { facts: None, sql, rows: ParameterRows::Keys, begin })
        })
    }

    /// Queues a query of the catalogue: its number, up to two names, and which of them are patterns.
    #[pyo3(signature = (query, first=None, second=None, patterns=0))]
    fn schema_info(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        query: i32,
        first: Option<&str>,
        second: Option<&str>,
        patterns: u8,
    ) -> PyResult<Py<PyAny>> {
        let (first, second) = (first.map(Arc::from), second.map(Arc::from));
        slf.as_super().get().bare::<Cubrid>(py, Request::SchemaInfo { query, first, second, patterns })
    }

    /// Queues a request for the plan of a statement; the result has one row of one value.
    fn plan(slf: &Bound<'_, Self>, py: Python<'_>, sql: &str) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::Plan { sql: sql.into() })
    }

    /// Queues a request for the types of a statement's parameters, which are the columns of its result.
    fn parameter_types(slf: &Bound<'_, Self>, py: Python<'_>, sql: Sql<'_>) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, true)?;
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let query = query.get();
        let call = wire.call::<Cubrid>(
            py,
            &state,
            Args::Row(PyTuple::empty(py).unbind()),
            ResultShape::One,
            query.sql.clone(),
        )?;
        wire.enqueue(py, state, Request::ParameterTypes { sql: query.sql.clone() }, call)
    }

    /// Queues a request for the rows of a CURSOR that a procedure has returned as this value.
    fn returned_rows(slf: &Bound<'_, Self>, py: Python<'_>, value: i64) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::Returned { value })
    }

    /// Queues a request for the value that the last INSERT has generated: `generated` of the result.
    fn last_insert_id(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::LastInsertId)
    }

    /// Queues a request for the server's version; the result has one row of one value.
    fn version(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::Version)
    }

    /// Queues the setting of the session's isolation level: 4 READ COMMITTED, 5 REPEATABLE READ, 6 SERIALIZABLE.
    fn set_isolation(slf: &Bound<'_, Self>, py: Python<'_>, value: i32) -> PyResult<Py<PyAny>> {
        let request = Request::SetParameter { parameter: parameter::ISOLATION_LEVEL, value };
        slf.as_super().get().bare::<Cubrid>(py, request)
    }

    /// Queues the setting of how many milliseconds the session waits for a lock; -1 is no limit, -2 the server's
    /// default.
    fn set_lock_timeout(slf: &Bound<'_, Self>, py: Python<'_>, value: i32) -> PyResult<Py<PyAny>> {
        let request = Request::SetParameter { parameter: parameter::LOCK_TIMEOUT, value };
        slf.as_super().get().bare::<Cubrid>(py, request)
    }

    /// Queues the making of a large object; the result has one row of one value, its handle.
    #[pyo3(signature = (is_text, *, begin=false))]
    fn lob_new(slf: &Bound<'_, Self>, py: Python<'_>, is_text: bool, begin: bool) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let begin = wire.still_begins(begin);
        wire.bare::<Cubrid>(py, Request::NewObject { is_text, begin })
    }

    /// Queues a read of a large object; the result has one row of one value, which is empty at the end.
    fn lob_read(slf: &Bound<'_, Self>, py: Python<'_>, handle: &[u8], offset: i64, bytes: i32) -> PyResult<Py<PyAny>> {
        slf.as_super().get().bare::<Cubrid>(py, Request::ReadObject { handle: handle.into(), offset, bytes })
    }

    /// Queues the appending of data to a large object; the result's rowcount is the number of bytes.
    fn lob_write(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        handle: &[u8],
        offset: i64,
        data: &[u8],
    ) -> PyResult<Py<PyAny>> {
        let request = Request::WriteObject { handle: handle.into(), offset, data: data.into() };
        slf.as_super().get().bare::<Cubrid>(py, request)
    }

    /// Sets the character set of the database: `utf8`, `euckr` or `iso88591`.
    fn set_charset(slf: &Bound<'_, Self>, py: Python<'_>, name: &str) -> PyResult<()> {
        let codeset = CodeSet::of_locale(name)
            .ok_or_else(|| errors::programming(py, &format!("{name:?} is not the name of a character set")))?;
        let wire = slf.as_super().get();
        wire.lock(py)?.connection.machine.of::<Cubrid>(py)?.set_codeset(codeset);
        Ok(())
    }

    /// The version of the server's protocol, the identification of the session, and how often it was resumed.
    fn session(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<(u8, Py<PyBytes>, u64)> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let machine = state.connection.machine.of::<Cubrid>(py)?;
        let version = machine.broker().map_or(0, |broker| broker.protocol_version());
        let session = machine.session_id().unwrap_or_default();
        Ok((version, PyBytes::new(py, &session).unbind(), machine.resumed()))
    }
}
