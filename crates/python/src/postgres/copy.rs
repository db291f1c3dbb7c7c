//! COPY in both directions.

use super::PostgresWire;
use super::dialect::Postgres;
use crate::args::{Args, sequence};
use crate::call::ResultShape;
use crate::columns::Columns;
use crate::engine::CopySink;
use crate::errors::{self, ClientError};
use crate::ffi as cpython;
use crate::filling::{Filled, RowForm, RowSource, fill};
use crate::limits;
use crate::limits::COPY_HELD_BYTES;
use crate::params::PyParams;
use crate::sink::{ResultRows, RowSink};
use crate::wire::{Transfer, Wire, WireState};
use headrace_core::{Mismatch, Parameters, Protocol as _, Room};
use headrace_drivers::protocols::postgres::machine::{Columns as Described, Copy, CopyState, Request};
use headrace_drivers::protocols::postgres::types::{
    Encoder, TypeRegistry, copy_binary, decode_binary_row, decode_text_line, encode_binary_row, encode_text_row,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// The data of a COPY received so far.
#[derive(Debug, Default)]
struct Brought {
    bytes: Vec<u8>,
    header_seen: bool,
    shape: Option<(bool, usize)>,
    columns: Option<Py<PyAny>>,
    /// True if it has begun, or a block has come, since its reader last waited for the next step.
    news: bool,
    /// True once the response handler has reported that it has no room.
    full: bool,
    /// True if the data is not read any more.
    unread: bool,
}

/// The buffer of the data of a COPY; it survives the request. Of a COPY to the server it has what its rows have in common.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug, Default)]
pub struct CopyBuffer {
    brought: Mutex<Brought>,
    /// The rows that were written.
    written: AtomicU64,
    /// The encoder of values whose columns are not known.
    of_any_type: OnceLock<Encoder>,
    /// When those who write them one by one look whether the loop's other tasks should have their turn.
    turn: Mutex<Option<Instant>>,
}

impl CopyBuffer {
    fn with<R>(&self, use_it: impl FnOnce(&mut Brought) -> R) -> R {
        match self.brought.lock() {
            Ok(mut brought) => use_it(&mut brought),
            Err(poisoned) => use_it(&mut poisoned.into_inner()),
        }
    }

    fn of_any_type(&self, registry: &TypeRegistry) -> &Encoder {
        self.of_any_type.get_or_init(|| Encoder::new(registry, 0))
    }

    /// Returns true if half of a turn of the loop has gone by since it has returned so: that the turn is over, which is
    /// known elsewhere, is seen in time then.
    fn is_turn_over(&self) -> bool {
        let now = Instant::now();
        let mut until = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = until.is_some_and(|until| now >= until);
        if is_over || until.is_none() {
            *until = Some(now + limits::FLUSH_TURN / 2);
        }
        is_over
    }

    /// Further data is dropped from now on.
    fn close(&self) {
        self.with(|brought| brought.unread = true);
    }

    /// Returns true if something has come since the last call.
    fn take_news(&self) -> bool {
        self.with(|brought| std::mem::take(&mut brought.news))
    }

    fn described(&self, py: Python<'_>) -> PyResult<Option<Arc<Described>>> {
        let columns = self.with(|brought| brought.columns.as_ref().map(|columns| columns.clone_ref(py)));
        columns.map(|columns| columns.bind(py).cast::<Columns>()?.get().of(py)).transpose()
    }
}

impl CopySink for Py<CopyBuffer> {
    fn begin(&self, binary: bool, columns: usize) {
        self.get().with(|brought| {
            brought.shape = Some((binary, columns));
            brought.news = true;
        });
    }

    fn describe(&self, columns: Py<PyAny>) {
        self.get().with(|brought| brought.columns = Some(columns));
    }

    fn push(&self, block: &[u8]) -> Room {
        self.get().with(|brought| {
            brought.news = true;
            if brought.unread {
                return Room::More;
            }
            brought.bytes.extend_from_slice(block);
            brought.full = brought.bytes.len() >= COPY_HELD_BYTES;
            if brought.full { Room::Full } else { Room::More }
        })
    }
}

#[pymethods]
impl CopyBuffer {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Whether the COPY is binary, and its number of columns; None before it has begun.
    #[getter]
    fn shape(&self) -> Option<(bool, usize)> {
        self.with(|brought| brought.shape)
    }

    /// The columns of a COPY of rows; None of any other.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.with(|brought| brought.columns.as_ref().map(|columns| columns.clone_ref(py)))
    }

    /// The number of bytes that were not taken yet.
    fn __len__(&self) -> usize {
        self.with(|brought| brought.bytes.len())
    }
}

impl Wire {
    fn copy_id(&self, py: Python<'_>, state: &WireState, ticket: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let _ = py;
        Ok(self.id_of(state, ticket))
    }
}

#[pymethods]
impl PostgresWire {
    /// Queues a COPY of rows, whose data and columns go to `buffer`. `query` is a query with the columns that are
    /// copied, `left_out` one for the numbers of those that are not; `binary` and `text` are the statement in the two
    /// formats, between which the columns decide; without `binary` it is text.
    #[pyo3(signature = (buffer, query, left_out, binary, text, into, *, prelude=None))]
    #[allow(clippy::too_many_arguments)]
    fn copy(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        buffer: Py<CopyBuffer>,
        query: &str,
        left_out: Option<&str>,
        binary: Option<&str>,
        text: &str,
        into: bool,
        prelude: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        if query.contains('\0') || text.contains('\0') {
            return Err(errors::programming(py, "the statement has a NUL character; remove it"));
        }
        let state = wire.lock(py)?;
        let args = Args::Row(PyTuple::empty(py).unbind());
        let mut call = wire.call::<Postgres>(py, &state, args, ResultShape::All, text.into())?;
        call.copy = Some(buffer);
        let request = Request::Copy(Copy {
            query: query.into(),
            left_out: left_out.map(Arc::from),
            binary: binary.map(Arc::from),
            text: text.into(),
            into,
            prelude: wire.prelude(prelude, false),
        });
        wire.enqueue(py, state, request, call)
    }

    /// The state of a COPY.
    fn copy_state(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Transfer> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        let Some(id) = wire.copy_id(py, &state, ticket)? else { return Ok(Transfer::Ended) };
        Ok(match state.connection.machine.of::<Postgres>(py)?.copy_state(id) {
            CopyState::Waiting => Transfer::Waiting,
            CopyState::Streaming => Transfer::Streaming,
            CopyState::Ended => Transfer::Ended,
        })
    }

    /// A future for the next step of a COPY: it begins, a block comes, it ends.
    fn copy_step(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let wire = slf.as_super().get();
        let completion = wire.completion(py)?;
        let object = completion.object(py);
        let mut state = wire.lock(py)?;
        let id = wire.copy_id(py, &state, ticket)?;
        let machine = state.connection.machine.of::<Postgres>(py)?;
        match id.and_then(|id| machine.handler_mut(id)) {
            // Another thread may have brought the step already.
            Some(call) if !call.copy.as_ref().is_some_and(|copy| copy.get().take_news()) => {
                call.progress = Some(completion);
            }
            _ => completion.complete(py, Ok(py.None())),
        }
        Ok(object)
    }

    /// Takes the bytes that a COPY has brought.
    fn copy_take<'py>(
        slf: &Bound<'_, Self>,
        py: Python<'py>,
        ticket: &Bound<'_, PyAny>,
        buffer: &Bound<'_, CopyBuffer>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (bytes, full) =
            buffer.get().with(|brought| (std::mem::take(&mut brought.bytes), std::mem::take(&mut brought.full)));
        if full {
            slf.as_super().get().resume(py, ticket)?;
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// Sends data. Returns true if the COPY still takes data; if not, the request's own ticket has the error.
    fn copy_write(slf: &Bound<'_, Self>, py: Python<'_>, ticket: &Bound<'_, PyAny>, data: &[u8]) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        let Some(id) = wire.copy_id(py, &state, ticket)? else { return Ok(false) };
        let (machine, write_buffer) = state.parts();
        let machine = machine.of::<Postgres>(py)?;
        for block in data.chunks(limits::WRITE_BUFFER_HIGH_BYTES) {
            if !machine.copy_data(id, write_buffer, |out| out.extend_from_slice(block)) {
                return Ok(false);
            }
        }
        drop(state);
        wire.flush(py)?;
        Ok(true)
    }

    /// Bytes that wait to be sent.
    fn backlog(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<usize> {
        let wire = slf.as_super().get();
        Ok(wire.lock(py)?.connection.buffers.write_buffer.len())
    }

    /// Encodes rows of an iterator or an Arrow stream until the write buffer is full. Returns the number of rows, and
    /// whether there are no more. `buffer` has the columns and the format; without columns, as in a COPY with the user's
    /// own SQL, the values determine their types and are sent as text. With `first` the header of the binary format is
    /// written before them.
    fn copy_rows(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        buffer: &Bound<'_, CopyBuffer>,
        first: bool,
    ) -> PyResult<(u64, bool)> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        let Some(id) = wire.copy_id(py, &state, ticket)? else { return Ok((0, true)) };
        let registry = state.connection.machine.of::<Postgres>(py)?.registry();
        let encoders: Option<Vec<Encoder>> = buffer
            .get()
            .described(py)?
            .map(|columns| columns.fields.iter().map(|f| Encoder::new(registry, f.type_oid)).collect());
        let binary = buffer.get().with(|brought| brought.shape.is_some_and(|(binary, _)| binary));
        if binary && encoders.is_none() {
            return Err(errors::programming(
                py,
                "rows go as text where the columns are not known: write COPY ... (FORMAT text), or use copy_in()",
            ));
        }
        let of_any_type = buffer.get().of_any_type(registry);
        let mut source = RowSource::of(rows)?;
        let settings = state.settings.clone();
        let (machine, write_buffer) = state.parts();
        let machine = machine.of::<Postgres>(py)?;
        if binary && first && !machine.copy_data(id, write_buffer, |out| out.extend_from_slice(copy_binary::HEADER)) {
            return Ok((0, true));
        }
        let form = Form { encoders: encoders.as_deref(), of_any_type, binary };
        let (room, mut filled) = (write_buffer.room(), Filled::default());
        if !machine.copy_data(id, write_buffer, |out| filled = fill(&mut source, &form, &settings, room, out)) {
            return Ok((0, true));
        }
        filled.adapt(write_buffer, wire.is_on_loop());
        let Filled { count, ended, failure, .. } = filled;
        let before = buffer.get().written.fetch_add(count, Ordering::Relaxed);
        if failure.is_some() {
            // A type may have changed since it was learnt, and the value be right.
            machine.forget_types();
        }
        drop(state);
        if let Some(failure) = failure {
            return Err(errors::client_error(py, failure, Some(before + count)));
        }
        wire.flush(py)?;
        Ok((count, ended))
    }

    /// Encodes one row of a COPY with the user's own SQL, after the first. Returns true if the COPY goes on, and no more
    /// than `most` bytes wait to be sent: on an event loop that is done in the loop's next turn then.
    fn copy_row(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        row: &Bound<'_, PyAny>,
        buffer: &Bound<'_, CopyBuffer>,
        most: usize,
    ) -> PyResult<bool> {
        let wire = slf.as_super().get();
        let buffer = buffer.get();
        wire.check_thread(py)?;
        let mut state = wire.lock(py)?;
        wire.check_open(py, &state)?;
        let Some(id) = wire.copy_id(py, &state, ticket)? else { return Ok(false) };
        let state_now = &mut *state;
        let settings = &state_now.settings;
        let machine = state_now.connection.machine.of::<Postgres>(py)?;
        let write_buffer = &mut state_now.connection.buffers.write_buffer;
        let form = Form { encoders: None, of_any_type: buffer.of_any_type(machine.registry()), binary: false };
        let mut written = Ok(());
        let taken = machine.copy_data(id, write_buffer, |out| {
            written = sequence(row).and_then(|row| form.write_whole(&PyParams::new(py, Some(&row), settings), out));
        });
        if !taken {
            return Ok(false);
        }
        if let Err(failure) = written {
            // As in `copy_rows`.
            machine.forget_types();
            drop(state);
            let row = buffer.written.load(Ordering::Relaxed);
            return Err(errors::client_error(py, failure, Some(row)));
        }
        buffer.written.fetch_add(1, Ordering::Relaxed);
        let waiting = write_buffer.len();
        drop(state);
        if !wire.is_on_loop() {
            return Ok(waiting <= most);
        }
        wire.flush_soon(py)?;
        Ok(waiting <= most.min(limits::WRITE_BUFFER_CAREFUL_BYTES) && !buffer.is_turn_over())
    }

    /// The trailer of the binary format.
    #[staticmethod]
    fn copy_trailer(py: Python<'_>) -> Bound<'_, PyBytes> {
        PyBytes::new(py, copy_binary::TRAILER)
    }

    /// Further data of a COPY is dropped: its reader has left.
    fn copy_leave(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        buffer: &Bound<'_, CopyBuffer>,
    ) -> PyResult<()> {
        buffer.get().close();
        slf.as_super().get().resume(py, ticket)
    }

    /// Ends a COPY to the server; with `failure` it is rolled back, and the server's error repeats the text.
    #[pyo3(signature = (ticket, failure=None))]
    fn copy_end(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        failure: Option<&str>,
    ) -> PyResult<()> {
        let wire = slf.as_super().get();
        let mut state = wire.lock(py)?;
        if let Some(id) = wire.copy_id(py, &state, ticket)? {
            let (machine, write_buffer) = state.parts();
            let machine = machine.of::<Postgres>(py)?;
            machine.copy_end(id, write_buffer, failure);
        }
        drop(state);
        wire.flush(py)
    }

    /// Takes the data of a COPY of rows to the client.
    fn copy_take_rows<'py>(
        slf: &Bound<'_, Self>,
        py: Python<'py>,
        ticket: &Bound<'_, PyAny>,
        buffer: &Bound<'py, CopyBuffer>,
    ) -> PyResult<Bound<'py, PyList>> {
        let wire = slf.as_super().get();
        let settings = wire.lock(py)?.settings.clone();
        if buffer.get().with(|brought| brought.columns.is_none()) {
            return Err(errors::programming(
                py,
                "the COPY was begun without a description of its columns, which rows are decoded by: use copy_out()",
            ));
        }
        // Rows of types that were looked up come with other columns: both are taken at once.
        let (columns, bytes, skip, binary, full) = buffer.get().with(|brought| {
            let columns = brought.columns.as_ref().map(|columns| columns.clone_ref(py));
            let bytes = std::mem::take(&mut brought.bytes);
            let binary = brought.shape.is_some_and(|(binary, _)| binary);
            let skip = if !binary || brought.header_seen || bytes.len() < copy_binary::HEADER.len() {
                0
            } else {
                copy_binary::HEADER.len()
            };
            brought.header_seen |= skip > 0;
            (columns, bytes, skip, binary, std::mem::take(&mut brought.full))
        });
        let Some(columns) = columns else { return Ok(PyList::empty(py)) };
        let columns: Arc<Described> = columns.bind(py).cast::<Columns>()?.get().of(py)?;
        if full {
            wire.resume(py, ticket)?;
        }
        let mut store = ResultRows::default();
        let decoders = &columns.decoders;
        let mut rest = &bytes[skip..];
        let mut sink = RowSink::new(py, &mut store, &settings);
        while !rest.is_empty() {
            let after = match binary {
                true => decode_binary_row(decoders, rest, &mut sink),
                false => decode_text_line(decoders, rest, &mut sink),
            };
            rest = after.map_err(|fatal| errors::fatal(py, &fatal))?.unwrap_or_default();
        }
        drop(sink);
        if let Some(error) = store.error {
            return Err(error);
        }
        Ok(cpython::list(py, store.rows)?.cast_into::<PyList>()?)
    }
}

/// How the rows of a COPY are written.
#[derive(Clone, Copy)]
struct Form<'a> {
    /// Those of the columns, if they are known.
    encoders: Option<&'a [Encoder]>,
    of_any_type: &'a Encoder,
    binary: bool,
}

impl RowForm for Form<'_> {
    fn write<P: Parameters<Error = ClientError>>(&self, row: &P, block: &mut Vec<u8>) -> Result<(), ClientError> {
        // A closure for each of them: one for all would be called, and not be compiled into each.
        match self.encoders {
            Some(encoders) if row.count() != encoders.len() => {
                let (given, expected) = (row.count(), encoders.len());
                let message = format!("the row has {given} values, but the COPY has {expected} columns");
                Err(Mismatch::wrong_type(message).into())
            }
            Some(encoders) if self.binary => encode_binary_row(encoders, |i| row.get(i), block),
            Some(encoders) => encode_text_row(encoders.iter(), |i| row.get(i), block),
            None => encode_text_row(std::iter::repeat_n(self.of_any_type, row.count()), |i| row.get(i), block),
        }
    }
}
