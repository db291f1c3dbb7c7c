//! What to connect to: a URI, and options that stand beside it.

use crate::error::{invalid, of, of_fatal, unsupported};
use crate::limits::CONNECT_TIMEOUT;
use adbc_core::error::{Error, Result, Status};
use headrace_core::limits;
use headrace_drivers::{Driver, Encryption, Login, Product, Settings, Tls, Unusable};
use headrace_io::{Address, TcpOptions};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::ToSocketAddrs;
use std::time::Duration;

/// The name of the driver, which may stand before a URI, and by which programs find it: `headrace:mysql://...`.
const DRIVER: &str = "headrace";

/// What to connect to.
#[derive(Clone)]
pub struct Target {
    settings: Settings,
    tls: Tls,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<String>,
    /// The database's name.
    pub database: Option<String>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.settings.fmt(f)
    }
}

/// A place to connect to, with an address that its host has.
#[derive(Clone, Debug)]
pub struct ResolvedPlace {
    /// The host's name, for TLS.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address.
    pub address: Address,
}

/// An error of settings, as ADBC has it.
pub fn of_settings(error: headrace_drivers::Error) -> Error {
    match error {
        headrace_drivers::Error::Invalid(message) => invalid(message),
        headrace_drivers::Error::Unsupported(message) => unsupported(message),
    }
}

/// An error of what a session is opened with, as ADBC has it.
pub fn of_unusable(error: Unusable) -> Error {
    match error {
        Unusable::Setting(error) => of_settings(error),
        Unusable::Fatal(fatal) => of_fatal(&fatal),
    }
}

impl Target {
    /// The target of a URI; `user`, `password` and `others` are options that stand beside it, and win.
    ///
    /// # Errors
    /// There is no such database, or it has no such setting.
    pub fn new(
        uri: &str,
        user: Option<String>,
        password: Option<String>,
        others: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let uri = match uri.split_once(':') {
            Some((name, rest)) if name.eq_ignore_ascii_case(DRIVER) && !rest.starts_with("//") => rest,
            _ => uri,
        };
        let mut settings = Settings::of_url(uri, Product::Adbc).map_err(of_settings)?;
        for (name, value) in others {
            settings.set(name, value.clone()).map_err(of_settings)?;
        }
        let tls = Tls::of(&settings).map_err(of_settings)?;
        let user = user.or_else(|| settings.take("user")).filter(|user| !user.is_empty());
        let password = password.or_else(|| settings.take("password"));
        let database = settings.take(settings.driver.database_setting());
        let target = Self {
            user: user.or_else(|| default_user(settings.driver)).unwrap_or_default(),
            password,
            database: database.filter(|name| !name.is_empty()),
            tls,
            settings,
        };
        target.settings.places().map_err(of_settings)?;
        target.connect_timeout()?;
        target.tcp()?;
        Ok(target)
    }

    /// The database.
    pub fn driver(&self) -> &'static Driver {
        self.settings.driver
    }

    /// A text.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.text(name)
    }

    /// Variables of the session, by their names.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.settings.variables
    }

    /// A setting that is on or off; without it, `default`.
    ///
    /// # Errors
    /// It is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool> {
        self.settings.switch(name, default).map_err(of_settings)
    }

    /// The time limit of connecting.
    ///
    /// # Errors
    /// It is not a number of seconds.
    pub fn connect_timeout(&self) -> Result<Option<Duration>> {
        let given = self.settings.duration("connect_timeout").map_err(of_settings)?;
        Ok(Some(given.unwrap_or(CONNECT_TIMEOUT)).filter(|limit| !limit.is_zero()))
    }

    /// Where to connect, in order.
    ///
    /// # Errors
    /// A host has no address.
    pub fn places(&self) -> Result<Vec<ResolvedPlace>> {
        let mut places = Vec::new();
        for headrace_drivers::Place { host, port, socket } in self.settings.places().map_err(of_settings)? {
            if let Some(path) = socket {
                places.push(ResolvedPlace { host, port, address: Address::Unix(path) });
                continue;
            }
            let found = (host.as_str(), port).to_socket_addrs();
            let found = found.map_err(|error| of(Status::IO, format!("the host {host:?} cannot be found: {error}")))?;
            places.extend(found.map(|address| ResolvedPlace {
                host: host.clone(),
                port,
                address: Address::Tcp(address),
            }));
        }
        if self.is_shuffled()? {
            let random = RandomState::new();
            places.sort_by_cached_key(|place| random.hash_one((&place.host, format!("{:?}", place.address))));
        }
        Ok(places)
    }

    /// Returns true if the hosts are tried in random order.
    fn is_shuffled(&self) -> Result<bool> {
        let has = |name| self.driver().setting(name).is_some();
        if has("load_balance_hosts") {
            return Ok(self.setting("load_balance_hosts") == Some("random"));
        }
        if has("load_balance") { self.switch("load_balance", false) } else { Ok(false) }
    }

    /// The options of a TCP connection.
    ///
    /// # Errors
    /// One of them is not a number.
    pub fn tcp(&self) -> Result<TcpOptions> {
        let keepalive = self.switch("keepalives", true)?;
        if self.driver().setting("keepalives_idle").is_none() {
            return Ok(TcpOptions { keepalive, ..TcpOptions::default() });
        }
        let time = |name| -> Result<Option<Duration>> {
            Ok(self.settings.duration(name).map_err(of_settings)?.filter(|time| !time.is_zero()))
        };
        let count = self.settings.number("keepalives_count").map_err(of_settings)?;
        Ok(TcpOptions {
            keepalive,
            keepalive_idle: time("keepalives_idle")?,
            keepalive_interval: time("keepalives_interval")?,
            keepalive_count: count.filter(|count| *count > 0),
            user_timeout: time("tcp_user_timeout")?,
        })
    }

    /// What is needed to log in at a place.
    pub fn login<'a>(&'a self, place: &'a ResolvedPlace, encryption: &'a Encryption) -> Login<'a> {
        Login {
            settings: &self.settings,
            host: &place.host,
            port: place.port,
            is_local: matches!(place.address, Address::Unix(_)),
            user: &self.user,
            password: self.password.as_deref().map(str::as_bytes),
            database: self.database.as_deref(),
            encryption,
            program: DRIVER,
            statements: limits::STATEMENT_CACHE,
        }
    }

    /// TLS at a place.
    pub fn encryption(&self, place: &ResolvedPlace) -> Encryption {
        self.tls.at(&place.host, matches!(place.address, Address::Unix(_)))
    }
}

/// The user without one: that of the table of settings, or of the operating system.
fn default_user(driver: &Driver) -> Option<String> {
    let of_table = driver.setting("user").map(|user| user.default).filter(|user| !user.is_empty());
    let of_system = || ["LOGNAME", "USER"].into_iter().find_map(|name| std::env::var(name).ok());
    of_table.map(str::to_owned).or_else(|| driver.has_system_user.then(of_system)?)
}
