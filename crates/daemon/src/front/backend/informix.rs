//! Informix.

use super::{Backend, Login, STATEMENTS};
use crate::front::handler::Handler;
use crate::front::pins::Pin;
use crate::front::sql::{Dialect, Tokens};
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_core::{Fatal, WriteBuffer};
use headrace_informix::lexer::Lexer;
use headrace_informix::machine::{Columns, Execute, Machine, Options, Request, Rows, Secret};
use headrace_informix::messages::server::ServerError;
use std::sync::Arc;

/// The machine.
pub type Informix = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InformixDialect;

impl Dialect for InformixDialect {
    fn tokens(&self, sql: &str) -> Vec<Token> {
        Lexer::new(sql).collect()
    }

    fn casts_to(&self, name: &str) -> bool {
        const NAMES: [&str; 13] = [
            "int", "integer", "smallint", "bigint", "int8", "float", "decimal", "numeric", "varchar", "lvarchar",
            "date", "boolean", "json",
        ];
        NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    fn pins(&self, first: &str, all: &Tokens<'_>) -> Option<Pin> {
        let leaves = match first {
            // The new database is the current one of the session from then on.
            "create" if all.has_words(&["create", "database"]) => "DATABASE",
            "create" | "drop" if all.has_word(&["temp", "scratch"]) => "a temporary table",
            "select" | "with" if all.has_words(&["into", "temp"]) || all.has_words(&["into", "scratch"]) => {
                "a temporary table"
            }
            "select" | "insert" | "update" | "delete" | "merge" | "with" | "create" | "drop" | "alter" | "truncate"
            | "rename" | "grant" | "revoke" => {
                let asks = all.calls(&["dbinfo"]) || all.has_column(&["currval"]);
                return asks.then_some(Pin::AsksForEarlier);
            }
            "set" => "SET",
            "lock" | "unlock" => "LOCK TABLE",
            "database" | "close" => "DATABASE",
            "execute" | "call" => "a routine",
            _ => return Some(Pin::Unknown),
        };
        Some(Pin::Outlasts(leaves))
    }

    fn system(&self) -> &'static str {
        "Informix"
    }
}

impl Backend for Informix {
    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Dialect = InformixDialect;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Fatal> {
        let tls = login.encryption()?.into_settings();
        let options = Options {
            user: login.user.into(),
            password: login.password().map(Secret),
            server: login.database.server.clone().unwrap_or_default(),
            database: Some(login.name.into()),
            tls: tls.is_some(),
            program: "headraced".into(),
            ..Options::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Self::new(options, STATEMENTS, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, tls))
    }

    fn dialect(&self) -> InformixDialect {
        InformixDialect
    }

    fn version(&self) -> String {
        self.banner().to_owned()
    }

    fn prepare(sql: &Arc<str>) -> Request {
        Request::Prepare { sql: sql.clone() }
    }

    fn execute(sql: Arc<str>, _: bool) -> Request {
        Request::Execute(Execute { sql, rows: Rows::One, begin: false, strategy: None })
    }

    fn reset(_: &str) -> Option<Vec<Request>> {
        None
    }

    fn detail(error: &ServerError) -> String {
        match error.isam {
            0 => format!("error {} of the server", error.sqlcode),
            isam => format!("error {} of the server, ISAM error {isam}", error.sqlcode),
        }
    }
}
