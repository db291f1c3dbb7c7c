//! The pools of all databases that are not PostgreSQL's.

use super::backend::{Cubrid, Informix, MySql};
use super::pool::Pool;
use super::session;
use crate::client::Client;
use crate::config::{Config, Database};
use crate::gate::Gate;
use crate::hub::{Hub, Retired};
use crate::lock;
use crate::postgres::pool::{Key, Parameters};
use crate::registry::Entered;
use crate::replies::Ended;
use crate::stats::Shown;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A pool of one kind of database.
#[derive(Clone, Debug)]
pub enum Lender {
    /// MySQL and MariaDB.
    MySql(Arc<Pool<MySql>>),
    /// Informix.
    Informix(Arc<Pool<Informix>>),
    /// CUBRID.
    Cubrid(Arc<Pool<Cubrid>>),
}

/// Which kind of database it is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// MySQL and MariaDB.
    MySql,
    /// Informix.
    Informix,
    /// CUBRID.
    Cubrid,
}

/// What a client asks for.
#[derive(Debug)]
pub struct Wanted {
    lender: Lender,
    settings: Parameters,
}

impl Lender {
    /// Closes sessions that nobody has used for a while.
    fn expire(&self) {
        match self {
            Self::MySql(pool) => pool.expire(),
            Self::Informix(pool) => pool.expire(),
            Self::Cubrid(pool) => pool.expire(),
        }
    }

    /// What is shown of it.
    fn shown(&self) -> Shown {
        match self {
            Self::MySql(pool) => pool.shown(),
            Self::Informix(pool) => pool.shown(),
            Self::Cubrid(pool) => pool.shown(),
        }
    }

    /// Its settings.
    fn database(&self) -> &Database {
        match self {
            Self::MySql(pool) => &pool.database,
            Self::Informix(pool) => &pool.database,
            Self::Cubrid(pool) => &pool.database,
        }
    }

    /// Returns true if a client has it, or a session is kept open.
    fn is_used(&self) -> bool {
        match self {
            Self::MySql(pool) => Arc::strong_count(pool) > 1 || pool.idle() > 0,
            Self::Informix(pool) => Arc::strong_count(pool) > 1 || pool.idle() > 0,
            Self::Cubrid(pool) => Arc::strong_count(pool) > 1 || pool.idle() > 0,
        }
    }
}

/// Pools, by what distinguishes them.
#[derive(Debug, Default)]
pub struct Fronts {
    pools: Mutex<HashMap<Key, Lender>>,
    /// Those of databases that the configuration has changed, as long as they have clients or sessions.
    retired: Mutex<Vec<Retired<Lender>>>,
}

impl Fronts {
    /// The pool of a database, with the settings of a client.
    pub fn wanted(&self, kind: Kind, key: Key, database: Database, settings: Parameters, gate: Arc<Gate>) -> Wanted {
        let mut pools = lock(&self.pools);
        if let Some(lender) = pools.get(&key) {
            return Wanted { lender: lender.clone(), settings };
        }
        let label = key.label(&database, &pools.values().map(|pool| pool.shown().label).collect());
        let database = Arc::new(database);
        let lender = match kind {
            Kind::MySql => Lender::MySql(Arc::new(Pool::new(database, &key, label, gate))),
            Kind::Informix => Lender::Informix(Arc::new(Pool::new(database, &key, label, gate))),
            Kind::Cubrid => Lender::Cubrid(Arc::new(Pool::new(database, &key, label, gate))),
        };
        pools.insert(key, lender.clone());
        Wanted { lender, settings }
    }

    /// What is shown of each pool.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = lock(&self.pools).values().map(Lender::shown).collect();
        shown.extend(lock(&self.retired).iter().map(|retired| retired.shown(Lender::shown)));
        shown
    }

    /// Closes sessions that nobody uses any more.
    pub fn expire_sessions(&self) {
        let mut pools: Vec<Lender> = lock(&self.pools).values().cloned().collect();
        pools.extend(lock(&self.retired).iter().map(|retired| retired.pool.clone()));
        pools.iter().for_each(Lender::expire);
    }

    /// Closes sessions that nobody has used for a while, and forgets the pools of clients that have named a server or
    /// given a password, and those whose server has let nobody in, when nobody needs them.
    pub fn expire(&self) {
        let pools: Vec<Lender> = lock(&self.pools).values().cloned().collect();
        pools.iter().for_each(Lender::expire);
        drop(pools);
        lock(&self.retired).retain(|retired| {
            retired.pool.expire();
            retired.pool.is_used()
        });
        lock(&self.pools).retain(|key, pool| {
            let is_plain = !key.of_client && key.password.is_none();
            is_plain && pool.shown().stats.opened.value() > 0 || pool.is_used()
        });
    }

    /// Forgets the pools of databases that the configuration has changed: clients that are connected keep theirs.
    pub fn reload(&self, config: &Config) {
        let mut retired = lock(&self.retired);
        lock(&self.pools).retain(|key, pool| {
            let stays = key.of_client || config.databases.get(&key.name).is_some_and(|now| now == pool.database());
            if !stays {
                Retired::keep(&mut retired, pool.clone(), &pool.shown().label);
            }
            stays
        });
    }
}

/// Serves a client until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve(client: &mut Client, wanted: Wanted, hub: &Arc<Hub>, entered: &Entered<'_>) -> Result<(), Ended> {
    let Wanted { lender, settings } = wanted;
    match lender {
        Lender::MySql(pool) => session::serve(client, pool, settings, hub, entered).await,
        Lender::Informix(pool) => session::serve(client, pool, settings, hub, entered).await,
        Lender::Cubrid(pool) => session::serve(client, pool, settings, hub, entered).await,
    }
}
