//! Types that stand only inside a record are looked up after its row has come.

use crate::machine::session::*;
use headrace_postgres::machine::{Columns, Execute, ParameterRows, Portal, PortalId, Request};
use headrace_postgres::messages::backend::Field;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::types::TypeRegistry;
use std::sync::Arc;

const RECORD: u32 = 2249;
/// A domain of integer.
const DOMAIN: u32 = 99_998;
/// What a record with a number, whose bytes are letters, is for the handler.
const LETTERS: &str = "record { type_id: 0, is_described: true } 1|1094795585|end";

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

/// The catalogue's answer, within a transaction block, that a domain is one of `base`.
fn domain_in_block(oid: u32, base: u32) -> Vec<u8> {
    [answer(oid, base), ready(b'T')].concat()
}

fn answer(oid: u32, base: u32) -> Vec<u8> {
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    let (oid, base) = (oid.to_string(), base.to_string());
    let row = data_row(&[Some(oid.as_bytes()), Some(b"d"), Some(b"d"), Some(base.as_bytes()), Some(b"-1"), Some(b",")]);
    [parsed, row, completed("SELECT 1")].concat()
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
pub fn what_is_read_only_as_text_is_made_text_by_the_server() {
    const PG_LSN: u32 = 3220;
    let (mut session, received) = asks();
    let rows = [data_row(&[Some(&record(PG_LSN))]), data_row(&[Some(&nested(&record(PG_LSN)))])].concat();
    session.feed_messages(&[rows, completed("SELECT 2"), ready(b'I')]);
    assert_eq!(received.get().rows.len(), 0, "they are deferred");
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Sync"]);
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    session.feed_messages(&[parsed, data_row(&[Some(b"0/1")]), completed("SELECT 1"), ready(b'I')]);
    let line = "record { type_id: 0, is_described: true } 1|0/1|end".to_owned();
    let nested = format!("record {{ type_id: 0, is_described: true }} 1|{line}|end");
    assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec![line, nested], Some("done")));
}

/// Rows of a portal, of which the next were asked for before the first have come: those are of types that are known, or
/// there are none.
#[test]
pub fn what_was_fetched_ahead_comes_after_the_rows_that_wait_for_their_types() {
    for is_last_empty in [false, true] {
        let mut session = Conversation::start();
        let id = PortalId { name: "p".into(), number: 7 };
        let stream = Execute {
            prelude: Some("BEGIN".into()),
            portal: Some(Portal { id: id.clone(), max_rows: 1, reserves: true }),
            ..Execute::new("select r")
        };
        let (_, first) = session.ask(Request::Execute(stream), Vec::new(), Vec::new());
        session.feed_messages(&[
            msg(backend::PARSE_COMPLETE, b""),
            msg(backend::BIND_COMPLETE, b""),
            completed("BEGIN"),
            described(&[], &[("r", RECORD)]),
        ]);
        let one = |oid| data_row(&[Some(&record(oid))]);
        session.feed_messages(&[
            msg(backend::BIND_COMPLETE, b""),
            one(23),
            msg(backend::PORTAL_SUSPENDED, b""),
            ready(b'T'),
        ]);
        assert_eq!(first.get().rows.len(), 1);
        let field = Field {
            name: "r".into(),
            table: 0,
            number: 0,
            type_oid: RECORD,
            type_size: -1,
            type_modifier: -1,
            format: 1,
        };
        let columns = Arc::new(Columns::plan(&TypeRegistry::default(), vec![field]));
        let mut fetch = || {
            let request = Request::Fetch { portal: id.clone(), max_rows: 1, columns: columns.clone() };
            session.ask(request, Vec::new(), Vec::new()).1
        };
        let (waits, ahead) = (fetch(), fetch());
        let last = if is_last_empty { completed("SELECT 0") } else { [one(23), completed("SELECT 1")].concat() };
        let replies = [one(DOMAIN), msg(backend::PORTAL_SUSPENDED, b""), ready(b'T'), last, ready(b'T')].concat();
        session.feed(&replies).unwrap();
        assert_eq!((waits.get().rows.len(), ahead.get().rows.len(), ahead.get().end), (0, 0, None));
        session.feed(&domain_in_block(DOMAIN, 23)).unwrap();
        assert_eq!((waits.get().end.as_deref(), ahead.get().end), (Some("done"), None));
        let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
        session.feed(&[parsed, completed("SELECT 0"), ready(b'T')].concat()).unwrap();
        assert_eq!((waits.get().lines(), ahead.get().end.as_deref()), (vec![LETTERS.to_owned()], Some("done")));
        assert_eq!(ahead.get().rows.len(), usize::from(!is_last_empty));
    }
}
