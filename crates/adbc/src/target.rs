//! What to connect to: a URI, and options that stand beside it.

use crate::error::{invalid, of, unsupported};
use crate::uri::Uri;
use adbc_core::error::{Result, Status};
use headrace_connection::TlsSettings;
use headrace_io::{Address, TcpOptions};
use headrace_tls::{ClientCert, Roots, TlsConfig, Verify};
use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

/// The databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// Informix.
    Informix,
    /// CUBRID.
    Cubrid,
}

impl Kind {
    fn of_scheme(scheme: &str) -> Option<Self> {
        Some(match scheme {
            "postgresql" | "postgres" => Self::Postgres,
            "mysql" | "mariadb" => Self::MySql,
            "informix" => Self::Informix,
            "cubrid" => Self::Cubrid,
            _ => return None,
        })
    }

    fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::MySql => 3306,
            Self::Informix => 9088,
            Self::Cubrid => 33000,
        }
    }

    /// The parameters that a URI may have, and the options of the same names.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => {
                const {
                    &[
                        "application_name",
                        "connect_timeout",
                        "host",
                        "options",
                        "prepared",
                        "sslcert",
                        "sslkey",
                        "sslmode",
                        "sslrootcert",
                    ]
                }
            }
            Self::MySql => const { &["connect_timeout", "socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_mode"] },
            Self::Informix => {
                const { &["CLIENT_LOCALE", "DB_LOCALE", "connect_timeout", "server", "sslmode", "sslrootcert"] }
            }
            Self::Cubrid => const { &["charset", "connect_timeout", "sslmode", "sslrootcert"] },
        }
    }
}

/// What to connect to.
#[derive(Clone)]
pub struct Target {
    /// The database.
    pub kind: Kind,
    hosts: Vec<(String, Option<u16>)>,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<String>,
    /// The database's name.
    pub database: Option<String>,
    settings: BTreeMap<String, String>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("kind", &self.kind).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Whether and how TLS is used, and how certificates are verified.
#[derive(Clone, Debug)]
pub enum Encryption {
    /// Not at all.
    No,
    /// If the server has it.
    Prefer(TlsSettings),
    /// In any case.
    Require(TlsSettings),
}

impl Encryption {
    /// The settings of TLS.
    pub fn settings(&self) -> Option<&TlsSettings> {
        match self {
            Self::No => None,
            Self::Prefer(settings) | Self::Require(settings) => Some(settings),
        }
    }
}

/// A place to connect to.
#[derive(Clone, Debug)]
pub struct Place {
    /// The host's name, for TLS.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address.
    pub address: Address,
}

impl Target {
    /// The target of a URI; `user`, `password` and `settings` are options that stand beside it, and win.
    ///
    /// # Errors
    /// There is no such database, or it has no such parameter.
    pub fn new(
        uri: Uri,
        user: Option<String>,
        password: Option<String>,
        settings: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let kind = Kind::of_scheme(&uri.scheme).ok_or_else(|| {
            invalid("the uri begins with postgresql://, mysql://, mariadb://, informix:// or cubrid://")
        })?;
        let mut all: BTreeMap<String, String> = uri.parameters.into_iter().collect();
        let user = user.or(uri.user).or_else(|| all.remove("user"));
        let password = password.or(uri.password).or_else(|| all.remove("password"));
        all.extend(settings.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(name) = all.keys().find(|name| !kind.parameters().contains(&name.as_str())) {
            let (shown, known) = (headrace_core::shortened(name), kind.parameters().join(", "));
            return Err(invalid(format!("{shown:?} is not one of the parameters of this database: {known}")));
        }
        Ok(Self {
            kind,
            hosts: uri.hosts,
            user: user.or_else(|| system_user(kind)).unwrap_or_default(),
            password,
            database: uri.database,
            settings: all,
        })
    }

    /// A parameter.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// A parameter that is on or off; without it, `default`.
    ///
    /// # Errors
    /// It is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool> {
        match self.setting(name).map(str::to_ascii_lowercase).as_deref() {
            None | Some("") => Ok(default),
            Some("1" | "true" | "on" | "yes") => Ok(true),
            Some("0" | "false" | "off" | "no") => Ok(false),
            Some(_) => Err(invalid(format!("{name} is neither 1 nor 0"))),
        }
    }

    /// The time limit of connecting.
    ///
    /// # Errors
    /// It is not a number of seconds.
    pub fn connect_timeout(&self) -> Result<Option<Duration>> {
        let Some(text) = self.setting("connect_timeout") else { return Ok(Some(Duration::from_secs(30))) };
        let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let seconds = seconds.ok_or_else(|| invalid(format!("connect_timeout={text:?} is not a number of seconds")))?;
        Ok(Some(seconds).filter(|seconds| !seconds.is_zero()))
    }

    /// Where to connect, in order.
    ///
    /// # Errors
    /// A host has no address.
    pub fn places(&self) -> Result<Vec<Place>> {
        if let Some(path) = self.setting("socket") {
            return Ok(vec![Place { host: String::new(), port: 0, address: Address::Unix(PathBuf::from(path)) }]);
        }
        let mut hosts = self.hosts.clone();
        if let Some(host) = self.setting("host") {
            hosts = vec![(host.to_owned(), hosts.first().and_then(|(_, port)| *port))];
        }
        if hosts.is_empty() {
            hosts.push(("localhost".to_owned(), None));
        }
        let mut places = Vec::new();
        for (host, port) in hosts {
            let port = port.unwrap_or_else(|| self.kind.port());
            if self.kind == Kind::Postgres && host.starts_with('/') {
                let path = PathBuf::from(&host).join(format!(".s.PGSQL.{port}"));
                places.push(Place { host: String::new(), port, address: Address::Unix(path) });
                continue;
            }
            let found = (host.as_str(), port).to_socket_addrs();
            let found = found.map_err(|error| of(Status::IO, format!("the host {host:?} cannot be found: {error}")))?;
            places.extend(found.map(|address| Place { host: host.clone(), port, address: Address::Tcp(address) }));
        }
        Ok(places)
    }

    /// The options of a TCP connection.
    pub fn tcp(&self) -> TcpOptions {
        TcpOptions { keepalive: true, ..TcpOptions::default() }
    }

    /// TLS at a place.
    ///
    /// # Errors
    /// For a mode that there is not, and for settings that contradict each other.
    pub fn encryption(&self, place: &Place) -> Result<Encryption> {
        let local = matches!(place.address, Address::Unix(_));
        let (mode, files) = match self.kind {
            Kind::MySql => {
                let files = ["ssl_ca", "ssl_cert", "ssl_key"].map(|name| self.setting(name));
                let default = if files[0].is_some() { "VERIFY_CA" } else { "PREFERRED" };
                let mode = self.setting("ssl_mode").unwrap_or(default).to_ascii_uppercase();
                let mode = match mode.as_str() {
                    "DISABLED" => "disable",
                    "PREFERRED" => "prefer",
                    "REQUIRED" => "require",
                    "VERIFY_CA" => "verify-ca",
                    "VERIFY_IDENTITY" => "verify-full",
                    _ => {
                        return Err(invalid(
                            "ssl_mode is one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY",
                        ));
                    }
                };
                (mode, files)
            }
            _ => {
                let default = if self.kind == Kind::Postgres { "prefer" } else { "disable" };
                (
                    self.setting("sslmode").unwrap_or(default),
                    ["sslrootcert", "sslcert", "sslkey"].map(|name| self.setting(name)),
                )
            }
        };
        let verify = match mode {
            "disable" => return Ok(Encryption::No),
            "prefer" if local => return Ok(Encryption::No),
            "prefer" | "require" => Verify::None,
            "verify-ca" => Verify::Ca,
            "verify-full" => Verify::Full,
            _ => return Err(invalid("sslmode is one of disable, prefer, require, verify-ca, verify-full")),
        };
        if mode == "prefer" && !matches!(self.kind, Kind::Postgres | Kind::MySql) {
            return Err(invalid("sslmode=prefer needs a server that negotiates TLS: give disable or verify-full"));
        }
        if local {
            return Err(unsupported("TLS over a Unix socket"));
        }
        let [roots, certificate, key] = files;
        // As libpq: a file of trusted certificates is used where no mode forbids it.
        let verify =
            if mode == "require" && roots.is_some() && self.kind == Kind::Postgres { Verify::Ca } else { verify };
        let client = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(ClientCert { certificates: certificate.into(), key: key.into() }),
            (None, None) => None,
            _ => return Err(invalid("a certificate and its key are given together or not at all")),
        };
        let roots = roots.filter(|file| *file != "system").map_or(Roots::System, |file| Roots::File(file.into()));
        let config = TlsConfig { verify, roots, client, only_tls13: false, alpn: Vec::new(), sni: true };
        let settings = TlsSettings { config, server_name: place.host.clone() };
        Ok(if mode == "prefer" { Encryption::Prefer(settings) } else { Encryption::Require(settings) })
    }
}

/// The user of databases whose clients take the system's by default.
fn system_user(kind: Kind) -> Option<String> {
    match kind {
        Kind::Cubrid => Some("dba".to_owned()),
        Kind::Informix => None,
        Kind::Postgres | Kind::MySql => std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok(),
    }
}
