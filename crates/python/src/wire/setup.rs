//! Opening a connection.

use super::asyncio::OwnLoop;
use super::{Io, Wire, WireState};
use crate::call::{Completion, Ticket};
use crate::engine::Engine;
use crate::limits;
use crate::settings::{Settings, Unrepresentable};
use crate::{errors, ffi};
use headrace_connection::{Connection, Limits, TlsSettings};
use headrace_core::{Cancellation, Fatal, FatalKind, NextStep, TransactionStatus, WriteBuffer};
use headrace_io::{Address, Connecting, Link, TcpOptions};
use headrace_tls::{ClientCert, Roots, TlsConfig, Verify};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

/// The name of an option as Python has it. Each is made once: to make and to hash those of a connection again was a
/// thirtieth of the instructions of opening it.
fn interned<'py>(py: Python<'py>, name: &'static str) -> Bound<'py, PyString> {
    static NAMES: Mutex<BTreeMap<&'static str, Py<PyString>>> = Mutex::new(BTreeMap::new());
    match NAMES.lock() {
        Ok(mut names) => names.entry(name).or_insert_with(|| PyString::intern(py, name).unbind()).bind(py).clone(),
        Err(_) => PyString::intern(py, name),
    }
}

/// Reads an optional entry.
pub(crate) fn get<'py, T>(options: &Bound<'py, PyDict>, name: &'static str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    match options.get_item(interned(options.py(), name))? {
        Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}

fn seconds(options: &Bound<'_, PyDict>, name: &'static str) -> PyResult<Option<Duration>> {
    Ok(get::<f64>(options, name)?.filter(|s| *s > 0.0).map(Duration::from_secs_f64))
}

pub(crate) fn choose<T: Copy>(
    py: Python<'_>,
    name: &str,
    given: Option<&str>,
    default: T,
    choices: &[(&str, T)],
) -> PyResult<T> {
    match given {
        None => Ok(default),
        Some(given) => choices.iter().find(|(choice, _)| *choice == given).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            errors::programming(py, &format!("{name}={given:?} is not one of {}", names.join(", ")))
        }),
    }
}

fn tcp(py: Python<'_>, (ip, port): &(String, u16)) -> PyResult<Address> {
    let ip = ip.parse().map_err(|_| errors::programming(py, &format!("{ip:?} is not an IP address")))?;
    Ok(Address::Tcp(SocketAddr::new(ip, *port)))
}

impl Wire {
    /// A connection that is not open yet, by the options that the Python side makes of a URL or a conninfo, some of
    /// which `prepare` makes a machine of: the part of it that a database alone has is `own`. `event_loop` is the
    /// asyncio loop that will carry it, or None for a blocking one.
    pub(crate) fn subclass<T: pyo3::PyClass<BaseType = Self>>(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        event_loop: Option<Py<PyAny>>,
        prepare: Prepare,
        own: T,
    ) -> PyResult<PyClassInitializer<T>> {
        Ok(PyClassInitializer::from(Self::prepared(py, options, event_loop, prepare)?).add_subclass(own))
    }

    fn prepared(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        event_loop: Option<Py<PyAny>>,
        prepare: Prepare,
    ) -> PyResult<Self> {
        let text = |name: &'static str| get::<String>(options, name);
        let address = match (get::<(String, u16)>(options, "tcp")?, text("unix")?) {
            (Some(place), _) => Some(tcp(py, &place)?),
            (None, Some(path)) => Some(Address::Unix(PathBuf::from(path))),
            (None, None) => None,
        };
        let mut write_buffer = WriteBuffer::new();
        let Prepared { machine, tls, loaders } = prepare(py, options, &mut write_buffer)?;
        let settings = Settings {
            unrepresentable: choose(
                py,
                "unrepresentable",
                text("unrepresentable")?.as_deref(),
                Unrepresentable::Raise,
                &[("raise", Unrepresentable::Raise), ("none", Unrepresentable::None), ("text", Unrepresentable::Text)],
            )?,
            json_text: get(options, "json_text")?.unwrap_or(false),
            json_loads: None,
            json_dumps: None,
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
        let block = machine.requests().block().clone();
        let state = WireState {
            connection: Connection::new(machine, write_buffer, tls),
            io: Io::None,
            queries: PyDict::new(py).unbind(),
            timer_due: None,
            queries_bytes: Cell::new(0),
            settings: Arc::new(settings),
            has_unreported_error: Cell::new(false),
            at_end: Cell::new(super::StatusAtEnd::Known(TransactionStatus::Idle)),
            ready: None,
            notified: Vec::new(),
            drained: None,
            gates: Vec::new(),
            pumped: None,
            read_for: Duration::ZERO,
            pumped_in_vain: false,
            latest: (0, 0),
            spare: RefCell::default(),
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
            pauses_due: AtomicIsize::new(0),
            exports: AtomicUsize::new(0),
            paused: AtomicBool::new(false),
            unsent: AtomicBool::new(false),
            full: AtomicBool::new(false),
            turn_over: AtomicBool::new(false),
            flush_due: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            opened: AtomicBool::new(false),
            reconnector: OnceLock::new(),
            reconnecting: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            unfinished: Mutex::default(),
            hangup: Mutex::new(None),
            process_id: AtomicI32::new(0),
            cancellation: Mutex::new(Cancellation::Impossible),
            event_loop: event_loop.map(|event_loop| OwnLoop::new(py, event_loop)).transpose()?,
            timings: Default::default(),
            noticed: PyList::empty(py).unbind(),
            limits: Limits { read: seconds(options, "read_timeout")?, write: seconds(options, "write_timeout")? },
            begins: AtomicBool::new(true),
            block,
            waiting: AtomicUsize::new(0),
            released: Default::default(),
            arrivals: AtomicU64::new(0),
            forks: super::fork::forks(),
            number: super::CONNECTIONS.fetch_add(1, Ordering::Relaxed),
        })
    }
}

#[pymethods]
impl Wire {
    /// Connects the socket of a blocking connection, within `timeout` seconds, to an address and port of the server
    /// that `ready()` has named, or else as the options have it.
    ///
    /// The session is then set up by waiting for `ready()`.
    #[pyo3(signature = (timeout=None, place=None))]
    fn open(&self, py: Python<'_>, timeout: Option<f64>, place: Option<(String, u16)>) -> PyResult<()> {
        let address = place.map(|place| tcp(py, &place)).transpose()?.or_else(|| self.address.clone());
        let Some(address) = address else {
            return Err(errors::interface(py, "the connection has no address"));
        };
        let link = self.link(py, &address, super::blocking::deadline(timeout))?;
        let mut state = self.lock(py)?;
        if let Ok(mut hangup) = self.hangup.lock() {
            *hangup = Some(link.hangup());
        }
        self.connected(py, &mut state, Io::Blocking(Box::new(link)));
        Ok(())
    }

    /// Options of the socket of a transport, which the event loop has connected: level and option by the names that they
    /// have in Python's `socket`, and the value. The engine sets the same on those that it connects itself.
    fn socket_options(&self) -> Vec<(&'static str, &'static str, u64)> {
        const IDLE: &str = if cfg!(target_vendor = "apple") { "TCP_KEEPALIVE" } else { "TCP_KEEPIDLE" };
        let (tcp, mut options) = (&self.tcp, vec![("IPPROTO_TCP", "TCP_NODELAY", Some(1))]);
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        if tcp.keepalive {
            options.push(("SOL_SOCKET", "SO_KEEPALIVE", Some(1)));
            options.push(("IPPROTO_TCP", IDLE, seconds(tcp.keepalive_idle)));
            options.push(("IPPROTO_TCP", "TCP_KEEPINTVL", seconds(tcp.keepalive_interval)));
            options.push(("IPPROTO_TCP", "TCP_KEEPCNT", tcp.keepalive_count.map(u64::from)));
        }
        if cfg!(target_os = "linux") {
            let millis = tcp.user_timeout.map(|time| time.as_millis() as u64);
            options.push(("IPPROTO_TCP", "TCP_USER_TIMEOUT", millis));
        }
        options
            .into_iter()
            .filter_map(|(level, name, value)| Some((level, name, value?.min(i32::MAX as u64))))
            .collect()
    }

    /// A future that is done when the session can take requests, or asks a question. If its result is not None the
    /// server has redirected: a host and a port, to which a new socket has to be connected, and then this waited for
    /// again.
    fn ready(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.lock(py)?;
        if let Some(reason) = state.connection.ended() {
            state.has_unreported_error.set(false);
            return Err(state.end(py, reason));
        }
        state.ready = Some(completion);
        self.process_input(py, &mut state);
        Ok(object)
    }
}

impl Wire {
    /// A blocking socket to an address.
    ///
    /// # Errors
    /// OperationalError.
    fn link(&self, py: Python<'_>, address: &Address, deadline: Option<std::time::Instant>) -> PyResult<Link> {
        let failed = |error: io::Error| {
            let shown = match address {
                Address::Tcp(address) => address.to_string(),
                Address::Unix(path) => path.display().to_string(),
            };
            errors::fatal(py, &Fatal::new(FatalKind::ConnectFailed, format!("connection to {shown} failed: {error}")))
        };
        let mut connecting = Connecting::new(address, &self.tcp).map_err(failed)?;
        loop {
            if let Some(link) = py.detach(|| connecting.step(deadline)).map_err(failed)? {
                return Ok(link);
            }
            py.check_signals()?;
        }
    }

    /// Connects a session that goes on after its connection was lost. If that fails, the session ends.
    ///
    /// # Errors
    /// OperationalError.
    pub(super) fn reconnect(&self, py: Python<'_>, state: &mut WireState) -> PyResult<()> {
        let NextStep::Reconnect { port, .. } = state.connection.next_step() else { return Ok(()) };
        let address = match &self.address {
            // A broker on Windows names another port.
            Some(Address::Tcp(address)) => Address::Tcp((address.ip(), port).into()),
            _ => return Err(errors::interface(py, "the connection has no address")),
        };
        match self.link(py, &address, super::blocking::deadline(Some(limits::RECONNECT_SECONDS))) {
            Ok(link) => {
                if let Ok(mut hangup) = self.hangup.lock() {
                    *hangup = Some(link.hangup());
                }
                self.connected(py, state, Io::Blocking(Box::new(link)));
                Ok(())
            }
            Err(error) => {
                let reason = format!("the connection was lost, and cannot be made again: {}", error.value(py));
                self.die(py, state, &Fatal::gone(reason));
                Err(error)
            }
        }
    }

    /// The socket is connected. A session that cannot begin on it ends, and its future raises the error.
    pub(super) fn connected(&self, py: Python<'_>, state: &mut WireState, io: Io) {
        state.io = io;
        if let Err(fatal) = state.connection.connected() {
            self.die(py, state, &fatal);
        }
    }

    /// A ticket or a future, as the connection needs it.
    pub(crate) fn completion(&self, py: Python<'_>) -> PyResult<Completion> {
        match &self.event_loop {
            None => Ok(Completion::Ticket(ffi::unseen(py, Ticket::default())?)),
            Some(own) => {
                own.enter(py)?;
                Ok(Completion::Future(own.future(py)?.unbind()))
            }
        }
    }

    /// Checks that this thread is the one that runs the connection's own loop, for what asks for nothing that waits.
    ///
    /// # Errors
    /// ProgrammingError on any other loop, and where none runs.
    #[inline]
    pub(crate) fn check_thread(&self, py: Python<'_>) -> PyResult<()> {
        match &self.event_loop {
            Some(own) if own.thread.load(Ordering::Relaxed) != super::thread_number() => own.enter(py),
            _ => Ok(()),
        }
    }
}

impl OwnLoop {
    /// A request is made: this thread is the one that runs the loop.
    ///
    /// # Errors
    /// ProgrammingError on any other loop, and where none runs.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        let event_loop = self.event_loop.bind(py);
        if !self.running.bind(py).call0()?.is(event_loop) {
            return Err(other_loop(py, event_loop));
        }
        self.thread.store(super::thread_number(), Ordering::Relaxed);
        Ok(())
    }
}

/// The error for a request from anywhere but the connection's own event loop.
#[cold]
fn other_loop(py: Python<'_>, event_loop: &Bound<'_, PyAny>) -> PyErr {
    let closed = event_loop.call_method0("is_closed").is_ok_and(|closed| closed.is_truthy().unwrap_or(false));
    let closed = if closed { ", which is closed" } else { "" };
    errors::programming(
        py,
        &format!(
            "the connection belongs to another event loop{closed}: it can be used only on the loop that it was opened \
             on (each asyncio.run() makes a loop of its own)"
        ),
    )
}

/// Makes the database's part of a connection, from its options and the first bytes that it writes.
pub(crate) type Prepare = fn(Python<'_>, &Bound<'_, PyDict>, &mut WriteBuffer) -> PyResult<Prepared>;

/// The database's part of a connection.
pub(crate) struct Prepared {
    pub machine: Box<dyn Engine>,
    /// The TLS layer, if the machine requests it.
    pub tls: Option<TlsSettings>,
    /// The factories of Python's objects for values of some types.
    pub loaders: Option<Py<PyDict>>,
}

/// The number of cached prepared statements.
pub(crate) fn statements(options: &Bound<'_, PyDict>) -> PyResult<usize> {
    Ok(get(options, "statements")?.unwrap_or(limits::STATEMENT_CACHE))
}

/// The TLS settings.
pub(crate) fn tls_settings(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<TlsSettings> {
    let path = |name: &'static str| get::<PathBuf>(options, name);
    let verify = choose(
        py,
        "verify",
        get::<String>(options, "verify")?.as_deref(),
        Verify::Full,
        &[("none", Verify::None), ("ca", Verify::Ca), ("full", Verify::Full), ("note", Verify::Opportunistic)],
    )?;
    let client = match (path("sslcert")?, path("sslkey")?) {
        (Some(certificates), Some(key)) => Some(ClientCert { certificates, key }),
        (None, None) => None,
        _ => return Err(errors::programming(py, "sslcert and sslkey must be set together")),
    };
    let config = TlsConfig {
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
    };
    Ok(TlsSettings { config, server_name: get(options, "server_name")?.unwrap_or_default() })
}
