//! Conversations replayed into the machine, cut and split at every byte: never a panic, never a wrong row, and every
//! response handler receives its outcome.

use crate::machine::session::*;
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Discarded, Session as _};

const CUT: &str = "fatal cut; it is unknown whether the statement in flight was executed";

#[test]
pub fn a_reply_split_at_every_byte_yields_the_same_rows() {
    let reply = select_reply();
    for split in 0..=reply.len() {
        let mut session = Conversation::start();
        let received = session.execute("select $1", None, vec![5.into()], true);
        session.replay(&reply, 0, split).unwrap();
        session.replay(&reply, split, reply.len()).unwrap();
        assert_eq!(received.get(), expected(), "split at {split}");
        assert!(session.machine.is_idle());
    }
    let mut session = Conversation::start();
    let received = session.execute("select $1", None, vec![5.into()], true);
    for byte in &reply {
        session.feed(&[*byte]).unwrap();
    }
    assert_eq!(received.get(), expected());
}

#[test]
pub fn a_reply_cut_at_every_byte_ends_in_an_error_never_in_a_short_result() {
    let reply = select_reply();
    for cut in 0..reply.len() {
        let mut session = Conversation::start();
        let received = session.execute("select $1", None, vec![5.into()], true);
        let before = expected();
        session.replay(&reply, 0, cut).unwrap();
        session.machine.abort((), &Fatal::gone("cut"));
        let received = received.get();
        assert_eq!(received.end.as_deref(), Some(CUT), "cut at {cut}");
        assert!(before.rows.starts_with(&received.rows), "cut at {cut}");
    }
}

#[test]
pub fn a_spoilt_byte_never_panics_never_loses_a_row_and_never_leaves_a_handler_waiting() {
    let reply = select_reply();
    for at in 0..reply.len() {
        for flip in 1..=255 {
            let mut bent = reply.clone();
            bent[at] ^= flip;
            let mut session = Conversation::start();
            let received = session.execute("select $1", None, vec![5.into()], true);
            let fatal = session.replay(&bent, 0, bent.len()).is_err();
            if fatal || received.get().end.is_none() {
                session.machine.abort((), &Fatal::peer("bent"));
            }
            let received = received.get();
            assert!(received.end.is_some(), "byte {at}");
            if received.end.as_deref() == Some("done") {
                let wrong = received.rows.iter().zip(expected().rows).filter(|(row, right)| *row != right).count();
                // One spoilt byte spoils one value; in the description, which has no checksum either, one column.
                let wrong = if at < describe_reply().len() { 0 } else { wrong };
                assert!(received.rows.len() == 3 && wrong <= 1, "byte {at} ^ {flip}: {:?}", received.rows);
            }
        }
    }
}

#[test]
pub fn nothing_is_received_for_a_full_handler_and_the_rest_is_there_when_it_takes_more() {
    let reply = select_reply();
    let full = || {
        let mut session = Conversation::start();
        let received = session.execute("select $1", None, vec![5.into()], true);
        session.replay(&reply, 0, describe_reply().len()).unwrap();
        session.read_buffer.extend(&reply[describe_reply().len()..]);
        session.machine.read((), &mut session.read_buffer, &mut session.write_buffer).unwrap();
        assert_eq!((received.get().rows.len(), received.get().end), (1, None));
        (session, received)
    };
    let (mut session, received) = full();
    session.feed(b"").unwrap();
    assert_eq!(received.get(), expected());
    let (mut session, received) = full();
    let id = session.machine.full().unwrap();
    assert_eq!(session.machine.discard(id), Discarded::Alone);
    session.feed(b"").unwrap();
    assert!(session.machine.is_idle() && received.get().end.is_none(), "the rest is read for nobody");
    let (mut session, received) = full();
    session.machine.abort((), &Fatal::gone("cut"));
    assert_eq!((received.get().rows.len(), received.get().end.as_deref()), (1, Some(CUT)));
    assert_eq!(session.machine.full(), None);
}
