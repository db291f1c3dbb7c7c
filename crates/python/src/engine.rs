//! The machine of one protocol or another, so that one [`crate::wire::Wire`] serves every database.
//!
//! A call goes through one table of functions here per request or per read; rows and values are decoded by code that is
//! compiled for its protocol.

use crate::args::Args;
use crate::call::{Block, Completion, PyCall, ResultShape};
use crate::columns::Plan;
use crate::errors::{self, ClientError};
use crate::params::PyValue;
use crate::query::Query;
use crate::settings::Settings;
use headrace_connection::Driven;
use headrace_core::protocol::Fatal;
use headrace_core::{
    Column, Diagnostics, Mismatch, NextStep, Protocol, ReadBuffer, Room, Session, ValueKind, Verb, WriteBuffer,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::any::Any;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

/// The Python part of a protocol.
pub trait Dialect: Sized + 'static {
    /// The plan for the columns of a result.
    type Columns: Plan;
    /// The server's error.
    type ServerError: Diagnostics;
    /// The machine.
    type Machine: Protocol<Handler = PyCall<Self>>;
    /// The destination of the data of a COPY; `Infallible` if the database has none.
    type Copy: CopySink;

    /// The exception for a server's error.
    fn error(py: Python<'_>, error: &Self::ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr;
    /// A column in `Columns.fields`: its name, and the properties that only this database has.
    ///
    /// # Errors
    /// The exception for a server's error.
    fn field<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyTuple>>;
    /// Whether an error of a later statement of the same text leaves the effects of the earlier ones.
    const RESULTS_STAND: bool;
    /// The kind of Arrow's structs that are not ranges: what this database takes for a value with named parts.
    const STRUCTS: ValueKind;
    /// A statement in the server's style of parameters.
    ///
    /// # Errors
    /// ProgrammingError for a NUL byte, a stray percent sign, or mixed styles.
    fn convert(machine: &Self::Machine, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query>;
    /// The settings of the session by which [`Dialect::convert`] reads strings, as a number: a text that it reads otherwise
    /// under others is kept with it ([`Query::read_under`]).
    fn reading(_: &Self::Machine) -> u8 {
        0
    }
    /// Returns true if a text has several statements.
    fn is_several(machine: &Self::Machine, sql: &str) -> bool;
    /// A name as an identifier of a statement, whatever characters it has.
    ///
    /// # Errors
    /// For a name that the session has no identifier for.
    fn quote(machine: &Self::Machine, name: &str) -> Result<String, Mismatch>;
    /// Appends a value as an SQL literal.
    ///
    /// # Errors
    /// For a value that the database has no literal for.
    fn write_literal(machine: &Self::Machine, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError>;
}

/// The destination of the data of a bulk transfer out of the server.
pub trait CopySink: Debug + Send + Sync {
    /// The columns are known.
    fn describe(&self, columns: Py<PyAny>);
    /// The transfer has begun: whether all of it is binary, and the number of columns.
    fn begin(&self, binary: bool, columns: usize);
    /// A block has come.
    fn push(&self, block: &[u8]) -> Room;
}

impl CopySink for Infallible {
    fn describe(&self, _: Py<PyAny>) {
        match *self {}
    }
    fn begin(&self, _: bool, _: usize) {
        match *self {}
    }
    fn push(&self, _: &[u8]) -> Room {
        match *self {}
    }
}

/// A machine of any protocol, with Python's response handlers.
pub trait Engine: Session + Any + Debug + Send {
    /// [`Protocol::receive`]
    fn receive(
        &mut self,
        py: Python<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal>;
    /// [`Protocol::transmit`]
    fn transmit(&mut self, py: Python<'_>, write_buffer: &mut WriteBuffer);
    /// [`Protocol::abort`]
    fn abort(&mut self, py: Python<'_>, reason: &Fatal);
    /// [`Protocol::may_be_released`]
    fn may_be_released(&self) -> bool;
    /// [`Protocol::has_nothing_to_end`]
    fn has_nothing_to_end(&self) -> bool;
    /// [`Protocol::survive_loss`]
    fn survive_loss(&mut self, py: Python<'_>, reason: &Fatal) -> bool;
    /// [`Dialect::convert`]
    fn convert(&self, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query>;
    /// [`Dialect::reading`]
    fn reading(&self) -> u8;
    /// [`Dialect::is_several`]
    fn is_several(&self, sql: &str) -> bool;
    /// [`Dialect::quote`]
    fn quote(&self, name: &str) -> Result<String, Mismatch>;
    /// [`Dialect::write_literal`]
    fn write_literal(&self, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError>;
    /// Queues the requests of a verb, and returns the tickets or futures of their results.
    ///
    /// # Errors
    /// ProgrammingError if this database does not support it; then nothing is queued.
    fn ask(
        &mut self,
        py: Python<'_>,
        verb: &Verb,
        settings: &Arc<Settings>,
        completion: &mut dyn FnMut() -> PyResult<Completion>,
    ) -> PyResult<Vec<Py<PyAny>>>;
    /// The number of the request of a ticket or future.
    fn find(&self, ticket: &Bound<'_, PyAny>) -> Option<u64>;
    /// Discards the request of this number. Who waits for it gets an error.
    fn withdraw(&mut self, py: Python<'_>, id: u64);
    /// Request `id` is late after `until`.
    fn limit(&mut self, id: u64, until: Instant);
    /// The futures of the requests that are late, and when the next one will be.
    fn late(&self, py: Python<'_>, now: Instant) -> (Vec<Py<PyAny>>, Option<Instant>);
    /// Passes every pending completion, and the future of the next step of a COPY, to `visit`, until a call returns
    /// true.
    fn visit_handlers(&self, visit: &mut dyn FnMut(&Completion, Option<&Completion>) -> bool);
    /// Takes a block of the stream that request `id` is ([`PyCall::take_block`]); `None` if there is no such request.
    ///
    /// # Errors
    /// For a value that Python cannot represent.
    fn take_block(&mut self, py: Python<'_>, id: u64) -> PyResult<Option<Option<Block>>>;
    /// Completes `completion` with the next step of request `id`; at once if that has been made.
    fn complete_at_step(&mut self, py: Python<'_>, id: Option<u64>, completion: Completion);
    /// The error with which the server ended the session, as an exception.
    fn last_error(&self, py: Python<'_>) -> Option<PyErr>;
}

impl<M, D> Engine for M
where
    M: Protocol<Handler = PyCall<D>> + Any + Debug + Send,
    D: Dialect<Machine = M>,
{
    fn receive(
        &mut self,
        py: Python<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        Protocol::receive(self, py, read_buffer, write_buffer)
    }

    fn transmit(&mut self, py: Python<'_>, write_buffer: &mut WriteBuffer) {
        Protocol::transmit(self, py, write_buffer);
    }

    fn abort(&mut self, py: Python<'_>, reason: &Fatal) {
        Protocol::abort(self, py, reason);
    }

    fn may_be_released(&self) -> bool {
        Protocol::may_be_released(self)
    }

    fn has_nothing_to_end(&self) -> bool {
        Protocol::has_nothing_to_end(self)
    }

    fn survive_loss(&mut self, py: Python<'_>, reason: &Fatal) -> bool {
        Protocol::survive_loss(self, py, reason)
    }

    fn convert(&self, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        D::convert(self, py, sql, with_params)
    }

    fn reading(&self) -> u8 {
        D::reading(self)
    }

    fn is_several(&self, sql: &str) -> bool {
        D::is_several(self, sql)
    }

    fn quote(&self, name: &str) -> Result<String, Mismatch> {
        D::quote(self, name)
    }

    fn write_literal(&self, value: &PyValue<'_>, out: &mut Vec<u8>) -> Result<(), ClientError> {
        D::write_literal(self, value, out)
    }

    fn ask(
        &mut self,
        py: Python<'_>,
        verb: &Verb,
        settings: &Arc<Settings>,
        completion: &mut dyn FnMut() -> PyResult<Completion>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let requests = M::of_verb(verb).map_err(|mismatch| errors::client_error(py, mismatch.into(), None))?;
        // Nothing is queued if a ticket cannot be made.
        let asked = requests.into_iter().map(|request| Ok((request, completion()?))).collect::<PyResult<Vec<_>>>()?;
        let submit = |(request, completion): (M::Request, Completion)| {
            let object = completion.object(py);
            let text = M::text(&request).cloned();
            let shape = if text.is_some() { ResultShape::All } else { ResultShape::One };
            let args = Args::Row(PyTuple::empty(py).unbind());
            let script = text.is_some();
            let mut call = PyCall::new(completion, args, shape, settings.clone(), text);
            call.script = script;
            self.submit(request, call);
            object
        };
        Ok(asked.into_iter().map(submit).collect())
    }

    fn find(&self, ticket: &Bound<'_, PyAny>) -> Option<u64> {
        Protocol::find(self, |call| call.completion.is(ticket))
    }

    fn withdraw(&mut self, py: Python<'_>, id: u64) {
        let Some(call) = self.handler_mut(id) else { return };
        let error =
            errors::interface(py, "the statement was not executed: the call that has queued it was interrupted");
        call.completion.complete(py, Err(error));
        self.discard(id);
    }

    fn limit(&mut self, id: u64, until: Instant) {
        if let Some(call) = self.handler_mut(id) {
            call.until = Some(until);
        }
    }

    fn late(&self, py: Python<'_>, now: Instant) -> (Vec<Py<PyAny>>, Option<Instant>) {
        let (mut late, mut next) = (Vec::new(), None::<Instant>);
        Protocol::find(self, |call| {
            match call.until {
                Some(until) if until <= now => late.push(call.completion.object(py)),
                Some(until) => next = Some(next.map_or(until, |next| next.min(until))),
                None => {}
            }
            false
        });
        (late, next)
    }

    fn visit_handlers(&self, visit: &mut dyn FnMut(&Completion, Option<&Completion>) -> bool) {
        Protocol::find(self, |call| visit(&call.completion, call.progress.as_ref()));
    }

    fn take_block(&mut self, py: Python<'_>, id: u64) -> PyResult<Option<Option<Block>>> {
        self.handler_mut(id).map(|call| call.take_block(py)).transpose()
    }

    fn complete_at_step(&mut self, py: Python<'_>, id: Option<u64>, completion: Completion) {
        match id.and_then(|id| self.handler_mut(id)) {
            Some(call) if !call.has_block(py) => call.progress = Some(completion),
            _ => completion.complete(py, Ok(py.None())),
        }
    }

    fn last_error(&self, py: Python<'_>) -> Option<PyErr> {
        self.closing_error().map(|words| D::error(py, words, None, None))
    }
}

impl Driven for dyn Engine {
    type Context<'a> = Python<'a>;

    fn transmit(&mut self, py: Python<'_>, write_buffer: &mut WriteBuffer) {
        Engine::transmit(self, py, write_buffer);
    }
    fn receive(
        &mut self,
        py: Python<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        Engine::receive(self, py, read_buffer, write_buffer)
    }
    fn abort(&mut self, py: Python<'_>, reason: &Fatal) {
        Engine::abort(self, py, reason);
    }
    fn survive_loss(&mut self, py: Python<'_>, reason: &Fatal) -> bool {
        Engine::survive_loss(self, py, reason)
    }
}

impl dyn Engine {
    /// The machine of a protocol.
    ///
    /// # Errors
    /// NotSupportedError: the method that was called is another database's.
    pub fn of<D: Dialect>(&mut self, py: Python<'_>) -> PyResult<&mut D::Machine> {
        let machine: &mut dyn Any = self;
        machine
            .downcast_mut()
            .ok_or_else(|| errors::unsupported(py, "the method is one of another database's connections"))
    }

    /// Returns true if the purpose of the connection is reached: a session, or a cancel request; or if a question at
    /// login has to be answered first.
    pub fn is_opened(&self) -> bool {
        matches!(self.next_step(), NextStep::Ready | NextStep::CancelWritten | NextStep::Question { .. })
    }

    /// Returns true if anybody waits for a request.
    pub fn is_awaited(&self) -> bool {
        let mut awaited = false;
        self.visit_handlers(&mut |_, _| {
            awaited = true;
            true
        });
        awaited
    }
}
