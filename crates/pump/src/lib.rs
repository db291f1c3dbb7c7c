//! The blocking pump: moves bytes between an inbox, an outbox and a socket.
//!
//! It is never writing without being ready to read, so a large batch cannot deadlock, whatever the socket buffers
//! hold; it knows no protocol; and it comes back at least every [`TICK`], so that its owner can look for interrupts.
#![forbid(unsafe_code)]

use headrace_core::limits::{TICK, TLS_SEALED_BYTES};
use headrace_core::{Fatal, Inbox, Outbox};
use headrace_tls::TlsClient;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(std::path::PathBuf),
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
    /// Probes before the connection is given up.
    pub keepalive_count: Option<u32>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

/// What an exchange came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Bytes have come in.
    Received,
    /// The outbox has room again.
    Sent,
    /// Nothing happened; look for interrupts.
    Tick,
    /// The deadline has passed.
    Timeout,
    /// The peer has closed the connection.
    Eof,
}

/// What a look at an idle connection shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing has come.
    Quiet,
    /// Something has come.
    Data,
    /// The connection is gone.
    Closed,
}

/// A connected socket, with or without TLS.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    tls: Option<Box<TlsClient>>,
    /// Ciphertext to be sent.
    sealed: Vec<u8>,
    opened: Vec<u8>,
}

impl Link {
    /// Connects within `timeout`.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(address: &Address, timeout: Option<Duration>, options: &TcpOptions) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
                connect(&socket, &SockAddr::from(*address), timeout)?;
                tune(&socket, options)?;
                socket
            }
            Address::Unix(path) => {
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                connect(&socket, &SockAddr::unix(Path::new(path))?, timeout)?;
                socket
            }
        };
        Self::from_socket(socket)
    }

    /// Takes a connected socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn from_socket(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        // A blocking recv that gives up after a tick is one system call where poll and recv would be two: with the
        // server on the same machine that is a microsecond of every round trip.
        socket.set_read_timeout(Some(TICK))?;
        Ok(Self { socket, tls: None, sealed: Vec::new(), opened: Vec::new() })
    }

    /// Encrypts everything from now on; the handshake is carried by the exchanges to come.
    pub fn start_tls(&mut self, tls: TlsClient) {
        self.tls = Some(Box::new(tls));
    }

    /// The TLS layer.
    pub fn tls(&self) -> Option<&TlsClient> {
        self.tls.as_deref()
    }

    /// Sends what can be sent, and waits until something was received, or there is room to send more, or a tick or
    /// the deadline has passed.
    ///
    /// # Errors
    /// [`Fatal`] when the connection is gone or TLS fails.
    pub fn exchange(
        &mut self,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
        deadline: Option<Instant>,
    ) -> Result<Progress, Fatal> {
        let had = outbox.len();
        let unsent = self.push(outbox)?;
        self.await_event(inbox, outbox, deadline, had, unsent)
    }

    /// Sends what can be sent; only where the socket takes nothing it waits, as [`Link::exchange`] does. For a
    /// sender that has more to say and wants no answer yet.
    ///
    /// # Errors
    /// As [`Link::exchange`].
    pub fn send(&mut self, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<Progress, Fatal> {
        let had = outbox.len();
        let unsent = self.push(outbox)?;
        if outbox.len() < had {
            return Ok(Progress::Sent);
        }
        self.await_event(inbox, outbox, None, had, unsent)
    }

    fn await_event(
        &mut self,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
        deadline: Option<Instant>,
        had: usize,
        unsent: bool,
    ) -> Result<Progress, Fatal> {
        let remaining = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        if !unsent && remaining.is_none_or(|left| left >= TICK) {
            return self.pull(inbox, RecvFlags::empty());
        }
        let wait = remaining.map_or(TICK, |left| left.min(TICK));
        let mut events = PollFlags::IN;
        if unsent {
            events |= PollFlags::OUT;
        }
        let mut fds = [PollFd::new(&self.socket, events)];
        let limit = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as _ };
        match poll(&mut fds, Some(&limit)) {
            Ok(0) if remaining.is_some_and(|left| left <= wait) => return Ok(Progress::Timeout),
            Ok(0) | Err(Errno::INTR) => return Ok(Progress::Tick),
            Ok(_) => {}
            Err(error) => return Err(lost(error)),
        }
        let ready = fds[0].revents();
        if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            return self.pull(inbox, RecvFlags::DONTWAIT);
        }
        self.push(outbox)?;
        Ok(if outbox.len() < had { Progress::Sent } else { Progress::Tick })
    }

    /// Sends what the socket takes; says whether anything is left.
    fn push(&mut self, outbox: &mut Outbox) -> Result<bool, Fatal> {
        loop {
            if let Some(tls) = &mut self.tls {
                if self.sealed.is_empty() {
                    tls.transmit(outbox, &mut self.sealed)?;
                }
                if self.sealed.is_empty() {
                    return Ok(false);
                }
                match write(&self.socket, &self.sealed)? {
                    0 => return Ok(true),
                    n => drop(self.sealed.drain(..n)),
                }
            } else {
                if outbox.is_empty() {
                    return Ok(false);
                }
                match write(&self.socket, outbox.pending())? {
                    0 => return Ok(true),
                    n => outbox.sent(n),
                }
            }
        }
    }

    fn pull(&mut self, inbox: &mut Inbox, flags: RecvFlags) -> Result<Progress, Fatal> {
        let Some(tls) = &mut self.tls else {
            inbox.reserve();
            return match recv(&self.socket, inbox.spare(), flags) {
                Ok((0, _)) => Ok(Progress::Eof),
                Ok((n, _)) => {
                    inbox.filled(n);
                    Ok(Progress::Received)
                }
                Err(Errno::AGAIN | Errno::INTR) => Ok(Progress::Tick),
                Err(error) => Err(lost(error)),
            };
        };
        self.opened.resize(TLS_SEALED_BYTES, 0);
        match recv(&self.socket, &mut self.opened[..], flags) {
            Ok((0, _)) => Ok(Progress::Eof),
            Ok((n, _)) => {
                tls.receive(&self.opened[..n], inbox)?;
                Ok(Progress::Received)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Progress::Tick),
            Err(error) => Err(lost(error)),
        }
    }

    /// Looks whether an idle connection is still there, without a round trip.
    pub fn peek(&self) -> Liveness {
        let mut byte = [0u8];
        match recv(&self.socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => Liveness::Closed,
            Ok(_) => Liveness::Data,
            Err(Errno::AGAIN | Errno::INTR) => Liveness::Quiet,
            Err(_) => Liveness::Closed,
        }
    }

    /// Sends what the socket takes at once, for a goodbye nobody waits for.
    pub fn farewell(&mut self, outbox: &mut Outbox) {
        // The peer may be gone already; then there is nobody to say goodbye to.
        let _ = self.push(outbox);
        if let Some(tls) = &mut self.tls {
            tls.close_notify();
        }
        let _ = self.push(outbox);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    /// The socket's number.
    pub fn fd(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.socket.as_raw_fd()
    }
}

fn write(socket: &Socket, bytes: &[u8]) -> Result<usize, Fatal> {
    loop {
        match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(n) => return Ok(n),
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

fn lost(error: Errno) -> Fatal {
    Fatal::gone(format!("the connection to the server was lost: {}", io::Error::from(error)))
}

/// Connects in slices of a tick, so that a signal is not kept waiting; the owner sees it after the connect.
fn connect(socket: &Socket, address: &SockAddr, timeout: Option<Duration>) -> io::Result<()> {
    match timeout {
        Some(timeout) => socket.connect_timeout(address, timeout),
        None => socket.connect(address),
    }
}

fn tune(socket: &Socket, options: &TcpOptions) -> io::Result<()> {
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
        socket.set_tcp_keepalive(&keepalive)?;
    }
    #[cfg(target_os = "linux")]
    if options.user_timeout.is_some() {
        socket.set_tcp_user_timeout(options.user_timeout)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    fn pair() -> (Link, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Link::from_socket(Socket::from(std::os::fd::OwnedFd::from(ours))).unwrap(), theirs)
    }

    #[test]
    fn an_echo_larger_than_every_buffer_does_not_deadlock() {
        let (mut link, mut peer) = pair();
        let echo = thread::spawn(move || {
            // A peer that writes before it reads on, as a database does with the replies to a batch.
            let mut block = vec![0; 8192];
            loop {
                match peer.read(&mut block).unwrap() {
                    0 => break,
                    n => peer.write_all(&block[..n]).unwrap(),
                }
            }
        });
        let sent: Vec<u8> = (0..16_000_000u32).map(|i| (i % 251) as u8).collect();
        let (mut inbox, mut outbox) = (Inbox::new(), Outbox::new());
        outbox.tail().extend_from_slice(&sent);
        let mut received = Vec::new();
        while received.len() < sent.len() {
            link.exchange(&mut inbox, &mut outbox, None).unwrap();
            received.extend_from_slice(inbox.unread());
            let n = inbox.unread().len();
            inbox.consume(n);
        }
        assert!(received == sent);
        drop(link);
        echo.join().unwrap();
    }

    #[test]
    fn deadline_end_and_liveness_are_told() {
        let (mut link, mut peer) = pair();
        let (mut inbox, mut outbox) = (Inbox::new(), Outbox::new());
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(link.exchange(&mut inbox, &mut outbox, Some(soon)).unwrap(), Progress::Timeout);
        assert_eq!(link.exchange(&mut inbox, &mut outbox, None).unwrap(), Progress::Tick);
        assert_eq!(link.peek(), Liveness::Quiet);
        peer.write_all(b"x").unwrap();
        assert_eq!(link.peek(), Liveness::Data);
        assert_eq!(link.exchange(&mut inbox, &mut outbox, None).unwrap(), Progress::Received);
        drop(peer);
        assert_eq!(link.peek(), Liveness::Closed);
        assert_eq!(link.exchange(&mut inbox, &mut outbox, None).unwrap(), Progress::Eof);
    }
}
