//! The replies that are to come, in their order.

use super::names::Change;
use super::portals::Portal;
use super::spliced::Spliced;
use crate::limits::{KEPT_ENTRIES, SPARE_REPLIES, SPARE_TABLES};
use crate::postgres::description::Description;
use crate::postgres::statements::PreparedStatement;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// A reply that the server owes, or one that is put in among them.
#[derive(Debug)]
pub enum Expected {
    /// ParseComplete of a statement. Without a change the client has not sent this Parse.
    Parse { statement: u64, place: StatementSlot, change: Option<Change> },
    /// An error: the client prepares something by a name that it has already, or in a transaction that has failed. On the
    /// server the name is that of the statement with this number. ParseComplete comes if something else than a message has
    /// deallocated that: a function. Then the name is the client's new statement, as without the daemon.
    Refused(u64, Change),
    /// ParseComplete of what is deallocated in place of a statement that only the client has by this name.
    Placeholder,
    /// BindComplete of a portal.
    Bind(Portal),
    /// RowDescription or NoData of a statement, after ParameterDescription.
    Describe(Option<Box<Known>>),
    /// RowDescription or NoData of the portal with this name.
    DescribePortal(Vec<u8>),
    /// The same of a statement that the client was told of before. It does not see it.
    Check(Arc<PreparedStatement>),
    /// An error, in place of the one that the server would have for a statement that does not fit any more.
    Outdated,
    /// CommandComplete, EmptyQueryResponse or PortalSuspended.
    Execute,
    /// CloseComplete of a statement that only the server has by its name.
    Close,
    /// CloseComplete of the portal with this name.
    ClosePortal(Vec<u8>),
    /// CloseComplete of a statement that makes room.
    Evicted(u64),
    /// CloseComplete of a name that is to mean nothing.
    Cleared,
    /// A message that the daemon puts in.
    Made(u8, Option<Change>),
    /// What the server has reported before of a statement that it has prepared.
    Known(Box<Known>, Description),
    /// ReadyForQuery after a Sync that the server does not have to see.
    Ready,
    /// ReadyForQuery after Sync, and whether there was anything in its group.
    Sync { is_bare: bool },
    /// ReadyForQuery after Query, with which the unnamed statement ends. The text may have statements of the daemon.
    Query(Change, Option<Box<Spliced>>),
    /// A reply to one of the messages that set what the client has begun with, after it has set it back.
    Restoring,
    /// ReadyForQuery after FunctionCall.
    Function,
    /// None: the client has ended a COPY here.
    CopyEnd,
    /// All that comes up to ReadyForQuery is the daemon's own affair.
    Own,
    /// The same, after DISCARD PLANS. A transaction that has failed refuses it.
    Discard,
    /// The same, after Describe of a statement that others have prepared: an error means that it does not fit any more.
    Validation(Arc<PreparedStatement>),
}

/// Where a statement is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementSlot {
    /// Under its name.
    Named,
    /// Without one, in place of this statement.
    Unnamed { before: Option<u64> },
}

/// A statement by the name of its client.
#[derive(Debug)]
pub struct Known {
    pub name: Vec<u8>,
    pub statement: Arc<PreparedStatement>,
}

impl Expected {
    /// Returns true if the server sends nothing for it.
    pub fn is_put_in(&self) -> bool {
        matches!(self, Self::Made(..) | Self::Known(..) | Self::Ready | Self::CopyEnd)
    }

    /// Returns true if the client is not concerned.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own | Self::Discard | Self::Validation(_))
    }

    fn ends_group(&self) -> bool {
        matches!(self, Self::Ready | Self::Sync { .. } | Self::Query(..) | Self::Function) || self.is_own()
    }
}

thread_local! {
    /// Queues of clients that have pipelined, with nothing in them.
    static SPARE: RefCell<Vec<VecDeque<Expected>>> = const { RefCell::new(Vec::new()) };
}

/// The replies to what was sent.
#[derive(Debug, Default)]
pub struct Replies {
    queue: VecDeque<Expected>,
    /// How many of them the server sends.
    owed: usize,
    /// How many of them end a group.
    groups: usize,
}

impl Replies {
    pub fn push(&mut self, expected: Expected) {
        self.owed += usize::from(!expected.is_put_in());
        self.groups += usize::from(expected.ends_group());
        if self.queue.len() == self.queue.capacity() {
            self.grow();
        }
        self.queue.push_back(expected);
    }

    pub fn pop(&mut self) -> Option<Expected> {
        self.remove(0)
    }

    pub fn remove(&mut self, at: usize) -> Option<Expected> {
        let removed = self.queue.remove(at)?;
        self.owed -= usize::from(!removed.is_put_in());
        self.groups -= usize::from(removed.ends_group());
        Some(removed)
    }

    pub fn front(&self) -> Option<&Expected> {
        self.queue.front()
    }

    pub fn front_mut(&mut self) -> Option<&mut Expected> {
        self.queue.front_mut()
    }

    pub fn last(&self) -> Option<&Expected> {
        self.queue.back()
    }

    pub fn get(&self, at: usize) -> Option<&Expected> {
        self.queue.get(at)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Expected> {
        self.queue.iter()
    }

    /// Which statement the unnamed one was before is not known any more. Returns true if none is to be parsed in its place.
    pub fn forget_unnamed_before(&mut self) -> bool {
        let mut is_none = true;
        for expected in &mut self.queue {
            if let Expected::Parse { place: StatementSlot::Unnamed { before }, .. } = expected {
                (*before, is_none) = (None, false);
            }
        }
        is_none
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Memory for many is for who pipelines next on this thread, not for a client that waits for none.
    pub fn give_memory_back(&mut self) {
        if self.queue.capacity() <= KEPT_ENTRIES || !self.queue.is_empty() {
            return;
        }
        let queue = std::mem::take(&mut self.queue);
        SPARE.with_borrow_mut(|spare| {
            if queue.capacity() <= SPARE_REPLIES && spare.len() < SPARE_TABLES {
                spare.push(queue);
            }
        });
    }

    /// There is no room for another one.
    #[cold]
    fn grow(&mut self) {
        if self.queue.len() >= KEPT_ENTRIES
            && let Some(mut spare) = SPARE.with_borrow_mut(Vec::pop)
            && spare.capacity() > self.queue.len()
        {
            spare.extend(self.queue.drain(..));
            self.queue = spare;
        }
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if a group was not answered whose last message was sent.
    pub fn have_groups(&self) -> bool {
        self.groups > 0
    }

    /// Returns true if the server is to send something.
    pub fn are_owed(&self) -> bool {
        self.owed > 0
    }
}
