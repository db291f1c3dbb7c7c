//! Batches: many rows of parameters by EXECUTE_ARRAY, or the texts of many statements by EXECUTE_BATCH.
//!
//! The server executes all rows of a request, also those after one that fails. An atomic batch therefore has a guard:
//! inside a transaction block a savepoint, outside of one a transaction of its own.

use super::joined::{MultiRowInsert, Repeated};
use super::pending::{Failure, PendingRequest};
use super::request::{Execute, ParameterRows, Request};
use super::send::check_text;
use super::stage::{RequestEvent, Stage};
use super::statement::Statement;
use super::{BatchReply, CasHandler, Expect, Machine};
use crate::errors::{cas, dbms};
use crate::lexer;
use crate::limits;
use crate::messages::client::put_text;
use crate::messages::server::{BatchResults, Executed, Origin, ServerError};
use crate::messages::{Reader, client, savepoint, tran};
use crate::types::encode::{coded, encode_row};
use headrace_core::{CodeSet, Epoch, Fatal, Mismatch, Parameters, Reported, Value, ValueKind, WriteBuffer};
use std::sync::Arc;

/// The savepoint of a batch.
pub(super) const SAVEPOINT: &[u8] = b"headrace_batch";

/// A batch that has begun.
#[derive(Debug)]
pub(super) struct Batch {
    /// Of one row.
    pub statement: Arc<Statement>,
    /// With many rows.
    pub joined: MultiRowInsert,
    pub atomic: bool,
    /// Rows that are encoded, and not sent.
    pub encoded: Encoded,
    /// The response handler has no more rows, or has failed.
    pub is_exhausted: bool,
    /// Rows that were sent.
    pub sent: u64,
    /// Rows that were changed.
    pub affected: u64,
    /// The server does not execute the statement before it is prepared again.
    pub is_stale: bool,
    /// A statement with many rows has failed, which are being sent one by one.
    pub repeated: Option<Repeated>,
    /// Each row is the text of a statement.
    is_texts: bool,
    /// One of the texts changes definitions.
    has_redefined: bool,
}

impl Batch {
    fn new(statement: Arc<Statement>, joined: MultiRowInsert, atomic: bool) -> Self {
        Self {
            statement,
            joined,
            atomic,
            encoded: Encoded::default(),
            is_exhausted: false,
            sent: 0,
            affected: 0,
            is_stale: false,
            repeated: None,
            is_texts: false,
            has_redefined: false,
        }
    }

    /// A batch of texts.
    pub fn of_texts(epoch: Epoch) -> Self {
        Self { is_texts: true, ..Self::new(Arc::new(Statement::of_texts(epoch)), MultiRowInsert::None, true) }
    }
}

/// Encoded rows.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub bytes: Vec<u8>,
    /// The end of each row.
    pub ends: Vec<usize>,
    /// Values that were sent as JSON, in the row with the most of them.
    pub documents: usize,
}

impl Encoded {
    /// Takes the first rows out.
    pub fn take(&mut self, rows: usize) -> Self {
        let Some(&end) = rows.checked_sub(1).and_then(|last| self.ends.get(last)) else { return Self::default() };
        let bytes = self.bytes.drain(..end).collect();
        let ends = self.ends.drain(..rows).collect();
        self.ends.iter_mut().for_each(|rest| *rest -= end);
        Self { bytes, ends, documents: self.documents }
    }

    /// Returns true if a request has room for one row more.
    fn has_room(&self) -> bool {
        self.ends.len() < limits::CHUNK_ROWS
            && self.bytes.len() < limits::CHUNK_BYTES
            && (self.ends.len() + 1) * self.documents <= limits::DOCUMENTS
    }

    /// The rows of a range.
    pub fn part(&self, rows: std::ops::Range<usize>) -> Self {
        let start = rows.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        let ends: Vec<usize> = self.ends[rows].iter().map(|end| end - start).collect();
        let bytes = self.bytes[start..start + ends.last().copied().unwrap_or(0)].to_vec();
        Self { bytes, ends, documents: self.documents }
    }
}

impl<H: CasHandler> Machine<H> {
    /// The statement of the request that was started last is known: begins its batch.
    pub(super) fn begin_batch(&mut self, at: usize, statement: Arc<Statement>, write_buffer: &mut WriteBuffer) {
        let request = &self.queue[at].request;
        let Request::Execute(Execute { rows: ParameterRows::Batch { strategy, atomic }, .. }) = *request else {
            return;
        };
        let joined = MultiRowInsert::of(&statement, strategy);
        self.start_batch(at, Batch::new(statement, joined, atomic), write_buffer);
    }

    /// Begins a batch.
    pub(super) fn start_batch(&mut self, at: usize, batch: Batch, write_buffer: &mut WriteBuffer) {
        let (pending, atomic) = (&mut self.queue[at], batch.atomic);
        pending.go(RequestEvent::BatchBegun, Stage::Sending(Box::new(batch)));
        if atomic && pending.in_block {
            client::savepoint(write_buffer.tail(), self.info, savepoint::SET, SAVEPOINT);
            self.expect(Expect::Batch(BatchReply::Guard));
        }
    }

    /// Sends the next rows; returns true if it did, or if no more will be sent.
    pub(super) fn send_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        let in_flight = self.expects.iter().filter(|expect| **expect != Expect::Batch(BatchReply::JoinedGuard)).count();
        if in_flight >= limits::CHUNKS_IN_FLIGHT || self.prepares_joined(at) {
            return false;
        }
        let codeset = self.options.codeset;
        let pending = &mut self.queue[at];
        if pending.slot.handler.is_none() {
            pending.drain(RequestEvent::RowsSent);
            return true;
        }
        // Of a batch that has begun, the rows before one that fails are sent also if they will be undone: the server may
        // refuse an earlier one.
        match encode_rows(pending, codeset, cx, write_buffer) {
            Encoding::Ended => {}
            Encoding::Stopped => return false,
            Encoding::Failed(failure) => {
                pending.slot.fail_row(failure);
                if let Some(batch) = pending.batch_mut().filter(|batch| batch.atomic && batch.sent == 0) {
                    batch.encoded = Encoded::default();
                }
            }
        }
        if self.send_joined(at, write_buffer) {
            return true;
        }
        let pending = &mut self.queue[at];
        let Some(batch) = pending.batch_mut() else { return false };
        let rows = std::mem::take(&mut batch.encoded);
        let (handle, first, is_exhausted) = (batch.statement.handle, batch.sent, batch.is_exhausted);
        let is_texts = batch.is_texts;
        batch.sent += rows.ends.len() as u64;
        if is_exhausted {
            pending.drain(RequestEvent::RowsSent);
        }
        match is_texts {
            true => self.send_texts(first, &rows, write_buffer),
            false => self.send_array(handle, first, &rows, write_buffer),
        }
        true
    }

    /// Sends texts.
    fn send_texts(&mut self, first: u64, texts: &Encoded, write_buffer: &mut WriteBuffer) {
        if texts.ends.is_empty() {
            return;
        }
        // Without the autocommit byte: the server would commit each statement.
        let mut request = client::execute_batch(write_buffer.tail(), self.info, self.query_timeout_millis, false);
        request.arguments().extend_from_slice(&texts.bytes);
        request.end();
        self.expect(Expect::Batch(BatchReply::Texts { first, rows: texts.ends.len() }));
    }

    /// Sends rows to the statement of one row.
    pub(super) fn send_array(&mut self, handle: i32, first: u64, rows: &Encoded, write_buffer: &mut WriteBuffer) {
        if rows.ends.is_empty() {
            return;
        }
        if rows.bytes.is_empty() {
            return self.send_each(handle, first..first + rows.ends.len() as u64, write_buffer);
        }
        // Without the autocommit byte: the server would commit each row.
        let mut request =
            client::execute_array(write_buffer.tail(), self.info, handle, self.query_timeout_millis, false);
        request.arguments().extend_from_slice(&rows.bytes);
        request.end();
        self.expect(Expect::Batch(BatchReply::Array { first, rows: rows.ends.len() }));
    }

    /// Executes a statement without parameters for each row: EXECUTE_ARRAY would do nothing.
    fn send_each(&mut self, handle: i32, rows: std::ops::Range<u64>, write_buffer: &mut WriteBuffer) {
        let execute = client::Execute {
            handle,
            flags: 0,
            fetch: false,
            autocommit: false,
            forward_only: true,
            timeout_millis: self.query_timeout_millis,
            returned: 0,
        };
        for row in rows {
            execute.begin(write_buffer.tail(), self.info).end();
            self.expect(Expect::Batch(BatchReply::Each { row }));
        }
    }

    /// The reply to one row of a statement without parameters.
    pub(super) fn each_reply(&mut self, row: u64, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let error = match reply {
            Ok(mut reader) => {
                let changed = Executed::read(&mut reader)?.count;
                reader.end()?;
                if let Some(batch) = pending.batch_mut() {
                    batch.affected += u64::try_from(changed).unwrap_or(0);
                }
                return Ok(());
            }
            Err(error) => error,
        };
        if let Some(batch) = pending.batch_mut() {
            batch.is_stale |= is_stale(&error);
        }
        pending.slot.fail_row(Failure::Server { error, row: Some(row) });
        pending.drain(RequestEvent::RowFailed);
        Ok(())
    }

    /// The reply to some rows, or, if `typed`, to some texts.
    pub(super) fn array_reply(
        &mut self,
        (first, rows): (u64, usize),
        typed: bool,
        reply: Result<Reader<'_>, ServerError>,
    ) -> Result<(), Fatal> {
        let results = match reply {
            Ok(mut reader) => Ok(BatchResults::read(&mut reader, typed)?.items),
            Err(error) => Err(error),
        };
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let failure: Option<Failure<H>> = match results {
            Err(error) => {
                if let Some(batch) = pending.batch_mut() {
                    batch.is_stale = is_stale(&error) || error.code == cas::ARGS;
                }
                Some(Failure::Server { error, row: None })
            }
            Ok(items) if items.len() > rows => {
                return Err(Fatal::peer(format!("the server sent {} results of {rows} rows", items.len())));
            }
            Ok(items) => {
                let count = items.len();
                let mut failure = None;
                for (at, item) in items.into_iter().enumerate() {
                    match item.result {
                        Ok(changed) => {
                            if let Some(batch) = pending.batch_mut() {
                                batch.affected += u64::try_from(changed).unwrap_or(0);
                            }
                        }
                        Err(error) if failure.is_none() => {
                            if let Some(batch) = pending.batch_mut() {
                                batch.is_stale |= first + at as u64 == 0 && is_outdated(&error);
                            }
                            failure = Some(Failure::Server { error, row: Some(first + at as u64) });
                        }
                        Err(_) => {}
                    }
                }
                // An interrupt ends the request early.
                let row = Some(first + count as u64);
                failure.or_else(|| (count < rows).then(|| Failure::Server { error: ServerError::interrupted(), row }))
            }
        };
        let ended = match &failure {
            Some(Failure::Server { error, .. }) if error.ends_session() => Some(error.clone()),
            _ => None,
        };
        if let Some(failure) = failure {
            pending.slot.fail_row(failure);
            pending.drain(RequestEvent::RowFailed);
        }
        ended.map_or(Ok(()), |error| Err(self.session_ended(error)))
    }

    /// Every reply has come: sends the end of the guard. Returns true unless it has to wait.
    pub(super) fn end_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        if self.queue.is_paused() || self.queue[at].replies_due > 0 {
            return false;
        }
        if self.repeat_joined(at, write_buffer) {
            return true;
        }
        let pending = &mut self.queue[at];
        let Some(batch) = pending.batch_mut() else { return false };
        let (atomic, affected, sent, has_redefined) = (batch.atomic, batch.affected, batch.sent, batch.has_redefined);
        if batch.is_stale && affected == 0 && pending.is_cached && pending.slot.may_repeat() {
            let rewound = pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx));
            if rewound {
                self.forget_joined(at);
                self.again(at);
                return true;
            }
        }
        if self.queue[at].slot.failure.is_some() {
            self.forget_failed(at);
        }
        let pending = &mut self.queue[at];
        let is_undone = atomic && (pending.slot.failure.is_some() || pending.slot.handler.is_none());
        pending.affected = Some(affected);
        pending.has_redefined = has_redefined;
        pending.is_undone = is_undone;
        pending.go(RequestEvent::BatchEnded, Stage::Sent);
        if !pending.in_block {
            if sent > 0 {
                let operation = if is_undone { tran::ROLLBACK } else { tran::COMMIT };
                client::end_tran(write_buffer.tail(), self.info, operation);
                self.expect(Expect::Batch(BatchReply::BatchEnd));
            }
        } else if is_undone && self.transaction.reported() != Reported::Failed {
            client::savepoint(write_buffer.tail(), self.info, savepoint::ROLLBACK, SAVEPOINT);
            self.expect(Expect::Batch(BatchReply::BatchEnd));
        }
        self.complete(cx, write_buffer);
        true
    }
}

/// How encoding rows has ended.
enum Encoding<H: CasHandler> {
    /// There are enough for a request, or no more.
    Ended,
    /// Somebody else has their turn, and more are encoded after it.
    Stopped,
    /// A row cannot be sent.
    Failed(Failure<H>),
}

/// Encodes rows until there are enough for one request.
fn encode_rows<H: CasHandler>(
    pending: &mut PendingRequest<H>,
    codeset: CodeSet,
    cx: H::Context<'_>,
    write_buffer: &mut WriteBuffer,
) -> Encoding<H> {
    let (Some(handler), Stage::Sending(batch)) = pending.handler_and_stage() else { return Encoding::Ended };
    let (parameters, is_texts) = (batch.statement.parameters, batch.is_texts);
    let begun = batch.encoded.bytes.len();
    // One row has room in every request.
    while !batch.is_exhausted && (batch.encoded.ends.is_empty() || batch.encoded.has_room()) {
        let Encoded { bytes, ends, documents } = &mut batch.encoded;
        let before = bytes.len();
        if write_buffer.stop_at(before - begun) {
            return Encoding::Stopped;
        }
        let encoded = match handler.next_row(cx) {
            Ok(false) => {
                batch.is_exhausted = true;
                break;
            }
            Ok(true) => {
                let params = handler.params(cx);
                match params.count() == parameters {
                    true if is_texts => encode_text(&params, codeset, bytes).map(|effect| {
                        batch.has_redefined |= effect == lexer::Effect::ChangesDefinitions;
                    }),
                    true => encode_row(&params, codeset, &batch.statement.casts, bytes).map(|count| {
                        *documents = count.max(*documents);
                    }),
                    false => Err(super::send::count_mismatch(parameters, params.count(), &batch.statement.sql).into()),
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = encoded {
            bytes.truncate(before);
            batch.is_exhausted = true;
            return Encoding::Failed(Failure::Client { error, row: Some(batch.sent + ends.len() as u64) });
        }
        ends.push(bytes.len());
    }
    Encoding::Ended
}

/// Appends the text of a statement, and returns its effect.
fn encode_text<P: Parameters>(params: &P, codeset: CodeSet, out: &mut Vec<u8>) -> Result<lexer::Effect, P::Error> {
    let value = params.get(0)?;
    if value.kind() != ValueKind::Text {
        return Err(Mismatch::wrong_type("a statement of a batch is a text").into());
    }
    let effect = value.with_text(|text| {
        let sql = std::str::from_utf8(text).map_err(|_| Mismatch::wrong_type("a statement is not UTF-8"))?;
        check_text(sql)?;
        put_text(&coded(text, codeset)?, out);
        Ok::<_, Mismatch>(lexer::Facts::of(sql).effect)
    })??;
    Ok(effect)
}

/// Returns true if the server may have refused a row only because its column is another one than when the statement was
/// prepared.
fn is_outdated(error: &ServerError) -> bool {
    error.origin == Origin::Dbms && error.code == dbms::SEMANTIC
}

/// Returns true if the server has refused a prepared statement before it executed anything of it.
pub(super) fn is_stale(error: &ServerError) -> bool {
    error.origin == Origin::Cas && matches!(error.code, cas::STMT_POOLING | cas::SRV_HANDLE)
}
