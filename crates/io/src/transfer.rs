//! Bytes between buffers and a socket, whichever loop waits for it.

use crate::Progress;
use crate::limits::READ_BUFFER_BYTES;
use headrace_connection::Buffers;
use headrace_core::Fatal;

/// A socket, used without waiting.
pub(crate) trait Transfer {
    /// Sends what the socket takes; returns the number of bytes, 0 if it takes nothing.
    fn write(&self, bytes: &[u8]) -> Result<usize, Fatal>;
    /// Receives what is there; returns the number of bytes, 0 at the end of input, `None` if nothing is there.
    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, Fatal>;

    /// Sends what the socket takes; returns true if anything is left.
    fn push(&self, buffers: &mut Buffers) -> Result<bool, Fatal> {
        loop {
            let bytes = buffers.outgoing()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            match self.write(bytes)? {
                0 => return Ok(true),
                n => buffers.sent(n),
            }
        }
    }

    /// The same. A peer that takes no more may have sent the reason: if sending fails, what it sent is received first.
    fn push_or_listen(&self, buffers: &mut Buffers) -> Result<bool, Fatal> {
        self.push(buffers).inspect_err(|_| {
            while buffers.read_buffer.unread().len() < READ_BUFFER_BYTES
                && matches!(self.pull(buffers), Ok(Some(Progress::Received)))
            {}
        })
    }

    /// Receives the available bytes, if any.
    fn pull(&self, buffers: &mut Buffers) -> Result<Option<Progress>, Fatal> {
        self.pull_with(buffers, |into| self.read(into))
    }

    /// Receives with `read`, which may wait.
    fn pull_with(
        &self,
        buffers: &mut Buffers,
        read: impl FnOnce(&mut [u8]) -> Result<Option<usize>, Fatal>,
    ) -> Result<Option<Progress>, Fatal> {
        if buffers.is_at_end() {
            return Ok(Some(Progress::Eof));
        }
        buffers.make_room();
        let Some(n) = read(buffers.landing())? else { return Ok(None) };
        if n == 0 {
            return Ok(Some(Progress::Eof));
        }
        match buffers.received(n) {
            Ok(()) => Ok(Some(Progress::Received)),
            Err(error) => {
                // Sends the TLS alert to the peer, if it is still there.
                let _ = self.push(buffers);
                Err(error)
            }
        }
    }
}
