//! The settings that a server reports: they follow their client from one server connection to the next.

use super::expected::Expected;
use super::spliced::Spliced;
use super::{Relay, ServerState};
use crate::limits::RESETS;
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, backend};
use headrace_postgres::sql::{Reset, TEMPORARY_TABLE, resets};
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

/// Name of the portal and the statement that set what a client has begun with.
const RESTORING: &str = "headraced_restoring";

/// Why a client keeps its connection that may have the session's own settings.
const UNCLEAR_RESET: &str = "a RESET in a text that can be read in two ways, or many of them";

/// Those that decide what a text means when it is parsed.
const MEANING: [&str; 6] =
    ["client_encoding", "DateStyle", "IntervalStyle", "search_path", "standard_conforming_strings", "TimeZone"];

/// As one client has them: what the server has reported last, and no more than that. Nothing is given to a session over
/// what the client has sent itself; only after a RESET the session is given what the client has begun with, in that place.
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
    /// The server connection has its own values since DISCARD ALL, which are none of the client's. It is given the client's
    /// before it receives anything else.
    differs: bool,
}

impl Settings {
    pub fn new(values: BTreeMap<String, String>) -> Self {
        let meaning = meaning(&values);
        Self { first: values.clone(), values, meaning, uncertain: false, differs: false }
    }

    /// Those that decide what a text means, if they are known.
    pub fn certain(&self) -> Option<&Arc<str>> {
        (!self.uncertain).then_some(&self.meaning)
    }

    /// A text that may change them is passed on.
    pub fn may_change(&mut self) {
        self.uncertain = true;
    }

    /// The server has reported one, within a transaction or not. Returns true if it is the client's.
    pub fn reported(&mut self, name: &str, value: &str, idle: bool) -> bool {
        if self.differs && is_settable(name) {
            return false;
        }
        // That of a transaction alone ends with it.
        self.uncertain |= !idle;
        self.set(name, value);
        true
    }

    fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
        if MEANING.contains(&name) {
            self.meaning = meaning(&self.values);
        }
    }

    /// The server has executed DISCARD ALL. The client is told of the settings that it has begun with, as the server would
    /// have told it.
    fn discarded(&mut self, output: &mut WriteBuffer) {
        self.differs = true;
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
    fn restoring(&self, reset: &Reset, server: &ServerState) -> Vec<String> {
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

impl Relay {
    /// Gives the server connection that was just lent this client's settings, ahead of the client's own messages.
    pub fn adapt(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.give_settings(server, output);
    }

    /// Gives it those that it has not since DISCARD ALL, once everything before was answered.
    pub(super) fn adapt_again(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        if self.settings.differs && self.has_all_replies() && self.to_server == 0 && !self.group.is_skipped() {
            self.give_settings(server, output);
        }
    }

    /// The server has executed DISCARD ALL: its session has the settings that it was opened with.
    pub(super) fn discarded(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.settings.discarded(output);
        for (name, value) in &server.defaults {
            if is_settable(name) {
                server.parameters.insert(name.clone(), value.clone());
            }
        }
        // What DISCARD ALL does not undo keeps its session, and so does an unnamed statement that was parsed there, other than
        // the DISCARD itself.
        let needs = self.names.get(b"").is_some_and(|unnamed| !unnamed.effects.resets.contains(&Reset::Discard));
        let temporary = self.settings.name_temporary_schema().then_some(TEMPORARY_TABLE);
        self.pinned = server.spoiled.or(temporary).or(self.pinned.filter(|_| needs));
    }

    /// An execution that sets settings back was passed on: what the client has begun with follows it, in the same
    /// transaction and before anything else.
    pub(super) fn restore(&mut self, resets: &[Reset], server: &ServerState, output: &mut WriteBuffer) {
        let restoring: Vec<String> = resets.iter().flat_map(|reset| self.settings.restoring(reset, server)).collect();
        for sql in restoring {
            let out = output.tail();
            // A cancel between the Parse and the Close of the last time has left it, where its name would be taken.
            frontend::close(out, Target::Statement, RESTORING);
            frontend::parse(out, RESTORING, &sql, &[]);
            frontend::bind_empty(out, RESTORING, RESTORING);
            frontend::execute(out, RESTORING, 0);
            frontend::close(out, Target::Portal, RESTORING);
            frontend::close(out, Target::Statement, RESTORING);
            for _ in 0..6 {
                self.expect(Expected::Restoring);
            }
        }
    }

    /// The same in a script: `None` if it can be passed on as it is.
    pub(super) fn restored(&mut self, sql: &str, is_utf8: bool, server: &ServerState) -> Option<(String, Spliced)> {
        let found = if is_utf8 { resets(sql, RESETS) } else { None };
        let Some((resets, statements)) = found else {
            // Where it ends is not known, or there are too many, so nothing is put there.
            self.pinned.get_or_insert(UNCLEAR_RESET);
            return None;
        };
        let mut spliced = Spliced::new(statements);
        let (mut text, mut done) = (String::new(), 0);
        for at in resets {
            let restoring = self.settings.restoring(&at.reset, server);
            // By itself a SET LOCAL does nothing but warn.
            let is_void =
                matches!(at.reset, Reset::Local(_)) && statements == 1 && server.status == TransactionStatus::Idle;
            if restoring.is_empty() || is_void {
                continue;
            }
            text.push_str(&sql[done..at.end]);
            done = at.end;
            // The statement may end with a comment.
            let put_in = restoring.iter().map(|sql| format!("\n;{sql}")).collect::<String>();
            spliced.put_in(at.index, restoring.len(), sql[..at.end].chars().count(), put_in.len());
            text.push_str(&put_in);
        }
        text.push_str(&sql[done..]);
        spliced.has_any().then_some((text, spliced))
    }

    fn give_settings(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        let again = std::mem::take(&mut self.settings.differs);
        let texts = server.adaptation(&self.settings.values);
        for sql in &texts {
            frontend::query(output.tail(), "", sql);
            server.prepared.set_unnamed(None);
            self.expected.push(Expected::Own);
        }
        if again {
            // What the server has reported last it does not report again, though it was something else meanwhile.
            for (name, value) in self.settings.values.iter().filter(|(name, _)| is_settable(name)) {
                if let Some(own) = server.parameters.get_mut(name) {
                    own.clone_from(value);
                }
            }
        }
    }

    /// Returns true if the server connection has not been given this client's settings yet.
    pub fn adapts(&self) -> bool {
        self.expected.front().is_some_and(Expected::is_own)
    }
}
