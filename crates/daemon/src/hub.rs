//! What all clients share: the pools, and who may cancel what.

use crate::config::{Config, Database, Driver};
use crate::front::fronts::{self, Fronts};
use crate::lock;
use crate::postgres::pool::{self, Parameters, Pool};
use crate::postgres::server::{Cancel, is_settable};
use crate::replies::{Ended, NOT_ALLOWED, UNKNOWN_DATABASE};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The server connection that a client has at the moment. It stays locked while a CancelRequest is under way, so that
/// the connection cannot be lent to somebody else whose statement it would hit.
pub type Running = Arc<tokio::sync::Mutex<Option<Cancel>>>;

/// The daemon.
#[derive(Debug)]
pub struct Hub {
    config: Config,
    pools: Mutex<HashMap<(String, Parameters), Arc<Pool>>>,
    running: Mutex<HashMap<i32, (i32, Running)>>,
    numbers: AtomicI32,
    /// The databases that are not PostgreSQL's.
    pub fronts: Fronts,
    /// True once the daemon is about to end.
    pub draining: watch::Receiver<bool>,
}

/// What a StartupMessage asks for, by the kind of its database.
#[derive(Debug)]
pub enum Wanted {
    /// Server connections of PostgreSQL.
    Postgres(pool::Wanted),
    /// Sessions of another database.
    Front(fronts::Wanted),
}

impl Hub {
    /// A daemon without clients.
    pub fn new(config: Config, draining: watch::Receiver<bool>) -> Self {
        Self {
            config,
            pools: Mutex::default(),
            running: Mutex::default(),
            numbers: AtomicI32::new(1),
            fronts: Fronts::default(),
            draining,
        }
    }

    /// The pool for the parameters of a StartupMessage.
    ///
    /// # Errors
    /// [`Ended`]: there is no such database, or no user is named.
    pub fn wanted(&self, parameters: Vec<(String, String)>) -> Result<Wanted, Ended> {
        let mut given: BTreeMap<String, String> = parameters.into_iter().collect();
        let user = given.remove("user").unwrap_or_default();
        let name = given.remove("database").unwrap_or_else(|| user.clone());
        let Some(database) = self.config.databases.get(&name) else {
            let known: Vec<&str> = self.config.databases.keys().map(String::as_str).collect();
            let message = format!("headraced: database {name:?} is not configured; there are: {}", known.join(", "));
            return Err(Ended::new(UNKNOWN_DATABASE, message));
        };
        let user = database.user.clone().unwrap_or(user);
        if user.is_empty() {
            return Err(Ended::new(NOT_ALLOWED, "headraced: no user is given"));
        }
        if given.remove("replication").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "off" | "false" | "no"))
        {
            return Err(Ended::new(NOT_ALLOWED, "headraced: replication needs a connection to the server itself"));
        }
        if database.driver == Driver::Postgresql {
            return Ok(Wanted::Postgres(self.pooled(name, user, database, given)));
        }
        let wanted = self.fronts.wanted(name, &user, database, given.into_iter().collect());
        wanted
            .map(Wanted::Front)
            .ok_or_else(|| Ended::new(UNKNOWN_DATABASE, "headraced: no driver serves the database"))
    }

    fn pooled(&self, name: String, user: String, database: &Database, given: BTreeMap<String, String>) -> pool::Wanted {
        let (settings, rest): (Parameters, Parameters) = given.into_iter().partition(|(name, _)| is_settable(name));
        let dbname = database.dbname.clone().unwrap_or_else(|| name.clone());
        let mut startup = vec![("user".to_owned(), user), ("database".to_owned(), dbname)];
        startup.extend(rest);
        let key = (name, startup.clone());
        let mut pools = lock(&self.pools);
        let pool = pools.entry(key).or_insert_with(|| Arc::new(Pool::new(Arc::new(database.clone()), startup)));
        pool::Wanted { pool: Arc::clone(pool), settings }
    }

    /// A process id and a secret key for a client, and the place where its server connection is noted.
    pub fn enter(&self) -> (i32, i32, Running) {
        let running = Running::default();
        let mut secret = [0; 4];
        getrandom::fill(&mut secret).expect("the system has random numbers");
        let secret = i32::from_be_bytes(secret);
        let mut clients = lock(&self.running);
        loop {
            let process_id = self.numbers.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if process_id != 0 && !clients.contains_key(&process_id) {
                clients.insert(process_id, (secret, Arc::clone(&running)));
                return (process_id, secret, running);
            }
        }
    }

    /// The client has left.
    pub fn leave(&self, process_id: i32) {
        lock(&self.running).remove(&process_id);
    }

    /// Cancels what this client runs, if the key is right.
    pub async fn cancel(&self, process_id: i32, secret: i32) {
        self.fronts.cancel(process_id, secret);
        let found = lock(&self.running)
            .get(&process_id)
            .filter(|(key, _)| *key == secret)
            .map(|(_, running)| Arc::clone(running));
        if let Some(running) = found {
            let running = running.lock().await;
            if let Some(cancel) = &*running {
                // The client is told nothing of a failure: the protocol has no answer to a CancelRequest.
                let _ = cancel.send().await;
            }
        }
    }

    /// Closes server connections that nobody has used for a while.
    pub fn expire(&self) {
        self.fronts.expire();
        let pools: Vec<Arc<Pool>> = lock(&self.pools).values().cloned().collect();
        pools.iter().for_each(|pool| pool.expire());
    }
}
