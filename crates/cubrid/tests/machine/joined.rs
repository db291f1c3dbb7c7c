//! Batches of INSERTs whose rows are joined.

use crate::support::session::Conversation;
use crate::support::{array, done, error, prepared};
use headrace_core::Session as _;
use headrace_cubrid::machine::BatchStrategy;
use headrace_testkit::Shared;

/// The savepoint before the first request with rows, and what leads back to it.
const SET: &str = "SAVEPOINT set headrace_rows_0";
const BACK: &str = "SAVEPOINT to headrace_rows_0";

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

/// A batch of this number of rows, whose statements have the handles 1 and, with 100 rows, 2.
fn batch(session: &mut Conversation, atomic: bool, rows: i64) -> Shared {
    let numbers: Vec<i64> = (0..rows).collect();
    let received = session.batch_by(BatchStrategy::Auto, atomic, &numbers);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert!(session.sent().starts_with(&["PREPARE insert into t values (?)"]));
    session.feed(&prepared(2, 20, 100)).unwrap();
    received
}

#[test]
pub fn rows_are_joined_and_the_rest_is_sent_as_it_is() {
    let mut session = Conversation::start();
    let numbers: Vec<i64> = (0..250).collect();
    let received = session.batch_by(BatchStrategy::Auto, true, &numbers);
    session.feed(&prepared(1, 20, 1)).unwrap();
    let joined = format!("PREPARE insert into t values (?){}", ",(?)".repeat(99));
    assert_eq!(session.sent(), ["PREPARE insert into t values (?)", &joined]);
    session.feed(&prepared(2, 20, 100)).unwrap();
    assert_eq!(session.sent(), [SET, "EXECUTE_ARRAY 2 200 values", "EXECUTE_ARRAY 1 50 values"]);
    session.feed(&[done(1), array(1, &[100, 100]), array(1, &[1; 50])].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 250));
    // Both statements are kept.
    let received = session.batch_by(BatchStrategy::Joined, true, &numbers[..200]);
    assert_eq!(session.sent(), [SET, "EXECUTE_ARRAY 2 200 values"]);
    session.feed(&[done(1), array(1, &[100, 100])].concat()).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 200));
}

#[test]
pub fn few_rows_are_not_worth_a_preparation() {
    let mut session = Conversation::start();
    let numbers: Vec<i64> = (0..99).collect();
    session.batch_by(BatchStrategy::Joined, true, &numbers);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert!(session.sent().ends_with(&["EXECUTE_ARRAY 1 99 values"]));
}

#[test]
pub fn a_failing_row_is_found_among_those_that_were_joined_with_it() {
    let mut session = Conversation::start();
    let received = batch(&mut session, true, 400);
    assert_eq!(session.sent(), [SET, "EXECUTE_ARRAY 2 400 values"]);
    session.feed(&[done(1), array(1, &[100, 100, -670, -670])].concat()).unwrap();
    // What came after the third statement is undone, so that its rows are refused for what was before them alone.
    assert_eq!(session.sent(), [BACK, "EXECUTE_ARRAY 2 200 values", "EXECUTE_ARRAY 1 100 values"]);
    session.feed(&[done(1), array(1, &[100, 100]), array(1, &failing_at(7))].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 207");
}

#[test]
pub fn the_other_rows_are_applied_if_the_batch_is_not_atomic() {
    let mut session = Conversation::start();
    let received = batch(&mut session, false, 400);
    assert_eq!(session.sent(), ["EXECUTE_ARRAY 2 400 values"]);
    session.feed(&array(1, &[100, 100, -670, -670])).unwrap();
    assert_eq!(session.sent(), ["EXECUTE_ARRAY 1 100 values"], "the rows of the third statement");
    session.feed(&array(1, &failing_at(7))).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 207");
}

/// The numbers of rows that 100 statements of one row have changed, one of which is refused.
fn failing_at(row: usize) -> Vec<i32> {
    (0..100).map(|at| if at == row { -670 } else { 1 }).collect()
}

#[test]
pub fn a_failure_is_that_of_its_statement_and_not_of_a_row_after_it() {
    let mut session = Conversation::start();
    let received = batch(&mut session, true, 150);
    assert_eq!(session.sent(), [SET, "EXECUTE_ARRAY 2 100 values", "EXECUTE_ARRAY 1 50 values"]);
    let mut rest = vec![1; 50];
    rest[9] = -631;
    session.feed(&[done(1), array(1, &[-670]), array(1, &rest)].concat()).unwrap();
    assert_eq!(session.sent(), [BACK, "EXECUTE_ARRAY 1 100 values"]);
    session.feed(&[done(1), array(1, &[1; 100])].concat()).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670");
}

#[test]
pub fn a_failure_that_no_row_has_alone_is_reported_without_a_row() {
    let mut session = Conversation::start();
    let received = batch(&mut session, true, 100);
    session.feed(&[done(1), array(1, &[-670])].concat()).unwrap();
    session.feed(&[done(1), array(1, &[1; 100])].concat()).unwrap();
    assert!(session.sent().ends_with(&["END_TRAN ROLLBACK"]));
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670");
}

#[test]
pub fn interrupts_and_deadlocks_are_not_repeated() {
    for code in [-4, -72] {
        let mut session = Conversation::start();
        let received = batch(&mut session, true, 200);
        session.feed(&[done(1), error(1, -2, code)].concat()).unwrap();
        assert!(session.sent().ends_with(&["END_TRAN ROLLBACK"]));
        session.feed(&done(0)).unwrap();
        assert_eq!(end(&received), format!("server {code}"));
    }
    // An interrupt that ends the reply early.
    let mut session = Conversation::start();
    let received = batch(&mut session, true, 200);
    session.feed(&[done(1), array(1, &[100])].concat()).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -4");
}

#[test]
pub fn what_the_server_does_not_prepare_is_sent_row_by_row() {
    let mut session = Conversation::start();
    let numbers: Vec<i64> = (0..150).collect();
    let received = session.batch_by(BatchStrategy::Auto, true, &numbers);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&error(1, -2, -493)).unwrap();
    assert!(session.sent().ends_with(&["EXECUTE_ARRAY 1 150 values"]));
    session.feed(&array(1, &[1; 150])).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 150));
}

#[test]
pub fn a_stale_statement_with_many_rows_is_prepared_again() {
    let mut session = Conversation::start();
    batch(&mut session, true, 100);
    session.feed(&[done(1), array(1, &[100])].concat()).unwrap();
    session.feed(&done(0)).unwrap();
    session.sent();
    let numbers: Vec<i64> = (0..100).collect();
    let received = session.batch_by(BatchStrategy::Auto, true, &numbers);
    session.feed(&[done(1), error(1, -1, -10_024)].concat()).unwrap();
    assert_eq!(session.sent(), [SET, "EXECUTE_ARRAY 2", "PREPARE insert into t values (?) pinned closes 2 1"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&prepared(2, 20, 100)).unwrap();
    session.feed(&[done(1), array(1, &[100])].concat()).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 100));
}

#[test]
pub fn a_batch_that_is_discarded_is_undone() {
    let mut session = Conversation::start();
    batch(&mut session, true, 200);
    session.sent();
    let id = session.machine.next_id() - 1;
    session.machine.discard(id);
    session.feed(&[done(1), array(1, &[100, -670])].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert!(session.machine.is_idle());
}
