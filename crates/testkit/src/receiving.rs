//! How a test has a machine handle what has come, although each of its response handlers is full after each run of rows.

use headrace_core::protocol::{Caller, Fatal, Protocol};
use headrace_core::{Inbox, Outbox};

/// Handles what has come, and resumes each handler that is full: until then nothing must be handled.
///
/// # Errors
/// [`Fatal`] as the machine has it.
///
/// # Panics
/// Where something is handled for a handler that is full.
pub fn receive<P: Protocol>(machine: &mut P, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<(), Fatal>
where
    P::Caller: for<'a> Caller<Cx<'a> = ()>,
{
    machine.receive((), inbox, outbox)?;
    while let Some(id) = machine.full() {
        assert!(machine.has(id), "a request that is not there is full");
        let left = inbox.unread().len();
        machine.receive((), inbox, outbox)?;
        assert_eq!(
            (inbox.unread().len(), machine.full()),
            (left, Some(id)),
            "something was handled for a full handler"
        );
        machine.resume(id);
        machine.receive((), inbox, outbox)?;
    }
    Ok(())
}
