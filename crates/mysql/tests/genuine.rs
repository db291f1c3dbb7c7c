//! Logins to genuine MySQL and a few statements, replayed cut and split at every byte.
//!
//! `HEADRACE_RECORD=mysql-9.7-fast:PORT cargo test -p headrace-mysql genuine` repeats a recording, on a server
//! with the user `tester`, the password `tiger`, and the database `t`. Before that of `fast`, log in once as `tester`;
//! before that of `rsa`, FLUSH PRIVILEGES makes the server forget it.

use crate::support::recording_file;
use crate::support::server::Server;
use crate::support::session::{Conversation, Socket};
use headrace_core::{Fatal, Session as _};
use headrace_mysql::auth::ServerKey;
use headrace_mysql::machine::{BatchStrategy, Request, SessionOptions};
use headrace_testkit::{
    Peer, Received, Replay, Shared, Step, TestValue as V, read_recording, server_bytes, write_recording,
};

const NAMES: [&str; 3] = ["mysql-9.7-fast", "mysql-9.7-rsa", "mysql-5.6"];

fn options(name: &str) -> SessionOptions {
    let server_key = if name.ends_with("rsa") { ServerKey::Retrieve } else { ServerKey::Refuse };
    SessionOptions { server_key, ..Server::options() }
}

fn ask<P: Peer>(session: &mut Conversation<P>, received: &mut Vec<Shared>) -> Result<(), Fatal> {
    session.start()?;
    received.push(session.query("drop table if exists recorded"));
    received.push(session.query("create table recorded (id int primary key, v varchar(40), w decimal(6,2))"));
    session.run()?;
    let select = "select ? as n, 'ä' as text, null, cast('-1:02:03.5' as time(1))";
    received.push(session.execute_bound(select, vec![V::Int(7)]));
    received
        .push(session.query("select 1, 'x', date'2024-02-29', 18446744073709551615 union all select 2, null, null, 3"));
    received.push(session.execute("select no_such_column from recorded", vec![]));
    received.push(session.execute_bound(select, vec![V::Null]));
    received.push(session.execute_bound(select, vec![V::from("x")]));
    session.run()?;
    let values = |bad: i64| (0..6).map(|n| vec![V::Int(if n == bad { 0 } else { n }), V::from("v"), V::Null]).collect();
    let insert = "insert into recorded values (?, ?, ?)";
    received.push(session.batch(insert, BatchStrategy::Auto, true, values(4)));
    received.push(session.batch(insert, BatchStrategy::Pipelined, true, values(3)));
    received.push(session.batch(insert, BatchStrategy::Auto, true, values(-1)));
    received.push(session.batch(
        "update recorded set v = ? where id = ?",
        BatchStrategy::Auto,
        true,
        vec![vec![V::from("new"), V::Int(1)], vec![V::Int(5), V::Int(2)]],
    ));
    received.push(session.query("select * from recorded"));
    received.push(session.ask(Request::Ping, vec![], vec![]).1);
    session.run()
}

fn scenario<P: Peer>(session: &mut Conversation<P>) -> (Result<(), Fatal>, Vec<Shared>) {
    let mut received = Vec::new();
    let done = ask(session, &mut received);
    (done, received)
}

/// Makes the recording that the environment names.
fn record() {
    let Ok(wanted) = std::env::var("HEADRACE_RECORD") else { return };
    let Some((name, port)) = wanted.split_once(':') else { return };
    let mut session = Conversation::new(options(name), Socket::connect(port.parse().expect("a port")));
    let (done, _) = scenario(&mut session);
    done.expect("the scenario runs");
    write_recording(&recording_file(name), &session.peer.recording);
}

fn recording(name: &str) -> Vec<Step> {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(record);
    read_recording(&recording_file(name))
}

/// The positions at which a recording is cut and split: all of them; but if the password is encrypted, only those in
/// the login, as that is slow and the rest is as in the others.
fn places(name: &str, steps: &[Step]) -> usize {
    let login = 700;
    if name.ends_with("rsa") { login } else { server_bytes(steps) }
}

fn replayed(name: &str, steps: &[Step], set: impl FnOnce(&mut Replay)) -> (Result<(), Fatal>, Vec<Received>, bool) {
    let mut replay = Replay::new(steps.to_vec());
    set(&mut replay);
    let mut session = Conversation::new(options(name), replay);
    let (done, shared) = scenario(&mut session);
    let received = shared.iter().map(|received| received.get().clone()).collect();
    (done, received, session.machine.is_idle())
}

#[test]
fn the_requests_are_those_of_the_recordings() {
    for name in NAMES {
        let (done, received, idle) = replayed(name, &recording(name), |_| {});
        done.unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert!(idle);
        let ends: Vec<&str> = received.iter().map(|received| received.end.as_deref().unwrap()).collect();
        let refused = ["server 1062 at row 4", "server 1062 at row 3"];
        let expected = [
            "done",
            "done",
            "done",
            "done",
            "server 1054",
            "done",
            "done",
            refused[0],
            refused[1],
            "done",
            "done",
            "done",
            "done",
        ];
        assert_eq!(ends, expected, "{name}");
        assert_eq!(received[2].lines(), ["7|ä|NULL|span -3723500000"], "{name}");
        let numbers =
            if name == "mysql-5.6" { ["u18446744073709551615", "3"] } else { ["d18446744073709551615", "d3"] };
        let rows = [format!("1|x|day 19782|{}", numbers[0]), format!("2|NULL|NULL|{}", numbers[1])];
        assert_eq!(received[3].lines(), rows, "{name}");
        assert_eq!(received[6].lines(), ["x|ä|NULL|span -3723500000"], "{name}");
        assert_eq!(received[11].lines()[..3], ["0|v|NULL", "1|new|NULL", "2|5|NULL"], "{name}");
    }
}

#[test]
fn the_logins_are_those_that_they_are_called() {
    let server = |name: &str| {
        let steps = recording(name);
        steps
            .into_iter()
            .flat_map(|s| if let Step::Server(bytes) = s { bytes } else { Vec::new() })
            .collect::<Vec<u8>>()
    };
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let (fast, rsa, old) = (server(NAMES[0]), server(NAMES[1]), server(NAMES[2]));
    assert!(has(&fast, b"caching_sha2_password") && has(&fast, b"\x02\0\0\x02\x01\x03"));
    assert!(has(&rsa, b"\x02\0\0\x02\x01\x04") && has(&rsa, b"BEGIN PUBLIC KEY"));
    assert!(has(&old, b"mysql_native_password") && has(&old, b"5.6."));
}

#[test]
fn the_replies_split_at_every_byte_are_the_same() {
    for name in NAMES {
        let steps = recording(name);
        let (_, expected, _) = replayed(name, &steps, |_| {});
        for split in 1..places(name, &steps) {
            let (done, received, idle) = replayed(name, &steps, |replay| replay.split = split);
            assert_eq!((done, received, idle), (Ok(()), expected.clone(), true), "{name} split at {split}");
        }
        let (done, received, _) = replayed(name, &steps, |replay| replay.single = true);
        assert_eq!((done, received), (Ok(()), expected), "{name}");
    }
}

#[test]
fn cut_at_every_byte_they_end_in_an_error_never_in_a_short_result() {
    for name in NAMES {
        let steps = recording(name);
        let (_, expected, _) = replayed(name, &steps, |_| {});
        for cut in 0..places(name, &steps) {
            let (done, received, _) = replayed(name, &steps, |replay| replay.cut = cut);
            assert!(done.is_err(), "{name} cut at {cut}");
            for (received, expected) in received.iter().zip(&expected) {
                match received.end.as_deref() {
                    Some("done") => assert_eq!(received, expected, "{name} cut at {cut}"),
                    Some(_) => assert!(expected.rows.starts_with(&received.rows), "{name} cut at {cut}"),
                    None => panic!("{name} cut at {cut}: nobody was told"),
                }
            }
        }
    }
}
