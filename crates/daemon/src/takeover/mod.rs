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
//! | `yours`, with [`Paused`] if that is not what was handed over | older | it does not accept any more, and has its clients leave |
//! | `refused` | older | another one was faster, or this one too slow: the newer ends |
//! | `serving` | newer | it accepts |
//! | `cancel N PID SECRET`, `done N` | newer, older | a CancelRequest of a client that the newer does not have |
//! | `order` and an [`Order`] | newer | an operator has ordered it, and means the clients of the older, too |
//! | `ask N` and a [`Question`], `said N` and an [`Answer`] | newer, older | what an operator waits for, or names by a number |
//! | `release`, `released` | newer, older | the newer ends, or is itself taken over from: the older forgets sockets and lock |
//! | `end` | newer | the same, and the daemon is to end: the clients of the older, too |
//!
//! Whoever loses the other one by surprise serves: the newer, if that is before `yours`, as the older has ended; the
//! older, as long as it has clients, which accepts again.
//!
//! An older one may itself have taken over from one that still has clients: a chain. What is ordered in it:
//!
//! | what | at the daemon that serves | at an older one |
//! |---|---|---|
//! | pause, resume, reconnect, kill of all | it does it, and passes it on | refused, unless its successor passes it on: then the same |
//! | the same of a database that it has, or an older one | the same | the same |
//! | the same of a database that none has | refused | from its successor: nothing |
//! | kill of a client | of its own; else it asks the older one | refused; if its successor asks, the same |
//! | reload | it does it | refused |
//! | the wait of pause, reconnect, `WAIT_CLOSE` | for its own server connections, then it asks the older one, until none has any | for its own and those before it |
//!
//! - What an order changes, and that it is passed on, is one step ([`Chain`](crate::chain::Chain)): two orders come in the
//!   same order to all. So is the moment from which on an older one refuses: what it was ordered before, its successor is told.
//! - Lines are written in the order in which they were made, so that a question is about what the orders before it have left.
//! - An older one answers to its end, while it drains as well. One that does not answer in time, or is of a version that cannot,
//!   is waited for until it has ended.
//! - If one in the middle is killed, those before it cannot be reached: their clients leave by `restart_timeout`.

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
    /// The names of the databases of its configuration, and of those before it; `None` from a version that does not send them.
    #[serde(default)]
    pub databases: Option<Vec<String>>,
    /// Somebody else has made the clients' socket, and removes it.
    pub inherited: bool,
    /// The addresses of TCP, as they are configured, in the order of the sockets that come after the clients' one, the
    /// second one and the lock.
    pub addresses: Vec<String>,
}

/// An order of an operator for a database, or without a name for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Server connections are not lent any more.
    Pause(Option<String>),
    /// They are lent again.
    Resume(Option<String>),
    /// They are replaced.
    Reconnect(Option<String>),
    /// They are not lent any more, and the clients' connections are ended.
    Kill(Option<String>),
}

impl Order {
    /// The database that is meant.
    pub fn database(&self) -> Option<&str> {
        let (Self::Pause(database) | Self::Resume(database) | Self::Reconnect(database) | Self::Kill(database)) = self;
        database.as_deref()
    }
}

/// What a newer daemon asks, also for those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Which server connections of a database, or of all, are to be closed, and are open.
    Closing(Option<String>),
    /// Is there a client of this number? It is ended.
    KillClient(i32),
}

/// The answer to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The server connections.
    Closing(Vec<Closing>),
    /// There was one.
    KillClient(bool),
}

/// A server connection that is to be closed as soon as no client has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The process of the daemon.
    pub daemon: u32,
    /// The client that has it; `None` if none has, or the daemon has not said.
    pub client: Option<i32>,
}

/// A line from the newer or the older.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Ready,
    Yours(Option<Paused>),
    Refused,
    Serving,
    Cancel { number: u64, process_id: i32, secret: i32 },
    Done(u64),
    Order(Order),
    Ask(u64, Question),
    Said(u64, Answer),
    Release,
    Released,
    End,
}

impl Line {
    fn text(&self) -> String {
        // Names of databases have no line end in JSON.
        let json = |made: serde_json::Result<String>| made.expect("text is JSON");
        match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Yours(None) => "yours\n".to_owned(),
            Self::Yours(Some(paused)) => format!("yours {}\n", json(serde_json::to_string(paused))),
            Self::Order(order) => format!("order {}\n", json(serde_json::to_string(order))),
            Self::Ask(number, question) => format!("ask {number} {}\n", json(serde_json::to_string(question))),
            Self::Said(number, answer) => format!("said {number} {}\n", json(serde_json::to_string(answer))),
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
        if let Some(json) = text.strip_prefix("yours ") {
            return serde_json::from_str(json).ok().map(|paused| Self::Yours(Some(paused)));
        }
        if let Some(json) = text.strip_prefix("order ") {
            return serde_json::from_str(json).ok().map(Self::Order);
        }
        let numbered =
            |rest: &str| rest.split_once(' ').and_then(|(number, json)| Some((number.parse().ok()?, json.to_owned())));
        if let Some(rest) = text.strip_prefix("ask ") {
            let (number, json) = numbered(rest)?;
            return serde_json::from_str(&json).ok().map(|question| Self::Ask(number, question));
        }
        if let Some(rest) = text.strip_prefix("said ") {
            let (number, json) = numbered(rest)?;
            return serde_json::from_str(&json).ok().map(|answer| Self::Said(number, answer));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(match words[..] {
            ["ready"] => Self::Ready,
            ["yours"] => Self::Yours(None),
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
        let name = Some("a \"b\"\n".to_owned());
        let asked = [Line::Ask(1, Question::Closing(name.clone())), Line::Ask(2, Question::KillClient(7))];
        let closing = vec![Closing { daemon: 1, client: Some(2) }];
        let said = [Line::Said(1, Answer::Closing(closing)), Line::Said(u64::MAX, Answer::KillClient(true))];
        let orders = [Order::Pause(name.clone()), Order::Resume(None), Order::Reconnect(None), Order::Kill(name)];
        let yours = [Line::Yours(None), Line::Yours(Some(Paused::default()))];
        let others = [Line::Ready, Line::Refused, Line::Serving, cancel, Line::Done(7), Line::End];
        for line in others.into_iter().chain(yours).chain(asked).chain(said).chain(orders.map(Line::Order)) {
            let text = line.text();
            assert_eq!(text.find('\n'), Some(text.len() - 1), "{text}");
            assert_eq!(Line::read(&text), Some(line));
        }
        for other in ["", "later", "cancel 1 2", "done x", "order x", "yours x", "ask 1", "ask 1 x", "said x 1"] {
            assert_eq!(Line::read(other), None, "{other}");
        }
    }
}
