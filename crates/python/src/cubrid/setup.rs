//! The machine of a session with CUBRID.

use super::dialect::CubridMachine;
use crate::errors;
use crate::globals::globals;
use crate::wire::setup::{Prepared, get, statements, tls_settings};
use headrace_core::{CodeSet, WriteBuffer};
use headrace_drivers::protocols::cubrid::machine::{Secret, SessionOptions};
use headrace_drivers::protocols::cubrid::types::code;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// By the options that the Python side makes of a URL.
pub fn prepare(py: Python<'_>, options: &Bound<'_, PyDict>, write_buffer: &mut WriteBuffer) -> PyResult<Prepared> {
    let text = |name: &'static str| get::<String>(options, name);
    let tls = match text("tls")?.as_deref() {
        None | Some("no") => None,
        Some(_) => Some(tls_settings(py, options)?),
    };
    let startup = SessionOptions {
        host: text("server_name")?.unwrap_or_default(),
        port: get::<(String, u16)>(options, "tcp")?.map(|(_, port)| port).unwrap_or_default(),
        database: text("database")?.unwrap_or_default(),
        user: text("user")?.unwrap_or_default(),
        password: text("password")?.map(|password| Secret(password.into_bytes())),
        tls: tls.is_some(),
        sends_ahead: get(options, "sends_ahead")?.unwrap_or(true),
        keeps_cas: get(options, "keeps_cas")?.unwrap_or(false),
        codeset: text("charset")?.as_deref().and_then(CodeSet::of_locale).unwrap_or_default(),
        query_timeout_millis: get(options, "query_timeout_millis")?.unwrap_or(0),
        ..SessionOptions::default()
    };
    let machine = CubridMachine::new(&startup, statements(options)?, write_buffer);
    let machine = machine.map_err(|fatal| errors::fatal(py, &fatal))?;
    Ok(Prepared { machine: Box::new(machine), tls, loaders: Some(locators(py)?) })
}

/// What BLOB and CLOB columns return.
fn locators(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let g = globals(py)?;
    let loaders = PyDict::new(py);
    loaders.set_item(code::BLOB, &g.blob_locator)?;
    loaders.set_item(code::CLOB, &g.clob_locator)?;
    Ok(loaders.unbind())
}
