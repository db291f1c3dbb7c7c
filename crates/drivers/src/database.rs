//! How programs in Rust use a database, whichever it is.

use crate::{Driver, Encryption, Error, Settings};
use headrace_connection::Connection;
use headrace_core::{Described, Diagnostics, Fatal, Protocol, ResponseHandler};
use std::fmt::{self, Debug, Display};
use std::sync::Arc;

/// What is needed to open a session at a place.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The settings, apart from those that have a field here.
    pub settings: &'a Settings,
    /// The name or the address of the host.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The connection is a Unix socket.
    pub is_local: bool,
    /// The user.
    pub user: &'a str,
    /// The password.
    pub password: Option<&'a [u8]>,
    /// The database; without one, that of the user, or none.
    pub database: Option<&'a str>,
    /// TLS.
    pub encryption: &'a Encryption,
    /// The name of the program, where the settings have none.
    pub program: &'a str,
    /// Prepared statements that the session keeps.
    pub statements: usize,
}

impl Login<'_> {
    /// A copy of the password.
    pub(crate) fn password(&self) -> Option<Vec<u8>> {
        self.password.map(<[u8]>::to_vec)
    }
}

impl Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Why a session cannot be opened with these settings.
#[derive(Clone, Debug)]
pub enum Unusable {
    /// A setting is wrong, or is not supported.
    Setting(Error),
    /// The protocol cannot send it.
    Fatal(Fatal),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        Self::Setting(error)
    }
}

impl From<Fatal> for Unusable {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(error) => Display::fmt(error, f),
            Self::Fatal(fatal) => Display::fmt(fatal, f),
        }
    }
}

impl std::error::Error for Unusable {}

/// A database: its machine, whatever handles the responses, and its requests.
pub trait Database: Debug + Sized + 'static {
    /// Its name, URLs and settings.
    const DRIVER: &'static Driver;

    /// Its description of a result's columns.
    type Columns: Described + Debug + Send + 'static;
    /// Its servers' error.
    type Error: Diagnostics + Clone + Debug + Send + 'static;
    /// Its requests.
    type Request: Clone + Debug + Send;
    /// Its machine.
    type Machine<H>: Protocol<Handler = H, Request = Self::Request> + Debug + Send + 'static
    where
        H: ResponseHandler<Columns = Self::Columns, ServerError = Self::Error> + Debug + Send + 'static;

    /// A connection that is not open yet.
    ///
    /// # Errors
    /// [`Unusable`]: a setting that cannot be used.
    fn connection<H>(login: &Login<'_>) -> Result<Connection<Self::Machine<H>>, Unusable>
    where
        H: ResponseHandler<Columns = Self::Columns, ServerError = Self::Error> + Debug + Send + 'static;

    /// Executes a statement with the server's own placeholders.
    fn execute(sql: Arc<str>, repeats: Repeats) -> Self::Request;
    /// Prepares a statement and describes its columns; nothing is executed.
    fn prepare(sql: Arc<str>) -> Self::Request;
    /// Returns true if a statement that returns rows may change something, as far as its text shows; true in case of doubt.
    fn may_write(sql: &str) -> bool;
    /// A name as an identifier of a statement, whatever characters it has.
    fn quote(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
    /// The requests that make a session of the database `name` as if it was new; `None` if the server has none.
    fn reset(_name: &str) -> Option<Vec<Self::Request>> {
        None
    }
}

/// Whether a statement is executed more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// It may be: it is prepared, and kept with others.
    Often,
    /// It is not, and has no parameters.
    Once,
}
