//! Batches by EXECUTE_ARRAY.

use crate::support::session::Conversation;
use crate::support::{array, done, error, frame, inserted, prepared, selected};
use headrace_core::protocol::Protocol;
use headrace_core::{FatalKind, Session as _};
use headrace_cubrid::machine::BatchStrategy;
use headrace_testkit::{Completion, Shared, TestValue as V};

const PREPARE: &str = "PREPARE insert into t values (?)";

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

#[test]
pub fn a_batch_outside_of_a_block_is_one_transaction() {
    let mut session = Conversation::start();
    let received = session.batch(true, &[1, 2, 3]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), [PREPARE, "EXECUTE_ARRAY 1 3 values"]);
    session.feed(&array(1, &[1, 1, 1])).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    let results = [Completion { tag: "INSERT".into(), rows: Some(3), ..Completion::default() }];
    assert_eq!((end(&received).as_str(), received.get().results), ("done", results.to_vec()));
}

#[test]
pub fn an_atomic_batch_names_its_first_failing_row_and_leaves_nothing() {
    let mut session = Conversation::start();
    let received = session.batch(true, &[1, 2, 3, 4]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.sent();
    session.feed(&array(1, &[1, -670, 1, -631])).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().results.len()), ("server -670 at row 1", 0));
    let received = session.batch(false, &[1, 2]);
    assert_eq!(session.sent(), ["PREPARE insert into t values (?) closes 1"], "what has failed is prepared again");
    session.feed(&prepared(2, 20, 1)).unwrap();
    session.feed(&array(1, &[-670, 1])).unwrap();
    assert_eq!(session.sent(), ["EXECUTE_ARRAY", "END_TRAN COMMIT"], "the other rows stay");
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 0");
}

#[test]
pub fn a_batch_in_a_block_is_guarded_by_a_savepoint() {
    let mut session = Conversation::in_block();
    let received = session.batch(true, &[1, 2]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), [PREPARE, "SAVEPOINT set headrace_batch", "EXECUTE_ARRAY 1 2 values"]);
    session.feed(&[done(1), array(1, &[1, -670])].concat()).unwrap();
    assert_eq!(session.sent(), ["SAVEPOINT to headrace_batch"]);
    session.feed(&done(1)).unwrap();
    assert_eq!((end(&received).as_str(), session.machine.in_transaction()), ("server -670 at row 1", true));
    // Good rows need no end; a deadlock has taken the savepoint with the transaction.
    let received = session.batch(true, &[1]);
    session.feed(&prepared(2, 20, 1)).unwrap();
    session.feed(&[done(1), array(1, &[1])].concat()).unwrap();
    assert_eq!((end(&received).as_str(), session.machine.is_idle()), ("done", true));
    session.sent();
    let received = session.batch(true, &[1]);
    session.feed(&[done(1), error(1, -2, -72)].concat()).unwrap();
    assert_eq!(session.sent(), ["SAVEPOINT", "EXECUTE_ARRAY"]);
    assert_eq!(end(&received), "server -72");
}

#[test]
pub fn a_batch_that_cannot_be_undone_ends_the_connection() {
    let mut session = Conversation::in_block();
    let rows: Vec<i64> = (0..40_000).collect();
    let received = session.batch(true, &rows);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.sent();
    session.feed(&error(1, -2, -4)).unwrap();
    session.feed(&array(1, &[1; 16_384])).unwrap();
    assert_eq!(session.sent(), ["SAVEPOINT to headrace_batch"]);
    let lost = session.feed(&error(1, -2, -550)).unwrap_err();
    assert_eq!(lost.kind, FatalKind::TransactionInDoubt);
    session.machine.abort((), &lost);
    assert_eq!(end(&received), "server -4");
}

#[test]
pub fn long_batches_are_sent_in_parts_of_which_two_are_in_flight() {
    let mut session = Conversation::start();
    let rows: Vec<i64> = (0..40_000).collect();
    let received = session.batch(true, &rows);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent().count(&["EXECUTE_ARRAY 1 16384 values"]), 2);
    session.feed(&array(1, &[1; 16_384])).unwrap();
    assert_eq!(session.sent(), ["EXECUTE_ARRAY 1 7232 values"]);
    let mut failing = vec![1; 16_384];
    failing[5] = -670;
    session.feed(&[array(1, &failing), array(1, &[1; 7232])].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 16389");
}

#[test]
pub fn a_row_that_fails_stops_the_rows_after_it() {
    let mut session = Conversation::start();
    let rows: Vec<i64> = (0..60_000).collect();
    let received = session.batch(true, &rows);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.sent();
    session.feed(&[array(1, &[-670; 16_384]), array(1, &[1; 16_384])].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 0");
}

#[test]
pub fn a_value_that_does_not_fit_names_its_row() {
    for atomic in [true, false] {
        let mut session = Conversation::in_block();
        let rows = vec![vec![V::Int(1)], vec![V::Other], vec![V::Int(3)]];
        let rows_kind = headrace_cubrid::machine::ParameterRows::Batch { strategy: BatchStrategy::Auto, atomic };
        let request = headrace_cubrid::machine::Execute {
            facts: None,
            sql: "insert into t values (?)".into(),
            rows: rows_kind,
            begin: false,
        };
        let received = session.ask(headrace_cubrid::machine::Request::Execute(request), vec![], rows);
        session.feed(&prepared(1, 20, 1)).unwrap();
        // The rows before it are sent only if they are applied.
        let next = if atomic { "SAVEPOINT set headrace_batch" } else { "EXECUTE_ARRAY 1 1 values" };
        assert_eq!(session.sent(), [PREPARE, next]);
        if atomic {
            session.feed(&done(1)).unwrap();
            assert_eq!(session.sent(), ["SAVEPOINT to headrace_batch"]);
            session.feed(&done(1)).unwrap();
        } else {
            session.feed(&array(1, &[1])).unwrap();
        }
        assert!(end(&received).starts_with("client") && end(&received).ends_with("at row 1"), "{}", end(&received));
    }
}

#[test]
fn the_first_of_two_failing_rows_is_named_if_the_second_cannot_be_sent() {
    let mut session = Conversation::in_block();
    // The first rows are on their way by then.
    let rows = (0..headrace_core::limits::CHUNK_ROWS).map(|_| vec![V::Int(1)]).chain([vec![V::Other]]).collect();
    let rows_kind = headrace_cubrid::machine::ParameterRows::Batch { strategy: BatchStrategy::Array, atomic: true };
    let request = headrace_cubrid::machine::Execute {
        facts: None,
        sql: "insert into t values (?)".into(),
        rows: rows_kind,
        begin: false,
    };
    let received = session.ask(headrace_cubrid::machine::Request::Execute(request), vec![], rows);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&[done(1), array(1, &[-670])].concat()).unwrap();
    session.feed(&done(1)).unwrap();
    assert_eq!(end(&received), "server -670 at row 0");
}

#[test]
fn a_batch_whose_column_was_altered_is_prepared_again() {
    let mut session = Conversation::start();
    session.batch(true, &[1]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&array(1, &[1])).unwrap();
    session.feed(&done(0)).unwrap();
    session.sent();
    let received = session.batch(true, &[2]);
    assert_eq!(session.sent(), ["EXECUTE_ARRAY 1 1 values"]);
    // The value does not fit the type that the column had.
    session.feed(&array(1, &[-494])).unwrap();
    assert_eq!(session.sent(), [PREPARE]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    // If it does not fit the present one either, that is the error.
    session.feed(&array(1, &[-494])).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -494 at row 0");
}

#[test]
pub fn a_batch_that_is_cancelled_is_undone() {
    let mut session = Conversation::start();
    session.batch(true, &[1, 2]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.sent();
    let id = session.machine.next_id() - 1;
    session.machine.discard(id);
    assert!(session.machine.is_at_discarded());
    // The interrupt ends the reply early.
    session.feed(&array(1, &[1])).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    assert!(!session.machine.is_at_discarded(), "the rollback must not be cancelled");
    session.feed(&done(0)).unwrap();
    assert!(session.machine.is_idle());
}

#[test]
pub fn an_interrupted_batch_has_failed_at_its_first_row_without_a_result() {
    let mut session = Conversation::start();
    let received = session.batch(true, &[1, 2]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&array(1, &[1])).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -4 at row 1");
}

#[test]
pub fn a_batch_discarded_while_rows_are_left_sends_no_more() {
    let mut session = Conversation::start();
    let rows: Vec<i64> = (0..60_000).collect();
    session.batch(true, &rows);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.sent();
    let id = session.machine.next_id() - 1;
    session.machine.discard(id);
    session.feed(&array(1, &[1; 16_384])).unwrap();
    session.feed(&array(1, &[1; 16_384])).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
}

#[test]
pub fn a_stale_batch_begins_again_if_its_rows_can_be_read_again() {
    for rewinds in [true, false] {
        let mut session = Conversation::start();
        session.rewinds = rewinds;
        session.batch(true, &[1]);
        session.feed(&prepared(1, 20, 1)).unwrap();
        session.feed(&array(1, &[1])).unwrap();
        session.feed(&done(0)).unwrap();
        session.sent();
        let received = session.batch(true, &[1, 2]);
        assert_eq!(session.sent(), ["EXECUTE_ARRAY 1 2 values"]);
        session.feed(&error(1, -1, -10_024)).unwrap();
        if !rewinds {
            assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
            session.feed(&done(0)).unwrap();
            assert_eq!(end(&received), "server -10024");
            continue;
        }
        assert_eq!(session.sent(), ["PREPARE insert into t values (?) pinned closes 1"]);
        session.feed(&prepared(1, 20, 1)).unwrap();
        session.feed(&array(1, &[1, 1])).unwrap();
        session.feed(&done(0)).unwrap();
        assert_eq!(end(&received), "done");
    }
}

#[test]
pub fn four_bytes_can_be_an_error() {
    let mut session = Conversation::start();
    let received = session.batch(true, &[1]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&frame(1, &(-10_004i32).to_be_bytes())).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -10004");
}

#[test]
fn a_statement_without_parameters_is_executed_for_each_row() {
    let batch = |session: &mut Conversation| {
        let rows = headrace_cubrid::machine::ParameterRows::Batch { strategy: BatchStrategy::Auto, atomic: true };
        let request = headrace_cubrid::machine::Execute {
            facts: None,
            sql: "insert into t values (1)".into(),
            rows,
            begin: false,
        };
        let received = session.ask(headrace_cubrid::machine::Request::Execute(request), vec![], vec![vec![]; 2]);
        session.feed(&prepared(1, 20, 0)).unwrap();
        assert!(session.sent().ends_with(&["EXECUTE 1", "EXECUTE 1"]));
        received
    };
    let mut session = Conversation::start();
    let received = batch(&mut session);
    session.feed(&[inserted(1, 1), inserted(1, 1)].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 2));
    let mut session = Conversation::start();
    let received = batch(&mut session);
    session.feed(&[inserted(1, 1), error(1, -2, -670)].concat()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -670 at row 1");
}

#[test]
pub fn statements_that_cannot_be_batches_are_refused() {
    let mut session = Conversation::in_block();
    let received = session.batch(true, &[1]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    assert!(end(&received).contains("returns rows"), "{}", end(&received));
    let mut session = Conversation::start();
    let nothing = session.batch(true, &[]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), [PREPARE, "END_TRAN COMMIT"], "PREPARE has opened a transaction");
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&nothing).as_str(), nothing.get().affected()), ("done", 0));
    assert!(session.feed(&[inserted(1, 1), selected(1, 0, &[], true)].concat()).is_err());
}
