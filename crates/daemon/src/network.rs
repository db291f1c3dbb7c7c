//! TCP for clients, where the configuration has addresses for it.

use crate::client::Peer;
use crate::config::Config;
use crate::hub::Hub;
use crate::lifecycle::{Served, admit};
use headrace_io::TcpOptions;
use headrace_io::tokio::Stream;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The addresses that are listened on, until this is dropped.
#[derive(Debug, Default)]
pub struct Listeners {
    tasks: JoinSet<()>,
    /// With the addresses as they are configured.
    sockets: Vec<(SocketAddr, StdListener)>,
    /// The addresses, with the port that the system has chosen for a port of 0.
    pub addresses: Vec<SocketAddr>,
}

impl Listeners {
    /// Opens the addresses of the configuration. Those that were taken from another daemon are open already.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub async fn bind(config: &Config, mut taken: Vec<(String, StdListener)>) -> Result<Self, String> {
        let mut listeners = Self::default();
        for address in config.daemon.addresses()? {
            let failed = |error: io::Error| format!("listen: {address}: {error}");
            let known = taken.iter().position(|(known, _)| *known == address.to_string());
            let listener = match known {
                Some(known) => taken.swap_remove(known).1,
                None => TcpListener::bind(address).await.and_then(TcpListener::into_std).map_err(failed)?,
            };
            listeners.addresses.push(listener.local_addr().map_err(failed)?);
            listeners.sockets.push((address, listener));
        }
        Ok(listeners)
    }

    /// Accepts clients.
    ///
    /// # Errors
    /// There are no more file descriptors.
    pub fn accept(&mut self, hub: &Arc<Hub>, served: &Arc<Served>) -> Result<(), String> {
        for (address, socket) in &self.sockets {
            let listener = socket.try_clone().and_then(TcpListener::from_std);
            let listener = listener.map_err(|error| format!("listen: {address}: {error}"))?;
            self.tasks.spawn(accept(listener, Arc::clone(hub), Arc::clone(served)));
        }
        Ok(())
    }

    /// Accepts no more clients, which wait until [`Listeners::accept`], or another daemon, does.
    pub async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Closes the sockets.
    pub fn forget(&mut self) {
        self.sockets.clear();
    }

    /// The sockets, for a daemon that takes over.
    ///
    /// # Errors
    /// There are no more file descriptors.
    pub fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        self.sockets.iter().map(|(_, socket)| socket.as_fd().try_clone_to_owned()).collect()
    }

    /// Their addresses, as they are configured.
    pub fn configured(&self) -> Vec<String> {
        self.sockets.iter().map(|(address, _)| address.to_string()).collect()
    }
}

async fn accept(listener: TcpListener, hub: Arc<Hub>, served: Arc<Served>) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => spawn_client(stream, address, &hub, &served),
            Err(error) => {
                tracing::error!(%error, "a client cannot be accepted");
                tokio::time::sleep(headrace_io::limits::TICK).await;
            }
        }
    }
}

fn spawn_client(stream: TcpStream, address: SocketAddr, hub: &Arc<Hub>, served: &Arc<Served>) {
    // A client whose machine was switched off is found out.
    let options = TcpOptions { keepalive: true, ..TcpOptions::default() };
    if let Ok(stream) = Stream::tuned(stream, &options) {
        admit(stream, Peer { process: None, user: None, own: false, address: Some(address) }, hub, served);
    }
}
