//! What a session defines, or takes back, is known to whatever it asks for next: no cursor is opened for an older table.

use crate::side_by_side::{ask, count, described, done, ends, give_copies, opened, row, rows, warm};
use crate::support::session::{EOT, Session};
use headrace_testkit::{Trace, unhex};

/// Answers that a definition is prepared, executed and released.
fn define(session: &mut Session) {
    let told = session.execute("create temp table t (a int)", Vec::new(), false);
    let ok = "000f000000000000000000000000000000370000000100000001000c";
    session.feed(&unhex(&format!("0008002d0009000000000000000000000000{ok}"))).unwrap();
    session.feed(&unhex(ok)).unwrap();
    assert_eq!(told.get().end.as_deref(), Some("done"));
    session.feed(&unhex(EOT)).unwrap();
    session.sent();
}

fn opens(sent: &Trace) -> usize {
    sent.count(&["SQ_OPEN"])
}

#[test]
pub fn copies_are_prepared_again_after_a_definition() {
    let mut session = warm();
    ask(&mut session, 0..5);
    give_copies(&mut session);
    session.feed(&[unhex(EOT), [row(1), done(1)].concat().repeat(4), unhex(&EOT.repeat(4))].concat()).unwrap();
    define(&mut session);
    let asked = ask(&mut session, 0..5);
    let sent = session.sent();
    assert_eq!(
        (sent.count(&["SQ_PREPARE select"]), opens(&sent), count(&sent, 0, "SQ_RELEASE")),
        (1, 0, 1),
        "{sent:?}"
    );
    session.feed(&[unhex(EOT), described(5)].concat()).unwrap();
    let sent = session.sent();
    assert!(opened(&sent, 5, 0).is_some(), "{sent:?}");
    assert_eq!((sent.count(&["SQ_PREPARE select"]), opens(&sent)), (4, 1), "no older copy is used: {sent:?}");
    session.feed(&[row(10), done(1)].concat()).unwrap();
    session.feed(&(6..=9).flat_map(described).collect::<Vec<u8>>()).unwrap();
    let sent = session.sent();
    for (id, parameter) in [(5, 1), (9, 2), (8, 3), (7, 4)] {
        assert!(opened(&sent, id, parameter).is_some(), "{id} {sent:?}");
    }
    for id in 1..=4 {
        assert_eq!(count(&sent, id, "SQ_RELEASE"), 1, "{id} {sent:?}");
    }
    let replies: Vec<u8> = (1..5).flat_map(|n| [row(10 + n), done(1)].concat()).collect();
    session.feed(&[unhex(&EOT.repeat(5)), replies].concat()).unwrap();
    assert!(ends(&asked).iter().all(|end| end.as_deref() == Some("done")), "{:?}", ends(&asked));
    assert_eq!(rows(&asked[4]), ["14"]);
}
