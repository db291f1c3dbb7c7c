//! The server's messages on their way to the client.

use super::{Expected, Relay, ServerState, pass};
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::{
    ServerError, command_complete, header, parameter_status, transaction_status,
};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::sql::TEMPORARY_TABLE;
use std::sync::Arc;

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
            if self.to_client > 0 {
                if !pass(input, output, &mut self.to_client) {
                    return Ok(());
                }
                continue;
            }
            let Some((tag, length)) = header(input.unread())? else { return Ok(()) };
            self.put_in(server, output);
            if matches!(self.expected.front(), Some(Expected::Own)) {
                if input.unread().len() < length {
                    input.want(length);
                    return Ok(());
                }
                self.own_reply(tag, &input.unread()[5..length], server)?;
                input.consume(length);
                self.settle(server, output);
                continue;
            }
            self.received += length as u64;
            if matches!(tag, backend::DATA_ROW | backend::COPY_DATA | backend::ROW_DESCRIPTION) && !self.awaits(tag) {
                self.to_client = length;
                continue;
            }
            if input.unread().len() < length {
                input.want(length);
                return Ok(());
            }
            let shown = self.reply(tag, &input.unread()[..length], server)?;
            if shown {
                output.tail().extend_from_slice(&input.unread()[..length]);
            }
            input.consume(length);
            self.settle(server, output);
        }
        Ok(())
    }

    /// A reply to what the daemon itself has sent.
    fn own_reply(&mut self, tag: u8, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        match tag {
            backend::ERROR_RESPONSE => {
                let error = ServerError::parse(body)?;
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the settings of the client were refused: {message}")));
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                server.parameters.insert(name, value);
            }
            backend::READY_FOR_QUERY => {
                self.expected.pop_front();
                server.status = transaction_status(body)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn awaits(&self, tag: u8) -> bool {
        tag == backend::ROW_DESCRIPTION && matches!(self.expected.front(), Some(Expected::Describe(_)))
    }

    /// Notes what a message of the server says; returns true if the client sees it.
    fn reply(&mut self, tag: u8, message: &[u8], server: &mut ServerState) -> Result<bool, Fatal> {
        let body = &message[5..];
        let front = self.expected.front();
        match tag {
            backend::PARSE_COMPLETE => {
                let Some(Expected::Parse { shown, .. }) = front else { return Err(unexpected(tag)) };
                let shown = *shown;
                self.expected.pop_front();
                return Ok(shown);
            }
            backend::CLOSE_COMPLETE => {
                let Some(Expected::Close(statement)) = front else { return Err(unexpected(tag)) };
                let shown = statement.is_none();
                self.expected.pop_front();
                return Ok(shown);
            }
            backend::BIND_COMPLETE if matches!(front, Some(Expected::Bind(_))) => drop(self.expected.pop_front()),
            backend::PARAMETER_DESCRIPTION => self.described = message.to_vec(),
            backend::ROW_DESCRIPTION | backend::NO_DATA if matches!(front, Some(Expected::Describe(_))) => {
                if let Some(Expected::Describe(Some(statement))) = self.expected.pop_front() {
                    let description = [&std::mem::take(&mut self.described), message].concat();
                    server.prepared.describe(&statement, description);
                }
            }
            backend::COMMAND_COMPLETE | backend::EMPTY_QUERY_RESPONSE | backend::PORTAL_SUSPENDED => {
                if tag == backend::COMMAND_COMPLETE {
                    self.completed(command_complete(body)?, server);
                }
                if matches!(self.expected.front(), Some(Expected::Execute)) {
                    self.expected.pop_front();
                }
            }
            backend::COPY_IN_RESPONSE | backend::COPY_BOTH_RESPONSE if matches!(front, Some(Expected::Execute)) => {
                // A server that copies in ignores Sync up to the end of the data, and needs one after it.
                while matches!(self.expected.get(1), Some(Expected::Sync)) {
                    self.expected.remove(1);
                }
                self.copies_in = !self.expected.iter().any(|expected| matches!(expected, Expected::CopyEnd));
                self.unsynced |= !self.expected.iter().any(|expected| matches!(expected, Expected::Sync));
            }
            backend::ERROR_RESPONSE => self.failed(body, server)?,
            backend::READY_FOR_QUERY => {
                let Some(Expected::Sync | Expected::Query) = front else { return Err(unexpected(tag)) };
                self.expected.pop_front();
                server.status = transaction_status(body)?;
                // It is as it was before if the transaction was rolled back, and others have it only now otherwise.
                if server.status == TransactionStatus::Idle && std::mem::take(&mut server.changed) {
                    self.parse_again(server);
                }
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                self.parameters.insert(name.clone(), value.clone());
                server.parameters.insert(name, value);
            }
            _ => {}
        }
        Ok(true)
    }

    fn completed(&mut self, tag: &[u8], server: &mut ServerState) {
        if tag == b"DISCARD ALL" || tag == b"DEALLOCATE ALL" {
            server.prepared.clear();
            server.stale.clear();
            let names: Vec<Vec<u8>> = self.names.keys().cloned().collect();
            for name in names {
                self.close(&name);
            }
        }
        if tag == b"DO" || [&b"CREATE "[..], b"ALTER ", b"DROP "].iter().any(|verb| tag.starts_with(verb)) {
            self.parse_again(server);
            server.changed = true;
        }
        if tag == b"DISCARD ALL" {
            self.pinned = None;
        }
    }

    /// What statements depend on has changed: who prepares a text from now on has the server parse it, as without the
    /// daemon.
    fn parse_again(&mut self, server: &ServerState) {
        if self.pinned == Some(TEMPORARY_TABLE) {
            // Such tables are made and dropped often, and are nobody else's.
            self.closed.extend(server.prepared.ids());
        } else {
            self.catalog.clear();
        }
    }

    /// In the extended protocol an error makes the server skip everything up to the next Sync: what was to be prepared
    /// there was not.
    fn failed(&mut self, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        let error = ServerError::parse(body)?;
        if self.errors.len() < ERRORS {
            self.errors.push(error.sqlstate().to_owned());
        }
        self.copies_in = false;
        if let Some(Expected::Bind(Some(statement)) | Expected::Describe(Some(statement))) = self.expected.front()
            && error.sqlstate() == "0A000"
            && error.field(headrace_postgres::messages::tag::field::ROUTINE) == "RevalidateCachedQuery"
        {
            self.catalog.forget(statement);
            server.prepared.remove(statement.id());
            server.stale.push(Arc::clone(statement));
        }
        if matches!(self.expected.front(), None | Some(Expected::Query | Expected::Sync)) {
            return Ok(());
        }
        let mut undone = Vec::new();
        while !matches!(self.expected.front(), None | Some(Expected::Sync)) {
            let Some(skipped) = self.expected.pop_front() else { break };
            match skipped {
                Expected::Parse { statement, undo, shown } => {
                    if let Some(statement) = statement {
                        server.prepared.remove(statement.id());
                    } else if shown || undo.is_none() {
                        server.prepared.unnamed = None;
                    }
                    undone.extend(undo);
                }
                Expected::Close(Some(statement)) => server.stale.push(statement),
                Expected::Made(_, undo) => undone.extend(undo),
                _ => {}
            }
        }
        self.skipping = self.expected.is_empty();
        for (name, previous) in undone.into_iter().rev() {
            match previous {
                Some(statement) => drop(self.names.insert(name, statement)),
                None => drop(self.names.remove(&name)),
            }
        }
        Ok(())
    }

    /// Puts in the replies that are due. If the server owes a reply after them, they wait for it and are sent with it,
    /// unless the client may wait for them: one wakeup of the client instead of two.
    pub fn settle(&mut self, server: &ServerState, output: &mut WriteBuffer) {
        if self.flushed || self.expected.iter().all(Expected::is_own) {
            self.put_in(server, output);
        }
    }

    fn put_in(&mut self, server: &ServerState, output: &mut WriteBuffer) {
        if self.to_client > 0 {
            return;
        }
        while self.expected.front().is_some_and(Expected::is_own) {
            match self.expected.pop_front() {
                Some(Expected::Made(tag, _)) => frontend::message(output.tail(), tag, |_| {}),
                Some(Expected::Known(messages)) => output.tail().extend_from_slice(&messages),
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

fn unexpected(tag: u8) -> Fatal {
    let name = backend::name(tag).unwrap_or("unknown message");
    Fatal::peer(format!("the server sent a {name} that was not asked for"))
}
