//! What keeps a server connection with its client, and when the server is asked whether that is still there.
//!
//! The texts that pass through show what a session may have; what it has is what the server answers. It is asked between
//! transactions, when something was sent that may have ended it, or after a pause.

use super::{Relay, ServerState, is_settable};
use crate::limits::CUSTOM_SETTINGS;
use crate::postgres::own_settings::{OwnSettings, found, question};
use headrace_postgres::sql::{Facts, custom_settings, ends_something, is_setting, may_end};
use std::collections::BTreeSet;

/// Why a client keeps its connection that has settings which another one is not to be given.
const UNKNOWN_SETTINGS: &str = "settings that cannot follow it";

/// See the module.
#[derive(Debug, Default)]
pub struct Pins {
    /// The server is to be asked.
    asks: bool,
    /// Not all that keeps the connection can be asked for.
    for_good: bool,
    /// The names of settings of applications that the client has set, or may set by a statement that it has prepared.
    custom: BTreeSet<String>,
}

impl Relay {
    /// A text is passed on, or prepared, while something keeps the connection.
    pub(super) fn note_pinned(&mut self, sql: &str, facts: &Facts, is_first: bool) {
        let pins = &mut self.client.pins;
        pins.asks = pins.asks || is_first || ends_something(sql);
        // Of all others it is known that they name no setting.
        if facts.effects.settings {
            match custom_settings(sql) {
                Some(names) if pins.custom.len() + names.len() <= CUSTOM_SETTINGS => pins.custom.extend(names),
                _ => pins.for_good = true,
            }
        }
    }

    /// A statement is bound whose text leaves something, or a setting may change.
    pub(super) fn may_leave(&mut self, reason: Option<&'static str>) {
        self.client.pins.asks |= match self.client.pinned {
            None => reason.is_some() || !self.client.settings.own().is_empty(),
            Some(other) => is_setting(other),
        };
        self.client.pinned = self.client.pinned.or(reason);
    }

    /// What keeps the connection cannot be asked for.
    pub(super) fn keep_for_good(&mut self, reason: &'static str) {
        self.client.pinned.get_or_insert(reason);
        self.client.pins.for_good = true;
    }

    /// The client has been idle for a while.
    pub fn has_paused(&mut self) {
        self.client.pins.asks = true;
    }

    /// Returns true if the server can be asked for what the client has left there.
    pub fn can_ask(&self, server: &ServerState) -> bool {
        let may_be_gone = self.client.pinned.is_some_and(may_end)
            && !self.client.pins.for_good
            && !self.client.settings.name_temporary_schema();
        let has_settings = self.client.pinned.is_none() && !self.client.settings.own().is_empty();
        self.owes_nothing() && server.is_idle() && server.spoiled.is_none() && (may_be_gone || has_settings)
    }

    /// Returns true if it is to be asked now, before the connection is anybody else's.
    pub fn asks(&self, server: &ServerState) -> bool {
        self.client.pins.asks && self.can_ask(server)
    }

    /// What it is asked.
    pub fn question(&mut self) -> String {
        self.client.pins.asks = false;
        question(&self.client.pins.custom)
    }

    /// It has answered, or refused to.
    pub fn learn_what_is_left(&mut self, answer: Option<&str>, server: &mut ServerState) {
        let follows =
            |name: &str| is_settable(name) && server.parameters.keys().any(|known| known.eq_ignore_ascii_case(name));
        let is_same_user =
            server.parameters.get("session_authorization") == server.defaults.get("session_authorization");
        let found = answer.filter(|_| is_same_user).and_then(|answer| found(answer, &self.client.pins.custom, follows));
        match found {
            Some(own) => {
                self.client.pinned = None;
                server.own_settings.clone_from(&own);
                self.client.settings.set_own(own);
                self.plans.is_to_be_compared = true;
            }
            None => drop(self.client.pinned.get_or_insert(UNKNOWN_SETTINGS)),
        }
    }

    /// The client's settings that the server does not report.
    pub fn own_settings(&self) -> &OwnSettings {
        self.client.settings.own()
    }
}
