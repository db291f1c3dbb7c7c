//! What differs between the databases behind the front.

mod cubrid;
mod informix;
mod mysql;

pub use cubrid::{Cubrid, CubridDialect};
pub use informix::{Informix, InformixDialect};
pub use mysql::{MySql, MySqlDialect};

use super::handler::Handler;
use super::sql::Dialect;
use headrace_connection::Connection;
use headrace_core::{Described, Diagnostics, Protocol, Session};
use headrace_drivers::{Database as _, Login, Repeats, Unusable};
use std::fmt::Debug;
use std::sync::Arc;

/// A machine whose sessions the front lends.
pub trait Backend:
    Protocol<Handler = Handler<Self::Columns, Self::Error>, Request: Send> + Session + Debug + Send + Sync + Sized + 'static
{
    /// Its description of a result's columns.
    type Columns: Described + Debug + Send + 'static;
    /// Its servers' error.
    type Error: Diagnostics + Debug + Send + 'static;
    /// Its SQL.
    type Dialect: Dialect + PartialEq + Send + Sync;
    /// The database.
    type Database: headrace_drivers::Database<Columns = Self::Columns, Error = Self::Error, Request = Self::Request>;

    /// A connection that is not open yet.
    ///
    /// # Errors
    /// [`Unusable`]: a setting cannot be used.
    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Unusable>;
    /// The dialect of the session, which its settings may change.
    fn dialect(&self) -> Self::Dialect;
    /// The server's name and version.
    fn version(&self) -> String;
    /// Prepares a statement and describes its columns; nothing is executed.
    fn prepare(sql: &Arc<str>) -> Self::Request {
        Self::Database::prepare(sql.clone())
    }
    /// Forgets the prepared statement of a text, which the server prepares again when it is needed.
    fn forget_statement(&mut self, sql: &str);
    /// Executes a statement.
    fn execute(sql: Arc<str>, repeats: Repeats) -> Self::Request {
        Self::Database::execute(sql, repeats)
    }
    /// The requests that make a session of the database `name` as if it was new; `None` if the server has none.
    fn reset(name: &str) -> Option<Vec<Self::Request>> {
        Self::Database::reset(name)
    }
    /// The number of an error, for its detail.
    fn detail(error: &Self::Error) -> String;
}
