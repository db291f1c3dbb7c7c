//! Lets a machine handle received bytes, with response handlers that are full after each run of rows.

use headrace_core::protocol::{Fatal, Protocol, ResponseHandler};
use headrace_core::{ReadBuffer, WriteBuffer};

/// Handles received bytes, and resumes each handler that is full: until then nothing must be handled.
///
/// # Errors
/// [`Fatal`] as the machine has it.
///
/// # Panics
/// If something is handled for a handler that is full.
pub fn receive<P: Protocol>(
    machine: &mut P,
    read_buffer: &mut ReadBuffer,
    write_buffer: &mut WriteBuffer,
) -> Result<(), Fatal>
where
    P::Handler: for<'a> ResponseHandler<Context<'a> = ()>,
{
    machine.receive((), read_buffer, write_buffer)?;
    while let Some(id) = machine.full() {
        assert!(machine.has(id), "a request that is not there is full");
        let left = read_buffer.unread().len();
        machine.receive((), read_buffer, write_buffer)?;
        assert_eq!(
            (read_buffer.unread().len(), machine.full()),
            (left, Some(id)),
            "something was handled for a full handler"
        );
        machine.resume(id);
        machine.receive((), read_buffer, write_buffer)?;
    }
    Ok(())
}
