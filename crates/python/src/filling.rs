//! Rows of an iterator or an Arrow stream into a block of a bulk load: COPY, LOAD DATA.

use crate::args::sequence;
use crate::arrow_rows::ArrowSource;
use crate::errors::ClientError;
use crate::limits;
use crate::params::PyParams;
use crate::settings::Settings;
use headrace_core::{Parameters, WriteBuffer};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::time::Instant;

/// The form of the rows of a bulk load.
pub trait RowForm: Sync {
    /// Appends a row; after an error the block has half of one.
    ///
    /// # Errors
    /// A value does not fit, or their number.
    fn write<P: Parameters<Error = ClientError>>(&self, row: &P, block: &mut Vec<u8>) -> Result<(), ClientError>;

    /// Appends a row, or nothing of one with an error.
    ///
    /// # Errors
    /// As [`RowForm::write`].
    fn write_whole<P: Parameters<Error = ClientError>>(&self, row: &P, block: &mut Vec<u8>) -> Result<(), ClientError> {
        let start = block.len();
        self.write(row, block).inspect_err(|_| block.truncate(start))
    }
}

/// Rows in the form of a bulk load.
pub struct Filled {
    /// Their bytes.
    pub block: Vec<u8>,
    /// Their number.
    pub count: u64,
    /// There are no more rows.
    pub ended: bool,
    /// Why the row after them was not written.
    pub failure: Option<ClientError>,
}

/// The next rows of an iterator or of an [`ArrowSource`], until they take the room that there is in the write buffer. The
/// other tasks of an event loop wait meanwhile: with `on_loop` there is less room for the next ones if that takes long.
///
/// # Errors
/// It is neither.
pub fn fill(
    rows: &Bound<'_, PyAny>,
    form: &impl RowForm,
    settings: &Settings,
    write_buffer: &mut WriteBuffer,
    on_loop: bool,
) -> PyResult<Filled> {
    let (room, began) = (write_buffer.room(), Instant::now());
    let block = Vec::with_capacity(limits::WRITE_BUFFER_HIGH_BYTES / 2);
    let mut filled = Filled { block, count: 0, ended: false, failure: None };
    match rows.cast::<ArrowSource>() {
        Ok(source) => from_arrow(rows.py(), source.get(), form, room, &mut filled),
        Err(_) => from_iterator(rows.cast::<PyIterator>()?.clone(), form, settings, room, &mut filled),
    }
    if on_loop && filled.block.len() >= room {
        write_buffer.adapt(began.elapsed());
    }
    Ok(filled)
}

fn from_iterator(
    mut rows: Bound<'_, PyIterator>,
    form: &impl RowForm,
    settings: &Settings,
    room: usize,
    filled: &mut Filled,
) {
    while filled.block.len() < room && filled.failure.is_none() {
        let Some(row) = rows.next() else {
            filled.ended = true;
            return;
        };
        let written = row.map_err(ClientError::from).and_then(|row| {
            let row = sequence(&row)?;
            form.write_whole(&PyParams::new(row.py(), Some(&row), settings), &mut filled.block)
        });
        match written {
            Ok(()) => filled.count += 1,
            Err(error) => filled.failure = Some(error),
        }
    }
}

fn from_arrow(py: Python<'_>, source: &ArrowSource, form: &impl RowForm, room: usize, filled: &mut Filled) {
    let mut rows = source.lock(py);
    while filled.block.len() < room && filled.failure.is_none() {
        match rows.advance(py) {
            Ok(true) => rows.each(py, |row| {
                match form.write_whole(row, &mut filled.block) {
                    Ok(()) => filled.count += 1,
                    Err(error) => filled.failure = Some(error),
                }
                filled.failure.is_none() && filled.block.len() < room
            }),
            Ok(false) => {
                filled.ended = true;
                return;
            }
            Err(error) => filled.failure = Some(error),
        }
    }
    filled.failure = filled.failure.take().map(|error| rows.located(error));
}
