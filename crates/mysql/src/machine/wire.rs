//! Packets on the wire: plain, or inside compressed ones.

use crate::packets::compress::{self, Algorithm};
use crate::packets::frame::Assembler;
use headrace_core::{Fatal, ReadBuffer, WriteBuffer};
use std::convert::Infallible;

/// Both directions of the framing.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// Set once the session has begun with compression.
    pub compression: Option<Algorithm>,
    /// Parts of a payload of 16 MiB or more.
    pub assembler: Assembler,
    /// The content of compressed packets that was not read yet.
    pub plain: ReadBuffer,
    scratch: Vec<u8>,
    /// The number that the next compressed packet of this exchange must have.
    sequence: u8,
}

impl Wire {
    /// Appends one command, which `write` writes as packets; returns the result of `write`.
    pub fn write<R>(&mut self, write_buffer: &mut WriteBuffer, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let done = self.try_write(write_buffer, |out| Ok::<R, Infallible>(write(out)));
        match done {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// [`Wire::write`] for commands that can fail; `write` must then remove what it has written.
    pub fn try_write<R, E>(
        &mut self,
        write_buffer: &mut WriteBuffer,
        write: impl FnOnce(&mut Vec<u8>) -> Result<R, E>,
    ) -> Result<R, E> {
        let Some(algorithm) = self.compression else { return write(write_buffer.tail()) };
        self.scratch.clear();
        let value = write(&mut self.scratch)?;
        compress::compress(algorithm, &self.scratch, 0, write_buffer.tail());
        self.scratch.shrink_to(crate::limits::WRITE_BUFFER_HIGH_BYTES);
        Ok(value)
    }

    /// Appends a packet that continues an exchange (the data of LOAD DATA LOCAL).
    pub fn write_on(&mut self, write_buffer: &mut WriteBuffer, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(algorithm) = self.compression else { return write(write_buffer.tail()) };
        self.scratch.clear();
        write(&mut self.scratch);
        self.sequence = compress::compress(algorithm, &self.scratch, self.sequence, write_buffer.tail());
    }

    /// Unpacks the compressed packet at the front of `read_buffer`; returns true if it was whole.
    pub fn unpack(&mut self, algorithm: Algorithm, read_buffer: &mut ReadBuffer) -> Result<bool, Fatal> {
        let unread = read_buffer.unread();
        let Some((len, sequence, plain_len)) = compress::header(unread) else { return Ok(false) };
        let total = compress::HEADER_BYTES + len;
        if unread.len() < total {
            read_buffer.want(total);
            return Ok(false);
        }
        // The numbers are not compared: servers differ in how the numbers of the two levels are coupled.
        self.sequence = sequence.wrapping_add(1);
        let payload = &unread[compress::HEADER_BYTES..total];
        if plain_len == 0 {
            self.plain.extend(payload);
        } else {
            self.plain.extend(&compress::decompress(algorithm, payload, plain_len)?);
        }
        read_buffer.consume(total);
        Ok(true)
    }
}
