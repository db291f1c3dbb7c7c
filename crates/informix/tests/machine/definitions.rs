//! A session's own definitions, made or rolled back, apply to its next requests: no cursor is opened for an older
//! table.

use crate::machine::side_by_side::{
    SELECT, ask, count, describe_duplicates, described, done, ends, opened, row, rows, warm,
};
use crate::support::session::{Conversation, EOT};
use headrace_core::{IfUnsent, Modes, Verb};
use headrace_informix::machine::Request;
use headrace_testkit::{TestValue as V, Trace, unhex};

/// Replies to the preparation, execution and release of a definition.
fn define(session: &mut Conversation) {
    let received = session.execute("create temp table t (a int)", Vec::new(), false);
    let ok = "000f000000000000000000000000000000370000000100000001000c";
    session.feed(&unhex(&format!("0008002d0009000000000000000000000000{ok}"))).unwrap();
    session.feed(&unhex(ok)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
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
    describe_duplicates(&mut session);
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
    assert_eq!((sent.count(&["SQ_PREPARE select"]), opens(&sent)), (4, 1), "no older duplicate is used: {sent:?}");
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

#[test]
pub fn a_query_waits_for_what_takes_definitions_back() {
    // With the number of replies: after a rollback to it the savepoint is released.
    let back = [(Verb::Rollback(IfUnsent::RollBack), 1), (Verb::RollbackTo("s".into()), 2)];
    for ((verb, replies), defined) in back.into_iter().flat_map(|back| [(back.clone(), true), (back, false)]) {
        let what = format!("{verb:?} {defined}");
        let mut session = warm();
        session.ask(Request::Verb(Verb::Begin(Modes::default())), Vec::new(), Vec::new());
        session.feed(&unhex(EOT)).unwrap();
        if defined {
            define(&mut session);
            session.execute(SELECT, vec![V::Int(0)], false);
            session.feed(&[unhex(EOT), described(5)].concat()).unwrap();
            session.feed(&[row(1), done(1), unhex(EOT)].concat()).unwrap();
        }
        session.sent();
        session.ask(Request::Verb(verb), Vec::new(), Vec::new());
        let received = session.execute(SELECT, vec![V::Int(1)], false);
        let sent = session.sent();
        assert_eq!(opens(&sent), usize::from(!defined), "{what} {sent:?}");
        session.feed(&unhex(&EOT.repeat(replies))).unwrap();
        let sent = session.sent();
        assert_eq!(sent.count(&["SQ_PREPARE select"]), usize::from(defined), "{what} {sent:?}");
        if defined {
            session.feed(&[unhex(EOT), described(6)].concat()).unwrap();
        }
        session.feed(&[row(7), done(1)].concat()).unwrap();
        assert_eq!(rows(&received), ["7"], "{what}");
    }
}
