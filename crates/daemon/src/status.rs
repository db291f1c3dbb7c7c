//! The state of the daemon, for people and programs.

use crate::hub::Hub;
use crate::registry::{Activity, Client};
use crate::stats::Shown;
use serde::Serialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Serialize)]
pub struct Status {
    version: &'static str,
    pid: u32,
    uptime_seconds: f64,
    draining: bool,
    clients: Vec<ClientStatus>,
    pools: Vec<PoolStatus>,
    memory_bytes: i64,
}

#[derive(Debug, Serialize)]
struct ClientStatus {
    id: i32,
    pid: Option<i32>,
    address: Option<String>,
    database: String,
    user: String,
    application: String,
    connected_seconds: f64,
    /// idle, waiting, active or pinned.
    state: &'static str,
    state_seconds: f64,
    pinned_by: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct PoolStatus {
    pool: String,
    /// The startup parameters other than the user and the database, which distinguish pools.
    startup: BTreeMap<String, String>,
    driver: &'static str,
    mode: &'static str,
    size: usize,
    open: i64,
    idle: usize,
    waiting: usize,
    lent_total: u64,
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
        draining: *hub.draining.borrow(),
        clients: hub.registry.all().iter().map(|client| of_client(client)).collect(),
        pools: hub.shown().iter().map(of_pool).collect(),
        memory_bytes: hub.memory.value(),
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
        pid: client.peer,
        address: client.address.clone(),
        database: client.database.clone(),
        user: client.user.clone(),
        application: client.application.clone(),
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
        startup: pool.startup.clone(),
        driver: pool.driver.name(),
        mode: pool.mode.name(),
        size: pool.size,
        open: stats.open.value(),
        idle: pool.idle,
        waiting: pool.waiting,
        lent_total: stats.lent.value(),
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
