//! A Unix socket on tokio that is woken for room to send only while it waits for room.
//!
//! Linux wakes whoever waits for room whenever the peer has read a message, whether the socket was full or not
//! (`unix_write_space` in net/unix/af_unix.c); with TCP it does so only after the socket was full. tokio's `UnixStream`
//! waits for room as long as it exists: a relay is then woken twice for nothing for each question and its answer.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A connected Unix socket.
#[derive(Debug)]
pub struct Local {
    socket: AsyncFd<UnixStream>,
    /// A second descriptor of the same socket, while it is full: one descriptor can be registered once only, and not with
    /// other interests later.
    room: Option<AsyncFd<UnixStream>>,
}

impl Local {
    /// A socket that does not block.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        Ok(Self { socket: registered(socket, Interest::READABLE)?, room: None })
    }

    /// Waits by the runtime that this is called in from now on, whose threads it wakes.
    pub(crate) fn come_here(&mut self) -> io::Result<()> {
        // A descriptor can be registered once only, so that another one of the same socket is.
        *self = Self::new(self.socket().try_clone()?)?;
        Ok(())
    }

    pub(crate) fn socket(&self) -> &UnixStream {
        self.socket.get_ref()
    }

    /// Listens for room if something is unsent, and not any more if nothing is.
    pub(crate) fn listen_for_room(&mut self, unsent: bool) -> io::Result<()> {
        if !unsent {
            self.room = None;
        } else if self.room.is_none() {
            self.room = Some(registered(self.socket().try_clone()?, Interest::WRITABLE)?);
        }
        Ok(())
    }

    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_read_ready(cx).map_ok(drop)
    }

    /// Without [`Local::listen_for_room`] it waits for ever.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.room {
            Some(room) => room.poll_write_ready(cx).map_ok(drop),
            None => Poll::Pending,
        }
    }

    /// Calls `read`, if something may be there.
    pub(crate) fn try_read<R>(&self, read: impl FnOnce(&mut dyn Read) -> io::Result<R>) -> io::Result<R> {
        self.socket.try_io(Interest::READABLE, |mut socket| read(&mut socket))
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.room {
            Some(room) => room.try_io(Interest::WRITABLE, |mut socket| socket.write(bytes)),
            None => self.socket().write(bytes),
        }
    }
}

#[expect(deprecated, reason = "the descriptor that a UnixStream names is its own as long as it exists")]
fn registered(socket: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    AsyncFd::with_interest(socket, interest)
}
