//! The group of a client's messages: those up to a Sync, of which the server skips the rest after an error. A Query and a
//! FunctionCall are groups of their own.
//!
//! The states are those of the group whose messages come now. Those before it are complete: the server answers them
//! without anything more from the client, so a reply that is put in may wait for theirs. While a group is open nothing
//! waits for what the server owes to it, because it may answer only after the Sync.
//!
//! Events are messages of the client, as far as they are passed on or answered here, and the few messages of the server
//! that change what the client's next messages mean. [`Group::go`] is the only function that changes the state.
//!
//! Not in the table: messages of a COPY, and Flush, which belong to no group; messages that are skipped; the daemon's own
//! messages before a group (see [`Expected::is_own`](super::expected::Expected::is_own)); and replies that only end what is
//! owed.

use headrace_core::transitions::Transitions;

headrace_core::names! {
    /// The state of a group.
    pub enum GroupState {
        Between = "no message has come after the last group",
        Local = "messages have come, and the server has received none of them",
        Open = "the server has received messages, and no Sync after them",
        Skipped = "an error makes the server skip what comes before Sync, so it is not sent",
        Cancelled = "the request was cancelled before a server connection was lent: nothing before Sync is executed",
    }
}

headrace_core::names! {
    /// An event that may change the state of a group.
    pub enum GroupEvent {
        Begun = "Parse, Bind, Describe, Execute or Close has come",
        Sent = "a message is sent to which the server replies, for one of these or before a Query",
        Sync = "Sync is sent",
        SyncHere = "Sync, to which the daemon replies",
        Query = "Query or FunctionCall is sent",
        Error = "ErrorResponse, and no Sync was sent after what has failed",
        SyncIgnored = "CopyInResponse after Sync was sent: the server needs another one after the data",
        Cancel = "the client cancels what waits for a server connection",
        Terminate = "Terminate",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<GroupState, GroupEvent> = {
    use GroupEvent::*;
    use GroupState::*;
    Transitions {
        machine: "relay",
        rows: &[
            (Between, Begun, Local),
            (Local, Begun, Local),
            (Open, Begun, Open),
            (Between, Sent, Open),
            (Local, Sent, Open),
            (Open, Sent, Open),
            (Between, Sync, Between),
            (Local, Sync, Between),
            (Open, Sync, Between),
            (Skipped, Sync, Between),
            (Between, SyncHere, Between),
            (Local, SyncHere, Between),
            (Cancelled, SyncHere, Between),
            (Between, Query, Between),
            (Local, Query, Between),
            (Open, Query, Between),
            (Between, Error, Skipped),
            (Local, Error, Skipped),
            (Open, Error, Skipped),
            (Between, SyncIgnored, Open),
            (Local, SyncIgnored, Open),
            (Between, Cancel, Cancelled),
            (Cancelled, Terminate, Between),
        ],
    }
};

/// The group that comes now.
#[derive(Debug)]
pub struct Group {
    state: GroupState,
    number: u64,
}

impl Default for Group {
    fn default() -> Self {
        Self { state: GroupState::Between, number: 0 }
    }
}

impl Group {
    /// Counts the groups.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if every message that has come belongs to a group that is complete.
    pub fn is_complete(&self) -> bool {
        self.state == GroupState::Between
    }

    /// Returns true if the server has received something of it: what follows may be skipped.
    pub fn is_open(&self) -> bool {
        self.state == GroupState::Open
    }

    /// Returns true if nothing before the Sync is passed on.
    pub fn is_skipped(&self) -> bool {
        matches!(self.state, GroupState::Skipped | GroupState::Cancelled)
    }

    /// Returns true if the rest of a cancelled request is to come, whose Sync no server sees.
    pub fn is_cancelled(&self) -> bool {
        self.state == GroupState::Cancelled
    }

    /// Returns true if the server need not see a Sync that comes now, as far as the group is concerned.
    pub fn leaves_sync_here(&self) -> bool {
        matches!(self.state, GroupState::Between | GroupState::Local)
    }

    /// A message of it has come, or what comes after it of which it depends.
    pub fn go(&mut self, event: GroupEvent) {
        let to = match (self.state, event) {
            (GroupState::Between, GroupEvent::Begun) => GroupState::Local,
            (state, GroupEvent::Begun) => state,
            (_, GroupEvent::Sent | GroupEvent::SyncIgnored) => GroupState::Open,
            (_, GroupEvent::Sync | GroupEvent::SyncHere | GroupEvent::Query | GroupEvent::Terminate) => {
                GroupState::Between
            }
            (_, GroupEvent::Error) => GroupState::Skipped,
            (_, GroupEvent::Cancel) => GroupState::Cancelled,
        };
        TRANSITIONS.take(self.state, event, to);
        self.state = to;
        self.number += u64::from(matches!(event, GroupEvent::Sync | GroupEvent::SyncHere | GroupEvent::Query));
    }
}
