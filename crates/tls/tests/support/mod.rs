//! An authority, certificates of every kind, and a TLS server in memory.

use headrace_core::{Fatal, ReadBuffer, WriteBuffer};
use headrace_tls::{Roots, TlsConfig, TlsConnection, Verify};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SigningKey};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::Arc;
use x509_cert::der::asn1::{Any, BitString};
use x509_cert::der::pem::{self, LineEnding};
use x509_cert::der::{Decode, Encode, Tagged};

/// A certificate authority.
pub struct Authority {
    pub certificate: CertificateDer<'static>,
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate chain and its key.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
    pub pem: String,
    pub key_pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        Self::with(name, |_| {})
    }

    pub fn with(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        Self { certificate: made.der().clone(), pem: made.pem(), issuer: Issuer::new(params, key) }
    }

    /// A server's certificate for `names`.
    pub fn server(&self, names: &[&str]) -> Identity {
        self.issue(names, "server", |_| {})
    }

    /// A certificate with the given alternative names and common name.
    pub fn issue(&self, names: &[&str], common: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let params = parameters(names, common, change);
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &self.issuer).unwrap();
        Identity::of(&made, &key)
    }
}

impl Identity {
    /// A certificate that signs itself.
    pub fn self_signed(names: &[&str], common: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let params = parameters(names, common, change);
        let key = KeyPair::generate().unwrap();
        Self::of(&params.self_signed(&key).unwrap(), &key)
    }

    /// An X.509 certificate of version 1, as `openssl x509 -req` makes without an extension file.
    pub fn version1(common: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let made = parameters(&[], common, |_| {}).self_signed(&key).unwrap();
        // TBSCertificate, signatureAlgorithm, signatureValue: RFC 5280, section 4.1.
        let mut parts = Vec::<Any>::from_der(made.der()).unwrap();
        let mut fields = Vec::<Any>::from_der(&parts[0].to_der().unwrap()).unwrap();
        // version [0] and extensions [3] are those that later versions have added.
        fields.retain(|field| !field.tag().is_context_specific());
        let signature = key.sign(&fields.to_der().unwrap()).unwrap();
        parts[0] = Any::encode_from(&fields).unwrap();
        parts[2] = Any::encode_from(&BitString::from_bytes(&signature).unwrap()).unwrap();
        let certificate = parts.to_der().unwrap();
        let mut identity = Self::of(&made, &key);
        identity.pem = pem::encode_string("CERTIFICATE", LineEnding::LF, &certificate).unwrap();
        identity.chain = vec![certificate.into()];
        identity
    }

    fn of(made: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            chain: vec![made.der().clone()],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            pem: made.pem(),
            key_pem: key.serialize_pem(),
        }
    }
}

fn parameters(names: &[&str], common: &str, change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, common);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    params
}

/// Sends its certificate without checks, so that tests may use invalid ones.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// The configuration of a server.
pub struct Server<'a> {
    pub identity: &'a Identity,
    pub version: &'static rustls::SupportedProtocolVersion,
    pub client_authority: Option<&'a Authority>,
    pub alpn: Vec<Vec<u8>>,
}

impl<'a> Server<'a> {
    pub fn new(identity: &'a Identity) -> Self {
        Self { identity, version: &rustls::version::TLS13, client_authority: None, alpn: Vec::new() }
    }

    pub fn config(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[self.version]);
        let builder = match self.client_authority {
            None => builder.unwrap().with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.certificate.clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
                builder.unwrap().with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = provider.key_provider.load_private_key(self.identity.key.clone_key()).unwrap();
        let certified = CertifiedKey::new(self.identity.chain.clone(), key);
        let mut config = builder.with_cert_resolver(Arc::new(Always(Arc::new(certified))));
        config.alpn_protocols.clone_from(&self.alpn);
        Arc::new(config)
    }
}

/// The client's default settings.
pub fn asking(verify: Verify, roots: &str) -> TlsConfig {
    TlsConfig {
        verify,
        roots: Roots::Pem(roots.as_bytes().to_vec()),
        client: None,
        only_tls13: false,
        alpn: Vec::new(),
        sni: true,
    }
}

/// A client and a server joined by two vectors.
pub struct ConnectedPair {
    pub client: TlsConnection,
    pub server: ServerConnection,
    pub read_buffer: ReadBuffer,
    pub write_buffer: WriteBuffer,
    /// The bytes that the server has received.
    pub received: Vec<u8>,
    /// Bytes at a time towards the client.
    pub step: usize,
}

impl ConnectedPair {
    pub fn new(config: &TlsConfig, name: &str, server: &Server<'_>) -> Self {
        Self {
            client: TlsConnection::new(config, name).unwrap(),
            server: ServerConnection::new(server.config()).unwrap(),
            read_buffer: ReadBuffer::new(),
            write_buffer: WriteBuffer::new(),
            received: Vec::new(),
            step: usize::MAX,
        }
    }

    /// Carries bytes both ways until neither side has more to send; the server's own error is returned last.
    pub fn settle(&mut self) -> Result<Result<(), rustls::Error>, Fatal> {
        loop {
            let mut wire = Vec::new();
            self.client.transmit(&mut self.write_buffer, &mut wire)?;
            let mut quiet = wire.is_empty();
            let mut rest = &wire[..];
            while !rest.is_empty() {
                self.server.read_tls(&mut rest).unwrap();
                if let Err(error) = self.server.process_new_packets() {
                    let mut alert = Vec::new();
                    while self.server.wants_write() {
                        self.server.write_tls(&mut alert).unwrap();
                    }
                    self.client.receive(&alert, &mut self.read_buffer)?;
                    return Ok(Err(error));
                }
                // Ends with WouldBlock.
                let _ = self.server.reader().read_to_end(&mut self.received);
            }
            let mut wire = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut wire).unwrap();
            }
            quiet &= wire.is_empty();
            for part in wire.chunks(self.step.min(wire.len()).max(1)) {
                self.client.receive(part, &mut self.read_buffer)?;
            }
            if quiet {
                return Ok(Ok(()));
            }
        }
    }

    /// Completes the handshake and sends data both ways.
    pub fn converse(&mut self) -> Result<(), Fatal> {
        self.write_buffer.tail().extend_from_slice(b"question");
        self.settle()?.map_err(|error| Fatal::gone(error.to_string()))?;
        assert!(!self.client.is_handshaking());
        assert_eq!(self.received, b"question");
        self.server.writer().write_all(b"answer").unwrap();
        self.settle()?.unwrap();
        assert_eq!(self.read_buffer.unread(), b"answer");
        Ok(())
    }
}
