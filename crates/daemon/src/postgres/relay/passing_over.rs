//! A request that was cancelled before a server connection was lent.

use super::{Refused, Relay, client_header};
use crate::replies;
use headrace_core::{ReadBuffer, WriteBuffer};
use headrace_postgres::messages::tag::frontend as client;

impl Relay {
    /// The client has cancelled what it waits for, before a server connection was lent: its request ends with an error.
    /// Returns false if there is nothing to cancel.
    ///
    /// # Errors
    /// [`Refused`]: the client has to be told, and closed.
    pub fn cancelled(&mut self, input: &ReadBuffer, output: &mut WriteBuffer) -> Result<bool, Refused> {
        let Some((tag, length)) = client_header(input.unread())? else { return Ok(false) };
        if matches!(tag, client::SYNC | client::TERMINATE) {
            return Ok(false);
        }
        replies::cancelled(output.tail());
        match tag {
            client::QUERY | client::FUNCTION_CALL => {
                self.skipped = length;
                replies::idle(output.tail());
            }
            _ => self.skipping = true,
        }
        Ok(true)
    }

    /// Passes over what belongs to a request that was cancelled before a server connection was lent.
    ///
    /// # Errors
    /// As [`Relay::cancelled`].
    pub fn pass_over(&mut self, input: &mut ReadBuffer, output: &mut WriteBuffer) -> Result<(), Refused> {
        loop {
            if self.skipped > 0 {
                let n = self.skipped.min(input.unread().len());
                input.consume(n);
                self.skipped -= n;
                if self.skipped > 0 {
                    return Ok(());
                }
            }
            if !self.skipping {
                return Ok(());
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(()) };
            match tag {
                client::TERMINATE => self.skipping = false,
                client::SYNC => {
                    (self.skipping, self.skipped) = (false, length);
                    replies::idle(output.tail());
                }
                _ => self.skipped = length,
            }
        }
    }
}
