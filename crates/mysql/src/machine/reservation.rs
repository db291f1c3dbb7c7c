//! Reservations: several requests of one response handler without requests of others between them. A load into a table
//! is one: the statement that allows to undo it, the LOAD DATA itself, its warnings, and its end.
//!
//! | from | event | to |
//! |---|---|---|
//! | (none) | `Request::Reserve` is started, with nothing in flight | Held |
//! | Held | released | Ending |
//! | Ending | no request within it is queued or in flight | (none) |
//!
//! Requests within the reservation are sent before those that wait, also while it is ending: the rollback of an
//! abandoned load comes before anything else.

use super::pending::{PendingRequest, Stage};
use super::verb::{COMMIT, ROLLBACK, release, rollback_to, savepoint};
use super::{Machine, MyHandler, VerbStatement};
use crate::packets::capabilities::StatusFlags;
use headrace_core::Session as _;
use headrace_core::verb::{Effect, IfUnsent};

/// What is done with the guard of a load: a transaction of its own, or a savepoint if one is open or autocommit is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarding {
    /// Begin it.
    Begin,
    /// End it, and keep what was loaded.
    Keep,
    /// Undo what was loaded.
    Undo,
}

/// Notes are warnings to the server, but they are not about rows that were changed to fit.
const NO_NOTES: &str = "SET @headrace_notes = @@sql_notes, sql_notes = 0";
pub(super) const NOTES: &str = "SET sql_notes = @headrace_notes";

/// The savepoint of a load inside a transaction.
const SAVEPOINT: &str = "headrace_load";

/// A reservation of the connection.
#[derive(Debug)]
pub(super) struct Reservation {
    number: u64,
    ending: bool,
    /// True if a transaction was open when it began.
    in_transaction: bool,
}

impl<H: MyHandler> Machine<H> {
    /// The request of this number has the connection to itself from now on.
    pub(super) fn reserve(&mut self, number: u64) {
        let in_transaction = self.session.in_transaction();
        self.reservation = Some(Reservation { number, ending: false, in_transaction });
    }

    /// A request has ended. If it was that of the reservation, the status of the session is known now.
    pub(super) fn note_reserved(&mut self, id: u64) {
        let in_transaction = self.session.in_transaction();
        if let Some(reservation) = self.reservation.as_mut().filter(|reservation| reservation.number == id) {
            reservation.in_transaction = in_transaction;
        }
    }

    /// Ends a reservation, once the requests within it that were queued have ended; one that has not begun is removed
    /// from the queue.
    pub fn release(&mut self, number: u64) {
        match &mut self.reservation {
            Some(reservation) if reservation.number == number => reservation.ending = true,
            _ => {
                self.discard(number);
            }
        }
    }

    /// The two statements that begin the guard of a load within the reservation, or end it. They are sent in any case: a
    /// guard that has begun has to be ended, and an end needs a guard.
    pub fn guard(&self, guarding: Guarding) -> [VerbStatement; 2] {
        let in_transaction = self.reservation.as_ref().is_some_and(|reservation| reservation.in_transaction);
        let own = !in_transaction && self.session.status.contains(StatusFlags::AUTOCOMMIT);
        let replaced = |sql: &str, effect: Effect, instead: &str| VerbStatement {
            sql: sql.into(),
            effect,
            discarded: Some(instead.into()),
        };
        let statement = |sql: &str, effect: Effect| replaced(sql, effect, sql);
        let end = |sql: &str| match own {
            true => replaced(sql, Effect::Ends(IfUnsent::RollBack), ROLLBACK),
            false => replaced(sql, Effect::Keeps, &rollback_to(SAVEPOINT)),
        };
        let notes = statement(if guarding == Guarding::Begin { NO_NOTES } else { NOTES }, Effect::Keeps);
        match (guarding, own) {
            (Guarding::Begin, true) => [statement("START TRANSACTION", Effect::Begins), notes],
            (Guarding::Begin, false) => [statement(&savepoint(SAVEPOINT), Effect::Keeps), notes],
            (Guarding::Keep, true) => [notes, end(COMMIT)],
            (Guarding::Keep, false) => [notes, end(&release(SAVEPOINT))],
            (Guarding::Undo, true) => [notes, end(ROLLBACK)],
            (Guarding::Undo, false) => [notes, end(&rollback_to(SAVEPOINT))],
        }
    }

    /// Returns true if requests wait for the holder of a reservation.
    pub(super) fn is_reserved(&self) -> bool {
        self.reservation.as_ref().is_some_and(|reservation| !reservation.ending)
    }

    /// Returns true if request `id` is one that waits so.
    pub(super) fn waits_for_reservation(&self, id: u64) -> bool {
        let Some(reservation) = self.reservation.as_ref().filter(|reservation| !reservation.ending) else {
            return false;
        };
        let mut waiting = self.queue.waiting();
        waiting.any(|pending| pending.slot.id == id && pending.reservation != reservation.number)
    }

    /// Returns true if a transaction is open for code that shares the connection: one that a reservation or a batch has
    /// begun for itself ends before anything else is started.
    pub(super) fn shares_transaction(&self) -> bool {
        if let Some(reservation) = self.reservation.as_ref().filter(|reservation| !self.is_over(reservation)) {
            return reservation.in_transaction;
        }
        match self.queue.first().map(PendingRequest::stage) {
            Some(Stage::Batch(batch)) if batch.has_own_transaction() => false,
            _ => self.session.in_transaction(),
        }
    }

    fn is_over(&self, reservation: &Reservation) -> bool {
        let mut within = self.queue.iter();
        reservation.ending && !within.any(|pending| pending.reservation == reservation.number)
    }

    /// Moves the next request within the reservation before those that wait; returns true if a request may be started,
    /// one that waited if the reservation has ended.
    pub(super) fn bring_forward(&mut self) -> bool {
        let Some(reservation) = &self.reservation else { return true };
        if self.is_over(reservation) {
            self.reservation = None;
            return true;
        }
        let number = reservation.number;
        self.queue.bring_forward(|pending, _| pending.reservation == number)
    }
}
