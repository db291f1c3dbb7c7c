//! How any machine is driven with what a server is said to have sent, and what must hold at the end.

use headrace_core::protocol::{Caller, Fatal, Protocol};
use headrace_core::{Inbox, Outbox};

/// The bytes that arrive at once: few enough to cut most messages.
const BLOCK: usize = 37;
/// The block behind which a caller goes away, where one does.
const DISCARDED_AFTER: usize = 3;

/// What is asked of a machine that the trait of a protocol does not have.
pub struct Questions<P> {
    /// Requests in its queue.
    pub queued: fn(&P) -> usize,
    /// Takes its caller from a request, if there is one; nothing where no caller goes away.
    pub discard: Option<fn(&mut P) -> bool>,
}

/// Feeds `bytes` to a machine and ends it; `untold` counts the callers that do not know yet how it ended.
pub fn drive<P: Protocol>(
    machine: &mut P,
    (inbox, outbox): (&mut Inbox, &mut Outbox),
    bytes: &[u8],
    questions: &Questions<P>,
    untold: impl Fn() -> usize,
) where
    P::Caller: for<'a> Caller<Cx<'a> = ()>,
{
    machine.transmit((), outbox);
    let (mut failed, mut discarded) = (false, false);
    for (i, block) in bytes.chunks(BLOCK).enumerate() {
        inbox.extend(block);
        if machine.receive((), inbox, outbox).is_err() {
            failed = true;
            break;
        }
        machine.transmit((), outbox);
        outbox.take();
        if let (DISCARDED_AFTER, Some(discard)) = (i, questions.discard) {
            discarded = discard(machine);
        }
    }
    assert!(failed || (questions.queued)(machine) + usize::from(discarded) >= untold(), "a caller was forgotten");
    machine.abort((), &Fatal::gone("the end of the input"));
    assert!(untold() <= usize::from(discarded), "a caller was not told");
}
