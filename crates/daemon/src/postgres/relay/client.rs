//! A client, apart from what is under way.

use super::names::Names;
use super::pins::Pins;
use super::settings::Settings;
use crate::limits::{CLOSED_STATEMENTS, SHARED_FOR};
use headrace_postgres::sql::TEMPORARY_TABLE;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// What a client has, whichever server connection it is lent.
#[derive(Debug)]
pub struct Client {
    pub names: Names,
    /// The settings that servers report.
    pub settings: Settings,
    /// The statements that it has closed lately. One that it prepares again is to be parsed by the server: a table may have
    /// changed since, and to prepare its statements again is what a client can do about it.
    pub closed: HashSet<u64>,
    /// When it has closed the first of them.
    closed_since: Option<Instant>,
    /// Why it keeps the server connection that it is lent.
    pub pinned: Option<&'static str>,
    pub pins: Pins,
}

impl Client {
    /// One that has just received its startup replies, with these settings.
    pub fn new(parameters: Arc<BTreeMap<String, String>>) -> Self {
        let settings = Settings::new(parameters);
        Self {
            names: Names::default(),
            closed: HashSet::new(),
            closed_since: None,
            pinned: settings.name_temporary_schema().then_some(TEMPORARY_TABLE),
            pins: Pins::default(),
            settings,
        }
    }

    /// It has closed a statement.
    pub fn closes(&mut self, id: u64) {
        self.closes_at(id, Instant::now());
    }

    fn closes_at(&mut self, id: u64, now: Instant) {
        // After that most are not what their text stands for any more. One that is forgotten too soon is as one of others.
        let is_over = |since: Instant| now.saturating_duration_since(since) >= SHARED_FOR;
        if self.closed_since.is_none_or(is_over) || self.closed.len() >= CLOSED_STATEMENTS {
            (self.closed, self.closed_since) = (HashSet::new(), Some(now));
        }
        self.closed.insert(id);
    }

    /// The settings under which what is parsed now may be others', too; `None` if they are not known, or the session has
    /// something that is this client's alone.
    pub fn shared_settings(&self) -> Option<&Arc<str>> {
        self.settings.certain().filter(|_| self.pinned.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_were_closed_long_ago_take_no_memory() {
        let mut client = Client::new(Arc::default());
        let began = Instant::now();
        client.closes_at(1, began);
        client.closes_at(2, began + SHARED_FOR / 2);
        assert_eq!(client.closed, HashSet::from([1, 2]));
        client.closes_at(3, began + SHARED_FOR);
        assert_eq!(client.closed, HashSet::from([3]));
        for id in 0..10 * CLOSED_STATEMENTS as u64 {
            client.closes_at(id, began + SHARED_FOR);
            assert!(client.closed.contains(&id) && client.closed.len() <= CLOSED_STATEMENTS);
        }
    }
}
