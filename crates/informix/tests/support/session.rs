//! A session that a test plays the server of.

use super::trace::trace;
use super::{TestHandler, bytes};
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{ReadBuffer, Session as _, WriteBuffer};
use headrace_informix::machine::{Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_testkit::{Shared, TestValue, Trace, unhex};

/// The end of a group.
pub const EOT: &str = "000c";

/// The group that requests a further block of rows of statement 0.
pub const NEXT_BLOCK: [&str; 3] = ["SQ_ID 0", "SQ_NFETCH 131072", "SQ_EOT"];

/// A machine, and its input and output.
pub struct Conversation {
    /// The machine.
    pub machine: Machine<TestHandler>,
    read_buffer: ReadBuffer,
    write_buffer: WriteBuffer,
    /// Batches can be read again from their beginning.
    pub rewinds: bool,
}

/// The server's messages while a session is set up, one reply for each flight.
pub fn greeting() -> Vec<Vec<u8>> {
    let set_up = [bytes("reply", "connect_004"), unhex(EOT), bytes("reply", "srv_t10_connect_008")].concat();
    vec![
        bytes("reply", "conacc_gbase_1"),
        set_up,
        bytes("reply", "srv_t2_connect_010"),
        bytes("reply", "srv_t2_connect_012"),
    ]
}

impl Conversation {
    /// Before its login.
    pub fn new() -> Self {
        let mut write_buffer = WriteBuffer::new();
        let options = SessionOptions {
            user: "informix".into(),
            server: "informix".into(),
            database: Some("testdb".into()),
            ..SessionOptions::default()
        };
        let machine = Machine::new(options, 16, &mut write_buffer).unwrap();
        Self { machine, read_buffer: ReadBuffer::new(), write_buffer, rewinds: false }
    }

    /// After its login.
    pub fn start() -> Self {
        let mut session = Self::new();
        for reply in greeting() {
            session.feed(&reply).unwrap();
        }
        assert!(session.machine.is_ready());
        session.feed(&unhex("000c000c")).unwrap();
        session.write_buffer.take();
        session
    }

    /// The server sends something, and the client sends nothing in reply.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Fatal> {
        self.read_buffer.extend(bytes);
        self.machine.receive((), &mut self.read_buffer, &mut self.write_buffer)
    }

    /// The server sends something.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fatal> {
        self.read_buffer.extend(bytes);
        headrace_testkit::receive(&mut self.machine, &mut self.read_buffer, &mut self.write_buffer)?;
        self.machine.transmit((), &mut self.write_buffer);
        Ok(())
    }

    /// Submits a request.
    pub fn ask(&mut self, request: Request, row: Vec<TestValue>, batch: Vec<Vec<TestValue>>) -> Shared {
        let (mut handler, received) = TestHandler::new(row, batch);
        handler.rewinds = self.rewinds;
        self.machine.submit(request, handler);
        self.machine.transmit((), &mut self.write_buffer);
        received
    }

    /// Executes a statement.
    pub fn execute(&mut self, sql: &str, row: Vec<TestValue>, begin: bool) -> Shared {
        self.ask(
            Request::Execute(Execute { sql: sql.into(), rows: ParameterRows::One, begin, strategy: None }),
            row,
            Vec::new(),
        )
    }

    /// Executes an INSERT for many rows.
    pub fn batch(&mut self, rows: usize, begin: bool) -> Shared {
        let rows = (0..rows)
            .map(|i| vec![TestValue::Int(i as i64), TestValue::text("odd"), TestValue::decimal("1.5")])
            .collect();
        let request =
            Execute { sql: "insert into t values (?,?,?)".into(), rows: ParameterRows::Batch, begin, strategy: None };
        self.ask(Request::Execute(request), Vec::new(), rows)
    }

    /// The messages that were sent since the last call.
    pub fn sent(&mut self) -> Trace {
        trace(&self.write_buffer.take())
    }
}
