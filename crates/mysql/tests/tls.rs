//! TLS as the step that its owner performs, against a real MariaDB.

use crate::support::server::Server;
use crate::support::session::Conversation;
use headrace_mysql::auth::{Plugin, Secret};
use headrace_mysql::machine::{SessionOptions, Tls};
use headrace_mysql::packets::compress::Algorithm;
use headrace_testkit::{Peer, TestValue as V};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The verification of certificates is tested in the TLS crate; here any certificate is accepted.
#[derive(Debug)]
struct Any;

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

enum Wire {
    Plain(TcpStream),
    Sealed(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Peer for Wire {
    fn send(&mut self, bytes: &[u8]) {
        match self {
            Wire::Plain(stream) => stream.write_all(bytes),
            Wire::Sealed(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
        .expect("the server reads");
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 64 * 1024];
        let n = match self {
            Wire::Plain(stream) => stream.read(&mut buffer),
            Wire::Sealed(stream) => stream.read(&mut buffer),
        };
        let n = n.ok().filter(|n| *n > 0)?;
        buffer.truncate(n);
        Some(buffer)
    }
    fn start_tls(&mut self) -> Option<[u8; 32]> {
        let Wire::Plain(stream) = self else { panic!("TLS is in place already") };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider's versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Any))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        let mut connection = ClientConnection::new(Arc::new(config), name).expect("a TLS client");
        let mut stream = stream.try_clone().expect("a second handle");
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).expect("the TLS handshake");
        }
        let certificate = connection.peer_certificates()?.first()?.clone();
        *self = Wire::Sealed(Box::new(StreamOwned::new(connection, stream)));
        Some(Sha256::digest(&certificate).into())
    }
}

fn connecting(options: SessionOptions) -> Conversation<Wire> {
    let stream = TcpStream::connect(("127.0.0.1", Server::shared().port)).expect("the server listens");
    let mut session = Conversation::new(options, Wire::Plain(stream));
    session.tls = true;
    session
}

#[test]
fn a_session_over_tls_is_encrypted_and_does_the_same() {
    for compression in [None, Some(Algorithm::Zlib)] {
        let mut session = connecting(SessionOptions { tls: Tls::Require, compression, ..Server::options() });
        session.start().unwrap();
        assert!(session.must("show status like 'Ssl_version'")[0].contains("TLSv1."));
        let received = session.execute("select ?", vec![V::from("sealed")]);
        session.run().unwrap();
        assert_eq!(received.get().lines(), ["sealed"]);
        assert_eq!(session.must("select repeat('x', 100000)")[0].len(), 100_000);
    }
}

#[test]
fn plugins_that_switch_do_so_over_tls() {
    Server::shared()
        .session()
        .must("create or replace user ed_tls@'127.0.0.1' identified via ed25519 using password('pw') require ssl");
    let options = |tls| SessionOptions {
        user: "ed_tls".into(),
        password: Some(Secret(b"pw".to_vec())),
        tls,
        ..SessionOptions::default()
    };
    connecting(options(Tls::Prefer)).start().unwrap();
    assert!(connecting(options(Tls::No)).start().is_err(), "the account asks for TLS");
}

#[test]
fn the_password_verifies_the_certificate_if_the_server_can_prove_it() {
    let options = SessionOptions { tls: Tls::Require, certificate_by_password: true, ..Server::options() };
    let mut session = connecting(options.clone());
    let done = session.start();
    // Zero-configuration TLS came with MariaDB 11.4.
    if Server::shared().session().machine.session().version >= (11, 4, 0) {
        done.unwrap();
        assert_eq!(session.must("select 1"), ["1"]);
    } else {
        assert!(done.unwrap_err().message.contains("did not prove"));
    }
    let plugins = vec![Plugin::MysqlClearPassword];
    let mut clear = connecting(SessionOptions { plugins, ..options });
    assert!(clear.start().unwrap_err().message.contains("cannot prove"));
}
