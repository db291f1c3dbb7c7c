//! Conversations replayed into the machine, cut and split at every byte: never a panic, never a wrong row, and every
//! response handler receives its outcome.
//!
//! The recording is of a real server. `HEADRACE_RECORD=1 cargo test -p headrace-mysql machine::replay` makes it
//! again.

use crate::support::recording_file;
use crate::support::server::Server;
use crate::support::session::Conversation;
use headrace_core::{Fatal, Session as _};
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, ParameterRows, Request, SessionOptions};
use headrace_testkit::{
    Peer, Received, Replay, Shared, Step, TestValue as V, read_recording, server_bytes, write_recording,
};

/// The requests of the recording; the replies as far as they came.
fn scenario<P: Peer>(session: &mut Conversation<P>) -> (Result<(), Fatal>, Vec<Shared>) {
    let mut received = Vec::new();
    let done = ask(session, &mut received);
    (done, received)
}

fn ask<P: Peer>(session: &mut Conversation<P>, received: &mut Vec<Shared>) -> Result<(), Fatal> {
    session.start()?;
    received
        .push(session.query("create or replace table recorded (id int primary key, v varchar(40), w decimal(6,2))"));
    session.run()?;
    // In flight together: an unknown statement, text, an error, the known statement.
    received.push(session.execute(
        "select 7 as n, 'ä' as text, null, cast('-1:02:03.5' as time(1)) from dual where 7 = ?",
        vec![V::Int(7)],
    ));
    received
        .push(session.query("select 1, 'x', date'2024-02-29', 18446744073709551615 union all select 2, null, null, 3"));
    received.push(session.execute("select no_such_column from recorded", vec![]));
    received.push(session.execute(
        "select 7 as n, 'ä' as text, null, cast('-1:02:03.5' as time(1)) from dual where 7 = ?",
        vec![V::Null],
    ));
    session.run()?;
    let values = |bad: i64| (0..6).map(|n| vec![V::Int(if n == bad { 0 } else { n }), V::from("v"), V::Null]).collect();
    let insert = "insert into recorded values (?, ?, ?)";
    received.push(session.batch(insert, BatchStrategy::Bulk, true, values(4)));
    received.push(session.batch(insert, BatchStrategy::Joined, true, values(5)));
    received.push(session.batch(insert, BatchStrategy::Pipelined, true, values(3)));
    received.push(session.batch(insert, BatchStrategy::Auto, true, values(-1)));
    received.push(session.query("select * from recorded"));
    session.run()?;
    let execute = Execute {
        facts: None,
        sql: "select id from recorded".into(),
        rows: ParameterRows::One,
        text: AsText::IfUnprepared,
        cursor: Some(4),
    };
    let (id, first) = session.ask(Request::Execute(execute), vec![], vec![]);
    received.push(first);
    session.run()?;
    received.push(session.ask(Request::Fetch { cursor: id, rows: 4 }, vec![], vec![]).1);
    received.push(session.ask(Request::Ping, vec![], vec![]).1);
    received.push(session.ask(Request::ResetConnection, vec![], vec![]).1);
    received.push(session.execute("select count(*), sum(id) from recorded", vec![]));
    session.run()
}

fn options() -> SessionOptions {
    Server::options()
}

fn recording() -> Vec<Step> {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("HEADRACE_RECORD").is_some() {
            let mut session =
                Conversation::new(options(), crate::support::session::Socket::connect(Server::shared().port));
            let (done, _) = scenario(&mut session);
            done.expect("the scenario runs");
            write_recording(&recording_file("mariadb-10.11"), &session.peer.recording);
        }
    });
    read_recording(&recording_file("mariadb-10.11"))
}

fn received(shared: &[Shared]) -> Vec<Received> {
    shared.iter().map(|received| received.get().clone()).collect()
}

fn replayed(steps: &[Step], set: impl FnOnce(&mut Replay)) -> (Result<(), Fatal>, Vec<Received>, Conversation<Replay>) {
    let mut replay = Replay::new(steps.to_vec());
    set(&mut replay);
    let mut session = Conversation::new(options(), replay);
    let (done, shared) = scenario(&mut session);
    let received = received(&shared);
    (done, received, session)
}

#[test]
pub fn the_requests_are_those_of_the_recording() {
    let (done, received, session) = replayed(&recording(), |_| {});
    done.unwrap();
    assert!(session.machine.is_idle());
    let ends: Vec<&str> = received.iter().map(|received| received.end.as_deref().unwrap()).collect();
    let expected = [
        "done",
        "done",
        "done",
        "server 1054",
        "done",
        "server 1062 at row 4",
        "server 1062 at row 5",
        "server 1062 at row 3",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
        "done",
    ];
    assert_eq!(ends, expected);
    assert_eq!(received[1].lines(), ["7|ä|NULL|span -3723500000"]);
    assert_eq!(received[2].lines(), ["1|x|day 19782|d18446744073709551615", "2|NULL|NULL|d3"]);
    assert_eq!((received[4].lines().len(), &received[4].columns), (0, &received[1].columns));
    assert_eq!(received[9].rows.len(), 6);
    assert_eq!((received[10].lines().len(), received[11].lines()), (4, vec!["4".to_owned(), "5".to_owned()]));
    assert_eq!(received[14].lines(), ["6|d15"]);
}

#[test]
pub fn the_reply_split_at_every_byte_is_the_same() {
    let steps = recording();
    let (_, expected, _) = replayed(&steps, |_| {});
    for split in 1..server_bytes(&steps) {
        let (done, received, session) = replayed(&steps, |replay| replay.split = split);
        assert_eq!(done, Ok(()), "split at {split}");
        assert_eq!(received, expected, "split at {split}");
        assert!(session.machine.is_idle());
    }
    let (done, received, _) = replayed(&steps, |replay| replay.single = true);
    assert_eq!((done, received), (Ok(()), expected));
}

#[test]
pub fn cut_at_every_byte_it_ends_in_an_error_never_in_a_short_result() {
    let steps = recording();
    let (_, expected, _) = replayed(&steps, |_| {});
    for cut in 0..server_bytes(&steps) {
        let (done, received, _) = replayed(&steps, |replay| replay.cut = cut);
        assert!(done.is_err(), "cut at {cut}");
        for (received, expected) in received.iter().zip(&expected) {
            match received.end.as_deref() {
                Some("done") => assert_eq!(received, expected, "cut at {cut}"),
                Some(_) => assert!(expected.rows.starts_with(&received.rows), "cut at {cut}"),
                None => panic!("cut at {cut}: nobody was told"),
            }
        }
    }
}

#[test]
pub fn a_flipped_byte_never_panics_and_never_leaves_a_handler_waiting() {
    let steps = recording();
    for flip in [0x01, 0x80, 0xff] {
        for at in 0..server_bytes(&steps) {
            let mut bent = steps.clone();
            let mut left = at;
            for step in &mut bent {
                if let Step::Server(bytes) = step {
                    if left < bytes.len() {
                        bytes[left] ^= flip;
                        break;
                    }
                    left -= bytes.len();
                }
            }
            // The client's bytes may differ then.
            bent.retain(|step| matches!(step, Step::Server(_)));
            let (_, received, _) = replayed(&bent, |_| {});
            assert!(received.iter().all(|received| received.end.is_some()), "byte {at}");
        }
    }
}
