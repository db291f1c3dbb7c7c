//! A session: a machine, its buffers, and the other side of the wire.

use super::TestHandler;
use headrace_core::{Certificate, Fatal, NextStep, Protocol, ReadBuffer, Session as _, WriteBuffer};
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_mysql::sql::Facts;
use headrace_testkit::{Peer, Shared, Step, TestValue};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

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

/// A machine and its peer.
pub struct Conversation<P: Peer> {
    pub machine: Machine<TestHandler>,
    pub peer: P,
    pub read_buffer: ReadBuffer,
    pub write_buffer: WriteBuffer,
    /// The peer can do TLS.
    pub tls: bool,
}

impl<P: Peer> Conversation<P> {
    pub fn new(options: SessionOptions, peer: P) -> Self {
        let machine = Machine::new(options, 16).expect("the options are fine");
        Self { machine, peer, read_buffer: ReadBuffer::new(), write_buffer: WriteBuffer::new(), tls: false }
    }

    pub fn flush(&mut self) {
        self.machine.transmit((), &mut self.write_buffer);
        while !self.write_buffer.is_empty() {
            let bytes = self.write_buffer.take();
            self.peer.send(&bytes);
            self.machine.transmit((), &mut self.write_buffer);
        }
    }

    /// Sends and receives until `done`.
    pub fn pump(&mut self, done: impl Fn(&Machine<TestHandler>) -> bool) -> Result<(), Fatal> {
        self.flush();
        while !done(&self.machine) {
            let Some(bytes) = self.peer.receive() else { return Err(Fatal::gone("the server sent no more")) };
            self.read_buffer.extend(&bytes);
            headrace_testkit::receive(&mut self.machine, &mut self.read_buffer, &mut self.write_buffer)?;
            self.flush();
            if self.tls && matches!(self.machine.next_step(), NextStep::StartTls { .. }) {
                let fingerprint = self.peer.start_tls();
                self.machine
                    .tls_ready(Certificate { fingerprint, ..Certificate::default() }, &mut self.write_buffer)?;
                self.flush();
            }
        }
        Ok(())
    }

    /// Pumps until every request has ended; ends those that wait if the connection fails.
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
        let (handler, received) = TestHandler::new(row, batch);
        (self.machine.submit(request, handler), received)
    }

    pub fn query(&mut self, sql: &str) -> Shared {
        self.ask(Request::Query { sql: sql.into(), infile: false }, Vec::new(), Vec::new()).1
    }

    /// With facts that were kept with the text, as the drivers' shells pass them; the others are without.
    pub fn execute(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        let facts = Some(Facts::of(sql, self.machine.accepts_several()));
        let execute =
            Execute { facts, sql: sql.into(), rows: ParameterRows::One, text: AsText::IfUnprepared, cursor: None };
        self.ask(Request::Execute(execute), row, Vec::new()).1
    }

    /// The same with its parameters bound, whatever they mean.
    pub fn execute_bound(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        let execute =
            Execute { facts: None, sql: sql.into(), rows: ParameterRows::One, text: AsText::Never, cursor: None };
        self.ask(Request::Execute(execute), row, Vec::new()).1
    }

    pub fn execute_text(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        let execute =
            Execute { facts: None, sql: sql.into(), rows: ParameterRows::One, text: AsText::Always, cursor: None };
        self.ask(Request::Execute(execute), row, Vec::new()).1
    }

    pub fn batch(&mut self, sql: &str, strategy: BatchStrategy, atomic: bool, batch: Vec<Vec<TestValue>>) -> Shared {
        let execute = Execute {
            facts: None,
            sql: sql.into(),
            rows: ParameterRows::Batch { strategy, atomic },
            text: AsText::IfUnprepared,
            cursor: None,
        };
        self.ask(Request::Execute(execute), Vec::new(), batch).1
    }

    /// Runs a statement that must work, and returns its rows as lines.
    pub fn must(&mut self, sql: &str) -> Vec<String> {
        let received = self.query(sql);
        self.run().unwrap_or_else(|reason| panic!("{sql}: {reason}"));
        let received = received.get();
        assert_eq!(received.end.as_deref(), Some("done"), "{sql}");
        received.lines()
    }
}
