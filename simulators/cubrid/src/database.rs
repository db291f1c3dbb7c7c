//! The database that the sessions share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;

use crate::catalog;
use crate::engine::{Kept, Number, register_collations};
use crate::lobs::Lobs;

/// A database.
pub struct CubridDatabase {
    path: PathBuf,
    /// The numbers of AUTO_INCREMENT and of serials.
    pub numbers: Arc<Mutex<HashMap<String, Number>>>,
    /// Counts the changes of definitions.
    pub generation: AtomicU64,
    /// The large objects.
    pub lobs: Arc<Lobs>,
    /// The sessions by their numbers, for those that come back.
    pub sessions: Mutex<HashMap<i32, Arc<Mutex<Kept>>>>,
    /// As long as there is one connection, the last one to close does not tidy up while others open.
    _keeper: Mutex<Connection>,
}

impl CubridDatabase {
    /// A new and empty database in a folder.
    ///
    /// # Errors
    /// SQLite's.
    pub fn create(folder: &Path, name: &str) -> rusqlite::Result<Self> {
        let path = folder.join(format!("{name}.sqlite"));
        let keeper = connect(&path)?;
        register_collations(&keeper)?;
        keeper.execute_batch(catalog::SCHEMA)?;
        Ok(Self {
            path,
            numbers: Arc::default(),
            generation: AtomicU64::new(1),
            lobs: Arc::default(),
            sessions: Mutex::default(),
            _keeper: Mutex::new(keeper),
        })
    }

    /// A connection of its own for a session.
    ///
    /// # Errors
    /// SQLite's.
    pub fn connect(&self) -> rusqlite::Result<Connection> {
        connect(&self.path)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -65536;",
    )?;
    connection.set_prepared_statement_cache_capacity(256);
    // From here on the session decides how long to wait for a lock.
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}
