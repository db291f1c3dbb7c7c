//! What the examples need for each database: how to make its machine, and how to send a statement.

use headrace_connection::Connection;
use headrace_core::rows::{Collector, Datum, Reply};
use headrace_core::{Described, Diagnostics, Fatal, Protocol, WriteBuffer};
use headrace_cubrid::machine as cubrid;
use headrace_cubrid::messages::server::ServerError as CubridError;
use headrace_informix::machine as informix;
use headrace_informix::messages::server::ServerError as InformixError;
use headrace_io::Address;
use headrace_mysql::machine as mysql;
use headrace_mysql::packets::reply::ServerError as MySqlError;
use headrace_postgres::machine as postgres;
use headrace_postgres::messages::backend::ServerError as PostgresError;
use std::fmt::Debug;
use std::sync::Arc;

/// The address of the server, and the user.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    pub user: String,
    pub password: String,
    pub database: String,
    /// DBSERVERNAME, which only Informix has.
    pub server: String,
}

/// A database whose rows are collected.
pub trait Database: Protocol<Handler = Collector<Self::Columns, Self::Error>> + Sized {
    type Columns: Described;
    type Error: Diagnostics + Debug;

    /// A connection that is not open yet.
    fn connection(target: &Target) -> Result<Connection<Self>, Fatal>;
    /// A statement with parameters.
    fn statement(sql: &str) -> Self::Request;

    /// Queues a statement; the next turn of the loop sends it.
    fn ask(connection: &mut Connection<Self>, sql: &str, params: Vec<Datum>) -> Reply<Self::Error> {
        let (collector, reply) = Collector::new(params);
        connection.machine.submit(Self::statement(sql), collector);
        reply
    }
}

/// The number of prepared statements that a connection caches.
const STATEMENTS: usize = 16;

pub type Postgres = postgres::Machine<Collector<Arc<postgres::Columns>, PostgresError>>;
pub type MySql = mysql::Machine<Collector<Arc<mysql::Columns>, MySqlError>>;
pub type Cubrid = cubrid::Machine<Collector<Arc<cubrid::Columns>, CubridError>>;
pub type Informix = informix::Machine<Collector<Arc<informix::Columns>, InformixError>>;

impl Database for Postgres {
    type Columns = Arc<postgres::Columns>;
    type Error = PostgresError;

    fn connection(target: &Target) -> Result<Connection<Self>, Fatal> {
        let options = postgres::Options {
            purpose: postgres::Purpose::Session,
            parameters: vec![("user".into(), target.user.clone()), ("database".into(), target.database.clone())],
            user: target.user.clone(),
            password: Some(postgres::Secret(target.password.clone().into_bytes())),
            tls: postgres::Tls::No,
            binding: postgres::Binding::Disable,
            methods: Vec::new(),
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = postgres::Machine::new(options, STATEMENTS, &mut write_buffer);
        Ok(Connection::new(Box::new(machine), write_buffer, None))
    }
    fn statement(sql: &str) -> postgres::Request {
        postgres::Request::Execute(postgres::Execute::new(sql))
    }
}

impl Database for MySql {
    type Columns = Arc<mysql::Columns>;
    type Error = MySqlError;

    fn connection(target: &Target) -> Result<Connection<Self>, Fatal> {
        let options = mysql::Options {
            user: target.user.clone(),
            password: Some(headrace_mysql::auth::Secret(target.password.clone().into_bytes())),
            database: Some(target.database.clone()),
            ..mysql::Options::default()
        };
        Ok(Connection::new(Box::new(mysql::Machine::new(options, STATEMENTS)?), WriteBuffer::new(), None))
    }
    fn statement(sql: &str) -> mysql::Request {
        let (sql, rows, text) = (sql.into(), mysql::Rows::One, mysql::AsText::IfUnprepared);
        mysql::Request::Execute(mysql::Execute { sql, rows, text, cursor: None })
    }
}

impl Database for Informix {
    type Columns = Arc<informix::Columns>;
    type Error = InformixError;

    fn connection(target: &Target) -> Result<Connection<Self>, Fatal> {
        let options = informix::Options {
            user: target.user.clone(),
            password: Some(informix::Secret(target.password.clone().into_bytes())),
            server: target.server.clone(),
            database: Some(target.database.clone()),
            ..informix::Options::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = informix::Machine::new(options, STATEMENTS, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, None))
    }
    fn statement(sql: &str) -> informix::Request {
        let (sql, rows) = (sql.into(), informix::Rows::One);
        informix::Request::Execute(informix::Execute { sql, rows, begin: false, strategy: None })
    }
}

impl Database for Cubrid {
    type Columns = Arc<cubrid::Columns>;
    type Error = CubridError;

    fn connection(target: &Target) -> Result<Connection<Self>, Fatal> {
        // The processes of a broker on Windows listen on its host.
        let host = match &target.address {
            Address::Tcp(address) => address.ip().to_string(),
            Address::Unix(_) => String::new(),
        };
        let options = cubrid::Options {
            host,
            user: target.user.clone(),
            password: Some(cubrid::Secret(target.password.clone().into_bytes())),
            database: target.database.clone(),
            ..cubrid::Options::default()
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = cubrid::Machine::new(&options, STATEMENTS, &mut write_buffer)?;
        Ok(Connection::new(Box::new(machine), write_buffer, None))
    }
    fn statement(sql: &str) -> cubrid::Request {
        cubrid::Request::Execute(cubrid::Execute { sql: sql.into(), rows: cubrid::Rows::One, begin: false })
    }
}
