//! A session: a machine, its buffers, and the other side of the wire.

use super::value::TestValue;
use super::{Shared, TestCaller};
use headrace_core::{Fatal, Inbox, Outbox, Protocol};
use headrace_mysql::machine::{Execute, Machine, Options, Request, Road, Rows, TlsStep};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// One step of a recorded conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Client(Vec<u8>),
    Server(Vec<u8>),
    /// The client says so many bytes, which differ every time.
    Random(usize),
}

/// The other side of the wire.
pub trait Peer {
    /// Takes what the client sends.
    fn send(&mut self, bytes: &[u8]);
    /// What the server sends next, `None` when there is no more.
    fn receive(&mut self) -> Option<Vec<u8>>;
    /// Puts TLS in place; returns the fingerprint of the server's certificate.
    fn start_tls(&mut self) -> Option<[u8; 32]> {
        panic!("this peer has no TLS")
    }
}

/// A real server. A thread reads, so that neither side can block the other with a full socket.
pub struct Socket {
    stream: TcpStream,
    received: Receiver<Vec<u8>>,
    pub recording: Vec<Step>,
}

impl Socket {
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).expect("a TCP option");
        let mut reader = stream.try_clone().expect("a second handle");
        let (sender, received) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { stream, received, recording: Vec::new() }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

impl Peer for Socket {
    fn send(&mut self, bytes: &[u8]) {
        self.recording.push(Step::Client(bytes.to_vec()));
        self.stream.write_all(bytes).expect("the server reads");
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        let bytes = self.received.recv_timeout(Duration::from_secs(60)).ok()?;
        self.recording.push(Step::Server(bytes.clone()));
        Some(bytes)
    }
}

/// A recording: what the server said, cut and split as the test wants, behind what the client must say.
pub struct Replay {
    steps: std::collections::VecDeque<Step>,
    sent: Vec<u8>,
    /// Bytes of the server's at which a piece ends, beside the recorded ones.
    pub split: usize,
    /// Bytes of the server's that are let through.
    pub cut: usize,
    /// Each byte comes alone.
    pub single: bool,
    given: usize,
}

impl Replay {
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), sent: Vec::new(), split: 0, cut: usize::MAX, single: false, given: 0 }
    }
}

impl Peer for Replay {
    fn send(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
    }
    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let said = match self.steps.front() {
                Some(Step::Client(expected)) => {
                    assert!(self.sent.starts_with(expected), "the client says {:02x?}, not {expected:02x?}", self.sent);
                    expected.len()
                }
                Some(Step::Random(count)) => {
                    assert!(self.sent.len() >= *count, "the client says {:02x?}, not {count} bytes", self.sent);
                    *count
                }
                _ => break,
            };
            self.sent.drain(..said);
            self.steps.pop_front();
        }
        let Some(Step::Server(bytes)) = self.steps.front_mut() else { return None };
        let mut n = bytes.len();
        if (self.given + 1..self.given + n).contains(&self.split) {
            n = self.split - self.given;
        }
        if self.single {
            n = 1;
        }
        n = n.min(self.cut.saturating_sub(self.given));
        if n == 0 {
            return None;
        }
        let piece: Vec<u8> = bytes.drain(..n).collect();
        if bytes.is_empty() {
            self.steps.pop_front();
        }
        self.given += n;
        Some(piece)
    }
}

/// A machine and its peer.
pub struct Session<P: Peer> {
    pub machine: Machine<TestCaller>,
    pub peer: P,
    pub inbox: Inbox,
    pub outbox: Outbox,
    /// The peer can do TLS.
    pub tls: bool,
}

impl<P: Peer> Session<P> {
    pub fn new(options: Options, peer: P) -> Self {
        let machine = Machine::new(options, 16).expect("the options are fine");
        Self { machine, peer, inbox: Inbox::new(), outbox: Outbox::new(), tls: false }
    }

    fn flush(&mut self) {
        self.machine.transmit((), &mut self.outbox);
        while !self.outbox.is_empty() {
            let bytes = self.outbox.take();
            self.peer.send(&bytes);
            self.machine.transmit((), &mut self.outbox);
        }
    }

    /// Sends and receives until `done`.
    pub fn pump(&mut self, done: impl Fn(&Machine<TestCaller>) -> bool) -> Result<(), Fatal> {
        self.flush();
        while !done(&self.machine) {
            let Some(bytes) = self.peer.receive() else { return Err(Fatal::gone("the server said no more")) };
            self.inbox.extend(&bytes);
            self.machine.receive((), &mut self.inbox, &mut self.outbox)?;
            self.flush();
            if self.tls && self.machine.tls_step() == TlsStep::Start {
                let fingerprint = self.peer.start_tls();
                self.machine.tls_ready(fingerprint, &mut self.outbox)?;
                self.flush();
            }
        }
        Ok(())
    }

    /// Pumps until every request is done; tells those that wait if the connection fails.
    pub fn run(&mut self) -> Result<(), Fatal> {
        let done = self.pump(Machine::is_idle);
        if let Err(reason) = &done {
            self.machine.abort((), reason);
        }
        done
    }

    pub fn start(&mut self) -> Result<(), Fatal> {
        self.pump(Machine::is_ready)
    }

    /// Queues a request.
    pub fn ask(&mut self, request: Request, row: Vec<TestValue>, batch: Vec<Vec<TestValue>>) -> (u64, Shared) {
        let (caller, told) = TestCaller::new(row, batch);
        (self.machine.enqueue(request, caller), told)
    }

    pub fn query(&mut self, sql: &str) -> Shared {
        self.ask(Request::Query { sql: sql.into(), infile: false, discarded: None }, Vec::new(), Vec::new()).1
    }

    pub fn execute(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        let execute = Execute { sql: sql.into(), rows: Rows::One, text: false, cursor: None };
        self.ask(Request::Execute(execute), row, Vec::new()).1
    }

    pub fn execute_text(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        let execute = Execute { sql: sql.into(), rows: Rows::One, text: true, cursor: None };
        self.ask(Request::Execute(execute), row, Vec::new()).1
    }

    pub fn batch(&mut self, sql: &str, road: Road, atomic: bool, batch: Vec<Vec<TestValue>>) -> Shared {
        let execute = Execute { sql: sql.into(), rows: Rows::Batch { road, atomic }, text: false, cursor: None };
        self.ask(Request::Execute(execute), Vec::new(), batch).1
    }

    /// Runs a statement that must work, and returns its rows as lines.
    pub fn must(&mut self, sql: &str) -> Vec<String> {
        let told = self.query(sql);
        self.run().unwrap_or_else(|reason| panic!("{sql}: {reason}"));
        let told = told.borrow();
        assert_eq!(told.end.as_deref(), Some("done"), "{sql}: {:?}", told.error);
        told.lines()
    }
}
