//! The server's messages on their way to the client.

use super::comparing::is_of_the_statement;
use super::expected::Expected;
use super::group::GroupEvent;
use super::partial::Partial;
use super::settings::Settings;
use super::{Relay, ServerState, is_settable};
use crate::postgres::description::Description;
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::{ServerError, header, parameter_status, transaction_status};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;

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
                self.own_reply(tag, &input.unread()[..length], server, output)?;
                input.consume(length);
                self.settle(server, output);
                continue;
            }
            self.counters.received += length as u64;
            if is_long(tag) && !(tag == backend::ROW_DESCRIPTION && self.describes()) {
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
    fn own_reply(
        &mut self,
        tag: u8,
        message: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let body = &message[5..];
        match tag {
            backend::ERROR_RESPONSE => {
                let error = ServerError::parse(body)?;
                if let Some(Expected::Validation(statement)) = self.in_flight.replies.front() {
                    if is_of_the_statement(&error) {
                        self.does_not_fit(statement, server);
                        return Ok(());
                    }
                    // It ends the client's Parse, which waits for this, and what comes after that in its group.
                    self.note_error(&error);
                    // Nothing was found out: the next Parse of it asks again.
                    if let Some(question) = self.in_flight.replies.front_mut() {
                        *question = Expected::Own;
                    }
                    self.group.go(GroupEvent::Error);
                    output.tail().extend_from_slice(message);
                    return Ok(());
                }
                let severity = error.field(headrace_postgres::messages::tag::field::SEVERITY_UNTRANSLATED);
                if let Some(Expected::Discard) = self.in_flight.replies.front()
                    && severity == "ERROR"
                {
                    server.plans.not_discarded();
                    self.plans.is_to_be_compared = true;
                    return Ok(());
                }
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the settings of the client were refused: {message}")));
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                // The daemon sets nothing else: it is what the client's DISCARD ALL before has set back.
                let is_news = |settings: &Settings| settings.values.get(&name).is_some_and(|known| *known != value);
                if !is_settable(&name) && is_news(&self.client.settings) {
                    self.client.settings.reported(&name, &value, server.status == TransactionStatus::Idle);
                    output.tail().extend_from_slice(message);
                }
                server.parameters.insert(name, value);
            }
            backend::READY_FOR_QUERY => {
                if let Some(Expected::Validation(statement)) = self.in_flight.replies.pop() {
                    // If it does not fit, the server connection has it no more.
                    self.validated = Some(statement).filter(|statement| server.prepared.has(statement.id()));
                }
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

    /// Returns true if the next RowDescription or NoData is a reply to Describe.
    fn describes(&self) -> bool {
        let front = self.in_flight.replies.front();
        matches!(front, Some(Expected::Describe(_) | Expected::DescribePortal(_) | Expected::Check(_)))
    }

    /// Records a message of the server; returns true if the client sees it.
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
            backend::PARSE_COMPLETE => return self.parsed(server),
            backend::CLOSE_COMPLETE => return self.closed(),
            backend::BIND_COMPLETE if matches!(front, Some(Expected::Bind(_))) => self.bound(),
            backend::PARAMETER_DESCRIPTION => {
                self.in_flight.parameters = message.to_vec();
                return Ok(!matches!(front, Some(Expected::Check(_))));
            }
            backend::ROW_DESCRIPTION | backend::NO_DATA if self.describes() => {
                return Ok(self.described(message, server));
            }
            backend::COMMAND_COMPLETE | backend::EMPTY_QUERY_RESPONSE | backend::PORTAL_SUSPENDED => {
                return self.executed(tag, body, server, output);
            }
            backend::COPY_IN_RESPONSE | backend::COPY_BOTH_RESPONSE
                if matches!(front, Some(Expected::Execute | Expected::Query(..))) =>
            {
                self.copies_in(server);
            }
            backend::ERROR_RESPONSE => return self.error(body, server, output),
            backend::READY_FOR_QUERY => return self.ready(body, server),
            backend::PARAMETER_STATUS => return self.reported(body, server),
            _ => {}
        }
        Ok(true)
    }

    /// Puts in the replies that are due. If the server owes a reply after them that comes whatever the client does,
    /// they wait for it and are sent with it: one wakeup of the client instead of two. They do not wait where a group
    /// is not complete, nor where the client's next message waits for them: the server may send the others only after
    /// that.
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
