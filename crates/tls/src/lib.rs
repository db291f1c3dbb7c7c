//! rustls as a layer between a protocol's buffers and the wire: bytes in, bytes out, no sockets.
#![forbid(unsafe_code)]

mod binding;
mod config;
pub mod dangerous;

pub use config::{ClientCert, Roots, TlsConfig, Verify};

use headrace_core::{Fatal, Inbox, Outbox};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::io::{Read, Write};
use std::sync::Arc;

/// Bytes of plain text that are encrypted at a time, so that ciphertext never outgrows the outbox by much.
const PLAIN_CHUNK: usize = 64 * 1024;

/// One TLS client connection.
#[derive(Debug)]
pub struct TlsClient {
    connection: ClientConnection,
}

impl TlsClient {
    /// A client that will greet `server_name` (a DNS name or an IP address).
    ///
    /// # Errors
    /// [`Fatal`] when a file cannot be read or used; the message names it.
    pub fn new(config: &TlsConfig, server_name: &str) -> Result<Self, Fatal> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| Fatal::refused(format!("{server_name:?} is no name that a certificate could have")))?;
        let connection = ClientConnection::new(Arc::new(config.build()?), name).map_err(refused)?;
        Ok(Self { connection })
    }

    /// Whether the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Encrypts what the outbox holds, and what the handshake wants to say, onto `wire`. While the handshake lasts
    /// the outbox is left alone.
    ///
    /// # Errors
    /// [`Fatal`] when TLS itself fails.
    pub fn transmit(&mut self, outbox: &mut Outbox, wire: &mut Vec<u8>) -> Result<(), Fatal> {
        self.flush(wire)?;
        if self.is_handshaking() {
            return Ok(());
        }
        while !outbox.is_empty() && wire.len() < headrace_core::limits::OUTBOX_HIGH_BYTES {
            let pending = outbox.pending();
            let n = self.connection.writer().write(&pending[..pending.len().min(PLAIN_CHUNK)]).map_err(broken)?;
            outbox.sent(n);
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

    /// Decrypts received bytes into the inbox. Answers that the handshake owes leave with the next
    /// [`TlsClient::transmit`].
    ///
    /// # Errors
    /// [`Fatal`] for a certificate that does not verify and for anything else that is wrong with the peer's TLS.
    pub fn receive(&mut self, mut ciphertext: &[u8], inbox: &mut Inbox) -> Result<(), Fatal> {
        while !ciphertext.is_empty() {
            self.connection.read_tls(&mut ciphertext).map_err(broken)?;
            let state = self.connection.process_new_packets().map_err(refused)?;
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                inbox.reserve();
                let n = self.connection.reader().read(inbox.spare()).map_err(broken)?;
                inbox.filled(n);
                left -= n;
            }
        }
        Ok(())
    }

    /// Says goodbye; the bytes leave with the next [`TlsClient::transmit`].
    pub fn close_notify(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether there is ciphertext to be sent.
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// The tls-server-end-point channel binding (RFC 5929, section 4): the hash of the server's certificate by the
    /// hash function of its signature, SHA-256 in place of MD5 and SHA-1. `None` before the handshake, or where the
    /// signature names no single hash function.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        binding::end_point(self.connection.peer_certificates()?.first()?)
    }

    /// The protocol version and cipher suite, for people.
    pub fn describe(&self) -> String {
        let version = self.connection.protocol_version().map_or("TLS", |v| v.as_str().unwrap_or("TLS"));
        match self.connection.negotiated_cipher_suite() {
            Some(suite) => format!("{version} {:?}", suite.suite()),
            None => version.to_owned(),
        }
    }
}

fn refused(error: rustls::Error) -> Fatal {
    let hint = match &error {
        rustls::Error::InvalidCertificate(_) => {
            "; give the CA that signed it as sslrootcert, connect by the name in the certificate, or choose a weaker \
             sslmode by name"
        }
        _ => "",
    };
    Fatal::refused(format!("TLS: {error}{hint}"))
}

fn broken(error: std::io::Error) -> Fatal {
    Fatal::gone(format!("TLS: {error}"))
}
