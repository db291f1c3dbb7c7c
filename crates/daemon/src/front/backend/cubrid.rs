//! CUBRID.

use super::{Backend, Login, STATEMENTS};
use crate::front::handler::Handler;
use crate::front::pins::Pin;
use crate::front::sql::{Dialect, Tokens};
use headrace_connection::Connection;
use headrace_core::token::Token;
use headrace_core::{Fatal, WriteBuffer};
use headrace_cubrid::lexer::Lexer;
use headrace_cubrid::machine::{Columns, Execute, Machine, Options, Request, Rows, Secret};
use headrace_cubrid::messages::server::ServerError;
use std::sync::Arc;

/// The machine.
pub type Cubrid = Machine<Handler<Arc<Columns>, ServerError>>;

/// The SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubridDialect;

impl Dialect for CubridDialect {
    fn tokens(&self, sql: &str) -> Vec<Token> {
        Lexer::new(sql).collect()
    }

    fn pins(&self, first: &str, all: &Tokens<'_>) -> Option<Pin> {
        let leaves = match first {
            "select" | "insert" | "update" | "delete" | "replace" | "merge" | "with" | "values" | "create" | "drop"
            | "alter" | "truncate" | "rename" | "show" | "desc" | "describe" | "grant" | "revoke" | "do" => {
                if all.assigns_variable() {
                    "a user variable"
                } else {
                    let asks = all.calls(&["last_insert_id", "row_count"]) || all.has_words(&["show", "trace"]);
                    return asks.then_some(Pin::AsksForEarlier);
                }
            }
            "set" => "SET",
            "prepare" | "execute" | "deallocate" => "a prepared statement of SQL",
            "call" | "evaluate" => "a procedure",
            _ => return Some(Pin::Unknown),
        };
        Some(Pin::Outlasts(leaves))
    }

    fn system(&self) -> &'static str {
        "CUBRID"
    }
}

impl Backend for Cubrid {
    type Columns = Arc<Columns>;
    type Error = ServerError;
    type Dialect = CubridDialect;

    fn connection(login: &Login<'_>) -> Result<Connection<Self>, Fatal> {
        let tls = login.encryption()?.into_settings();
        let options = Options {
            host: login.ip.into(),
            port: login.port,
            user: login.user.into(),
            password: login.password().map(Secret),
            database: login.name.into(),
            tls: tls.is_some(),
            // The loop does not resume a session.
            keeps_cas: true,
            ..Options::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Self::new(&options, STATEMENTS, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, tls))
    }

    fn dialect(&self) -> CubridDialect {
        CubridDialect
    }

    fn version(&self) -> String {
        "CUBRID".into()
    }

    fn prepare(sql: &Arc<str>) -> Request {
        Request::Prepare { sql: sql.clone() }
    }

    fn execute(sql: Arc<str>, _: bool) -> Request {
        Request::Execute(Execute { sql, rows: Rows::One, begin: false })
    }

    fn reset(_: &str) -> Option<Vec<Request>> {
        None
    }

    fn detail(error: &ServerError) -> String {
        format!("error {} of the server", error.code)
    }
}
