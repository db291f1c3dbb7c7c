//! Sessions of one server, database and user, which are lent to clients.

use super::backend::Backend;
use crate::config::{Database, PoolMode};
use crate::limits::{CONNECT_TIMEOUT, IDLE_SERVER};
use crate::lock;
use crate::postgres::pool::NotLent;
use headrace_core::{Fatal, FatalKind};
use headrace_io::tokio::Client;
use headrace_io::{Address, TcpOptions};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A pool.
#[derive(Debug)]
pub struct Pool<B> {
    /// Where to connect.
    pub database: Arc<Database>,
    /// The user.
    pub user: String,
    /// The database's name on the server.
    pub name: String,
    idle: Mutex<Vec<(Client<B>, Instant)>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A session that is lent.
#[derive(Debug)]
pub struct Lent<B> {
    /// The session.
    pub server: Client<B>,
    _permit: OwnedSemaphorePermit,
}

impl<B: Backend> Pool<B> {
    /// An empty pool.
    pub fn new(database: Arc<Database>, user: String, name: String) -> Self {
        let permits = Arc::new(Semaphore::new(database.pool_size));
        Self { database, user, name, idle: Mutex::default(), permits, waiting: AtomicUsize::new(0) }
    }

    /// When its sessions go back.
    pub fn mode(&self) -> PoolMode {
        self.database.pool_mode
    }

    /// Lends a session: the last used one, or a new one.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self) -> Result<Lent<B>, NotLent> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.queue().await?,
        };
        loop {
            let idle = lock(&self.idle).pop();
            match idle {
                Some((mut server, _)) => {
                    if server.is_quiet() {
                        return Ok(Lent { server, _permit: permit });
                    }
                }
                None => {
                    let server = self.open().await.map_err(NotLent::Failed)?;
                    return Ok(Lent { server, _permit: permit });
                }
            }
        }
    }

    async fn queue(&self) -> Result<OwnedSemaphorePermit, NotLent> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.database.queue_length {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(NotLent::QueueFull);
        }
        let _left = Left(&self.waiting);
        match timeout(self.database.queue_wait(), Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => Ok(permit.expect("the semaphore of a pool is never closed")),
            Err(_) => Err(NotLent::QueueTimeout),
        }
    }

    /// The server's address.
    ///
    /// # Errors
    /// [`Fatal`]: its host has none.
    pub async fn address(&self) -> Result<Address, Fatal> {
        match self.database.host.starts_with('/') {
            true => Ok(Address::Unix(Path::new(&self.database.host).to_owned())),
            false => self.database.address().await,
        }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`Fatal`] with the reason, such as the server's own.
    pub async fn open(&self) -> Result<Client<B>, Fatal> {
        match timeout(CONNECT_TIMEOUT, self.log_in()).await {
            Ok(opened) => opened,
            Err(_) => {
                let reason = format!("the server did not open a session within {} s", CONNECT_TIMEOUT.as_secs());
                Err(Fatal::new(FatalKind::NoAnswer, reason))
            }
        }
    }

    async fn log_in(&self) -> Result<Client<B>, Fatal> {
        let address = self.address().await?;
        let host = match &address {
            Address::Tcp(address) => address.ip().to_string(),
            Address::Unix(_) => String::new(),
        };
        let connection = B::connection(&self.database, &host, &self.user, &self.name)?;
        let client = Client::open(&address, &TcpOptions::default(), connection, ()).await?;
        match client.connection.machine.is_ready() {
            true => Ok(client),
            false => Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                "the server asks a question that only a person can answer",
            )),
        }
    }

    /// Takes a session back that is as good as new.
    pub fn take_back(&self, lent: Lent<B>) {
        lock(&self.idle).push((lent.server, Instant::now()));
    }

    /// Closes sessions that nobody has used for a while.
    pub fn expire(&self) {
        let expired: Vec<Client<B>> = {
            let mut idle = lock(&self.idle);
            let (kept, expired) = idle.drain(..).partition(|(_, used)| used.elapsed() < IDLE_SERVER);
            *idle = kept;
            expired.into_iter().map(|(server, _): (Client<B>, Instant)| server).collect()
        };
        expired.into_iter().for_each(|server| server.close(()));
    }
}

struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
