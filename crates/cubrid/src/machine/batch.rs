//! Batches: many rows of parameters by EXECUTE_ARRAY.
//!
//! The server executes all rows of a request, also those after one that fails. An atomic batch therefore has a guard:
//! inside a transaction block a savepoint, outside of one a transaction of its own.

use super::pending::Failure;
use super::request::{Execute, Request, Rows};
use super::stage::{Event, Stage};
use super::statement::Statement;
use super::{CasHandler, Expect, Machine};
use crate::errors::{cas, dbms};
use crate::messages::server::{BatchResults, Origin, ServerError};
use crate::messages::{Reader, client, savepoint, tran};
use crate::types::encode::encode_row;
use headrace_core::{Fatal, Parameters, WriteBuffer, limits};
use std::sync::Arc;

/// The savepoint of a batch.
const SAVEPOINT: &[u8] = b"headrace_batch";

/// A batch that has begun.
#[derive(Debug)]
pub(super) struct Batch {
    statement: Arc<Statement>,
    atomic: bool,
    /// No more rows are sent.
    pub is_draining: bool,
    /// Rows that were sent.
    sent: u64,
    /// Rows that were changed.
    affected: u64,
    /// The server does not execute the statement before it is prepared again.
    is_stale: bool,
}

impl<H: CasHandler> Machine<H> {
    /// The statement of the request that was started last is known: begins its batch.
    pub(super) fn begin_batch(&mut self, at: usize, statement: Arc<Statement>, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let atomic = matches!(&pending.request, Request::Execute(Execute { rows: Rows::Batch { atomic: true }, .. }));
        let batch = Batch { statement, atomic, is_draining: false, sent: 0, affected: 0, is_stale: false };
        pending.go(Event::BatchBegun, Stage::Batch(Box::new(batch)));
        if atomic && pending.in_block {
            client::savepoint(write_buffer.tail(), self.info, savepoint::SET, SAVEPOINT);
            self.expect(Expect::Guard);
        }
    }

    /// Sends the next rows; returns true if it did, or if no more will be sent.
    pub(super) fn send_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        let pending = &mut self.queue[at];
        if self.expects.len() >= limits::CHUNKS_IN_FLIGHT {
            return false;
        }
        if pending.slot.handler.is_none() {
            pending.drain(Event::RowsSent);
            return true;
        }
        let (Some(handler), Stage::Batch(batch)) = pending.handler_and_stage() else { return false };
        let (handle, parameters, first) = (batch.statement.handle, batch.statement.parameters, batch.sent);
        // Without the autocommit byte: the server would commit each row.
        let mut request =
            client::execute_array(write_buffer.tail(), self.info, handle, self.query_timeout_millis, false);
        let start = request.arguments().len();
        let (mut rows, mut is_over, mut failed) = (0, false, None);
        while rows < limits::CHUNK_ROWS && request.arguments().len() - start < limits::CHUNK_BYTES {
            let before = request.arguments().len();
            let encoded = match handler.next_row(cx) {
                Ok(false) => {
                    is_over = true;
                    break;
                }
                Ok(true) => {
                    let params = handler.params(cx);
                    match params.count() == parameters {
                        true => encode_row(&params, request.arguments()),
                        false => Err(super::send::count_mismatch(parameters, params.count()).into()),
                    }
                }
                Err(error) => Err(error),
            };
            if let Err(error) = encoded {
                request.arguments().truncate(before);
                failed = Some(Failure::Client { error, row: Some(first + rows as u64) });
                break;
            }
            rows += 1;
        }
        batch.sent += rows as u64;
        // Rows before one that fails are not sent if they would be undone.
        let is_needless = rows == 0 || (failed.is_some() && batch.atomic);
        if is_needless {
            request.drop()
        } else {
            request.end()
        }
        if is_over || failed.is_some() {
            pending.drain(Event::RowsSent);
        }
        if let Some(failure) = failed {
            pending.slot.fail_row(failure);
        }
        if !is_needless {
            self.expect(Expect::Array { first, rows });
        }
        true
    }

    /// The reply to some rows.
    pub(super) fn array_reply(
        &mut self,
        (first, rows): (u64, usize),
        reply: Result<Reader<'_>, ServerError>,
    ) -> Result<(), Fatal> {
        let results = match reply {
            Ok(mut reader) => Ok(BatchResults::read(&mut reader, false)?.items),
            Err(error) => Err(error),
        };
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let failure = match results {
            Err(error) => {
                if let Some(batch) = pending.batch_mut() {
                    batch.is_stale = is_stale(&error);
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
                            failure = Some(Failure::Server { error, row: Some(first + at as u64) });
                        }
                        Err(_) => {}
                    }
                }
                // An interrupt ends the request early.
                let interrupted =
                    || ServerError { origin: Origin::Dbms, code: dbms::INTERRUPTED, message: String::new() };
                let row = Some(first + count as u64);
                failure.or_else(|| (count < rows).then(|| Failure::Server { error: interrupted(), row }))
            }
        };
        if let Some(failure) = failure {
            pending.slot.fail_row(failure);
            pending.drain(Event::RowFailed);
        }
        Ok(())
    }

    /// Every reply has come: sends the end of the guard. Returns true unless it has to wait.
    pub(super) fn end_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        if self.queue.is_paused() || self.queue[at].replies_due > 0 {
            return false;
        }
        let pending = &mut self.queue[at];
        let Some(batch) = pending.batch_mut() else { return false };
        let (atomic, affected, sent) = (batch.atomic, batch.affected, batch.sent);
        if batch.is_stale && affected == 0 && pending.is_cached && pending.slot.may_repeat() {
            let rewound = pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx));
            if rewound {
                self.again(at);
                return true;
            }
        }
        let pending = &mut self.queue[at];
        let is_undone = atomic && (pending.slot.failure.is_some() || pending.slot.handler.is_none());
        pending.affected = Some(affected);
        pending.is_undone = is_undone;
        pending.go(Event::BatchEnded, Stage::Sent);
        if !pending.in_block {
            if sent > 0 {
                let operation = if is_undone { tran::ROLLBACK } else { tran::COMMIT };
                client::end_tran(write_buffer.tail(), self.info, operation);
                self.expect(Expect::BatchEnd);
            }
        } else if is_undone && !self.has_failed {
            client::savepoint(write_buffer.tail(), self.info, savepoint::ROLLBACK, SAVEPOINT);
            self.expect(Expect::BatchEnd);
        }
        self.complete(cx, write_buffer);
        true
    }
}

/// Returns true if the server has refused a prepared statement before it executed anything of it.
pub(super) fn is_stale(error: &ServerError) -> bool {
    error.origin == Origin::Cas && matches!(error.code, cas::STMT_POOLING | cas::SRV_HANDLE)
}
