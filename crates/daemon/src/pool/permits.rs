//! How many server connections of a pool may be lent at one time: a number that may change while they are.

use super::NotLent;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The permits of a pool.
#[derive(Debug)]
pub(super) struct Permits {
    free: Semaphore,
    /// How many there are.
    size: AtomicUsize,
    /// How many more were given out than there are now: these are not given to others when they come back.
    excess: AtomicUsize,
}

/// The right to have a server connection lent.
#[derive(Debug)]
pub(super) struct Permit(Arc<Permits>);

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.0.take_excess() {
            self.0.free.add_permits(1);
        }
    }
}

impl Permits {
    pub(super) fn new(size: usize) -> Self {
        Self { free: Semaphore::new(size), size: AtomicUsize::new(size), excess: AtomicUsize::new(0) }
    }

    /// One, if there is one.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<Permit> {
        self.free.try_acquire().ok().map(|permit| self.own(permit))
    }

    /// One, for which is waited this long.
    ///
    /// # Errors
    /// [`NotLent::QueueTimeout`].
    pub(super) async fn take(self: &Arc<Self>, within: Duration) -> Result<Permit, NotLent> {
        let permit = timeout(within, self.free.acquire()).await.map_err(|_| NotLent::QueueTimeout)?;
        Ok(self.own(permit.expect("the semaphore of a pool is never closed")))
    }

    fn own(self: &Arc<Self>, permit: SemaphorePermit<'_>) -> Permit {
        permit.forget();
        Permit(Arc::clone(self))
    }

    fn take_excess(&self) -> bool {
        // Without writing where there is none, which is most often so.
        self.excess.load(Ordering::Relaxed) > 0
            && self.excess.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |excess| excess.checked_sub(1)).is_ok()
    }

    /// How many there are.
    pub(super) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Another number, which one caller at a time sets.
    pub(super) fn set_size(&self, size: usize) {
        let before = self.size.swap(size, Ordering::Relaxed);
        for _ in before..size {
            if !self.take_excess() {
                self.free.add_permits(1);
            }
        }
        self.excess.fetch_add(before.saturating_sub(size), Ordering::AcqRel);
        // Those that are not lent are not waited for.
        while self.take_excess() {
            if self.free.forget_permits(1) == 0 {
                self.excess.fetch_add(1, Ordering::AcqRel);
                break;
            }
        }
    }

    /// Returns true if all are given out.
    pub(super) fn are_given_out(&self) -> bool {
        self.free.available_permits() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_changes_while_permits_are_given_out() {
        let permits = Arc::new(Permits::new(3));
        let free = || {
            let mut taken = Vec::new();
            taken.extend(std::iter::from_fn(|| permits.try_take()));
            taken.len()
        };
        let mut held: Vec<Permit> = (0..2).filter_map(|_| permits.try_take()).collect();
        for (size, expected) in [(3, 1), (5, 3), (2, 0), (1, 0), (2, 0), (4, 2), (1, 0), (3, 1), (1, 0)] {
            permits.set_size(size);
            assert_eq!((permits.size(), free(), permits.are_given_out()), (size, expected, expected == 0));
        }
        held.pop();
        assert_eq!(free(), 0, "two were given out of one");
        held.pop();
        assert_eq!(free(), 1);
    }
}
