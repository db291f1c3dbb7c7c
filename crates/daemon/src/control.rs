//! The second socket: HTTP with metrics for Prometheus, the state as JSON, and the reloading of the configuration.
//!
//! `curl --unix-socket $XDG_RUNTIME_DIR/headrace/.s.PGSQL.5432.http http://localhost/metrics`

use crate::hub::Hub;
use crate::limits::{FAREWELL, REQUEST_BYTES};
use crate::{metrics, status};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Reads the configuration again.
pub type Reload = Arc<dyn Fn(&Hub) -> Result<(), String> + Send + Sync>;

/// Answers one request.
pub async fn serve(mut stream: UnixStream, hub: Arc<Hub>, reload: Reload) {
    let answered = async {
        let mut request = Vec::new();
        while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
            if stream.read_buf(&mut request).await? == 0 {
                break;
            }
        }
        let line =
            String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
        let (status, kind, body) = answer(&line, &hub, &reload);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    };
    // Who asks and does not read is not waited for.
    let _ = timeout(FAREWELL, answered).await;
}

fn answer(line: &str, hub: &Hub, reload: &Reload) -> (&'static str, &'static str, String) {
    const TEXT: &str = "text/plain; charset=utf-8";
    let mut words = line.split(' ');
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        ("GET", "/metrics") => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics::text(hub)),
        ("GET", "/status") => match serde_json::to_string(&status::of(hub)) {
            Ok(body) => ("200 OK", "application/json", body),
            Err(error) => ("500 Internal Server Error", TEXT, error.to_string()),
        },
        ("POST", "/reload") => match reload(hub) {
            Ok(()) => ("200 OK", TEXT, String::new()),
            Err(what) => ("409 Conflict", TEXT, what),
        },
        _ => ("404 Not Found", TEXT, "there are GET /metrics, GET /status and POST /reload\n".into()),
    }
}
