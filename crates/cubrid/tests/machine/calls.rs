//! Procedures and functions whose arguments are returned.

use crate::support::session::Conversation;
use crate::support::{called, prepared};
use headrace_core::Session as _;
use headrace_testkit::TestValue as V;

const CALL: &str = "? = CALL f(?, ?)";

#[test]
fn a_call_returns_the_values_of_its_parameters_in_one_row() {
    let mut session = Conversation::start();
    let received = session.execute(CALL, vec![V::Null, V::Int(2), V::Null]);
    assert_eq!(session.sent(), [format!("PREPARE {CALL} (call)").as_str()]);
    session.feed(&prepared(1, 0x7e, 3)).unwrap();
    assert_eq!(session.sent(), ["EXECUTE 1 mode 3 mode 3 mode 3 fetch autocommit"]);
    session
        .feed(&called(
            0,
            &["8008 00000007", "8008 00000002", ""].map(|cell| cell.replace(' ', "")).each_ref().map(String::as_str),
        ))
        .unwrap();
    let received = received.get();
    assert_eq!((received.end.as_deref(), received.lines()), (Some("done"), vec!["7|2|NULL".to_owned()]));
    assert_eq!(received.columns, ["returned", "1", "2"]);
}

#[test]
fn a_call_is_kept_in_the_cache() {
    let mut session = Conversation::start();
    for n in 0..2 {
        let received = session.execute(CALL, vec![V::Null, V::Int(n), V::Null]);
        if n == 0 {
            session.feed(&prepared(1, 0x7e, 3)).unwrap();
        }
        session.feed(&called(0, &["", "", ""])).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"));
    }
    assert_eq!(session.machine.statements(), 1);
}

#[test]
fn a_row_of_a_call_that_is_too_short_ends_the_session() {
    let mut session = Conversation::start();
    session.execute(CALL, vec![V::Null, V::Int(2), V::Null]);
    session.feed(&prepared(1, 0x7e, 3)).unwrap();
    assert!(session.feed(&called(0, &[""])).is_err());
}
