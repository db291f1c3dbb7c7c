//! The groups of a client's messages: every row of their table is taken by a conversation, and the documentation shows it.

use crate::relay::described::{
    error_that_says_nothing_of_the_statement_is_the_clients,
    group_that_executes_a_statement_of_others_does_not_wait_for_whether_it_fits,
    group_whose_statement_does_not_fit_is_passed_on_again_before_what_comes_after_it,
};
use crate::relay::plans::{
    plans_are_made_again_after_what_changes_names, plans_are_made_again_for_a_client_with_other_settings_only,
    transaction_that_has_failed_refuses_it_and_has_it_done_later,
};
use crate::relay::{Pair, completed, is_parsed, replies, say, texts};
use headrace_daemon::postgres::relay::{
    ATTEMPT_TRANSITIONS, PLANS_TRANSITIONS, Refused, RelayStep, SETTINGS_TRANSITIONS, TRANSITIONS,
};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{backend, frontend as client};
use headrace_testkit::{assert_documented, assert_taken};
use std::path::Path;
use std::sync::Arc;

/// A client with a statement that is called `a`.
fn with_statement() -> Pair {
    let mut pair = Pair::new(&Arc::default());
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    pair
}

#[test]
fn query_ends_a_group_that_had_no_sync() {
    // What comes before it is answered here, or by the server.
    for (said, sent, reply) in
        [(say().close("a"), &["select 2"][..], &b""[..]), (say().bind("a").execute(), &["B", "E", "select 2"], b"2DC")]
    {
        let mut pair = with_statement();
        assert_eq!(pair.client(&said.query("select 2").0), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), sent);
        pair.answer(&replies(&[reply, b"TDCZI"].concat()));
        assert!(pair.relay.is_settled(&pair.server));
    }
}

#[test]
fn error_without_a_sync_after_it_has_later_messages_skipped_too() {
    for (later, sent) in [
        (say(), &["B", "E"][..]),
        (say().query("select 2"), &["B", "E", "select 2"]),
        (say().query("select 2").close("a"), &["B", "E", "select 2"]),
    ] {
        let mut pair = with_statement();
        let said = [say().bind("a").execute().0, later.0].concat();
        assert_eq!(pair.client(&said), Ok(RelayStep::Wait));
        assert_eq!(texts(&pair.sent()), sent);
        pair.answer(&replies(b"E"));
        assert_eq!(pair.told(), replies(b"E"));
        assert_eq!(pair.client(&say().parse("c", "select 3").query("select 4").0), Ok(RelayStep::Wait));
        assert_eq!(pair.sent(), b"", "the server would skip it");
        assert!(!pair.relay.owes_nothing());
        assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
        assert_eq!(pair.sent(), say().sync().0);
        pair.answer(&replies(b"ZI"));
        assert!(pair.relay.is_settled(&pair.server));
    }
}

#[test]
fn sync_that_a_copy_ignores_does_not_end_its_group() {
    for later in [say(), say().close("a")] {
        let mut pair = with_statement();
        let said = say().parse("", "copy t from stdin").bind("").execute().sync();
        assert_eq!(pair.client(&[said.0, later.0].concat()), Ok(RelayStep::Wait));
        pair.sent();
        pair.answer(&replies(b"12G"));
        assert_eq!(pair.client(&say().copy(b"1\n").0), Ok(RelayStep::Wait));
        assert!(!pair.relay.owes_nothing(), "the server waits for Sync");
        pair.sent();
        assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
        assert_eq!(pair.sent(), say().sync().0);
        pair.answer(&replies(b"CZI"));
        assert!(pair.relay.is_settled(&pair.server));
    }
}

#[test]
fn replies_made_here_do_not_wait_for_a_group_that_has_no_sync_yet() {
    let mut pair = with_statement();
    assert_eq!(pair.client(&say().parse("b", "select 1").sync().bind("a").execute().0), Ok(RelayStep::Wait));
    assert_eq!(pair.told(), replies(b"1ZI"), "the server answers what comes after it only after its Sync");
    assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"2DCZI"));
    assert_eq!(pair.told(), replies(b"2DCZI"));
}

#[test]
fn sync_of_nothing_is_answered_after_replies_that_are_made_here() {
    let mut pair = with_statement();
    assert_eq!(pair.client(&say().parse("b", "select 1").close("b").sync().sync().0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), b"");
    assert_eq!(pair.told(), replies(b"13ZIZI"));
    assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), say().sync().0, "there is nothing that it could follow here");
    pair.answer(&replies(b"ZI"));
}

#[test]
fn sync_after_messages_without_a_reply_of_the_server_waits_for_what_is_owed() {
    let mut pair = with_statement();
    assert_eq!(pair.client(&say().query("select 2").close("a").sync().0), Ok(RelayStep::Wait));
    assert_eq!(texts(&pair.sent()), ["select 2", "S"]);
    pair.answer(&replies(b"TDCZIZI"));
    assert_eq!(pair.told(), replies(b"TDCZI3ZI"));
}

#[test]
fn deallocate_by_query_is_a_group_with_what_comes_before_it() {
    let mut pair = with_statement();
    assert_eq!(pair.client(&say().query("deallocate a").0), Ok(RelayStep::Wait));
    pair.answer(&[replies(b"31"), completed("DEALLOCATE", b'I')].concat());
    assert_eq!(pair.told(), completed("DEALLOCATE", b'I'));
    assert!(pair.relay.is_settled(&pair.server));
}

/// A client whose request waits for a server connection, and is cancelled.
fn cancelled(said: &[u8]) -> Pair {
    let mut pair = Pair::new(&Arc::default());
    pair.from_client.extend(said);
    assert_eq!(pair.relay.cancelled(&pair.from_client, &mut pair.to_client), Ok(true));
    pair
}

#[test]
fn rest_of_a_cancelled_request_is_passed_over() {
    let mut end = Vec::new();
    frontend::message(&mut end, client::TERMINATE, |_| {});
    for (rest, answer) in [(say().bind("").execute().sync().0, &b"ZI"[..]), (end, b"")] {
        let mut pair = cancelled(&say().parse("", "select 1").0);
        pair.told();
        pair.from_client.extend(&rest);
        assert_eq!(pair.relay.pass_over(&mut pair.from_client, &mut pair.to_client), Ok::<(), Refused>(()));
        assert_eq!(pair.told(), replies(answer));
        assert_eq!(pair.relay.begins_with_terminate(&pair.from_client), answer.is_empty());
        assert!(pair.relay.owes_nothing());
    }
}

pub fn parameter_status(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::message(&mut out, backend::PARAMETER_STATUS, |out| {
        out.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    });
    out
}

#[test]
fn statements_are_shared_while_the_settings_are_known() {
    let mut pair = with_statement();
    assert!(is_parsed(&mut pair, "s1"));
    assert!(!is_parsed(&mut pair, "s2"));
    assert_eq!(pair.client(&say().query("begin; set local timezone to 'UTC'").0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"CCZT"));
    pair.sent();
    assert!(is_parsed(&mut pair, "s3"), "after a SET");
    assert_eq!(pair.client(&say().query("commit").0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"CZI"));
    pair.sent();
    assert!(!is_parsed(&mut pair, "s4"));
    assert_eq!(pair.client(&say().query("begin").0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"CZT"));
    pair.sent();
    assert!(!is_parsed(&mut pair, "s5"));
    pair.answer(&parameter_status("TimeZone", "UTC"));
    assert!(is_parsed(&mut pair, "s6"), "after a report in a transaction");
}

#[test]
fn discard_all_gives_the_client_its_settings_again() {
    for text in ["discard all", "select 'done elsewhere'"] {
        let mut pair = Pair::in_zone("Asia/Tokyo");
        assert_eq!(pair.client(&say().query(text).0), Ok(RelayStep::Wait));
        pair.sent();
        pair.answer(&[parameter_status("TimeZone", "UTC"), completed("DISCARD ALL", b'I')].concat());
        assert_eq!(texts(&pair.sent()), ["SET SESSION TimeZone TO E'Asia/Tokyo';"]);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the tables are checked in debug builds only")]
fn every_row_of_the_tables_is_taken() {
    assert_taken(
        &SETTINGS_TRANSITIONS,
        &[statements_are_shared_while_the_settings_are_known, discard_all_gives_the_client_its_settings_again],
    );
    assert_taken(
        &ATTEMPT_TRANSITIONS,
        &[
            group_that_executes_a_statement_of_others_does_not_wait_for_whether_it_fits,
            group_whose_statement_does_not_fit_is_passed_on_again_before_what_comes_after_it,
            error_that_says_nothing_of_the_statement_is_the_clients,
        ],
    );
    assert_taken(
        &PLANS_TRANSITIONS,
        &[
            plans_are_made_again_for_a_client_with_other_settings_only,
            plans_are_made_again_after_what_changes_names,
            transaction_that_has_failed_refuses_it_and_has_it_done_later,
        ],
    );
    assert_taken(
        &TRANSITIONS,
        &[
            query_ends_a_group_that_had_no_sync,
            error_without_a_sync_after_it_has_later_messages_skipped_too,
            sync_that_a_copy_ignores_does_not_end_its_group,
            sync_of_nothing_is_answered_after_replies_that_are_made_here,
            sync_after_messages_without_a_reply_of_the_server_waits_for_what_is_owed,
            deallocate_by_query_is_a_group_with_what_comes_before_it,
            rest_of_a_cancelled_request_is_passed_over,
        ],
    );
}

#[test]
fn the_documentation_shows_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explanation/state-machines.md");
    assert_documented(&TRANSITIONS, &page);
    assert_documented(&SETTINGS_TRANSITIONS, &page);
    assert_documented(&ATTEMPT_TRANSITIONS, &page);
    assert_documented(&PLANS_TRANSITIONS, &page);
}
