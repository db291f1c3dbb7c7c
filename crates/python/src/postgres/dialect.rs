//! The Python part of PostgreSQL.

use super::CopyBuffer;
use crate::call::PyCall;
use crate::columns;
use crate::engine::Dialect;
use crate::errors::{self, ClientError};
use crate::params::PyValue;
use crate::query::Query;
use headrace_core::{Column, Mismatch, ValueKind};
use headrace_drivers::Database;
use headrace_drivers::protocols::postgres;
use headrace_drivers::protocols::postgres::machine::{Columns, Facts, Machine};
use headrace_drivers::protocols::postgres::messages::backend::ServerError;
use headrace_drivers::protocols::postgres::types::{self, PostgresType};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// PostgreSQL.
#[derive(Debug)]
pub struct Postgres;

/// Its machine.
pub type PgMachine = Machine<PyCall<Postgres>>;

/// Makes the exception for a server's error.
static ERROR_FROM_FIELDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

impl Dialect for Postgres {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = PgMachine;
    type Copy = Py<CopyBuffer>;

    const RESULTS_STAND: bool = false;
    const STRUCTS: ValueKind = ValueKind::Other;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let fields = PyDict::new(py);
            for (code, text) in &error.fields {
                fields.set_item(char::from(*code), text)?;
            }
            ERROR_FROM_FIELDS
                .import(py, "headrace.postgres.server_errors", "error_from_fields")?
                .call1((fields, statement, row))
        };
        errors::made(built())
    }
    fn convert(_: &PgMachine, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        Ok(Query::new(py, postgres::sql::convert(sql, with_params))?.with_facts(Facts::of))
    }
    fn is_several(_: &PgMachine, sql: &str) -> bool {
        postgres::sql::is_several(sql)
    }
    fn quote(_: &PgMachine, name: &str) -> Result<String, Mismatch> {
        Ok(<headrace_drivers::Postgres as Database>::quote(name))
    }
    fn write_literal(machine: &PgMachine, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError> {
        types::write_literal(value, machine.registry(), out)
    }

    /// Name, type oid, size of all values or None, precision or None, scale or None, and the table and number of the
    /// column, which are 0 for an expression.
    fn field<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>> {
        let Some(&PostgresType { type_oid, type_modifier, type_size, table_oid, column_number }) = column.native.of()
        else {
            return Err(columns::foreign(py));
        };
        let (precision, scale) = types::precision_and_scale(type_oid, type_modifier).unzip();
        let size = types::size(type_oid, type_size, type_modifier);
        (&*column.name, type_oid, size, precision, scale, table_oid, column_number).into_pyobject(py)
    }
}

/// Converts a statement of PostgreSQL. `with_params` indicates whether parameters are given: without them a percent
/// sign is an ordinary character.
///
/// # Errors
/// ProgrammingError for a NUL byte, a stray percent sign, or mixed styles.
#[pyfunction]
pub fn convert(py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
    Query::new(py, postgres::sql::convert(sql, with_params))
}
