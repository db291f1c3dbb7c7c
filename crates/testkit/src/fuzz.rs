//! Drives any machine with the bytes of a fuzzer, and checks what must be true at the end.

use crate::{Shared, receive};
use headrace_core::protocol::{Discarded, Fatal, Protocol, ResponseHandler};
use headrace_core::{ReadBuffer, WriteBuffer};

/// The bytes that arrive at once: few enough to cut most messages.
const BLOCK: usize = 37;

/// Feeds `bytes` to a machine whose requests have the `handlers`, and ends it: each handler receives exactly one
/// outcome.
///
/// Each bit of `discards` that is set discards a request: after the block of that number, one of those that still have
/// a handler, the first, the second or the third in turn.
///
/// # Panics
/// If a handler received no outcome, or a request was started although the machine was paused.
pub fn drive<P: Protocol>(
    machine: &mut P,
    buffers: (&mut ReadBuffer, &mut WriteBuffer),
    bytes: &[u8],
    discards: u8,
    handlers: &[Shared],
) where
    P::Handler: for<'a> ResponseHandler<Context<'a> = ()>,
{
    drive_with(machine, buffers, bytes, discards, handlers, |_, _, _| {});
}

/// Does the same as [`drive`], and calls `program` with the number of each block after it: for what a program sends
/// without a request, such as the data of a COPY.
///
/// # Panics
/// As [`drive`] does.
pub fn drive_with<P: Protocol>(
    machine: &mut P,
    (read_buffer, write_buffer): (&mut ReadBuffer, &mut WriteBuffer),
    bytes: &[u8],
    discards: u8,
    handlers: &[Shared],
    mut program: impl FnMut(&mut P, usize, &mut WriteBuffer),
) where
    P::Handler: for<'a> ResponseHandler<Context<'a> = ()>,
{
    let waiting = || handlers.iter().filter(|handler| !handler.has_ended()).count();
    let mut discarded = 0;
    machine.transmit((), write_buffer);
    if discards & 1 == 1 {
        // Before anything is answered.
        discarded += usize::from(discard(machine, 0, write_buffer));
    }
    let mut failed = false;
    for (i, block) in bytes.chunks(BLOCK).enumerate() {
        read_buffer.extend(block);
        // A handler that is full at times stays so until more has come, or it is discarded.
        let done = if i % 3 == 1 {
            machine.receive((), read_buffer, write_buffer)
        } else {
            receive(machine, read_buffer, write_buffer)
        };
        if done.is_err() {
            failed = true;
            break;
        }
        program(machine, i, write_buffer);
        machine.transmit((), write_buffer);
        write_buffer.take();
        if (1..8).contains(&i) && discards >> i & 1 == 1 {
            discarded += usize::from(discard(machine, i % 3, write_buffer));
            if machine.full().is_none() && machine.receive((), read_buffer, write_buffer).is_err() {
                failed = true;
                break;
            }
        }
    }
    assert!(failed || machine.queued() + discarded >= waiting(), "a handler was forgotten");
    machine.abort((), &Fatal::gone("the end of the input"));
    assert!(machine.is_idle(), "a request outlived its session");
    assert!(waiting() <= discarded, "a handler received no outcome");
}

/// Discards a request, and pauses the machine as for a cancel request; returns true if there was one to discard.
fn discard<P: Protocol>(machine: &mut P, mut nth: usize, write_buffer: &mut WriteBuffer) -> bool
where
    P::Handler: for<'a> ResponseHandler<Context<'a> = ()>,
{
    let found = machine.find(|_| {
        let found = nth == 0;
        nth = nth.saturating_sub(1);
        found
    });
    let Some(id) = found else { return false };
    if machine.discard(id) == Discarded::Alone {
        assert!(machine.has(id), "the server is at a request that is not there");
        let started = machine.in_flight();
        machine.pause();
        machine.transmit((), write_buffer);
        // One may be: PostgreSQL's Sync, which a cancel request cannot hit, ends the group of what is discarded.
        assert!(machine.in_flight() <= started + 1, "requests were started although the machine was paused");
        machine.unpause();
    }
    machine.transmit((), write_buffer);
    true
}
