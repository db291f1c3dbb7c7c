//! The loop on tokio: as many connections as a program likes, waited for by tasks.
//!
//! A future of this module can be dropped at any time: everything received or to be sent is in the connection, and the
//! next [`Client::drive`] continues there. This allows deadlines (`tokio::time::timeout`), and waiting for the
//! connection and for something else at the same time (`tokio::select!`). A dropped [`Client::open`] drops the socket
//! with it.

use crate::limits::WRITE_BUFFER_HIGH_BYTES;
#[cfg(unix)]
use crate::local::Local;
use crate::transfer::Transfer;
use crate::{Address, CancelSent, Progress, TcpOptions, connect, failed};
use headrace_connection::{Buffers, Connection, Driven};
use headrace_core::{CancelStep, Fatal, FatalKind, NextStep};
use socket2::SockRef;
use std::future::{pending, poll_fn};
use std::io::{self, Read};
use std::net::Shutdown;
use std::task::{Context, Poll};
use tokio::io::Interest;
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

/// A connection on which tasks wait.
#[derive(Debug)]
pub struct Client<M: ?Sized> {
    /// The connection. Requests are submitted to its machine, and sent by the next [`Client::drive`].
    pub connection: Connection<M>,
    stream: Stream,
}

impl<M: Driven + ?Sized> Client<M> {
    /// Connects and opens the session, also with another server if the first one redirects. If the server asks a
    /// question, [`Connection::next_step`] is not [`NextStep::Ready`] yet.
    ///
    /// # Errors
    /// [`Fatal`]: there is no connection. Nothing was submitted, so no request is pending.
    pub async fn open(
        address: &Address,
        options: &TcpOptions,
        connection: Connection<M>,
        cx: M::Context<'_>,
    ) -> Result<Self, Fatal> {
        let mut client = Self::reach(address, options, connection).await?;
        client.start(options, cx).await?;
        Ok(client)
    }

    /// Connects, without opening the session.
    ///
    /// # Errors
    /// [`Fatal`]: there is no connection.
    pub async fn reach(address: &Address, options: &TcpOptions, mut connection: Connection<M>) -> Result<Self, Fatal> {
        let stream = Stream::connect(address, options).await.map_err(|error| failed(address, &error))?;
        connection.connected()?;
        Ok(Self { connection, stream })
    }

    /// Opens the session, as [`Client::open`] does. If this fails, the connection still has what the server has sent.
    ///
    /// # Errors
    /// [`Fatal`]: there is no session.
    pub async fn start(&mut self, options: &TcpOptions, cx: M::Context<'_>) -> Result<(), Fatal> {
        loop {
            self.drive(cx, |connection| connection.next_step() != NextStep::Exchange).await?;
            let NextStep::Reconnect { host, port, .. } = self.connection.next_step() else { return Ok(()) };
            let elsewhere = Stream::connect_by_name(host, port, options).await;
            self.stream = elsewhere.map_err(|error| failed(format_args!("{host}:{port}"), &error))?;
            self.connection.connected()?;
        }
    }

    /// Moves bytes until `done`, which is called whenever something has happened, returns true. Returns false if a
    /// response handler is full.
    ///
    /// # Errors
    /// [`Fatal`]: the connection has ended, and every pending request with it.
    pub async fn drive(
        &mut self,
        cx: M::Context<'_>,
        mut done: impl FnMut(&mut Connection<M>) -> bool,
    ) -> Result<bool, Fatal> {
        while !done(&mut self.connection) {
            if !self.connection.may_read() {
                return Ok(false);
            }
            if self.connection.is_due() {
                self.connection.handle(cx).map_err(|fatal| self.connection.end(cx, &fatal))?;
                continue;
            }
            let left_until = self.connection.left_until();
            if left_until.is_some() {
                self.connection.check_left(cx, Instant::now().into_std())?;
            }
            self.connection.transmit(cx);
            // A request for which nothing has to be sent is over now.
            if done(&mut self.connection) {
                break;
            }
            let exchange = self.stream.exchange(&mut self.connection.buffers, true);
            let progress = match left_until {
                None => exchange.await,
                Some(until) => timeout_at(until.into(), exchange).await.unwrap_or(Ok(Progress::Timeout)),
            };
            match progress {
                Ok(Progress::Eof) => self.connection.lost(cx, &Fatal::end_of_input())?,
                Ok(_) => self.connection.handle(cx).map_err(|fatal| self.connection.end(cx, &fatal))?,
                Err(fatal) => self.connection.lost(cx, &fatal)?,
            }
        }
        Ok(true)
    }

    /// Returns true if the session is open, and the server has sent nothing while no request was pending: what an idle
    /// session sends is most often that it ends.
    pub fn is_quiet(&mut self) -> bool {
        self.connection.ended().is_none()
            && matches!(self.stream.pull_available(&mut self.connection.buffers), Ok(None))
            && self.connection.buffers.read_buffer.is_empty()
    }

    /// The connection and its socket, for a program that goes on without this loop.
    pub fn into_parts(self) -> (Connection<M>, Stream) {
        (self.connection, self.stream)
    }

    /// Sends a byte out of band, which whatever is in flight does not wait for.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn urge(&self, byte: u8) -> io::Result<()> {
        self.stream.socket().send_out_of_band(&[byte]).map(drop)
    }

    /// Sends a cancel request for the running statement to the server at `address`, in the way of the protocol. Nothing
    /// may be started meanwhile (`Session::pause`): a request that arrives late would hit the next statement.
    /// `is_doubtful` is as for [`cancel`].
    ///
    /// # Errors
    /// [`Fatal`]: the server was not reached.
    pub async fn send_cancel(
        &mut self,
        address: &Address,
        options: &TcpOptions,
        is_doubtful: &mut bool,
    ) -> Result<CancelSent, Fatal> {
        match self.connection.machine.cancel_step(std::time::Instant::now()) {
            CancelStep::Nothing => {}
            CancelStep::Later => return Ok(CancelSent::Later),
            CancelStep::Statement(statement) => return Ok(CancelSent::Statement(statement)),
            CancelStep::Message(message) => cancel(address, options, message, is_doubtful).await?,
            CancelStep::UrgentByte(byte) => self.urge(byte).map_err(|error| Fatal::gone(error.to_string()))?,
        }
        Ok(CancelSent::Done)
    }

    /// Ends the session in an orderly way, and every pending request with it.
    pub fn close(mut self, cx: M::Context<'_>) {
        self.connection.write_terminate();
        // A TLS layer that has failed sends no close_notify, and a peer that takes nothing any more cannot receive it.
        let goodbye = self.connection.buffers.take_outgoing().unwrap_or_default();
        let _ = self.stream.try_write(&goodbye);
        self.connection.end(cx, &Fatal::new(FatalKind::Closed, "the connection is closed"));
    }
}

/// Sends a message that cancels the running statement of another connection to the same server, and waits until the
/// server has received it. `is_doubtful` is true from the time that it may be on its way until the server has answered,
/// also where that is not waited for any longer: the connection may not be used then ([`Fatal::cancel_in_doubt`]).
///
/// # Errors
/// The error of the operating system.
pub async fn cancel(
    address: &Address,
    options: &TcpOptions,
    message: Vec<u8>,
    is_doubtful: &mut bool,
) -> Result<(), Fatal> {
    let mut stream = Stream::connect(address, options).await.map_err(|error| failed(address, &error))?;
    let mut buffers = Buffers::new();
    *buffers.write_buffer.tail() = message;
    *is_doubtful = true;
    while stream.exchange(&mut buffers, true).await? != Progress::Eof {}
    *is_doubtful = false;
    Ok(())
}

/// A socket.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(Local),
}

impl Stream {
    async fn connect(address: &Address, options: &TcpOptions) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Self::tuned(TcpStream::connect(address).await?, options),
            #[cfg(unix)]
            Address::Unix(path) => Self::local(UnixStream::connect(path).await?),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "tokio has Unix sockets on Unix only")),
        }
    }

    async fn connect_by_name(host: &str, port: u16, options: &TcpOptions) -> io::Result<Self> {
        Self::tuned(TcpStream::connect((host, port)).await?, options)
    }

    /// A connection of TCP, with these options.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn tuned(stream: TcpStream, options: &TcpOptions) -> io::Result<Self> {
        connect::tune(&SockRef::from(&stream), options)?;
        Ok(Self::Tcp(stream))
    }

    /// A connection of a Unix socket.
    ///
    /// # Errors
    /// The error of the operating system.
    #[cfg(unix)]
    pub fn local(stream: UnixStream) -> io::Result<Self> {
        Local::new(stream.into_std()?).map(Self::Unix)
    }

    /// Has the runtime that this is called in wait for the socket from now on: what arrives wakes one of its threads first,
    /// not one of the runtime that the socket was opened in.
    ///
    /// # Errors
    /// The error of the operating system; the socket waits where it did.
    pub fn come_here(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => *stream = TcpStream::from_std(SockRef::from(&*stream).try_clone()?.into())?,
            #[cfg(unix)]
            Self::Unix(stream) => stream.come_here()?,
        }
        Ok(())
    }

    /// Receives the bytes that are there, without waiting. `None` if there are none.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or TLS fails.
    pub fn pull_available(&self, buffers: &mut Buffers) -> Result<Option<Progress>, Fatal> {
        self.pull(buffers)
    }

    /// Sends what the socket takes, without waiting; returns true if anything is left.
    ///
    /// # Errors
    /// As [`Stream::pull_available`].
    pub fn push_available(&self, buffers: &mut Buffers) -> Result<bool, Fatal> {
        self.push(buffers)
    }

    /// Tells the peer that nothing more comes. What it sends can still be received.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn finish(&self) -> io::Result<()> {
        self.socket().shutdown(Shutdown::Write)
    }

    fn socket(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            #[cfg(unix)]
            Self::Unix(stream) => SockRef::from(stream.socket()),
        }
    }

    /// Waits until something can be received, if it `reads`, or there is room to send, if it `sends`; returns true if
    /// something can be received.
    async fn ready(&mut self, reads: bool, sends: bool) -> Result<bool, Fatal> {
        #[cfg(unix)]
        if let Self::Unix(stream) = self {
            stream.listen_for_room(sends).map_err(|error| lost(&error))?;
        }
        if !reads && !sends {
            return pending().await;
        }
        let ready = poll_fn(|cx| {
            let readable = reads && self.poll_readable(cx)?.is_ready();
            let writable = sends && self.poll_writable(cx)?.is_ready();
            if readable || writable { Poll::Ready(Ok(readable)) } else { Poll::Pending }
        });
        ready.await.map_err(|error: io::Error| lost(&error))
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            #[cfg(unix)]
            Self::Unix(stream) => stream.poll_readable(cx),
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            #[cfg(unix)]
            Self::Unix(stream) => stream.poll_writable(cx),
        }
    }

    /// Reads what is there. Where fewer bytes are there than fit, the next wait does not try to read before more have
    /// come: one system call less for each message.
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut found = None;
        let mut read = |socket: &mut dyn Read| {
            let n = socket.read(into)?;
            found = Some(n);
            // Epoll reports what comes after this, also the end of input. Elsewhere that is not certain.
            let drained = cfg!(target_os = "linux") && n > 0 && n < into.len();
            if drained { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(n) }
        };
        let tried = match self {
            Self::Tcp(stream) => stream.try_io(Interest::READABLE, || read(&mut &*SockRef::from(stream))),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_read(&mut read),
        };
        found.map_or(tried, Ok)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(bytes),
        }
    }

    /// Waits until something can be received, also the end of input: for who has no buffers before. What is there is then
    /// received by [`Stream::pull_available`], if anything is.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost.
    pub async fn readable(&mut self) -> Result<(), Fatal> {
        self.ready(true, false).await.map(drop)
    }

    /// Sends everything, and receives nothing.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or TLS fails.
    pub async fn send_all(&mut self, buffers: &mut Buffers) -> Result<(), Fatal> {
        while self.push_or_listen(buffers)? {
            self.ready(false, true).await?;
        }
        Ok(())
    }

    /// Sends what the socket takes, and waits until bytes were received, or there is room in a full write buffer. It is
    /// always ready to receive while it waits to send: otherwise a large batch would block both sides. Without `reads`
    /// it does not receive, and waits for ever once everything is sent: for a program that has no room for more, and
    /// waits for something else at the same time.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or TLS fails.
    pub async fn exchange(&mut self, buffers: &mut Buffers, reads: bool) -> Result<Progress, Fatal> {
        let had = buffers.write_buffer.len();
        loop {
            let unsent = self.push_or_listen(buffers)?;
            if had >= WRITE_BUFFER_HIGH_BYTES && buffers.write_buffer.len() < WRITE_BUFFER_HIGH_BYTES {
                return Ok(Progress::Sent);
            }
            if self.ready(reads, unsent).await?
                && let Some(progress) = self.pull(buffers)?
            {
                return Ok(progress);
            }
        }
    }
}

impl Transfer for Stream {
    fn write(&self, bytes: &[u8]) -> Result<usize, Fatal> {
        match self.try_write(bytes) {
            Err(error) if is_nothing(&error) => Ok(0),
            sent => sent.map_err(|error| lost(&error)),
        }
    }

    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, Fatal> {
        match self.try_read(into) {
            Err(error) if is_nothing(&error) => Ok(None),
            received => received.map(Some).map_err(|error| lost(&error)),
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn lost(error: &io::Error) -> Fatal {
    Fatal::gone(format!("the connection to the server was lost: {error}"))
}
