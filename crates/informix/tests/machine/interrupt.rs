//! Urgent bytes: never one before the server has read the previous one, and no request is started that a late one could
//! hit.

use crate::support::bytes;
use crate::support::session::{Conversation, EOT};
use headrace_core::{Discarded, FatalKind, IfUnsent, Interrupt, Modes, Session as _, Verb};
use headrace_informix::machine::Request;
use headrace_testkit::{TestValue as V, unhex};
use std::time::{Duration, Instant};

const SELECT: &str = "select a from t where a > ?";
const INTERRUPTED: &str = "000dff2b0000000000000000000c";
const DONE: &str = "000f000000000000000000000000000000370000000100000001000c";
const PONG: &str = "003500014100000c";

/// A session that works on a query.
fn busy() -> Conversation {
    let mut session = Conversation::start();
    session.execute(SELECT, vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.sent();
    session
}

#[test]
pub fn no_second_one_is_sent_before_a_sign_that_the_first_was_read() {
    let (mut session, now) = (busy(), Instant::now());
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    for millis in [0, 150, 1500] {
        assert_eq!(session.machine.interrupt(now + Duration::from_millis(millis)), Interrupt::Needless);
    }
    let late = now + Duration::from_secs(3);
    assert_eq!(session.machine.interrupt(late), Interrupt::Send, "the connection is as good as lost");
}

#[test]
pub fn the_next_request_waits_until_the_urgent_byte_was_read() {
    let (mut session, now) = (busy(), Instant::now());
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.feed(&unhex(INTERRUPTED)).unwrap();
    let next = session.execute(SELECT, vec![V::Int(1)], false);
    assert!(session.sent().ends_with(&["SQ_VERSION", "SQ_EOT"]), "a round trip of the machine's own");
    assert_eq!(session.machine.interrupt(now), Interrupt::Later);
    session.feed(&unhex(EOT)).unwrap();
    session.feed(&unhex(PONG)).unwrap();
    assert!(session.sent().contains(&["SQ_OPEN"]));
    assert_eq!(next.get().end, None);
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
}

#[test]
pub fn what_comes_after_it_is_interrupted_once_the_server_has_had_time_to_read_it() {
    let (mut session, now) = (busy(), Instant::now());
    let second = session.execute("select a from t where a < ?", vec![V::Int(0)], false);
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.feed(&unhex(INTERRUPTED)).unwrap();
    assert_eq!(second.get().end, None);
    let later = now + Duration::from_millis(100);
    assert_eq!(session.machine.interrupt(later), Interrupt::Later);
    assert_eq!(session.machine.interrupt(later + Duration::from_millis(200)), Interrupt::Later);
}

/// The server reads the urgent byte before the group that executes the statement, so that the statement goes on.
#[test]
pub fn one_that_was_read_while_the_statement_was_prepared_is_followed_by_another() {
    let mut session = Conversation::start();
    let now = Instant::now();
    session.execute(SELECT, vec![V::Int(0)], false);
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    assert!(session.sent().contains(&["SQ_OPEN"]));
    for millis in [0, 200] {
        assert_eq!(session.machine.interrupt(now + Duration::from_millis(millis)), Interrupt::Later);
    }
    assert_eq!(session.machine.interrupt(now + Duration::from_millis(300)), Interrupt::Send);
}

/// A request that waits for the ping leaves the one before it interruptible.
#[test]
pub fn one_without_effect_is_followed_by_another_while_a_ping_is_on_its_way() {
    let (mut session, now) = (busy(), Instant::now());
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.execute(SELECT, vec![V::Int(1)], false);
    assert_eq!(session.machine.interrupt(now + Duration::from_millis(100)), Interrupt::Later);
    assert_eq!(session.machine.interrupt(now + Duration::from_secs(3)), Interrupt::Send);
}

#[test]
pub fn nothing_is_interrupted_where_nothing_runs() {
    assert_eq!(Conversation::start().machine.interrupt(Instant::now()), Interrupt::Needless);
}

#[test]
pub fn what_ends_a_block_is_not_interrupted() {
    let ends = [
        (Verb::Rollback(IfUnsent::RollBack), 1),
        (Verb::Commit(IfUnsent::RollBack), 1),
        (Verb::RollbackTo("s".into()), 2),
        (Verb::Release("s".into()), 1),
    ];
    for (verb, groups) in ends {
        let mut session = Conversation::start();
        session.ask(Request::Verb(Verb::Begin(Modes::default())), vec![], vec![]);
        session.feed(&unhex(DONE)).unwrap();
        session.ask(Request::Verb(verb.clone()), vec![], vec![]);
        assert_eq!(session.machine.discard(2), Discarded::Ending, "{verb:?}");
        assert!(!session.machine.is_at_discarded(), "{verb:?}");
        session.feed(&unhex(&DONE.repeat(groups))).unwrap();
        assert_eq!(session.machine.in_flight(), 0, "{verb:?}");
    }
    // A statement can be interrupted, but not if the end of its block was sent after it.
    let mut session = busy();
    assert_eq!(session.machine.discard(1), Discarded::Alone);
}

#[test]
pub fn the_end_of_an_inner_block_that_is_cancelled_before_it_is_sent_undoes_it() {
    let mut session = busy();
    session.ask(Request::Verb(Verb::Release("s".into())), vec![], vec![]);
    assert_eq!(session.machine.discard(2), Discarded::Gone);
    session.feed(&bytes("reply", "prep_select_036")).unwrap();
    let sent = session.sent();
    assert!(sent.contains(&["SQ_SQLIRBACKSVPT s"]), "{sent:?}");
}

/// The server may have rolled back: the next commit would find no transaction.
#[test]
pub fn a_cancelled_commit_that_fails_ends_the_session() {
    let rolled_back = format!("0063000300000001{INTERRUPTED}");
    for (answer, survives) in [(DONE, true), (INTERRUPTED, false), (&rolled_back, false)] {
        let mut session = Conversation::start();
        session.ask(Request::Verb(Verb::Begin(Modes::default())), vec![], vec![]);
        session.feed(&unhex(DONE)).unwrap();
        session.ask(Request::Verb(Verb::Commit(IfUnsent::Forget)), vec![], vec![]);
        assert_eq!(session.machine.discard(2), Discarded::Alone);
        assert!(session.machine.is_at_discarded());
        let ended = session.feed(&unhex(answer));
        let kind = ended.map_err(|fatal| fatal.kind).err();
        assert_eq!(kind, (!survives).then_some(FatalKind::TransactionInDoubt), "{answer}");
    }
}
