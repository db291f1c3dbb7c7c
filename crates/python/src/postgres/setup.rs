//! The machine of a PostgreSQL session.

use super::dialect::PgMachine;
use crate::wire::setup::{Prepared, choose, get, statements, tls_settings};
use headrace_core::WriteBuffer;
use headrace_drivers::protocols::postgres::machine::{Binding, Method, Purpose, Secret, SessionOptions, Tls};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// By the options that `headrace.postgres.attempts` makes of a conninfo.
pub fn prepare(py: Python<'_>, options: &Bound<'_, PyDict>, write_buffer: &mut WriteBuffer) -> PyResult<Prepared> {
    let text = |name: &'static str| get::<String>(options, name);
    let purpose = match get::<Vec<u8>>(options, "cancel")? {
        Some(message) => Purpose::Cancel(message),
        None => Purpose::Session,
    };
    let methods = [Method::Password, Method::Md5, Method::ScramSha256, Method::None];
    let allowed: Vec<String> = get(options, "require_auth")?.unwrap_or_default();
    let startup = SessionOptions {
        purpose,
        user: text("user")?.unwrap_or_default(),
        parameters: get(options, "parameters")?.unwrap_or_default(),
        password: text("password")?.map(|password| Secret(password.into_bytes())),
        tls: choose(
            py,
            "tls",
            text("tls")?.as_deref(),
            Tls::No,
            &[("no", Tls::No), ("prefer", Tls::Prefer), ("require", Tls::Require), ("direct", Tls::Direct)],
        )?,
        binding: choose(
            py,
            "channel_binding",
            text("channel_binding")?.as_deref(),
            Binding::Prefer,
            &[("disable", Binding::Disable), ("prefer", Binding::Prefer), ("require", Binding::Require)],
        )?,
        methods: methods.into_iter().filter(|m| allowed.iter().any(|name| name == m.name())).collect(),
    };
    let tls = match startup.tls {
        Tls::No => None,
        _ => Some(tls_settings(py, options)?),
    };
    let mut machine = PgMachine::new(startup, statements(options)?, write_buffer);
    machine.registry_mut().extensions_as_text = text("extension_types")?.as_deref() == Some("text");
    Ok(Prepared { machine: Box::new(machine), tls, loaders: None })
}
