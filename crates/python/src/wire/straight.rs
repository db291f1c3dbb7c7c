//! Bytes for a transport of asyncio are given to its socket, while it has none that it could not send.
//!
//! That is what the transport's `write` does as well, in forty bytecodes of Python. What the socket does not take at once
//! is left to the transport, which waits until there is room and reports when there is too much; so is an error, which it
//! finds again, and ends the connection with. The socket is the object that the transport itself sends with, not its
//! number: after the transport has closed it, it refuses everything.
//!
//! Other transports (uvloop's, those of Windows' proactor) are always written to: asyncio's selectors alone are known to
//! send what is written while they have nothing else.

use super::Wire;
use pyo3::exceptions::PyOSError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::Ordering;

/// The method of a transport's socket that sends; `None` where the transport is not one of asyncio's selectors, or anything
/// is otherwise than it is known to be.
pub(super) fn send_of(py: Python<'_>, transport: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    let class = py.import("asyncio.selector_events").ok()?.getattr("_SelectorSocketTransport").ok()?;
    if !transport.get_type().is(&class) {
        return None;
    }
    let socket = transport.getattr("_sock").ok()?;
    let is_plain = socket.get_type().is(&py.import("socket").ok()?.getattr("socket").ok()?);
    if is_plain { Some(socket.getattr("send").ok()?.unbind()) } else { None }
}

impl Wire {
    /// Has the transport send bytes, or its socket with `send`. The transport may call pause_writing from in here.
    ///
    /// # Errors
    /// What the transport raises, and what interrupts sending.
    pub(super) fn send_on(
        &self,
        py: Python<'_>,
        transport: &Bound<'_, PyAny>,
        send: Option<&Py<PyAny>>,
        bytes: Bound<'_, PyBytes>,
    ) -> PyResult<()> {
        let mut bytes = bytes;
        if let Some(send) = send
            && self.has_transport_sent(transport)?
        {
            match send.bind(py).call1((&bytes,)) {
                Ok(sent) => {
                    let rest = bytes.as_bytes().get(sent.extract::<usize>()?..).unwrap_or_default();
                    if rest.is_empty() {
                        return Ok(());
                    }
                    bytes = PyBytes::new(py, rest);
                }
                // There is no room, or the connection is lost.
                Err(error) if error.is_instance_of::<PyOSError>(py) => {}
                Err(error) => return Err(error),
            }
        }
        self.unsent.store(true, Ordering::Relaxed);
        transport.call_method1(intern!(py, "write"), (bytes,))?;
        Ok(())
    }

    /// Returns true if the transport has sent everything that was written to it.
    fn has_transport_sent(&self, transport: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !self.unsent.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let unsent = transport.call_method0(intern!(transport.py(), "get_write_buffer_size"))?.is_truthy()?;
        self.unsent.store(unsent, Ordering::Relaxed);
        Ok(!unsent)
    }
}
