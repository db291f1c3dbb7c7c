//! The broker gives the CAS of a session to another client.

use crate::support::session::{Conversation, greeting, options, resumed};
use crate::support::{done, frame, inserted, prepared, selected};
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{
    CancelStep, Discarded, FatalKind, IfUnsent, Modes, NextStep, Session as _, TransactionStatus, Verb,
};
use headrace_cubrid::machine::Request;
use headrace_cubrid::messages::{login, parameter};
use headrace_testkit::TestValue as V;
use std::time::Instant;

const INSERT: &str = "insert into t values (?)";
const SELECT: &str = "select a from t";

/// The connection is lost. Returns true if the session goes on, which is then connected again.
fn lose(session: &mut Conversation) -> bool {
    session.write_buffer.take();
    let goes_on = session.machine.survive_loss((), &Fatal::end_of_input());
    if goes_on {
        let step = session.machine.next_step();
        assert_eq!(step, NextStep::Reconnect { server: "db.example", host: "db.example", port: 33_000 });
        session.machine.reconnect(&mut session.write_buffer).unwrap();
    }
    goes_on
}

/// A session whose broker has a port.
fn start() -> Conversation {
    let mut session = Conversation::with(&headrace_cubrid::machine::SessionOptions { port: 33_000, ..options() });
    session.feed(&greeting()).unwrap();
    session.write_buffer.take();
    session
}

/// The same, with a prepared INSERT.
fn start_known() -> Conversation {
    let mut session = start();
    session.execute(INSERT, vec![V::Int(1)]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&inserted(0, 1)).unwrap();
    session.write_buffer.take();
    session
}

/// The same, with a prepared query.
fn start_query() -> Conversation {
    let mut session = start();
    session.execute(SELECT, vec![]);
    session.feed(&prepared(1, 21, 0)).unwrap();
    session.feed(&selected(0, 1, &[(1, 1)], true)).unwrap();
    session.write_buffer.take();
    session
}

/// The session goes on, and its INSERT is prepared and executed again.
fn insert_again(session: &mut Conversation) {
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&inserted(0, 1)).unwrap();
}

/// The session goes on, and its query is prepared and executed again.
fn select_again(session: &mut Conversation) {
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["PREPARE select a from t"]);
    session.feed(&prepared(1, 21, 0)).unwrap();
    session.feed(&selected(0, 1, &[(1, 1)], true)).unwrap();
}

/// The connection is lost, and the session does not go on, as a statement may have been executed.
fn lose_in_doubt(session: &mut Conversation) {
    let lost = Fatal::end_of_input();
    assert!(!session.machine.survive_loss((), &lost));
    session.machine.abort((), &lost);
}

/// The greeting of a CAS with another number.
fn another_process() -> Vec<u8> {
    let mut whole = resumed();
    whole[12..16].copy_from_slice(&77i32.to_be_bytes());
    whole
}

#[test]
pub fn what_was_in_flight_is_sent_again_to_the_same_process() {
    // PREPARE.
    let mut session = start();
    let received = session.execute(INSERT, vec![V::Int(1)]);
    assert!(lose(&mut session));
    let login = session.write_buffer.take();
    assert_eq!((login.len(), &login[login.len() - 20..]), (638, &session.machine.session_id().unwrap()[..]));
    insert_again(&mut session);
    assert_eq!((received.get().end.as_deref(), session.machine.resumed()), (Some("done"), 1));

    // A SELECT.
    let mut session = start_query();
    for _ in 0..2 {
        let received = session.execute(SELECT, vec![]);
        assert!(lose(&mut session));
        session.write_buffer.take();
        select_again(&mut session);
        assert_eq!(received.get().end.as_deref(), Some("done"));
        session.write_buffer.take();
    }

    // A batch whose rows are all sent, and one of which some are left: none is committed before all are answered.
    for (count, in_block) in [(2, false), (60_000, false), (2, true), (60_000, true)] {
        let mut session = start_known();
        if in_block {
            session.verb(Verb::Begin(Modes::default()));
        }
        let numbers: Vec<i64> = (0..count).collect();
        session.batch(true, &numbers);
        assert!(lose(&mut session));
        session.write_buffer.take();
        session.feed(&resumed()).unwrap();
        assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
    }
}

/// The network may have cut the connection after the statement was executed, and the broker gives away the process that
/// has not noticed: it has the same number and the session, as if it had read nothing.
#[test]
fn what_may_have_written_is_not_sent_again() {
    let mut session = start_known();
    let received = session.execute(INSERT, vec![V::Int(2)]);
    lose_in_doubt(&mut session);
    assert!(received.get().end.unwrap().contains("unknown whether"));

    // A block with its COMMIT.
    let mut session = start_known();
    session.verb(Verb::Begin(Modes::default()));
    let received = session.execute(INSERT, vec![V::Int(2)]);
    session.verb(Verb::Commit(IfUnsent::Forget));
    lose_in_doubt(&mut session);
    assert!(received.get().end.unwrap().contains("unknown whether"));
}

#[test]
pub fn a_session_that_was_resumed_commits_by_a_request_of_its_own() {
    let mut session = start_known();
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.execute(INSERT, vec![V::Int(2)]);
    insert_again(&mut session);
    session.write_buffer.take();
    // Nothing is committed of what was in flight, whichever process comes then.
    for greeting in [resumed(), another_process()] {
        let received = session.execute(INSERT, vec![V::Int(3)]);
        assert!(lose(&mut session));
        session.write_buffer.take();
        session.feed(&greeting).unwrap();
        assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
        session.feed(&prepared(1, 20, 1)).unwrap();
        assert_eq!(session.sent(), ["EXECUTE 1"]);
        session.feed(&inserted(1, 1)).unwrap();
        assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
        assert_eq!(received.get().end, None);
        session.feed(&done(0)).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"));
    }
    // Lost with its COMMIT.
    let received = session.execute(INSERT, vec![V::Int(4)]);
    session.feed(&inserted(1, 1)).unwrap();
    lose_in_doubt(&mut session);
    assert!(received.get().end.unwrap().contains("unknown whether"));
}

#[test]
fn what_changes_nothing_is_sent_again_to_another_process() {
    let mut session = start_query();
    let received = session.execute(SELECT, vec![]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&another_process()).unwrap();
    assert_eq!(session.sent(), ["PREPARE select a from t"]);
    session.feed(&prepared(1, 21, 0)).unwrap();
    session.feed(&selected(0, 1, &[(1, 1)], true)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));

    let mut session = start_known();
    let received = session.ask(Request::Version, vec![], vec![]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&another_process()).unwrap();
    assert_eq!(session.sent(), ["GET_DB_VERSION"]);
    session.feed(&frame(0, b"\0\0\0\x0011.3\0")).unwrap();
    assert_eq!((received.get().end.as_deref(), session.machine.process_id()), (Some("done"), 77));
}

#[test]
pub fn a_block_whose_end_was_in_flight_is_a_block_again() {
    let name = "END_TRAN ROLLBACK";
    let mut session = start_known();
    session.verb(Verb::Begin(Modes::default()));
    let received = session.execute(INSERT, vec![V::Int(2)]);
    let ended = session.verb(Verb::Rollback(IfUnsent::Forget));
    assert_eq!(session.sent(), ["EXECUTE 1", name]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1", name], "it commits nothing by itself");
    session.feed(&[inserted(1, 1), done(0)].concat()).unwrap();
    assert_eq!((received.get().end.as_deref(), ended.get().end.as_deref()), (Some("done"), Some("done")));
    assert_eq!(session.machine.transaction(), TransactionStatus::Idle);
}

#[test]
fn a_session_that_the_server_has_ended_is_not_resumed() {
    let mut session = start_known();
    assert!(lose(&mut session));
    let mut whole = resumed();
    whole[28] ^= 1;
    session.execute(INSERT, vec![V::Int(2)]);
    let lost = session.feed(&whole).unwrap_err();
    assert!(lost.message.contains("ended the session"), "{}", lost.message);
    assert!(!lost.message.contains("unknown whether"), "{}", lost.message);
}

#[test]
fn a_process_that_comes_from_another_database_is_asked_again() {
    // Its server is the same one, and the session is another.
    let elsewhere = |mut whole: Vec<u8>| {
        whole[36] ^= 1;
        whole
    };
    let execute = |session: &mut Conversation| {
        let received = session.execute(SELECT, vec![]);
        session.sent();
        assert!(lose(session));
        received
    };
    for first in [resumed(), another_process()] {
        let mut session = start_query();
        let identification = session.machine.session_id().unwrap();
        let received = execute(&mut session);
        let missed = session.feed(&elsewhere(first.clone())).unwrap_err();
        assert_eq!(missed.kind, FatalKind::ConnectionLost);
        assert!(lose(&mut session));
        let login = session.write_buffer.take();
        assert_eq!(login[login.len() - 20..], identification);
        select_again(&mut session);
        assert_eq!((received.get().end.as_deref(), session.machine.resumed()), (Some("done"), 1));
    }
    // It is not asked for ever.
    let mut session = start_query();
    execute(&mut session);
    let again = (0..).take_while(|_| {
        let lost = session.feed(&elsewhere(resumed())).unwrap_err();
        lose(&mut session) || !lost.message.contains("ended the session")
    });
    assert_eq!(again.count(), headrace_cubrid::limits::SESSION_MISSES);
}

/// The process that the session had is another client's, whose statement would be cancelled.
#[test]
fn nothing_is_cancelled_while_the_session_has_no_process() {
    let mut session = start_query();
    session.execute(SELECT, vec![]);
    session.sent();
    let step = |session: &mut Conversation| session.machine.cancel_step(Instant::now());
    assert!(matches!(step(&mut session), CancelStep::Message(_)));
    assert!(session.machine.survive_loss((), &Fatal::end_of_input()));
    assert_eq!((step(&mut session), session.machine.process_id()), (CancelStep::Nothing, 0));
    session.machine.reconnect(&mut session.write_buffer).unwrap();
    assert_eq!((step(&mut session), session.machine.process_id()), (CancelStep::Nothing, 0));
    session.feed(&another_process()).unwrap();
    let mut message = Vec::new();
    login::cancel(&mut message, 77);
    assert_eq!(step(&mut session), CancelStep::Message(message));
    session.machine.abort((), &Fatal::end_of_input());
    assert_eq!(step(&mut session), CancelStep::Nothing);
}

#[test]
fn a_resumed_session_leaves_no_transaction_open() {
    // A rollback outside of a block, and a ping, which leaves the CAS as it was before.
    let mut session = start_known();
    let received = session.verb(Verb::Rollback(IfUnsent::Forget));
    assert!(received.get().end.as_deref() == Some("done") && session.write_buffer.is_empty(), "none is open");
    assert!(lose(&mut session));
    session.write_buffer.take();
    let received = session.verb(Verb::Rollback(IfUnsent::Forget));
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN ROLLBACK"]);
    session.feed(&done(0)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));

    let mut session = start();
    let received = session.ask(Request::Version, vec![], vec![]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["GET_DB_VERSION"]);
    session.feed(&frame(1, b"\0\0\0\x0011.3\0")).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    assert_eq!(received.get().end, None);
    session.feed(&done(0)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));

    // The request that it was resumed for is gone.
    let mut session = start_known();
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    assert!(!session.machine.is_ready());
    session.feed(&done(0)).unwrap();
    assert!(session.machine.is_ready() && session.write_buffer.is_empty());
}

#[test]
fn the_parameters_of_a_session_are_set_again() {
    let mut session = start();
    for value in [5000, 7000] {
        session.ask(Request::SetParameter { parameter: parameter::LOCK_TIMEOUT, value }, vec![], vec![]);
        session.feed(&frame(0, &[0; 4])).unwrap();
    }
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&resumed()).unwrap();
    assert_eq!(session.sent(), ["SET_DB_PARAMETER"]);
    assert!(!session.machine.is_ready());
    session.feed(&frame(0, &[0; 4])).unwrap();
    assert!(session.machine.is_ready());
}

#[test]
fn a_session_is_lost_again_while_its_parameters_are_set() {
    let known = || {
        let mut session = start_query();
        session.ask(Request::SetParameter { parameter: parameter::LOCK_TIMEOUT, value: 5000 }, vec![], vec![]);
        session.feed(&frame(0, &[0; 4])).unwrap();
        let received = session.execute(SELECT, vec![]);
        assert!(lose(&mut session));
        (session, received)
    };
    let executed = |session: &mut Conversation| {
        session.write_buffer.take();
        session.feed(&frame(0, &[0; 4])).unwrap();
        session.feed(&prepared(1, 21, 0)).unwrap();
        session.feed(&selected(0, 1, &[(1, 1)], true)).unwrap();
    };
    for last in [resumed(), another_process()] {
        let (mut session, received) = known();
        session.feed(&resumed()).unwrap();
        assert!(lose(&mut session));
        session.feed(&last).unwrap();
        executed(&mut session);
        assert_eq!((received.get().end.as_deref(), session.machine.resumed()), (Some("done"), 1));
    }
    // It is not tried for ever.
    let (mut session, _) = known();
    let again = (0..).take_while(|_| {
        session.feed(&resumed()).unwrap();
        lose(&mut session)
    });
    assert_eq!(again.count(), headrace_cubrid::limits::RESUMES);
}

#[test]
fn what_may_have_been_executed_ends_with_the_connection() {
    // After PREPARE a transaction is open.
    let mut session = start();
    session.execute(INSERT, vec![V::Int(1)]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert!(!lose(&mut session));
    // A part of the reply has come.
    let mut session = start_known();
    session.execute(INSERT, vec![V::Int(2)]);
    session.feed(&inserted(0, 1)[..5]).unwrap();
    assert!(!lose(&mut session));
    // The rows of a batch cannot be read again.
    let mut session = start_known();
    session.rewinds = false;
    session.batch(true, &[1, 2]);
    assert!(!lose(&mut session));
}

/// A block whose first INSERT was answered.
fn start_block() -> Conversation {
    let mut session = start_known();
    session.verb(headrace_core::Verb::Begin(headrace_core::Modes::default()));
    session.execute(INSERT, vec![V::Int(2)]);
    session.feed(&inserted(1, 1)).unwrap();
    session.write_buffer.take();
    session
}

#[test]
fn the_rest_of_a_block_is_not_executed_without_its_beginning() {
    // The process is given away before the first statement of a block: all of it runs in the next one.
    let mut session = start_known();
    session.verb(headrace_core::Verb::Begin(headrace_core::Modes::default()));
    let received = session.execute(INSERT, vec![V::Int(2)]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&resumed()).unwrap();
    session.feed(&prepared(1, 20, 1)).unwrap();
    session.feed(&inserted(1, 1)).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
    // Also in another process: what the first one has executed was not committed.
    let mut session = start_known();
    session.verb(headrace_core::Verb::Begin(headrace_core::Modes::default()));
    session.execute(INSERT, vec![V::Int(2)]);
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.feed(&another_process()).unwrap();
    assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
    // After it, with a statement or the end of the block in flight or without.
    assert!(!lose(&mut start_block()));
    let mut session = start_block();
    session.execute(INSERT, vec![V::Int(3)]);
    assert!(!lose(&mut session));
    let mut session = start_block();
    session.verb(headrace_core::Verb::Commit(headrace_core::IfUnsent::RollBack));
    assert!(!lose(&mut session));
    // Within a block the status of every reply is that of an open transaction. Where it is not, what was executed
    // before is not part of what follows.
    for reply in [inserted(0, 1), crate::support::error(0, -2, -670)] {
        let mut session = start_block();
        let received = session.execute(INSERT, vec![V::Int(3)]);
        let lost = session.feed(&reply).unwrap_err();
        assert_eq!(lost.kind, FatalKind::TransactionInDoubt);
        assert!(!session.machine.survive_loss((), &lost));
        session.machine.abort((), &lost);
        assert!(received.get().end.unwrap().contains("ended the transaction before the end of its block"));
    }
    let mut session = start_known();
    session.verb(headrace_core::Verb::Begin(headrace_core::Modes::default()));
    session.execute(INSERT, vec![V::Int(2)]);
    assert_eq!(session.feed(&inserted(0, 1)).unwrap_err().kind, FatalKind::TransactionInDoubt);
    // After the end of the block the process may be given away again.
    let mut session = start_block();
    session.verb(headrace_core::Verb::Commit(headrace_core::IfUnsent::RollBack));
    session.feed(&crate::support::done(0)).unwrap();
    assert!(lose(&mut session));
}

#[test]
fn an_error_that_ends_the_session_says_so_where_the_statement_may_have_been_executed() {
    // The CAS reports that the server has gone. What that had committed before is stored.
    let ended = |mut session: Conversation| {
        let lost = session.feed(&crate::support::error(0, -2, -111)).unwrap_err();
        assert_eq!(lost.kind, FatalKind::SessionEnded);
        session.machine.closing_error().unwrap().to_string().contains("unknown whether the statement in flight")
    };
    let mut session = start_known();
    session.execute(INSERT, vec![V::Int(2)]);
    assert!(ended(session));
    let mut session = start_block();
    session.verb(Verb::Commit(IfUnsent::RollBack));
    assert!(ended(session));
    // A session that was resumed commits by a request of its own, which is what fails.
    let mut session = start_known();
    assert!(lose(&mut session));
    session.write_buffer.take();
    session.execute(INSERT, vec![V::Int(2)]);
    insert_again(&mut session);
    session.execute(INSERT, vec![V::Int(3)]);
    session.feed(&inserted(1, 1)).unwrap();
    assert!(ended(session));
    // Nothing is stored of a batch whose COMMIT was not sent, of a block that does not end, of a PREPARE and of a ping.
    let mut session = start();
    session.batch(true, &[1, 2]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert!(!ended(session));
    let mut session = start_block();
    session.execute(INSERT, vec![V::Int(3)]);
    assert!(!ended(session));
    let mut session = start();
    session.execute(INSERT, vec![V::Int(2)]);
    assert!(!ended(session));
    let mut session = start();
    session.verb(Verb::Ping);
    assert!(!ended(session));
}

/// The CAS has rolled back: the next commit would find no transaction.
#[test]
fn a_cancelled_commit_that_fails_ends_the_session() {
    let aborted = crate::support::error(0, -2, -72);
    for (answer, survives) in [(&done(0), true), (&aborted, false)] {
        let mut session = start_block();
        session.verb(Verb::Commit(IfUnsent::Forget));
        let id = session.machine.find(|_| true).unwrap();
        assert_eq!(session.machine.discard(id), Discarded::Alone);
        let ended = session.feed(answer);
        assert_eq!(
            ended.as_ref().map_err(|fatal| fatal.kind).err(),
            (!survives).then_some(FatalKind::TransactionInDoubt)
        );
        if let Err(fatal) = ended {
            assert!(!session.machine.survive_loss((), &fatal));
            assert_eq!(session.machine.transaction(), TransactionStatus::Failed, "its changes are lost");
        }
    }
}
