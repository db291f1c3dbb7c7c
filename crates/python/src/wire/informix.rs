//! Requests that only Informix has.

use super::Wire;
use crate::call::Want;
use crate::engine::Informix;
use crate::errors;
use crate::params::Args;
use headrace_informix::machine::{Execute, Logging, Request, Rows, Savepoint};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

impl Wire {
    fn bare(&self, py: Python<'_>, request: Request) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let call = self.call::<Informix>(py, &state, args, Want::One, "".into())?;
        self.enqueue(py, state, request, call)
    }
}

#[pymethods]
impl Wire {
    /// Queues a statement; with `begin` in a transaction, which it begins where none is open.
    #[pyo3(signature = (sql, params=None, *, begin=false))]
    fn sqli_execute(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        params: Option<&Bound<'_, PyAny>>,
        begin: bool,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let query = self.query(&state, sql, true)?;
        let query = query.get();
        let row = query.arrange(py, params)?;
        let call = self.call(py, &state, Args::Row(row.unbind()), Want::One, query.sql.clone())?;
        let request = Request::Execute(Execute { sql: query.sql.clone(), rows: Rows::One, begin });
        self.enqueue::<Informix>(py, state, request, call)
    }

    /// Queues a batch: one statement, many rows of parameters, all or none.
    #[pyo3(signature = (sql, rows, *, begin=false))]
    fn sqli_execute_batch(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        rows: Py<PyAny>,
        begin: bool,
    ) -> PyResult<Py<PyAny>> {
        let state = self.hold(py)?;
        let query = self.query(&state, sql, true)?;
        let arranged = query.get().arranges().then(|| query.clone_ref(py));
        let args = Args::Batch { source: rows, query: arranged, rows: None, row: None };
        let call = self.call(py, &state, args, Want::One, query.get().sql.clone())?;
        let request = Request::Execute(Execute { sql: query.get().sql.clone(), rows: Rows::Batch, begin });
        self.enqueue::<Informix>(py, state, request, call)
    }

    /// Queues BEGIN WORK, unless a transaction is open then.
    fn sqli_begin(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bare(py, Request::Begin)
    }

    /// Queues COMMIT WORK, if a transaction is open then.
    fn sqli_commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bare(py, Request::Commit)
    }

    /// Queues ROLLBACK WORK, if a transaction is open then.
    fn sqli_rollback(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bare(py, Request::Rollback)
    }

    /// Queues what `what` says of a savepoint: `set`, `release` or `rollback`. Its name is of letters, digits and
    /// underscores.
    fn sqli_savepoint(&self, py: Python<'_>, what: &str, name: String) -> PyResult<Py<PyAny>> {
        let what = match what {
            "set" => Savepoint::Set,
            "release" => Savepoint::Release,
            "rollback" => Savepoint::RollBack,
            _ => return Err(errors::programming(py, &format!("{what:?} is not one of set, release, rollback"))),
        };
        self.bare(py, Request::Savepoint(what, name.into()))
    }

    /// Queues a round trip that does nothing else.
    fn sqli_ping(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bare(py, Request::Ping)
    }

    /// What the session is: the server's banner, the database's locale (None unless the server was asked), its code set,
    /// and how it treats transactions (`none`, `logged`, `ansi`).
    fn sqli_session(&self, py: Python<'_>) -> PyResult<(String, Option<String>, &'static str, &'static str)> {
        let mut state = self.hold(py)?;
        let machine = state.machine.of::<Informix>(py)?;
        let logging = match machine.logging() {
            Logging::None => "none",
            Logging::Logged => "logged",
            Logging::Ansi => "ansi",
        };
        Ok((machine.banner().to_owned(), machine.locale().map(str::to_owned), machine.codeset().name(), logging))
    }

    /// DBSERVERNAME, host and port of the server that this one wants to be asked instead.
    fn sqli_redirect(&self, py: Python<'_>) -> PyResult<Option<(String, String, u16)>> {
        Ok(self.hold(py)?.machine.of::<Informix>(py)?.redirect().cloned())
    }
}
