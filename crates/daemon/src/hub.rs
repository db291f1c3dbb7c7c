//! What all clients share: the configuration, the pools, and who is connected.

use crate::auth_query::Verifiers;
use crate::chain::Chain;
use crate::client::{ClientLog, Peer, named};
use crate::config::{ANY_DATABASE, Config, DatabaseConfig};
use crate::console::totals::{Averages, totals};
use crate::front::front_registry::{FrontRegistry, Service};
use crate::gate::Gates;
use crate::leaving::LeavingReceiver;
use crate::lifecycle::DaemonOptions;
use crate::limits::LOGINS;
use crate::lock;
use crate::log;
use crate::orders::Reloading;
use crate::pool::registry::{AnyPools, PoolRegistry};
use crate::pool::{Key, Parameters, ServerConnection};
use crate::postgres::counted;
use crate::postgres::pool::{self, Pool};
use crate::postgres::relay::is_settable;
use crate::postgres::server::Server;
use crate::postgres::standbys::AllStandbys;
use crate::postgres::statements::Catalog;
use crate::registry::{ClientInfo, Registry};
use crate::replies::{Ended, MALFORMED_SETTING, NOT_ALLOWED, TOO_LARGE, UNKNOWN_DATABASE};
use crate::scram::{Fingerprint, random};
use crate::secret::Secret;
use crate::stats::{Counter, Gauge, Shown};
use crate::timeouts::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// The startup parameter by which a client of the daemon's own user names a server that is not configured.
pub const TARGET: &str = "headrace.target";

/// The setting with which the clients of an entry begin that is for what is read-only.
const READ_ONLY: &str = "default_transaction_read_only";

/// The daemon.
#[derive(Debug)]
pub struct Hub {
    config: Mutex<Arc<Config>>,
    changes: Counter,
    /// The pools of PostgreSQL's databases.
    pub postgres: PoolRegistry<Server>,
    /// Those of the others.
    pub fronts: FrontRegistry,
    /// What operators have ordered.
    pub gates: Gates,
    /// How it was started.
    pub started: OnceLock<DaemonOptions>,
    /// How the configuration is read again.
    pub reloading: Reloading,
    /// What is shown on the console of the last minute.
    pub averages: Averages,
    /// The standbys of databases whose clients read there.
    pub standbys: AllStandbys,
    /// The clients that are connected.
    pub registry: Registry,
    /// Bytes of the messages that are kept until they are complete, and of the statements of clients of databases other than
    /// PostgreSQL.
    pub memory: Gauge,
    /// The most that these and the prepared statements of PostgreSQL's clients may take.
    most_memory: AtomicI64,
    /// Clients that were refused before they were connected.
    pub refused: Counter,
    /// The lines of the log about clients.
    pub client_log: ClientLog,
    /// When the daemon was started.
    pub since: Instant,
    /// The passwords of clients that servers have been asked for.
    pub verifiers: Verifiers,
    /// Makes the salts of users that do not exist, always the same for the same name.
    pub unknown_users: [u8; 32],
    /// Places for clients of TCP that are logging in.
    pub logins: Arc<Semaphore>,
    /// The threads for bulk traffic.
    pub bulk: Handle,
    /// Whether clients have to leave.
    pub left: LeavingReceiver,
    /// The daemons before and after this one.
    pub chain: Chain,
}

/// What a StartupMessage asks for, by the kind of its database.
#[derive(Debug)]
pub enum Lending {
    /// Server connections of PostgreSQL.
    Postgres(pool::PoolRequest),
    /// Sessions of another database.
    Front(Box<dyn Service>),
}

/// What a client has sent about itself.
#[derive(Debug)]
pub struct ConnectRequest {
    /// The name of the database's settings, or a hash of what the client has named as its server.
    pub name: String,
    /// The name of the database on the server.
    dbname: String,
    /// The settings of the database.
    pub database: DatabaseConfig,
    of_client: bool,
    user: String,
    given: BTreeMap<String, String>,
}

impl ConnectRequest {
    /// What is known of the client.
    pub fn client_info(&self, peer: &Peer, tls: bool) -> ClientInfo {
        let application = self.given.get("application_name").cloned().unwrap_or_default();
        let database = self.dbname.clone();
        let address = peer.address.map(|address| address.to_string());
        let name = (!self.of_client).then(|| self.name.clone());
        ClientInfo { peer: peer.process, address, tls, name, database, user: self.user.clone(), application }
    }
}

impl Hub {
    /// A daemon without clients.
    pub fn new(config: Config, bulk: Handle, left: LeavingReceiver) -> Self {
        let most_memory = config.daemon.most_memory();
        Self {
            config: Mutex::new(Arc::new(config)),
            changes: Counter::default(),
            postgres: PoolRegistry::default(),
            fronts: FrontRegistry::default(),
            gates: Gates::default(),
            started: OnceLock::new(),
            reloading: Reloading::default(),
            averages: Averages::default(),
            standbys: AllStandbys::default(),
            registry: Registry::default(),
            memory: Gauge::default(),
            most_memory: AtomicI64::new(most_memory),
            refused: Counter::default(),
            client_log: ClientLog::default(),
            since: Instant::now(),
            verifiers: Verifiers::default(),
            unknown_users: random(),
            logins: Arc::new(Semaphore::new(LOGINS)),
            bulk,
            left,
            chain: Chain::default(),
        }
    }

    /// The configuration.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.config))
    }

    /// Another configuration, which pools and clients follow as far as they can.
    pub fn reload(&self, mut config: Config) {
        log::set_level(config.daemon.log_level);
        let known = self.config();
        for (name, account) in &mut config.clients {
            if let Some(before) = known.clients.get(name) {
                account.keep_salt(before);
            }
        }
        self.most_memory.store(config.daemon.most_memory(), Ordering::Relaxed);
        let config = Arc::new(config);
        let before = std::mem::replace(&mut *lock(&self.config), Arc::clone(&config));
        self.pools().for_each(|pools| pools.reload(&before, &config));
        self.standbys.reload(&config);
        self.changes.add(1);
        self.verifiers.clear();
    }

    /// Returns true if the bounds of a client are those of an earlier configuration.
    pub fn is_outdated(&self, clock: &Clock) -> bool {
        clock.changes() != self.changes.value()
    }

    /// How long a client of a pool may take, which does nothing now.
    pub fn clock<S: ServerConnection>(&self, pool: &crate::pool::Pool<S>) -> Clock {
        // Counted before they are read: rather once too often they are read again.
        let changes = self.changes.value();
        Clock::new(pool.timeouts(self.config().daemon.message_timeout()), changes, Instant::now())
    }

    /// The pools of each kind of database.
    fn pools(&self) -> impl Iterator<Item = &dyn AnyPools> {
        std::iter::once(&self.postgres as &dyn AnyPools).chain(self.fronts.pools())
    }

    /// What the parameters of a StartupMessage ask for. `own` is true for a client of the daemon's own user.
    ///
    /// # Errors
    /// [`Ended`]: there is no such database, or no user is named.
    pub fn connect_request(&self, parameters: Vec<(String, String)>, own: bool) -> Result<ConnectRequest, Ended> {
        let mut given: BTreeMap<String, String> = parameters.into_iter().collect();
        let user = given.remove("user").unwrap_or_default();
        let name = given.remove("database").unwrap_or_else(|| user.clone());
        let dbname = name.clone();
        let (name, database, of_client) = match given.remove(TARGET).map(Zeroizing::new) {
            Some(_) if !own => {
                return Err(Ended::new(NOT_ALLOWED, "headraced: only the daemon's own user may name a server"));
            }
            Some(text) => {
                let mut database = DatabaseConfig::of_client(&text)
                    .map_err(|what| Ended::new(MALFORMED_SETTING, format!("headraced: {TARGET}: {what}")))?;
                database.dbname.get_or_insert(name);
                (Fingerprint::of(&text).to_string(), database, true)
            }
            None => self.configured(name).map(|(name, database)| (name, database, false))?,
        };
        let dbname = database.dbname.clone().unwrap_or(dbname);
        let user = database.user.clone().unwrap_or(user);
        if user.is_empty() {
            return Err(Ended::new(NOT_ALLOWED, "headraced: the startup message names no user"));
        }
        if given.remove("replication").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "off" | "false" | "no"))
        {
            return Err(Ended::new(NOT_ALLOWED, "headraced: replication needs a connection to the server itself"));
        }
        Ok(ConnectRequest { name, dbname, database, of_client, user, given })
    }

    /// Whether a user of the system may use the database that a client of it names. It is checked first: who may not is
    /// not told which databases there are.
    ///
    /// # Errors
    /// [`Ended`]: it may not.
    pub fn check_local_database(&self, number: Option<u32>, parameters: &[(String, String)]) -> Result<(), Ended> {
        let (_, database) = named(parameters);
        let config = self.config();
        // It was allowed when it connected; the configuration may have been read again since.
        let user = number.and_then(|number| config.users_by_number.get(&number));
        if user.is_some_and(|user| user.may_use(&database)) {
            return Ok(());
        }
        let what = format!("headraced: this user of the system may not use database {database:?} ([local_users])");
        Err(Ended::new(NOT_ALLOWED, what))
    }

    /// Whether a user of the system may be the database user that a client of it names: who comes from the Unix socket has
    /// proved to the system who it is, but not that it is `postgres`.
    ///
    /// # Errors
    /// [`Ended`]: it may not.
    pub fn check_local_user(&self, number: Option<u32>, asked: &ConnectRequest) -> Result<(), Ended> {
        if asked.database.user.is_some() { Ok(()) } else { self.check_local_name(number, &asked.user) }
    }

    /// The same of a name alone.
    ///
    /// # Errors
    /// [`Ended`]: it may not.
    pub fn check_local_name(&self, number: Option<u32>, name: &str) -> Result<(), Ended> {
        let config = self.config();
        let user = number.and_then(|number| config.users_by_number.get(&number));
        if user.is_some_and(|user| user.may_be(name)) {
            return Ok(());
        }
        let what = format!("headraced: this user of the system may not be {name:?} ([local_users], names)");
        Err(Ended::new(NOT_ALLOWED, what))
    }

    fn configured(&self, name: String) -> Result<(String, DatabaseConfig), Ended> {
        let config = self.config();
        if let Some(database) = config.databases.get(&name) {
            return Ok((name, database.clone()));
        }
        let Some(database) = config.databases.get(ANY_DATABASE) else {
            let known: Vec<&str> = config.databases.keys().map(String::as_str).collect();
            let message = format!("headraced: database {name:?} is not configured; there are: {}", known.join(", "));
            return Err(Ended::new(UNKNOWN_DATABASE, message));
        };
        Ok((ANY_DATABASE.to_owned(), database.clone()))
    }

    /// What serves a client, with the password that it was asked for. What it has asked for takes no memory after that.
    pub fn lending(&self, asked: Box<ConnectRequest>, password: Option<Secret>) -> Lending {
        if asked.database.driver.is_postgres() {
            return Lending::Postgres(self.pooled(*asked, password));
        }
        let ConnectRequest { name, dbname, database, of_client, user, given } = *asked;
        let startup = vec![("user".to_owned(), user), ("database".to_owned(), dbname)];
        let key = Key { of_client, name, startup, password, standby: None };
        let service = self.fronts.service(key, database, given.into_iter().collect(), &self.gates);
        Lending::Front(service.expect("the configuration has no other databases"))
    }

    fn pooled(&self, asked: ConnectRequest, password: Option<Secret>) -> pool::PoolRequest {
        let ConnectRequest { name, dbname, database, of_client, user, given } = asked;
        let (mut settings, rest): (Parameters, Parameters) = given.into_iter().partition(|(name, _)| is_settable(name));
        if database.read_only && !settings.iter().any(|(name, _)| name.eq_ignore_ascii_case(READ_ONLY)) {
            settings.push((READ_ONLY.to_owned(), "on".to_owned()));
        }
        let mut startup = vec![("user".to_owned(), user), ("database".to_owned(), dbname)];
        startup.extend(rest);
        let pool = self.pool(Key { name, of_client, startup, password, standby: None }, &Arc::new(database));
        pool::PoolRequest { pool, settings }
    }

    /// The pool of PostgreSQL's sessions of this key, which is made if there is none.
    pub fn pool(&self, key: Key, database: &Arc<DatabaseConfig>) -> Arc<Pool> {
        self.postgres.pool(key, database, &self.gates)
    }

    /// Bytes that messages and prepared statements of all clients take.
    pub fn memory(&self) -> i64 {
        self.memory.value() + counted::bytes()
    }

    fn is_memory_full(&self) -> bool {
        self.memory() > self.most_memory.load(Ordering::Relaxed)
    }

    /// Whether the messages and prepared statements of all clients fit into what they may take.
    ///
    /// # Errors
    /// [`Ended`]: they need more than `memory_mb` allows.
    pub fn check_memory(&self) -> Result<(), Ended> {
        if self.is_memory_full() {
            // Statements that no client has any more are kept only while there is room.
            self.postgres.all().iter().for_each(|pool| pool.state.catalog.clean());
        }
        if self.is_memory_full() {
            let what =
                "headraced: messages and prepared statements of all clients need more memory than memory_mb allows";
            return Err(Ended::new(TOO_LARGE, what));
        }
        Ok(())
    }

    /// Cancels what this client runs, if the key is right. It may be a client of the daemon from which this one has taken
    /// over.
    pub async fn cancel(&self, process_id: i32, secret: i32) {
        let Some(client) = self.registry.cancelled_by(process_id, secret) else {
            if let Some(predecessor) = self.chain.predecessor() {
                predecessor.cancel(process_id, secret).await;
            }
            return;
        };
        // Locked for both: a request that is noted as well as sent would be sent twice, the second time to what comes next.
        let running = client.running.lock().await;
        match &*running {
            None => client.interrupt.notify_one(),
            // The client does not learn of a failure: the protocol has no answer to a CancelRequest.
            Some(cancel) => drop(cancel.send().await),
        }
    }

    /// What is shown of the pools of all databases.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = self.pools().flat_map(AnyPools::shown).collect();
        shown.sort_by(|one, other| one.label.cmp(&other.label));
        shown
    }

    /// The pools of PostgreSQL's databases, with what is shown of each.
    pub fn catalogs(&self) -> Vec<(Shown, Arc<Catalog>)> {
        self.postgres.all().iter().map(|pool| (pool.shown(), Arc::clone(&pool.state.catalog))).collect()
    }

    /// Closes server connections that are not used any more.
    pub fn expire_connections(&self) {
        self.pools().for_each(AnyPools::expire_connections);
    }

    /// Closes server connections that were not used for a while, and forgets pools that are not needed.
    pub fn expire(&self) {
        self.averages.note(Instant::now(), || totals(self));
        self.standbys.expire();
        self.pools().for_each(AnyPools::expire);
        let config = self.config();
        self.verifiers.expire(|name| config.databases.get(name).map(DatabaseConfig::server_idle));
        self.gates.expire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaving::Leaving;
    use tokio::sync::watch;

    #[tokio::test]
    async fn server_that_a_client_has_named_is_forgotten_with_its_pool() {
        let hub = Hub::new(Config::default(), Handle::current(), watch::channel(Leaving::Nobody).1);
        let asked = |target: &str| {
            let given = [("user", "jo"), (TARGET, target)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            hub.connect_request(given.into(), true).unwrap()
        };
        let first = asked("host = 'h'\npassword = 'hunter2'");
        assert!(!first.name.contains("hunter2"));
        assert_eq!(first.name, asked("host = 'h'\npassword = 'hunter2'").name);
        assert_ne!(first.name, asked("host = 'h'\npassword = 'hunter3'").name);
        let wanted = hub.lending(Box::new(first), None);
        hub.expire();
        assert_eq!(hub.postgres.counts(), (1, 1), "it is needed");
        drop(wanted);
        hub.expire();
        assert_eq!(hub.postgres.counts(), (0, 0));
    }
}
