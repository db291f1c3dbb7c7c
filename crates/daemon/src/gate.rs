//! What operators order for a database: that its server connections are lent or not, from when on they have to have been
//! opened, and that a client leaves.

use crate::lock;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Poll, Waker};
use tokio::sync::watch;

/// Of one database: what all of its pools have to keep to.
#[derive(Debug)]
pub struct Gate {
    paused: AtomicBool,
    /// The same for those who wait.
    changes: watch::Sender<bool>,
    generation: AtomicU64,
}

impl Gate {
    fn new(paused: bool) -> Self {
        Self { paused: AtomicBool::new(paused), changes: watch::Sender::new(paused), generation: AtomicU64::new(0) }
    }

    /// Returns true if no server connection is lent.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Waits until server connections are lent again.
    pub async fn opened(&self) {
        // The sender is here: it is not gone.
        let _ = self.changes.subscribe().wait_for(|paused| !paused).await;
    }

    /// Connections that were opened in another generation are closed when they are not lent.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn order(&self, paused: Option<bool>) {
        if paused != Some(false) {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(paused) = paused {
            self.paused.store(paused, Ordering::Release);
            self.changes.send_replace(paused);
        }
    }
}

/// A server connection was opened through a gate.
#[derive(Clone, Debug)]
pub struct Passed {
    gate: Arc<Gate>,
    generation: u64,
}

impl Passed {
    /// One that is about to be opened.
    pub fn new(gate: &Arc<Gate>) -> Self {
        Self { gate: Arc::clone(gate), generation: gate.generation() }
    }

    /// Returns true if the connection is to be closed as soon as it is not lent.
    pub fn is_over(&self) -> bool {
        self.gate.is_paused() || self.gate.generation() != self.generation
    }
}

/// What operators have ordered of databases that are paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Databases are paused of which nothing else was said since.
    all: bool,
    said: HashMap<String, bool>,
}

/// Those of all databases.
#[derive(Debug, Default)]
pub struct Gates(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    paused: Paused,
    gates: HashMap<String, Weak<Gate>>,
}

impl Known {
    fn is_paused(&self, name: &str) -> bool {
        self.paused.said.get(name).copied().unwrap_or(self.paused.all)
    }
}

impl Gates {
    /// The gate of a database.
    pub fn of(&self, name: &str) -> Arc<Gate> {
        let mut known = lock(&self.0);
        if let Some(gate) = known.gates.get(name).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Arc::new(Gate::new(known.is_paused(name)));
        known.gates.insert(name.to_owned(), Arc::downgrade(&gate));
        gate
    }

    /// Returns true if the server connections of a database are not lent.
    pub fn is_paused(&self, name: &str) -> bool {
        lock(&self.0).is_paused(name)
    }

    /// Returns true if those of any database are not lent.
    pub fn are_any_paused(&self) -> bool {
        let known = lock(&self.0);
        known.paused.all || known.paused.said.values().any(|paused| *paused)
    }

    /// Pauses a database, or lends its connections again; without a name all databases, those to come included.
    pub fn pause(&self, name: Option<&str>, paused: bool) {
        let mut known = lock(&self.0);
        match name {
            Some(name) => drop(known.paused.said.insert(name.to_owned(), paused)),
            None => {
                known.paused = Paused { all: paused, said: HashMap::new() };
            }
        }
        known.order(name, Some(paused));
    }

    /// Which databases are paused.
    pub fn paused(&self) -> Paused {
        lock(&self.0).paused.clone()
    }

    /// The same databases as in another daemon are paused, before any of them has a gate.
    pub fn restore(&self, paused: Paused) {
        lock(&self.0).paused = paused;
    }

    /// Has all server connections closed, each as soon as it is not lent.
    pub fn reconnect(&self, name: Option<&str>) {
        lock(&self.0).order(name, None);
    }

    /// Forgets the gates of databases that have no pool.
    pub fn expire(&self) {
        lock(&self.0).gates.retain(|_, gate| gate.strong_count() > 0);
    }
}

impl Known {
    fn order(&self, name: Option<&str>, paused: Option<bool>) {
        let gates = self.gates.iter().filter(|(known, _)| name.is_none_or(|name| name == *known));
        gates.filter_map(|(_, gate)| gate.upgrade()).for_each(|gate| gate.order(paused));
    }
}

/// Whether a client has to leave. One task at a time waits for it.
#[derive(Debug, Default)]
pub struct Kill {
    given: AtomicBool,
    /// The waker is that of the task: it need not be looked at each time that the task does something.
    has_waker: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Kill {
    /// The client has to leave.
    pub fn give(&self) {
        self.given.store(true, Ordering::SeqCst);
        if let Some(waker) = lock(&self.waker).as_ref() {
            waker.wake_by_ref();
        }
    }

    /// The next one that waits is another task.
    pub fn is_waited_for_by_another_task(&self) {
        self.has_waker.store(false, Ordering::Relaxed);
    }

    /// Waits until the client has to leave.
    pub async fn given(&self) {
        poll_fn(|context| {
            if !self.has_waker.load(Ordering::Relaxed) {
                *lock(&self.waker) = Some(context.waker().clone());
                self.has_waker.store(true, Ordering::Relaxed);
            }
            // It may have been given before the waker was there.
            if self.given.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_of_a_database_goes_before_what_was_said_of_all_before() {
        let gates = Gates::default();
        let (one, other) = (gates.of("one"), gates.of("other"));
        let paused = || [one.is_paused(), other.is_paused(), gates.of("new").is_paused()];
        let orders = [
            (None, true, [true, true, true]),
            (Some("one"), false, [false, true, true]),
            (None, false, [false, false, false]),
            (Some("one"), true, [true, false, false]),
            (None, false, [false, false, false]),
        ];
        for (name, order, expected) in orders {
            gates.pause(name, order);
            assert_eq!(paused(), expected, "{name:?} {order}");
            assert_eq!(gates.is_paused("new"), expected[2]);
        }
    }

    #[test]
    fn connections_of_before_are_over() {
        let gates = Gates::default();
        let gate = gates.of("one");
        let passed = Passed::new(&gate);
        gates.reconnect(Some("other"));
        assert!(!passed.is_over());
        gates.reconnect(None);
        assert!(passed.is_over() && !Passed::new(&gate).is_over());
        gates.pause(Some("one"), true);
        let while_paused = Passed::new(&gate);
        assert!(while_paused.is_over());
        gates.pause(Some("one"), false);
        assert!(passed.is_over() && !while_paused.is_over());
        gates.expire();
        assert!(Arc::ptr_eq(&gate, &gates.of("one")));
    }

    #[tokio::test]
    async fn order_reaches_who_waits_and_who_comes_later() {
        let order = Arc::new(Kill::default());
        let waiting = tokio::spawn({
            let order = Arc::clone(&order);
            async move { order.given().await }
        });
        tokio::task::yield_now().await;
        order.give();
        waiting.await.expect("it has waited");
        order.given().await;
        let moved = Arc::new(Kill::default());
        let before = moved.given();
        tokio::pin!(before);
        assert!(tokio::time::timeout(std::time::Duration::ZERO, before).await.is_err());
        moved.is_waited_for_by_another_task();
        let waiting = tokio::spawn({
            let moved = Arc::clone(&moved);
            async move { moved.given().await }
        });
        tokio::task::yield_now().await;
        moved.give();
        waiting.await.expect("another task has waited");
    }
}
