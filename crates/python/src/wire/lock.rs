//! Access to the connection's lock.
//!
//! * [`Wire::lock`] takes it for a short time: to submit, to read a state.
//! * [`Wire::follow`] waits for it in order to wait for a reply. There is one such *leader* at a time; it releases the
//!   lock whenever [`Wire::is_wanted`], and follows until the threads that needed it have had it.
//!
//! A follower sleeps on a condition variable that is notified whenever the lock is free, and whenever the leader has
//! received something. A leader sleeps in a system call, which [`Waker`] ends. It costs one more system call for each
//! wait, so it exists only once two threads have met.

use super::{Wire, WireState, fork};
use crate::errors;
use headrace_core::{Fatal, FatalKind};
use headrace_io::Waker;
use headrace_io::limits::TICK;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The lock guard.
pub(crate) struct StateGuard<'a> {
    guard: Option<MutexGuard<'a, WireState>>,
    wire: &'a Wire,
}

impl Drop for StateGuard<'_> {
    fn drop(&mut self) {
        self.wire.owner.store(0, Ordering::SeqCst);
        drop(self.guard.take());
        self.wire.notify_followers();
    }
}

impl std::ops::Deref for StateGuard<'_> {
    type Target = WireState;
    fn deref(&self) -> &WireState {
        self.guard.as_ref().expect("there until it is dropped")
    }
}

impl std::ops::DerefMut for StateGuard<'_> {
    fn deref_mut(&mut self) -> &mut WireState {
        self.guard.as_mut().expect("there until it is dropped")
    }
}

/// A number of the current thread that is never 0.
pub(crate) fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

impl Wire {
    /// Takes the lock for a short time.
    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<StateGuard<'_>> {
        if let Some(state) = self.try_lock(py)? {
            return Ok(state);
        }
        self.wanted.fetch_add(1, Ordering::SeqCst);
        self.wake_leader();
        let locked = self.state.lock_py_attached(py);
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        let (guard, broken) = match locked {
            Ok(guard) => (guard, false),
            Err(poisoned) => (poisoned.into_inner(), true),
        };
        Ok(self.guarded(py, guard, broken))
    }

    /// Takes the lock if it is free.
    fn try_lock(&self, py: Python<'_>) -> PyResult<Option<StateGuard<'_>>> {
        // Before the lock is used: a thread of the parent may have had it.
        if self.is_inherited() {
            return Err(errors::interface(py, fork::INHERITED));
        }
        match self.state.try_lock() {
            Ok(guard) => Ok(Some(self.guarded(py, guard, false))),
            Err(TryLockError::Poisoned(poisoned)) => Ok(Some(self.guarded(py, poisoned.into_inner(), true))),
            Err(TryLockError::WouldBlock) if self.owner.load(Ordering::SeqCst) == thread_number() => {
                Err(errors::interface(
                    py,
                    "the connection is busy with a batch whose own iterator or dumper is using it; use a second \
                     connection, or collect the rows first",
                ))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }

    /// Wraps a lock that was taken; `broken` indicates that the previous thread panicked, in the middle of anything.
    fn guarded<'a>(&'a self, py: Python<'_>, guard: MutexGuard<'a, WireState>, broken: bool) -> StateGuard<'a> {
        self.owner.store(thread_number(), Ordering::SeqCst);
        let mut state = StateGuard { guard: Some(guard), wire: self };
        if broken {
            self.state.clear_poison();
            let reason = Fatal::new(
                FatalKind::InternalError,
                "the connection was closed after an internal error of headrace; please report it",
            );
            self.die(py, &mut state, &reason);
        }
        state
    }

    /// Returns true if another thread needs the lock for a short time.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst) > 0
    }

    /// Takes the lock in order to wait for a reply, once it is free. `None` when `is_done`, the time is up, or after
    /// `patience`.
    ///
    /// # Errors
    /// The exception of a signal handler.
    pub(super) fn follow(
        &self,
        py: Python<'_>,
        is_done: &(impl Fn() -> bool + Sync),
        deadline: Option<Instant>,
        patience: Option<Duration>,
    ) -> PyResult<Option<StateGuard<'_>>> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        let until = [deadline, until].into_iter().flatten().min();
        loop {
            if !self.is_wanted()
                && let Some(state) = self.try_lock(py)?
            {
                return Ok(Some(state));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if is_done() || left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            py.detach(|| self.park(is_done, left.unwrap_or(TICK).min(TICK)));
            py.check_signals()?;
        }
    }

    /// Sleeps until there may be something new.
    fn park(&self, is_done: &impl Fn() -> bool, wait: Duration) {
        self.followers.fetch_add(1, Ordering::SeqCst);
        let parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_done() && (self.owner.load(Ordering::SeqCst) != 0 || self.is_wanted()) {
            drop(self.news.wait_timeout(parked, wait));
        }
        self.followers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Notifies the followers that there may be something new.
    pub(super) fn notify_followers(&self) {
        if self.followers.load(Ordering::SeqCst) > 0 {
            drop(self.parked.lock());
            self.news.notify_all();
        }
    }

    /// The waker that the leader waits on, if there is one.
    pub(super) fn waker(&self) -> Option<&Arc<Waker>> {
        self.waker.get().and_then(Option::as_ref)
    }

    /// Ends the leader's wait. Without file descriptors for it the leader checks at its next tick.
    fn wake_leader(&self) {
        if self.event_loop.is_none()
            && let Some(waker) = self.waker.get_or_init(|| Waker::new().ok().map(Arc::new))
        {
            waker.wake();
        }
    }

    /// Ends the request that another thread waits for with the lock taken, if there is one.
    pub(super) fn interrupt(&self) {
        if matches!(self.state.try_lock(), Err(TryLockError::WouldBlock))
            && self.owner.load(Ordering::Relaxed) != thread_number()
            && let Some(hangup) = self.hangup()
        {
            self.closing.store(true, Ordering::Relaxed);
            hangup.now();
        }
    }
}
