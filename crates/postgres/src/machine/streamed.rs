//! The transaction block that a portal has for itself where no other is open. The end of the portal commits it.
//!
//! A program that reads the rows of an INSERT takes the end without an error for the commit. A reply alone does not show
//! that: of a transaction that has failed the server makes a ROLLBACK, without an error, and outside of a transaction it
//! only warns. So the end fails with anything but the commit of the block, and a session that is lost before has lost the
//! block.

use super::pending::{Failure, PendingRequest};
use super::request::Request;
use super::{Machine, PgHandler, verb};
use crate::messages::backend::ServerError;
use crate::messages::tag::field;
use headrace_core::{IfUnsent, Mismatch, TransactionStatus, Verb};

/// SQLSTATE of the warning that a COMMIT has nothing to commit: `no_active_sql_transaction`.
const NO_TRANSACTION: &str = "25P01";

/// A portal with a transaction block of its own.
#[derive(Debug)]
pub(super) struct Streamed {
    portal: u64,
    /// The first error of a fetch, which nobody may have been told of: it was asked for ahead.
    error: Option<String>,
}

impl Streamed {
    pub(super) fn new(portal: u64) -> Self {
        Self { portal, error: None }
    }
}

impl<H: PgHandler> Machine<H> {
    /// Returns true if the portal of this number has a transaction block of its own, whose end was not answered: that of a
    /// session that has ended is lost.
    pub fn owns_block(&self, number: u64) -> bool {
        self.streamed.as_ref().is_some_and(|streamed| streamed.portal == number)
    }

    /// Returns true if the first request is the end of such a block.
    fn ends_own_block(&self) -> bool {
        let (Some(streamed), Some(first)) = (&self.streamed, self.queue.first()) else { return false };
        matches!(&first.request, Request::ClosePortal { portal } if portal.number == streamed.portal)
    }

    /// The first request has failed with this error, which is why the block has failed if it is a fetch.
    pub(super) fn note_fetch_failed(&mut self, error: &ServerError) {
        if let (Some(streamed), Some(PendingRequest { request: Request::Fetch { portal, .. }, .. })) =
            (&mut self.streamed, self.queue.first())
            && streamed.portal == portal.number
        {
            streamed.error.get_or_insert_with(|| error.field(field::MESSAGE).to_owned());
        }
    }

    /// A notice has come. The end of a block that is not there has committed nothing.
    pub(super) fn note_no_block(&mut self, notice: &ServerError) {
        if notice.sqlstate() == NO_TRANSACTION && self.ends_own_block() {
            self.fail_end("it had ended before");
        }
    }

    /// A command of the first request is complete.
    pub(super) fn note_end_of_block(&mut self, tag: &[u8]) {
        if tag != b"COMMIT" && self.ends_own_block() {
            let known = self.streamed.as_ref().and_then(|streamed| streamed.error.clone());
            let reason = known.map_or("one of its statements had failed".into(), |error| {
                format!("rows that were asked for ahead could not be sent: {error}")
            });
            self.fail_end(&reason);
        }
    }

    fn fail_end(&mut self, reason: &str) {
        let text = format!("the transaction of the stream was not committed: {reason}");
        if let Some(pending) = self.queue.first_mut() {
            let error = Mismatch::lost_transaction(text).into();
            pending.slot.failure.get_or_insert(Failure::Client { error, row: None });
        }
    }

    /// The first request was answered. A COMMIT that was cancelled has left the block open, which must not be what comes
    /// next.
    pub(super) fn settle_own_block(&mut self, status: TransactionStatus) {
        if !self.ends_own_block() {
            return;
        }
        self.streamed = None;
        let Some(lane) = self.queue.first().map(|pending| pending.slot.lane) else { return };
        if status != TransactionStatus::Idle
            && let Ok(rollback) = verb::request(&Verb::Rollback(IfUnsent::Forget))
        {
            self.queue.insert_own(lane, |slot| PendingRequest::new(slot, rollback));
        }
    }
}
