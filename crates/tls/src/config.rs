//! The TLS settings of the user.

use crate::dangerous;
use headrace_core::{Fatal, FatalKind};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, Error, InconsistentKeys, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is verified of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Nothing: the connection is encrypted, but anyone could be at the other end.
    None,
    /// The chain to a trusted CA, but not the name.
    Ca,
    /// Everything.
    Full,
    /// Everything, but a certificate that fails is only recorded: see [`crate::TlsConnection::is_verified`]. For protocols
    /// in which the server can prove in another way that the certificate is its own; code that chooses this must
    /// require that proof.
    Opportunistic,
}

/// The trusted certificates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Roots {
    /// The system's certificate store.
    System,
    /// The certificates in a PEM file.
    File(PathBuf),
    /// The certificates in this PEM text.
    Pem(Vec<u8>),
}

impl Roots {
    /// The source of the certificates, for error messages.
    fn describe(&self) -> String {
        match self {
            Self::System => "the system's certificate store".into(),
            Self::File(path) => path.display().to_string(),
            Self::Pem(_) => "the given CA certificates".into(),
        }
    }
}

/// The client's own certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientCert {
    /// PEM file with the certificate chain.
    pub certificates: PathBuf,
    /// PEM file with the unencrypted private key.
    pub key: PathBuf,
}

/// The TLS settings of the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TlsConfig {
    /// What is verified.
    pub verify: Verify,
    /// The trusted certificates, if anything is verified.
    pub roots: Roots,
    /// The client's own certificate.
    pub client: Option<ClientCert>,
    /// Refuse TLS 1.2.
    pub only_tls13: bool,
    /// Protocols for ALPN.
    pub alpn: Vec<Vec<u8>>,
    /// Send the server name in the handshake (SNI).
    pub sni: bool,
}

impl TlsConfig {
    /// The configuration, and the flag that becomes true if a certificate could not be verified.
    pub(crate) fn build(&self) -> Result<(ClientConfig, Arc<AtomicBool>), Fatal> {
        let unverified = Arc::new(AtomicBool::new(self.verify == Verify::None));
        let provider = Arc::new(ring::default_provider());
        let versions: &[&rustls::SupportedProtocolVersion] =
            if self.only_tls13 { &[&rustls::version::TLS13] } else { rustls::ALL_VERSIONS };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(|e| Fatal::new(FatalKind::UnusableSetting, format!("TLS: {e}")))?;
        let no_verification = dangerous::NoVerification::new(provider.clone());
        let verifier: Arc<dyn ServerCertVerifier> = match self.verify {
            Verify::None => Arc::new(no_verification),
            Verify::Ca | Verify::Full => Arc::new(self.openssl_compatible(provider)?),
            Verify::Opportunistic => match self.openssl_compatible(provider) {
                Ok(verifier) => Arc::new(dangerous::Opportunistic::new(verifier, no_verification, unverified.clone())),
                // A system without trusted certificates.
                Err(_) if matches!(self.roots, Roots::System) => {
                    unverified.store(true, Ordering::Relaxed);
                    Arc::new(no_verification)
                }
                Err(error) => return Err(error),
            },
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match &self.client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let chain = read_certificates(&client.certificates)?;
                let key = read_key(&client.key)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| unusable(client, &error))?
            }
        };
        config.alpn_protocols.clone_from(&self.alpn);
        config.enable_sni = self.sni;
        Ok((config, unverified))
    }

    fn openssl_compatible(&self, provider: Arc<CryptoProvider>) -> Result<dangerous::OpenSslCompatible, Fatal> {
        let trusted = self.certificates()?;
        let mut roots = RootCertStore::empty();
        if let (0, _) = roots.add_parsable_certificates(trusted.iter().cloned()) {
            return Err(Fatal::new(
                FatalKind::UnusableSetting,
                format!(
                    "{}: none of its certificates can be used as a CA; they have to be X.509 version 3",
                    self.roots.describe()
                ),
            ));
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|e| Fatal::new(FatalKind::UnusableSetting, format!("TLS: no usable CA certificate: {e}")))?;
        Ok(dangerous::OpenSslCompatible::new(inner, trusted, self.verify == Verify::Ca))
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Fatal> {
        match &self.roots {
            Roots::File(path) => read_certificates(path),
            Roots::Pem(text) => parse_certificates(text, &self.roots.describe()),
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                if found.certs.is_empty() {
                    let why = found.errors.first().map_or_else(String::new, |e| format!(": {e}"));
                    return Err(Fatal::new(
                        FatalKind::UnusableSetting,
                        format!("the system has no CA certificates{why}"),
                    ));
                }
                Ok(found.certs)
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Fatal> {
    std::fs::read(path).map_err(|error| Fatal::new(FatalKind::UnusableSetting, format!("{}: {error}", path.display())))
}

pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fatal> {
    parse_certificates(&read(path)?, &path.display().to_string())
}

fn parse_certificates(pem: &[u8], source: &str) -> Result<Vec<CertificateDer<'static>>, Fatal> {
    let bad = |why: &str| {
        Fatal::new(FatalKind::UnusableSetting, format!("{source}: {why}; certificates have to be in PEM format"))
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| bad(&error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("no certificate in it"));
    }
    Ok(certificates)
}

pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, Fatal> {
    let pem = read(path)?;
    let has = |words: &[u8]| pem.windows(words.len()).any(|window| window == words);
    // PKCS #8 (RFC 5958), and OpenSSL's older format (RFC 1421 headers).
    if has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Err(Fatal::new(
            FatalKind::UnusableSetting,
            format!(
                "{0}: the private key is encrypted, which is not supported; decrypt it with `openssl pkey -in {0} -out \
             FILE`, readable by you alone",
                path.display()
            ),
        ));
    }
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| {
        let why = match error {
            pem::Error::NoItemsFound => "no private key in it".to_owned(),
            // The error may quote the line, which may be a part of the key.
            pem::Error::IllegalSectionStart { .. } => "a section of it does not begin as it should".to_owned(),
            other => other.to_string(),
        };
        Fatal::new(
            FatalKind::UnusableSetting,
            format!("{}: {why}; a private key has to be in PEM format", path.display()),
        )
    })
}

fn unusable(client: &ClientCert, error: &Error) -> Fatal {
    let (certificates, key) = (client.certificates.display(), client.key.display());
    Fatal::new(
        FatalKind::UnusableSetting,
        match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                format!("{key}: the private key does not belong to the certificate in {certificates}")
            }
            Error::InvalidCertificate(CertificateError::BadEncoding) => {
                format!("{certificates}: its first certificate cannot be read")
            }
            other => format!("the certificate in {certificates} and the private key in {key} cannot be used: {other}"),
        },
    )
}
