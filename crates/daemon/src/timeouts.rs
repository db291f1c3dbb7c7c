//! How long a client may take for what it does, since when that counts, and what it is told at the end. Time is an
//! argument here: who waits, waits until what [`Clock::observe`] returns.
//!
//! | bound | counts from | up to |
//! |---|---|---|
//! | `query` | the request, or the reply before, of several requests | the next reply |
//! | `transaction` | the first request of the transaction | its end; of a request outside of one, its reply |
//! | `idle_transaction` | the last reply or message, where the server waits for the client | the client's next message |
//! | `client_idle` | the last reply, outside of a transaction | the client's next message |
//! | `message` | the first part of a message, or [`BORROW_BYTES`] more of it | the last part |
//!
//! How long a client waits for a server connection counts for none of them: that is bounded by `queue_wait`.

use crate::limits::BORROW_BYTES;
use crate::replies::{CANCELLED, Ended, IDLE_IN_TRANSACTION, IDLE_SESSION, LONG_TRANSACTION, PROTOCOL_VIOLATION};
use std::future::pending;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};

/// The bounds; `None` for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Of a request that the server works on.
    pub query: Option<Duration>,
    /// Of a transaction.
    pub transaction: Option<Duration>,
    /// Of a client in a transaction, or in a group of messages, for which the server waits.
    pub idle_transaction: Option<Duration>,
    /// Of a client that asks for nothing.
    pub client_idle: Option<Duration>,
    /// Of a message that is not complete.
    pub message: Option<Duration>,
}

/// What has taken too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// A request.
    Query,
    /// A transaction.
    Transaction,
    /// The client, in a transaction.
    IdleTransaction,
    /// The client, outside of one.
    ClientIdle,
    /// A message.
    Message,
}

impl Expired {
    /// The error with which the client's connection ends: the SQLSTATE is PostgreSQL's for the same.
    pub fn ended(self) -> Ended {
        let (sqlstate, what) = match self {
            Self::Query => (CANCELLED, "the request has taken longer than query_timeout"),
            Self::Transaction => (LONG_TRANSACTION, "the transaction has taken longer than transaction_timeout"),
            Self::IdleTransaction => (
                IDLE_IN_TRANSACTION,
                "the client was idle in a transaction, or in a request that is not complete, for longer than \
                 idle_transaction_timeout",
            ),
            Self::ClientIdle => (IDLE_SESSION, "the client was idle for longer than client_idle_timeout"),
            Self::Message => (PROTOCOL_VIOLATION, "a message of the client was not complete within message_timeout"),
        };
        Ended::new(sqlstate, format!("headraced: the connection is closed: {what}"))
    }
}

/// Who is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nobody: the client has asked for nothing, and has no transaction open.
    Nothing,
    /// The client: the server holds a transaction open for it, or a request that is not complete.
    Waiting,
    /// The server.
    Query,
}

/// A client at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Who is waited for.
    pub doing: Doing,
    /// The server has reported that a transaction is open.
    pub in_transaction: bool,
    /// Counts what was passed on to the server.
    pub asked: u64,
    /// Counts replies.
    pub replies: u64,
    /// Of a message that is not complete: a number for each message, and how many bytes were received.
    pub receiving: Option<(u64, u64)>,
}

/// What was observed of a client, and since when.
#[derive(Debug)]
pub struct Clock {
    timeouts: Timeouts,
    /// How often the configuration had changed that they are of.
    changes: u64,
    doing: Doing,
    asked: u64,
    replies: u64,
    since: Instant,
    transaction: Option<Instant>,
    receiving: Option<((u64, u64), Instant)>,
}

impl Clock {
    /// Of a client that does nothing, with the bounds of a configuration that has changed this often.
    pub fn new(timeouts: Timeouts, changes: u64, now: Instant) -> Self {
        Self {
            timeouts,
            changes,
            doing: Doing::Nothing,
            asked: 0,
            replies: 0,
            since: now,
            transaction: None,
            receiving: None,
        }
    }

    /// How often the configuration had changed that its bounds are of.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if the client need not be observed: nothing of what it does is bounded.
    pub fn is_free(&self, is_receiving: bool) -> bool {
        let Timeouts { query, transaction, idle_transaction, client_idle, message } = self.timeouts;
        let others = query.or(transaction).or(idle_transaction).or(client_idle);
        others.is_none() && (message.is_none() || !is_receiving && self.receiving.is_none())
    }

    /// Notes what the client does. Returns what expires first, and when.
    pub fn observe(&mut self, now: Instant, observed: Observed) -> Option<(Instant, Expired)> {
        let Observed { doing, in_transaction, asked, replies, receiving } = observed;
        let began = self.since;
        let moved = replies != self.replies || asked != self.asked && doing != Doing::Query;
        if moved || doing != self.doing {
            self.since = now;
        }
        (self.doing, self.asked, self.replies) = (doing, asked, replies);
        self.transaction = in_transaction.then(|| self.transaction.unwrap_or(began));
        self.receiving = receiving.map(|(message, bytes)| match self.receiving {
            Some(((before, then), since))
                if before == message && (then..then + BORROW_BYTES as u64).contains(&bytes) =>
            {
                ((before, then), since)
            }
            _ => ((message, bytes), now),
        });
        self.first()
    }

    fn first(&self) -> Option<(Instant, Expired)> {
        let timeouts = &self.timeouts;
        let (of_request, what) = match self.doing {
            Doing::Nothing => (timeouts.client_idle, Expired::ClientIdle),
            Doing::Waiting => (timeouts.idle_transaction, Expired::IdleTransaction),
            Doing::Query => (timeouts.query, Expired::Query),
        };
        let transaction = self.transaction.or((self.doing != Doing::Nothing).then_some(self.since));
        let receiving = self.receiving.map(|(_, since)| since);
        [
            (Some(self.since), of_request, what),
            (transaction, timeouts.transaction, Expired::Transaction),
            (receiving, timeouts.message, Expired::Message),
        ]
        .into_iter()
        .filter_map(|(since, bound, what)| Some((since? + bound?, what)))
        .min_by_key(|(then, _)| *then)
    }
}

/// Waits until what is bounded has expired. It is set anew for an earlier time only: most often what was waited for
/// happens, and something else expires later.
#[derive(Debug, Default)]
pub struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Returns what has expired; waits for ever without a bound.
    pub async fn expired(&mut self, first: Option<(Instant, Expired)>) -> Expired {
        let Some((then, what)) = first else { return pending().await };
        let then = then.into();
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(then)));
        if sleep.deadline() > then {
            sleep.as_mut().reset(then);
        }
        loop {
            sleep.as_mut().await;
            if sleep.deadline() >= then {
                return what;
            }
            sleep.as_mut().reset(then);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn all() -> Timeouts {
        Timeouts {
            query: Some(3 * SECOND),
            transaction: Some(20 * SECOND),
            idle_transaction: Some(5 * SECOND),
            client_idle: Some(7 * SECOND),
            message: Some(2 * SECOND),
        }
    }

    fn at(doing: Doing, in_transaction: bool, asked: u64, replies: u64) -> Observed {
        Observed { doing, in_transaction, asked, replies, receiving: None }
    }

    /// The second, what is observed then, the second at which something expires, and what.
    type Line = (u64, Observed, Option<(u64, Expired)>);

    fn check(timeouts: Timeouts, rows: &[Line]) {
        let start = Instant::now();
        let mut clock = Clock::new(timeouts, 0, start);
        for (second, observed, expected) in rows {
            let first = clock.observe(start + *second as u32 * SECOND, *observed);
            let expected = expected.map(|(then, what)| (start + then as u32 * SECOND, what));
            assert_eq!(first, expected, "second {second}: {observed:?}");
        }
    }

    #[test]
    fn each_bound_counts_from_its_own_beginning() {
        use Doing::{Nothing, Query, Waiting};
        check(
            all(),
            &[
                (0, at(Nothing, false, 0, 0), Some((7, Expired::ClientIdle))),
                (4, at(Nothing, false, 0, 0), Some((7, Expired::ClientIdle))),
                (5, at(Query, false, 10, 0), Some((8, Expired::Query))),
                // What is sent behind a request does not prolong it; a reply does.
                (6, at(Query, false, 20, 0), Some((8, Expired::Query))),
                (7, at(Query, false, 20, 1), Some((10, Expired::Query))),
                (8, at(Waiting, true, 20, 2), Some((13, Expired::IdleTransaction))),
                // A part of a COPY, for example.
                (12, at(Waiting, true, 30, 2), Some((17, Expired::IdleTransaction))),
                (16, at(Query, true, 40, 2), Some((19, Expired::Query))),
                // The transaction began with the request at 7.
                (25, at(Query, true, 40, 3), Some((27, Expired::Transaction))),
                (26, at(Nothing, false, 40, 4), Some((33, Expired::ClientIdle))),
                (27, at(Query, false, 50, 4), Some((30, Expired::Query))),
                (28, at(Query, true, 50, 5), Some((31, Expired::Query))),
            ],
        );
    }

    #[tokio::test]
    async fn timer_waits_for_what_it_was_asked_for_last() {
        let (mut timer, start) = (Timer::default(), Instant::now());
        let milliseconds = |n| start + Duration::from_millis(n);
        let far = Some((start + 1000 * SECOND, Expired::ClientIdle));
        assert!(tokio::time::timeout(Duration::from_millis(1), timer.expired(far)).await.is_err());
        // Earlier than before, later than the time that has passed, and a time that has passed.
        for (then, what) in [(20, Expired::Query), (60, Expired::Transaction), (0, Expired::Message)] {
            assert_eq!(timer.expired(Some((milliseconds(then), what))).await, what);
            assert!(Instant::now() >= milliseconds(then));
        }
        // It was set for an earlier time, far enough for a busy machine.
        let start = Instant::now();
        let milliseconds = |n| start + Duration::from_millis(n);
        let before = Some((milliseconds(300), Expired::Query));
        assert!(tokio::time::timeout(Duration::from_millis(1), timer.expired(before)).await.is_err());
        assert_eq!(timer.expired(Some((milliseconds(340), Expired::Message))).await, Expired::Message);
        assert!(Instant::now() >= milliseconds(340));
    }

    #[test]
    fn requests_without_a_pause_are_no_transaction() {
        let timeouts = Timeouts { transaction: Some(2 * SECOND), ..Timeouts::default() };
        let rows: Vec<_> =
            (1..10).map(|n| (n, at(Doing::Query, false, n, n), Some((n + 2, Expired::Transaction)))).collect();
        check(timeouts, &rows);
    }

    #[test]
    fn message_is_bounded_unless_much_of_it_comes() {
        let much = BORROW_BYTES as u64;
        let of = |message, bytes| Observed { receiving: Some((message, bytes)), ..at(Doing::Nothing, false, 0, 0) };
        let timeouts = Timeouts { message: Some(10 * SECOND), ..Timeouts::default() };
        check(
            timeouts,
            &[
                (0, of(1, 5), Some((10, Expired::Message))),
                (4, of(1, 6), Some((10, Expired::Message))),
                (8, of(1, 5 + much), Some((18, Expired::Message))),
                // A part of the next one.
                (9, of(2, 6 + much), Some((19, Expired::Message))),
                (10, at(Doing::Nothing, false, 0, 0), None),
                (30, of(3, 7 + much), Some((40, Expired::Message))),
            ],
        );
        let clock = Clock::new(timeouts, 0, Instant::now());
        assert!(clock.is_free(false) && !clock.is_free(true));
        assert!(Clock::new(Timeouts::default(), 0, Instant::now()).is_free(true));
        assert!(!Clock::new(all(), 0, Instant::now()).is_free(false));
    }
}
