//! Requests that only MySQL and MariaDB have.

use super::Wire;
use crate::call::{PyCall, Want};
use crate::engine::{MyMachine, MySql};
use crate::errors;
use crate::params::Args;
use headrace_core::limits;
use headrace_mysql::machine::{Execute, InfileState, Request, Road, Rows};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::Arc;

impl Wire {
    fn my_call(&self, py: Python<'_>, state: &super::State, want: Want, sql: Arc<str>) -> PyResult<PyCall<MySql>> {
        self.call::<MySql>(py, state, Args::Row(PyTuple::empty(py).unbind()), want, sql)
    }

    fn my_bare(&self, py: Python<'_>, request: Request) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let call = self.my_call(py, &state, Want::One, "".into())?;
        self.enqueue::<MySql>(py, state, request, call)
    }

    /// The number of the request of a ticket, and the machine.
    fn my_request<'s>(
        &self,
        py: Python<'_>,
        state: &'s mut super::State,
        ticket: &Bound<'_, PyAny>,
    ) -> PyResult<(Option<u64>, &'s mut MyMachine)> {
        let id = self.id_of(state, ticket);
        Ok((id, state.machine.of::<MySql>(py)?))
    }
}

fn road(py: Python<'_>, name: &str) -> PyResult<Road> {
    match name {
        "auto" => Ok(Road::Auto),
        "bulk" => Ok(Road::Bulk),
        "joined" => Ok(Road::Joined),
        "pipelined" => Ok(Road::Pipelined),
        _ => Err(errors::programming(py, &format!("{name:?} is not one of auto, bulk, joined, pipelined"))),
    }
}

#[pymethods]
impl Wire {
    /// Queues a statement. With `text` the parameters are put into the text, which goes by COM_QUERY; with `cursor` a
    /// cursor is kept open on the server, and so many rows are fetched at first.
    #[pyo3(signature = (sql, params=None, *, text=false, cursor=None))]
    fn my_execute(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        params: Option<&Bound<'_, PyAny>>,
        text: bool,
        cursor: Option<u32>,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let query = self.query(&state, sql, params.is_some())?;
        let query = query.get();
        let row = query.arrange(py, params)?;
        let mut call = self.call::<MySql>(py, &state, Args::Row(row.unbind()), Want::Several, query.sql.clone())?;
        call.script = true;
        let request = Request::Execute(Execute { sql: query.sql.clone(), rows: Rows::One, text, cursor });
        self.enqueue::<MySql>(py, state, request, call)
    }

    /// Queues a batch: one statement, many rows of parameters. `road` is `auto`, `bulk`, `joined` or `pipelined`;
    /// `atomic` all rows or none; with `returning` there is one result per row.
    #[pyo3(signature = (sql, rows, *, road="auto", atomic=true, text=false, returning=false, flat=false))]
    #[allow(clippy::too_many_arguments)]
    fn my_execute_batch(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        rows: Py<PyAny>,
        road: &str,
        atomic: bool,
        text: bool,
        returning: bool,
        flat: bool,
    ) -> PyResult<Py<PyAny>> {
        let road = self::road(py, road)?;
        let state = self.hold(py)?;
        let query = self.query(&state, sql, true)?;
        let arranged = query.get().arranges().then(|| query.clone_ref(py));
        let args = Args::Batch { source: rows, query: arranged, rows: None, row: None };
        let want = match (returning, flat) {
            (_, true) => Want::Flat,
            (true, false) => Want::All,
            (false, false) => Want::One,
        };
        let road = if returning || flat { Road::Pipelined } else { road };
        let call = self.call::<MySql>(py, &state, args, want, query.get().sql.clone())?;
        let rows = Rows::Batch { road, atomic };
        let request = Request::Execute(Execute { sql: query.get().sql.clone(), rows, text, cursor: None });
        self.enqueue::<MySql>(py, state, request, call)
    }

    /// Queues a COM_QUERY; with `infile` the caller feeds a LOAD DATA LOCAL.
    #[pyo3(signature = (sql, *, infile=false))]
    fn my_query(&self, py: Python<'_>, sql: String, infile: bool) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let sql: Arc<str> = sql.into();
        let mut call = self.my_call(py, &state, Want::All, sql.clone())?;
        call.script = true;
        self.enqueue::<MySql>(py, state, Request::Query { sql, infile }, call)
    }

    /// Queues a fetch of more rows from the cursor that the request of number `cursor` opened.
    fn my_fetch(&self, py: Python<'_>, cursor: u64, rows: u32) -> PyResult<Py<PyAny>> {
        self.my_bare(py, Request::Fetch { cursor, rows })
    }

    /// Queues the closing of that cursor.
    fn my_close_cursor(&self, py: Python<'_>, cursor: u64) -> PyResult<Py<PyAny>> {
        self.my_bare(py, Request::CloseCursor { cursor })
    }

    /// Queues COM_INIT_DB.
    fn my_select_db(&self, py: Python<'_>, schema: String) -> PyResult<Py<PyAny>> {
        self.my_bare(py, Request::InitDb { schema: schema.into() })
    }

    /// Queues COM_PING.
    fn my_ping(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.my_bare(py, Request::Ping)
    }

    /// Queues COM_RESET_CONNECTION.
    fn my_reset_connection(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.my_bare(py, Request::ResetConnection)
    }

    /// The number of a request that is queued or in flight.
    fn my_request_id(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let mut state = self.hold(py)?;
        Ok(self.my_request(py, &mut state, ticket)?.0)
    }

    /// Where a LOAD DATA LOCAL stands: 0 the server has not answered, 1 data can be sent, 2 over.
    fn my_infile_state(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<u8> {
        let mut state = self.hold(py)?;
        let (id, machine) = self.my_request(py, &mut state, ticket)?;
        Ok(match id.map(|id| machine.infile_state(id)) {
            Some(InfileState::Waiting) => 0,
            Some(InfileState::Streaming(_)) => 1,
            Some(InfileState::Ended) | None => 2,
        })
    }

    /// Puts a block of a LOAD DATA LOCAL into the outbox; says whether the caller should let it drain first.
    fn my_infile_data(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, data: &[u8]) -> PyResult<bool> {
        let mut state = self.hold(py)?;
        self.check_open(py, &state)?;
        let id = self.id_of(&state, ticket);
        let super::State { machine, outbox, .. } = &mut *state;
        if let Some(id) = id {
            machine.of::<MySql>(py)?.infile_data(id, outbox, |out| out.extend_from_slice(data));
        }
        Ok(outbox.len() >= limits::OUTBOX_HIGH_BYTES)
    }

    /// Ends a LOAD DATA LOCAL.
    fn my_infile_end(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.hold(py)?;
        let id = self.id_of(&state, ticket);
        let super::State { machine, outbox, .. } = &mut *state;
        if let Some(id) = id {
            machine.of::<MySql>(py)?.infile_end(id, outbox);
        }
        drop(state);
        self.flush(py)
    }

    /// What is known of the session, by name: `server_version` (text), `version` (three numbers), `mariadb`,
    /// `thread_id`, `capabilities` and `status` (flags), `schema`, `variables`, `gtids`, `transaction_state`,
    /// `transaction_characteristics` (None where the server does not report them).
    fn my_session<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut state = self.hold(py)?;
        let session = state.machine.of::<MySql>(py)?.session();
        let out = PyDict::new(py);
        out.set_item("server_version", &session.server_version)?;
        out.set_item("version", session.version)?;
        out.set_item("mariadb", session.mariadb)?;
        out.set_item("thread_id", session.thread_id)?;
        out.set_item("capabilities", session.capabilities.bits())?;
        out.set_item("status", session.status.bits())?;
        out.set_item("schema", &session.schema)?;
        out.set_item("variables", &session.variables)?;
        out.set_item("gtids", &session.gtids)?;
        out.set_item("transaction_state", &session.transaction_state)?;
        out.set_item("transaction_characteristics", &session.transaction_characteristics)?;
        Ok(out)
    }
}
