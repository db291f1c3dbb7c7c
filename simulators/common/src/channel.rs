//! The bytes of one connection, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, recv};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection.
pub enum Channel {
    /// Unencrypted.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Channel {
    /// A connection that was accepted.
    pub fn new(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let Some(config) = tls else { return Ok(Self::Plain(stream)) };
        let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(session, stream))))
    }

    /// The socket; urgent bytes and the end of a connection are its affair.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref(),
        }
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// The poll event of a client that has closed its end.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::RDHUP.union(PollFlags::HUP).union(PollFlags::ERR);
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

/// Returns true if the running statement is to end: the client sent the urgent byte, which is taken, or has gone. TLS
/// has no urgent byte.
pub fn is_unwanted(stream: &TcpStream, encrypted: bool) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::PRI | PollFlags::IN | CLOSED)];
    let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if !matches!(poll(&mut polled, Some(&none)), Ok(1)) {
        return false;
    }
    let (seen, mut byte) = (polled[0].revents(), [0u8; 1]);
    if !encrypted && seen.contains(PollFlags::PRI) && recv(stream, &mut byte[..], RecvFlags::OOB).is_ok() {
        return true;
    }
    // If the system does not report it: at the end the socket is readable, and a read returns nothing.
    seen.intersects(CLOSED) || matches!(recv(stream, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT), Ok((_, 0)))
}

fn configured(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    config.map(Arc::new).map_err(|error| format!("TLS: {error}"))
}

/// TLS with a certificate and its key from PEM files.
pub fn tls_from_files(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let shown = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).map_err(|error| shown(certificate, &error))?.collect();
    let chain = chain.map_err(|error| shown(certificate, &error))?;
    configured(chain, PrivateKeyDer::from_pem_file(key).map_err(|error| shown(key, &error))?)
}

/// TLS with a certificate for this machine, made now; its authority is written to `authority`.
pub fn tls_for_this_run(authority: &Path) -> Result<Arc<ServerConfig>, String> {
    let failed = |error: rcgen::Error| format!("TLS: {error}");
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "headrace test authority");
    let certificate = params.self_signed(&key).map_err(failed)?;
    std::fs::write(authority, certificate.pem()).map_err(|error| format!("{}: {error}", authority.display()))?;

    let own_key = KeyPair::generate().map_err(failed)?;
    let mut own = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        own.subject_alt_names.push(SanType::IpAddress(address));
    }
    own.distinguished_name.push(DnType::CommonName, "localhost");
    let own = own.signed_by(&own_key, &Issuer::from_params(&params, &key)).map_err(failed)?;
    configured(
        vec![own.der().clone(), certificate.der().clone()],
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own_key.serialize_der())),
    )
}
