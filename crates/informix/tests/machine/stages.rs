//! States of a request that other conversations do not cover: cursors that stay open, and requests that are abandoned
//! at different times.

use crate::support::bytes;
use crate::support::session::{Conversation, EOT};
use headrace_core::{Discarded, IfUnsent, Modes, Protocol, Session as _, TransactionStatus, Verb};
use headrace_informix::machine::{Declare, Request};
use headrace_testkit::{TestValue as V, unhex};

const SELECT: &str = "select a from t where a > ?";

fn rows(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(|n| unhex(&format!("000e000000000004{n:08x}"))).collect()
}

/// SQ_DONE of a query, and the end of its group.
fn done(rows: u32) -> Vec<u8> {
    unhex(&format!("000f0000{rows:08x}0000000000000000000c"))
}

/// A session whose cursor 7 is open.
fn declared() -> Conversation {
    let mut session = Conversation::start();
    let declare = Declare {
        cursor: 7,
        sql: SELECT.into(),
        name: None,
        scroll: false,
        with_hold: false,
        bytes: 4096,
        begin: false,
    };
    let received = session.ask(Request::Declare(declare), vec![V::Int(0)], vec![]);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&[rows(0..1), unhex(EOT)].concat()).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
    session.sent();
    session
}

#[test]
pub fn rows_of_an_open_cursor_are_fetched_by_further_requests() {
    let mut session = declared();
    let received = session.ask(Request::Fetch { cursor: 7, bytes: 4096 }, vec![], vec![]);
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_NFETCH 4096", "SQ_EOT"]);
    session.feed(&[rows(1..3), done(2)].concat()).unwrap();
    assert_eq!((received.get().rows.len(), received.get().end.as_deref()), (2, Some("done")));
}

#[test]
pub fn a_statement_that_is_only_prepared_is_described_and_not_executed() {
    let mut session = Conversation::start();
    let received = session.ask(Request::Prepare { sql: SELECT.into() }, vec![], vec![]);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    assert_eq!((received.get().columns.len(), received.get().end.as_deref()), (1, Some("done")));
    assert_eq!(session.sent().count(&["SQ_ID 0"]), 0);
}

#[test]
pub fn nothing_is_sent_for_a_cursor_that_is_not_open() {
    let mut session = declared();
    let received = session.ask(Request::Fetch { cursor: 8, bytes: 4096 }, vec![], vec![]);
    assert!(session.sent().is_empty());
    assert_eq!(received.get().end.as_deref(), Some("client the cursor is not open"));
}

#[test]
pub fn a_row_that_fails_stops_the_rows_after_it() {
    let mut session = Conversation::start();
    let received = session.batch(30_000, false);
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
    session.feed(&unhex("000dfef4ff9c00000000000475313030000c")).unwrap();
    let sent = session.sent();
    assert!(sent.count(&["SQ_EXECUTE"]) < 30_000, "not all of them are sent");
    for _ in 1..sent.count(&["SQ_EXECUTE", "SQ_EOT"]) {
        session.feed(&unhex(EOT)).unwrap();
    }
    assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"]);
    session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("server -268 -100 at row 0"));
}

/// A query of which a first block of many rows has come, and the next ones were requested.
fn reading_ahead() -> Conversation {
    let mut session = Conversation::start();
    session.execute(SELECT, vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&rows(0..9000)).unwrap();
    assert!(session.sent().ends_with(&["SQ_ID 0", "SQ_NFETCH", "SQ_EOT"]));
    session
}

#[test]
pub fn a_block_and_the_last_one_in_one_piece_are_not_followed_by_another() {
    let mut session = reading_ahead();
    session.feed(&[unhex(EOT), rows(0..1), done(9001)].concat()).unwrap();
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
}

#[test]
pub fn a_query_that_is_abandoned_between_two_blocks_requests_no_more() {
    let mut session = reading_ahead();
    session.receive(&unhex(EOT)).unwrap();
    let id = session.machine.find(|_| true).unwrap();
    assert_eq!(session.machine.discard(id), Discarded::Alone, "blocks that were asked for ahead are to come");
    session.feed(&done(0).repeat(3)).unwrap();
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
}

#[test]
pub fn a_query_that_is_abandoned_before_its_values_are_requested_is_closed() {
    let mut session = Conversation::start();
    session.execute("select i,t from texts", Vec::new(), false);
    session.feed(&bytes("reply", "srv_t2_text_157")).unwrap();
    session.sent();
    session.receive(&bytes("reply", "srv_t2_text_159")).unwrap();
    let id = session.machine.find(|_| true).unwrap();
    session.machine.discard(id);
    session.feed(&[]).unwrap();
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_query_of_many_blocks_that_is_older_than_its_table_is_prepared_again() {
    let mut session = reading_ahead();
    session.feed(&[unhex(EOT), done(9000), done(0).repeat(2)].concat()).unwrap();
    session.feed(&unhex(EOT)).unwrap();
    session.sent();
    let received = session.execute(SELECT, vec![V::Int(0)], false);
    let sent = session.sent();
    assert!(sent.count(&["SQ_NFETCH"]) > 1, "blocks are asked for with the first: {sent:?}");
    // The later blocks fail too, as no cursor is open: they were requested by the first attempt.
    for failed in ["000dfd3a00000000000000017400000c", "000dfe700000000000000000000c", "000dfe700000000000000000000c"] {
        session.feed(&unhex(failed)).unwrap();
    }
    assert_eq!(session.sent().count(&["SQ_PREPARE"]), 1);
    session.feed(&unhex("000dfe700000000000000000000c")).unwrap();
    session.feed(&unhex(EOT)).unwrap();
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&[rows(0..2), done(2)].concat()).unwrap();
    assert_eq!((received.get().rows.len(), received.get().end.as_deref()), (2, Some("done")));
}

/// The replies to BEGIN WORK and to the preparation of an UPDATE.
const BEGUN: &str = "0063000100010000000c";
const UPDATE: &str = "000800060000000000000000000000000000000f000000000000000000000000000000370000000100000001000c";

#[test]
pub fn nothing_follows_an_error_that_ends_the_transaction_of_a_block() {
    // SQ_XACTSTAT 3 before an error; an error that is known to do it.
    for reply in ["0063000300000001 000dff00000000000000 0000000c", "000dfe36000000000000 0000000c"] {
        let mut session = Conversation::start();
        session.machine.requests().block().store(1, std::sync::atomic::Ordering::SeqCst);
        let begun = session.ask(Request::Verb(Verb::Begin(Modes::default())), Vec::new(), Vec::new());
        session.feed(&unhex(BEGUN)).unwrap();
        assert_eq!(begun.get().end.as_deref(), Some("done"));
        let updated = session.execute("update t set a = 1", Vec::new(), true);
        session.feed(&unhex(UPDATE)).unwrap();
        session.sent();
        session.feed(&unhex(&reply.replace(' ', ""))).unwrap();
        assert!(updated.get().end.unwrap_or_default().starts_with("server"), "{:?}", updated.get().end);
        assert_eq!(session.machine.transaction(), TransactionStatus::Failed);
        session.sent();
        let later = session.execute("update t set a = 1", Vec::new(), true);
        assert!(session.sent().is_empty());
        assert!(later.get().end.unwrap_or_default().contains("not executed"), "{:?}", later.get().end);
        let commit = session.ask(Request::Verb(Verb::Commit(IfUnsent::RollBack)), Vec::new(), Vec::new());
        if !session.sent().is_empty() {
            session.feed(&unhex("000dff01000000000000 0000000c".replace(' ', "").as_str())).unwrap();
        }
        assert!(commit.get().end.unwrap_or_default().contains("not committed"), "{:?}", commit.get().end);
    }
}

#[test]
pub fn the_end_of_a_session_in_the_place_of_a_reply_says_what_may_be_stored() {
    let said = |session: &mut Conversation| session.feed(&unhex("0038")).unwrap_err().message;
    let unknown = "; it is unknown whether the statement in flight was executed";
    let mut session = Conversation::start();
    session.batch(2, false);
    assert!(!said(&mut session).contains(unknown), "it was not prepared");
    let mut session = Conversation::start();
    session.batch(2, false);
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    assert!(said(&mut session).ends_with(unknown));
    let mut session = Conversation::start();
    session.ask(Request::Verb(Verb::Begin(Modes::default())), vec![], vec![]);
    session.ask(Request::Verb(Verb::Commit(IfUnsent::Forget)), vec![], vec![]);
    assert!(said(&mut session).ends_with(unknown));
}
