//! MySQL and MariaDB.

use super::Backend;
use crate::front::handler::Handler;
use crate::front::session_effect::SessionEffect;
use crate::front::sql::{Dialect, Tokens};
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_drivers::{Database as _, Login, Unusable};
use headrace_mysql::machine::{Columns, Machine};
use headrace_mysql::packets::reply::ServerError;
use headrace_mysql::sql::{Lexer, Modes};
use std::sync::Arc;

/// The machine.
pub type MySql = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MySqlDialect {
    modes: Modes,
    mariadb: bool,
}

impl Dialect for MySqlDialect {
    fn tokens<'a>(&self, sql: &'a str) -> Vec<Token<'a>> {
        Lexer::new(sql, self.modes).collect()
    }

    /// Statements that change nothing but tables leave nothing, unless they name user variables or locks.
    fn session_effect(&self, first: &str, all: &Tokens<'_>) -> Option<SessionEffect> {
        let pin = match first {
            // The lexer cannot decide which server has which part of it.
            _ if self.has_executable_comment(all.sql) => {
                SessionEffect::SurvivesReset("a comment that some servers execute")
            }
            "get" => SessionEffect::KeepsEarlier("a user variable"),
            "create" | "drop" if all.has_word(&["temporary"]) => SessionEffect::Leaves("a temporary table"),
            "flush" if all.has_word(&["lock", "export"]) => SessionEffect::Leaves("FLUSH TABLES with a lock"),
            "select" | "insert" | "update" | "delete" | "replace" | "with" | "values" | "table" | "create" | "drop"
            | "alter" | "truncate" | "rename" | "show" | "explain" | "describe" | "desc" | "analyze" | "grant"
            | "revoke" | "kill" | "optimize" | "check" | "flush" | "do" | "help" | "checksum" | "repair" | "cache"
            | "unlock" => {
                if all.calls(&["get_lock", "release_lock", "release_all_locks"]) {
                    SessionEffect::Leaves("a lock of GET_LOCK")
                } else if all.assigns_variable() {
                    SessionEffect::Leaves("a user variable")
                } else {
                    return asks_for_earlier(first, all).then_some(SessionEffect::AsksForEarlier);
                }
            }
            // COM_RESET_CONNECTION keeps these.
            "set" if all.has_word(&["role", "authorization"]) => SessionEffect::SurvivesReset("SET ROLE"),
            "set" if all.has_words(&["resource", "group"]) => SessionEffect::SurvivesReset("SET RESOURCE GROUP"),
            "set" => SessionEffect::Leaves("SET"),
            "use" => SessionEffect::Leaves("USE"),
            "lock" => SessionEffect::Leaves("LOCK TABLES"),
            "backup" => SessionEffect::Leaves("BACKUP"),
            "handler" => SessionEffect::Leaves("HANDLER"),
            "load" => SessionEffect::Leaves("LOAD, which may set variables"),
            "prepare" | "deallocate" => SessionEffect::Leaves("a prepared statement of SQL"),
            "execute" => SessionEffect::SurvivesReset("EXECUTE of a text that is not known"),
            "call" => SessionEffect::SurvivesReset("a procedure, which may do anything"),
            "begin" | "if" | "case" | "loop" | "repeat" | "while" | "for" | "declare" => {
                SessionEffect::SurvivesReset("a compound statement")
            }
            "xa" => SessionEffect::SurvivesReset("a transaction of XA"),
            "binlog" => SessionEffect::SurvivesReset("BINLOG"),
            _ => SessionEffect::Unknown,
        };
        Some(pin)
    }

    fn has_variable(&self, name: &str) -> bool {
        ["lc_messages", "transaction_isolation", "transaction_read_only"].contains(&name)
    }

    fn system(&self) -> &'static str {
        if self.mariadb { "MariaDB" } else { "MySQL" }
    }
}

impl MySqlDialect {
    fn has_executable_comment(self, sql: &str) -> bool {
        if !sql.contains("/*") {
            return false;
        }
        let mut lexer = Lexer::new(sql, self.modes);
        lexer.by_ref().for_each(drop);
        lexer.is_uncertain()
    }
}

/// Returns true if the answer is about the statement before, or about the last row that got a number.
fn asks_for_earlier(first: &str, all: &Tokens<'_>) -> bool {
    const VARIABLES: [&str; 5] = ["last_insert_id", "identity", "warning_count", "error_count", "last_gtid"];
    first == "show" && (all.has_words(&["show", "warnings"]) || all.has_words(&["show", "errors"]))
        || first == "show" && all.calls(&["count"]) && all.has_word(&["warnings", "errors"])
        || all.calls(&["last_insert_id", "found_rows", "row_count", "lastval"])
        || all.has_words(&["previous", "value", "for"])
        || all.reads_variable(&VARIABLES)
}

impl Backend for MySql {
    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Dialect = MySqlDialect;
    type Database = headrace_drivers::MySql;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Unusable> {
        headrace_drivers::MySql::connection(login)
    }

    fn forget_statement(&mut self, sql: &str) {
        self.forget_statement(sql);
    }

    fn dialect(&self) -> MySqlDialect {
        MySqlDialect { modes: self.session().modes(), mariadb: self.session().mariadb }
    }

    fn version(&self) -> String {
        let session = self.session();
        let system = if session.mariadb { "MariaDB" } else { "MySQL" };
        format!("{system} {}", session.server_version)
    }

    fn detail(error: &ServerError) -> String {
        format!("error {} ({}) of the server", error.code, error.sqlstate)
    }
}
