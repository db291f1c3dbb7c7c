//! What Python has to know of Informix.

use crate::call::PyCall;
use crate::columns::Described;
use crate::engine::Dialect;
use crate::errors;
use crate::query::Query;
use headrace_informix::machine::{Columns, Machine};
use headrace_informix::messages::server::ServerError;
use headrace_informix::types::{code, name};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Informix.
#[derive(Debug)]
pub struct Informix;

/// Its machine.
pub type IfxMachine = Machine<PyCall<Informix>>;

impl Dialect for Informix {
    type Columns = Columns;
    type ServerError = ServerError;
    type Machine = IfxMachine;

    const RESULTS_STAND: bool = false;
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
        Query::new(py, headrace_informix::lexer::convert(sql))
    }
}

impl Described for Columns {
    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// One tuple per column: name, type number, SQL name of the type, size in bytes or None, precision, scale,
    /// whether it can be NULL.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        const NOT_NULL: u16 = 0x0100;
        let rows = self.fields.iter().map(|f| {
            let kind = f.type_word & 0xff;
            let (high, low) = (f.length >> 8 & 0xff, f.length & 0xff);
            let size = match kind {
                code::VARCHAR | code::NVARCHAR => Some(low),
                code::DECIMAL | code::MONEY | code::DATETIME | code::INTERVAL | code::BYTE | code::TEXT => None,
                _ => Some(f.length),
            };
            let (precision, scale) = match kind {
                code::DECIMAL | code::MONEY => (Some(high), (low != 255).then_some(low)),
                _ => (None, None),
            };
            let sql = name(f.type_word, &f.type_name, f.length);
            (f.name.as_str(), kind, sql, size, precision, scale, f.type_word & NOT_NULL == 0)
        });
        PyList::new(py, rows.collect::<Vec<_>>())
    }
}
