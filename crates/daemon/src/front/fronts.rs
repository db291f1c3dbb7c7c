//! The pools of all databases that are not PostgreSQL's, and who may cancel what.

use super::backend::{Cubrid, Informix, MySql};
use super::pool::Pool;
use super::session;
use crate::client::Client;
use crate::config::{Database, Driver};
use crate::hub::Hub;
use crate::lock;
use crate::replies::Ended;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

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

/// What a client asks for.
#[derive(Debug)]
pub struct Wanted {
    lender: Lender,
    settings: Vec<(String, String)>,
}

/// Pools by the names of the configuration and the users, and the clients that may be cancelled.
#[derive(Debug, Default)]
pub struct Fronts {
    pools: Mutex<HashMap<(String, String), Lender>>,
    cancels: Mutex<HashMap<i32, (i32, Arc<Notify>)>>,
}

impl Fronts {
    /// The pool of a database, if it is served by this module. `name` is that of the configuration.
    pub fn wanted(
        &self,
        name: String,
        user: &str,
        database: &Database,
        settings: Vec<(String, String)>,
    ) -> Option<Wanted> {
        let (shared, own) = (|| Arc::new(database.clone()), database.dbname.clone().unwrap_or_else(|| name.clone()));
        let made = match database.driver {
            Driver::Postgresql => return None,
            Driver::Mysql => Lender::MySql(Arc::new(Pool::new(shared(), user.into(), own))),
            Driver::Informix => Lender::Informix(Arc::new(Pool::new(shared(), user.into(), own))),
            Driver::Cubrid => Lender::Cubrid(Arc::new(Pool::new(shared(), user.into(), own))),
        };
        let lender = lock(&self.pools).entry((name, user.into())).or_insert(made).clone();
        Some(Wanted { lender, settings })
    }

    /// Cancels what this client runs, if the key is right.
    pub fn cancel(&self, process_id: i32, secret: i32) {
        if let Some((key, cancel)) = lock(&self.cancels).get(&process_id)
            && *key == secret
        {
            cancel.notify_one();
        }
    }

    /// Closes sessions that nobody has used for a while.
    pub fn expire(&self) {
        let pools: Vec<Lender> = lock(&self.pools).values().cloned().collect();
        for pool in pools {
            match pool {
                Lender::MySql(pool) => pool.expire(),
                Lender::Informix(pool) => pool.expire(),
                Lender::Cubrid(pool) => pool.expire(),
            }
        }
    }
}

/// Serves a client until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve(client: &mut Client, wanted: Wanted, hub: &Arc<Hub>, key: (i32, i32)) -> Result<(), Ended> {
    let cancel = Arc::new(Notify::new());
    lock(&hub.fronts.cancels).insert(key.0, (key.1, cancel.clone()));
    let Wanted { lender, settings } = wanted;
    let ended = match lender {
        Lender::MySql(pool) => session::serve(client, pool, settings, hub, key, cancel).await,
        Lender::Informix(pool) => session::serve(client, pool, settings, hub, key, cancel).await,
        Lender::Cubrid(pool) => session::serve(client, pool, settings, hub, key, cancel).await,
    };
    lock(&hub.fronts.cancels).remove(&key.0);
    ended
}
