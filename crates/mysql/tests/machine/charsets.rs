//! The character sets of the session: set by a statement, compared with what the server reports, or asked for.

use super::conversations::*;
use crate::support::session::Conversation;
use headrace_core::FatalKind;
use headrace_mysql::machine::{Request, SessionOptions};
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_testkit::Trace;

/// An OK packet that reports the three variables.
fn reported(client: &str, connection: &str, results: &str) -> Vec<u8> {
    let values = [client, connection, results];
    let pairs: Vec<_> = CHARSETS.into_iter().zip(values).collect();
    reply(&[&reporting(&pairs)])
}

fn started(capabilities: Capabilities) -> Conversation<Script> {
    let replies = vec![greeting("8.4.3", "mysql_native_password", capabilities), packet(2, OK)];
    let mut session = connecting(SessionOptions { multi_statements: true, ..options("pw") }, replies);
    session.start().unwrap();
    session.peer.received.clear();
    session
}

/// Executes a text, which the server answers so; returns what was sent.
fn run(session: &mut Conversation<Script>, sql: &str, replies: Vec<Vec<u8>>) -> Trace {
    session.peer.replies.extend(replies);
    session.query(sql);
    session.run().unwrap_or_else(|reason| panic!("{sql}: {reason}"));
    session.peer.sent()
}

const RESTORED: &str = "COM_QUERY SET character_set_client=utf8mb4,";
const ASKED: &str = "COM_QUERY SELECT IF(@@character_set_client='utf8mb4'";

fn restored() -> Vec<u8> {
    reply(&[&reporting(&[("character_set_client", "utf8mb4"), ("character_set_results", "utf8mb4")])])
}

#[test]
pub fn it_is_set_with_the_first_request_and_with_autocommit() {
    let mut session = started(mysql8());
    assert_eq!(run(&mut session, "a", vec![set_up(), reply(&[OK])]), ["COM_QUERY SET NAMES utf8mb4", "COM_QUERY a"]);
    assert_eq!(run(&mut session, "b", vec![reply(&[OK])]), ["COM_QUERY b"]);
    let mut session = started(mysql8());
    session.machine.commit_manually();
    let sent = run(&mut session, "a", vec![set_up(), reply(&[OK])]);
    assert_eq!(sent, ["COM_QUERY SET NAMES utf8mb4, autocommit=0", "COM_QUERY a"]);
    session.peer.replies.push_back(reply(&[OK]));
    session.ask(Request::ResetConnection, vec![], vec![]);
    session.run().unwrap();
    assert_eq!(session.peer.sent(), ["COM_RESET_CONNECTION"]);
    session.machine.commit_manually();
    let sent = run(&mut session, "b", vec![set_up(), reply(&[OK])]);
    assert_eq!(sent, ["COM_QUERY SET NAMES utf8mb4, autocommit=0", "COM_QUERY b"]);
}

#[test]
pub fn a_server_that_reports_another_one_after_all_is_not_believed() {
    let mut session = started(mysql8());
    session.peer.replies.extend([reported("latin1", "latin1", "latin1"), reply(&[OK])]);
    let asked = session.query("a");
    let reason = session.run().unwrap_err();
    assert_eq!(reason.kind, FatalKind::EncodingChanged);
    assert!(reason.message.contains("latin1"), "{reason}");
    assert_ne!(asked.get().end.as_deref(), Some("done"));
}

#[test]
pub fn a_server_that_refuses_it_is_left() {
    let mut session = started(mysql8());
    session.peer.replies.extend([reply(&[b"\xff\x73\x04#42000Unknown character set"]), reply(&[OK])]);
    session.query("a");
    assert!(session.run().unwrap_err().message.contains("Unknown character set"));
}

#[test]
pub fn a_server_that_reports_nothing_is_asked() {
    let zero = || reply(&[&[1], &column("asked", 8, 63), b"\x010", &[0xfe, 0, 0, 2, 0, 0, 0]]);
    // It may report the session's state, but not these variables.
    let mut session = started(mysql8());
    run(&mut session, "a", vec![reply(&[OK]), reply(&[OK])]);
    assert_eq!(run(&mut session, "b", vec![zero(), reply(&[OK])]), [ASKED, "COM_QUERY b"]);
    assert_eq!(run(&mut session, "c", vec![reply(&[OK])]), ["COM_QUERY c"]);
    // What may have changed them is followed by what sets them back.
    for sql in ["set names latin1", "call p()", "select 1; set names latin1"] {
        run(&mut session, sql, vec![reply(&[OK])]);
        assert_eq!(run(&mut session, "b", vec![reply(&[OK]), reply(&[OK])]), [RESTORED, "COM_QUERY b"], "{sql}");
        run(&mut session, "b", vec![zero(), reply(&[OK])]);
    }
    // It does not report at all: the question travels along.
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    let rows = || reply(&[&[1], &column("asked", 8, 63), eof, b"\x010", eof]);
    let mut session = started(mysql8() - Capabilities::SESSION_TRACK - Capabilities::DEPRECATE_EOF);
    let sent = run(&mut session, "a", vec![reply(&[OK]), rows(), reply(&[OK])]);
    assert_eq!(sent, ["COM_QUERY SET NAMES utf8mb4", ASKED, "COM_QUERY a"]);
    let mut session = started(mysql8() - Capabilities::SESSION_TRACK - Capabilities::DEPRECATE_EOF);
    session.peer.replies.extend([reply(&[OK]), reply(&[b"\xff\xda\x04#21000Subquery returns more than 1 row"])]);
    session.query("a");
    assert_eq!(session.run().unwrap_err().kind, FatalKind::EncodingChanged);
}

#[test]
pub fn what_changes_no_text_is_set_back_before_the_next_request() {
    let mut session = session(mysql8());
    for (client, connection, results) in [
        ("utf8mb3", "utf8mb3", "utf8mb3"),
        ("binary", "binary", "binary"),
        ("utf8mb4", "latin1", "utf8mb4"),
        ("utf8mb4", "utf8mb4", ""),
    ] {
        run(&mut session, "set names x", vec![reported(client, connection, results)]);
        assert_eq!(run(&mut session, "b", vec![restored(), reply(&[OK])]), [RESTORED, "COM_QUERY b"]);
        assert_eq!(run(&mut session, "b", vec![reply(&[OK])]), ["COM_QUERY b"]);
    }
    // No server reports the collation.
    for sql in ["set collation_connection = latin1_bin", "execute s", "SET SESSION collation_connection=DEFAULT"] {
        run(&mut session, sql, vec![reply(&[OK])]);
        assert_eq!(run(&mut session, "b", vec![restored(), reply(&[OK])]), [RESTORED, "COM_QUERY b"], "{sql}");
    }
    assert_eq!(run(&mut session, "set names utf8mb4", vec![set_up()]), ["COM_QUERY set names utf8mb4"]);
    assert_eq!(run(&mut session, "b", vec![reply(&[OK])]), ["COM_QUERY b"]);
}

#[test]
pub fn requests_in_flight_in_another_one_end_the_connection() {
    let mut session = session(mysql8());
    let asked = [session.query("call p()"), session.query("select 2")];
    session.peer.replies.extend([reported("utf8mb3", "utf8mb3", "utf8mb3"), reply(&[OK])]);
    assert_eq!(session.run().unwrap_err().kind, FatalKind::EncodingChanged);
    assert!(asked.iter().all(|asked| asked.get().end.as_deref() != Some("done")));
}
