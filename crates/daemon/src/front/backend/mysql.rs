//! MySQL and MariaDB.

use super::{Backend, Login, STATEMENTS};
use crate::front::handler::Handler;
use crate::front::sql::Dialect;
use crate::postgres::server::SslMode;
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_core::{Fatal, WriteBuffer};
use headrace_mysql::auth::Secret;
use headrace_mysql::machine::{AsText, Columns, Execute, Machine, Options, Request, Rows, Tls};
use headrace_mysql::packets::reply::ServerError;
use headrace_mysql::sql::{Lexer, Modes};
use std::sync::Arc;

/// The machine.
pub type MySql = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, Default)]
pub struct MySqlDialect {
    modes: Modes,
    mariadb: bool,
}

impl Dialect for MySqlDialect {
    fn tokens(&self, sql: &str) -> Vec<Token> {
        Lexer::new(sql, self.modes).collect()
    }

    /// Statements that change nothing but tables leave nothing, unless they name user variables or locks.
    fn pins(&self, words: &[String]) -> Option<&'static str> {
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        match words.first().map_or("", String::as_str) {
            "create" | "drop" if has(&["temporary"]) => Some("a temporary table"),
            "select" | "insert" | "update" | "delete" | "replace" | "with" | "values" | "table" | "create" | "drop"
            | "alter" | "truncate" | "rename" | "show" | "explain" | "describe" | "desc" | "analyze" | "grant"
            | "revoke" | "kill" | "optimize" | "check" | "flush" => {
                if has(&["get_lock", "release_lock"]) {
                    return Some("a lock of GET_LOCK");
                }
                has(&["last_insert_id", "found_rows", "row_count"]).then_some("the result of an earlier statement")
            }
            "set" => Some("SET"),
            "use" => Some("USE"),
            "lock" => Some("LOCK TABLES"),
            "prepare" | "execute" => Some("a prepared statement of SQL"),
            "call" => Some("a procedure, which may set variables"),
            _ => Some("a statement that may change the session"),
        }
    }

    fn system(&self) -> &'static str {
        if self.mariadb { "MariaDB" } else { "MySQL" }
    }
}

impl Backend for MySql {
    type Columns = Arc<Columns>;
    type Error = ServerError;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Fatal> {
        let tls = login.tls()?;
        let options = Options {
            user: login.user.into(),
            password: login.password().map(Secret),
            database: Some(login.name.into()),
            tls: match (&tls, login.database.sslmode) {
                (None, _) => Tls::No,
                (Some(_), SslMode::Prefer) => Tls::Prefer,
                (Some(_), _) => Tls::Require,
            },
            local: login.host.starts_with('/'),
            found_rows: true,
            attributes: vec![("program_name".into(), "headraced".into())],
            ..Options::default()
        };
        Ok(Connection::new(Box::new(Self::new(options, STATEMENTS)?), WriteBuffer::new(), tls))
    }

    fn dialect(session: Option<&Self>) -> Box<dyn Dialect + Send + Sync> {
        let of = |machine: &Self| MySqlDialect { modes: machine.session().modes(), mariadb: machine.session().mariadb };
        Box::new(session.map(of).unwrap_or_default())
    }

    fn version(&self) -> String {
        let session = self.session();
        let system = if session.mariadb { "MariaDB" } else { "MySQL" };
        format!("{system} {}", session.server_version)
    }

    fn prepare(sql: &Arc<str>) -> Request {
        Request::Prepare { sql: sql.clone() }
    }

    fn execute(sql: Arc<str>, is_text: bool) -> Request {
        match is_text {
            true => Request::Query { sql, infile: false },
            false => Request::Execute(Execute { sql, rows: Rows::One, text: AsText::IfUnprepared, cursor: None }),
        }
    }

    /// COM_RESET_CONNECTION keeps the default schema, which USE may have changed.
    fn reset(name: &str) -> Option<Vec<Request>> {
        Some(vec![Request::ResetConnection, Request::InitDb { schema: name.into() }])
    }

    fn detail(error: &ServerError) -> String {
        format!("error {} ({}) of the server", error.code, error.sqlstate)
    }
}
