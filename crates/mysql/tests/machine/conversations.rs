//! Conversations written by hand: servers that are not available to these tests (MySQL 5.7 and 8), and servers that
//! violate the protocol.

use crate::support::session::Conversation;
use crate::support::trace;
use headrace_core::{Certificate, NextStep, Protocol, Session as _, WriteBuffer};
use headrace_mysql::auth::{Plugin, Secret, ServerKey};
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, ParameterRows, Request, SessionOptions, Tls};
use headrace_mysql::packets::body::put_lenenc_bytes;
use headrace_mysql::packets::capabilities::{Capabilities, StatusFlags};
use headrace_testkit::{Peer, TestValue as V, Trace};
use proptest::prelude::*;
use std::collections::VecDeque;

const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";

/// A server that sends a fixed script, whatever it receives.
#[derive(Default)]
pub struct Script {
    pub received: Vec<u8>,
    pub replies: VecDeque<Vec<u8>>,
}

impl Script {
    /// The packets that were sent since the last call.
    pub fn sent(&mut self) -> Trace {
        trace(&std::mem::take(&mut self.received))
    }
}

impl Peer for Script {
    fn send(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        self.replies.pop_front()
    }
}

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(sequence);
    out.extend_from_slice(payload);
    out
}

/// Packets numbered from 1: a reply.
pub fn reply(payloads: &[&[u8]]) -> Vec<u8> {
    payloads.iter().enumerate().flat_map(|(i, payload)| packet(i as u8 + 1, payload)).collect()
}

pub fn greeting(version: &str, plugin: &str, capabilities: Capabilities) -> Vec<u8> {
    let bits = capabilities.bits() as u32;
    let mut out = vec![10];
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(&[0, 9, 0, 0, 0]);
    out.extend_from_slice(&SCRAMBLE[..8]);
    out.push(0);
    out.extend_from_slice(&bits.to_le_bytes()[..2]);
    out.extend_from_slice(&[45, 2, 0]);
    out.extend_from_slice(&bits.to_le_bytes()[2..]);
    out.push(21);
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&((capabilities.bits() >> 32) as u32).to_le_bytes());
    out.extend_from_slice(&SCRAMBLE[8..]);
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    packet(0, &out)
}

/// The capabilities of MySQL 8, without MariaDB's.
pub fn mysql8() -> Capabilities {
    Capabilities::from_bits_retain(0xdfff_ffff)
}

pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// caching_sha2_password: the client requests the key (MySQL: "Caching_sha2_password information").
const REQUEST_PUBLIC_KEY: u8 = 2;
/// COM_STMT_EXECUTE of statement 1 with one parameter, the text "x".
const EXECUTED: &[u8] = b"\x10\0\0\0\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x01x";
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

pub fn options(password: &str) -> SessionOptions {
    SessionOptions { user: "u".into(), password: Some(Secret(password.into())), ..SessionOptions::default() }
}

pub fn connecting(options: SessionOptions, replies: Vec<Vec<u8>>) -> Conversation<Script> {
    Conversation::new(options, Script { received: Vec::new(), replies: replies.into() })
}

/// The OK packet of a statement after which the server reports that these variables have changed.
pub fn reporting(variables: &[(&str, &str)]) -> Vec<u8> {
    let mut changes = Vec::new();
    for (name, value) in variables {
        let mut entry = Vec::new();
        put_lenenc_bytes(&mut entry, name.as_bytes());
        put_lenenc_bytes(&mut entry, value.as_bytes());
        changes.push(0);
        put_lenenc_bytes(&mut changes, &entry);
    }
    let status = (StatusFlags::AUTOCOMMIT | StatusFlags::SESSION_STATE_CHANGED).bits().to_le_bytes();
    let mut out = vec![0, 0, 0, status[0], status[1], 0, 0, 0];
    put_lenenc_bytes(&mut out, &changes);
    out
}

pub const CHARSETS: [&str; 3] = ["character_set_client", "character_set_connection", "character_set_results"];

/// The reply to the statement that sets the session up.
pub fn set_up() -> Vec<u8> {
    reply(&[&reporting(&CHARSETS.map(|name| (name, "utf8mb4")))])
}

/// The session after it has logged in and was set up.
pub fn ready(mut session: Conversation<Script>) -> Conversation<Script> {
    session.start().unwrap();
    if session.machine.session().capabilities.contains(Capabilities::SESSION_TRACK) {
        session.peer.replies.push_back(set_up());
    } else {
        let zero = [&[1][..], &column("asked", 8, 63), EOF, b"\x010", EOF];
        session.peer.replies.extend([reply(&[OK]), reply(&zero)]);
    }
    session.peer.replies.push_back(reply(&[OK]));
    session.ask(Request::Ping, vec![], vec![]);
    session.run().unwrap();
    session.peer.received.clear();
    session
}

/// A session with a MySQL that has `capabilities`.
pub fn session(capabilities: Capabilities) -> Conversation<Script> {
    let replies = vec![greeting("8.4.3", "mysql_native_password", capabilities), packet(2, OK)];
    ready(connecting(options("pw"), replies))
}

pub fn column(name: &str, kind: u8, collation: u16) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "s", "t", "t", name, name] {
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    out.push(12);
    out.extend_from_slice(&collation.to_le_bytes());
    out.extend_from_slice(&[20, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    out
}

#[test]
pub fn caching_sha2_fast_and_full_over_tls_and_with_the_servers_key() {
    let hello = || greeting("8.4.3", "caching_sha2_password", mysql8());
    let mut fast = connecting(options("pw"), vec![hello(), packet(2, &[1, 3]), packet(3, OK)]);
    fast.start().unwrap();
    assert_eq!(fast.machine.session().thread_id, 9);
    assert!(fast.peer.received.windows(21).any(|part| part == b"caching_sha2_password"));
    assert_eq!(fast.peer.received[12], 255, "utf8mb4_0900_ai_ci");

    let mut refused = connecting(options("pw"), vec![hello(), packet(2, &[1, 4])]);
    assert!(!format!("{:?}", refused.machine).contains("112, 119"), "the password is shown");
    assert!(refused.start().unwrap_err().message.contains("RSA public key"));
    assert!(!refused.peer.received.windows(2).any(|part| part == b"pw"));

    let local = SessionOptions { local: true, ..options("a local password") };
    let mut session = connecting(local, vec![hello(), packet(2, &[1, 4]), packet(4, OK)]);
    session.start().unwrap();
    assert!(session.peer.received.ends_with(b"\x11\0\0\x03a local password\0"));

    let pem = "-----BEGIN PUBLIC KEY-----\n\
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n\
        4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u\n\
        +qKhbwKfBstIs+bMY2Zkp18gnTxKLxoS2tFczGkPLPgizskuemMghRniWaoLcyeh\n\
        kd3qqGElvW/VDL5AaWTg0nLVkjRo9z+40RQzuVaE8AkAFmxZzow3x+VJYKdjykkJ\n\
        0iT9wCS0DRTXu269V264Vf/3jvredZiKRkgwlL9xNAwxXFg0x/XFw005UWVRIkdg\n\
        cKWTjpBP2dPwVZ4WWC+9aGVd+Gyn1o0CLelf4rEjGoXbAAEgAqeGUxrcIlbjXfbc\n\
        mwIDAQAB\n-----END PUBLIC KEY-----\n";
    let asked = SessionOptions { server_key: ServerKey::Retrieve, ..options("a secret password") };
    let with_key = packet(4, &[&[1], pem.as_bytes()].concat());
    let mut session = connecting(asked, vec![hello(), packet(2, &[1, 4]), with_key, packet(6, OK)]);
    session.start().unwrap();
    let received = &session.peer.received;
    assert!(
        trace(received).ends_with(&["packet 3: 1", "packet 5: 256"]),
        "the key is requested, the password encrypted"
    );
    assert_eq!(received[received.len() - 261], REQUEST_PUBLIC_KEY);
    let known = SessionOptions { server_key: ServerKey::Known(pem.into()), ..options("a secret password") };
    let mut session = connecting(known, vec![greeting("5.7.44", "sha256_password", mysql8()), packet(2, OK)]);
    session.start().unwrap();
    assert!(!session.peer.received.windows(6).any(|part| part == b"secret"));
}

#[test]
pub fn tls_is_a_step_that_its_owner_performs() {
    let hello = greeting("8.4.3", "mysql_clear_password", mysql8());
    let mut session = connecting(SessionOptions { tls: Tls::Require, ..options("pw") }, vec![hello.clone()]);
    assert!(session.start().is_err(), "nothing more is sent before the handshake");
    assert_eq!(session.machine.next_step(), NextStep::StartTls { request_first: true });
    assert_eq!(session.peer.received.len(), 36, "SSLRequest and nothing else");
    assert_eq!(session.peer.received[3], 1);
    assert!(session.peer.received[5] & 0x08 != 0, "CLIENT_SSL");
    session.machine.tls_ready(Certificate::default(), &mut session.write_buffer).unwrap();
    assert_eq!(session.machine.next_step(), NextStep::Exchange);
    assert_eq!(session.write_buffer.pending()[3], 2);
    assert!(session.write_buffer.pending().windows(4).any(|part| part == b"\x03pw\0"), "over TLS it is allowed");
    session.peer.replies.push_back(packet(3, OK));
    session.start().unwrap();

    // Bytes after the greeting could be those of an attacker who makes them look like the server's later ones.
    let early = [hello, packet(2, OK)].concat();
    let mut session = connecting(SessionOptions { tls: Tls::Prefer, ..options("pw") }, vec![early]);
    assert!(session.start().unwrap_err().message.contains("before the TLS handshake"));
    let bare = greeting("8.4.3", "mysql_native_password", mysql8() - Capabilities::SSL);
    let mut session = connecting(SessionOptions { tls: Tls::Require, ..options("pw") }, vec![bare.clone()]);
    assert!(session.start().unwrap_err().message.contains("does not offer TLS"));
    assert!(session.peer.received.is_empty());
    let mut session = connecting(SessionOptions { tls: Tls::Prefer, ..options("pw") }, vec![bare, packet(2, OK)]);
    session.start().unwrap();
    let clear = greeting("8.4.3", "mysql_clear_password", mysql8());
    let mut session = connecting(options("pw"), vec![clear, packet(2, b"\xfemysql_clear_password\0")]);
    assert!(session.start().unwrap_err().message.contains("TLS only"));
    assert!(!session.peer.received.windows(3).any(|part| part == b"pw\0"));
}

#[test]
pub fn a_certificate_that_only_the_password_verifies() {
    let start = |info: &[u8], plugin: &str| {
        let options = SessionOptions { tls: Tls::Require, certificate_by_password: true, ..options("pw") };
        let mut session = connecting(options, vec![greeting("11.4.5-MariaDB", plugin, mysql8())]);
        let _ = session.start();
        let certificate = Certificate { fingerprint: Some([7; 32]), ..Certificate::default() };
        session.machine.tls_ready(certificate, &mut session.write_buffer)?;
        let mut ok = OK.to_vec();
        put_lenenc_bytes(&mut ok, info);
        session.peer.replies.push_back(packet(3, &ok));
        session.start().map(|()| session)
    };
    // SHA256(SHA1(SHA1("pw")) + scramble + fingerprint)
    use sha1::{Digest, Sha1};
    let stored = Sha1::digest(Sha1::digest(b"pw"));
    let digest = sha2::Sha256::new().chain_update(stored).chain_update(SCRAMBLE).chain_update([7; 32]).finalize();
    let proof: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(start(format!("\x01{proof}").as_bytes(), "mysql_native_password").is_ok());
    for info in ["", "\x01", "\x01abcd", &proof] {
        let refused = start(info.as_bytes(), "mysql_native_password").err().expect("it is not proven");
        assert!(refused.message.contains("did not prove"), "{refused}");
    }
    // These would send the password itself to an unverified server.
    let refused = start(b"", "mysql_clear_password").err().expect("it is not proven");
    assert!(refused.message.contains("did not prove") || refused.message.contains("cannot prove"));
}

#[test]
pub fn plugins_are_switched_or_refused_by_name() {
    let hello = || greeting("10.11.6-MariaDB", "mysql_native_password", mysql8());
    let switch = |plugin: &str, data: &[u8]| packet(2, &[b"\xfe", plugin.as_bytes(), &[0], data].concat());
    let mut ed = connecting(options("pw"), vec![hello(), switch("client_ed25519", &[0; 32]), packet(4, OK)]);
    ed.start().unwrap();
    assert!(ed.peer.sent().ends_with(&["packet 3: 64"]));
    let salt = [&b"P\0"[..], &[3; 18]].concat();
    let replies = vec![hello(), switch("parsec", &[0; 32]), packet(4, &salt), packet(6, OK)];
    let mut parsec = connecting(options("pw"), replies);
    parsec.start().unwrap();
    let asked = parsec.peer.sent();
    assert!(asked.ends_with(&["packet 3: 0", "packet 5: 96"]), "an empty packet asks for the salt: {asked:?}");
    let mut unknown = connecting(options("pw"), vec![hello(), switch("dialog", b"Password: ")]);
    assert!(unknown.start().unwrap_err().message.contains("dialog authentication"));
    let only = SessionOptions { plugins: vec![Plugin::ClientEd25519], ..options("pw") };
    let mut only = connecting(only, vec![hello(), switch("mysql_native_password", SCRAMBLE)]);
    assert!(only.start().unwrap_err().message.contains("only client_ed25519"));
    let mut old = connecting(options("pw"), vec![hello(), packet(2, &[0xfe])]);
    assert!(old.start().unwrap_err().message.contains("mysql_old_password"));
}

#[test]
pub fn a_server_without_plugins_gets_the_native_answer() {
    let hello = greeting("5.1.73", "", mysql8() - Capabilities::PLUGIN_AUTH);
    let mut session = connecting(options("pw"), vec![hello, packet(2, OK)]);
    session.start().unwrap();
    // SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password)))
    use sha1::{Digest, Sha1};
    let stored = Sha1::digest(Sha1::digest(b"pw"));
    let mask = Sha1::new().chain_update(SCRAMBLE).chain_update(stored).finalize();
    let answer: Vec<u8> = Sha1::digest(b"pw").iter().zip(mask).map(|(a, b)| a ^ b).collect();
    assert!(session.peer.received[36..].starts_with(&[&b"u\0\x14"[..], &answer].concat()));
}

#[test]
pub fn a_server_that_refuses_the_session_is_quoted() {
    let mut full = connecting(options("pw"), vec![packet(0, b"\xff\x10\x04Too many connections")]);
    assert!(full.start().unwrap_err().message.contains("Too many connections"));
    assert_eq!(full.machine.closing_error().map(|error| error.code), Some(1040));
    let hello = greeting("8.4.3", "mysql_native_password", mysql8());
    let mut denied = connecting(options("pw"), vec![hello, packet(2, b"\xff\x15\x04#28000Access denied")]);
    assert!(denied.start().is_err());
    assert_eq!(denied.machine.closing_error().map(|error| error.sqlstate.as_str()), Some("28000"));
    let mut not_mysql = connecting(options("pw"), vec![b"HTTP/1.1 400 Bad Request\r\n".to_vec()]);
    assert!(not_mysql.start().is_err());
    assert!(
        headrace_mysql::machine::Machine::<crate::support::TestHandler>::new(
            SessionOptions { user: "a\0b".into(), ..SessionOptions::default() },
            1
        )
        .is_err()
    );
}

#[test]
pub fn mysql_prepares_before_it_executes() {
    for capabilities in [mysql8(), mysql8() - Capabilities::DEPRECATE_EOF] {
        let mut session = session(capabilities);
        let eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        let received = session.execute("select n from t where n = ?", vec![V::from("x")]);
        let params = column("?", 253, 45);
        let columns = column("n", 253, 45);
        let mut prepared: Vec<&[u8]> = vec![&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], &params];
        eof.then(|| prepared.push(EOF));
        prepared.push(&columns);
        eof.then(|| prepared.push(EOF));
        session.peer.replies.push_back(reply(&prepared));
        let mut rows: Vec<&[u8]> = vec![&[1], &columns];
        eof.then(|| rows.push(EOF));
        rows.push(b"\0\0\x01x");
        rows.push(b"\0\x04");
        // After the rows comes an EOF packet, or an OK packet that begins like one.
        rows.push(if eof { EOF } else { &[0xfe, 0, 0, 2, 0, 0, 0] });
        session.peer.replies.push_back(reply(&rows));
        session.run().unwrap();
        assert_eq!(received.get().lines(), ["x", "NULL"]);
        assert!(session.peer.received.ends_with(EXECUTED));
        assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE select n from t where n = ?", "COM_STMT_EXECUTE 1"]);
    }
}

#[test]
pub fn mysql_prepares_what_describes_a_table_each_time() {
    for (sql, again) in [("select n", false), ("-- x\nDescribe t", true), ("show columns in t", true)] {
        let mut session = session(mysql8());
        let columns = column("n", 253, 45);
        let rows: [&[u8]; 4] = [&[1], &columns, b"\0\0\x01x", &[0xfe, 0, 0, 2, 0, 0, 0]];
        for execution in 0..2 {
            let received = session.execute(sql, vec![]);
            if again || execution == 0 {
                session.peer.replies.push_back(reply(&[&[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], &columns]));
            }
            session.peer.replies.push_back(reply(&rows));
            session.run().unwrap();
            assert_eq!(received.get().lines(), ["x"], "{sql}");
        }
        let sent = session.peer.sent();
        assert_eq!(sent.count(&[&format!("COM_STMT_PREPARE {sql}")]), 1 + usize::from(again), "{sent:?}");
        assert_eq!(sent.count(&["COM_STMT_CLOSE 1"]), usize::from(again), "{sent:?}");
    }
}

#[test]
pub fn rows_are_joined_where_there_is_no_bulk() {
    let mut session = session(mysql8());
    let values = vec![vec![V::Int(1), V::from("it's")], vec![V::Null, V::from("a\\b")]];
    let sql = "insert into t values (?, ?) on duplicate key update a = 1";
    let received = session.batch(sql, BatchStrategy::Auto, true, values);
    // First the question about the table, which is answered by no row.
    session.peer.replies.push_back(reply(&[OK]));
    for _ in 0..4 {
        session.peer.replies.push_back(reply(&[&[0, 2, 0, 2, 0, 0, 0]]));
    }
    session.run().unwrap();
    assert_eq!(received.get().affected(), 2);
    let joined = "insert into t values (1, 'it''s'),(NULL, _utf8mb4 x'615c62') on duplicate key update a = 1";
    let expected = ["COM_QUERY SET autocommit=0", &format!("COM_QUERY {joined}"), "COM_QUERY COMMIT"];
    let sent = session.peer.sent();
    assert!(sent.contains(&expected) && sent.ends_with(&["COM_QUERY COMMIT", "COM_QUERY SET autocommit=1"]));
    assert_eq!(sent.messages().len(), 5, "{sent:?}");
}

#[test]
pub fn a_kill_query_that_comes_late_meets_a_statement_of_our_own() {
    let interrupted = b"\xff\x25\x05#70100Query execution was interrupted";
    for met in [OK, interrupted] {
        let mut session = session(mysql8());
        session.machine.cancel_sent();
        let received = session.query("select 1");
        session.peer.replies.push_back([reply(&[met]), reply(&[OK])].concat());
        session.run().unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"));
        assert_eq!(session.peer.sent(), ["COM_QUERY DO 0", "COM_QUERY select 1"]);
    }
}

#[test]
pub fn out_of_step_is_the_end() {
    for (replies, why) in [
        (packet(5, OK), "out of step"),
        (packet(1, &[0xfb, b'f']), "not negotiated"),
        (reply(&[&[0xfe, 1, 2]]), "malformed"),
        (reply(&[&[0xfd]]), "malformed"),
        (reply(&[&[0]]), "malformed"),
        ([reply(&[&[0, 0, 0, 2, 0, 0, 0]]), packet(2, OK)].concat(), "no request was pending"),
    ] {
        let mut session = session(mysql8());
        let received = session.query("select 1");
        session.peer.replies.push_back(replies);
        let mut end = session.run();
        if end.is_ok() {
            end = session.start();
            session.read_buffer.extend(b"");
            end = end.and_then(|()| session.machine.receive((), &mut session.read_buffer, &mut WriteBuffer::new()));
        }
        assert!(end.as_ref().is_err_and(|end| end.message.contains(why)), "{why}: {end:?}");
        assert!(received.get().end.is_some());
    }
}

#[test]
pub fn the_closing_error_of_a_server_is_quoted() {
    let mut session = session(mysql8());
    session.read_buffer.extend(&packet(0, b"\xff\xbf\x0f#HY000The client was disconnected because of inactivity."));
    let gone = session.machine.receive((), &mut session.read_buffer, &mut WriteBuffer::new()).unwrap_err();
    assert!(gone.message.contains("inactivity"), "{gone}");
    assert_eq!(session.machine.closing_error().map(|error| error.code), Some(4031));
}

#[test]
pub fn a_row_that_does_not_fit_its_columns_is_the_end() {
    for row in [&b"\x05abc"[..], b"\x01a\x01b", b"\xfc\x01"] {
        let mut session = session(mysql8());
        let received = session.query("select 1");
        session.peer.replies.push_back(reply(&[&[1], &column("n", 253, 45), row, &[0xfe, 0, 0, 2, 0, 0, 0]]));
        assert!(session.run().unwrap_err().message.contains("does not fit its column definitions"));
        assert!(received.get().end.as_deref().unwrap().starts_with("fatal"));
    }
}

#[test]
pub fn after_a_deadlock_a_batch_queries_the_transaction_status() {
    let mut session = session(mysql8());
    session.query("update t set a = 1");
    session.peer.replies.push_back(reply(&[b"\xff\xbd\x04#40001Deadlock found"]));
    session.run().unwrap();
    session.peer.received.clear();
    let received = session.batch("insert into t values (?)", BatchStrategy::Auto, true, vec![vec![V::Int(1)]]);
    for _ in 0..5 {
        session.peer.replies.push_back(reply(&[OK]));
    }
    session.run().unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
    assert!(session.peer.sent().starts_with(&["COM_PING"]));
}

#[test]
pub fn a_query_that_may_load_a_file_has_nothing_after_it() {
    let replies = vec![greeting("8.4.3", "mysql_native_password", mysql8()), packet(2, OK)];
    let mut session = ready(connecting(SessionOptions { local_infile: true, ..options("pw") }, replies));
    let execute =
        Execute { facts: None, sql: "select ?".into(), rows: ParameterRows::One, text: AsText::Always, cursor: None };
    session.ask(Request::Execute(execute), vec![V::Int(1)], vec![]);
    session.query("/*! LOAD data local infile 'x' into table t */");
    session.query("select 2");
    session.machine.transmit((), &mut session.write_buffer);
    assert_eq!(trace(&session.write_buffer.take()), ["COM_QUERY select 1"]);
    session.peer.replies.push_back(reply(&[OK]));
    session.peer.replies.push_back(reply(&[b"\xfbx"]));
    session.peer.replies.push_back(packet(3, OK));
    session.peer.replies.push_back(reply(&[OK]));
    session.run().unwrap();
    let sent = session.peer.sent();
    assert!(
        sent.ends_with(&["packet 2: 0", "COM_QUERY select 2"]),
        "an empty file, and then the next statement: {sent:?}"
    );
}

#[test]
pub fn a_stale_statement_in_bulk_is_undone_and_done_again_with_a_fresh_one() {
    let capabilities = (mysql8() - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
    let mut session = session(capabilities);
    let insert = "insert into t values (?)";
    let prepared = |id: u8| reply(&[&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 253, 45)]);
    let run = |session: &mut Conversation<Script>, replies: Vec<Vec<u8>>| {
        let received = session.batch(insert, BatchStrategy::Auto, true, vec![vec![V::Int(7)], vec![V::Int(8)]]);
        session.peer.received.clear();
        session.peer.replies.extend(replies);
        session.run().unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"), "{:?}", received.get().error);
        assert!(session.peer.replies.is_empty());
        session.peer.sent()
    };
    let ok = || reply(&[OK]);
    run(&mut session, vec![ok(), prepared(1), ok(), ok(), ok(), ok()]);
    for (id, code) in [(2, 0u16), (3, 1615), (4, 1243)] {
        let error = reply(&[&[&[0xff][..], &code.to_le_bytes(), b"#HY000"].concat()]);
        // autocommit off, the rows refused; rolled back twice, autocommit on; then everything from the beginning.
        let replies = vec![ok(), error, ok(), ok(), ok(), prepared(id), ok(), ok(), ok(), ok()];
        let sent = run(&mut session, replies);
        for (text, count) in [("COM_STMT_PREPARE insert", 1), ("COM_QUERY ROLLBACK", 2), ("COM_QUERY COMMIT", 1)] {
            assert_eq!(sent.count(&[text]), count, "{code}: {sent:?}");
        }
        let fresh = format!("COM_STMT_BULK_EXECUTE {id}");
        assert_eq!(sent.count(&[&fresh]), 1, "{code}: the fresh statement is executed");
        run(&mut session, vec![ok(), ok(), ok(), ok()]);
    }
}

#[test]
pub fn a_text_that_is_refused_for_the_charset_of_its_parameter_is_written() {
    let mut session = session(mysql8());
    let prepared = |id: u8| reply(&[&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 253, 45)]);
    let impossible = |what: &str| {
        let message = format!("#HY000Conversion from collation a into b impossible for {what}");
        reply(&[&[&[0xff, 0x94, 0x0f], message.as_bytes()].concat()])
    };
    let ok = || reply(&[OK]);
    let run = |session: &mut Conversation<Script>, sql: &str, text: &'static str, replies: Vec<Vec<u8>>| {
        let received = session.execute(sql, vec![V::text(text)]);
        session.peer.received.clear();
        session.peer.replies.extend(replies);
        session.run().unwrap();
        assert!(session.peer.replies.is_empty());
        let sent = session.peer.sent();
        let commands = ["COM_STMT_PREPARE", "COM_STMT_EXECUTE", "COM_QUERY"].map(|command| sent.count(&[command]));
        (received.get().end.clone().unwrap(), commands)
    };
    let done = |commands: [usize; 3]| ("done".to_owned(), commands);
    let (update, beyond) = ("update t set a = ?", "\u{4e2d}");
    assert_eq!(run(&mut session, update, "a", vec![prepared(1), ok()]), done([1, 1, 0]));
    assert_eq!(run(&mut session, update, beyond, vec![impossible("parameter"), ok()]), done([0, 1, 1]), "refused");
    assert_eq!(run(&mut session, update, beyond, vec![ok()]), done([0, 0, 1]), "it is known");
    assert_eq!(run(&mut session, update, "a", vec![ok()]), done([0, 1, 0]), "what is ASCII is bound");
    let fresh = vec![prepared(2), impossible("parameter"), ok()];
    assert_eq!(run(&mut session, "delete from t where a = ?", beyond, fresh), done([1, 1, 1]));
    // An error about something other than a parameter may have come in the middle of the work, and so may any error of a
    // procedure.
    for (sql, what) in [("insert into t values (?)", "function"), ("call p(?)", "parameter")] {
        assert_eq!(run(&mut session, sql, beyond, vec![prepared(3), ok()]), done([1, 1, 0]));
        let refused = run(&mut session, sql, beyond, vec![impossible(what)]);
        assert_eq!(refused, ("server 3988".to_owned(), [0, 1, 0]), "{sql}");
    }
}

#[test]
pub fn a_cursor_whose_statement_the_server_has_forgotten_is_opened_again() {
    let replies = vec![greeting("11.8.2-MariaDB", "mysql_native_password", mysql8()), packet(2, OK)];
    let mut session = ready(connecting(options("pw"), replies));
    let prepared = |id: u8| reply(&[&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 3, 63)]);
    let unknown = || reply(&[b"\xff\xdb\x04#HY000Unknown prepared statement handler (1) given"]);
    let sql = "select a from t where a = ?";
    session.execute(sql, vec![V::Int(1)]);
    session.peer.replies.extend([prepared(1), reply(&[OK])]);
    session.run().unwrap();
    session.peer.received.clear();
    let cursor = || Execute {
        facts: None,
        sql: sql.into(),
        rows: ParameterRows::One,
        text: AsText::IfUnprepared,
        cursor: Some(2),
    };
    let (_, opened) = session.ask(Request::Execute(cursor()), vec![V::Int(1)], vec![]);
    let no_cursor = || reply(&[b"\xff\x26\x04#HY000no cursor"]);
    session.peer.replies.extend([unknown(), unknown(), prepared(2), reply(&[OK]), no_cursor()]);
    session.run().unwrap();
    assert_eq!(opened.get().end.clone().unwrap(), "done");
    let sent = session.peer.sent();
    assert_eq!(["COM_STMT_PREPARE", "COM_STMT_EXECUTE"].map(|command| sent.count(&[command])), [1, 2], "{sent:?}");
    // A request that was started in the meantime would be executed before it.
    let (_, opened) = session.ask(Request::Execute(cursor()), vec![V::Int(1)], vec![]);
    let after = session.query("do 1");
    session.peer.replies.extend([unknown(), unknown(), reply(&[OK])]);
    session.run().unwrap();
    assert_eq!(
        (opened.get().end.clone().unwrap(), after.get().end.clone().unwrap()),
        ("server 1243".into(), "done".into())
    );
}

#[test]
pub fn a_procedure_that_ends_with_an_unknown_statement_is_not_called_again() {
    let mut session = session(mysql8());
    let prepared = |id: u8| reply(&[&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 3, 63)]);
    let error = |code: u16, what: &str| {
        let message = format!("#HY000Unknown prepared statement handler ({what}) given");
        reply(&[&[&[0xff][..], &code.to_le_bytes(), message.as_bytes()].concat()])
    };
    let call = |session: &mut Conversation<Script>, replies: Vec<Vec<u8>>| {
        let received = session.execute("call p(?)", vec![V::Int(1)]);
        session.peer.received.clear();
        session.peer.replies.extend(replies);
        session.run().unwrap();
        assert!(session.peer.replies.is_empty());
        (received.get().end.clone().unwrap(), session.peer.sent().count(&["COM_STMT_EXECUTE"]))
    };
    assert_eq!(call(&mut session, vec![prepared(1), reply(&[OK])]), ("done".to_owned(), 1));
    for code in [1243u16, 1615] {
        assert_eq!(call(&mut session, vec![error(code, "stmt")]), (format!("server {code}"), 1));
    }
    // The server has not prepared the CALL itself.
    let again = vec![error(1243, "1"), prepared(2), reply(&[OK])];
    assert_eq!(call(&mut session, again), ("done".to_owned(), 2));
}

/// Payloads that are nearly right: the first bytes that mean something, and anything after.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let head = prop_oneof![
        Just(OK.to_vec()),
        Just(EOF.to_vec()),
        Just(vec![0xfe, 0, 0, 2, 0, 0, 0]),
        Just(vec![0xfe, 0, 0, 0x48, 0, 0, 0]),
        Just(b"\xff\x26\x04#23000Duplicate entry".to_vec()),
        Just(b"\xff\xdb\x04#HY000Unknown statement".to_vec()),
        Just(b"\xff\x0f\x05#HY000Not in bulk".to_vec()),
        Just(vec![0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
        Just(column("n", 253, 45)),
        Just(column("n", 3, 63)),
        Just(vec![1]),
        Just(vec![1, 1]),
        Just(vec![1, 0]),
        Just(vec![0xfb, b'f']),
        Just(Vec::new()),
    ];
    (head, proptest::collection::vec(any::<u8>(), 0..6)).prop_map(|(head, tail)| [head, tail].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn every_handler_receives_an_outcome_whatever_the_server_sends(
        replies in proptest::collection::vec(proptest::collection::vec(payload(), 1..5), 1..12),
        bulk: bool,
        eof: bool,
    ) {
        let mut capabilities = mysql8();
        capabilities.set(Capabilities::DEPRECATE_EOF, !eof);
        if bulk {
            let mariadb = Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_CACHE_METADATA;
            capabilities = (capabilities - Capabilities::LONG_PASSWORD) | mariadb;
        }
        let mut session = session(capabilities);
        let cursor = Execute { facts: None, sql: "select a from t where a = ?".into(), rows: ParameterRows::One, text: AsText::IfUnprepared, cursor: Some(2) };
        let (id, opened) = session.ask(Request::Execute(cursor), vec![V::Int(1)], vec![]);
        let received = [
            opened,
            session.ask(Request::Fetch { cursor: id, rows: 1 }, vec![], vec![]).1,
            session.query("select 1"),
            session.execute("select a from t where a = ?", vec![V::Int(1)]),
            session.batch("insert into t values (?)", BatchStrategy::Auto, true, vec![vec![V::Int(7)], vec![V::Null]]),
            session.batch("update t set a = ?", BatchStrategy::Pipelined, false, vec![vec![V::Int(7)], vec![V::Null]]),
            session.ask(Request::CloseCursor { cursor: id }, vec![], vec![]).1,
            session.ask(Request::ResetConnection, vec![], vec![]).1,
        ];
        for payloads in &replies {
            let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
            session.peer.replies.push_back(reply(&payloads));
        }
        let done = session.run();
        prop_assert!(received.iter().all(|received| received.get().end.is_some()));
        prop_assert!(done.is_err() || session.machine.is_idle());
    }
}

#[test]
pub fn a_packet_of_many_parts_can_only_be_a_row() {
    let part = packet(1, &vec![b'x'; 0xff_ffff]);
    let mut early = connecting(options("pw"), vec![packet(0, &vec![10; 0xff_ffff])]);
    assert!(early.start().unwrap_err().message.contains("where no row can be"));
    for binary in [false, true] {
        let mut session = session(mysql8());
        session.peer.replies = vec![part.clone(), part.clone()].into();
        if binary {
            session.execute("select 1", vec![]);
        } else {
            session.query("select 1");
        }
        assert!(session.run().unwrap_err().message.contains("where no row can be"));
    }
}

#[test]
pub fn requests_within_a_reservation_go_before_those_that_wait() {
    let mut session = session(mysql8());
    let query = |sql: &str| Request::Query { sql: sql.into(), infile: false };
    let ask = |session: &mut Conversation<Script>, request| session.ask(request, Vec::new(), Vec::new());
    let (number, reserved) = ask(&mut session, Request::Reserve);
    ask(&mut session, query("another's"));
    session.pump(|_| reserved.get().end.is_some()).unwrap();
    assert!(session.machine.is_occupied());
    for (sql, sent) in [("first", vec!["COM_QUERY first"]), ("last", vec!["COM_QUERY last", "COM_QUERY another's"])] {
        let request = Request::Within { reservation: number, request: Box::new(query(sql)) };
        ask(&mut session, request);
        if sql == "last" {
            session.machine.release(number);
        }
        session.peer.replies.push_back(packet(1, OK));
        session.pump(|machine| machine.queued() == 1).unwrap();
        assert_eq!(session.peer.sent(), sent);
    }
    session.peer.replies.push_back(packet(1, OK));
    session.run().unwrap();
}
