//! Rows of an iterator or an Arrow stream into a block of a bulk load: COPY, LOAD DATA.

use crate::args::sequence;
use crate::arrow_rows::ArrowSource;
use crate::errors::ClientError;
use crate::params::PyParams;
use crate::settings::Settings;
use headrace_core::{Parameters, WriteBuffer};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::time::{Duration, Instant};

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

/// Where the rows of a bulk load come from.
pub enum RowSource<'a, 'py> {
    Arrow(&'a Bound<'py, ArrowSource>),
    Iterator(Bound<'py, PyIterator>),
}

impl<'a, 'py> RowSource<'a, 'py> {
    /// # Errors
    /// It is neither.
    pub fn of(rows: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(match rows.cast::<ArrowSource>() {
            Ok(source) => RowSource::Arrow(source),
            Err(_) => RowSource::Iterator(rows.cast::<PyIterator>()?.clone()),
        })
    }
}

/// Rows in the form of a bulk load.
#[derive(Default)]
pub struct Filled {
    /// Their number.
    pub count: u64,
    /// There are no more rows.
    pub ended: bool,
    /// Why the row after them was not written.
    pub failure: Option<ClientError>,
    /// How long it took, if they take the room that there was.
    full_after: Option<Duration>,
}

impl Filled {
    /// The other tasks of an event loop have waited meanwhile: with `on_loop` there is less room for the next rows if that
    /// took long.
    pub fn adapt(&self, write_buffer: &mut WriteBuffer, on_loop: bool) {
        if let Some(took) = self.full_after.filter(|_| on_loop) {
            write_buffer.adapt(took);
        }
    }
}

/// Appends the next rows, until they take `room` bytes.
pub fn fill(
    rows: &mut RowSource<'_, '_>,
    form: &impl RowForm,
    settings: &Settings,
    room: usize,
    block: &mut Vec<u8>,
) -> Filled {
    let (began, full) = (Instant::now(), block.len() + room);
    let mut filled = Filled::default();
    match rows {
        RowSource::Arrow(source) => from_arrow(source.py(), source.get(), form, full, block, &mut filled),
        RowSource::Iterator(rows) => from_iterator(rows, form, settings, full, block, &mut filled),
    }
    if block.len() >= full {
        filled.full_after = Some(began.elapsed());
    }
    filled
}

fn from_iterator(
    rows: &mut Bound<'_, PyIterator>,
    form: &impl RowForm,
    settings: &Settings,
    full: usize,
    block: &mut Vec<u8>,
    filled: &mut Filled,
) {
    while block.len() < full && filled.failure.is_none() {
        let Some(row) = rows.next() else {
            filled.ended = true;
            return;
        };
        let written = row.map_err(ClientError::from).and_then(|row| {
            let row = sequence(&row)?;
            form.write_whole(&PyParams::new(row.py(), Some(&row), settings), block)
        });
        match written {
            Ok(()) => filled.count += 1,
            Err(error) => filled.failure = Some(error),
        }
    }
}

fn from_arrow(
    py: Python<'_>,
    source: &ArrowSource,
    form: &impl RowForm,
    full: usize,
    block: &mut Vec<u8>,
    filled: &mut Filled,
) {
    let mut rows = source.lock(py);
    while block.len() < full && filled.failure.is_none() {
        match rows.advance(py) {
            Ok(true) => rows.each(py, |row| {
                match form.write_whole(row, block) {
                    Ok(()) => filled.count += 1,
                    Err(error) => filled.failure = Some(error),
                }
                filled.failure.is_none() && block.len() < full
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
