//! Statements that are prepared again because a pooler may be between client and server.

use crate::machine::session::*;
use headrace_postgres::machine::ParameterRows;
use headrace_postgres::messages::tag::backend;

/// What queries the process that answers.
const QUERY: [&str; 4] = ["Parse", "Bind", "Execute", "Sync"];
const SQL: &str = "update t set a = 1 where b = $1";

/// The reply to Bind, Execute and Sync of a statement without rows.
fn done() -> [Vec<u8>; 3] {
    [msg(backend::BIND_COMPLETE, b""), completed("OK"), ready(b'I')]
}

#[test]
fn a_batch_forgets_what_it_prepared_without_waiting_though_it_went_on_to_other_types() {
    let mut session = Conversation::start();
    let text = || vec!["x".into()];
    let batch = |rows| (execution(SQL, ParameterRows::TypedBatch, true), vec![], rows);
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
    assert_eq!(session.sent(), QUERY);
    session.feed_messages(&[server_process_queried()]);
    assert_eq!(session.sent(), ["Close", "Close", "Close", "Parse", "Describe", "Flush"]);
}

/// A pooler that does not count requests assigns the server connection to another client once each Sync is answered: what
/// waits for a description at that moment would wait for ever.
#[test]
fn what_needs_a_description_is_not_sent_after_a_sync_until_the_server_process_is_known() {
    let mut session = Conversation::start();
    let first = session.execute("a", None, Vec::new(), true);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    let second = session.execute("b", None, Vec::new(), true);
    let third = session.execute("c", None, Vec::new(), true);
    session.feed_messages(&[described(&[], &[])]);
    assert_eq!(session.sent(), [&["Bind", "Execute", "Sync"][..], &QUERY].concat());
    session.feed_messages(&done());
    assert_eq!(first.get().end.as_deref(), Some("done"));
    assert_eq!(session.sent(), [""; 0]);
    session.feed_messages(&[server_process_queried()]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    session.feed_messages(&[described(&[], &[])]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Sync", "Parse", "Describe", "Flush"], "it is the server's own");
    session.feed_messages(&[done().concat(), described(&[], &[])]);
    session.feed_messages(&done());
    assert_eq!((second.get().end.as_deref(), third.get().end.as_deref()), (Some("done"), Some("done")));
}

#[test]
fn names_of_statements_are_not_those_of_another_connection() {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for _ in 0..2 {
        let mut session = Conversation::start();
        for sql in ["a", "b"] {
            session.write_buffer.take();
            session.execute(sql, None, Vec::new(), true);
            let sent = session.write_buffer.take();
            let start = sent.windows(9).position(|bytes| bytes == b"headrace_").expect("a Parse with a name");
            names.push(sent[start..].split(|byte| *byte == 0).next().unwrap().to_vec());
            session.feed_messages(&[described(&[], &[])]);
            session.feed_messages(&done());
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4);
}
