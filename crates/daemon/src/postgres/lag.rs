//! How far the standbys of a database are behind its primary.
//!
//! The time of the last transaction that a standby has replayed means little: a primary that does nothing looks like a
//! standby that lags, and a standby that has replayed all that it has received may not have received anything for an hour.
//! So the servers are asked for positions in the log, each on a connection of its own, as long as clients need it: what the
//! primary had written at a time of the daemon's clock, a standby has replayed or not. Nothing is taken for true longer
//! than `max_lag`, so a standby, or a primary, that does not answer any more is found out by that alone.

use super::server::{NotOpened, Server};
use crate::config::DatabaseConfig;
use crate::limits::{FIRST_LAG, LAG_LINGER, LAG_PAUSE_LEAST, LAG_QUESTIONS, MAX_LAG};
use crate::lock;
use crate::pool::{Key, Parameters};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Whether the server is a standby, and bytes of the log: replayed and received, or written. What was received before the
/// standby was started it does not answer.
const QUESTION: &str = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() \
    THEN pg_catalog.concat('standby ', pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0'), \
    ' ', pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_receive_lsn(), '0/0')) \
    ELSE pg_catalog.concat('primary ', pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')) END";

/// What a server has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// It is a standby. It has received at least what it has replayed.
    Standby { replayed: u64, received: u64 },
    /// It has written this.
    Primary(u64),
}

impl Position {
    fn read(answer: &str) -> Option<Self> {
        let (role, bytes) = answer.split_once(' ')?;
        // A standby that has replayed or received nothing since it was started shows nothing.
        let read = |bytes: &str| if bytes.is_empty() { Some(0) } else { bytes.parse().ok() };
        match role {
            "standby" => {
                let (replayed, received) = bytes.split_once(' ')?;
                let (replayed, received): (u64, u64) = (read(replayed)?, read(received)?);
                Some(Self::Standby { replayed, received: received.max(replayed) })
            }
            "primary" => bytes.parse().ok().map(Self::Primary),
            _ => None,
        }
    }
}

/// What is known of the hosts.
#[derive(Debug)]
struct Positions {
    /// What the primary had written at these times, in their order.
    primary: VecDeque<(Instant, u64)>,
    hosts: Vec<Host>,
}

/// What is known of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// It was asked, or could not be.
    known: bool,
    /// It is a standby.
    is_standby: bool,
    /// It has everything that the primary had at this time.
    as_of: Option<Instant>,
    /// When it has answered first on this connection. What the primary had written before that shows nothing: a standby that a
    /// failover has left behind has more than the new primary had then, and less than it has now.
    since: Option<Instant>,
    /// What it has received, and when it has answered so first.
    received: Option<(Instant, u64)>,
    /// It has received what the primary has never written, as after a failover to another standby that had received less: it
    /// cannot follow that primary, however far this one comes, unless it is started again with other files.
    is_apart: bool,
    /// Since it was found to be apart it may have been started again.
    may_be_another: bool,
}

impl Host {
    /// It was asked, and is not a standby, or has not answered.
    fn is_no_standby(&mut self) {
        let is_apart = self.is_apart;
        *self = Self { known: true, is_apart, may_be_another: is_apart, ..Self::default() };
    }

    /// It may have been started again since it has answered: nothing is known but that it may not follow the primary.
    fn is_reached_again(&mut self) {
        let Self { known, is_standby, is_apart, .. } = *self;
        *self = Self { known, is_standby, is_apart, may_be_another: is_apart, ..Self::default() };
    }
}

impl Positions {
    fn new(hosts: usize) -> Self {
        Self { primary: VecDeque::new(), hosts: vec![Host::default(); hosts] }
    }

    /// A host has answered a question, or has not (`None`), between these times.
    fn note(&mut self, host: usize, [asked, answered]: [Instant; 2], position: Option<Position>, kept: Duration) {
        self.primary.retain(|(time, _)| asked.saturating_duration_since(*time) <= kept);
        let known = &mut self.hosts[host];
        known.known = true;
        match position {
            None => known.is_no_standby(),
            Some(Position::Primary(written)) => {
                known.is_no_standby();
                self.primary.push_back((asked, written));
                for other in &mut self.hosts {
                    // What a standby has, its primary had written before.
                    if other.received.is_some_and(|(since, received)| since < asked && received > written) {
                        (other.is_apart, other.may_be_another, other.as_of) = (true, false, None);
                    }
                }
            }
            Some(Position::Standby { replayed, received }) => {
                known.is_standby = true;
                let since = *known.since.get_or_insert(answered);
                if known.received.is_none_or(|(_, before)| before != received) {
                    known.received = Some((answered, received));
                }
                if known.is_apart && !known.may_be_another {
                    return;
                }
                let is_before = |(time, _): &&(Instant, u64)| *time < since;
                let has = |(_, written): &&(Instant, u64)| *written <= replayed;
                if let Some((time, _)) = self.primary.iter().skip_while(is_before).take_while(has).last() {
                    // It follows this primary.
                    (known.as_of, known.is_apart) = (Some(*time), false);
                }
            }
        }
    }

    /// Returns true if what has to be known of a host before it is read from is not known yet.
    fn is_early(&self, host: &Host, max_lag: Option<Duration>) -> bool {
        !host.known || host.is_standby && !host.is_apart && host.as_of.is_none() && max_lag.is_some()
    }

    /// Returns true if a host may be read from.
    fn is_fit(&self, host: usize, now: Instant, max_lag: Option<Duration>) -> bool {
        let Host { is_standby, as_of, is_apart, .. } = self.hosts[host];
        match max_lag {
            None => is_standby && !is_apart,
            Some(most) => as_of.is_some_and(|time| now.saturating_duration_since(time) <= most),
        }
    }
}

/// Whether the hosts are asked.
#[derive(Debug, Default)]
struct Needed {
    /// When somebody has needed it last, while they are asked.
    last: Option<Instant>,
    /// Since when they are asked.
    since: Option<Instant>,
    /// Counts the times that this has begun.
    time: u64,
}

/// Asks the hosts of a database, as long as somebody needs it: for all pools of one user, whatever else their sessions are
/// opened with.
#[derive(Debug)]
pub struct Lag {
    /// Whose hosts they are, but for numbers and times that were changed later.
    pub database: Arc<DatabaseConfig>,
    /// How each of them is reached, as the configuration was read last.
    hosts: Mutex<Vec<Arc<DatabaseConfig>>>,
    parameters: Parameters,
    key: Key,
    max_lag: Option<Duration>,
    positions: Mutex<Positions>,
    needed: Mutex<Needed>,
    /// A host has answered.
    answered: Notify,
    /// Counts transactions.
    turn: AtomicUsize,
}

impl Lag {
    /// The part of a pool's key that decides how the hosts are asked: who logs in where. Clients choose what else is in it.
    pub fn login(key: &Key) -> Key {
        let startup = ["user", "database"].map(|name| (name.to_owned(), key.of(name).to_owned()));
        Key { startup: startup.to_vec(), ..key.clone() }
    }

    /// Of the hosts of a database, which are asked by this login.
    pub fn new(database: &Arc<DatabaseConfig>, login: Key) -> Self {
        let hosts = hosts_of(database);
        let own = [
            ("application_name", "headraced max_lag"),
            // A standby answers nothing where it is SERIALIZABLE by default.
            ("default_transaction_isolation", "read committed"),
            ("search_path", "pg_catalog"),
        ];
        let mut parameters = login.startup.clone();
        parameters.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Self {
            database: Arc::clone(database),
            positions: Mutex::new(Positions::new(hosts.len())),
            hosts: Mutex::new(hosts),
            parameters,
            key: login,
            max_lag: database.max_lag(),
            needed: Mutex::default(),
            answered: Notify::new(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Whose login it is.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The configuration has other numbers and times: for the next connection that is opened.
    pub fn change(&self, database: &DatabaseConfig) {
        *lock(&self.hosts) = hosts_of(database);
    }

    /// How a host is reached.
    pub fn host(&self, number: usize) -> Arc<DatabaseConfig> {
        Arc::clone(&lock(&self.hosts)[number])
    }

    /// The numbers of the hosts that may be read from now, which take turns. The first time it waits until they were asked,
    /// but not for long.
    pub async fn fit(self: &Arc<Self>) -> Vec<usize> {
        let now = Instant::now();
        let left = {
            let mut needed = lock(&self.needed);
            if needed.last.replace(now).is_none() {
                needed.time += 1;
                needed.since = Some(now);
                let hosts = lock(&self.hosts).len();
                *lock(&self.positions) = Positions::new(hosts);
                let ask = |host| drop(tokio::spawn(ask(Arc::downgrade(self), host, needed.time)));
                (0..hosts).for_each(ask);
            }
            FIRST_LAG.saturating_sub(needed.since.map_or(Duration::ZERO, |since| now - since))
        };
        if !left.is_zero() {
            let _ = timeout(left, self.known()).await;
        }
        self.fit_now()
    }

    /// The next one first.
    fn fit_now(&self) -> Vec<usize> {
        let (positions, now) = (lock(&self.positions), Instant::now());
        let mut fit: Vec<_> =
            (0..positions.hosts.len()).filter(|host| positions.is_fit(*host, now, self.max_lag)).collect();
        if !fit.is_empty() {
            let next = self.turn.fetch_add(1, Ordering::Relaxed) % fit.len();
            fit.rotate_left(next);
        }
        fit
    }

    /// Waits until each host was asked, and standbys were compared: who answers first must not be all that is known.
    async fn known(&self) {
        loop {
            let answered = self.answered.notified();
            if !self.is_early() {
                return;
            }
            answered.await;
        }
    }

    fn is_early(&self) -> bool {
        let positions = lock(&self.positions);
        positions.hosts.iter().any(|host| positions.is_early(host, self.max_lag))
    }

    /// Returns true if the hosts are asked.
    pub fn is_asked(&self) -> bool {
        lock(&self.needed).last.is_some()
    }

    /// How long a host is left alone. A standby is compared with what the primary had written later.
    fn pause(&self) -> Duration {
        let since = lock(&self.needed).since;
        let is_new = since.is_some_and(|since| since.elapsed() < FIRST_LAG);
        match is_new && self.is_early() {
            true => LAG_PAUSE_LEAST,
            false => pause(self.max_lag),
        }
    }

    /// Returns true if it was not needed for a while: the hosts are not asked any more.
    fn ends(&self, time: u64) -> bool {
        let longest = LAG_LINGER.max(self.max_lag.unwrap_or_default());
        let mut needed = lock(&self.needed);
        if needed.time == time && needed.last.is_some_and(|last| last.elapsed() >= longest) {
            needed.last = None;
        }
        needed.time != time || needed.last.is_none()
    }

    /// Asks a host; on another connection if the one that there was is lost.
    async fn answer(&self, host: usize, server: &mut Option<Server>) -> Result<String, NotOpened> {
        if let Some(mut open) = server.take()
            && let Ok(answer) = open.ask(QUESTION).await
        {
            *server = Some(open);
            return Ok(answer);
        }
        lock(&self.positions).hosts[host].is_reached_again();
        let mut open = Server::connect(&self.host(host), &self.parameters, self.key.password.as_ref()).await?;
        let answer = open.ask(QUESTION).await?;
        *server = Some(open);
        Ok(answer)
    }
}

/// The hosts of a database, each by itself.
fn hosts_of(database: &DatabaseConfig) -> Vec<Arc<DatabaseConfig>> {
    (0..database.standby_names().len()).filter_map(|host| database.on_host(host)).map(Arc::new).collect()
}

/// How long a host is left alone that is asked for this.
fn pause(max_lag: Option<Duration>) -> Duration {
    (max_lag.unwrap_or(MAX_LAG) / LAG_QUESTIONS).max(LAG_PAUSE_LEAST)
}

/// Asks a host again and again.
async fn ask(of: Weak<Lag>, host: usize, time: u64) {
    let mut server = None;
    while let Some(lag) = of.upgrade() {
        if lag.ends(time) {
            return;
        }
        let asked = Instant::now();
        let position = match lag.answer(host, &mut server).await {
            Ok(answer) => Position::read(&answer),
            Err(failure) => {
                tracing::debug!(host, reason = failure.fatal.message, "a host is not asked how far it is");
                None
            }
        };
        let kept = lag.max_lag.unwrap_or(MAX_LAG);
        lock(&lag.positions).note(host, [asked, Instant::now()], position, kept);
        lag.answered.notify_waiters();
        let pause = lag.pause();
        drop(lag);
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standby(replayed: u64, received: u64) -> Option<Position> {
        Some(Position::Standby { replayed, received })
    }

    #[test]
    fn positions_are_read() {
        for (answer, expected) in [
            ("standby 50331648 50331700", standby(50_331_648, 50_331_700)),
            ("standby 9 7", standby(9, 9)),
            ("primary 7", Some(Position::Primary(7))),
            ("standby  ", standby(0, 0)),
            ("standby 8 ", standby(8, 8)),
            ("standby 7.5 8", None),
            ("standby 7", None),
            ("primary ", None),
            ("other 7", None),
            ("", None),
        ] {
            assert_eq!(Position::read(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn hosts_are_left_alone_between_two_questions() {
        for (max_lag, expected) in [(None, 2500), (Some(10_000), 2500), (Some(100), 25), (Some(40), 10), (Some(1), 10)]
        {
            assert_eq!(pause(max_lag.map(Duration::from_millis)), Duration::from_millis(expected), "{max_lag:?}");
        }
    }

    #[test]
    fn standby_is_read_from_as_long_as_it_has_what_the_primary_had_not_long_ago() {
        use Position::Primary;
        let most = Duration::from_secs(10);
        let began = Instant::now();
        // Seconds, the host and its answer, and whether the standby is fit then, and for any lag.
        for (what, course) in [
            ("idle primary", &[(0, 0, Some(Primary(5)), false, false), (0, 1, standby(5, 5), true, true)][..]),
            (
                "lag within the bound, and beyond it",
                &[
                    (0, 0, Some(Primary(5)), false, false),
                    (0, 1, standby(5, 5), true, true),
                    (4, 0, Some(Primary(9)), true, true),
                    (4, 1, standby(8, 8), true, true),
                    (8, 0, Some(Primary(12)), true, true),
                    (8, 1, standby(8, 8), true, true),
                    (11, 1, standby(8, 8), false, true),
                    (12, 1, standby(12, 12), true, true),
                ],
            ),
            (
                "a standby that receives nothing has replayed all that it has",
                &[
                    (0, 0, Some(Primary(5)), false, false),
                    (0, 1, standby(5, 5), true, true),
                    (9, 0, Some(Primary(50)), true, true),
                    (9, 1, standby(5, 5), true, true),
                    (11, 1, standby(5, 5), false, true),
                ],
            ),
            (
                "a primary that cannot be asked",
                &[
                    (0, 0, Some(Primary(5)), false, false),
                    (0, 1, standby(5, 5), true, true),
                    (5, 0, None, true, true),
                    (11, 1, standby(5, 5), false, true),
                ],
            ),
            (
                "a standby that is lost, or promoted",
                &[
                    (0, 0, Some(Primary(5)), false, false),
                    (0, 1, standby(5, 5), true, true),
                    (1, 1, None, false, false),
                    (2, 1, standby(5, 5), false, true),
                    (3, 0, Some(Primary(5)), false, true),
                    (3, 1, standby(5, 5), true, true),
                    (4, 1, Some(Primary(5)), false, false),
                ],
            ),
            (
                "a failover to another standby, which had received less",
                &[
                    (0, 0, Some(Primary(120)), false, false),
                    (0, 1, standby(120, 120), true, true),
                    (1, 0, None, true, true),
                    (2, 2, Some(Primary(100)), false, false),
                    (3, 1, standby(120, 120), false, false),
                    (4, 2, Some(Primary(119)), false, false),
                    (5, 1, standby(121, 121), false, false),
                    (6, 2, Some(Primary(130)), false, false),
                    (6, 1, standby(121, 121), false, false),
                    // It is started again, with the files that it had.
                    (7, 1, None, false, false),
                    (8, 1, standby(121, 121), false, false),
                    (8, 2, Some(Primary(131)), false, false),
                    (8, 1, standby(121, 121), false, false),
                    // And with those of the new primary.
                    (9, 1, None, false, false),
                    (10, 1, standby(131, 131), false, false),
                    (10, 2, Some(Primary(131)), false, false),
                    (10, 1, standby(131, 131), true, true),
                    (11, 2, Some(Primary(131)), true, true),
                ],
            ),
            (
                "a failover to another standby, while this one was not reached",
                &[
                    (0, 0, Some(Primary(120)), false, false),
                    (0, 1, standby(120, 120), true, true),
                    (1, 0, None, true, true),
                    (1, 1, None, false, false),
                    (2, 2, Some(Primary(100)), false, false),
                    (3, 2, Some(Primary(119)), false, false),
                    (4, 1, standby(120, 120), false, true),
                    (5, 2, Some(Primary(130)), false, true),
                    (6, 1, standby(120, 120), false, true),
                    (7, 2, Some(Primary(140)), false, true),
                    (8, 1, standby(120, 120), false, true),
                ],
            ),
            (
                "a failover to another standby, which had received less than this one has still to replay",
                &[
                    (0, 0, Some(Primary(120)), false, false),
                    (0, 1, standby(90, 120), false, true),
                    (1, 0, None, false, true),
                    (2, 2, Some(Primary(100)), false, false),
                    (3, 1, standby(110, 120), false, false),
                    (4, 2, Some(Primary(125)), false, false),
                    (5, 1, standby(120, 120), false, false),
                ],
            ),
            (
                "a failover to another standby, which had received as much",
                &[
                    (0, 0, Some(Primary(120)), false, false),
                    (0, 1, standby(120, 120), true, true),
                    (1, 2, Some(Primary(120)), true, true),
                    (2, 1, standby(120, 120), true, true),
                ],
            ),
            (
                "a primary that was asked before the standby has answered",
                &[
                    (0, 0, Some(Primary(5)), false, false),
                    (0, 1, standby(5, 5), true, true),
                    (1, 1, standby(6, 6), true, true),
                    (1, 0, Some(Primary(5)), true, true),
                    (2, 0, Some(Primary(6)), true, true),
                ],
            ),
        ] {
            let mut positions = Positions::new(3);
            for (seconds, host, position, is_fit, for_any_lag) in course {
                let now = began + Duration::from_secs(*seconds);
                positions.note(*host, [now, now], *position, most);
                let found = (positions.is_fit(1, now, Some(most)), positions.is_fit(1, now, None));
                assert_eq!(found, (*is_fit, *for_any_lag), "{what}, after {seconds} s");
            }
        }
    }
}
