//! rustls as a layer between a protocol's buffers and the wire: bytes in, bytes out, no sockets.
#![forbid(unsafe_code)]

mod binding;
mod cache;
mod config;
pub mod dangerous;
mod limits;
mod names;
mod server;

pub use config::{ClientCert, Roots, TlsConfig, Verify};
pub use server::Identity;

use crate::limits::{TLS_PLAINTEXT_BYTES, WRITE_BUFFER_HIGH_BYTES};
use headrace_core::{Fatal, FatalKind, ReadBuffer, WriteBuffer};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection, Connection, Error, ProtocolVersion, ServerConnection};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One side of a TLS connection.
#[derive(Debug)]
pub struct TlsConnection {
    connection: Connection,
    /// True once the peer has sent close_notify.
    peer_closed: bool,
    /// True if the peer's certificate was not verified.
    unverified: Arc<AtomicBool>,
    /// The channel binding of the server's own side.
    own_end_point: Option<Arc<[u8]>>,
}

impl TlsConnection {
    /// A client that will greet `server_name` (a DNS name or an IP address).
    ///
    /// A name that no certificate can have is refused only if names are verified; otherwise the handshake has no server
    /// name.
    ///
    /// # Errors
    /// [`Fatal`] when a file cannot be read or used; the message names it.
    pub fn new(config: &TlsConfig, server_name: &str) -> Result<Self, Fatal> {
        let name = match ServerName::try_from(server_name.to_owned()) {
            Ok(name) => name,
            // An address is never sent to the server, and in this mode it is not verified either.
            Err(_) if !matches!(config.verify, Verify::Full | Verify::Opportunistic) => {
                IpAddr::from(Ipv4Addr::UNSPECIFIED).into()
            }
            Err(_) => {
                return Err(Fatal::new(
                    FatalKind::TlsRefused,
                    format!("{server_name:?} is not a name that a certificate can have"),
                ));
            }
        };
        let (config, unverified) = cache::configuration(config)?;
        let connection = ClientConnection::new(config, name).map_err(refused)?;
        Ok(Self { connection: connection.into(), peer_closed: false, unverified, own_end_point: None })
    }

    /// A server that waits for a client's greeting.
    ///
    /// # Errors
    /// [`Fatal`]: TLS refuses to start.
    pub fn accept(identity: &Identity) -> Result<Self, Fatal> {
        let connection = ServerConnection::new(Arc::clone(&identity.config)).map_err(refused)?;
        let (unverified, own_end_point) = (Arc::new(AtomicBool::new(true)), identity.end_point.clone());
        Ok(Self { connection: connection.into(), peer_closed: false, unverified, own_end_point })
    }

    /// Returns true if the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Returns true if the server's certificate was verified, once the handshake is over: under
    /// [`Verify::Opportunistic`] it may not have been, under [`Verify::None`] it never was.
    pub fn is_verified(&self) -> bool {
        !self.is_handshaking() && !self.unverified.load(Ordering::Relaxed)
    }

    /// Encrypts the content of the write buffer, and the messages of the handshake, onto `wire`. During the handshake
    /// the write buffer is left unchanged.
    ///
    /// # Errors
    /// [`Fatal`] when TLS itself fails.
    pub fn transmit(&mut self, write_buffer: &mut WriteBuffer, wire: &mut Vec<u8>) -> Result<(), Fatal> {
        self.flush(wire)?;
        if self.is_handshaking() {
            return Ok(());
        }
        while !write_buffer.is_empty() && wire.len() < WRITE_BUFFER_HIGH_BYTES {
            let pending = write_buffer.pending();
            let n =
                self.connection.writer().write(&pending[..pending.len().min(TLS_PLAINTEXT_BYTES)]).map_err(broken)?;
            write_buffer.sent(n);
            self.flush(wire)?;
        }
        Ok(())
    }

    fn flush(&mut self, wire: &mut Vec<u8>) -> Result<(), Fatal> {
        while self.connection.wants_write() {
            self.connection.write_tls(wire).map_err(broken)?;
        }
        Ok(())
    }

    /// Decrypts received bytes into the read buffer. Answers of the handshake are sent with the next
    /// [`TlsConnection::transmit`]; so is the alert that reports an error to the peer.
    ///
    /// Bytes after the peer's close_notify are ignored (RFC 8446, section 6.1).
    ///
    /// # Errors
    /// [`Fatal`] for a certificate that does not verify and for anything else that is wrong with the peer's TLS.
    pub fn receive(&mut self, mut ciphertext: &[u8], read_buffer: &mut ReadBuffer) -> Result<(), Fatal> {
        while !ciphertext.is_empty() && !self.peer_closed {
            self.connection.read_tls(&mut ciphertext).map_err(broken)?;
            let state = self.connection.process_new_packets().map_err(refused)?;
            self.peer_closed = state.peer_has_closed();
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                read_buffer.reserve();
                let n = self.connection.reader().read(read_buffer.spare()).map_err(broken)?;
                read_buffer.filled(n);
                left -= n;
            }
        }
        Ok(())
    }

    /// Returns true if the peer has sent close_notify: no more bytes will come.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Queues the close_notify alert; its bytes are sent with the next [`TlsConnection::transmit`].
    pub fn close_notify(&mut self) {
        self.connection.send_close_notify();
    }

    /// Returns true if there is ciphertext to be sent.
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// The tls-server-end-point channel binding (RFC 5929, section 4): the hash of the server's certificate by the hash
    /// function of its signature, with SHA-256 in place of MD5 and SHA-1. `None` before the handshake, or if the
    /// signature names no single hash function.
    pub fn tls_server_end_point(&self) -> Option<Vec<u8>> {
        if let Connection::Server(_) = self.connection {
            return self.own_end_point.as_deref().map(<[u8]>::to_vec);
        }
        binding::tls_server_end_point(self.connection.peer_certificates()?.first()?)
    }

    /// The common name in the certificate of the client, which was verified. `None` before the handshake, of a client without a
    /// certificate, and of a server.
    pub fn client_name(&self) -> Option<String> {
        let Connection::Server(connection) = &self.connection else { return None };
        names::common_name(connection.peer_certificates()?.first()?)
    }

    /// The SHA-256 of the server's certificate (DER), `None` before the handshake.
    pub fn fingerprint(&self) -> Option<[u8; 32]> {
        use sha2::Digest;
        Some(sha2::Sha256::digest(self.connection.peer_certificates()?.first()?).into())
    }

    /// The protocol version (`TLSv1.2`, `TLSv1.3`), once it is negotiated.
    pub fn protocol_version(&self) -> Option<&'static str> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some("TLSv1.2"),
            ProtocolVersion::TLSv1_3 => Some("TLSv1.3"),
            _ => None,
        }
    }

    /// The cipher suite, once it is negotiated.
    pub fn cipher(&self) -> Option<String> {
        Some(format!("{:?}", self.connection.negotiated_cipher_suite()?.suite()))
    }

    /// Returns true if the handshake took up an earlier session with this server.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// The protocol version and cipher suite, for people.
    pub fn describe(&self) -> String {
        let version = self.protocol_version().unwrap_or("TLS");
        self.cipher().map_or_else(|| version.to_owned(), |cipher| format!("{version} {cipher}"))
    }
}

fn refused(error: Error) -> Fatal {
    let hint = match &error {
        Error::InvalidCertificate(why) => hint(why),
        _ => "",
    };
    Fatal::new(FatalKind::TlsRefused, format!("TLS: {error}{hint}"))
}

/// What the user can do about a certificate that is not accepted.
fn hint(why: &CertificateError) -> &'static str {
    use CertificateError as Why;
    match why {
        Why::UnknownIssuer => "; trust the CA that signed it, or choose a weaker verification by name",
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            "; connect by a name in the certificate, or choose a weaker verification by name"
        }
        Why::Expired | Why::ExpiredContext { .. } | Why::NotValidYet | Why::NotValidYetContext { .. } => {
            "; renew the server's certificate, or set this machine's clock right"
        }
        // Compared by its text, since rustls does not expose webpki's own type.
        Why::Other(other) if other.to_string() == "UnsupportedCertVersion" => {
            "; certificates that are checked have to be X.509 version 3 (`openssl x509 -req` makes them so when it is \
             given an -extfile)"
        }
        _ => "",
    }
}

fn broken(error: std::io::Error) -> Fatal {
    Fatal::gone(format!("TLS: {error}"))
}
