//! The references that Python's garbage collector visits: the transport, which refers to the connection in turn, and
//! the futures of those who wait for a reply, whose tasks do. Without them a connection whose loop has ended would
//! never be freed.

use super::{Io, Wire};
use crate::call::Completion;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::TryLockError;

fn visit_completion(visit: &PyVisit<'_>, completion: Option<&Completion>) -> Result<(), PyTraverseError> {
    match completion {
        Some(Completion::Future(future)) => visit.call(future),
        _ => Ok(()),
    }
}

#[pymethods]
impl Wire {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(own) = &self.event_loop {
            visit.call(&own.event_loop)?;
            if let Some(arm) = own.arm.get() {
                visit.call(arm)?;
            }
        }
        // The thread that has the lock uses the connection, and keeps it until the collection has ended: the lock is
        // not released without the interpreter.
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        if let Io::Transport { transport, send } = &state.io {
            visit.call(transport)?;
            visit.call(send)?;
        }
        for completion in state.ready.iter().chain(&state.notified).chain(&state.drained) {
            visit_completion(&visit, Some(completion))?;
        }
        for gate in &state.gates {
            visit.call(gate)?;
        }
        let mut visited = Ok(());
        state.connection.machine.visit_handlers(&mut |completion, progress| {
            visited = visit_completion(&visit, Some(completion)).and_then(|()| visit_completion(&visit, progress));
            visited.is_err()
        });
        visited
    }

    fn __clear__(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        let io = std::mem::replace(&mut state.io, Io::None);
        // Not with the lock held: freeing these objects may use the connection.
        drop(state);
        drop(io);
    }
}
