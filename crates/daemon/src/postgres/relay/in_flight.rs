//! What is under way between a client and the server connection that it is lent.

use super::ServerState;
use super::expected::Replies;
use super::portals::Portals;
use crate::limits::{SPARE_REPLIES, SPARE_TABLES};
use crate::postgres::description::Description;
use crate::postgres::statements::{ById, Statement};
use std::cell::RefCell;
use std::sync::Arc;

/// Messages that were passed on, and what follows from them until they are answered: nothing of it is left when the
/// connection goes back.
#[derive(Debug, Default)]
pub struct InFlight {
    /// The replies that are to come.
    pub replies: Replies,
    /// Statements whose Parse or Close was not answered, the group of the last one, and how many there are.
    altered: ById<(u64, usize)>,
    /// The portals that are bound.
    pub portals: Portals,
    /// Portals of statements after whose execution nothing is passed on before that was answered.
    pub awaited: Vec<(Vec<u8>, Arc<Statement>)>,
    /// What was passed on changes what the messages after it mean, so they wait for its reply.
    pub awaits_effects: bool,
    /// What was passed on ends a transaction block.
    pub ends_block: bool,
    /// The client's name of the statement that a DEALLOCATE is about which was passed on.
    pub deallocating: Option<Vec<u8>>,
    /// What was passed on makes objects to which names in other texts may refer.
    pub creates: bool,
    /// The server was asked to send what it has, since [`REPLIES`](crate::limits::REPLIES) are to come.
    pub flush_sent: bool,
    /// ParameterDescription of the statement that is being described.
    pub parameters: Vec<u8>,
}

thread_local! {
    /// Those of clients that have no server connection: nothing is in them but memory.
    static SPARE: RefCell<Vec<InFlight>> = const { RefCell::new(Vec::new()) };
}

impl InFlight {
    /// The client has a server connection: it takes the memory that another client has given back, if it has none.
    pub fn take_memory(&mut self) {
        if self.replies.capacity() == 0
            && let Some(spare) = SPARE.with_borrow_mut(Vec::pop)
        {
            *self = spare;
        }
    }

    /// The client has no server connection, and nothing is under way: the memory is for who comes next on this thread.
    pub fn give_memory_back(&mut self) {
        let is_empty = self.replies.is_empty() && self.altered.is_empty() && self.awaited.is_empty();
        if !is_empty || self.deallocating.is_some() {
            return;
        }
        let mut empty = std::mem::take(self);
        empty.portals.clear();
        empty.parameters.clear();
        (empty.awaits_effects, empty.ends_block, empty.creates, empty.flush_sent) = (false, false, false, false);
        let is_usual = empty.replies.capacity() <= SPARE_REPLIES
            && empty.altered.capacity() <= SPARE_REPLIES
            && empty.portals.capacity() <= SPARE_REPLIES
            && empty.parameters.capacity() <= SPARE_REPLIES;
        SPARE.with_borrow_mut(|spare| {
            if is_usual && spare.len() < SPARE_TABLES {
                spare.push(empty);
            }
        });
    }

    /// A Parse or Close of a statement is sent in this group.
    pub fn alters(&mut self, id: u64, group: u64) {
        let entry = self.altered.entry(id).or_insert((group, 0));
        *entry = (group, entry.1 + 1);
    }

    /// It was answered or skipped.
    pub fn altered(&mut self, id: u64) {
        if let Some((_, count)) = self.altered.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.altered.remove(&id);
            }
        }
    }

    /// Returns true if no such message is unanswered.
    pub fn alters_nothing(&self) -> bool {
        self.altered.is_empty()
    }

    /// Returns true if whether the server has a statement depends on a message of an earlier group that was not answered.
    pub fn is_uncertain(&self, id: u64, group: u64) -> bool {
        self.altered.get(&id).is_some_and(|(altered_in, _)| *altered_in < group)
    }

    /// The server has described a statement. It is not what the server connection has then if a Parse or Close of it is
    /// unanswered.
    pub fn describes(&self, statement: &Statement, description: &Description, server: &mut ServerState) {
        if !self.altered.contains_key(&statement.id()) {
            server.prepared.describe(statement, description);
        }
    }
}
