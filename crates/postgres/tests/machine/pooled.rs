//! Statements that are prepared again because a pooler may be between client and server.

use crate::machine::session::*;
use headrace_postgres::machine::Rows;
use headrace_postgres::messages::tag::backend;

const SQL: &str = "update t set a = 1 where b = $1";

#[test]
fn a_batch_forgets_what_it_prepared_without_waiting_though_it_went_on_to_other_types() {
    let mut session = Session::start();
    let text = || vec!["x".into()];
    let batch = |rows| (execution(SQL, Rows::TypedBatch, true), vec![], rows);
    let (request, row, rows) = batch(vec![text()]);
    session.ask(request, row, rows);
    session.feed_messages(&[described(&[25], &[])]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("UPDATE 1"), ready(b'I')]);
    session.sent();

    let (request, row, rows) = batch(vec![text(), vec![1.into()]]);
    let (_, received) = session.ask(request, row, rows);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Parse", "Bind", "Execute", "Sync"]);
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 57014 at row 0"));

    let (request, row, rows) = batch(vec![text()]);
    session.ask(request, row, rows);
    let asked = ["Parse", "Bind", "Execute", "Sync"];
    assert_eq!(session.sent(), [&asked[..], &["Close", "Close", "Close", "Parse", "Describe", "Flush"]].concat());
}
