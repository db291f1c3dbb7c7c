//! What clients are told of statements, and what becomes of it when tables change.

use crate::relay::{Pair, Say, TEXT, columns, completed, description, error, replies, say, texts, without_numbers};
use headrace_daemon::postgres::relay::RelayStep;
use headrace_daemon::postgres::relay::ServerState;
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn statement_that_was_described_on_a_session_is_described_here() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let described = |sync: bool| {
        let said = say().parse("a", "select 1").describe("a");
        if sync { said.sync() } else { said.flush() }
    };
    assert_eq!(pair.client(&described(true).0), Ok(RelayStep::Wait));
    pair.server(&replies(b"1tTZI"));
    assert_eq!(pair.told(), replies(b"1tTZI"));
    pair.sent();
    // Others on the same session have the server only execute.
    for sync in [true, false] {
        let mut other = Pair::new(&catalog);
        std::mem::swap(&mut other.server, &mut pair.server);
        assert_eq!(other.client(&described(sync).0), Ok(RelayStep::Wait));
        assert_eq!(other.told(), replies(if sync { b"1tTZI" } else { b"1tT" }));
        assert_eq!(other.sent(), b"");
        assert_eq!(other.relay.is_settled(&other.server), sync);
        assert_eq!(other.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
        assert_eq!(without_numbers(&other.sent()), without_numbers(&say().bind("headraced_1").execute().sync().0));
        other.server(&replies(b"2DCZI"));
        assert_eq!(other.told(), replies(b"2DCZI"));
        std::mem::swap(&mut other.server, &mut pair.server);
    }
    // A session that has not described it is asked.
    let mut other = Pair::new(&catalog);
    assert_eq!(other.client(&described(true).0), Ok(RelayStep::Wait));
    let sent = say().parse("headraced_1", "select 1").describe("headraced_1").sync();
    assert_eq!(without_numbers(&other.sent()), without_numbers(&sent.0));
}

#[test]
fn changed_table_makes_the_server_describe_again() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let described = || say().parse("a", "select * from t").describe("a").sync();
    assert_eq!(pair.client(&described().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"1tTZI"));
    assert_eq!(pair.client(&say().query("alter table t add b int").0), Ok(RelayStep::Wait));
    let mut altered = Vec::new();
    frontend::message(&mut altered, backend::COMMAND_COMPLETE, |out| out.extend_from_slice(b"ALTER TABLE\0"));
    altered.extend(replies(b"ZI"));
    pair.server(&altered);
    pair.sent();
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    assert_eq!(other.client(&described().0), Ok(RelayStep::Wait));
    let sent = say().parse("headraced_1", "select * from t").describe("headraced_1").sync();
    assert_eq!(without_numbers(&other.sent()), without_numbers(&sent.0));
}

#[test]
fn description_that_comes_after_another_parse_was_sent_is_not_that_of_the_server() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("a", TEXT).sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    // The session has room for two statements, so the first is closed and prepared again.
    let said = say().describe("a").parse("b", "select 2").parse("c", "select 3").bind("a").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "select 2", "C", "select 3", "C", TEXT, "B", "E", "S"]);
    pair.answer(&[description(23), replies(b"131312DCZI")].concat());
    assert_eq!(pair.client(&say().describe("a").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "S"], "the server is asked for it");
}

/// What a client sends to be told of a statement, each with the answer.
type WayToBeTold = Vec<(Say, Vec<u8>)>;

fn ways_to_be_told() -> [WayToBeTold; 4] {
    let by_portal = |format| {
        let said = say().parse("a", TEXT).bind("a").describe_portal("").execute().sync();
        vec![(said, [replies(b"12"), columns(23, format), replies(b"DCZI")].concat())]
    };
    [
        vec![(say().parse("a", TEXT).describe("a").sync(), [replies(b"1"), description(23), replies(b"ZI")].concat())],
        by_portal(0),
        by_portal(1),
        vec![
            (say().query("begin").parse("a", TEXT).bind_portal("p", "a").sync(), replies(b"CZT12ZT")),
            (
                say().bind_portal("q", "a").describe_portal("p").sync(),
                [replies(b"2"), columns(23, 1), replies(b"ZT")].concat(),
            ),
            (say().query("commit"), replies(b"CZI")),
        ],
    ]
}

/// A client that was told of a statement, and is lent a session that has not prepared it.
fn told_elsewhere(way: &WayToBeTold) -> Pair {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    for (said, answered) in way {
        assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
        pair.answer(answered);
        assert_eq!(pair.told(), *answered);
    }
    pair.sent();
    // The same session, which need not be asked.
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
    pair.answer(&replies(b"2DCZI"));
    pair.told();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [TEXT, "D", "H"]);
    pair
}

#[test]
fn statement_that_is_prepared_again_is_what_the_client_was_told() {
    for way in &ways_to_be_told() {
        let mut pair = told_elsewhere(way);
        pair.answer(&[replies(b"1"), description(23)].concat());
        assert_eq!(pair.told(), b"");
        assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
        pair.answer(&replies(b"2DCZI"));
        assert_eq!(pair.told(), replies(b"2DCZI"));
        // It is known there now.
        assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
    }
}

#[test]
fn statement_whose_columns_have_changed_is_refused_as_by_the_server() {
    ways_to_be_told().iter().for_each(is_refused_as_by_the_server);
}

fn is_refused_as_by_the_server(way: &WayToBeTold) {
    let mut pair = told_elsewhere(way);
    pair.answer(&[replies(b"1"), description(25)].concat());
    let sent = pair.sent();
    assert_eq!(texts(&sent), ["headraced_outdated", "E", "S"], "it is not executed");
    let mut refused = Vec::new();
    let fields = b"SERROR\0C42601\0Msyntax error\0\0";
    frontend::message(&mut refused, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields));
    pair.answer(&[refused, replies(b"ZI")].concat());
    let told = String::from_utf8_lossy(&pair.told()).into_owned();
    assert!(told.contains("C0A000\0Mcached plan must not change result type\0"), "{told}");
    assert!(told.contains("RRevalidateCachedQuery\0") && !told.contains("42601"), "{told}");
    assert!(pair.relay.is_settled(&pair.server));
    // The client prepares it again.
    assert_eq!(pair.client(&say().parse("b", "select a from t").describe("b").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["C", "select a from t", "D", "S"]);
}

#[test]
fn portal_whose_bind_was_skipped_says_nothing_of_a_statement() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let said = say().parse("a", TEXT).parse("b", "select b from t").query("begin");
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"11CZT"));
    assert_eq!(pair.client(&say().bind_portal("p", "a").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"2ZT"));
    let said = say().bind("nosuch").bind_portal("p", "b").sync().query("rollback to s").describe_portal("p").sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"EZECZT"), columns(23, 1), replies(b"ZT")].concat());
    assert_eq!(pair.client(&say().query("commit").0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"CZI"));
    pair.sent();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("b").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["select b from t", "B", "E", "S"], "the client was not told of it");
    pair.answer(&replies(b"12DCZI"));
    pair.sent();
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [TEXT, "D", "H"], "it was told of this one");
}

#[test]
fn client_with_more_portals_than_are_remembered_keeps_its_session() {
    let most = headrace_daemon::limits::PORTALS;
    for (closes, keeps) in [(true, false), (false, true)] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert_eq!(pair.client(&say().parse("a", TEXT).query("begin").0), Ok(RelayStep::Wait));
        pair.answer(&replies(b"1CZT"));
        for n in 0..=most {
            let bound = say().bind_portal(&format!("p{n}"), "a");
            let said = if closes { bound.close_portal(&format!("p{n}")) } else { bound };
            assert_eq!(pair.client(&said.sync().0), Ok(RelayStep::Wait));
            pair.answer(&replies(if closes { b"23ZT" } else { b"2ZT" }));
        }
        assert_eq!(pair.relay.pinned().is_some(), keeps);
    }
}

#[test]
fn columns_that_are_those_of_a_cursor_are_not_compared() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let said = say().parse("a", "fetch 1 from c").bind("a").describe_portal("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"12"), columns(23, 0), replies(b"DCZI")].concat());
    pair.sent();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["fetch 1 from c", "B", "E", "S"]);
}

/// A client within a transaction or behind other messages, on a session on which others have prepared [`TEXT`] a while ago.
fn where_others_have_prepared_it(in_transaction: bool) -> Pair {
    let catalog = Arc::new(Catalog::default());
    let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
    assert_eq!(pair.client(&say().parse("a", TEXT).describe("a").sync().0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"1"), description(23), replies(b"ZI")].concat());
    std::mem::swap(&mut pair.server, &mut other.server);
    other.finds_all_fitting = false;
    if in_transaction {
        assert_eq!(other.client(&say().query("begin").0), Ok(RelayStep::Wait));
        other.answer(&completed("BEGIN", b'T'));
    }
    other.sent();
    other.told();
    other
}

#[test]
fn statement_of_others_is_parsed_again_where_the_server_cannot_be_asked() {
    for in_transaction in [true, false] {
        let status = if in_transaction { b'T' } else { b'I' };
        let mut pair = where_others_have_prepared_it(in_transaction);
        let before = if in_transaction { say() } else { say().parse("", "select 1").bind("").execute() };
        let said = Say([before.0.clone(), say().parse("b", TEXT).bind("b").execute().sync().0].concat());
        assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
        let mut sent = texts(&pair.sent());
        assert_eq!(sent.split_off(sent.len() - 6), ["C", TEXT, "D", "B", "E", "S"]);
        let first: &[u8] = if in_transaction { b"" } else { b"12DC" };
        let rest = replies(&[&b"2DCZ"[..], &[status]].concat());
        pair.answer(&[replies(&[first, b"31"].concat()), description(23), rest.clone()].concat());
        let told = [replies(&[first, b"1"].concat()), rest].concat();
        assert_eq!(pair.told(), told, "neither the Close nor the Describe is the client's");
    }
}

#[test]
fn statement_of_others_that_was_to_be_parsed_again_is_closed_later_if_that_was_skipped() {
    let mut pair = where_others_have_prepared_it(true);
    let said = say().bind("nosuch").parse("b", TEXT).bind("b").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["B", "C", TEXT, "D", "B", "E", "S"]);
    pair.answer(&replies(b"EZE"));
    assert_eq!(pair.client(&say().query("rollback").0), Ok(RelayStep::Wait));
    pair.answer(&completed("ROLLBACK", b'I'));
    pair.sent();
    assert_eq!(pair.client(&say().parse("b", TEXT).bind("b").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["C", TEXT, "B", "E", "S"]);
}

#[test]
fn statement_of_others_is_checked_before_a_client_gets_it() {
    let catalog = Arc::new(Catalog::default());
    for changed in [false, true] {
        let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
        assert_eq!(pair.client(&say().parse("a", "select a from t").describe("a").sync().0), Ok(RelayStep::Wait));
        pair.answer(&[replies(b"1"), description(23), replies(b"ZI")].concat());
        std::mem::swap(&mut pair.server, &mut other.server);
        other.finds_all_fitting = false;
        assert_eq!(other.client(&say().parse("b", "select a from t").sync().0), Ok(RelayStep::Wait));
        assert_eq!(texts(&other.sent()), ["D", "S"]);
        other.answer(&replies(b"N"));
        other.told();
        assert_eq!(other.sent(), b"", "the server is asked once");
        match changed {
            false => {
                other.answer(&[description(23), replies(b"ZI")].concat());
                assert_eq!(other.told(), replies(b"1ZI"));
                assert_eq!(other.sent(), b"");
            }
            true => {
                other.answer(&replies(b"EZI"));
                assert_eq!(other.told(), b"");
                assert_eq!(texts(&other.sent()), ["C", "select a from t", "S"]);
            }
        }
        catalog.clear();
    }
}

/// A client on a session on which others have prepared [`TEXT`], which prepares and executes it in one group.
fn executed_at_once(more: Say) -> (Pair, Arc<Catalog>) {
    let catalog = Arc::new(Catalog::default());
    let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
    other.finds_all_fitting = false;
    assert_eq!(pair.client(&say().parse("a", TEXT).describe("a").sync().0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"1"), description(23), replies(b"ZI")].concat());
    std::mem::swap(&mut pair.server, &mut other.server);
    let said = say().parse("b", TEXT).bind("b").describe_portal("").execute().sync();
    assert_eq!(other.client(&[said.0, more.0].concat()), Ok(RelayStep::Wait));
    assert_eq!(texts(&other.sent()), ["D", "B", "D", "E", "S"], "in one write, and nothing after it");
    assert!(!other.relay.is_settled(&other.server));
    (other, catalog)
}

/// What the server refuses to describe it by.
fn outdated() -> Vec<u8> {
    let mut out = Vec::new();
    let fields = b"SERROR\0VERROR\0C0A000\0Mcached plan must not change result type\0RRevalidateCachedQuery\0\0";
    frontend::message(&mut out, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields));
    out
}

#[test]
pub fn group_that_executes_a_statement_of_others_does_not_wait_for_whether_it_fits() {
    let answer = [description(23), replies(b"2"), columns(23, 0), replies(b"DCZI")].concat();
    let told = [replies(b"12"), columns(23, 0), replies(b"DCZI")].concat();
    for at in 0..=answer.len() {
        let (mut pair, _) = executed_at_once(say().query("select 2"));
        pair.server(&answer[..at]);
        assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
        pair.server(&answer[at..]);
        assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
        assert_eq!(pair.told(), told, "cut at {at}");
        assert_eq!(texts(&pair.sent()), ["select 2"], "cut at {at}");
        pair.answer(&replies(b"CZI"));
        assert!(pair.relay.is_settled(&pair.server));
    }
}

#[test]
pub fn group_whose_statement_does_not_fit_is_passed_on_again_before_what_comes_after_it() {
    for code in [outdated(), error("42P01", "relation \"t\" does not exist")] {
        let answer = [code, replies(b"ZI")].concat();
        for at in 0..=answer.len() {
            let (mut pair, _) = executed_at_once(say().query("select 2"));
            pair.server(&answer[..at]);
            assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
            assert!(at == answer.len() || pair.sent().is_empty() && pair.relay.is_waiting_for_replies());
            pair.server(&answer[at..]);
            assert!(!pair.relay.is_settled(&pair.server) && pair.relay.is_waiting_for_replies() || at == answer.len());
            assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
            assert_eq!(pair.told(), b"");
            assert_eq!(texts(&pair.sent()), ["C", TEXT, "B", "D", "E", "S", "select 2"], "cut at {at}");
            pair.answer(&[replies(b"312"), columns(25, 0), replies(b"DCZICZI")].concat());
            assert_eq!(pair.told(), [replies(b"12"), columns(25, 0), replies(b"DCZICZI")].concat());
            assert!(pair.relay.is_settled(&pair.server));
            assert_eq!((pair.relay.counters.spared, pair.relay.counters.errors.len()), (0, 0));
            // The name is that of the new statement.
            assert_eq!(pair.client(&say().bind("b").execute().sync().0), Ok(RelayStep::Wait));
            assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
        }
    }
}

#[test]
pub fn error_that_says_nothing_of_the_statement_is_the_clients() {
    for code in ["57014", "55P03", "40P01", "57P01"] {
        let (mut pair, catalog) = executed_at_once(say());
        pair.answer(&[error(code, "canceling statement due to user request"), replies(b"ZI")].concat());
        assert_eq!(pair.told(), [error(code, "canceling statement due to user request"), replies(b"ZI")].concat());
        assert!(pair.relay.is_settled(&pair.server) && pair.sent().is_empty());
        assert_eq!(catalog.shown().len(), 1, "others have it");
        // Where the server is asked before.
        assert_eq!(pair.client(&say().parse("c", TEXT).sync().0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), ["D", "S"]);
        pair.answer(&[error(code, "canceling statement due to user request"), replies(b"ZI")].concat());
        assert_eq!(texts(&pair.sent()), ["S"], "the Parse is not executed");
        pair.answer(&replies(b"ZI"));
        assert_eq!(pair.told(), [error(code, "canceling statement due to user request"), replies(b"ZI")].concat());
        assert!(pair.relay.is_settled(&pair.server));
        assert_eq!(pair.client(&say().bind("c").execute().sync().0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), ["B", "E", "S"], "a name that is not there");
    }
}

#[test]
fn error_of_the_execution_after_the_statement_was_described_is_the_clients() {
    let (mut pair, _) = executed_at_once(say());
    pair.answer(&[description(23), replies(b"2"), columns(23, 0), outdated(), replies(b"ZI")].concat());
    assert_eq!(pair.told(), [replies(b"12"), columns(23, 0), outdated(), replies(b"ZI")].concat());
    assert!(pair.relay.is_settled(&pair.server) && pair.sent().is_empty());
}
