//! The rows of a page.

use super::statement::Columns;
use crate::messages::Reader;
use crate::types::decode::{decode_row, find_cells};
use headrace_core::run::{ColumnSink, Grid, Run};
use headrace_core::{Fatal, Sink};

/// The rows of a page, without the byte after them.
#[derive(Clone, Debug)]
pub struct PageRows<'a> {
    columns: &'a Columns,
    rows: Reader<'a>,
    taken: usize,
}

impl<'a> PageRows<'a> {
    /// Rows of these columns.
    pub fn new(columns: &'a Columns, rows: &'a [u8]) -> Self {
        Self { columns, rows: Reader::new(rows), taken: 0 }
    }

    /// Leaves out the first rows, which were taken before.
    pub(super) fn leave_out(&mut self, rows: usize) -> Result<(), Fatal> {
        for _ in 0..rows {
            let mut grid = Grid::new(self.columns.decoders.len());
            find_cells(self.columns.decoders.len(), &mut self.rows, &mut grid)?;
            self.taken += 1;
        }
        Ok(())
    }

    fn skip(&mut self) -> Result<(), Fatal> {
        let mut grid = Grid::new(self.columns.decoders.len());
        self.find(&mut grid)
    }

    fn find(&mut self, grid: &mut Grid<'a>) -> Result<(), Fatal> {
        while !self.rows.rest().is_empty() {
            find_cells(self.columns.decoders.len(), &mut self.rows, grid)?;
            self.taken += 1;
        }
        Ok(())
    }

    /// The page is over: it must have had `count` rows, taken or not.
    pub(super) fn end(mut self, count: usize) -> Result<(), Fatal> {
        self.skip()?;
        match self.taken == count {
            true => Ok(()),
            false => Err(Fatal::peer(format!("the server sent {} rows after announcing {count}", self.taken))),
        }
    }
}

impl Run for PageRows<'_> {
    #[inline]
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        while !self.rows.rest().is_empty() {
            decode_row(&self.columns.decoders, &mut self.rows, sink)?;
            self.taken += 1;
        }
        Ok(())
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let mut grid = Grid::new(self.columns.decoders.len());
        self.find(&mut grid)?;
        grid.give(sink, |number| self.columns.decoders[number]);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        let rows = self.rows.rest();
        self.skip()?;
        Ok(Some(rows))
    }
}
