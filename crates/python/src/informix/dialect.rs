//! The Python part of Informix.

use crate::call::PyCall;
use crate::columns;
use crate::engine::Dialect;
use crate::errors::{self, ClientError};
use crate::params::PyValue;
use crate::query::Query;
use headrace_core::column::ColumnKind;
use headrace_core::{Column, Mismatch, ValueKind};
use headrace_drivers::Database;
use headrace_drivers::protocols::informix;
use headrace_drivers::protocols::informix::machine::{Columns, Machine};
use headrace_drivers::protocols::informix::messages::server::ServerError;
use headrace_drivers::protocols::informix::types::{self, InformixType, code};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::convert::Infallible;

/// Informix.
#[derive(Debug)]
pub struct Informix;

/// Its machine.
pub type IfxMachine = Machine<PyCall<Informix>>;

impl Dialect for Informix {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = IfxMachine;
    type Copy = Infallible;

    const RESULTS_STAND: bool = false;
    const STRUCTS: ValueKind = ValueKind::Record;
    fn error(py: Python<'_>, error: &ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        let built = || {
            let made = errors::of_server(py, error, &error.to_string(), statement, row)?;
            made.setattr("sqlcode", error.sqlcode)?;
            made.setattr("isamcode", (error.isam != 0).then_some(error.isam))?;
            made.setattr("position", (error.offset > 0).then_some(error.offset))?;
            Ok(made)
        };
        errors::made(built())
    }
    fn convert(_: &IfxMachine, py: Python<'_>, sql: &str, _: bool) -> PyResult<Query> {
        Query::new(py, informix::lexer::convert(sql))
    }
    fn is_several(_: &IfxMachine, sql: &str) -> bool {
        informix::lexer::is_several(sql)
    }
    fn quote(machine: &IfxMachine, name: &str) -> Result<String, Mismatch> {
        let quoted = <headrace_drivers::Informix as Database>::quote(name);
        if quoted.starts_with('"') && !machine.has_delimited_identifiers() {
            return Err(Mismatch::wrong_type(format!(
                "{name:?} is no identifier unless DELIMIDENT=y is among the settings of the connection: what is in \
                 double quotes is text"
            )));
        }
        Ok(quoted)
    }
    fn write_literal(_: &IfxMachine, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError> {
        let mut text = String::new();
        informix::types::write_literal(value, &mut text)?;
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Name, type number, SQL name of the type, size in bytes or None, precision, scale, whether it can be NULL.
    fn field<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>> {
        let Some(InformixType { type_word, length, type_name, .. }) = column.native.of() else {
            return Err(columns::foreign(py));
        };
        let number = type_word & 0xff;
        let (precision, scale) = match (number, &column.kind) {
            (code::DECIMAL | code::MONEY, ColumnKind::Decimal { precision, scale }) => (*precision, *scale),
            _ => (None, None),
        };
        let size = types::size(*type_word, *length);
        let sql = types::name(*type_word, type_name, *length);
        (&*column.name, number, sql, size, precision, scale, column.nullable.unwrap_or(true)).into_pyobject(py)
    }
}
