//! The memory that messages of clients take of what all clients share.

use crate::hub::Hub;
use crate::limits::{SMALL, STATEMENT_BYTES};
use crate::replies::Ended;
use std::sync::Arc;

/// Bytes that count as long as this is kept.
#[derive(Debug)]
pub(super) struct MemoryReservation {
    hub: Arc<Hub>,
    pub(super) bytes: usize,
}

impl MemoryReservation {
    /// Counts bytes, unless they are few.
    ///
    /// # Errors
    /// [`Ended`]: all clients together have more than `memory_mb` allows.
    pub(super) fn new(hub: &Arc<Hub>, bytes: usize) -> Result<Option<Self>, Ended> {
        if bytes <= SMALL {
            return Ok(None);
        }
        Self::always(hub, bytes).map(Some)
    }

    /// Counts the bytes of a prepared statement, of which a client may have any number.
    ///
    /// # Errors
    /// [`Ended`]: all clients together have more than `memory_mb` allows.
    pub(super) fn of_statement(hub: &Arc<Hub>, bytes: usize) -> Result<Self, Ended> {
        Self::always(hub, STATEMENT_BYTES + bytes)
    }

    fn always(hub: &Arc<Hub>, bytes: usize) -> Result<Self, Ended> {
        hub.memory.add(bytes as i64);
        let held = Self { hub: Arc::clone(hub), bytes };
        hub.check_memory()?;
        Ok(held)
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.hub.memory.add(-(self.bytes as i64));
    }
}
