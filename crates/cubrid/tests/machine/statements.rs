//! Statements, their cache, and the transactions around them.

use crate::support::session::Conversation;
use crate::support::{done, empty, error, fetched, frame, inserted, prepared, reply, selected};
use headrace_core::{Discarded, FatalKind, IfUnsent, Modes, Protocol as _, Session as _, TransactionStatus, Verb};
use headrace_cubrid::machine::{Execute, ParameterRows, Request};
use headrace_testkit::{Completion, Shared, TestValue as V};

const INSERT: &str = "insert into t values (?)";
const SELECT: &str = "select a from t where a > ?";

fn completion(tag: &str, rows: u64) -> Completion {
    Completion { tag: tag.into(), rows: Some(rows), ..Completion::default() }
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

/// A session with [`INSERT`] as statement 1 in its cache.
fn with_insert(mut session: Conversation) -> Conversation {
    session.execute(INSERT, vec![V::Int(1)]);
    let status = u8::from(session.machine.in_transaction());
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&inserted(status, 1)).unwrap();
    session.sent();
    session
}

#[test]
pub fn a_statement_is_prepared_once_and_its_handle_is_kept() {
    let mut session = Conversation::start();
    let received = session.execute(INSERT, vec![V::Int(1)]);
    assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    session.feed(&inserted(0, 1)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().results), ("done", vec![completion("INSERT", 1)]));
    let received = session.execute(INSERT, vec![V::Int(2)]);
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    session.feed(&inserted(0, 1)).unwrap();
    assert_eq!(end(&received), "done");
    assert_eq!((session.machine.statements(), session.machine.in_transaction()), (1, false));
}

#[test]
pub fn the_parameter_of_limit_is_an_expression_and_the_statement_is_known_by_its_own_text() {
    let mut session = Conversation::start();
    let sql = "insert into t select b from u where c = ? limit ?";
    session.execute(sql, vec![V::Int(1), V::Int(2)]);
    assert_eq!(session.sent(), ["PREPARE insert into t select b from u where c = ? limit (?+0)"]);
    session.feed(&prepared(1, 20, 2)).unwrap();
    session.sent();
    session.feed(&inserted(0, 1)).unwrap();
    session.execute(sql, vec![V::Int(1), V::Int(3)]);
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
}

#[test]
pub fn a_query_that_is_a_constant_without_rows_has_a_result() {
    for sql in
        ["(Select a from t where 1 = 0) union select a from t where 1 = 0", "with x as (select 1) select a from x"]
    {
        let mut session = Conversation::start();
        let received = session.execute(sql, vec![]);
        session.feed(&prepared(1, 106, 0)).unwrap();
        session.feed(&empty(0)).unwrap();
        let received = received.get();
        assert_eq!((received.end.as_deref(), received.results), (Some("done"), vec![completion("SELECT", 0)]));
    }
    let mut session = Conversation::start();
    let received = session.execute("vacuum", vec![]);
    session.feed(&prepared(1, 121, 0)).unwrap();
    session.feed(&inserted(0, 0)).unwrap();
    assert_eq!(received.get().results, vec![completion("", 0)]);
}

#[test]
pub fn a_statement_that_leaves_the_cache_is_closed_by_the_next_preparation() {
    let mut session = with_insert(Conversation::start());
    for (handle, sql) in [(2, "delete from t"), (3, "delete from u"), (1, "delete from v")] {
        session.execute(sql, vec![]);
        let closes = if handle == 1 { " closes 1" } else { "" };
        assert_eq!(session.sent(), [format!("PREPARE {sql}{closes}").as_str()]);
        session.feed(&prepared(handle, 23, 0)).unwrap();
        session.sent();
        session.feed(&inserted(0, 1)).unwrap();
    }
    session.machine.forget_statements();
    session.execute("select 1", vec![]);
    assert_eq!(session.sent(), ["PREPARE select 1 closes 2 3 1"]);
}

#[test]
pub fn pages_are_fetched_until_the_last_one() {
    let mut session = Conversation::start();
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.sent();
    session.feed(&selected(1, 5, &[(1, 10), (2, 20)], false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 3"]);
    session.feed(&fetched(1, &[(3, 30), (4, 40)], false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 5"]);
    // The last page ends the transaction.
    session.feed(&fetched(0, &[(5, 50)], true)).unwrap();
    assert_eq!(session.sent(), [""; 0]);
    let received = received.get();
    assert_eq!(received.lines(), ["10", "20", "30", "40", "50"]);
    assert_eq!((received.results, received.columns), (vec![completion("SELECT", 5)], vec!["a".to_owned()]));
}

/// A SELECT of 20 rows in a block, of which the first page has 4.
fn with_two_pages_in_flight(session: &mut Conversation) -> Shared {
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.sent();
    session.feed(&selected(1, 20, &numbered(1..5), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 5", "FETCH 1 from 9"]);
    received
}

#[test]
fn a_server_that_cannot_seek_is_asked_for_one_page_at_a_time() {
    let mut session = Conversation::of_version(10);
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.sent();
    session.feed(&selected(1, 20, &numbered(1..5), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 5"]);
    session.feed(&fetched(1, &numbered(5..15), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 15"]);
    session.feed(&fetched(0, &numbered(15..21), true)).unwrap();
    assert_eq!((session.sent(), received.get().lines()), (session.sent(), numbers(1..21)));
}

#[test]
fn more_rows_than_the_result_has_end_the_session() {
    let mut session = Conversation::start();
    session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.feed(&selected(1, 5, &numbered(1..3), false)).unwrap();
    assert!(session.feed(&fetched(1, &numbered(3..7), true)).is_err());
}

/// Rows whose value is their number.
fn numbered(rows: std::ops::Range<i32>) -> Vec<(i32, i32)> {
    rows.map(|row| (row, row)).collect()
}

fn numbers(rows: std::ops::Range<i32>) -> Vec<String> {
    rows.map(|row| row.to_string()).collect()
}

#[test]
pub fn next_page_but_one_is_requested_before_the_next_has_come() {
    let mut session = Conversation::in_block();
    let received = with_two_pages_in_flight(&mut session);
    session.feed(&fetched(1, &numbered(5..9), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 13", "FETCH 1 from 17"], "it began where it should: one more");
    session.feed(&fetched(1, &numbered(9..13), false)).unwrap();
    assert_eq!(session.sent(), [""; 0]);
    session.feed(&fetched(1, &numbered(13..17), false)).unwrap();
    assert_eq!(session.sent(), [""; 0]);
    session.feed(&fetched(1, &numbered(17..21), true)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", numbers(1..21)));
}

#[test]
pub fn rows_of_pages_that_are_longer_or_shorter_than_expected_come_once_and_in_order() {
    let mut session = Conversation::in_block();
    let received = with_two_pages_in_flight(&mut session);
    // Five rows where four were expected, so that the next page begins with a row that has come; then three.
    session.feed(&fetched(1, &numbered(5..10), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 14", "FETCH 1 from 19"]);
    session.feed(&fetched(1, &numbered(9..12), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 12"]);
    assert_eq!(received.get().lines(), numbers(1..12));
    session.feed(&fetched(1, &numbered(14..19), false)).unwrap();
    session.feed(&fetched(1, &numbered(19..21), true)).unwrap();
    assert_eq!(received.get().lines(), numbers(1..12), "rows are missing before these pages");
    session.sent();
    session.feed(&fetched(1, &numbered(12..21), true)).unwrap();
    assert_eq!(received.get().lines(), numbers(1..21));
    assert_eq!(end(&received), "done");
}

#[test]
pub fn page_in_flight_when_the_result_ends_is_not_looked_at() {
    let mut session = Conversation::in_block();
    let received = with_two_pages_in_flight(&mut session);
    session.feed(&fetched(1, &numbered(5..21), true)).unwrap();
    assert_eq!(end(&received), "not ended", "a reply is to come");
    session.feed(&error(1, -2, -440)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", numbers(1..21)));
    assert!(session.machine.is_idle());
}

#[test]
pub fn page_that_may_be_the_last_one_outside_of_a_block_is_not_read_ahead() {
    let mut session = Conversation::start();
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.sent();
    // A reply with four rows has at most eight, or six after FETCH, if all values are NULL.
    session.feed(&selected(1, 18, &numbered(1..5), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 5", "FETCH 1 from 9"]);
    session.feed(&fetched(1, &numbered(5..9), false)).unwrap();
    assert_eq!(session.sent(), [""; 0]);
    session.feed(&fetched(1, &numbered(9..13), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 13"]);
    session.feed(&fetched(0, &numbered(13..19), true)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", numbers(1..19)));
}

#[test]
pub fn the_number_of_rows_tells_the_end_where_the_page_does_not() {
    let mut session = Conversation::in_block();
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.feed(&selected(1, 1, &[(1, 10)], false)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", vec!["10".to_owned()]));
}

#[test]
pub fn a_discarded_select_is_closed_and_no_further_page_is_fetched() {
    for in_block in [true, false] {
        let mut session = if in_block { Conversation::in_block() } else { Conversation::start() };
        let received = session.execute(SELECT, vec![V::Int(0)]);
        session.feed(&prepared(1, 21, 1)).unwrap();
        session.feed(&selected(1, 9, &[(1, 10)], false)).unwrap();
        session.sent();
        let id = session.machine.next_id() - 1;
        assert!(session.machine.only_fetches());
        assert_eq!(session.machine.discard(id), Discarded::Followed, "FETCH must not be cancelled");
        // Two pages were in flight.
        session.feed(&[fetched(1, &[(2, 20)], false), fetched(1, &[(3, 30)], false)].concat()).unwrap();
        assert_eq!(session.sent(), [if in_block { "CURSOR_CLOSE 1" } else { "END_TRAN ROLLBACK" }]);
        session.feed(&if in_block { frame(1, &[]) } else { done(0) }).unwrap();
        assert!(session.machine.is_idle() && received.get().end.is_none());
    }
}

#[test]
pub fn a_statement_that_is_discarded_before_it_is_executed_is_not_executed() {
    let mut session = Conversation::start();
    session.execute(INSERT, vec![V::Int(1)]);
    let id = session.machine.next_id() - 1;
    session.machine.discard(id);
    session.sent();
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"], "PREPARE has opened a transaction");
    session.feed(&done(0)).unwrap();
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_discarded_last_page_ends_the_request() {
    let mut session = Conversation::in_block();
    session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    let id = session.machine.next_id() - 1;
    assert!(!session.machine.only_fetches());
    assert_eq!(session.machine.discard(id), Discarded::Alone);
    session.feed(&selected(1, 1, &[(1, 10)], true)).unwrap();
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_block_is_pipelined_and_ends_with_one_function() {
    let mut session = with_insert(Conversation::in_block());
    assert_eq!(session.machine.transaction(), TransactionStatus::InTransaction);
    let received = [1, 2, 3].map(|n| session.execute(INSERT, vec![V::Int(n)]));
    let committed = session.verb(Verb::Commit(IfUnsent::RollBack));
    let after = session.execute(INSERT, vec![V::Int(4)]);
    assert_eq!(session.sent(), ["EXECUTE 1", "EXECUTE 1", "EXECUTE 1"]);
    assert_eq!(session.machine.transaction_ahead(), Some(false));
    session.feed(&[inserted(1, 1), error(1, -2, -670), inserted(1, 1)].concat()).unwrap();
    assert_eq!(received.map(|received| end(&received)), ["done", "server -670", "done"]);
    assert_eq!(session.sent(), ["END_TRAN COMMIT"], "one of them could have ended the transaction");
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&committed).as_str(), session.machine.in_transaction()), ("done", false));
    // What is outside of a block is not sent before everything else is answered.
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    session.feed(&inserted(0, 1)).unwrap();
    assert_eq!(end(&after), "done");
}

#[test]
pub fn statements_outside_of_a_block_are_sent_one_after_the_other() {
    let mut session = with_insert(Conversation::start());
    let received = [1, 2].map(|n| session.execute(INSERT, vec![V::Int(n)]));
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    session.feed(&inserted(0, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    session.feed(&inserted(0, 1)).unwrap();
    assert_eq!(received.map(|received| end(&received)), ["done", "done"]);
}

#[test]
pub fn commit_and_rollback_as_texts_are_functions() {
    let mut session = with_insert(Conversation::in_block());
    session.execute(INSERT, vec![V::Int(1)]);
    let committed = session.execute("commit work", vec![]);
    assert_eq!(session.sent(), ["EXECUTE 1", "END_TRAN COMMIT"]);
    session.feed(&[inserted(1, 1), done(0)].concat()).unwrap();
    assert_eq!((end(&committed).as_str(), session.machine.in_transaction()), ("done", false));
    let nothing = session.execute("rollback", vec![]);
    assert_eq!((end(&nothing).as_str(), session.sent().is_empty()), ("done", true));
}

#[test]
pub fn what_a_statement_leaves_open_outside_of_a_block_is_ended() {
    let mut session = Conversation::start();
    let received = session.ask(Request::Prepare { sql: INSERT.into() }, vec![], vec![]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["PREPARE", "END_TRAN COMMIT"]);
    assert_eq!(end(&received), "not ended");
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "done");
    // Known already.
    let received = session.ask(Request::Prepare { sql: INSERT.into() }, vec![], vec![]);
    assert_eq!((end(&received).as_str(), session.sent().is_empty()), ("done", true));
    let refused = session.execute("selec 1", vec![]);
    session.feed(&reply("prepare_syntax")).unwrap();
    assert_eq!(session.sent(), ["PREPARE", "END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&refused), "server -493");
}

#[test]
pub fn a_stale_statement_is_prepared_again_once() {
    for (sql, kind, good) in [(INSERT, 20, inserted(0, 1)), (SELECT, 21, selected(0, 1, &[(1, 7)], true))] {
        let mut session = Conversation::start();
        session.execute(sql, vec![V::Int(1)]);
        session.feed(&prepared(1, kind, 1)).unwrap();
        session.feed(&good).unwrap();
        session.sent();
        for (last, expected) in [(good.clone(), "done"), (error(0, -1, -10_024), "server -10024")] {
            let received = session.execute(sql, vec![V::Int(1)]);
            session.sent();
            session.feed(&error(1, -1, -10_024)).unwrap();
            assert_eq!(session.sent(), [format!("PREPARE {sql} pinned closes 1").as_str()]);
            session.feed(&prepared(1, kind, 1)).unwrap();
            session.sent();
            session.feed(&last).unwrap();
            assert_eq!(end(&received), expected);
        }
    }
}

#[test]
pub fn nothing_is_repeated_if_later_requests_were_sent() {
    let mut session = with_insert(Conversation::in_block());
    let received = [1, 2].map(|n| session.execute(INSERT, vec![V::Int(n)]));
    session.feed(&[error(1, -1, -10_024), inserted(1, 1)].concat()).unwrap();
    assert_eq!(received.map(|received| end(&received)), ["server -10024", "done"]);
}

#[test]
pub fn a_deadlock_leaves_a_block_that_has_failed() {
    let mut session = with_insert(Conversation::in_block());
    session.execute(INSERT, vec![V::Int(1)]);
    session.feed(&error(1, -2, -72)).unwrap();
    assert_eq!(session.machine.transaction(), TransactionStatus::Failed);
    session.verb(Verb::Rollback(IfUnsent::RollBack));
    session.sent();
    session.feed(&done(0)).unwrap();
    assert_eq!(session.machine.transaction(), TransactionStatus::Idle);
}

#[test]
pub fn outside_of_a_block_the_statement_after_a_deadlock_begins_a_transaction() {
    let mut session = with_insert(Conversation::in_block());
    session.execute(INSERT, vec![V::Int(1)]);
    session.feed(&error(1, -2, -72)).unwrap();
    session.execute(INSERT, vec![V::Int(2)]);
    session.feed(&inserted(1, 1)).unwrap();
    assert_eq!(session.machine.transaction(), TransactionStatus::InTransaction);
    assert!(!session.machine.may_be_released());
    session.execute(INSERT, vec![V::Int(3)]);
    session.sent();
    // An error of another kind, after which the server reports that none is open.
    let lost = session.receive(&error(0, -2, -670)).unwrap_err();
    assert_eq!(lost.kind, FatalKind::TransactionInDoubt);
}

/// A session in a transaction that is a block of the program, with [`INSERT`] in its cache.
fn in_block_of_program() -> Conversation {
    let session = with_insert(Conversation::in_block());
    session.machine.requests().block().store(1, std::sync::atomic::Ordering::SeqCst);
    session
}

#[test]
pub fn nothing_follows_a_deadlock_and_the_end_of_the_block_fails() {
    // The status may report a transaction or not.
    for status in [0, 1] {
        let mut session = in_block_of_program();
        let first = session.execute(INSERT, vec![V::Int(1)]);
        session.feed(&error(status, -2, -72)).unwrap();
        session.sent();
        let later = [session.execute(INSERT, vec![V::Int(2)]), session.execute("delete from t", vec![])];
        assert!(session.sent().is_empty());
        assert_eq!(end(&first), "server -72");
        assert!(later.iter().all(|later| end(later).contains("not executed")), "{}", end(&later[0]));
        let committed = session.verb(Verb::Commit(IfUnsent::RollBack));
        assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
        session.feed(&done(0)).unwrap();
        assert!(end(&committed).contains("not committed"), "{}", end(&committed));
        session.machine.requests().block().store(0, std::sync::atomic::Ordering::SeqCst);
        session.execute(INSERT, vec![V::Int(3)]);
        assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
    }
}

#[test]
pub fn a_statement_that_is_being_prepared_is_not_executed_after_a_deadlock() {
    let mut session = in_block_of_program();
    session.execute(INSERT, vec![V::Int(1)]);
    let later = session.execute("delete from t", vec![]);
    session.sent();
    session.feed(&[error(1, -2, -72), prepared(2, 22, 0)].concat()).unwrap();
    assert!(session.sent().is_empty());
    assert!(end(&later).contains("not executed"), "{}", end(&later));
}

#[test]
pub fn savepoints_and_pings_have_functions() {
    let mut session = Conversation::in_block();
    let name = || "s".into();
    session.verb(Verb::Savepoint { name: name(), begin: Some(Modes::default()) });
    session.verb(Verb::RollbackTo(name()));
    session.verb(Verb::Ping);
    assert_eq!(session.sent(), ["SAVEPOINT set s", "SAVEPOINT to s", "CHECK_CAS"]);
    let released = session.verb(Verb::Release(name()));
    assert_eq!(end(&released), "not ended", "in its turn");
    session.feed(&[done(1), reply("savepoint_unknown"), frame(1, &[])].concat()).unwrap();
    assert_eq!((end(&released).as_str(), session.machine.is_idle()), ("done", true));
    // Outside of a block a ping leaves no transaction.
    let mut session = Conversation::start();
    let pinged = session.verb(Verb::Ping);
    assert_eq!(session.sent(), ["CHECK_CAS", "GET_DB_VERSION"]);
    session.feed(&[frame(1, &[]), frame(0, b"\0\0\0\x0011.3.2.0\0")].concat()).unwrap();
    assert_eq!((end(&pinged).as_str(), session.sent().is_empty()), ("done", true));
}

#[test]
pub fn an_unsent_end_of_a_block_that_is_discarded_is_a_rollback() {
    let mut session = Conversation::in_block();
    session.execute(INSERT, vec![V::Int(1)]);
    session.verb(Verb::Commit(IfUnsent::RollBack));
    let id = session.machine.next_id() - 1;
    assert_eq!(session.machine.discard(id), Discarded::Gone);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert!(session.sent().ends_with(&["EXECUTE 1", "END_TRAN ROLLBACK"]));
}

#[test]
pub fn the_generated_value_is_requested() {
    let mut session = Conversation::in_block();
    let received = session.ask(Request::LastInsertId, vec![], vec![]);
    assert_eq!(session.sent(), ["GET_LAST_INSERT_ID"]);
    session.feed(&reply("last_insert_id")).unwrap();
    assert_eq!(received.get().results[0].generated, Some(1));
    let received = session.ask(Request::LastInsertId, vec![], vec![]);
    session.feed(&frame(1, b"\0\0\0\0\xff\xff\xff\xff")).unwrap();
    assert_eq!((end(&received).as_str(), received.get().results[0].generated), ("done", None));
}

#[test]
pub fn a_block_has_its_isolation_level_and_the_session_keeps_its_own() {
    let modes = Modes { isolation: Some(headrace_core::Isolation::Serializable), ..Modes::default() };
    let mut session = Conversation::start();
    let begun = session.verb(Verb::Begin(modes));
    session.execute("delete from t", vec![]);
    assert_eq!(session.sent(), ["GET_DB_PARAMETER 1", "SET_DB_PARAMETER 1 to 6"], "nothing before the answer");
    session.feed(&[frame(0, &[0, 0, 0, 0, 0, 0, 0, 4]), done(0)].concat()).unwrap();
    assert_eq!((end(&begun).as_str(), session.machine.in_transaction()), ("done", true));
    assert_eq!(session.sent(), ["PREPARE delete from t"]);
    session.feed(&prepared(1, 23, 0)).unwrap();
    session.feed(&inserted(1, 1)).unwrap();
    let committed = session.verb(Verb::Commit(IfUnsent::RollBack));
    assert_eq!(session.sent(), ["EXECUTE 1", "END_TRAN COMMIT", "SET_DB_PARAMETER 1 to 4"]);
    session.feed(&[done(0), done(0)].concat()).unwrap();
    assert_eq!((end(&committed).as_str(), session.machine.in_transaction()), ("done", false));
    // A level that the server refuses leaves no block.
    let refused = session.verb(Verb::Begin(modes));
    session.sent();
    session.feed(&[frame(0, &[0, 0, 0, 0, 0, 0, 0, 4]), error(0, -2, -1157)].concat()).unwrap();
    assert_eq!((end(&refused).as_str(), session.machine.in_transaction()), ("server -1157", false));
    session.execute("delete from t", vec![]);
    assert_eq!(session.sent(), ["EXECUTE 1 autocommit"]);
}

#[test]
pub fn large_objects_are_made_written_and_read() {
    let handle: std::sync::Arc<[u8]> = reply("lob_new")[12..].into();
    let mut session = Conversation::in_block();
    let made = session.ask(Request::NewObject { is_text: false, begin: false }, vec![], vec![]);
    assert_eq!(session.sent(), ["LOB_NEW 23"]);
    session.feed(&reply("lob_new")).unwrap();
    let shown = |bytes: &[u8]| vec![format!("x{}", headrace_testkit::hex(bytes))];
    assert_eq!(made.get().rows, [shown(&handle)]);
    let data = b"hello world"[..].into();
    let written = session.ask(Request::WriteObject { handle: handle.clone(), offset: 0, data }, vec![], vec![]);
    let read = session.ask(Request::ReadObject { handle: handle.clone(), offset: 6, bytes: 5 }, vec![], vec![]);
    assert_eq!(session.sent(), ["LOB_WRITE 11 bytes", "LOB_READ 5 bytes"]);
    session.feed(&[frame(1, &[0, 0, 0, 11]), frame(1, b"\0\0\0\x05world")].concat()).unwrap();
    assert_eq!((written.get().affected(), read.get().rows), (11, vec![shown(b"world")]));
    // Four bytes can be an error.
    let failed = session.ask(Request::ReadObject { handle: handle.clone(), offset: 0, bytes: 5 }, vec![], vec![]);
    session.feed(&frame(1, &(-10_004i32).to_be_bytes())).unwrap();
    assert_eq!(end(&failed), "server -10004");
    let outside = Conversation::start().ask(Request::NewObject { is_text: true, begin: false }, vec![], vec![]);
    assert!(end(&outside).contains("begin one first"));
}

#[test]
pub fn what_cannot_be_sent_is_refused() {
    let mut session = with_insert(Conversation::in_block());
    for (sql, row, reason) in [
        (INSERT, vec![], "1 parameter, but 0 were given"),
        (INSERT, vec![V::Interval(1, 1, 1)], "no type for it"),
        ("select 1; commit", vec![], "ends the transaction"),
        ("select 1; select ?", vec![V::Int(1)], "one by one"),
    ] {
        let received = session.execute(sql, row);
        assert!(end(&received).contains(reason), "{}", end(&received));
        assert!(session.sent().is_empty());
    }
}

/// A text whose results are one row that was inserted, and one row.
fn execute_two(session: &mut Conversation) -> Shared {
    let received = session.execute("insert into t values (1); select 1 as z", vec![]);
    session.feed(&reply("multi_prepare")).unwrap();
    session.feed(&reply("multi_execute")).unwrap();
    received
}

#[test]
pub fn empty_bytes_are_a_text_with_their_type_around_it() {
    let mut session = with_insert(Conversation::in_block());
    session.execute(INSERT, vec![V::Bytes(b"".into())]);
    assert_eq!(session.sent(), ["PREPARE insert into t values (CAST(? AS BIT VARYING))"]);
}

#[test]
pub fn a_text_with_several_statements_has_a_result_for_each() {
    let mut session = Conversation::start();
    let received = execute_two(&mut session);
    assert!(session.sent().ends_with(&["EXECUTE 6 all", "NEXT_RESULT 6"]));
    session.feed(&reply("next_result")).unwrap();
    assert_eq!(session.sent(), ["FETCH 6 from 1"]);
    session.feed(&reply("fetch_second")).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    assert_eq!(end(&received), "not ended");
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "done");
    assert_eq!(received.get().results, [completion("INSERT", 1), completion("SELECT", 1)]);
    assert_eq!(received.get().rows.len(), 1);
}

#[test]
fn an_error_among_several_statements_undoes_those_outside_of_a_block() {
    let mut session = Conversation::start();
    let received = session.execute("insert into t values (1); select nothing", vec![]);
    session.feed(&reply("multi_prepare")).unwrap();
    session.feed(&error(1, -2, -493)).unwrap();
    assert!(session.sent().ends_with(&["END_TRAN ROLLBACK"]));
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "server -493");
}

#[test]
pub fn definitions_that_change_make_statements_outdated() {
    let mut session = with_insert(Conversation::in_block());
    session.execute("alter table t add column b int", vec![]);
    session.feed(&prepared(2, 0, 0)).unwrap();
    session.feed(&inserted(1, 0)).unwrap();
    session.sent();
    session.execute(INSERT, vec![V::Int(1)]);
    assert_eq!(session.sent(), ["PREPARE insert into t values (?) closes 1 2"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&inserted(1, 1)).unwrap();
    session.verb(Verb::Rollback(IfUnsent::Forget));
    session.sent();
    session.feed(&done(0)).unwrap();
    assert_eq!(session.machine.statements(), 0, "the rollback has changed them back");
}

#[test]
pub fn a_statement_that_is_sent_ahead_of_a_stale_one_keeps_its_place() {
    let mut session = with_insert(Conversation::in_block());
    let request = Request::Execute(Execute { facts: None, sql: INSERT.into(), rows: ParameterRows::One, begin: false });
    let first = session.ask(request, vec![V::Int(1)], vec![]);
    session.sent();
    session.feed(&error(1, -1, -10_006)).unwrap();
    let second = session.execute("delete from t", vec![]);
    assert_eq!(session.sent(), ["PREPARE insert into t values (?) pinned closes 1"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1", "PREPARE delete from t"]);
    session.feed(&[inserted(1, 1), prepared(2, 23, 0)].concat()).unwrap();
    session.feed(&inserted(1, 3)).unwrap();
    assert_eq!((end(&first).as_str(), end(&second).as_str()), ("done", "done"));
}

#[test]
pub fn columns_that_are_others_than_when_the_statement_was_prepared_are_described_again() {
    let mut session = Conversation::in_block();
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    // The reply to EXECUTE with the description of two columns in it.
    let column = &prepared(1, 21, 0)[8 + 4 + 4 + 1 + 4 + 1 + 4..];
    let described = [&[0xff; 4][..], &[21], &0i32.to_be_bytes(), &[0], &2i32.to_be_bytes(), column, column].concat();
    let plain = selected(1, 1, &[], true);
    let (result, page) = plain[8..].split_at(plain.len() - 8 - 4 - 9);
    let (result, is_described) = result.split_at(result.len() - 1);
    assert_eq!(is_described, [0]);
    let row = [&1i32.to_be_bytes()[..], &[0; 8], &[0, 0, 0, 4, 0, 0, 0, 7], &[0xff; 4]].concat();
    let page = [&page[..4], &[0; 4], &1i32.to_be_bytes(), &row, &[1]].concat();
    session.feed(&frame(1, &[result, &[1], &described, &page].concat())).unwrap();
    assert_eq!((received.get().columns.len(), received.get().lines()), (2, vec!["7|NULL".to_owned()]));
}

#[test]
pub fn query_whose_result_the_server_closes_before_its_end_is_executed_in_a_transaction() {
    let mut session = Conversation::start();
    let received = session.execute(SELECT, vec![V::Int(0)]);
    session.sent();
    session.feed(&prepared(1, 21, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 fetch autocommit"]);
    // It has committed, though two of four rows are missing.
    session.feed(&selected(0, 4, &numbered(1..3), false)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 fetch"]);
    session.feed(&selected(1, 4, &numbered(1..3), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 3"]);
    session.feed(&fetched(1, &numbered(3..5), true)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", numbers(1..5)));
    // From then on at once.
    let received = session.execute(SELECT, vec![V::Int(0)]);
    assert_eq!(session.sent(), ["EXECUTE 1 fetch"]);
    session.feed(&selected(1, 1, &numbered(1..2), true)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("done", numbers(1..2)));
}

#[test]
fn result_that_was_closed_before_its_end_is_an_error_where_the_query_cannot_be_repeated() {
    let mut session = Conversation::start();
    session.execute(SELECT, vec![V::Int(0)]);
    session.feed(&prepared(1, 21, 1)).unwrap();
    session.sent();
    // A server that closes it again.
    session.feed(&selected(0, 4, &numbered(1..3), false)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 fetch"]);
    session.feed(&selected(0, 4, &numbered(1..3), false)).unwrap();
    assert_eq!(session.sent(), ["FETCH 1 from 3"]);
}
