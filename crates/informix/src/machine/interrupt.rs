//! When an urgent byte may be sent: never before the server has read the previous one.
//!
//! TCP has one urgent byte. A second one that comes before the server has read the first makes the first a part of the
//! stream, which is then corrupt. The server has certainly read it once a group that was sent after it is answered: a
//! ping, for which the next request waits; so a late interrupt cannot hit the wrong request either. Before that, the reply
//! to a group before it indicates that the server has continued with the next one and, a short time later, has read that
//! one. The next one may be a further group of the same request: a byte that the server reads while it prepares a
//! statement does not end the statement.

use super::request::{Expect, Group};
use super::{IfxHandler, Machine};
use crate::limits::INTERRUPT_PATIENCE;
use crate::limits::INTERRUPT_READING;
use crate::messages::{client, tag};
use headrace_core::{Interrupt, WriteBuffer};
use std::time::Instant;

/// An urgent byte that was sent.
#[derive(Debug)]
pub(super) struct Urgent {
    /// The number of groups sent before it that are not answered.
    before: usize,
    /// The number of such groups when it was sent.
    all: usize,
    /// The number of such groups at the last check, that of all which were not answered, and the time since which both
    /// are the same.
    seen: ((usize, usize), Instant),
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
            if urgent.before == 0 && urgent.pinged {
                return Interrupt::Later;
            }
            if urgent.seen.0 != (urgent.before, running) {
                urgent.seen = ((urgent.before, running), now);
            }
            let gone_on = urgent.before < urgent.all;
            if now.saturating_duration_since(urgent.seen.1)
                < if gone_on { INTERRUPT_READING } else { INTERRUPT_PATIENCE }
            {
                let is_last = running == urgent.before && !gone_on;
                return if is_last { Interrupt::Needless } else { Interrupt::Later };
            }
        }
        self.urgent = Some(Urgent { before: running, all: running, seen: ((running, running), now), pinged: false });
        Interrupt::Send
    }

    /// Returns true if the server may not have read the last urgent byte yet. If so a ping is sent.
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
