//! What PgBouncer counts of each database, in total and on average.

use crate::hub::Hub;
use crate::limits::STATS_PERIOD;
use crate::lock;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// Its names in SHOW STATS, after `total_`, and in SHOW STATS_TOTALS.
pub const NAMES: [(&str, &str); COUNT] = [
    ("server_assignment_count", "server_assignment_count"),
    ("xact_count", "xact_count"),
    ("query_count", "query_count"),
    ("received", "bytes_received"),
    ("sent", "bytes_sent"),
    ("xact_time", "xact_time"),
    ("query_time", "query_time"),
    ("wait_time", "wait_time"),
    ("client_parse_count", "client_parse_count"),
    ("server_parse_count", "server_parse_count"),
    ("bind_count", "bind_count"),
    ("client_login_count", "client_login_count"),
];

const COUNT: usize = 12;

/// What an average is of: one of these, or a second.
const PER: [Option<usize>; COUNT] = [None, None, None, None, None, Some(1), Some(2), Some(0), None, None, None, None];

/// The figures of a database, in the order of [`NAMES`]. Times are in microseconds.
pub type Figures = [u64; COUNT];

/// The totals of each database by its name.
pub fn totals(hub: &Hub) -> BTreeMap<String, Figures> {
    let mut totals: BTreeMap<String, Figures> = BTreeMap::new();
    for pool in hub.shown() {
        let stats = &pool.stats;
        let micros = |seconds: f64| (seconds * 1e6) as u64;
        let (prepared, lent) = (stats.prepared.value(), micros(stats.used.seconds()));
        let of_pool = [
            stats.lent.value(),
            stats.transactions.value(),
            stats.requests.value(),
            stats.sent.value(),
            stats.received.value(),
            // How long server connections are lent: one is, for as long as a transaction takes.
            lent,
            lent,
            micros(stats.wait.seconds()),
            stats.spared.value() + prepared,
            prepared + stats.prepared_again.value(),
            stats.bound.value(),
            stats.logins.value(),
        ];
        let of_database = totals.entry(pool.database).or_default();
        of_database.iter_mut().zip(of_pool).for_each(|(total, more)| *total += more);
    }
    totals
}

/// The averages of the last [`STATS_PERIOD`].
#[derive(Debug, Default)]
pub struct Averages(Mutex<Period>);

#[derive(Debug, Default)]
struct Period {
    began: Option<Instant>,
    totals: BTreeMap<String, Figures>,
    averages: BTreeMap<String, Figures>,
}

impl Averages {
    /// Notes the totals, once in each period.
    pub fn note(&self, now: Instant, totals: impl FnOnce() -> BTreeMap<String, Figures>) {
        let mut period = lock(&self.0);
        let seconds = period.began.map(|began| now.saturating_duration_since(began));
        if seconds.is_some_and(|seconds| seconds < STATS_PERIOD) {
            return;
        }
        let totals = totals();
        let none = Figures::default();
        if let Some(seconds) = seconds {
            let of = |(name, now): (&String, &Figures)| {
                let before = period.totals.get(name).unwrap_or(&none);
                (name.clone(), average(before, now, seconds.as_secs_f64()))
            };
            period.averages = totals.iter().map(of).collect();
        }
        (period.began, period.totals) = (Some(now), totals);
    }

    /// The averages of a database.
    pub fn of(&self, name: &str) -> Figures {
        lock(&self.0).averages.get(name).copied().unwrap_or_default()
    }
}

fn average(before: &Figures, now: &Figures, seconds: f64) -> Figures {
    // What a pool has counted is gone with it.
    let more: Figures = std::array::from_fn(|at| now[at].saturating_sub(before[at]));
    std::array::from_fn(|at| match PER[at] {
        Some(of) => more[at].checked_div(more[of]).unwrap_or_default(),
        None => (more[at] as f64 / seconds) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_those_of_the_last_period() {
        let (averages, start) = (Averages::default(), Instant::now());
        let at =
            |n: u64| BTreeMap::from([("app".to_owned(), [n, 2 * n, 4 * n, 0, 0, 60 * n, 80 * n, 7 * n, 0, 0, 0, n])]);
        averages.note(start, || at(100));
        assert_eq!(averages.of("app"), Figures::default());
        averages.note(start + STATS_PERIOD / 2, || unreachable!("the period has not ended"));
        averages.note(start + STATS_PERIOD, || at(700));
        assert_eq!(averages.of("app"), [10, 20, 40, 0, 0, 30, 20, 7, 0, 0, 0, 10]);
        averages.note(start + 2 * STATS_PERIOD, || at(5));
        assert_eq!(averages.of("app"), Figures::default(), "another pool");
        assert_eq!(averages.of("none"), Figures::default());
    }
}
