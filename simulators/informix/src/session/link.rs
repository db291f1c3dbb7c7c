//! The two directions of a connection: the received bytes, and the reply that is being made.

use std::collections::VecDeque;
use std::io;

use headrace_simulator_common::channel::Channel;
use headrace_simulator_common::faults::Faults;

use crate::capabilities::Capabilities;
use crate::codec::charset::Charset;
use crate::limits::REPLY_BUFFER;
use crate::messages::{self, Message};
use crate::wire::Input;

/// A connection with its buffers.
pub struct Link {
    /// The bytes of the client.
    pub input: Input<Channel>,
    /// Messages that were read before their time.
    early: VecDeque<Message>,
    /// The reply so far.
    pub out: Vec<u8>,
    /// Deliberate faults.
    pub faults: Faults,
    /// Faults requested by SQL; they start after the reply to that.
    pub next_faults: Option<Faults>,
    /// The number of the session, if replies are printed.
    pub trace: Option<i64>,
}

impl Link {
    /// A new connection.
    pub fn new(channel: Channel, faults: Faults, trace: Option<i64>) -> Self {
        Self {
            input: Input::new(channel),
            early: VecDeque::new(),
            out: Vec::with_capacity(REPLY_BUFFER),
            faults,
            next_faults: None,
            trace,
        }
    }

    /// The next message.
    pub fn next(&mut self, caps: &Capabilities, charset: Charset) -> io::Result<Message> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => messages::read(&mut self.input, caps, charset),
        }
    }

    /// Returns true if a message has come already.
    pub fn has_more(&self) -> bool {
        !self.early.is_empty() || self.input.has_buffered()
    }

    /// Reads the rest of the current group, so that the next message answers the server.
    pub fn read_group(&mut self, caps: &Capabilities, charset: Charset) -> io::Result<()> {
        while self.early.back() != Some(&Message::End) {
            let message = messages::read(&mut self.input, caps, charset)?;
            if let Message::Unknown(tag) = message {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} is not known")));
            }
            self.early.push_back(message);
        }
        Ok(())
    }

    /// Sends the reply.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.out);
        if let Some(number) = self.trace {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{number} < {hex}");
        }
        let sent = self.faults.send(self.input.source(), &mut bytes);
        bytes.clear();
        self.out = bytes;
        if let Some(next) = self.next_faults.take() {
            self.faults = next;
        }
        sent
    }

    /// Sends the reply so far and waits for a message of the client that belongs to it.
    pub fn ask(&mut self) -> io::Result<()> {
        crate::wire::Output::put_u16(&mut self.out, 12);
        self.flush()
    }

    /// Reads a tag that must be the one expected.
    pub fn expect(&mut self, tag: u16) -> io::Result<()> {
        let found = self.input.u16()?;
        if found == tag {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {found} where {tag} was due")))
    }
}
