//! A session with a test in the place of the server.

use crate::support::TestHandler;
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{ReadBuffer, Session as _, Verb, WriteBuffer};
use headrace_postgres::machine::{
    Binding, Execute, Machine, ParameterRows, Prepare, Purpose, Request, SessionOptions, Tls,
};
use headrace_postgres::messages::backend::header;
use headrace_postgres::messages::tag::{self, backend};
use headrace_testkit::{Completion, Received, Shared, TestValue, Trace};

/// A connection in a test.
pub struct Conversation {
    pub machine: Machine<TestHandler>,
    pub read_buffer: ReadBuffer,
    pub write_buffer: WriteBuffer,
}

pub fn msg(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

pub fn ready(status: u8) -> Vec<u8> {
    msg(backend::READY_FOR_QUERY, &[status])
}

pub fn error(code: &str) -> Vec<u8> {
    error_about(code, "no")
}

/// ErrorResponse with a text.
pub fn error_about(code: &str, message: &str) -> Vec<u8> {
    msg(backend::ERROR_RESPONSE, format!("SERROR\0VERROR\0C{code}\0M{message}\0\0").as_bytes())
}

pub fn data_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                body.extend_from_slice(&(value.len() as i32).to_be_bytes());
                body.extend_from_slice(value);
            }
        }
    }
    msg(backend::DATA_ROW, &body)
}

pub fn row_description(fields: &[(&str, u32)]) -> Vec<u8> {
    row_description_in(fields, 0)
}

/// The same of columns in the text form (0) or the binary one (1).
pub fn row_description_in(fields: &[(&str, u32)], format: u8) -> Vec<u8> {
    let mut body = (fields.len() as u16).to_be_bytes().to_vec();
    for (name, oid) in fields {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.extend_from_slice(&[0; 6]);
        body.extend_from_slice(&oid.to_be_bytes());
        body.extend_from_slice(&[0, 4, 0xff, 0xff, 0xff, 0xff, 0, format]);
    }
    msg(backend::ROW_DESCRIPTION, &body)
}

impl Conversation {
    /// The names of the messages that were sent since the last call.
    pub fn sent(&mut self) -> Trace {
        Trace::read(&self.write_buffer.take(), |sent| {
            let (tag, total) = header(sent).unwrap()?;
            Some((tag::frontend::name(tag)?.to_owned(), total))
        })
    }

    pub fn start() -> Self {
        let options = SessionOptions {
            purpose: Purpose::Session,
            parameters: vec![("user".into(), "u".into())],
            user: "u".into(),
            password: None,
            tls: Tls::No,
            binding: Binding::Prefer,
            methods: Vec::new(),
        };
        let mut write_buffer = WriteBuffer::new();
        let machine = Machine::new(options, 16, &mut write_buffer);
        let mut session = Self { machine, read_buffer: ReadBuffer::new(), write_buffer };
        session
            .feed(
                &[
                    msg(backend::AUTHENTICATION, &[0, 0, 0, 0]),
                    msg(backend::PARAMETER_STATUS, b"server_version\x0018.1 (Debian 18.1-1)\0"),
                    msg(backend::BACKEND_KEY_DATA, &[0, 0, 0, 1, 0, 0, 0, 2]),
                    ready(b'I'),
                ]
                .concat(),
            )
            .unwrap();
        assert!(session.machine.is_ready());
        session.write_buffer.take();
        session
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fatal> {
        self.read_buffer.extend(bytes);
        headrace_testkit::receive(&mut self.machine, &mut self.read_buffer, &mut self.write_buffer)?;
        self.machine.transmit((), &mut self.write_buffer);
        Ok(())
    }

    /// Feeds the bytes from `from` to `to` of a select's reply.
    pub fn replay(&mut self, reply: &[u8], from: usize, to: usize) -> Result<(), Fatal> {
        let pause = describe_reply().len().clamp(from, to);
        self.feed(&reply[from..pause])?;
        self.feed(&reply[pause..to])
    }

    pub fn execute(
        &mut self,
        sql: &str,
        batch: Option<Vec<Vec<TestValue>>>,
        row: Vec<TestValue>,
        sync: bool,
    ) -> Shared {
        self.execute_as(Prepare::Named, sql, batch, row, sync)
    }

    pub fn execute_as(
        &mut self,
        prepare: Prepare,
        sql: &str,
        batch: Option<Vec<Vec<TestValue>>>,
        row: Vec<TestValue>,
        sync: bool,
    ) -> Shared {
        let rows = if batch.is_some() { ParameterRows::Batch } else { ParameterRows::One };
        let (mut handler, received) = TestHandler::new(row, batch.unwrap_or_default());
        handler.rewinds = false;
        let request = Request::Execute(Execute {
            sql: sql.into(),
            facts: None,
            hints: Vec::new(),
            rows,
            prepare,
            prelude: None,
            portal: None,
            cursor: None,
            sync,
            ordered: false,
            expected: None,
            copy_after: None,
            join_from: None,
            pipeline: 0,
        });
        self.machine.submit(request, handler);
        self.machine.transmit((), &mut self.write_buffer);
        received
    }
}

/// The reply to Parse and Describe of a select of two columns with one parameter.
pub fn describe_reply() -> Vec<u8> {
    [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 23]),
        row_description(&[("id", 23), ("name", 25)]),
    ]
    .concat()
}

/// The reply to the whole select: three rows. The replies to Bind come only once Bind was sent, so a replay pauses
/// where the description ends.
pub fn select_reply() -> Vec<u8> {
    [
        describe_reply(),
        msg(backend::BIND_COMPLETE, b""),
        data_row(&[Some(&[0, 0, 0, 1]), Some(b"one")]),
        msg(backend::NOTICE_RESPONSE, b"SNOTICE\0Mby the way\0\0"),
        data_row(&[Some(&[0, 0, 0, 2]), None]),
        msg(backend::PARAMETER_STATUS, b"TimeZone\0UTC\0"),
        data_row(&[Some(&[0, 0, 0, 3]), Some("drei ä".as_bytes())]),
        msg(backend::COMMAND_COMPLETE, b"SELECT 3\0"),
        ready(b'I'),
    ]
    .concat()
}

pub fn expected() -> Received {
    let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    Received {
        columns: row("id", "name"),
        rows: vec![row("1", "one"), row("2", "NULL"), row("3", "drei ä")],
        results: vec![Completion { tag: "SELECT 3".into(), rows: Some(3), ..Completion::default() }],
        end: Some("done".into()),
        ..Received::default()
    }
}

/// The reply to Parse and Describe.
pub fn described(parameters: &[u32], columns: &[(&str, u32)]) -> Vec<u8> {
    let mut types = (parameters.len() as u16).to_be_bytes().to_vec();
    types.extend(parameters.iter().flat_map(|oid| oid.to_be_bytes()));
    let rows = if columns.is_empty() { msg(backend::NO_DATA, b"") } else { row_description(columns) };
    [msg(backend::PARSE_COMPLETE, b""), msg(backend::PARAMETER_DESCRIPTION, &types), rows].concat()
}

/// The reply to the query for the server process, which is sent once a known statement is used.
pub fn server_process_queried() -> Vec<u8> {
    let begun = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    [begun, data_row(&[Some(b"1")]), completed("SELECT 1"), ready(b'I')].concat()
}

/// CommandComplete.
pub fn completed(tag: &str) -> Vec<u8> {
    msg(backend::COMMAND_COMPLETE, format!("{tag}\0").as_bytes())
}

/// CopyInResponse or CopyOutResponse of one column of text.
pub fn copy_response(tag: u8) -> Vec<u8> {
    msg(tag, &[0, 0, 1, 0, 0])
}

/// An execution of one row, or of a batch.
pub fn execution(sql: &str, rows: ParameterRows, sync: bool) -> Request {
    Request::Execute(Execute {
        sql: sql.into(),
        facts: None,
        hints: Vec::new(),
        rows,
        prepare: Prepare::Named,
        prelude: None,
        portal: None,
        cursor: None,
        sync,
        ordered: false,
        expected: None,
        copy_after: None,
        join_from: None,
        pipeline: 0,
    })
}

/// A script; `copy` makes it a COPY whose rows are available.
pub fn script(sql: &str, copy: bool) -> Request {
    Request::Script { sql: sql.into(), prelude: None, copy }
}

/// The request of a verb.
pub fn verb(verb: &Verb) -> Request {
    Machine::<TestHandler>::of_verb(verb).unwrap().remove(0)
}

impl Conversation {
    /// Submits a request, and returns its number too.
    pub fn ask(&mut self, request: Request, row: Vec<TestValue>, batch: Vec<Vec<TestValue>>) -> (u64, Shared) {
        let (mut handler, received) = TestHandler::new(row, batch);
        handler.rewinds = false;
        let id = self.machine.submit(request, handler);
        self.machine.transmit((), &mut self.write_buffer);
        (id, received)
    }

    /// The server sends an allowed message.
    pub fn feed_messages(&mut self, messages: &[Vec<u8>]) {
        self.feed(&messages.concat()).unwrap();
    }
}
