//! Interactive traffic and bulk traffic have threads of their own.
//!
//! The system's scheduler shares cores between threads. A thread that passes on millions of rows uses up its share, and
//! then waits for some milliseconds until others have had theirs; who asks one small question through the same thread
//! waits with it. A thread that sleeps most of the time gets a core at once when it is woken. So clients are told apart
//! by what they do: who moves much is moved to other threads, until it asks small questions again.

use crate::limits::{BULK_BYTES, INTERACTIVE_REQUESTS};
use headrace_io::tokio::Stream;
use std::future::{Future, pending};
use std::panic::resume_unwind;
use tokio::runtime::Handle;

/// A class of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficClass {
    /// Small requests with small answers.
    #[default]
    Interactive,
    /// Requests or answers of many bytes.
    Bulk,
}

/// What a client has moved lately.
#[derive(Debug, Default)]
pub struct Traffic {
    class: TrafficClass,
    /// Bytes since the last request was answered.
    bytes: u64,
    /// Requests with few bytes since the last one with many.
    small: u32,
}

impl Traffic {
    /// The class that the client belongs to.
    pub fn class(&self) -> TrafficClass {
        self.class
    }

    /// Bytes were moved in either direction.
    pub fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes >= BULK_BYTES {
            self.class = TrafficClass::Bulk;
        }
    }

    /// Everything that the client has asked for was answered.
    pub fn answered(&mut self) {
        match std::mem::take(&mut self.bytes) {
            0 => {}
            BULK_BYTES.. => self.small = 0,
            _ => self.small += 1,
        }
        if self.small >= INTERACTIVE_REQUESTS {
            (self.class, self.small) = (TrafficClass::Interactive, 0);
        }
    }
}

/// The threads that are woken by what arrives at a socket.
#[derive(Debug, Default)]
pub struct RuntimeAffinity(TrafficClass);

impl RuntimeAffinity {
    /// Those of the class of traffic on whose threads the socket was opened.
    pub fn of(class: TrafficClass) -> Self {
        Self(class)
    }

    /// The class of traffic that they are for.
    pub fn class(&self) -> TrafficClass {
        self.0
    }

    /// Brings the socket to the threads of the caller, which are those of this class.
    pub fn move_to(&mut self, class: TrafficClass, stream: &mut Stream) {
        // Without a descriptor more it is heard of where it was, a little later.
        if self.0 != class && stream.come_here().is_ok() {
            self.0 = class;
        }
    }
}

/// Runs a task on other threads, and waits for it.
pub async fn run_on<T: Send + 'static>(threads: &Handle, task: impl Future<Output = T> + Send + 'static) -> T {
    match threads.spawn(task).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The daemon ends, and its threads have ended before.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_follows_what_is_moved() {
        let mut traffic = Traffic::default();
        traffic.moved(BULK_BYTES - 1);
        assert_eq!(traffic.class(), TrafficClass::Interactive);
        traffic.answered();
        traffic.moved(BULK_BYTES / 2);
        traffic.moved(BULK_BYTES / 2);
        assert_eq!(traffic.class(), TrafficClass::Bulk, "within one request");
        traffic.answered();
        for _ in 1..INTERACTIVE_REQUESTS {
            traffic.moved(100);
            traffic.answered();
            traffic.answered();
            assert_eq!(traffic.class(), TrafficClass::Bulk);
        }
        traffic.moved(BULK_BYTES);
        traffic.answered();
        for _ in 0..INTERACTIVE_REQUESTS {
            assert_eq!(traffic.class(), TrafficClass::Bulk, "counted again after a large one");
            traffic.moved(100);
            traffic.answered();
        }
        assert_eq!(traffic.class(), TrafficClass::Interactive);
    }
}
