//! The requests that only MySQL and MariaDB have.

pub mod dialect;
mod setup;

use crate::args::{Args, Source};
use crate::arrow::ArrowSink;
use crate::call::{PyCall, ResultShape};
use crate::columns::Columns;
use crate::engine::Dialect as _;
use crate::errors::{self, ClientError};
use crate::filling::{Filled, RowForm, RowSource, fill};
use crate::limits;
use crate::query::{Sql, utf8};
use crate::wire::{Seconds, StateGuard, Transfer, Wire, WireState};
use dialect::MySql;
use headrace_core::Parameters;
use headrace_drivers::protocols::mysql;
use headrace_drivers::protocols::mysql::machine::{
    self, AsText, BatchStrategy, Execute, Guarding, InfileState, ParameterRows, Request, VerbStatement,
};
use headrace_drivers::protocols::mysql::packets::capabilities::StatusFlags;
use headrace_drivers::protocols::mysql::packets::column::Column;
use headrace_drivers::protocols::mysql::packets::reply::ServerError;
use headrace_drivers::protocols::mysql::types::{FieldKind, write_line};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;

impl Wire {
    fn mysql_call(
        &self,
        py: Python<'_>,
        state: &WireState,
        shape: ResultShape,
        sql: Arc<str>,
    ) -> PyResult<PyCall<MySql>> {
        self.call::<MySql>(py, state, Args::Row(PyTuple::empty(py).unbind()), shape, sql)
    }

    /// Queues a request within a reservation, which nothing that is open refuses; 0 is none.
    fn enqueue_within(
        &self,
        py: Python<'_>,
        state: StateGuard<'_>,
        request: Request,
        call: PyCall<MySql>,
        reservation: u64,
    ) -> PyResult<Py<PyAny>> {
        if reservation == 0 {
            return self.enqueue::<MySql>(py, state, request, call);
        }
        self.enqueue_ungated::<MySql>(py, state, Request::Within { reservation, request: Box::new(request) }, call)
    }
}

/// A connection to MySQL or MariaDB, with the requests that only they have.
#[pyclass(frozen, extends = Wire, module = "headrace._native")]
#[derive(Debug)]
pub struct MySqlWire;

/// The text of a login path file.
///
/// # Errors
/// ProgrammingError if it is not one.
#[pyfunction]
pub fn decrypt_login_file<'py>(py: Python<'py>, file: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    match mysql::login_file::decrypt(file) {
        Some(text) => Ok(PyBytes::new(py, &text)),
        None => Err(errors::programming(py, "the file is not as mysql_config_editor writes it")),
    }
}

fn as_text(always: bool, never: bool) -> AsText {
    match (always, never) {
        (true, _) => AsText::Always,
        (false, true) => AsText::Never,
        (false, false) => AsText::IfUnprepared,
    }
}

fn strategy(py: Python<'_>, name: &str) -> PyResult<BatchStrategy> {
    match name {
        "auto" => Ok(BatchStrategy::Auto),
        "bulk" => Ok(BatchStrategy::Bulk),
        "joined" => Ok(BatchStrategy::Joined),
        "pipelined" => Ok(BatchStrategy::Pipelined),
        _ => Err(errors::programming(py, &format!("{name:?} is not one of auto, bulk, joined, pipelined"))),
    }
}

#[pymethods]
impl MySqlWire {
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

    /// The exception for a warning of SHOW WARNINGS; `row` is the 0-based row of a batch that it is about.
    #[staticmethod]
    #[pyo3(signature = (code, text, row=None))]
    fn error_of_warning(py: Python<'_>, code: u16, text: String, row: Option<u64>) -> Py<PyAny> {
        MySql::error(py, &ServerError::of_warning(code, text), None, row).into_value(py).into_any()
    }

    /// Queues a statement. With `text` the parameters become literals in the text, which is sent with COM_QUERY; with
    /// `prepared` they never do, and a statement that the server cannot prepare is an error; with `block` it is a
    /// stream, whose rows are taken in lists of this number while they come, the rest with its result. `reservation` is
    /// the number of the reservation that it belongs to; `arrow` makes record batches of its rows; with `first` only the
    /// first of them is kept, with `bare` only the list of them, if there are any.
    #[pyo3(signature = (sql, params=None, text=false, first=false, *, prepared=false, block=None, reservation=0, bare=false, arrow=None))]
    #[allow(clippy::too_many_arguments)]
    fn execute(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        text: bool,
        first: bool,
        prepared: bool,
        block: Option<usize>,
        reservation: u64,
        bare: bool,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let state = wire.lock(py)?;
        let known = wire.query(&state, &sql, params.is_some())?;
        let query = known.get();
        let row = query.arrange(py, params.as_ref())?;
        let mut call =
            wire.call::<MySql>(py, &state, Args::Row(row.unbind()), ResultShape::Several, query.sql.clone())?;
        call.script = true;
        call.block = block;
        call.arrow = arrow;
        call.first = first;
        call.bare = bare;
        call.query = Some(known.clone_ref(py));
        let request = Request::Execute(Execute {
            facts: query.facts(),
            sql: query.sql.clone(),
            rows: ParameterRows::One,
            text: as_text(text, prepared),
            cursor: None,
        });
        wire.enqueue_within(py, state, request, call, reservation)
    }

    /// Executes a statement and waits for its result, in one call: `execute`, and then `wait`. If there are notices, the
    /// result is the only item of a tuple; if it is `bare` and has rows, it is the list of them. After an error,
    /// `unfinished` returns the ticket if it is still in flight. On a loop it returns the future of the result.
    #[pyo3(signature = (sql, params, text, first, bare, timeout, /))]
    #[expect(clippy::too_many_arguments, reason = "those of execute")]
    fn run(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        text: bool,
        first: bool,
        bare: bool,
        timeout: Seconds,
    ) -> PyResult<Py<PyAny>> {
        let ticket = Self::execute(slf, py, sql, params, text, first, false, None, 0, bare, None)?;
        slf.as_super().get().answer(py, ticket, timeout.0)
    }

    /// Queues a query whose rows stay in a cursor on the server, and of which `rows` are fetched first. Returns its
    /// number with its ticket: another thread may have received its result before this one could query the number.
    fn open_cursor(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        rows: u32,
    ) -> PyResult<(Py<PyAny>, u64)> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let mut state = wire.lock(py)?;
        let query = wire.query(&state, &sql, params.is_some())?;
        let query = query.get();
        let row = query.arrange(py, params.as_ref())?;
        let mut call =
            wire.call::<MySql>(py, &state, Args::Row(row.unbind()), ResultShape::Several, query.sql.clone())?;
        call.script = true;
        let request = Request::Execute(Execute {
            facts: query.facts(),
            sql: query.sql.clone(),
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor: Some(rows),
        });
        let number = state.connection.machine.of::<MySql>(py)?.next_id();
        Ok((wire.enqueue::<MySql>(py, state, request, call)?, number))
    }

    /// Queues a batch: one statement, many rows of parameters. `strategy` is `auto`, `bulk`, `joined` or `pipelined`;
    /// `atomic` all rows or none; with `returning` there is one result per row.
    #[pyo3(signature = (sql, rows, *, strategy="auto", atomic=true, text=false, returning=false, flat=false))]
    #[allow(clippy::too_many_arguments)]
    fn execute_batch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        rows: Py<PyAny>,
        strategy: &str,
        atomic: bool,
        text: bool,
        returning: bool,
        flat: bool,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, true)?;
        let strategy = self::strategy(py, strategy)?;
        let rows = Source::of::<MySql>(py, rows)?;
        let _held = rows.hold();
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let arranged = query.get().arranges().then(|| query.clone_ref(py));
        let args = Args::batch(py, rows, arranged)?;
        let shape = match (returning, flat) {
            (_, true) => ResultShape::Flat,
            (true, false) => ResultShape::All,
            (false, false) => ResultShape::One,
        };
        let strategy = if returning || flat { BatchStrategy::Pipelined } else { strategy };
        let call = wire.call::<MySql>(py, &state, args, shape, query.get().sql.clone())?;
        let rows = ParameterRows::Batch { strategy, atomic };
        let request = Request::Execute(Execute {
            facts: query.get().facts(),
            sql: query.get().sql.clone(),
            rows,
            text: as_text(text, false),
            cursor: None,
        });
        wire.enqueue::<MySql>(py, state, request, call)
    }

    /// Queues a COM_QUERY; with `infile` the caller supplies the data of a LOAD DATA LOCAL. `reservation` is the number
    /// of the reservation that it belongs to.
    #[pyo3(signature = (sql, *, infile=false, reservation=0))]
    fn query(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        infile: bool,
        reservation: u64,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, false)?;
        let state = wire.lock(py)?;
        let sql: Arc<str> = utf8(&sql)?.into();
        let mut call = wire.mysql_call(py, &state, ResultShape::All, sql.clone())?;
        call.script = true;
        wire.enqueue_within(py, state, Request::Query { sql, infile }, call, reservation)
    }

    /// Queues the statements that begin the guard of a load within a reservation that has begun (`begin`), or end it and
    /// `keep` or `undo` what was loaded. Returns their tickets.
    fn guard(slf: &Bound<'_, Self>, py: Python<'_>, guarding: &str, reservation: u64) -> PyResult<Vec<Py<PyAny>>> {
        let wire = slf.as_super().get();
        let guarding = match guarding {
            "begin" => Guarding::Begin,
            "keep" => Guarding::Keep,
            "undo" => Guarding::Undo,
            _ => return Err(errors::programming(py, &format!("{guarding:?} is not one of begin, keep, undo"))),
        };
        let statements = wire.lock(py)?.connection.machine.of::<MySql>(py)?.guard(guarding);
        let queue = |statement: VerbStatement| {
            let state = wire.lock(py)?;
            let call = wire.mysql_call(py, &state, ResultShape::All, statement.sql.clone())?;
            wire.enqueue_within(py, state, Request::Verb(statement), call, reservation)
        };
        statements.into_iter().map(queue).collect()
    }

    /// Queues a reservation of the connection: once its ticket is done, only requests within it are sent. Returns its
    /// number too. Code that makes one must call `release` in any case.
    fn reserve(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<(Py<PyAny>, u64)> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let call = wire.mysql_call(py, &state, ResultShape::One, "".into())?;
        let number = state.connection.machine.of::<MySql>(py)?.next_id();
        Ok((wire.enqueue::<MySql>(py, state, Request::Reserve, call)?, number))
    }

    /// Ends a reservation, once the requests queued within it have ended.
    fn release(slf: &Bound<'_, Self>, py: Python<'_>, number: u64) -> PyResult<()> {
        let wire = slf.as_super().get();
        wire.lock(py)?.connection.machine.of::<MySql>(py)?.release(number);
        wire.complete_waiting();
        wire.flush(py)
    }

    /// Whether the server commits each statement by itself, as last reported; None while that is unknown.
    fn autocommits(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Option<bool>> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<MySql>(py)?.autocommits())
    }

    /// Whether a statement that failed may have left locks that only the end of a transaction releases.
    fn holds_locks(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<MySql>(py)?.holds_locks())
    }

    /// Whether the session may have locked tables, by LOCK TABLES or the like.
    fn holds_tables(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<MySql>(py)?.holds_tables())
    }

    /// Whether the next transaction may be another than the session's others, by SET TRANSACTION.
    fn sets_next_transaction(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<MySql>(py)?.sets_next_transaction())
    }

    /// Whether a statement may have changed the role; it counts as restored from now on.
    fn take_role_changed(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let machine = state.connection.machine.of::<MySql>(py)?;
        let changed = machine.role_changed();
        machine.role_restored();
        Ok(changed)
    }

    /// Whether the session has anything that a pool has to undo while it is not in a transaction: locks, locked tables,
    /// what the next transaction is to be, or another `autocommit`.
    fn is_left_changed(slf: &Bound<'_, Self>, py: Python<'_>, autocommit: bool) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let machine = state.connection.machine.of::<MySql>(py)?;
        let changed = machine.autocommits().is_some_and(|reported| reported != autocommit);
        Ok(changed || machine.holds_locks() || machine.holds_tables() || machine.sets_next_transaction())
    }

    /// Queues a fetch of more rows from the cursor that the request of number `cursor` opened.
    fn fetch(slf: &Bound<'_, Self>, py: Python<'_>, cursor: u64, rows: u32) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<MySql>(py, Request::Fetch { cursor, rows })
    }

    /// Queues the closing of that cursor.
    fn close_cursor(slf: &Bound<'_, Self>, py: Python<'_>, cursor: u64) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare::<MySql>(py, Request::CloseCursor { cursor })
    }

    /// Queues COM_INIT_DB.
    fn select_db(slf: &Bound<'_, Self>, py: Python<'_>, schema: String) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        wire.bare_statement::<MySql>(py, Request::InitDb { schema: schema.into() })
    }

    /// Turns autocommit off before the next request, without a round trip of its own.
    fn commit_manually(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<()> {
        let wire = slf.as_super().get();
        wire.lock(py)?.connection.machine.of::<MySql>(py)?.commit_manually();
        Ok(())
    }

    /// The state of a LOAD DATA LOCAL.
    fn infile_state(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Transfer> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let id = wire.id_of(&state, ticket);
        let machine = state.connection.machine.of::<MySql>(py)?;
        Ok(match id.map(|id| machine.infile_state(id)) {
            Some(InfileState::Waiting) => Transfer::Waiting,
            Some(InfileState::Streaming(_)) => Transfer::Streaming,
            Some(InfileState::Ended) | None => Transfer::Ended,
        })
    }

    /// Puts a block of a LOAD DATA LOCAL into the write buffer; returns true if the server still takes any.
    fn infile_data(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>, data: &[u8]) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        let Some(id) = wire.id_of(&state, ticket) else { return Ok(false) };
        let (machine, write_buffer) = state.parts();
        let machine = machine.of::<MySql>(py)?;
        for block in data.chunks(limits::WRITE_BUFFER_HIGH_BYTES) {
            if !machine.infile_data(id, write_buffer, |out| out.extend_from_slice(block)) {
                return Ok(false);
            }
        }
        drop(state);
        wire.flush(py)?;
        Ok(true)
    }

    /// The statement that loads the rows of [`Self::infile_rows`] with these columns into `table`, a name quoted for
    /// SQL. `duplicates` is its key word for rows whose key exists, if any.
    #[staticmethod]
    fn load_statement(py: Python<'_>, table: &str, columns: &Bound<'_, Columns>, duplicates: &str) -> PyResult<String> {
        let columns = columns.get().of::<machine::Columns>(py)?;
        Ok(mysql::sql::load_data(table, &columns.fields, duplicates))
    }

    /// Encodes rows of an iterator or an Arrow stream for a LOAD DATA LOCAL of these columns until the write buffer is
    /// full; returns the number of rows, and whether there are no more. `first` is the number of the first row.
    fn infile_rows(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        columns: &Bound<'_, Columns>,
        first: u64,
    ) -> PyResult<(u64, bool)> {
        let wire = slf.as_super().get();
        let columns = columns.get().of::<machine::Columns>(py)?;
        let kinds: Vec<_> = columns.fields.iter().map(Column::field_kind).collect();
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        let Some(id) = wire.id_of(&state, ticket) else { return Ok((0, true)) };
        let settings = state.settings.clone();
        let (machine, write_buffer) = state.parts();
        let machine = machine.of::<MySql>(py)?;
        let (mut source, room, mut filled) = (RowSource::of(rows)?, write_buffer.room(), Filled::default());
        let taken = machine.infile_data(id, write_buffer, |out| {
            filled = fill(&mut source, &Lines(&kinds), &settings, room, out);
        });
        filled.adapt(write_buffer, wire.is_on_loop());
        drop(state);
        let Filled { count, ended, failure, .. } = filled;
        if let Some(failure) = failure {
            return Err(errors::client_error(py, failure, Some(first + count)));
        }
        wire.flush(py)?;
        Ok(if taken { (count, ended) } else { (0, true) })
    }

    /// Ends a LOAD DATA LOCAL.
    fn infile_end(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<()> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let id = wire.id_of(&state, ticket);
        let (machine, write_buffer) = state.parts();
        if let Some(id) = id {
            machine.of::<MySql>(py)?.infile_end(id, write_buffer);
        }
        drop(state);
        wire.flush(py)
    }

    /// Whether a backslash in a string escapes the character after it, by the SQL modes of the session.
    fn backslash_escapes(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let mut state = slf.as_super().get().lock(py)?;
        Ok(!state.connection.machine.of::<MySql>(py)?.session().modes().no_backslash_escapes)
    }

    /// The state of the session, by name: `server_version` (text), `version` (three numbers), `mariadb`, `thread_id`,
    /// `capabilities` and `status` (flags), `schema`, `variables`, `gtids`, `transaction_state`,
    /// `transaction_characteristics` (None if the server does not report them).
    fn session<'py>(slf: &Bound<'_, Self>, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let session = state.connection.machine.of::<MySql>(py)?.session();
        let out = PyDict::new(py);
        out.set_item("server_version", &session.server_version)?;
        out.set_item("version", session.version)?;
        out.set_item("mariadb", session.mariadb)?;
        out.set_item("thread_id", session.thread_id)?;
        out.set_item("autocommit", session.status.contains(StatusFlags::AUTOCOMMIT))?;
        out.set_item("schema", &session.schema)?;
        out.set_item("variables", &session.variables)?;
        out.set_item("gtids", &session.gtids)?;
        out.set_item("transaction_state", &session.transaction_state)?;
        out.set_item("transaction_characteristics", &session.transaction_characteristics)?;
        Ok(out)
    }
}

/// Lines of LOAD DATA.
struct Lines<'a>(&'a [FieldKind]);

impl RowForm for Lines<'_> {
    fn write<P: Parameters<Error = ClientError>>(&self, row: &P, block: &mut Vec<u8>) -> Result<(), ClientError> {
        write_line(self.0, row.count(), |i| row.get(i), block)
    }
}
