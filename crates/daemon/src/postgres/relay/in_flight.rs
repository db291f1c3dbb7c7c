//! What is under way between a client and the server connection that it is lent.

use super::ServerState;
use super::expected::{Expected, Replies};
use super::portals::Portals;
use crate::limits::{KEPT_ENTRIES, PARSED};
use crate::postgres::description::Description;
use crate::postgres::statements::{ById, PreparedStatement};
use std::sync::Arc;

/// Messages that were passed on, and what follows from them until they are answered: nothing of it is left when the
/// connection goes back.
#[derive(Debug, Default)]
pub struct InFlight {
    /// The replies that are to come.
    pub replies: Replies,
    /// Statements whose Parse or Close was not answered, the group of the last one, and how many there are.
    altered: ById<(u64, usize)>,
    /// Statements whose Parse was answered since the last ReadyForQuery: only before the next one the server reports
    /// by which settings it has read them.
    parsed: Parsed,
    /// The portals that are bound.
    pub portals: Portals,
    /// Portals of statements after whose execution nothing is passed on before that was answered.
    pub awaited: Vec<(Vec<u8>, Arc<PreparedStatement>)>,
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

/// Statements that were parsed.
#[derive(Debug, Default)]
struct Parsed {
    ids: Vec<u64>,
    /// There were others.
    are_more: bool,
}

impl InFlight {
    /// Nothing is under way, and the client has no server connection: tables that have grown are not kept for it.
    pub fn give_memory_back(&mut self) {
        self.replies.give_memory_back();
        if self.portals.capacity() > KEPT_ENTRIES {
            self.portals = Portals::default();
        }
        if self.parsed.ids.capacity() > KEPT_ENTRIES {
            self.parsed = Parsed::default();
        }
        if self.altered.is_empty() && self.altered.capacity() > KEPT_ENTRIES {
            self.altered = ById::default();
        }
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

    /// The server has parsed a statement.
    pub fn parsed(&mut self, id: u64) {
        match self.parsed.ids.len() < PARSED {
            true => self.parsed.ids.push(id),
            false => self.parsed.are_more = true,
        }
    }

    /// The server is ready: what it reads from now on has the settings that it has reported, unless they change.
    pub fn is_ready(&mut self) {
        self.parsed.ids.clear();
        self.parsed.are_more = false;
    }

    /// The server has reported that a setting is another one, which nothing in the texts has shown: what it has parsed
    /// since it was ready, and what is under way, may be read by the one or the other. Nobody gets it from now on.
    pub fn forget_parsed(&mut self, server: &mut ServerState) {
        self.replies.forget_unnamed_before();
        let sent = self.replies.iter().filter_map(|expected| match expected {
            Expected::Parse { statement, .. } => Some(*statement),
            _ => None,
        });
        let mut ids: Vec<u64> = self.parsed.ids.drain(..).chain(sent).collect();
        if std::mem::take(&mut self.parsed.are_more) {
            ids.extend(server.prepared.ids());
            server.prepared.set_unnamed(None);
        }
        for id in ids {
            if server.prepared.is_unnamed(id) {
                server.prepared.set_unnamed(None);
            }
            if server.prepared.contains(id) {
                server.prepared.remove(id);
                server.stale.push(id);
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
    pub fn describes(&self, statement: &PreparedStatement, description: &Description, server: &mut ServerState) {
        if !self.altered.contains_key(&statement.id()) {
            server.prepared.describe(statement, description);
        }
    }
}
