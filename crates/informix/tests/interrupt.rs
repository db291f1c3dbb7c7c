//! Urgent bytes: never two that the server has not read, and nothing is begun that a late one could hit.

mod support;

use headrace_informix::machine::Interrupt;
use headrace_testkit::{TestValue as V, unhex};
use std::time::{Duration, Instant};
use support::bytes;
use support::session::{EOT, Session};

const SELECT: &str = "select a from t where a > ?";
const INTERRUPTED: &str = "000dff2b0000000000000000000c";
const PING: &str = "0035000c";
const PONG: &str = "003500014100000c";

/// A session that works on a query.
fn busy() -> Session {
    let mut session = Session::start();
    session.execute(SELECT, vec![V::Int(0)], false);
    session.feed(&bytes("reply", "prep_select_032")).unwrap();
    session.sent();
    session
}

#[test]
fn no_second_one_is_sent_before_a_sign_that_the_first_was_read() {
    let (mut session, now) = (busy(), Instant::now());
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    for millis in [0, 150, 1500] {
        assert_eq!(session.machine.interrupt(now + Duration::from_millis(millis)), Interrupt::Needless);
    }
    let late = now + Duration::from_secs(3);
    assert_eq!(session.machine.interrupt(late), Interrupt::Send, "the connection is as good as lost");
}

#[test]
fn what_is_asked_next_waits_until_it_was_read() {
    let (mut session, now) = (busy(), Instant::now());
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.feed(&unhex(INTERRUPTED)).unwrap();
    let next = session.execute(SELECT, vec![V::Int(1)], false);
    assert!(session.sent().ends_with(PING));
    assert_eq!(session.machine.interrupt(now), Interrupt::Later);
    session.feed(&unhex(EOT)).unwrap();
    session.feed(&unhex(PONG)).unwrap();
    assert!(session.sent().contains("0006"), "opened");
    assert_eq!(next.get().end, None);
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
}

#[test]
fn what_stands_behind_it_is_interrupted_once_the_server_has_had_time_to_read_it() {
    let (mut session, now) = (busy(), Instant::now());
    let second = session.execute("select a from t where a < ?", vec![V::Int(0)], false);
    assert_eq!(session.machine.interrupt(now), Interrupt::Send);
    session.feed(&unhex(INTERRUPTED)).unwrap();
    assert_eq!(second.get().end, None);
    let later = now + Duration::from_millis(100);
    assert_eq!(session.machine.interrupt(later), Interrupt::Later);
    assert_eq!(session.machine.interrupt(later + Duration::from_millis(200)), Interrupt::Later);
}

#[test]
fn nothing_is_interrupted_where_nothing_runs() {
    assert_eq!(Session::start().machine.interrupt(Instant::now()), Interrupt::Needless);
}
