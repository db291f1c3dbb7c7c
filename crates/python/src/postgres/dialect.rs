//! What Python has to know of PostgreSQL.

use crate::call::PyCall;
use crate::columns::Described;
use crate::engine::Dialect;
use crate::errors;
use crate::globals::globals;
use crate::query::Query;
use headrace_postgres::machine::{Columns, Machine};
use headrace_postgres::messages::backend::ServerError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// PostgreSQL.
#[derive(Debug)]
pub struct Postgres;

/// Its machine.
pub type PgMachine = Machine<PyCall<Postgres>>;

impl Dialect for Postgres {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = PgMachine;

    const RESULTS_STAND: bool = false;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let fields = PyDict::new(py);
            for (code, text) in &error.fields {
                fields.set_item(char::from(*code), text)?;
            }
            globals(py)?.error_from_fields.bind(py).call1((fields, statement, row))
        };
        errors::made(built())
    }
    fn convert(_: &PgMachine, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        Query::new(py, headrace_postgres::sql::convert(sql, with_params))
    }
}

impl Described for Columns {
    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// One tuple per column: name, type oid, type size in bytes, type modifier, table oid, column number, SQL name
    /// of the type.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows =
            self.fields.iter().map(|f| (f.name.as_str(), f.type_oid, f.type_size, f.type_modifier, f.table, f.number));
        PyList::new(py, rows.collect::<Vec<_>>())
    }
}
