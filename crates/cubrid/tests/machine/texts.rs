//! Batches of texts by EXECUTE_BATCH.

use crate::support::session::Conversation;
use crate::support::{batch, done, error, prepared};
use headrace_core::Session as _;
use headrace_cubrid::machine::Request;
use headrace_testkit::{Shared, TestValue as V};

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

fn texts(session: &mut Conversation, texts: &[&str]) -> Shared {
    let rows = texts.iter().map(|text| vec![V::Text((*text).to_owned().into())]).collect();
    session.ask(Request::Texts { begin: false }, Vec::new(), rows)
}

#[test]
pub fn a_batch_of_texts_is_one_transaction() {
    let mut session = Conversation::start();
    let received = texts(&mut session, &["insert into t values (1)", "delete from t"]);
    assert_eq!(session.sent(), ["EXECUTE_BATCH 2 texts"]);
    session.feed(&batch(1, &[1, 3])).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().results[0].rows), ("done", Some(4)));
}

#[test]
fn a_text_that_fails_is_named_and_nothing_is_left() {
    let mut session = Conversation::start();
    let received = texts(&mut session, &["insert into t values (1)", "insert into t values (1)"]);
    session.feed(&batch(1, &[1, -670])).unwrap();
    assert_eq!(session.sent(), ["EXECUTE_BATCH 2 texts", "END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 1");
    // In a block the rest of it stays.
    let mut session = Conversation::in_block();
    let received = texts(&mut session, &["insert into t values (1)", "insert into t values (1)"]);
    assert_eq!(session.sent(), ["SAVEPOINT set headrace_batch", "EXECUTE_BATCH 2 texts"]);
    session.feed(&[done(1), batch(1, &[-670, 1])].concat()).unwrap();
    assert_eq!(session.sent(), ["SAVEPOINT to headrace_batch"]);
    session.feed(&done(1)).unwrap();
    assert_eq!((end(&received).as_str(), session.machine.in_transaction()), ("server -670 at row 0", true));
    let received = texts(&mut session, &["insert into t values (1)"]);
    session.feed(&[done(1), error(1, -2, -72)].concat()).unwrap();
    assert_eq!(end(&received), "server -72");
}

#[test]
fn what_is_no_single_statement_is_refused_before_anything_is_sent() {
    for (refused, reason) in [
        ("commit", "ends the transaction"),
        ("insert into t values (1); insert into t values (2)", "several statements"),
        ("insert into t values (?)", "parameters"),
        ("insert into t values ('\0')", "NUL"),
    ] {
        let mut session = Conversation::start();
        let received = texts(&mut session, &["insert into t values (1)", refused]);
        assert!(session.sent().is_empty());
        let end = end(&received);
        assert!(end.contains(reason) && end.contains("row 1"), "{end}");
        assert!(session.machine.is_idle());
    }
}

#[test]
fn texts_that_change_definitions_outdate_what_is_prepared() {
    let mut session = Conversation::start();
    session.execute("insert into t values (1)", Vec::new());
    session.feed(&prepared(1, 20, 0)).unwrap();
    session.feed(&crate::support::inserted(0, 1)).unwrap();
    session.sent();
    for (text, again) in [("delete from t", false), ("alter table t add column b int", true)] {
        texts(&mut session, &[text]);
        session.feed(&batch(1, &[0])).unwrap();
        session.feed(&done(0)).unwrap();
        session.sent();
        session.execute("insert into t values (1)", Vec::new());
        let expected = if again { "PREPARE" } else { "EXECUTE" };
        assert!(format!("{:?}", session.sent()).contains(expected));
        if !again {
            session.feed(&crate::support::inserted(0, 1)).unwrap();
        }
    }
}
