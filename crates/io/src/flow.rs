//! How a thread waits while a long answer arrives.
//!
//! A server sends a long answer in pieces of a few kilobytes, and wakes its client for each of them if that waits in a
//! system call. Waking a thread on another core takes the server about as long as making the piece. A client that
//! sleeps instead, until several pieces have come, has its answer earlier and with fewer system calls.

use headrace_core::limits::{GATHER, GATHER_AFTER_BYTES, GATHER_REPLIES, GATHERED_BYTES, GATHERED_FEWEST_BYTES};

/// What has arrived since something was sent.
#[derive(Debug, Default)]
pub struct Flow {
    /// Bytes since then, or since a sleep was in vain.
    bytes: usize,
    /// Those of the last call.
    last: usize,
    /// The thread has slept before it.
    has_slept: bool,
}

impl Flow {
    /// Something is sent: a new answer begins.
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// Returns true if much is to come, and little was there: a long answer, or this many replies.
    pub fn gathers(&self, replies: usize) -> bool {
        (self.bytes >= GATHER_AFTER_BYTES || replies >= GATHER_REPLIES) && self.last < GATHERED_BYTES
    }

    /// Lets bytes accumulate.
    pub fn sleep(&mut self) {
        self.has_slept = true;
        std::thread::sleep(GATHER);
    }

    /// So many bytes have arrived.
    pub fn received(&mut self, bytes: usize) {
        self.last = bytes;
        // From a server that is slower than that nothing accumulates.
        let in_vain = std::mem::take(&mut self.has_slept) && bytes < GATHERED_FEWEST_BYTES;
        self.bytes = if in_vain { 0 } else { self.bytes.saturating_add(bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 8 * 1024;

    /// Of a long answer, whose pieces have come one by one.
    fn long() -> Flow {
        let mut flow = Flow::default();
        for _ in 0..GATHER_AFTER_BYTES / PIECE {
            assert!(!flow.gathers(0));
            flow.received(PIECE);
        }
        assert!(flow.gathers(0));
        flow
    }

    #[test]
    fn long_answer_is_gathered_until_something_is_sent() {
        let mut flow = long();
        flow.sleep();
        flow.received(4 * PIECE);
        assert!(flow.gathers(0));
        flow.begin();
        assert!(!flow.gathers(0));
    }

    #[test]
    fn client_that_is_slower_does_not_wait() {
        let mut flow = long();
        flow.received(GATHERED_BYTES);
        assert!(!flow.gathers(0));
        flow.received(PIECE);
        assert!(flow.gathers(0));
    }

    #[test]
    fn slow_server_is_not_waited_for_again_and_again() {
        let mut flow = long();
        flow.sleep();
        flow.received(PIECE);
        for _ in 0..GATHER_AFTER_BYTES / PIECE {
            assert!(!flow.gathers(0));
            flow.received(PIECE);
        }
        assert!(flow.gathers(0));
    }
}
