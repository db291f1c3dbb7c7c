//! Conversations replayed into the machine, cut and split at every byte: never a panic, never a wrong row, and every
//! response handler receives its outcome.

use crate::support::session::Conversation;
use crate::support::{array, done, fetched, prepared, selected};
use headrace_core::Session as _;
use headrace_core::protocol::{Fatal, Protocol};
use headrace_testkit::{Shared, TestValue as V};

/// The replies to a SELECT of three pages, to a batch and its COMMIT.
fn replies() -> Vec<Vec<u8>> {
    vec![
        prepared(1, 21, 1),
        selected(1, 5, &[(1, 10), (2, 20)], false),
        fetched(1, &[(3, 30), (4, 40)], false),
        fetched(0, &[(5, 50)], true),
        prepared(2, 20, 1),
        array(1, &[1, 1]),
        done(0),
    ]
}

fn rows() -> Vec<Vec<String>> {
    [10, 20, 30, 40, 50].map(|n| vec![n.to_string()]).to_vec()
}

fn started() -> (Conversation, [Shared; 2]) {
    let mut session = Conversation::start();
    let selected = session.execute("select a from t where a > ?", vec![V::Int(0)]);
    let batch = session.batch(true, &[1, 2]);
    (session, [selected, batch])
}

#[test]
fn a_conversation_split_at_every_byte_is_the_same() {
    let total: usize = replies().iter().map(Vec::len).sum();
    for cut in 0..=total {
        let (mut session, [selected, batch]) = started();
        let mut left = cut;
        for reply in replies() {
            let at = left.min(reply.len());
            left -= at;
            session.feed(&reply[..at]).unwrap();
            session.feed(&reply[at..]).unwrap();
        }
        assert_eq!(selected.get().rows, rows(), "split at {cut}");
        assert_eq!((selected.get().end.as_deref(), batch.get().end.as_deref()), (Some("done"), Some("done")));
        assert_eq!((batch.get().affected(), session.machine.is_idle()), (2, true));
        let expected = [
            "PREPARE",
            "EXECUTE 1 fetch autocommit",
            "FETCH 1 from 3",
            "FETCH 1 from 5",
            "PREPARE",
            "EXECUTE_ARRAY",
            "END_TRAN COMMIT",
        ];
        assert_eq!(session.sent(), expected);
    }
}

#[test]
fn bytes_that_come_one_by_one_are_the_same() {
    let (mut session, [selected, batch]) = started();
    for byte in replies().concat() {
        session.feed(&[byte]).unwrap();
    }
    assert_eq!((selected.get().rows, batch.get().affected()), (rows(), 2));
}

#[test]
fn a_conversation_cut_at_every_byte_yields_no_wrong_row_and_an_outcome() {
    for cut in 0..replies().concat().len() {
        let (mut session, [selected, batch]) = started();
        let mut left = cut;
        for reply in replies() {
            let come = left.min(reply.len());
            left -= come;
            session.feed(&reply[..come]).unwrap();
        }
        session.machine.abort((), &Fatal::gone("cut"));
        assert!(rows().starts_with(&selected.get().rows));
        for received in [selected, batch] {
            let end = received.get().end.unwrap();
            assert!(end == "done" || end.starts_with("fatal cut"), "{end}");
        }
        assert!(session.machine.is_idle());
    }
}

#[test]
fn every_byte_changed_ends_in_an_answer_or_an_error() {
    for at in 0..replies().concat().len() {
        for flip in [1u8, 0x80, 0xff] {
            let (mut session, received) = started();
            let mut before = 0;
            let fed = replies().into_iter().try_for_each(|mut reply| {
                if let Some(byte) = at.checked_sub(before).and_then(|at| reply.get_mut(at)) {
                    *byte ^= flip;
                }
                before += reply.len();
                session.feed(&reply)
            });
            session.machine.abort((), &fed.err().unwrap_or_else(|| Fatal::gone("cut")));
            assert!(received.iter().all(Shared::has_ended), "byte {at} by {flip:#x}");
        }
    }
}
