//! Any bytes as a server's replies: no panic, no row out of nothing, and each response handler receives exactly one
//! outcome.
#![no_main]

#[path = "../../crates/postgres/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use headrace_core::{ReadBuffer, WriteBuffer, Protocol};
use headrace_postgres::machine::{
    Binding, Execute, Machine, Options, Portal, PortalId, Prepare, Purpose, Request, Rows, Tls,
};
use headrace_testkit::{TestValue, drive};
use libfuzzer_sys::fuzz_target;
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

fuzz_target!(|data: &[u8]| {
    let [script, more, discards, data @ ..] = data else { return };
    let options = Options {
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
        machine.read((), &mut read_buffer, &mut write_buffer).expect("a right greeting");
    }
    let mut handlers = Vec::new();
    for i in 0..3u8 {
        let batch = script >> 1 & 1 == 1 && i == 1;
        let kind = if more >> 1 & 1 == 1 { Rows::TypedBatch } else { Rows::Batch };
        let rows = if batch { (1..=3).map(|n| vec![TestValue::Int(n)]).collect() } else { Vec::new() };
        let (handler, received) = TestHandler::new(vec![TestValue::Int(7)], rows);
        handlers.push(received);
        let request = if script >> 2 & 1 == 1 && i == 2 {
            Request::Script {
                sql: "SELECT 1; SELECT 2".into(),
                prelude: None,
                copy: script >> 3 & 1 == 1,
                ends_block: false,
                discarded: (script >> 3 & 1 == 1).then(|| "ROLLBACK".into()),
            }
        } else {
            Request::Execute(Execute {
                sql: if script >> 4 & 1 == 1 { "select same".into() } else { format!("statement {i}").into() },
                hints: Vec::new(),
                rows: if batch { kind } else { Rows::One },
                prepare: Prepare::Named,
                prelude: (script >> 5 & 1 == 1).then(|| "BEGIN".into()),
                portal: (more >> 2 & 1 == 1 && i == 1 && !batch).then(|| Portal {
                    id: PortalId { name: "p".into(), number: 1 },
                    max_rows: 2,
                    reserves: more >> 3 & 1 == 1,
                }),
                cursor: None,
                expected: None,
                sync: script >> 6 & 1 == 1 || i == 2,
                ordered: script >> 7 & 1 == 1,
                pipeline: u64::from(more >> 4 & 1) * u64::from(i & 1),
            })
        };
        machine.submit(request, handler);
    }
    drive(&mut machine, (&mut read_buffer, &mut write_buffer), &messages(data), *discards, &handlers);
});
