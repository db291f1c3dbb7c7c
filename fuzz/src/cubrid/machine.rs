//! Any bytes as a server's replies: no panic, and each response handler receives exactly one outcome.

#[path = "../../../crates/cubrid/tests/support/mod.rs"]
mod support;

use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{IfUnsent, Isolation, Modes, ReadBuffer, Session as _, Verb, WriteBuffer};
use headrace_cubrid::lexer::Facts;
use headrace_cubrid::machine::{BatchStrategy, Execute, Machine, ParameterRows, Request};
use headrace_testkit::{TestValue as V, drive};
use std::sync::Arc;
use support::session::{greeting, options};
use support::{TestHandler, array, done, error, fetched, frame, inserted, prepared, selected};

/// Frames with a server's framing. A fuzzer would take long to find the lengths of messages, so each block of its input
/// becomes one reply, well-formed or of the block's bytes; the kind 0 passes bytes unchanged.
fn replies(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [kind, status, len, rest @ ..] = data {
        let body = &rest[..rest.len().min(usize::from(len & 0x7f))];
        data = &rest[body.len()..];
        let number = i32::from(*len);
        out.extend_from_slice(&match kind {
            0 => body.to_vec(),
            1 => prepared(number, 21, number & 3),
            2 => prepared(number, 20, number & 3),
            3 => inserted(*status, number),
            4 => selected(*status, number, &[(1, 7)], *status & 2 == 2),
            5 => fetched(*status, &[(2, 8), (3, 9)], *status & 2 == 2),
            6 => array(*status, &[1, 1, -number]),
            7 => done(*status),
            8 => error(*status, -1, [-10_024, -10_006, -10_012][usize::from(*len) % 3]),
            9 => error(*status, -2, [-72, -4, -670][usize::from(*len) % 3]),
            _ => frame(*status, body),
        });
    }
    out
}

fn request(kind: u8) -> Request {
    let sql = ["select a from t where a > ?", "insert into t values (?)", "alter table t", "commit"];
    let sql: Arc<str> = sql[usize::from(kind >> 4) % 4].into();
    let facts = (kind & 64 == 64).then(|| Facts::of(&sql));
    let handle = [0; 16].into();
    match kind % 12 {
        0 | 1 => Request::Execute(Execute { sql, facts, rows: ParameterRows::One, begin: kind & 32 == 32 }),
        2 | 3 => Request::Execute(Execute {
            sql,
            facts,
            rows: ParameterRows::Batch { strategy: BatchStrategy::Auto, atomic: kind & 1 == 1 },
            begin: kind & 32 == 32,
        }),
        4 => Request::Prepare { sql },
        5 if kind & 16 == 16 => Request::Version,
        5 if kind & 32 == 32 => Request::SetParameter { parameter: 2, value: 100 },
        5 => Request::LastInsertId,
        6 => {
            let isolation = (kind & 16 == 16).then_some(Isolation::Serializable);
            Request::Verb(Verb::Begin(Modes { isolation, ..Modes::default() }))
        }
        7 => Request::Verb(Verb::Commit(if kind & 16 == 16 { IfUnsent::RollBack } else { IfUnsent::Forget })),
        8 => Request::Verb(if kind & 16 == 16 { Verb::Ping } else { Verb::Rollback(IfUnsent::RollBack) }),
        9 if kind & 16 == 16 => Request::ParameterTypes { sql },
        9 if kind & 32 == 32 => Request::Returned { value: 5 },
        9 => Request::ReadObject { handle, offset: 0, bytes: 5 },
        10 if kind & 16 == 16 => Request::NewObject { is_text: true, begin: kind & 32 == 32 },
        10 => Request::WriteObject { handle, offset: 0, data: [7; 3].into() },
        _ if kind & 16 == 16 => Request::Verb(Verb::Savepoint { name: "s".into(), begin: None }),
        _ => Request::Verb(Verb::RollbackTo("s".into())),
    }
}

/// Gives the input to a machine as replies of a server.
pub fn machine(data: &[u8]) {
    let [script, first, second, third, fourth, discards, data @ ..] = data else { return };
    let (mut read_buffer, mut write_buffer) = (ReadBuffer::new(), WriteBuffer::new());
    let machine = Machine::<TestHandler>::new(&options(), 2, &mut write_buffer);
    let mut machine = machine.expect("the options fit");
    if script & 1 == 0 {
        read_buffer.extend(&greeting());
        machine.receive((), &mut read_buffer, &mut write_buffer).expect("a right greeting");
        assert!(machine.is_ready());
    }
    if script & 2 == 0 {
        let (handler, _) = TestHandler::new(Vec::new(), Vec::new());
        machine.submit(Request::Verb(Verb::Begin(Modes::default())), handler);
        machine.transmit((), &mut write_buffer);
    }
    let mut handlers = Vec::new();
    for (i, kind) in [first, second, third, fourth].into_iter().enumerate() {
        let second = vec![if script & 16 == 0 { V::Int(2) } else { V::Other }];
        let mut batch = vec![vec![V::Int(1)], second, vec![V::Null]];
        if script & 32 == 0 {
            // Enough that they are joined.
            batch.resize(250, vec![V::Int(3)]);
        }
        let (mut handler, received) = TestHandler::new(vec![V::Int(7)], batch);
        handler.rewinds = script & 8 == 0;
        handler.fills = script >> (4 + i) & 1 == 1;
        handler.lane = u64::from(script >> 2 & 1) * (i as u64 & 1);
        handlers.push(received);
        machine.submit(request(*kind), handler);
    }
    if script & 64 == 0 {
        // The broker gives the process to another client with the first request in flight.
        machine.transmit((), &mut write_buffer);
        if machine.survive_loss((), &Fatal::end_of_input()) {
            (read_buffer, write_buffer) = (ReadBuffer::new(), WriteBuffer::new());
            machine.reconnect(&mut write_buffer).expect("the same options");
            read_buffer.extend(&greeting());
        }
    }
    drive(&mut machine, (&mut read_buffer, &mut write_buffer), &replies(data), *discards, &handlers);
}
