//! Prepared statements: what becomes of Parse, Bind, Describe and Close.

use super::expected::{Expected, Known};
use super::from_client::{is_awaited, name_of};
use super::names::Change;
use super::portals::Portal;
use super::{Relay, ServerState};
use crate::postgres::description::Comparison;
use crate::postgres::statements::{PREFIX, Statement, name_of as server_name, own};
use headrace_core::{Fatal, ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::ServerError;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, backend, frontend as client};
use std::sync::Arc;

/// What a statement that does not fit any more is refused by: a name and a text that is none.
const OUTDATED: &str = "headraced_outdated";

/// What becomes of a Bind.
#[derive(Debug)]
pub(super) enum Checked {
    /// It is passed on. With a statement, the server has that one by its shared name.
    Fits(Option<Arc<Statement>>),
    /// The server was asked, and it waits for the answer.
    Waits,
    /// The client would read the rows as something else: it is refused, as the server refuses a plan that has changed.
    Differs,
}

/// The error of a statement that does not fit any more, in place of the one that the server has for [`OUTDATED`]; `None` for
/// any other error.
pub(super) fn outdated(body: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
    const SYNTAX_ERROR: &str = "42601";
    let is_its_own = ServerError::parse(body)?.sqlstate() == SYNTAX_ERROR;
    let fields =
        b"SERROR\0VERROR\0C0A000\0Mcached plan must not change result type\0Fplancache.c\0RRevalidateCachedQuery\0\0";
    Ok(is_its_own.then(|| fields.to_vec()))
}

/// An error with the name that a client has for a statement, in place of the one that it has on the server; `None` if it does
/// not name it.
pub(super) fn renamed(error: &[u8], id: u64, name: &[u8]) -> Option<Vec<u8>> {
    let [on_server, own] = [&*server_name(id), name].map(|name| [&b"\""[..], name, b"\""].concat());
    let at = error.windows(on_server.len()).position(|bytes| bytes == on_server)?;
    Some([&error[..at], &own[..], &error[at + on_server.len()..]].concat())
}

impl Relay {
    pub(super) fn close(&mut self, name: &[u8], output: &mut WriteBuffer) {
        let id = self.names.get(name).map(|statement| statement.id());
        if id.is_none() && !name.is_empty() {
            // Perhaps SQL's PREPARE has made it.
            self.send(client::CLOSE, &foreign(name), output);
            return self.expect(Expected::Close);
        }
        if let Some(id) = id {
            self.closes(id);
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
            TransactionStatus::InTransaction => !self.expected.have_groups(),
            TransactionStatus::Failed => false,
        };
        let id = known.as_ref().filter(|_| in_order && !name.is_empty()).map(|known| known.statement.id());
        let description = id.and_then(|id| server.prepared.description(id)).filter(|known| known.messages().is_some());
        match (known, description.cloned()) {
            (Some(known), Some(description)) => self.expect(Expected::Known(known, description)),
            (known, _) => {
                self.send(client::DESCRIBE, &on_server, output);
                self.expect(Expected::Describe(known));
            }
        }
    }

    /// Whether what the client was told of a statement is what it gets, if it binds it on this server connection.
    pub(super) fn check(&mut self, name: &[u8], server: &mut ServerState, output: &mut WriteBuffer) -> Checked {
        let Some((statement, told)) = self.names.known(name) else { return Checked::Fits(None) };
        if let Some(prepared) = server.prepared.used(statement.id()) {
            let is_shared = |told| prepared.description.as_ref().is_some_and(|own| own.is_shared_with(told));
            if told.is_none_or(is_shared) {
                return Checked::Fits(Some(Arc::clone(statement)));
            }
        }
        // In a transaction that has failed it executes nothing.
        let told = match told {
            Some(told) if server.status != TransactionStatus::Failed && !statement.effects.borrows_columns => {
                told.clone()
            }
            _ => return Checked::Fits(None),
        };
        let (on_server, Some(statement)) = self.on_server(name, server, output) else { return Checked::Fits(None) };
        let description = server.prepared.description(statement.id());
        match description.map_or(Comparison::Unknown, |description| description.compare(&told)) {
            Comparison::Fits => {
                if let Some(description) = description {
                    self.names.tell(name, &statement, &description.as_far_as(&told));
                }
                Checked::Fits(None)
            }
            Comparison::Unknown => {
                self.send(client::DESCRIBE, &on_server, output);
                frontend::flush(output.tail());
                self.expect(Expected::Check(statement));
                self.waits_for_effects = true;
                Checked::Waits
            }
            Comparison::Differs => {
                self.catalog.outdated(&statement);
                match name.is_empty() {
                    true => server.prepared.set_unnamed(None),
                    false => {
                        server.prepared.remove(statement.id());
                        server.stale.push(statement.id());
                    }
                }
                // It is no statement in any transaction, so the server refuses it.
                frontend::parse(output.tail(), OUTDATED, OUTDATED, &[]);
                self.expect(Expected::Outdated);
                Checked::Differs
            }
        }
    }

    /// Has the server look whether a statement still fits its tables that others have prepared, before a client gets it that
    /// prepares the text: that client could not tell why it is refused. Returns true if it waits for that.
    pub(super) fn validates(&mut self, body: &[u8], server: &mut ServerState, output: &mut WriteBuffer) -> bool {
        self.found = None;
        let Some((name, body)) = name_of(body).filter(|(name, _)| !name.is_empty()) else { return false };
        if self.names.get(name).is_some() {
            return false;
        }
        let statement = self.statement(body);
        let is_first = !self.group.is_open() && self.expected.is_empty() && server.status == TransactionStatus::Idle;
        let is_others = is_first && server.prepared.has(statement.id()) && !self.closed.contains(&statement.id());
        if is_others && !server.prepared.is_checked(statement.id(), self.checked_for) {
            self.send(client::DESCRIBE, &statement.name(), output);
            frontend::sync(output.tail());
            self.expected.push(Expected::Validation(statement));
            return true;
        }
        self.found = Some(statement);
        false
    }

    /// A message about a statement.
    pub(super) fn send(&self, tag: u8, name: &[u8], output: &mut WriteBuffer) {
        frontend::message(output.tail(), tag, |out| {
            out.push(Target::Statement as u8);
            out.extend_from_slice(name);
            out.push(0);
        });
    }

    pub(super) fn parse(&mut self, name: &[u8], body: &[u8], server: &mut ServerState, output: &mut WriteBuffer) {
        if name.is_empty() {
            let statement = own(body);
            server.prepared.set_unnamed(Some(statement.id()));
            self.send_parse(b"", &self.sent_body(&statement), output);
            self.parses(name, &statement);
            return;
        }
        if let Some(statement) = self.names.get(name).cloned() {
            // The server's own error says that it exists already, if it exists there.
            let statement = self.prepare(name, statement, server, output);
            return self.parse_refused(name, &statement, body, output);
        }
        let mut statement = self.found.take().unwrap_or_else(|| self.statement(body));
        if self.closed.remove(&statement.id()) {
            self.catalog.forget(&statement);
            statement = self.statement(body);
        }
        if server.prepared.has(statement.id()) {
            if server.status == TransactionStatus::Failed && !statement.effects.in_failed_block {
                return self.parse_refused(name, &statement, body, output);
            }
            self.spared += 1;
            let change = self.changes(Change { name: name.to_vec(), to: Some(statement) });
            return self.expect(Expected::Made(backend::PARSE_COMPLETE, change));
        }
        self.make_room(statement.id(), server, output);
        self.send_parse(&statement.name(), &self.sent_body(&statement), output);
        self.prepared += 1;
        self.parses(name, &statement);
    }

    /// Has the server refuse a Parse, by the name of a statement that it has.
    fn parse_refused(&mut self, name: &[u8], statement: &Statement, body: &[u8], output: &mut WriteBuffer) {
        self.send_parse(&statement.name(), body, output);
        let change = Change { name: name.to_vec(), to: Some(own(body)) };
        self.names.sent(&change, self.group.number());
        self.expect(Expected::Refused(statement.id(), change));
    }

    /// A message that changes a name is passed on, or answered here: nothing can undo it if nothing before it in its group
    /// can fail.
    fn changes(&mut self, change: Change) -> Option<Change> {
        if !self.group.is_open() && !self.names.is_uncertain(&change.name, u64::MAX) {
            self.names.set(change);
            return None;
        }
        self.names.sent(&change, self.group.number());
        Some(change)
    }

    /// The client's Parse of a statement was sent.
    fn parses(&mut self, name: &[u8], statement: &Arc<Statement>) {
        let change = Change { name: name.to_vec(), to: Some(Arc::clone(statement)) };
        self.names.sent(&change, self.group.number());
        self.alters(statement.id());
        self.expect(Expected::Parse { statement: statement.id(), named: !name.is_empty(), change: Some(change) });
    }

    pub(super) fn bind(
        &mut self,
        (portal, name, after): (Vec<u8>, Vec<u8>, usize),
        prepared: Option<Arc<Statement>>,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) {
        let (on_server, statement) = match prepared {
            Some(statement) => (statement.name(), Some(statement)),
            None => self.on_server(&name, server, output),
        };
        if let Some(statement) = &statement {
            if statement.effects.deallocates {
                self.prepare_deallocate(&on_server, statement, output);
            }
            self.binds(&portal, statement);
        }
        let rest = length - after;
        let out = output.tail();
        out.push(client::BIND);
        out.extend_from_slice(&((4 + portal.len() + 1 + on_server.len() + 1 + rest) as u32).to_be_bytes());
        out.extend_from_slice(&portal);
        out.push(0);
        out.extend_from_slice(&on_server);
        out.push(0);
        input.consume(after);
        self.to_server = rest;
        self.expect(Expected::Bind(Portal { name: portal, statement_name: name, statement }));
    }

    fn binds(&mut self, portal: &[u8], statement: &Arc<Statement>) {
        self.awaited.retain(|(awaited, _)| awaited != portal);
        if is_awaited(&statement.effects) {
            self.awaited.push((portal.to_vec(), Arc::clone(statement)));
        } else {
            self.takes_effect(&statement.effects);
        }
    }

    /// The name on the server of what the client calls `name`, which is prepared there if it is not. For a name that the
    /// client has not defined it is one of which the server says that it does not exist.
    fn on_server(
        &mut self,
        name: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> (Vec<u8>, Option<Arc<Statement>>) {
        let Some(statement) = self.names.get(name).cloned() else {
            if name.is_empty() {
                server.prepared.set_unnamed(None);
                self.send(client::CLOSE, b"", output);
                self.expect(Expected::Cleared);
            }
            return (foreign(name), None);
        };
        if !name.is_empty() {
            let statement = self.prepare(name, statement, server, output);
            return (statement.name(), Some(statement));
        }
        if !server.prepared.is_unnamed(statement.id()) {
            server.prepared.set_unnamed(Some(statement.id()));
            self.send_parse(b"", &self.sent_body(&statement), output);
            self.prepares(&statement, false);
        }
        (Vec::new(), Some(statement))
    }

    /// Has the server prepare the statement of a name, if it has not. What is prepared under other settings than before
    /// is another statement.
    fn prepare(
        &mut self,
        name: &[u8],
        mut statement: Arc<Statement>,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Arc<Statement> {
        if server.prepared.has(statement.id()) {
            return statement;
        }
        if !statement.fits(self.shared_settings().map(|settings| &**settings)) {
            statement = self.statement(&statement.body);
            self.names.replace(name, &statement);
            // Only where a change of settings is under way the server may have it by now, or not.
            if server.prepared.has(statement.id()) {
                if !self.is_uncertain(statement.id()) {
                    return statement;
                }
                statement = own(&statement.body);
                self.names.replace(name, &statement);
            }
        }
        self.make_room(statement.id(), server, output);
        self.send_parse(&statement.name(), &self.sent_body(&statement), output);
        self.prepares(&statement, true);
        statement
    }

    /// A Parse that the client has not sent was sent.
    pub(super) fn prepares(&mut self, statement: &Statement, named: bool) {
        self.prepared_again += 1;
        self.alters(statement.id());
        self.expect(Expected::Parse { statement: statement.id(), named, change: None });
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
fn foreign(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(PREFIX.as_bytes()) {
        Some(rest) => [PREFIX.as_bytes(), b"?", rest].concat(),
        None => name.to_vec(),
    }
}
