//! Ending a wait from another thread.

use crate::sys;
use socket2::Socket;
use std::io::{self, Read, Write};

/// Ends the wait of a [`crate::Link`] that listens to it.
#[derive(Debug)]
pub struct Waker {
    reader: Socket,
    writer: Socket,
}

impl Waker {
    /// A waker that no thread waits on yet.
    ///
    /// # Errors
    /// The error of the operating system: no more file descriptors.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = sys::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        // If it is full, it has enough bytes to end a wait.
        let _ = (&self.writer).write(&[0]);
    }

    pub(crate) fn reader(&self) -> &Socket {
        &self.reader
    }

    /// Forgets the calls so far.
    pub(crate) fn rest(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.reader).read(&mut bytes), Ok(n) if n == bytes.len()) {}
    }
}
