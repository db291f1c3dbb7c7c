//! What the user asks of TLS.

use crate::dangerous;
use headrace_core::Fatal;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What of the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: the connection is encrypted, but anyone could be at the other end.
    None,
    /// That a trusted CA signed it, not whom it names.
    Ca,
    /// Everything.
    Full,
}

/// Whom to trust.
#[derive(Clone, Debug)]
pub enum Roots {
    /// The system's certificate store.
    System,
    /// The certificates in a PEM file.
    File(PathBuf),
}

/// The client's own certificate.
#[derive(Clone, Debug)]
pub struct ClientCert {
    /// PEM file with the certificate chain.
    pub certificates: PathBuf,
    /// PEM file with the unencrypted private key.
    pub key: PathBuf,
}

/// What the user asks of TLS.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    /// What is checked.
    pub verify: Verify,
    /// Whom to trust, where anything is checked.
    pub roots: Roots,
    /// The client's own certificate.
    pub client: Option<ClientCert>,
    /// Refuse TLS 1.2.
    pub only_tls13: bool,
    /// Protocols for ALPN.
    pub alpn: Vec<Vec<u8>>,
    /// Tell the server the name that is asked for.
    pub sni: bool,
}

impl TlsConfig {
    pub(crate) fn build(&self) -> Result<ClientConfig, Fatal> {
        let provider = Arc::new(ring::default_provider());
        let versions: &[&rustls::SupportedProtocolVersion] =
            if self.only_tls13 { &[&rustls::version::TLS13] } else { rustls::ALL_VERSIONS };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(|e| Fatal::refused(format!("TLS: {e}")))?;
        let verifier: Arc<dyn ServerCertVerifier> = match self.verify {
            Verify::None => Arc::new(dangerous::Anyone::new(provider)),
            Verify::Ca | Verify::Full => {
                let trusted = self.certificates()?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(trusted.iter().cloned());
                let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .map_err(|e| Fatal::refused(format!("TLS: no usable CA certificate: {e}")))?;
                Arc::new(dangerous::Trusting::new(inner, trusted, self.verify == Verify::Ca))
            }
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match &self.client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let chain = read_certificates(&client.certificates)?;
                let key = PrivateKeyDer::from_pem_file(&client.key).map_err(|e| {
                    Fatal::refused(format!(
                        "sslkey: {}: {e}; it has to be an unencrypted private key in PEM format",
                        client.key.display()
                    ))
                })?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|e| Fatal::refused(format!("sslcert and sslkey do not work together: {e}")))?
            }
        };
        config.alpn_protocols.clone_from(&self.alpn);
        config.enable_sni = self.sni;
        Ok(config)
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Fatal> {
        match &self.roots {
            Roots::File(path) => read_certificates(path),
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                if found.certs.is_empty() {
                    let why = found.errors.first().map_or_else(String::new, |e| format!(": {e}"));
                    return Err(Fatal::refused(format!("the system has no CA certificates{why}")));
                }
                Ok(found.certs)
            }
        }
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fatal> {
    let bad =
        |why: String| Fatal::refused(format!("{}: {why}; it has to be a PEM file of certificates", path.display()));
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|e| bad(e.to_string()))?.collect();
    let certificates = certificates.map_err(|e| bad(e.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("no certificate in it".into()));
    }
    Ok(certificates)
}
