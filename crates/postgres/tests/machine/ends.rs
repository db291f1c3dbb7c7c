//! The end of a block of the driver's that another session has cancelled.

use crate::machine::session::*;
use headrace_core::{IfUnsent, Session as _, Verb};

#[test]
pub fn end_of_a_block_that_others_have_cancelled_is_sent_once_more() {
    let (commit, rollback) = (Verb::Commit(IfUnsent::RollBack), Verb::Rollback(IfUnsent::RollBack));
    for (end, outcome) in [(commit, "server 57014"), (rollback, "done")] {
        let mut session = Conversation::start();
        let (_, ended) = session.ask(verb(&end), Vec::new(), Vec::new());
        session.sent();
        session.feed_messages(&[error("57014"), ready(b'E')]);
        assert_eq!(ended.get().end, None, "{end:?} is not over while the block is open");
        let (_, next) = session.ask(script("select 1", false), Vec::new(), Vec::new());
        assert_eq!(session.sent(), ["Query", "Query"], "ROLLBACK, and what comes next");
        session.feed_messages(&[completed("ROLLBACK"), ready(b'I'), completed("SELECT 1"), ready(b'I')]);
        assert_eq!((ended.get().end.as_deref(), next.get().end.as_deref()), (Some(outcome), Some("done")));
        assert!(session.machine.is_idle());
    }
}

#[test]
pub fn connection_whose_block_cannot_be_ended_is_closed() {
    let mut session = Conversation::start();
    session.ask(verb(&Verb::Rollback(IfUnsent::RollBack)), Vec::new(), Vec::new());
    session.feed_messages(&[error("57014"), ready(b'E')]);
    assert!(session.feed(&[error("57014"), ready(b'E')].concat()).is_err());
}
