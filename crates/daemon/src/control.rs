//! The second socket: HTTP with metrics for Prometheus, the state as JSON, and the orders of operators.
//!
//! `curl --unix-socket $XDG_RUNTIME_DIR/headrace/.s.PGSQL.5432.http http://localhost/metrics`

use crate::hub::Hub;
use crate::limits::{FAREWELL, REQUEST_BYTES};
use crate::orders::{Operator, Refusal};
use crate::takeover::Order;
use crate::{metrics, status};
use headrace_drivers::decode;
use serde::Serialize;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Reads the configuration again.
pub type Reload = Arc<dyn Fn(&Hub) -> Result<(), String> + Send + Sync>;

/// Answers one request. Who asks for the sockets is handed to `takeovers`.
pub async fn serve(mut stream: UnixStream, hub: Arc<Hub>, takeovers: mpsc::Sender<UnixStream>) {
    let by = Operator::of_control(stream.peer_cred());
    let answered = async {
        let mut request = Vec::new();
        while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
            if stream.read_buf(&mut request).await? == 0 {
                break;
            }
        }
        let line =
            String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
        if line.starts_with("POST /takeover ") {
            return Ok(true);
        }
        let (status, kind, body) = answer(&line, &hub, &by).await;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await?;
        Ok::<bool, std::io::Error>(false)
    };
    // Who asks and does not read is not waited for.
    if let Ok(Ok(true)) = timeout(FAREWELL, answered).await {
        let _ = takeovers.send(stream).await;
    }
}

type Answer = (&'static str, &'static str, String);

const TEXT: &str = "text/plain; charset=utf-8";
const THERE_ARE: &str = "there are GET /metrics, /status, /pools, /clients, /servers, /statements, /databases and /config, \
                         /closing with ?database=NAME or without, and POST /reload, /pause, /resume, /reconnect and /kill, with ?database=NAME or without, and \
                         /kill?client=NUMBER, and POST /takeover for another daemon\n";

async fn answer(line: &str, hub: &Hub, by: &Operator) -> Answer {
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (method, path) {
        ("GET", "/metrics") => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics::text(hub)),
        ("GET", "/status") => json(&status::of(hub)),
        ("GET", "/pools") => json(&status::pools(hub)),
        ("GET", "/clients") => json(&status::clients(hub)),
        ("GET", "/servers") => json(&status::servers(hub)),
        ("GET", "/statements") => json(&status::statements(hub)),
        ("GET", "/databases") => json(&status::databases(hub)),
        ("GET", "/config") => json(&hub.config().shown()),
        ("GET", "/closing") => match database(query) {
            Ok(database) => json(&hub.closing(database.as_deref()).await),
            Err(what) => ("400 Bad Request", TEXT, what),
        },
        ("POST", "/reload") => match hub.read_again(by) {
            Ok(()) => ("200 OK", TEXT, String::new()),
            Err(what) => ("409 Conflict", TEXT, what),
        },
        ("POST", "/pause" | "/resume" | "/reconnect" | "/kill") => match order(path, query, hub, by).await {
            Ok(Ok(())) => ("200 OK", TEXT, String::new()),
            Ok(Err(refusal @ Refusal::TakenOver(_))) => ("409 Conflict", TEXT, refusal.to_string()),
            Ok(Err(refusal)) => ("404 Not Found", TEXT, refusal.to_string()),
            Err(what) => ("400 Bad Request", TEXT, what),
        },
        _ => ("404 Not Found", TEXT, THERE_ARE.into()),
    }
}

async fn order(path: &str, query: &str, hub: &Hub, by: &Operator) -> Result<Result<(), Refusal>, String> {
    if let Some(number) = query.strip_prefix("client=").filter(|_| path == "/kill") {
        let number = number.parse().map_err(|_| "the client is not a number")?;
        return Ok(hub.kill_client(number, by).await);
    }
    let of = match path {
        "/pause" => Order::Pause,
        "/resume" => Order::Resume,
        "/reconnect" => Order::Reconnect,
        _ => Order::Kill,
    };
    Ok(hub.order(of(database(query)?), by))
}

/// The database that is named, if one is.
fn database(query: &str) -> Result<Option<String>, String> {
    match query.split_once('=') {
        None if query.is_empty() => Ok(None),
        Some(("database", name)) => decode(name, "database").map(Some).map_err(|what| what.to_string()),
        _ => Err(THERE_ARE.into()),
    }
}

fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_string(value) {
        Ok(body) => ("200 OK", "application/json", body),
        Err(error) => ("500 Internal Server Error", TEXT, error.to_string()),
    }
}
