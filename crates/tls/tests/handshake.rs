//! Handshakes against a server in memory: which certificates are trusted, and the error messages for the others.

mod support;

use headrace_core::FatalKind;
use headrace_core::{Fatal, ReadBuffer, WriteBuffer};
use headrace_tls::{ClientCert, Roots, TlsConfig, TlsConnection, Verify};
use rcgen::{BasicConstraints, CertificateParams, GeneralSubtree, IsCa, NameConstraints};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::PathBuf;
use support::{Authority, ConnectedPair, Identity, Server, asking};

/// The result of a handshake of `verify` against `identity`.
fn attempt(verify: Verify, roots: &str, name: &str, identity: &Identity) -> Result<(), Fatal> {
    ConnectedPair::new(&asking(verify, roots), name, &Server::new(identity)).converse()
}

/// The message of a refusal.
fn refusal(outcome: Result<(), Fatal>) -> String {
    let fatal = outcome.expect_err("it should have been refused");
    assert_eq!(fatal.kind, FatalKind::TlsRefused, "{fatal}");
    fatal.message
}

/// The head of a key that OpenSSL encrypted in its older format.
const LEGACY: &str = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA";

fn pem(kind: &str, body: &str) -> String {
    format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
}

/// A file that is there for the length of a test.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("headrace-tls-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn each_level_checks_what_it_says() {
    let (ours, others) = (Authority::new("ours"), Authority::new("others"));
    let identity = ours.server(&["db.example.com", "127.0.0.1"]);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for (verify, roots, name, accepted) in [
            (Verify::Full, &ours, "db.example.com", true),
            (Verify::Full, &ours, "DB.Example.COM", true),
            (Verify::Full, &ours, "127.0.0.1", true),
            (Verify::Full, &ours, "other.example.com", false),
            (Verify::Full, &ours, "127.0.0.2", false),
            (Verify::Full, &others, "db.example.com", false),
            (Verify::Ca, &ours, "other.example.com", true),
            (Verify::Ca, &ours, "127.0.0.2", true),
            (Verify::Ca, &others, "db.example.com", false),
            (Verify::None, &others, "db.example.com", true),
            (Verify::None, &others, "other.example.com", true),
        ] {
            let mut server = Server::new(&identity);
            server.version = version;
            let outcome = ConnectedPair::new(&asking(verify, &roots.pem), name, &server).converse();
            assert_eq!(outcome.is_ok(), accepted, "{version:?} {verify:?} {name}: {outcome:?}");
        }
    }
}

#[test]
fn bytes_that_come_one_at_a_time_are_enough() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut server = Server::new(&identity);
        server.version = version;
        let mut joined = ConnectedPair::new(&asking(Verify::Full, &authority.pem), "db", &server);
        joined.step = 1;
        joined.converse().unwrap();
        let large: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        joined.read_buffer.consume(joined.read_buffer.unread().len());
        joined.server.set_buffer_limit(None);
        joined.server.writer().write_all(&large).unwrap();
        joined.settle().unwrap().unwrap();
        assert!(joined.read_buffer.unread() == large);
    }
}

#[test]
fn more_plain_text_than_the_wire_may_hold_leaves_in_parts() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    let mut joined = ConnectedPair::new(&asking(Verify::Full, &authority.pem), "db", &Server::new(&identity));
    joined.settle().unwrap().unwrap();
    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i % 253) as u8).collect();
    joined.write_buffer.tail().extend_from_slice(&large);
    let mut wire = Vec::new();
    joined.client.transmit(&mut joined.write_buffer, &mut wire).unwrap();
    assert!(wire.len() < 2 * headrace_core::limits::WRITE_BUFFER_HIGH_BYTES, "{}", wire.len());
    assert!(!joined.write_buffer.is_empty());
    let mut rest = &wire[..];
    while !rest.is_empty() {
        joined.server.read_tls(&mut rest).unwrap();
        joined.server.process_new_packets().unwrap();
        let _ = std::io::Read::read_to_end(&mut joined.server.reader(), &mut joined.received);
    }
    joined.settle().unwrap().unwrap();
    assert!(joined.received == large);
}

#[test]
fn no_plaintext_is_sent_before_the_handshake() {
    let authority = Authority::new("ours");
    let mut client = TlsConnection::new(&asking(Verify::Full, &authority.pem), "db").unwrap();
    let (mut write_buffer, mut wire) = (WriteBuffer::new(), Vec::new());
    write_buffer.tail().extend_from_slice(b"password");
    client.transmit(&mut write_buffer, &mut wire).unwrap();
    assert_eq!(write_buffer.pending(), b"password");
    assert!(!wire.windows(8).any(|w| w == b"password"));
}

#[test]
fn bytes_after_close_notify_are_ignored() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    let mut joined = ConnectedPair::new(&asking(Verify::Full, &authority.pem), "db", &Server::new(&identity));
    joined.converse().unwrap();
    assert!(!joined.client.peer_closed());
    joined.server.writer().write_all(b" last words").unwrap();
    joined.server.send_close_notify();
    let mut wire = Vec::new();
    while joined.server.wants_write() {
        joined.server.write_tls(&mut wire).unwrap();
    }
    wire.extend_from_slice(b"bytes that nobody protects");
    joined.client.receive(&wire, &mut joined.read_buffer).unwrap();
    joined.client.receive(b"and more of them", &mut joined.read_buffer).unwrap();
    assert!(joined.client.peer_closed());
    assert_eq!(joined.read_buffer.unread(), b"answer last words");
}

#[test]
fn the_close_notify_reaches_the_server() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    let mut joined = ConnectedPair::new(&asking(Verify::Full, &authority.pem), "db", &Server::new(&identity));
    joined.converse().unwrap();
    joined.client.close_notify();
    assert!(joined.client.wants_write());
    joined.settle().unwrap().unwrap();
    let state = joined.server.process_new_packets().unwrap();
    assert!(state.peer_has_closed());
}

#[test]
fn bytes_that_are_no_tls_are_an_error_and_no_hang() {
    let authority = Authority::new("ours");
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &[0x16, 3, 3, 0xff, 0xff, 1, 2, 3], &[0; 100_000]] {
        let mut client = TlsConnection::new(&asking(Verify::Full, &authority.pem), "db").unwrap();
        let error = client.receive(bytes, &mut ReadBuffer::new()).unwrap_err();
        assert!(error.message.starts_with("TLS: "), "{error}");
        client.receive(bytes, &mut ReadBuffer::new()).unwrap_err();
    }
}

#[test]
fn a_refusal_sends_an_alert() {
    let (ours, others) = (Authority::new("ours"), Authority::new("others"));
    let identity = others.server(&["db"]);
    let mut joined = ConnectedPair::new(&asking(Verify::Full, &ours.pem), "db", &Server::new(&identity));
    joined.settle().unwrap_err();
    let mut alert = Vec::new();
    joined.client.transmit(&mut WriteBuffer::new(), &mut alert).unwrap();
    joined.server.read_tls(&mut &alert[..]).unwrap();
    let received = joined.server.process_new_packets().unwrap_err();
    assert_eq!(received, rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA));
}

#[test]
fn refusals_say_what_to_do() {
    let (ours, others) = (Authority::new("ours"), Authority::new("others"));
    let identity = ours.server(&["db.example.com"]);
    let unknown = refusal(attempt(Verify::Full, &others.pem, "db.example.com", &identity));
    assert!(unknown.contains("trust the CA that signed it"), "{unknown}");
    let misnamed = refusal(attempt(Verify::Full, &ours.pem, "db", &identity));
    assert!(misnamed.contains("\"db\"") && misnamed.contains("db.example.com"), "{misnamed}");
    let expired = ours.issue(&["db"], "db", |params| params.not_after = rcgen::date_time_ymd(2001, 1, 1));
    let expired = refusal(attempt(Verify::Ca, &ours.pem, "db", &expired));
    assert!(expired.contains("expired"), "{expired}");
}

#[test]
fn a_self_signed_certificate_that_is_itself_the_root_is_trusted() {
    let as_ca = |params: &mut CertificateParams| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for identity in [Identity::self_signed(&["db"], "db", as_ca), Identity::self_signed(&["db"], "db", |_| {})] {
        attempt(Verify::Ca, &identity.pem, "other", &identity).unwrap();
        attempt(Verify::Full, &identity.pem, "db", &identity).unwrap();
        refusal(attempt(Verify::Full, &identity.pem, "other", &identity));
        // The same subject, another key.
        let double = Identity::self_signed(&["db"], "db", as_ca);
        refusal(attempt(Verify::Ca, &identity.pem, "db", &double));
    }
    let past = Identity::self_signed(&["db"], "db", |params| {
        as_ca(params);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    });
    let words = refusal(attempt(Verify::Ca, &past.pem, "db", &past));
    assert!(words.contains("expired"), "{words}");
}

#[test]
fn a_pinned_certificate_needs_no_authority() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    attempt(Verify::Full, &identity.pem, "db", &identity).unwrap();
    refusal(attempt(Verify::Full, &identity.pem, "other", &identity));
    refusal(attempt(Verify::Full, &identity.pem, "db", &authority.server(&["db"])));
}

#[test]
fn a_certificate_without_alternative_names_is_identified_by_its_common_name() {
    let authority = Authority::new("ours");
    for (names, common, asked, accepted) in [
        (&[][..], "db.example.com", "db.example.com", true),
        (&[], "DB.example.com", "db.EXAMPLE.com", true),
        (&[], "db.example.com", "other.example.com", false),
        (&[], "*.example.com", "db.example.com", true),
        (&[], "*.example.com", "a.db.example.com", false),
        (&[], "*.example.com", "example.com", false),
        (&[], "*.com", "example.com", false),
        (&[], "*", "db", false),
        (&[], "127.0.0.1", "127.0.0.1", true),
        (&[], "127.0.0.1", "127.0.0.2", false),
        (&[], "*.0.0.1", "127.0.0.1", false),
        // RFC 6125, section 6.4.4: with alternative names of the requested kind, the common name is ignored.
        (&["other.example.com"], "db.example.com", "db.example.com", false),
        (&["127.0.0.2"], "127.0.0.1", "127.0.0.1", false),
        (&["127.0.0.2"], "db.example.com", "db.example.com", true),
    ] {
        let identity = authority.issue(names, common, |_| {});
        let outcome = attempt(Verify::Full, &authority.pem, asked, &identity);
        assert_eq!(outcome.is_ok(), accepted, "{names:?} CN={common} asked {asked}: {outcome:?}");
    }
    let identity = Identity::self_signed(&[], "db.example.com", |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    attempt(Verify::Full, &identity.pem, "db.example.com", &identity).unwrap();
    refusal(attempt(Verify::Full, &identity.pem, "other", &identity));
}

#[test]
fn a_constrained_authority_certifies_no_common_name() {
    let authority = Authority::with("constrained", |params| {
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName("example.org".into())],
            excluded_subtrees: vec![],
        });
    });
    attempt(Verify::Full, &authority.pem, "db.example.org", &authority.server(&["db.example.org"])).unwrap();
    let identity = authority.issue(&[], "db.example.com", |_| {});
    refusal(attempt(Verify::Full, &authority.pem, "db.example.com", &identity));
}

#[test]
fn certificates_of_version_1_encrypt_where_nothing_is_checked() {
    let identity = Identity::version1("db");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut server = Server::new(&identity);
        server.version = version;
        ConnectedPair::new(&asking(Verify::None, ""), "db", &server).converse().unwrap();
    }
    let words = refusal(attempt(Verify::Ca, &Authority::new("ours").pem, "db", &identity));
    assert!(words.contains("version 3"), "{words}");
}

#[test]
fn a_server_without_the_key_of_its_certificate_is_refused_even_where_nothing_is_checked() {
    let authority = Authority::new("ours");
    let mut identity = authority.server(&["db"]);
    identity.key = authority.server(&["db"]).key;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut server = Server::new(&identity);
        server.version = version;
        let words = refusal(ConnectedPair::new(&asking(Verify::None, ""), "db", &server).converse());
        assert!(words.contains("BadSignature"), "{words}");
    }
    let mut version1 = Identity::version1("db");
    version1.key = authority.server(&["db"]).key;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut server = Server::new(&version1);
        server.version = version;
        refusal(ConnectedPair::new(&asking(Verify::None, ""), "db", &server).converse());
    }
    version1.chain = vec![CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x00])];
    refusal(attempt(Verify::None, "", "db", &version1));
}

#[test]
fn a_client_sends_its_certificate_on_request() {
    let authority = Authority::new("ours");
    let server = authority.server(&["db"]);
    let client = authority.issue(&[], "alice", |_| {});
    let chain = TemporaryFile::new("alice.crt", &client.pem);
    let key = TemporaryFile::new("alice.key", &client.key_pem);
    let mut config = asking(Verify::Full, &authority.pem);
    let mut asked = Server::new(&server);
    asked.client_authority = Some(&authority);
    let without = ConnectedPair::new(&config, "db", &asked).settle();
    assert!(!matches!(without, Ok(Ok(()))), "{without:?}");
    config.client = Some(ClientCert { certificates: chain.0.clone(), key: key.0.clone() });
    ConnectedPair::new(&config, "db", &asked).converse().unwrap();
    // A certificate that is not requested is harmless.
    ConnectedPair::new(&config, "db", &Server::new(&server)).converse().unwrap();
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new("ours");
    let client = authority.issue(&[], "alice", |_| {});
    let chain = TemporaryFile::new("named.crt", &client.pem);
    let key = TemporaryFile::new("named.key", &client.key_pem);
    let other_key = TemporaryFile::new("other.key", &authority.issue(&[], "bob", |_| {}).key_pem);
    let encrypted = TemporaryFile::new("sealed.key", &pem("ENCRYPTED PRIVATE KEY", "AAAA"));
    let legacy = TemporaryFile::new("legacy.key", &pem("EC PRIVATE KEY", LEGACY));
    let empty = TemporaryFile::new("empty.pem", "nothing here\n");
    let broken = TemporaryFile::new("broken.pem", &pem("CERTIFICATE", "!!"));
    let hollow = TemporaryFile::new("hollow.pem", &pem("CERTIFICATE", "AAAA"));
    let absent = PathBuf::from("/nonexistent/file.pem");
    let with_roots = |path: &PathBuf| TlsConfig { roots: Roots::File(path.clone()), ..asking(Verify::Full, "") };
    let with_client = |certificates: &PathBuf, key: &PathBuf| TlsConfig {
        client: Some(ClientCert { certificates: certificates.clone(), key: key.clone() }),
        ..asking(Verify::None, "")
    };
    for (config, named, why) in [
        (with_roots(&absent), &absent, "No such file"),
        (with_roots(&empty.0), &empty.0, "no certificate"),
        (with_roots(&broken.0), &broken.0, "PEM"),
        (with_roots(&hollow.0), &hollow.0, "none of its certificates"),
        (with_client(&absent, &key.0), &absent, "No such file"),
        (with_client(&chain.0, &absent), &absent, "No such file"),
        (with_client(&chain.0, &encrypted.0), &encrypted.0, "encrypted"),
        (with_client(&chain.0, &legacy.0), &legacy.0, "encrypted"),
        (with_client(&chain.0, &empty.0), &empty.0, "no private key"),
        (with_client(&chain.0, &other_key.0), &other_key.0, "does not belong"),
    ] {
        let error = TlsConnection::new(&config, "db").unwrap_err();
        assert_eq!(error.kind, FatalKind::UnusableSetting);
        assert!(error.message.contains(named.to_str().unwrap()) && error.message.contains(why), "{why}: {error}");
    }
}

#[test]
fn a_name_that_no_certificate_can_have_matters_only_where_names_are_checked() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    for name in ["", "no name", "fe80::1%eth0"] {
        attempt(Verify::None, "", name, &identity).unwrap();
        attempt(Verify::Ca, &authority.pem, name, &identity).unwrap();
        let error = TlsConnection::new(&asking(Verify::Full, &authority.pem), name).unwrap_err();
        assert!(error.message.contains(&format!("{name:?}")), "{error}");
    }
}

#[test]
fn the_channel_is_bound_to_the_certificate_that_the_server_showed() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut server = Server::new(&identity);
        server.version = version;
        let mut joined = ConnectedPair::new(&asking(Verify::Full, &authority.pem), "db", &server);
        assert_eq!(joined.client.tls_server_end_point(), None);
        joined.converse().unwrap();
        // The certificate is signed by ECDSA with SHA-256; the cipher suite's own hash is another one.
        let suite = joined.server.negotiated_cipher_suite().unwrap();
        assert!(format!("{suite:?}").contains("SHA384"));
        assert_eq!(joined.client.tls_server_end_point().unwrap(), Sha256::digest(&identity.chain[0]).to_vec());
    }
}

#[test]
fn versions_ciphers_and_protocols_are_reported() {
    let authority = Authority::new("ours");
    let identity = authority.server(&["db"]);
    let mut server = Server::new(&identity);
    server.alpn = vec![b"wire".to_vec()];
    let mut config = asking(Verify::Full, &authority.pem);
    config.alpn = vec![b"wire".to_vec()];
    let mut joined = ConnectedPair::new(&config, "db", &server);
    assert_eq!((joined.client.protocol_version(), joined.client.cipher()), (None, None));
    joined.converse().unwrap();
    assert_eq!(joined.client.protocol_version(), Some("TLSv1.3"));
    assert_eq!(joined.client.cipher().as_deref(), Some("TLS13_AES_256_GCM_SHA384"));
    assert_eq!(joined.client.describe(), "TLSv1.3 TLS13_AES_256_GCM_SHA384");
    assert_eq!(joined.server.alpn_protocol(), Some(&b"wire"[..]));
    assert_eq!(joined.server.server_name(), Some("db"));
    config.sni = false;
    config.only_tls13 = true;
    let mut joined = ConnectedPair::new(&config, "db", &server);
    joined.converse().unwrap();
    assert_eq!(joined.server.server_name(), None);
    server.version = &rustls::version::TLS12;
    assert!(!matches!(ConnectedPair::new(&config, "db", &server).settle(), Ok(Ok(()))));
}
