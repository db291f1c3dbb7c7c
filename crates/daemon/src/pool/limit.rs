//! The number of server connections of a database over all its pools, and who gets the next one.
//!
//! Clients are served in the order in which they came, whichever pool they need: a connection that is free goes to the
//! client of its own pool if that has waited longest, and is closed for a client of another pool otherwise. All that
//! changes who can be served ends in [`Limit::settle`], which decides.

use super::{Pooled, ServerConnection};
use crate::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The right to have a server connection open; kept as long as it is.
#[derive(Debug)]
pub struct ConnectionPermit<S: ServerConnection>(Arc<Limit<S>>);

impl<S: ServerConnection> Drop for ConnectionPermit<S> {
    fn drop(&mut self) {
        lock(&self.0.queue).taken -= 1;
        self.0.settle();
    }
}

/// What a client receives that has waited.
#[derive(Debug)]
pub enum Granted<S: ServerConnection> {
    /// The right to open a connection.
    Permit(ConnectionPermit<S>),
    /// A connection of its pool.
    Server(Pooled<S>),
}

/// The idle connections of a pool, and the clients that wait for one.
#[derive(Debug)]
pub struct Idle<S: ServerConnection> {
    /// The connections, the last used at the end.
    pub servers: Mutex<Vec<Pooled<S>>>,
    /// When the clients came that wait, as [`Limit::arrive`] counts it.
    pub waiting: Mutex<BTreeSet<u64>>,
}

impl<S: ServerConnection> Default for Idle<S> {
    fn default() -> Self {
        Self { servers: Mutex::default(), waiting: Mutex::default() }
    }
}

impl<S: ServerConnection> Idle<S> {
    /// Takes the connection that was idle for the longest time.
    pub fn longest_unused(&self) -> Option<Pooled<S>> {
        let mut servers = lock(&self.servers);
        (!servers.is_empty()).then(|| servers.remove(0))
    }

    /// The same, unless clients wait for it who came before.
    fn spare(&self, arrival: u64) -> Option<Pooled<S>> {
        let mut servers = lock(&self.servers);
        let earlier = lock(&self.waiting).range(..arrival).count();
        (servers.len() > earlier).then(|| servers.remove(0))
    }
}

/// The limit.
#[derive(Debug)]
pub struct Limit<S: ServerConnection> {
    queue: Mutex<Queue<S>>,
    arrivals: AtomicU64,
    /// The number of clients in the queue.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct Queue<S: ServerConnection> {
    most: usize,
    taken: usize,
    waiting: BTreeMap<u64, Waiter<S>>,
    pools: Vec<Weak<Idle<S>>>,
}

/// A client that can be lent a connection as soon as there is one, or may be one.
#[derive(Debug)]
struct Waiter<S: ServerConnection> {
    pool: Arc<Idle<S>>,
    sender: oneshot::Sender<Granted<S>>,
}

impl<S: ServerConnection> Limit<S> {
    /// At most so many.
    pub fn new(most: usize) -> Self {
        Self {
            queue: Mutex::new(Queue { most, taken: 0, waiting: BTreeMap::new(), pools: Vec::new() }),
            arrivals: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Another number. Connections beyond it remain until they are closed.
    pub fn set_most(self: &Arc<Self>, most: usize) {
        lock(&self.queue).most = most;
        self.settle();
    }

    /// A pool whose connections count.
    pub fn add(&self, pool: &Arc<Idle<S>>) {
        let mut queue = lock(&self.queue);
        queue.pools.retain(|pool| pool.strong_count() > 0);
        queue.pools.push(Arc::downgrade(pool));
    }

    /// A client comes: the number of its arrival.
    pub fn arrive(&self) -> u64 {
        self.arrivals.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns true if somebody waits for a connection of any pool who can be lent it at once.
    pub fn is_waited_for(&self) -> bool {
        // After a connection has become free: who has begun to wait before finds it, or is found here.
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Returns true if there is neither a place nor a connection that would be closed for somebody who needs one.
    pub fn is_exhausted(&self) -> bool {
        // Dropped after the lock: the last owner of a pool settles.
        let pools: Vec<_> = {
            let queue = lock(&self.queue);
            if queue.taken < queue.most {
                return false;
            }
            queue.pools.iter().filter_map(Weak::upgrade).collect()
        };
        pools.iter().all(|pool| lock(&pool.servers).is_empty())
    }

    /// A place, if one is free.
    pub fn try_enter(self: &Arc<Self>) -> Option<ConnectionPermit<S>> {
        lock(&self.queue).place(self)
    }

    /// Waits for a place, or for a connection of this pool. `None` if there is none in time.
    pub async fn enter(self: &Arc<Self>, pool: &Arc<Idle<S>>, arrival: u64, within: Duration) -> Option<Granted<S>> {
        let (sender, granted) = oneshot::channel();
        let _entry = Entry::new(self, arrival, Waiter { pool: Arc::clone(pool), sender });
        self.settle();
        timeout(within, granted).await.ok()?.ok()
    }

    /// Gives what is free to those who have waited longest.
    pub fn settle(self: &Arc<Self>) {
        // Closing a connection frees its place, after which more may be served.
        while let Some(closed) = self.serve() {
            closed.close();
        }
    }

    /// Serves clients as long as it can; returns a connection that is to be closed for the next one.
    fn serve(self: &Arc<Self>) -> Option<Pooled<S>> {
        // Dropped after the lock: what closes a connection settles, too. The last owner of a pool does, and a client that
        // has left without what was granted to it.
        let (mut pools, mut undelivered): (Vec<Arc<Idle<S>>>, Vec<Granted<S>>) = (Vec::new(), Vec::new());
        let mut queue = lock(&self.queue);
        while let Some((arrival, own)) = queue.first() {
            let returned = lock(&own.servers).pop();
            let granted = match returned {
                Some(server) => Granted::Server(server),
                None => match queue.place(self) {
                    Some(place) => Granted::Permit(place),
                    None => {
                        pools.extend(queue.pools.iter().filter_map(Weak::upgrade));
                        // What has come back to its own pool meanwhile is handed over by who has brought it.
                        let mut others = pools.iter().filter(|pool| !Arc::ptr_eq(pool, &own));
                        return others.find_map(|pool| pool.spare(arrival));
                    }
                },
            };
            let Waiter { pool, sender } = queue.waiting.remove(&arrival).expect("it is the first");
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            pools.push(pool);
            undelivered.extend(sender.send(granted).err());
        }
        None
    }
}

impl<S: ServerConnection> Queue<S> {
    /// Who has waited longest, and the connections of its pool.
    fn first(&self) -> Option<(u64, Arc<Idle<S>>)> {
        self.waiting.first_key_value().map(|(arrival, waiter)| (*arrival, Arc::clone(&waiter.pool)))
    }

    fn place(&mut self, limit: &Arc<Limit<S>>) -> Option<ConnectionPermit<S>> {
        if self.taken >= self.most {
            return None;
        }
        self.taken += 1;
        Some(ConnectionPermit(Arc::clone(limit)))
    }
}

/// A client in the queue.
struct Entry<'a, S: ServerConnection> {
    limit: &'a Limit<S>,
    arrival: u64,
}

impl<'a, S: ServerConnection> Entry<'a, S> {
    fn new(limit: &'a Limit<S>, arrival: u64, waiter: Waiter<S>) -> Self {
        let mut queue = lock(&limit.queue);
        queue.waiting.insert(arrival, waiter);
        limit.waiting.fetch_add(1, Ordering::SeqCst);
        Self { limit, arrival }
    }
}

impl<S: ServerConnection> Drop for Entry<'_, S> {
    fn drop(&mut self) {
        if lock(&self.limit.queue).waiting.remove(&self.arrival).is_some() {
            self.limit.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
