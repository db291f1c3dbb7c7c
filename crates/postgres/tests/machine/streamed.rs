//! Streams with a transaction block of their own: the end of one without an error means that the block is committed.

use crate::machine::session::*;
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Discarded, Session as _, TransactionStatus};
use headrace_postgres::machine::{Columns, Execute, Portal, PortalId, Request};
use headrace_postgres::messages::backend::Field;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::types::TypeRegistry;
use headrace_testkit::Shared;
use std::sync::Arc;

fn portal() -> PortalId {
    PortalId { name: "p".into(), number: 7 }
}

/// A stream of one row at a time, whose first row has come.
fn streaming() -> Conversation {
    let mut session = Conversation::start();
    let stream = Execute {
        prelude: Some("BEGIN".into()),
        portal: Some(Portal { id: portal(), max_rows: 1, reserves: true }),
        ..Execute::new("insert into t select 1 returning n")
    };
    session.ask(Request::Execute(stream), Vec::new(), Vec::new());
    session.feed_messages(&[
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::BIND_COMPLETE, b""),
        completed("BEGIN"),
        described(&[], &[("n", 23)]),
    ]);
    session.feed_messages(&[
        msg(backend::BIND_COMPLETE, b""),
        data_row(&[Some(&[0, 0, 0, 9])]),
        msg(backend::PORTAL_SUSPENDED, b""),
        ready(b'T'),
    ]);
    session.sent();
    session
}

/// Fetches the next row; returns the number of the request too.
fn fetch(session: &mut Conversation) -> (u64, Shared) {
    let field =
        Field { name: "n".into(), table: 0, number: 0, type_oid: 23, type_size: 4, type_modifier: -1, format: 0 };
    let columns = Arc::new(Columns::plan(&TypeRegistry::default(), vec![field]));
    session.ask(Request::Fetch { portal: portal(), max_rows: 1, columns }, Vec::new(), Vec::new())
}

/// Ends the stream.
fn end(session: &mut Conversation) -> Shared {
    session.ask(Request::ClosePortal { portal: portal() }, Vec::new(), Vec::new()).1
}

fn outcome(ended: &Shared) -> String {
    ended.get().end.unwrap_or_default()
}

#[test]
pub fn end_of_a_stream_is_the_commit() {
    let mut session = streaming();
    assert!(session.machine.owns_block(7) && !session.machine.owns_block(8));
    let ended = end(&mut session);
    assert_eq!(session.sent(), ["Query"]);
    session.feed_messages(&[completed("COMMIT")]);
    assert_eq!(outcome(&ended), "", "the server is not ready: it may still report an error");
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(outcome(&ended), "done");
    assert!(!session.machine.owns_block(7));
}

#[test]
pub fn end_that_the_server_has_made_a_rollback_fails_and_names_the_error() {
    for is_discarded in [false, true] {
        let mut session = streaming();
        let (ahead, told) = fetch(&mut session);
        if is_discarded {
            session.machine.discard(ahead);
        }
        let ended = end(&mut session);
        let refused = msg(backend::ERROR_RESPONSE, b"SERROR\0VERROR\0C22012\0Mdivision by zero\0\0");
        session.feed_messages(&[refused, ready(b'E'), completed("ROLLBACK"), ready(b'I')]);
        let text = outcome(&ended);
        assert!(text.contains("was not committed") && text.contains("division by zero"), "{text}");
        assert_eq!(outcome(&told), if is_discarded { "" } else { "server 22012" });
        assert!(session.machine.is_idle());
    }
}

#[test]
pub fn end_of_a_stream_whose_block_is_not_there_any_more_fails() {
    let mut session = streaming();
    let ended = end(&mut session);
    let warning =
        msg(backend::NOTICE_RESPONSE, b"SWARNING\0VWARNING\0C25P01\0Mthere is no transaction in progress\0\0");
    session.feed_messages(&[warning, completed("COMMIT"), ready(b'I')]);
    assert!(outcome(&ended).contains("was not committed: it had ended before"), "{}", outcome(&ended));
}

#[test]
pub fn commit_of_a_stream_that_was_cancelled_leaves_no_block_open() {
    let mut session = streaming();
    let ended = end(&mut session);
    let (_, next) = session.ask(script("select 1", false), Vec::new(), Vec::new());
    session.sent();
    session.feed_messages(&[error("57014"), ready(b'E')]);
    assert_eq!(outcome(&ended), "server 57014");
    assert_eq!(session.machine.requests().queued(), 2, "what was sent before it, and the ROLLBACK");
    session.feed_messages(&[error("25P02"), ready(b'E')]);
    assert_eq!(outcome(&next), "server 25P02");
    assert_eq!(session.sent(), ["Query"]);
    session.feed_messages(&[completed("ROLLBACK"), ready(b'I')]);
    assert_eq!(session.machine.transaction(), TransactionStatus::Idle);
}

#[test]
pub fn server_that_is_ready_without_having_committed_breaks_the_protocol() {
    let mut session = streaming();
    let ended = end(&mut session);
    assert!(session.feed(&ready(b'T')).is_err());
    session.machine.abort((), &Fatal::gone("closed"));
    assert!(outcome(&ended).starts_with("fatal"), "{}", outcome(&ended));
}

#[test]
pub fn stream_of_a_session_that_was_lost_had_a_block() {
    let mut session = streaming();
    session.machine.abort((), &Fatal::gone("closed"));
    assert!(session.machine.owns_block(7));
}

#[test]
pub fn end_of_a_stream_that_nobody_waits_for_is_sent_once_nothing_is_cancelled() {
    let mut session = streaming();
    session.machine.pause();
    let (ended, _) = session.ask(Request::ClosePortal { portal: portal() }, Vec::new(), Vec::new());
    assert_eq!(session.machine.discard(ended), Discarded::Gone);
    assert!(session.sent().is_empty());
    session.machine.unpause();
    let (_, next) = session.ask(script("select 1", false), Vec::new(), Vec::new());
    assert_eq!(session.sent(), ["Query", "Query"], "ROLLBACK, and what comes next");
    session.feed_messages(&[completed("ROLLBACK"), ready(b'I'), completed("SELECT 1"), ready(b'I')]);
    assert_eq!(outcome(&next), "done");
}
