//! Any bytes as a server's replies: no panic, no row out of nothing, and each response handler receives exactly one
//! outcome.

#[path = "../../../crates/postgres/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use headrace_core::{IfUnsent, Protocol, ReadBuffer, Verb, WriteBuffer};
use headrace_postgres::machine::{
    Binding, Columns, Copy, Cursor, Execute, Machine, ParameterRows, Portal, PortalId, Prepare, Purpose, Request,
    SessionOptions, Tls,
};
use headrace_postgres::messages::backend::Field;
use headrace_testkit::{TestValue, drive_with};
use std::sync::Arc;
use support::TestHandler;

/// The bytes of a row for a message: a fuzzer would take long to find the lengths of messages, so each block of its
/// input becomes one, and only now and then is the length its own.
fn messages(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [tag, len, rest @ ..] = data {
        let body = &rest[..rest.len().min(usize::from(len & 0x7F))];
        data = &rest[body.len()..];
        out.push(*tag);
        if len & 0x80 == 0 {
            out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        }
        out.extend_from_slice(body);
    }
    out
}

/// What all requests of one input have in common.
struct Script {
    flags: u8,
    more: u8,
    columns: Arc<Columns>,
}

impl Script {
    fn flag(&self, bit: u8) -> bool {
        u16::from_le_bytes([self.flags, self.more]) >> bit & 1 == 1
    }

    fn execution(&self, i: u8, rows: ParameterRows) -> Execute {
        Execute {
            rows,
            prelude: self.flag(5).then(|| "BEGIN".into()),
            sync: self.flag(6) || i == 2,
            ordered: self.flag(7),
            pipeline: u64::from(self.flag(12)) * u64::from(i & 1),
            copy_after: self.flag(15).then_some(1),
            join_from: self.flag(14).then_some(1),
            ..Execute::new(match (self.flag(15) || self.flag(14), self.flag(4)) {
                (true, _) => "insert into t values ($1)".into(),
                (false, true) => "select same".into(),
                (false, false) => format!("statement {i}"),
            })
        }
    }

    fn copy(&self) -> Copy {
        Copy {
            query: "select a".into(),
            left_out: self.flag(2).then(|| "select attnum".into()),
            binary: self.flag(3).then(|| "copy t from stdin (format binary)".into()),
            text: "copy t from stdin".into(),
            into: self.flag(4),
            prelude: self.flag(5).then(|| "BEGIN".into()),
        }
    }

    /// Request `i` of `kind`.
    fn request(&self, i: u8, kind: u8) -> Request {
        let id = PortalId { name: "p".into(), number: 1 };
        let one = self.execution(i, ParameterRows::One);
        match kind % 14 {
            0 => Request::Execute(one),
            1 => Request::Execute(self.execution(i, ParameterRows::Batch)),
            2 => Request::Execute(self.execution(i, ParameterRows::TypedBatch)),
            3 => {
                let portal = Portal { id, max_rows: 2, reserves: self.flag(11) };
                Request::Execute(Execute { portal: Some(portal), ..one })
            }
            4 if self.flag(8) => {
                let unsent = if self.flag(3) { IfUnsent::RollBack } else { IfUnsent::Forget };
                Machine::<TestHandler>::of_verb(&Verb::Commit(unsent)).expect("PostgreSQL has it").remove(0)
            }
            4 => Request::Script { sql: "SELECT 1; SELECT 2".into(), prelude: None, copy: self.flag(3) },
            5 => Request::Describe { sql: one.sql },
            6 => Request::DescribePortal { portal: id },
            7 => Request::Fetch { portal: id, max_rows: i32::from(i), columns: self.columns.clone() },
            8 => Request::ClosePortal { portal: id },
            9 => Request::Copy(self.copy()),
            10 => Request::Execute(Execute {
                cursor: Some(Cursor::Declare { portal: id, with_hold: self.flag(2) }),
                ..one
            }),
            11 => Request::Execute(Execute { cursor: Some(Cursor::Use(1)), ..one }),
            12 => Request::Execute(Execute {
                cursor: Some(Cursor::Use(1)),
                expected: Some(self.columns.clone()),
                prepare: Prepare::Unnamed,
                ..one
            }),
            _ => Request::Execute(Execute { prepare: Prepare::Unnamed, ..one }),
        }
    }
}

/// Gives the input to a machine as replies of a server.
pub fn machine(data: &[u8]) {
    let [script, more, first, second, third, discards, lanes, data @ ..] = data else { return };
    let options = SessionOptions {
        purpose: Purpose::Session,
        parameters: vec![("user".into(), "u".into())],
        user: "u".into(),
        password: None,
        tls: Tls::No,
        binding: Binding::Prefer,
        methods: Vec::new(),
    };
    let (mut read_buffer, mut write_buffer) = (ReadBuffer::new(), WriteBuffer::new());
    let mut machine: Machine<TestHandler> = Machine::new(options, 2, &mut write_buffer);
    if script & 1 == 0 {
        read_buffer.extend(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I");
        machine.receive((), &mut read_buffer, &mut write_buffer).expect("a right greeting");
    }
    let field =
        Field { name: "n".into(), table: 0, number: 0, type_oid: 23, type_size: 4, type_modifier: -1, format: 1 };
    let columns = Arc::new(Columns::plan(machine.registry(), vec![field]));
    let script = Script { flags: *script, more: *more, columns };
    let (mut handlers, mut numbers) = (Vec::new(), Vec::new());
    for (i, kind) in (0..).zip([first, second, third]) {
        let rows = (1..=3).map(|n| vec![TestValue::Int(n)]).collect();
        let (mut handler, received) = TestHandler::new(vec![TestValue::Int(7)], rows);
        handler.lane = u64::from(lanes >> i & 1);
        handler.fills = lanes >> (4 + i) & 1 == 1;
        handlers.push(received);
        numbers.push(machine.submit(script.request(i, *kind), handler));
    }
    drive_with(
        &mut machine,
        (&mut read_buffer, &mut write_buffer),
        &messages(data),
        *discards,
        &handlers,
        |machine, block, write_buffer| {
            for number in &numbers {
                machine.copy_data(*number, write_buffer, |out| out.extend_from_slice(b"1\n"));
                if block % 3 == 2 {
                    machine.copy_end(*number, write_buffer, (block % 2 == 1).then_some("the program gave up"));
                }
            }
        },
    );
}
