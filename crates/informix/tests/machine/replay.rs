//! Conversations replayed into the machine, cut and split at every byte: never a panic, never a wrong row, and every
//! response handler receives its outcome.

use crate::support::session::{Conversation, EOT, NEXT_BLOCK, greeting};
use crate::support::{bytes, completion};
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Discarded, IfUnsent, Modes, Session as _, Verb};
use headrace_informix::machine::{Execute, Logging, ParameterRows, Request};
use headrace_testkit::{TestValue as V, Trace, unhex};

const CUT: &str = "fatal cut; it is unknown whether the statement in flight was executed";

const OK: &str = "000f000000000000000000000000000000370000000100000001000c";

fn select_rows() -> Vec<Vec<String>> {
    [1, 5, 6].map(|n| vec![n.to_string()]).to_vec()
}

#[test]
pub fn a_session_is_set_up_whatever_the_split() {
    let whole = greeting();
    let total: usize = whole.iter().map(Vec::len).sum();
    for cut in 1..total {
        let mut session = Conversation::new();
        let mut left = cut;
        for reply in &whole {
            let at = left.min(reply.len());
            left -= at;
            session.feed(&reply[..at]).unwrap();
            session.feed(&reply[at..]).unwrap();
        }
        assert!(session.machine.is_ready(), "split at {cut}");
        assert_eq!(session.machine.logging(), Logging::Logged);
        assert_eq!(session.machine.locale(), Some("en_US.819"));
    }
}

#[test]
pub fn a_refused_login_has_the_servers_reason() {
    let mut packet = bytes("reply", "conacc_gbase_1");
    packet[2] = 3;
    let at = packet.windows(2).position(|w| w == [0, 0x66]).unwrap();
    packet[at + 8..at + 10].copy_from_slice(&(-951i16).to_be_bytes());
    let mut session = Conversation::new();
    assert!(session.feed(&packet).is_err());
    assert_eq!(session.machine.closing_error().unwrap().sqlcode, -951);
    let mut session = Conversation::new();
    session.feed(&greeting()[0]).unwrap();
    let refused = [bytes("reply", "connect_004"), unhex(EOT), unhex("000dfeb7ff910000000000046e6f6e65000c")].concat();
    assert!(session.feed(&refused).is_err());
    assert_eq!(session.machine.closing_error().unwrap().sqlcode, -329);
}

#[test]
pub fn a_select_split_at_every_byte_yields_the_same_rows_in_two_round_trips() {
    let (described, rows) = (bytes("reply", "prep_select_032"), bytes("reply", "prep_select_036"));
    for cut in 0..=described.len() + rows.len() {
        let mut session = Conversation::start();
        let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
        let prepared = ["SQ_PREPARE select a from t where a > ?", "SQ_NDESCRIBE", "SQ_WANTDONE", "SQ_EOT"];
        assert_eq!(session.sent(), prepared);
        let first = cut.min(described.len());
        session.feed(&described[..first]).unwrap();
        session.feed(&described[first..]).unwrap();
        let opened = ["SQ_ID 0", "SQ_CURNAME _hr0000000000001", "SQ_BIND 0", "SQ_OPEN"];
        let fetched = ["SQ_ID 0", "SQ_NFETCH 65536", "SQ_EOT"];
        assert_eq!(session.sent(), [&opened[..], &fetched].concat());
        let second = cut.saturating_sub(described.len());
        session.feed(&rows[..second]).unwrap();
        session.feed(&rows[second..]).unwrap();
        let received = received.get();
        assert_eq!(received.rows, select_rows(), "split at {cut}");
        assert_eq!(received.results, [completion("SELECT", 3)]);
        assert_eq!(received.end.as_deref(), Some("done"));
        // The cursor is closed with the next group, and the statement is kept.
        assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
    }
}

#[test]
pub fn a_reply_cut_at_every_byte_yields_no_wrong_row_and_an_outcome() {
    let (described, rows) = (bytes("reply", "prep_select_032"), bytes("reply", "prep_select_036"));
    for cut in 0..described.len() + rows.len() {
        let mut session = Conversation::start();
        let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
        session.feed(&described[..cut.min(described.len())]).unwrap();
        session.feed(&rows[..cut.saturating_sub(described.len())]).unwrap();
        session.machine.abort((), &Fatal::gone("cut"));
        let received = received.get();
        assert!(select_rows().starts_with(&received.rows));
        assert_eq!(received.end.as_deref(), Some(CUT));
        assert!(session.machine.is_idle());
    }
}

#[test]
pub fn every_byte_changed_ends_in_an_answer_or_an_error() {
    let reply = [bytes("reply", "prep_select_032"), bytes("reply", "prep_select_036")].concat();
    for at in 0..reply.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut session = Conversation::start();
            let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
            let mut wrong = reply.clone();
            wrong[at] ^= flip;
            let middle = bytes("reply", "prep_select_032").len();
            let fed = session.feed(&wrong[..middle]).and_then(|()| session.feed(&wrong[middle..]));
            if let Err(fatal) = fed {
                session.machine.abort((), &fatal);
                assert!(received.get().end.is_some());
            }
        }
    }
}

#[test]
pub fn known_statements_are_pipelined_and_not_prepared_again() {
    let mut session = Conversation::start();
    let first = session.execute("insert into t values (?,?,?)", vec![V::Int(1), V::Null, V::decimal("1.5")], false);
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    session.feed(&bytes("reply", "insert_int_str_dec_026")).unwrap();
    assert_eq!(first.get().results, [completion("INSERT", 1)]);
    session.sent();
    let row = || vec![V::Int(1), V::Null, V::decimal("1.5")];
    let received = [0; 3].map(|_| session.execute("insert into t values (?,?,?)", row(), false));
    assert_eq!(session.sent().count(&["SQ_EXECUTE", "SQ_EOT"]), 3);
    let reply = bytes("reply", "insert_int_str_dec_026");
    let failed = unhex("000dfef4ff9c00000000000475313030000c");
    session.feed(&[reply.clone(), failed, reply].concat()).unwrap();
    let ends: Vec<_> = received.iter().map(|t| t.get().end.clone().unwrap()).collect();
    assert_eq!(ends, ["done", "server -268 -100", "done"]);
    assert!(session.machine.is_idle());
}

/// The replies to the groups of a batch whose row `bad` fails. `on` indicates that the server continues in a failed
/// group.
fn batch_replies(sent: &Trace, bad: usize, on: bool) -> Vec<u8> {
    const DONE: &str = "000f000000000001000000000000000000370000000100000001";
    const ERROR: &str = "000dfef4ff9c00000000000475313030";
    let groups = sent.messages().split(|message| message == "SQ_EOT");
    let rows = groups.map(|group| group.iter().filter(|message| message.starts_with("SQ_BIND ")).count());
    let (mut out, mut row) = (String::new(), 0);
    for rows in rows.filter(|rows| *rows > 0) {
        let mut failed = false;
        for _ in 0..rows {
            if row == bad {
                out += ERROR;
                failed = true;
            } else if !failed || on {
                out += DONE;
            }
            row += 1;
        }
        out += EOT;
    }
    unhex(&out)
}

#[test]
pub fn a_failed_batch_names_its_row_and_leaves_nothing_whatever_the_server_does_in_its_group() {
    for (bad, rows) in [(0, 100), (500, 1000), (99, 100), (2999, 3000)] {
        for on in [false, true] {
            let mut session = Conversation::start();
            let received = session.batch(rows, false);
            session.sent();
            session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
            let sent = session.sent();
            assert!(sent.starts_with(&["SQ_BEGIN", "SQ_EOT"]), "the batch is one transaction");
            session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
            session.feed(&batch_replies(&sent, bad, on)).unwrap();
            assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"], "row {bad} of {rows}: rolled back");
            assert_eq!(received.get().end, None);
            session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
            let end = received.get().end.clone().unwrap();
            assert_eq!(end, format!("server -268 -100 at row {bad}"), "server goes on: {on}");
            assert!(session.machine.is_idle() && !session.machine.in_transaction());
        }
    }
}

#[test]
pub fn a_good_batch_is_committed_once_and_counted() {
    let mut session = Conversation::start();
    let received = session.batch(3000, false);
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    let sent = session.sent();
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
    session.feed(&batch_replies(&sent, usize::MAX, false)).unwrap();
    assert_eq!(session.sent(), ["SQ_CMMTWORK", "SQ_EOT"]);
    session.feed(&bytes("reply", "srv_t2_tx_060")).unwrap();
    assert_eq!(received.get().results, [completion("INSERT", 3000)]);
    assert!(!session.machine.in_transaction());
}

/// -213 with nothing else.
const INTERRUPTED: &str = "000dff2b0000000000000000000c";

/// A batch of three rows whose second fails, up to the ROLLBACK that was sent.
fn batch_being_rolled_back() -> (Conversation, headrace_testkit::Shared) {
    let mut session = Conversation::start();
    let received = session.batch(3, false);
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
    let sent = session.sent();
    session.feed(&batch_replies(&sent, 1, false)).unwrap();
    assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"]);
    (session, received)
}

#[test]
pub fn a_rollback_that_an_interrupt_hits_is_sent_again() {
    let (mut session, received) = batch_being_rolled_back();
    session.feed(&unhex(INTERRUPTED)).unwrap();
    assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"]);
    assert_eq!(received.get().end, None);
    session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("server -268 -100 at row 1"));
    assert!(session.machine.is_idle() && !session.machine.in_transaction());
}

#[test]
pub fn a_batch_that_cannot_be_rolled_back_ends_the_connection() {
    let (mut session, _) = batch_being_rolled_back();
    assert!(session.feed(&unhex("000dff0c0000000000000000000c")).is_err());
    // A later request would be part of its transaction.
    let (mut session, _) = batch_being_rolled_back();
    session.ask(Request::Verb(Verb::Ping), Vec::new(), Vec::new());
    assert!(session.feed(&unhex(INTERRUPTED)).is_err());
}

#[test]
pub fn a_batch_whose_commit_fails_is_rolled_back() {
    for after in [false, true] {
        let mut session = Conversation::start();
        let received = session.batch(3, false);
        session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
        session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
        session.feed(&unhex(&OK[..OK.len() - 4].repeat(3))).unwrap();
        session.feed(&unhex(EOT)).unwrap();
        assert!(session.sent().ends_with(&["SQ_CMMTWORK", "SQ_EOT"]));
        if after {
            session.ask(Request::Verb(Verb::Ping), Vec::new(), Vec::new());
        }
        let failed = session.feed(&unhex("000dfd4d0000000000000000000c"));
        assert_eq!(failed.is_err(), after);
        if !after {
            assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"]);
            session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
            assert_eq!(received.get().end.as_deref(), Some("server -691 0"));
        }
    }
}

#[test]
pub fn a_batch_inside_a_transaction_is_guarded_by_a_savepoint() {
    let mut session = Conversation::start();
    session.ask(Request::Verb(Verb::Begin(Modes::default())), Vec::new(), Vec::new());
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
    let received = session.batch(10, true);
    session.sent();
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    let sent = session.sent();
    assert!(sent.starts_with(&["SQ_SQLISETSVPT headrace_batch"]), "{sent:?}");
    session.feed(&bytes("reply", "srv_t2_savepoint_072")).unwrap();
    session.feed(&batch_replies(&sent, 4, false)).unwrap();
    assert!(session.sent().starts_with(&["SQ_SQLIRBACKSVPT headrace_batch"]));
    session.feed(&bytes("reply", "srv_t2_savepoint_072")).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("server -268 -100 at row 4"));
    assert!(session.machine.in_transaction(), "the user's own transaction goes on");
}

#[test]
pub fn a_bad_value_in_a_batch_of_which_nothing_was_sent_names_its_row() {
    let mut session = Conversation::start();
    let mut rows: Vec<Vec<V>> = (0..5).map(|i| vec![V::Int(i), V::Null, V::Null]).collect();
    rows[3][2] = V::decimal("NaN");
    let request = Execute {
        sql: "insert into t values (?,?,?)".into(),
        rows: ParameterRows::Batch,
        begin: false,
        strategy: None,
    };
    let received = session.ask(Request::Execute(request), Vec::new(), rows);
    session.sent();
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    assert!(session.sent().is_empty());
    let end = received.get().end.clone().unwrap();
    assert!(end.starts_with("client parameter 3 ('d')") && end.ends_with("at row 3"), "{end}");
    assert!(session.machine.is_idle() && !session.machine.in_transaction());
    // The next batch begins a transaction again.
    session.ask(
        Request::Execute(Execute {
            sql: "insert into t values (?,?,?)".into(),
            rows: ParameterRows::Batch,
            begin: false,
            strategy: None,
        }),
        Vec::new(),
        vec![vec![V::Int(1), V::Null, V::Null]],
    );
    assert!(session.sent().starts_with(&["SQ_BEGIN"]));
}

#[test]
pub fn a_transaction_begins_with_the_first_statement_that_needs_one() {
    let mut session = Conversation::start();
    session.execute("select a from t where a > ?", vec![V::Int(0)], true);
    session.sent();
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    assert!(session.sent().starts_with(&["SQ_BEGIN", "SQ_EOT", "SQ_ID 0"]));
    session.feed(&[bytes("reply", "srv_t2_tx_056"), bytes("reply", "prep_select_036")].concat()).unwrap();
    assert!(session.machine.in_transaction());
    let received = session.ask(Request::Verb(Verb::Commit(IfUnsent::Forget)), Vec::new(), Vec::new());
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT", "SQ_CMMTWORK", "SQ_EOT"]);
    session.feed(&[unhex(EOT), bytes("reply", "srv_t2_tx_060")].concat()).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
    assert!(!session.machine.in_transaction());
    let nothing = session.ask(Request::Verb(Verb::Rollback(IfUnsent::RollBack)), Vec::new(), Vec::new());
    assert!(session.sent().is_empty());
    assert_eq!(nothing.get().end.as_deref(), Some("done"));
}

#[test]
pub fn rows_come_in_blocks_and_the_next_is_requested_before_the_last_has_come() {
    let mut session = Conversation::start();
    let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.sent();
    let row = |n: u32| unhex(&format!("000e000000000004{n:08x}"));
    let block = |range: std::ops::Range<u32>| range.flat_map(row).collect::<Vec<u8>>();
    session.feed(&block(0..8000)).unwrap();
    assert!(session.sent().is_empty(), "not half full");
    session.feed(&block(8000..9000)).unwrap();
    let ahead = NEXT_BLOCK.repeat(3);
    assert_eq!(session.sent(), ahead);
    session.feed(&unhex(EOT)).unwrap();
    assert_eq!(session.sent(), NEXT_BLOCK, "as many as before are in flight");
    session.feed(&block(9000..9010)).unwrap();
    let end = unhex("000f00000000232e0000000000000000000c");
    session.feed(&end).unwrap();
    assert_eq!(received.get().rows.len(), 9010);
    assert_eq!(received.get().end.as_deref(), Some("done"));
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
    session.feed(&[end.repeat(3), unhex(EOT)].concat()).unwrap();

    // Its last result was long, and it is treated so until one is short.
    for long in [true, false] {
        let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
        let sent = session.sent();
        assert_eq!(sent.ends_with(&ahead), long, "{sent:?}");
        session.feed(&[block(0..1), end.clone()].concat()).unwrap();
        assert_eq!(received.get().rows.len(), 1);
        assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
        session.feed(&[end.repeat(if long { 3 } else { 0 }), unhex(EOT)].concat()).unwrap();
    }
}

#[test]
pub fn rows_and_their_end_in_one_piece_are_not_requested_twice() {
    let mut session = Conversation::start();
    let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.sent();
    let rows: Vec<u8> = (0..9000u32).flat_map(|n| unhex(&format!("000e000000000004{n:08x}"))).collect();
    session.feed(&[rows, unhex("000f0000000023280000000000000000000c")].concat()).unwrap();
    assert_eq!(received.get().rows.len(), 9000);
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
}

#[test]
pub fn a_discarded_select_is_read_to_the_end_of_its_block_and_closed() {
    let mut session = Conversation::start();
    let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&unhex("000e00000000000400000001")).unwrap();
    let id = session.machine.find(|_| true).unwrap();
    assert_eq!(session.machine.discard(id), Discarded::Alone);
    session.sent();
    session.feed(&unhex("000e00000000000400000002000c")).unwrap();
    assert_eq!(session.sent(), ["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]);
    assert!(session.machine.is_idle());
    assert_eq!(received.get().end, None);
    session.feed(&unhex(EOT)).unwrap();
    let next = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_036")).unwrap();
    assert_eq!(next.get().rows, select_rows());
}

#[test]
pub fn text_values_are_fetched_after_their_rows() {
    let (described, rows) = (bytes("reply", "srv_t2_text_157"), bytes("reply", "srv_t2_text_159"));
    let value = unhex("002700036162630000270001640000270000000c");
    let mut session = Conversation::start();
    let received = session.execute("select i,t from texts", Vec::new(), false);
    session.feed(&described).unwrap();
    session.sent();
    session.feed(&rows).unwrap();
    assert!(session.sent().starts_with(&["SQ_ID 0", "SQ_FETCHBLOB"]));
    session.feed(&value).unwrap();
    let received = received.get();
    assert_eq!(received.rows[0], ["1", "abcd"]);
    assert_eq!(received.rows[1], ["2", "NULL"]);
    assert_eq!(received.end.as_deref(), Some("done"));
}

#[test]
pub fn a_statement_older_than_its_table_is_prepared_again() {
    let mut session = Conversation::start();
    session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&bytes("reply", "prep_select_036")).unwrap();
    session.feed(&unhex(EOT)).unwrap();
    session.sent();
    let received = session.execute("select a from t where a > ?", vec![V::Int(0)], false);
    session.sent();
    session.feed(&unhex("000dfd3a00000000000000017400000c")).unwrap();
    assert!(session.sent().contains(&["SQ_PREPARE select a from t where a > ?"]), "prepared again");
    session.feed(&unhex(EOT)).unwrap();
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.feed(&bytes("reply", "prep_select_036")).unwrap();
    assert_eq!(received.get().rows, select_rows());
}

#[test]
pub fn unexpected_messages_end_the_connection() {
    for unasked in ["000f0000000000010000000000000000000c", "000e00000000000400000001", "00ff", "000c"] {
        let mut session = Conversation::start();
        assert!(session.feed(&unhex(unasked)).is_err(), "{unasked}");
    }
}
