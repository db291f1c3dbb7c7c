//! The configuration: a TOML file.

use crate::front::url;
use crate::limits::{POOL_SIZE, QUEUE_LENGTH, QUEUE_WAIT};
use crate::postgres::server::SslMode;
use headrace_core::{Fatal, FatalKind};
use headrace_io::Address;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The databases by the names that clients give.
    pub databases: BTreeMap<String, Database>,
}

/// A database of a server, with what is needed to log in.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The kind of its server.
    #[serde(default)]
    pub driver: Driver,
    /// A name, an address, or the folder of a Unix socket.
    pub host: String,
    /// The port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// The name of the database there; by default as the client gives it.
    pub dbname: Option<String>,
    /// The user there; by default as the client gives it.
    pub user: Option<String>,
    /// The password.
    password: Option<String>,
    /// A file with the password in its first line.
    password_file: Option<PathBuf>,
    /// DBSERVERNAME, which only Informix has.
    pub server: Option<String>,
    /// TLS.
    #[serde(default)]
    pub sslmode: SslMode,
    /// The trusted certificates; by default the system's.
    pub sslrootcert: Option<PathBuf>,
    /// When a server connection goes back.
    #[serde(default)]
    pub pool_mode: PoolMode,
    /// Server connections.
    #[serde(default = "default_pool_size")]
    pub pool_size: usize,
    /// Clients that may wait for one.
    #[serde(default = "default_queue_length")]
    pub queue_length: usize,
    /// Seconds that a client waits.
    #[serde(default = "default_queue_wait")]
    pub queue_wait: f64,
}

/// The kind of a database's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// PostgreSQL: clients are lent its connections.
    #[default]
    Postgresql,
    /// MySQL or MariaDB.
    #[serde(alias = "mariadb")]
    Mysql,
    /// Informix.
    Informix,
    /// CUBRID.
    Cubrid,
}

/// When a server connection goes back to its pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// At the end of each transaction.
    #[default]
    Transaction,
    /// When the client leaves.
    Session,
}

fn default_port() -> u16 {
    5432
}

fn default_pool_size() -> usize {
    POOL_SIZE
}

fn default_queue_length() -> usize {
    QUEUE_LENGTH
}

fn default_queue_wait() -> f64 {
    QUEUE_WAIT.as_secs_f64()
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with its name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut table: toml::Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        url::expand(&mut table).map_err(|what| format!("{}: {what}", path.display()))?;
        let config: Self = table.try_into().map_err(|error| format!("{}: {error}", path.display()))?;
        for (name, database) in &config.databases {
            database.check().map_err(|what| format!("{}: databases.{name}: {what}", path.display()))?;
        }
        Ok(config)
    }
}

impl Database {
    fn check(&self) -> Result<(), String> {
        if self.pool_size == 0 {
            return Err("pool_size must be at least 1".into());
        }
        if !(self.queue_wait > 0.0 && self.queue_wait.is_finite()) {
            return Err("queue_wait must be a number of seconds above 0".into());
        }
        if self.password.is_some() && self.password_file.is_some() {
            return Err("password and password_file are both given".into());
        }
        Ok(())
    }

    /// How long a client waits for a server connection.
    pub fn queue_wait(&self) -> Duration {
        Duration::from_secs_f64(self.queue_wait)
    }

    /// The password, if there is one. A file is read each time.
    ///
    /// # Errors
    /// [`Fatal`]: the file cannot be read.
    pub fn password(&self) -> Result<Option<String>, Fatal> {
        let Some(path) = &self.password_file else { return Ok(self.password.clone()) };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Fatal::new(FatalKind::UnusableSetting, format!("password_file {}: {error}", path.display()))
        })?;
        Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
    }

    /// The first address of the host.
    ///
    /// # Errors
    /// [`Fatal`]: it has none.
    pub async fn address(&self) -> Result<Address, Fatal> {
        if self.host.starts_with('/') {
            return Ok(Address::Unix(Path::new(&self.host).join(format!(".s.PGSQL.{}", self.port))));
        }
        let failed = |what: String| Fatal::new(FatalKind::ConnectFailed, format!("the host {:?} {what}", self.host));
        let mut found = tokio::net::lookup_host((self.host.as_str(), self.port))
            .await
            .map_err(|error| failed(format!("cannot be found: {error}")))?;
        found.next().map(Address::Tcp).ok_or_else(|| failed("has no address".into()))
    }
}
