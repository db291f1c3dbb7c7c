//! Handles the replies to a batch: which row has failed, and whether rows are sent again.

use super::batch::{Guard, Remedy};
use super::pending::{Failure, Stage};
use super::refusal::{is_of_another_charset, is_stale};
use super::reply::ReplyKind;
use super::stage::{BatchEvent, Phase};
use super::{Machine, MyHandler};
use crate::errors::numbers::{CHECK_NOT_IMPLEMENTED, UNSUPPORTED_PS};
use crate::packets::reply::{Completion, ServerError};
use headrace_core::Fatal;

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
                let Some(chunk) = batch.flying.pop_front() else { return Ok(()) };
                let number = batch.chunks - batch.flying.len() as u64 - 1;
                if reply.is_ok() {
                    batch.kept.rows += chunk.rows() as u64;
                }
                if let Err(error) = reply {
                    if error.code == UNSUPPORTED_PS && number == 0 {
                        batch.remedy = Some(Remedy::NotInBulk);
                        slot.fail_row(Failure::Server { error, row: None });
                        return Ok(());
                    }
                    if (is_stale(&error) || error.code == 0) && number == 0 && from_cache {
                        batch.remedy = fresh.then_some(Remedy::Again);
                        slot.fail_row(Failure::Server { error, row: None });
                        return Ok(());
                    }
                    // Rows that were interrupted are not wrong rows, and would only be waited for again.
                    let ends = is_interrupted(&error);
                    let alone = (chunk.rows() == 1).then_some(chunk.first);
                    let is_first = slot.fail_row(Failure::Server { error, row: alone });
                    if is_first {
                        batch.kept.doubtful = chunk.rows();
                    }
                    if is_first && alone.is_none() && !ends && (batch.saves || number == 0) {
                        batch.remedy = Some(Remedy::Repeat { chunk, number });
                    }
                }
            }
            (ReplyKind::Undo, Ok(done)) if done.warnings == 0 => {
                let Phase::Undo { chunk } = &mut batch.phase else { return Ok(()) };
                let chunk = std::mem::take(chunk);
                batch.kept.doubtful = 0;
                batch.go(BatchEvent::Undone, Phase::Repeat { chunk, next: 0, answered: 0, found: None });
            }
            // ER_WARNING_NOT_COMPLETE_ROLLBACK: the table has no transactions; or the savepoint is gone.
            (ReplyKind::Undo, _) => {
                batch.kept.is_final = true;
                batch.go(BatchEvent::NotUndone, Phase::Close);
            }
            (ReplyKind::Repeat, reply) => {
                let Phase::Repeat { chunk, answered, found, .. } = &mut batch.phase else { return Ok(()) };
                let row = *answered;
                *answered += 1;
                batch.kept.rows += u64::from(reply.is_ok());
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
            (ReplyKind::Guard, Err(error)) if error.code == CHECK_NOT_IMPLEMENTED => {
                batch.has_no_savepoints();
                batch.is_open = true;
            }
            (ReplyKind::Guard, Ok(_)) => batch.is_open = true,
            // The ROLLBACK of a batch that has failed, with ER_WARNING_NOT_COMPLETE_ROLLBACK.
            (ReplyKind::Release | ReplyKind::RollbackTo, Ok(done)) => batch.kept.is_final |= done.warnings > 0,
            (ReplyKind::Guard | ReplyKind::Commit, Err(error)) => {
                slot.fail_row(Failure::Server { error, row: None });
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
