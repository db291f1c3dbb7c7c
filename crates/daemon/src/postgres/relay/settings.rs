//! The settings that a server reports: they follow their client from one server connection to the next.

use super::ServerState;
use crate::postgres::own_settings::{OwnSettings, of_own_constants, planned};
use headrace_core::WriteBuffer;
use headrace_core::transitions::Transitions;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::sql::{CONSTANT_SETTINGS, Reset};
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

/// Those that decide what a text means when it is parsed, beside [`CONSTANT_SETTINGS`].
const MEANING: [&str; 2] = ["client_encoding", "search_path"];

fn deciding_meaning() -> impl Iterator<Item = &'static str> {
    MEANING.into_iter().chain(CONSTANT_SETTINGS)
}

/// As one client has them: what the server has reported last, and no more than that. Nothing is given to a session over
/// what the client has sent itself; only after a RESET the session is given what the client has begun with, in that place.
#[derive(Debug)]
pub struct Settings {
    /// Their values; those of clients that have changed nothing are in memory once.
    pub(super) values: Arc<BTreeMap<String, String>>,
    /// As they were in the startup replies of the client.
    first: Arc<BTreeMap<String, String>>,
    /// The values of [`deciding_meaning`], and of what is planned with.
    meaning: Arc<str>,
    /// The values of those by which constants are read.
    of_constants: Arc<str>,
    /// Those that the server does not report.
    own: OwnSettings,
    state: SettingsState,
}

headrace_core::names! {
    /// What is known of a client's settings.
    pub enum SettingsState {
        Known = "they are what the server has reported last",
        Uncertain = "they may be others than is known",
        Discarded = "the server connection has its own, and is given the client's before it receives anything else",
    }
}

headrace_core::names! {
    /// An event that changes what is known of them.
    pub enum SettingsEvent {
        MayChange = "a text that may change them is sent",
        Reported = "ParameterStatus within a transaction, with which the value may end",
        Settled = "everything is answered, and no transaction is open",
        Discard = "DISCARD ALL is executed",
        Given = "the client's are sent to the server connection",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<SettingsState, SettingsEvent> = {
    use SettingsEvent::*;
    use SettingsState::*;
    Transitions {
        machine: "relay-settings",
        rows: &[
            (Known, MayChange, Uncertain),
            (Known, Reported, Uncertain),
            (Uncertain, Settled, Known),
            (Known, Discard, Discarded),
            (Uncertain, Discard, Discarded),
            (Discarded, Given, Known),
        ],
    }
};

impl Settings {
    pub fn new(values: Arc<BTreeMap<String, String>>) -> Self {
        let own = OwnSettings::new();
        let (meaning, of_constants) = (meaning(&values, &own), of_constants(&values, &own));
        Self { first: Arc::clone(&values), values, meaning, of_constants, own, state: SettingsState::Known }
    }

    /// Those that decide what a text means, if they are known.
    pub fn certain(&self) -> Option<&Arc<str>> {
        (self.state == SettingsState::Known).then_some(&self.meaning)
    }

    /// The same, as far as they are known.
    pub fn meaning(&self) -> &Arc<str> {
        &self.meaning
    }

    /// Those by which the session reads constants for the client, as far as they are known.
    pub fn of_constants(&self) -> &Arc<str> {
        &self.of_constants
    }

    /// A text that may change them is passed on.
    pub fn may_change(&mut self) {
        self.doubt(SettingsEvent::MayChange);
    }

    fn doubt(&mut self, event: SettingsEvent) {
        if self.state == SettingsState::Known {
            self.go(event, SettingsState::Uncertain);
        }
    }

    fn go(&mut self, event: SettingsEvent, to: SettingsState) {
        TRANSITIONS.take(self.state, event, to);
        self.state = to;
    }

    /// Returns true if the server connection has its own since DISCARD ALL.
    pub fn are_discarded(&self) -> bool {
        self.state == SettingsState::Discarded
    }

    /// The server connection is given the client's. Returns true if it had its own since DISCARD ALL.
    pub fn given(&mut self) -> bool {
        let again = self.are_discarded();
        if again {
            self.go(SettingsEvent::Given, SettingsState::Known);
        }
        again
    }

    /// The server has reported one, within a transaction or not. Returns true if it is the client's.
    pub fn reported(&mut self, name: &str, value: &str, idle: bool) -> bool {
        if self.are_discarded() && is_settable(name) {
            return false;
        }
        // That of a transaction alone ends with it.
        if !idle {
            self.doubt(SettingsEvent::Reported);
        }
        self.set(name, value);
        true
    }

    fn set(&mut self, name: &str, value: &str) {
        if self.values.get(name).is_some_and(|known| known == value) {
            return;
        }
        Arc::make_mut(&mut self.values).insert(name.to_owned(), value.to_owned());
        if deciding_meaning().any(|other| other == name) {
            self.meaning = meaning(&self.values, &self.own);
            self.of_constants = of_constants(&self.values, &self.own);
        }
    }

    /// Those that the server does not report, as it was asked last.
    pub fn own(&self) -> &OwnSettings {
        &self.own
    }

    /// The server was asked for them.
    pub fn set_own(&mut self, own: OwnSettings) {
        if self.own != own {
            self.meaning = meaning(&self.values, &own);
            self.of_constants = of_constants(&self.values, &own);
            self.own = own;
        }
    }

    /// The server has executed DISCARD ALL. The client is told of the settings that it has begun with, as the server would
    /// have told it.
    pub(super) fn discarded(&mut self, output: &mut WriteBuffer) {
        if !self.are_discarded() {
            self.go(SettingsEvent::Discard, SettingsState::Discarded);
        }
        let differs = |(name, value): &(&String, &String)| is_settable(name) && self.values.get(*name) != Some(*value);
        let changed: Vec<(String, String)> =
            self.first.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect();
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

    /// The statements that follow one that sets settings back: they set those that the session would have otherwise than
    /// the client has begun with.
    pub(super) fn restoring(&self, reset: &Reset, server: &ServerState) -> Vec<String> {
        let (only, scope) = match reset {
            Reset::Discard => return Vec::new(),
            Reset::All => (None, "SESSION"),
            Reset::Setting(name) => (Some(name), "SESSION"),
            Reset::Local(name) => (Some(name), "LOCAL"),
        };
        let is_meant = |name: &str| only.is_none_or(|only| only.eq_ignore_ascii_case(name));
        let differs = |(name, value): &(&String, &String)| {
            is_settable(name) && is_meant(name) && server.defaults.get(*name).is_some_and(|own| own != *value)
        };
        let restored = self.first.iter().filter(differs);
        restored.map(|(name, value)| format!("SET {scope} {name} TO {}", setting(name, value))).collect()
    }

    /// Returns true if what is created without a schema may be a temporary table.
    pub fn name_temporary_schema(&self) -> bool {
        self.values.get("search_path").is_some_and(|path| path.to_ascii_lowercase().contains("pg_temp"))
    }

    /// Everything was answered, and no transaction is open.
    pub fn settled(&mut self) {
        if self.state == SettingsState::Uncertain {
            self.go(SettingsEvent::Settled, SettingsState::Known);
        }
    }
}

fn meaning(values: &BTreeMap<String, String>, own: &OwnSettings) -> Arc<str> {
    let mut all = planned(own);
    for name in deciding_meaning() {
        all.push_str(values.get(name).map_or("", String::as_str));
        all.push('\0');
    }
    all.into()
}

fn of_constants(values: &BTreeMap<String, String>, own: &OwnSettings) -> Arc<str> {
    let mut all = of_own_constants(own);
    for name in CONSTANT_SETTINGS {
        all.push_str(values.get(name).map_or("", String::as_str));
        all.push('\0');
    }
    all.into()
}

/// In an `E''` string a backslash means the same whatever `standard_conforming_strings` is.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\'', "''")
}

/// A value for SET, in ASCII: the encoding may be the setting that changes. A list of names is set name by name.
fn setting(name: &str, value: &str) -> String {
    let names = if name.eq_ignore_ascii_case("search_path") { names(value) } else { vec![value.to_owned()] };
    let literal = |value: &String| {
        let mut literal = String::from("E'");
        for c in escaped(value).chars() {
            match c.is_ascii() {
                true => literal.push(c),
                false => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
            }
        }
        literal + "'"
    };
    names.iter().map(literal).collect::<Vec<_>>().join(", ")
}

/// The names of a search path as the server splits it (`SplitIdentifierString`), which may be quoted.
fn names(path: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => name.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => names.push(std::mem::take(&mut name)),
            c if quoted => name.push(c),
            c if c.is_ascii_whitespace() => {}
            c => name.push(c.to_ascii_lowercase()),
        }
    }
    names.push(name);
    names
}

impl ServerState {
    /// The texts that give the session the settings of a client, where they differ; each is to be sent by itself.
    pub fn adaptation(&self, wanted: &BTreeMap<String, String>) -> Vec<String> {
        let (mut encoding, mut others) = (String::new(), String::new());
        for (name, value) in wanted {
            if !is_settable(name) || self.parameters.get(name).is_none_or(|own| own == value) {
                continue;
            }
            let value = escaped(value);
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
