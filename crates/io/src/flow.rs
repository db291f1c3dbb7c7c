//! How a thread waits while a long answer arrives.
//!
//! A server sends a long answer in pieces of a few kilobytes, and wakes its client for each of them if that waits in a
//! system call. Waking a thread on another core takes the server about as long as making the piece. A client that
//! sleeps instead, until several pieces have come, has its answer earlier and with fewer system calls.

use headrace_core::limits::{GATHER, GATHER_AFTER_BYTES, GATHERED_BYTES, GATHERED_FEWEST_BYTES};

/// What has arrived since something was sent.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Bytes since then, or since a sleep was in vain.
    bytes: usize,
    /// Those of the last call.
    last: usize,
    /// The thread has slept before it.
    has_slept: bool,
}

impl Flow {
    /// Something is sent: a new answer begins.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Lets bytes accumulate if many are to be expected.
    pub(crate) fn gather(&mut self) {
        self.has_slept = self.gathers();
        if self.has_slept {
            std::thread::sleep(GATHER);
        }
    }

    fn gathers(&self) -> bool {
        self.bytes >= GATHER_AFTER_BYTES && self.last < GATHERED_BYTES
    }

    /// So many bytes have arrived.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.last = bytes;
        // From a server that is slower than that nothing accumulates.
        let in_vain = self.has_slept && bytes < GATHERED_FEWEST_BYTES;
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
            assert!(!flow.gathers());
            flow.received(PIECE);
        }
        assert!(flow.gathers());
        flow
    }

    #[test]
    fn long_answer_is_gathered_until_something_is_sent() {
        let mut flow = long();
        flow.gather();
        flow.received(4 * PIECE);
        assert!(flow.gathers());
        flow.begin();
        assert!(!flow.gathers());
    }

    #[test]
    fn client_that_is_slower_does_not_wait() {
        let mut flow = long();
        flow.received(GATHERED_BYTES);
        assert!(!flow.gathers());
        flow.received(PIECE);
        assert!(flow.gathers());
    }

    #[test]
    fn slow_server_is_not_waited_for_again_and_again() {
        let mut flow = long();
        flow.gather();
        flow.received(PIECE);
        for _ in 0..GATHER_AFTER_BYTES / PIECE {
            assert!(!flow.gathers());
            flow.received(PIECE);
        }
        assert!(flow.gathers());
    }
}
