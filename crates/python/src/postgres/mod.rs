//! The requests that only PostgreSQL has.

mod copy;
pub mod dialect;
mod setup;

use crate::args::{Args, Source};
use crate::arrow::ArrowSink;
use crate::call::ResultShape;
use crate::columns::Columns;
use crate::errors;
use crate::ffi::{Exact, exact};
use crate::globals::{globals, is};
use crate::params::PyValue;
use crate::query::{Sql, utf8};
use crate::settings::Settings;
use crate::wire::requests::{ModeKey, modes};
use crate::wire::{Seconds, Wire};
pub use copy::CopyBuffer;
use dialect::Postgres;
pub use dialect::convert;
use headrace_drivers::protocols::postgres::limits;
use headrace_drivers::protocols::postgres::machine::{
    self, Cursor, Execute, ParameterRows, Portal, PortalId, Prepare, Request,
};
use headrace_drivers::protocols::postgres::types::{self, Oid, TypeKind, UserType};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A connection to PostgreSQL, with the requests that only it has.
#[pyclass(frozen, extends = Wire, module = "headrace._native")]
#[derive(Debug)]
pub struct PostgresWire;

#[pymethods]
impl PostgresWire {
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

    /// The statement that begins a transaction with these modes.
    #[staticmethod]
    fn begin_statement(py: Python<'_>, begin: ModeKey) -> PyResult<String> {
        Ok(machine::begin_statement(&modes(py, begin)?))
    }

    /// Queues a statement of the extended protocol, and returns the ticket or future of its result.
    ///
    /// `prelude` is a statement to run before it in the same group (BEGIN), `portal` a portal to keep open and the
    /// number of rows to fetch first: in autocommit the transaction that the prelude begins is the portal's own, and
    /// all other requests wait until it is closed. `declares` is the cursor that the statement declares, and whether it
    /// is one WITH HOLD; `uses` is the number of the cursor that it needs: if that is gone nothing is sent, and the
    /// result has no tag. With `named` false it prepares nothing that survives the request. `pipeline` is the number of
    /// the pipeline that it belongs to, after whose errors the server skips requests up to one with `sync`. `expected`
    /// are the columns of a statement without parameters that is sent in one round trip, whatever description the
    /// server then sends. `arrow` makes record batches of its rows; with `first` only the first of them is kept, with
    /// `bare` only the list of them, if there are any.
    #[pyo3(signature = (
        sql, params=None, prelude=None, named=true, first=false, sync=true, ordered=false, pipeline=0, *, portal=None,
        declares=None, uses=None, expected=None, bare=false, arrow=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn execute(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        prelude: Option<&str>,
        named: bool,
        first: bool,
        sync: bool,
        ordered: bool,
        pipeline: u64,
        portal: Option<(PortalKey, i32)>,
        declares: Option<(PortalKey, bool)>,
        uses: Option<u64>,
        expected: Option<&Bound<'_, Columns>>,
        bare: bool,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let (sql, params) = sql.with_params(slf, params)?;
        let state = wire.lock(py)?;
        let known = wire.query(&state, &sql, params.is_some())?;
        let query = known.get();
        let row = query.arrange(py, params.as_ref())?;
        let hints = match params {
            _ if query.is_hinted() => hints(&row, &state.settings, types::hint),
            Some(params) if types_times(&params) => hints(&row, &state.settings, types::time_hint),
            _ => Vec::new(),
        };
        let mut call =
            wire.call::<Postgres>(py, &state, Args::Row(row.unbind()), ResultShape::One, query.sql.clone())?;
        call.arrow = arrow;
        call.first = first;
        call.bare = bare;
        call.query = Some(known.clone_ref(py));
        // Under the lock: another thread may have ended or begun a block since the caller checked.
        let reserves = !wire.begins.load(Ordering::SeqCst);
        let declares = declares.map(|(portal, with_hold)| Cursor::Declare { portal: portal_id(portal), with_hold });
        let request = Request::Execute(Execute {
            sql: query.sql.clone(),
            facts: query.facts(),
            hints,
            rows: ParameterRows::One,
            prepare: if named { Prepare::Named } else { Prepare::Unnamed },
            prelude: wire.prelude(prelude, portal.is_some()),
            portal: portal.map(|(portal, max_rows)| Portal { id: portal_id(portal), max_rows, reserves }),
            cursor: declares.or(uses.map(Cursor::Use)),
            sync,
            ordered,
            copy_after: None,
            join_from: None,
            pipeline,
            expected: expected.map(|columns| columns.get().of(py)).transpose()?,
        });
        wire.enqueue(py, state, request, call)
    }

    /// Executes a statement and waits for its result, in one call: `execute`, and then `wait`. If there are notices, the
    /// result is the only item of a tuple; if it is `bare` and has rows, it is the list of them. After an error,
    /// `unfinished` returns the ticket if it is still in flight. On a loop it returns the future of the result.
    #[pyo3(signature = (sql, params, prelude, first, bare, timeout, /, *, named=true))]
    #[expect(clippy::too_many_arguments, reason = "those of execute")]
    fn run(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        params: Option<&Bound<'_, PyAny>>,
        prelude: Option<&str>,
        first: bool,
        bare: bool,
        timeout: Seconds,
        named: bool,
    ) -> PyResult<Py<PyAny>> {
        let ticket = Self::execute(
            slf, py, sql, params, prelude, named, first, true, false, 0, None, None, None, None, bare, None,
        )?;
        slf.as_super().get().answer(py, ticket, timeout.0)
    }

    /// Queues a batch: one statement, many rows of parameters, all or none. With `returning` the result is a list
    /// with one result per row, with `flat` one result with the rows of all. `strategy` is how the rows of an INSERT are
    /// sent: `auto`, `pipelined`, or `copy` or `joined`, where these have the same meaning.
    #[pyo3(signature = (
        sql, rows, *, prelude=None, named=true, returning=false, flat=false, pipeline=0, strategy="auto"
    ))]
    #[allow(clippy::too_many_arguments)]
    fn execute_batch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        rows: Py<PyAny>,
        prelude: Option<&str>,
        named: bool,
        returning: bool,
        flat: bool,
        pipeline: u64,
        strategy: &str,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, true)?;
        let (copy_after, join_from) = match strategy {
            "auto" => (Some(limits::COPY_AFTER_ROWS), Some(limits::JOIN_FROM_ROWS)),
            "copy" => (Some(1), None),
            "joined" => (None, Some(1)),
            _ => (None, None),
        };
        let in_bulk = pipeline == 0 && !returning && !flat;
        let types_times = types_times(rows.bind(py));
        let rows = Source::of::<Postgres>(py, rows)?;
        let _held = rows.hold();
        let state = wire.lock(py)?;
        let query = wire.query(&state, &sql, true)?;
        let args = Args::batch(py, rows, query.get().is_hinted().then(|| query.clone_ref(py)))?;
        let shape = match (returning, flat) {
            (_, true) => ResultShape::Flat,
            (true, false) => ResultShape::All,
            (false, false) => ResultShape::One,
        };
        let call = wire.call::<Postgres>(py, &state, args, shape, query.get().sql.clone())?;
        let request = Request::Execute(Execute {
            sql: query.get().sql.clone(),
            facts: query.get().facts(),
            hints: Vec::new(),
            rows: match query.get().is_hinted() {
                true => ParameterRows::TypedBatch,
                false if types_times => ParameterRows::TimeTypedBatch,
                false => ParameterRows::Batch,
            },
            prepare: if named { Prepare::Named } else { Prepare::Unnamed },
            prelude: wire.prelude(prelude, false),
            portal: None,
            cursor: None,
            sync: true,
            ordered: pipeline != 0,
            copy_after: copy_after.filter(|_| in_bulk),
            join_from: join_from.filter(|_| in_bulk),
            pipeline,
            expected: None,
        });
        wire.enqueue(py, state, request, call)
    }

    /// Queues statements of the simple protocol; the result is a list of results. With `copy` the caller writes or
    /// reads a COPY, whose data goes there.
    #[pyo3(signature = (sql, *, prelude=None, copy=None))]
    fn script(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        sql: Sql<'_>,
        prelude: Option<&str>,
        copy: Option<Py<CopyBuffer>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, false)?;
        if utf8(&sql)?.contains('\0') {
            return Err(errors::programming(py, "the statement has a NUL character; remove it"));
        }
        let state = wire.lock(py)?;
        let sql: Arc<str> = utf8(&sql)?.into();
        let args = Args::Row(PyTuple::empty(py).unbind());
        let mut call = wire.call::<Postgres>(py, &state, args, ResultShape::All, sql.clone())?;
        call.script = true;
        call.copy = copy;
        let copy = call.copy.is_some();
        let request = Request::Script { sql, prelude: wire.prelude(prelude, false), copy };
        wire.enqueue(py, state, request, call)
    }

    /// Queues a description: the result has the columns of a statement, and no rows.
    fn describe(slf: &Bound<'_, Self>, py: Python<'_>, sql: Sql<'_>) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let sql = sql.text(slf, false)?;
        let state = wire.lock(py)?;
        let sql: Arc<str> = utf8(&sql)?.into();
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = wire.call::<Postgres>(py, &state, args, ResultShape::One, sql.clone())?;
        wire.enqueue(py, state, Request::Describe { sql }, call)
    }

    /// Queues the description of a portal, for example a cursor: the result has its columns, and no rows. If it is gone
    /// nothing is sent, and the result has no columns.
    fn describe_portal(slf: &Bound<'_, Self>, py: Python<'_>, portal: PortalKey) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = wire.call::<Postgres>(py, &state, args, ResultShape::One, "".into())?;
        wire.enqueue(py, state, Request::DescribePortal { portal: portal_id(portal) }, call)
    }

    /// Queues a fetch of at most `max_rows` rows from a portal; `columns` are those of its first result. If it is gone
    /// nothing is sent, and the result has no tag. `arrow` makes record batches of the rows.
    #[pyo3(signature = (portal, max_rows, columns, *, arrow=None))]
    fn fetch(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        portal: PortalKey,
        max_rows: i32,
        columns: &Bound<'_, Columns>,
        arrow: Option<Py<ArrowSink>>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let mut call = wire.call::<Postgres>(py, &state, args, ResultShape::One, "".into())?;
        call.arrow = arrow;
        let columns = columns.get().of(py)?;
        wire.enqueue_ungated(py, state, Request::Fetch { portal: portal_id(portal), max_rows, columns }, call)
    }

    /// Returns true if the portal of this number is open as of what has been sent.
    fn has_portal(slf: &Bound<'_, Self>, py: Python<'_>, portal: u64) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.has_portal(portal))
    }

    /// Returns true if a portal has the connection for itself.
    fn is_reserved(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.reserved().is_some())
    }

    /// Returns true if the portal of this number has a transaction of its own, whose end was not answered. That of a
    /// session that has ended is lost.
    fn owns_transaction(slf: &Bound<'_, Self>, py: Python<'_>, portal: u64) -> PyResult<bool> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.owns_block(portal))
    }

    /// Queues the end of a portal if it is open, and of its own transaction.
    fn close_portal(slf: &Bound<'_, Self>, py: Python<'_>, portal: PortalKey) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = wire.call::<Postgres>(py, &state, args, ResultShape::One, "".into())?;
        wire.enqueue_ungated(py, state, Request::ClosePortal { portal: portal_id(portal) }, call)
    }

    /// Queues the Sync that ends a group of requests submitted with `sync=False`.
    fn sync(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = wire.call::<Postgres>(py, &state, args, ResultShape::One, "".into())?;
        wire.enqueue_ungated(py, state, Request::Sync, call)
    }

    /// Registers loaders and dumpers. `loaders` maps a type's oid to a callable that takes bytes, `binary_loaders` are
    /// the oids whose loader needs the binary form; `dumpers` maps a class to a callable that takes the value and
    /// returns bytes (binary) or str (text).
    fn set_adapters(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        loaders: &Bound<'_, PyDict>,
        binary_loaders: Vec<Oid>,
        dumpers: &Bound<'_, PyDict>,
        records: HashMap<Oid, Py<PyAny>>,
    ) -> PyResult<()> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let oids = loaders.keys().iter().map(|oid| oid.extract::<Oid>()).collect::<PyResult<Vec<_>>>()?;
        let custom = oids.into_iter().map(|oid| (oid, binary_loaders.contains(&oid))).collect();
        state.connection.machine.of::<Postgres>(py)?.registry_mut().set_custom(custom);
        state.settings = Arc::new(Settings {
            records,
            loaders: (!loaders.is_empty()).then(|| loaders.clone().unbind()),
            dumpers: (!dumpers.is_empty()).then(|| dumpers.clone().unbind()),
            ..state.settings.copied(py)
        });
        Ok(())
    }

    /// Dates and times are sent as asyncpg does: a datetime as a date or a time without the rest, and the last one that
    /// Python has as infinity. So are paths: a list of points is an open one.
    fn set_loose_times(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<()> {
        let wire = slf.as_super().get();
        wire.lock(py)?.connection.machine.of::<Postgres>(py)?.registry_mut().loose_times = true;
        Ok(())
    }

    /// Forgets the definitions of user-defined types: they may have changed.
    fn forget_types(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<()> {
        let wire = slf.as_super().get();
        wire.lock(py)?.connection.machine.of::<Postgres>(py)?.registry_mut().forget_requested();
        Ok(())
    }

    /// The SQL name of a type.
    fn type_name(slf: &Bound<'_, Self>, py: Python<'_>, oid: Oid) -> PyResult<String> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.registry().name(oid))
    }

    /// The names and types of the attributes of a composite type, as they were looked up last; None of any other type.
    fn attributes(slf: &Bound<'_, Self>, py: Python<'_>, oid: Oid) -> PyResult<Option<Vec<(String, Oid)>>> {
        let wire = slf.as_super().get();
        Ok(match wire.lock(py)?.connection.machine.of::<Postgres>(py)?.registry().kind(oid) {
            TypeKind::Composite { fields } => {
                Some(fields.iter().map(|field| (field.name.to_string(), field.oid)).collect())
            }
            _ => None,
        })
    }

    /// Registers the structure of a type, without a query: an enumeration.
    fn register_enum(slf: &Bound<'_, Self>, py: Python<'_>, oid: Oid, name: String) -> PyResult<()> {
        let wire = slf.as_super().get();
        wire.lock(py)?
            .connection
            .machine
            .of::<Postgres>(py)?
            .registry_mut()
            .register(oid, UserType { name, kind: TypeKind::Enum });
        Ok(())
    }

    /// The server's parameters as last reported.
    fn parameters(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<std::collections::BTreeMap<String, String>> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.parameters().clone())
    }

    /// Takes the notices received so far: a list of dicts from field code to text.
    fn take_notices<'py>(slf: &Bound<'_, Self>, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let notices = state.connection.machine.of::<Postgres>(py)?.take_notices();
        // Under the lock: others may come.
        wire.notices_taken(py)?;
        drop(state);
        notices
            .iter()
            .map(|notice| {
                let fields = PyDict::new(py);
                for (code, text) in &notice.fields {
                    fields.set_item(char::from(*code), text)?;
                }
                Ok(fields)
            })
            .collect()
    }

    /// Takes the oldest notification: channel, payload, process id.
    fn take_notification(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<Option<(String, String, i32)>> {
        let wire = slf.as_super().get();
        let taken = wire.lock(py)?.connection.machine.of::<Postgres>(py)?.take_notification();
        Ok(taken.map(|n| (n.channel, n.payload, n.process_id)))
    }

    /// The number of notifications that were dropped because they were not read.
    fn notifications_lost(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<u64> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.machine.of::<Postgres>(py)?.notifications_lost())
    }
}

/// A portal's name on the server, and its number.
type PortalKey = (String, u64);

fn portal_id((name, number): PortalKey) -> PortalId {
    PortalId { name, number }
}

fn hints<'a>(row: &Bound<'a, PyTuple>, settings: &'a Settings, hint: fn(&PyValue<'a>) -> Oid) -> Vec<Oid> {
    row.iter().map(|value| hint(&PyValue::new(value, settings))).collect()
}

/// Returns true for parameters, or rows of them, whose dates and times have the types of their values, in a statement
/// whose other types the server decides.
fn types_times(params: &Bound<'_, PyAny>) -> bool {
    exact(params) == Exact::Other
        && globals(params.py()).is_ok_and(|g| is(params, &g.timed_row) || is(params, &g.timed_rows))
}
