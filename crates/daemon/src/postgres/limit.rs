//! The number of server connections of a database, over all its users.

use super::pool::Pool;
use crate::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The right to have a server connection open; kept as long as it is.
#[derive(Debug)]
pub struct Place(#[expect(dead_code, reason = "kept to be dropped")] Option<OwnedSemaphorePermit>);

/// The limit.
#[derive(Debug)]
pub struct Limit {
    places: Option<Arc<Semaphore>>,
    waiting: AtomicUsize,
    pools: Mutex<Vec<Weak<Pool>>>,
}

impl Limit {
    /// So many, or any number.
    pub fn new(most: Option<usize>) -> Self {
        Self {
            places: most.map(|most| Arc::new(Semaphore::new(most))),
            waiting: AtomicUsize::new(0),
            pools: Mutex::default(),
        }
    }

    /// A pool whose connections count.
    pub fn add(&self, pool: &Arc<Pool>) {
        if self.places.is_some() {
            let mut pools = lock(&self.pools);
            pools.retain(|pool| pool.strong_count() > 0);
            pools.push(Arc::downgrade(pool));
        }
    }

    /// Returns true if somebody waits for a place.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// A place: a free one, that of a connection that nobody uses, or the next that becomes free. `None` if none does in
    /// time.
    pub async fn enter(&self, within: Duration) -> Option<Place> {
        let Some(places) = &self.places else { return Some(Place(None)) };
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some(Place(Some(place)));
        }
        let _waits = Waits::new(&self.waiting);
        let pools: Vec<Arc<Pool>> = lock(&self.pools).iter().filter_map(Weak::upgrade).collect();
        // The place of what is closed here goes to the request that has waited longest.
        pools.iter().any(|pool| pool.give_up_one());
        drop(pools);
        let place = timeout(within, Arc::clone(places).acquire_owned()).await.ok()?;
        Some(Place(place.ok()))
    }
}

struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
