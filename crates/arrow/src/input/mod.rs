//! Record batches of other programs as rows of parameters.
//!
//! [`Input`] reads a stream of Arrow's C stream interface batch by batch; a [`Batch`] has its columns prepared once, so
//! that a [`Cell`] of a row is a [`headrace_core::Value`] without a copy. Every protocol's encoder takes it as it takes
//! the values of any other program.
//!
//! Of memory that another program has made, the lengths of its buffers are trusted, as Arrow's interface demands. Offsets,
//! views, keys and ends of runs are checked once for each batch ([`sound`]), and texts to be UTF-8 when they are sent.

mod cell;
mod column;
mod reader;
mod sound;
mod text;

/// An array of another program: see Arrow's C data interface.
pub use arrow_array::ffi::from_ffi;
pub use arrow_array::{ArrayRef, make_array};
pub use cell::Cell;
pub use column::Column;
pub use reader::{Input, InputError, imported};

use crate::options::Nanoseconds;
use arrow_array::{Array, StructArray};
use arrow_buffer::NullBuffer;
use headrace_core::{Mismatch, Parameters, ValueKind};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the values of some types become.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The kind of structs that are not ranges: what the database takes for a value with named parts.
    pub structs: ValueKind,
    /// The instant, in microseconds, of a timestamp without zone, in the machine's local zone.
    pub local: fn(i64) -> Result<i64, Mismatch>,
    /// What becomes of parts of a microsecond.
    pub nanoseconds: Nanoseconds,
}

/// No column was read.
const NONE: usize = usize::MAX;

/// A record batch, prepared to be read by rows.
#[derive(Debug)]
pub struct Batch {
    columns: Vec<Column>,
    rows: usize,
    /// The rows that are null as a whole.
    nulls: Option<NullBuffer>,
    bytes: usize,
    /// The column that was read last.
    last: AtomicUsize,
}

impl Batch {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns true if a row is null as a whole: its columns then have no values.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The number of bytes of memory that it keeps.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A row. `order` are the numbers of the columns that are its parameters; without it they are all columns.
    pub fn row<'a, E: From<Mismatch>>(&'a self, row: usize, order: Option<&'a [usize]>) -> Row<'a, E> {
        Row { batch: self, row, order, error: PhantomData }
    }

    /// Forgets which column was read last.
    pub fn settle(&self) {
        self.last.store(NONE, Ordering::Relaxed);
    }

    /// The column that was read last, for an error about its value: its name and its type.
    pub fn last_read(&self) -> Option<String> {
        let column = self.columns.get(self.last.load(Ordering::Relaxed))?;
        Some(format!("column '{}' (Arrow type {})", column.name(), column.data_type()))
    }
}

/// A row of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, E> {
    batch: &'a Batch,
    row: usize,
    order: Option<&'a [usize]>,
    error: PhantomData<fn() -> E>,
}

impl<'a, E: From<Mismatch>> Row<'a, E> {
    /// Parameter `i`.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn cell(&self, i: usize) -> Result<Cell<'a, E>, E> {
        let at = match self.order {
            Some(order) => order.get(i).copied().unwrap_or(NONE),
            None => i,
        };
        let column = self.batch.columns.get(at).ok_or_else(|| Mismatch::wrong_type("there is no such column"))?;
        self.batch.last.store(at, Ordering::Relaxed);
        Ok(Cell::new(column, self.row))
    }
}

impl<E: From<Mismatch>> Parameters for Row<'_, E> {
    type Value<'v>
        = Cell<'v, E>
    where
        Self: 'v;
    type Error = E;

    #[inline]
    fn count(&self) -> usize {
        self.order.map_or(self.batch.columns.len(), <[usize]>::len)
    }

    #[inline]
    fn get(&self, i: usize) -> Result<Cell<'_, E>, E> {
        self.cell(i)
    }
}

/// The batch of an array of structs.
fn batch_of(array: &StructArray, meaning: Meaning) -> Result<Batch, InputError> {
    let columns = array.fields().iter().zip(array.columns());
    let columns = columns.map(|(field, array)| {
        Column::new(field, array, meaning).map_err(|error| match error {
            // Of a part: the caller adds the column.
            InputError::Malformed(_, why) => InputError::Malformed(field.name().clone(), why),
            other => other,
        })
    });
    Ok(Batch {
        columns: columns.collect::<Result<_, _>>()?,
        rows: array.len(),
        nulls: array.nulls().cloned(),
        bytes: array.get_array_memory_size(),
        last: AtomicUsize::new(NONE),
    })
}
