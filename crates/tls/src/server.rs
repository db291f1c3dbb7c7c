//! The certificate that a server proves itself with.

use crate::binding;
use crate::config::{read_certificates, read_key};
use headrace_core::{Fatal, FatalKind};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A server's certificate with its key, read once for all connections.
#[derive(Clone)]
pub struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    /// The tls-server-end-point channel binding.
    pub(crate) end_point: Option<Arc<[u8]>>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a certificate chain and its unencrypted private key, both PEM files. `alpn` are the protocols that are
    /// agreed on with clients that name theirs. With `clients`, a PEM file of authorities, clients are asked for a certificate
    /// of one of them; who has none is let in without, and who has another one is not.
    ///
    /// # Errors
    /// [`Fatal`] when a file cannot be read or used; the message names it.
    pub fn read(certificates: &Path, key: &Path, clients: Option<&Path>, alpn: &[&[u8]]) -> Result<Self, Fatal> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |error: rustls::Error| {
            let what = format!("{} and {}: {error}", certificates.display(), key.display());
            Fatal::new(FatalKind::UnusableSetting, what)
        };
        let chain = read_certificates(certificates)?;
        let end_point = chain.first().and_then(|own| binding::tls_server_end_point(own)).map(Arc::from);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .map_err(unusable)?
            .with_client_cert_verifier(match clients {
                Some(authorities) => verifier(authorities, provider)?,
                None => WebPkiClientVerifier::no_client_auth(),
            })
            .with_single_cert(chain, read_key(key)?)
            .map_err(unusable)?;
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok(Self { config: Arc::new(config), end_point })
    }
}

/// Verifies the certificates of clients that have one.
fn verifier(authorities: &Path, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, Fatal> {
    let unusable =
        |what: &dyn fmt::Display| Fatal::new(FatalKind::UnusableSetting, format!("{}: {what}", authorities.display()));
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(authorities)? {
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .allow_unauthenticated()
        .build()
        .map_err(|error| unusable(&error))
}
