//! A protocol over its buffers: opens the session, handles received bytes, and ends it.

use crate::Buffers;
use crate::limits::REDIRECTS;
use headrace_core::protocol::ResponseHandler;
use headrace_core::{Certificate, Fatal, FatalKind, NextStep, Protocol, ReadBuffer, Session, WriteBuffer};
use headrace_tls::{TlsConfig, TlsConnection};
use std::time::{Duration, Instant};

/// What a connection needs of a protocol in addition to [`Session`]: the part of [`Protocol`] that does not depend on
/// the type of requests, so that a program with several protocols can keep them behind one pointer.
pub trait Driven: Session {
    /// The context that response handlers are called with.
    type Context<'a>: Copy;

    /// [`Protocol::transmit`]
    fn transmit(&mut self, cx: Self::Context<'_>, write_buffer: &mut WriteBuffer);
    /// [`Protocol::receive`]
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed.
    fn receive(
        &mut self,
        cx: Self::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal>;
    /// [`Protocol::abort`]
    fn abort(&mut self, cx: Self::Context<'_>, reason: &Fatal);
    /// [`Protocol::survive_loss`]
    fn survive_loss(&mut self, cx: Self::Context<'_>, reason: &Fatal) -> bool;
    /// [`Protocol::may_be_released`]
    fn may_be_released(&self) -> bool {
        false
    }
}

impl<P: Protocol> Driven for P {
    type Context<'a> = <P::Handler as ResponseHandler>::Context<'a>;

    fn transmit(&mut self, cx: Self::Context<'_>, write_buffer: &mut WriteBuffer) {
        Protocol::transmit(self, cx, write_buffer);
    }
    fn receive(
        &mut self,
        cx: Self::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        Protocol::receive(self, cx, read_buffer, write_buffer)
    }
    fn abort(&mut self, cx: Self::Context<'_>, reason: &Fatal) {
        Protocol::abort(self, cx, reason);
    }
    fn survive_loss(&mut self, cx: Self::Context<'_>, reason: &Fatal) -> bool {
        Protocol::survive_loss(self, cx, reason)
    }
    fn may_be_released(&self) -> bool {
        Protocol::may_be_released(self)
    }
}

/// How TLS is set up if the protocol requests it.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// What is verified, and which certificates are trusted.
    pub config: TlsConfig,
    /// The name that the certificate has to contain.
    pub server_name: String,
}

/// How long the peer may leave a loop waiting without moving a byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The limit while an answer is awaited.
    pub read: Option<Duration>,
    /// For room to send.
    pub write: Option<Duration>,
}

impl Limits {
    /// How long no byte may move while sent bytes are unacknowledged (`is_unsent`), or otherwise.
    pub fn silence(&self, is_unsent: bool) -> Option<Silence> {
        match self.write {
            Some(limit) if is_unsent => Some(Silence { limit, setting: "write_timeout" }),
            _ => self.read.map(|limit| Silence { limit, setting: "read_timeout" }),
        }
    }
}

/// How long no byte may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The time.
    pub limit: Duration,
    /// The name of the setting that the limit comes from.
    setting: &'static str,
}

impl Silence {
    /// Why a connection is ended on which nothing moved for that long.
    pub fn reason(&self) -> Fatal {
        let (setting, limit) = (self.setting, self.limit.as_secs_f64());
        let reason = format!("the connection was closed: the server did not respond for {setting}={limit} s");
        Fatal::new(FatalKind::NoAnswer, reason)
    }
}

/// A connection to a server, but for its socket and its clock.
///
/// The owner, a driver loop, does the following:
///
/// 1. connects a socket, and calls [`Connection::connected`];
/// 2. calls [`Connection::check_left`] if a cancelled request was left to the session, and then
///    [`Connection::transmit`], again whenever requests were submitted, or something was sent or received;
/// 3. writes what [`Buffers::outgoing`] returns and reports the number of bytes written with [`Buffers::sent`], until
///    nothing is left or the socket takes no more;
/// 4. reads, if [`Connection::may_read`], into [`Buffers::landing`], after [`Buffers::make_room`], and reports the
///    number of bytes with [`Buffers::received`]. It must be ready to read whenever it waits to write: otherwise a
///    large batch would block both sides;
/// 5. calls [`Connection::handle`] after each read, and whenever [`Connection::is_due`], and does what
///    [`Connection::next_step`] returns: continues with 2, answers a question, connects to the named server and starts
///    again at 1, or closes;
/// 6. calls [`Connection::lost`] at the end of input, or if the socket fails; to close the connection itself it calls
///    [`Connection::write_terminate`] and then writes what is there without waiting.
///
/// An error of 3, 4 or 5 goes to [`Connection::end`], which informs every response handler that waits;
/// [`Buffers::outgoing`] then returns the TLS alert for the peer. The methods of one connection may be called from
/// different threads, one at a time. Steps 3 and 4 need only [`Connection::buffers`], so they need no context for
/// response handlers.
#[derive(Debug)]
pub struct Connection<M: ?Sized> {
    /// The protocol.
    pub machine: Box<M>,
    /// The buffers between the protocol and the socket.
    pub buffers: Buffers,
    tls: Option<TlsSettings>,
    ended: Option<Fatal>,
    /// The last [`Connection::handle`] has ended early.
    stopped: bool,
    /// Servers that have named another one in their place.
    redirects: usize,
}

impl<M: Driven + ?Sized> Connection<M> {
    /// A connection that is not open yet. `write_buffer` has what the machine wrote when it was made; `tls` is used if
    /// the machine requests TLS.
    pub fn new(machine: Box<M>, write_buffer: WriteBuffer, tls: Option<TlsSettings>) -> Self {
        let mut buffers = Buffers::new();
        buffers.write_buffer = write_buffer;
        Self { machine, buffers, tls, ended: None, stopped: false, redirects: 0 }
    }

    /// The socket is connected. If it is connected to the server that [`NextStep::Reconnect`] named, buffers, TLS and
    /// protocol start again.
    ///
    /// # Errors
    /// [`Fatal`] if TLS comes first and cannot be set up (a file cannot be read, for example), or if the protocol
    /// cannot start again.
    pub fn connected(&mut self) -> Result<(), Fatal> {
        if let NextStep::Reconnect { host, .. } = self.machine.next_step() {
            if let Some(tls) = &mut self.tls {
                tls.server_name = host.to_owned();
            }
            self.redirects += 1;
            self.buffers.clear();
            self.machine.reconnect(&mut self.buffers.write_buffer)?;
        }
        self.advance_tls().map(drop)
    }

    /// Returns true if the server has redirected to another: the socket to this one is not needed any more.
    pub fn is_redirected(&self) -> bool {
        matches!(self.machine.next_step(), NextStep::Reconnect { .. })
    }

    /// Checks the cancelled request that was left to the session, if there is one: see [`headrace_core::cancel`]. A loop
    /// calls it before [`Connection::transmit`], and again at the time that [`Connection::left_until`] returns.
    ///
    /// # Errors
    /// [`Fatal`]: the server has not answered it in time, so the connection has ended.
    pub fn check_left(&mut self, cx: M::Context<'_>, now: Instant) -> Result<(), Fatal> {
        self.machine.check_left(now).map_err(|fatal| self.end(cx, &fatal))
    }

    /// The time limit of the cancelled request that was left to the session.
    pub fn left_until(&self) -> Option<Instant> {
        self.machine.left().map(|left| left.until)
    }

    /// Encodes requests that were submitted, while the write buffer has room and no reply is needed first.
    pub fn transmit(&mut self, cx: M::Context<'_>) {
        self.machine.transmit(cx, &mut self.buffers.write_buffer);
    }

    /// Returns true if the loop may read. While a response handler is full it must not: received bytes would be kept in
    /// memory.
    pub fn may_read(&self) -> bool {
        self.machine.full().is_none()
    }

    /// Returns true if received bytes have to be handled although no more have come: the response handler that was full
    /// has room again, or was discarded.
    pub fn is_due(&self) -> bool {
        self.stopped && self.may_read()
    }

    /// Handles received bytes, and starts TLS if the protocol requests it.
    ///
    /// The peer's TLS close_notify counts as the end of input, even if the peer keeps the socket open.
    ///
    /// # Errors
    /// [`Fatal`]: the connection has to be ended with it.
    pub fn handle(&mut self, cx: M::Context<'_>) -> Result<(), Fatal> {
        loop {
            self.machine.receive(cx, &mut self.buffers.read_buffer, &mut self.buffers.write_buffer)?;
            self.stopped = !self.may_read();
            if self.redirects >= REDIRECTS && self.is_redirected() {
                let reason = format!("the server redirects more than {REDIRECTS} times");
                return Err(Fatal::new(FatalKind::ConnectFailed, reason));
            }
            if !self.advance_tls()? {
                break;
            }
        }
        if self.buffers.is_at_end() && self.may_read() && !self.is_redirected() {
            return Err(Fatal::end_of_input());
        }
        Ok(())
    }

    /// The same when no more bytes will come: response handlers that are full have to take what is there, which is at
    /// most the content of the read buffer. The server's last message may come after it.
    ///
    /// # Errors
    /// As [`Connection::handle`].
    pub fn handle_last(&mut self, cx: M::Context<'_>) -> Result<(), Fatal> {
        self.handle(cx)?;
        while let Some(id) = self.machine.full() {
            self.machine.resume(id);
            self.handle(cx)?;
        }
        Ok(())
    }

    /// Starts TLS if that is the next step, and continues the session once the handshake is complete; returns true if
    /// the session continued.
    fn advance_tls(&mut self) -> Result<bool, Fatal> {
        let NextStep::StartTls { request_first } = self.machine.next_step() else { return Ok(false) };
        if self.buffers.tls().is_none() {
            let Some(TlsSettings { config, server_name }) = &self.tls else {
                let reason = "the session needs TLS, and the connection has no settings for it";
                return Err(Fatal::new(FatalKind::UnusableSetting, reason));
            };
            self.buffers.start_tls(TlsConnection::new(config, server_name)?, request_first);
        }
        let Some(client) = self.buffers.tls().filter(|client| !client.is_handshaking()) else { return Ok(false) };
        let certificate = Certificate {
            tls_server_end_point: client.tls_server_end_point(),
            fingerprint: client.fingerprint(),
            verified: client.is_verified(),
        };
        self.machine.tls_ready(certificate, &mut self.buffers.write_buffer)?;
        Ok(true)
    }

    /// What the loop has to do next, apart from moving bytes. TLS is not among it.
    pub fn next_step(&self) -> NextStep<'_> {
        match self.machine.next_step() {
            NextStep::StartTls { .. } => NextStep::Exchange,
            step => step,
        }
    }

    /// The end of input, or a socket that failed with `reason`. What came before is still handled: if it names another
    /// server the session continues there; otherwise every response handler that waits is informed.
    ///
    /// # Errors
    /// [`Fatal`]: why the connection has ended.
    pub fn lost(&mut self, cx: M::Context<'_>, reason: &Fatal) -> Result<(), Fatal> {
        match self.handle_last(cx) {
            Ok(()) if self.is_redirected() => Ok(()),
            handled => Err(self.end(cx, handled.as_ref().err().unwrap_or(reason))),
        }
    }

    /// Returns true if the session goes on although its connection was lost: the next step is to connect to the server
    /// again, at once or when a request waits. To be called after [`Connection::handle_last`], by a loop that does so;
    /// for any other the session ends.
    pub fn survives_loss(&mut self, cx: M::Context<'_>, reason: &Fatal) -> bool {
        let goes_on = self.ended.is_none() && self.machine.survive_loss(cx, reason);
        if goes_on {
            self.redirects = 0;
        }
        goes_on
    }

    /// Ends the session: every request that waits ends with `reason`, or with the server's closing error. Returns the
    /// error.
    pub fn end(&mut self, cx: M::Context<'_>, reason: &Fatal) -> Fatal {
        let mut reason = reason.clone();
        if let Some(message) = self.machine.last_message()
            && !reason.message.contains(message)
        {
            reason.message = format!("{} (the server said: {message})", reason.message);
        }
        reason.sqlstate = reason.sqlstate.or_else(|| self.machine.last_sqlstate().map(str::to_owned));
        self.machine.abort(cx, &reason);
        self.ended.get_or_insert_with(|| reason.clone());
        reason
    }

    /// Why the connection has ended, if it has.
    pub fn ended(&self) -> Option<&Fatal> {
        self.ended.as_ref()
    }

    /// Writes the message that ends the session in an orderly way, in the place of what has not been sent. If a message
    /// is half sent, the session is ended without one.
    pub fn write_terminate(&mut self) {
        let write_buffer = &mut self.buffers.write_buffer;
        let is_partly_sent = write_buffer.is_partly_sent();
        write_buffer.take();
        if !is_partly_sent {
            self.machine.terminate(write_buffer);
        }
        self.buffers.close_notify();
    }

    /// How long no byte may move in the current state. A loop counts from the last byte that moved, and then ends the
    /// connection with [`Silence::reason`].
    pub fn silence(&self, limits: Limits) -> Option<Silence> {
        limits.silence(!self.buffers.write_buffer.is_empty())
    }
}
