//! Informix.

use super::Backend;
use crate::front::handler::Handler;
use crate::front::session_effect::SessionEffect;
use crate::front::sql::{Dialect, Tokens};
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_drivers::{Database as _, Login, Unusable};
use headrace_informix::lexer::Lexer;
use headrace_informix::machine::{Columns, Machine};
use headrace_informix::messages::server::ServerError;
use std::sync::Arc;

/// The machine.
pub type Informix = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InformixDialect;

impl Dialect for InformixDialect {
    fn tokens<'a>(&self, sql: &'a str) -> Vec<Token<'a>> {
        Lexer::new(sql).collect()
    }

    fn casts_to(&self, name: &str) -> bool {
        const NAMES: [&str; 13] = [
            "int", "integer", "smallint", "bigint", "int8", "float", "decimal", "numeric", "varchar", "lvarchar",
            "date", "boolean", "json",
        ];
        NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    fn session_effect(&self, first: &str, all: &Tokens<'_>) -> Option<SessionEffect> {
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
                return asks.then_some(SessionEffect::AsksForEarlier);
            }
            "set" => "SET",
            "lock" | "unlock" => "LOCK TABLE",
            "database" | "close" => "DATABASE",
            "execute" | "call" => "a routine",
            _ => return Some(SessionEffect::Unknown),
        };
        Some(SessionEffect::SurvivesReset(leaves))
    }

    fn system(&self) -> &'static str {
        "Informix"
    }
}

impl Backend for Informix {
    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Dialect = InformixDialect;
    type Database = headrace_drivers::Informix;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Unusable> {
        headrace_drivers::Informix::connection(login)
    }

    fn forget_statement(&mut self, sql: &str) {
        self.forget_statement(sql);
    }

    fn dialect(&self) -> InformixDialect {
        InformixDialect
    }

    fn version(&self) -> String {
        self.banner().to_owned()
    }

    fn detail(error: &ServerError) -> String {
        match error.isam {
            0 => format!("error {} of the server", error.sqlcode),
            isam => format!("error {} of the server, ISAM error {isam}", error.sqlcode),
        }
    }
}
