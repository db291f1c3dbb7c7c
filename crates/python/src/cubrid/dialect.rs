//! The Python part of CUBRID.

use crate::call::PyCall;
use crate::columns;
use crate::engine::Dialect;
use crate::errors::{self, ClientError};
use crate::params::PyValue;
use crate::query::Query;
use headrace_core::{Column, Mismatch, ValueKind};
use headrace_drivers::Database;
use headrace_drivers::protocols::cubrid;
use headrace_drivers::protocols::cubrid::machine::{Columns, Machine};
use headrace_drivers::protocols::cubrid::messages::server::{Origin, ServerError};
use headrace_drivers::protocols::cubrid::types::CubridType;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::convert::Infallible;

/// CUBRID.
#[derive(Debug)]
pub struct Cubrid;

/// Its machine.
pub type CubridMachine = Machine<PyCall<Cubrid>>;

impl Dialect for Cubrid {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = CubridMachine;
    type Copy = Infallible;

    const RESULTS_STAND: bool = false;
    const STRUCTS: ValueKind = ValueKind::Json;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let made = errors::of_server(py, error, &error.to_string(), statement, row)?;
            made.setattr("sqlcode", error.code)?;
            let source = match error.origin {
                Origin::Cas => "cas",
                Origin::Dbms => "server",
            };
            made.setattr("source", source)?;
            Ok(made)
        };
        errors::made(built())
    }
    fn convert(_: &CubridMachine, py: Python<'_>, sql: &str, _: bool) -> PyResult<Query> {
        Ok(Query::new(py, cubrid::lexer::convert(sql))?.with_facts(cubrid::lexer::Facts::of))
    }
    fn is_several(_: &CubridMachine, sql: &str) -> bool {
        cubrid::lexer::is_several(sql)
    }
    fn quote(_: &CubridMachine, name: &str) -> Result<String, Mismatch> {
        Ok(<headrace_drivers::Cubrid as Database>::quote(name))
    }
    fn write_literal(_: &CubridMachine, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError> {
        let mut text = String::new();
        cubrid::types::write_literal(value, &mut text)?;
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Name, type number, SQL name of the type, precision, scale, character set, table, whether it can be NULL.
    fn field<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>> {
        let Some(CubridType { type_number, type_name, precision, scale, charset, class }) = column.native.of() else {
            return Err(columns::foreign(py));
        };
        (&*column.name, type_number, &**type_name, precision, scale, charset, &**class, column.nullable)
            .into_pyobject(py)
    }
}
