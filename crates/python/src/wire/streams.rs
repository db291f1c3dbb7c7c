//! Streams whose reader takes their rows in blocks while they come: the connection is occupied until the last.

use super::{Wire, blocking};
use crate::call::Block;
use crate::engine::Dialect;
use headrace_core::{Protocol, Session as _};
use pyo3::prelude::*;
use std::time::Duration;

impl Wire {
    /// The next block of a stream: its columns and a list of rows. `None` if the rest comes with its result.
    ///
    /// # Errors
    /// TimeoutError after `timeout` seconds, and for a value that Python cannot represent.
    pub(crate) fn next_block<D: Dialect>(
        &self,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Block>> {
        const PATIENCE: Duration = Duration::from_millis(20);
        let deadline = blocking::deadline(timeout);
        let taken = self.drive(
            py,
            deadline,
            Some(PATIENCE),
            Some(ticket),
            || false,
            |state| {
                let id = self.id_of(state, ticket);
                let machine = state.connection.machine.of::<D>(py)?;
                match id.and_then(|id| machine.handler_mut(id)) {
                    Some(call) => {
                        let block = call.take_block(py)?;
                        if let (None, Some(id)) = (&block, id) {
                            machine.resume(id);
                        }
                        Ok(block.map(Some))
                    }
                    None => Ok(Some(None)),
                }
            },
        )?;
        taken.ok_or_else(|| pyo3::exceptions::PyTimeoutError::new_err("the time is up"))
    }

    /// Takes a block of a stream, if one has come: see `next_block`.
    ///
    /// # Errors
    /// For a value that Python cannot represent.
    pub(crate) fn take_block<D: Dialect>(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let mut state = self.lock(py)?;
        let id = self.id_of(&state, ticket);
        let machine = state.connection.machine.of::<D>(py)?;
        let block = match id.and_then(|id| machine.handler_mut(id)) {
            Some(call) => call.take_block(py)?,
            None => None,
        };
        drop(state);
        if block.is_none() {
            self.resume(py, ticket)?;
        }
        Ok(block)
    }

    /// A future for the next step of a request: a block of its stream has come, it requests a file, it has ended.
    ///
    /// # Errors
    /// If the loop is closed.
    pub(crate) fn step<D: Dialect>(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.lock(py)?;
        let id = self.id_of(&state, ticket);
        let machine = state.connection.machine.of::<D>(py)?;
        match id.and_then(|id| machine.handler_mut(id)) {
            Some(call) if !call.has_block(py) => call.progress = Some(completion),
            _ => completion.complete(py, Ok(py.None())),
        }
        Ok(object)
    }
}
