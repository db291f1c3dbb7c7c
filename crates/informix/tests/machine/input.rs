//! The types of an UPDATE's parameters: requested once, before its first row is bound.

use crate::support::session::{Conversation, EOT};
use headrace_core::Session as _;
use headrace_testkit::{TestValue as V, unhex};

const UPDATE: &str = "update t set v = ?, w = f(?) where k = ?";
const DESCRIBED: &str =
    "0008000400000000000000000000 00000000 000f0000000000000000000000000000 00370000000100000001000c";
// VARCHAR(3) three times.
const TYPES: &str = "007d00030000 000d00000000000000000000000000000000 00000003 \
                     000d00000000000000000000000000000000 00000003 000d00000000000000000000000000000000 00000003 000c";
const DONE: &str = "000f0000000000010000000000000000 00370000000100000001000c";
const ASKED: [&str; 3] = ["SQ_ID 0", "SQ_CIDESCRIBE", "SQ_EOT"];
const INTERRUPTED: &str = "000dff2b000000000000 0000000c";

fn hex(text: &str) -> Vec<u8> {
    unhex(&text.replace(' ', ""))
}

fn row(first: &'static str, others: &'static str) -> Vec<V> {
    vec![V::text(first), V::text(others), V::text(others)]
}

#[test]
pub fn text_that_is_too_long_for_a_column_is_refused_and_that_of_a_comparison_is_not() {
    let mut session = Conversation::start();
    let taken = session.execute(UPDATE, row("abc ", "longer"), false);
    session.sent();
    session.feed(&hex(DESCRIBED)).unwrap();
    assert_eq!(session.sent(), ASKED);
    for byte in hex(TYPES) {
        assert!(!session.sent().contains(&["SQ_BIND"]), "nothing is bound before");
        session.feed(&[byte]).unwrap();
    }
    assert!(session.sent().ends_with(&["SQ_EXECUTE", "SQ_EOT"]));
    session.feed(&hex(DONE)).unwrap();
    assert_eq!(taken.get().end.as_deref(), Some("done"));
    let refused = session.execute(UPDATE, row("abcd", ""), false);
    // It is prepared again, as the column may have changed.
    session.feed(&hex(EOT)).unwrap();
    session.feed(&hex(DESCRIBED)).unwrap();
    assert!(session.sent().ends_with(&ASKED));
    session.feed(&hex(TYPES)).unwrap();
    let end = refused.get().end.unwrap();
    assert!(end.contains("parameter 1: text of 4 bytes does not fit VARCHAR(3)"), "{end}");
    assert_eq!(session.machine.in_flight(), 0);
}

#[test]
pub fn without_a_reply_the_statement_is_executed_unchanged() {
    let mut session = Conversation::start();
    let received = session.execute(UPDATE, row("abcd", ""), false);
    session.feed(&hex(DESCRIBED)).unwrap();
    session.feed(&hex("000dff37000000000000 0000000c")).unwrap();
    assert!(session.sent().ends_with(&["SQ_EXECUTE", "SQ_EOT"]));
    session.feed(&hex(DONE)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn an_interrupt_that_hits_the_query_for_types_ends_the_statement_and_it_is_sent_again() {
    let mut session = Conversation::start();
    let received = session.execute(UPDATE, row("abc", ""), false);
    session.feed(&hex(DESCRIBED)).unwrap();
    session.sent();
    session.feed(&hex(INTERRUPTED)).unwrap();
    assert!(received.get().end.unwrap().contains("-213"));
    session.execute(UPDATE, row("abc", ""), false);
    assert_eq!(session.sent(), ASKED);
}

#[test]
pub fn a_discarded_update_binds_nothing() {
    let mut session = Conversation::start();
    session.execute(UPDATE, row("abc", ""), false);
    session.feed(&hex(DESCRIBED)).unwrap();
    assert!(session.sent().ends_with(&ASKED));
    let id = (1..9).find(|id| session.machine.has(*id)).unwrap();
    session.machine.discard(id);
    session.feed(&hex(TYPES)).unwrap();
    assert!(session.sent().is_empty());
    assert!(session.machine.is_idle());
}
