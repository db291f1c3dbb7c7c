//! Counters of a pool, and of the daemon.

use crate::config::{Driver, PoolMode};
use crate::limits::COUNTED_SQLSTATES;
use crate::lock;
use crate::pool::NotLent;
use crate::servers::Servers;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The value.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that grows and shrinks.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Adds `n`.
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The value.
    pub fn value(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper ends of a histogram's buckets.
pub const BOUNDS: [Duration; 9] = [
    Duration::from_micros(50),
    Duration::from_micros(200),
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(10),
];

/// How long something takes.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Counter; BOUNDS.len() + 1],
    microseconds: Counter,
}

impl Histogram {
    /// Adds one.
    pub fn observe(&self, took: Duration) {
        let bucket = BOUNDS.iter().position(|bound| took <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].add(1);
        self.microseconds.add(took.as_micros() as u64);
    }

    /// The number in each bucket, the last without a bound.
    pub fn counts(&self) -> [u64; BOUNDS.len() + 1] {
        std::array::from_fn(|at| self.buckets[at].value())
    }

    /// All of them together, in seconds.
    pub fn seconds(&self) -> f64 {
        self.microseconds.value() as f64 / 1e6
    }
}

/// Of one pool.
#[derive(Debug, Default)]
pub struct Stats {
    /// Clients that were let in.
    pub logins: Counter,
    /// Server connections that are open.
    pub open: Gauge,
    /// Which these are.
    pub servers: Servers,
    /// Those that were opened.
    pub opened: Counter,
    /// Those that could not be opened.
    pub failed: Counter,
    /// Times that a server connection was lent.
    pub lent: Counter,
    /// Clients that waited too long, or were too many to wait.
    pub not_lent: Counter,
    /// How long clients wait for a server connection.
    pub wait: Histogram,
    /// How long server connections are lent.
    pub used: Histogram,
    /// How long opening one takes.
    pub create: Histogram,
    /// Parse messages that no server had to see.
    pub spared: Counter,
    /// Parse messages that a server has seen.
    pub prepared: Counter,
    /// Statements that were prepared on another server connection.
    pub prepared_again: Counter,
    /// Bind messages.
    pub bound: Counter,
    /// Requests that were answered: a Query, or a group of messages up to its Sync.
    pub requests: Counter,
    /// Times that a server has reported that no transaction is open.
    pub transactions: Counter,
    /// Bytes received from servers.
    pub received: Counter,
    /// Bytes sent to servers.
    pub sent: Counter,
    /// Statements that were cancelled.
    pub cancelled: Counter,
    /// Server connections that had to stay with their client, by reason.
    pub pins: Counts<&'static str>,
    /// Errors by SQLSTATE.
    pub errors: Counts<String>,
}

impl Stats {
    /// A client was lent a server connection, or not, after it has waited since `began`.
    pub fn note_lending<T>(&self, began: Instant, lent: &Result<T, NotLent>) {
        match lent {
            Ok(_) => self.note_lent(began.elapsed()),
            Err(NotLent::Failed(_)) => self.failed.add(1),
            Err(_) => self.not_lent.add(1),
        }
    }

    /// A client was lent a server connection after it has waited so long.
    pub fn note_lent(&self, waited: Duration) {
        self.lent.add(1);
        self.wait.observe(waited);
    }
}

/// What is shown of a pool, whichever database it is of.
#[derive(Debug)]
pub struct Shown {
    /// The user and the name of the database, with a number if there are several pools of them.
    pub label: String,
    /// The name of the database in the configuration, or the server that a client has named.
    pub database: String,
    /// The user on the server.
    pub user: String,
    /// No server connection is lent.
    pub paused: bool,
    /// The startup parameters other than these.
    pub startup: BTreeMap<String, String>,
    /// The kind of its server.
    pub driver: Driver,
    /// When its connections go back.
    pub mode: PoolMode,
    /// The number of connections that it may have.
    pub size: usize,
    /// Those that nobody uses.
    pub idle: usize,
    /// Clients that wait for one.
    pub waiting: usize,
    /// Its counters.
    pub stats: Arc<Stats>,
}

/// Counters by name.
#[derive(Debug)]
pub struct Counts<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Clone> Counts<K> {
    /// Adds one. Names beyond a number that is large enough for what servers send are not counted.
    pub fn add(&self, name: K) {
        let mut counts = lock(&self.0);
        if counts.len() < COUNTED_SQLSTATES || counts.contains_key(&name) {
            *counts.entry(name).or_default() += 1;
        }
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<K, u64> {
        lock(&self.0).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_counts_by_upper_bounds() {
        let histogram = Histogram::default();
        for micros in [50, 51, 200, 20_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        assert_eq!(histogram.counts(), [1, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!((histogram.seconds() - 20.000_301).abs() < 1e-9);
    }
}
