//! The two directions of a connection: what has come, and the reply that is being made.

use std::io;

use crate::channel::Channel;
use crate::faults::Faults;
use crate::wire::Input;

/// A connection with its buffers.
pub struct Link {
    /// What the client sends.
    pub input: Input<Channel>,
    /// The reply so far.
    pub out: Vec<u8>,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// Faults asked for by SQL; they start behind the reply to that.
    pub next_faults: Option<Faults>,
    /// The number of the session, where replies are shown.
    pub trace: Option<i64>,
}

impl Link {
    /// A new connection.
    pub fn new(channel: Channel, faults: Faults, trace: Option<i64>) -> Self {
        Self { input: Input::new(channel), out: Vec::with_capacity(1 << 16), faults, next_faults: None, trace }
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
