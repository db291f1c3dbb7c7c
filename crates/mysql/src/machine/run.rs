//! Contiguous packets with rows, and rows of 16 MiB, which come in parts.

use super::statement::Columns;
use crate::packets::frame::{self, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::packets::header;
use crate::types::{Cell, find_binary_cells, find_text_cells};
use headrace_core::run::{ColumnSink, Grid, Run};
use headrace_core::{Fatal, Sink};

/// All rows that are complete, each in a packet of its own.
#[derive(Clone, Debug)]
pub struct RowPackets<'a> {
    columns: &'a Columns,
    packets: &'a [u8],
    /// The number of the next packet; `None` if packet numbers are not checked.
    sequence: Option<u8>,
    /// Bytes that were taken.
    at: usize,
}

impl<'a> RowPackets<'a> {
    /// Those that `packets` begins with, of these columns.
    pub fn new(columns: &'a Columns, packets: &'a [u8], sequence: Option<u8>) -> Self {
        Self { columns, packets, sequence, at: 0 }
    }

    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// The payload of the first one that was not taken.
    pub(super) fn first(&self) -> Option<&'a [u8]> {
        self.clone().next()
    }

    /// The payload of the next one.
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, sequence) = frame::header(&self.packets[self.at..])?;
        let payload = self.packets.get(self.at + HEADER_BYTES..self.at + HEADER_BYTES + len)?;
        // These bytes begin the packet that ends the rows; a row of 16 MiB comes in parts.
        if matches!(payload, [header::EOF | header::ERR, ..]) || len == MAX_PAYLOAD_BYTES {
            return None;
        }
        if let Some(expected) = &mut self.sequence {
            if *expected != sequence {
                return None;
            }
            *expected = sequence.wrapping_add(1);
        }
        self.at += HEADER_BYTES + len;
        Some(payload)
    }

    /// The number of bytes in the run, taken or not, and the number of the packet that follows.
    pub(super) fn end(mut self) -> (usize, Option<u8>) {
        if self.at == 0 {
            while self.next().is_some() {}
        }
        (self.at, self.sequence)
    }
}

impl Run for RowPackets<'_> {
    #[inline]
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        while let Some(payload) = self.next() {
            self.columns.row(payload, sink)?;
        }
        Ok(())
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let mut grid = Grid::new(self.columns.decoders.len());
        while let Some(payload) = self.next() {
            self.columns.find_cells(payload, &mut grid)?;
        }
        self.columns.give(&grid, sink);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        let start = self.at;
        while self.next().is_some() {}
        Ok(Some(&self.packets[start..self.at]))
    }
}

/// A row that came in parts.
#[derive(Clone, Debug)]
pub(super) struct LargeRow<'a> {
    columns: &'a Columns,
    payload: Option<&'a [u8]>,
}

impl<'a> LargeRow<'a> {
    pub fn new(columns: &'a Columns, payload: &'a [u8]) -> Self {
        Self { columns, payload: Some(payload) }
    }
}

impl Run for LargeRow<'_> {
    fn each<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        self.payload.take().map_or(Ok(()), |payload| self.columns.row(payload, sink))
    }

    fn by_column<S: ColumnSink>(&mut self, sink: &mut S) -> Result<(), Fatal> {
        let mut grid = Grid::new(self.columns.decoders.len());
        if let Some(payload) = self.payload.take() {
            self.columns.find_cells(payload, &mut grid)?;
        }
        self.columns.give(&grid, sink);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<&[u8]>, Fatal> {
        Ok(None)
    }
}

impl Columns {
    fn find_cells<'a>(&self, payload: &'a [u8], grid: &mut Grid<'a>) -> Result<(), Fatal> {
        match self.binary {
            true => find_binary_cells(&self.decoders, payload, grid),
            false => find_text_cells(&self.decoders, payload, grid),
        }
    }

    fn give<S: ColumnSink>(&self, grid: &Grid<'_>, sink: &mut S) {
        grid.give(sink, |number| Cell { decoder: self.decoders[number], binary: self.binary });
    }
}
