//! Server connections of one server, database, user and set of startup parameters.

use super::server::Server;
use super::statements::Catalog;
use crate::config::{Database, PoolMode};
use crate::limits::IDLE_SERVER;
use crate::lock;
use headrace_core::Fatal;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The startup parameters that a pool's server connections are opened with: what distinguishes pools.
pub type Parameters = Vec<(String, String)>;

/// A pool.
#[derive(Debug)]
pub struct Pool {
    /// Where to connect.
    pub database: Arc<Database>,
    /// The prepared statements of its clients.
    pub catalog: Arc<Catalog>,
    parameters: Parameters,
    /// The connections that nobody uses, the last used at the end.
    idle: Mutex<Vec<Server>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// What a client that has asked for these settings is welcomed with.
    welcomes: Mutex<BTreeMap<Parameters, BTreeMap<String, String>>>,
}

/// What a client asks for.
#[derive(Debug)]
pub struct Wanted {
    /// The pool of its server connections.
    pub pool: Arc<Pool>,
    /// Settings that the server reports: they are the client's own, not the pool's.
    pub settings: Parameters,
}

/// A server connection that is lent, or the right to one.
#[derive(Debug)]
pub struct Lent {
    /// The connection.
    pub server: Server,
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
    Failed(Fatal),
}

impl Pool {
    /// An empty pool.
    pub fn new(database: Arc<Database>, parameters: Parameters) -> Self {
        Self {
            catalog: Arc::new(Catalog::default()),
            permits: Arc::new(Semaphore::new(database.pool_size)),
            database,
            parameters,
            idle: Mutex::default(),
            waiting: AtomicUsize::new(0),
            welcomes: Mutex::default(),
        }
    }

    /// When its connections go back.
    pub fn mode(&self) -> PoolMode {
        self.database.pool_mode
    }

    /// Lends a connection: the last used one, or a new one.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self) -> Result<Lent, NotLent> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.queue().await?,
        };
        loop {
            let idle = self.idle().pop();
            match idle {
                Some(mut server) => {
                    if server.is_quiet() {
                        return Ok(Lent { server, _permit: permit });
                    }
                }
                None => {
                    let server = Server::open(&self.database, &self.parameters).await.map_err(NotLent::Failed)?;
                    return Ok(Lent { server, _permit: permit });
                }
            }
        }
    }

    async fn queue(&self) -> Result<OwnedSemaphorePermit, NotLent> {
        let _waiting = Waiting::enter(&self.waiting, self.database.queue_length).ok_or(NotLent::QueueFull)?;
        match timeout(self.database.queue_wait(), Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => Ok(permit.expect("the semaphore of a pool is never closed")),
            Err(_) => Err(NotLent::QueueTimeout),
        }
    }

    /// Takes a connection back that is as good as new.
    pub fn take_back(&self, lent: Lent) {
        let Lent { mut server, _permit } = lent;
        server.used = Instant::now();
        self.idle().push(server);
    }

    /// Closes the connections that nobody has used for a while.
    pub fn expire(&self) {
        self.idle().retain(|server| server.used.elapsed() < IDLE_SERVER);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Server>> {
        lock(&self.idle)
    }

    /// What a client is welcomed with that asks for these settings, if one was before.
    pub fn welcome(&self, wanted: &Parameters) -> Option<BTreeMap<String, String>> {
        lock(&self.welcomes).get(wanted).cloned()
    }

    /// Remembers what a client was welcomed with.
    pub fn remember(&self, wanted: Parameters, welcome: &BTreeMap<String, String>) {
        let mut welcomes = lock(&self.welcomes);
        if welcomes.len() >= crate::limits::WELCOMES {
            welcomes.clear();
        }
        welcomes.insert(wanted, welcome.clone());
    }
}

/// A place in the queue.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        if waiting.fetch_add(1, Ordering::Relaxed) >= most {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self(waiting))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
