//! The result of a request.

use pyo3::prelude::*;
use pyo3::types::PyAny;

/// One result of a statement.
#[pyclass(frozen, name = "Result", module = "headrace._native")]
#[derive(Debug)]
pub struct RequestResult {
    /// The columns, None when the statement returns no rows.
    #[pyo3(get)]
    pub columns: Option<Py<PyAny>>,
    /// A list of tuples, None when the statement returns no rows.
    #[pyo3(get)]
    pub rows: Option<Py<PyAny>>,
    /// The server's command tag: `INSERT 0 5`. Empty for an empty statement and a suspended portal.
    #[pyo3(get)]
    pub tag: String,
    /// Rows affected or returned, -1 if the server does not report it.
    #[pyo3(get)]
    pub rowcount: i64,
    /// More rows can be fetched from the portal.
    #[pyo3(get)]
    pub suspended: bool,
    /// The serial value that an INSERT generated, if the protocol reports it.
    #[pyo3(get)]
    pub generated: Option<i128>,
    /// The number of warnings that can be fetched, if the protocol reports it.
    #[pyo3(get)]
    pub warnings: u32,
    /// True if the only row has the OUT parameters of a procedure.
    #[pyo3(get)]
    pub out_params: bool,
}
