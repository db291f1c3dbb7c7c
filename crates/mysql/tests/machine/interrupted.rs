//! Ends of transactions and savepoints that a KILL QUERY of another session has met: MariaDB refuses them.

use crate::machine::conversations::*;
use crate::support::TestHandler;
use crate::support::session::Conversation;
use headrace_core::{FatalKind, IfUnsent, Protocol, Session as _, Verb};
use headrace_mysql::machine::{BatchStrategy, Machine};
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_testkit::{Shared, TestValue as V};

const INTERRUPTED: &[u8] = b"\xff\x25\x05#70100Query execution was interrupted";
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
const UNKNOWN: &str = "it is unknown whether the statement in flight was executed";
const OPEN: &[u8] = &[0, 0, 0, 3, 0, 0, 0];

fn mariadb() -> Capabilities {
    mysql8() - Capabilities::LONG_PASSWORD
}

/// A session whose transaction is open.
fn open() -> Conversation<Script> {
    let mut session = session(mariadb());
    ask(&mut session, &Verb::Begin(headrace_core::Modes::default()));
    session.peer.replies.push_back(reply(&[OPEN]));
    session.run().unwrap();
    session.peer.sent();
    session
}

fn ask(session: &mut Conversation<Script>, verb: &Verb) -> Vec<Shared> {
    let requests = Machine::<TestHandler>::of_verb(verb).unwrap();
    requests.into_iter().map(|request| session.ask(request, vec![], vec![]).1).collect()
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not ended".into())
}

fn commit() -> Verb {
    Verb::Commit(IfUnsent::RollBack)
}

fn rollback() -> Verb {
    Verb::Rollback(IfUnsent::RollBack)
}

#[test]
fn the_end_of_a_block_that_others_have_interrupted_is_sent_once_more() {
    for (verb, sent, outcome) in
        [(commit(), "COM_QUERY COMMIT", "server 1317"), (rollback(), "COM_QUERY ROLLBACK", "done")]
    {
        let mut session = open();
        let ended = ask(&mut session, &verb).remove(0);
        session.peer.replies.extend([reply(&[INTERRUPTED]), reply(&[OK])]);
        session.run().unwrap();
        assert_eq!(session.peer.sent(), [sent, "COM_QUERY ROLLBACK"]);
        assert_eq!(end(&ended), outcome);
        let next = session.query("insert into t values (1)");
        session.peer.replies.push_back(reply(&[OK]));
        session.run().unwrap();
        assert_eq!((end(&next).as_str(), session.machine.is_idle()), ("done", true));
    }
}

#[test]
fn a_connection_whose_block_cannot_be_ended_is_closed() {
    for verb in [commit(), rollback()] {
        let mut session = open();
        ask(&mut session, &verb);
        session.peer.replies.extend([reply(&[INTERRUPTED]), reply(&[INTERRUPTED])]);
        let closed = session.run().unwrap_err();
        assert_eq!(closed.kind, FatalKind::TransactionInDoubt);
        assert!(closed.message.contains("its changes are rolled back"), "{closed}");

        // What is in flight after the end is executed in the transaction that is still open, and may commit it.
        let mut session = open();
        ask(&mut session, &verb);
        let next = session.query("insert into t values (1)");
        session.flush();
        session.peer.replies.push_back(reply(&[INTERRUPTED]));
        let closed = session.run().unwrap_err();
        assert_eq!(closed.kind, FatalKind::TransactionInDoubt);
        assert!(closed.message.contains(UNKNOWN) && !closed.message.contains("rolled back"), "{closed}");
        assert!(end(&next).starts_with("fatal"), "{}", end(&next));
    }
}

#[test]
fn what_the_program_has_asked_for_itself_is_not_sent_again() {
    for (verb, sent) in
        [(Verb::Commit(IfUnsent::Forget), "COM_QUERY COMMIT"), (Verb::Rollback(IfUnsent::Forget), "COM_QUERY ROLLBACK")]
    {
        let mut session = open();
        let ended = ask(&mut session, &verb).remove(0);
        session.peer.replies.push_back(reply(&[INTERRUPTED]));
        session.run().unwrap();
        assert_eq!(session.peer.sent(), [sent]);
        assert_eq!(end(&ended), "server 1317");
    }
}

#[test]
fn a_savepoint_that_was_not_released_stays_and_one_that_was_not_rolled_back_closes_the_connection() {
    let mut session = open();
    let released = ask(&mut session, &Verb::Release("a".into())).remove(0);
    session.peer.replies.push_back(reply(&[INTERRUPTED]));
    session.run().unwrap();
    assert_eq!(end(&released), "done");

    let mut session = open();
    ask(&mut session, &Verb::RollbackTo("a".into()));
    session.peer.replies.extend([reply(&[INTERRUPTED]), reply(&[OPEN])]);
    assert_eq!(session.run().unwrap_err().kind, FatalKind::TransactionInDoubt);
}

/// A batch of two rows, and its end.
fn batch(session: &mut Conversation<Script>, answers: &[&[u8]]) -> Shared {
    let rows = vec![vec![V::Int(7)], vec![V::Int(8)]];
    let received = session.batch("update t set a = ?", BatchStrategy::Pipelined, true, rows);
    let prepared = reply(&[&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 8, 63)]);
    session.peer.replies.push_back(prepared);
    session.peer.replies.extend(answers.iter().map(|answer| reply(&[answer])));
    received
}

#[test]
fn a_batch_whose_commit_was_interrupted_may_be_stored() {
    let mut session = session(mariadb());
    let received = batch(&mut session, &[OK, OK, OK, INTERRUPTED, OK]);
    session.run().unwrap();
    assert!(session.peer.sent().ends_with(&["COM_QUERY COMMIT", "COM_QUERY SET autocommit=1"]));
    assert!(received.get().error.unwrap().ends_with(UNKNOWN));
}

#[test]
fn a_batch_that_has_failed_is_rolled_back_although_others_interrupt_that() {
    let mut first = session(mariadb());
    let received = batch(&mut first, &[OK, OK, DUPLICATE, INTERRUPTED, OK, OK]);
    first.run().unwrap();
    assert!(first.peer.sent().ends_with(&["COM_QUERY ROLLBACK", "COM_QUERY ROLLBACK", "COM_QUERY SET autocommit=1"]));
    assert_eq!(end(&received), "server 1062 at row 1");

    let mut second = session(mariadb());
    let received = batch(&mut second, &[OK, OK, DUPLICATE, INTERRUPTED, INTERRUPTED, OK]);
    assert!(second.run().unwrap_err().message.ends_with(UNKNOWN));
    assert_ne!(end(&received), "done");

    // Within a transaction: its savepoint is released all the same.
    let mut within = open();
    batch(&mut within, &[OPEN, OPEN, DUPLICATE, INTERRUPTED, OPEN]);
    assert_eq!(within.run().unwrap_err().kind, FatalKind::TransactionInDoubt);
}

#[test]
fn settings_that_were_interrupted_leave_unknown_what_the_statement_after_them_has_done() {
    let mut session = session(mariadb());
    session.machine.commit_manually();
    let received = session.query("insert into t values (1)");
    session.flush();
    session.peer.replies.extend([reply(&[INTERRUPTED]), reply(&[OK])]);
    assert!(session.run().unwrap_err().message.ends_with(UNKNOWN));
    assert!(received.get().end.unwrap().contains(UNKNOWN), "{:?}", received.get().end);
}
