//! A client, apart from what is under way.

use super::names::Names;
use super::pins::Pins;
use super::settings::Settings;
use crate::limits::KNOWN_STATEMENTS;
use headrace_postgres::sql::TEMPORARY_TABLE;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What a client has, whichever server connection it is lent.
#[derive(Debug)]
pub struct Client {
    pub names: Names,
    /// The settings that servers report.
    pub settings: Settings,
    /// The statements that it has closed. One that it prepares again is to be parsed by the server: a table may have changed
    /// since, and to prepare its statements again is what a client can do about it.
    pub closed: HashSet<u64>,
    /// Why it keeps the server connection that it is lent.
    pub pinned: Option<&'static str>,
    pub pins: Pins,
}

impl Client {
    /// One that has just been welcomed with these settings.
    pub fn new(parameters: Arc<BTreeMap<String, String>>) -> Self {
        let settings = Settings::new(parameters);
        Self {
            names: Names::default(),
            closed: HashSet::new(),
            pinned: settings.name_temporary_schema().then_some(TEMPORARY_TABLE),
            pins: Pins::default(),
            settings,
        }
    }

    /// It has closed a statement.
    pub fn closes(&mut self, id: u64) {
        // Who closes more than that is not helped by remembering more.
        if self.closed.len() >= KNOWN_STATEMENTS {
            self.closed.clear();
        }
        self.closed.insert(id);
    }

    /// The settings under which what is parsed now may be others', too; `None` if they are not known, or the session has
    /// something that is this client's alone.
    pub fn shared_settings(&self) -> Option<&Arc<str>> {
        self.settings.certain().filter(|_| self.pinned.is_none())
    }
}
