//! TCP for clients, where the configuration has addresses for it.

use crate::client::Peer;
use crate::hub::Hub;
use crate::lifecycle::{Served, admit};
use headrace_io::TcpOptions;
use headrace_io::tokio::Stream;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The addresses that are listened on, until this is dropped.
#[derive(Debug, Default)]
pub struct Listeners {
    tasks: JoinSet<()>,
    /// The addresses, with the port that the system has chosen for a port of 0.
    pub addresses: Vec<SocketAddr>,
}

/// Listens on the addresses of the configuration.
///
/// # Errors
/// An address that cannot be listened on.
pub async fn listen(hub: &Arc<Hub>, served: &Arc<Served>) -> Result<Listeners, String> {
    let mut listeners = Listeners::default();
    for address in hub.config().daemon.addresses()? {
        let failed = |error: std::io::Error| format!("listen: {address}: {error}");
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        listeners.addresses.push(listener.local_addr().map_err(failed)?);
        listeners.tasks.spawn(accept(listener, Arc::clone(hub), Arc::clone(served)));
    }
    Ok(listeners)
}

async fn accept(listener: TcpListener, hub: Arc<Hub>, served: Arc<Served>) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => welcome(stream, address, &hub, &served),
            Err(error) => {
                tracing::error!(%error, "a client cannot be accepted");
                tokio::time::sleep(headrace_core::limits::TICK).await;
            }
        }
    }
}

fn welcome(stream: TcpStream, address: SocketAddr, hub: &Arc<Hub>, served: &Arc<Served>) {
    // A client whose machine was switched off is found out.
    let options = TcpOptions { keepalive: true, ..TcpOptions::default() };
    if let Ok(stream) = Stream::tuned(stream, &options) {
        admit(stream, Peer { process: None, user: None, own: false, address: Some(address) }, hub, served);
    }
}
