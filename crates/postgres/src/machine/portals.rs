//! Tracks which portals and cursors are open as of what has been sent.
//!
//! Executing a portal that is gone is an error, and an error ends the transaction that is open then, even if it is
//! another one that belongs to other code. So whether a portal is still open is decided when a request is sent, when
//! everything before it is known. A portal ends with the transaction block that it was opened in, and with a rollback
//! to an older savepoint. A cursor WITH HOLD survives its block once that is committed.

use super::control::Nesting;
use super::request::PortalId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It ends with the block.
    Block,
    /// A commit of the block will keep it.
    Uncommitted,
    /// It stays open until it is closed.
    Session,
}

#[derive(Debug)]
struct Open {
    portal: PortalId,
    /// The number of older savepoints.
    depth: usize,
    life: Life,
}

/// The portals that are open, and the savepoints.
#[derive(Debug, Default)]
pub(super) struct Portals {
    open: Vec<Open>,
    savepoints: Vec<Option<String>>,
}

impl Portals {
    /// A portal that ends with the block.
    pub(super) fn open(&mut self, portal: &PortalId) {
        self.add(portal, Life::Block);
    }

    /// A cursor WITH HOLD; `in_block` indicates whether a transaction block is open.
    pub(super) fn open_with_hold(&mut self, portal: &PortalId, in_block: bool) {
        self.add(portal, if in_block { Life::Uncommitted } else { Life::Session });
    }

    fn add(&mut self, portal: &PortalId, life: Life) {
        // A request may be sent again.
        self.close(portal.number);
        self.open.push(Open { portal: portal.clone(), depth: self.savepoints.len(), life });
    }

    pub(super) fn close(&mut self, number: u64) {
        self.open.retain(|open| open.portal.number != number);
    }

    pub(super) fn is_open(&self, number: u64) -> bool {
        self.open.iter().any(|open| open.portal.number == number)
    }

    /// Returns true if only the reply to the end of the block shows which cursors are left.
    pub(super) fn has_uncommitted(&self) -> bool {
        self.open.iter().any(|open| open.life == Life::Uncommitted)
    }

    /// The end of the block was sent: a commit or a rollback.
    pub(super) fn end_block(&mut self) {
        self.open.retain(|open| open.life != Life::Block);
        self.savepoints.clear();
    }

    /// The end of a block was answered, after which nothing was sent because it had uncommitted cursors.
    pub(super) fn block_ended(&mut self, committed: bool) {
        if !committed {
            self.open.retain(|open| open.life != Life::Uncommitted);
        }
        for open in self.open.iter_mut().filter(|open| open.life == Life::Uncommitted) {
            open.life = Life::Session;
        }
    }

    /// The session has forgotten all of them.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.savepoints.clear();
    }

    /// A statement about a savepoint was sent.
    pub(super) fn nest(&mut self, nesting: Nesting) {
        match nesting {
            Nesting::Savepoint(name) => self.savepoints.push(name),
            Nesting::Release(name) => {
                let left = self.position(name.as_deref());
                self.savepoints.truncate(left);
                for open in &mut self.open {
                    open.depth = open.depth.min(left);
                }
            }
            Nesting::RollbackTo(name) => {
                let left = self.position(name.as_deref());
                self.savepoints.truncate(left + 1);
                self.open.retain(|open| open.life == Life::Session || open.depth <= left);
            }
        }
    }

    /// The number of savepoints that are older than the last of this name. One that was not seen may be older than all.
    fn position(&self, name: Option<&str>) -> usize {
        self.savepoints.iter().rposition(|known| name.is_some() && known.as_deref() == name).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Nesting, Portals};
    use crate::machine::PortalId;

    fn portal(number: u64) -> PortalId {
        PortalId { name: format!("p{number}"), number }
    }

    fn left(portals: &Portals) -> Vec<u64> {
        portals.open.iter().map(|open| open.portal.number).collect()
    }

    fn named(name: &str) -> Option<String> {
        Some(name.into())
    }

    #[test]
    fn a_rollback_to_a_savepoint_ends_what_is_younger() {
        let mut portals = Portals::default();
        portals.open(&portal(1));
        portals.nest(Nesting::Savepoint(named("a")));
        portals.open(&portal(2));
        portals.nest(Nesting::Savepoint(named("b")));
        portals.open(&portal(3));
        portals.nest(Nesting::RollbackTo(named("b")));
        assert_eq!(left(&portals), [1, 2]);
        portals.open(&portal(4));
        portals.nest(Nesting::Release(named("b")));
        portals.nest(Nesting::RollbackTo(named("a")));
        assert_eq!(left(&portals), [1]);
    }

    #[test]
    fn the_last_savepoint_of_a_name_is_meant() {
        let mut portals = Portals::default();
        portals.nest(Nesting::Savepoint(named("a")));
        portals.open(&portal(1));
        portals.nest(Nesting::Savepoint(named("a")));
        portals.open(&portal(2));
        portals.nest(Nesting::RollbackTo(named("a")));
        assert_eq!(left(&portals), [1]);
        portals.nest(Nesting::Release(named("a")));
        portals.nest(Nesting::RollbackTo(named("a")));
        assert_eq!(left(&portals), [] as [u64; 0]);
    }

    #[test]
    fn a_savepoint_that_was_not_seen_may_be_older_than_all() {
        let mut portals = Portals::default();
        portals.nest(Nesting::Savepoint(named("a")));
        portals.open(&portal(1));
        portals.nest(Nesting::RollbackTo(None));
        assert_eq!(left(&portals), [] as [u64; 0]);
    }

    #[test]
    fn only_a_commit_keeps_what_is_declared_with_hold() {
        for committed in [true, false] {
            let mut portals = Portals::default();
            portals.open_with_hold(&portal(1), false);
            portals.open_with_hold(&portal(2), true);
            portals.open(&portal(3));
            assert!(portals.has_uncommitted());
            portals.end_block();
            portals.block_ended(committed);
            assert_eq!(left(&portals), if committed { vec![1, 2] } else { vec![1] });
            assert!(!portals.has_uncommitted());
        }
    }
}
