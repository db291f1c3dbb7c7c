//! The blocking loop around a connection: its thread waits.

use crate::{Address, CancelSent, Link, Liveness, Progress, TcpOptions, failed};
use headrace_connection::{Connection, Driven};
use headrace_core::{CancelStep, Fatal, FatalKind, NextStep};
use std::io;
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

/// A connection on which its thread waits.
#[derive(Debug)]
pub struct Client<M: ?Sized> {
    /// The connection. Requests are submitted to its machine, and sent by the next [`Client::drive`].
    pub connection: Connection<M>,
    link: Link,
    /// How a session that survives the loss of its connection is connected again.
    again: Option<(TcpOptions, Option<Duration>)>,
    /// The time limit for that, while it is connected again.
    until: Option<Instant>,
}

impl<M: Driven + ?Sized> Client<M> {
    /// Connects and opens the session, also with another server if the first one redirects. If the server asks a
    /// question, [`Connection::next_step`] is not [`NextStep::Ready`] yet.
    ///
    /// # Errors
    /// [`Fatal`]: there is no connection. Nothing was submitted, so no request is pending.
    pub fn open(
        address: &Address,
        options: &TcpOptions,
        connection: Connection<M>,
        cx: M::Context<'_>,
        deadline: Option<Instant>,
    ) -> Result<Self, Fatal> {
        let mut client = Self::connect(address, options, connection, deadline)?;
        client.establish(options, cx, deadline)?;
        Ok(client)
    }

    /// Connects the socket. The session is opened by [`Client::establish`].
    ///
    /// # Errors
    /// [`Fatal`]: there is no connection.
    pub fn connect(
        address: &Address,
        options: &TcpOptions,
        mut connection: Connection<M>,
        deadline: Option<Instant>,
    ) -> Result<Self, Fatal> {
        let link = connect(address, options, deadline)?;
        connection.connected()?;
        Ok(Self { connection, link, again: None, until: None })
    }

    /// Opens the session, also with another server if this one redirects.
    ///
    /// # Errors
    /// [`Fatal`]: it was refused. The machine then still has the error of the server, if that has sent one.
    pub fn establish(
        &mut self,
        options: &TcpOptions,
        cx: M::Context<'_>,
        deadline: Option<Instant>,
    ) -> Result<(), Fatal> {
        loop {
            let opened = |connection: &mut Connection<M>| connection.next_step() != NextStep::Exchange;
            if !self.drive(cx, deadline, opened)? {
                return Err(Fatal::new(FatalKind::ConnectFailed, "the session was not opened in time"));
            }
            let NextStep::Reconnect { host, port, .. } = self.connection.next_step() else { return Ok(()) };
            self.link = connect_by_name(host, port, options, deadline)?;
            self.connection.connected()?;
        }
    }

    /// From now on a session that survives the loss of its connection is connected again, and open within this time.
    pub fn resume_when_lost(&mut self, options: &TcpOptions, timeout: Option<Duration>) {
        self.again = Some((options.clone(), timeout));
    }

    /// Moves bytes until `done`, which is called whenever something has happened, returns true. Returns false if
    /// `deadline` has passed, or if a response handler is full; requests are then still in flight.
    ///
    /// # Errors
    /// [`Fatal`]: the connection has ended, and every pending request with it.
    pub fn drive(
        &mut self,
        cx: M::Context<'_>,
        deadline: Option<Instant>,
        mut done: impl FnMut(&mut Connection<M>) -> bool,
    ) -> Result<bool, Fatal> {
        loop {
            if done(&mut self.connection) {
                return Ok(true);
            }
            if self.connection.is_due() {
                if let Err(fatal) = self.connection.handle(cx) {
                    self.failed(cx, &fatal)?;
                }
                continue;
            }
            if self.connect_again(cx)? {
                continue;
            }
            if !self.connection.may_read() {
                return Ok(done(&mut self.connection));
            }
            if self.is_released() {
                self.lost(cx, &Fatal::end_of_input())?;
                continue;
            }
            self.transmit(cx)?;
            // A request for which nothing has to be sent is over now.
            if done(&mut self.connection) {
                return Ok(true);
            }
            let earlier = self.until.into_iter().chain(deadline).min();
            if self.exchange(cx, earlier)? == Progress::Timeout {
                if self.until.is_some_and(|until| until <= Instant::now()) {
                    let late = Fatal::new(FatalKind::ConnectFailed, "the session was not opened again in time");
                    return Err(self.connection.end(cx, &late));
                }
                return Ok(done(&mut self.connection));
            }
        }
    }

    /// Moves bytes once: encodes, sends, waits for input, and handles it. Returns after [`crate::limits::TICK`]
    /// at the latest.
    ///
    /// # Errors
    /// As [`Client::drive`].
    pub fn turn(&mut self, cx: M::Context<'_>, deadline: Option<Instant>) -> Result<Progress, Fatal> {
        self.transmit(cx)?;
        self.exchange(cx, deadline)
    }

    /// Returns true if the server has ended an idle connection, on which a request is about to be sent.
    fn is_released(&self) -> bool {
        let Connection { machine, buffers, .. } = &self.connection;
        self.again.is_some()
            && machine.in_flight() == 0
            && machine.queued() > 0
            && machine.may_be_released()
            && self.link.peek(buffers) == Liveness::Closed
    }

    /// The end of input, or a socket that failed with `reason`.
    fn lost(&mut self, cx: M::Context<'_>, reason: &Fatal) -> Result<Progress, Fatal> {
        if self.again.is_none() {
            return self.connection.lost(cx, reason).map(|()| Progress::Eof);
        }
        match self.connection.handle_last(cx) {
            Ok(()) if self.connection.is_redirected() => Ok(Progress::Eof),
            Ok(()) => self.failed(cx, reason),
            Err(fatal) => self.failed(cx, &fatal),
        }
    }

    /// The connection is of no use any more, for this reason: the session ends, unless it survives that.
    fn failed(&mut self, cx: M::Context<'_>, reason: &Fatal) -> Result<Progress, Fatal> {
        if self.again.is_some() && self.connection.survives_loss(cx, reason) {
            return Ok(Progress::Eof);
        }
        Err(self.connection.end(cx, reason))
    }

    /// Connects a session again that has survived the loss of its connection; returns true if it did.
    fn connect_again(&mut self, cx: M::Context<'_>) -> Result<bool, Fatal> {
        let Some((options, timeout)) = &self.again else { return Ok(false) };
        let NextStep::Reconnect { host, port, .. } = self.connection.next_step() else {
            if self.connection.machine.is_ready() {
                self.until = None;
            }
            return Ok(false);
        };
        self.until = self.until.or_else(|| timeout.map(|timeout| Instant::now() + timeout));
        let connected = connect_by_name(host, port, options, self.until).and_then(|link| {
            self.link = link;
            self.connection.connected()
        });
        connected.map(|()| true).map_err(|fatal| self.connection.end(cx, &fatal))
    }

    fn transmit(&mut self, cx: M::Context<'_>) -> Result<(), Fatal> {
        if self.connection.left_until().is_some() {
            self.connection.check_left(cx, Instant::now())?;
        }
        self.connection.transmit(cx);
        Ok(())
    }

    fn exchange(&mut self, cx: M::Context<'_>, deadline: Option<Instant>) -> Result<Progress, Fatal> {
        let replies = self.connection.machine.in_flight();
        match self.link.exchange(&mut self.connection.buffers, deadline, replies) {
            Ok(Progress::Eof) => self.lost(cx, &Fatal::end_of_input()),
            Ok(progress) => match self.connection.handle(cx) {
                Ok(()) => Ok(progress),
                Err(fatal) => self.failed(cx, &fatal),
            },
            Err(fatal) => self.lost(cx, &fatal),
        }
    }

    /// Sends a cancel request for the running statement to the server at `address`, in the way of the protocol. Nothing
    /// may be started meanwhile (`Session::pause`): a request that arrives late would hit the next statement.
    ///
    /// # Errors
    /// [`Fatal`]: the server was not reached.
    pub fn send_cancel(
        &mut self,
        address: &Address,
        options: &TcpOptions,
        deadline: Option<Instant>,
    ) -> Result<CancelSent, Fatal> {
        match self.connection.machine.cancel_step(Instant::now()) {
            CancelStep::Nothing => {}
            CancelStep::Later => return Ok(CancelSent::Later),
            CancelStep::Statement(statement) => return Ok(CancelSent::Statement(statement)),
            CancelStep::Message(message) => cancel(address, options, message, deadline)?,
            CancelStep::UrgentByte(byte) => {
                self.link.hangup().urge(byte).map_err(|error| Fatal::gone(error.to_string()))?;
            }
        }
        Ok(CancelSent::Done)
    }

    /// The socket.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Ends the session in an orderly way, and every pending request with it.
    pub fn close(mut self, cx: M::Context<'_>) {
        self.connection.write_terminate();
        // A TLS layer that has failed sends no close_notify.
        let goodbye = self.connection.buffers.take_outgoing().unwrap_or_default();
        self.connection.end(cx, &Fatal::new(FatalKind::Closed, "the connection is closed"));
        self.link.farewell(&goodbye);
    }
}

/// Sends a message that cancels the running statement of another connection to the same server, and waits until the
/// server has received it.
///
/// # Errors
/// [`Fatal`]: the server was not reached; [`FatalKind::NoAnswer`] if the message may be on its way
/// ([`Fatal::cancel_in_doubt`]).
pub fn cancel(
    address: &Address,
    options: &TcpOptions,
    message: Vec<u8>,
    deadline: Option<Instant>,
) -> Result<(), Fatal> {
    let mut link = connect(address, options, deadline)?;
    let mut buffers = headrace_connection::Buffers::new();
    *buffers.write_buffer.tail() = message;
    loop {
        match link.exchange(&mut buffers, deadline, 0) {
            Ok(Progress::Eof) => return Ok(()),
            Ok(Progress::Timeout) => {
                return Err(Fatal::new(
                    FatalKind::NoAnswer,
                    "the server did not close the connection of the cancel request in time",
                ));
            }
            Ok(_) => {}
            Err(fatal) => return Err(Fatal { kind: FatalKind::NoAnswer, ..fatal }),
        }
    }
}

fn connect(address: &Address, options: &TcpOptions, deadline: Option<Instant>) -> Result<Link, Fatal> {
    let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    Link::connect(address, timeout, options).map_err(|error| failed(address, &error))
}

/// Connects to the first address of a host that takes a connection.
fn connect_by_name(host: &str, port: u16, options: &TcpOptions, deadline: Option<Instant>) -> Result<Link, Fatal> {
    let unknown = |error: io::Error| failed(format_args!("{host}:{port}"), &error);
    let mut refused = unknown(io::Error::new(io::ErrorKind::NotFound, "the host has no address"));
    for address in (host, port).to_socket_addrs().map_err(unknown)? {
        match connect(&Address::Tcp(address), options, deadline) {
            Ok(link) => return Ok(link),
            Err(fatal) => refused = fatal,
        }
    }
    Err(refused)
}
