//! The loops: each moves bytes between connections' buffers and their sockets.
//!
//! * [`Link`] is a socket, and the turns of a thread that waits on it; [`blocking`] puts a connection around it;
//! * [`tokio`], with the feature of that name, waits for any number of connections by tasks;
//! * [`rows`] is a response handler that keeps rows, for programs that have no better place for them.
//!
//! A loop is always ready to read while it writes, so a large batch cannot deadlock, whatever the size of the socket
//! buffers; it does not depend on a protocol; and it returns at least every [`TICK`], so that its owner can check for
//! interrupts.
#![forbid(unsafe_code)]

mod alarm;
pub mod blocking;
mod connect;
mod flow;
pub mod limits;
#[cfg(all(unix, feature = "tokio"))]
mod local;
pub mod rows;
mod sys;
#[cfg(feature = "tokio")]
pub mod tokio;
mod transfer;
mod wake;

pub use alarm::Alarm;
pub use connect::Connecting;
pub use flow::Flow;
pub use wake::Waker;

use crate::limits::{TICK, WRITE_BUFFER_HIGH_BYTES};
use headrace_connection::Buffers;
use headrace_core::{CancelStatement, Fatal, FatalKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use transfer::Transfer;

/// The address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(std::path::PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Options of a TCP connection.
#[derive(Clone, Debug, Default)]
pub struct TcpOptions {
    /// Probe an idle connection.
    pub keepalive: bool,
    /// Idle time before the first probe.
    pub keepalive_idle: Option<Duration>,
    /// Time between probes.
    pub keepalive_interval: Option<Duration>,
    /// Number of unanswered keepalive probes after which the connection is closed.
    pub keepalive_count: Option<u32>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

/// The error of a connection to `whom` that could not be established.
fn failed(whom: impl fmt::Display, error: &io::Error) -> Fatal {
    Fatal::new(FatalKind::ConnectFailed, format!("connection to {whom} failed: {error}"))
}

/// The result of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Bytes were received.
    Received,
    /// The write buffer has room again.
    Sent,
    /// Nothing happened; check for interrupts.
    Tick,
    /// The deadline has passed.
    Timeout,
    /// The peer has closed the connection.
    Eof,
}

/// What became of a cancel request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum CancelSent {
    /// The server has it, or nothing has to be cancelled.
    Done,
    /// Not yet: the server may not have read the one before.
    Later,
    /// This statement is to be executed in another session of the same user.
    Statement(CancelStatement),
}

/// The result of a check of an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// There is no input.
    Quiet,
    /// There is input.
    Data,
    /// The connection has ended without an announcement.
    Closed,
}

/// Ends a connection that another thread waits on: that thread sees its end at once.
///
/// It does not keep a socket open, and does nothing once the [`Link`] has been dropped, whose descriptor number may be
/// in use elsewhere by then.
#[derive(Clone, Debug)]
pub struct Hangup(Weak<Socket>);

impl Hangup {
    /// Sends a byte out of band, which whatever is in flight does not wait for; returns true if the socket was still
    /// there.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn urge(&self, byte: u8) -> io::Result<bool> {
        let Some(socket) = self.0.upgrade() else { return Ok(false) };
        socket.send_out_of_band(&[byte])?;
        Ok(true)
    }
}

impl Hangup {
    /// Shuts the socket down.
    pub fn now(&self) {
        if let Some(socket) = self.0.upgrade() {
            // On a socket that the peer has closed already the call fails; the effect is the same.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct Link {
    socket: Arc<Socket>,
    /// Other threads that need the connection.
    waker: Option<Arc<Waker>>,
    flow: Flow,
}

impl Link {
    /// Connects within `timeout`. Signals do not interrupt it; [`Connecting`] is for callers that have to check for
    /// them.
    ///
    /// # Errors
    /// The error of the operating system; [`io::ErrorKind::TimedOut`] when the time is up.
    pub fn connect(address: &Address, timeout: Option<Duration>, options: &TcpOptions) -> io::Result<Self> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut connecting = Connecting::new(address, options)?;
        loop {
            if let Some(link) = connecting.step(deadline)? {
                return Ok(link);
            }
        }
    }

    /// Takes a connected socket.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn from_socket(socket: Socket) -> io::Result<Self> {
        sys::prepare(&socket)?;
        Ok(Self { socket: Arc::new(socket), waker: None, flow: Flow::default() })
    }

    /// Waits for `waker` too from now on, which costs one more system call per wait: an exchange that it ends returns
    /// [`Progress::Tick`].
    pub fn listen_to(&mut self, waker: &Arc<Waker>) {
        self.waker.get_or_insert_with(|| waker.clone());
    }

    /// Sends what can be sent, and waits until bytes were received, or there is room to send more, or a tick or the
    /// deadline has passed. Where much is to come, a long answer or many `replies`, it sleeps a little before, so that
    /// more of it is there; with 0 replies their number is unknown.
    ///
    /// If all of a full write buffer could be sent, its owner has more to send, and perhaps no answer to expect before
    /// that: then the exchange receives what has come without waiting, and returns [`Progress::Sent`] if that is
    /// nothing.
    ///
    /// # Errors
    /// [`Fatal`] if the connection is gone or TLS fails. What the peer sent before is in the read buffer.
    pub fn exchange(
        &mut self,
        buffers: &mut Buffers,
        deadline: Option<Instant>,
        replies: usize,
    ) -> Result<Progress, Fatal> {
        let had = buffers.write_buffer.len();
        if had > 0 {
            self.flow.begin();
        }
        let unsent = self.socket.push_or_listen(buffers)?;
        if unsent || had < WRITE_BUFFER_HIGH_BYTES {
            return self.await_event(buffers, deadline, replies, had, unsent);
        }
        match self.pull(buffers, sys::RECV_NOW)? {
            Progress::Tick if deadline.is_some_and(|at| at <= Instant::now()) => Ok(Progress::Timeout),
            Progress::Tick => Ok(Progress::Sent),
            progress => Ok(progress),
        }
    }

    /// Sends what can be sent; waits only if the socket takes nothing, as [`Link::exchange`] does. For a sender that
    /// has more to send and needs no answer yet.
    ///
    /// # Errors
    /// As [`Link::exchange`].
    pub fn send(&mut self, buffers: &mut Buffers) -> Result<Progress, Fatal> {
        let had = buffers.write_buffer.len();
        let unsent = self.socket.push_or_listen(buffers)?;
        if buffers.write_buffer.len() < had {
            return Ok(Progress::Sent);
        }
        self.await_event(buffers, None, 0, had, unsent)
    }

    fn await_event(
        &mut self,
        buffers: &mut Buffers,
        deadline: Option<Instant>,
        replies: usize,
        had: usize,
        unsent: bool,
    ) -> Result<Progress, Fatal> {
        let remaining = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let has_time = remaining.is_none_or(|left| left >= TICK);
        if sys::GATHERS
            && !unsent
            && has_time
            && let Some(pause) = self.flow.pause(replies)
        {
            self.flow.sleep(pause);
        }
        if let Some(waiting) = sys::RECV_WITHIN_A_TICK
            && !unsent
            && has_time
            && self.waker.is_none()
        {
            return self.pull(buffers, waiting);
        }
        let wait = remaining.map_or(TICK, |left| left.min(TICK));
        let mut events = PollFlags::IN;
        if unsent {
            events |= PollFlags::OUT;
        }
        let waker = self.waker.as_deref();
        let socket = PollFd::new(&*self.socket, events);
        // Without a waker only the first of the two is waited for.
        let other = waker.map_or_else(|| socket.clone(), |waker| PollFd::new(waker.reader(), PollFlags::IN));
        let mut fds = [socket, other];
        match poll(&mut fds[..1 + usize::from(waker.is_some())], Some(&timespec(wait))) {
            Ok(0) if remaining.is_some_and(|left| left <= wait) => return Ok(Progress::Timeout),
            Ok(0) | Err(Errno::INTR) => return Ok(Progress::Tick),
            Ok(_) => {}
            Err(error) => return Err(lost(error)),
        }
        let ready = fds[0].revents();
        if let Some(waker) = waker.filter(|_| fds[1].revents().intersects(PollFlags::IN)) {
            waker.rest();
            if ready.is_empty() {
                return Ok(Progress::Tick);
            }
        }
        if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            return self.pull(buffers, sys::RECV_NOW);
        }
        self.socket.push_or_listen(buffers)?;
        Ok(if buffers.write_buffer.len() < had { Progress::Sent } else { Progress::Tick })
    }

    /// Receives what is there; without MSG_DONTWAIT it waits for a tick at most.
    fn pull(&mut self, buffers: &mut Buffers, flags: RecvFlags) -> Result<Progress, Fatal> {
        let Self { socket, flow, .. } = self;
        let progress = socket.pull_with(buffers, |into| {
            let received = read(socket, into, flags)?;
            flow.received(received.unwrap_or_default());
            Ok(received)
        })?;
        Ok(progress.unwrap_or(Progress::Tick))
    }

    /// Checks whether an idle connection is still alive, without a round trip.
    pub fn peek(&self, buffers: &Buffers) -> Liveness {
        if buffers.is_at_end() {
            return Liveness::Closed;
        }
        let mut byte = [0u8];
        match recv(&self.socket, &mut byte[..], RecvFlags::PEEK | sys::RECV_NOW) {
            Ok((0, _)) => Liveness::Closed,
            Ok(_) => Liveness::Data,
            Err(Errno::AGAIN | Errno::INTR) => Liveness::Quiet,
            Err(_) => Liveness::Closed,
        }
    }

    /// Sends the part of the closing messages that the socket takes at once, without waiting, and ends the connection.
    pub fn farewell(&self, goodbye: &[u8]) {
        if !goodbye.is_empty() {
            // If the peer is gone already, no message has to be sent.
            let _ = write(&self.socket, goodbye, sys::SEND_LAST);
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    /// Ends this connection from another thread.
    pub fn hangup(&self) -> Hangup {
        Hangup(Arc::downgrade(&self.socket))
    }

    /// The socket's number.
    pub fn fd(&self) -> i64 {
        sys::number(&self.socket)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Link {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for Link {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.socket.as_socket()
    }
}

impl Transfer for Socket {
    fn write(&self, bytes: &[u8]) -> Result<usize, Fatal> {
        write(self, bytes, sys::SEND)
    }

    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, Fatal> {
        read(self, into, sys::RECV_NOW)
    }
}

fn write(socket: &Socket, bytes: &[u8], flags: SendFlags) -> Result<usize, Fatal> {
    loop {
        match send(socket, bytes, flags) {
            Ok(n) => return Ok(n),
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

fn read(socket: &Socket, into: &mut [u8], flags: RecvFlags) -> Result<Option<usize>, Fatal> {
    match recv(socket, into, flags) {
        Ok((n, _)) => Ok(Some(n)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(lost(error)),
    }
}

fn lost(error: Errno) -> Fatal {
    Fatal::gone(format!("the connection to the server was lost: {}", io::Error::from(error)))
}

/// A duration below a second, in the form of the system call.
fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos() as _ }
}
