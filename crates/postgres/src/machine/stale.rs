//! Statements that the server no longer takes as they were prepared: which failures show it, what is repeated, and what is
//! remembered where that is not possible.

use super::answer::Saved;
use super::batch_joined::back_to_batch;
use super::pending::{Failure, PendingRequest};
use super::request::Request;
use super::verb;
use super::work::BulkProgress;
use super::{Machine, PgHandler, TransactionStatus};
use crate::limits;
use crate::messages::backend::ServerError;
use crate::messages::tag::field;
use crate::types::Oid;
use crate::types::oid::FIRST_OWN;
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, IfUnsent, Verb, WriteBuffer};

/// Returns true if the server has refused a statement since its columns have changed, which has no code of its own.
fn has_other_columns(error: &ServerError) -> bool {
    error.sqlstate() == "0A000" && error.field(field::ROUTINE) == "RevalidateCachedQuery"
}

impl<H: PgHandler> Machine<H> {
    /// Returns true if the first request failed because the server forgot its statement, or a schema change made it
    /// stale.
    pub(super) fn is_stale(&self) -> bool {
        let Some(pending) = self.queue.first() else { return false };
        let Some(preparation) = pending.preparation() else { return false };
        match &pending.slot.failure {
            Some(Failure::Server { error, .. }) if preparation.is_reused() => {
                // Parameters of another type than the column has by now, or text that was sent for one.
                let statement = preparation.statement();
                let outdated = statement.is_some_and(|statement| self.statements.is_outdated(statement));
                let other_type = outdated && matches!(error.sqlstate(), "42804" | "22P02");
                // The server analyses a statement again when it is bound, with the types that its parameters had. One
                // whose number it remembers and that was dropped since ("cache lookup failed") is an internal error.
                let analysed = error.sqlstate().starts_with("42") || matches!(error.sqlstate(), "08P01" | "XX000");
                // A value was read as a type that the column no longer has.
                let misread = preparation.has_chosen_types() && error.sqlstate().starts_with("22");
                // An error after all results of a batch is that of the commit.
                let is_over = pending.is_batch() && pending.answer.is_whole();
                let unbound = !preparation.is_row_bound && !is_over && (analysed || misread);
                // Once it is bound, the error is one of what it executes: a procedure may have committed by then. (A
                // batch is undone as a whole.)
                let is_executed = preparation.is_row_bound && !pending.is_batch();
                let refused = has_other_columns(error) || other_type || error.sqlstate() == "26000";
                preparation.outdated || unbound || refused && !is_executed
            }
            _ => false,
        }
    }

    /// The catalogue has shown that the batch `at`, the first request, which has the connection to itself, uses a statement
    /// that was prepared for other types of columns: it begins again if that changes nothing else, and otherwise goes on
    /// with a fresh statement.
    pub(super) fn renew(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let again = self.can_be_undone(at) && !self.transaction.is_open();
        let Some(preparation) = self.queue[at].preparation_mut() else { return };
        if again {
            preparation.outdated = true;
            self.poison(at, write_buffer);
            return;
        }
        preparation.bulk = BulkProgress::Few;
        self.describe_again(at, write_buffer);
    }

    /// Has the server describe the statement of the current row of the batch `at` once more. What has been sent of the
    /// batch stands.
    pub(super) fn describe_again(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        self.send_kept(at, write_buffer);
        self.forget_used(at, true);
        if let Some(typing) = self.queue[at].preparation_mut().and_then(|preparation| preparation.typing.as_mut()) {
            typing.renew();
        }
        self.describe(at, write_buffer);
    }

    /// The first request has failed in an open transaction, where it cannot be repeated. If its columns have changed, or a
    /// value was refused by a type of the user's own that the server had chosen for it, its text is described again at
    /// each execution in a transaction.
    pub(super) fn note_unsteady(&mut self) {
        let Some(pending) = self.queue.first() else { return };
        let (Some(Failure::Server { error, .. }), Some(statement)) = (&pending.slot.failure, pending.statement())
        else {
            return;
        };
        let hints = pending.hints();
        let is_chosen = |(i, oid): (usize, &Oid)| *oid >= FIRST_OWN && hints.get(i).is_none_or(|hint| *hint == 0);
        let values = matches!(error.sqlstate(), "22P02" | "22P03" | "42804")
            && statement.parameters.iter().enumerate().any(is_chosen);
        if has_other_columns(error) || values {
            if self.unsteady.len() >= limits::UNSTEADY_STATEMENTS {
                self.unsteady.clear();
            }
            self.unsteady.insert(statement.sql.clone());
        }
    }

    /// Runs the first request again if that changes nothing else: outside a transaction, or in one that contains nothing
    /// but this request's own BEGIN, which is rolled back first, or with a savepoint to go back to; and if nothing was sent
    /// after it that relies on the order.
    pub(super) fn retry(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let status = self.transaction.status();
        let sole = self.queue.started() == 1;
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let ordered = matches!(&pending.request, Request::Execute(e) if e.ordered);
        let alone =
            status == TransactionStatus::Idle || (pending.block.is_begun_here() && status == TransactionStatus::Failed);
        let saved = pending.answer.saved.filter(|saved| saved.is_set && status == TransactionStatus::Failed);
        let again = (alone || saved.is_some()) && pending.slot.may_repeat() && (!ordered || sole);
        let started = pending.is_batch_started();
        let again = again && (!started || pending.is_back_at(saved, cx));
        if !again {
            self.settle_front(cx);
            return Ok(());
        }
        let Some(pending) = self.queue.pop_front() else { return Ok(()) };
        if pending.block.is_begun_here() && pending.request.reserving_portal().is_some() {
            // It begins again, after the ROLLBACK.
            self.reserved = None;
            self.streamed = None;
        }
        let lane = pending.slot.lane;
        // Rows that were read from the iterator but not sent need not be read again.
        let types_pending = !started && pending.preparation().is_some_and(|known| known.types_pending);
        let mut fresh = pending.again();
        if let Some(preparation) = fresh.preparation_mut() {
            preparation.types_pending = types_pending;
        }
        if let Some(saved) = saved {
            fresh.answer.resume(saved);
        }
        self.queue.put_back(fresh);
        if status == TransactionStatus::Failed {
            let verb = saved.map_or(Verb::Rollback(IfUnsent::Forget), |_| back_to_batch());
            let Ok(rollback) = verb::request(&verb) else { return Ok(()) };
            self.queue.insert_own(lane, |slot| PendingRequest::new(slot, rollback));
        }
        Ok(())
    }
}

impl<H: PgHandler> PendingRequest<H> {
    fn is_batch_started(&self) -> bool {
        self.is_batch() && self.answer.owed > 0
    }

    /// Starts a batch over, from its first row or from the one after the savepoint; returns false if that is not possible.
    fn is_back_at(&mut self, saved: Option<Saved>, cx: H::Context<'_>) -> bool {
        let Some(handler) = &mut self.slot.handler else { return false };
        if !handler.rewind(cx) {
            return false;
        }
        let Some(saved) = saved else { return true };
        for _ in 0..saved.rows {
            if !matches!(handler.next_row(cx), Ok(true)) {
                return false;
            }
        }
        handler.result(cx, Summary { rows: Some(saved.affected), ..Summary::default() });
        true
    }
}
