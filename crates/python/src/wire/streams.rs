//! Streams whose reader takes their rows in blocks while they come: the connection is occupied until the last.

use super::{Wire, blocking};
use crate::call::Block;
use crate::limits;
use pyo3::prelude::*;

#[pymethods]
impl Wire {
    /// The next block of a stream: its columns and a list of rows. None if the rest comes with its result. Raises
    /// TimeoutError after `timeout` seconds.
    #[pyo3(signature = (ticket, timeout=None))]
    fn next_block(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<Option<Block>> {
        let deadline = blocking::deadline(timeout);
        let taken = self.drive(
            py,
            deadline,
            Some(limits::LEAD_PATIENCE),
            Some(ticket),
            || false,
            |state| {
                let Some(id) = self.id_of(state, ticket) else { return Ok(Some(None)) };
                let machine = &mut state.connection.machine;
                let Some(block) = machine.take_block(py, id)? else { return Ok(Some(None)) };
                if block.is_none() {
                    machine.resume(id);
                }
                Ok(block.map(Some))
            },
        )?;
        taken.ok_or_else(|| pyo3::exceptions::PyTimeoutError::new_err("the time is up"))
    }

    /// Takes a block of a stream, if one has come: see `next_block`.
    fn take_block(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let mut state = self.lock(py)?;
        let block = match self.id_of(&state, ticket) {
            Some(id) => state.connection.machine.take_block(py, id)?.flatten(),
            None => None,
        };
        drop(state);
        if block.is_none() {
            self.resume(py, ticket)?;
        }
        Ok(block)
    }

    /// A future for the next step of a request: a block of its stream has come, it requests a file, it has ended.
    fn step(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.lock(py)?;
        let id = self.id_of(&state, ticket);
        state.connection.machine.complete_at_step(py, id, completion);
        Ok(object)
    }
}
