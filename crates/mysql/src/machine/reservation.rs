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
use super::{Machine, MyHandler};
use headrace_core::Session as _;

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
