//! Gives a server connection the settings of the client that it is lent to: at first, and after RESET and DISCARD ALL.

use super::expected::Expected;
use super::settings::is_settable;
use super::spliced::Spliced;
use super::{Relay, ServerState};
use crate::limits::RESETS;
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::Target;
use headrace_postgres::sql::{Reset, TEMPORARY_TABLE, resets};

/// Name of the portal and the statement that set what a client has begun with.
const RESTORING: &str = "headraced_restoring";

/// Why a client keeps its connection that may have the session's own settings.
const UNCLEAR_RESET: &str = "a RESET in a text that can be read in two ways, or many of them";

impl Relay {
    /// Gives the server connection that was just lent this client's settings, ahead of the client's own messages.
    pub fn adapt(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.give_settings(server, output);
    }

    /// Gives it those that it has not since DISCARD ALL, once everything before was answered.
    pub(super) fn adapt_again(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        if self.client.settings.are_discarded()
            && self.has_all_replies()
            && self.to_server.is_none()
            && !self.group.is_skipped()
        {
            self.give_settings(server, output);
        }
    }

    /// The server has executed DISCARD ALL: its session has the settings that it was opened with.
    pub(super) fn discarded(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.client.settings.discarded(output);
        for (name, value) in &server.defaults {
            if is_settable(name) {
                server.parameters.insert(name.clone(), value.clone());
            }
        }
        // What DISCARD ALL does not undo keeps its session, and so does an unnamed statement that was parsed there, other than
        // the DISCARD itself.
        let needs =
            self.client.names.get(b"").is_some_and(|unnamed| !unnamed.facts.effects.resets.contains(&Reset::Discard));
        let temporary = self.client.settings.name_temporary_schema().then_some(TEMPORARY_TABLE);
        self.client.pinned = server.spoiled.or(temporary).or(self.client.pinned.filter(|_| needs));
    }

    /// An execution that sets settings back was passed on: what the client has begun with follows it, in the same
    /// transaction and before anything else.
    pub(super) fn restore(&mut self, resets: &[Reset], server: &ServerState, output: &mut WriteBuffer) {
        let restoring: Vec<String> =
            resets.iter().flat_map(|reset| self.client.settings.restoring(reset, server)).collect();
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
            self.keep_for_good(UNCLEAR_RESET);
            return None;
        };
        let mut spliced = Spliced::new(statements);
        let (mut text, mut done) = (String::new(), 0);
        for at in resets {
            let restoring = self.client.settings.restoring(&at.reset, server);
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
        let again = self.client.settings.given();
        let wanted = &self.client.settings.values;
        if server.parameters.fit(wanted) && !again {
            return;
        }
        let texts = server.adaptation(wanted);
        if texts.is_empty() {
            server.parameters.do_fit(wanted);
        }
        for sql in &texts {
            frontend::query(output.tail(), "", sql);
            server.prepared.set_unnamed(None);
            self.in_flight.replies.push(Expected::Own);
        }
        if again {
            // What the server has reported last it does not report again, though it was something else meanwhile.
            for (name, value) in self.client.settings.values.iter().filter(|(name, _)| is_settable(name)) {
                if server.parameters.contains_key(name) {
                    server.parameters.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// Returns true if the server connection has not been given this client's settings yet.
    pub fn adapts(&self) -> bool {
        // The question whether a statement fits is the client's to cancel: it waits for a lock as the client's Parse would.
        matches!(self.in_flight.replies.front(), Some(Expected::Own))
    }
}
