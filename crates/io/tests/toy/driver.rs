//! What is `crates/drivers/src/databases/NAME.rs` of a database: its name, URLs and settings, and its requests.

use crate::machine::{Columns, Machine, ServerError};
use headrace_connection::Connection;
use headrace_core::{ResponseHandler, WriteBuffer};
use headrace_drivers::{Database, Driver, Login, Repeats, Setting, SettingKind, Sockets, TlsNames, Unusable};
use std::fmt::Debug;
use std::sync::Arc;

const fn setting(name: &'static str, kind: SettingKind, text: &'static str) -> Setting {
    Setting {
        name,
        aliases: &[],
        kind,
        default: "",
        environment: None,
        daemon: None,
        is_of_python: true,
        is_of_adbc: true,
        text,
    }
}

pub static DRIVER: Driver = Driver {
    name: "toy",
    title: "Toy",
    schemes: &["toy"],
    port: 7000,
    sockets: Sockets::None,
    negotiates_tls: false,
    tls: TlsNames { mode: "sslmode", roots: "sslrootcert", client: None, switch: None },
    has_system_user: false,
    has_session_variables: false,
    ignores_case_of_aliases: false,
    rewritten: &[],
    settings: &[
        setting("host", SettingKind::List, "The host."),
        setting("port", SettingKind::List, "The port."),
        setting("user", SettingKind::Text, "The user."),
        setting("database", SettingKind::Text, "The database."),
    ],
};

#[derive(Debug)]
pub struct Toy;

impl Database for Toy {
    const DRIVER: &'static Driver = &DRIVER;

    type Columns = Columns;
    type Error = ServerError;
    type Request = Arc<str>;
    type Machine<H>
        = Machine<H>
    where
        H: ResponseHandler<Columns = Columns, ServerError = ServerError> + Debug + Send + 'static;

    fn connection<H>(_: &Login<'_>) -> Result<Connection<Machine<H>>, Unusable>
    where
        H: ResponseHandler<Columns = Columns, ServerError = ServerError> + Debug + Send + 'static,
    {
        Ok(Connection::new(Box::new(Machine::new()), WriteBuffer::new(), None))
    }

    fn execute(sql: Arc<str>, _: Repeats) -> Arc<str> {
        sql
    }

    fn prepare(sql: Arc<str>) -> Arc<str> {
        sql
    }

    fn may_write(_: &str) -> bool {
        false
    }
}
