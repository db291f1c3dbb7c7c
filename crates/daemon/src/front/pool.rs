//! Sessions of one server, database and user, which are lent to clients.

use super::backend::{Backend, Login};
use super::requests::has_executed;
use crate::config::{Database, PoolMode, addresses};
use crate::gate::{Gate, Passed};
use crate::limits::{DESCRIBED_FOR, RESET_TIMEOUT};
use crate::lock;
use crate::postgres::pool::{Key, NotLent};
use crate::secret::Secret;
use crate::servers::OpenServer;
use crate::stats::{Shown, Stats};
use headrace_core::{Fatal, FatalKind, Verb};
use headrace_io::tokio::Client;
use headrace_io::{Address, TcpOptions};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
    /// When its sessions go back.
    pub mode: PoolMode,
    /// Its counters.
    pub stats: Arc<Stats>,
    /// The number of its sessions.
    size: usize,
    label: String,
    /// The name of the database in the configuration, or the server that a client has named.
    entry: String,
    gate: Arc<Gate>,
    password: Option<Secret>,
    idle: Mutex<Vec<Opened<B>>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Counts what its clients have noticed of changes of tables.
    definitions: AtomicU64,
}

/// An open session.
#[derive(Debug)]
pub struct Opened<B> {
    /// The session.
    pub server: Client<B>,
    /// The name of its server.
    host: String,
    port: u16,
    /// The address of its server.
    pub address: Address,
    used: Instant,
    /// When it is to be replaced.
    ends: Instant,
    /// It counts as open, if it is one of the pool's.
    counted: Option<Counted>,
    /// The pool's count when its statements were last prepared again, and when that was.
    definitions: u64,
    refreshed: Instant,
    /// Blocks of its clients so far.
    blocks: u64,
}

/// A session that is open as long as this exists.
#[derive(Debug)]
struct Counted {
    stats: Arc<Stats>,
    open: Arc<OpenServer>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.stats.open.add(-1);
        self.stats.servers.leave(&self.open);
    }
}

/// A session that is lent.
#[derive(Debug)]
pub struct Lent<B> {
    /// The session.
    pub opened: Opened<B>,
    since: Instant,
    _permit: OwnedSemaphorePermit,
}

impl<B: Backend> Pool<B> {
    /// An empty pool.
    pub fn new(database: Arc<Database>, key: &Key, label: String, gate: Arc<Gate>) -> Self {
        let (user, name) = (key.of("user"), key.of("database"));
        let size = database.size_of(user);
        Self {
            stats: Arc::default(),
            size,
            label,
            entry: key.database(&database),
            gate,
            permits: Arc::new(Semaphore::new(size)),
            mode: database.mode_of(user),
            database,
            user: user.into(),
            name: name.into(),
            password: key.password.clone(),
            idle: Mutex::default(),
            waiting: AtomicUsize::new(0),
            definitions: AtomicU64::new(0),
        }
    }

    /// Lends a session: the last used one, or a new one.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self) -> Result<Lent<B>, NotLent> {
        let began = Instant::now();
        let lent = self.lend_unless_full().await;
        self.stats.note_lending(began, &lent);
        lent
    }

    /// How long the database is paused does not count for how long a client waits.
    async fn lend_unless_full(&self) -> Result<Lent<B>, NotLent> {
        loop {
            if self.gate.is_paused() {
                let _waiting = self.wait()?;
                self.gate.opened().await;
            }
            match self.lend_unless_paused().await {
                Ok(Some(lent)) if self.gate.is_paused() => self.take_back(lent),
                Ok(Some(lent)) => return Ok(lent),
                Err(reason @ NotLent::QueueFull) => return Err(reason),
                Err(reason) if !self.gate.is_paused() => return Err(reason),
                Ok(None) | Err(_) => {}
            }
        }
    }

    /// Lends a session; `None` if the database is paused before there is one.
    async fn lend_unless_paused(&self) -> Result<Option<Lent<B>>, NotLent> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.queue().await?,
        };
        loop {
            if self.gate.is_paused() {
                return Ok(None);
            }
            let idle = lock(&self.idle).pop();
            let opened = match idle {
                Some(mut opened) => match self.is_usable(&mut opened).await {
                    true => opened,
                    false => continue,
                },
                None => self.open_counted().await.map_err(|fatal| NotLent::Failed(fatal.into()))?,
            };
            return Ok(Some(Lent { opened, since: Instant::now(), _permit: permit }));
        }
    }

    /// Tables have changed: what sessions know of statements may be otherwise now.
    pub fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    /// Has a session prepare its statements again, if it may know of them what is not so any more, before a client is told.
    pub fn refresh(&self, opened: &mut Opened<B>) {
        let definitions = self.definitions.load(Ordering::Relaxed);
        if opened.definitions != definitions || opened.refreshed.elapsed() > DESCRIBED_FOR {
            opened.server.connection.machine.forget_statements();
            (opened.definitions, opened.refreshed) = (definitions, Instant::now());
        }
    }

    async fn is_usable(&self, opened: &mut Opened<B>) -> bool {
        if opened.is_old() || !opened.server.is_quiet() {
            return false;
        }
        // A network that has forgotten the connection says nothing.
        opened.used.elapsed() < self.database.check_after()
            || timeout(RESET_TIMEOUT, has_executed(&mut opened.server, &Verb::Ping)).await == Ok(true)
    }

    async fn queue(&self) -> Result<OwnedSemaphorePermit, NotLent> {
        let _waiting = self.wait()?;
        match timeout(self.database.queue_wait(), Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => Ok(permit.expect("the semaphore of a pool is never closed")),
            Err(_) => Err(NotLent::QueueTimeout),
        }
    }

    fn wait(&self) -> Result<Left<'_>, NotLent> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.database.queue_length {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(NotLent::QueueFull);
        }
        Ok(Left(&self.waiting))
    }

    async fn open_counted(&self) -> Result<Opened<B>, Fatal> {
        let (began, passed) = (Instant::now(), Passed::new(&self.gate));
        let mut opened = self.open().await?;
        self.stats.open.add(1);
        self.stats.opened.add(1);
        self.stats.create.observe(began.elapsed());
        let open = self.stats.servers.enter(opened.address.to_string(), None, passed);
        opened.counted = Some(Counted { stats: Arc::clone(&self.stats), open });
        Ok(opened)
    }

    /// Opens a session, at the first of the hosts that answers.
    ///
    /// # Errors
    /// [`Fatal`] with the reason, such as the server's own.
    async fn open(&self) -> Result<Opened<B>, Fatal> {
        let mut failures = Vec::new();
        let places = self.database.places().map_err(|what| Fatal::new(FatalKind::UnusableSetting, what))?;
        for (host, port) in places {
            let found = match host.starts_with('/') {
                true => vec![Address::Unix(Path::new(host).to_owned())],
                false => addresses(host, port).await?,
            };
            for address in found {
                match self.open_at(host, port, address).await {
                    Err(fatal) if matches!(fatal.kind, FatalKind::ConnectFailed | FatalKind::NoAnswer) => {
                        failures.push(fatal);
                    }
                    opened => return opened,
                }
            }
        }
        let texts: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
        Err(Fatal::new(FatalKind::ConnectFailed, texts.join("; ")))
    }

    async fn open_at(&self, host: &str, port: u16, address: Address) -> Result<Opened<B>, Fatal> {
        let limit = self.database.connect_timeout();
        match timeout(limit, self.log_in(host, port, address)).await {
            Ok(opened) => opened,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, format!("{host} did not open a session within {limit:?}"))),
        }
    }

    async fn log_in(&self, host: &str, port: u16, address: Address) -> Result<Opened<B>, Fatal> {
        let ip = match &address {
            Address::Tcp(address) => address.ip().to_string(),
            Address::Unix(_) => String::new(),
        };
        let password = match &self.password {
            Some(given) => Some(given.clone()),
            None => self.database.password_for(host, port, &self.user, &self.name).await?,
        };
        let connection = B::connection(&Login {
            database: &self.database,
            host,
            ip: &ip,
            port,
            user: &self.user,
            name: &self.name,
            password: password.as_ref(),
        })?;
        let server = Client::open(&address, &TcpOptions::default(), connection, ()).await?;
        if !server.connection.machine.is_ready() {
            let what = "the server asks a question that only a person can answer";
            return Err(Fatal::new(FatalKind::AuthenticationRefused, what));
        }
        let now = Instant::now();
        Ok(Opened {
            server,
            host: host.to_owned(),
            port,
            address,
            used: now,
            ends: now + self.database.one_lifetime(),
            counted: None,
            definitions: self.definitions.load(Ordering::Relaxed),
            refreshed: now,
            blocks: 0,
        })
    }

    /// Opens another session of the same server.
    ///
    /// # Errors
    /// [`Fatal`] with the reason.
    pub async fn open_beside(&self, opened: &Opened<B>) -> Result<Client<B>, Fatal> {
        self.open_at(&opened.host, opened.port, opened.address.clone()).await.map(|opened| opened.server)
    }

    /// Takes a session back that is as good as new.
    pub fn take_back(&self, lent: Lent<B>) {
        let mut opened = lent.opened;
        self.stats.used.observe(lent.since.elapsed());
        opened.counted.iter().for_each(|counted| counted.open.is_back());
        if opened.is_old() {
            return opened.server.close(());
        }
        opened.used = Instant::now();
        lock(&self.idle).push(opened);
    }

    /// Closes sessions that nobody has used for a while.
    pub fn expire(&self) {
        let expired: Vec<Opened<B>> = {
            let mut idle = lock(&self.idle);
            let (kept, expired) = idle
                .drain(..)
                .partition(|opened| opened.used.elapsed() < self.database.server_idle() && !opened.is_old());
            *idle = kept;
            expired
        };
        expired.into_iter().for_each(|opened| opened.server.close(()));
    }

    /// The number of sessions that nobody uses.
    pub fn idle(&self) -> usize {
        lock(&self.idle).len()
    }

    /// What is shown of it.
    pub fn shown(&self) -> Shown {
        Shown {
            label: self.label.clone(),
            database: self.entry.clone(),
            user: self.user.clone(),
            paused: self.gate.is_paused(),
            startup: BTreeMap::new(),
            driver: self.database.driver,
            mode: self.mode,
            size: self.size,
            idle: self.idle(),
            waiting: self.waiting.load(Ordering::Relaxed),
            stats: Arc::clone(&self.stats),
        }
    }
}

impl<B: Backend> Opened<B> {
    /// What is executed from now on is a block, all of which is committed or nothing; or none.
    pub fn mark_block(&mut self, is_open: bool) {
        self.blocks += u64::from(is_open);
        let number = if is_open { self.blocks } else { 0 };
        self.server.connection.machine.requests().block().store(number, Ordering::SeqCst);
    }
}

impl<B> Opened<B> {
    /// Returns true if it is to be replaced.
    fn is_old(&self) -> bool {
        Instant::now() >= self.ends || self.counted.as_ref().is_some_and(|counted| counted.open.is_over())
    }

    /// A client has it now.
    pub fn is_lent_to(&self, client: i32) {
        self.counted.iter().for_each(|counted| counted.open.is_lent_to(client));
    }
}

struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
