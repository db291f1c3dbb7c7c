//! COPY: rows are sent only when the server accepts them, and every request receives its outcome.

use crate::machine::session::*;
use headrace_core::protocol::BulkDirection;
use headrace_core::{Discarded, Session as _};
use headrace_postgres::machine::{Copy, CopyState, ParameterRows, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::Shared;

const COPY_IN: u8 = backend::COPY_IN_RESPONSE;

fn copy(into: bool) -> Request {
    let text = if into { "copy t (a) from stdin" } else { "copy t (a) to stdout" };
    let query = "select a from t".into();
    Request::Copy(Copy { query, left_out: None, binary: None, text: text.into(), into, prelude: None })
}

/// A session that has requested the columns of a COPY.
fn describing(into: bool) -> (Conversation, u64, Shared) {
    let mut session = Conversation::start();
    let (id, received) = session.ask(copy(into), vec![], vec![]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    (session, id, received)
}

/// One that has begun to feed a COPY.
fn feeding() -> (Conversation, u64, Shared) {
    let (mut session, id, received) = describing(true);
    session.feed_messages(&[described(&[], &[("a", 25)])]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::BIND_COMPLETE, b""),
        copy_response(COPY_IN),
    ]);
    assert_eq!(session.machine.copy_state(id), CopyState::Streaming);
    (session, id, received)
}

#[test]
pub fn rows_are_fed_once_the_server_takes_them() {
    let (mut session, id, received) = feeding();
    assert!(session.machine.copy_data(id, &mut session.write_buffer, |out| out.extend_from_slice(b"x\n")));
    session.machine.copy_end(id, &mut session.write_buffer, None);
    assert_eq!(session.sent(), ["CopyData", "CopyDone", "Sync"]);
    session.feed_messages(&[completed("COPY 1"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn rows_of_a_copy_out_of_the_server_need_no_more_of_us() {
    let (mut session, _, received) = describing(false);
    session.feed_messages(&[described(&[], &[("a", 25)])]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Sync"]);
    let data = [msg(backend::COPY_DATA, b"x\n"), msg(backend::COPY_DONE, b""), completed("COPY 1"), ready(b'I')];
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")]);
    session.feed_messages(&[vec![copy_response(backend::COPY_OUT_RESPONSE)], data.to_vec()].concat());
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn types_that_are_not_known_are_looked_up_and_the_columns_described_again() {
    let (mut session, _, received) = describing(true);
    session.feed_messages(&[described(&[], &[("a", 99_999)])]);
    assert_eq!(session.sent(), ["Query"]);
    session.feed_messages(&[completed("SELECT 0"), ready(b'I')]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    session.feed_messages(&[error("42P01")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 42P01"));
}

#[test]
pub fn composite_types_are_looked_up_by_every_copy_of_rows_that_cannot_be_sent_again() {
    let mut session = Conversation::start();
    for attribute in [&b"25 -1 a"[..], b"25 -1 b"] {
        let (id, _) = session.ask(copy(true), vec![], vec![]);
        session.sent();
        session.feed_messages(&[described(&[], &[("a", 99_999)])]);
        assert_eq!(session.sent(), ["Query"]);
        let row = data_row(&[Some(b"99999"), Some(b"pair"), Some(b"c"), None, Some(attribute), None]);
        session.feed_messages(&[row, completed("SELECT 1"), ready(b'I')]);
        assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
        session.feed_messages(&[described(&[], &[("a", 99_999)])]);
        assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
        let accepted = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b""), copy_response(COPY_IN)];
        session.feed_messages(&accepted);
        session.machine.copy_end(id, &mut session.write_buffer, None);
        session.feed_messages(&[completed("COPY 0"), ready(b'I')]);
        session.sent();
    }
}

#[test]
pub fn an_error_ends_a_copy_wherever_it_stands() {
    let (mut session, _, received) = describing(true);
    session.feed_messages(&[described(&[], &[("a", 25)])]);
    session.sent();
    session.feed_messages(&[error("42501")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 42501"));
    let (mut session, _, received) = describing(true);
    session.feed_messages(&[described(&[], &[("a", 99_999)])]);
    session.sent();
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 57014"));
    let (mut session, id, received) = feeding();
    session.feed_messages(&[error("22P04")]);
    assert_eq!(session.sent(), ["Sync"]);
    assert_eq!(session.machine.copy_state(id), CopyState::Ended);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 22P04"));
}

#[test]
pub fn a_copy_whose_handler_is_gone_fails() {
    let (mut session, id, _) = describing(true);
    assert_eq!(session.machine.discard(id), Discarded::Alone);
    session.feed_messages(&[described(&[], &[("a", 25)])]);
    assert_eq!(session.sent(), ["Sync"], "nothing of it was begun");
    session.feed_messages(&[ready(b'I')]);
    let (mut session, id, _) = feeding();
    session.machine.discard(id);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), ["CopyFail", "Sync"]);
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_script_feeds_each_of_its_copies() {
    let mut session = Conversation::start();
    let (id, received) = session.ask(script("copy a from stdin; copy b from stdin", true), vec![], vec![]);
    assert_eq!(session.sent(), ["Query"]);
    for rows in ["COPY 1", "COPY 2"] {
        session.feed_messages(&[copy_response(COPY_IN)]);
        session.machine.copy_end(id, &mut session.write_buffer, None);
        assert_eq!(session.sent(), ["CopyDone"], "{rows}");
        session.feed_messages(&[completed(rows)]);
    }
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn a_script_that_fails_ends_its_copy() {
    for fed in [false, true] {
        let mut session = Conversation::start();
        let (_, received) = session.ask(script("copy a from stdin", true), vec![], vec![]);
        if fed {
            session.feed_messages(&[copy_response(COPY_IN)]);
        }
        session.sent();
        session.feed_messages(&[error("22P04"), ready(b'I')]);
        if fed {
            assert_eq!(session.sent(), ["Sync"], "rows of it may be on their way");
            session.feed_messages(&[ready(b'I')]);
        }
        assert_eq!(received.get().end.as_deref(), Some("server 22P04"));
    }
}

#[test]
pub fn a_script_may_copy_out_of_the_server() {
    let mut session = Conversation::start();
    let (_, received) = session.ask(script("copy a to stdout", true), vec![], vec![]);
    session.feed_messages(&[copy_response(backend::COPY_OUT_RESPONSE), msg(backend::COPY_DONE, b"")]);
    session.feed_messages(&[completed("COPY 0"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn without_rows_copy_fails() {
    // A script that was not recognised as a COPY, and one whose response handler is gone.
    let mut session = Conversation::start();
    session.ask(script("copy a from stdin", false), vec![], vec![]);
    session.feed_messages(&[copy_response(COPY_IN)]);
    assert_eq!(session.sent(), ["Query", "CopyFail"]);
    let mut session = Conversation::start();
    let (id, _) = session.ask(script("copy a from stdin", true), vec![], vec![]);
    session.machine.discard(id);
    session.feed_messages(&[copy_response(COPY_IN)]);
    assert_eq!(session.sent(), ["Query", "CopyFail"]);
}

/// Executions of COPY by the extended protocol: with all sent, with the Sync that waits for room, with rows to be sent
/// and with rows that are unanswered.
#[test]
pub fn a_copy_that_is_executed_is_refused_whatever_was_sent_of_it() {
    let large = || "x".repeat(300_000).into();
    let small = |rows: i64| (0..rows).map(|n| vec![n.to_string().into()]).collect();
    let cases = [
        (ParameterRows::One, vec!["x".into()], vec![], vec!["CopyFail", "Sync"]),
        (ParameterRows::One, vec![large()], vec![], vec!["Bind", "Execute", "CopyFail", "Sync"]),
        (ParameterRows::Batch, vec![], vec![vec![large()], vec![large()]], vec!["Bind", "Execute", "CopyFail", "Sync"]),
        (ParameterRows::Batch, vec![], small(3000), vec!["CopyFail", "Sync"]),
    ];
    for (rows, row, batch, last) in cases {
        let mut session = Conversation::start();
        let (_, received) = session.ask(execution("copy t from stdin", rows, true), row, batch);
        session.feed_messages(&[described(&[25], &[])]);
        session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), copy_response(COPY_IN)]);
        let sent = session.sent();
        assert!(sent.ends_with(&last), "{sent:?}");
        session.feed_messages(&[error("57014"), ready(b'I')]);
        assert!(received.get().end.unwrap().starts_with("server 57014"));
    }
}

/// Only the server's answer to the end of a misplaced COPY is about it: another error keeps its own reason.
#[test]
pub fn the_error_of_a_misplaced_copy_is_told_from_others() {
    let answer = "COPY from stdin failed: COPY FROM STDIN has to be fed: use copy() or copy_in()";
    for (code, message, misplaced) in [
        ("57014", answer, Some(BulkDirection::In)),
        ("57014", "canceling statement due to user request", None),
        ("57P01", "terminating connection due to administrator command", None),
    ] {
        for request in [execution("copy t from stdin", ParameterRows::One, true), script("copy t from stdin", false)] {
            let mut session = Conversation::start();
            let is_script = matches!(request, Request::Script { .. });
            let (_, received) = session.ask(request, vec![], vec![]);
            if !is_script {
                session.feed_messages(&[described(&[], &[]), msg(backend::BIND_COMPLETE, b"")]);
            }
            session.feed_messages(&[copy_response(COPY_IN), error_about(code, message), ready(b'I')]);
            assert_eq!(received.get().end.as_deref(), Some(format!("server {code}").as_str()));
            assert_eq!(received.get().misplaced, misplaced, "{message}");
        }
    }
}

#[test]
pub fn an_unexpected_copy_ends_the_session() {
    let mut session = Conversation::start();
    session.ask(execution("select 1", ParameterRows::One, true), vec![], vec![]);
    assert!(session.feed(&copy_response(COPY_IN)).is_err());
}
