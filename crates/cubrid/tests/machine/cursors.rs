//! Results that stay open, the catalogue, plans, and generated keys.

use crate::support::session::Session;
use crate::support::{done, error, fetched, frame, inserted, prepared, reply, selected};
use headrace_core::{IfUnsent, Session as _, Verb};
use headrace_cubrid::machine::{Execute, Request, Rows};
use headrace_testkit::{Shared, TestValue as V};

const SELECT: &str = "select a from t where a > ?";

fn open(session: &mut Session, holds: bool) -> Shared {
    let request = Request::Open { sql: SELECT.into(), number: 7, holds, begin: false };
    session.ask(request, vec![V::Int(1)], Vec::new())
}

fn ask(session: &mut Session, request: Request) -> Shared {
    session.ask(request, Vec::new(), Vec::new())
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

#[test]
pub fn a_result_that_stays_open_is_read_page_by_page() {
    let mut session = Session::in_block();
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
    let mut session = Session::in_block();
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
    let mut session = Session::start();
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
    let mut session = Session::start();
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
    let mut session = Session::in_block();
    let received = ask(&mut session, Request::Plan { sql: "select 1".into() });
    assert_eq!(session.sent(), ["GET_QUERY_INFO"]);
    session.feed(&frame(1, b"\0\0\0\0Query plan:\0")).unwrap();
    assert_eq!((end(&received).as_str(), received.get().rows), ("done", vec![vec!["Query plan:".to_owned()]]));
}

#[test]
fn keys_are_requested_before_the_commit() {
    let mut session = Session::start();
    let sql = "insert into t (a) values (?), (8)";
    let execute = Execute { sql: sql.into(), rows: Rows::Keys, begin: false };
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
