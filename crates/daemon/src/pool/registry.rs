//! Which pools there are of one kind of database.

use super::{Key, Limit, Pool, ServerConnection};
use crate::config::{Config, DatabaseConfig};
use crate::gate::Gates;
use crate::lock;
use crate::stats::Shown;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// What a limit is for: the name of a database, and one of its standbys, which is another server.
type Limited = (String, Option<String>);

/// Pools, by what distinguishes them.
#[derive(Debug)]
pub struct PoolRegistry<S: ServerConnection> {
    pools: Mutex<HashMap<Key, Arc<Pool<S>>>>,
    /// Pools of databases that the configuration has changed, as long as they have clients.
    retired: Mutex<Vec<Retired<Arc<Pool<S>>>>>,
    /// Those that a pool or a server connection needs.
    limits: Mutex<HashMap<Limited, Weak<Limit<S>>>>,
}

impl<S: ServerConnection> Default for PoolRegistry<S> {
    fn default() -> Self {
        Self { pools: Mutex::default(), retired: Mutex::default(), limits: Mutex::default() }
    }
}

/// The pools of one kind of database, whichever it is.
pub trait AnyPools {
    /// What is shown of each pool.
    fn shown(&self) -> Vec<Shown>;
    /// Closes server connections that are not used any more.
    fn expire_connections(&self);
    /// Closes server connections that were not used for a while, and forgets pools that are not needed: those of clients
    /// that have named a server, or given a password or startup parameters that are not used any more, and those whose
    /// server has let nobody in. A client can make any number of them.
    fn expire(&self);
    /// The configuration is another one. Pools follow its numbers and times. Those of databases whose sessions are opened
    /// otherwise now lend no more connections to new clients; clients that are connected keep theirs.
    fn reload(&self, before: &Config, now: &Config);
}

impl<S: ServerConnection> PoolRegistry<S> {
    /// The pool of this key, which is made if there is none.
    pub fn pool(&self, key: Key, database: &Arc<DatabaseConfig>, gates: &Gates) -> Arc<Pool<S>> {
        let mut pools = lock(&self.pools);
        if let Some(pool) = pools.get(&key) {
            return Arc::clone(pool);
        }
        let label = key.label(database, &pools.values().map(|pool| pool.label().to_owned()).collect());
        let (limit, gate) = (self.limit(&key, database), gates.of(&key.name));
        let pool = Arc::new(Pool::new(Arc::clone(database), key.clone(), label, limit, gate));
        pools.insert(key, Arc::clone(&pool));
        pool
    }

    /// The pools that clients come to.
    pub fn all(&self) -> Vec<Arc<Pool<S>>> {
        lock(&self.pools).values().cloned().collect()
    }

    /// Those, and the ones that were retired.
    fn all_and_retired(&self) -> Vec<Arc<Pool<S>>> {
        let mut pools = self.all();
        pools.extend(lock(&self.retired).iter().map(|retired| Arc::clone(&retired.pool)));
        pools
    }

    /// The limit of all pools of this name.
    fn limit(&self, key: &Key, database: &DatabaseConfig) -> Arc<Limit<S>> {
        let (mut limits, limited) = (lock(&self.limits), (key.name.clone(), key.standby.clone()));
        if let Some(limit) = limits.get(&limited).and_then(Weak::upgrade) {
            return limit;
        }
        let limit = Arc::new(Limit::new(database.most_connections()));
        limits.insert(limited, Arc::downgrade(&limit));
        limit
    }

    /// What is open on a server counts as before, as long as it is the same server.
    fn reload_limits(&self, before: &Config, now: &Config) {
        let mut limits = lock(&self.limits);
        limits.retain(|(name, standby), limit| {
            let Some(was) = before.databases.get(name) else { return true };
            let stays = |now: &&DatabaseConfig| match standby {
                Some(standby) => now.standby_names().contains(standby),
                None => (&now.host, now.port) == (&was.host, was.port),
            };
            let Some(now) = now.databases.get(name).filter(stays) else { return false };
            if let Some(limit) = limit.upgrade() {
                limit.set_most(now.most_connections());
            }
            true
        });
    }

    /// The number of its pools and of its limits.
    #[cfg(test)]
    pub fn counts(&self) -> (usize, usize) {
        (lock(&self.pools).len(), lock(&self.limits).len())
    }
}

impl<S: ServerConnection> AnyPools for PoolRegistry<S> {
    fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = lock(&self.pools).values().map(|pool| pool.shown()).collect();
        shown.extend(lock(&self.retired).iter().map(|retired| retired.shown(|pool| pool.shown())));
        shown
    }

    fn expire_connections(&self) {
        self.all_and_retired().iter().for_each(|pool| pool.expire());
    }

    fn expire(&self) {
        self.all().iter().for_each(|pool| pool.expire());
        // Dropped after the lock: to close a connection lets others have its place.
        let forgotten: Vec<_> =
            lock(&self.retired).extract_if(.., |retired| Arc::strong_count(&retired.pool) == 1).collect();
        drop(forgotten);
        let retired = lock(&self.retired).clone();
        retired.iter().for_each(|retired| retired.pool.expire());
        lock(&self.pools).retain(|key, pool| {
            let is_plain = !key.of_client && key.password.is_none() && key.startup.len() == 2;
            let needed = is_plain && pool.stats.opened.value() > 0;
            needed || Arc::strong_count(pool) > 1 || pool.stats.open.value() > 0
        });
        lock(&self.limits).retain(|_, limit| limit.strong_count() > 0);
    }

    fn reload(&self, before: &Config, now: &Config) {
        self.reload_limits(before, now);
        // Once nothing is locked: to close a connection lets others have its place.
        let (mut changed, mut retired) = (Vec::new(), Vec::new());
        lock(&self.pools).retain(|key, pool| {
            if key.of_client {
                return true;
            }
            let now = now.databases.get(&key.name);
            let now = match &key.standby {
                Some(name) => now.and_then(|now| now.standby(name)),
                None => now.cloned(),
            };
            match now.filter(|now| pool.is_same_as(now)) {
                Some(now) if now == *pool.database() => {}
                Some(now) => changed.push((Arc::clone(pool), now)),
                None => {
                    retired.push(Arc::clone(pool));
                    return false;
                }
            }
            true
        });
        changed.into_iter().for_each(|(pool, now)| pool.change(now));
        let mut before = lock(&self.retired);
        for pool in retired {
            pool.retire();
            let label = pool.label().to_owned();
            Retired::keep(&mut before, pool, &label);
        }
    }
}

/// A pool from before the configuration was changed, whose name is that of another one now.
#[derive(Clone, Debug)]
struct Retired<P> {
    /// The pool.
    pool: P,
    /// Its name from now on: the same in each report, whichever others come and go.
    label: String,
}

impl<P> Retired<P> {
    /// Adds a pool to those that were retired before.
    fn keep(all: &mut Vec<Self>, pool: P, label: &str) {
        let mut numbered = (1_usize..).map(|n| format!("{label} (before a change, {n})"));
        let free = numbered.find(|label| all.iter().all(|other| other.label != *label));
        all.push(Self { pool, label: free.expect("there are fewer pools than numbers") });
    }

    /// What is shown of it.
    fn shown(&self, shown: impl FnOnce(&P) -> Shown) -> Shown {
        Shown { label: self.label.clone(), ..shown(&self.pool) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_pool_keeps_its_name_when_another_one_goes() {
        let mut all = Vec::new();
        for (pool, label) in [(1, "a"), (2, "a"), (3, "b")] {
            Retired::keep(&mut all, pool, label);
        }
        all.remove(0);
        Retired::keep(&mut all, 4, "a");
        let labels: Vec<_> = all.iter().map(|retired| (retired.pool, retired.label.as_str())).collect();
        let (one, two) = ("a (before a change, 1)", "a (before a change, 2)");
        assert_eq!(labels, [(2, two), (3, "b (before a change, 1)"), (4, one)]);
    }
}
