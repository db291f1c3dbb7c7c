//! A session that a test plays the server of.

use super::{TestHandler, done, trace};
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{ReadBuffer, Session as _, Verb, WriteBuffer};
use headrace_cubrid::machine::{BatchStrategy, Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_testkit::{Shared, TestValue, Trace, unhex};

/// The reply of a live server to the database info (11.3.2).
pub const CONNECTED: &str =
    "00000024 01ffffff 00004dfb 010101004cc00000 00000001 f0b0006b7f000001000001840000000000000000";

/// A machine, and its input and output.
pub struct Conversation {
    /// The machine.
    pub machine: Machine<TestHandler>,
    read_buffer: ReadBuffer,
    /// What the machine sends.
    pub write_buffer: WriteBuffer,
    /// Batches can be read again from their beginning.
    pub rewinds: bool,
}

/// The options of most tests.
pub fn options() -> SessionOptions {
    SessionOptions {
        host: "db.example".into(),
        database: "testdb".into(),
        user: "dba".into(),
        ..SessionOptions::default()
    }
}

/// What the server sends while a session is resumed: the transaction that the CAS has begun stays open.
pub fn resumed() -> Vec<u8> {
    [vec![0; 4], unhex(&CONNECTED.replace(' ', ""))].concat()
}

/// What the server sends while a session is opened: the client ends that transaction.
pub fn greeting() -> Vec<u8> {
    [resumed(), done(0)].concat()
}

impl Conversation {
    /// Before its login.
    pub fn with(options: &SessionOptions) -> Self {
        let mut write_buffer = WriteBuffer::new();
        let machine = Machine::new(options, 2, &mut write_buffer).unwrap();
        Self { machine, read_buffer: ReadBuffer::new(), write_buffer, rewinds: true }
    }

    /// After its login.
    pub fn start() -> Self {
        let mut session = Self::with(&options());
        session.feed(&greeting()).unwrap();
        assert!(session.machine.is_ready());
        session.write_buffer.take();
        session
    }

    /// After its login, with a server whose protocol has this version.
    pub fn of_version(version: u8) -> Self {
        let mut session = Self::with(&options());
        let mut greeting = greeting();
        // After the answer to the hello, the header and the process: the fifth of eight bytes.
        greeting[4 + 8 + 4 + 4] = 0x40 | version;
        session.feed(&greeting).unwrap();
        assert!(session.machine.is_ready());
        session.write_buffer.take();
        session
    }

    /// After its login, in a transaction block.
    pub fn in_block() -> Self {
        let mut session = Self::start();
        let begun = session.verb(Verb::Begin(headrace_core::Modes::default()));
        assert_eq!(begun.get().end.as_deref(), Some("done"));
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
    pub fn execute(&mut self, sql: &str, row: Vec<TestValue>) -> Shared {
        self.ask(
            Request::Execute(Execute { facts: None, sql: sql.into(), rows: ParameterRows::One, begin: false }),
            row,
            Vec::new(),
        )
    }

    /// Executes an INSERT for these numbers.
    pub fn batch(&mut self, atomic: bool, numbers: &[i64]) -> Shared {
        self.batch_by(BatchStrategy::Array, atomic, numbers)
    }

    /// The same with another strategy.
    pub fn batch_by(&mut self, strategy: BatchStrategy, atomic: bool, numbers: &[i64]) -> Shared {
        let batch = numbers.iter().map(|number| vec![TestValue::Int(*number)]).collect();
        let request = Execute {
            facts: None,
            sql: "insert into t values (?)".into(),
            rows: ParameterRows::Batch { strategy, atomic },
            begin: false,
        };
        self.ask(Request::Execute(request), Vec::new(), batch)
    }

    /// A batch of these rows.
    pub fn batch_of(&mut self, strategy: BatchStrategy, sql: &str, rows: Vec<Vec<TestValue>>) -> Shared {
        let rows_are = ParameterRows::Batch { strategy, atomic: true };
        let request = Execute { facts: None, sql: sql.into(), rows: rows_are, begin: false };
        self.ask(Request::Execute(request), Vec::new(), rows)
    }

    /// Submits the requests of a verb, and returns what the last one receives.
    pub fn verb(&mut self, verb: Verb) -> Shared {
        let requests = Machine::<TestHandler>::of_verb(&verb).unwrap().into_iter();
        requests.map(|request| self.ask(request, Vec::new(), Vec::new())).last().unwrap()
    }

    /// The requests that were sent since the last call.
    pub fn sent(&mut self) -> Trace {
        trace(&self.write_buffer.take())
    }
}
