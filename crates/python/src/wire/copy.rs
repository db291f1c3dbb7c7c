//! COPY in both directions.

use super::Wire;
use crate::columns::PgColumns;
use crate::errors::{self, Fault};
use crate::ffi as cpython;
use crate::params::{PyValue, sequence};
use crate::sink::{RowSink, Rows};
use headrace_core::limits;
use headrace_postgres::machine::CopyState;
use headrace_postgres::types::{Encoder, decode_row};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
use std::sync::Mutex;

/// The signature, flags and extension length that begin a binary COPY (manual, "COPY", section "Binary Format").
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// What a COPY has brought so far.
#[derive(Debug, Default)]
struct Brought {
    bytes: Vec<u8>,
    header_seen: bool,
    shape: Option<(bool, usize)>,
}

/// Where the data of a COPY arrives; it outlives the request.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Debug, Default)]
pub struct CopyBuffer {
    brought: Mutex<Brought>,
}

impl CopyBuffer {
    fn with<R>(&self, use_it: impl FnOnce(&mut Brought) -> R) -> R {
        match self.brought.lock() {
            Ok(mut brought) => use_it(&mut brought),
            Err(poisoned) => use_it(&mut poisoned.into_inner()),
        }
    }

    /// The COPY has begun.
    pub fn begin(&self, binary: bool, columns: usize) {
        self.with(|brought| brought.shape = Some((binary, columns)));
    }

    /// A block has come.
    pub fn push(&self, block: &[u8]) {
        self.with(|brought| brought.bytes.extend_from_slice(block));
    }

    /// Bytes that nobody has taken.
    pub fn len(&self) -> usize {
        self.with(|brought| brought.bytes.len())
    }
}

#[pymethods]
impl CopyBuffer {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Whether the COPY is binary and how many columns it has; None before it has begun.
    #[getter]
    fn shape(&self) -> Option<(bool, usize)> {
        self.with(|brought| brought.shape)
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    /// Takes the bytes that have come.
    fn take<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.with(|brought| PyBytes::new(py, &std::mem::take(&mut brought.bytes)))
    }
}

impl Wire {
    fn copy_id(&self, py: Python<'_>, state: &super::State, ticket: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let _ = py;
        Ok(self.id_of(state, ticket))
    }
}

#[pymethods]
impl Wire {
    /// Says where the data of a COPY that was queued with `script(copy=True)` goes.
    fn copy_attach(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, buffer: Py<CopyBuffer>) -> PyResult<()> {
        let mut state = self.hold(py)?;
        if let Some(id) = self.copy_id(py, &state, ticket)?
            && let Some(call) = state.machine.postgres(py)?.caller_mut(id)
        {
            call.copy = Some(buffer);
        }
        Ok(())
    }

    /// Where a COPY stands: 0 the server has not answered, 1 data can be sent, 2 over.
    fn copy_state(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<u8> {
        let mut state = self.hold(py)?;
        let Some(id) = self.copy_id(py, &state, ticket)? else { return Ok(2) };
        Ok(match state.machine.postgres(py)?.copy_state(id) {
            CopyState::Waiting => 0,
            CopyState::Streaming => 1,
            CopyState::Ended => 2,
        })
    }

    /// What is done at the next step of a COPY: it begins, a block comes, it ends.
    fn copy_step(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let completion = self.completion(py)?;
        let object = completion.object(py);
        let mut state = self.hold(py)?;
        let id = self.copy_id(py, &state, ticket)?;
        let machine = state.machine.postgres(py)?;
        match id.and_then(|id| machine.caller_mut(id)) {
            Some(call) => call.progress = Some(completion),
            None => completion.complete(py, Ok(py.None())),
        }
        Ok(object)
    }

    /// Sends data. Says whether the COPY still takes any; when not, the request's own ticket tells why.
    fn copy_write(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, data: &[u8]) -> PyResult<bool> {
        let mut state = self.hold(py)?;
        self.check_open(py, &state)?;
        let Some(id) = self.copy_id(py, &state, ticket)? else { return Ok(false) };
        let super::State { machine, outbox, .. } = &mut *state;
        let machine = machine.postgres(py)?;
        for block in data.chunks(limits::OUTBOX_HIGH_BYTES) {
            if !machine.copy_data(id, outbox, |out| out.extend_from_slice(block)) {
                return Ok(false);
            }
        }
        drop(state);
        self.flush(py)?;
        Ok(true)
    }

    /// Bytes that wait to be sent.
    fn backlog(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.hold(py)?.outbox.len())
    }

    /// Encodes rows in the binary format until the outbox is full, and gives how many there were; with the outbox
    /// not full the iterator is at its end. `first` says that the header must go in front. `columns` are those of
    /// the table, as `describe` told them.
    fn copy_rows(
        &self,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyIterator>,
        columns: &Bound<'_, PgColumns>,
        first: bool,
        row_number: u64,
    ) -> PyResult<(u64, bool)> {
        let mut state = self.hold(py)?;
        self.check_open(py, &state)?;
        let Some(id) = self.copy_id(py, &state, ticket)? else { return Ok((0, true)) };
        let registry = state.machine.postgres(py)?.registry();
        let fields = &columns.get().columns.fields;
        let encoders: Vec<Encoder> = fields.iter().map(|f| Encoder::new(registry, f.type_oid)).collect();
        let settings = state.settings.clone();
        let super::State { machine, outbox, .. } = &mut *state;
        let machine = machine.postgres(py)?;
        if first && !machine.copy_data(id, outbox, |out| out.extend_from_slice(HEADER)) {
            return Ok((0, true));
        }
        let mut rows = rows.clone();
        let mut count = 0;
        let mut block = Vec::with_capacity(limits::OUTBOX_HIGH_BYTES / 2);
        let mut ended = false;
        let mut fault: Option<Fault> = None;
        while outbox.len() + block.len() < limits::OUTBOX_HIGH_BYTES {
            let row = match rows.next() {
                None => {
                    ended = true;
                    break;
                }
                Some(row) => row,
            };
            let start = block.len();
            let done = row.map_err(Fault::from).and_then(|row| encode_row(&row, &encoders, &settings, &mut block));
            if let Err(error) = done {
                block.truncate(start);
                fault = Some(error);
                break;
            }
            count += 1;
        }
        if !machine.copy_data(id, outbox, |out| out.extend_from_slice(&block)) {
            return Ok((0, true));
        }
        drop(state);
        if let Some(fault) = fault {
            return Err(errors::fault(py, fault, Some(row_number + count)));
        }
        self.flush(py)?;
        Ok((count, ended))
    }

    /// The trailer of the binary format.
    #[staticmethod]
    fn copy_trailer(py: Python<'_>) -> Bound<'_, PyBytes> {
        PyBytes::new(py, &[0xff, 0xff])
    }

    /// Whether every one of these columns can travel in the binary format.
    fn copy_can_be_binary(&self, py: Python<'_>, columns: &Bound<'_, PgColumns>) -> PyResult<bool> {
        let mut state = self.hold(py)?;
        let registry = state.machine.postgres(py)?.registry();
        Ok(columns.get().columns.fields.iter().all(|f| Encoder::new(registry, f.type_oid).has_binary()))
    }

    /// Ends a COPY to the server; with `failure` it is rolled back, and the server's error repeats the text.
    #[pyo3(signature = (ticket, failure=None))]
    fn copy_end(&self, py: Python<'_>, ticket: &Bound<'_, PyAny>, failure: Option<&str>) -> PyResult<()> {
        let mut state = self.hold(py)?;
        if let Some(id) = self.copy_id(py, &state, ticket)? {
            let super::State { machine, outbox, .. } = &mut *state;
            let machine = machine.postgres(py)?;
            machine.copy_end(id, outbox, failure);
        }
        drop(state);
        self.flush(py)
    }

    /// Takes what a binary COPY to the client has brought as rows. `columns` say how to decode them.
    fn copy_take_rows<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, CopyBuffer>,
        columns: &Bound<'py, PgColumns>,
    ) -> PyResult<Bound<'py, PyList>> {
        let settings = self.hold(py)?.settings.clone();
        let bytes = buffer.get().with(|brought| {
            let bytes = std::mem::take(&mut brought.bytes);
            let skip = if brought.header_seen || bytes.len() < HEADER.len() { 0 } else { HEADER.len() };
            brought.header_seen |= skip > 0;
            (bytes, skip)
        });
        let mut store = Rows::default();
        let columns = &columns.get().columns;
        let mut rest = &bytes.0[bytes.1..];
        let mut sink = RowSink::new(py, &mut store, &settings);
        while rest.len() >= 2 && rest[..2] != [0xff, 0xff] {
            let Some(end) = row_end(rest) else {
                return Err(errors::interface(py, "the server sent a malformed row in a binary COPY"));
            };
            decode_row(&columns.decoders, &rest[..end], &mut sink).map_err(|fatal| errors::fatal(py, &fatal))?;
            rest = &rest[end..];
        }
        drop(sink);
        if let Some(error) = store.error {
            return Err(error);
        }
        Ok(cpython::list(py, store.rows)?.cast_into::<PyList>()?)
    }
}

fn encode_row(
    row: &Bound<'_, PyAny>,
    encoders: &[Encoder],
    settings: &crate::sink::Settings,
    block: &mut Vec<u8>,
) -> Result<(), Fault> {
    let row = sequence(row)?;
    if row.len() != encoders.len() {
        let message = format!("the row has {} values, but the table has {} columns here", row.len(), encoders.len());
        return Err(headrace_core::Mismatch::wrong_type(message).into());
    }
    block.extend_from_slice(&(encoders.len() as u16).to_be_bytes());
    for (value, encoder) in row.iter_borrowed().zip(encoders) {
        encoder.encode_binary(&PyValue::new(value.to_owned(), settings), block)?;
    }
    Ok(())
}

/// The length of the row that begins here.
fn row_end(bytes: &[u8]) -> Option<usize> {
    let (count, _) = bytes.split_first_chunk::<2>()?;
    let mut at = 2;
    for _ in 0..u16::from_be_bytes(*count) {
        let (len, _) = bytes.get(at..)?.split_first_chunk::<4>()?;
        at += 4 + usize::try_from(i32::from_be_bytes(*len)).unwrap_or(0);
    }
    (at <= bytes.len()).then_some(at)
}
