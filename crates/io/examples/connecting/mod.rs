//! What the examples connect to, by a URL: a database of `headrace-drivers`, whose rows are collected.

use headrace_connection::Connection;
use headrace_core::Protocol as _;
use headrace_drivers::{Database, Login, Product, Repeats, Settings, Tls, Unusable};
use headrace_io::Address;
use headrace_io::rows::{Collector, Datum, Reply};
use std::error::Error;
use std::net::ToSocketAddrs;
use std::sync::Arc;

/// Keeps the rows of a request.
pub type Handler<D> = Collector<<D as Database>::Columns, <D as Database>::Error>;
/// The machine of a database whose rows are collected.
pub type Machine<D> = <D as Database>::Machine<Handler<D>>;

/// The number of prepared statements that a connection caches.
const STATEMENTS: usize = 16;

/// A server, and what is needed to log in.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address of the server.
    pub address: Address,
    /// The settings of the URL, which are those of the ADBC driver.
    pub settings: Settings,
    host: String,
    port: u16,
}

impl Target {
    /// The first place that a URL names.
    pub fn of_url(url: &str) -> Result<Self, Box<dyn Error>> {
        let settings = Settings::of_url(url, Product::Adbc)?;
        let place = settings.places()?.swap_remove(0);
        let address = match place.socket {
            Some(path) => Address::Unix(path),
            None => {
                let mut found = (place.host.as_str(), place.port).to_socket_addrs()?;
                Address::Tcp(found.next().ok_or("the host has no address")?)
            }
        };
        Ok(Self { address, settings, host: place.host, port: place.port })
    }

    /// A connection that is not open yet.
    pub fn connection<D: Database>(&self) -> Result<Connection<Machine<D>>, Unusable> {
        let is_local = matches!(self.address, Address::Unix(_));
        let login = Login {
            settings: &self.settings,
            host: &self.host,
            port: self.port,
            is_local,
            user: self.settings.text("user").unwrap_or_default(),
            password: self.settings.text("password").map(str::as_bytes),
            database: self.settings.text(D::DRIVER.database_setting()),
            encryption: &Tls::of(&self.settings)?.at(&self.host, is_local),
            program: "example",
            statements: STATEMENTS,
        };
        D::connection(&login)
    }
}

/// Queues a statement; the next turn of the loop sends it.
pub fn ask<D: Database>(connection: &mut Connection<Machine<D>>, sql: &str, params: Vec<Datum>) -> Reply<D::Error> {
    let (collector, reply) = Collector::new(params);
    connection.machine.submit(D::execute(Arc::from(sql), Repeats::Often), collector);
    reply
}
