//! The daemon from which this one has taken over, and the one that has taken over from this one, if there is one.

use crate::lock;
use crate::takeover::newer::Predecessor;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Both.
#[derive(Debug, Default)]
pub struct Chain {
    predecessor: OnceLock<Arc<Predecessor>>,
    successor: Mutex<Option<Successor>>,
}

/// The daemon that has taken over from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// Its process, if the system reports it.
    pub pid: Option<i32>,
}

/// As long as this is kept, nothing else is ordered here, and no other daemon takes over.
pub type Step<'a> = MutexGuard<'a, Option<Successor>>;

impl Chain {
    /// The daemon from which this one has taken over, if it still has clients.
    pub fn predecessor(&self) -> Option<&Arc<Predecessor>> {
        self.predecessor.get().filter(|predecessor| !predecessor.is_gone())
    }

    /// This daemon has taken over.
    pub fn set_predecessor(&self, predecessor: Arc<Predecessor>) {
        let _ = self.predecessor.set(predecessor);
    }

    /// Begins what is one step for those who order.
    pub fn step(&self) -> Step<'_> {
        lock(&self.successor)
    }
}
