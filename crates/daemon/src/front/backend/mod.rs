//! What differs between the databases behind the front.

mod cubrid;
mod informix;
mod mysql;

pub use cubrid::{Cubrid, CubridDialect};
pub use informix::{Informix, InformixDialect};
pub use mysql::{MySql, MySqlDialect};

use super::handler::Handler;
use super::sql::Dialect;
use crate::config::Database;
use crate::secret::Secret;
use headrace_connection::Connection;
use headrace_core::{Described, Diagnostics, Fatal, Protocol, Session};
use headrace_drivers::Encryption;
use std::fmt::Debug;
use std::sync::Arc;

/// What is needed to log in.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// The settings.
    pub database: &'a Database,
    /// The server's name, or the folder of its socket.
    pub host: &'a str,
    /// The number of its address.
    pub ip: &'a str,
    /// Its port.
    pub port: u16,
    /// The client's user, unless the configuration has another.
    pub user: &'a str,
    /// The name of the database.
    pub name: &'a str,
    /// The password, if there is one.
    pub password: Option<&'a Secret>,
}

impl Login<'_> {
    fn encryption(&self) -> Result<Encryption, Fatal> {
        self.database.encryption(self.host)
    }

    fn password(&self) -> Option<Vec<u8>> {
        self.password.map(|password| password.reveal().as_bytes().to_vec())
    }
}

/// A machine whose sessions the front lends.
pub trait Backend:
    Protocol<Handler = Handler<Self::Columns, Self::Error>, Request: Send> + Session + Debug + Send + Sized + 'static
{
    /// Its description of a result's columns.
    type Columns: Described + Debug + Send + 'static;
    /// Its servers' error.
    type Error: Diagnostics + Debug + Send + 'static;
    /// Its SQL.
    type Dialect: Dialect + PartialEq + Send + Sync;

    /// A connection that is not open yet.
    ///
    /// # Errors
    /// [`Fatal`]: a setting cannot be used.
    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Fatal>;
    /// The dialect of the session, which its settings may change.
    fn dialect(&self) -> Self::Dialect;
    /// The server's name and version.
    fn version(&self) -> String;
    /// Prepares a statement and describes its columns; nothing is executed.
    fn prepare(sql: &Arc<str>) -> Self::Request;
    /// Executes a statement. `is_text` is true if it has no parameters, and is not worth keeping.
    fn execute(sql: Arc<str>, is_text: bool) -> Self::Request;
    /// The requests that make a session of the database `name` as if it was new; `None` if the server has none.
    fn reset(name: &str) -> Option<Vec<Self::Request>>;
    /// The number of an error, for its detail.
    fn detail(error: &Self::Error) -> String;
}

/// The number of prepared statements that a server connection keeps.
const STATEMENTS: usize = 250;
