//! The configuration: a TOML file.

mod account;
mod auth_query;
mod database;
mod network;
mod passfile;
mod password;
mod shown;
mod text;
mod tls;
mod url;
mod user;

pub use account::Account;
pub use auth_query::AuthQuery;
pub use database::{DatabaseConfig, Driver, PoolMode, TargetSession, addresses};
pub use shown::Setting;
pub use user::LocalUser;

use crate::console;
use crate::limits::{CLIENTS, DRAIN, LEAST_SECONDS, LOGIN_TIMEOUT, MEMORY_MB, MESSAGE_TIMEOUT, MOST_SECONDS, RESTART};
use crate::log::{LogFormat, LogLevel};
use headrace_tls::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// The name of settings that are those of all databases without settings of their own.
pub const ANY_DATABASE: &str = "*";

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The daemon itself.
    #[serde(default)]
    pub daemon: Daemon,
    /// The databases by the names that clients give.
    pub databases: BTreeMap<String, DatabaseConfig>,
    /// Who may log in over TCP, by name.
    #[serde(default)]
    pub clients: BTreeMap<String, Account>,
    /// Users of the system that may connect to the Unix socket besides the daemon's own, by name or number.
    #[serde(default)]
    local_users: BTreeMap<String, LocalUser>,
    /// The same by number alone.
    #[serde(skip)]
    pub users_by_number: BTreeMap<u32, LocalUser>,
}

/// Settings of the daemon itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Daemon {
    /// Seconds without a client after which the daemon ends; 0 for never.
    pub idle_exit: Option<f64>,
    /// Seconds that clients have to end their transactions after SIGTERM.
    pub drain_timeout: f64,
    /// Seconds that clients may stay after another daemon has taken over, before they leave at the end of a transaction.
    pub restart_timeout: f64,
    /// Seconds that the login of a client may take.
    pub client_login_timeout: f64,
    /// Seconds that a message of a client may take to be complete; 0 for any number.
    pub message_timeout: f64,
    /// Clients at one time.
    pub max_clients: usize,
    /// Megabytes for messages of all clients that have to be complete before they are passed on.
    pub memory_mb: usize,
    /// The least that is written to the log.
    pub log_level: LogLevel,
    /// How its lines look.
    pub log_format: LogFormat,
    /// Clients that come and leave are written to it.
    pub log_connections: bool,
    /// Users who may give orders on the console.
    pub admin_users: Vec<String>,
    /// Users who may see its tables.
    pub stats_users: Vec<String>,
    /// Addresses of TCP that clients may connect to.
    pub listen: Vec<String>,
    /// A PEM file with the certificate chain that clients on TCP are shown.
    pub tls_cert: Option<PathBuf>,
    /// A PEM file with its key.
    pub tls_key: Option<PathBuf>,
    /// A PEM file with the authorities whose certificates clients on TCP may have.
    pub tls_client_ca: Option<PathBuf>,
    /// Clients on other machines may do without TLS.
    pub allow_plaintext: bool,
    /// The certificate and the key, read.
    #[serde(skip)]
    pub identity: Option<Identity>,
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            idle_exit: None,
            drain_timeout: DRAIN.as_secs_f64(),
            restart_timeout: RESTART.as_secs_f64(),
            client_login_timeout: LOGIN_TIMEOUT.as_secs_f64(),
            message_timeout: MESSAGE_TIMEOUT.as_secs_f64(),
            max_clients: CLIENTS,
            memory_mb: MEMORY_MB,
            log_level: LogLevel::default(),
            log_format: LogFormat::default(),
            log_connections: false,
            admin_users: Vec::new(),
            stats_users: Vec::new(),
            listen: Vec::new(),
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            allow_plaintext: false,
            identity: None,
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with its name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = Zeroizing::new(text);
        let mut config: Self =
            text::read(&text, url::expand_all).map_err(|what| format!("{}: {what}", path.display()))?;
        config.daemon.check().map_err(|what| format!("{}: daemon: {what}", path.display()))?;
        if config.databases.contains_key(console::NAME) {
            let what = "the name is that of the console";
            return Err(format!("{}: databases.{}: {what}", path.display(), console::NAME));
        }
        for (name, database) in &config.databases {
            database.check().map_err(|what| format!("{}: databases.{name}: {what}", path.display()))?;
            // Each name that a client gives would be a connection of the daemon's own.
            if name == ANY_DATABASE && database.auth_query.is_some() {
                return Err(format!("{}: databases.\"*\": auth_query is not possible here", path.display()));
            }
        }
        config.prepare().map_err(|what| format!("{}: {what}", path.display()))?;
        let by_number = user::by_number(&config.local_users);
        config.users_by_number = by_number.map_err(|what| format!("{}: {what}", path.display()))?;
        Ok(config)
    }
}

impl Daemon {
    fn check(&self) -> Result<(), String> {
        check_seconds("idle_exit", self.idle_exit.unwrap_or_default(), May::BeZero)?;
        check_seconds("drain_timeout", self.drain_timeout, May::BeZero)?;
        check_seconds("restart_timeout", self.restart_timeout, May::BeZero)?;
        check_seconds("client_login_timeout", self.client_login_timeout, May::NotBeZero)?;
        check_seconds("message_timeout", self.message_timeout, May::BeZero)?;
        if self.max_clients == 0 || self.memory_mb == 0 {
            return Err("max_clients and memory_mb must be at least 1".into());
        }
        Ok(())
    }

    /// Bytes that messages and prepared statements of all clients may take.
    pub fn most_memory(&self) -> i64 {
        i64::try_from(self.memory_mb.saturating_mul(1 << 20)).unwrap_or(i64::MAX)
    }

    /// How long clients have to end their transactions.
    pub fn drain_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.drain_timeout)
    }

    /// How long clients may stay after another daemon has taken over.
    pub fn restart_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.restart_timeout)
    }

    /// How long the login of a client may take.
    pub fn client_login_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.client_login_timeout)
    }

    /// How long a message of a client may take to be complete.
    pub fn message_timeout(&self) -> Option<Duration> {
        bound(self.message_timeout)
    }
}

/// The bound of a setting whose 0 means none.
fn bound(seconds: f64) -> Option<Duration> {
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
}

/// Which numbers of seconds a setting may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    BeZero,
    NotBeZero,
}

/// Checks a number of seconds: a [`Duration`] can be made of it, and added to the time of now.
fn check_seconds(name: &str, seconds: f64, may: May) -> Result<(), String> {
    let least = if may == May::BeZero { 0.0 } else { LEAST_SECONDS };
    if (least..=MOST_SECONDS).contains(&seconds) {
        return Ok(());
    }
    Err(format!("{name} must be a number of seconds between {least} and {MOST_SECONDS}"))
}
