//! The errors with which a server ends a session: what they say of the statement that was in flight.

use crate::machine::conversations::*;
use crate::support::TestHandler;
use crate::support::session::Conversation;
use headrace_core::{FatalKind, IfUnsent, Protocol, Verb, WriteBuffer};
use headrace_mysql::machine::{BatchStrategy, Machine, SessionOptions};
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_mysql::packets::compress::Algorithm;
use headrace_testkit::{Shared, TestValue as V};

const SHUTDOWN: &[u8] = b"\xff\x1d\x04#08S01Server shutdown in progress";
/// MaxScale's, and MariaDB's.
const KILLED: &[u8] = b"\xff\x87\x07#08S01Lost connection to backend server";
/// ProxySQL's.
const LOST: &[u8] = b"\xff\xdd\x07#HY000Lost connection to MySQL server during query";
const IDLE: &[u8] = b"\xff\xbf\x0f#HY000The client was disconnected because of inactivity";
const UNKNOWN: &str = "; it is unknown whether the statement in flight was executed";

/// Returns true if the error of the request says that it may have been executed.
fn is_unknown(received: &Shared) -> bool {
    received.get().error.clone().is_some_and(|error| error.ends_with(UNKNOWN))
}

/// The session ends with this answer to what was queued.
fn end(session: &mut Conversation<Script>, answers: &[&[u8]]) {
    session.flush();
    session.peer.replies.extend(answers.iter().map(|answer| reply(&[answer])));
    assert_eq!(session.run().unwrap_err().kind, FatalKind::SessionEnded);
}

fn rows() -> Vec<Vec<V>> {
    vec![vec![V::Int(7)], vec![V::Int(8)]]
}

#[test]
fn the_error_that_ends_a_session_says_what_may_be_stored() {
    // What a procedure has executed is committed; so is what a proxy has lost the answer to.
    for (answer, expected) in [(SHUTDOWN, true), (KILLED, true), (LOST, true), (IDLE, false)] {
        let mut call = session(mysql8());
        let (first, second) = (call.query("call p()"), call.query("insert into t values (1)"));
        end(&mut call, &[answer]);
        assert_eq!(is_unknown(&first), expected, "{:?}", first.get().error);
        // The server has not read the next one.
        assert!(!second.get().end.unwrap().contains(UNKNOWN));

        let mut commit = session(mysql8());
        let [request] = Machine::<TestHandler>::of_verb(&Verb::Commit(IfUnsent::Forget)).unwrap().try_into().unwrap();
        let (_, received) = commit.ask(request, vec![], vec![]);
        end(&mut commit, &[answer]);
        assert_eq!(is_unknown(&received), expected);

        // Rows of a table without transactions; before them the guard, and of rows that are joined the question about it.
        for (strategy, before) in [(BatchStrategy::Joined, 2), (BatchStrategy::Pipelined, 1)] {
            let mut batch = session(mysql8());
            let received = batch.batch("insert into t values (?)", strategy, true, rows());
            batch.flush();
            if strategy == BatchStrategy::Pipelined {
                batch.peer.replies.push_back(reply(&[&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 8, 63)]));
            }
            end(&mut batch, &[&vec![OK; before][..], &[answer]].concat());
            assert_eq!(is_unknown(&received), expected, "{strategy:?}");
        }
    }
}

#[test]
fn a_statement_that_was_not_executed_is_not_unknown() {
    for verb in [Verb::Savepoint { name: "s".into(), begin: None }, Verb::Ping] {
        let mut session = session(mysql8());
        let [request] = Machine::<TestHandler>::of_verb(&verb).unwrap().try_into().unwrap();
        let (_, received) = session.ask(request, vec![], vec![]);
        end(&mut session, &[SHUTDOWN]);
        assert!(!is_unknown(&received), "{verb:?}");
    }
    let mut session = session(mysql8());
    let received = session.execute("insert into t values (?)", vec![V::Int(1)]);
    end(&mut session, &[SHUTDOWN]);
    assert!(!is_unknown(&received), "it was not prepared");
}

#[test]
fn the_end_of_an_idle_session_is_quoted_with_compression_too() {
    let options = SessionOptions { compression: Some(Algorithm::Zlib), ..SessionOptions::default() };
    let replies = vec![greeting("8.4.3", "mysql_native_password", mysql8() | Capabilities::COMPRESS), packet(2, OK)];
    let mut session = connecting(options, replies);
    session.start().unwrap();
    session.query("do 0");
    let compressed = |payload: &[u8], sequence: u8| {
        let plain = packet(sequence, payload);
        let mut out = (plain.len() as u32).to_le_bytes()[..3].to_vec();
        out.extend_from_slice(&[sequence, 0, 0, 0]);
        out.extend_from_slice(&plain);
        out
    };
    session.flush();
    for _ in 0..2 {
        session.peer.replies.push_back(compressed(OK, 1));
    }
    session.run().unwrap();
    session.read_buffer.extend(&compressed(IDLE, 0));
    let gone = session.machine.receive((), &mut session.read_buffer, &mut WriteBuffer::new()).unwrap_err();
    assert_eq!((gone.kind, gone.message.contains("inactivity")), (FatalKind::SessionEnded, true), "{gone}");
}
