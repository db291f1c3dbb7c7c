//! The configuration of a pool, as it was read last.

use crate::config::DatabaseConfig;
use crate::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The settings of a pool's database. Those that decide how its sessions are opened never change; numbers and times may.
#[derive(Debug)]
pub(super) struct Configured {
    database: Mutex<Arc<DatabaseConfig>>,
    /// Microseconds after which a server connection that was not used is checked, and for which one is used: each
    /// transaction asks for these.
    check_after: AtomicU64,
    lifetime: AtomicU64,
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Configured {
    pub(super) fn new(database: Arc<DatabaseConfig>) -> Self {
        let [check_after, lifetime] = times(&database).map(AtomicU64::new);
        Self { database: Mutex::new(database), check_after, lifetime }
    }

    pub(super) fn database(&self) -> Arc<DatabaseConfig> {
        Arc::clone(&lock(&self.database))
    }

    pub(super) fn set(&self, database: Arc<DatabaseConfig>) {
        let [check_after, lifetime] = times(&database);
        self.check_after.store(check_after, Ordering::Relaxed);
        self.lifetime.store(lifetime, Ordering::Relaxed);
        *lock(&self.database) = database;
    }

    pub(super) fn check_after(&self) -> Duration {
        Duration::from_micros(self.check_after.load(Ordering::Relaxed))
    }

    pub(super) fn lifetime(&self) -> Duration {
        Duration::from_micros(self.lifetime.load(Ordering::Relaxed))
    }
}

fn times(database: &DatabaseConfig) -> [u64; 2] {
    [database.check_after(), Duration::from_secs_f64(database.lifetime())].map(microseconds)
}
