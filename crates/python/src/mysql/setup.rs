//! The machine of a session with MySQL or MariaDB.

use super::dialect::MyMachine;
use crate::errors;
use crate::limits;
use crate::wire::setup::{Prepared, choose, get, statements, tls_settings};
use headrace_core::WriteBuffer;
use headrace_drivers::protocols::mysql::auth::{Plugin, Secret, ServerKey};
use headrace_drivers::protocols::mysql::machine::{SessionOptions, Tls, own_number};
use headrace_drivers::protocols::mysql::packets::compress::Algorithm;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// By the options that the Python side makes of a URL.
pub fn prepare(py: Python<'_>, options: &Bound<'_, PyDict>, _: &mut WriteBuffer) -> PyResult<Prepared> {
    let text = |name: &'static str| get::<String>(options, name);
    let flag = |name: &'static str| get::<bool>(options, name).map(Option::unwrap_or_default);
    let mode = choose(
        py,
        "tls",
        text("tls")?.as_deref(),
        Tls::No,
        &[("no", Tls::No), ("prefer", Tls::Prefer), ("require", Tls::Require)],
    )?;
    let tls = match mode {
        Tls::No => None,
        _ => Some(tls_settings(py, options)?),
    };
    let plugins: Vec<String> = get(options, "plugins")?.unwrap_or_default();
    let plugins = plugins.iter().map(|name| {
        Plugin::of_name(name).ok_or_else(|| {
            errors::programming(py, &format!("auth_plugins: {name:?} is not one that headrace supports"))
        })
    });
    let startup = SessionOptions {
        user: text("user")?.unwrap_or_default(),
        password: text("password")?.map(|password| Secret(password.into_bytes())),
        database: text("database")?,
        tls: mode,
        local: text("unix")?.is_some(),
        certificate_by_password: flag("certificate_by_password")?,
        plugins: plugins.collect::<PyResult<_>>()?,
        server_key: match (text("server_public_key")?, flag("get_server_public_key")?) {
            (Some(key), _) => ServerKey::Known(key),
            (None, true) => ServerKey::Retrieve,
            (None, false) => ServerKey::Refuse,
        },
        compression: match (text("compression")?.as_deref(), get::<u8>(options, "zstd_level")?) {
            (Some("zlib"), _) => Some(Algorithm::Zlib),
            (Some("zstd"), level) => {
                Some(Algorithm::Zstd(level.unwrap_or(headrace_drivers::protocols::mysql::limits::ZSTD_LEVEL)))
            }
            _ => None,
        },
        found_rows: flag("found_rows")?,
        multi_statements: flag("multi_statements")?,
        local_infile: flag("local_infile")?,
        interactive: flag("interactive")?,
        collation: get(options, "collation")?,
        attributes: [vec![own_number()], get(options, "attributes")?.unwrap_or_default()].concat(),
        in_flight: get(options, "in_flight")?.unwrap_or(limits::COMMANDS_IN_FLIGHT),
        ..SessionOptions::default()
    };
    let machine = MyMachine::new(startup, statements(options)?);
    let machine = machine.map_err(|fatal| errors::fatal(py, &fatal))?;
    Ok(Prepared { machine: Box::new(machine), tls, loaders: None })
}
