//! A batch of INSERTs that a COPY cannot take, with expressions or ON CONFLICT, that goes on as statements of many rows.
//!
//! The first rows are executed one by one, and then the catalogue is asked, as for a COPY (`batch_copy.rs`). From there on
//! rows are encoded as they always are, but kept until there are as many as a statement has; a statement of many rows has
//! the same parameters as many times, of the types that the server has chosen for the one row. Rows that are too few, as
//! at the end, too large, or of other types are sent one by one. So nothing depends on what a row's values are.
//!
//! An error of such a statement names no row, and may be about its having many rows: ON CONFLICT DO UPDATE does not update
//! a row twice. So the batch is undone then, and its rows are executed one by one. That needs rows that can be read again,
//! and a transaction that begins with the batch, or a savepoint.

use super::answer::Saved;
use super::batch_table::Bulk;
use super::bind::check_count;
use super::control::Nesting;
use super::pending::{PendingRequest, Stage};
use super::stage::{RequestEvent, Unsent};
use super::statement::Statement;
use super::work::{BulkProgress, Preparation, Source, Work};
use super::{Machine, PgHandler};
use crate::limits;
use crate::messages::frontend;
use crate::sql::JoinableInsert;
use crate::types::Format;
use headrace_core::verb::Verb;
use headrace_core::{Parameters, ResponseHandler, WriteBuffer};
use std::sync::Arc;

/// The savepoint that a batch within a transaction goes back to.
const SAVEPOINT: &str = "headrace_batch";

/// A batch that sends statements of many rows.
#[derive(Debug)]
pub(super) struct MultiRowInsert {
    insert: JoinableInsert,
    /// The rows of a statement.
    rows: usize,
    /// The statements of many rows: their names, by the statements of one row that they are made of.
    prepared: Vec<(Arc<Statement>, String)>,
    /// The format of each parameter that is kept.
    formats: Vec<u8>,
    /// The parameters that are kept, with their lengths.
    values: Vec<u8>,
    /// The end of each row in `values`.
    ends: Vec<usize>,
}

impl MultiRowInsert {
    fn new(insert: JoinableInsert) -> Self {
        let rows = rows_of(&insert);
        Self { insert, rows, prepared: Vec::new(), formats: Vec::new(), values: Vec::new(), ends: Vec::new() }
    }

    /// Keeps a row.
    ///
    /// # Errors
    /// That of a value; nothing of the row is kept then.
    fn keep<P: Parameters>(&mut self, row: &P, statement: &Statement) -> Result<(), P::Error> {
        let (formats, values) = (self.formats.len(), self.values.len());
        let mut write = || {
            for (i, encoder) in statement.encoders.iter().enumerate() {
                let format = encoder.encode_param(&row.get(i)?, &mut self.values)?;
                self.formats.push(u8::from(format == Format::Binary));
            }
            Ok(())
        };
        let written = write();
        match &written {
            Ok(()) => self.ends.push(self.values.len()),
            Err(_) => {
                self.formats.truncate(formats);
                self.values.truncate(values);
            }
        }
        written
    }

    fn clear(&mut self) {
        self.formats.clear();
        self.values.clear();
        self.ends.clear();
    }
}

impl Preparation {
    /// Returns true if rows are kept for a statement of many. The types of all parameters have to be known.
    #[inline]
    pub(super) fn joins(&self) -> bool {
        self.joined.is_some()
            && self.source.as_ref().is_some_and(|source| {
                let statement = source.statement();
                !matches!(source, Source::Blind(_)) && !statement.name.is_empty() && statement.columns.is_none()
            })
    }
}

impl<H: PgHandler> Machine<H> {
    /// Keeps the current row of the batch `at`, and sends those that are kept once they are enough.
    ///
    /// # Errors
    /// That of a value.
    pub(super) fn keep_row(
        &mut self,
        at: usize,
        statement: &Arc<Statement>,
        cx: H::Context<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), H::Error> {
        let PendingRequest { work: Work::Statement(preparation), slot, .. } = &mut self.queue[at] else {
            return Ok(());
        };
        let (Some(joined), Some(handler)) = (&mut preparation.joined, &mut slot.handler) else { return Ok(()) };
        {
            let row = handler.params(cx);
            check_count(statement, row.count())?;
            joined.keep(&row, statement)?;
        }
        let (is_whole, is_large) = (joined.ends.len() >= joined.rows, joined.values.len() >= limits::JOINED_BYTES);
        if is_whole {
            self.send_joined(at, statement, write_buffer);
        } else if is_large {
            self.send_kept(at, write_buffer);
        }
        Ok(())
    }

    /// Sends the rows that are kept as one statement, which is prepared if it is the first of its kind.
    fn send_joined(&mut self, at: usize, statement: &Arc<Statement>, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Some(joined) = pending.preparation_mut().and_then(|preparation| preparation.joined.as_mut()) else {
            return;
        };
        let known = joined.prepared.iter().position(|(of, _)| Arc::ptr_eq(of, statement));
        if known.is_none() && joined.prepared.len() >= limits::JOINED_STATEMENTS {
            self.send_kept(at, write_buffer);
            return;
        }
        let out = write_buffer.tail();
        let known = known.unwrap_or_else(|| {
            let name = self.names_of_statements.next_name();
            frontend::parse(out, &name, &joined.insert.of_rows(joined.rows), &statement.parameters.repeat(joined.rows));
            // The Close is sent once the batch has ended.
            self.statements.close_name(name.clone());
            joined.prepared.push((statement.clone(), name));
            joined.prepared.len() - 1
        });
        frontend::bind_encoded(out, &joined.prepared[known].1, &joined.formats, &joined.values);
        frontend::execute(out, "", 0);
        let rows = joined.ends.len() as u64;
        joined.clear();
        pending.answer.owe_joined(rows);
    }

    /// Sends the rows that are kept one by one.
    pub(super) fn send_kept(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Some(preparation) = pending.preparation_mut() else { return };
        let Some(statement) = preparation.statement().cloned() else { return };
        let Some(joined) = preparation.joined.as_mut().filter(|joined| !joined.ends.is_empty()) else { return };
        let out = write_buffer.tail();
        let count = statement.encoders.len();
        let mut from = 0;
        for (row, end) in joined.ends.iter().enumerate() {
            let formats = &joined.formats[row * count..(row + 1) * count];
            frontend::bind_encoded(out, &statement.name, formats, &joined.values[from..*end]);
            frontend::execute(out, "", 0);
            from = *end;
        }
        let rows = joined.ends.len() as u64;
        joined.clear();
        pending.answer.owed += rows;
    }

    /// Returns true if the batch `at`, the first request, can be undone and repeated, whatever of it was sent.
    pub(super) fn can_be_undone(&self, at: usize) -> bool {
        let slot = &self.queue[at].slot;
        at == 0 && slot.may_repeat() && slot.handler.as_ref().is_some_and(ResponseHandler::rereads)
    }

    /// The catalogue has answered for the first request: keeps the next rows for statements of many if it allows them.
    pub(super) fn join(&mut self, write_buffer: &mut WriteBuffer) {
        let Some(pending) = self.queue.first_mut() else { return };
        let joins = pending.slot.handler.is_some() && pending.catalogue_rows().is_some_and(|rows| !rows.is_empty());
        let event = if joins { RequestEvent::JoinBegun } else { RequestEvent::TableDiffers };
        let checked = pending.go(event, Stage::Sending { unsent: Unsent::Nothing });
        let Some(preparation) = pending.preparation_mut() else { return };
        preparation.bulk = BulkProgress::Decided;
        match checked {
            Stage::CheckingTable { bulk, .. } if joins => {
                if let Bulk::Joined(insert) = *bulk {
                    preparation.joined = Some(Box::new(MultiRowInsert::new(insert)));
                }
            }
            _ => self.release(0, write_buffer),
        }
    }

    /// Sets the savepoint that the batch `at` goes back to, if a transaction was open before it.
    pub(super) fn save(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        if !self.transaction.is_open() {
            return;
        }
        let answer = &mut self.queue[at].answer;
        answer.saved = Some(Saved { rows: answer.owed, affected: 0, is_set: false });
        statement_without_result(&format!("SAVEPOINT {SAVEPOINT}"), write_buffer);
        self.portals.nest(Nesting::Savepoint(Some(SAVEPOINT.to_owned())));
    }

    /// Releases the savepoint of the batch `at`.
    pub(super) fn release(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let answer = &mut self.queue[at].answer;
        if answer.saved.take().is_some() {
            answer.releases = true;
            statement_without_result(&format!("RELEASE SAVEPOINT {SAVEPOINT}"), write_buffer);
            self.portals.nest(Nesting::Release(Some(SAVEPOINT.to_owned())));
        }
    }
}

/// The verb that undoes what a batch has done since its savepoint.
pub(super) fn back_to_batch() -> Verb {
    Verb::RollbackTo(SAVEPOINT.into())
}

/// Returns true if it is this verb.
pub(super) fn is_back_to_batch(verb: &Verb) -> bool {
    matches!(verb, Verb::RollbackTo(name) if **name == *SAVEPOINT)
}

/// The rows of a statement of many.
fn rows_of(insert: &JoinableInsert) -> usize {
    let most = limits::JOINED_ROWS.min(limits::JOINED_PARAMETERS / insert.count);
    most.min(limits::JOINED_SQL_BYTES / insert.row_bytes())
}

/// Returns true if the rows of a statement of many would be enough for it to pay.
pub(super) fn pays(insert: &JoinableInsert) -> bool {
    rows_of(insert) >= limits::JOINED_ROWS_FEWEST
}

/// Sends a statement without parameters and rows.
fn statement_without_result(sql: &str, write_buffer: &mut WriteBuffer) {
    let out = write_buffer.tail();
    frontend::parse(out, "", sql, &[]);
    frontend::bind_empty(out, "", "");
    frontend::execute(out, "", 0);
}
