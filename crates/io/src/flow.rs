//! How a thread waits while a long answer arrives.
//!
//! A server sends a long answer in pieces of a few kilobytes, and wakes its client for each of them if that waits in a
//! system call. Waking a thread on another core takes the server about as long as making the piece. A client that
//! sleeps instead, until several pieces have come, has its answer earlier and with fewer system calls.

use crate::limits::{
    GATHER, GATHER_AFTER_BYTES, GATHER_PATIENCE, GATHER_REPLIES, GATHERED_BYTES, GATHERED_FEWEST_BYTES,
};
use std::time::Duration;

/// What has arrived since something was sent.
#[derive(Debug)]
pub struct Flow {
    /// Bytes since then, or since a sleep was in vain.
    bytes: usize,
    /// Those of the last call.
    last: usize,
    /// The thread has slept before it.
    has_slept: bool,
    /// How many times [`GATHER`] it sleeps while many replies are to come.
    patience: u32,
}

impl Default for Flow {
    fn default() -> Self {
        Self { bytes: 0, last: 0, has_slept: false, patience: 1 }
    }
}

impl Flow {
    /// Something is sent: a new answer begins.
    pub fn begin(&mut self) {
        (self.bytes, self.last, self.has_slept) = (0, 0, false);
    }

    /// How long the thread should sleep; `None` if little is to come, or much was there. Much is a long answer, or so many
    /// `replies` that the server needs longer for them than the thread sleeps.
    pub fn pause(&self, replies: usize) -> Option<Duration> {
        let most = u32::try_from(replies / GATHER_REPLIES).unwrap_or(u32::MAX);
        let times = if most > 0 { self.patience.min(most) } else { u32::from(self.bytes >= GATHER_AFTER_BYTES) };
        (times > 0 && self.last < GATHERED_BYTES).then(|| GATHER * times)
    }

    /// Lets bytes accumulate.
    pub fn sleep(&mut self, pause: Duration) {
        self.has_slept = true;
        std::thread::sleep(pause);
    }

    /// So many bytes have arrived.
    pub fn received(&mut self, bytes: usize) {
        self.last = bytes;
        self.bytes = self.bytes.saturating_add(bytes);
        if !std::mem::take(&mut self.has_slept) {
            return;
        }
        if bytes < GATHERED_FEWEST_BYTES {
            // From a server that is slower than that nothing accumulates. Of known replies it does with more time.
            self.bytes = 0;
            self.patience = (self.patience * 2).min(GATHER_PATIENCE);
        } else if bytes >= GATHERED_BYTES {
            self.patience = (self.patience / 2).max(1);
        }
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
            assert_eq!(flow.pause(0), None);
            flow.received(PIECE);
        }
        assert_eq!(flow.pause(0), Some(GATHER));
        flow
    }

    #[test]
    fn long_answer_is_gathered_until_something_is_sent() {
        let mut flow = long();
        flow.sleep(GATHER);
        flow.received(4 * PIECE);
        assert_eq!(flow.pause(0), Some(GATHER));
        flow.begin();
        assert_eq!(flow.pause(0), None);
    }

    #[test]
    fn client_that_is_slower_does_not_wait() {
        let mut flow = long();
        flow.received(GATHERED_BYTES);
        assert_eq!(flow.pause(0), None);
        flow.received(PIECE);
        assert_eq!(flow.pause(0), Some(GATHER));
    }

    #[test]
    fn slow_server_is_not_waited_for_again_and_again() {
        let mut flow = long();
        flow.sleep(GATHER);
        flow.received(PIECE);
        for _ in 0..GATHER_AFTER_BYTES / PIECE {
            assert_eq!(flow.pause(0), None);
            flow.received(PIECE);
        }
        assert_eq!(flow.pause(0), Some(GATHER));
    }

    #[test]
    fn many_replies_are_waited_for_longer_and_longer() {
        let mut flow = Flow::default();
        assert_eq!(flow.pause(GATHER_REPLIES - 1), None);
        let mut times = 1;
        for _ in 0..6 {
            assert_eq!(flow.pause(usize::MAX), Some(GATHER * times));
            assert_eq!(flow.pause(GATHER_REPLIES), Some(GATHER), "no longer than the server needs");
            flow.sleep(GATHER);
            flow.received(PIECE);
            times = (times * 2).min(GATHER_PATIENCE);
        }
        assert_eq!(times, GATHER_PATIENCE);
        flow.sleep(GATHER);
        flow.received(GATHERED_FEWEST_BYTES);
        assert_eq!(flow.pause(usize::MAX), Some(GATHER * times), "long enough");
        flow.sleep(GATHER);
        flow.received(GATHERED_BYTES);
        flow.begin();
        assert_eq!(flow.pause(usize::MAX), Some(GATHER * times / 2));
    }
}
