//! Contiguous DataRow messages.

use super::statement::Columns;
use crate::messages::backend::header;
use crate::messages::tag::backend as tag;
use crate::types::{Inside, TypeRegistry, decode_row, find_cells};
use headrace_core::run::{ColumnSink, Grid, Run};
use headrace_core::{Fatal, Sink};

/// As many DataRow messages as are whole.
#[derive(Clone, Debug)]
pub struct DataRows<'a> {
    columns: &'a Columns,
    messages: &'a [u8],
    /// Bytes and rows that were taken.
    at: usize,
    rows: u64,
}

impl<'a> DataRows<'a> {
    /// Those that `messages` begins with, of these columns.
    pub fn new(columns: &'a Columns, messages: &'a [u8]) -> Self {
        Self { columns, messages, at: 0, rows: 0 }
    }

    /// The body of the next one.
    #[inline]
    fn next(&mut self) -> Result<Option<&'a [u8]>, Fatal> {
        let Some((tag::DATA_ROW, total)) = header(&self.messages[self.at..])? else { return Ok(None) };
        let Some(message) = self.messages.get(self.at..self.at + total) else { return Ok(None) };
        self.at += total;
        self.rows += 1;
        Ok(Some(&message[5..]))
    }

    fn skip(&mut self) -> Result<(), Fatal> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// Returns true if values of the rows contain what cannot be read yet.
    pub(super) fn has_unknown_inside(mut self, registry: &TypeRegistry) -> Result<bool, Fatal> {
        let mut found = Inside::default();
        self.columns.find_forgotten(registry, &mut found);
        while found.is_empty()
            && let Some(body) = self.next()?
        {
            self.columns.find_unknown(registry, body, &mut found);
        }
        Ok(!found.is_empty())
    }

    /// The numbers of bytes and rows in the run, taken or not.
    pub(super) fn end(mut self) -> Result<(usize, u64), Fatal> {
        if self.at == 0 {
            self.skip()?;
        }
        Ok((self.at, self.rows))
    }
}

impl Run for DataRows<'_> {
    #[inline]
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        while let Some(body) = self.next()? {
            decode_row(&self.columns.decoders, body, sink)?;
        }
        Ok(())
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let decoders = &self.columns.decoders;
        let mut grid = Grid::new(decoders.len());
        while let Some(body) = self.next()? {
            find_cells(body, decoders.len(), &mut grid)?;
        }
        grid.give(sink, |number| &decoders[number]);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        let start = self.at;
        self.skip()?;
        Ok(Some(&self.messages[start..self.at]))
    }
}
