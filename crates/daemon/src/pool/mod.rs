//! Connections of one server, database, user and set of startup parameters, which are lent to one client after the other.
//!
//! A pool is the same for every database. What its connections are is a [`ServerConnection`]; how many a database may
//! have over all its pools, and who gets the next one, is in [`limit`]; which pools there are, in [`registry`].

mod configured;
pub mod connection;
mod key;
pub mod limit;
mod permits;
pub mod registry;

pub use connection::{Pooled, ServerConnection};
pub use key::{Key, Parameters};
pub use limit::Limit;

use crate::config::{DatabaseConfig, PoolMode};
use crate::gate::{Gate, Passed};
use crate::lock;
use crate::postgres::server::NotOpened;
use crate::stats::{Shown, Stats};
use crate::timeouts::Timeouts;
use crate::traffic::TrafficClass;
use configured::Configured;
use connection::Kept;
use limit::{ConnectionPermit, Granted, Idle};
use permits::{Permit, Permits};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A pool.
#[derive(Debug)]
pub struct Pool<S: ServerConnection> {
    configured: Configured,
    /// What is known of its sessions, for all clients.
    pub state: S::PoolState,
    /// Its counters.
    pub stats: Arc<Stats>,
    /// When its connections go back.
    pub mode: PoolMode,
    label: String,
    /// What distinguishes it.
    pub key: Key,
    /// The idle connections, and who waits.
    idle: Arc<Idle<S>>,
    permits: Arc<Permits>,
    limit: Arc<Limit<S>>,
    gate: Arc<Gate>,
}

/// A server connection that is lent.
#[derive(Debug)]
pub struct Lent<S: ServerConnection> {
    /// The connection.
    pub server: Box<S>,
    kept: Kept<S>,
    since: Instant,
    _permit: Permit,
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

impl<S: ServerConnection> Lent<S> {
    /// A client has it now.
    pub fn is_lent_to(&self, client: i32, now: Instant) {
        self.kept.open.is_lent_to(client, now);
    }

    /// Ends the session: it cannot be lent again. Its place is free after that.
    pub fn close(self) {
        (*self.server).close();
    }
}

impl<S: ServerConnection> Pool<S> {
    /// An empty pool.
    pub fn new(database: Arc<DatabaseConfig>, key: Key, label: String, limit: Arc<Limit<S>>, gate: Arc<Gate>) -> Self {
        let user = key.of("user");
        let permits = Arc::new(Permits::new(database.size_of(user)));
        let idle = Arc::default();
        limit.add(&idle);
        Self {
            state: S::PoolState::default(),
            stats: Arc::default(),
            mode: database.mode_of(user),
            label,
            key,
            permits,
            idle,
            limit,
            gate,
            configured: Configured::new(database),
        }
    }

    /// Lends a connection that can be lent at once, without asking the server.
    pub fn try_lend(&self, class: TrafficClass, now: Instant) -> Option<Lent<S>> {
        if self.gate.is_paused() {
            return None;
        }
        let permit = self.permits.try_take()?;
        while let Some(mut pooled) = self.idle_one(class) {
            if now.saturating_duration_since(pooled.kept.used) >= self.configured.check_after() {
                // In its place: who is asked is the one that was used last.
                lock(&self.idle.servers).push(pooled);
                return None;
            }
            pooled.server.move_to(class);
            if pooled.kept.is_old(now, self.configured.lifetime()) || !pooled.server.is_quiet() {
                pooled.close();
                continue;
            }
            let lent = Lent { server: pooled.server, kept: pooled.kept, since: now, _permit: permit };
            if self.gate.is_paused() {
                self.take_back(lent, now);
                return None;
            }
            self.stats.note_lent(Duration::ZERO);
            return Some(lent);
        }
        None
    }

    /// Lends a connection: the last used one, or a new one. The caller is on the threads of this class of traffic.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self, class: TrafficClass) -> Result<Lent<S>, NotLent> {
        let began = Instant::now();
        let lent = self.lend_since(began, class).await;
        self.stats.note_lending(began, &lent);
        lent
    }

    /// How long the database is paused does not count for how long a client waits.
    async fn lend_since(&self, mut began: Instant, class: TrafficClass) -> Result<Lent<S>, NotLent> {
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
                Ok(Some(lent)) if self.gate.is_paused() => self.take_back(lent, Instant::now()),
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
        waiting: &mut Option<Waiting<'a, S>>,
        class: TrafficClass,
    ) -> Result<Option<Lent<S>>, NotLent> {
        let permit = match self.permits.try_take() {
            Some(permit) => permit,
            None => {
                if waiting.is_none() {
                    *waiting = Some(self.wait(arrival)?);
                }
                self.permits.take(self.database().queue_wait().saturating_sub(began.elapsed())).await?
            }
        };
        let lent = |Pooled { server, kept }| Lent { server, kept, since: Instant::now(), _permit: permit };
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
            let left = self.database().queue_wait().saturating_sub(began.elapsed());
            match self.limit.enter(&self.idle, arrival, left).await.ok_or(NotLent::QueueTimeout)? {
                Granted::Permit(place) => break place,
                Granted::Server(server) => {
                    if let Some(server) = self.checked(server, class).await {
                        return Ok(Some(lent(server)));
                    }
                }
            }
        };
        if self.gate.is_paused() {
            return Ok(None);
        }
        *waiting = None;
        // In a box: many wait, and few of them open a connection.
        Box::pin(self.open(place, class)).await.map(|server| Some(lent(server))).map_err(NotLent::Failed)
    }

    /// An idle connection that can be lent.
    async fn usable(&self, class: TrafficClass) -> Option<Pooled<S>> {
        loop {
            let pooled = self.idle_one(class)?;
            if let Some(pooled) = self.checked(pooled, class).await {
                return Some(pooled);
            }
        }
    }

    /// An idle connection, if possible one that need not move to other threads.
    fn idle_one(&self, class: TrafficClass) -> Option<Pooled<S>> {
        let mut idle = lock(&self.idle.servers);
        let last = idle.len().checked_sub(1)?;
        let found = idle.iter().rposition(|pooled| pooled.server.class() == class).unwrap_or(last);
        Some(idle.remove(found))
    }

    async fn checked(&self, mut pooled: Pooled<S>, class: TrafficClass) -> Option<Pooled<S>> {
        pooled.server.move_to(class);
        self.is_usable(&mut pooled).await.then_some(pooled)
    }

    async fn open(&self, place: ConnectionPermit<S>, class: TrafficClass) -> Result<Pooled<S>, NotOpened> {
        let (began, passed) = (Instant::now(), Passed::new(&self.gate));
        let server = S::open(self, class).await?;
        self.stats.create.observe(began.elapsed());
        let kept = Kept::new(&server, self, place, passed);
        Ok(Pooled { server: Box::new(server), kept })
    }

    /// Returns true if a connection that was never used can be lent.
    async fn is_usable(&self, pooled: &mut Pooled<S>) -> bool {
        let now = Instant::now();
        if pooled.kept.is_old(now, self.configured.lifetime()) || !pooled.server.is_quiet() {
            return false;
        }
        now.saturating_duration_since(pooled.kept.used) < self.configured.check_after()
            || Box::pin(pooled.server.is_alive()).await
    }

    fn wait(&self, arrival: u64) -> Result<Waiting<'_, S>, NotLent> {
        let mut waiting = lock(&self.idle.waiting);
        if waiting.len() >= self.database().queue_length {
            return Err(NotLent::QueueFull);
        }
        waiting.insert(arrival);
        Ok(Waiting { pool: self, arrival })
    }

    /// Takes a connection back whose session is as it was when it was opened.
    pub fn take_back(&self, lent: Lent<S>, now: Instant) {
        let Lent { server, mut kept, since, _permit } = lent;
        self.stats.used.observe(now.saturating_duration_since(since));
        kept.open.is_back(now);
        if kept.is_old(now, self.configured.lifetime()) || self.has_too_many() || server.is_doubtful() {
            return Pooled { server, kept }.close();
        }
        kept.used = now;
        lock(&self.idle.servers).push(Pooled { server, kept });
        self.settle();
    }

    /// Something is free that others may wait for.
    fn settle(&self) {
        if self.limit.is_waited_for() {
            self.limit.settle();
        }
    }

    /// Closes the connections that were not used for a while.
    pub fn expire(&self) {
        let (now, longest, lifetime) = (Instant::now(), self.database().server_idle(), self.configured.lifetime());
        let is_over = |pooled: &mut Pooled<S>| {
            now.saturating_duration_since(pooled.kept.used) >= longest || pooled.kept.is_old(now, lifetime)
        };
        let expired: Vec<_> = lock(&self.idle.servers).extract_if(.., is_over).collect();
        expired.into_iter().for_each(Pooled::close);
    }

    /// Returns true if it has more connections than it may: the configuration has changed.
    fn has_too_many(&self) -> bool {
        usize::try_from(self.stats.open.value()).is_ok_and(|open| open > self.size())
    }

    /// Returns true if sessions of these settings are those that it has, however many, and for how long.
    pub fn is_same_as(&self, database: &DatabaseConfig) -> bool {
        database.mode_of(self.user()) == self.mode && self.database().differs_in_limits_only(database)
    }

    /// The configuration has other numbers and times: for the next connection that is lent, or is opened.
    pub fn change(&self, database: DatabaseConfig) {
        self.permits.set_size(database.size_of(self.user()));
        self.configured.set(Arc::new(database));
        while self.has_too_many()
            && let Some(closed) = self.idle.longest_unused()
        {
            closed.close();
        }
    }

    /// The configuration has changed in something else: no client comes to it any more. Those that it has keep their
    /// settings, and share connections as before.
    pub fn retire(&self) {
        let closed = std::mem::take(&mut *lock(&self.idle.servers));
        closed.into_iter().for_each(Pooled::close);
    }

    /// Where to connect, and its limits.
    pub fn database(&self) -> Arc<DatabaseConfig> {
        self.configured.database()
    }

    /// The number of connections that it may have.
    pub fn size(&self) -> usize {
        self.permits.size()
    }

    /// The user on the server.
    pub fn user(&self) -> &str {
        self.key.of("user")
    }

    /// The database's name on the server.
    pub fn name(&self) -> &str {
        self.key.of("database")
    }

    /// How long its clients may take; `message` for a message that is not complete.
    pub fn timeouts(&self, message: Option<Duration>) -> Timeouts {
        self.database().timeouts_of(self.user(), message)
    }

    /// The number of idle connections.
    pub fn idle(&self) -> usize {
        lock(&self.idle.servers).len()
    }

    /// Returns true if every connection that it may have is lent: another client has to wait.
    pub fn is_exhausted(&self) -> bool {
        self.permits.are_given_out() || self.limit.is_exhausted()
    }

    /// Its name for people.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What is shown of it.
    pub fn shown(&self) -> Shown {
        Shown {
            label: self.label.clone(),
            database: self.key.database(&self.database()),
            user: self.user().to_owned(),
            paused: self.gate.is_paused(),
            startup: self.key.others(),
            driver: self.database().driver,
            mode: self.mode,
            size: self.size(),
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

    /// Returns true if a session is lent, or can be. Closes those that cannot.
    pub fn has_session(&self) -> bool {
        // Dropped after the lock: to close a connection lets others have its place.
        let mut closed = Vec::new();
        let mut idle = lock(&self.idle.servers);
        while let Some(last) = idle.last_mut() {
            if !last.kept.is_old(Instant::now(), self.configured.lifetime()) && last.server.is_quiet() {
                return true;
            }
            closed.extend(idle.pop());
        }
        self.stats.open.value() > closed.len() as i64
    }
}

/// A client that waits.
struct Waiting<'a, S: ServerConnection> {
    pool: &'a Pool<S>,
    arrival: u64,
}

impl<S: ServerConnection> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        lock(&self.pool.idle.waiting).remove(&self.arrival);
        // What was kept for it is for others, if it has left.
        self.pool.settle();
    }
}
