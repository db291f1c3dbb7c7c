//! Insert cursors: a row that is put equals the row that a fetch returns, and a batch is atomic whatever a server
//! replies.

use crate::support::session::{Conversation, EOT};
use crate::support::{bytes, completion, fields};
use headrace_core::Session as _;
use headrace_informix::capabilities::Capabilities;
use headrace_informix::codeset::CodeSet;
use headrace_informix::machine::{BatchStrategy, Execute, ParameterRows, Request};
use headrace_informix::types::put::Plan;
use headrace_informix::types::{Decoder, decode_row};
use headrace_testkit::{Shared, TestParameters, TestValue as V, TextSink, unhex};

/// Encodes a row in the columns of `types` and decodes it again, as text; `None` if it cannot be put.
fn there_and_back(types: &str, row: &[V]) -> Option<Vec<String>> {
    let columns = fields(types);
    let plan = Plan::new(&columns).unwrap();
    let mut out = Vec::new();
    if !plan.row(&TestParameters(row), CodeSet::Latin1, &mut out).unwrap() {
        return None;
    }
    let decoders: Vec<Decoder> = columns.iter().map(|field| Decoder::new(field, Capabilities::default())).collect();
    let mut sink = TextSink::default();
    decode_row(&decoders, CodeSet::Latin1, &out, &mut std::iter::empty(), &mut sink).unwrap();
    let row = sink.take().remove(0);
    Some(row)
}

#[test]
pub fn values_are_put_as_they_would_be_fetched() {
    let micros = |h: i64, m: i64, s: i64, u: i64| ((h * 60 + m) * 60 + s) * 1_000_000 + u;
    for (types, value, text) in [
        ("1:2", V::Int(-32767), "-32767"),
        ("2:4", V::Int(2147483647), "2147483647"),
        ("52:8", V::Int(-9223372036854775807), "-9223372036854775807"),
        ("17:10", V::Int(-123456789012), "-123456789012"),
        ("3:8", V::Float(-0.1), "f-0.1"),
        ("3:8", V::Int(1 << 53), "f9007199254740992"),
        ("4:4", V::Float(1.5), "f1.5"),
        ("5:2562", V::decimal("1.5"), "d1.50"),
        ("5:2562", V::decimal("-99999999.99"), "d-99999999.99"),
        ("5:2562", V::Int(7), "d7.00"),
        ("5:1285", V::decimal("-0.00001"), "d-0.00001"),
        ("5:4351", V::decimal("1E-100"), "d1E-100"),
        ("5:4351", V::decimal("0.001"), "d0.001"),
        ("0:5", V::text("ab"), "ab   "),
        ("13:3", V::text("abc  "), "abc"),
        ("43:40", V::text("odd"), "odd"),
        ("45:1", V::Bool(true), "true"),
        ("7:4", V::Date(0), "day 0"),
        ("10:3594", V::Timestamp(1_000_000), "at 1000000"),
        ("10:4879", V::Timestamp(10), "at 10"),
        ("10:2052", V::Date(365), "day 365"),
        ("10:1642", V::Time(micros(23, 59, 58, 0)), "time 86398000000"),
        ("14:2122", V::Interval(0, 3, micros(4, 5, 6, 0)), "span 0 months 3 days 14706000000"),
        ("14:3149", V::Interval(0, -3, -500_000), "span 0 months -3 days -500000"),
        ("14:1538", V::Interval(63, 0, 0), "span 63 months 0 days 0"),
    ] {
        assert_eq!(there_and_back(types, &[value]).as_deref(), Some(&[text.to_owned()][..]), "{types}");
        let row = [V::Int(1), V::Null, V::text("b")];
        let around = format!("2:4 {types} 13:9");
        assert_eq!(there_and_back(&around, &row).unwrap(), ["1", "NULL", "b"], "NULL of {types}");
    }
}

#[test]
pub fn what_the_server_would_round_cut_or_refuse_is_not_put() {
    for (types, value) in [
        ("1:2", V::Int(-32768)),
        ("2:4", V::Int(i64::from(i32::MIN))),
        ("2:4", V::text("1")),
        ("52:8", V::Int(i64::MIN)),
        ("3:8", V::Float(f64::NAN)),
        ("3:8", V::Int((1 << 53) + 1)),
        ("4:4", V::Float(1e300)),
        ("5:2562", V::decimal("1.005")),
        ("5:2562", V::decimal("100000000")),
        ("5:1285", V::decimal("1")),
        ("5:4351", V::decimal("1.2345678901234567")),
        ("5:4351", V::decimal("NaN")),
        ("0:2", V::text("abc")),
        ("13:2", V::text("ab c")),
        ("13:2", V::text("€")),
        ("13:2", V::text("a\0")),
        ("13:9", V::Int(1)),
        ("43:40", V::from("x".repeat(32_740))),
        ("7:4", V::Timestamp(0)),
        ("7:4", V::Date(i32::MAX)),
        ("10:3594", V::Timestamp(1)),
        ("10:3594", V::Timestamp(10)),
        ("10:2052", V::Timestamp(1_000_000)),
        ("10:1642", V::Timestamp(0)),
        ("14:2122", V::Interval(1, 0, 0)),
        ("14:2122", V::Interval(0, 100, 0)),
        ("14:2122", V::Interval(0, 0, 10)),
        ("14:1538", V::Interval(12 * 10_000, 0, 0)),
    ] {
        assert_eq!(there_and_back(types, std::slice::from_ref(&value)), None, "{types} {value:?}");
    }
    for types in ["11:56", "12:56", "19:0", "22:0", "40:0", "41:72", "2061:10"] {
        assert!(Plan::new(&fields(types)).is_none(), "{types}");
    }
}

#[test]
pub fn wide_blanks_are_not_worth_it() {
    for (types, padded) in [("0:64", false), ("0:65", true), ("0:40 2:4 15:25", true), ("13:200", false)] {
        assert_eq!(Plan::new(&fields(types)).unwrap().padded, padded, "{types}");
    }
}

/// A batch of three rows, its statement described and the BEGIN before it answered.
fn batch(session: &mut Conversation) -> Shared {
    session.rewinds = true;
    let received = session.batch(3, false);
    session.sent();
    session.feed(&bytes("reply", "insert_int_str_dec_022")).unwrap();
    let sent = session.sent();
    assert!(sent.starts_with(&["SQ_BEGIN", "SQ_EOT", "SQ_ID"]), "{sent:?}");
    assert!(sent.contains(&["SQ_PUT"; 3]), "{sent:?}");
    assert!(sent.ends_with(&["SQ_EOT", "SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]), "{sent:?}");
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
    received
}

/// The insert cursor failed: it is rolled back, and the rows are sent with another strategy.
fn repeated(session: &mut Conversation) {
    let sent = session.sent();
    assert!(sent.starts_with(&["SQ_RBWORK", "SQ_EOT", "SQ_BEGIN", "SQ_EOT"]), "{sent:?}");
    assert_eq!((sent.count(&["SQ_EXECUTE"]), sent.count(&["SQ_PUT"])), (3, 0), "{sent:?}");
    session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
    session.feed(&bytes("reply", "srv_t2_tx_056")).unwrap();
}

fn done(rows: u32) -> String {
    format!("000f0000{rows:08x}0000000000000000")
}

#[test]
pub fn a_batch_is_put_whatever_way_the_server_counts() {
    for (put, closed) in [
        (format!("{}000c", done(1).repeat(3)), EOT.to_owned()),
        (format!("{}000c", done(3)), EOT.to_owned()),
        (format!("{}{}{}000c", done(1), done(2), done(3)), EOT.to_owned()),
        (EOT.to_owned(), format!("{}000c", done(3))),
        (format!("{}003700000001000000010 00c", done(3)).replace(' ', ""), EOT.to_owned()),
    ] {
        let mut session = Conversation::start();
        let received = batch(&mut session);
        session.feed(&unhex(&put)).unwrap();
        session.feed(&unhex(&closed)).unwrap();
        assert_eq!(session.sent(), ["SQ_CMMTWORK", "SQ_EOT"]);
        session.feed(&bytes("reply", "srv_t2_tx_060")).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"), "{put}");
        assert_eq!(received.get().results, [completion("INSERT", 3)]);
        assert!(!session.machine.in_transaction());
    }
}

#[test]
pub fn whatever_fails_at_an_insert_cursor_is_repeated_without_one() {
    let duplicate = "fef4ff9c00000000000461625f69";
    for (put, closed) in [
        // SQ_PUTERR, SQ_DONE and SQ_ERR, nothing but SQ_ERR; an error at the end; rows that were lost silently.
        (format!("{}001200000001{duplicate}000c", done(1)), EOT.to_owned()),
        (format!("{}000d{duplicate}000c", done(1)), EOT.to_owned()),
        (format!("000d{duplicate}000c"), format!("000d{duplicate}000c")),
        (format!("{}000c", done(3)), format!("000d{duplicate}000c")),
        (format!("{}000c", done(2)), EOT.to_owned()),
        (EOT.to_owned(), EOT.to_owned()),
    ] {
        let mut session = Conversation::start();
        let received = batch(&mut session);
        session.feed(&unhex(&put)).unwrap();
        session.feed(&unhex(&closed)).unwrap();
        repeated(&mut session);
        // One row, and the second is wrong.
        session.feed(&unhex(&format!("{}{}000d{duplicate}000c", done(1), "00370000000100000001"))).unwrap();
        assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"], "{put}");
        session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("server -268 -100 at row 1"));
        assert!(!session.machine.in_transaction());

        // Or the server accepts them, and the strategy is not tried again.
        let mut session = Conversation::start();
        let received = batch(&mut session);
        session.feed(&unhex(&put)).unwrap();
        session.feed(&unhex(&closed)).unwrap();
        repeated(&mut session);
        session.feed(&unhex(&format!("{}000c", done(1).repeat(3)))).unwrap();
        session.feed(&bytes("reply", "srv_t2_tx_060")).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"), "{put}");
        assert_eq!(received.get().results, [completion("INSERT", 3)]);
        session.sent();
        let rows = vec![vec![V::Int(1), V::Null, V::Null]];
        let sql = "insert into t values (?,?,?)".into();
        let request = Execute { sql, rows: ParameterRows::Batch, begin: false, strategy: Some(BatchStrategy::Put) };
        session.ask(Request::Execute(request), Vec::new(), rows);
        assert!(!session.sent().contains(&["SQ_PUT"]));
    }
}

#[test]
pub fn locks_and_interrupts_are_not_tried_twice() {
    for error in ["ff2b0000000000000000", "ff0dff66000000000000", "ff0cff71000000000000"] {
        let mut session = Conversation::start();
        let received = batch(&mut session);
        session.feed(&unhex(&format!("001200000002{}000c", error))).unwrap();
        session.feed(&unhex(EOT)).unwrap();
        assert_eq!(session.sent(), ["SQ_RBWORK", "SQ_EOT"], "{error}");
        session.feed(&bytes("reply", "srv_t2_tx_066")).unwrap();
        assert!(received.get().end.as_deref().unwrap().ends_with("at row 2"), "{received:?}");
    }
}

#[test]
pub fn a_batch_that_cannot_be_undone_ends_the_connection() {
    let mut session = Conversation::start();
    batch(&mut session);
    session.feed(&unhex("001200000000fef4ff9c000000000000000c")).unwrap();
    session.feed(&unhex(EOT)).unwrap();
    session.sent();
    assert!(session.feed(&unhex("000dff010000000000000000000c")).is_err());
}
