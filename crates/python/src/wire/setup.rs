//! Opening a connection.

use super::{Io, State, Wire};
use crate::call::{Completion, Ticket};
use crate::engine::{Engine, IfxMachine, MyMachine, PgMachine};
use crate::errors;
use crate::globals::globals;
use crate::sink::{Settings, Unrepresentable};
use headrace_core::{Cancellation, Fatal, FatalKind, Inbox, Outbox, limits};
use headrace_informix::types::extended;
use headrace_postgres::machine::{Binding, Method, Options, Purpose, Secret, Tls};
use headrace_pump::{Address, Connecting, TcpOptions};
use headrace_tls::{ClientCert, Roots, TlsConfig, Verify};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

/// Reads an optional entry.
fn get<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    match options.get_item(name)? {
        Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}

fn seconds(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<Duration>> {
    Ok(get::<f64>(options, name)?.filter(|s| *s > 0.0).map(Duration::from_secs_f64))
}

fn choose<T: Copy>(py: Python<'_>, name: &str, given: Option<&str>, default: T, choices: &[(&str, T)]) -> PyResult<T> {
    match given {
        None => Ok(default),
        Some(given) => choices.iter().find(|(choice, _)| *choice == given).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            errors::programming(py, &format!("{name}={given:?} is not one of {}", names.join(", ")))
        }),
    }
}

#[pymethods]
impl Wire {
    /// A connection that is not open yet. The options are those that `headrace._postgres.wiring` makes of a
    /// conninfo; `event_loop` is the asyncio loop that will carry it, or None for a blocking one.
    #[new]
    #[pyo3(signature = (options, event_loop=None))]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>, event_loop: Option<Py<PyAny>>) -> PyResult<Self> {
        let text = |name: &str| get::<String>(options, name);
        let address = match (get::<(String, u16)>(options, "tcp")?, text("unix")?) {
            (Some((ip, port)), _) => {
                let ip = ip.parse().map_err(|_| errors::programming(py, &format!("{ip:?} is no IP address")))?;
                Some(Address::Tcp(std::net::SocketAddr::new(ip, port)))
            }
            (None, Some(path)) => Some(Address::Unix(PathBuf::from(path))),
            (None, None) => None,
        };
        let mut outbox = Outbox::new();
        let mut loaders = None;
        let (machine, tls) = match text("protocol")?.as_deref() {
            Some("informix") => {
                loaders = Some(locators(py)?);
                informix_machine(py, options, &mut outbox)?
            }
            Some("mysql") => mysql_machine(py, options)?,
            _ => postgres_machine(py, options, &mut outbox)?,
        };
        let settings = Settings {
            unrepresentable: choose(
                py,
                "unrepresentable",
                text("unrepresentable")?.as_deref(),
                Unrepresentable::Raise,
                &[("raise", Unrepresentable::Raise), ("none", Unrepresentable::None), ("text", Unrepresentable::Text)],
            )?,
            json_text: get(options, "json_text")?.unwrap_or(false),
            loaders,
            records: HashMap::new(),
            dumpers: None,
        };
        let tcp = TcpOptions {
            keepalive: get(options, "keepalives")?.unwrap_or(true),
            keepalive_idle: seconds(options, "keepalives_idle")?,
            keepalive_interval: seconds(options, "keepalives_interval")?,
            keepalive_count: get(options, "keepalives_count")?,
            user_timeout: seconds(options, "tcp_user_timeout")?,
        };
        let state = State {
            machine,
            inbox: Inbox::new(),
            outbox,
            io: Io::None,
            tls,
            sealed: Vec::new(),
            queries: PyDict::new(py).unbind(),
            queries_bytes: Cell::new(0),
            settings: Arc::new(settings),
            dead: None,
            unheard: Cell::new(false),
            ready: None,
            notified: Vec::new(),
            drained: None,
            gates: Vec::new(),
            owed: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            address,
            tcp,
            owner: AtomicU64::new(0),
            wanted: AtomicUsize::new(0),
            followers: AtomicUsize::new(0),
            parked: Mutex::new(()),
            news: Condvar::new(),
            waker: OnceLock::new(),
            holds: AtomicUsize::new(0),
            exports: AtomicUsize::new(0),
            paused: AtomicBool::new(false),
            flush_due: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            hangup: OnceLock::new(),
            process_id: AtomicI32::new(0),
            cancellation: Mutex::new(Cancellation::Impossible),
            event_loop,
            timings: Default::default(),
            read_timeout: seconds(options, "read_timeout")?,
            write_timeout: seconds(options, "write_timeout")?,
            begins: AtomicBool::new(true),
            waiting: AtomicUsize::new(0),
            released: Default::default(),
            arrivals: AtomicU64::new(0),
            forks: super::fork::forks(),
        })
    }

    /// Connects the socket of a blocking connection, within `timeout` seconds.
    ///
    /// The session is then set up by waiting for `ready()`.
    #[pyo3(signature = (timeout=None))]
    fn open(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let Some(address) = self.address.clone() else {
            return Err(errors::interface(py, "the connection has no address"));
        };
        let deadline = super::blocking::deadline(timeout);
        let failed = |error: io::Error| {
            let shown = match &address {
                Address::Tcp(address) => address.to_string(),
                Address::Unix(path) => path.display().to_string(),
            };
            errors::fatal(py, &Fatal::new(FatalKind::ConnectFailed, format!("connection to {shown} failed: {error}")))
        };
        let mut connecting = Connecting::new(&address, &self.tcp).map_err(failed)?;
        let link = loop {
            if let Some(link) = py.detach(|| connecting.step(deadline)).map_err(failed)? {
                break link;
            }
            py.check_signals()?;
        };
        let mut state = self.hold(py)?;
        self.hangup.get_or_init(|| link.hangup());
        state.io = Io::Blocking(Box::new(link));
        if let Err(fatal) = state.start_tls() {
            return Err(errors::fatal(py, &fatal));
        }
        Ok(())
    }

    /// What is done when the session can take requests.
    fn ready(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.hold(py)?;
        self.check_open(py, &state)?;
        state.ready = Some(completion);
        self.digest(py, &mut state);
        Ok(object)
    }
}

impl Wire {
    /// A ticket or a future, as the connection needs it.
    pub(super) fn completion(&self, py: Python<'_>) -> PyResult<Completion> {
        match &self.event_loop {
            None => Ok(Completion::Ticket(Py::new(py, Ticket::default())?)),
            Some(event_loop) => {
                let future = event_loop.bind(py).call_method0(pyo3::intern!(py, "create_future"))?;
                Ok(Completion::Future(future.unbind()))
            }
        }
    }
}

/// A machine, and the TLS layer that it may ask for.
type Prepared = (Box<dyn Engine>, Option<(TlsConfig, String)>);

fn statements(options: &Bound<'_, PyDict>) -> PyResult<usize> {
    Ok(get(options, "statements")?.unwrap_or(limits::STATEMENT_CACHE))
}

fn postgres_machine(py: Python<'_>, options: &Bound<'_, PyDict>, outbox: &mut Outbox) -> PyResult<Prepared> {
    let text = |name: &str| get::<String>(options, name);
    let purpose = match get::<Vec<u8>>(options, "cancel")? {
        Some(message) => Purpose::Cancel(message),
        None => Purpose::Session,
    };
    let methods = [Method::Password, Method::Md5, Method::ScramSha256, Method::None];
    let allowed: Vec<String> = get(options, "require_auth")?.unwrap_or_default();
    let startup = Options {
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
        _ => Some((tls_config(py, options)?, text("server_name")?.unwrap_or_default())),
    };
    let machine = PgMachine::new(startup, statements(options)?, outbox);
    Ok((Box::new(machine), tls))
}

fn informix_machine(py: Python<'_>, options: &Bound<'_, PyDict>, outbox: &mut Outbox) -> PyResult<Prepared> {
    let text = |name: &str| get::<String>(options, name);
    let tls = match text("tls")?.as_deref() {
        None | Some("no") => None,
        Some(_) => Some((tls_config(py, options)?, text("server_name")?.unwrap_or_default())),
    };
    let codeset = match text("codeset")? {
        None => None,
        Some(name) => match informix::CodeSet::of_locale(&name) {
            Some(codeset) => Some(codeset),
            None => return Err(errors::programming(py, &format!("codeset={name:?} is none that headrace knows"))),
        },
    };
    let startup = informix::Options {
        user: text("user")?.unwrap_or_default(),
        password: text("password")?.map(|password| informix::Secret(password.into_bytes())),
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
    let machine = IfxMachine::new(startup, statements(options)?, outbox);
    let machine = machine.map_err(|fatal| errors::fatal(py, &fatal))?;
    Ok((Box::new(machine), tls))
}

/// What BLOB and CLOB columns give.
fn locators(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let g = globals(py)?;
    let loaders = PyDict::new(py);
    loaders.set_item(extended::BLOB, &g.blob_locator)?;
    loaders.set_item(extended::CLOB, &g.clob_locator)?;
    Ok(loaders.unbind())
}

fn mysql_machine(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Prepared> {
    let text = |name: &str| get::<String>(options, name);
    let flag = |name: &str| get::<bool>(options, name).map(Option::unwrap_or_default);
    let mode = choose(
        py,
        "tls",
        text("tls")?.as_deref(),
        mysql::Tls::No,
        &[("no", mysql::Tls::No), ("prefer", mysql::Tls::Prefer), ("require", mysql::Tls::Require)],
    )?;
    let tls = match mode {
        mysql::Tls::No => None,
        _ => Some((tls_config(py, options)?, text("server_name")?.unwrap_or_default())),
    };
    let plugins: Vec<String> = get(options, "plugins")?.unwrap_or_default();
    let plugins = plugins.iter().map(|name| {
        mysql::Plugin::of_name(name)
            .ok_or_else(|| errors::programming(py, &format!("auth_plugins: {name:?} is none that headrace knows")))
    });
    let startup = mysql::Options {
        user: text("user")?.unwrap_or_default(),
        password: text("password")?.map(|password| mysql::Secret(password.into_bytes())),
        database: text("database")?,
        tls: mode,
        local: text("unix")?.is_some(),
        certificate_by_password: flag("certificate_by_password")?,
        plugins: plugins.collect::<PyResult<_>>()?,
        server_key: match (text("server_public_key")?, flag("get_server_public_key")?) {
            (Some(key), _) => mysql::ServerKey::Known(key),
            (None, true) => mysql::ServerKey::Retrieve,
            (None, false) => mysql::ServerKey::Refuse,
        },
        compression: match (text("compression")?.as_deref(), get::<u8>(options, "zstd_level")?) {
            (Some("zlib"), _) => Some(mysql::Algorithm::Zlib),
            (Some("zstd"), level) => Some(mysql::Algorithm::Zstd(level.unwrap_or(limits::ZSTD_LEVEL))),
            _ => None,
        },
        found_rows: flag("found_rows")?,
        multi_statements: flag("multi_statements")?,
        local_infile: flag("local_infile")?,
        interactive: flag("interactive")?,
        collation: get(options, "collation")?,
        attributes: get(options, "attributes")?.unwrap_or_default(),
        in_flight: get(options, "in_flight")?.unwrap_or(limits::COMMANDS_IN_FLIGHT),
        ..mysql::Options::default()
    };
    let machine = MyMachine::new(startup, statements(options)?);
    let machine = machine.map_err(|fatal| errors::fatal(py, &fatal))?;
    Ok((Box::new(machine), tls))
}

/// What the set-up of a session with MySQL or MariaDB needs.
mod mysql {
    pub use headrace_mysql::auth::{Plugin, Secret, ServerKey};
    pub use headrace_mysql::machine::{Options, Tls};
    pub use headrace_mysql::packets::compress::Algorithm;
}

/// What the set-up of an Informix session needs.
mod informix {
    pub use headrace_informix::codeset::CodeSet;
    pub use headrace_informix::machine::{Options, Secret};
}

fn tls_config(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<TlsConfig> {
    let path = |name: &str| get::<PathBuf>(options, name);
    let verify = choose(
        py,
        "verify",
        get::<String>(options, "verify")?.as_deref(),
        Verify::Full,
        &[("none", Verify::None), ("ca", Verify::Ca), ("full", Verify::Full), ("note", Verify::Note)],
    )?;
    let client = match (path("sslcert")?, path("sslkey")?) {
        (Some(certificates), Some(key)) => Some(ClientCert { certificates, key }),
        (None, None) => None,
        _ => return Err(errors::programming(py, "sslcert and sslkey are given together or not at all")),
    };
    Ok(TlsConfig {
        verify,
        roots: path("sslrootcert")?.map_or(Roots::System, Roots::File),
        client,
        only_tls13: get(options, "only_tls13")?.unwrap_or(false),
        alpn: if get::<String>(options, "tls")?.as_deref() == Some("direct") {
            vec![b"postgresql".to_vec()]
        } else {
            Vec::new()
        },
        sni: get(options, "sslsni")?.unwrap_or(true),
    })
}
