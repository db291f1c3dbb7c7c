//! A request that was cancelled before a server connection was lent.

use super::framing::{bind_names, client_header, name_of};
use super::group::GroupEvent;
use super::partial::Partial;
use super::{Refused, Relay};
use crate::replies;
use headrace_core::{ReadBuffer, WriteBuffer};
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::begins_block;

impl Relay {
    /// The client has cancelled what it waits for, before a server connection was lent: its request ends with an error.
    /// Returns false if there is nothing to cancel.
    ///
    /// # Errors
    /// [`Refused`]: the client has to be told, and closed. That is so where the request was to begin a transaction: what
    /// the client has sent after it without waiting would be executed outside of one.
    pub fn cancelled(&mut self, input: &ReadBuffer, output: &mut WriteBuffer) -> Result<bool, Refused> {
        let Some((tag, length)) = client_header(input.unread())? else { return Ok(false) };
        if matches!(tag, client::SYNC | client::TERMINATE) || !self.group.is_complete() {
            return Ok(false);
        }
        if tag == client::QUERY && self.may_begin(tag, input.unread(), length) {
            return Err(Refused::CancelledBegin);
        }
        replies::cancelled(output.tail());
        match tag {
            client::QUERY | client::FUNCTION_CALL => {
                self.to_server = Partial::Skip(length);
                replies::idle(output.tail());
            }
            _ => self.group.go(GroupEvent::Cancel),
        }
        Ok(true)
    }

    /// Passes over what belongs to a request that was cancelled before a server connection was lent.
    ///
    /// # Errors
    /// As [`Relay::cancelled`].
    pub fn pass_over(&mut self, input: &mut ReadBuffer, output: &mut WriteBuffer) -> Result<(), Refused> {
        loop {
            if !self.to_server.consume(input) {
                return Ok(());
            }
            if !self.group.is_cancelled() {
                return Ok(());
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(()) };
            match tag {
                client::TERMINATE => self.group.go(GroupEvent::Terminate),
                client::SYNC => {
                    self.group.go(GroupEvent::SyncHere);
                    self.to_server = Partial::Skip(length);
                    replies::idle(output.tail());
                }
                _ if self.may_begin(tag, input.unread(), length) => return Err(Refused::CancelledBegin),
                _ => self.to_server = Partial::Skip(length),
            }
        }
    }

    /// Returns true if a message is to begin a transaction, or is not there as a whole yet.
    fn may_begin(&self, tag: u8, bytes: &[u8], length: usize) -> bool {
        let begins = |text: &[u8]| std::str::from_utf8(text).map_or(true, begins_block);
        let text_of = |bytes: &[u8]| name_of(bytes).is_none_or(|(text, _)| begins(text));
        match (tag, bytes.get(5..length)) {
            (client::QUERY, Some(body)) => text_of(body),
            (client::PARSE, Some(body)) => name_of(body).is_none_or(|(_, rest)| text_of(rest)),
            (client::QUERY | client::PARSE, None) => true,
            (client::BIND, _) => match bind_names(bytes, length) {
                Ok(Some((_, name, _))) => {
                    self.client.names.get(&name).is_some_and(|statement| text_of(&statement.body))
                }
                _ => true,
            },
            _ => false,
        }
    }
}
