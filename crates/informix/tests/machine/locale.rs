//! A statement that opens another database: the query for its code set comes before anything else is sent.

use crate::support::bytes;
use crate::support::session::Conversation;
use headrace_core::Session as _;
use headrace_informix::codeset::CodeSet;
use headrace_testkit::{TestValue as V, Trace, unhex};

const DESCRIBED: &str =
    "0008000100000000000000000000 00000000 000f0000000000000000000000000000 00370000000100000001000c";
const OPENED: &str = "000f0015000000000000000000000000 00370000000100000001000c";
const INTERRUPTED: &str = "000dff2b000000000000 0000000c";

/// Words in the text of the query for the locale.
const QUESTION: &str = " GL_COLLATE";

/// Returns true if a statement was prepared whose text has these words.
fn is_prepared(sent: &Trace, words: &str) -> bool {
    sent.messages().iter().any(|message| message.starts_with("SQ_PREPARE ") && message.contains(words))
}

fn hex(text: &str) -> Vec<u8> {
    unhex(&text.replace(' ', ""))
}

#[test]
pub fn the_code_set_of_a_database_that_is_opened_is_queried_until_it_is_known() {
    let mut session = Conversation::start();
    let opened = session.execute("database other", vec![], false);
    let next = session.execute("insert into t values (?)", vec![V::text("\u{20ac}")], false);
    session.sent();
    session.feed(&hex(DESCRIBED)).unwrap();
    let sent = session.sent();
    assert!(is_prepared(&sent, QUESTION) && !is_prepared(&sent, "insert"), "{sent:?}");
    session.feed(&hex(OPENED)).unwrap();
    session.feed(&hex(INTERRUPTED)).unwrap();
    assert!(is_prepared(&session.sent(), QUESTION));
    assert!(opened.get().end.is_none());
    session.feed(&bytes("reply", "srv_t2_connect_010")).unwrap();
    let mut row = bytes("reply", "srv_t2_connect_012");
    let at = row.windows(9).position(|w| w == b"en_US.819").unwrap();
    row[at..at + 9].copy_from_slice(b"ja_JP.932");
    for byte in row {
        session.feed(&[byte]).unwrap();
    }
    assert_eq!(session.machine.codeset().name(), "Shift_JIS");
    assert_eq!(opened.get().end.as_deref(), Some("done"));
    assert!(is_prepared(&session.sent(), "insert"), "the insert is prepared now");
    assert!(next.get().end.is_none());
}

#[test]
pub fn a_database_that_is_not_opened_changes_nothing() {
    let mut session = Conversation::start();
    let refused = session.execute("database other", vec![], false);
    session.feed(&hex(DESCRIBED)).unwrap();
    session.feed(&hex("000dfeb7ff910000000000046e6f6e65000c")).unwrap();
    session.feed(&hex("000dff32ff9100000000 0000000c")).unwrap();
    assert!(refused.get().end.unwrap().contains("-329"));
    assert_eq!(session.machine.codeset(), CodeSet::Latin1);
    assert_eq!(session.machine.in_flight(), 0);
}
