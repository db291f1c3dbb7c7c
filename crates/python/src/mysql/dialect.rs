//! What Python has to know of MySQL and MariaDB.

use crate::call::PyCall;
use crate::columns::Described;
use crate::engine::Dialect;
use crate::errors;
use crate::query::Query;
use headrace_mysql::machine::{Columns, Machine};
use headrace_mysql::packets::reply::ServerError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct MySql;

/// Its machine.
pub type MyMachine = Machine<PyCall<MySql>>;

impl Dialect for MySql {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = MyMachine;

    const RESULTS_STAND: bool = true;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let made = errors::of_server(py, error, &error.to_string(), statement, row)?;
            made.setattr("sqlstate", &error.sqlstate)?;
            made.setattr("sqlcode", error.code)?;
            Ok(made)
        };
        errors::made(built())
    }
    fn convert(machine: &MyMachine, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        Query::new(py, headrace_mysql::sql::convert(sql, with_params, machine.session().modes()))
    }
}

impl Described for Columns {
    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// One tuple per column: name, type number, SQL name of the type, flags, collation number, length in bytes, decimals,
    /// table, precision of a DECIMAL or None, whether it can be NULL.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.fields.iter().map(|f| {
            let precision = f.decimal().map(|(precision, _)| precision);
            let (flags, table) = (f.flags.bits(), f.table.as_str());
            let name = f.name.as_str();
            (name, f.kind.0, f.type_name(), flags, f.collation, f.length, f.decimals, table, precision, f.is_nullable())
        });
        PyList::new(py, rows.collect::<Vec<_>>())
    }
}
