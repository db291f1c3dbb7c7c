//! Prepared statements: their names, and who has them.

use crate::relay::{Pair, completed, converse, error, is_parsed, replies, say, texts, with_statement, without_numbers};
use headrace_daemon::postgres::relay::{Relay, RelayStep, ServerState};
use headrace_daemon::postgres::statements::Catalog;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn statement_has_its_own_name_on_the_server_and_is_prepared_once() {
    let once = || say().parse("a", "select 1").describe("a").bind("a").execute().sync();
    let named = || say().parse("headraced_1", "select 1").describe("headraced_1").bind("headraced_1").execute().sync();
    let rounds = [(once(), &b"1tT2DCZI"[..], &b"1tT2DCZI"[..]), (say().bind("a").execute().sync(), b"2DCZI", b"2DCZI")];
    converse(&rounds, &[named(), say().bind("headraced_1").execute().sync()]);
}

#[test]
fn parse_of_a_known_text_is_answered_here_in_its_place() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    // Another client, on the same session.
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    let said = say().parse("b", "select 1").bind("b").execute().close("b").sync();
    assert_eq!(other.client(&said.0), Ok(RelayStep::Wait));
    assert_eq!(other.relay.counters.spared, 1);
    // Its ParseComplete is sent together with what comes next.
    assert_eq!(other.told(), b"");
    other.server(&replies(b"2DCZI"));
    assert_eq!(other.told(), replies(b"12DC3ZI"));
    assert!(other.relay.is_settled(&other.server));
}

#[test]
fn changed_schema_has_texts_parsed_again() {
    for tag in ["ALTER TABLE", "DROP TABLE", "CREATE VIEW", "DO"] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        let answered = |pair: &mut Pair, sql: &str, tag: &str, status: u8| {
            assert_eq!(pair.client(&say().query(sql).0), Ok(RelayStep::Wait));
            pair.server(&completed(tag, status));
            pair.sent();
        };
        assert!(is_parsed(&mut pair, "a"));
        assert!(!is_parsed(&mut pair, "b"));
        answered(&mut pair, "begin", "BEGIN", b'T');
        assert!(!is_parsed(&mut pair, "c"));
        answered(&mut pair, "...", tag, b'T');
        assert!(is_parsed(&mut pair, "d"), "{tag}");
        assert!(!is_parsed(&mut pair, "e"));
        answered(&mut pair, "rollback", "ROLLBACK", b'I');
        assert!(is_parsed(&mut pair, "f"), "what was changed is as before {tag}");
        assert!(!is_parsed(&mut pair, "g"));
        answered(&mut pair, "commit", "COMMIT", b'I');
        assert!(!is_parsed(&mut pair, "h"));
    }
}

#[test]
fn temporary_table_has_texts_parsed_again_for_its_own_client_only() {
    let catalog = Arc::new(Catalog::default());
    let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
    assert!(is_parsed(&mut pair, "a"));
    assert!(is_parsed(&mut other, "a"));
    assert_eq!(pair.client(&say().query("create temp table t (a int)").0), Ok(RelayStep::Wait));
    pair.server(&completed("CREATE TABLE", b'I'));
    pair.sent();
    assert!(!is_parsed(&mut other, "b"));
    assert!(is_parsed(&mut pair, "b"));
}

#[test]
fn statement_that_the_session_lacks_is_prepared_before_it_is_used() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(RelayStep::Wait));
    let expected = say().parse("headraced_1", "select 1").bind("headraced_1").execute().sync();
    assert_eq!(without_numbers(&pair.sent()), without_numbers(&expected.0));
    pair.server(&replies(b"12DCZI"));
    assert_eq!(pair.told(), replies(b"2DCZI"));
}

#[test]
fn session_keeps_so_many_statements_and_closes_the_one_used_least() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    for (n, told) in [b"1ZI", b"1ZI"].into_iter().enumerate() {
        assert_eq!(pair.client(&say().parse(&format!("s{n}"), &format!("select {n}")).sync().0), Ok(RelayStep::Wait));
        pair.server(&replies(told));
    }
    pair.sent();
    pair.told();
    assert_eq!(pair.client(&say().bind("s0").execute().parse("s2", "select 2").sync().0), Ok(RelayStep::Wait));
    let sent = without_numbers(&pair.sent());
    assert!(sent.contains("CS<1>"), "{sent}");
    pair.server(&replies(b"2C31ZI"));
    assert_eq!(pair.told(), replies(b"2C1ZI"));
    assert_eq!(pair.server.prepared.len(), 2);
}

#[test]
fn statement_that_its_client_has_closed_is_parsed_again_and_then_shared() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let prepare = || say().parse("a", "select 1").sync().0;
    for (said, replied, told) in
        [(prepare(), &b"1ZI"[..], &b"1ZI"[..]), (say().close("a").sync().0, b"", b"3ZI"), (prepare(), b"1ZI", b"1ZI")]
    {
        assert_eq!(pair.client(&said), Ok(RelayStep::Wait));
        pair.server(&replies(replied));
        assert_eq!(pair.told(), replies(told));
    }
    assert_eq!(pair.relay.counters.prepared, 2);
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    assert_eq!(other.client(&prepare()), Ok(RelayStep::Wait));
    assert_eq!(other.told(), replies(b"1ZI"));
}

#[test]
fn text_under_a_taken_name_does_not_become_a_shared_statement() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("n1", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    // Another session, which has not prepared it. The hidden Parse is skipped with its group.
    pair.server = ServerState::new(BTreeMap::new(), 2);
    let said = say().describe("nosuch").bind("n1").execute().sync().parse("n1", "select 2").sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "select 1", "B", "E", "S"]);
    pair.answer(&replies(b"EZI"));
    assert_eq!(texts(&pair.sent()), ["select 1", "select 2", "S"], "the name is taken on the server before");
    pair.answer(&replies(b"1EZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn errors_have_the_names_of_the_client() {
    for said in [say().parse("n1", "select 2").sync(), say().bind("n1").sync()] {
        let (mut pair, name) = with_statement();
        assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
        pair.answer(&[error("42P05", &format!("statement \"{name}\" is the culprit")), replies(b"ZI")].concat());
        assert_eq!(pair.told(), [error("42P05", "statement \"n1\" is the culprit"), replies(b"ZI")].concat());
        pair.sent();
        assert_eq!(pair.client(&say().bind("n1").sync().0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), ["B", "S"], "it is what it was");
    }
}

#[test]
fn statement_of_others_is_not_deallocated() {
    let (mut pair, name) = with_statement();
    pair.sent();
    let sql = format!("deallocate {name}");
    let said = say().query(&sql).parse("", &sql).bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    let foreign = format!("DEALLOCATE \"{}\"", name.replace('_', "_?"));
    assert_eq!(texts(&pair.sent()).concat(), foreign);
    pair.answer(&[error("26000", "no such statement"), replies(b"ZI")].concat());
    assert_eq!(texts(&pair.sent())[0], foreign);
}

#[test]
fn statement_that_a_function_has_deallocated_is_prepared_again() {
    let (mut pair, _) = with_statement();
    assert_eq!(pair.client(&say().bind("n1").execute().sync().0), Ok(RelayStep::Wait));
    pair.answer(&[error("26000", "prepared statement does not exist"), replies(b"ZI")].concat());
    pair.sent();
    assert_eq!(pair.client(&say().bind("n1").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["select 1", "B", "E", "S"]);
}

#[test]
fn name_whose_statement_a_function_has_deallocated_is_free() {
    let (mut pair, _) = with_statement();
    assert_eq!(pair.client(&say().parse("n1", "select 2").sync().bind("n1").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["select 2", "S"]);
    pair.answer(&replies(b"1ZI"));
    assert_eq!(pair.told(), replies(b"1ZI"));
    assert_eq!(texts(&pair.sent()), ["C", "select 2", "B", "S"], "under a name that is nobody else's");
}

#[test]
fn text_with_a_backslash_in_a_string_is_parsed_once_and_shared() {
    let text = r"select regexp_replace(a, '\d+', '') from t where b like '\_%'";
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("s", text).sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    let bound = say().bind("s").execute().sync();
    assert_eq!(pair.client(&bound.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
    pair.answer(&replies(b"2CZI"));
    pair.relay = Relay::new(Arc::clone(&catalog), BTreeMap::new());
    assert_eq!(pair.client(&say().parse("other", text).sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), Vec::<String>::new(), "the question whether it fits is not shown");
}

#[test]
fn unnamed_statement_is_there_again_when_a_parse_in_its_place_is_skipped() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().query("begin").0), Ok(RelayStep::Wait));
    pair.answer(&completed("BEGIN", b'T'));
    assert_eq!(pair.client(&say().parse("", "insert into t values (1)").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZT"));
    for (group, replied, is_left) in [
        (say().bind("none").parse("", "select 1").parse("", "select 2").sync(), &b"E"[..], true),
        // One that is refused has ended the one before.
        (say().parse("", "selec").parse("", "select 2").sync(), b"E", false),
    ] {
        pair.sent();
        assert_eq!(pair.client(&group.0), Ok(RelayStep::Wait));
        pair.answer(&replies(&[replied, b"ZE"].concat()));
        pair.sent();
        pair.told();
        assert_eq!(pair.client(&say().describe("").sync().0), Ok(RelayStep::Wait));
        let sent = texts(&pair.sent());
        assert_eq!(sent.len(), if is_left { 2 } else { 3 }, "{sent:?}");
        pair.answer(&replies(if is_left { b"tnZE" } else { b"3EZE" }));
        assert_eq!(pair.told(), replies(if is_left { b"tnZE" } else { b"EZE" }));
    }
    // Another group has one parsed meanwhile.
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    let first = say().bind("none").parse("", "select 2").sync();
    let second = say().bind("none").parse("", "select 3").sync();
    assert_eq!(pair.client(&[first.0, second.0].concat()), Ok(RelayStep::Wait));
    pair.answer(&replies(b"EZIEZI"));
    pair.sent();
    assert_eq!(pair.client(&say().bind("").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["select 1", "B", "S"]);
}
