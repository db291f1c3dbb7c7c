//! The state of the daemon, for people and programs.

use crate::config::DatabaseConfig;
use crate::hub::Hub;
use crate::leaving::Leaving;
use crate::registry::{Activity, Client};
use crate::servers::OpenServer;
use crate::stats::Shown;
use serde::Serialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Serialize)]
pub struct Status {
    version: &'static str,
    pid: u32,
    uptime_seconds: f64,
    /// The file of its configuration.
    config: Option<String>,
    /// A client has started it.
    on_demand: bool,
    draining: bool,
    /// The process of the daemon from which this one has taken over, as long as it has clients.
    predecessor: Option<u32>,
    clients: Vec<ClientStatus>,
    pools: Vec<PoolStatus>,
    memory_bytes: i64,
}

/// A client.
#[derive(Debug, Serialize)]
pub struct ClientStatus {
    /// Its number.
    pub id: i32,
    /// The number of its process.
    pub pid: Option<i32>,
    /// Where it comes from, if that is TCP.
    pub address: Option<String>,
    /// It has TLS.
    pub tls: bool,
    /// The name of its database in the configuration, if it has one there.
    pub name: Option<String>,
    /// The name of its database on the server.
    pub database: String,
    /// Its user on the server.
    pub user: String,
    /// What it calls itself.
    pub application: String,
    /// How long it is there.
    pub connected_seconds: f64,
    /// idle, waiting, active or pinned.
    pub state: &'static str,
    /// How long it is so.
    pub state_seconds: f64,
    /// Why it keeps its server connection.
    pub pinned_by: Option<&'static str>,
}

/// A server connection.
#[derive(Debug, Serialize)]
pub struct ServerStatus {
    /// Its number.
    pub id: u64,
    /// The pool.
    pub pool: String,
    /// The name of the database in the configuration, or the server that a client has named.
    pub name: String,
    /// The user.
    pub user: String,
    /// Where the server is.
    pub address: String,
    /// The process of the server, if it has said which.
    pub pid: Option<i32>,
    /// active or idle.
    pub state: &'static str,
    /// How long it is so.
    pub state_seconds: f64,
    /// How long it is open.
    pub open_seconds: f64,
    /// The client that has it.
    pub client: Option<i32>,
    /// It is closed as soon as nobody has it.
    pub closing: bool,
}

/// A prepared statement that clients share.
#[derive(Debug, Serialize)]
pub struct StatementStatus {
    /// The pool.
    pub pool: String,
    /// Its name on the server.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// By how many clients, and messages under way, it is held.
    pub holders: usize,
}

/// A database of the configuration.
#[derive(Debug, Serialize)]
pub struct DatabaseStatus {
    /// Its name there.
    pub name: String,
    /// The kind of its server.
    pub driver: &'static str,
    /// Its hosts.
    pub host: String,
    /// Their port.
    pub port: u16,
    /// The name on the server, if it is not the client's.
    pub dbname: Option<String>,
    /// The user on the server, if it is not the client's.
    pub user: Option<String>,
    /// When server connections go back.
    pub mode: &'static str,
    /// Server connections of one user.
    pub size: usize,
    /// Server connections of all.
    pub most: usize,
    /// Those that are open.
    pub open: usize,
    /// Clients.
    pub clients: usize,
    /// Clients that wait for a server connection.
    pub waiting: usize,
    /// No server connection is lent.
    pub paused: bool,
}

/// A pool.
#[derive(Debug, Serialize)]
pub struct PoolStatus {
    pool: String,
    /// The name of the database in the configuration, or the server that a client has named.
    name: String,
    user: String,
    paused: bool,
    /// The startup parameters other than the user and the database, which distinguish pools.
    startup: BTreeMap<String, String>,
    driver: &'static str,
    mode: &'static str,
    size: usize,
    open: i64,
    idle: usize,
    waiting: usize,
    requests_total: u64,
    transactions_total: u64,
    lent_total: u64,
    lent_seconds_total: f64,
    not_lent_total: u64,
    wait_seconds_total: f64,
    statements_shared_total: u64,
    statements_prepared_total: u64,
    statements_prepared_again_total: u64,
    /// Parse messages that no server had to see, of all.
    hit_rate: Option<f64>,
    pins_total: BTreeMap<&'static str, u64>,
    errors_total: BTreeMap<String, u64>,
    cancelled_total: u64,
}

/// The state at the moment.
pub fn of(hub: &Hub) -> Status {
    Status {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_seconds: hub.since.elapsed().as_secs_f64(),
        config: hub.started.get().and_then(|started| started.config.as_ref()).map(|path| path.display().to_string()),
        on_demand: hub.started.get().is_some_and(|started| started.on_demand),
        draining: *hub.left.borrow() != Leaving::Nobody,
        predecessor: hub.chain.predecessor().map(|predecessor| predecessor.before.pid),
        clients: clients(hub),
        pools: pools(hub),
        memory_bytes: hub.memory(),
    }
}

/// The pools.
pub fn pools(hub: &Hub) -> Vec<PoolStatus> {
    hub.shown().iter().map(of_pool).collect()
}

/// The clients, in the order in which they came.
pub fn clients(hub: &Hub) -> Vec<ClientStatus> {
    hub.registry.all().iter().map(|client| of_client(client)).collect()
}

/// The server connections.
pub fn servers(hub: &Hub) -> Vec<ServerStatus> {
    let shown = hub.shown();
    let all = shown.iter().flat_map(|pool| pool.stats.servers.all().into_iter().map(move |server| (pool, server)));
    all.map(|(pool, server)| of_server(pool, &server)).collect()
}

/// The prepared statements that clients share.
pub fn statements(hub: &Hub) -> Vec<StatementStatus> {
    let mut all = Vec::new();
    for (pool, catalog) in hub.catalogs() {
        let of_pool = catalog.shown().into_iter();
        all.extend(of_pool.map(|(name, sql, holders)| StatementStatus {
            pool: pool.label.clone(),
            name,
            sql,
            holders,
        }));
    }
    all
}

/// The databases of the configuration.
pub fn databases(hub: &Hub) -> Vec<DatabaseStatus> {
    let (config, pools, clients) = (hub.config(), hub.shown(), hub.registry.all());
    let of_database = |(name, database): (&String, &DatabaseConfig)| {
        let pools = || pools.iter().filter(|pool| pool.database == *name);
        DatabaseStatus {
            name: name.clone(),
            driver: database.driver.name(),
            host: database.host.clone(),
            port: database.port,
            dbname: database.dbname.clone(),
            user: database.user.clone(),
            mode: database.pool_mode.name(),
            size: database.pool_size,
            most: database.most_connections(),
            open: pools().map(|pool| pool.stats.servers.all().len()).sum(),
            clients: clients.iter().filter(|client| client.info.name.as_ref() == Some(name)).count(),
            waiting: pools().map(|pool| pool.waiting).sum(),
            paused: hub.gates.is_paused(name),
        }
    };
    config.databases.iter().map(of_database).collect()
}

fn of_server(pool: &Shown, server: &OpenServer) -> ServerStatus {
    let (client, since) = server.client();
    ServerStatus {
        id: server.number,
        pool: pool.label.clone(),
        name: pool.database.clone(),
        user: pool.user.clone(),
        address: server.address.clone(),
        pid: server.process_id,
        state: if client.is_some() { "active" } else { "idle" },
        state_seconds: since.elapsed().as_secs_f64(),
        open_seconds: server.opened.elapsed().as_secs_f64(),
        client,
        closing: server.is_over(),
    }
}

fn of_client(client: &Client) -> ClientStatus {
    let (activity, since) = client.activity();
    let (state, pinned_by) = match activity {
        Activity::Idle => ("idle", None),
        Activity::Waiting => ("waiting", None),
        Activity::Active => ("active", None),
        Activity::Pinned(reason) => ("pinned", Some(reason)),
    };
    ClientStatus {
        id: client.number,
        pid: client.info.peer,
        address: client.info.address.clone(),
        tls: client.info.tls,
        name: client.info.name.clone(),
        database: client.info.database.clone(),
        user: client.info.user.clone(),
        application: client.info.application.clone(),
        connected_seconds: client.since.elapsed().as_secs_f64(),
        state,
        state_seconds: since.as_secs_f64(),
        pinned_by,
    }
}

fn of_pool(pool: &Shown) -> PoolStatus {
    let stats = &pool.stats;
    let (shared, prepared) = (stats.spared.value(), stats.prepared.value());
    PoolStatus {
        pool: pool.label.clone(),
        name: pool.database.clone(),
        user: pool.user.clone(),
        paused: pool.paused,
        startup: pool.startup.clone(),
        driver: pool.driver.name(),
        mode: pool.mode.name(),
        size: pool.size,
        open: stats.open.value(),
        idle: pool.idle,
        waiting: pool.waiting,
        requests_total: stats.requests.value(),
        transactions_total: stats.transactions.value(),
        lent_total: stats.lent.value(),
        lent_seconds_total: stats.used.seconds(),
        not_lent_total: stats.not_lent.value(),
        wait_seconds_total: stats.wait.seconds(),
        statements_shared_total: shared,
        statements_prepared_total: prepared,
        statements_prepared_again_total: stats.prepared_again.value(),
        hit_rate: (shared + prepared > 0).then(|| shared as f64 / (shared + prepared) as f64),
        pins_total: stats.pins.all(),
        errors_total: stats.errors.all(),
        cancelled_total: stats.cancelled.value(),
    }
}
