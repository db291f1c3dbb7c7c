//! Batches of INSERTs whose rows are joined: a statement with many rows takes a twentieth of the time that EXECUTE_ARRAY
//! takes for as many statements of one row.
//!
//! A row that fails undoes its whole statement, and the error does not name it. The rows of the statement
//! are then sent one by one, which finds it and, if the batch is not atomic, applies the others. The server has executed
//! the statements after it meanwhile, whose rows may be what the rows of this one are refused for: in an atomic batch
//! each request with joined rows has a savepoint before it, to which the transaction is rolled back first.

use super::batch::{Encoded, SAVEPOINT, is_stale};
use super::pending::Failure;
use super::request::BatchStrategy;
use super::stage::RequestEvent;
use super::statement::Statement;
use super::{BatchReply, CasHandler, Expect, Machine};
use crate::errors::dbms;
use crate::lexer::OneRow;
use crate::limits;
use crate::limits::JOINED_PARAMETERS;
use crate::limits::JOINED_ROWS;
use crate::limits::JOINED_ROWS_FEWEST;
use crate::messages::server::{BatchResults, Origin, Prepared, ServerError};
use crate::messages::{Reader, client, savepoint};
use headrace_core::{Fatal, WriteBuffer};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Savepoints before requests with joined rows: as many as are in flight at a time.
const SAVEPOINTS: [&[u8]; limits::CHUNKS_IN_FLIGHT] = [b"headrace_rows_0", b"headrace_rows_1"];

/// Joined rows of one request.
#[derive(Debug)]
pub(super) struct JoinedRows {
    /// The number of the first row.
    first: u64,
    rows: Encoded,
    /// The savepoint before them, if the batch is atomic.
    savepoint: Option<&'static [u8]>,
}

/// A statement with many rows that the server has refused.
#[derive(Debug)]
pub(super) struct FailedStatement {
    /// The rows of its request up to its last.
    request: JoinedRows,
    /// How many of them are its own.
    rows: usize,
    error: ServerError,
}

/// The error of a statement whose rows are being sent one by one.
#[derive(Debug)]
pub(super) struct Repeated {
    error: ServerError,
    /// The number of the row after its last.
    end: u64,
}

/// The statement with many rows.
#[derive(Debug, Default)]
pub(super) enum MultiRowInsert {
    /// There is none: the statement is no INSERT of one row, or the server has refused the other.
    #[default]
    None,
    /// It is not prepared before there are as many rows.
    Needed {
        sql: Arc<str>,
        rows: usize,
    },
    Preparing {
        sql: Arc<str>,
        rows: usize,
    },
    Ready {
        statement: Arc<Statement>,
        rows: usize,
        /// Rows in flight, a request each.
        in_flight: VecDeque<JoinedRows>,
        /// How many requests with rows were sent.
        requests: usize,
        failed: Option<FailedStatement>,
    },
}

impl MultiRowInsert {
    pub fn of(statement: &Statement, strategy: BatchStrategy) -> Self {
        // EXECUTE_ARRAY does nothing without parameters.
        let may_join = strategy != BatchStrategy::Array && statement.parameters > 0;
        let insert = OneRow::of(&statement.sql).filter(|_| may_join);
        let Some(insert) = insert else { return Self::None };
        let most = (JOINED_PARAMETERS / statement.parameters).min(JOINED_ROWS);
        let rows = insert.rows_in(limits::STATEMENT_CACHE_SQL_BYTES).min(most);
        if rows < JOINED_ROWS_FEWEST {
            return Self::None;
        }
        Self::Needed { sql: insert.repeated(rows).into(), rows }
    }

    fn ready(statement: Arc<Statement>, rows: usize) -> Self {
        Self::Ready { statement, rows, in_flight: VecDeque::new(), requests: 0, failed: None }
    }
}

impl<H: CasHandler> Machine<H> {
    /// Returns true while the statement with many rows is being prepared.
    pub(super) fn prepares_joined(&mut self, at: usize) -> bool {
        self.queue[at].batch_mut().is_some_and(|batch| matches!(batch.joined, MultiRowInsert::Preparing { .. }))
    }

    /// Sends rows to the statement with many rows, or its preparation; returns true if it did.
    pub(super) fn send_joined(&mut self, at: usize, write_buffer: &mut WriteBuffer) -> bool {
        let in_block = self.queue[at].in_block;
        let Some(batch) = self.queue[at].batch_mut() else { return false };
        if let MultiRowInsert::Needed { sql, rows } = &batch.joined {
            let (sql, rows) = (sql.clone(), *rows);
            if batch.encoded.ends.len() < rows {
                // Too few, and there will be no more.
                return false;
            }
            match self.statements.get(&*sql).cloned() {
                Some(statement) => {
                    batch.joined = MultiRowInsert::ready(statement, rows);
                }
                None => {
                    // What was added to the text of the statement of one row is in every code set.
                    let text = self.options.codeset.encode(sql.as_bytes()).unwrap_or(Cow::Borrowed(sql.as_bytes()));
                    batch.joined = MultiRowInsert::Preparing { sql: sql.clone(), rows };
                    // Nothing is closed: without a cache the statement of one row would be among it.
                    client::prepare(write_buffer.tail(), self.info, &text, 0, false, &[]);
                    self.expect(Expect::Batch(BatchReply::PrepareJoined));
                    return true;
                }
            }
        }
        let MultiRowInsert::Ready { statement, rows, requests, .. } = &mut batch.joined else { return false };
        let whole = batch.encoded.ends.len() / *rows * *rows;
        if whole == 0 {
            return false;
        }
        let handle = statement.handle;
        // The first rows in a block have the savepoint of the batch before them.
        let has_guard = in_block && batch.sent == 0;
        let name = if has_guard { SAVEPOINT } else { SAVEPOINTS[*requests % SAVEPOINTS.len()] };
        let savepoint = batch.atomic.then_some(name);
        *requests += 1;
        if savepoint.is_some() && !has_guard {
            client::savepoint(write_buffer.tail(), self.info, savepoint::SET, name);
            self.expect(Expect::Batch(BatchReply::JoinedGuard));
        }
        let Some(batch) = self.queue[at].batch_mut() else { return false };
        let MultiRowInsert::Ready { in_flight, .. } = &mut batch.joined else { return false };
        let sent = batch.encoded.take(whole);
        let mut request =
            client::execute_array(write_buffer.tail(), self.info, handle, self.query_timeout_millis, false);
        request.arguments().extend_from_slice(&sent.bytes);
        request.end();
        in_flight.push_back(JoinedRows { first: batch.sent, rows: sent, savepoint });
        batch.sent += whole as u64;
        let is_over = batch.is_exhausted && batch.encoded.ends.is_empty();
        if is_over {
            self.queue[at].drain(RequestEvent::RowsSent);
        }
        self.expect(Expect::Batch(BatchReply::Joined));
        true
    }

    /// The reply to its preparation. Without it the rows are sent to the statement of one row.
    pub(super) fn prepared_joined(&mut self, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        let epoch = self.statements.epoch();
        let Some(batch) = self.queue.first_mut().and_then(|pending| pending.batch_mut()) else { return Ok(()) };
        let MultiRowInsert::Preparing { sql, rows } = std::mem::take(&mut batch.joined) else { return Ok(()) };
        let Ok(mut reader) = reply else { return Ok(()) };
        let prepared = Prepared::read(&mut reader)?;
        reader.end()?;
        let statement = Arc::new(Statement::new(sql.clone(), prepared, epoch));
        if statement.parameters == rows * batch.statement.parameters {
            let statement = statement.clone();
            batch.joined = MultiRowInsert::ready(statement, rows);
        }
        self.statements.keep(sql, statement);
        Ok(())
    }

    /// The reply to rows that were joined.
    pub(super) fn joined_reply(&mut self, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        let results = match reply {
            Ok(mut reader) => Ok(BatchResults::read(&mut reader, false)?.items),
            Err(error) => Err(error),
        };
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some(batch) = pending.batch_mut() else { return Ok(()) };
        let MultiRowInsert::Ready { rows, in_flight, failed, .. } = &mut batch.joined else { return Ok(()) };
        let Some(request) = in_flight.pop_front() else { return Ok(()) };
        let statements = request.rows.ends.len() / *rows;
        let mut failure = None;
        match results {
            Err(error) => {
                batch.is_stale = is_stale(&error) || error.code == crate::errors::cas::ARGS;
                failure = Some((0, error));
            }
            Ok(items) if items.len() > statements => {
                return Err(Fatal::peer(format!("the server sent {} results of {statements} statements", items.len())));
            }
            Ok(items) => {
                let count = items.len();
                for (at, item) in items.into_iter().enumerate() {
                    match item.result {
                        Ok(changed) => batch.affected += u64::try_from(changed).unwrap_or(0),
                        Err(error) if failure.is_none() => failure = Some((at, error)),
                        Err(_) => {}
                    }
                }
                if count < statements && failure.is_none() {
                    failure = Some((count, ServerError::interrupted()));
                }
            }
        }
        let Some((at, error)) = failure else { return Ok(()) };
        let ends = error.origin == Origin::Cas || matches!(error.code, dbms::INTERRUPTED | dbms::UNILATERALLY_ABORTED);
        if ends {
            pending.slot.fail_row(Failure::Server { error, row: None });
        } else if failed.is_none() {
            let JoinedRows { first, rows: sent, savepoint } = request;
            // Without a savepoint those before it have been stored.
            let start = if savepoint.is_some() { 0 } else { at * *rows };
            let sent = sent.part(start..(at + 1) * *rows);
            let request = JoinedRows { first: first + start as u64, rows: sent, savepoint };
            *failed = Some(FailedStatement { request, rows: *rows, error });
        }
        pending.drain(RequestEvent::RowFailed);
        Ok(())
    }

    /// The reply to the rows before those of a statement that has failed, which were rolled back with it.
    pub(super) fn joined_again_reply(&mut self, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        let error = match reply {
            Ok(mut reader) => {
                BatchResults::read(&mut reader, false)?.items.into_iter().find_map(|item| item.result.err())
            }
            Err(error) => Some(error),
        };
        if let (Some(error), Some(pending)) = (error, self.queue.first_mut()) {
            pending.slot.fail_row(Failure::Server { error, row: None });
        }
        Ok(())
    }

    /// Every reply has come: sends the rows of the first statement that has failed one by one, after those before it
    /// that are rolled back with it; returns true if there is one.
    pub(super) fn repeat_joined(&mut self, at: usize, write_buffer: &mut WriteBuffer) -> bool {
        let is_abandoned = self.queue[at].slot.handler.is_none();
        let Some(batch) = self.queue[at].batch_mut() else { return false };
        let MultiRowInsert::Ready { statement, failed, .. } = &mut batch.joined else { return false };
        if let Some(Repeated { error, end }) = batch.repeated.take() {
            // If none of the rows fails alone, this is the failure, and not that of a later row.
            if !is_found(self.queue[at].slot.failure.as_ref(), end) {
                self.queue[at].slot.failure = Some(Failure::Server { error, row: None });
            }
            return false;
        }
        let Some(FailedStatement { request, rows, error }) = failed.take() else { return false };
        let (handle, joined) = (batch.statement.handle, statement.handle);
        if is_abandoned {
            self.queue[at].slot.fail_row(Failure::Server { error, row: None });
            return false;
        }
        let JoinedRows { first, rows: mut sent, savepoint } = request;
        let before = sent.take(sent.ends.len() - rows);
        let first = first + before.ends.len() as u64;
        batch.repeated = Some(Repeated { error, end: first + sent.ends.len() as u64 });
        if let Some(name) = savepoint {
            client::savepoint(write_buffer.tail(), self.info, savepoint::ROLLBACK, name);
            self.expect(Expect::Batch(BatchReply::JoinedGuard));
        }
        if !before.ends.is_empty() {
            let timeout = self.query_timeout_millis;
            let mut request = client::execute_array(write_buffer.tail(), self.info, joined, timeout, false);
            request.arguments().extend_from_slice(&before.bytes);
            request.end();
            self.expect(Expect::Batch(BatchReply::JoinedAgain));
        }
        self.send_array(handle, first, &sent, write_buffer);
        true
    }

    /// The statements of a batch that has failed are prepared again when they are next executed. The CAS of 11.3.2 changes
    /// what it keeps of one that EXECUTE_ARRAY has executed with an expression that could not be stored: later rows, of a
    /// table with a trigger, had the value of the second column in the first.
    pub(super) fn forget_failed(&mut self, at: usize) {
        self.forget_joined(at);
        if let Some(sql) = self.queue[at].request.sql().cloned() {
            self.statements.forget(&*sql);
        }
    }

    /// The statement has to be prepared again, too.
    pub(super) fn forget_joined(&mut self, at: usize) {
        if let Some(batch) = self.queue[at].batch_mut()
            && let MultiRowInsert::Ready { statement, .. } = &batch.joined
        {
            self.statements.forget(&*statement.sql);
        }
    }
}

/// Returns true if a row before `end` is known that could not be applied.
fn is_found<H: CasHandler>(failure: Option<&Failure<H>>, end: u64) -> bool {
    matches!(failure, Some(Failure::Server { row: Some(row), .. } | Failure::Client { row: Some(row), .. }) if *row < end)
}
