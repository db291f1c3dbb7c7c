//! Received bytes and bytes to be sent, with TLS between them and the wire.

use headrace_core::limits::TLS_SEALED_BYTES;
use headrace_core::{Fatal, ReadBuffer, WriteBuffer};
use headrace_tls::TlsClient;

/// Both buffers of a connection, and the TLS layer between them and the wire.
///
/// To read: [`Buffers::make_room`], a read into [`Buffers::landing`], [`Buffers::received`]. To write: the bytes of
/// [`Buffers::outgoing`], and [`Buffers::sent`] for as many as the socket took, until there are none; or all at once
/// with [`Buffers::take_outgoing`]. Without TLS a read lands where the protocol reads it, and what the protocol has
/// written is sent from where it was written.
///
/// Memory: what [`Buffers::landing`] returns stays where it is until the next [`Buffers::make_room`], [`Buffers::rest`]
/// or [`Buffers::start_tls`] without TLS, and for good with TLS. A loop that lends it to others relies on that.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Received bytes that no message has consumed yet.
    pub read_buffer: ReadBuffer,
    /// Bytes that the protocol has to send.
    pub write_buffer: WriteBuffer,
    tls: Option<Box<Layer>>,
    /// Ciphertext as it comes in; empty before there was TLS.
    landed: Vec<u8>,
}

#[derive(Debug)]
struct Layer {
    client: TlsClient,
    /// What is to be written ahead of everything else: ciphertext, and before it what asked for TLS.
    wire: WriteBuffer,
    /// TLS has failed: the alert that says so is the last that is sent.
    failed: bool,
}

impl Layer {
    /// Encrypts what is to be sent, unless TLS has failed.
    fn encrypt(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if self.failed { Ok(()) } else { self.client.transmit(write_buffer, self.wire.tail()) }
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

    /// Where received bytes land: in the read buffer itself, or with TLS in the buffer of ciphertext.
    pub fn landing(&mut self) -> &mut [u8] {
        match self.tls {
            Some(_) => &mut self.landed,
            None => self.read_buffer.spare(),
        }
    }

    /// The first `n` bytes of [`Buffers::landing`] were received.
    ///
    /// # Errors
    /// [`Fatal`] where TLS fails. The alert that tells the peer is then what [`Buffers::outgoing`] returns.
    ///
    /// # Panics
    /// When `n` is more than fits there.
    pub fn received(&mut self, n: usize) -> Result<(), Fatal> {
        let Some(layer) = &mut self.tls else {
            self.read_buffer.filled(n);
            return Ok(());
        };
        if let Err(error) = layer.client.receive(&self.landed[..n], &mut self.read_buffer) {
            layer.failed = true;
            // What is wrong stays what it is, whether the peer can be told or not.
            let _ = layer.client.transmit(&mut WriteBuffer::new(), layer.wire.tail());
            return Err(error);
        }
        Ok(())
    }

    /// Returns true if the peer has ended its TLS: nothing more will come.
    pub fn is_at_end(&self) -> bool {
        self.tls.as_ref().is_some_and(|layer| layer.client.peer_closed())
    }

    /// The bytes to write now; none where nothing can be written, though during a TLS handshake the write buffer waits.
    ///
    /// # Errors
    /// [`Fatal`] where TLS fails.
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
    /// be more afterwards: ciphertext is made in portions.
    ///
    /// # Errors
    /// [`Fatal`] where TLS fails.
    pub fn take_outgoing(&mut self) -> Result<Vec<u8>, Fatal> {
        let Some(layer) = &mut self.tls else { return Ok(self.write_buffer.take()) };
        layer.encrypt(&mut self.write_buffer)?;
        Ok(layer.wire.take())
    }

    /// Encrypts everything from now on; the handshake is carried by the reads and writes to come. With `request_first`
    /// what is in the write buffer is sent ahead of it as it is: MySQL asks for TLS in a packet that nothing answers.
    pub fn start_tls(&mut self, client: TlsClient, request_first: bool) {
        let mut wire = WriteBuffer::new();
        if request_first {
            *wire.tail() = self.write_buffer.take();
        }
        self.landed.resize(TLS_SEALED_BYTES, 0);
        self.tls = Some(Box::new(Layer { client, wire, failed: false }));
    }

    /// The TLS layer.
    pub fn tls(&self) -> Option<&TlsClient> {
        self.tls.as_ref().map(|layer| &layer.client)
    }

    /// Has TLS say goodbye after what is to be written.
    pub fn close_notify(&mut self) {
        if let Some(layer) = &mut self.tls {
            // A layer that cannot encrypt any more is closed without.
            let _ = layer.encrypt(&mut self.write_buffer);
            layer.client.close_notify();
        }
    }

    /// Begins again with another peer: nothing is to be read or sent, and there is no TLS. No memory moves.
    pub fn clear(&mut self) {
        self.read_buffer.consume(self.read_buffer.unread().len());
        self.write_buffer.take();
        self.tls = None;
    }

    /// Gives back the memory that a large message took, where nothing is unread. Nobody may hold [`Buffers::landing`]
    /// then.
    pub fn rest(&mut self) {
        self.read_buffer.rest();
    }
}
