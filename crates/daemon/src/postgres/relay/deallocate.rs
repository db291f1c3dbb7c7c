//! SQL's DEALLOCATE of a statement that the client has prepared by Parse, and whose name only the client has.
//!
//! The server is asked to deallocate something else that nobody needs: the reply, and the effect on the transaction, are
//! the server's. It may be there already, from a DEALLOCATE that the server has refused.

use super::Relay;
use super::expected::{Expected, StatementSlot};
use super::preparing::foreign;
use crate::postgres::statements::{PREFIX, PreparedStatement};
use headrace_core::WriteBuffer;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::{Deallocated, deallocates};
use std::borrow::Cow;

impl Relay {
    /// The client's name of the statement that a text deallocates, if it is one that was prepared by Parse.
    pub(super) fn deallocated_by(&self, sql: &str) -> Option<Vec<u8>> {
        let Some(Deallocated::Statement(name)) = deallocates(sql) else { return None };
        self.client.names.get(name.as_bytes()).is_some().then(|| name.into_bytes())
    }

    /// What the server gets in place of a DEALLOCATE whose name may be that of a statement of others: it answers that
    /// there is none.
    pub(super) fn deallocating_nothing(&self, sql: &str) -> Option<String> {
        let Some(Deallocated::Statement(name)) = deallocates(sql) else { return None };
        let is_others = name.starts_with(PREFIX) && self.client.names.get(name.as_bytes()).is_none();
        is_others.then(|| {
            let foreign = String::from_utf8_lossy(&foreign(name.as_bytes())).replace('"', "\"\"");
            format!("DEALLOCATE \"{foreign}\"")
        })
    }

    /// The same of a prepared statement.
    pub(super) fn deallocated(&self, statement: &PreparedStatement) -> Option<Vec<u8>> {
        if !statement.facts.effects.deallocates {
            return None;
        }
        self.deallocated_by(&statement.text())
    }

    /// What the server gets to see of a statement that is prepared: the body of Parse after the name.
    pub(super) fn sent_body<'a>(&self, statement: &'a PreparedStatement) -> Cow<'a, [u8]> {
        if !statement.facts.effects.deallocates {
            return Cow::Borrowed(&statement.body);
        }
        let sql = match self.deallocated(statement) {
            Some(_) => Some(format!("DEALLOCATE {PREFIX}gone")),
            None => self.deallocating_nothing(&statement.text()),
        };
        sql.map_or(Cow::Borrowed(&statement.body), |sql| Cow::Owned(format!("{sql}\0\0\0").into_bytes()))
    }

    /// Passes a DEALLOCATE of this name on.
    pub(super) fn deallocate(&mut self, name: Vec<u8>, output: &mut WriteBuffer) {
        self.placeholder(output);
        frontend::query(output.tail(), "", &format!("DEALLOCATE {PREFIX}gone"));
        self.in_flight.deallocating = Some(name);
    }

    /// Has the server parse a DEALLOCATE again, which is about to be executed: what the name stands for may have changed
    /// since it was prepared.
    pub(super) fn prepare_deallocate(
        &mut self,
        on_server: &[u8],
        statement: &PreparedStatement,
        output: &mut WriteBuffer,
    ) {
        if !on_server.is_empty() {
            self.send(client::CLOSE, on_server, output);
            self.alters(statement.id());
            self.expect(Expected::Evicted(statement.id()));
        }
        self.send_parse(on_server, &self.sent_body(statement), output);
        let place = if on_server.is_empty() { StatementSlot::Unnamed { before: None } } else { StatementSlot::Named };
        self.prepares(statement, place);
        if self.deallocated(statement).is_some() {
            self.placeholder(output);
        }
    }

    fn placeholder(&mut self, output: &mut WriteBuffer) {
        let name = format!("{PREFIX}gone");
        self.send(client::CLOSE, name.as_bytes(), output);
        self.expect(Expected::Cleared);
        self.send_parse(name.as_bytes(), b"\0\0\0", output);
        self.expect(Expected::Placeholder);
    }
}
