//! What the replies of the server mean for its connection and the client.

use super::expected::{Expected, Known, StatementSlot};
use super::group::GroupEvent;
use super::names::Change;
use super::portals::Portal;
use super::spliced::Completed;
use super::{Relay, ServerState, comparing, preparing};
use crate::limits::COUNTED_ERRORS;
use crate::postgres::description::Description;
use headrace_core::{Fatal, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::{ServerError, command_complete, parameter_status, transaction_status};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::sql::{CONSTANT_SETTINGS, TEMPORARY_TABLE};

/// Why a client keeps its connection of whose portals not all are remembered.
const MANY_PORTALS: &str = "many portals";

/// SQLSTATE of a statement that is not there: `invalid_sql_statement_name`.
const NO_SUCH_STATEMENT: &str = "26000";

/// SQLSTATE of what the server itself does not expect: `internal_error`.
const INTERNAL_ERROR: &str = "XX000";

/// Where a reply is not a matter of course, the functions return true if the client sees it.
impl Relay {
    pub(super) fn parsed(&mut self, server: &mut ServerState) -> Result<bool, Fatal> {
        match self.in_flight.replies.pop() {
            Some(Expected::Parse { statement, change, .. }) => {
                self.in_flight.altered(statement);
                self.in_flight.parsed(statement);
                let shown = change.is_some();
                change.into_iter().for_each(|change| self.client.names.done(change));
                Ok(shown)
            }
            Some(Expected::Placeholder) => Ok(false),
            // The shared name has a client's own text.
            Some(Expected::Refused(statement, change)) => {
                server.prepared.remove(statement);
                server.stale.push(statement);
                self.client.names.done(change);
                Ok(true)
            }
            _ => Err(unexpected(backend::PARSE_COMPLETE)),
        }
    }

    pub(super) fn closed(&mut self) -> Result<bool, Fatal> {
        match self.in_flight.replies.pop() {
            Some(Expected::Close) => Ok(true),
            Some(Expected::ClosePortal(name)) => {
                self.in_flight.portals.closed(&name);
                Ok(true)
            }
            Some(Expected::Cleared) => Ok(false),
            Some(Expected::Evicted(id)) => {
                self.in_flight.altered(id);
                Ok(false)
            }
            _ => Err(unexpected(backend::CLOSE_COMPLETE)),
        }
    }

    pub(super) fn bound(&mut self) {
        if let Some(Expected::Bind(portal)) = self.in_flight.replies.pop()
            && !self.in_flight.portals.bound(portal)
        {
            self.client.pinned.get_or_insert(MANY_PORTALS);
        }
    }

    pub(super) fn described(&mut self, columns: &[u8], server: &mut ServerState) -> bool {
        let parameters = std::mem::take(&mut self.in_flight.parameters);
        match self.in_flight.replies.pop() {
            Some(Expected::Describe(Some(known))) => {
                let Known { name, statement } = *known;
                let description = Description::of_statement(&statement, &parameters, columns);
                self.in_flight.describes(&statement, &description, server);
                self.client.names.tell(&name, &statement, &description);
            }
            Some(Expected::DescribePortal(name)) => {
                if let Some(Portal { statement_name, statement: Some(statement), .. }) =
                    self.in_flight.portals.get(&name)
                {
                    let description = Description::of_portal(statement, columns);
                    self.in_flight.describes(statement, &description, server);
                    self.client.names.tell(statement_name, statement, &description);
                }
            }
            Some(Expected::Check(statement)) => {
                let description = Description::of_statement(&statement, &parameters, columns);
                self.in_flight.describes(&statement, &description, server);
                self.attempt.fits();
                return false;
            }
            _ => {}
        }
        true
    }

    pub(super) fn executed(
        &mut self,
        tag: u8,
        body: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<bool, Fatal> {
        if tag == backend::COMMAND_COMPLETE {
            let tag = command_complete(body)?;
            if let Some(Expected::Query(_, Some(spliced))) = self.in_flight.replies.front_mut() {
                let is_of_client = spliced.is_next_of_client();
                let seen = spliced.completed(tag);
                if is_of_client {
                    self.completed(tag, server, output);
                }
                if let Completed::Last(tag) = &seen {
                    frontend::message(output.tail(), backend::COMMAND_COMPLETE, |out| {
                        out.extend_from_slice(tag);
                        out.push(0);
                    });
                }
                return Ok(seen == Completed::Shown);
            }
            self.completed(tag, server, output);
        }
        if matches!(self.in_flight.replies.front(), Some(Expected::Execute)) {
            self.in_flight.replies.pop();
        }
        Ok(true)
    }

    pub(super) fn copies_in(&mut self, server: &mut ServerState) {
        let replies = &mut self.in_flight.replies;
        let extended = matches!(replies.front(), Some(Expected::Execute));
        // A server that copies in ignores Sync up to the end of the data, and needs one after it.
        while matches!(replies.get(1), Some(Expected::Sync { .. })) {
            replies.remove(1);
        }
        server.copies_in = !replies.iter().any(|expected| matches!(expected, Expected::CopyEnd));
        let has_sync = replies.iter().any(|expected| matches!(expected, Expected::Sync { .. }));
        if extended && !has_sync && !self.group.is_open() {
            self.group.go(GroupEvent::SyncIgnored);
        }
    }

    pub(super) fn reported(&mut self, body: &[u8], server: &mut ServerState) -> Result<bool, Fatal> {
        let (name, value) = parameter_status(body)?;
        if std::str::from_utf8(body).is_err() {
            // It could not be set again.
            self.keep_for_good("a setting that is not in UTF-8");
        }
        let before = self.client.settings.certain().cloned();
        let shown = self.client.settings.reported(&name, &value, server.status == TransactionStatus::Idle);
        self.plans.is_to_be_compared |= CONSTANT_SETTINGS.contains(&name.as_str());
        if before.is_some_and(|before| before != *self.client.settings.meaning()) {
            self.in_flight.forget_parsed(server);
        }
        if self.client.settings.name_temporary_schema() {
            self.client.pinned.get_or_insert(TEMPORARY_TABLE);
        }
        server.parameters.insert(name, value);
        Ok(shown)
    }

    pub(super) fn error(
        &mut self,
        body: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<bool, Fatal> {
        if self.attempt.is_asked() {
            if let Some(Expected::Check(statement)) = self.in_flight.replies.front()
                && comparing::is_of_the_statement(&ServerError::parse(body)?)
            {
                self.does_not_fit(statement, server);
                self.attempt.differs();
                self.skip_group(server);
                return Ok(false);
            }
            self.attempt.fails();
        }
        let other = match self.in_flight.replies.front() {
            Some(Expected::Query(_, Some(spliced))) => Some(spliced.error(body)),
            Some(Expected::Outdated) => comparing::outdated(body)?,
            Some(Expected::Refused(statement, change)) => preparing::renamed(body, *statement, &change.name),
            Some(Expected::Bind(Portal { statement_name, statement: Some(statement), .. })) => {
                preparing::renamed(body, statement.id(), statement_name)
            }
            _ => None,
        };
        self.failed(other.as_deref().unwrap_or(body), server)?;
        let Some(error) = other else { return Ok(true) };
        frontend::message(output.tail(), backend::ERROR_RESPONSE, |out| out.extend_from_slice(&error));
        Ok(false)
    }

    /// A group was answered.
    pub(super) fn ready(&mut self, body: &[u8], server: &mut ServerState) -> Result<bool, Fatal> {
        let mut is_bare = false;
        match self.in_flight.replies.pop() {
            Some(Expected::Query(change, _)) => self.client.names.done(change),
            Some(Expected::Sync { is_bare: bare }) => is_bare = bare,
            Some(Expected::Function) => {}
            _ => return Err(unexpected(backend::READY_FOR_QUERY)),
        }
        server.status = transaction_status(body)?;
        // A Sync without anything before it ends no transaction.
        server.is_unfinished &= is_bare || server.status != TransactionStatus::Idle;
        self.plans.is_unanswered &= !self.in_flight.replies.is_empty();
        self.in_flight.is_ready();
        self.in_flight.deallocating = None;
        self.in_flight.creates &= !self.in_flight.replies.is_empty();
        if server.status == TransactionStatus::Idle {
            self.counters.transactions += 1;
            self.in_flight.portals.clear();
            self.in_flight.awaited.clear();
            if self.in_flight.replies.is_empty() {
                self.client.settings.settled();
                self.compare_plans_later();
            }
            // It is as it was before if the transaction was rolled back, and others have it only now otherwise.
            if std::mem::take(&mut server.changed) {
                self.parse_again();
            }
        }
        if self.attempt.ready() {
            // What is passed on again counts once.
            self.requests = self.requests.saturating_sub(1);
            self.counters.spared = self.counters.spared.saturating_sub(1);
            return Ok(false);
        }
        Ok(true)
    }

    fn completed(&mut self, tag: &[u8], server: &mut ServerState, output: &mut WriteBuffer) {
        match tag {
            b"DISCARD ALL" | b"DEALLOCATE ALL" => {
                server.prepared.clear();
                server.stale.clear();
                self.client.names.take().into_iter().for_each(|statement| self.client.closes(statement.id()));
                if tag == b"DISCARD ALL" {
                    self.discarded(server, output);
                }
            }
            b"DEALLOCATE" => {
                if let Some(name) = self.in_flight.deallocating.take() {
                    if let Some(id) = self.client.names.get(&name).map(|statement| statement.id()) {
                        self.client.closes(id);
                    }
                    self.client.names.set(Change { name, to: None });
                }
            }
            _ => {}
        }
        // SELECT is also the tag of what makes a table of rows.
        if tag == b"DO"
            || [&b"CREATE "[..], b"ALTER ", b"DROP "].iter().any(|verb| tag.starts_with(verb))
            || self.in_flight.creates && tag.starts_with(b"SELECT")
        {
            self.parse_again();
            self.plans_may_have_changed(server);
            server.changed = true;
        }
    }

    /// What statements depend on has changed: who prepares a text from now on has the server parse it, as without the
    /// daemon.
    fn parse_again(&mut self) {
        // Such tables are made and dropped often, and are nobody else's.
        if self.client.pinned != Some(TEMPORARY_TABLE) {
            self.catalog.clear();
        }
    }

    /// In the extended protocol an error makes the server skip everything up to the next Sync: what was to be prepared
    /// there was not.
    fn failed(&mut self, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        let error = ServerError::parse(body)?;
        self.note_error(&error);
        server.copies_in = false;
        let asked = match self.in_flight.replies.front() {
            Some(Expected::Bind(portal)) => portal.statement.as_ref(),
            Some(Expected::Check(statement)) => Some(statement),
            Some(Expected::Describe(known)) => known.as_ref().map(|known| &known.statement),
            _ => None,
        };
        if let Some(statement) = asked
            && error.sqlstate() == "0A000"
            && error.field(headrace_postgres::messages::tag::field::ROUTINE) == "RevalidateCachedQuery"
        {
            self.does_not_fit(statement, server);
        } else if let Some(Expected::Bind(portal)) = self.in_flight.replies.front()
            && let Some(statement) = &portal.statement
            && error.sqlstate() == INTERNAL_ERROR
        {
            // The type of a parameter is not there any more. Describe does not notice it where no row is returned: whoever
            // prepares the text from now on is told by the server what is wrong with it.
            self.catalog.forget(statement);
            server.prepared.remove(statement.id());
            server.stale.push(statement.id());
        } else if let Some(statement) = asked
            && error.sqlstate() == NO_SUCH_STATEMENT
        {
            // A function has deallocated it. It is prepared again before its next use.
            match server.prepared.is_unnamed(statement.id()) {
                true => drop(server.prepared.set_unnamed(None)),
                false => server.prepared.remove(statement.id()),
            }
        }
        match self.in_flight.replies.front() {
            None | Some(Expected::Query(..) | Expected::Function | Expected::Sync { .. }) => return Ok(()),
            // The client may send no Sync, for which the server would wait.
            Some(Expected::Placeholder | Expected::Cleared) => {
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the server refused a statement of the daemon itself: {message}")));
            }
            _ => {}
        }
        self.skip_group(server);
        Ok(())
    }

    /// The client is told of an error.
    pub(super) fn note_error(&mut self, error: &ServerError) {
        if self.counters.errors.len() < COUNTED_ERRORS {
            self.counters.errors.push(error.sqlstate().to_owned());
        }
        let severity = error.field(headrace_postgres::messages::tag::field::SEVERITY_UNTRANSLATED);
        self.sent_fatal_error = matches!(severity, "FATAL" | "PANIC");
    }

    /// The server skips what was sent up to the next Sync.
    fn skip_group(&mut self, server: &mut ServerState) {
        // What was to become the unnamed statement has ended the one before, though it is refused.
        let ends_unnamed = matches!(
            self.in_flight.replies.front(),
            Some(Expected::Parse { place: StatementSlot::Unnamed { .. }, change: Some(_), .. })
        );
        let (mut is_refused, mut unnamed) = (true, None);
        while !matches!(self.in_flight.replies.front(), None | Some(Expected::Sync { .. })) {
            match self.in_flight.replies.pop() {
                Some(Expected::Parse { statement, place, change }) => {
                    self.in_flight.altered(statement);
                    match place {
                        StatementSlot::Named => server.prepared.remove(statement),
                        // One that is skipped has left the one before.
                        StatementSlot::Unnamed { before } => {
                            unnamed.get_or_insert(before.filter(|_| !is_refused));
                        }
                    }
                    change.iter().for_each(|change| self.client.names.skipped(change));
                }
                Some(Expected::Evicted(id)) => {
                    self.in_flight.altered(id);
                    server.stale.push(id);
                }
                Some(Expected::Restoring) => self.plans_are_not_discarded(server),
                Some(Expected::Made(_, Some(change)) | Expected::Refused(_, change) | Expected::Query(change, _)) => {
                    self.client.names.skipped(&change)
                }
                _ => {}
            }
            is_refused = false;
        }
        if let Some(before) = unnamed {
            let is_last = self.in_flight.replies.forget_unnamed_before();
            server.prepared.set_unnamed(before.filter(|_| is_last));
        }
        if ends_unnamed {
            self.client.names.set(Change { name: Vec::new(), to: None });
        }
        if self.in_flight.replies.is_empty() {
            self.group.go(GroupEvent::Error);
        }
    }
}

fn unexpected(tag: u8) -> Fatal {
    let name = backend::name(tag).unwrap_or("unknown message");
    Fatal::peer(format!("the server sent a {name} that was not asked for"))
}
