//! The server's messages on their way to the client.

use super::expected::{Expected, Known};
use super::group::Event;
use super::names::Change;
use super::partial::Partial;
use super::portals::Portal;
use super::{Relay, ServerState, comparing, preparing};
use crate::postgres::description::Description;
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::{
    ServerError, command_complete, header, parameter_status, transaction_status,
};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::sql::TEMPORARY_TABLE;

/// Why a client keeps its connection of whose portals not all are remembered.
const MANY_PORTALS: &str = "many portals";

/// SQLSTATE of a statement that is not there: `invalid_sql_statement_name`.
const NO_SUCH_STATEMENT: &str = "26000";

/// Errors that are counted by SQLSTATE while a server connection is lent.
const ERRORS: usize = 64;

impl Relay {
    /// Passes the server's messages on, while there is room to send.
    ///
    /// # Errors
    /// [`Fatal`]: what the server sends is not the protocol.
    pub fn from_server(
        &mut self,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        self.settle(server, output);
        while output.len() < WRITE_BUFFER_HIGH_BYTES {
            if !self.to_client.is_none() {
                if !self.to_client.go_on(input, output) {
                    return Ok(());
                }
                continue;
            }
            let Some((tag, length)) = header(input.unread())? else { return Ok(()) };
            self.put_in(server, output);
            if tag == backend::ERROR_RESPONSE && self.is_settled(server) && !self.keeps_server {
                // Of no request: the session ends. What the client sends next is for another one.
                server.ends = true;
                return Ok(());
            }
            if self.in_flight.replies.front().is_some_and(Expected::is_own) {
                if input.unread().len() < length {
                    input.want(length);
                    return Ok(());
                }
                self.own_reply(tag, &input.unread()[..length], server)?;
                input.consume(length);
                self.settle(server, output);
                continue;
            }
            self.counters.received += length as u64;
            if is_long(tag) && !self.awaits(tag) {
                self.to_client = Partial::pass_on(length);
                continue;
            }
            if input.unread().len() < length {
                input.want(length);
                return Ok(());
            }
            let shown = self.reply(tag, &input.unread()[..length], server, output)?;
            if shown {
                output.tail().extend_from_slice(&input.unread()[..length]);
            }
            input.consume(length);
            self.settle(server, output);
        }
        Ok(())
    }

    /// A reply to what the daemon itself has sent.
    fn own_reply(&mut self, tag: u8, message: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        let body = &message[5..];
        match tag {
            backend::ERROR_RESPONSE => {
                let error = ServerError::parse(body)?;
                if let Some(Expected::Validation(statement)) = self.in_flight.replies.front() {
                    self.catalog.outdated(statement);
                    server.prepared.remove(statement.id());
                    server.stale.push(statement.id());
                    return Ok(());
                }
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the settings of the client were refused: {message}")));
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                server.parameters.insert(name, value);
            }
            backend::READY_FOR_QUERY => {
                self.in_flight.replies.pop();
                server.status = transaction_status(body)?;
            }
            backend::PARAMETER_DESCRIPTION => self.in_flight.parameters = message.to_vec(),
            backend::ROW_DESCRIPTION | backend::NO_DATA => {
                if let Some(Expected::Validation(statement)) = self.in_flight.replies.front() {
                    let description =
                        Description::of_statement(statement, &std::mem::take(&mut self.in_flight.parameters), message);
                    server.prepared.describe(statement, &description);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn awaits(&self, tag: u8) -> bool {
        let front = self.in_flight.replies.front();
        let describes = matches!(front, Some(Expected::Describe(_) | Expected::DescribePortal(_) | Expected::Check(_)));
        tag == backend::ROW_DESCRIPTION && describes
    }

    /// Notes what a message of the server says; returns true if the client sees it.
    fn reply(
        &mut self,
        tag: u8,
        message: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<bool, Fatal> {
        let body = &message[5..];
        let front = self.in_flight.replies.front();
        if matches!(front, Some(Expected::Restoring)) {
            match tag {
                backend::PARSE_COMPLETE
                | backend::BIND_COMPLETE
                | backend::COMMAND_COMPLETE
                | backend::CLOSE_COMPLETE => {
                    self.in_flight.replies.pop();
                    return Ok(false);
                }
                backend::NOTICE_RESPONSE => return Ok(false),
                _ => {}
            }
        }
        match tag {
            backend::PARSE_COMPLETE => match self.in_flight.replies.pop() {
                Some(Expected::Parse { statement, change, .. }) => {
                    self.in_flight.altered(statement);
                    let shown = change.is_some();
                    change.into_iter().for_each(|change| self.client.names.done(change));
                    return Ok(shown);
                }
                Some(Expected::Placeholder) => return Ok(false),
                // The shared name has a client's own text.
                Some(Expected::Refused(statement, change)) => {
                    server.prepared.remove(statement);
                    server.stale.push(statement);
                    self.client.names.done(change);
                }
                _ => return Err(unexpected(tag)),
            },
            backend::CLOSE_COMPLETE => match self.in_flight.replies.pop() {
                Some(Expected::Close) => {}
                Some(Expected::ClosePortal(name)) => self.in_flight.portals.closed(&name),
                Some(Expected::Cleared) => return Ok(false),
                Some(Expected::Evicted(id)) => {
                    self.in_flight.altered(id);
                    return Ok(false);
                }
                _ => return Err(unexpected(tag)),
            },
            backend::BIND_COMPLETE if matches!(front, Some(Expected::Bind(_))) => {
                if let Some(Expected::Bind(portal)) = self.in_flight.replies.pop()
                    && !self.in_flight.portals.bound(portal)
                {
                    self.client.pinned.get_or_insert(MANY_PORTALS);
                }
            }
            backend::PARAMETER_DESCRIPTION => {
                self.in_flight.parameters = message.to_vec();
                return Ok(!matches!(front, Some(Expected::Check(_))));
            }
            backend::ROW_DESCRIPTION | backend::NO_DATA
                if matches!(front, Some(Expected::Describe(_) | Expected::DescribePortal(_) | Expected::Check(_))) =>
            {
                let parameters = std::mem::take(&mut self.in_flight.parameters);
                match self.in_flight.replies.pop() {
                    Some(Expected::Describe(Some(known))) => {
                        let Known { name, statement } = *known;
                        let description = Description::of_statement(&statement, &parameters, message);
                        server.prepared.describe(&statement, &description);
                        self.client.names.tell(&name, &statement, &description);
                    }
                    Some(Expected::DescribePortal(name)) => {
                        if let Some(Portal { statement_name, statement: Some(statement), .. }) =
                            self.in_flight.portals.get(&name)
                        {
                            let description = Description::of_portal(statement, message);
                            server.prepared.describe(statement, &description);
                            self.client.names.tell(statement_name, statement, &description);
                        }
                    }
                    Some(Expected::Check(statement)) => {
                        let description = Description::of_statement(&statement, &parameters, message);
                        server.prepared.describe(&statement, &description);
                        return Ok(false);
                    }
                    _ => {}
                }
            }
            backend::COMMAND_COMPLETE | backend::EMPTY_QUERY_RESPONSE | backend::PORTAL_SUSPENDED => {
                if tag == backend::COMMAND_COMPLETE {
                    if let Some(Expected::Query(_, Some(spliced))) = self.in_flight.replies.front_mut()
                        && !spliced.completed()
                    {
                        return Ok(false);
                    }
                    self.completed(command_complete(body)?, server, output);
                }
                if matches!(self.in_flight.replies.front(), Some(Expected::Execute)) {
                    self.in_flight.replies.pop();
                }
            }
            backend::COPY_IN_RESPONSE | backend::COPY_BOTH_RESPONSE
                if matches!(front, Some(Expected::Execute | Expected::Query(..))) =>
            {
                let extended = matches!(front, Some(Expected::Execute));
                // A server that copies in ignores Sync up to the end of the data, and needs one after it.
                while matches!(self.in_flight.replies.get(1), Some(Expected::Sync)) {
                    self.in_flight.replies.remove(1);
                }
                server.copies_in = !self.in_flight.replies.iter().any(|expected| matches!(expected, Expected::CopyEnd));
                let has_sync = self.in_flight.replies.iter().any(|expected| matches!(expected, Expected::Sync));
                if extended && !has_sync && !self.group.is_open() {
                    self.group.go(Event::SyncIgnored);
                }
            }
            backend::ERROR_RESPONSE => {
                let other = match front {
                    Some(Expected::Query(_, Some(spliced))) => Some(spliced.error(body)),
                    Some(Expected::Outdated) => comparing::outdated(body)?,
                    Some(Expected::Refused(statement, change)) => preparing::renamed(body, *statement, &change.name),
                    Some(Expected::Bind(Portal { statement_name, statement: Some(statement), .. })) => {
                        preparing::renamed(body, statement.id(), statement_name)
                    }
                    _ => None,
                };
                self.failed(other.as_deref().unwrap_or(body), server)?;
                if let Some(error) = other {
                    frontend::message(output.tail(), tag, |out| out.extend_from_slice(&error));
                    return Ok(false);
                }
            }
            backend::READY_FOR_QUERY => self.ready(body, server)?,
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                if std::str::from_utf8(body).is_err() {
                    // It could not be set again.
                    self.client.pinned.get_or_insert("a setting that is not in UTF-8");
                }
                let shown = self.client.settings.reported(&name, &value, server.status == TransactionStatus::Idle);
                if self.client.settings.name_temporary_schema() {
                    self.client.pinned.get_or_insert(TEMPORARY_TABLE);
                }
                server.parameters.insert(name, value);
                return Ok(shown);
            }
            _ => {}
        }
        Ok(true)
    }

    /// A group was answered.
    fn ready(&mut self, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        match self.in_flight.replies.pop() {
            Some(Expected::Query(change, _)) => self.client.names.done(change),
            Some(Expected::Sync | Expected::Function) => {}
            _ => return Err(unexpected(backend::READY_FOR_QUERY)),
        }
        server.status = transaction_status(body)?;
        self.in_flight.deallocating = None;
        self.in_flight.creates &= !self.in_flight.replies.is_empty();
        if server.status == TransactionStatus::Idle {
            self.counters.transactions += 1;
            self.in_flight.portals.clear();
            self.in_flight.awaited.clear();
            if self.in_flight.replies.is_empty() {
                self.client.settings.settled();
            }
            // It is as it was before if the transaction was rolled back, and others have it only now otherwise.
            if std::mem::take(&mut server.changed) {
                self.parse_again();
            }
        }
        Ok(())
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
        if self.counters.errors.len() < ERRORS {
            self.counters.errors.push(error.sqlstate().to_owned());
        }
        server.copies_in = false;
        let severity = error.field(headrace_postgres::messages::tag::field::SEVERITY_UNTRANSLATED);
        self.sent_fatal_error = matches!(severity, "FATAL" | "PANIC");
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
            self.catalog.outdated(statement);
            server.prepared.remove(statement.id());
            server.stale.push(statement.id());
        } else if let Some(statement) = asked
            && error.sqlstate() == NO_SUCH_STATEMENT
        {
            // A function has deallocated it. It is prepared again before its next use.
            match server.prepared.is_unnamed(statement.id()) {
                true => server.prepared.set_unnamed(None),
                false => server.prepared.remove(statement.id()),
            }
        }
        match self.in_flight.replies.front() {
            None | Some(Expected::Query(..) | Expected::Function | Expected::Sync) => return Ok(()),
            // The client may send no Sync, for which the server would wait.
            Some(Expected::Placeholder | Expected::Cleared) => {
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the server refused what no client has sent: {message}")));
            }
            _ => {}
        }
        // What was to become the unnamed statement has ended the one before, though it is refused.
        let ends_unnamed =
            matches!(self.in_flight.replies.front(), Some(Expected::Parse { named: false, change: Some(_), .. }));
        while !matches!(self.in_flight.replies.front(), None | Some(Expected::Sync)) {
            match self.in_flight.replies.pop() {
                Some(Expected::Parse { statement, named, change }) => {
                    self.in_flight.altered(statement);
                    if named {
                        server.prepared.remove(statement);
                    } else {
                        server.prepared.set_unnamed(None);
                    }
                    change.iter().for_each(|change| self.client.names.skipped(change));
                }
                Some(Expected::Evicted(id)) => {
                    self.in_flight.altered(id);
                    server.stale.push(id);
                }
                Some(Expected::Made(_, Some(change)) | Expected::Refused(_, change) | Expected::Query(change, _)) => {
                    self.client.names.skipped(&change)
                }
                _ => {}
            }
        }
        if ends_unnamed {
            self.client.names.set(Change { name: Vec::new(), to: None });
        }
        if self.in_flight.replies.is_empty() {
            self.group.go(Event::Error);
        }
        Ok(())
    }

    /// Puts in the replies that are due. If the server owes a reply after them that comes whatever the client does, they wait
    /// for it and are sent with it: one wakeup of the client instead of two. They do not wait where a group is not complete,
    /// nor where the client's next message waits for them: the server may send the others only after that.
    pub fn settle(&mut self, server: &ServerState, output: &mut WriteBuffer) {
        if !self.group.is_complete() || self.waits_for_replies || !self.in_flight.replies.are_owed() {
            self.put_in(server, output);
        }
    }

    fn put_in(&mut self, server: &ServerState, output: &mut WriteBuffer) {
        if !self.to_client.is_none() {
            return;
        }
        while self.in_flight.replies.front().is_some_and(Expected::is_put_in) {
            match self.in_flight.replies.pop() {
                Some(Expected::Made(tag, change)) => {
                    change.into_iter().for_each(|change| self.client.names.done(change));
                    frontend::message(output.tail(), tag, |_| {});
                }
                Some(Expected::Known(known, description)) => {
                    for message in description.messages().into_iter().flatten() {
                        output.tail().extend_from_slice(message);
                    }
                    self.client.names.tell(&known.name, &known.statement, &description);
                }
                Some(Expected::Ready) => frontend::message(output.tail(), backend::READY_FOR_QUERY, |out| {
                    out.push(match server.status {
                        TransactionStatus::Idle => b'I',
                        TransactionStatus::InTransaction => b'T',
                        TransactionStatus::Failed => b'E',
                    });
                }),
                _ => {}
            }
        }
    }
}

/// Returns true for messages that are passed on piece by piece.
fn is_long(tag: u8) -> bool {
    use backend::{COPY_DATA, DATA_ROW, FUNCTION_CALL_RESPONSE, ROW_DESCRIPTION};
    matches!(tag, DATA_ROW | COPY_DATA | ROW_DESCRIPTION | FUNCTION_CALL_RESPONSE)
}

fn unexpected(tag: u8) -> Fatal {
    let name = backend::name(tag).unwrap_or("unknown message");
    Fatal::peer(format!("the server sent a {name} that was not asked for"))
}
