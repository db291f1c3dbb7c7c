//! A batch of INSERTs that goes on in statements of many rows, or does not.

use crate::machine::session::*;
use crate::support::TestHandler;
use headrace_core::{Protocol as _, Session as _};
use headrace_postgres::machine::{Execute, ParameterRows, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::{Shared, TestValue};

const INT4: u32 = 23;
const SQL: &str = "insert into t values ($1) on conflict do nothing";
const MANY: usize = headrace_postgres::limits::JOINED_ROWS;
const ASKED: [&str; 5] = ["Parse", "Parse", "Bind", "Execute", "Flush"];

/// A batch of these rows, which can be read again; it asks for its table after the first one.
fn batch(sql: &str, rows: Vec<TestValue>) -> (Request, TestHandler, Shared) {
    let Request::Execute(execute) = execution(sql, ParameterRows::TypedBatch, true) else { unreachable!() };
    let request = Request::Execute(Execute { join_from: Some(1), ..execute });
    let (handler, received) = TestHandler::new(vec![], rows.into_iter().map(|value| vec![value]).collect());
    (request, handler, received)
}

fn numbers(count: usize) -> Vec<TestValue> {
    (0..count as i64).map(TestValue::from).collect()
}

/// One that has sent the first row and asked for its table.
fn checking(mut session: Conversation, rows: Vec<TestValue>) -> (Conversation, u64, Shared) {
    let (request, handler, received) = batch(SQL, rows);
    let id = session.machine.submit(request, handler);
    session.feed_messages(&[]);
    session.feed_messages(&[described(&[INT4], &[])]);
    (session, id, received)
}

/// The same outside of a transaction.
fn alone(rows: Vec<TestValue>) -> (Conversation, u64, Shared) {
    let (mut session, id, received) = checking(Conversation::start(), rows);
    assert_eq!(session.sent(), [&["Parse", "Describe", "Flush", "Bind", "Execute"][..], &ASKED].concat());
    (session, id, received)
}

/// The reply to Bind and Execute.
fn inserted(tag: &str) -> Vec<u8> {
    [msg(backend::BIND_COMPLETE, b""), completed(tag)].concat()
}

/// The reply to the first row, and to the question.
fn answered(allowed: bool) -> Vec<u8> {
    let parsed = msg(backend::PARSE_COMPLETE, b"");
    let bound = msg(backend::BIND_COMPLETE, b"");
    let row = if allowed { data_row(&[Some(b"a"), Some(b"23"), Some(b"0")]) } else { Vec::new() };
    [inserted("INSERT 0 1"), parsed.clone(), parsed, bound, row, completed("SELECT 1")].concat()
}

/// The reply to a statement of the driver's, or to the first of many rows.
fn parsed_and(tag: &str) -> Vec<u8> {
    [msg(backend::PARSE_COMPLETE, b""), inserted(tag)].concat()
}

#[test]
pub fn rows_are_sent_in_statements_of_many_and_the_rest_one_by_one() {
    let (mut session, _, received) = alone(numbers(2 * MANY + 3));
    session.feed_messages(&[answered(true)]);
    let rest = ["Bind", "Execute", "Bind", "Execute", "Flush"];
    assert_eq!(session.sent(), [&["Parse", "Bind", "Execute", "Bind", "Execute"][..], &rest].concat());
    session.feed_messages(&[parsed_and("INSERT 0 99")]);
    assert_eq!(session.sent(), [""; 0], "the end waits for all that name no row");
    session.feed_messages(&[inserted("INSERT 0 100")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[inserted("INSERT 0 1"), inserted("INSERT 0 0"), ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 201));
    // The statement of many is closed with the next request.
    session.execute("select 1", None, vec![], true);
    assert_eq!(session.sent(), ["Close", "Parse", "Describe", "Flush"]);
}

#[test]
pub fn a_table_to_which_many_rows_mean_something_else_takes_them_one_by_one() {
    let (mut session, _, received) = alone(numbers(3));
    session.feed_messages(&[answered(false)]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Bind", "Execute", "Sync"]);
    session.feed_messages(&[inserted("INSERT 0 1"), inserted("INSERT 0 1"), ready(b'I')]);
    assert_eq!(received.get().tags(), ["INSERT 0 1"; 3]);
}

#[test]
pub fn refused_rows_are_executed_one_by_one_and_that_is_remembered() {
    let (mut session, _, received) = alone(numbers(MANY + 2));
    session.feed_messages(&[answered(true)]);
    session.sent();
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), error("21000")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    // Prepared again without waiting, as it is not known yet whether a pooler is between.
    let sent = session.sent();
    assert_eq!(sent, [&["Close", "Parse"][..], &["Bind", "Execute"].repeat(MANY + 2), &["Sync"]].concat());
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), msg(backend::PARSE_COMPLETE, b"")]);
    session.feed_messages(&[inserted("INSERT 0 1").repeat(40), error("23505"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 23505 at row 40"));

    let (request, handler, _) = batch(SQL, numbers(3));
    session.machine.submit(request, handler);
    session.feed_messages(&[]);
    assert!(!session.sent().contains(&["Flush"]), "the catalogue is not asked");
}

#[test]
pub fn within_a_transaction_a_savepoint_is_gone_back_to() {
    let mut session = Conversation::start();
    session.execute("begin", None, vec![], true);
    session.sent();
    session.feed_messages(&[described(&[], &[])]);
    session.feed_messages(&[inserted("BEGIN"), ready(b'T')]);
    session.sent();
    let (mut session, _, received) = checking(session, numbers(MANY + 2));
    assert!(session.sent().ends_with(&[&["Parse", "Bind", "Execute"][..], &ASKED].concat()));
    let question = answered(true).split_off(inserted("INSERT 0 1").len());
    session.feed_messages(&[inserted("INSERT 0 1"), parsed_and("SAVEPOINT"), question.clone()]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), error("23505")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'E')]);
    // ROLLBACK TO SAVEPOINT; RELEASE SAVEPOINT. The first row stays as it is.
    let rows = ["Bind", "Execute"].repeat(MANY + 1);
    assert_eq!(session.sent(), [&["Query", "Close", "Parse"][..], &rows, &["Sync"]].concat());
    session.feed_messages(&[completed("ROLLBACK"), completed("RELEASE"), ready(b'T')]);
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), msg(backend::PARSE_COMPLETE, b"")]);
    session.feed_messages(&[inserted("INSERT 0 1").repeat(2), error("23505"), ready(b'E')]);
    assert_eq!(received.get().end.as_deref(), Some("server 23505 at row 3"));

    // Without an error it is released, and is no result.
    let mut session = Conversation::start();
    session.execute("begin", None, vec![], true);
    session.feed_messages(&[described(&[], &[])]);
    session.feed_messages(&[inserted("BEGIN"), ready(b'T')]);
    let (mut session, _, received) = checking(session, numbers(MANY + 1));
    session.sent();
    session.feed_messages(&[inserted("INSERT 0 1"), parsed_and("SAVEPOINT"), question]);
    session.sent();
    session.feed_messages(&[parsed_and("INSERT 0 100")]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Sync"]);
    session.feed_messages(&[parsed_and("RELEASE"), ready(b'T')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 101));
    assert_eq!(received.get().tags(), ["INSERT 0 1", "INSERT 0 100"]);
}

#[test]
pub fn a_batch_that_is_given_up_is_made_to_fail() {
    let (mut session, id, _) = alone(numbers(MANY + 2));
    session.feed_messages(&[answered(true)]);
    session.sent();
    session.machine.discard(id);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), ["Parse", "Sync"], "an invalid Parse rolls it back");
    session.feed_messages(&[parsed_and("INSERT 0 100"), inserted("INSERT 0 1"), error("42601"), ready(b'I')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_batch_that_is_given_up_between_its_attempts_rolls_back_what_came_before() {
    let mut session = Conversation::start();
    session.execute("begin", None, vec![], true);
    session.feed_messages(&[described(&[], &[])]);
    session.feed_messages(&[inserted("BEGIN"), ready(b'T')]);
    let (mut session, id, _) = checking(session, numbers(MANY + 1));
    let question = answered(true).split_off(inserted("INSERT 0 1").len());
    session.feed_messages(&[inserted("INSERT 0 1"), parsed_and("SAVEPOINT"), question]);
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), error("21000")]);
    session.sent();
    session.read_buffer.extend(&ready(b'E'));
    let Conversation { machine, read_buffer, write_buffer } = &mut session;
    headrace_testkit::receive(machine, read_buffer, write_buffer).unwrap();
    session.machine.discard(id);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), ["Query", "Close", "Parse", "Describe", "Flush"]);
    session.feed_messages(&[completed("ROLLBACK"), completed("RELEASE"), ready(b'T')]);
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), described(&[INT4], &[])]);
    assert_eq!(session.sent(), ["Parse", "Sync"], "an invalid Parse fails the transaction");
    session.feed_messages(&[error("42601"), ready(b'E')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn what_many_rows_could_change_is_not_asked_about() {
    let cases = ["insert into t values ($1) returning a", "insert into t values ((select $1))", "update t set a = $1"];
    for sql in cases {
        let mut session = Conversation::start();
        let (request, handler, _) = batch(sql, numbers(2));
        session.machine.submit(request, handler);
        session.feed_messages(&[]);
        let columns: &[(&str, u32)] = if sql.contains("returning") { &[("a", INT4)] } else { &[] };
        session.feed_messages(&[described(&[INT4], columns)]);
        let sent = session.sent();
        assert_eq!(sent, ["Parse", "Describe", "Flush", "Bind", "Execute", "Bind", "Execute", "Sync"], "{sql}");
    }
    // Rows that cannot be read again.
    let mut session = Conversation::start();
    let (request, mut handler, _) = batch(SQL, numbers(2));
    handler.rewinds = false;
    session.machine.submit(request, handler);
    session.feed_messages(&[]);
    session.feed_messages(&[described(&[INT4], &[])]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Bind", "Execute", "Bind", "Execute", "Sync"]);
}

#[test]
pub fn an_error_that_is_not_about_a_row_names_none() {
    let (mut session, _, received) = alone(numbers(MANY + 1));
    session.feed_messages(&[answered(true)]);
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), error("40P01")]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 40P01"));
    assert!(session.machine.is_idle());
}
