//! The memory that messages of clients take of what all clients share.

use crate::hub::Hub;
use crate::limits::SMALL;
use crate::replies::Ended;
use std::sync::Arc;

/// Bytes that count as long as this is kept.
#[derive(Debug)]
pub(super) struct Held {
    hub: Arc<Hub>,
    pub(super) bytes: usize,
}

impl Held {
    /// Counts bytes, unless they are few.
    ///
    /// # Errors
    /// [`Ended`]: all clients together have more than `memory_mb` allows.
    pub(super) fn new(hub: &Arc<Hub>, bytes: usize) -> Result<Option<Self>, Ended> {
        if bytes <= SMALL {
            return Ok(None);
        }
        hub.memory.add(bytes as i64);
        let held = Self { hub: Arc::clone(hub), bytes };
        hub.check_memory()?;
        Ok(Some(held))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.hub.memory.add(-(self.bytes as i64));
    }
}
