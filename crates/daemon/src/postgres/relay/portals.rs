//! The portals that a client has on the server connection that it is lent, and the statements that they were bound from.
//!
//! A client that describes a portal has been told of the columns of its statement, and goes by them when it binds the
//! statement again, wherever that is.

use crate::limits::PORTALS;
use crate::postgres::statements::PreparedStatement;
use std::sync::Arc;

/// A portal.
#[derive(Debug)]
pub struct Portal {
    pub name: Vec<u8>,
    /// The client's name of the statement.
    pub statement_name: Vec<u8>,
    /// `None` if only the server has it.
    pub statement: Option<Arc<PreparedStatement>>,
}

/// Those that the server has reported as bound. Some of them may be gone: with a savepoint, or by COMMIT AND CHAIN.
#[derive(Debug, Default)]
pub struct Portals(Vec<Portal>);

impl Portals {
    /// A portal is bound, in place of one with the same name. Returns false if there are too many to be remembered.
    #[must_use]
    pub fn bound(&mut self, portal: Portal) -> bool {
        match self.0.iter().position(|other| other.name == portal.name) {
            Some(at) => self.0[at] = portal,
            None if self.0.len() == PORTALS => return false,
            None => self.0.push(portal),
        }
        true
    }

    pub fn get(&self, name: &[u8]) -> Option<&Portal> {
        self.0.iter().find(|portal| portal.name == name)
    }

    /// For how many there is memory.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    pub fn closed(&mut self, name: &[u8]) {
        self.0.retain(|portal| portal.name != name);
    }

    /// The transaction has ended, and with it all of them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
