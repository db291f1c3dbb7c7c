//! The listener, and the state that all sessions share.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use headrace_simulator_common::channel::Channel;
use headrace_simulator_common::command::Service;
use headrace_simulator_common::faults::Faults;
use headrace_simulator_common::listener::serve;
use headrace_simulator_common::lock;
use rustls::ServerConfig;

use crate::capabilities::Release;
use crate::database::{InformixDatabase, Mode};
use crate::errors::SqlError;
use crate::session::SqliSession;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on.
    pub host: String,
    /// The user that may log in.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name of the server, which clients must name.
    pub server: String,
    /// The database that is there from the start.
    pub database: String,
    /// Its mode.
    pub mode: Mode,
    /// The locale of the databases that are there from the start, and of those that clients without a locale create.
    pub locale: String,
    /// The release that it reports.
    pub release: Release,
    /// True if messages after an error in a group are executed all the same.
    pub continue_after_error: bool,
    /// The questions of PAM and the expected answers; none if the password counts.
    pub pam: Vec<(String, String)>,
    /// The server names that redirect to another server.
    pub redirects: Vec<Redirect>,
    /// Deliberate faults.
    pub faults: Faults,
    /// The folder of the databases.
    pub folder: PathBuf,
    /// True if replies are printed on standard error, in hexadecimal.
    pub trace: bool,
}

/// A server name that is answered with the address of another server.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The name that clients use.
    pub name: String,
    /// The name and address they are sent to; this very server if there is none.
    pub target: Option<(String, String, u16)>,
}

/// The server.
pub struct Server {
    /// The options that it was started with.
    pub config: Config,
    databases: Mutex<HashMap<String, Arc<InformixDatabase>>>,
    sessions: AtomicI64,
    port: AtomicU16,
}

impl Server {
    /// Makes the databases. Fails if the folder cannot be written.
    pub fn new(config: Config) -> Result<Arc<Self>, String> {
        let server = Self { config, databases: Mutex::default(), sessions: AtomicI64::new(0), port: AtomicU16::new(0) };
        let (name, mode) = (server.config.database.clone(), server.config.mode);
        for (name, mode) in [("sysmaster".to_owned(), Mode::Logged), (name, mode)] {
            server.create_database(&name, mode, &server.config.locale)?;
        }
        Ok(Arc::new(server))
    }

    /// Adds a database; false if there is one of that name.
    pub fn create_database(&self, name: &str, mode: Mode, locale: &str) -> Result<bool, String> {
        let mut databases = lock(&self.databases);
        if databases.contains_key(name) {
            return Ok(false);
        }
        let database = InformixDatabase::create(&self.config.folder, name, mode, locale)
            .map_err(|error| format!("database {name} in {}: {error}", self.config.folder.display()))?;
        databases.insert(name.to_owned(), Arc::new(database));
        Ok(true)
    }

    /// Forgets a database and removes its files.
    ///
    /// # Errors
    /// -329 if there is none of that name, -425 while a session has it open.
    pub fn drop_database(&self, name: &str) -> Result<(), SqlError> {
        let mut databases = lock(&self.databases);
        match databases.get(name) {
            None => Err(SqlError::isam(-329, -111, name)),
            Some(database) if Arc::strong_count(database) > 1 => Err(SqlError::isam(-425, -107, name)),
            Some(_) => {
                databases.remove(name);
                Ok(())
            }
        }
    }

    /// The database of a name.
    pub fn database(&self, name: &str) -> Option<Arc<InformixDatabase>> {
        lock(&self.databases).get(name).cloned()
    }

    /// All databases by name, with their modes and locales.
    pub fn databases(&self) -> Vec<(String, Mode, String)> {
        let databases = lock(&self.databases);
        let mut all: Vec<_> = databases.values().map(|it| (it.name.clone(), it.mode, it.locale.clone())).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// The number of the next session.
    pub fn next_session(&self) -> i64 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The target of a redirection, as `server|host|port`.
    pub fn target(&self, redirect: &Redirect) -> String {
        let own = (self.config.server.clone(), self.config.host.clone(), self.port.load(Ordering::Relaxed));
        let (server, host, port) = redirect.target.as_ref().unwrap_or(&own);
        format!("{server}|{host}|{port}")
    }
}

impl Service for Server {
    fn listening(self: &Arc<Self>, address: SocketAddr) {
        self.port.store(address.port(), Ordering::Relaxed);
    }

    fn serve(self: &Arc<Self>, listener: &TcpListener, tls: Option<&Arc<ServerConfig>>) {
        serve(listener, |stream| {
            let (server, tls) = (Arc::clone(self), tls.cloned());
            move || Channel::new(stream, tls.as_ref()).and_then(|channel| SqliSession::new(server, channel).run())
        });
    }
}
