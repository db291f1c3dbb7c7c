//! The settings of TCP for clients.

use super::{Config, Daemon};
use headrace_tls::Identity;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

/// The name by which TLS agrees on PostgreSQL's protocol (manual, "SSL Session Encryption").
const ALPN: &[&[u8]] = &[b"postgresql"];

impl Daemon {
    /// The addresses that clients may connect to; none without configuration.
    ///
    /// # Errors
    /// A text that is not an address with a port.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let address = |text: &String| {
            text.parse().map_err(|_| format!("listen: {text:?} is not an address with a port, such as 127.0.0.1:6432"))
        };
        self.listen.iter().map(address).collect()
    }

    /// Reads the certificate and the key.
    fn prepare(&mut self) -> Result<(), String> {
        let addresses = self.addresses()?;
        self.identity = match (&self.tls_cert, &self.tls_key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                let metadata = key.metadata().map_err(|error| format!("tls_key: {}: {error}", key.display()))?;
                if metadata.mode() & 0o077 != 0 {
                    return Err(format!("tls_key: {} may be read by other users (chmod 600)", key.display()));
                }
                Some(
                    Identity::read(certificate, key, self.tls_client_ca.as_deref(), ALPN)
                        .map_err(|fatal| fatal.message)?,
                )
            }
            _ => return Err("tls_cert and tls_key must be set together".into()),
        };
        if self.tls_client_ca.is_some() && self.identity.is_none() {
            return Err("tls_client_ca needs tls_cert and tls_key".into());
        }
        let open = addresses.iter().find(|address| !address.ip().is_loopback());
        match open {
            Some(address) if self.identity.is_none() && !self.allow_plaintext => Err(format!(
                "listen: {address} can be reached from other machines: set tls_cert and tls_key, or allow_plaintext"
            )),
            _ => Ok(()),
        }
    }
}

impl Config {
    /// Reads what TCP needs: the certificate, and the passwords of clients.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        self.daemon.prepare().map_err(|what| format!("daemon: {what}"))?;
        for (name, account) in &mut self.clients {
            account.prepare().map_err(|what| format!("clients.{name}: {what}"))?;
            if account.needs_certificate() && self.daemon.tls_client_ca.is_none() {
                return Err(format!("clients.{name}: cert_names needs tls_client_ca in [daemon]"));
            }
        }
        let is_asked = self.databases.values().any(|database| database.auth_query.is_some());
        if !self.daemon.listen.is_empty() && self.clients.is_empty() && !is_asked {
            return Err(
                "daemon: listen: no client may log in over TCP: there is no [clients.NAME], and no auth_query".into()
            );
        }
        Ok(())
    }
}
