//! Unix: a socket blocks, and single calls do not.

use crate::limits::TICK;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::AsRawFd;

/// Sends what the socket takes at once. A broken pipe is an error, not a signal; on macOS that is an option of each
/// socket.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
pub(crate) const SEND: SendFlags = SendFlags::DONTWAIT;

/// Sends the last bytes of a connection, which is shut down next: both leave in one segment, and wake the peer once.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const SEND_LAST: SendFlags = SEND.union(SendFlags::MORE);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const SEND_LAST: SendFlags = SEND;

/// Receives what is there.
pub(crate) const RECV_NOW: RecvFlags = RecvFlags::DONTWAIT;

/// Receives what is there, or waits for it for one tick.
pub(crate) const RECV_WITHIN_A_TICK: Option<RecvFlags> = Some(RecvFlags::empty());

/// A sleep takes little longer than it is to take.
pub(crate) const GATHERS: bool = true;

/// Prepares a connected socket for the calls of [`crate::Link`].
pub(crate) fn prepare(socket: &Socket) -> io::Result<()> {
    // One system call, where that of socket2 asks for the flags before.
    rustix::io::ioctl_fionbio(socket, false)?;
    #[cfg(target_vendor = "apple")]
    socket.set_nosigpipe(true)?;
    // The socket blocks, and recv returns after a tick: one system call to wait for an answer. Sends and
    // non-blocking reads use MSG_DONTWAIT. Measured with `examples/waiting.rs`: a question and its answer take,
    // over loopback TCP (and a Unix socket), 13.4 us (8.9) in this way, 14.2 us (9.4) with poll before recv, and
    // 14.5 us (9.6) if a recv that finds nothing precedes both. Linux 6, 2 cores, medians of 31 rounds, quartiles
    // within 0.1 us, both threads on one core; if they wake each other across cores (53 us, 40 us) the ways cannot
    // be distinguished over TCP.
    socket.set_read_timeout(Some(TICK))
}

/// A stream socket that does not block.
pub(crate) fn nonblocking(domain: Domain, protocol: Option<Protocol>) -> io::Result<Socket> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Socket::new(domain, Type::STREAM.nonblocking(), protocol);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let socket = Socket::new(domain, Type::STREAM, protocol)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}

/// Two connected sockets of this process.
pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
    Socket::pair(Domain::UNIX, Type::STREAM, None)
}

/// Returns true if the error of a `connect` that does not wait means that the handshake is in progress.
pub(crate) fn is_in_progress(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}

/// The number that the operating system has for a socket.
pub(crate) fn number(socket: &Socket) -> i64 {
    i64::from(socket.as_raw_fd())
}
