//! The machine of an Informix session.

use super::dialect::IfxMachine;
use crate::errors;
use crate::globals::globals;
use crate::wire::setup::{Prepared, get, statements, tls_settings};
use headrace_core::WriteBuffer;
use headrace_drivers::protocols::informix::codeset::CodeSet;
use headrace_drivers::protocols::informix::machine::{Secret, SessionOptions};
use headrace_drivers::protocols::informix::types::extended;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// By the options that the Python side makes of a URL.
pub fn prepare(py: Python<'_>, options: &Bound<'_, PyDict>, write_buffer: &mut WriteBuffer) -> PyResult<Prepared> {
    let text = |name: &'static str| get::<String>(options, name);
    let tls = match text("tls")?.as_deref() {
        None | Some("no") => None,
        Some(_) => Some(tls_settings(py, options)?),
    };
    let codeset = match text("codeset")? {
        None => None,
        Some(name) => match CodeSet::of_locale(&name) {
            Some(codeset) => Some(codeset),
            None => {
                return Err(errors::programming(py, &format!("codeset={name:?} is not one that headrace supports")));
            }
        },
    };
    let startup = SessionOptions {
        user: text("user")?.unwrap_or_default(),
        password: text("password")?.map(|password| Secret(password.into_bytes())),
        server: text("server")?.unwrap_or_default(),
        database: text("database")?,
        environment: get(options, "environment")?.unwrap_or_default(),
        session: get(options, "session")?.unwrap_or_default(),
        codeset,
        tls: tls.is_some(),
        pam: get(options, "pam")?.unwrap_or(false),
        program: text("program")?.unwrap_or_default(),
        host: text("client_host")?.unwrap_or_default(),
        directory: text("directory")?.unwrap_or_default(),
        process_id: std::process::id() as i32,
    };
    let machine = IfxMachine::new(startup, statements(options)?, write_buffer);
    let machine = machine.map_err(|fatal| errors::fatal(py, &fatal))?;
    Ok(Prepared { machine: Box::new(machine), tls, loaders: Some(locators(py)?) })
}

/// What BLOB and CLOB columns return.
fn locators(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let g = globals(py)?;
    let loaders = PyDict::new(py);
    loaders.set_item(extended::BLOB, &g.blob_locator)?;
    loaders.set_item(extended::CLOB, &g.clob_locator)?;
    Ok(loaders.unbind())
}
