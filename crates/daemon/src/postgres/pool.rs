//! Server connections of one server, database, user and set of startup parameters.

use super::limit::{Granted, Idle, Place};
use super::server::{NotOpened, Server};
use super::statements::Catalog;
use super::welcomes::{Settings, Welcomes};
use crate::config::{Database, PoolMode};
use crate::gate::{Gate, Passed};
use crate::lock;
use crate::secret::Secret;
use crate::stats::{Shown, Stats};
use crate::timeouts::Timeouts;
use crate::traffic::TrafficClass;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub use super::limit::Limit;

/// The startup parameters that a pool's server connections are opened with: what distinguishes pools.
pub type Parameters = Vec<(String, String)>;

/// What distinguishes pools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The name of the database, or a hash of what the client has named as its server.
    pub name: String,
    /// A client has named the server.
    pub of_client: bool,
    /// The startup parameters.
    pub startup: Parameters,
    /// The password that the client was asked for: who has another shares nothing.
    pub password: Option<Secret>,
}

impl Key {
    /// A startup parameter; empty if there is none of this name.
    pub fn of(&self, name: &str) -> &str {
        self.startup.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The user and the name of the database, or the server that the client has named, for people. Pools that differ in
    /// something else are numbered.
    pub fn label(&self, database: &Database, taken: &HashSet<String>) -> String {
        let label = format!("{}@{}", self.of("user"), self.database(database));
        if !taken.contains(&label) {
            return label;
        }
        let mut numbered = (2_usize..).map(|n| format!("{label} ({n})"));
        numbered.find(|label| !taken.contains(label)).expect("there are fewer pools than numbers")
    }

    /// The name of the database, or the server that the client has named, for people.
    pub fn database(&self, database: &Database) -> String {
        if !self.of_client {
            return self.name.clone();
        }
        let places = database.places().unwrap_or_default();
        let places: Vec<String> = places.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        format!("{}/{}", places.join(","), self.of("database"))
    }

    /// The startup parameters other than the user and the database.
    pub fn others(&self) -> BTreeMap<String, String> {
        self.startup.iter().filter(|(name, _)| !matches!(name.as_str(), "user" | "database")).cloned().collect()
    }
}

/// A pool.
#[derive(Debug)]
pub struct Pool {
    /// Where to connect.
    pub database: Arc<Database>,
    /// The prepared statements of its clients.
    pub catalog: Arc<Catalog>,
    /// Its counters.
    pub stats: Arc<Stats>,
    /// When its connections go back.
    pub mode: PoolMode,
    /// The number of its connections.
    pub size: usize,
    label: String,
    key: Key,
    /// The connections that nobody uses, and who waits.
    idle: Arc<Idle>,
    permits: Arc<Semaphore>,
    limit: Arc<Limit>,
    gate: Arc<Gate>,
    /// What its clients are welcomed with.
    pub welcomes: Welcomes,
}

/// What a client asks for.
#[derive(Debug)]
pub struct Wanted {
    /// The pool of its server connections.
    pub pool: Arc<Pool>,
    /// Settings that the server reports: they are the client's own, not the pool's.
    pub settings: Parameters,
}

/// A server connection that is lent.
#[derive(Debug)]
pub struct Lent {
    /// The connection.
    pub server: Server,
    since: Instant,
    _permit: OwnedSemaphorePermit,
}

/// Why no server connection is lent.
#[derive(Debug)]
pub enum NotLent {
    /// As many clients wait as may.
    QueueFull,
    /// None came back in time.
    QueueTimeout,
    /// A new one cannot be opened.
    Failed(NotOpened),
}

impl Pool {
    /// An empty pool.
    pub fn new(database: Arc<Database>, key: &Key, label: String, limit: Arc<Limit>, gate: Arc<Gate>) -> Self {
        let user = key.of("user");
        let size = database.size_of(user);
        let idle = Arc::default();
        limit.add(&idle);
        Self {
            catalog: Arc::new(Catalog::default()),
            stats: Arc::default(),
            mode: database.mode_of(user),
            size,
            label,
            key: key.clone(),
            permits: Arc::new(Semaphore::new(size)),
            idle,
            limit,
            gate,
            welcomes: Welcomes::default(),
            database,
        }
    }

    /// Lends a connection: the last used one, or a new one. The caller is on the threads of this class of traffic.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self, class: TrafficClass) -> Result<Lent, NotLent> {
        let began = Instant::now();
        let lent = self.lend_since(began, class).await;
        self.stats.note_lending(began, &lent);
        lent
    }

    /// How long the database is paused does not count for how long a client waits.
    async fn lend_since(&self, mut began: Instant, class: TrafficClass) -> Result<Lent, NotLent> {
        let arrival = self.limit.arrive();
        let mut waiting = None;
        loop {
            if self.gate.is_paused() {
                if waiting.is_none() {
                    waiting = Some(self.wait(arrival)?);
                }
                self.gate.opened().await;
                began = Instant::now();
            }
            match self.lend_unless_paused(began, arrival, &mut waiting, class).await {
                Ok(Some(lent)) if self.gate.is_paused() => self.take_back(lent),
                Ok(Some(lent)) => return Ok(lent),
                Err(reason @ NotLent::QueueFull) => return Err(reason),
                Err(reason) if !self.gate.is_paused() => return Err(reason),
                Ok(None) | Err(_) => {}
            }
        }
    }

    /// Lends a connection; `None` if the database is paused before there is one.
    async fn lend_unless_paused<'a>(
        &'a self,
        began: Instant,
        arrival: u64,
        waiting: &mut Option<Waiting<'a>>,
        class: TrafficClass,
    ) -> Result<Option<Lent>, NotLent> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if waiting.is_none() {
                    *waiting = Some(self.wait(arrival)?);
                }
                self.queue(self.database.queue_wait().saturating_sub(began.elapsed())).await?
            }
        };
        let lent = |server| Lent { server, since: Instant::now(), _permit: permit };
        let place = loop {
            if self.gate.is_paused() {
                return Ok(None);
            }
            if let Some(server) = self.usable(class).await {
                return Ok(Some(lent(server)));
            }
            if let Some(place) = self.limit.try_enter() {
                break place;
            }
            if waiting.is_none() {
                *waiting = Some(self.wait(arrival)?);
            }
            let left = self.database.queue_wait().saturating_sub(began.elapsed());
            match self.limit.enter(&self.idle, arrival, left).await.ok_or(NotLent::QueueTimeout)? {
                Granted::Place(place) => break place,
                Granted::Server(server) => {
                    if let Some(server) = self.checked(*server, class).await {
                        return Ok(Some(lent(server)));
                    }
                }
            }
        };
        if self.gate.is_paused() {
            return Ok(None);
        }
        *waiting = None;
        self.open(place, class).await.map(|server| Some(lent(server))).map_err(NotLent::Failed)
    }

    /// A connection that nobody uses and that can be lent, if possible one that need not move to other threads.
    async fn usable(&self, class: TrafficClass) -> Option<Server> {
        loop {
            let server = {
                let mut idle = lock(&self.idle.servers);
                let last = idle.len().checked_sub(1)?;
                let found = idle.iter().rposition(|server| server.home() == class).unwrap_or(last);
                idle.remove(found)
            };
            if let Some(server) = self.checked(server, class).await {
                return Some(server);
            }
        }
    }

    async fn checked(&self, mut server: Server, class: TrafficClass) -> Option<Server> {
        server.come_to(class);
        self.is_usable(&mut server).await.then_some(server)
    }

    async fn open(&self, place: Place, class: TrafficClass) -> Result<Server, NotOpened> {
        let (began, passed) = (Instant::now(), Passed::new(&self.gate));
        let mut server = Server::open(&self.database, &self.key.startup, self.key.password.as_ref()).await?;
        self.welcomes.opened(&server.state.defaults);
        server.keep(place, class, &self.stats, passed);
        self.stats.opened.add(1);
        self.stats.create.observe(began.elapsed());
        Ok(server)
    }

    /// Returns true if a connection that nobody has used can be lent.
    async fn is_usable(&self, server: &mut Server) -> bool {
        if server.is_old() || !server.is_quiet() {
            return false;
        }
        // A network that has forgotten the connection says nothing.
        server.used.elapsed() < self.database.check_after() || server.run("").await.is_ok()
    }

    async fn queue(&self, within: Duration) -> Result<OwnedSemaphorePermit, NotLent> {
        match timeout(within, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => Ok(permit.expect("the semaphore of a pool is never closed")),
            Err(_) => Err(NotLent::QueueTimeout),
        }
    }

    fn wait(&self, arrival: u64) -> Result<Waiting<'_>, NotLent> {
        let mut waiting = lock(&self.idle.waiting);
        if waiting.len() >= self.database.queue_length {
            return Err(NotLent::QueueFull);
        }
        waiting.insert(arrival);
        Ok(Waiting { pool: self, arrival })
    }

    /// Takes a connection back that is as good as new.
    pub fn take_back(&self, lent: Lent) {
        let Lent { mut server, since, _permit } = lent;
        self.stats.used.observe(since.elapsed());
        server.is_back();
        if server.is_old() {
            return;
        }
        server.used = Instant::now();
        lock(&self.idle.servers).push(server);
        self.settle();
    }

    /// Something is free that others may wait for.
    fn settle(&self) {
        if self.limit.is_waited_for() {
            self.limit.settle();
        }
    }

    /// Closes the connections that nobody has used for a while.
    pub fn expire(&self) {
        let is_kept = |server: &mut Server| server.used.elapsed() < self.database.server_idle() && !server.is_old();
        let expired: Vec<Server> = lock(&self.idle.servers).extract_if(.., |server| !is_kept(server)).collect();
        drop(expired);
    }

    /// The configuration has changed: no client comes to it any more. Those that it has keep their settings, and share
    /// connections as before.
    pub fn retire(&self) {
        let closed = std::mem::take(&mut *lock(&self.idle.servers));
        drop(closed);
    }

    /// How long its clients may take; `message` for a message that is not complete.
    pub fn timeouts(&self, message: Option<Duration>) -> Timeouts {
        self.database.timeouts_of(self.key.of("user"), message)
    }

    /// The number of connections that nobody uses.
    pub fn idle(&self) -> usize {
        lock(&self.idle.servers).len()
    }

    /// What is shown of it.
    pub fn shown(&self) -> Shown {
        Shown {
            label: self.label.clone(),
            database: self.key.database(&self.database),
            user: self.key.of("user").to_owned(),
            paused: self.gate.is_paused(),
            startup: self.key.others(),
            driver: self.database.driver,
            mode: self.mode,
            size: self.size,
            idle: self.idle(),
            waiting: self.waiting(),
            stats: Arc::clone(&self.stats),
        }
    }

    /// The number of clients that wait for one.
    pub fn waiting(&self) -> usize {
        lock(&self.idle.waiting).len()
    }

    /// Returns true if a client waits for a connection that one of this pool, or its place, may be given to.
    pub fn is_waited_for(&self) -> bool {
        self.limit.is_waited_for() || self.waiting() > 0
    }

    /// The key of a pool whose sessions are opened with those of a client's settings that the server does not report, which
    /// cannot follow the client from one session to the other; `None` if there are none. What is left are settings that
    /// the server reports. Versions before 18 do not report `search_path`.
    ///
    /// # Errors
    /// [`NotLent`]: the server was not reached to see what it reports.
    pub async fn apart(&self, settings: &mut Parameters) -> Result<Option<Key>, NotLent> {
        if settings.is_empty() {
            return Ok(None);
        }
        let reported = match self.welcomes.defaults() {
            Some(reported) => reported,
            None => {
                let lent = self.lend(TrafficClass::Interactive).await?;
                self.take_back(lent);
                self.welcomes.defaults().expect("a connection has been opened")
            }
        };
        let known = |name: &str| reported.keys().any(|other| other.eq_ignore_ascii_case(name));
        let (own, rest): (Parameters, Parameters) =
            std::mem::take(settings).into_iter().partition(|(name, _)| known(name));
        *settings = own;
        if rest.is_empty() {
            return Ok(None);
        }
        let mut key = self.key.clone();
        key.startup.extend(rest);
        Ok(Some(key))
    }

    /// What a client is welcomed with that asks for these settings, if that is known. Where every session has ended since,
    /// the next one that is opened may have other defaults.
    pub fn welcome(&self, wanted: &Parameters) -> Option<Settings> {
        if !self.has_session() {
            return None;
        }
        self.welcomes.of(wanted)
    }

    /// Returns true if a session is lent, or can be. Closes those that cannot.
    fn has_session(&self) -> bool {
        // Dropped after the lock: to close a connection lets others have its place.
        let mut closed = Vec::new();
        let mut idle = lock(&self.idle.servers);
        while let Some(last) = idle.last_mut() {
            if !last.is_old() && last.is_quiet() {
                return true;
            }
            closed.extend(idle.pop());
        }
        self.stats.open.value() > closed.len() as i64
    }
}

/// A client that waits.
struct Waiting<'a> {
    pool: &'a Pool,
    arrival: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.pool.idle.waiting).remove(&self.arrival);
        // What was kept for it is for others, if it has left.
        self.pool.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_servers_that_clients_name_have_each_port_once() {
        let startup = vec![("user".into(), "jo".into()), ("database".into(), "shop".into())];
        let key = Key { name: "hash".into(), of_client: true, startup, password: None };
        let mut taken = HashSet::new();
        for (host, label) in [
            ("db:7,other", "jo@db:7,other:5432/shop"),
            ("db", "jo@db:5432/shop"),
            ("db:5432", "jo@db:5432/shop (2)"),
            ("db", "jo@db:5432/shop (3)"),
        ] {
            let database = Database::of_client(&format!("host = {host:?}")).unwrap();
            let found = key.label(&database, &taken);
            assert_eq!(found, label);
            taken.insert(found);
        }
    }
}
