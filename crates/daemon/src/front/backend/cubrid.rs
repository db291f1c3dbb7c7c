//! CUBRID.

use super::Backend;
use crate::front::handler::Handler;
use crate::front::session_effect::SessionEffect;
use crate::front::sql::{Dialect, Tokens};
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_cubrid::lexer::Lexer;
use headrace_cubrid::machine::{Columns, Machine};
use headrace_cubrid::messages::server::ServerError;
use headrace_drivers::{Database as _, Login, Unusable};
use std::sync::Arc;

/// The machine.
pub type Cubrid = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubridDialect;

impl Dialect for CubridDialect {
    fn tokens<'a>(&self, sql: &'a str) -> Vec<Token<'a>> {
        Lexer::new(sql).collect()
    }

    fn session_effect(&self, first: &str, all: &Tokens<'_>) -> Option<SessionEffect> {
        let leaves = match first {
            "select" | "insert" | "update" | "delete" | "replace" | "merge" | "with" | "values" | "create" | "drop"
            | "alter" | "truncate" | "rename" | "show" | "desc" | "describe" | "grant" | "revoke" | "do" => {
                if all.assigns_variable() {
                    "a user variable"
                } else {
                    let asks = all.calls(&["last_insert_id", "row_count"]) || all.has_words(&["show", "trace"]);
                    return asks.then_some(SessionEffect::AsksForEarlier);
                }
            }
            "set" => "SET",
            "prepare" | "execute" | "deallocate" => "a prepared statement of SQL",
            "call" | "evaluate" => "a procedure",
            _ => return Some(SessionEffect::Unknown),
        };
        Some(SessionEffect::SurvivesReset(leaves))
    }

    fn system(&self) -> &'static str {
        "CUBRID"
    }
}

impl Backend for Cubrid {
    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Dialect = CubridDialect;
    type Database = headrace_drivers::Cubrid;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Unusable> {
        headrace_drivers::Cubrid::connection(login)
    }

    fn forget_statement(&mut self, sql: &str) {
        self.forget_statement(sql);
    }

    fn dialect(&self) -> CubridDialect {
        CubridDialect
    }

    fn version(&self) -> String {
        "CUBRID".into()
    }

    fn detail(error: &ServerError) -> String {
        format!("error {} of the server", error.code)
    }
}
