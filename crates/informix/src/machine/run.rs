//! Contiguous SQ_TUPLE messages, and rows that were buffered until their large values had come.

use super::statement::Columns;
use crate::messages::server;
use crate::types::decode::{ColumnCell, find_cells};
use crate::types::decode_row;
use headrace_core::run::{ColumnSink, Grid, Run};
use headrace_core::{Fatal, Sink};
use std::iter;

/// As many SQ_TUPLE messages as are whole.
#[derive(Clone, Debug)]
pub struct Tuples<'a> {
    columns: Option<&'a Columns>,
    messages: &'a [u8],
    at: usize,
    rows: i64,
    row_bytes: usize,
}

/// The numbers of rows and bytes in a run, taken or not.
pub(super) struct Taken {
    /// Bytes of the messages.
    pub bytes: usize,
    pub rows: i64,
    /// Bytes of the rows in them.
    pub row_bytes: usize,
}

impl<'a> Tuples<'a> {
    /// Those that `messages` begins with; without `columns` they can only be skipped.
    pub fn new(columns: Option<&'a Columns>, messages: &'a [u8]) -> Self {
        Self { columns, messages, at: 0, rows: 0, row_bytes: 0 }
    }

    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> Result<bool, Fatal> {
        Ok(self.clone().next()?.is_none())
    }

    /// The next row.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<&'a [u8]>, Fatal> {
        let Some((row, used)) = server::tuple(&self.messages[self.at..])? else { return Ok(None) };
        self.at += used;
        self.rows += 1;
        self.row_bytes += row.len();
        Ok(Some(row))
    }

    fn skip(&mut self) -> Result<(), Fatal> {
        while self.next()?.is_some() {}
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<Taken, Fatal> {
        if self.at == 0 {
            self.skip()?;
        }
        Ok(Taken { bytes: self.at, rows: self.rows, row_bytes: self.row_bytes })
    }
}

impl Run for Tuples<'_> {
    #[inline]
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let Some(columns) = self.columns else { return self.skip() };
        while let Some(row) = self.next()? {
            decode_row(&columns.decoders, columns.codeset, row, &mut iter::empty(), sink)?;
        }
        Ok(())
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let Some(columns) = self.columns else { return self.skip() };
        let mut grid = Grid::new(columns.decoders.len());
        while let Some(row) = self.next()? {
            find_cells(&columns.decoders, row, &mut iter::empty(), &mut grid)?;
        }
        columns.give(&grid, sink);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        let start = self.at;
        self.skip()?;
        Ok(Some(&self.messages[start..self.at]))
    }
}

/// Rows outside of the read buffer, with the values of their BYTE and TEXT columns that are not NULL, in order.
#[derive(Clone, Debug)]
pub(super) struct BufferedRows<'a> {
    columns: &'a Columns,
    rows: &'a [Vec<u8>],
    large: &'a [Vec<u8>],
}

impl<'a> BufferedRows<'a> {
    pub fn new(columns: &'a Columns, rows: &'a [Vec<u8>], large: &'a [Vec<u8>]) -> Self {
        Self { columns, rows, large }
    }
}

impl Run for BufferedRows<'_> {
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let columns = self.columns;
        let mut large = self.large.iter().map(Vec::as_slice);
        for row in std::mem::take(&mut self.rows) {
            decode_row(&columns.decoders, columns.codeset, row, &mut large, sink)?;
        }
        Ok(())
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let columns = self.columns;
        let mut grid = Grid::new(columns.decoders.len());
        let mut large = self.large.iter().map(Vec::as_slice);
        for row in std::mem::take(&mut self.rows) {
            find_cells(&columns.decoders, row, &mut large, &mut grid)?;
        }
        columns.give(&grid, sink);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        Ok(None)
    }
}

impl Columns {
    fn give<S: ColumnSink>(&self, grid: &Grid<'_>, sink: &mut S) {
        grid.give(sink, |number| ColumnCell { decoder: &self.decoders[number], codeset: self.codeset });
    }
}
