//! Cursors: rows in blocks, rows by number, rows put.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use super::rows::{self, Encoder};
use super::statement::{Prepared, taken};
use super::{SqliSession, Transaction, failures, files, replies};
use crate::database::Mode;
use crate::engine::{Statement, Value, ValueRef};
use crate::errors::{Result, SqlError};
use crate::messages::Message;
use crate::sql::{Action, Column};
use crate::types::Type;
use crate::wire::Output;
use headrace_simulator_common::lock;

/// An open cursor.
pub struct Cursor {
    statement: Statement,
    /// Rows that were read and not sent: the one that did not fit the last block, and those that had to be read early.
    /// Each with its rowid, if this is an update cursor.
    waiting: VecDeque<(Vec<u8>, Option<i64>)>,
    finished: bool,
    rows: i64,
    /// The table of an update cursor.
    update_table: Option<String>,
    /// All rows of a scroll cursor, once they were requested, and the current one.
    all: Option<Vec<Vec<u8>>>,
    position: usize,
}

impl SqliSession {
    pub(super) fn open_cursor(&mut self) -> Result<()> {
        self.start_statement();
        self.save_objects()?;
        self.start_reads()?;
        self.refresh()?;
        let prepared = self.prepared()?;
        let action = prepared.compiled.action.clone();
        let (sql, update_table) = match action {
            Action::Query { update_table: Some(_), .. } if prepared.scroll => return Err(SqlError::new(-526, "")),
            Action::Query { sql, update_table } => (sql, update_table),
            Action::Call { changes, raised, query } => {
                let values = self.parameter_values()?;
                self.call(&changes, raised, &values)?;
                (query.unwrap_or_else(|| "SELECT NULL WHERE 0".to_owned()), None)
            }
            Action::Write { .. } if prepared.compiled.kind == 6 => {
                if self.transaction == Transaction::None && self.opened()?.database.mode == Mode::Logged {
                    return Err(SqlError::new(-265, ""));
                }
                let prepared = self.prepared()?;
                prepared.insert_open = true;
                prepared.put_rows = 0;
                return Ok(());
            }
            _ => return Err(SqlError::new(-410, "")),
        };
        let values = self.parameter_values()?;
        let open = self.opened()?;
        let name = self.statements.get(self.current).and_then(Option::as_ref).map(|it| it.cursor_name.clone());
        if let (Some(name), Some(table)) = (name, &update_table) {
            lock(&open.state.cursors).insert(name, (table.clone(), None));
        }
        let made = Statement::prepare(&open.connection, &sql).and_then(|mut statement| {
            statement.bind(&values)?;
            Ok(statement)
        });
        let statement = made.map_err(|failure| failures::translate(open, &failure, "", false, false))?;
        self.has_changed_rows = false;
        self.prepared()?.cursor = Some(Cursor {
            statement,
            waiting: VecDeque::new(),
            finished: false,
            rows: 0,
            update_table,
            all: None,
            position: 0,
        });
        Ok(())
    }

    pub(super) fn fetch(&mut self, buffer: i32) -> Result<()> {
        self.forget_interrupt();
        let limit = usize::try_from(buffer).unwrap_or(0).max(1);
        let charset = self.charset();
        let open = self.open.as_ref().ok_or_else(|| SqlError::new(-349, ""))?;
        let long_descriptors = self.caps.long_counts();
        let slot = self.statements.get_mut(self.current).and_then(Option::as_mut);
        let prepared = slot.ok_or_else(|| SqlError::new(-410, ""))?;
        let Prepared { compiled, cursor, cursor_name, binary, .. } = prepared;
        let cursor = cursor.as_mut().ok_or_else(|| SqlError::new(-400, ""))?;
        let updating = cursor.update_table.clone();
        let mut encoder = Encoder { charset, binary: false, long_descriptors, blobs: &mut self.blobs };
        let start = self.link.out.len();
        let (mut sent, mut room) = (0, limit);
        loop {
            // WHERE CURRENT OF means the client's row, so an update cursor may not read ahead of it.
            if sent > 0 && updating.is_some() {
                return Ok(());
            }
            let row = self.link.out.len();
            let rowid = match cursor.waiting.pop_front() {
                Some((bytes, rowid)) => {
                    self.link.out.extend_from_slice(&bytes);
                    rowid
                }
                None if cursor.finished => break,
                None => {
                    let more = cursor.statement.step();
                    if !more.map_err(|failure| failures::translate(open, &failure, "", false, false))? {
                        cursor.finished = true;
                        break;
                    }
                    if !lock(&open.state.objects).is_empty() {
                        files::serve(&mut self.link, open, &self.caps)?;
                        // The buffered rows have been sent, and their count with them.
                        room = limit;
                    }
                    cursor.rows += 1;
                    write_row(&mut self.link.out, TUPLE, &mut encoder, (&compiled.columns, binary), &cursor.statement)?;
                    current_row(cursor, compiled.columns.len())
                }
            };
            sent += 1;
            if let (Some(table), Some(rowid)) = (&updating, rowid) {
                lock(&open.state.cursors).insert(cursor_name.clone(), (table.clone(), Some(rowid)));
            }
            if self.link.out.len().saturating_sub(start) > room {
                if sent > 1 {
                    cursor.waiting.push_front((self.link.out.split_off(row), rowid));
                }
                return Ok(());
            }
        }
        let rows = cursor.rows;
        if let Some(table) = updating {
            lock(&open.state.cursors).insert(cursor_name.clone(), (table, None));
        }
        replies::done(&mut self.link.out, &self.caps, 0, rows, 0, 0);
        replies::cost(&mut self.link.out, 1);
        Ok(())
    }

    /// Reads the rest of every open cursor, so that none keeps an old state of the database.
    pub(super) fn drain_cursors(&mut self) -> Result<()> {
        let charset = self.charset();
        let Some(open) = self.open.as_ref() else { return Ok(()) };
        let long_descriptors = self.caps.long_counts();
        for prepared in self.statements.iter_mut().flatten() {
            let Prepared { compiled, cursor: Some(cursor), binary, .. } = prepared else { continue };
            let mut encoder = Encoder { charset, binary: false, long_descriptors, blobs: &mut self.blobs };
            let fail = |failure| failures::translate(open, &failure, "", false, false);
            while !cursor.finished && cursor.statement.step().map_err(fail)? {
                let mut row = Vec::new();
                write_row(&mut row, TUPLE, &mut encoder, (&compiled.columns, binary), &cursor.statement)?;
                let rowid = current_row(cursor, compiled.columns.len());
                cursor.rows += 1;
                cursor.waiting.push_back((row, rowid));
            }
            cursor.finished = true;
            cursor.statement.reset();
        }
        Ok(())
    }

    pub(super) fn scroll_fetch(&mut self, kind: i16, row: i32) -> Result<()> {
        self.forget_interrupt();
        let charset = self.charset();
        let open = self.open.as_ref().ok_or_else(|| SqlError::new(-349, ""))?;
        let long_descriptors = self.caps.long_counts();
        let slot = self.statements.get_mut(self.current).and_then(Option::as_mut);
        let prepared = slot.ok_or_else(|| SqlError::new(-410, ""))?;
        let Prepared { compiled, cursor, binary, .. } = prepared;
        let cursor = cursor.as_mut().ok_or_else(|| SqlError::new(-400, ""))?;
        if cursor.all.is_none() {
            let mut encoder = Encoder { charset, binary: false, long_descriptors, blobs: &mut self.blobs };
            let mut all: Vec<Vec<u8>> = cursor.waiting.drain(..).map(|(row, _)| row).collect();
            let fail = |failure| failures::translate(open, &failure, "", false, false);
            while !cursor.finished && cursor.statement.step().map_err(fail)? {
                let mut row = Vec::new();
                write_row(&mut row, TUPLE, &mut encoder, (&compiled.columns, binary), &cursor.statement)?;
                all.push(row);
            }
            cursor.finished = true;
            cursor.all = Some(all);
        }
        let Some(all) = &cursor.all else { return Ok(()) };
        let wanted = match kind {
            1 if row > 0 => i64::from(row),
            1 => cursor.position as i64 + 1,
            2 => 1,
            3 => cursor.position as i64 - 1,
            4 => all.len() as i64,
            5 => cursor.position as i64 + i64::from(row),
            6 => i64::from(row),
            _ => return Err(SqlError::unsupported(format!("SQ_SFETCH of kind {kind}"))),
        };
        // Beyond either end the cursor is before the first row or after the last.
        cursor.position = wanted.clamp(0, all.len() as i64 + 1) as usize;
        match usize::try_from(wanted - 1).ok().and_then(|index| all.get(index)) {
            Some(row) => {
                self.link.out.put_u16(25);
                self.link.out.put_i32(wanted as i32);
                self.link.out.extend_from_slice(row);
            }
            None => {
                replies::done(&mut self.link.out, &self.caps, 0, 0, 0, 0);
                replies::cost(&mut self.link.out, 1);
            }
        }
        Ok(())
    }

    pub(super) fn close_cursor(&mut self) -> Result<()> {
        let prepared = self.prepared()?;
        let name = std::mem::take(&mut prepared.cursor_name);
        let was_open = prepared.cursor.take().is_some() || std::mem::take(&mut prepared.insert_open);
        let free = prepared.auto_free && was_open;
        if free {
            self.statements[self.current] = None;
        }
        if let Some(open) = &self.open {
            lock(&open.state.cursors).remove(&name);
        }
        // The bytes of descriptors stay as long as any cursor may have shown them.
        if self.statements.iter().flatten().all(|prepared| prepared.cursor.is_none()) {
            self.blobs.clear();
        }
        Ok(())
    }

    /// Ends the cursors that a transaction takes with it.
    pub(super) fn close_unheld_cursors(&mut self, all: bool) {
        for prepared in self.statements.iter_mut().flatten() {
            if all || !prepared.hold {
                prepared.cursor = None;
                prepared.insert_open = false;
            }
        }
    }

    /// The rest of SQ_PUT. The length is that of one row, each of which is padded: if all have the same width, a client
    /// sends several in one message; otherwise it sends one at a time.
    pub(super) fn read_put(&mut self, length: usize, rows: u16) -> io::Result<Message> {
        let mut bytes = Vec::new();
        for _ in 0..rows {
            bytes.extend_from_slice(&self.link.input.padded(length)?);
        }
        Ok(Message::Put { rows, bytes })
    }

    pub(super) fn put(&mut self, rows: u16, bytes: &[u8]) -> Result<()> {
        let (charset, foreign_dates) = (self.charset(), self.foreign_dates);
        let prepared = self.prepared()?;
        if !prepared.insert_open {
            return Err(SqlError::new(-400, ""));
        }
        let plan = match (&prepared.put_plan, &prepared.compiled.action) {
            (Some(plan), _) => Rc::clone(plan),
            (None, Action::Write { sql, table, .. }) => {
                let plan = Rc::new((sql.clone(), table.clone(), prepared.compiled.parameters.clone()));
                prepared.put_plan = Some(Rc::clone(&plan));
                plan
            }
            _ => return Err(SqlError::new(-410, "")),
        };
        let (sql, table, types) = &*plan;
        if types.is_empty() {
            return Err(SqlError::new(-481, ""));
        }
        let read = rows::read_rows(bytes, rows, types, charset);
        let read = read.map_err(|error| SqlError::unsupported(format!("SQ_PUT: {error}")))?;
        let mut done = 0;
        for row in read {
            let values = row
                .into_iter()
                .zip(types)
                .map(|(bound, ty): (_, &Type)| taken(bound, *ty, charset, foreign_dates))
                .collect::<Result<Vec<Value>>>();
            let changed = values.and_then(|values| {
                self.prepared()?.values = values;
                self.write(sql, table, false)
            });
            if let Err(error) = changed {
                let total = self.prepared()?.put_rows as i32;
                self.put_error(total, &error);
                self.failed = true;
                return Ok(());
            }
            done += 1;
            self.prepared()?.put_rows += 1;
        }
        replies::done(&mut self.link.out, &self.caps, 0, done, 0, 0);
        Ok(())
    }

    fn put_error(&mut self, rows: i32, error: &SqlError) {
        self.link.out.put_u16(18);
        self.link.out.put_i32(rows);
        self.link.out.put_i16(error.code);
        self.link.out.put_i16(error.isam);
        self.link.out.put_i32(error.offset);
        let text = self.charset().encode(&error.text).into_owned();
        self.link.out.put_chars(&text);
    }
}

/// The rowid of the current row of an update cursor, which follows its columns.
fn current_row(cursor: &Cursor, columns: usize) -> Option<i64> {
    match cursor.statement.value(columns) {
        ValueRef::Integer(rowid) if cursor.update_table.is_some() => Some(rowid),
        _ => None,
    }
}

const TUPLE: u16 = 14;

/// Appends a SQ_TUPLE, or a message of the same form: `columns` are described, with those that are sent in binary form.
pub(super) fn write_row(
    out: &mut Vec<u8>,
    tag: u16,
    encoder: &mut Encoder<'_>,
    columns: (&[Column], &[bool]),
    statement: &Statement,
) -> Result<()> {
    let start = out.len();
    let (columns, binary) = columns;
    out.put_u16(tag);
    out.extend_from_slice(&[0; 6]);
    for (index, column) in columns.iter().enumerate() {
        encoder.binary = binary.get(index).copied().unwrap_or(false);
        if let Err(error) = encoder.value(out, column.ty, statement.value(index)) {
            out.truncate(start);
            return Err(error);
        }
    }
    let size = out.len() - start - 8;
    out[start + 4..start + 8].copy_from_slice(&(size as i32).to_be_bytes());
    if size % 2 == 1 {
        out.push(0);
    }
    Ok(())
}
