//! What a program asks of a connection, and sets on it, without a request to the server.

use super::{REFUSED_BY, StatusAtEnd, TIMED, Wire, states};
use crate::errors;
use crate::params::PyValue;
use crate::query::Query;
use crate::settings::Settings;
use headrace_core::{Cancellation, TransactionStatus};
use headrace_tls::TlsConnection;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[pymethods]
impl Wire {
    /// What makes objects of JSON text and text of objects, for requests from now on; None for Python's own.
    fn set_json(&self, py: Python<'_>, loads: Option<Py<PyAny>>, dumps: Option<Py<PyAny>>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        state.settings = Arc::new(Settings { json_loads: loads, json_dumps: dumps, ..state.settings.copied(py) });
        Ok(())
    }

    /// Registers dumpers in the place of those before: each maps a class to a callable that takes the value and returns
    /// bytes (binary) or str (text).
    fn set_dumpers(&self, py: Python<'_>, dumpers: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut state = self.lock(py)?;
        let dumpers = (!dumpers.is_empty()).then(|| dumpers.clone().unbind());
        state.settings = Arc::new(Settings { dumpers, ..state.settings.copied(py) });
        Ok(())
    }

    /// Returns true if the connection is closed, for whatever reason.
    #[getter(closed)]
    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        if self.state.is_poisoned() && !self.closed() {
            // The engine has panicked. The next thread that takes its lock closes the connection; a thread that has it
            // already does so now.
            drop(self.lock(py));
        }
        self.closed()
    }

    /// Returns true if this connection has refused a request with an exception, as it had ended before.
    fn has_refused(&self, error: &Bound<'_, PyAny>) -> bool {
        let by = error.getattr(intern!(error.py(), REFUSED_BY));
        by.and_then(|by| by.extract::<u64>()).is_ok_and(|number| number == self.number)
    }

    /// The process id of the server's end.
    #[getter]
    fn process_id(&self) -> i32 {
        self.process_id.load(Ordering::Relaxed)
    }

    /// The message that cancels the running statement, sent on a connection of its own.
    fn cancel_message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self.cancel() {
            Cancellation::Message(message) => Ok(PyBytes::new(py, &message)),
            _ => Err(errors::unsupported(py, "this session is not cancelled by a message")),
        }
    }

    /// The statement that cancels the running statement, executed in another session.
    fn cancel_statement(&self, py: Python<'_>) -> PyResult<String> {
        match self.cancel() {
            Cancellation::Statement(statement) => Ok(statement.sql),
            _ => Err(errors::unsupported(py, "this session is not cancelled by a statement")),
        }
    }

    /// What the session that is to cancel, to which the server has given the number `beside`, is asked before that; None if
    /// nothing. The statement would reach another server if the answer has a row.
    fn cancel_question(&self, beside: i32) -> Option<String> {
        match self.cancel() {
            Cancellation::Statement(statement) => statement.question(beside),
            _ => None,
        }
    }

    /// `headrace.types.TransactionStatus`: the transaction status of the connection.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.closed() {
            return states::named_status(py, "UNKNOWN");
        }
        let machine = &self.lock(py)?.connection.machine;
        if machine.is_idle() { states::status(py, machine.transaction()) } else { states::named_status(py, "ACTIVE") }
    }

    /// The status of the transaction as of the last completed request, whatever is in flight. A transaction that is a
    /// portal's own does not count. Of a session that has ended ``ACTIVE``, if requests were pending that would have
    /// been in a transaction.
    fn last_status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.lock(py)?;
        if state.connection.ended().is_none() {
            return states::status(py, state.connection.machine.shared_transaction());
        }
        match state.at_end.get() {
            StatusAtEnd::Known(status) => states::status(py, status),
            StatusAtEnd::Pending => states::named_status(py, "ACTIVE"),
        }
    }

    /// Returns true if a transaction, even a failed one, is open as of the last completed request; as
    /// [`Self::last_status`].
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.shared_transaction() != TransactionStatus::Idle)
    }

    /// Returns true if it is certain that COMMIT and ROLLBACK have nothing to end.
    fn has_nothing_to_end(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.has_nothing_to_end())
    }

    /// Whether a transaction is open once every queued request has ended; None if only the replies decide it.
    fn transaction_ahead(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        Ok(self.lock(py)?.connection.machine.transaction_ahead())
    }

    /// Returns true if a text has several statements.
    fn is_several(&self, py: Python<'_>, sql: &str) -> PyResult<bool> {
        Ok(self.lock(py)?.connection.machine.is_several(sql))
    }

    /// A statement in the server's style of parameters.
    fn convert(&self, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        self.lock(py)?.connection.machine.convert(py, sql, with_params)
    }

    /// A name as an identifier of a statement.
    fn quote(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        if name.is_empty() || name.contains('\0') {
            return Err(errors::programming(py, "an identifier is not empty, and has no NUL character"));
        }
        let quoted = self.lock(py)?.connection.machine.quote(name);
        quoted.map_err(|mismatch| errors::client_error(py, mismatch.into(), None))
    }

    /// A value as an SQL literal, by the types and dumpers of the connection.
    fn literal(&self, py: Python<'_>, value: Bound<'_, PyAny>) -> PyResult<String> {
        let state = self.lock(py)?;
        let settings = state.settings.clone();
        let mut out = Vec::new();
        let written = state.connection.machine.write_literal(&PyValue::new(value, &settings), &mut out);
        drop(state);
        written.map_err(|error| errors::client_error(py, error, None))?;
        // A dumper may have returned anything.
        String::from_utf8(out).map_err(|_| errors::programming(py, "the literal of the value is not UTF-8"))
    }

    /// The number of requests that are queued or in flight.
    fn queued(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.connection.machine.queued())
    }

    /// A list that is not empty while there are notices, always the same one.
    #[getter]
    fn noticed(&self, py: Python<'_>) -> Py<PyList> {
        self.noticed.clone_ref(py)
    }

    /// The encryption of the connection, or None.
    fn tls_info(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.lock(py)?.tls_client().map(TlsConnection::describe))
    }

    /// Returns true if the TLS session is an earlier one that was taken up again.
    fn tls_resumed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.tls_client().is_some_and(TlsConnection::is_resumed))
    }

    /// The number of cached prepared statements.
    fn prepared_statements(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.connection.machine.statements())
    }

    /// Forgets every prepared statement; the server receives the messages that close them with the next request.
    fn forget_statements(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.connection.machine.forget_statements();
        Ok(())
    }

    /// Starts no further request while a cancel request is under way. Counted: each true is undone by a false, once the
    /// server has received the cancel request.
    fn pause_requests(&self, py: Python<'_>, pause: bool) -> PyResult<()> {
        if pause {
            // Without the lock: the thread that has it may be in the middle of a batch.
            self.pauses_due.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        if self.closed() {
            return Ok(());
        }
        let mut locked = self.lock(py);
        if let Ok(state) = &mut locked {
            state.connection.machine.cancel_sent();
        }
        // Also without the lock, which the rows of this thread's own batch may have: it is ended all the same.
        self.pauses_due.fetch_sub(1, Ordering::SeqCst);
        let mut state = locked?;
        self.take_up_pauses(&mut state);
        drop(state);
        self.flush(py)
    }

    /// Adds to the counters of a kind of operation.
    fn count(&self, kind: &str, nanos: u64) {
        if let Some(kind) = TIMED.iter().position(|timed| *timed == kind) {
            self.timings[kind].add(nanos);
        }
    }

    /// The counters: for each kind of operation its name, its number, and the nanoseconds that it took.
    fn counters(&self) -> Vec<(&'static str, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TIMED.into_iter().zip(&self.timings).map(|(name, c)| (name, read(&c.count), read(&c.nanos))).collect()
    }

    /// Sets the counters to zero.
    fn reset_counters(&self) {
        for counter in &self.timings {
            counter.count.store(0, Ordering::Relaxed);
            counter.nanos.store(0, Ordering::Relaxed);
        }
    }
}
