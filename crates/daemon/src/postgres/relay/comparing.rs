//! What a client was told of a statement, beside what it would get: they are compared before it is bound or shared.

use super::attempt::{is_plain, whole_group};
use super::expected::Expected;
use super::framing::name_of;
use super::{Relay, ServerState};
use crate::postgres::description::Comparison;
use crate::postgres::statements::PreparedStatement;
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::ServerError;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::frontend as client;
use std::sync::Arc;

/// What a statement that does not fit any more is refused by: a name and a text that is none.
const OUTDATED: &str = "headraced_outdated";

/// What becomes of a Bind.
#[derive(Debug)]
pub(super) enum Checked {
    /// It is passed on. With a statement, the server has that one by its shared name.
    Fits(Option<Arc<PreparedStatement>>),
    /// The server was asked, and it waits for the answer.
    Waits,
    /// The client would read the rows as something else: it is refused, as the server refuses a plan that has changed.
    Differs,
}

/// The error of a statement that does not fit any more, in place of the one that the server has for [`OUTDATED`];
/// `None` for any other error.
pub(super) fn outdated(body: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
    const SYNTAX_ERROR: &str = "42601";
    let is_its_own = ServerError::parse(body)?.sqlstate() == SYNTAX_ERROR;
    let fields =
        b"SERROR\0VERROR\0C0A000\0Mcached plan must not change result type\0Fplancache.c\0RRevalidateCachedQuery\0\0";
    Ok(is_its_own.then(|| fields.to_vec()))
}

/// Returns true if an error with which the server answers Describe means that a statement does not fit, or does not
/// exist. Others are not about it: those of a rollback, of resources, of a lock, of an operator (or who has cancelled the request),
/// of the system (manual, "PostgreSQL Error Codes"), and those with which the session ends. An internal error does: it is
/// that of a type which is not there any more, and one of the text itself comes back from its Parse.
pub(super) fn is_of_the_statement(error: &ServerError) -> bool {
    const OTHERS: [&str; 5] = ["40", "53", "55", "57", "58"];
    let severity = error.field(headrace_postgres::messages::tag::field::SEVERITY_UNTRANSLATED);
    !matches!(severity, "FATAL" | "PANIC") && !OTHERS.iter().any(|class| error.sqlstate().starts_with(class))
}

impl Relay {
    /// Whether what the client was told of a statement is what it gets, if it binds it on this server connection.
    pub(super) fn check(&mut self, name: &[u8], server: &mut ServerState, output: &mut WriteBuffer) -> Checked {
        let Some((statement, told)) = self.client.names.known(name) else { return Checked::Fits(None) };
        if let Some(prepared) = server.prepared.used(statement.id()) {
            let is_shared = |told| prepared.description.as_ref().is_some_and(|own| own.is_shared_with(told));
            if told.is_none_or(is_shared) {
                return Checked::Fits(Some(Arc::clone(statement)));
            }
        }
        // In a transaction that has failed it executes nothing.
        let told = match told {
            Some(told) if server.status != TransactionStatus::Failed && !statement.facts.effects.borrows_columns => {
                told.clone()
            }
            _ => return Checked::Fits(None),
        };
        let (on_server, Some(statement)) = self.on_server(name, server, output) else { return Checked::Fits(None) };
        let description = server.prepared.description(statement.id());
        match description.map_or(Comparison::Unknown, |description| description.compare(&told)) {
            Comparison::Fits => {
                if let Some(description) = description {
                    self.client.names.tell(name, &statement, &description.as_far_as(&told));
                }
                Checked::Fits(None)
            }
            Comparison::Unknown => {
                self.send(client::DESCRIBE, &on_server, output);
                frontend::flush(output.tail());
                self.expect(Expected::Check(statement));
                self.in_flight.awaits_effects = true;
                Checked::Waits
            }
            Comparison::Differs => {
                match name.is_empty() {
                    true => {
                        self.catalog.outdated(&statement);
                        server.prepared.set_unnamed(None);
                    }
                    false => self.does_not_fit(&statement, server),
                }
                // It is no statement in any transaction, so the server refuses it.
                frontend::parse(output.tail(), OUTDATED, OUTDATED, &[]);
                self.expect(Expected::Outdated);
                Checked::Differs
            }
        }
    }

    /// Has the server look whether a statement still fits its tables that others have prepared, before a client gets it
    /// that prepares the text: that client could not see why it is refused. It is asked each time, as a table may be
    /// changed at any time. Returns true if it waits for that: where it has to, as what it sends with the statement is
    /// not there as a whole ([`super::attempt`]).
    pub(super) fn validates(
        &mut self,
        received: &[u8],
        body: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> bool {
        if let Some(Expected::Validation(_)) = self.in_flight.replies.last() {
            // The server has been asked, and something else has happened meanwhile.
            return true;
        }
        self.found = None;
        let Some((name, body)) = name_of(body).filter(|(name, _)| !name.is_empty()) else { return false };
        if self.client.names.get(name).is_some() {
            return false;
        }
        let statement = match &self.validated {
            // It is what was asked for.
            Some(validated) if *validated.body == *body && self.fits(validated) => Arc::clone(validated),
            _ => self.statement(body),
        };
        // The daemon's own SETs may be under way.
        let owes_own_alone = self.in_flight.replies.iter().all(|expected| expected.is_put_in() || expected.is_own());
        let is_first = !self.group.is_open() && owes_own_alone && server.status == TransactionStatus::Idle;
        let is_others =
            is_first && server.prepared.has(statement.id()) && !self.client.closed.contains(&statement.id());
        let is_validated = self.validated.as_ref().is_some_and(|validated| validated.id() == statement.id());
        if is_others && !is_validated {
            let is_plain = is_plain(&statement.facts) && !self.refuses_transactions;
            let group = if is_plain { whole_group(received, name) } else { None };
            self.send(client::DESCRIBE, statement.name(), output);
            if let Some(group) = group.filter(|group| output.len() + 2 * group.len() < WRITE_BUFFER_HIGH_BYTES) {
                self.attempt.ask(group);
                self.expect(Expected::Check(Arc::clone(&statement)));
                self.validated = Some(Arc::clone(&statement));
                self.found = Some(statement);
                return false;
            }
            frontend::sync(output.tail());
            self.in_flight.replies.push(Expected::Validation(statement));
            return true;
        }
        self.found = Some(statement);
        false
    }

    /// The server has reported that a statement does not fit any more, or it is not what a client was told: no client
    /// gets it from now on.
    pub(super) fn does_not_fit(&self, statement: &PreparedStatement, server: &mut ServerState) {
        self.catalog.outdated(statement);
        server.prepared.remove(statement.id());
        server.stale.push(statement.id());
    }
}
