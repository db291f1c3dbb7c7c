//! The Python part of MySQL and MariaDB.

use crate::call::PyCall;
use crate::columns;
use crate::engine::Dialect;
use crate::errors::{self, ClientError};
use crate::params::PyValue;
use crate::query::Query;
use headrace_core::column::ColumnKind;
use headrace_core::{Column, Mismatch, ValueKind};
use headrace_drivers::Database;
use headrace_drivers::protocols::mysql;
use headrace_drivers::protocols::mysql::errors::numbers::PARSE_ERROR;
use headrace_drivers::protocols::mysql::machine::{Columns, Machine};
use headrace_drivers::protocols::mysql::packets::reply::ServerError;
use headrace_drivers::protocols::mysql::sql::{Facts, Modes, is_several};
use headrace_drivers::protocols::mysql::types::MySqlType;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::convert::Infallible;

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct MySql;

/// Its machine.
pub type MyMachine = Machine<PyCall<MySql>>;

const SEVERAL: &str = "several statements are executed one by one with execute(), or together with executescript() on a \
                       connection with multi_statements=True";

impl Dialect for MySql {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = MyMachine;
    type Copy = Infallible;

    const RESULTS_STAND: bool = true;
    const STRUCTS: ValueKind = ValueKind::Json;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let made = errors::of_server(py, error, &error.to_string(), statement, row)?;
            made.setattr("sqlstate", &error.sqlstate)?;
            made.setattr("sqlcode", error.code)?;
            if error.code == PARSE_ERROR && statement.is_some_and(|sql| is_several(sql, Modes::default())) {
                made.setattr("hint", SEVERAL)?;
            }
            Ok(made)
        };
        errors::made(built())
    }
    fn convert(machine: &MyMachine, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        let query = Query::new(py, mysql::sql::convert(sql, with_params, machine.session().modes()))?;
        // Where strings end depends on the SQL mode only if there is one of these.
        let query = if sql.contains(['\\', '"']) { query.read_under(Self::reading(machine)) } else { query };
        Ok(query.with_facts(|sql| Facts::of(sql, machine.accepts_several())))
    }
    fn reading(machine: &MyMachine) -> u8 {
        let Modes { no_backslash_escapes, ansi_quotes } = machine.session().modes();
        u8::from(no_backslash_escapes) | u8::from(ansi_quotes) << 1
    }
    fn is_several(machine: &MyMachine, sql: &str) -> bool {
        is_several(sql, machine.session().modes())
    }
    fn quote(_: &MyMachine, name: &str) -> Result<String, Mismatch> {
        Ok(<headrace_drivers::MySql as Database>::quote(name))
    }
    fn write_literal(_: &MyMachine, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError> {
        mysql::types::write_literal_as_text(value, out)
    }

    /// Name, type number, SQL name of the type, flags, collation number, length in bytes, decimals, table, precision of a
    /// DECIMAL or None, whether it can be NULL.
    fn field<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>> {
        let Some(MySqlType { type_number, type_name, flags, collation, length, decimals, table, .. }) =
            column.native.of()
        else {
            return Err(columns::foreign(py));
        };
        let precision = match column.kind {
            ColumnKind::Decimal { precision, .. } => precision,
            _ => None,
        };
        let (name, type_name, table) = (&*column.name, &**type_name, &**table);
        let nullable = column.nullable.unwrap_or(true);
        (name, type_number, type_name, flags, collation, length, decimals, table, precision, nullable).into_pyobject(py)
    }
}
