//! Gives a server connection the settings of the client that it is lent to: at first, and after RESET and DISCARD ALL.

use super::expected::Expected;
use super::plans::{DISCARD_PLANS, OnPlans, PlansInDoubt};
use super::settings::is_settable;
use super::spliced::Spliced;
use super::{Relay, ServerState};
use crate::limits::RESETS;
use crate::postgres::statements::facts_of;
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::sql::{Facts, Reset, TEMPORARY_TABLE, is_empty, plans_nothing, script};

/// Why a client keeps its connection that may have the session's own settings.
const UNCLEAR_RESET: &str = "a RESET in a text that can be read in two ways, or many of them";

/// A statement of a script.
struct Part {
    start: usize,
    end: usize,
    /// Its number among those that are not empty.
    index: Option<usize>,
    facts: Facts,
}

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
        server.plans.reset();
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
            self.put_into_group(&sql, output);
        }
    }

    /// The same in a script, and DISCARD PLANS before a statement that may use plans which one before it has changed: `None`
    /// if it can be passed on as it is.
    pub(super) fn spliced(
        &mut self,
        sql: Option<&str>,
        facts: &Facts,
        server: &ServerState,
    ) -> Option<(String, Spliced)> {
        let Some((sql, parts)) = sql.and_then(|sql| Some((sql, parts(sql)?))) else {
            if !facts.effects.resets.is_empty() {
                // Where it ends is not known, or there are too many, so nothing is put there.
                self.keep_for_good(UNCLEAR_RESET);
            }
            return None;
        };
        let statements = parts.iter().filter(|part| part.index.is_some()).count();
        let mut spliced = Spliced::new(statements);
        // What it begins with may have been left without: BEGIN, SET and their like.
        let mut in_doubt = self.plans.is_to_be_compared;
        // A trigger of one before what is made at the end is fired after that, unless a block is open.
        let (mut may_fire, mut fires_last) = (false, false);
        let (mut text, mut done, mut discards) = (String::new(), 0, 0);
        for Part { start, end, index, facts } in parts {
            let Some(index) = index else { continue };
            let statement = &sql[start..end];
            in_doubt |= index > 0 && OnPlans::is_within(statement, &facts);
            if in_doubt && index > 0 && discards < RESETS && !plans_nothing(statement) {
                text.push_str(&sql[done..start]);
                done = start;
                let put_in = format!("{DISCARD_PLANS};");
                spliced.put_in(index - 1, 1, sql[..start].chars().count(), put_in.len());
                text.push_str(&put_in);
                (in_doubt, discards) = (false, discards + 1);
            }
            let makes = facts.effects.creates && OnPlans::of(statement, &facts) == OnPlans::Changes;
            fires_last = makes && may_fire;
            may_fire |= !plans_nothing(statement) && !facts.effects.creates;
            in_doubt |= OnPlans::of(statement, &facts) != OnPlans::Nothing;
            for reset in &facts.effects.resets {
                let restoring = self.client.settings.restoring(reset, server);
                // By itself a SET LOCAL does nothing but warn.
                let is_void =
                    matches!(reset, Reset::Local(_)) && statements == 1 && server.status == TransactionStatus::Idle;
                if restoring.is_empty() || is_void {
                    continue;
                }
                text.push_str(&sql[done..end]);
                done = end;
                // The statement may end with a comment.
                let put_in = restoring.iter().map(|sql| format!("\n;{sql}")).collect::<String>();
                spliced.put_in(index, restoring.len(), sql[..end].chars().count(), put_in.len());
                text.push_str(&put_in);
            }
        }
        text.push_str(&sql[done..]);
        if fires_last {
            let put_in = format!("\n;{DISCARD_PLANS}");
            spliced.put_in(statements - 1, 1, sql.chars().count(), put_in.len());
            text.push_str(&put_in);
        }
        spliced.has_any().then_some((text, spliced))
    }

    fn give_settings(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        let again = self.client.settings.given();
        let wanted = &self.client.settings.values;
        let fit = server.parameters.fit(wanted) && !again;
        let mut texts = if fit { Vec::new() } else { server.adaptation(wanted) };
        if !fit && texts.is_empty() {
            server.parameters.do_fit(wanted);
        }
        self.plans = PlansInDoubt::default();
        let (constants, generation) = (self.client.settings.of_constants(), self.catalog.generation());
        if !server.plans.are_used(constants, generation) {
            // In the request that sets them, if there is one.
            match texts.last_mut() {
                Some(last) => last.push_str(DISCARD_PLANS),
                None => texts.push(DISCARD_PLANS.to_owned()),
            }
            server.plans.discarded(constants, generation);
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

/// The statements of a script, in each of which something may be put in; `None` if that is not known, or if there are
/// more than [`RESETS`] that set settings back.
fn parts(sql: &str) -> Option<Vec<Part>> {
    let (mut parts, mut start, mut count, mut resets) = (Vec::new(), 0, 0, 0);
    for statement in script(sql)? {
        let end = start + statement.len();
        let facts = facts_of(statement);
        resets += facts.effects.resets.len();
        if resets > RESETS {
            return None;
        }
        let index = (!is_empty(statement)).then_some(count);
        count += usize::from(index.is_some());
        parts.push(Part { start, end, index, facts });
        start = end + 1;
    }
    Some(parts)
}
