//! Metrics in Prometheus' text format. Those that OpenTelemetry has a name for (`db.client.connection.*`, semantic
//! conventions for database client metrics) have that name, as Prometheus writes it.

use crate::hub::Hub;
use crate::registry::Activity;
use crate::stats::{BOUNDS, Histogram, Shown};
use std::fmt::Write as _;

/// A metric of pools: its name, its type, its description, and its value in a pool.
type OfPool = (&'static str, &'static str, &'static str, fn(&Shown) -> f64);

const OF_POOLS: [OfPool; 11] = [
    ("db_client_connection_max", "gauge", "Server connections allowed.", |pool| pool.size as f64),
    ("db_client_connection_pending_requests", "gauge", "Clients that wait for a server connection.", |pool| {
        pool.waiting as f64
    }),
    ("db_client_connection_timeouts_total", "counter", "Clients that got no server connection.", |pool| {
        pool.stats.not_lent.value() as f64
    }),
    ("headraced_connections_opened_total", "counter", "Server connections opened.", |pool| {
        pool.stats.opened.value() as f64
    }),
    ("headraced_connections_failed_total", "counter", "Server connections that could not be opened.", |pool| {
        pool.stats.failed.value() as f64
    }),
    ("headraced_lent_total", "counter", "Times that a server connection was lent.", |pool| {
        pool.stats.lent.value() as f64
    }),
    ("headraced_cancelled_total", "counter", "Statements of clients that have left.", |pool| {
        pool.stats.cancelled.value() as f64
    }),
    ("headraced_requests_total", "counter", "Queries, and groups of messages up to Sync.", |pool| {
        pool.stats.requests.value() as f64
    }),
    ("headraced_transactions_total", "counter", "Times that a server reported no open transaction.", |pool| {
        pool.stats.transactions.value() as f64
    }),
    ("headraced_paused", "gauge", "1 while no server connection is lent.", |pool| f64::from(u8::from(pool.paused))),
    ("headraced_pool_connections", "gauge", "Server connections that are open.", |pool| pool.stats.open.value() as f64),
];

/// Those of pools of PostgreSQL only: of other databases no statements are shared, and bytes are not counted.
const OF_POSTGRESQL: [OfPool; 5] = [
    ("headraced_statements_shared_total", "counter", "Parse messages that no server had to see.", |pool| {
        pool.stats.spared.value() as f64
    }),
    ("headraced_statements_prepared_total", "counter", "Parse messages that a server has seen.", |pool| {
        pool.stats.prepared.value() as f64
    }),
    ("headraced_statements_prepared_again_total", "counter", "Statements prepared on another connection.", |pool| {
        pool.stats.prepared_again.value() as f64
    }),
    ("headraced_received_bytes_total", "counter", "Bytes from servers.", |pool| pool.stats.received.value() as f64),
    ("headraced_sent_bytes_total", "counter", "Bytes to servers.", |pool| pool.stats.sent.value() as f64),
];

/// A histogram of pools: its name, its description, and where it is in a pool.
type OfTimes = (&'static str, &'static str, fn(&Shown) -> &Histogram);

const TIMES: [OfTimes; 3] = [
    ("db_client_connection_wait_time_seconds", "How long clients wait for a server connection.", |pool| {
        &pool.stats.wait
    }),
    ("db_client_connection_use_time_seconds", "How long server connections are lent.", |pool| &pool.stats.used),
    ("db_client_connection_create_time_seconds", "How long opening one takes.", |pool| &pool.stats.create),
];

/// All of them.
pub fn text(hub: &Hub) -> String {
    let mut out = String::new();
    let pools = hub.shown();
    of_the_daemon(&mut out, hub);
    head(&mut out, "db_client_connection_count", "gauge", "Server connections by state.");
    for pool in &pools {
        let idle = pool.idle as i64;
        for (state, n) in [("idle", idle), ("used", (pool.stats.open.value() - idle).max(0))] {
            let labels = format!("{},db_client_connection_state=\"{state}\"", name_of(pool));
            line(&mut out, "db_client_connection_count", &labels, n as f64);
        }
    }
    for (name, kind, what, value) in OF_POOLS {
        head(&mut out, name, kind, what);
        pools.iter().for_each(|pool| line(&mut out, name, &name_of(pool), value(pool)));
    }
    for (name, kind, what, value) in OF_POSTGRESQL {
        head(&mut out, name, kind, what);
        let pools = pools.iter().filter(|pool| pool.driver.is_postgres());
        pools.for_each(|pool| line(&mut out, name, &name_of(pool), value(pool)));
    }
    for (name, what, times) in TIMES {
        head(&mut out, name, "histogram", what);
        pools.iter().for_each(|pool| histogram(&mut out, name, &name_of(pool), times(pool)));
    }
    by_name(&mut out, &pools);
    out
}

fn of_the_daemon(out: &mut String, hub: &Hub) {
    head(out, "headraced_clients", "gauge", "Clients by what they do.");
    let clients = hub.registry.all();
    for (state, is) in [
        ("idle", (|activity| activity == Activity::Idle) as fn(Activity) -> bool),
        ("waiting", |activity| activity == Activity::Waiting),
        ("active", |activity| activity == Activity::Active),
        ("pinned", |activity| matches!(activity, Activity::Pinned(_))),
    ] {
        let n = clients.iter().filter(|client| is(client.activity().0)).count();
        line(out, "headraced_clients", &format!("state=\"{state}\""), n as f64);
    }
    head(out, "headraced_clients_refused_total", "counter", "Clients refused before they were connected.");
    line(out, "headraced_clients_refused_total", "", hub.refused.value() as f64);
    head(
        out,
        "headraced_memory_bytes",
        "gauge",
        "Memory of messages that are not complete, and of prepared statements.",
    );
    line(out, "headraced_memory_bytes", "", hub.memory() as f64);
    head(out, "headraced_uptime_seconds", "gauge", "How long the daemon runs.");
    line(out, "headraced_uptime_seconds", "", hub.since.elapsed().as_secs_f64());
}

fn by_name(out: &mut String, pools: &[Shown]) {
    head(out, "headraced_pins_total", "counter", "Server connections that stay with their client, by reason.");
    for pool in pools {
        for (reason, n) in pool.stats.pins.all() {
            line(out, "headraced_pins_total", &format!("{},reason=\"{}\"", name_of(pool), escaped(reason)), n as f64);
        }
    }
    head(out, "headraced_errors_total", "counter", "Errors of servers, by SQLSTATE.");
    for pool in pools {
        for (sqlstate, n) in pool.stats.errors.all() {
            let labels = format!("{},db_response_status_code=\"{}\"", name_of(pool), escaped(&sqlstate));
            line(out, "headraced_errors_total", &labels, n as f64);
        }
    }
}

fn name_of(pool: &Shown) -> String {
    format!("db_client_connection_pool_name=\"{}\"", escaped(&pool.label))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn head(out: &mut String, name: &str, kind: &str, what: &str) {
    let _ = writeln!(out, "# HELP {name} {what}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let _ =
        if labels.is_empty() { writeln!(out, "{name} {value}") } else { writeln!(out, "{name}{{{labels}}} {value}") };
}

fn histogram(out: &mut String, name: &str, labels: &str, times: &Histogram) {
    let mut total = 0;
    for (at, n) in times.counts().iter().enumerate() {
        total += n;
        let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), |bound| bound.as_secs_f64().to_string());
        line(out, &format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), total as f64);
    }
    line(out, &format!("{name}_sum"), labels, times.seconds());
    line(out, &format!("{name}_count"), labels, total as f64);
}
