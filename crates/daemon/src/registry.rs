//! The clients that are connected: who they are, what they do, and who may cancel what they run.

use crate::gate::Kill;
use crate::lock;
use crate::postgres::server::Cancel;
use crate::replies::{Ended, KILLED};
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The server connection that a client has at the moment. It stays locked while a CancelRequest is under way, so that
/// the connection cannot be lent to somebody else whose statement it would hit.
pub type Running = Arc<tokio::sync::Mutex<Option<Arc<Cancel>>>>;

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing that a server connection is needed for.
    Idle,
    /// It waits for one.
    Waiting,
    /// It has one.
    Active,
    /// It has one that cannot be lent to another, for this reason.
    Pinned(&'static str),
}

/// Added to a client's number for the process id that it is told: no process of Linux has that one (`PID_MAX_LIMIT`), so
/// a client that names it to `pg_terminate_backend` or `pg_cancel_backend` does not end somebody else's session.
const ABOVE_PROCESSES: i32 = 1 << 22;

/// A client.
#[derive(Debug)]
pub struct Client {
    /// Its number, from 1.
    pub number: i32,
    /// The process id that it was told.
    process_id: i32,
    secret: i32,
    /// Who it is.
    pub info: ClientInfo,
    /// When it came.
    pub since: Instant,
    state: Mutex<(Activity, Instant)>,
    /// What is cancelled when it asks for that.
    pub running: Running,
    /// The same while it waits for a server connection, and for databases that are not PostgreSQL's, whose session
    /// cancels what it runs itself.
    pub interrupt: Arc<Notify>,
    /// Given by an operator who ends its connection.
    kill: Kill,
}

impl Client {
    /// Ends its connection.
    pub fn kill(&self) {
        self.kill.give();
    }

    /// Another task than before serves it, and waits for the end.
    pub fn is_served_by_another_task(&self) {
        self.kill.is_waited_for_by_another_task();
    }

    /// Waits until its connection is to be ended; returns what it is told.
    pub async fn killed(&self) -> Ended {
        self.kill.given().await;
        Ended::new(KILLED, "headraced: the connection is closed: an operator has ended it")
    }

    /// Waits for something that only this client needs.
    ///
    /// # Errors
    /// [`Ended`]: the connection was ended before.
    pub async fn unless_killed<T>(&self, needed: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::select! {
            biased;
            found = needed => Ok(found),
            ended = self.killed() => Err(ended),
        }
    }

    /// What it does, and for how long.
    pub fn activity(&self) -> (Activity, Duration) {
        let state = lock(&self.state);
        (state.0, state.1.elapsed())
    }

    /// Returns true if a CancelRequest has come, and forgets it: one that came when nothing was under way is for nothing
    /// that comes later.
    pub async fn take_cancel(&self) -> bool {
        tokio::select! {
            biased;
            () = self.interrupt.notified() => true,
            () = std::future::ready(()) => false,
        }
    }

    /// It does something else now.
    pub fn set_activity(&self, activity: Activity) {
        self.set_activity_at(activity, Instant::now());
    }

    /// The same for a caller that has the time.
    pub fn set_activity_at(&self, activity: Activity, now: Instant) {
        let mut state = lock(&self.state);
        if state.0 != activity {
            *state = (activity, now);
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Registry {
    clients: Mutex<HashMap<i32, Arc<Client>>>,
    numbers: AtomicI32,
}

/// Who a client is, as it has said when it came.
#[derive(Debug, Default)]
pub struct ClientInfo {
    /// The number of its process.
    pub peer: Option<i32>,
    /// Where it comes from, if that is TCP.
    pub address: Option<String>,
    /// It has TLS.
    pub tls: bool,
    /// The name of its database in the configuration; `None` if it has named its server.
    pub name: Option<String>,
    /// The name of its database on the server.
    pub database: String,
    /// Its user on the server.
    pub user: String,
    /// What it calls itself.
    pub application: String,
}

impl Registry {
    /// The next client has this number.
    pub fn continue_from(&self, number: i32) {
        self.numbers.store(number, Ordering::Relaxed);
    }

    /// The number of the next client.
    pub fn next_number(&self) -> i32 {
        self.numbers.load(Ordering::Relaxed)
    }

    /// A client comes: it gets a process id and a secret key.
    pub fn enter(&self, info: ClientInfo) -> Entered<'_> {
        let mut secret = [0; 4];
        getrandom::fill(&mut secret).expect("the system has random numbers");
        let mut clients = lock(&self.clients);
        let (number, process_id) = loop {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) & ((1 << 30) - 1);
            let process_id = ABOVE_PROCESSES + number;
            if number != 0 && !clients.contains_key(&process_id) {
                break (number, process_id);
            }
        };
        let now = Instant::now();
        let client = Arc::new(Client {
            number,
            process_id,
            secret: i32::from_be_bytes(secret),
            info,
            since: now,
            state: Mutex::new((Activity::Idle, now)),
            running: Running::default(),
            interrupt: Arc::default(),
            kill: Kill::default(),
        });
        clients.insert(process_id, Arc::clone(&client));
        Entered { client, registry: self }
    }

    /// What is cancelled by this key, if it is right.
    pub fn cancelled_by(&self, process_id: i32, secret: i32) -> Option<Arc<Client>> {
        lock(&self.clients).get(&process_id).filter(|client| client.secret == secret).cloned()
    }

    /// All clients, in the order in which they came.
    pub fn all(&self) -> Vec<Arc<Client>> {
        let mut all: Vec<Arc<Client>> = lock(&self.clients).values().cloned().collect();
        all.sort_by_key(|client| client.since);
        all
    }

    /// The number of clients.
    pub fn len(&self) -> usize {
        lock(&self.clients).len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A client that is connected as long as this is kept.
#[derive(Debug)]
pub struct Entered<'a> {
    /// The client.
    pub client: Arc<Client>,
    registry: &'a Registry,
}

impl Entered<'_> {
    /// The process id and the secret key.
    pub fn key(&self) -> (i32, i32) {
        (self.client.process_id, self.client.secret)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        lock(&self.registry.clients).remove(&self.client.process_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_process_id_is_that_of_no_process() {
        let registry = Registry::default();
        registry.numbers.store(-1, Ordering::Relaxed);
        let clients: Vec<Entered<'_>> = (0..3).map(|_| registry.enter(ClientInfo::default())).collect();
        for entered in &clients {
            let (process_id, secret) = entered.key();
            assert!(process_id > ABOVE_PROCESSES);
            assert!(registry.cancelled_by(process_id, secret).is_some());
        }
    }
}
