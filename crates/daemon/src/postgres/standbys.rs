//! The standbys of a database on which clients execute what they have declared to be read-only: one pool for each host.

use super::lag::Lag;
use super::pool::Pool;
use crate::config::{Database, PoolMode};
use crate::hub::Hub;
use crate::lock;
use crate::pool::Key;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Those of one pool.
#[derive(Debug)]
pub struct Standbys {
    database: Arc<Database>,
    /// In the order of the hosts, of which one is the primary.
    pools: Vec<Arc<Pool>>,
    lag: Arc<Lag>,
    /// Counts transactions.
    turn: AtomicUsize,
}

/// Those of all pools that have clients, or had some a while ago.
#[derive(Debug, Default)]
pub struct AllStandbys(Mutex<HashMap<Key, Arc<Standbys>>>);

impl AllStandbys {
    /// The standbys for the clients of a pool; `None` if everything is executed where the pool's connections go.
    pub fn of(&self, pool: &Pool, hub: &Hub) -> Option<Arc<Standbys>> {
        let names = pool.database.standby_names();
        // A session that stays with its client cannot be in two places.
        if names.is_empty() || pool.mode == PoolMode::Session {
            return None;
        }
        let mut all = lock(&self.0);
        // A client that is connected since before a change of the configuration has what it came with.
        if let Some(known) = all.get(&pool.key).filter(|known| known.database == pool.database) {
            return Some(Arc::clone(known));
        }
        let pool_of = |name: &String| {
            let database = pool.database.standby(name)?;
            Some(hub.pool(Key { standby: Some(name.clone()), ..pool.key.clone() }, &Arc::new(database)))
        };
        let made = Arc::new(Standbys {
            pools: names.iter().filter_map(pool_of).collect(),
            lag: Arc::new(Lag::new(&pool.database, &pool.key)),
            database: Arc::clone(&pool.database),
            turn: AtomicUsize::new(0),
        });
        all.insert(pool.key.clone(), Arc::clone(&made));
        Some(made)
    }

    /// Forgets those that nobody has needed for a while.
    pub fn expire(&self) {
        lock(&self.0).retain(|_, standbys| Arc::strong_count(standbys) > 1 || standbys.lag.is_asked());
    }
}

impl Standbys {
    /// The pools of those that may be read from now, the next one first, and those last whose connections are all in use.
    pub async fn in_turn(&self) -> Vec<Arc<Pool>> {
        let mut fit: Vec<_> = self.lag.fit().await.into_iter().map(|host| Arc::clone(&self.pools[host])).collect();
        if !fit.is_empty() {
            let next = self.turn.fetch_add(1, Ordering::Relaxed) % fit.len();
            fit.rotate_left(next);
            fit.sort_by_key(|pool| pool.is_exhausted());
        }
        fit
    }
}
