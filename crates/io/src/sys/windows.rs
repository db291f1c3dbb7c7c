//! Windows: a socket does not block, and every wait is a `WSAPoll`. Single calls cannot be told not to wait there.
//!
//! `WSAPoll` reports a refused connection since Windows 10, version 2004.

use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::windows::io::AsRawSocket;

/// Sends what the socket takes at once. There are no signals.
pub(crate) const SEND: SendFlags = SendFlags::empty();

/// Sends the last bytes of a connection, which is shut down next.
pub(crate) const SEND_LAST: SendFlags = SEND;

/// Receives what is there.
pub(crate) const RECV_NOW: RecvFlags = RecvFlags::empty();

/// A receiving call cannot wait.
pub(crate) const RECV_WITHIN_A_TICK: Option<RecvFlags> = None;

/// The shortest sleep may take as long as several megabytes.
pub(crate) const GATHERS: bool = false;

/// Prepares a connected socket for the calls of [`crate::Link`].
pub(crate) fn prepare(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(true)
}

/// A stream socket that does not block.
pub(crate) fn nonblocking(domain: Domain, protocol: Option<Protocol>) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM, protocol)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Two connected sockets of this process. Windows has no `socketpair`, so they meet over loopback TCP: a connection of
/// another process, which may come first, is closed.
pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
    let loopback = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into();
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.bind(&loopback(0))?;
    listener.listen(8)?;
    let writer = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    writer.connect(&listener.local_addr()?)?;
    let own = writer.local_addr()?.as_socket();
    loop {
        let (reader, peer) = listener.accept()?;
        if peer.as_socket() == own {
            writer.set_tcp_nodelay(true)?;
            return Ok((reader, writer));
        }
    }
}

/// Returns true if the error of a `connect` that does not wait means that the handshake is in progress.
pub(crate) fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// The number that the operating system has for a socket.
pub(crate) fn number(socket: &Socket) -> i64 {
    // Handles have 32 significant bits, and sockets are small numbers.
    i64::try_from(socket.as_raw_socket()).unwrap_or(-1)
}
