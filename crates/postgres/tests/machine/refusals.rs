//! Requests that are not sent, are taken back or are made to fail.

use crate::machine::session::*;
use crate::support::TestHandler;
use headrace_core::Protocol;
use headrace_postgres::limits;
use headrace_postgres::machine::{ParameterRows, PortalId, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::TestValue;

#[test]
pub fn nothing_is_fetched_from_a_portal_that_is_not_open() {
    let mut session = Conversation::start();
    let portal = PortalId { name: "p".into(), number: 7 };
    let (_, received) = session.ask(Request::DescribePortal { portal }, vec![], vec![]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!((received.get().results.len(), received.get().end.as_deref()), (0, Some("done")));
}

#[test]
pub fn too_many_parameters_after_others_of_a_group_still_end_it() {
    let mut session = Conversation::start();
    session.ask(execution("select 1", ParameterRows::One, false), vec![], vec![]);
    session.feed_messages(&[described(&[], &[("n", 23)])]);
    session.sent();
    let many = vec![TestValue::Null; limits::PARAMETERS + 1];
    let (_, received) = session.ask(execution("select many", ParameterRows::One, true), many, vec![]);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("SELECT 0"), ready(b'I')]);
    assert!(received.get().end.unwrap().starts_with("client PostgreSQL takes 65535 parameters"));
}

#[test]
pub fn a_first_row_that_does_not_fit_sends_nothing_but_the_end_of_its_description() {
    let mut session = Conversation::start();
    let rows = vec![vec![1.into(), 2.into()]];
    let (_, received) = session.ask(execution("insert", ParameterRows::Batch, true), vec![], rows);
    session.feed_messages(&[described(&[23], &[])]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert!(received.get().end.unwrap().ends_with("at row 0"));
}

#[test]
pub fn an_error_stops_a_batch_wherever_it_stands() {
    let large = || vec!["x".repeat(300_000).into()];
    let small = (0..3000).map(|n| vec![n.to_string().into()]).collect();
    for (batch, count) in [(vec![large(), large()], 1), (small, 3000)] {
        let mut session = Conversation::start();
        let (_, received) = session.ask(execution("insert", ParameterRows::Batch, true), vec![], batch);
        session.feed_messages(&[described(&[25], &[])]);
        session.feed_messages(&[error("23505")]);
        let sent = session.sent();
        assert_eq!(sent.count(&["Bind", "Execute"]), count);
        session.feed_messages(&[]);
        session.feed_messages(&[ready(b'I')]);
        assert_eq!(received.get().end.as_deref(), Some("server 23505 at row 0"));
    }
}

#[test]
pub fn an_error_right_after_a_description_binds_nothing() {
    let mut session = Conversation::start();
    let (_, received) = session.ask(execution("select 1", ParameterRows::One, true), vec![], vec![]);
    session.feed_messages(&[described(&[], &[("n", 23)]), error("57014")]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 57014"));
}

#[test]
pub fn a_value_that_a_kept_statement_does_not_take_is_tried_on_a_fresh_one() {
    for (rows, row, batch) in
        [(ParameterRows::One, vec![70_000.into()], vec![]), (ParameterRows::Batch, vec![], vec![vec![70_000.into()]])]
    {
        let mut session = Conversation::start();
        session.ask(execution("insert", ParameterRows::One, true), vec![1.into()], vec![]);
        session.feed_messages(&[described(&[21], &[])]);
        session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1"), ready(b'I')]);
        session.sent();
        let (handler, received) = TestHandler::new(row, batch);
        session.machine.submit(execution("insert", rows, true), handler);
        session.feed_messages(&[]);
        assert!(session.sent().ends_with(&["Parse", "Describe", "Flush"]), "the column may be another by now");
        session.feed_messages(&[described(&[23], &[])]);
        session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1"), ready(b'I')]);
        assert_eq!(received.get().end.as_deref(), Some("done"));
    }
}
