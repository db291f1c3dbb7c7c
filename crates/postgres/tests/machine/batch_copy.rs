//! A batch of plain INSERTs that goes on as a COPY, or does not.

use crate::machine::session::*;
use crate::support::TestHandler;
use headrace_core::{Protocol as _, Session as _};
use headrace_postgres::machine::{Execute, ParameterRows, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::{Shared, TestValue};

const INT4: u32 = 23;
const INT8: u32 = 20;
const TEXT: u32 = 25;

/// A batch that goes on as a COPY after its first row.
fn copied(sql: &str) -> Request {
    let Request::Execute(execute) = execution(sql, ParameterRows::TypedBatch, true) else { unreachable!() };
    Request::Execute(Execute { copy_after: Some(1), ..execute })
}

/// A batch of these rows that has sent the first one and asked for its table, whose column has this type.
fn checking(of: u32, rows: Vec<TestValue>) -> (Conversation, u64, Shared) {
    let mut session = Conversation::start();
    let request = copied("insert into t values ($1)");
    let (id, received) = session.ask(request, vec![], rows.into_iter().map(|value| vec![value]).collect());
    session.feed_messages(&[described(&[of], &[])]);
    assert_eq!(
        session.sent(),
        ["Parse", "Describe", "Flush", "Bind", "Execute", "Parse", "Parse", "Bind", "Execute", "Flush"]
    );
    (session, id, received)
}

/// The reply to the first row, and to the question: the table's column is of this type, or the table cannot be copied
/// into.
fn answered(of: Option<u32>) -> Vec<u8> {
    let parsed = msg(backend::PARSE_COMPLETE, b"");
    let bound = msg(backend::BIND_COMPLETE, b"");
    let column = of.map(|oid| data_row(&[Some(b"a"), Some(oid.to_string().as_bytes()), Some(b"0")]));
    let column = column.unwrap_or_default();
    [bound.clone(), completed("INSERT 0 1"), parsed.clone(), parsed, bound, column, completed("SELECT 1")].concat()
}

/// The reply to the COPY, up to the point where the server takes rows.
fn begun() -> Vec<u8> {
    let response = copy_response(backend::COPY_IN_RESPONSE);
    [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b""), response].concat()
}

/// One whose rows are being copied, of more bytes than are written at once.
fn feeding() -> (Conversation, u64, Shared) {
    let large = "x".repeat(300 * 1024);
    let (mut session, id, received) = checking(TEXT, vec!["first".into(), large.into(), "last".into()]);
    session.feed_messages(&[answered(Some(TEXT))]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[begun()]);
    assert_eq!(session.sent(), ["CopyData", "CopyData"]);
    (session, id, received)
}

#[test]
pub fn the_rest_is_copied_and_the_end_waits_for_its_answer() {
    let (mut session, _, received) = checking(INT4, vec![1.into(), 2.into(), TestValue::Null, 4.into()]);
    session.feed_messages(&[answered(Some(INT4))]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[begun()]);
    assert_eq!(session.sent(), ["CopyData", "CopyData", "CopyDone", "Flush"]);
    session.feed_messages(&[completed("COPY 3")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 4));
    assert_eq!(received.get().tags(), ["INSERT 0 1", "COPY 3"]);
}

#[test]
pub fn a_table_that_a_copy_means_something_else_to_is_not_copied_into() {
    // No columns, and a column that another session has altered since the statement was described.
    for of in [None, Some(TEXT)] {
        let (mut session, _, received) = checking(INT4, vec![1.into(), 2.into(), 3.into()]);
        session.feed_messages(&[answered(of)]);
        assert_eq!(session.sent(), ["Bind", "Execute", "Bind", "Execute", "Sync"]);
        let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
        session.feed_messages(&[row.clone(), row, ready(b'I')]);
        assert_eq!(received.get().tags(), ["INSERT 0 1"; 3]);
    }
}

/// One that has executed the statement before the column was altered, and asks for the table of a batch of it.
fn checking_reused(rereads: bool) -> (Conversation, Shared) {
    let mut session = Conversation::start();
    let sql = "insert into t values ($1)";
    let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
    for begin in [described(&[INT4], &[]), msg(backend::PARSE_COMPLETE, b"")] {
        session.ask(execution(sql, ParameterRows::TypedBatch, true), vec![], vec![vec![1.into()]]);
        session.feed_messages(&[begin]);
        session.feed_messages(&[row.clone(), ready(b'I')]);
    }
    let (mut handler, received) = TestHandler::new(vec![], (1..=3).map(|n: i64| vec![n.into()]).collect());
    handler.rewinds = rereads;
    session.machine.submit(copied(sql), handler);
    session.feed_messages(&[]);
    session.feed_messages(&[server_process_queried()]);
    session.sent();
    (session, received)
}

#[test]
pub fn a_column_that_was_altered_begins_the_batch_again_if_its_rows_can_be_read_again() {
    let (mut session, received) = checking_reused(true);
    session.feed_messages(&[answered(Some(INT8))]);
    assert_eq!(session.sent(), ["Parse", "Sync"], "an invalid Parse rolls it back");
    session.feed_messages(&[error("42601"), ready(b'I')]);
    assert_eq!(session.sent(), ["Close", "Parse", "Describe", "Flush"]);
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), described(&[INT8], &[])]);
    session.feed_messages(&[answered(Some(INT8)), begun()]);
    session.feed_messages(&[completed("COPY 2")]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 4));
}

#[test]
pub fn a_column_that_was_altered_is_described_for_the_rows_that_cannot_be_read_again() {
    let (mut session, received) = checking_reused(false);
    session.feed_messages(&[answered(Some(INT8))]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    session.feed_messages(&[described(&[INT8], &[])]);
    assert_eq!(session.sent(), ["Parse", "Parse", "Bind", "Execute", "Flush"], "and its table is looked at again");
    let parsed = msg(backend::PARSE_COMPLETE, b"");
    let column = data_row(&[Some(b"a"), Some(b"20"), Some(b"0")]);
    let asked = [parsed.clone(), parsed, msg(backend::BIND_COMPLETE, b""), column, completed("SELECT 1")].concat();
    session.feed_messages(&[asked, begun()]);
    session.feed_messages(&[completed("COPY 2")]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 3));
}

/// One that has executed the statement before, and a batch of four rows of which two can be read again.
fn sending_reused() -> (Conversation, Shared) {
    let mut session = Conversation::start();
    let sql = "insert into t values ($1)";
    let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
    for begin in [described(&[INT4], &[]), msg(backend::PARSE_COMPLETE, b"")] {
        session.ask(execution(sql, ParameterRows::TypedBatch, true), vec![], vec![vec![1.into()]]);
        session.feed_messages(&[begin]);
        session.feed_messages(&[row.clone(), ready(b'I')]);
    }
    let (mut handler, received) = TestHandler::new(vec![], (1..=4).map(|n: i64| vec![n.into()]).collect());
    handler.kept = 2;
    session.machine.submit(execution(sql, ParameterRows::TypedBatch, true), handler);
    session.feed_messages(&[]);
    session.sent();
    session.feed_messages(&[server_process_queried()]);
    (session, received)
}

#[test]
pub fn rows_that_would_be_lost_wait_until_the_statement_from_the_cache_has_been_bound() {
    let (mut session, received) = sending_reused();
    assert_eq!(session.sent(), ["Close", "Bind", "Execute", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), [""; 0], "asked once");
    let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), row.clone()]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Bind", "Execute", "Sync"]);
    session.feed_messages(&[row.clone(), row.clone(), row, ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 4));
}

#[test]
pub fn a_stale_statement_is_prepared_again_before_rows_are_lost() {
    let (mut session, received) = sending_reused();
    session.sent();
    session.feed_messages(&[error("42804")]);
    session.feed_messages(&[ready(b'I')]);
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), described(&[INT8], &[])]);
    let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
    session.feed_messages(&[row.clone(), row.clone(), row.clone(), row, ready(b'I')]);
    assert_eq!((received.get().end.as_deref(), received.get().affected()), (Some("done"), 4));
}

#[test]
pub fn a_row_without_the_binary_form_ends_the_copy_and_is_executed() {
    let (mut session, _, received) = checking(INT4, vec![1.into(), 2.into(), "3".into(), 4.into()]);
    session.feed_messages(&[answered(Some(INT4))]);
    session.sent();
    session.feed_messages(&[begun()]);
    let executed = ["Bind", "Execute", "Bind", "Execute"];
    let sent = [&["CopyData", "CopyData", "CopyDone"][..], &executed, &["Flush"]].concat();
    assert_eq!(session.sent(), sent);
    session.feed_messages(&[completed("COPY 1")]);
    assert_eq!(session.sent(), ["Sync"]);
    let bound = msg(backend::BIND_COMPLETE, b"");
    session.feed_messages(&[bound.clone(), completed("INSERT 0 1"), bound]);
    session.feed_messages(&[error("23505"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 23505 at row 3"));
}

#[test]
pub fn an_error_names_the_row_by_the_context_of_the_copy() {
    for (context, end) in [
        ("COPY t, line 2, column a: \"x\"", "server 23505 at row 2"),
        ("PL/pgSQL function f() line 7 at RAISE\nCOPY t, Zeile 3, Spalte a", "server 23505 at row 3"),
        ("tのCOPY、行番号 1", "server 23505 at row 1"),
        ("COPY t", "server 23505"),
        ("SQL statement", "server 23505"),
        ("", "server 23505"),
    ] {
        let (mut session, _, received) = checking(INT4, (1..=4).map(TestValue::from).collect());
        session.feed_messages(&[answered(Some(INT4)), begun()]);
        session.sent();
        let error = format!("SERROR\0VERROR\0C23505\0Mno\0W{context}\0\0");
        session.feed_messages(&[msg(backend::ERROR_RESPONSE, error.as_bytes())]);
        assert_eq!(session.sent(), ["Sync"]);
        session.feed_messages(&[ready(b'I')]);
        assert_eq!(received.get().end.as_deref(), Some(end), "{context}");
        assert!(session.machine.is_idle());
    }
}

/// One whose rows can be read again.
fn repeatable() -> (Conversation, Shared) {
    let mut session = Conversation::start();
    let request = copied("insert into t values ($1)");
    let (handler, received) = TestHandler::new(vec![], (1..=3).map(|n: i64| vec![n.into()]).collect());
    session.machine.submit(request, handler);
    session.feed_messages(&[]);
    session.feed_messages(&[described(&[INT4], &[])]);
    session.sent();
    (session, received)
}

#[test]
pub fn outside_of_a_transaction_refused_rows_are_executed_one_by_one() {
    let row = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1")].concat();
    let copying = [answered(Some(INT4)), begun()].concat();
    // The catalogue may be another one than PostgreSQL's.
    for (reply, code) in [(copying, "23514"), (row.clone(), "42883")] {
        let (mut session, received) = repeatable();
        session.feed_messages(&[reply]);
        session.sent();
        session.feed_messages(&[error(code)]);
        assert_eq!(session.sent(), ["Sync"]);
        session.feed_messages(&[ready(b'I')]);
        // Prepared again without waiting, as it is not known yet whether a pooler is between.
        assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Bind", "Execute", "Bind", "Execute", "Sync"]);
        session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), row.clone(), error("23505"), ready(b'I')]);
        assert_eq!(received.get().end.as_deref(), Some("server 23505 at row 1"));
    }
}

#[test]
pub fn a_cancelled_copy_is_not_repeated() {
    let (mut session, received) = repeatable();
    session.feed_messages(&[answered(Some(INT4)), begun()]);
    session.sent();
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 57014"));
    assert!(session.machine.is_idle());
}

#[test]
pub fn an_error_stops_the_rows_wherever_they_stand() {
    let (mut session, _, received) = checking(INT4, vec![1.into(), 2.into()]);
    session.feed_messages(&[error("23502")]);
    assert_eq!(session.sent(), ["Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 23502 at row 0"));

    let (mut session, _, received) = checking(INT4, vec![1.into(), 2.into()]);
    session.feed_messages(&[answered(Some(INT4)), error("42501")]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush", "Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 42501"));

    let (mut session, _, received) = feeding();
    session.feed_messages(&[error("53100")]);
    assert_eq!(session.sent(), ["Sync"], "rows that were not written stay unwritten");
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 53100"));
}

#[test]
pub fn a_batch_that_is_given_up_is_made_to_fail() {
    let (mut session, id, _) = feeding();
    session.machine.discard(id);
    session.feed_messages(&[]);
    assert_eq!(session.sent(), ["CopyFail", "Sync"]);
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert!(session.machine.is_idle());

    let (mut session, id, _) = checking(INT4, vec![1.into(), 2.into()]);
    session.machine.discard(id);
    session.feed_messages(&[answered(Some(INT4))]);
    assert_eq!(session.sent(), ["Parse", "Sync"], "an invalid Parse rolls it back");
    session.feed_messages(&[error("42601"), ready(b'I')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_batch_that_is_given_up_before_its_copy_begins_feeds_nothing() {
    let (mut session, id, _) = checking(INT4, vec![1.into(), 2.into()]);
    session.feed_messages(&[answered(Some(INT4))]);
    session.sent();
    session.machine.discard(id);
    session.feed_messages(&[begun()]);
    assert_eq!(session.sent(), ["CopyData", "CopyFail", "Sync"]);
    session.feed_messages(&[error("57014"), ready(b'I')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_server_that_sends_rows_instead_ends_the_session() {
    let (mut session, ..) = checking(INT4, vec![1.into(), 2.into()]);
    session.feed_messages(&[answered(Some(INT4))]);
    let response = copy_response(backend::COPY_OUT_RESPONSE);
    let reply = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b""), response].concat();
    assert!(session.feed(&reply).is_err());
}

#[test]
pub fn servers_that_are_not_postgresql_are_not_asked() {
    for status in [&b"server_version\x008.0.2\0"[..], b"server_version\0unknown\0", b"crdb_version\0CockroachDB\0"] {
        let mut session = Conversation::start();
        session.feed_messages(&[msg(backend::PARAMETER_STATUS, status)]);
        let request = copied("insert into t values ($1)");
        session.ask(request, vec![], vec![vec![1.into()], vec![2.into()]]);
        session.feed_messages(&[described(&[INT4], &[])]);
        assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Bind", "Execute", "Bind", "Execute", "Sync"]);
    }
}

#[test]
pub fn what_is_no_plain_insert_is_not_asked_about() {
    for sql in ["insert into t values ($1) on conflict do nothing", "update t set a = $1", "insert into t values (-$1)"]
    {
        let mut session = Conversation::start();
        let request = copied(sql);
        session.ask(request, vec![], vec![vec![1.into()], vec![2.into()]]);
        session.feed_messages(&[described(&[INT4], &[])]);
        assert_eq!(
            session.sent(),
            ["Parse", "Describe", "Flush", "Bind", "Execute", "Bind", "Execute", "Sync"],
            "{sql}"
        );
    }
}
