//! Handles the replies to a batch: which row has failed, and whether rows are sent again.

use super::batch::{Batch, Guard, Remedy};
use super::pending::{Failure, Stage};
use super::refusal::{is_of_another_charset, is_stale};
use super::reply::ReplyKind;
use super::stage::{BatchEvent, Phase};
use super::{Machine, MyHandler};
use crate::errors::numbers::{CHECK_NOT_IMPLEMENTED, UNSUPPORTED_PS};
use crate::packets::reply::{Completion, ServerError};
use headrace_core::{Fatal, Slot};

impl<H: MyHandler> Machine<H> {
    /// The reply to one command of the batch in front, which is the only request that was started.
    pub(super) fn batch_reply(&mut self, kind: ReplyKind, reply: Result<Completion, ServerError>) -> Result<(), Fatal> {
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let fresh = !matches!(pending.slot.failure, Some(Failure::Server { .. }));
        let from_cache = pending.is_from_cache();
        let statement = pending.statement().cloned();
        let is_stale = |error: &ServerError| statement.as_ref().is_some_and(|statement| is_stale(error, statement));
        let is_narrow =
            |error: &ServerError| statement.as_ref().is_some_and(|statement| is_of_another_charset(error, statement));
        let (stage, slot) = pending.stage_and_slot();
        let Stage::Batch(batch) = stage else { return Ok(()) };
        match (kind, reply) {
            (ReplyKind::Row { .. }, reply) => {
                let row = batch.answered;
                batch.answered += 1;
                batch.kept.rows += u64::from(reply.is_ok());
                if let Err(error) = reply {
                    let undoable = batch.guard != Guard::None && fresh;
                    if undoable && (is_stale(&error) && row == 0 && from_cache || is_narrow(&error)) {
                        batch.remedy = Some(Remedy::Again);
                    }
                    slot.fail_row(Failure::Server { error, row: Some(row) });
                }
            }
            (ReplyKind::Chunk, reply) => {
                let is_outdated = |error: &ServerError| from_cache && (is_stale(error) || error.code == 0);
                batch.chunk_reply(slot, reply, fresh, is_outdated);
            }
            (ReplyKind::Undo, Ok(done)) if done.warnings == 0 => {
                let Phase::Undo { chunk } = &mut batch.phase else { return Ok(()) };
                let chunk = std::mem::take(chunk);
                batch.kept.doubtful = 0;
                batch.go(BatchEvent::Undone, Phase::Repeat { chunk, next: 0, answered: 0, found: None });
            }
            // ER_WARNING_NOT_COMPLETE_ROLLBACK: the table has no transactions; or the savepoint is gone.
            (ReplyKind::Undo, reply) => {
                batch.kept.is_final |= !reply.is_err_and(|error| error.is_interruption());
                batch.go(BatchEvent::NotUndone, Phase::Close);
            }
            (ReplyKind::Repeat, reply) => batch.repeat_reply(slot, reply),
            (ReplyKind::Guard, Err(error)) if error.code == CHECK_NOT_IMPLEMENTED => {
                batch.has_no_savepoints();
                batch.is_open = true;
            }
            (ReplyKind::Guard, Ok(_)) => batch.is_open = true,
            // The ROLLBACK of a batch that has failed, with ER_WARNING_NOT_COMPLETE_ROLLBACK.
            (ReplyKind::Release | ReplyKind::SecondRollback | ReplyKind::RollbackTo, Ok(done)) => {
                batch.kept.is_final |= done.warnings > 0
            }
            // `SET autocommit=1` comes after it, which commits.
            (ReplyKind::Commit, Err(error)) if error.is_interruption() => {
                slot.fail_row(Failure::Server { error: error.of_unknown_outcome(), row: None });
            }
            (ReplyKind::Guard | ReplyKind::Commit, Err(error)) => {
                batch.kept.is_committed |= !batch.is_open && batch.guard == Guard::Autocommit;
                slot.fail_row(Failure::Server { error, row: None });
            }
            // What comes after it has released the savepoint.
            (ReplyKind::RollbackTo, Err(error)) if error.is_interruption() => {
                return Err(Fatal::end_failed(&error.message));
            }
            // The savepoint is gone with its transaction (a deadlock). The later rows ran in a new one, which has to be
            // rolled back too.
            (ReplyKind::RollbackTo, Err(_)) => {
                if let Phase::Closing { lost } = &mut batch.phase {
                    *lost = true;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Batch {
    /// The reply to the first chunk that is in flight. `fresh` is true if the server has refused nothing of the batch
    /// before; `is_outdated` returns true for an error of a statement that was prepared long ago.
    fn chunk_reply<H: MyHandler>(
        &mut self,
        slot: &mut Slot<H>,
        reply: Result<Completion, ServerError>,
        fresh: bool,
        is_outdated: impl Fn(&ServerError) -> bool,
    ) {
        let Some(chunk) = self.flying.pop_front() else { return };
        let number = self.chunks - self.flying.len() as u64 - 1;
        let error = match reply {
            Ok(_) => {
                self.kept.rows += chunk.rows() as u64;
                return;
            }
            Err(error) => error,
        };
        if error.code == UNSUPPORTED_PS && number == 0 {
            self.remedy = Some(Remedy::NotInBulk);
            slot.fail_row(Failure::Server { error, row: None });
            return;
        }
        if number == 0 && is_outdated(&error) {
            self.remedy = fresh.then_some(Remedy::Again);
            slot.fail_row(Failure::Server { error, row: None });
            return;
        }
        // Rows that were interrupted are not wrong rows, and would only be waited for again.
        let ends = is_interrupted(&error);
        let alone = (chunk.rows() == 1).then_some(chunk.first);
        if !slot.fail_row(Failure::Server { error, row: alone }) {
            return;
        }
        self.kept.doubtful = chunk.rows();
        if alone.is_none() && !ends && (self.saves || number == 0) {
            self.remedy = Some(Remedy::Repeat { chunk, number });
        }
    }

    /// The reply to a row of the chunk that has failed, which was sent again alone.
    fn repeat_reply<H: MyHandler>(&mut self, slot: &mut Slot<H>, reply: Result<Completion, ServerError>) {
        let Phase::Repeat { chunk, answered, found, .. } = &mut self.phase else { return };
        let row = *answered;
        *answered += 1;
        self.kept.rows += u64::from(reply.is_ok());
        if let (Err(error), None) = (reply, &found) {
            let number = chunk.first + row as u64;
            *found = Some(number);
            match &mut slot.failure {
                Some(Failure::Server { error: first, row }) if is_same(first, &error) => *row = Some(number),
                // Better no row than a wrong one.
                _ if is_interrupted(&error) => {}
                // Sent together, a later row has failed first.
                failure => *failure = Some(Failure::Server { error, row: Some(number) }),
            }
        }
    }
}

/// Returns true if the reason of an error is not a row: a cancel request, a time limit, or a transaction that was ended.
fn is_interrupted(error: &ServerError) -> bool {
    error.ends_transaction() || error.is_interruption()
}

/// Returns true if two errors are about the same row: the same text except `at row 5`, which counts within the
/// statement.
fn is_same(a: &ServerError, b: &ServerError) -> bool {
    let words = |error: &ServerError| match error.message.rfind(" at row ") {
        Some(at) => error.message[..at].to_owned(),
        None => error.message.clone(),
    };
    a.code == b.code && words(a) == words(b)
}
