//! When an urgent byte may be sent: never two that the server has not read.
//!
//! TCP has one urgent byte. A second one that comes before the server has read as far as the first makes the first a
//! part of the stream, in which nothing is where it was from then on. That it was read is known for certain once a
//! group that was sent after it is answered: a ping, for which the next request waits; so nothing that was not to be
//! interrupted is hit by one that came late either. Where nothing was sent after it, a reply to a group before it says
//! that the server has gone on to the next one and, a moment later, has read that one.

use super::request::{Expect, Group};
use super::{IfxHandler, Machine};
use crate::messages::{client, tag};
use headrace_core::{Interrupt, WriteBuffer};
use std::time::{Duration, Instant};

/// How long the server is given to read what it works on next.
const READING: Duration = Duration::from_millis(250);

/// How long an urgent byte is given to do its work. A server that answers nothing for so long loses the connection
/// anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// An urgent byte that was sent.
#[derive(Debug)]
pub(super) struct Urgent {
    /// How many of the groups that were sent before it are not answered.
    before: usize,
    /// How many there were when it was sent.
    all: usize,
    /// How many there were when this was last asked for, and since when.
    seen: (usize, Instant),
    /// A ping was sent after it.
    pinged: bool,
}

impl<H: IfxHandler> Machine<H> {
    /// [`headrace_core::Session::interrupt`]
    pub(super) fn may_interrupt(&mut self, now: Instant) -> Interrupt {
        let running = self.groups.len();
        if running == 0 {
            return Interrupt::Needless;
        }
        if let Some(urgent) = &mut self.urgent {
            if running > urgent.before {
                return Interrupt::Later;
            }
            if urgent.seen.0 != urgent.before {
                urgent.seen = (urgent.before, now);
            }
            let gone_on = urgent.before < urgent.all;
            if now.saturating_duration_since(urgent.seen.1) < if gone_on { READING } else { PATIENCE } {
                return if gone_on { Interrupt::Later } else { Interrupt::Needless };
            }
        }
        self.urgent = Some(Urgent { before: running, all: running, seen: (running, now), pinged: false });
        Interrupt::Send
    }

    /// Returns true if the server may not have read the last urgent byte yet. If so it is asked for a sign that it has.
    pub(super) fn has_urgent_byte_ahead(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let Some(urgent) = &mut self.urgent else { return false };
        if !std::mem::replace(&mut urgent.pinged, true) {
            client::plain(write_buffer.tail(), tag::SQ_VERSION);
            client::eot(write_buffer.tail());
            self.groups.push_back(Group { request_id: 0, expect: Expect::CleanUp });
        }
        true
    }

    /// A group was answered.
    pub(super) fn read_past_urgent(&mut self) {
        if let Some(urgent) = &mut self.urgent {
            match urgent.before.checked_sub(1) {
                Some(left) => urgent.before = left,
                None => self.urgent = None,
            }
        }
    }
}
