//! What a batch sends: its guard, its rows, and its end.

use super::batch::{Batch, Guard, Remedy, SAVEPOINT, chunk_savepoint};
use super::binding::Sending;
use super::block::Autocommit;
use super::chunk::Chunk;
use super::pending::{Failure, Stage};
use super::reply::ReplyKind;
use super::send::write_row;
use super::stage::{BatchEvent, Phase, RequestEvent};
use super::statement::Statement;
use super::table::{AS_BEFORE, STRICTLY};
use super::verb::{self, COMMIT, ROLLBACK};
use super::{Machine, MyHandler};
use crate::limits::CHUNKS_IN_FLIGHT;
use crate::packets::capabilities::StatusFlags;
use crate::packets::command::{self, Command};
use crate::packets::frame;
use headrace_core::{Reported, WriteBuffer};
use std::sync::Arc;

/// The result of reading the next row of a batch.
enum Pulled {
    Row,
    End,
    Failed,
}

impl<H: MyHandler> Machine<H> {
    fn batch(&mut self) -> Option<&mut Batch> {
        match self.queue.last_mut()?.stage_mut() {
            Stage::Batch(batch) => Some(batch),
            _ => None,
        }
    }

    /// Sends what the last batch can send now; returns true if it did anything.
    pub(super) fn advance_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let paused = self.queue.is_paused();
        let (mut status, doubtful) = (self.session.status, self.session.transaction == Reported::Doubtful);
        let holds_block = self.queue.last_at().is_some_and(|at| self.is_to_hold_block(at));
        status.set(StatusFlags::AUTOCOMMIT, status.contains(StatusFlags::AUTOCOMMIT) && !holds_block);
        let Some(pending) = self.queue.last_mut() else { return false };
        let (replies_due, abandoned) = (pending.replies_due, pending.slot.handler.is_none());
        let given_up = pending.slot.failure.is_some() || abandoned;
        let refused = !abandoned && matches!(pending.slot.failure, Some(Failure::Client { .. }));
        if self.kill_due
            && !paused
            && replies_due == 0
            && !matches!(self.batch(), Some(batch) if matches!(batch.phase, Phase::Idle))
        {
            // A cancel request must not hit the messages that end the batch.
            return self.take_kill(write_buffer);
        }
        let Some(batch) = self.batch() else { return false };
        match &mut batch.phase {
            Phase::Idle if replies_due > 0 || paused => false,
            Phase::Idle if given_up => {
                let failure = self.queue.last_mut().and_then(|pending| pending.slot.failure.take());
                self.drop_tail(cx, failure);
                true
            }
            Phase::Idle if doubtful && batch.atomic => {
                // The answer has the status that the last error did not contain.
                let next = self.wire.write(write_buffer, |out| command::bare(out, Command::Ping));
                self.expect(next, ReplyKind::Guard);
                true
            }
            Phase::Idle => {
                batch.set_guard(status);
                batch.holds_block = holds_block;
                self.open_batch(cx, write_buffer);
                true
            }
            // The rows before the one that the response handler failed to deliver are sent: one of them may be the first
            // that fails.
            Phase::Rows { .. } if given_up && !(refused && batch.chunk.rows() > 0) => {
                batch.go(BatchEvent::GivenUp, Phase::Drain);
                true
            }
            Phase::Rows { .. } => self.send_rows(cx, write_buffer),
            Phase::Drain if replies_due > 0 || paused => false,
            Phase::Drain => {
                self.drained(cx, abandoned, write_buffer);
                true
            }
            Phase::Undo { .. } => false,
            Phase::Repeat { .. } if abandoned => {
                batch.go(BatchEvent::GivenUp, Phase::Close);
                true
            }
            Phase::Repeat { .. } => self.repeat(replies_due, write_buffer),
            Phase::Close if replies_due > 0 || paused => false,
            Phase::Close => {
                let guard = batch.guard;
                batch.go(BatchEvent::EndSent, Phase::Closing { lost: false });
                self.close_batch(guard, given_up, write_buffer);
                true
            }
            Phase::Closing { .. } if replies_due > 0 => false,
            Phase::Closing { lost } if *lost => {
                *lost = false;
                self.own_query(&self.session.end(ROLLBACK), ReplyKind::SecondRollback, write_buffer);
                true
            }
            Phase::Closing { .. } if matches!(batch.remedy.take(), Some(Remedy::Again)) && !batch.kept.is_final => {
                self.begin_again(cx);
                true
            }
            Phase::Closing { .. } => {
                let kept = std::mem::take(&mut batch.kept);
                let mut failure = self.queue.last_mut().and_then(|pending| pending.slot.failure.take());
                if let Some(failure) = &mut failure {
                    kept.explain(failure);
                }
                self.drop_tail(cx, failure);
                true
            }
        }
    }

    /// Everything that was sent of the last batch is answered: repeats what has to be repeated, or ends it.
    fn drained(&mut self, cx: H::Context<'_>, abandoned: bool, write_buffer: &mut WriteBuffer) {
        let Some(batch) = self.batch() else { return };
        match batch.remedy.take() {
            Some(Remedy::NotInBulk) => self.start_over(cx),
            // The failed row of an abandoned batch is not reported, and its rows would have to be cancelled
            // again.
            Some(Remedy::Repeat { chunk, number }) if batch.guard != Guard::None && !abandoned => {
                let guard = batch.guard;
                batch.go(BatchEvent::ChunkFailed, Phase::Undo { chunk });
                let sql = match (number, guard) {
                    (0, Guard::Savepoint) => verb::rollback_to(SAVEPOINT),
                    (0, _) => self.session.end(ROLLBACK).into_owned(),
                    _ => verb::rollback_to(&chunk_savepoint(number)),
                };
                self.own_query(&sql, ReplyKind::Undo, write_buffer);
            }
            remedy => {
                // Not before all is undone.
                batch.remedy = remedy.filter(|remedy| matches!(remedy, Remedy::Again));
                batch.go(BatchEvent::Answered, Phase::Close);
            }
        }
    }

    /// Nothing was applied, because the server does not accept the statement in bulk: sends the rows one by one, if the
    /// response handler can deliver them again.
    fn start_over(&mut self, cx: H::Context<'_>) {
        let Some(pending) = self.queue.last_mut() else { return };
        if pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)) {
            pending.slot.failure = None;
            let Stage::Batch(batch) = pending.stage_mut() else { return };
            batch.sends_rows_alone();
            batch.chunk = Chunk::default();
            batch.following = None;
            batch.encoded = 0;
            batch.go(BatchEvent::NotInBulk, Phase::Rows { exhausted: false });
        }
    }

    /// Everything is rolled back because the cached statement was stale: puts the request back among those that wait,
    /// if the response handler can deliver its rows again. It is the only one that was started, so the order stays.
    fn begin_again(&mut self, cx: H::Context<'_>) {
        let Some(pending) = self.queue.last_mut() else { return };
        if !pending.slot.may_repeat() || !pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)) {
            return;
        }
        pending.go(RequestEvent::Again, Stage::Queued);
        pending.used = None;
        pending.slot.repeat();
        self.queue.unstart();
    }

    /// Takes the response handler's next row, if there is one, and encodes it if rows travel together.
    fn pull(&mut self, cx: H::Context<'_>) -> Result<Pulled, H::Error> {
        let Some(pending) = self.queue.last_mut() else { return Ok(Pulled::End) };
        let (stage, slot) = pending.stage_and_slot();
        let Some(handler) = &mut slot.handler else { return Ok(Pulled::Failed) };
        if !handler.next_row(cx)? {
            return Ok(Pulled::End);
        }
        let Stage::Batch(batch) = stage else { return Ok(Pulled::End) };
        if let Some(frame) = &batch.frame {
            batch.following = batch.chunk.push(frame, &handler.params(cx), batch.encoded)?;
            batch.encoded += 1;
        }
        Ok(Pulled::Row)
    }

    /// The first row: if there is none, or it does not fit, nothing is sent at all.
    fn open_batch(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let mark = write_buffer.mark();
        match self.pull(cx) {
            Ok(Pulled::Row) => {}
            Ok(Pulled::End | Pulled::Failed) => return self.drop_tail(cx, None),
            Err(error) => return self.drop_tail(cx, Some(Failure::Client { error, row: Some(0) })),
        }
        let is_strict = self.queue.last_mut().is_some_and(|pending| pending.is_strict);
        let Some(batch) = self.batch() else { return };
        batch.go(BatchEvent::FirstRow, Phase::Rows { exhausted: false });
        batch.mark = mark;
        let (guard, chunked) = (batch.guard, batch.frame.is_some());
        if batch.holds_block {
            self.autocommit = Autocommit::OffInBlock;
            self.own_query("SET autocommit=0", ReplyKind::HoldBlock, write_buffer);
        }
        match guard {
            Guard::None => {}
            Guard::Autocommit => self.own_query("SET autocommit=0", ReplyKind::Guard, write_buffer),
            Guard::Savepoint => self.own_query(&verb::savepoint(SAVEPOINT), ReplyKind::Guard, write_buffer),
        }
        if is_strict {
            self.own_query(STRICTLY, ReplyKind::Guard, write_buffer);
        }
        if !chunked && let Err(error) = self.send_row(cx, write_buffer) {
            self.refuse(cx, error, 0, write_buffer);
        }
    }

    /// Sends the current row as a command of its own.
    fn send_row(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> Result<(), H::Error> {
        let Some(at) = self.queue.last_at() else { return Ok(()) };
        let pending = &mut self.queue[at];
        let statement = pending.statement().cloned();
        let (Some(handler), Some(mut statement)) = (&mut pending.slot.handler, statement) else {
            return Ok(());
        };
        if statement.sending(&handler.params(cx)) != Sending::Bound {
            // Re-preparing would stall the pipeline, so this row is sent as text; the server converts dates from
            // strings.
            statement = Arc::new(Statement::text(statement.sql.clone()));
        }
        let next = write_row(&mut self.wire, &self.session, handler, &statement, 0, cx, write_buffer)?;
        if let Stage::Batch(batch) = pending.stage_mut() {
            batch.encoded += 1;
        }
        self.expect(next, ReplyKind::Row { binary: statement.id.is_some() });
        Ok(())
    }

    /// The response handler's own error about `row`. If nothing of the batch has left yet, nothing will.
    fn refuse(&mut self, cx: H::Context<'_>, error: H::Error, row: u64, write_buffer: &mut WriteBuffer) {
        let failure = Failure::Client { error, row: Some(row) };
        let (mark, holds_block) = self.batch().map_or((u64::MAX, false), |batch| (batch.mark, batch.holds_block));
        if self.take_back(write_buffer, mark, 0) {
            if holds_block {
                self.autocommit.take_off_in_block();
            }
            return self.drop_tail(cx, Some(failure));
        }
        if let Some(Phase::Rows { exhausted }) = self.batch().map(|batch| &mut batch.phase) {
            *exhausted = true;
        }
        if let Some(pending) = self.queue.last_mut() {
            pending.slot.fail_row(failure);
        }
    }

    /// Encodes and sends rows until the write buffer or the window is full, or the rows are all sent.
    fn send_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let mut went_on = false;
        let in_flight = self.window;
        let (mut begun, mut made) = (self.batch().map_or(0, |batch| batch.chunk.bytes()), 0);
        while !write_buffer.is_full() {
            let replies_due = self.queue.last_mut().map_or(0, |pending| pending.replies_due);
            let Some(batch) = self.batch() else { return went_on };
            let chunked = batch.frame.is_some();
            if chunked {
                // What was made of the chunk since it was looked at last, or of one after it.
                made += batch.chunk.bytes().saturating_sub(begun);
                begun = batch.chunk.bytes();
                if write_buffer.stop_at(made) {
                    return false;
                }
            }
            if chunked && batch.is_full() || matches!(batch.phase, Phase::Rows { exhausted: true }) {
                let room =
                    batch.flying.len() < batch.window.min(CHUNKS_IN_FLIGHT) && (batch.window > 1 || replies_due == 0);
                if batch.chunk.rows() == 0 {
                    batch.go(BatchEvent::RowsSent, Phase::Drain);
                    return true;
                }
                if !room {
                    return went_on;
                }
                self.send_chunk(write_buffer);
                went_on = true;
                continue;
            }
            if !chunked && replies_due >= batch.window.min(in_flight) {
                return went_on;
            }
            let row = batch.encoded;
            let pulled = self.pull(cx);
            went_on = true;
            let sent = match pulled {
                Ok(Pulled::Row) if chunked => Ok(()),
                Ok(Pulled::Row) => self.send_row(cx, write_buffer),
                Ok(Pulled::End) => {
                    if let Some(Phase::Rows { exhausted }) = self.batch().map(|batch| &mut batch.phase) {
                        *exhausted = true;
                    }
                    Ok(())
                }
                Ok(Pulled::Failed) => return true,
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                self.refuse(cx, error, row, write_buffer);
                return true;
            }
        }
        went_on
    }

    /// Sends the chunk that is being filled, after its savepoint.
    fn send_chunk(&mut self, write_buffer: &mut WriteBuffer) {
        let Some(batch) = self.batch() else { return };
        let number = batch.chunks;
        batch.chunks += 1;
        if batch.guard != Guard::None && batch.saves && number > 0 {
            self.own_query(&verb::savepoint(&chunk_savepoint(number)), ReplyKind::Guard, write_buffer);
        }
        let Some(at) = self.queue.last_at() else { return };
        let Stage::Batch(batch) = self.queue[at].stage_mut() else { return };
        let following = batch.following.take().unwrap_or_default();
        let chunk = std::mem::replace(&mut batch.chunk, following);
        let Some(frame) = &batch.frame else { return };
        let rows = 0..chunk.rows();
        let next = self.wire.write(write_buffer, |out| frame::packet(out, 0, |out| chunk.write(frame, rows, out)));
        batch.flying.push_back(chunk);
        self.expect(next, ReplyKind::Chunk);
    }

    /// Sends the rows of the chunk that failed, one by one.
    fn repeat(&mut self, mut replies_due: usize, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        let (mut went_on, in_flight) = (false, self.window);
        while !write_buffer.is_full() {
            let Stage::Batch(batch) = self.queue[at].stage_mut() else { return false };
            let (Phase::Repeat { chunk, next, found, .. }, Some(frame)) = (&mut batch.phase, &batch.frame) else {
                return went_on;
            };
            if found.is_some() || *next == chunk.rows() {
                if replies_due > 0 {
                    return went_on;
                }
                batch.go(BatchEvent::Repeated, Phase::Close);
                return true;
            }
            if replies_due >= batch.window.min(in_flight) {
                return went_on;
            }
            let row = *next..*next + 1;
            let sequence =
                self.wire.write(write_buffer, |out| frame::packet(out, 0, |out| chunk.write(frame, row, out)));
            *next += 1;
            replies_due += 1;
            went_on = true;
            self.expect(sequence, ReplyKind::Repeat);
        }
        went_on
    }

    /// Sends the end of the guard.
    fn close_batch(&mut self, guard: Guard, undo: bool, write_buffer: &mut WriteBuffer) {
        if self.queue.last_mut().is_some_and(|pending| pending.is_strict) {
            self.own_query(AS_BEFORE, ReplyKind::Restore, write_buffer);
        }
        match (guard, undo) {
            // Nothing to end: the state Closing continues at once.
            (Guard::None, _) => {}
            (Guard::Autocommit, _) => {
                let (sql, kind) = if undo { (ROLLBACK, ReplyKind::Release) } else { (COMMIT, ReplyKind::Commit) };
                self.own_query(&self.session.end(sql), kind, write_buffer);
                if undo && self.session.mariadb {
                    self.own_query(&self.session.end(sql), ReplyKind::SecondRollback, write_buffer);
                }
                self.own_query("SET autocommit=1", ReplyKind::Restore, write_buffer);
            }
            (Guard::Savepoint, true) => {
                self.own_query(&verb::rollback_to(SAVEPOINT), ReplyKind::RollbackTo, write_buffer);
                self.own_query(&verb::release(SAVEPOINT), ReplyKind::Release, write_buffer);
            }
            (Guard::Savepoint, false) => self.own_query(&verb::release(SAVEPOINT), ReplyKind::Release, write_buffer),
        }
    }
}
