//! How any machine is driven with what a server is said to have sent, and what must hold at the end.

use crate::Shared;
use headrace_core::protocol::{Caller, Fatal, Protocol};
use headrace_core::{Inbox, Outbox};

/// The bytes that arrive at once: few enough to cut most messages.
const BLOCK: usize = 37;
/// The block after which a handler goes away, where one does.
const DISCARDED_AFTER: usize = 3;

/// What is asked of a machine that the trait of a protocol does not have.
#[derive(Clone, Copy, Debug)]
pub struct Questions<P> {
    /// Requests in its queue.
    pub queued: fn(&P) -> usize,
    /// Takes its handler from a request, if there is one; nothing where no handler goes away.
    pub discard: Option<fn(&mut P) -> bool>,
}

/// Feeds `bytes` to a machine whose requests have the `handlers`, and ends it: whoever waits hears once how it ended.
///
/// # Panics
/// Where a handler was forgotten.
pub fn drive<P: Protocol>(
    machine: &mut P,
    (inbox, outbox): (&mut Inbox, &mut Outbox),
    bytes: &[u8],
    questions: Questions<P>,
    handlers: &[Shared],
) where
    P::Caller: for<'a> Caller<Cx<'a> = ()>,
{
    let waiting = || handlers.iter().filter(|handler| !handler.has_ended()).count();
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
    assert!(failed || (questions.queued)(machine) + usize::from(discarded) >= waiting(), "a handler was forgotten");
    machine.abort((), &Fatal::gone("the end of the input"));
    assert!(waiting() <= usize::from(discarded), "a handler did not hear how its request ended");
}
