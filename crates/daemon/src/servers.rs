//! The server connections that are open, for those who ask which there are.

use crate::gate::Passed;
use crate::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A server connection.
#[derive(Debug)]
pub struct OpenServer {
    /// Its number, from 1.
    pub number: u64,
    /// Where the server is.
    pub address: String,
    /// The process of the server, if it has said which.
    pub process_id: Option<i32>,
    /// When it was opened.
    pub opened: Instant,
    passed: Passed,
    /// The number of the client that has it; 0 if none has.
    client: AtomicI32,
    since: Mutex<Instant>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl OpenServer {
    /// Returns true if it is to be closed as soon as nobody has it.
    pub fn is_over(&self) -> bool {
        self.passed.is_over()
    }

    /// A client has it now.
    pub fn is_lent_to(&self, client: i32, now: Instant) {
        self.set_client(client, now);
    }

    /// Nobody has it any more.
    pub fn is_back(&self, now: Instant) {
        self.set_client(0, now);
    }

    fn set_client(&self, client: i32, now: Instant) {
        self.client.store(client, Ordering::Relaxed);
        *lock(&self.since) = now;
    }

    /// The number of the client that has it, and since when, or since when nobody has.
    pub fn client(&self) -> (Option<i32>, Instant) {
        let since = *lock(&self.since);
        (Some(self.client.load(Ordering::Relaxed)).filter(|client| *client > 0), since)
    }
}

/// Those of a pool.
#[derive(Debug, Default)]
pub struct Servers(Mutex<BTreeMap<u64, Arc<OpenServer>>>);

impl Servers {
    /// One was opened.
    pub fn enter(&self, address: String, process_id: Option<i32>, passed: Passed) -> Arc<OpenServer> {
        let now = Instant::now();
        let server = Arc::new(OpenServer {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            address,
            process_id,
            opened: now,
            passed,
            client: AtomicI32::new(0),
            since: Mutex::new(now),
        });
        lock(&self.0).insert(server.number, Arc::clone(&server));
        server
    }

    /// It is closed.
    pub fn leave(&self, server: &OpenServer) {
        lock(&self.0).remove(&server.number);
    }

    /// Those that are open, in the order in which they were opened.
    pub fn all(&self) -> Vec<Arc<OpenServer>> {
        lock(&self.0).values().cloned().collect()
    }
}
