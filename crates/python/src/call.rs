//! A Python request in a protocol's queue, and the ticket that its result is waited for with.

use crate::any_params::AnyParams;
use crate::args::Args;
use crate::arrow::ArrowSink;
use crate::columns::Columns;
use crate::engine::{CopySink, Dialect};
use crate::errors::{self, ClientError};
use crate::ffi;
use crate::query::Query;
use crate::result::RequestResult;
use crate::resume;
use crate::settings::Settings;
use crate::sink::{ResultRows, RowSink};
use headrace_core::protocol::{BulkDirection, RowWriter, Summary, Taken};
use headrace_core::{Described, Fatal, Outcome, ResponseHandler, Room, Run};
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The result of a request on a blocking connection.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug, Default)]
pub struct Ticket {
    outcome: Mutex<Option<PyResult<Py<PyAny>>>>,
}

impl Ticket {
    fn complete(&self, outcome: PyResult<Py<PyAny>>) {
        if let Ok(mut slot) = self.outcome.lock() {
            slot.get_or_insert(outcome);
        }
    }

    /// Returns true if the result is there.
    pub fn is_done(&self) -> bool {
        self.outcome.lock().is_ok_and(|slot| slot.is_some())
    }

    /// Takes the result; the ticket is then spent.
    pub fn take(&self) -> Option<PyResult<Py<PyAny>>> {
        self.outcome.lock().ok().and_then(|mut slot| slot.take())
    }
}

#[pymethods]
impl Ticket {
    /// Returns true if the result, or the error, is there.
    fn done(&self) -> bool {
        self.is_done()
    }

    /// Takes the result, which empties the ticket. None, and nothing is taken, if there is no result yet or it is an
    /// error.
    fn take_result(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let mut slot = self.outcome.lock().ok()?;
        let result = slot.as_ref()?.as_ref().ok()?.clone_ref(py);
        *slot = None;
        Some(result)
    }
}

/// The receiver of a result: a ticket of a blocking connection, or a future of a loop.
#[derive(Debug)]
pub enum Completion {
    /// A blocking connection's ticket.
    Ticket(Py<Ticket>),
    /// An asyncio future.
    Future(Py<PyAny>),
}

impl Completion {
    /// Completes it, unless a future was cancelled meanwhile.
    pub fn complete(&self, py: Python<'_>, outcome: PyResult<Py<PyAny>>) {
        match self {
            Completion::Ticket(ticket) => ticket.get().complete(outcome),
            Completion::Future(future) => {
                let future = future.bind(py);
                let told = || -> PyResult<()> {
                    if !resume::take_wake_up(future)? && future.call_method0(pyo3::intern!(py, "done"))?.is_truthy()? {
                        return Ok(());
                    }
                    match outcome {
                        Ok(value) => future.call_method1(pyo3::intern!(py, "set_result"), (value,))?,
                        Err(error) => {
                            let error = as_of_coroutine(py, error).into_value(py);
                            future.call_method1(pyo3::intern!(py, "set_exception"), (error,))?;
                            // Retrieved: a pipeline that is lost raises one error for all of its statements, and asyncio
                            // would log those of the others.
                            future.call_method0(pyo3::intern!(py, "exception"))?
                        }
                    };
                    Ok(())
                }();
                if let Err(error) = told {
                    // The loop is closed: nothing can be waiting for the future.
                    error.write_unraisable(py, Some(future));
                }
            }
        }
    }

    /// Its Python object.
    pub fn object(&self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Completion::Ticket(ticket) => ticket.clone_ref(py).into_any(),
            Completion::Future(future) => future.clone_ref(py),
        }
    }

    /// The lane, whose requests may be in flight together: those of one thread, or all of a loop.
    fn lane(&self) -> u64 {
        match self {
            Completion::Ticket(_) => crate::wire::thread_number(),
            Completion::Future(_) => 0,
        }
    }

    /// Returns true if `object` is this completion.
    pub fn is(&self, object: &Bound<'_, PyAny>) -> bool {
        match self {
            Completion::Ticket(ticket) => object.is(ticket),
            Completion::Future(future) => object.is(future),
        }
    }
}

/// An error as a coroutine would raise it: PEP 479. A future does not take StopIteration, and its task would wait for
/// ever.
fn as_of_coroutine(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let raised = PyRuntimeError::new_err("a function that the statement has called raised StopIteration");
    raised.set_cause(py, Some(error));
    raised
}

/// What to do with the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultShape {
    /// One result, the last; a batch counts its rows together.
    One,
    /// A list of all.
    All,
    /// The only one as itself, several as a list.
    Several,
    /// One result with the rows of all.
    Flat,
}

/// A block of a stream: its columns and a list of rows.
pub type Block = (Option<Py<PyAny>>, Py<PyAny>);

/// A Python request to a server of the dialect `D`. A pending request is moved a dozen times: its data are in a place of
/// their own.
#[derive(Debug)]
pub struct PyCall<D: Dialect>(Box<CallData<D>>);

impl<D: Dialect> Deref for PyCall<D> {
    type Target = CallData<D>;

    #[inline]
    fn deref(&self) -> &CallData<D> {
        &self.0
    }
}

impl<D: Dialect> DerefMut for PyCall<D> {
    #[inline]
    fn deref_mut(&mut self) -> &mut CallData<D> {
        &mut self.0
    }
}

/// The data of a [`PyCall`].
#[derive(Debug)]
pub struct CallData<D: Dialect> {
    /// The receiver of the result.
    pub completion: Completion,
    /// The parameters.
    pub args: Args,
    /// What to do with the results.
    pub shape: ResultShape,
    /// How values are converted to Python objects.
    pub settings: Arc<Settings>,
    /// The statement, for errors.
    pub statement: Option<Arc<str>>,
    /// The same, which keeps what Python has of its columns.
    pub query: Option<Py<Query>>,
    /// Several statements: each result has columns of its own.
    pub script: bool,
    /// The future of the next step of a COPY.
    pub progress: Option<Completion>,
    /// The destination of the data of a COPY.
    pub copy: Option<D::Copy>,
    /// Rows of a stream's block: once there are as many, or a record batch, its reader is woken.
    pub block: Option<usize>,
    /// Only the first row of a result is wanted: no object is made of those after it.
    pub first: bool,
    /// Only the rows of the first result are wanted, as a list; the result itself where it has none.
    pub bare: bool,
    /// Rows become Arrow record batches here.
    pub arrow: Option<Py<ArrowSink>>,
    /// When the time of the statement is up, if a task awaits it within a limit.
    pub until: Option<Instant>,
    lane: u64,
    columns: Option<Py<PyAny>>,
    store: ResultRows,
    results: Vec<Py<PyAny>>,
    /// The first result, if its rows are wanted only.
    only: Option<RequestResult>,
    affected: Option<u64>,
    last_tag: Vec<u8>,
    /// A result has come.
    told: bool,
    /// The statement is a COPY, which only `copy_in`, `copy_out` and `copy` execute.
    misplaced: Option<BulkDirection>,
    generated: Option<i128>,
    warnings: u32,
    dialect: PhantomData<fn() -> D>,
}

/// The error of a COPY that was executed as a statement.
fn misplaced_copy(py: Python<'_>, direction: BulkDirection) -> PyErr {
    errors::programming(
        py,
        match direction {
            BulkDirection::Out => {
                "the statement sent the data of a COPY, which nobody received: use copy_out(), or copy() of a cursor"
            }
            BulkDirection::In => {
                "COPY FROM STDIN waits for data, which were not given: use copy_in(), or copy() of a cursor"
            }
        },
    )
}

impl<D: Dialect> PyCall<D> {
    /// A call with arguments.
    pub fn new(
        completion: Completion,
        args: Args,
        shape: ResultShape,
        settings: Arc<Settings>,
        statement: Option<Arc<str>>,
    ) -> Self {
        Self(Box::new(CallData {
            lane: completion.lane(),
            completion,
            args,
            shape,
            settings,
            statement,
            query: None,
            script: false,
            progress: None,
            copy: None,
            block: None,
            first: false,
            bare: false,
            arrow: None,
            until: None,
            columns: None,
            store: ResultRows::default(),
            results: Vec::new(),
            only: None,
            affected: None,
            last_tag: Vec::new(),
            told: false,
            misplaced: None,
            generated: None,
            warnings: 0,
            dialect: PhantomData,
        }))
    }

    /// Returns true for a statement whose result is received whole: not for a stream, a COPY, or a request without text.
    pub fn is_plain(&self) -> bool {
        self.block.is_none() && self.copy.is_none() && self.statement.as_ref().is_some_and(|text| !text.is_empty())
    }

    /// Completes the future of the next step of a COPY.
    pub fn step(&mut self, py: Python<'_>) {
        if let Some(progress) = self.progress.take() {
            progress.complete(py, Ok(py.None()));
        }
    }

    /// Returns true if a block of a stream can be taken.
    pub fn has_block(&self, py: Python<'_>) -> bool {
        let Some(size) = self.block.filter(|_| self.results.is_empty()) else { return false };
        match &self.arrow {
            Some(arrow) => arrow.get().is_ready(py),
            None => self.store.rows.len() >= size,
        }
    }

    /// Takes a block of a stream: the columns, and a list of rows, or where they become record batches the place of
    /// those; `None` while there are too few.
    ///
    /// # Errors
    /// For a value that Python cannot represent.
    pub fn take_block(&mut self, py: Python<'_>) -> PyResult<Option<Block>> {
        let Some(size) = self.block.filter(|_| self.has_block(py)) else { return Ok(None) };
        if let Some(error) = self.store.error.take() {
            return Err(error);
        }
        if let Some(arrow) = &self.arrow {
            let columns = self.columns.as_ref().map(|columns| columns.clone_ref(py));
            return Ok(Some((columns, arrow.clone_ref(py).into_any())));
        }
        let rest = self.store.rows.split_off(size);
        let rows = std::mem::replace(&mut self.store.rows, rest);
        let columns = self.columns.as_ref().map(|columns| columns.clone_ref(py));
        Ok(Some((columns, ffi::list(py, rows)?.unbind())))
    }

    fn pack(&mut self, py: Python<'_>, summary: Summary<'_>) -> PyResult<RequestResult> {
        let Summary { tag, rows: rowcount, suspended, out_params, .. } = summary;
        let columns = self.columns.as_ref().map(|columns| columns.clone_ref(py));
        let rows = match (&columns, &self.arrow) {
            (Some(_), Some(arrow)) => {
                if !suspended {
                    arrow.get().end(py);
                }
                Some(arrow.clone_ref(py).into_any())
            }
            (Some(_), None) => Some(ffi::list(py, std::mem::take(&mut self.store.rows))?.unbind()),
            (None, _) => None,
        };
        let counted = match (&rows, rowcount) {
            (_, Some(n)) => i64::try_from(n).unwrap_or(i64::MAX),
            (Some(rows), None) => rows.bind(py).len()? as i64,
            (None, None) => -1,
        };
        let (generated, warnings) = (self.generated.take(), std::mem::take(&mut self.warnings));
        let or_none = |object: Option<Py<PyAny>>| object.unwrap_or_else(|| py.None());
        let (columns, rows, tag) = (or_none(columns), or_none(rows), tag.into());
        Ok(RequestResult { columns, rows, tag, rowcount: counted, suspended, generated, warnings, out_params })
    }

    /// The error of one of several statements, with the results of those before it.
    fn with_results(&mut self, py: Python<'_>, error: PyErr) -> PyErr {
        if self.results.is_empty() {
            return error;
        }
        let kept = ffi::list(py, std::mem::take(&mut self.results))
            .and_then(|results| error.value(py).setattr(pyo3::intern!(py, "_results"), results));
        kept.err().unwrap_or(error)
    }

    fn outcome(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(error) = self.store.error.take() {
            return Err(error);
        }
        if let Some(only) = self.only.take() {
            return match only.rows.is_none(py) {
                false => Ok(only.rows),
                true => Ok(ffi::unseen(py, only)?.into_any()),
            };
        }
        match self.shape {
            ResultShape::Several if self.results.len() > 1 => {
                Ok(ffi::list(py, std::mem::take(&mut self.results))?.unbind())
            }
            ResultShape::All => Ok(ffi::list(py, std::mem::take(&mut self.results))?.unbind()),
            ResultShape::One | ResultShape::Flat | ResultShape::Several => match self.results.pop() {
                Some(result) => Ok(result),
                None => {
                    let tag = std::mem::take(&mut self.last_tag);
                    // A batch of no rows changed none.
                    let affected = if self.told { self.affected } else { Some(0).filter(|_| self.args.is_batch()) };
                    let result = self.pack(py, Summary { tag: &tag, rows: affected, ..Summary::default() })?;
                    Ok(ffi::unseen(py, result)?.into_any())
                }
            },
        }
    }
}

impl<D: Dialect> ResponseHandler for PyCall<D> {
    type Context<'a> = Python<'a>;
    type Params<'s, 'c: 's> = AnyParams<'s>;
    type Error = ClientError;
    type Columns = Arc<D::Columns>;
    type ServerError = D::ServerError;

    fn lane(&self) -> u64 {
        self.lane
    }

    fn is_stream(&self) -> bool {
        self.block.is_some()
    }

    fn next_row(&mut self, py: Python<'_>) -> Result<bool, ClientError> {
        let next = self.args.advance(py);
        // An interrupt during the program's iterator is not delayed until earlier rows are answered.
        if let (Err(ClientError::Raised(error)), Completion::Ticket(ticket)) = (&next, &self.completion)
            && !error.is_instance_of::<pyo3::exceptions::PyException>(py)
        {
            ticket.get().complete(Err(error.clone_ref(py)));
        }
        next
    }

    fn rereads(&self) -> bool {
        self.args.rereads()
    }

    fn loses_next(&self) -> bool {
        self.args.loses_next()
    }

    fn rows_in_all(&self, py: Python<'_>) -> Option<u64> {
        self.args.rows_in_all(py)
    }

    fn rewind(&mut self, py: Python<'_>) -> bool {
        self.affected = None;
        self.results.clear();
        self.only = None;
        self.store.rows.clear();
        self.told = false;
        self.warnings = 0;
        if let Some(arrow) = &self.arrow {
            arrow.get().clear(py);
        }
        self.args.rewind()
    }

    fn params<'s, 'c: 's>(&'s mut self, py: Python<'c>) -> AnyParams<'s> {
        self.args.current(py, &self.settings)
    }

    fn write_rows<W: RowWriter<ClientError>>(&mut self, py: Python<'_>, writer: &mut W) {
        match &mut self.args {
            Args::Arrow(rows) => rows.each(py, |row| writer.write(row) == Taken::More),
            _ => {
                writer.write(&self.args.python(py, &self.settings));
            }
        }
    }

    fn columns(&mut self, py: Python<'_>, columns: &Arc<D::Columns>) {
        if let Some(arrow) = &self.arrow {
            arrow.get().describe(py, columns.columns(), &self.settings);
        }
        let shown = match &self.query {
            Some(query) => query.get().columns::<D>(py, columns),
            None => ffi::unseen(py, Columns::new::<D>(columns.clone())),
        };
        match shown {
            Ok(columns) => {
                let columns = columns.into_any();
                if let Some(copy) = self.copy.as_ref().filter(|_| !self.script) {
                    copy.describe(columns.clone_ref(py));
                    return;
                }
                self.columns = Some(columns);
            }
            Err(error) => {
                self.store.error.get_or_insert(error);
            }
        }
    }

    fn rows<R: Run>(&mut self, py: Python<'_>, run: &mut R) -> Result<Room, Fatal> {
        let data = &mut **self;
        match &data.arrow {
            Some(arrow) => arrow.get().rows(py, run)?,
            None if data.first && !data.store.rows.is_empty() => {}
            None => {
                run.each(&mut RowSink::new(py, &mut data.store, &data.settings).naming(data.columns.as_ref()))?;
            }
        }
        if self.first {
            self.store.rows.truncate(1);
        }
        if !self.has_block(py) {
            return Ok(Room::More);
        }
        self.step(py);
        Ok(Room::Full)
    }

    fn bulk_ready(&mut self, py: Python<'_>, binary: bool, columns: usize) {
        if let Some(copy) = &self.copy {
            copy.begin(binary, columns);
        }
        self.step(py);
    }

    fn bulk_misplaced(&mut self, _: Python<'_>, direction: BulkDirection) {
        self.misplaced = Some(direction);
    }

    fn block(&mut self, py: Python<'_>, bytes: &[u8]) -> Room {
        let room = match &self.copy {
            Some(copy) => copy.push(bytes),
            None => Room::More,
        };
        self.step(py);
        room
    }

    fn result(&mut self, py: Python<'_>, summary: Summary<'_>) {
        let Summary { tag, rows: rowcount, generated, warnings, .. } = summary;
        self.generated = generated.or(self.generated);
        self.warnings = self.warnings.saturating_add(warnings.into());
        self.told = true;
        if self.shape != ResultShape::All && self.args.is_batch() {
            // Rows that were not requested count as those that `execute` returns.
            let given =
                (self.shape == ResultShape::One && self.columns.is_some()).then_some(self.store.rows.len() as u64);
            if let Some(n) = rowcount.or(given) {
                self.affected = Some(self.affected.unwrap_or(0) + n);
            }
            if self.shape == ResultShape::One {
                self.store.rows.clear();
            }
            self.last_tag.clear();
            self.last_tag.extend_from_slice(tag);
            return;
        }
        let is_later = self.only.is_some() && self.shape == ResultShape::Several;
        if is_later || (self.block.is_some() && !self.results.is_empty()) {
            // A stream is of the first result, and so are bare rows.
            self.store.rows.clear();
            return;
        }
        let packed = match self.pack(py, summary) {
            Ok(result) if self.bare => {
                self.only = Some(result);
                Ok(())
            }
            Ok(result) => ffi::unseen(py, result).map(|result| self.results.push(result.into_any())),
            Err(error) => Err(error),
        };
        if let Err(error) = packed {
            self.store.error.get_or_insert(error);
        }
        if self.script {
            // The next statement may have other columns, or none.
            self.columns = None;
        }
    }

    fn finish(mut self, py: Python<'_>, outcome: Outcome<D::ServerError, ClientError>) {
        let result = match (outcome, self.misplaced) {
            (Outcome::Done, Some(direction)) => Err(misplaced_copy(py, direction)),
            // The server's error means only that the client has ended it.
            (Outcome::Server { .. }, Some(BulkDirection::In)) => Err(misplaced_copy(py, BulkDirection::In)),
            (Outcome::Done, None) => self.outcome(py),
            (Outcome::Server { error, row }, _) => {
                let error = D::error(py, &error, self.statement.as_deref(), row);
                Err(if D::RESULTS_STAND && self.script { self.with_results(py, error) } else { error })
            }
            (Outcome::Client { error, row }, _) => Err(errors::client_error(py, self.args.located(error), row)),
            (Outcome::Skipped, _) => Err(errors::skipped(py)),
            (Outcome::Fatal(reason), _) => Err(errors::fatal(py, &reason)),
        };
        self.completion.complete(py, result);
        self.step(py);
    }
}
