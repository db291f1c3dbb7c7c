//! Types that stand only inside a record are looked up after its row has come.

use crate::machine::session::*;
use headrace_postgres::machine::ParameterRows;
use headrace_postgres::messages::tag::backend;

const RECORD: u32 = 2249;
/// A domain of integer, and one of that domain.
const DOMAIN: u32 = 99_998;
const OUTER: u32 = 99_997;
/// What a record with a number, whose bytes are letters, is for the handler.
const LETTERS: &str = "record { type_id: 0 } 1|1094795585|end";

/// A record with an attribute of this type, whose four bytes are letters.
fn record(oid: u32) -> Vec<u8> {
    [&1u32.to_be_bytes()[..], &oid.to_be_bytes(), &4u32.to_be_bytes(), b"AAAA"].concat()
}

/// A record whose only attribute is a record.
fn nested(inner: &[u8]) -> Vec<u8> {
    let length = inner.len() as u32;
    [&1u32.to_be_bytes()[..], &RECORD.to_be_bytes(), &length.to_be_bytes(), inner].concat()
}

/// A session that has been told what `select r` returns.
fn asks() -> (Conversation, headrace_testkit::Shared) {
    let mut session = Conversation::start();
    let (_, received) = session.ask(execution("select r", ParameterRows::One, true), vec![], vec![]);
    session.feed_messages(&[described(&[], &[("r", RECORD)])]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b"")]);
    session.sent();
    (session, received)
}

/// The catalogue's answer that a domain is one of `base`.
fn domain(oid: u32, base: u32) -> Vec<u8> {
    [answer(oid, base), ready(b'I')].concat()
}

fn answer(oid: u32, base: u32) -> Vec<u8> {
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    let (oid, base) = (oid.to_string(), base.to_string());
    let row = data_row(&[Some(oid.as_bytes()), Some(b"d"), Some(b"d"), Some(base.as_bytes()), Some(b"-1"), Some(b",")]);
    [parsed, row, completed("SELECT 1")].concat()
}

#[test]
pub fn rows_before_the_first_unknown_type_are_passed_on_and_the_others_wait() {
    let (mut session, received) = asks();
    session.feed_messages(&[data_row(&[Some(&record(23))])]);
    assert_eq!(received.get().lines(), [LETTERS]);
    session.feed_messages(&[
        data_row(&[Some(&record(DOMAIN))]),
        data_row(&[Some(&nested(&record(DOMAIN)))]),
        data_row(&[Some(&record(23))]),
        completed("SELECT 4"),
        ready(b'I'),
    ]);
    assert_eq!(received.get().rows.len(), 1, "the others are deferred");
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Sync"]);
    session.feed_messages(&[domain(DOMAIN, 23)]);
    let nested = format!("record {{ type_id: 0 }} 1|{LETTERS}|end");
    assert_eq!(received.get().lines(), [LETTERS, LETTERS, &nested, LETTERS]);
    assert_eq!((received.get().columns.len(), received.get().end.as_deref()), (1, Some("done")));
}

#[test]
pub fn a_type_that_is_met_by_reading_another_is_looked_up_next() {
    let (mut session, received) = asks();
    session.feed_messages(&[data_row(&[Some(&record(OUTER))]), completed("SELECT 1"), ready(b'I')]);
    // A domain over records of another server, say.
    session.feed_messages(&[domain(OUTER, DOMAIN)]);
    assert_eq!((received.get().rows.len(), received.get().end.as_deref()), (0, None));
    session.feed_messages(&[domain(DOMAIN, 23)]);
    assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec![LETTERS.to_owned()], Some("done")));
}

#[test]
pub fn a_type_that_the_catalogue_does_not_have_is_no_text_whatever_its_bytes_are() {
    let (mut session, received) = asks();
    session.feed_messages(&[data_row(&[Some(&record(DOMAIN))]), completed("SELECT 1"), ready(b'I')]);
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    session.feed_messages(&[parsed, completed("SELECT 0"), ready(b'I')]);
    let lines = received.get().lines();
    assert!(lines[0].contains("invalid") || lines[0].contains("not known here"), "{lines:?}");
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn what_was_looked_up_once_is_known_to_the_same_statement() {
    let (mut session, received) = asks();
    session.feed_messages(&[data_row(&[Some(&record(DOMAIN))]), completed("SELECT 1"), ready(b'I')]);
    session.feed_messages(&[domain(DOMAIN, 23)]);
    assert_eq!(received.get().lines(), [LETTERS]);
    session.sent();
    let (_, received) = session.ask(execution("select r", ParameterRows::One, true), vec![], vec![]);
    session.feed_messages(&[
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat(),
        row_description_in(&[("r", RECORD)], 1),
        data_row(&[Some(&record(DOMAIN))]),
    ]);
    assert_eq!(received.get().lines(), [LETTERS]);
}

#[test]
pub fn what_is_read_only_as_text_is_made_text_by_the_server() {
    const PG_LSN: u32 = 3220;
    let (mut session, received) = asks();
    let rows = [data_row(&[Some(&record(PG_LSN))]), data_row(&[Some(&nested(&record(PG_LSN)))])].concat();
    session.feed_messages(&[rows, completed("SELECT 2"), ready(b'I')]);
    assert_eq!(received.get().rows.len(), 0, "they are deferred");
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Sync"]);
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    session.feed_messages(&[parsed, data_row(&[Some(b"0/1")]), completed("SELECT 1"), ready(b'I')]);
    let line = "record { type_id: 0 } 1|0/1|end".to_owned();
    let nested = format!("record {{ type_id: 0 }} 1|{line}|end");
    assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec![line, nested], Some("done")));
}
