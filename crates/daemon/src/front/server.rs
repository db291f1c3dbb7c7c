//! A session of a server that is not PostgreSQL's, which is lent to one client after the other.

use super::backend::Backend;
use super::requests::has_executed;
use crate::config::addresses;
use crate::limits::{FRONT_STATEMENTS, RESET_TIMEOUT};
use crate::pool::ServerConnection;
use crate::postgres::server::NotOpened;
use crate::traffic::TrafficClass;
use headrace_core::{Fatal, FatalKind, Verb};
use headrace_drivers::{Login, Unusable};
use headrace_io::tokio::Client;
use headrace_io::{Address, TcpOptions};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::timeout;

/// The name of the daemon on servers.
const PROGRAM: &str = "headraced";

/// A pool of such sessions.
pub type Pool<B> = crate::pool::Pool<Server<B>>;
/// A session that is lent.
pub type Lent<B> = crate::pool::Lent<Server<B>>;

/// An open session.
#[derive(Debug)]
pub struct Server<B> {
    /// The session.
    pub client: Client<B>,
    /// The name of its server.
    host: String,
    port: u16,
    /// The address of its server.
    pub address: Address,
    /// The pool's count when its statements were last prepared again.
    definitions: u64,
    /// Blocks of its clients so far.
    blocks: u64,
}

/// What a pool has read of its server's sessions.
#[derive(Debug, Default)]
pub struct PoolState {
    /// Counts what its clients have noticed of changes of tables.
    definitions: AtomicU64,
}

impl PoolState {
    /// Tables have changed: what sessions have read of statements may be out of date.
    pub fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }
}

impl<B: Backend> ServerConnection for Server<B> {
    type PoolState = PoolState;

    async fn open(pool: &Pool<B>, _class: TrafficClass) -> Result<Self, NotOpened> {
        Self::connect(pool).await.map_err(NotOpened::from)
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    fn process_id(&self) -> Option<i32> {
        None
    }

    fn is_quiet(&mut self) -> bool {
        self.client.is_quiet()
    }

    async fn is_alive(&mut self) -> bool {
        timeout(RESET_TIMEOUT, has_executed(&mut self.client, &Verb::Ping)).await == Ok(true)
    }

    fn close(self) {
        self.client.close(());
    }
}

impl<B: Backend> Server<B> {
    /// Opens a session, at the first of the hosts that answers.
    ///
    /// # Errors
    /// [`Fatal`] with the reason, such as the server's own.
    async fn connect(pool: &Pool<B>) -> Result<Self, Fatal> {
        let mut failures = Vec::new();
        let database = pool.database();
        let places = database.places().map_err(|what| Fatal::new(FatalKind::UnusableSetting, what))?;
        for (host, port) in places {
            let found = match host.starts_with('/') {
                true => vec![Address::Unix(Path::new(host).to_owned())],
                false => addresses(host, port).await?,
            };
            for address in found {
                match Self::open_at(pool, host, port, address).await {
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

    async fn open_at(pool: &Pool<B>, host: &str, port: u16, address: Address) -> Result<Self, Fatal> {
        let limit = pool.database().connect_timeout();
        match timeout(limit, Self::log_in(pool, host, port, address)).await {
            Ok(opened) => opened,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, format!("{host} did not open a session within {limit:?}"))),
        }
    }

    async fn log_in(pool: &Pool<B>, host: &str, port: u16, address: Address) -> Result<Self, Fatal> {
        let ip = match &address {
            Address::Tcp(address) => address.ip().to_string(),
            Address::Unix(_) => String::new(),
        };
        let database = pool.database();
        let password = match &pool.key.password {
            Some(given) => Some(given.clone()),
            None => database.password_for(host, port, pool.user(), pool.name()).await?,
        };
        let connection = B::connection(&Login {
            settings: &database.front_settings(),
            host: &ip,
            port,
            is_local: host.starts_with('/'),
            user: pool.user(),
            password: password.as_ref().map(|password| password.reveal().as_bytes()),
            database: Some(pool.name()),
            encryption: &database.encryption(host)?,
            program: PROGRAM,
            statements: FRONT_STATEMENTS,
        })
        .map_err(|unusable| match unusable {
            Unusable::Setting(error) => Fatal::new(FatalKind::UnusableSetting, error.to_string()),
            Unusable::Fatal(fatal) => fatal,
        })?;
        let client = Client::open(&address, &TcpOptions::default(), connection, ()).await?;
        if !client.connection.machine.is_ready() {
            let what = "the server asks a question that only a person can answer";
            return Err(Fatal::new(FatalKind::AuthenticationRefused, what));
        }
        Ok(Self {
            client,
            host: host.to_owned(),
            port,
            address,
            definitions: pool.state.definitions.load(Ordering::Relaxed),
            blocks: 0,
        })
    }

    /// Opens another session of the same server.
    ///
    /// # Errors
    /// [`Fatal`] with the reason.
    pub async fn open_beside(&self, pool: &Pool<B>) -> Result<Client<B>, Fatal> {
        Self::open_at(pool, &self.host, self.port, self.address.clone()).await.map(|server| server.client)
    }

    /// Has the session prepare a statement again before a client is told its columns: its table may be changed at any time.
    /// What clients have noticed of such changes concerns all statements.
    pub fn refresh(&mut self, pool: &PoolState, sql: &str) {
        let definitions = pool.definitions.load(Ordering::Relaxed);
        let machine = &mut self.client.connection.machine;
        match std::mem::replace(&mut self.definitions, definitions) == definitions {
            true => B::forget_statement(machine, sql),
            false => machine.forget_statements(),
        }
    }

    /// What is executed from now on is a block, all of which is committed or nothing; or none.
    pub fn mark_block(&mut self, is_open: bool) {
        self.blocks += u64::from(is_open);
        let number = if is_open { self.blocks } else { 0 };
        self.client.connection.machine.requests().block().store(number, Ordering::SeqCst);
    }
}
