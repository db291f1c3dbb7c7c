//! The standbys of a database on which clients execute what they have declared to be read-only: one pool for each host.

use super::lag::Lag;
use super::pool::Pool;
use crate::config::{Config, DatabaseConfig, PoolMode};
use crate::hub::Hub;
use crate::lock;
use crate::pool::Key;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Those of one pool.
#[derive(Debug)]
pub struct Standbys {
    database: Arc<DatabaseConfig>,
    /// In the order of the hosts, of which one is the primary.
    pools: Vec<Arc<Pool>>,
    lag: Arc<Lag>,
}

/// Those of all pools that have clients.
#[derive(Debug, Default)]
pub struct AllStandbys(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    of_pools: HashMap<Key, Arc<Standbys>>,
    /// By their logins, also of those that had clients a while ago. Clients can make any number of pools, and all that differ
    /// in nothing else have one.
    lags: HashMap<Key, Arc<Lag>>,
}

impl AllStandbys {
    /// The standbys for the clients of a pool; `None` if everything is executed where the pool's connections go.
    pub fn of(&self, pool: &Pool, hub: &Hub) -> Option<Arc<Standbys>> {
        let database = pool.database();
        let names = database.standby_names();
        // A session that stays with its client cannot be in two places.
        if names.is_empty() || pool.mode == PoolMode::Session {
            return None;
        }
        let All { of_pools, lags } = &mut *lock(&self.0);
        // A client that is connected since before a change of the configuration has what it came with.
        if let Some(known) = of_pools.get(&pool.key).filter(|known| known.database.differs_in_limits_only(&database)) {
            return Some(Arc::clone(known));
        }
        let pool_of = |name: &String| {
            let database = database.standby(name)?;
            Some(hub.pool(Key { standby: Some(name.clone()), ..pool.key.clone() }, &Arc::new(database)))
        };
        let login = Lag::login(&pool.key);
        let lag = match lags.get(&login).filter(|known| known.database.differs_in_limits_only(&database)) {
            Some(known) => Arc::clone(known),
            None => {
                let made = Arc::new(Lag::new(&database, login.clone()));
                lags.insert(login, Arc::clone(&made));
                made
            }
        };
        let made = Arc::new(Standbys { pools: names.iter().filter_map(pool_of).collect(), lag, database });
        of_pools.insert(pool.key.clone(), Arc::clone(&made));
        Some(made)
    }

    /// The configuration is another one: who asks for lag follows its numbers and times, as pools do.
    pub fn reload(&self, now: &Config) {
        for lag in lock(&self.0).lags.values().filter(|lag| !lag.key().of_client) {
            if let Some(now) = now.databases.get(&lag.key().name).filter(|now| lag.database.differs_in_limits_only(now))
            {
                lag.change(now);
            }
        }
    }

    /// Forgets those that were not needed for a while.
    pub fn expire(&self) {
        let All { of_pools, lags } = &mut *lock(&self.0);
        of_pools.retain(|_, standbys| Arc::strong_count(standbys) > 1);
        lags.retain(|_, lag| Arc::strong_count(lag) > 1 || lag.is_asked());
    }
}

impl Standbys {
    /// The pools of those that may be read from now, the next one first.
    pub async fn in_turn(&self) -> Vec<Arc<Pool>> {
        self.lag.fit().await.into_iter().map(|host| Arc::clone(&self.pools[host])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::gate::Gates;
    use crate::leaving::Leaving;
    use crate::pool::Limit;
    use tokio::runtime::Handle;
    use tokio::sync::watch;

    #[tokio::test]
    async fn pools_of_one_login_have_the_hosts_asked_once() {
        let hub = Hub::new(Config::default(), Handle::current(), watch::channel(Leaving::Nobody).1);
        let of = |startup: &[(&str, &str)], more: &str| {
            let entry = format!("host = 'one,other'\nstandby_reads = true\n{more}");
            let database = Arc::new(DatabaseConfig::of_client(&entry).unwrap());
            let startup = startup.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let key = Key { name: "app".into(), of_client: false, startup, password: None, standby: None };
            let pool = Arc::new(Pool::new(
                database,
                key.clone(),
                String::new(),
                Arc::new(Limit::new(1)),
                Gates::default().of("app"),
            ));
            hub.standbys.of(&pool, &hub).unwrap()
        };
        let login = [("user", "jo"), ("database", "app")];
        let first = of(&login, "");
        for (startup, more, is_same) in [
            (&[("user", "jo"), ("database", "app"), ("options", "-c x=1")][..], "", true),
            (&[("database", "app"), ("user", "jo"), ("work_mem", "64")], "", true),
            (&[("user", "other"), ("database", "app")], "", false),
            (&[("user", "jo"), ("database", "other")], "", false),
            (&login, "max_lag = 1", false),
        ] {
            let next = of(startup, more);
            assert!(!Arc::ptr_eq(&first, &next));
            assert_eq!(Arc::ptr_eq(&first.lag, &next.lag), is_same, "{startup:?} {more}");
        }
        hub.expire();
        let counts = || {
            let all = lock(&hub.standbys.0);
            (all.of_pools.len(), all.lags.len())
        };
        assert_eq!(counts(), (0, 0), "the first one was replaced by that of another configuration");
        drop(first);
        let _again = of(&login, "");
        hub.expire();
        assert_eq!(counts(), (1, 1));
    }

    #[tokio::test]
    async fn who_asks_for_lag_follows_numbers_that_are_changed() {
        let read = |more: &str| {
            DatabaseConfig::of_client(&format!("host = 'one,other'\nstandby_reads = true\n{more}")).unwrap()
        };
        let of = |database| {
            let mut config = Config::default();
            config.databases.insert("app".to_owned(), database);
            config
        };
        let database = Arc::new(read(""));
        let hub = Hub::new(of(read("")), Handle::current(), watch::channel(Leaving::Nobody).1);
        let startup = [("user", "jo"), ("database", "app")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let key =
            Key { name: "app".into(), of_client: false, startup: startup.to_vec(), password: None, standby: None };
        let standbys = hub.standbys.of(&hub.pool(key, &database), &hub).unwrap();
        let limits = || [0, 1].map(|host| standbys.lag.host(host).connect_timeout().as_secs());
        for (more, seconds) in [("connect_timeout = 3", 3), ("max_lag = 1\nconnect_timeout = 4", 3), ("", 10)] {
            hub.reload(of(read(more)));
            assert_eq!(limits(), [seconds; 2], "{more}");
        }
    }
}
