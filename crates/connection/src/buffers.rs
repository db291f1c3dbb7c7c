//! Received bytes and bytes to be sent, with TLS between them and the wire.

use crate::limits::TLS_CIPHERTEXT_BYTES;
use headrace_core::{Fatal, ReadBuffer, WriteBuffer};
use headrace_tls::TlsConnection;

/// Both buffers of a connection, and the TLS layer between them and the wire.
///
/// To read: [`Buffers::make_room`], a read into [`Buffers::landing`], [`Buffers::received`]. To write: send the bytes
/// of [`Buffers::outgoing`] and report with [`Buffers::sent`] how many the socket took, until none are left; or take
/// all of them with [`Buffers::take_outgoing`]. Without TLS nothing is copied: the socket reads into the read buffer
/// and writes from the write buffer.
///
/// Memory: what [`Buffers::landing`] returns does not move until the next [`Buffers::make_room`], [`Buffers::rest`] or
/// [`Buffers::start_tls`] without TLS, and never with TLS. A loop that lends it to other code relies on that.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Received bytes that no message has consumed yet.
    pub read_buffer: ReadBuffer,
    /// Bytes that the protocol has to send.
    pub write_buffer: WriteBuffer,
    tls: Option<Box<Layer>>,
    /// Received ciphertext; empty before TLS starts.
    landed: Vec<u8>,
}

#[derive(Debug)]
struct Layer {
    connection: TlsConnection,
    /// Bytes to write before everything else: ciphertext, preceded by the request for TLS.
    wire: WriteBuffer,
    /// True once TLS has failed: the alert that reports it is the last thing that is sent.
    failed: bool,
}

impl Layer {
    /// Encrypts the content of the write buffer, unless TLS has failed.
    fn encrypt(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if self.failed { Ok(()) } else { self.connection.transmit(write_buffer, self.wire.tail()) }
    }
}

impl Buffers {
    /// Empty buffers, without TLS.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for the next read.
    pub fn make_room(&mut self) {
        if self.tls.is_none() {
            self.read_buffer.reserve();
        }
    }

    /// The place for received bytes: in the read buffer itself, or with TLS in the buffer of ciphertext.
    pub fn landing(&mut self) -> &mut [u8] {
        if self.tls.is_none() {
            return self.read_buffer.spare_of_turn();
        }
        let most = self.landed.len().min(self.read_buffer.turn());
        &mut self.landed[..most]
    }

    /// The first `n` bytes of [`Buffers::landing`] were received.
    ///
    /// # Errors
    /// [`Fatal`] if TLS fails. [`Buffers::outgoing`] then returns the alert for the peer.
    ///
    /// # Panics
    /// When `n` is more than fits there.
    pub fn received(&mut self, n: usize) -> Result<(), Fatal> {
        let Some(layer) = &mut self.tls else {
            self.read_buffer.filled(n);
            return Ok(());
        };
        if let Err(error) = layer.connection.receive(&self.landed[..n], &mut self.read_buffer) {
            layer.failed = true;
            // An error while the alert is encrypted does not replace the first error.
            let _ = layer.connection.transmit(&mut WriteBuffer::new(), layer.wire.tail());
            return Err(error);
        }
        Ok(())
    }

    /// Returns true if the peer has closed its side of TLS: no more bytes will come.
    pub fn is_at_end(&self) -> bool {
        self.tls.as_ref().is_some_and(|layer| layer.connection.peer_closed())
    }

    /// The bytes to write now. Empty if nothing can be written, even if the write buffer has bytes that wait for the
    /// TLS handshake.
    ///
    /// # Errors
    /// [`Fatal`] if TLS fails.
    pub fn outgoing(&mut self) -> Result<&[u8], Fatal> {
        let Some(layer) = &mut self.tls else { return Ok(self.write_buffer.pending()) };
        if layer.wire.is_empty() {
            layer.encrypt(&mut self.write_buffer)?;
        }
        Ok(layer.wire.pending())
    }

    /// The first `n` bytes of [`Buffers::outgoing`] were written.
    ///
    /// # Panics
    /// When `n` is more than there are.
    pub fn sent(&mut self, n: usize) {
        match &mut self.tls {
            Some(layer) => layer.wire.sent(n),
            None => self.write_buffer.sent(n),
        }
    }

    /// Takes the bytes to write now, for a loop whose transport keeps what the socket does not take. With TLS there may
    /// be more afterwards: ciphertext is produced in portions.
    ///
    /// # Errors
    /// [`Fatal`] if TLS fails.
    pub fn take_outgoing(&mut self) -> Result<Vec<u8>, Fatal> {
        let Some(layer) = &mut self.tls else { return Ok(self.write_buffer.take()) };
        layer.encrypt(&mut self.write_buffer)?;
        Ok(layer.wire.take())
    }

    /// Encrypts everything from now on; the reads and writes that follow carry the handshake. With `request_first` the
    /// content of the write buffer is sent unencrypted before the handshake: MySQL requests TLS with a packet that the
    /// server does not answer, and a server of PostgreSQL accepts it with a byte.
    pub fn start_tls(&mut self, connection: TlsConnection, request_first: bool) {
        let mut wire = WriteBuffer::new();
        if request_first {
            *wire.tail() = self.write_buffer.take();
        }
        self.landed.resize(TLS_CIPHERTEXT_BYTES, 0);
        self.tls = Some(Box::new(Layer { connection, wire, failed: false }));
    }

    /// The TLS layer.
    pub fn tls(&self) -> Option<&TlsConnection> {
        self.tls.as_ref().map(|layer| &layer.connection)
    }

    /// Queues the TLS close_notify alert after the bytes that are still to be written.
    pub fn close_notify(&mut self) {
        if let Some(layer) = &mut self.tls {
            // A layer that cannot encrypt any more is closed without.
            let _ = layer.encrypt(&mut self.write_buffer);
            layer.connection.close_notify();
        }
    }

    /// Resets the buffers for another peer: nothing to read, nothing to send, no TLS. No memory moves.
    pub fn clear(&mut self) {
        self.read_buffer.consume(self.read_buffer.unread().len());
        self.write_buffer.take();
        self.tls = None;
    }

    /// Returns the memory that a large message took to the allocator, if nothing is unread. No slice from
    /// [`Buffers::landing`] may be in use.
    pub fn rest(&mut self) {
        self.read_buffer.rest();
    }
}
