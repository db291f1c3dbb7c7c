//! A database of a server: where it is, how to log in, and how its server connections are shared.

mod checks;
mod choices;

pub use choices::{Driver, LoadBalance, PoolMode, TargetSession};

use super::{AuthQuery, bound, text, tls, url};
use crate::limits::{
    CHECK_AFTER, CONNECT_TIMEOUT, IDLE_SERVER, LIFETIME, MAX_CONNECTIONS, MAX_LAG, PASSWORD_LIFETIME, POOL_SIZE,
    QUEUE_LENGTH, QUEUE_WAIT,
};
use crate::scram::random;
use crate::secret::Secret;
use crate::timeouts::Timeouts;
use headrace_core::{Fatal, FatalKind};
use headrace_drivers::{Encryption, Product, Settings, SslMode, Tls};
use headrace_io::Address;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A database of a server, with what is needed to log in.
#[derive(Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "the settings of a database")]
pub struct DatabaseConfig {
    /// The kind of its server.
    #[serde(default)]
    pub driver: Driver,
    /// Names, addresses, or folders of Unix sockets, separated by commas; each may have a port of its own.
    pub host: String,
    /// The port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// The name of the database there; by default as the client gives it.
    pub dbname: Option<String>,
    /// The user there; by default as the client gives it.
    pub user: Option<String>,
    /// DBSERVERNAME, which only Informix has.
    pub server: Option<String>,
    /// The password.
    #[serde(skip_serializing)]
    pub(super) password: Option<Secret>,
    /// A file with the password in its first line.
    pub(super) password_file: Option<PathBuf>,
    /// A variable of the daemon's environment.
    pub(super) password_env: Option<String>,
    /// A program that prints the password, with its arguments.
    #[serde(skip_serializing)]
    pub(super) password_command: Option<Vec<String>>,
    /// A password file as libpq has it; by default `$PGPASSFILE` or `~/.pgpass`.
    pub(super) passfile: Option<PathBuf>,
    /// The client is asked for the password, as a server would.
    #[serde(default)]
    pub ask_password: bool,
    /// How the passwords of clients on TCP are found on the server.
    pub auth_query: Option<AuthQuery>,
    /// TLS.
    #[serde(default, with = "tls", alias = "ssl_mode")]
    sslmode: Option<SslMode>,
    /// The trusted certificates; by default the system's.
    #[serde(alias = "ssl_ca")]
    sslrootcert: Option<PathBuf>,
    /// The daemon's certificate.
    #[serde(alias = "ssl_cert")]
    sslcert: Option<PathBuf>,
    /// Its key.
    #[serde(alias = "ssl_key")]
    sslkey: Option<PathBuf>,
    /// Which of the hosts will do.
    #[serde(default)]
    pub target_session_attrs: TargetSession,
    /// In which order they are tried.
    #[serde(default)]
    load_balance_hosts: LoadBalance,
    /// Transactions that are declared to be read-only are executed on standbys.
    #[serde(default)]
    standby_reads: bool,
    /// Seconds that a standby may be behind the primary for that; 0 for any number.
    #[serde(default = "default_max_lag")]
    max_lag: f64,
    /// Clients begin with `default_transaction_read_only = on`.
    #[serde(default)]
    pub read_only: bool,
    /// It is one server of several: another one may be chosen at once.
    #[serde(skip)]
    is_one_of_several: bool,
    /// When a server connection goes back.
    #[serde(default)]
    pub pool_mode: PoolMode,
    /// Server connections of one user.
    #[serde(default = "default_pool_size")]
    pub pool_size: usize,
    /// Server connections of all users.
    max_connections: Option<usize>,
    /// Clients that may wait for one.
    #[serde(default = "default_queue_length")]
    pub queue_length: usize,
    /// Seconds that a client waits.
    #[serde(default = "default_queue_wait")]
    pub queue_wait: f64,
    /// Seconds that opening a server connection may take.
    #[serde(default = "default_connect_timeout")]
    connect_timeout: f64,
    /// Seconds that a server connection is used; each lives up to a tenth shorter, so that they do not end together.
    server_lifetime: Option<f64>,
    /// Seconds after which an idle server connection is closed.
    #[serde(default = "default_idle")]
    server_idle: f64,
    /// Seconds after which an idle server connection is checked before it is lent.
    #[serde(default = "default_check_after")]
    check_after: f64,
    /// Seconds that a request may take; 0 for any number, as in the next three.
    #[serde(default)]
    query_timeout: f64,
    /// Seconds that a transaction may take.
    #[serde(default)]
    transaction_timeout: f64,
    /// Seconds that a client may do nothing in a transaction.
    #[serde(default)]
    idle_transaction_timeout: f64,
    /// Seconds that a client may do nothing outside of one.
    #[serde(default)]
    client_idle_timeout: f64,
    /// What is different for single users of the server.
    #[serde(default)]
    pub users: BTreeMap<String, User>,
}

/// What is different for a user.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Server connections.
    pub pool_size: Option<usize>,
    /// When a server connection goes back.
    pub pool_mode: Option<PoolMode>,
    /// Seconds that a request may take.
    query_timeout: Option<f64>,
    /// Seconds that a transaction may take.
    transaction_timeout: Option<f64>,
    /// Seconds that a client may do nothing in a transaction.
    idle_transaction_timeout: Option<f64>,
    /// Seconds that a client may do nothing outside of one.
    client_idle_timeout: Option<f64>,
}

/// A bound for clients: its name, and its seconds for all users and for one.
type Timeout = (&'static str, fn(&DatabaseConfig) -> f64, fn(&User) -> Option<f64>);

const TIMEOUTS: [Timeout; 4] = [
    ("query_timeout", |database| database.query_timeout, |user| user.query_timeout),
    ("transaction_timeout", |database| database.transaction_timeout, |user| user.transaction_timeout),
    ("idle_transaction_timeout", |database| database.idle_transaction_timeout, |user| user.idle_transaction_timeout),
    ("client_idle_timeout", |database| database.client_idle_timeout, |user| user.client_idle_timeout),
];

fn default_max_lag() -> f64 {
    MAX_LAG.as_secs_f64()
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

fn default_connect_timeout() -> f64 {
    CONNECT_TIMEOUT.as_secs_f64()
}

fn default_idle() -> f64 {
    IDLE_SERVER.as_secs_f64()
}

fn default_check_after() -> f64 {
    CHECK_AFTER.as_secs_f64()
}

impl std::fmt::Debug for DatabaseConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseConfig").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl DatabaseConfig {
    /// Reads what a client names as its server: the same settings as in the file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_client(text: &str) -> Result<Self, String> {
        let database: Self = text::read(text, url::expand)?;
        database.check().map(|()| database)
    }

    /// The hosts with their ports, in the order in which they are tried for a server connection that is opened now.
    ///
    /// # Errors
    /// A port that is not a number.
    pub fn places_in_turn(&self) -> Result<Vec<(&str, u16)>, String> {
        let mut places = self.places()?;
        if self.load_balance_hosts == LoadBalance::Random {
            places.sort_by_cached_key(|_| random::<8>());
        }
        Ok(places)
    }

    /// The hosts with their ports.
    ///
    /// # Errors
    /// A port that is not a number.
    pub fn places(&self) -> Result<Vec<(&str, u16)>, String> {
        let place = |text: &'_ str| -> Result<(usize, usize, u16), String> {
            let begin = text.as_ptr() as usize - self.host.as_ptr() as usize;
            let (host, port) = match text.rsplit_once(':') {
                // A folder whose name ends like that is followed by a port.
                Some((folder, port)) if text.starts_with('/') && is_number(port) => {
                    (folder, port.parse().map_err(|_| "host: the port is not a number from 0 to 65535")?)
                }
                // An address of IPv6 without brackets has no port.
                Some((host, port)) if !text.starts_with('/') && (!host.contains(':') || host.ends_with(']')) => {
                    // Not quoted: somebody may have written a whole URL here.
                    (host, port.parse().map_err(|_| "host: the port is not a number")?)
                }
                _ => (text, self.port),
            };
            let bare = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'))
                .map_or((0, host.len()), |bare| (1, bare.len()));
            Ok((begin + bare.0, bare.1, port))
        };
        self.host
            .split(',')
            .map(|text| place(text.trim()).map(|(begin, length, port)| (&self.host[begin..begin + length], port)))
            .collect()
    }

    /// Returns true if sessions of both are opened in the same way, on the same servers: what differs is how many there are, and
    /// for how long.
    pub fn differs_in_limits_only(&self, other: &Self) -> bool {
        let limited = Self {
            pool_size: other.pool_size,
            max_connections: other.max_connections,
            queue_length: other.queue_length,
            queue_wait: other.queue_wait,
            connect_timeout: other.connect_timeout,
            server_lifetime: other.server_lifetime,
            server_idle: other.server_idle,
            check_after: other.check_after,
            query_timeout: other.query_timeout,
            transaction_timeout: other.transaction_timeout,
            idle_transaction_timeout: other.idle_transaction_timeout,
            client_idle_timeout: other.client_idle_timeout,
            users: other.users.clone(),
            ..self.clone()
        };
        limited == *other
    }

    /// When the server connections of a user go back.
    pub fn mode_of(&self, user: &str) -> PoolMode {
        self.users.get(user).and_then(|user| user.pool_mode).unwrap_or(self.pool_mode)
    }

    /// How long a client of a user may take for what it does.
    pub fn timeouts_of(&self, user: &str, message: Option<Duration>) -> Timeouts {
        let user = self.users.get(user);
        let [query, transaction, idle_transaction, client_idle] =
            TIMEOUTS.map(|(_, of_all, of_user)| bound(user.and_then(of_user).unwrap_or_else(|| of_all(self))));
        Timeouts { query, transaction, idle_transaction, client_idle, message }
    }

    /// The number of server connections of a user.
    pub fn size_of(&self, user: &str) -> usize {
        self.users.get(user).and_then(|user| user.pool_size).unwrap_or(self.pool_size)
    }

    /// Server connections of all users and sets of startup parameters together. Clients can make as many of these as they
    /// like, and each has a pool.
    pub fn most_connections(&self) -> usize {
        let of_users = self.users.values().filter_map(|user| user.pool_size);
        self.max_connections
            .unwrap_or_else(|| of_users.chain([self.pool_size, MAX_CONNECTIONS]).max().unwrap_or(MAX_CONNECTIONS))
    }

    /// The settings of TLS. By default it is used with a server that has it, where a server can answer that it has none.
    fn tls(&self) -> Result<Tls, String> {
        let [roots, certificate, key] = [&self.sslrootcert, &self.sslcert, &self.sslkey].map(Option::as_deref);
        Tls::new(self.driver.0, self.sslmode, roots, certificate, key).map_err(|error| error.to_string())
    }

    /// TLS to a host, or to a Unix socket, whose name begins with a slash.
    ///
    /// # Errors
    /// [`Fatal`]: settings that contradict each other.
    pub fn encryption(&self, host: &str) -> Result<Encryption, Fatal> {
        let tls = self.tls().map_err(|what| Fatal::new(FatalKind::UnusableSetting, what))?;
        Ok(tls.at(host, host.starts_with('/')))
    }

    /// The settings of a session of another database than PostgreSQL.
    pub fn front_settings(&self) -> Settings {
        let driver = self.driver.0;
        let mut settings = Settings::new(driver, Product::Daemon);
        let own = [
            ("server", self.server.as_deref().unwrap_or_default()),
            // As PostgreSQL counts them.
            ("client_found_rows", "1"),
            // The loop does not resume a session.
            ("keep_cas", "1"),
        ];
        for (name, value) in own {
            if driver.setting(name).is_some() {
                settings.choose(name, value);
            }
        }
        settings
    }

    /// How long a client waits for a server connection.
    pub fn queue_wait(&self) -> Duration {
        Duration::from_secs_f64(self.queue_wait)
    }

    /// Returns true if another server may come in the place of one that is lost: there are several hosts, or the host has to
    /// be one of a certain role.
    pub fn may_fail_over(&self) -> bool {
        !self.is_one_of_several && (self.host.contains(',') || self.target_session_attrs != TargetSession::Any)
    }

    /// Which of the hosts will do. Where standbys are for what is read-only, the others are for the rest.
    pub fn wanted_session(&self) -> TargetSession {
        match self.target_session_attrs {
            TargetSession::Any if self.standby_reads => TargetSession::Primary,
            other => other,
        }
    }

    /// The hosts of which some may be standbys, by names that are stable, if transactions are executed there that are
    /// declared to be read-only.
    pub fn standby_names(&self) -> Vec<String> {
        match self.places() {
            Ok(places) if self.standby_reads => places.iter().map(|(host, port)| format!("{host}:{port}")).collect(),
            _ => Vec::new(),
        }
    }

    /// The settings of a pool of one of these.
    pub fn standby(&self, name: &str) -> Option<Self> {
        let place = self.standby_names().iter().position(|other| other == name)?;
        let mut standby = self.on_host(place)?;
        standby.target_session_attrs = TargetSession::Standby;
        Some(standby)
    }

    /// The settings of a connection to one of the hosts, whatever it is.
    pub fn on_host(&self, number: usize) -> Option<Self> {
        let (host, port) = self.places().ok()?.into_iter().nth(number)?;
        let mut one = self.clone();
        // What has colons itself is told apart from its port.
        one.host = match host.contains(':') {
            true if host.starts_with('/') => format!("{host}:{port}"),
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        one.port = port;
        one.target_session_attrs = TargetSession::Any;
        (one.standby_reads, one.is_one_of_several) = (false, true);
        Some(one)
    }

    /// How far a standby may be behind; `None` for any time.
    pub fn max_lag(&self) -> Option<Duration> {
        bound(self.max_lag)
    }

    /// How long opening a server connection may take.
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.connect_timeout)
    }

    /// How long a server connection that is opened now is used: up to a tenth shorter than the longest, so that connections
    /// that were opened together do not end together.
    pub fn one_lifetime(&self) -> Duration {
        Duration::from_secs_f64(self.lifetime() * Self::part_of_lifetime())
    }

    /// The part of the longest time for which one connection is used: at least nine tenths.
    pub fn part_of_lifetime() -> f64 {
        let mut random = [0; 4];
        let _ = getrandom::fill(&mut random);
        1.0 - f64::from(u32::from_be_bytes(random)) / f64::from(u32::MAX) / 10.0
    }

    /// Seconds that a server connection is used. Who has given a password is let in by sessions that it has opened: one that has been changed, or has
    /// expired, is to be found out.
    pub fn lifetime(&self) -> f64 {
        let by_default = if self.ask_password { PASSWORD_LIFETIME } else { LIFETIME };
        self.server_lifetime.unwrap_or(by_default.as_secs_f64())
    }

    /// How long an idle server connection is kept.
    pub fn server_idle(&self) -> Duration {
        Duration::from_secs_f64(self.server_idle)
    }

    /// How long a server connection may be unused before it is checked.
    pub fn check_after(&self) -> Duration {
        Duration::from_secs_f64(self.check_after)
    }
}

/// Returns true if a text is a number, of any size.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The addresses of a host that has a name or an address of the network.
///
/// # Errors
/// [`Fatal`]: it has none.
pub async fn addresses(host: &str, port: u16) -> Result<Vec<Address>, Fatal> {
    let found = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| unknown(host, format!("cannot be found: {error}")))?;
    let found: Vec<Address> = found.map(Address::Tcp).collect();
    if found.is_empty() { Err(unknown(host, "has no address")) } else { Ok(found) }
}

fn unknown(host: &str, what: impl std::fmt::Display) -> Fatal {
    Fatal::new(FatalKind::ConnectFailed, format!("the host {host:?} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_not_given_depend_on_others() {
        let read = |text: &str| DatabaseConfig::of_client(&format!("host = 'h'\n{text}")).expect("it is right");
        for (text, connections, lifetime) in [
            ("", 80, 3600.0),
            ("pool_size = 200", 200, 3600.0),
            ("users = { jo = { pool_size = 90 } }", 90, 3600.0),
            ("max_connections = 3\npool_size = 9\nserver_lifetime = 7", 3, 7.0),
            ("ask_password = true", 80, 60.0),
            ("ask_password = true\nserver_lifetime = 900", 80, 900.0),
        ] {
            let database = read(text);
            assert_eq!((database.most_connections(), database.lifetime()), (connections, lifetime), "{text}");
        }
    }

    #[test]
    fn limits_do_not_make_another_server() {
        let read = |text: &str| DatabaseConfig::of_client(&format!("host = 'h'\n{text}")).expect("it is right");
        for (text, expected) in [
            ("", true),
            ("pool_size = 3\nmax_connections = 4\nqueue_wait = 1\nserver_idle = 2\nquery_timeout = 3", true),
            ("[users.jo]\npool_size = 7", true),
            ("port = 5433", false),
            ("dbname = 'd'", false),
            ("sslmode = 'disable'", false),
            ("read_only = true", false),
        ] {
            assert_eq!(read("").differs_in_limits_only(&read(text)), expected, "{text}");
            assert_eq!(read(text).differs_in_limits_only(&read("")), expected, "{text}");
        }
    }

    #[test]
    fn timeouts_of_a_user_go_before_those_of_all() {
        let text = "host = 'h'\nquery_timeout = 7\nclient_idle_timeout = 9\n[users.jo]\nquery_timeout = 0.5\n\
                    transaction_timeout = 20\nclient_idle_timeout = 0";
        let database = DatabaseConfig::of_client(text).expect("it is right");
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        let all = Timeouts { query: seconds(7.0), client_idle: seconds(9.0), ..Timeouts::default() };
        assert_eq!(database.timeouts_of("anyone", None), all);
        let message = seconds(60.0);
        let of_jo = Timeouts { query: seconds(0.5), transaction: seconds(20.0), message, ..Timeouts::default() };
        assert_eq!(database.timeouts_of("jo", message), of_jo);
        for wrong in ["query_timeout = -1", "[users.jo]\nidle_transaction_timeout = nan"] {
            assert!(DatabaseConfig::of_client(&format!("host = 'h'\n{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_tried_in_turn_only_where_that_is_wanted() {
        let hosts: Vec<String> = (0..9).map(|host| format!("db{host}")).collect();
        let read = |text: &str| {
            DatabaseConfig::of_client(&format!("host = {:?}\n{text}", hosts.join(","))).expect("it is right")
        };
        let order = |database: &DatabaseConfig| {
            database
                .places_in_turn()
                .expect("it is right")
                .iter()
                .map(|(host, _)| (*host).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(order(&read("")), hosts);
        let random = read("load_balance_hosts = \"random\"");
        let orders: std::collections::HashSet<_> = (0..20).map(|_| order(&random)).collect();
        assert!(orders.len() > 1);
        for mut order in orders {
            order.sort();
            assert_eq!(order, hosts);
        }
    }

    #[test]
    fn hosts_may_have_ports_of_their_own() {
        for (host, expected) in [
            ("db", Ok(vec![("db", 5432)])),
            ("db:1, other", Ok(vec![("db", 1), ("other", 5432)])),
            ("[::1]:7,::1,/run/pg", Ok(vec![("::1", 7), ("::1", 5432), ("/run/pg", 5432)])),
            ("/run/pg:7,/run/p:g,/run/pg:7:8", Ok(vec![("/run/pg", 7), ("/run/p:g", 5432), ("/run/pg:7", 8)])),
            ("/run/pg:70000", Err("host: the port is not a number from 0 to 65535".to_owned())),
            ("db:x", Err("host: the port is not a number".to_owned())),
        ] {
            let database = DatabaseConfig::of_client(&format!("host = {host:?}"));
            match expected {
                Ok(expected) => {
                    let database = database.expect("it is right");
                    assert_eq!(database.places(), Ok(expected.clone()));
                    for (at, place) in expected.into_iter().enumerate() {
                        assert_eq!(database.on_host(at).expect("there is one").places(), Ok(vec![place]));
                    }
                }
                Err(expected) => assert_eq!(database.map(drop), Err(expected)),
            }
        }
    }
}
