//! Results that stay open, the catalogue, plans, and generated keys.

use crate::support::session::Conversation;
use crate::support::{done, error, fetched, frame, inserted, prepared, reply, selected};
use headrace_core::{IfUnsent, Session as _, Verb};
use headrace_cubrid::machine::{Execute, ParameterRows, Request};
use headrace_testkit::{Shared, TestValue as V, unhex};

const SELECT: &str = "select a from t where a > ?";

fn open(session: &mut Conversation, holds: bool) -> Shared {
    let request = Request::Open { sql: SELECT.into(), number: 7, holds, begin: false };
    session.ask(request, vec![V::Int(1)], Vec::new())
}

fn ask(session: &mut Conversation, request: Request) -> Shared {
    session.ask(request, Vec::new(), Vec::new())
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

#[test]
pub fn a_result_that_stays_open_is_read_page_by_page() {
    let mut session = Conversation::in_block();
    let received = open(&mut session, false);
    assert_eq!(session.sent(), [format!("PREPARE {SELECT}").as_str()]);
    session.feed(&prepared(4, 21, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 4 fetch"]);
    session.feed(&selected(1, 5, &[(1, 10), (2, 20)], false)).unwrap();
    assert_eq!((end(&received).as_str(), received.get().results[0].rows), ("done", Some(5)));
    assert!(session.machine.has_cursor(7) && session.sent().is_empty() && session.machine.statements() == 0);
    let page = ask(&mut session, Request::FetchAt { number: 7, position: 4 });
    assert_eq!(session.sent(), ["FETCH 4 from 4"]);
    session.feed(&fetched(1, &[(4, 40)], false)).unwrap();
    assert_eq!((end(&page).as_str(), page.get().rows), ("done", vec![vec!["40".to_owned()]]));
    let closed = ask(&mut session, Request::CloseCursor { number: 7 });
    assert_eq!(session.sent(), ["CLOSE_REQ_HANDLE"]);
    session.feed(&done(1)).unwrap();
    assert_eq!(end(&closed), "done");
    for request in [Request::FetchAt { number: 7, position: 1 }, Request::CloseCursor { number: 7 }] {
        let gone = ask(&mut session, request.clone());
        assert_eq!(end(&gone).starts_with("done"), matches!(request, Request::CloseCursor { .. }), "{}", end(&gone));
    }
    assert!(session.sent().is_empty());
}

#[test]
fn the_statement_of_a_cursor_that_was_not_opened_is_closed() {
    let mut session = Conversation::in_block();
    let received = open(&mut session, true);
    session.feed(&prepared(4, 21, 1)).unwrap();
    session.feed(&error(1, -2, -494)).unwrap();
    assert!(end(&received).contains("-494") && !session.machine.has_cursor(7));
    let received = open(&mut session, true);
    session.sent();
    session.feed(&prepared(4, 20, 1)).unwrap();
    assert!(end(&received).contains("returns rows"), "{}", end(&received));
    session.execute("select 1", vec![]);
    assert_eq!(session.sent(), ["PREPARE select 1 closes 4"]);
}

#[test]
fn a_result_that_is_held_outlives_the_commit() {
    let mut session = Conversation::start();
    open(&mut session, true);
    session.feed(&prepared(1, 21, 1)).unwrap();
    assert_eq!(session.sent(), [format!("PREPARE {SELECT} holdable").as_str(), "EXECUTE 1 fetch autocommit"]);
    session.feed(&selected(1, 3, &[(1, 10)], false)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    session.verb(Verb::Commit(IfUnsent::Forget));
    ask(&mut session, Request::FetchAt { number: 7, position: 2 });
    assert_eq!(session.sent(), ["FETCH 1 from 2"]);
}

#[test]
fn the_catalogue_is_queried_and_its_handle_closed() {
    let mut session = Conversation::start();
    let query = |name: &str| Request::SchemaInfo { query: 16, first: Some(name.into()), second: None, patterns: 0 };
    let received = ask(&mut session, query("cp_gold"));
    assert_eq!(session.sent(), ["SCHEMA_INFO"]);
    session.feed(&reply("schema_pk")).unwrap();
    assert_eq!(session.sent(), ["FETCH 7 from 1"]);
    let cells =
        ["cp_gold", "id"].map(|text| [&(text.len() as u32 + 1).to_be_bytes()[..], text.as_bytes(), b"\0"].concat());
    let row = [&1i32.to_be_bytes()[..], &[0; 8], &cells.concat(), &[0, 0, 0, 4, 0, 0, 0, 1], &[0xff; 4]].concat();
    session.feed(&frame(1, &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &row, &[1]].concat())).unwrap();
    assert_eq!(received.get().rows, [["cp_gold", "id", "1", "NULL"]]);
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(end(&received), "done");
    session.execute("select 1", vec![]);
    assert_eq!(session.sent(), ["PREPARE select 1 closes 7"]);
    session.feed(&error(0, -2, -493)).unwrap();
    let refused = ask(&mut session, query("cp_gold"));
    session.feed(&reply("schema_bad")).unwrap();
    session.feed(&done(0)).unwrap();
    assert!(end(&refused).contains("-10015"), "{}", end(&refused));
}

#[test]
fn a_plan_is_one_text() {
    let mut session = Conversation::in_block();
    let received = ask(&mut session, Request::Plan { sql: "select 1".into() });
    assert_eq!(session.sent(), ["GET_QUERY_INFO"]);
    session.feed(&frame(1, b"\0\0\0\0Query plan:\0")).unwrap();
    assert_eq!((end(&received).as_str(), received.get().rows), ("done", vec![vec!["Query plan:".to_owned()]]));
}

#[test]
fn the_types_of_parameters_are_the_columns_of_a_result() {
    let mut session = Conversation::start();
    let sql = "insert into cp_gold (v, d) values (?, ?)";
    let received = ask(&mut session, Request::ParameterTypes { sql: sql.into() });
    assert_eq!(session.sent(), [format!("PREPARE {sql}").as_str()]);
    session.feed(&prepared(1, 20, 2)).unwrap();
    assert_eq!(session.sent(), ["PARAMETER_INFO 1"]);
    session.feed(&reply("parameter_info")).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    let received = received.get();
    assert_eq!((received.end.as_deref(), received.columns), (Some("done"), vec!["1".to_owned(), "2".to_owned()]));
    ask(&mut session, Request::ParameterTypes { sql: sql.into() });
    assert_eq!(session.sent(), ["PARAMETER_INFO 1"]);
}

/// The reply to MAKE_OUT_RS: a handle, SELECT, two rows, one column of INT.
fn made(handle: i32) -> Vec<u8> {
    let described = prepared(handle, 21, 0);
    let columns = &described[8 + 14..];
    frame(1, &[&[0; 4][..], &handle.to_be_bytes(), &[21], &2i32.to_be_bytes(), &[0], columns].concat())
}

#[test]
fn a_cursor_that_a_procedure_returns_is_read() {
    let mut session = Conversation::in_block();
    let received = ask(&mut session, Request::Returned { value: 5 });
    assert_eq!(session.sent(), ["MAKE_OUT_RS 5 of 8 bytes"]);
    session.feed(&made(3)).unwrap();
    assert_eq!(session.sent(), ["FETCH 3 from 1"]);
    session.feed(&fetched(1, &[(1, 10), (2, 20)], true)).unwrap();
    assert_eq!(
        (end(&received).as_str(), received.get().rows),
        ("done", vec![vec!["10".to_owned()], vec!["20".into()]])
    );
    let gone = ask(&mut session, Request::Returned { value: 5 });
    session.feed(&error(1, -1, -10_006)).unwrap();
    assert!(end(&gone).contains("-10006"), "{}", end(&gone));
    let outside = ask(&mut Conversation::start(), Request::Returned { value: 5 });
    assert!(end(&outside).contains("in the transaction"), "{}", end(&outside));
}

#[test]
fn a_cursor_is_named_by_a_handle_before_version_11_of_the_protocol() {
    let mut session = Conversation::of_version(10);
    session.verb(Verb::Begin(headrace_core::Modes::default()));
    ask(&mut session, Request::Returned { value: 5 });
    assert_eq!(session.sent(), ["MAKE_OUT_RS 5 of 4 bytes"]);
}

#[test]
fn keys_that_are_missing_are_an_error_of_the_statement() {
    let sql = "insert into t (a) values (1), (2)";
    let row = |at: u8, key: &str| [vec![0, 0, 0, at], vec![0; 8], unhex(key)].concat();
    let head = |columns: u8| [vec![0, 0, 0, 0, 21, 0, 0, 0, 2, 1, 0, 0, 0, columns], unhex(KEY_COLUMN)].concat();
    let (first, second) = (row(1, "0000000400000001"), row(2, "0000000400000002"));
    let two = [0, 0, 0, 2];
    for (wrong, reply) in [
        // As a genuine 11.3.2 has sent it: the last row has no key.
        (true, [head(0), two.to_vec(), first.clone(), row(2, "")].concat()),
        (true, [head(1), two.to_vec(), first.clone(), row(2, "")].concat()),
        (true, [head(1), two.to_vec(), row(1, ""), second.clone()].concat()),
        (true, [head(1)[..14].to_vec(), two.to_vec(), row(1, ""), second.clone()].concat()),
        (true, [head(1), two.to_vec(), first.clone(), row(2, "ffffffff")].concat()),
        (true, [head(1), two.to_vec(), first.clone()].concat()),
        (true, [head(0)[..14].to_vec(), two.to_vec(), row(1, ""), row(2, "")].concat()),
        (false, [head(1), two.to_vec(), first, second].concat()),
    ] {
        let mut session = Conversation::start();
        let execute = Execute { facts: None, sql: sql.into(), rows: ParameterRows::Keys, begin: false };
        let received = session.ask(Request::Execute(execute), vec![], Vec::new());
        session.feed(&prepared(1, 20, 0)).unwrap();
        session.feed(&inserted(1, 2)).unwrap();
        session.sent();
        session.feed(&frame(1, &reply)).unwrap();
        assert_eq!(session.sent(), [if wrong { "END_TRAN ROLLBACK" } else { "END_TRAN COMMIT" }], "{reply:?}");
        session.feed(&done(0)).unwrap();
        assert_eq!(end(&received) == "done", !wrong, "{reply:?}: {}", end(&received));
        assert!(session.machine.is_ready());
    }
}

/// The description of a key: INT, `id`.
const KEY_COLUMN: &str = "0800000000000a00000003696400";

#[test]
fn keys_are_requested_before_the_commit() {
    let mut session = Conversation::start();
    let sql = "insert into t (a) values (?), (8)";
    let execute = Execute { facts: None, sql: sql.into(), rows: ParameterRows::Keys, begin: false };
    let received = session.ask(Request::Execute(execute), vec![V::Int(7)], Vec::new());
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), [format!("PREPARE {sql}").as_str(), "EXECUTE 1 keys"]);
    session.feed(&inserted(1, 2)).unwrap();
    assert_eq!(session.sent(), ["GET_GENERATED_KEYS"]);
    let column = [&[8][..], &[0; 2], &10i32.to_be_bytes(), &3u32.to_be_bytes(), b"id\0"].concat();
    let row =
        |at: i32, value: i32| [&at.to_be_bytes()[..], &[0; 8], &4u32.to_be_bytes(), &value.to_be_bytes()].concat();
    let two = 2i32.to_be_bytes();
    let keys = [&[0; 4][..], &[21], &two, &[0], &1i32.to_be_bytes(), &column, &two, &row(1, 5), &row(2, 6)].concat();
    session.feed(&frame(1, &keys)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(
        (end(&received).as_str(), received.get().rows),
        ("done", vec![vec!["5".to_owned()], vec!["6".to_owned()]])
    );
}
