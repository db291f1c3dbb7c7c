//! What all clients share: the configuration, the pools, and who is connected.

use crate::auth_query::Verifiers;
use crate::client::{Peer, Said, named};
use crate::config::{ANY_DATABASE, Config, Database, Driver};
use crate::console::totals::{Averages, totals};
use crate::front::fronts::{self, Fronts, Kind};
use crate::gate::Gates;
use crate::leaving::Left;
use crate::lifecycle::Options;
use crate::limits::LOGINS;
use crate::lock;
use crate::log;
use crate::orders::Reloading;
use crate::postgres::pool::{self, Key, Limit, Parameters, Pool};
use crate::postgres::relay::is_settable;
use crate::postgres::statements::Catalog;
use crate::registry::{Newcomer, Registry};
use crate::replies::{Ended, MALFORMED_SETTING, NOT_ALLOWED, TOO_LARGE, UNKNOWN_DATABASE};
use crate::scram::random;
use crate::secret::Secret;
use crate::stats::{Counter, Gauge, Shown};
use crate::takeover::newer::Predecessor;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// The startup parameter by which a client of the daemon's own user names a server that is not configured.
pub const TARGET: &str = "headrace.target";

/// The daemon.
#[derive(Debug)]
pub struct Hub {
    config: Mutex<Arc<Config>>,
    pools: Mutex<HashMap<Key, Arc<Pool>>>,
    /// Pools of databases that the configuration has changed, as long as they have clients.
    retired: Mutex<Vec<Retired<Arc<Pool>>>>,
    /// Those that a pool or a server connection needs.
    limits: Mutex<HashMap<String, Weak<Limit>>>,
    /// What operators have ordered.
    pub gates: Gates,
    /// How it was started.
    pub started: OnceLock<Options>,
    /// How the configuration is read again.
    pub reloading: Reloading,
    /// What is shown on the console of the last minute.
    pub averages: Averages,
    /// The databases that are not PostgreSQL's.
    pub fronts: Fronts,
    /// The clients that are connected.
    pub registry: Registry,
    /// Bytes of the messages that are kept until they are complete.
    pub memory: Gauge,
    /// Clients that were refused before they were connected.
    pub refused: Counter,
    /// What is said of clients in the log.
    pub said: Said,
    /// When the daemon was started.
    pub since: Instant,
    /// The passwords of clients that servers have been asked for.
    pub verifiers: Verifiers,
    /// Makes the salts of users that do not exist, always the same for the same name, and hashes that only this daemon can
    /// make.
    pub unknown_users: [u8; 32],
    /// Places for clients of TCP that are logging in.
    pub logins: Arc<Semaphore>,
    /// The threads for bulk traffic.
    pub bulk: Handle,
    /// Whether clients have to leave.
    pub left: Left,
    predecessor: OnceLock<Arc<Predecessor>>,
}

/// What a StartupMessage asks for, by the kind of its database.
#[derive(Debug)]
pub enum Wanted {
    /// Server connections of PostgreSQL.
    Postgres(pool::Wanted),
    /// Sessions of another database.
    Front(fronts::Wanted),
}

/// What a client has said of itself.
#[derive(Debug)]
pub struct Asked {
    /// The name of the database's settings, or a hash of what the client has named as its server.
    pub name: String,
    /// The name of the database on the server.
    dbname: String,
    /// The settings of the database.
    pub database: Database,
    of_client: bool,
    user: String,
    given: BTreeMap<String, String>,
}

impl Asked {
    /// What is known of the client.
    pub fn newcomer(&self, peer: &Peer, tls: bool) -> Newcomer {
        let application = self.given.get("application_name").cloned().unwrap_or_default();
        let database = self.dbname.clone();
        let address = peer.address.map(|address| address.to_string());
        let name = (!self.of_client).then(|| self.name.clone());
        Newcomer { peer: peer.process, address, tls, name, database, user: self.user.clone(), application }
    }
}

impl Hub {
    /// A daemon without clients.
    pub fn new(config: Config, bulk: Handle, left: Left) -> Self {
        Self {
            config: Mutex::new(Arc::new(config)),
            pools: Mutex::default(),
            retired: Mutex::default(),
            limits: Mutex::default(),
            gates: Gates::default(),
            started: OnceLock::new(),
            reloading: Reloading::default(),
            averages: Averages::default(),
            fronts: Fronts::default(),
            registry: Registry::default(),
            memory: Gauge::default(),
            refused: Counter::default(),
            said: Said::default(),
            since: Instant::now(),
            verifiers: Verifiers::default(),
            unknown_users: random(),
            logins: Arc::new(Semaphore::new(LOGINS)),
            bulk,
            left,
            predecessor: OnceLock::new(),
        }
    }

    /// The configuration.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.config))
    }

    /// Another configuration. Pools of databases that have changed lend no more connections to new clients; clients
    /// that are connected keep theirs.
    pub fn reload(&self, config: Config) {
        log::set_level(config.daemon.log_level);
        let config = Arc::new(config);
        let before = std::mem::replace(&mut *lock(&self.config), Arc::clone(&config));
        self.reload_limits(&before, &config);
        self.fronts.reload(&config);
        self.verifiers.clear();
        let mut retired = Vec::new();
        lock(&self.pools).retain(|key, pool| {
            let stays = key.of_client || config.databases.get(&key.name).is_some_and(|now| *now == *pool.database);
            if !stays {
                retired.push(Arc::clone(pool));
            }
            stays
        });
        let mut before = lock(&self.retired);
        for pool in retired {
            pool.retire();
            let label = pool.shown().label;
            Retired::keep(&mut before, pool, &label);
        }
    }

    /// What is open on a server counts as before, as long as it is the same server.
    fn reload_limits(&self, before: &Config, now: &Config) {
        let mut limits = lock(&self.limits);
        for (name, was) in &before.databases {
            match now.databases.get(name) {
                Some(now) if (&now.host, now.port) == (&was.host, was.port) => {
                    if let Some(limit) = limits.get(name).and_then(Weak::upgrade) {
                        limit.set_most(now.most_connections());
                    }
                }
                _ => drop(limits.remove(name)),
            }
        }
    }

    /// What the parameters of a StartupMessage ask for. `own` is true for a client of the daemon's own user.
    ///
    /// # Errors
    /// [`Ended`]: there is no such database, or no user is named.
    pub fn asked(&self, parameters: Vec<(String, String)>, own: bool) -> Result<Asked, Ended> {
        let mut given: BTreeMap<String, String> = parameters.into_iter().collect();
        let user = given.remove("user").unwrap_or_default();
        let name = given.remove("database").unwrap_or_else(|| user.clone());
        let dbname = name.clone();
        let (name, database, of_client) = match given.remove(TARGET).map(Zeroizing::new) {
            Some(_) if !own => {
                return Err(Ended::new(NOT_ALLOWED, "headraced: only the daemon's own user may name a server"));
            }
            Some(text) => {
                let mut database = Database::of_client(&text)
                    .map_err(|what| Ended::new(MALFORMED_SETTING, format!("headraced: {TARGET}: {what}")))?;
                database.dbname.get_or_insert(name);
                (self.hash(&text), database, true)
            }
            None => self.configured(name).map(|(name, database)| (name, database, false))?,
        };
        let dbname = database.dbname.clone().unwrap_or(dbname);
        let user = database.user.clone().unwrap_or(user);
        if user.is_empty() {
            return Err(Ended::new(NOT_ALLOWED, "headraced: no user is given"));
        }
        if given.remove("replication").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "off" | "false" | "no"))
        {
            return Err(Ended::new(NOT_ALLOWED, "headraced: replication needs a connection to the server itself"));
        }
        Ok(Asked { name, dbname, database, of_client, user, given })
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
    /// proved to the system who it is, and to nobody that it is `postgres`.
    ///
    /// # Errors
    /// [`Ended`]: it may not.
    pub fn check_local_user(&self, number: Option<u32>, asked: &Asked) -> Result<(), Ended> {
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

    /// What stands for a text in which a password may be, as long as this daemon runs.
    fn hash(&self, text: &str) -> String {
        BASE64_STANDARD.encode(Sha256::new().chain_update(self.unknown_users).chain_update(text).finalize())
    }

    fn configured(&self, name: String) -> Result<(String, Database), Ended> {
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

    /// What serves a client, with the password that it was asked for.
    pub fn wanted(&self, asked: Asked, password: Option<Secret>) -> Wanted {
        let kind = match asked.database.driver {
            Driver::Postgresql => return Wanted::Postgres(self.pooled(asked, password)),
            Driver::Mysql => Kind::MySql,
            Driver::Informix => Kind::Informix,
            Driver::Cubrid => Kind::Cubrid,
        };
        let Asked { name, dbname, database, of_client, user, given } = asked;
        let startup = vec![("user".to_owned(), user), ("database".to_owned(), dbname)];
        let key = Key { of_client, name, startup, password };
        let gate = self.gates.of(&key.name);
        Wanted::Front(self.fronts.wanted(kind, key, database, given.into_iter().collect(), gate))
    }

    fn pooled(&self, asked: Asked, password: Option<Secret>) -> pool::Wanted {
        let Asked { name, dbname, database, of_client, user, given } = asked;
        let (settings, rest): (Parameters, Parameters) = given.into_iter().partition(|(name, _)| is_settable(name));
        let mut startup = vec![("user".to_owned(), user), ("database".to_owned(), dbname)];
        startup.extend(rest);
        let pool = self.pool(Key { name, of_client, startup, password }, &Arc::new(database));
        pool::Wanted { pool, settings }
    }

    /// The pool of this key, which is made if there is none.
    pub fn pool(&self, key: Key, database: &Arc<Database>) -> Arc<Pool> {
        let mut pools = lock(&self.pools);
        if let Some(pool) = pools.get(&key) {
            return Arc::clone(pool);
        }
        let label = key.label(database, &pools.values().map(|pool| pool.shown().label).collect());
        let (limit, gate) = (self.limit(&key.name, database), self.gates.of(&key.name));
        let pool = Arc::new(Pool::new(Arc::clone(database), &key, label, limit, gate));
        pools.insert(key, Arc::clone(&pool));
        pool
    }

    /// Whether the messages of all clients fit into what they may take.
    ///
    /// # Errors
    /// [`Ended`]: they need more than `memory_mb` allows.
    pub fn check_memory(&self) -> Result<(), Ended> {
        let most = self.config().daemon.memory_mb.saturating_mul(1 << 20);
        if self.memory.value() > most as i64 {
            let what = "headraced: the messages of all clients need more memory than memory_mb allows";
            return Err(Ended::new(TOO_LARGE, what));
        }
        Ok(())
    }

    /// The limit of all pools of this name.
    fn limit(&self, name: &str, database: &Database) -> Arc<Limit> {
        let mut limits = lock(&self.limits);
        if let Some(limit) = limits.get(name).and_then(Weak::upgrade) {
            return limit;
        }
        let limit = Arc::new(Limit::new(database.most_connections()));
        limits.insert(name.to_owned(), Arc::downgrade(&limit));
        limit
    }

    /// The daemon from which this one has taken over, if it still has clients.
    pub fn predecessor(&self) -> Option<&Arc<Predecessor>> {
        self.predecessor.get().filter(|predecessor| !predecessor.is_gone())
    }

    /// This daemon has taken over.
    pub fn set_predecessor(&self, predecessor: Arc<Predecessor>) {
        let _ = self.predecessor.set(predecessor);
    }

    /// Cancels what this client runs, if the key is right. It may be a client of the daemon from which this one has taken
    /// over.
    pub async fn cancel(&self, process_id: i32, secret: i32) {
        let Some(client) = self.registry.cancelled_by(process_id, secret) else {
            if let Some(predecessor) = self.predecessor() {
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
        let mut shown: Vec<Shown> = lock(&self.pools).values().map(|pool| pool.shown()).collect();
        shown.extend(lock(&self.retired).iter().map(|retired| retired.shown(|pool| pool.shown())));
        shown.extend(self.fronts.shown());
        shown.sort_by(|one, other| one.label.cmp(&other.label));
        shown
    }

    /// The pools of PostgreSQL's databases, with what is shown of each.
    pub fn catalogs(&self) -> Vec<(Shown, Arc<Catalog>)> {
        let pools: Vec<Arc<Pool>> = lock(&self.pools).values().cloned().collect();
        pools.iter().map(|pool| (pool.shown(), Arc::clone(&pool.catalog))).collect()
    }

    /// Closes server connections that nobody uses any more.
    pub fn expire_connections(&self) {
        let mut pools: Vec<Arc<Pool>> = lock(&self.pools).values().cloned().collect();
        pools.extend(lock(&self.retired).iter().map(|retired| retired.pool.clone()));
        pools.iter().for_each(|pool| pool.expire());
        self.fronts.expire_sessions();
    }

    /// Closes server connections that nobody has used for a while, and forgets pools that nobody needs: those of clients
    /// that have named a server, or given a password or startup parameters that are not used any more, and those whose
    /// server has let nobody in. A client can make any number of them.
    pub fn expire(&self) {
        self.averages.note(Instant::now(), || totals(self));
        self.fronts.expire();
        let config = self.config();
        self.verifiers.expire(|name| config.databases.get(name).map(Database::server_idle));
        let pools: Vec<Arc<Pool>> = lock(&self.pools).values().cloned().collect();
        pools.iter().for_each(|pool| pool.expire());
        drop(pools);
        let forgotten: Vec<_> =
            lock(&self.retired).extract_if(.., |retired| Arc::strong_count(&retired.pool) == 1).collect();
        drop(forgotten);
        let retired = lock(&self.retired).clone();
        retired.iter().for_each(|retired| retired.pool.expire());
        lock(&self.pools).retain(|key, pool| {
            let is_plain = !key.of_client && key.password.is_none() && key.startup.len() == 2;
            let needed = is_plain && pool.stats.opened.value() > 0;
            needed || Arc::strong_count(pool) > 1 || pool.stats.open.value() > 0
        });
        lock(&self.limits).retain(|_, limit| limit.strong_count() > 0);
        self.gates.expire();
    }
}

/// A pool from before the configuration was changed, whose name is that of another one now.
#[derive(Clone, Debug)]
pub struct Retired<P> {
    /// The pool.
    pub pool: P,
    /// Its name from now on: the same in each report, whichever others come and go.
    label: String,
}

impl<P> Retired<P> {
    /// Adds a pool to those that were retired before.
    pub fn keep(all: &mut Vec<Self>, pool: P, label: &str) {
        let mut numbered = (1_usize..).map(|n| format!("{label} (before a change, {n})"));
        let free = numbered.find(|label| all.iter().all(|other| other.label != *label));
        all.push(Self { pool, label: free.expect("there are fewer pools than numbers") });
    }

    /// What is shown of it.
    pub fn shown(&self, shown: impl FnOnce(&P) -> Shown) -> Shown {
        Shown { label: self.label.clone(), ..shown(&self.pool) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaving::Leaving;
    use tokio::sync::watch;

    #[test]
    fn retired_pool_keeps_its_name_when_another_one_goes() {
        let mut all = Vec::new();
        for (pool, label) in [(1, "a"), (2, "a"), (3, "b")] {
            Retired::keep(&mut all, pool, label);
        }
        all.remove(0);
        Retired::keep(&mut all, 4, "a");
        let labels: Vec<_> = all.iter().map(|retired| (retired.pool, retired.label.as_str())).collect();
        let (one, two) = ("a (before a change, 1)", "a (before a change, 2)");
        assert_eq!(labels, [(2, two), (3, "b (before a change, 1)"), (4, one)]);
    }

    #[tokio::test]
    async fn server_that_a_client_has_named_is_forgotten_with_its_pool() {
        let hub = Hub::new(Config::default(), Handle::current(), watch::channel(Leaving::Nobody).1);
        let asked = |target: &str| {
            let given = [("user", "jo"), (TARGET, target)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            hub.asked(given.into(), true).unwrap()
        };
        let first = asked("host = 'h'\npassword = 'hunter2'");
        assert!(!first.name.contains("hunter2"));
        assert_eq!(first.name, asked("host = 'h'\npassword = 'hunter2'").name);
        assert_ne!(first.name, asked("host = 'h'\npassword = 'hunter3'").name);
        let wanted = hub.wanted(first, None);
        hub.expire();
        assert_eq!((lock(&hub.pools).len(), lock(&hub.limits).len()), (1, 1), "it is needed");
        drop(wanted);
        hub.expire();
        assert_eq!((lock(&hub.pools).len(), lock(&hub.limits).len()), (0, 0));
    }
}
