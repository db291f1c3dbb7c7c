//! Connecting a socket, in steps that no interrupt has to wait for.

use crate::limits::QUEUE_PAUSE;
use crate::limits::TICK;
use crate::{Address, Link, TcpOptions, sys};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive};
use std::time::{Duration, Instant};
use std::{io, thread};

/// A connection that is being established.
#[derive(Debug)]
pub struct Connecting {
    address: SockAddr,
    tcp: Option<TcpOptions>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The socket has not been accepted into the listener's queue yet.
    Asking(Socket),
    /// The handshake is in progress.
    Waiting(Socket),
    /// The attempt has ended, successfully or not.
    Over,
}

impl Connecting {
    /// A connection to `address`; the first [`Connecting::step`] sets out.
    ///
    /// # Errors
    /// The error of the operating system: a path that is too long, no more file descriptors.
    pub fn new(address: &Address, options: &TcpOptions) -> io::Result<Self> {
        let (socket, address, tcp) = match address {
            Address::Tcp(address) => {
                let socket = sys::nonblocking(Domain::for_address(*address), Some(Protocol::TCP))?;
                (socket, SockAddr::from(*address), Some(options.clone()))
            }
            Address::Unix(path) => (sys::nonblocking(Domain::UNIX, None)?, SockAddr::unix(path)?, None),
        };
        Ok(Self { address, tcp, stage: Stage::Asking(socket) })
    }

    /// Waits until the connection is established, or a signal came, or [`TICK`] has passed. `None` in the last two
    /// cases: check for interrupts, and call again.
    ///
    /// # Errors
    /// The error of the operating system; [`io::ErrorKind::TimedOut`] when the deadline has passed.
    pub fn step(&mut self, deadline: Option<Instant>) -> io::Result<Option<Link>> {
        let socket = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Asking(socket) => match socket.connect(&self.address) {
                Ok(()) => return self.finish(socket).map(Some),
                Err(error) if sys::is_in_progress(&error) => socket,
                // A Unix socket whose listener's queue is full; TCP never reports this.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    thread::sleep(remaining(deadline)?.min(QUEUE_PAUSE));
                    self.stage = Stage::Asking(socket);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
            Stage::Waiting(socket) => socket,
            Stage::Over => return Err(io::Error::other("the connection attempt is over")),
        };
        let wait = remaining(deadline)?.min(TICK);
        let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
        match poll(&mut fds, Some(&crate::timespec(wait))) {
            Ok(0) | Err(Errno::INTR) => {
                self.stage = Stage::Waiting(socket);
                Ok(None)
            }
            Ok(_) => match socket.take_error()? {
                Some(error) => Err(error),
                None => self.finish(socket).map(Some),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn finish(&self, socket: Socket) -> io::Result<Link> {
        if let Some(options) = &self.tcp {
            tune(&socket, options)?;
        }
        Link::from_socket(socket)
    }
}

/// The time left, [`TICK`] without a deadline.
fn remaining(deadline: Option<Instant>) -> io::Result<Duration> {
    let Some(deadline) = deadline else { return Ok(TICK) };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

pub(crate) fn tune(socket: &Socket, options: &TcpOptions) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    if options.keepalive {
        let mut keepalive = TcpKeepalive::new();
        if let Some(idle) = options.keepalive_idle {
            keepalive = keepalive.with_time(idle);
        }
        if let Some(interval) = options.keepalive_interval {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(count) = options.keepalive_count {
            keepalive = keepalive.with_retries(count);
        }
        // Also turns the probes on.
        socket.set_tcp_keepalive(&keepalive)?;
    }
    #[cfg(target_os = "linux")]
    if options.user_timeout.is_some() {
        socket.set_tcp_user_timeout(options.user_timeout)?;
    }
    Ok(())
}
