//! Settings that are set back.

use crate::relay::{Pair, TEXT, completed, is_parsed, replies, say, texts};
use headrace_daemon::postgres::relay::{Relay, RelayStep, ServerState};
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn settings_that_are_set_back_in_a_script_are_what_the_client_began_with() {
    for (sql, sent, shown) in [
        ("reset all", "reset all\n;SET SESSION TimeZone TO E'Asia/Tokyo'", &b"CZI"[..]),
        (
            "set timezone to default; set timezone to 'x' -- y",
            "set timezone to default\n;SET SESSION TimeZone TO E'Asia/Tokyo'; set timezone to 'x' -- y",
            b"CCZI",
        ),
        (
            "begin; set local time zone default",
            "begin; set local time zone default\n;SET LOCAL TimeZone TO E'Asia/Tokyo'",
            b"CCZT",
        ),
    ] {
        let mut pair = Pair::in_zone("Asia/Tokyo");
        assert_eq!(pair.client(&say().query(sql).0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), [sent]);
        let status = shown.last().copied().expect("a status");
        let all: Vec<u8> = sent.split(';').map(|_| b'C').chain([b'Z', status]).collect();
        pair.answer(&replies(&all));
        assert_eq!(pair.told(), replies(shown), "{sql}");
    }
    // The session's own is the client's.
    let mut pair = Pair::in_zone("UTC");
    assert_eq!(pair.client(&say().query("reset all; select 1").0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["reset all;DISCARD PLANS; select 1"]);
}

#[test]
fn last_statement_of_a_script_is_completed_when_its_transaction_has_ended() {
    for sql in ["select 1; reset all", "select 1; create table t (n int)"] {
        for (replied, shown) in [(&b"CCCZI"[..], &b"CCZI"[..]), (b"CCEZI", b"CEZI"), (b"CEZI", b"CEZI")] {
            let mut pair = Pair::in_zone("Asia/Tokyo");
            assert_eq!(pair.client(&say().query(sql).0), Ok(RelayStep::Wait));
            assert_eq!(texts(&pair.sent())[0].split(';').count(), 3, "{sql}");
            // At its end deferred constraints are checked, before the server completes the last statement.
            pair.answer(&replies(replied));
            assert_eq!(pair.told(), replies(shown), "{sql}");
            assert!(pair.relay.owes_nothing());
        }
    }
}

#[test]
fn script_that_sets_settings_back_too_often_is_passed_on_and_keeps_its_session() {
    let most = headrace_daemon::limits::RESETS;
    for (count, keeps) in [(most, false), (most + 1, true)] {
        let mut pair = Pair::in_zone("Asia/Tokyo");
        let script = "reset all;".repeat(count);
        assert_eq!(pair.client(&say().query(&script).0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()) == [script], keeps, "{count}");
        assert_eq!(pair.relay.pinned().is_some(), keeps, "{count}");
    }
}

#[test]
fn settings_that_are_set_back_in_a_group_are_what_the_client_began_with() {
    let mut pair = Pair::in_zone("Asia/Tokyo");
    let said = say().parse("", "reset all").bind("").execute().parse("", "select 1").bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    let set = "SET SESSION TimeZone TO E'Asia/Tokyo'";
    assert_eq!(texts(&pair.sent()), ["reset all", "B", "E", "C", set, "B", "E", "C", "C", "H"]);
    pair.answer(&replies(b"12C312C33"));
    assert_eq!(pair.told(), replies(b"12C"));
    let discarded = ["C", "DISCARD PLANS", "B", "E", "C", "C"];
    assert_eq!(texts(&pair.sent()), [&discarded[..], &["select 1", "B", "E", "S"]].concat());
    pair.answer(&replies(b"312C3312DCZI"));
    assert_eq!(pair.told(), replies(b"12DCZI"));
    // The RESET fails, and with it what follows.
    let mut pair = Pair::in_zone("Asia/Tokyo");
    assert_eq!(pair.client(&say().parse("", "reset all").bind("").execute().sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"12E"));
    pair.answer(&replies(b"ZI"));
    assert_eq!(pair.told(), replies(b"12EZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn discard_all_is_done_whatever_fails_after_it() {
    let mut pair = Pair::in_zone("Asia/Tokyo");
    let said = say().parse("", "discard all").bind("").execute().parse("", "select 1/0").bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
    // It is parsed again for its execution, as a DEALLOCATE is.
    assert_eq!(texts(&pair.sent()), ["discard all", "discard all", "B", "E", "H"]);
    pair.answer(&[replies(b"112"), completed("DISCARD ALL", b'I')[..17].to_vec()].concat());
    assert_eq!(texts(&pair.sent()), ["SET SESSION TimeZone TO E'Asia/Tokyo';"]);
    pair.answer(&replies(b"CZI"));
    assert_eq!(texts(&pair.sent()), ["select 1/0", "B", "E", "S"]);
    pair.answer(&replies(b"1EZI"));
    assert!(pair.relay.is_settled(&pair.server));
    assert_eq!(pair.told(), [replies(b"12"), completed("DISCARD ALL", b'I')[..17].to_vec(), replies(b"1EZI")].concat());
}

#[test]
fn client_is_told_what_its_discard_all_has_set_back() {
    let parameters = |user: &str| {
        [("TimeZone", "Asia/Tokyo"), ("is_superuser", user)].map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let mut pair = Pair::in_zone("UTC");
    pair.relay = Relay::new(Arc::default(), BTreeMap::from(parameters("off")));
    assert_eq!(pair.client(&say().parse("", "discard all").bind("").execute().sync().0), Ok(RelayStep::Wait));
    pair.sent();
    pair.answer(&[replies(b"112"), completed("DISCARD ALL", b'I')[..17].to_vec()].concat());
    assert_eq!(texts(&pair.sent()), ["SET SESSION TimeZone TO E'Asia/Tokyo';"]);
    pair.told();
    // The server reports it with the end of the daemon's own request.
    let reported = b"S\0\0\0\x14is_superuser\0on\0".to_vec();
    let zone = b"S\0\0\0\x18TimeZone\0Asia/Tokyo\0".to_vec();
    pair.answer(&[replies(b"C"), reported.clone(), zone, replies(b"ZI")].concat());
    assert_eq!(pair.told(), reported, "the rest is the daemon's own affair");
    pair.answer(&replies(b"ZI"));
    assert_eq!(pair.told(), replies(b"ZI"));
}

#[test]
fn discard_all_leaves_the_unnamed_statement_its_session() {
    for (unnamed, keeps) in [(true, true), (false, false)] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert_eq!(pair.client(&say().query("listen a").0), Ok(RelayStep::Wait));
        pair.answer(&completed("LISTEN", b'I'));
        assert!(pair.relay.pinned().is_some());
        if unnamed {
            assert_eq!(pair.client(&say().parse("", "select 1").sync().0), Ok(RelayStep::Wait));
            pair.answer(&replies(b"1ZI"));
        }
        assert_eq!(pair.client(&say().parse("d", "discard all").sync().0), Ok(RelayStep::Wait));
        pair.answer(&replies(b"1ZI"));
        assert_eq!(pair.client(&say().bind("d").execute().sync().0), Ok(RelayStep::Wait));
        pair.answer(&[replies(b"2"), completed("DISCARD ALL", b'I')[..17].to_vec()].concat());
        assert_eq!(pair.relay.pinned().is_some(), keeps);
    }
}

/// ParameterStatus of the time zone.
fn zone(zone: &str) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::message(&mut out, backend::PARAMETER_STATUS, |out| {
        out.extend_from_slice(format!("TimeZone\0{zone}\0").as_bytes());
    });
    out
}

#[test]
fn statement_that_was_parsed_by_a_setting_that_no_text_shows_is_nobodys() {
    // What is sent in one write, and its answer: a function has set the time zone before the text is parsed, or after.
    let parsed = || say().parse("s", TEXT);
    let (tokyo, query) = (zone("Asia/Tokyo"), || say().query("select f()"));
    let cases = [
        (
            "in the next group",
            [query().0, parsed().sync().0].concat(),
            [replies(b"TDC"), tokyo.clone(), replies(b"ZI1ZI")].concat(),
        ),
        (
            "in the same group",
            say().parse("", "select f()").bind("").execute().parse("s", TEXT).sync().0,
            [replies(b"12DC1"), tokyo.clone(), replies(b"ZI")].concat(),
        ),
        (
            "in a transaction",
            [say().query("begin").0, query().0, parsed().sync().0, say().query("commit").0].concat(),
            [replies(b"CZTDC"), tokyo, replies(b"ZT1ZTC"), zone("UTC"), replies(b"ZI")].concat(),
        ),
    ];
    for (name, said, answer) in cases {
        let catalog = Arc::new(Catalog::default());
        let new = || Relay::new(Arc::clone(&catalog), BTreeMap::from([("TimeZone".into(), "UTC".into())]));
        let mut pair = Pair { relay: new(), ..Pair::new(&catalog) };
        assert_eq!(pair.client(&said), Ok(RelayStep::Wait));
        pair.answer(&answer);
        assert!(pair.relay.is_settled(&pair.server), "{name}");
        pair.sent();
        pair.relay = new();
        assert!(is_parsed(&mut pair, "s"), "{name}");
    }
}

#[test]
fn unnamed_statement_is_parsed_by_the_settings_of_now() {
    let catalog = Arc::new(Catalog::default());
    let new = || Relay::new(Arc::clone(&catalog), BTreeMap::from([("TimeZone".into(), "UTC".into())]));
    let mut pair = Pair { relay: new(), ..Pair::new(&catalog) };
    assert_eq!(pair.client(&say().parse("", TEXT).sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    // A Query would end the unnamed statement.
    let set = say().parse("set", "set timezone to 'Asia/Tokyo'").bind("set").execute().sync();
    assert_eq!(pair.client(&set.0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"12C"), zone("Asia/Tokyo"), replies(b"ZI")].concat());
    // Another session, where it is parsed anew.
    pair.server = ServerState::new(BTreeMap::from([("TimeZone".into(), "Asia/Tokyo".into())]), 2);
    pair.sent();
    assert_eq!(pair.client(&say().bind("").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), [TEXT, "B", "E", "S"]);
    pair.answer(&replies(b"12CZI"));
    // Whoever has had it by the first settings does not find it there.
    pair.relay = new();
    pair.server.parameters.insert("TimeZone".into(), "UTC".into());
    let mut other = Pair { relay: new(), ..Pair::new(&catalog) };
    assert_eq!(other.client(&say().parse("", TEXT).sync().0), Ok(RelayStep::Wait));
    other.answer(&replies(b"1ZI"));
    other.server = pair.server;
    other.sent();
    assert_eq!(other.client(&say().bind("").execute().sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&other.sent()), [TEXT, "B", "E", "S"]);
}
