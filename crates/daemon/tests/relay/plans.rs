//! When the server is told to make its plans again.

use crate::relay::groups::parameter_status;
use crate::relay::{Pair, completed, error, replies, say, texts};
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_daemon::postgres::relay::{Relay, RelayStep};
use headrace_daemon::postgres::statements::Catalog;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A group of the daemon's own, as [`texts`] shows it.
const OWN: [&str; 7] = ["C", "DISCARD PLANS", "B", "E", "C", "C", "S"];

/// What a client of this time zone sends first, when a session is lent to it that others have had.
fn lent(pair: &mut Pair, catalog: &Arc<Catalog>, zone: &str) -> Vec<String> {
    pair.relay = Relay::new(Arc::clone(catalog), BTreeMap::from([("TimeZone".into(), zone.into())]));
    let mut out = WriteBuffer::new();
    pair.relay.adapt(&mut pair.server, &mut out);
    let sent = texts(&out.take());
    for _ in &sent {
        pair.server.parameters.insert("TimeZone".into(), zone.into());
        pair.answer(&replies(b"CZI"));
    }
    sent
}

fn asks(pair: &mut Pair, sql: &str) -> Vec<String> {
    assert_eq!(pair.client(&say().query(sql).0), Ok(RelayStep::Wait));
    texts(&pair.sent())
}

#[test]
pub fn plans_are_made_again_for_a_client_with_other_settings_only() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let set = "SET SESSION TimeZone TO E'Asia/Tokyo';DISCARD PLANS";
    assert_eq!(lent(&mut pair, &catalog, "Asia/Tokyo"), [set]);
    assert!(lent(&mut pair, &catalog, "Asia/Tokyo").is_empty());
    // It is what it was.
    assert_eq!(asks(&mut pair, "set timezone to 'Asia/Tokyo'"), ["set timezone to 'Asia/Tokyo'"]);
    pair.answer(&completed("SET", b'I'));
    assert!(lent(&mut pair, &catalog, "Asia/Tokyo").is_empty());
    // The settings are those that it has, but what was planned in between is not known.
    let within: Vec<&str> = OWN.into_iter().chain(["select set_config('timezone', 'UTC', true), f()"]).collect();
    assert_eq!(asks(&mut pair, within[7]), within, "f() may have a plan of before");
    pair.answer(&replies(b"312C33ZI"));
    pair.told();
    pair.answer(&completed("SELECT 1", b'I'));
    assert_eq!(lent(&mut pair, &catalog, "Asia/Tokyo"), ["DISCARD PLANS"]);
    // Something was made, on any session.
    catalog.clear();
    assert_eq!(lent(&mut pair, &catalog, "Asia/Tokyo"), ["DISCARD PLANS"]);
    pair.server.plans.reset();
    assert!(lent(&mut pair, &catalog, "Asia/Tokyo").is_empty());
    pair.server.plans.reset();
    // A new session, and one that was reset, has none.
    assert_eq!(asks(&mut pair, "create table t (n int)").len(), 1);
    pair.server.plans.reset();
    pair.server.plans.reset();
    assert_eq!(asks(&mut pair, "create table t (n int)").len(), 1);
}

#[test]
pub fn plans_are_made_again_after_what_changes_names() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let create = "create temp table t (n int)";
    assert_eq!(asks(&mut pair, create), [create]);
    pair.answer(&completed("CREATE TABLE", b'I'));
    let expected: Vec<&str> = OWN.into_iter().chain(["select f()"]).collect();
    assert_eq!(asks(&mut pair, "select f()"), expected);
    pair.answer(&replies(b"312C33ZI"));
    assert!(pair.told().ends_with(&completed("CREATE TABLE", b'I')), "it is not the client's");
    pair.answer(&replies(b"TDCZI"));
    assert_eq!(asks(&mut pair, "select f()"), ["select f()"], "once");
    pair.answer(&replies(b"TDCZI"));
    // In one group it is a part of that.
    let group = say().parse("", create).bind("").execute().parse("", "select f()").bind("").execute().sync();
    assert_eq!(pair.client(&group.0), Ok(RelayStep::Wait));
    let own = &OWN[..6];
    let expected: Vec<&str> = [&[create, "B", "E"], own, &["select f()", "B", "E", "S"]].concat();
    assert_eq!(texts(&pair.sent()), expected);
    pair.told();
    pair.answer(&replies(b"12C312C3312DCZI"));
    assert_eq!(pair.told(), replies(b"12C12DCZI"));
    assert_eq!(pair.client(&say().parse("", "select f()").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [&OWN[..], &["select f()", "S"]].concat(), "it was executed meanwhile");
}

#[test]
fn setting_that_is_not_reported_yet_has_plans_made_again_once() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let set = "set timezone to 'Asia/Tokyo'";
    let group = say().parse("s", "select f()").bind("s").execute().bind("s").execute().sync();
    assert_eq!(pair.client(&[say().query(set).0, group.0].concat()), Ok(RelayStep::Wait));
    let expected = [&[set], &OWN[..], &["select f()", "B", "E", "B", "E", "S"]].concat();
    assert_eq!(texts(&pair.sent()), expected);
    let answers = replies(b"ZI312C33ZI12DC2DCZI");
    pair.answer(&[parameter_status("TimeZone", "Asia/Tokyo"), answers].concat());
    assert!(pair.relay.is_settled(&pair.server));
    // By which settings they were made is compared where the session is lent next.
    assert_eq!(lent(&mut pair, &catalog, "UTC"), ["SET SESSION TimeZone TO E'UTC';DISCARD PLANS"]);
}

#[test]
fn begin_in_a_group_is_first_in_its_transaction() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let set = say().parse("", "set timezone to 'UTC'").bind("").execute().sync();
    let begin = say().parse("", "begin").bind("").execute().sync();
    assert_eq!(pair.client(&[set.0, begin.0].concat()), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["set timezone to 'UTC'", "B", "E", "S", "begin", "B", "E", "S"]);
}

#[test]
fn nothing_comes_before_what_has_to_be_first_in_a_transaction() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let texts_of = [
        "begin; set local timezone to 'UTC'; set transaction read only; select 1",
        "set transaction isolation level serializable",
    ];
    let sent = "begin; set local timezone to 'UTC'; set transaction read only;DISCARD PLANS; select 1";
    assert_eq!(asks(&mut pair, texts_of[0]), [sent]);
    pair.answer(&[replies(b"CCCCTDC"), replies(b"ZT")].concat());
    assert_eq!(pair.told(), replies(b"CCCTDCZT"));
    assert_eq!(asks(&mut pair, texts_of[1]), [texts_of[1]]);
    pair.answer(&completed("SET", b'T'));
    let expected: Vec<&str> = OWN.into_iter().chain(["select 1"]).collect();
    assert_eq!(asks(&mut pair, "select 1"), expected);
}

#[test]
fn script_that_begins_with_what_plans_nothing_has_plans_made_again_within() {
    for (text, expected) in [
        ("begin; select f(); commit", vec!["begin;DISCARD PLANS; select f(); commit"]),
        ("set lock_timeout = 0; lock t; select f()", vec!["set lock_timeout = 0; lock t;DISCARD PLANS; select f()"]),
        ("begin; lock t", vec!["begin; lock t"]),
        (r"show timezone; select '\'; select f()", [&OWN[..], &[r"show timezone; select '\'; select f()"]].concat()),
    ] {
        let catalog = Arc::default();
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        assert_eq!(asks(&mut pair, "create temp table t (n int)").len(), 1);
        pair.answer(&completed("CREATE TABLE", b'I'));
        assert_eq!(asks(&mut pair, text), expected);
    }
}

#[test]
fn nothing_comes_before_commit_while_it_is_not_known_whether_the_transaction_has_failed() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert_eq!(asks(&mut pair, "begin"), ["begin"]);
    pair.answer(&completed("BEGIN", b'T'));
    let fails = "set local timezone to 'UTC';DISCARD PLANS; select 1/0";
    let commit = say().close("x").parse("", "commit").bind("").execute().sync();
    let both = [say().query("set local timezone to 'UTC'; select 1/0").0, commit.0].concat();
    assert_eq!(pair.client(&both), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [fails]);
    pair.answer(&replies(b"CCEZE"));
    assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["C", "commit", "B", "E", "S"]);
}

#[test]
fn nothing_comes_before_a_lock_and_discard_all() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert_eq!(asks(&mut pair, "create temp table t (n int)").len(), 1);
    pair.answer(&completed("CREATE TABLE", b'I'));
    for (text, tag) in [("begin isolation level repeatable read", "BEGIN"), ("lock table t", "LOCK TABLE")] {
        assert_eq!(asks(&mut pair, text), [text]);
        pair.answer(&completed(tag, b'T'));
    }
    let expected: Vec<&str> = OWN.into_iter().chain(["select f()"]).collect();
    assert_eq!(asks(&mut pair, "select f()"), expected);
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let set = say().parse("", "set timezone to 'UTC'").bind("").execute().sync();
    let discard = say().parse("", "discard all").bind("").execute().sync();
    assert_eq!(pair.client(&[set.0, discard.0].concat()), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["set timezone to 'UTC'", "B", "E", "S", "discard all"]);
    pair.answer(&replies(b"12CZI1"));
    assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
    assert!(!texts(&pair.sent()).contains(&"DISCARD PLANS".to_owned()));
}

#[test]
fn nothing_comes_between_a_close_and_what_may_have_to_be_alone() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert_eq!(asks(&mut pair, "create table t (n int)").len(), 1);
    pair.answer(&completed("CREATE TABLE", b'I'));
    let group = say().close("unknown").parse("", "call p()").bind("").execute().sync();
    assert_eq!(pair.client(&group.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [&OWN[..], &["C", "call p()", "B", "E", "S"]].concat());
}

#[test]
pub fn transaction_that_has_failed_refuses_it_and_has_it_done_later() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let create = "create temp table t (n int)";
    let refused = [error("25P02", "no"), replies(b"ZE")].concat();
    for other in ["select 1", create] {
        let both = say().query(create).query(other);
        assert_eq!(pair.client(&both.0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), [&[create], &OWN[..], &[other]].concat());
        // A transaction was open, and the first has failed.
        pair.answer(&refused.repeat(3));
        assert_eq!(pair.told(), refused.repeat(2));
        pair.server.status = TransactionStatus::Idle;
        pair.server.plans.reset();
    }
    pair.server.status = TransactionStatus::Failed;
    assert_eq!(asks(&mut pair, create), [create]);
    pair.answer(&refused);
    assert_eq!(asks(&mut pair, "select 1"), ["select 1"]);
    pair.answer(&replies(b"EZE"));
    assert_eq!(asks(&mut pair, "rollback"), ["rollback"]);
    pair.answer(&completed("ROLLBACK", b'I'));
    let expected: Vec<&str> = OWN.into_iter().chain(["select 1"]).collect();
    assert_eq!(asks(&mut pair, "select 1"), expected);
}

#[test]
fn session_whose_transaction_the_server_calls_ended_is_not_lent() {
    let next_group = || say().parse("", "select 1").bind("").execute().sync();
    for (status, next) in [(b'I', say().query("select 1")), (b'T', next_group()), (b'T', say().query("select 1"))] {
        let mut pair = Pair::new(&Arc::default());
        let unfinished = say().parse("", "insert into t values (1)").bind("").execute().query("select 1").sync();
        assert_eq!(pair.client(&unfinished.0), Ok(RelayStep::Wait));
        // Up to version 17 the Query has ended it.
        pair.answer(&[replies(b"12CDC"), replies(&[b'Z', status]), replies(b"ZI")].concat());
        assert_eq!(pair.relay.is_settled(&pair.server), status == b'I');
        assert_eq!(pair.server.can_be_lent_again(), status == b'I');
        assert!(!pair.relay.can_ask(&pair.server));
        assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
        pair.answer(&replies(b"ZI"));
        assert_eq!(pair.relay.is_settled(&pair.server), status == b'I', "a Sync ends nothing");
        // The error of version 18, which is the client's.
        assert_eq!(pair.client(&next.0), Ok(RelayStep::Wait));
        pair.answer(&replies(b"EZI"));
        assert!(pair.relay.is_settled(&pair.server));
    }
}

#[test]
fn plans_are_made_within_what_uses_them_after_it_has_changed_something() {
    for (text, is_within) in [
        ("do $$ begin create temp table t (n int); perform f(); end $$", true),
        ("do $$ begin perform f(); end $$", false),
        ("select set_config('timezone', 'UTC', true), f()", true),
        ("select set_config('timezone', 'UTC', true)", false),
        ("create temp table t as select f()", true),
        ("create temp table t (n int)", false),
        ("do $$ begin execute 'x'; end $$; select f()", true),
        ("select 1; select 2", false),
    ] {
        let catalog = Arc::default();
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        assert_eq!(asks(&mut pair, "select f()"), ["select f()"]);
        pair.answer(&completed("SELECT 1", b'I'));
        let sent = asks(&mut pair, text);
        assert_eq!(sent[..sent.len() - 1], OWN[..if is_within { OWN.len() } else { 0 }], "{text}");
        if text.contains("; select") {
            continue;
        }
        // What it has to itself comes before its group, in which it may commit.
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        assert_eq!(asks(&mut pair, "select f()").len(), 1);
        pair.answer(&completed("SELECT 1", b'I'));
        assert_eq!(pair.client(&say().parse("", text).bind("").execute().sync().0), Ok(RelayStep::Wait));
        let own = &OWN[..if is_within { OWN.len() } else { 0 }];
        assert_eq!(texts(&pair.sent()), [own, &[text, "B", "E", "S"]].concat());
    }
}

#[test]
fn block_behind_a_statement_that_leaves_something_has_plans_made_within() {
    let catalog = Arc::default();
    for before in ["listen a; ", "prepare p as select 1; ", "set app.x to 1; ", "select pg_advisory_lock(1); "] {
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        let sent = asks(&mut pair, &format!("{before}do 'begin create temp table t (n int); perform f(); end'"));
        assert!(sent[0].contains("DISCARD PLANS;"), "{sent:?}");
    }
}

#[test]
fn triggers_that_are_fired_at_the_end_of_a_text_have_the_plans_of_then() {
    let catalog = Arc::default();
    for (text, expected) in [
        ("insert into late values (1); create temp table t (n int)", "\n;DISCARD PLANS"),
        ("insert into late values (1); create temp table t (n int); -- it", " -- it\n;DISCARD PLANS"),
        ("begin; create temp table t (n int)", "(n int)"),
        ("create temp table t (n int); insert into late values (1)", "values (1)"),
    ] {
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        let sent = asks(&mut pair, text);
        assert!(sent[0].ends_with(expected), "{sent:?}");
    }
}

#[test]
fn client_that_keeps_its_session_has_plans_of_after_what_others_have_made() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert_eq!(asks(&mut pair, "listen x"), ["listen x"]);
    pair.answer(&completed("LISTEN", b'I'));
    catalog.clear();
    assert_eq!(asks(&mut pair, "begin"), ["begin"]);
    pair.answer(&completed("BEGIN", b'T'));
    let expected: Vec<&str> = OWN.into_iter().chain(["select f()"]).collect();
    assert_eq!(asks(&mut pair, "select f()"), expected);
    pair.answer(&replies(b"312C33ZTTDCZT"));
    assert_eq!(asks(&mut pair, "select f()"), ["select f()"]);
}

#[test]
fn what_may_have_to_be_alone_behind_a_close_waits_for_what_was_sent_before() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let group = say().close("unknown").parse("", "call p()").bind("").execute().sync();
    assert_eq!(pair.client(&[say().query("set timezone to 'Asia/Tokyo'").0, group.0].concat()), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["set timezone to 'Asia/Tokyo'"]);
    pair.answer(&[parameter_status("TimeZone", "Asia/Tokyo"), completed("SET", b'I')].concat());
    assert_eq!(pair.client(b""), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [&OWN[..], &["C", "call p()", "B", "E", "S"]].concat());
}

#[test]
fn plans_that_were_not_made_again_as_their_group_has_failed_are_made_later() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    assert_eq!(asks(&mut pair, "create temp table t (n int)").len(), 1);
    pair.answer(&completed("CREATE TABLE", b'I'));
    let group = say().parse("", "begin isolation level nosuch").parse("", "select f()").bind("").execute().sync();
    assert_eq!(pair.client(&group.0), Ok(RelayStep::Wait));
    assert!(texts(&pair.sent()).contains(&"DISCARD PLANS".to_owned()));
    pair.answer(&replies(b"EZI"));
    let expected: Vec<&str> = OWN.into_iter().chain(["select f()"]).collect();
    assert_eq!(asks(&mut pair, "select f()"), expected);
}

#[test]
fn what_is_renamed_may_be_what_a_name_means() {
    let catalog = Arc::default();
    let mut pair = Pair::new(&catalog);
    assert!(lent(&mut pair, &catalog, "UTC").is_empty());
    let rename = "alter table nearer.other rename to t";
    let group = say().parse("", rename).bind("").execute().parse("", "select f()").bind("").execute().sync();
    assert_eq!(pair.client(&group.0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [&[rename, "B", "E"], &OWN[..6], &["select f()", "B", "E", "S"]].concat());
}

#[test]
fn begin_is_first_in_its_transaction_where_a_setting_is_reported_between_its_messages() {
    for (text, is_put_in) in [("begin isolation level serializable", false), ("call p()", false), ("select f()", true)]
    {
        let catalog = Arc::default();
        let mut pair = Pair::new(&catalog);
        assert!(lent(&mut pair, &catalog, "UTC").is_empty());
        let begun = [say().query("select sets()").0, say().parse("", text).bind("").0].concat();
        assert_eq!(pair.client(&begun), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), ["select sets()", text, "B"]);
        pair.answer(&parameter_status("TimeZone", "Asia/Tokyo"));
        assert_eq!(pair.client(&say().execute().sync().0), Ok(RelayStep::Wait));
        let own = if is_put_in { &OWN[..6] } else { &[] };
        assert_eq!(texts(&pair.sent()), [own, &["E", "S"]].concat());
    }
}
