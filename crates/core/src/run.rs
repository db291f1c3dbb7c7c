//! Whole rows in the read buffer, as they are passed to a response handler.
//!
//! The protocol passes a [`Run`], and the handler chooses how to take it, once for all of its rows: row by row into a
//! [`Sink`], column by column into a [`ColumnSink`], or as the received bytes. Each way is compiled for its protocol
//! and its sink, so that no decision is left per value.

use crate::{Fatal, Sink};

/// Whole rows of one result.
///
/// A run is taken once; a clone, which is cheap, can be taken in another way. Rows that are not taken are skipped.
pub trait Run: Clone + Send {
    /// Decodes row after row.
    ///
    /// # Errors
    /// [`Fatal`] for a row that does not fit its columns: the connection is out of step. The rows before it are in the sink.
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal>;

    /// Finds the cells of all rows, then decodes column after column. The values are those of [`Run::each`].
    ///
    /// # Errors
    /// [`Fatal`] as for [`Run::each`]; nothing is in the sink then.
    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal>;

    /// The messages that contain the rows, whole and without others between them; nothing is decoded. `None`, and
    /// nothing is taken, if they are not contiguous: a row of many parts, or one whose large values were fetched
    /// separately.
    ///
    /// # Errors
    /// [`Fatal`] when a message cannot be one.
    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal>;
}

/// Receives the values of a [`Run`] column by column.
pub trait ColumnSink {
    /// `rows` rows begin: each column follows once, in order.
    fn begin(&mut self, rows: usize);
    /// The column of this number, from 0.
    fn column<C: Cells>(&mut self, number: usize, cells: &C);
}

/// The cells of one column of a run.
pub trait Cells {
    /// Decodes them, one value for each row.
    fn decode<S: Sink>(&self, sink: &mut S);
}

/// Decodes the cells of one column.
pub trait DecodeCell {
    /// Decodes a cell, `None` for NULL, into one value.
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S);
}

/// The positions of the cells of a run, row after row.
#[derive(Debug)]
pub struct Grid<'a> {
    width: usize,
    rows: usize,
    cells: Vec<Option<&'a [u8]>>,
}

impl<'a> Grid<'a> {
    /// An empty run with `columns` columns.
    pub fn new(width: usize) -> Self {
        Self { width, rows: 0, cells: Vec::new() }
    }

    /// Adds the next cell of the row that has begun; `None` for NULL.
    #[inline]
    pub fn push(&mut self, cell: Option<&'a [u8]>) {
        self.cells.push(cell);
    }

    /// The row has all its cells.
    ///
    /// # Panics
    /// When it has fewer or more than there are columns.
    pub fn end_row(&mut self) {
        self.rows += 1;
        assert_eq!(self.cells.len(), self.rows * self.width, "a row has a cell for each column");
    }

    /// Passes the columns to a sink; `decoder` makes the decoder of the column with a given index.
    pub fn give<S: ColumnSink, D: DecodeCell>(&self, sink: &mut S, decoder: impl Fn(usize) -> D) {
        sink.begin(self.rows);
        for number in 0..self.width {
            sink.column(number, &GridColumn { grid: self, number, decoder: decoder(number) });
        }
    }
}

struct GridColumn<'g, 'a, D> {
    grid: &'g Grid<'a>,
    number: usize,
    decoder: D,
}

impl<D: DecodeCell> Cells for GridColumn<'_, '_, D> {
    #[inline]
    fn decode<S: Sink>(&self, sink: &mut S) {
        let cells = self.grid.cells.get(self.number..).unwrap_or_default();
        for cell in cells.iter().step_by(self.grid.width) {
            self.decoder.decode(*cell, sink);
        }
    }
}
