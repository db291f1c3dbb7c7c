//! The transaction of a session: as of what its server has answered, and as of what was sent to it.
//!
//! [`Reported`] is the state as of the last reply, and [`TRANSITIONS`] is its table: events come from the machines, which
//! read them in replies. A server may report anything at any time, so a report is possible in every state. Not in the
//! table: the blocks of the program, which count submitted requests ([`crate::block`]), and transactions that pending
//! requests will begin or end ([`crate::Effect`]).
//!
//! [`Sent`] is the state that the server will have when it has executed everything that was sent. Where nothing is in
//! flight, [`Transaction::settle`] makes it that of the last reply.

use crate::session::TransactionStatus;
use crate::transitions::Transitions;

crate::names! {
    /// The transaction as of the last reply.
    #[derive(Default)]
    pub enum Reported {
        #[default]
        Idle = "no transaction is open",
        Declared = "a block is open, for which the server has begun nothing yet: CUBRID has no BEGIN",
        Open = "a transaction is open",
        Failed = "a transaction is open that has failed, or that the server has ended by itself: only a rollback will do",
        Doubtful = "an error may have ended the transaction, or not: MySQL's errors do not tell",
        Chained = "the server has chained a transaction to one that the driver has ended: it is ended before the next request",
        Continued = "what was in flight behind the driver's end was executed in a chained transaction: it is committed before the next request",
    }
}

crate::names! {
    /// An event that changes the transaction as of the last reply.
    pub enum Event {
        Declare = "a block begins, for which nothing is sent",
        Begun = "the server reports a transaction",
        Failed = "the server reports a transaction that has failed, or has ended it by itself",
        Doubted = "an error comes without a report, after which there may be none",
        Chained = "the driver's end of the transaction is answered, and reports another one",
        Continued = "the reply to what was in flight behind that end reports the chained transaction",
        Ended = "the server reports that none is open, or has answered its end; or its beginning was refused",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<Reported, Event> = {
    use Reported::*;
    Transitions {
        machine: "transaction",
        rows: crate::rows![
            (Idle | Declared, Event::Declare, Declared),
            (Open, Event::Declare, Open),
            (Failed, Event::Declare, Failed),
            (Idle | Declared | Open | Failed | Doubtful | Chained | Continued, Event::Begun, Open),
            (Idle | Declared | Open | Failed, Event::Failed, Failed),
            (Idle | Open | Doubtful, Event::Doubted, Doubtful),
            (Chained, Event::Doubted, Chained),
            (Continued, Event::Doubted, Continued),
            (Idle | Open | Doubtful | Chained | Continued, Event::Chained, Chained),
            (Chained | Continued, Event::Continued, Continued),
            (Idle | Declared | Open | Failed | Doubtful | Chained | Continued, Event::Ended, Idle),
        ],
    }
};

impl Reported {
    /// The only function that changes it.
    #[inline]
    pub fn on(&mut self, event: Event) {
        let to = match (event, *self) {
            (Event::Declare, Self::Idle) => Self::Declared,
            (Event::Declare, open) => open,
            (Event::Begun, _) => Self::Open,
            (Event::Failed, _) => Self::Failed,
            // It is ended in any case.
            (Event::Doubted, to_be_ended @ (Self::Chained | Self::Continued)) => to_be_ended,
            (Event::Doubted, _) => Self::Doubtful,
            (Event::Chained, _) => Self::Chained,
            (Event::Continued, _) => Self::Continued,
            (Event::Ended, _) => Self::Idle,
        };
        TRANSITIONS.take(*self, event, to);
        *self = to;
    }

    /// The server reports this status.
    #[inline]
    pub fn report(&mut self, status: TransactionStatus) {
        self.on(match status {
            TransactionStatus::Idle => Event::Ended,
            TransactionStatus::InTransaction => Event::Begun,
            TransactionStatus::Failed => Event::Failed,
        });
    }

    /// What programs are told. A transaction that may have ended counts as open, one that the driver is about to end does
    /// not, unless something was executed in it: that is lost with the session.
    #[inline]
    pub fn status(self) -> TransactionStatus {
        match self {
            Self::Idle | Self::Chained => TransactionStatus::Idle,
            Self::Declared | Self::Open | Self::Doubtful | Self::Continued => TransactionStatus::InTransaction,
            Self::Failed => TransactionStatus::Failed,
        }
    }

    /// Returns true if the server has chained a transaction that the driver ends before the next request.
    #[inline]
    pub fn is_chained(self) -> bool {
        matches!(self, Self::Chained | Self::Continued)
    }

    /// Returns true if a transaction, even a failed one, is open to programs.
    #[inline]
    pub fn is_open(self) -> bool {
        self.status() != TransactionStatus::Idle
    }
}

/// The transaction as of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sent {
    /// None is open.
    #[default]
    Idle,
    /// One is open.
    Open,
    /// Only the reply to a statement of the program's shows it.
    Unknown,
}

impl Sent {
    /// Open if `open` is true.
    #[inline]
    pub fn of(open: bool) -> Self {
        if open { Self::Open } else { Self::Idle }
    }
}

/// The transaction of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// As of the last reply.
    reported: Reported,
    /// As of what was sent: a beginning or an end, or a statement that may be one.
    pub sent: Sent,
    /// Definitions were changed since the last end of a transaction was answered, in one or by themselves: a rollback may
    /// take them back.
    pub redefined: bool,
}

impl Transaction {
    /// As of the last reply.
    #[inline]
    pub fn reported(&self) -> Reported {
        self.reported
    }

    /// As of the last reply, for programs.
    #[inline]
    pub fn status(&self) -> TransactionStatus {
        self.reported.status()
    }

    /// Returns true if one is open to programs as of the last reply.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.reported.is_open()
    }

    /// A reply has come, or a block begins for which nothing is sent.
    #[inline]
    pub fn on(&mut self, event: Event) {
        self.reported.on(event);
    }

    /// The server reports this status.
    #[inline]
    pub fn report(&mut self, status: TransactionStatus) {
        self.reported.report(status);
    }

    /// Returns true if one is certainly open as of what was sent.
    #[inline]
    pub fn is_open_ahead(&self) -> bool {
        self.sent == Sent::Open
    }

    /// Nothing is in flight: the state as of what was sent is that of the last reply.
    #[inline]
    pub fn settle(&mut self) {
        self.sent = Sent::of(self.is_open());
    }

    /// What was sent since a copy of it was made was taken back: both states are those of then.
    pub fn take_back(&mut self, then: Self) {
        (self.reported, self.sent) = (then.reported, then.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transitions::Name;

    #[test]
    fn a_server_may_report_anything_at_any_time() {
        for from in Reported::ALL {
            for (event, to) in [(Event::Begun, Reported::Open), (Event::Ended, Reported::Idle)] {
                let mut reported = *from;
                reported.on(event);
                assert_eq!(reported, to, "{} at {}", from.name(), event.name());
            }
        }
    }

    #[test]
    fn each_row_is_what_the_function_does() {
        for (from, event, to) in TRANSITIONS.rows {
            let mut reported = *from;
            reported.on(*event);
            assert_eq!(reported, *to, "{} at {}", from.name(), event.name());
        }
    }

    #[test]
    fn what_was_sent_is_known_again_when_all_is_answered() {
        let mut transaction = Transaction { sent: Sent::Unknown, ..Transaction::default() };
        transaction.on(Event::Begun);
        assert!(transaction.is_open() && !transaction.is_open_ahead());
        transaction.settle();
        assert_eq!(transaction.sent, Sent::Open);
        let before = transaction;
        transaction.sent = Sent::Idle;
        transaction.redefined = true;
        transaction.take_back(before);
        assert!(transaction.is_open_ahead() && transaction.redefined, "what was redefined stays so");
    }
}
