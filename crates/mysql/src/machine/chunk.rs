//! Rows of a batch that travel together: COM_STMT_BULK_EXECUTE, or the text of one INSERT.

use super::send::count_mismatch;
use crate::packets::command::{self, BULK_SEND_TYPES, Command, INDICATOR_NONE, INDICATOR_NULL, ParamType};
use crate::sql::Insert;
use crate::types::{ColumnType, Lists, encode_param, splice_literal};
use headrace_core::Parameters;
use std::ops::Range;

/// The buffer of rows that travel together.
#[derive(Debug)]
pub(super) enum Frame {
    /// COM_STMT_BULK_EXECUTE of a statement with this number of parameters.
    Bulk { statement_id: u32, params: usize, lists: Lists },
    /// The text of an INSERT.
    Insert { insert: Insert, lists: Lists },
}

/// Encoded rows. Each can also be sent alone, to find the one that the server does not take.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    body: Vec<u8>,
    /// The end of each row.
    ends: Vec<usize>,
    /// The types that all of its rows share; `None` for parameters that have been NULL so far.
    types: Vec<Option<ParamType>>,
    /// The number of its first row in the batch.
    pub first: u64,
}

impl Chunk {
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Appends a row. `Some` is a new chunk with the row in it, if its types are not those of the rows before: the
    /// types are sent once, before all rows.
    pub fn push<P: Parameters>(&mut self, frame: &Frame, params: &P, number: u64) -> Result<Option<Chunk>, P::Error> {
        if self.ends.is_empty() {
            self.first = number;
        }
        let start = self.body.len();
        let pushed = match frame {
            Frame::Bulk { params: expected, lists, .. } => self.push_values(*expected, params, *lists),
            Frame::Insert { insert, lists } => self.push_text(insert, params, *lists).map(|()| Vec::new()),
        };
        let types = match pushed {
            Ok(types) => types,
            Err(error) => {
                self.body.truncate(start);
                return Err(error);
            }
        };
        let agree = |(own, new): (&Option<ParamType>, &Option<ParamType>)| own.is_none() || new.is_none() || own == new;
        if !self.types.iter().zip(&types).all(agree) {
            let body = self.body.split_off(start);
            return Ok(Some(Chunk { ends: vec![body.len()], body, types, first: number }));
        }
        if self.types.is_empty() {
            self.types = types;
        } else {
            self.types.iter_mut().zip(types).for_each(|(own, new)| *own = own.or(new));
        }
        self.ends.push(self.body.len());
        Ok(None)
    }

    /// Each value after a byte that indicates whether it is NULL. MariaDB: "COM_STMT_BULK_EXECUTE".
    fn push_values<P: Parameters>(
        &mut self,
        expected: usize,
        params: &P,
        lists: Lists,
    ) -> Result<Vec<Option<ParamType>>, P::Error> {
        if params.count() != expected {
            return Err(count_mismatch(expected, params.count()).into());
        }
        let mut types = Vec::with_capacity(expected);
        for i in 0..expected {
            let indicator = self.body.len();
            self.body.push(INDICATOR_NONE);
            let kind = encode_param(&params.get(i)?, || lists, &mut self.body)?;
            if kind.is_none() {
                self.body[indicator] = INDICATOR_NULL;
            }
            types.push(kind);
        }
        Ok(types)
    }

    fn push_text<P: Parameters>(&mut self, insert: &Insert, params: &P, lists: Lists) -> Result<(), P::Error> {
        if !self.ends.is_empty() {
            self.body.push(b',');
        }
        splice(&insert.row, params, lists, &mut self.body)
    }

    /// Appends the payload of the command that executes `rows` of it.
    pub fn write(&self, frame: &Frame, rows: Range<usize>, out: &mut Vec<u8>) {
        let separator = usize::from(matches!(frame, Frame::Insert { .. }));
        let start = rows.start.checked_sub(1).map_or(0, |before| self.ends[before] + separator);
        let end = rows.end.checked_sub(1).map_or(start, |last| self.ends[last]);
        let body = &self.body[start..end];
        match frame {
            Frame::Bulk { statement_id, .. } => {
                debug_assert_eq!(BULK_SEND_TYPES, 128);
                let unknown = [ColumnType::VAR_STRING.0, 0];
                let types: Vec<ParamType> = self.types.iter().map(|kind| kind.unwrap_or(unknown)).collect();
                command::bulk_head(out, *statement_id, &types);
                out.extend_from_slice(body);
            }
            Frame::Insert { insert, .. } => {
                out.push(Command::Query as u8);
                out.extend_from_slice(insert.prefix.as_bytes());
                out.extend_from_slice(body);
                out.extend_from_slice(insert.suffix.as_bytes());
            }
        }
    }
}

/// Appends the text of a row: literals between the pieces.
fn splice<P: Parameters>(pieces: &[String], params: &P, lists: Lists, out: &mut Vec<u8>) -> Result<(), P::Error> {
    let expected = pieces.len().saturating_sub(1);
    if params.count() != expected {
        return Err(count_mismatch(expected, params.count()).into());
    }
    for (i, around) in pieces.windows(2).enumerate() {
        out.extend_from_slice(around[0].as_bytes());
        splice_literal(&params.get(i)?, lists, around[1].as_bytes(), out)?;
    }
    out.extend_from_slice(pieces.last().map_or(&[], |piece| piece.as_bytes()));
    Ok(())
}
