//! Prepared statements: what becomes of Parse, Bind, Describe and Close.

use super::expected::{Expected, Known, StatementSlot};
use super::names::Change;
use super::partial::Partial;
use super::plans::OnPlans;
use super::portals::Portal;
use super::waiting::is_awaited;
use super::{Relay, ServerState};
use crate::postgres::statements::{PREFIX, PreparedStatement, name_of as server_name, own};
use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{StatementOrPortal, backend, frontend as client};
use std::sync::Arc;

/// An error with the name that a client has for a statement, in place of the one that it has on the server; `None` if
/// it does not name it.
pub(super) fn renamed(error: &[u8], id: u64, name: &[u8]) -> Option<Vec<u8>> {
    let [on_server, own] = [&*server_name(id), name].map(|name| [&b"\""[..], name, b"\""].concat());
    let at = error.windows(on_server.len()).position(|bytes| bytes == on_server)?;
    Some([&error[..at], &own[..], &error[at + on_server.len()..]].concat())
}

impl Relay {
    pub(super) fn close(&mut self, name: &[u8], output: &mut WriteBuffer) {
        let id = self.client.names.get(name).map(|statement| statement.id());
        if id.is_none() && !name.is_empty() {
            // Perhaps SQL's PREPARE has made it.
            self.send(client::CLOSE, &foreign(name), output);
            return self.expect(Expected::Close);
        }
        if let Some(id) = id {
            self.client.closes(id);
        }
        let change = self.changes(Change { name: name.to_vec(), to: None });
        self.expect(Expected::Made(backend::CLOSE_COMPLETE, change));
    }

    pub(super) fn describe(&mut self, name: &[u8], server: &mut ServerState, output: &mut WriteBuffer) {
        let (on_server, statement) = self.on_server(name, server, output);
        let known = statement.map(|statement| Box::new(Known { name: name.to_vec(), statement }));
        // In a transaction that has failed, or may fail meanwhile, the server describes nothing that returns rows.
        let in_order = match server.status {
            TransactionStatus::Idle => true,
            TransactionStatus::InTransaction => !self.in_flight.replies.have_groups(),
            TransactionStatus::Failed => false,
        };
        // One that is asked for at the same time may have another table with the same columns by now.
        let is_sure = in_order && !name.is_empty() && self.attempt.is_nothing();
        let id = known.as_ref().filter(|_| is_sure).map(|known| known.statement.id());
        let description = id.and_then(|id| server.prepared.description(id)).filter(|known| known.messages().is_some());
        match (known, description.cloned()) {
            (Some(known), Some(description)) => self.expect(Expected::Known(known, description)),
            (known, _) => {
                self.send(client::DESCRIBE, &on_server, output);
                self.expect(Expected::Describe(known));
            }
        }
    }

    /// A message about a statement.
    pub(super) fn send(&self, tag: u8, name: &[u8], output: &mut WriteBuffer) {
        frontend::message(output.tail(), tag, |out| {
            out.push(StatementOrPortal::Statement as u8);
            out.extend_from_slice(name);
            out.push(0);
        });
    }

    /// A Parse of a statement, which is one of others if that is possible.
    pub(super) fn parse(
        &mut self,
        name: &[u8],
        body: &[u8],
        mut statement: Arc<PreparedStatement>,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) {
        let validated = self.validated.take();
        if name.is_empty() {
            let before = server.prepared.set_unnamed(Some(statement.id()));
            self.send_parse(b"", &self.sent_body(&statement), output);
            self.parses(name, &statement, StatementSlot::Unnamed { before });
            return;
        }
        if let Some(taken) = self.client.names.get(name).cloned() {
            // The server's own error is that it exists already, if it exists there.
            let taken = self.prepare(name, taken, server, output);
            return self.parse_refused(name, &taken, statement, output);
        }
        if !self.client.closed.is_empty() && self.client.closed.remove(&statement.id()) {
            self.catalog.forget(&statement);
            statement = self.statement(body);
        }
        let mut is_known_to_others = false;
        if server.prepared.has(statement.id()) {
            if server.status == TransactionStatus::Failed && !statement.facts.effects.in_failed_block {
                let refused = own(body);
                return self.parse_refused(name, &statement, refused, output);
            }
            if validated.is_some_and(|validated| validated.id() == statement.id()) {
                self.counters.spared += 1;
                let change = self.changes(Change { name: name.to_vec(), to: Some(statement) });
                return self.expect(Expected::Made(backend::PARSE_COMPLETE, change));
            }
            // Others may have changed its tables. Within a transaction, or behind other messages, the server cannot be
            // asked: the answer that it does not fit would make what the client has sent fail.
            is_known_to_others = server.prepared.description(statement.id()).is_some();
            self.forget_on_server(&statement, server, output);
        }
        self.make_room(statement.id(), server, output);
        self.send_parse(statement.name(), &self.sent_body(&statement), output);
        self.counters.prepared += 1;
        self.parses(name, &statement, StatementSlot::Named);
        if is_known_to_others {
            // They need not ask for it, one by one, when they bind it.
            self.send(client::DESCRIBE, statement.name(), output);
            self.expect(Expected::Check(statement));
        }
    }

    /// Has the server refuse a Parse, by the name of a statement that it has.
    fn parse_refused(
        &mut self,
        name: &[u8],
        taken: &PreparedStatement,
        refused: Arc<PreparedStatement>,
        output: &mut WriteBuffer,
    ) {
        self.send_parse(taken.name(), &refused.body, output);
        let change = Change { name: name.to_vec(), to: Some(refused) };
        self.client.names.sent(&change, self.group.number());
        self.expect(Expected::Refused(taken.id(), change));
    }

    /// A message that changes a name is passed on, or answered here: nothing can undo it if nothing before it in its
    /// group can fail.
    fn changes(&mut self, change: Change) -> Option<Change> {
        if !self.group.is_open() && !self.client.names.is_uncertain(&change.name, u64::MAX) {
            self.client.names.set(change);
            return None;
        }
        self.client.names.sent(&change, self.group.number());
        Some(change)
    }

    /// The client's Parse of a statement was sent.
    fn parses(&mut self, name: &[u8], statement: &Arc<PreparedStatement>, place: StatementSlot) {
        let change = Change { name: name.to_vec(), to: Some(Arc::clone(statement)) };
        self.client.names.sent(&change, self.group.number());
        self.alters(statement.id());
        self.expect(Expected::Parse { statement: statement.id(), place, change: Some(change) });
    }

    pub(super) fn bind(
        &mut self,
        (portal, name, after): (Vec<u8>, Vec<u8>, usize),
        prepared: Option<Arc<PreparedStatement>>,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) {
        let (other, statement) = match prepared {
            Some(statement) => (None, Some(statement)),
            None => {
                let (on_server, statement) = self.on_server(&name, server, output);
                (Some(on_server), statement)
            }
        };
        let on_server = match (&other, &statement) {
            (None, Some(statement)) => statement.name(),
            (other, _) => other.as_deref().unwrap_or_default(),
        };
        if let Some(statement) = &statement {
            if statement.facts.effects.deallocates {
                self.prepare_deallocate(on_server, statement, output);
            }
            self.binds(&portal, statement);
        }
        let rest = length - after;
        let out = output.tail();
        out.push(client::BIND);
        out.extend_from_slice(&((4 + portal.len() + 1 + on_server.len() + 1 + rest) as u32).to_be_bytes());
        out.extend_from_slice(&portal);
        out.push(0);
        out.extend_from_slice(on_server);
        out.push(0);
        input.consume(after);
        self.to_server = Partial::pass_on(rest);
        self.expect(Expected::Bind(Portal { name: portal, statement_name: name, statement }));
    }

    fn binds(&mut self, portal: &[u8], statement: &Arc<PreparedStatement>) {
        self.in_flight.awaited.retain(|(awaited, _)| awaited != portal);
        if OnPlans::may_be_any(&statement.facts) {
            let what = OnPlans::of(&statement.text(), &statement.facts);
            self.plans.bound = self.plans.bound.max(what);
        }
        if is_awaited(&statement.facts.effects) {
            self.in_flight.awaited.push((portal.to_vec(), Arc::clone(statement)));
        } else {
            self.takes_effect(&statement.facts.effects);
        }
    }

    /// The name on the server of what the client calls `name`, which is prepared there if it is not. For a name that the
    /// client has not defined it is one that does not exist for the server.
    pub(super) fn on_server(
        &mut self,
        name: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> (Vec<u8>, Option<Arc<PreparedStatement>>) {
        let Some(mut statement) = self.client.names.get(name).cloned() else {
            if name.is_empty() {
                server.prepared.set_unnamed(None);
                self.send(client::CLOSE, b"", output);
                self.expect(Expected::Cleared);
            }
            return (foreign(name), None);
        };
        if !name.is_empty() {
            let statement = self.prepare(name, statement, server, output);
            return (statement.name().to_vec(), Some(statement));
        }
        if !server.prepared.is_unnamed(statement.id()) && !self.fits(&statement) {
            statement = self.statement(&statement.body);
            self.client.names.replace(name, &statement);
        }
        if !server.prepared.is_unnamed(statement.id()) {
            let before = server.prepared.set_unnamed(Some(statement.id()));
            self.send_parse(b"", &self.sent_body(&statement), output);
            self.prepares(&statement, StatementSlot::Unnamed { before });
        }
        (Vec::new(), Some(statement))
    }

    /// Has the server prepare the statement of a name, if it has not. What is prepared under other settings than before
    /// is another statement.
    fn prepare(
        &mut self,
        name: &[u8],
        mut statement: Arc<PreparedStatement>,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Arc<PreparedStatement> {
        if server.prepared.has(statement.id()) {
            return statement;
        }
        if !self.fits(&statement) {
            statement = self.statement(&statement.body);
            self.client.names.replace(name, &statement);
            // Only where a change of settings is under way the server may have it by now, or not.
            if server.prepared.has(statement.id()) {
                if !self.is_uncertain(statement.id()) {
                    return statement;
                }
                statement = own(&statement.body);
                self.client.names.replace(name, &statement);
            }
        }
        self.make_room(statement.id(), server, output);
        self.send_parse(statement.name(), &self.sent_body(&statement), output);
        self.prepares(&statement, StatementSlot::Named);
        statement
    }

    /// Returns true if a statement may be parsed by the settings of now.
    pub(super) fn fits(&self, statement: &PreparedStatement) -> bool {
        statement.fits(self.client.shared_settings().map(|settings| &**settings))
    }

    /// A Parse that the client has not sent was sent.
    pub(super) fn prepares(&mut self, statement: &PreparedStatement, place: StatementSlot) {
        self.counters.prepared_again += 1;
        self.alters(statement.id());
        self.expect(Expected::Parse { statement: statement.id(), place, change: None });
    }

    /// Has the server forget a statement that is parsed again.
    fn forget_on_server(&mut self, statement: &PreparedStatement, server: &mut ServerState, output: &mut WriteBuffer) {
        server.prepared.remove(statement.id());
        self.send(client::CLOSE, statement.name(), output);
        self.alters(statement.id());
        self.expect(Expected::Evicted(statement.id()));
    }

    fn make_room(&mut self, id: u64, server: &mut ServerState, output: &mut WriteBuffer) {
        let mut closed = std::mem::take(&mut server.stale);
        closed.extend(server.prepared.add(id));
        for id in closed {
            self.send(client::CLOSE, &server_name(id), output);
            self.alters(id);
            self.expect(Expected::Evicted(id));
        }
    }

    pub(super) fn send_parse(&self, name: &[u8], body: &[u8], output: &mut WriteBuffer) {
        frontend::message(output.tail(), client::PARSE, |out| {
            out.extend_from_slice(name);
            out.push(0);
            out.extend_from_slice(body);
        });
    }
}

/// The name on the server of something that the client has not prepared by Parse. The statements of others are not meant.
pub(super) fn foreign(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(PREFIX.as_bytes()) {
        Some(rest) => [PREFIX.as_bytes(), b"?", rest].concat(),
        None => name.to_vec(),
    }
}
