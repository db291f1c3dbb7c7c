//! The pools of all databases that are not PostgreSQL's.

use super::backend::{Backend, Cubrid, Informix, MySql};
use super::server::{Pool, Server};
use super::session;
use crate::client::Client;
use crate::config::{DatabaseConfig, Driver};
use crate::gate::Gates;
use crate::hub::Hub;
use crate::pool::registry::{AnyPools, PoolRegistry};
use crate::pool::{Key, Parameters};
use crate::registry::Entered;
use crate::replies::Ended;
use headrace_drivers::Database as _;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

/// The end of a client that is served.
type Served<'a> = Pin<Box<dyn Future<Output = Result<(), Ended>> + Send + 'a>>;

/// What serves a client until it leaves: sessions of a pool of some database.
pub trait Service: Debug + Send {
    /// Serves a client until it leaves.
    ///
    /// # Errors
    /// [`Ended`]: the client is to be told why its connection ends.
    fn serve<'a>(self: Box<Self>, client: &'a mut Client, hub: &'a Arc<Hub>, entered: &'a Entered<'_>) -> Served<'a>;
}

/// A pool of sessions, with the settings of a client.
#[derive(Debug)]
struct OfPool<B: Backend> {
    pool: Arc<Pool<B>>,
    settings: Parameters,
}

impl<B: Backend> Service for OfPool<B> {
    fn serve<'a>(self: Box<Self>, client: &'a mut Client, hub: &'a Arc<Hub>, entered: &'a Entered<'_>) -> Served<'a> {
        let Self { pool, settings } = *self;
        Box::pin(session::serve(client, pool, settings, hub, entered))
    }
}

/// The pools of one kind of database.
trait Front: AnyPools + Debug + Send + Sync {
    /// Sessions of the pool of this key.
    fn service(
        &self,
        key: Key,
        database: &Arc<DatabaseConfig>,
        settings: Parameters,
        gates: &Gates,
    ) -> Box<dyn Service>;
    /// Itself, as the pools that it is.
    fn pools(&self) -> &dyn AnyPools;
}

impl<B: Backend> Front for PoolRegistry<Server<B>> {
    fn service(
        &self,
        key: Key,
        database: &Arc<DatabaseConfig>,
        settings: Parameters,
        gates: &Gates,
    ) -> Box<dyn Service> {
        Box::new(OfPool { pool: self.pool(key, database, gates), settings })
    }

    fn pools(&self) -> &dyn AnyPools {
        self
    }
}

/// The pools of each kind.
#[derive(Debug)]
pub struct FrontRegistry(Vec<(Driver, Box<dyn Front>)>);

impl Default for FrontRegistry {
    fn default() -> Self {
        Self(vec![pools_of::<MySql>(), pools_of::<Informix>(), pools_of::<Cubrid>()])
    }
}

fn pools_of<B: Backend>() -> (Driver, Box<dyn Front>) {
    (Driver(B::Database::DRIVER), Box::<PoolRegistry<Server<B>>>::default())
}

impl FrontRegistry {
    /// Sessions of a database, with the settings of a client; `None` for one whose sessions are not lent.
    pub fn service(
        &self,
        key: Key,
        database: DatabaseConfig,
        settings: Parameters,
        gates: &Gates,
    ) -> Option<Box<dyn Service>> {
        let (_, front) = self.0.iter().find(|(driver, _)| *driver == database.driver)?;
        Some(front.service(key, &Arc::new(database), settings, gates))
    }

    /// The pools of each kind.
    pub fn pools(&self) -> impl Iterator<Item = &dyn AnyPools> {
        self.0.iter().map(|(_, front)| front.pools())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_drivers::{DRIVERS, Product};

    #[test]
    fn each_database_that_the_configuration_may_name_has_pools() {
        let fronts = FrontRegistry::default();
        let named = DRIVERS.iter().map(|driver| Driver(driver)).filter(|driver| driver.0.is_of(Product::Daemon));
        for driver in named.filter(|driver| !driver.is_postgres()) {
            assert!(fronts.0.iter().any(|(known, _)| *known == driver), "{}", driver.name());
        }
    }
}
