//! A restart in which clients always find a daemon: one that starts takes the listening sockets of the one that serves.
//!
//! Both open the same sockets, so none is closed, bound or removed: who connects meanwhile waits in the kernel's queue
//! for whichever of the two accepts. With them goes the lock of the socket, which both hold until the older one ends.
//!
//! | message | from | meaning |
//! |---|---|---|
//! | `POST /takeover` | newer | asks for the sockets, on the second socket of the older |
//! | 101, [`Handed`] and the sockets | older | it goes on serving |
//! | `ready` | newer | it can serve: its configuration is right, all of its sockets are open |
//! | `yours` | older | it does not accept any more, and has its clients leave |
//! | `refused` | older | another one was faster, or this one too slow: the newer ends |
//! | `serving` | newer | it accepts |
//! | `cancel N PID SECRET`, `done N` | newer, older | a CancelRequest of a client that the newer does not have |
//! | `release`, `released` | newer, older | the newer ends, or is itself taken over from: the older forgets sockets and lock |
//! | `end` | newer | the same, and the daemon is to end: the clients of the older, too |
//!
//! Whoever loses the other one by surprise serves: the newer, if that is before `yours`, as the older has ended; the
//! older, as long as it has clients, which accepts again.

pub mod newer;
pub mod older;

use crate::gate::Paused;
use serde::{Deserialize, Serialize};

/// What the newer asks for, with the version of this conversation.
const UPGRADE: &str = "headraced-takeover/1";

/// What the older sends with the sockets.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handed {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Clients of the newer have numbers from this one on, so that no key is that of two.
    pub next_number: i32,
    /// Databases that operators have paused.
    pub paused: Paused,
    /// Somebody else has made the clients' socket, and removes it.
    pub inherited: bool,
    /// The addresses of TCP, as they are configured, in the order of the sockets that come after the clients' one, the
    /// second one and the lock.
    pub addresses: Vec<String>,
}

/// A line from the newer or the older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Ready,
    Yours,
    Refused,
    Serving,
    Cancel { number: u64, process_id: i32, secret: i32 },
    Done(u64),
    Release,
    Released,
    End,
}

impl Line {
    fn text(self) -> String {
        match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Yours => "yours\n".to_owned(),
            Self::Refused => "refused\n".to_owned(),
            Self::Serving => "serving\n".to_owned(),
            Self::Cancel { number, process_id, secret } => format!("cancel {number} {process_id} {secret}\n"),
            Self::Done(number) => format!("done {number}\n"),
            Self::Release => "release\n".to_owned(),
            Self::Released => "released\n".to_owned(),
            Self::End => "end\n".to_owned(),
        }
    }

    /// `None` for a line of a later version.
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(match words[..] {
            ["ready"] => Self::Ready,
            ["yours"] => Self::Yours,
            ["refused"] => Self::Refused,
            ["serving"] => Self::Serving,
            ["cancel", number, process_id, secret] => Self::Cancel {
                number: number.parse().ok()?,
                process_id: process_id.parse().ok()?,
                secret: secret.parse().ok()?,
            },
            ["done", number] => Self::Done(number.parse().ok()?),
            ["release"] => Self::Release,
            ["released"] => Self::Released,
            ["end"] => Self::End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let cancel = Line::Cancel { number: 7, process_id: 4_194_305, secret: -8 };
        for line in [Line::Ready, Line::Yours, Line::Refused, Line::Serving, cancel, Line::Done(7), Line::End] {
            assert_eq!(Line::read(&line.text()), Some(line));
        }
        for other in ["", "later", "cancel 1 2", "done x"] {
            assert_eq!(Line::read(other), None, "{other}");
        }
    }
}
