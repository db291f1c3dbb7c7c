//! The pools of all databases that are not PostgreSQL's.

use super::backend::{Cubrid, Informix, MySql};
use super::server::{Pool, Server};
use super::session;
use crate::client::Client;
use crate::config::Database;
use crate::gate::Gates;
use crate::hub::Hub;
use crate::pool::registry::PoolRegistry;
use crate::pool::{Key, Parameters};
use crate::registry::Entered;
use crate::replies::Ended;
use std::sync::Arc;

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

/// The pools of each kind.
#[derive(Debug, Default)]
pub struct Fronts {
    /// Those of MySQL and MariaDB.
    pub mysql: PoolRegistry<Server<MySql>>,
    /// Those of Informix.
    pub informix: PoolRegistry<Server<Informix>>,
    /// Those of CUBRID.
    pub cubrid: PoolRegistry<Server<Cubrid>>,
}

impl Fronts {
    /// The pool of a database, with the settings of a client.
    pub fn wanted(&self, kind: Kind, key: Key, database: Database, settings: Parameters, gates: &Gates) -> Wanted {
        let database = Arc::new(database);
        let lender = match kind {
            Kind::MySql => Lender::MySql(self.mysql.pool(key, &database, gates)),
            Kind::Informix => Lender::Informix(self.informix.pool(key, &database, gates)),
            Kind::Cubrid => Lender::Cubrid(self.cubrid.pool(key, &database, gates)),
        };
        Wanted { lender, settings }
    }
}

/// Serves a client until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve(client: &mut Client, wanted: Wanted, hub: &Arc<Hub>, entered: &Entered<'_>) -> Result<(), Ended> {
    let Wanted { lender, settings } = wanted;
    match lender {
        Lender::MySql(pool) => Box::pin(session::serve(client, pool, settings, hub, entered)).await,
        Lender::Informix(pool) => Box::pin(session::serve(client, pool, settings, hub, entered)).await,
        Lender::Cubrid(pool) => Box::pin(session::serve(client, pool, settings, hub, entered)).await,
    }
}
