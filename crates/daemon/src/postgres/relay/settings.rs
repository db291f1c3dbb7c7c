//! The settings that a server reports: they follow their client from one server connection to the next.

use super::expected::Expected;
use super::{Relay, ServerState};
use headrace_core::WriteBuffer;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::sql::Reset;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings that a server reports and a client can change (manual, "Asynchronous Operations").
const SETTABLE: [&str; 8] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "IntervalStyle",
    "search_path",
    "standard_conforming_strings",
    "TimeZone",
];

/// Returns true if a setting is one that a server reports, and a client can change.
pub fn is_settable(name: &str) -> bool {
    SETTABLE.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// Those that decide what a text means when it is parsed.
const MEANING: [&str; 6] =
    ["client_encoding", "DateStyle", "IntervalStyle", "search_path", "standard_conforming_strings", "TimeZone"];

/// As one client has them.
#[derive(Debug)]
pub struct Settings {
    /// Their values.
    values: BTreeMap<String, String>,
    /// As they were when the client was welcomed.
    first: BTreeMap<String, String>,
    /// The values of [`MEANING`].
    meaning: Arc<str>,
    /// They may be others than is known here, until no transaction is open and everything was answered.
    uncertain: bool,
    /// What was passed on sets these back.
    resets: Vec<Reset>,
    /// The server connection may not have them any more, since some were set back.
    differs: bool,
}

impl Settings {
    pub fn new(values: BTreeMap<String, String>) -> Self {
        let meaning = meaning(&values);
        Self { first: values.clone(), values, meaning, uncertain: false, resets: Vec::new(), differs: false }
    }

    /// Those that decide what a text means, if they are known.
    pub fn certain(&self) -> Option<&Arc<str>> {
        (!self.uncertain).then_some(&self.meaning)
    }

    /// A text that may change them is passed on.
    pub fn may_change(&mut self, resets: &[Reset]) {
        self.uncertain = true;
        self.resets.extend_from_slice(resets);
    }

    /// The server has reported one, within a transaction or not.
    pub fn reported(&mut self, name: &str, value: &str, idle: bool) {
        // That of a transaction alone ends with it.
        self.uncertain |= !idle;
        self.set(name, value);
    }

    fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
        if MEANING.contains(&name) {
            self.meaning = meaning(&self.values);
        }
    }

    /// A group was answered, with or without an error. What was set back is as the client has begun with it, as it is
    /// without the daemon: the server's own value is that of the server connection. The client is told so.
    pub fn answered(&mut self, failed: bool, output: &mut WriteBuffer) {
        let resets = std::mem::take(&mut self.resets);
        if failed || resets.is_empty() {
            return;
        }
        let is_reset = |name: &str| {
            resets.iter().any(|reset| match reset {
                Reset::All => true,
                Reset::Setting(setting) => name.eq_ignore_ascii_case(setting),
            })
        };
        let differs = |(name, value): &(&String, &String)| self.values.get(*name) != Some(*value);
        let first = self.first.iter().filter(|(name, _)| is_settable(name) && is_reset(name));
        let changed: Vec<(String, String)> =
            first.filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect();
        self.differs = true;
        for (name, value) in changed {
            frontend::message(output.tail(), backend::PARAMETER_STATUS, |out| {
                for text in [&name, &value] {
                    out.extend_from_slice(text.as_bytes());
                    out.push(0);
                }
            });
            self.set(&name, &value);
        }
    }

    /// Returns true if what is created without a schema may be a temporary table.
    pub fn name_temporary_schema(&self) -> bool {
        self.values.get("search_path").is_some_and(|path| path.to_ascii_lowercase().contains("pg_temp"))
    }

    /// Everything was answered, and no transaction is open.
    pub fn settled(&mut self) {
        self.uncertain = false;
    }
}

fn meaning(values: &BTreeMap<String, String>) -> Arc<str> {
    let mut all = String::new();
    for name in MEANING {
        all.push_str(values.get(name).map_or("", String::as_str));
        all.push('\0');
    }
    all.into()
}

impl ServerState {
    /// The texts that give the session the settings of a client, where they differ; each is to be sent by itself.
    pub fn adaptation(&self, wanted: &BTreeMap<String, String>) -> Vec<String> {
        let (mut encoding, mut others) = (String::new(), String::new());
        for (name, value) in wanted {
            if !is_settable(name) || self.parameters.get(name).is_none_or(|own| own == value) {
                continue;
            }
            // In this form a backslash means the same whatever standard_conforming_strings is.
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            // SET would take the whole list for one name.
            let sql = match name.eq_ignore_ascii_case("search_path") {
                true => format!("SELECT pg_catalog.set_config('search_path', E'{value}', false);"),
                false => format!("SET SESSION {name} TO E'{value}';"),
            };
            match name.eq_ignore_ascii_case("client_encoding") {
                true => encoding = sql,
                false => others.push_str(&sql),
            }
        }
        // The server reads a message in the encoding that was set before it.
        let texts = if others.is_ascii() { vec![encoding + &others] } else { vec![encoding, others] };
        texts.into_iter().filter(|sql| !sql.is_empty()).collect()
    }
}

impl Relay {
    /// Gives the server connection that was just lent this client's settings, ahead of the client's own messages.
    pub fn adapt(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.flushed = false;
        self.give_settings(server, output);
    }

    /// Gives it those that a client has set back, unless something is under way.
    pub(super) fn adapt_again(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        if self.settings.differs && self.owes_nothing() {
            self.give_settings(server, output);
        }
    }

    fn give_settings(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.settings.differs = false;
        for sql in server.adaptation(&self.settings.values) {
            frontend::query(output.tail(), "", &sql);
            server.prepared.unnamed = None;
            self.expected.push(Expected::Own);
        }
        self.synced = output.mark();
    }

    /// Returns true if the server connection has not been given this client's settings yet.
    pub fn adapts(&self) -> bool {
        matches!(self.expected.front(), Some(Expected::Own))
    }
}
