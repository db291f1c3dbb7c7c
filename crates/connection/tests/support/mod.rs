//! A protocol of lines for the tests, and a server with TLS in memory.

use headrace_connection::{Connection, Driven, TlsSettings};
use headrace_core::protocol::Discarded;
use headrace_core::{
    Cancellation, CancelledRequest, Certificate, Fatal, NextStep, ReadBuffer, Reported, Requests, Session, WriteBuffer,
};
use headrace_tls::{Roots, TlsConfig, Verify};
use rustls::ServerConnection;
use rustls::pki_types::PrivateKeyDer;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The state of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// TLS starts at once, or after the request that is in the write buffer.
    Tls { request_first: bool },
    /// The server has to greet.
    Greeting,
    /// Lines are exchanged.
    Ready,
    /// `MOVED host port`: the session continues with another server.
    Moved(String, u16),
    /// The session has ended.
    Closed,
}

/// Each line that comes is kept; `ERROR ...` is the server's closing error, `BAD` violates the protocol.
#[derive(Debug)]
pub struct Lines {
    /// The initial state, also with another server.
    pub begin: Stage,
    pub stage: Stage,
    pub lines: Vec<String>,
    pub certificate: Option<Certificate>,
    pub full: bool,
    /// A cancelled request, answered by the first line.
    pub left: Option<CancelledRequest>,
    /// How each request that waited ended.
    pub received: Vec<String>,
    /// A request for which nothing has to be sent waits for its turn.
    pub unsent: bool,
    last: Option<String>,
    block: Arc<AtomicU64>,
}

impl Lines {
    pub fn connection(begin: Stage, tls: Option<TlsSettings>) -> Connection<Self> {
        let lines = Self {
            stage: begin.clone(),
            begin,
            lines: Vec::new(),
            certificate: None,
            full: false,
            left: None,
            received: Vec::new(),
            unsent: false,
            last: None,
            block: Arc::default(),
        };
        let mut write_buffer = WriteBuffer::new();
        if lines.stage == (Stage::Tls { request_first: true }) {
            write_buffer.tail().extend_from_slice(b"TLS, please\n");
        }
        Connection::new(Box::new(lines), write_buffer, tls)
    }
}

impl Driven for Lines {
    type Context<'a> = ();
    fn transmit(&mut self, (): (), _: &mut WriteBuffer) {
        if std::mem::take(&mut self.unsent) {
            self.received.push("nothing had to be sent".to_owned());
        }
    }
    fn receive(&mut self, (): (), read_buffer: &mut ReadBuffer, _: &mut WriteBuffer) -> Result<(), Fatal> {
        while !self.full
            && let Some(end) = read_buffer.unread().iter().position(|byte| *byte == b'\n')
        {
            let line = String::from_utf8_lossy(&read_buffer.unread()[..end]).into_owned();
            read_buffer.consume(end + 1);
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["BAD", ..] => return Err(Fatal::peer("a line that is not allowed")),
                ["ERROR", what] => self.last = Some(what.to_owned()),
                ["MOVED", host, port] => self.stage = Stage::Moved(host.to_owned(), port.parse().unwrap()),
                ["FULL"] => self.full = true,
                ["HELLO"] => self.stage = Stage::Ready,
                _ => self.lines.push(line),
            }
        }
        Ok(())
    }
    fn survive_loss(&mut self, _: Self::Context<'_>, _: &Fatal) -> bool {
        false
    }
    fn abort(&mut self, (): (), reason: &Fatal) {
        self.stage = Stage::Closed;
        self.received.push(reason.message.clone());
    }
}

impl Requests for Lines {
    fn full(&self) -> Option<u64> {
        self.full.then_some(1)
    }
    fn resume(&mut self, _: u64) {
        self.full = false;
    }
    fn discard(&mut self, _: u64) -> Discarded {
        Discarded::Gone
    }
    fn is_at_discarded(&self) -> bool {
        false
    }
    fn pause(&mut self) {}
    fn unpause(&mut self) {}
    fn leave(&mut self, left: CancelledRequest) {
        self.left = Some(left);
    }
    fn left(&self) -> Option<CancelledRequest> {
        self.left
    }
    fn take_left(&mut self) -> Option<CancelledRequest> {
        self.left.take()
    }
    fn queued(&self) -> usize {
        0
    }
    fn in_flight(&self) -> usize {
        0
    }
    fn has(&self, _: u64) -> bool {
        self.lines.is_empty()
    }
    fn is_lost(&self) -> bool {
        false
    }
    fn block(&self) -> &Arc<AtomicU64> {
        &self.block
    }
}

impl Session for Lines {
    fn next_step(&self) -> NextStep<'_> {
        match &self.stage {
            Stage::Tls { request_first } => NextStep::StartTls { request_first: *request_first },
            Stage::Greeting => NextStep::Exchange,
            Stage::Ready => NextStep::Ready,
            Stage::Moved(host, port) => NextStep::Reconnect { server: "other", host, port: *port },
            Stage::Closed => NextStep::Close,
        }
    }
    fn tls_ready(&mut self, certificate: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        self.certificate = Some(certificate);
        self.stage = Stage::Greeting;
        write_buffer.tail().extend_from_slice(b"login\n");
        Ok(())
    }
    fn reconnect(&mut self, _: &mut WriteBuffer) -> Result<(), Fatal> {
        self.stage = self.begin.clone();
        Ok(())
    }
    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        write_buffer.tail().extend_from_slice(b"BYE\n");
    }
    fn last_message(&self) -> Option<&str> {
        self.last.as_deref()
    }
    fn process_id(&self) -> i32 {
        0
    }
    fn cancellation(&self) -> Cancellation {
        Cancellation::Impossible
    }
    fn requests(&self) -> &dyn Requests {
        self
    }
    fn requests_mut(&mut self) -> &mut dyn Requests {
        self
    }
    fn reported(&self) -> Reported {
        Reported::Idle
    }
    fn transaction_ahead(&self) -> Option<bool> {
        None
    }
    fn statements(&self) -> usize {
        0
    }
    fn forget_statements(&mut self) {}
}

/// The certificates that a client trusts.
pub fn trusting(pem: &str) -> TlsSettings {
    let roots = Roots::Pem(pem.as_bytes().to_vec());
    let config =
        TlsConfig { verify: Verify::Full, roots, client: None, only_tls13: false, alpn: Vec::new(), sni: true };
    TlsSettings { config, server_name: "db.example.com".into() }
}

/// A server with TLS, and the bytes that it has received.
pub struct Server {
    pub tls: ServerConnection,
    pub pem: String,
    pub plaintext: Vec<u8>,
    pub received: Vec<u8>,
}

impl Server {
    pub fn new() -> Self {
        Self::named("db.example.com")
    }

    pub fn named(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.into()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let tls = ServerConnection::new(Arc::new(config)).unwrap();
        Self { tls, pem: made.cert.pem(), plaintext: Vec::new(), received: Vec::new() }
    }

    /// Takes bytes of the client: the first `plaintext` bytes are not encrypted. Returns the error of the TLS layer.
    pub fn receive(&mut self, mut bytes: &[u8], plaintext: usize) -> Result<(), rustls::Error> {
        let head = (plaintext - self.plaintext.len()).min(bytes.len());
        self.plaintext.extend_from_slice(&bytes[..head]);
        bytes = &bytes[head..];
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).unwrap();
            self.tls.process_new_packets()?;
            // Ends with WouldBlock, or with the client's close_notify.
            let _ = self.tls.reader().read_to_end(&mut self.received);
        }
        Ok(())
    }

    /// The bytes that it sends, in ciphertext.
    pub fn send(&mut self, text: &[u8]) -> Vec<u8> {
        self.tls.writer().write_all(text).unwrap();
        let mut wire = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut wire).unwrap();
        }
        wire
    }
}

/// The bytes that the client has to write now, taken by a socket that takes `portion` bytes at a time.
pub fn written(connection: &mut Connection<Lines>, portion: usize) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let bytes = connection.buffers.outgoing().unwrap();
        let n = bytes.len().min(portion);
        if n == 0 {
            return all;
        }
        all.extend_from_slice(&bytes[..n]);
        connection.buffers.sent(n);
    }
}

/// The client reads `bytes`, at most `portion` at a time, and handles them.
pub fn read(connection: &mut Connection<Lines>, bytes: &[u8], portion: usize) -> Result<(), Fatal> {
    for part in bytes.chunks(portion) {
        let mut part = part;
        while !part.is_empty() {
            connection.buffers.make_room();
            let landing = connection.buffers.landing();
            let n = landing.len().min(part.len());
            landing[..n].copy_from_slice(&part[..n]);
            connection.buffers.received(n)?;
            part = &part[n..];
        }
        connection.handle(())?;
    }
    Ok(())
}
