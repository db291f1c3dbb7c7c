//! Blocks whose transaction the server has ended: after a deadlock, and after errors of which only the status shows it.

use crate::machine::conversations::{Script, mysql8, packet, reply, session};
use crate::support::session::Conversation;
use headrace_core::{IfUnsent, Protocol as _, Session as _, TransactionStatus, Verb};
use headrace_mysql::machine::{AsText, Execute, Machine, ParameterRows, Request};
use headrace_testkit::Shared;
use std::sync::atomic::Ordering;

const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;
const DUPLICATE: u16 = 1062;
const AUTOCOMMIT: u8 = 2;
const IN_TRANS: u8 = 1;

/// An OK packet with this status.
fn ok(status: u8) -> Vec<u8> {
    reply(&[&[0, 0, 0, status, 0, 0, 0]])
}

fn err(code: u16) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    let state: &[u8] = if code == DEADLOCK { b"#40001no" } else { b"#HY000no" };
    packet(1, &[&[0xff, low, high][..], state].concat())
}

/// A session whose block has begun.
fn in_block() -> Conversation<Script> {
    let mut session = session(mysql8());
    session.machine.requests().block().store(1, Ordering::SeqCst);
    verb(&mut session, Verb::Begin(headrace_core::Modes::default()));
    answer(&mut session, [ok(AUTOCOMMIT | IN_TRANS)]);
    session.peer.sent();
    session
}

fn verb(session: &mut Conversation<Script>, verb: Verb) -> Shared {
    let mut requests = Machine::<crate::support::TestHandler>::of_verb(&verb).expect("MySQL has it");
    session.ask(requests.remove(0), vec![], vec![]).1
}

fn text(session: &mut Conversation<Script>, sql: &str) -> Shared {
    let execute =
        Execute { facts: None, sql: sql.into(), rows: ParameterRows::One, text: AsText::Always, cursor: None };
    session.ask(Request::Execute(execute), vec![], vec![]).1
}

/// Receives these replies, and sends what follows from each.
fn answer<const N: usize>(session: &mut Conversation<Script>, replies: [Vec<u8>; N]) {
    session.peer.replies.extend(replies);
    session.run().expect("the server keeps to the protocol");
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

#[test]
pub fn nothing_follows_a_deadlock_and_the_end_of_the_block_fails() {
    let mut session = in_block();
    let update = text(&mut session, "update t set a = 1");
    answer(&mut session, [err(DEADLOCK)]);
    assert_eq!(session.machine.transaction(), TransactionStatus::Failed);
    session.peer.sent();
    let (later, savepoint) =
        (text(&mut session, "update t set a = 2"), Verb::Savepoint { name: "s".into(), begin: None });
    let savepoint = verb(&mut session, savepoint);
    answer(&mut session, []);
    assert!(session.peer.sent().is_empty(), "nothing was sent");
    assert!(end(&update).contains("1213") && end(&later).contains("not executed"), "{}", end(&later));
    assert!(end(&savepoint).contains("not executed"));
    let commit = verb(&mut session, Verb::Commit(IfUnsent::RollBack));
    session.machine.requests().block().store(0, Ordering::SeqCst);
    answer(&mut session, [ok(AUTOCOMMIT)]);
    assert_eq!(session.peer.sent(), ["COM_QUERY ROLLBACK"]);
    assert!(end(&commit).contains("not committed"), "{}", end(&commit));
    let next = text(&mut session, "update t set a = 3");
    answer(&mut session, [ok(AUTOCOMMIT)]);
    assert_eq!((end(&next).as_str(), session.machine.transaction()), ("done", TransactionStatus::Idle));
}

#[test]
pub fn the_status_is_asked_for_after_an_error_that_may_end_the_transaction() {
    for (status, sent, ended) in [
        (AUTOCOMMIT, vec!["COM_PING"], "not executed"),
        (AUTOCOMMIT | IN_TRANS, vec!["COM_PING", "COM_QUERY update t set a = 2"], "done"),
        (IN_TRANS, vec!["COM_PING", "COM_QUERY update t set a = 2"], "done"),
    ] {
        let mut session = in_block();
        text(&mut session, "update t set a = 1");
        answer(&mut session, [err(LOCK_WAIT_TIMEOUT)]);
        session.peer.sent();
        let later = text(&mut session, "update t set a = 2");
        answer(&mut session, [ok(status), ok(status)]);
        assert_eq!(session.peer.sent(), sent, "{status}");
        assert!(end(&later).contains(ended), "{status}: {}", end(&later));
    }
}

#[test]
pub fn the_status_is_asked_for_before_a_commit_too() {
    let mut session = in_block();
    text(&mut session, "update t set a = 1");
    answer(&mut session, [err(LOCK_WAIT_TIMEOUT)]);
    session.peer.sent();
    let commit = verb(&mut session, Verb::Commit(IfUnsent::RollBack));
    session.machine.requests().block().store(0, Ordering::SeqCst);
    answer(&mut session, [ok(AUTOCOMMIT), ok(AUTOCOMMIT)]);
    assert_eq!(session.peer.sent(), ["COM_PING", "COM_QUERY ROLLBACK"]);
    assert!(end(&commit).contains("not committed"), "{}", end(&commit));
    // What is asked for belongs to this block alone.
    session.machine.requests().block().store(2, Ordering::SeqCst);
    let begun = verb(&mut session, Verb::Begin(headrace_core::Modes::default()));
    answer(&mut session, [ok(AUTOCOMMIT | IN_TRANS)]);
    assert_eq!(session.peer.sent(), ["COM_QUERY START TRANSACTION"]);
    assert_eq!(end(&begun), "done");
}

#[test]
pub fn another_error_is_compared_with_the_next_status() {
    for (status, is_lost) in [(AUTOCOMMIT | IN_TRANS, false), (AUTOCOMMIT, true)] {
        let mut session = in_block();
        text(&mut session, "insert into t values (1)");
        answer(&mut session, [err(DUPLICATE)]);
        session.peer.sent();
        let later = text(&mut session, "insert into t values (2)");
        answer(&mut session, [ok(status)]);
        assert_eq!(session.peer.sent(), ["COM_QUERY insert into t values (2)"], "it costs no round trip");
        assert_eq!(end(&later), "done");
        assert_eq!(session.machine.transaction() == TransactionStatus::Failed, is_lost);
        let commit = verb(&mut session, Verb::Commit(IfUnsent::RollBack));
        session.machine.requests().block().store(0, Ordering::SeqCst);
        answer(&mut session, [ok(AUTOCOMMIT)]);
        assert_eq!(end(&commit).contains("not committed"), is_lost, "{}", end(&commit));
    }
}

#[test]
pub fn what_ends_a_transaction_by_itself_is_not_taken_for_its_loss() {
    let mut session = in_block();
    text(&mut session, "insert into t values (1)");
    answer(&mut session, [err(DUPLICATE)]);
    text(&mut session, "create table u (a int)");
    answer(&mut session, [ok(AUTOCOMMIT)]);
    assert_eq!(session.machine.transaction(), TransactionStatus::Idle);
}

#[test]
pub fn an_error_outside_of_a_block_changes_nothing() {
    let mut session = session(mysql8());
    let sent = [DEADLOCK, LOCK_WAIT_TIMEOUT].map(|code| {
        text(&mut session, "update t set a = 1");
        answer(&mut session, [err(code)]);
        let later = text(&mut session, "update t set a = 2");
        answer(&mut session, [ok(AUTOCOMMIT)]);
        end(&later)
    });
    assert_eq!(sent, ["done", "done"]);
}

#[test]
pub fn what_is_in_flight_after_a_deadlock_is_undone_with_the_block() {
    let mut session = in_block();
    let updates = ["update t set a = 1", "update t set a = 2", "update t set a = 3"];
    let received = updates.map(|sql| text(&mut session, sql));
    session.flush();
    let [first, second, third] = updates.map(|sql| format!("COM_QUERY {sql}"));
    let sent = [first.as_str(), "COM_QUERY SET autocommit=0", &second, &third];
    assert_eq!(session.peer.sent(), sent);
    // Without autocommit the second one has begun another transaction.
    answer(&mut session, [err(DEADLOCK), ok(0), ok(IN_TRANS), ok(IN_TRANS)]);
    assert_eq!(received.each_ref().map(end)[1..], ["done", "done"]);
    assert_eq!(session.machine.autocommits(), Some(true), "of the program's own statements");
    let commit = verb(&mut session, Verb::Commit(IfUnsent::RollBack));
    session.machine.requests().block().store(0, Ordering::SeqCst);
    answer(&mut session, [ok(0), ok(AUTOCOMMIT)]);
    assert_eq!(session.peer.sent(), ["COM_QUERY ROLLBACK", "COM_QUERY SET autocommit=1"]);
    assert!(end(&commit).contains("not committed"), "{}", end(&commit));
    let next = text(&mut session, "update t set a = 4");
    answer(&mut session, [ok(AUTOCOMMIT)]);
    assert_eq!(end(&next), "done");
    assert_eq!(session.peer.sent(), ["COM_QUERY update t set a = 4"]);
}

#[test]
pub fn blocks_are_held_after_the_program_has_turned_autocommit_on_again() {
    let mut session = session(mysql8());
    session.machine.commit_manually();
    text(&mut session, "select 1");
    answer(&mut session, [ok(0), ok(0)]);
    assert_eq!(session.machine.autocommits(), Some(false));
    text(&mut session, "SET autocommit=1");
    answer(&mut session, [ok(AUTOCOMMIT)]);
    assert_eq!(session.machine.autocommits(), Some(true));
    session.machine.requests().block().store(1, Ordering::SeqCst);
    verb(&mut session, Verb::Begin(headrace_core::Modes::default()));
    answer(&mut session, [ok(AUTOCOMMIT | IN_TRANS)]);
    session.peer.sent();
    for sql in ["update t set a = 1", "update t set a = 2"] {
        text(&mut session, sql);
    }
    session.flush();
    let sent = ["COM_QUERY update t set a = 1", "COM_QUERY SET autocommit=0", "COM_QUERY update t set a = 2"];
    assert_eq!(session.peer.sent(), sent);
    // After a deadlock the second one has begun another transaction, which the end of the block undoes.
    answer(&mut session, [err(DEADLOCK), ok(0), ok(IN_TRANS)]);
    verb(&mut session, Verb::Commit(IfUnsent::RollBack));
    session.machine.requests().block().store(0, Ordering::SeqCst);
    answer(&mut session, [ok(0), ok(AUTOCOMMIT)]);
    assert_eq!(session.peer.sent(), ["COM_QUERY ROLLBACK", "COM_QUERY SET autocommit=1"]);
}

/// The program's `SET autocommit=0` is in flight while an earlier one is answered, and one that turns it on is between.
#[test]
pub fn autocommit_that_is_being_turned_off_is_never_turned_on_by_a_block() {
    let mut session = session(mysql8());
    session.machine.commit_manually();
    text(&mut session, "select 1");
    text(&mut session, "SET autocommit=1");
    session.flush();
    session.machine.commit_manually();
    text(&mut session, "select 2");
    session.flush();
    // The first three are answered: the status is that autocommit is on, but the last one will turn it off.
    session.peer.replies.extend([ok(0), ok(0), ok(AUTOCOMMIT)]);
    session.pump(|machine| machine.queued() == 1).expect("the server keeps to the protocol");
    session.peer.sent();
    session.machine.requests().block().store(1, Ordering::SeqCst);
    for sql in ["update t set a = 1", "update t set a = 2"] {
        text(&mut session, sql);
    }
    session.flush();
    assert_eq!(session.peer.sent(), ["COM_QUERY update t set a = 1", "COM_QUERY update t set a = 2"]);
    answer(&mut session, [ok(0), ok(0), ok(IN_TRANS), ok(IN_TRANS)]);
    assert_eq!(session.machine.autocommits(), Some(false));
}

#[test]
pub fn autocommit_that_cannot_be_turned_on_again_ends_the_connection() {
    let mut session = in_block();
    let updates = ["update t set a = 1", "update t set a = 2"].map(|sql| text(&mut session, sql));
    answer(&mut session, [ok(3), ok(IN_TRANS), ok(IN_TRANS)]);
    assert_eq!(updates.each_ref().map(end), ["done", "done"]);
    verb(&mut session, Verb::Commit(IfUnsent::RollBack));
    session.peer.replies.extend([ok(0), err(DUPLICATE)]);
    let reason = session.run().unwrap_err().message;
    assert!(reason.contains("did not take back") && reason.contains("it is unknown whether"), "{reason}");
}
