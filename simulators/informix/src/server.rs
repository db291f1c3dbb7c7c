//! The listener, and what all sessions share.

use std::collections::HashMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use crate::capabilities::Release;
use crate::database::{Database, Mode};
use crate::engine::functions::lock;
use crate::faults::Faults;
use crate::session::Session;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// The user that may log in.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name of the server, which clients must give.
    pub server: String,
    /// The database that is there from the start.
    pub database: String,
    /// Its mode.
    pub mode: Mode,
    /// The locale of every database.
    pub locale: String,
    /// The release that it says it is.
    pub release: Release,
    /// `name:host:port` of another server, to which every client is sent on.
    pub redirect: Option<String>,
    /// Whether messages after an error in a group are carried out all the same.
    pub continue_after_error: bool,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// Where the databases are kept.
    pub folder: PathBuf,
    /// Whether replies are shown on standard error, in hexadecimal.
    pub trace: bool,
}

/// The server.
pub struct Server {
    /// How it was started.
    pub config: Config,
    databases: Mutex<HashMap<String, Arc<Database>>>,
    sessions: AtomicI64,
}

impl Server {
    /// Makes the databases. Fails if the folder cannot be written.
    pub fn new(config: Config) -> Result<Arc<Self>, String> {
        let server = Self { config, databases: Mutex::default(), sessions: AtomicI64::new(0) };
        let (name, mode) = (server.config.database.clone(), server.config.mode);
        for (name, mode) in [("sysmaster".to_owned(), Mode::Logged), (name, mode)] {
            server.create_database(&name, mode)?;
        }
        Ok(Arc::new(server))
    }

    /// Adds a database; false if there is one of that name.
    pub fn create_database(&self, name: &str, mode: Mode) -> Result<bool, String> {
        let mut databases = lock(&self.databases);
        if databases.contains_key(name) {
            return Ok(false);
        }
        let database = Database::create(&self.config.folder, name, mode, &self.config.locale)
            .map_err(|error| format!("database {name} in {}: {error}", self.config.folder.display()))?;
        databases.insert(name.to_owned(), Arc::new(database));
        Ok(true)
    }

    /// Forgets a database.
    pub fn drop_database(&self, name: &str) -> bool {
        lock(&self.databases).remove(name).is_some()
    }

    /// The database of a name.
    pub fn database(&self, name: &str) -> Option<Arc<Database>> {
        lock(&self.databases).get(name).cloned()
    }

    /// All databases by name, with their modes.
    pub fn databases(&self) -> Vec<(String, Mode)> {
        let mut all: Vec<_> = lock(&self.databases).values().map(|it| (it.name.clone(), it.mode)).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// The number of the next session.
    pub fn next_session(&self) -> i64 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Opens the port.
    pub fn listen(&self) -> io::Result<TcpListener> {
        TcpListener::bind((self.config.host.as_str(), self.config.port))
    }

    /// Serves every connection on a thread of its own, for ever.
    pub fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => self.start(stream),
                Err(error) => eprintln!("accept: {error}"),
            }
        }
    }

    fn start(self: &Arc<Self>, stream: TcpStream) {
        let server = Arc::clone(self);
        let name = format!("session of {:?}", stream.peer_addr().ok());
        let thread = std::thread::Builder::new().name(name.clone()).stack_size(8 << 20);
        let spawned = thread.spawn(move || match Session::new(server, stream).and_then(Session::run) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => eprintln!("{name}: {error}"),
            _ => {}
        });
        if let Err(error) = spawned {
            eprintln!("no thread for a session: {error}");
        }
    }
}
