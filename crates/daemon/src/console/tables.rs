//! The tables of the console. Names, order and types of the columns are those of PgBouncer's.

use super::command::Table;
use super::totals::{self, Figures, NAMES};
use super::{NAME, VERSION};
use crate::front::replies;
use crate::front::types::TargetColumn;
use crate::hub::Hub;
use crate::status::{self, ClientStatus, ServerStatus};
use headrace_core::civil::timestamp_text;
use headrace_postgres::types::{Oid, oid};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// The values of a row: `None` for NULL.
type Row = Vec<Option<String>>;

/// A letter for each column: text, int4, numeric.
const TEXT: char = 's';
const INT: char = 'i';
const NUMERIC: char = 'N';

const SOCKET_COLUMNS: &str = "type user database replication state addr port local_addr local_port connect_time \
                              request_time wait wait_us close_needed ptr link remote_pid tls application_name \
                              prepared_statements id";
const SOCKET_TYPES: &str = "ssssssisissiiississii";

/// SHOW.
pub fn write(out: &mut Vec<u8>, hub: &Hub, table: Table) {
    match table {
        Table::Help => {}
        Table::Version => {
            let version = format!("PgBouncer {VERSION} (headraced {})", env!("CARGO_PKG_VERSION"));
            put(out, "version", "s", vec![vec![Some(version)]]);
        }
        Table::Pools => put(
            out,
            "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel \
             sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode load_balance_hosts",
            "ssiiiiiiiiiiiiiss",
            pools(hub),
        ),
        Table::Databases => put(
            out,
            "name host port database force_user pool_size min_pool_size reserve_pool_size server_lifetime pool_mode \
             load_balance_hosts max_connections current_connections max_client_connections current_client_connections \
             paused disabled",
            "ssissiiiissiiiiii",
            databases(hub),
        ),
        Table::Clients => put(out, SOCKET_COLUMNS, SOCKET_TYPES, clients(hub)),
        Table::Servers => put(out, SOCKET_COLUMNS, SOCKET_TYPES, servers(hub)),
        Table::Sockets => put(out, SOCKET_COLUMNS, SOCKET_TYPES, [clients(hub), servers(hub)].concat()),
        Table::Users => put(
            out,
            "name pool_size reserve_pool_size pool_mode max_user_connections current_connections \
             max_user_client_connections current_client_connections",
            "ssssiiii",
            users(hub),
        ),
        Table::Config => put(out, "key value default changeable", "ssss", config(hub)),
        Table::Lists => put(out, "list items", "si", lists(hub)),
        Table::Mem => {
            let memory = hub.memory();
            let row = vec![text("message_buffers"), int(1), int(memory), int(0), int(memory)];
            put(out, "name size used free memtotal", "siiii", vec![row]);
        }
        Table::State => {
            let paused = hub.is_paused(None);
            let yes = |is: bool| text(if is { "yes" } else { "no" });
            let rows = [("active", !paused), ("paused", paused), ("suspended", false)];
            put(out, "key value", "ss", rows.map(|(key, is)| vec![text(key), yes(is)]).to_vec());
        }
        Table::Stats | Table::StatsTotals | Table::StatsAverages => stats(out, hub, table),
        Table::Totals => all(out, hub),
    }
}

/// The value of a setting that clients ask for.
pub fn write_setting(out: &mut Vec<u8>, name: &str, value: &str) {
    put(out, name, "s", vec![vec![text(value)]]);
}

fn put(out: &mut Vec<u8>, names: &str, types: &str, rows: Vec<Row>) {
    let oid = |letter: char| -> Oid {
        match letter {
            INT => oid::INT4,
            NUMERIC => oid::NUMERIC,
            _ => oid::TEXT,
        }
    };
    let columns: Vec<TargetColumn> = names
        .split_whitespace()
        .zip(types.chars())
        .map(|(name, letter)| TargetColumn::new(name, oid(letter)))
        .collect();
    replies::columns(out, &columns, &[]);
    for row in rows {
        debug_assert_eq!(row.len(), columns.len(), "{names}");
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        replies::row(out, &cells);
    }
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// As int4: what is more than that is the largest.
fn int(value: impl TryInto<i32>) -> Option<String> {
    Some(value.try_into().unwrap_or(i32::MAX).to_string())
}

fn pools(hub: &Hub) -> Vec<Row> {
    /// What is counted of a database and a user.
    #[derive(Default)]
    struct Counted {
        active: usize,
        waiting: usize,
        used: usize,
        idle: usize,
        longest: f64,
        mode: &'static str,
    }
    let mut all: BTreeMap<(String, String), Counted> = BTreeMap::new();
    for pool in hub.shown() {
        let counted = all.entry((pool.database, pool.user)).or_default();
        let open = pool.stats.servers.all().len();
        counted.idle += pool.idle;
        counted.used += open.saturating_sub(pool.idle);
        counted.mode = pool.mode.name();
    }
    for client in status::clients(hub) {
        // The console has a pool, too.
        let counted = all.entry((database_of(&client), client.user)).or_default();
        if client.state == "waiting" {
            counted.waiting += 1;
            counted.longest = counted.longest.max(client.state_seconds);
        } else {
            counted.active += 1;
        }
    }
    let row = |((database, user), counted): ((String, String), Counted)| {
        let [seconds, micros] = parts(counted.longest);
        let mode = if counted.mode.is_empty() { "statement" } else { counted.mode };
        vec![
            Some(database),
            Some(user),
            int(counted.active),
            int(counted.waiting),
            int(0),
            int(0),
            int(counted.used),
            int(0),
            int(0),
            int(counted.idle),
            int(0),
            int(0),
            int(0),
            seconds,
            micros,
            text(mode),
            None,
        ]
    };
    all.into_iter().map(row).collect()
}

/// Seconds, and microseconds beyond them.
fn parts(seconds: f64) -> [Option<String>; 2] {
    let micros = (seconds * 1e6) as u64;
    [int(micros / 1_000_000), int(micros % 1_000_000)]
}

fn databases(hub: &Hub) -> Vec<Row> {
    let config = hub.config();
    let row = |found: status::DatabaseStatus| {
        let lifetime = config.databases.get(&found.name).map_or(0, |database| database.lifetime() as i64);
        vec![
            Some(found.name.clone()),
            Some(found.host),
            int(found.port),
            found.dbname.or(Some(found.name)),
            found.user,
            int(found.size),
            int(0),
            int(0),
            int(lifetime),
            text(found.mode),
            None,
            int(found.most),
            int(found.open),
            int(0),
            int(found.clients),
            int(i32::from(found.paused)),
            int(0),
        ]
    };
    let mut rows: Vec<Row> = status::databases(hub).into_iter().map(row).collect();
    let own = hub.registry.all().iter().filter(|client| client.info.name.as_deref() == Some(NAME)).count();
    let mut console: Row = vec![int(0); 17];
    for (at, value) in [(0, NAME), (3, NAME), (4, NAME), (9, "statement")] {
        console[at] = text(value);
    }
    (console[1], console[10], console[14]) = (None, None, int(own));
    rows.push(console);
    rows
}

fn database_of(client: &ClientStatus) -> String {
    client.name.clone().unwrap_or_else(|| client.database.clone())
}

/// An address and a port; `unix` for a Unix socket.
fn place(address: Option<&str>) -> [Option<String>; 2] {
    match address.and_then(|address| address.rsplit_once(':')) {
        Some((host, port)) => [text(host.trim_matches(['[', ']'])), int(port.parse::<i32>().unwrap_or_default())],
        None => [text("unix"), int(0)],
    }
}

/// A time so many seconds ago, as PgBouncer writes it.
fn ago(seconds: f64) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let whole = (now - seconds).max(0.0) as i64;
    Some(format!("{} UTC", timestamp_text(whole * 1_000_000, false)))
}

fn clients(hub: &Hub) -> Vec<Row> {
    let servers = status::servers(hub);
    let row = |client: ClientStatus| {
        let [addr, port] = place(client.address.as_deref());
        let waits = client.state == "waiting";
        let [wait, wait_us] = parts(if waits { client.state_seconds } else { 0.0 });
        let link = servers.iter().find(|server| server.client == Some(client.id));
        vec![
            text("C"),
            Some(client.user.clone()),
            Some(database_of(&client)),
            text("none"),
            text(if client.state == "pinned" { "active" } else { client.state }),
            addr,
            port,
            text(""),
            int(0),
            ago(client.connected_seconds),
            ago(client.state_seconds),
            wait,
            wait_us,
            int(0),
            Some(format!("C{}", client.id)),
            Some(link.map_or_else(String::new, |server| format!("S{}", server.id))),
            int(client.pid.unwrap_or_default()),
            text(if client.tls { "TLS" } else { "" }),
            Some(client.application),
            int(0),
            int(client.id),
        ]
    };
    status::clients(hub).into_iter().map(row).collect()
}

fn servers(hub: &Hub) -> Vec<Row> {
    let clients = status::clients(hub);
    let row = |server: ServerStatus| {
        let [addr, port] = place(Some(&server.address).filter(|address| !address.starts_with('/')).map(String::as_str));
        let client = clients.iter().find(|client| Some(client.id) == server.client);
        vec![
            text("S"),
            Some(server.user),
            Some(server.name),
            text("none"),
            text(server.state),
            addr,
            port,
            text(""),
            int(0),
            ago(server.open_seconds),
            ago(server.state_seconds),
            int(0),
            int(0),
            int(i32::from(server.closing)),
            Some(format!("S{}", server.id)),
            Some(server.client.map_or_else(String::new, |client| format!("C{client}"))),
            int(server.pid.unwrap_or_default()),
            text(""),
            Some(client.map_or_else(String::new, |client| client.application.clone())),
            int(0),
            int(server.id),
        ]
    };
    status::servers(hub).into_iter().map(row).collect()
}

fn users(hub: &Hub) -> Vec<Row> {
    let (config, clients, servers) = (hub.config(), status::clients(hub), status::servers(hub));
    let mut names: BTreeSet<&str> = config.clients.keys().map(String::as_str).collect();
    names.extend(config.databases.values().flat_map(|database| database.users.keys().map(String::as_str)));
    names.extend(clients.iter().map(|client| client.user.as_str()));
    names.extend(servers.iter().map(|server| server.user.as_str()));
    let row = |name: &str| {
        let own = config.databases.values().find_map(|database| database.users.get(name));
        vec![
            text(name),
            Some(own.and_then(|user| user.pool_size).map_or_else(String::new, |size| size.to_string())),
            text(""),
            own.and_then(|user| user.pool_mode).map(|mode| mode.name().to_owned()),
            int(0),
            int(servers.iter().filter(|server| server.user == name).count()),
            int(0),
            int(clients.iter().filter(|client| client.user == name).count()),
        ]
    };
    names.into_iter().map(row).collect()
}

/// The settings of the daemon, by PgBouncer's names where they mean the same, and those of databases with the section.
fn config(hub: &Hub) -> Vec<Row> {
    let fixed = ["listen", "log_format"];
    let row = |setting: crate::config::Setting| {
        let of_daemon = setting.section == "daemon";
        let key = match setting.name.as_str() {
            "max_clients" => "max_client_conn".to_owned(),
            name if of_daemon => name.to_owned(),
            name => format!("{}.{name}", setting.section),
        };
        let changeable = if of_daemon && fixed.contains(&setting.name.as_str()) { "no" } else { "yes" };
        vec![Some(key), Some(setting.value), Some(setting.default), text(changeable)]
    };
    hub.config().shown().into_iter().map(row).collect()
}

fn lists(hub: &Hub) -> Vec<Row> {
    let figures = [
        ("databases", hub.config().databases.len() + 1),
        ("users", users(hub).len()),
        ("peers", 0),
        ("pools", pools(hub).len()),
        ("peer_pools", 0),
        ("free_clients", 0),
        ("used_clients", hub.registry.len()),
        ("login_clients", 0),
        ("free_servers", 0),
        ("used_servers", status::servers(hub).len()),
        ("dns_names", 0),
        ("dns_zones", 0),
        ("dns_queries", 0),
        ("dns_pending", 0),
    ];
    figures.into_iter().map(|(name, count)| vec![text(name), int(count)]).collect()
}

/// SHOW STATS and its parts.
fn stats(out: &mut Vec<u8>, hub: &Hub, table: Table) {
    let of = |prefix: &str, names: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        NAMES.iter().map(|name| format!(" {prefix}{}", names(name))).collect()
    };
    // The averages of bytes received are `avg_recv`.
    let averages = || of("avg_", |names| if names.0 == "received" { "recv" } else { names.0 });
    let columns = match table {
        Table::Stats => of("total_", |names| names.0) + &averages(),
        Table::StatsTotals => of("", |names| names.1),
        _ => {
            let plain = NAMES.iter().take(8).map(|(_, name)| format!(" {name}"));
            let others = NAMES.iter().skip(8).map(|(_, name)| format!(" avg_{name}"));
            plain.chain(others).collect()
        }
    };
    let row = |(name, totals): (String, Figures)| {
        let averages = hub.averages.of(&name);
        let figures = match table {
            Table::Stats => [totals, averages].concat(),
            Table::StatsTotals => totals.to_vec(),
            _ => averages.to_vec(),
        };
        std::iter::once(Some(name)).chain(figures.into_iter().map(|figure| Some(figure.to_string()))).collect()
    };
    let rows: Vec<Row> = totals::totals(hub).into_iter().map(row).collect();
    let types = format!("{TEXT}{}", NUMERIC.to_string().repeat(columns.split_whitespace().count()));
    put(out, &format!("database{columns}"), &types, rows);
}

/// SHOW TOTALS.
fn all(out: &mut Vec<u8>, hub: &Hub) {
    let totals = totals::totals(hub);
    let sum = |figures: &dyn Fn(&str, &Figures) -> Figures| {
        let mut sum = Figures::default();
        for (name, totals) in &totals {
            sum.iter_mut().zip(figures(name, totals)).for_each(|(sum, figure)| *sum += figure);
        }
        sum
    };
    let of = |prefix: &str, figures: Figures| -> Vec<Row> {
        let name = |name: &str| match name {
            "received" => "client_bytes".to_owned(),
            "sent" => "server_bytes".to_owned(),
            "client_parse_count" | "server_parse_count" | "bind_count" => format!("ps_{name}"),
            name => name.to_owned(),
        };
        let rows = NAMES.iter().zip(figures);
        rows.map(|((known, _), figure)| vec![Some(format!("{prefix}{}", name(known))), Some(figure.to_string())])
            .collect()
    };
    let rows = [of("total_", sum(&|_, totals| *totals)), of("avg_", sum(&|name, _| hub.averages.of(name)))];
    put(out, "name value", "sN", rows.concat());
}
