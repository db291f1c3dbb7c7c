//! What waits for replies of the server before it is passed on.

use super::framing::{name_of, text_of};
use super::{Relay, ServerState};
use crate::limits::REPLIES;
use crate::postgres::statements::PreparedStatement;
use headrace_core::{TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::{Effects, effects};
use std::sync::Arc;

impl Relay {
    /// Returns true if nothing more is passed on before the server has answered.
    pub(super) fn holds_back(&mut self, server: &ServerState, output: &mut WriteBuffer) -> bool {
        if self.in_flight.replies.is_empty() {
            (self.in_flight.awaits_effects, self.in_flight.flush_sent) = (false, false);
            self.in_flight.ends_block = false;
            return self.goes_elsewhere(server);
        }
        if self.in_flight.replies.len() >= REPLIES {
            if !self.in_flight.flush_sent && !self.group.is_complete() {
                frontend::flush(output.tail());
            }
            self.in_flight.flush_sent = true;
            return true;
        }
        self.in_flight.flush_sent = false;
        let is_between = self.group.is_complete() && server.status == TransactionStatus::Idle;
        // What comes after the daemon's own SETs alone is the first of the transaction.
        let may_leave = is_between || self.in_flight.ends_block && self.group.is_complete();
        let leaves_standby = self.is_on_standby && self.requests > 0 && may_leave;
        self.in_flight.awaits_effects || self.gives_way && is_between || leaves_standby
    }

    /// Returns true if what comes next needs a server connection again: this one is to be another client's first, or may be
    /// the wrong one.
    fn goes_elsewhere(&self, server: &ServerState) -> bool {
        (self.is_on_standby || self.gives_way) && self.requests > 0 && self.is_settled(server)
    }

    /// Returns true if a message relies on one of an earlier group that the server may skip.
    pub(super) fn must_wait(&self, tag: u8, body: &[u8], server: &ServerState) -> bool {
        if self.in_flight.replies.is_empty() {
            return false;
        }
        let is_uncertain = |name: &[u8]| !name.is_empty() && self.client.names.is_uncertain(name, self.group.number());
        let groups = self.in_flight.replies.have_groups();
        match (tag, body) {
            // What comes before it is not to be taken for what it does.
            (client::QUERY, sql) => groups && is_awaited(&effects(&text_of(sql.strip_suffix(b"\0").unwrap_or(sql)))),
            (client::PARSE, body) => {
                let Some((name, rest)) = name_of(body) else { return false };
                // Of an unnamed one nobody asks whether it is there. A name that is taken has to be so on the server: it
                // is that of others, too. A transaction that has failed may have been ended meanwhile.
                !name.is_empty()
                    && (self.relies_on_others(name)
                        || !self.in_flight.alters_nothing() && self.is_shared_uncertainly(rest)
                        || groups && server.status == TransactionStatus::Failed)
            }
            (client::DESCRIBE, [b'S', name @ ..]) => name_of(name).is_some_and(|(name, _)| self.relies_on_others(name)),
            (client::CLOSE, [b'S', name @ ..]) => name_of(name).is_some_and(|(name, _)| is_uncertain(name)),
            _ => false,
        }
    }

    /// Returns true if others have a text prepared, or not, depending on a message of an earlier group.
    fn is_shared_uncertainly(&self, body: &[u8]) -> bool {
        let shared = self.client.shared_settings().map(|_| self.statement(body));
        shared.is_some_and(|statement| self.is_uncertain(statement.id()))
    }

    /// Returns true if a statement is bound only when something before was answered: what it relies on, or, if what comes
    /// after it means something else by it, everything before its group.
    pub(super) fn binding_waits(&self, name: &[u8], statement: Option<&Arc<PreparedStatement>>) -> bool {
        !self.in_flight.replies.is_empty()
            && (self.relies_on(name, statement)
                || self.in_flight.replies.have_groups()
                    && statement.is_some_and(|statement| is_awaited(&statement.facts.effects)))
    }

    pub(super) fn relies_on_others(&self, name: &[u8]) -> bool {
        !self.in_flight.replies.is_empty() && self.relies_on(name, self.client.names.get(name))
    }

    fn relies_on(&self, name: &[u8], statement: Option<&Arc<PreparedStatement>>) -> bool {
        self.client.names.is_uncertain(name, self.group.number())
            || statement.is_some_and(|statement| self.is_uncertain(statement.id()))
    }

    /// A text is passed on that does this.
    pub(super) fn takes_effect(&mut self, effects: &Effects) {
        if effects.settings {
            self.client.settings.may_change();
            self.may_leave(None);
        }
        self.in_flight.creates |= effects.creates;
        self.in_flight.ends_block |= effects.ends_block;
        self.in_flight.awaits_effects |= is_awaited(effects);
    }
}

/// Returns true if what comes after a text with these effects means something else by them.
pub(super) fn is_awaited(effects: &Effects) -> bool {
    effects.deallocates || !effects.resets.is_empty()
}
