//! What a cancel request may meet: the statement that it is for, and none of the driver's own that decides about others.

use crate::machine::conversations::*;
use crate::support::TestHandler;
use crate::support::session::Conversation;
use headrace_core::{CancelStep, Discarded, FatalKind, Protocol, Session as _, Verb};
use headrace_mysql::machine::{BatchStrategy, Machine, Request, SessionOptions};
use headrace_testkit::{Shared, TestValue as V};
use std::sync::Arc;
use std::time::Instant;

const KILL: &str = "KILL QUERY";
const INTERRUPTED: &[u8] = b"\xff\x25\x05#70100Query execution was interrupted";

/// What a cancel request is now: to be sent, or later.
fn step(session: &mut Conversation<Script>) -> &'static str {
    match session.machine.cancel_step(Instant::now()) {
        CancelStep::Statement(statement) if statement.sql.starts_with(KILL) => "now",
        CancelStep::Later => "later",
        other => panic!("{other:?}"),
    }
}

/// One more reply is received.
fn receive(session: &mut Conversation<Script>, reply: Vec<u8>) {
    session.peer.replies.push_back(reply);
    session.pump(|_| false).unwrap_err();
}

fn rows() -> Vec<Vec<V>> {
    vec![vec![V::Int(7)], vec![V::Int(8)]]
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_default()
}

#[test]
fn a_first_statement_is_cancelled_once_the_session_is_set_up() {
    for autocommits in [true, false] {
        let replies = vec![greeting("8.4.3", "mysql_native_password", mysql8()), packet(2, OK)];
        let mut session = connecting(SessionOptions::default(), replies);
        session.start().unwrap();
        if !autocommits {
            session.machine.commit_manually();
        }
        let (id, _) = session.ask(Request::Query { sql: "select sleep(9)".into(), infile: false }, vec![], vec![]);
        session.flush();
        assert_eq!(session.machine.discard(id), Discarded::Alone);
        assert_eq!(step(&mut session), "later");
        receive(&mut session, set_up());
        assert_eq!(step(&mut session), "now");
        receive(&mut session, reply(&[INTERRUPTED]));
        assert!(session.machine.is_idle());
    }
}

#[test]
fn a_batch_is_cancelled_once_its_guard_is_set() {
    /// A transaction is open, and autocommit is off: the rows travel with the savepoint.
    const OPEN: &[u8] = &[0, 0, 0, 1, 0, 0, 0];
    for (status, guard) in [(OK, "COM_QUERY SET autocommit=0"), (OPEN, "COM_QUERY SAVEPOINT `headrace_batch`")] {
        let mut session = session(mysql8());
        session.query("do 0");
        receive(&mut session, reply(&[status]));
        session.batch("insert into t values (?)", BatchStrategy::Joined, true, rows());
        let id = session.machine.find(|_| true).unwrap();
        session.flush();
        receive(&mut session, reply(&[status]));
        assert!(session.peer.sent().contains(&[guard, "COM_QUERY insert into t values (7),(8)"]), "{guard}");
        assert_eq!(session.machine.abandon(id), Discarded::Alone);
        assert_eq!(step(&mut session), "later", "without {guard} the rows would be committed one by one");
        receive(&mut session, reply(&[status]));
        assert_eq!(step(&mut session), "now");
    }
}

#[test]
fn the_end_of_an_inner_block_is_not_cancelled_and_ends_the_session_if_it_fails() {
    let name: Arc<str> = "s".into();
    for verb in [Verb::RollbackTo(name.clone()), Verb::Release(name)] {
        for (answer, survives) in [(OK, true), (INTERRUPTED, false)] {
            let mut session = session(mysql8());
            let requests = Machine::<TestHandler>::of_verb(&verb).unwrap();
            let ids: Vec<u64> = requests.into_iter().map(|request| session.ask(request, vec![], vec![]).0).collect();
            session.flush();
            assert_eq!(session.machine.abandon(ids[0]), Discarded::Ending, "{verb:?}");
            for _ in &ids {
                session.peer.replies.push_back(reply(&[answer]));
            }
            let ended = session.run().map_err(|fatal| fatal.kind).err();
            assert_eq!(ended, (!survives).then_some(FatalKind::TransactionInDoubt), "{verb:?}");
        }
    }
}

#[test]
fn the_guard_of_a_batch_is_not_sent_while_a_cancel_request_is_under_way() {
    let mut session = session(mysql8());
    session.batch("update t set a = ?", BatchStrategy::Auto, true, rows());
    session.flush();
    session.machine.pause();
    receive(&mut session, reply(&[&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 8, 63)]));
    assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE update t set a = ?"]);
    session.machine.unpause();
    session.flush();
    assert!(session.peer.sent().contains(&["COM_QUERY SET autocommit=0"]));
}

#[test]
pub fn an_interrupted_question_about_a_table_ends_its_batch_and_answers_nothing() {
    for is_discarded in [false, true] {
        let mut session = session(mysql8());
        let received = session.batch("insert into t values (?)", BatchStrategy::Auto, true, rows());
        let id = session.machine.find(|_| true).unwrap();
        session.flush();
        if is_discarded {
            assert_eq!(session.machine.discard(id), Discarded::Alone);
        }
        let question = session.peer.sent().messages()[0].clone();
        receive(&mut session, reply(&[INTERRUPTED]));
        assert_eq!(end(&received), if is_discarded { "" } else { "server 1317" });
        assert!(session.machine.is_idle());
        // Its table may be one that takes what the server refuses in a single row.
        session.batch("insert into t values (?)", BatchStrategy::Auto, true, rows());
        session.flush();
        assert_eq!(session.peer.sent(), [question.as_str()]);
    }
}

#[test]
fn the_error_of_a_guard_that_was_interrupted_says_which_rows_stay() {
    let mut session = session(mysql8());
    let received = session.batch("insert into t values (?)", BatchStrategy::Joined, true, rows());
    session.flush();
    let ok = || reply(&[OK]);
    for answer in [ok(), reply(&[INTERRUPTED]), ok(), ok(), ok()] {
        session.peer.replies.push_back(answer);
    }
    session.run().unwrap();
    let message = received.get().error.unwrap_or_default();
    assert!(message.contains("as autocommit was not turned off: 2 rows of it stay applied"), "{message}");
}
