//! Any bytes as a server's replies: no panic, and each response handler receives exactly one outcome.

#[path = "../../../crates/informix/tests/support/mod.rs"]
mod support;

use headrace_core::protocol::Protocol;
use headrace_core::{IfUnsent, Modes, ReadBuffer, Session as _, Verb, WriteBuffer};
use headrace_informix::machine::{
    BatchStrategy, Declare, Execute, Machine, ParameterRows, Position, Request, SessionOptions,
};
use headrace_testkit::{Shared, TestValue as V, drive, unhex};
use std::sync::LazyLock;
use support::{TestHandler, bytes};

static SELECT: LazyLock<Vec<u8>> = LazyLock::new(|| bytes("reply", "prep_select_032"));
static SELECT_TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| bytes("reply", "srv_t2_text_157"));
static INSERT: LazyLock<Vec<u8>> = LazyLock::new(|| bytes("reply", "insert_int_str_dec_022"));
static GREETING: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    let set_up = [bytes("reply", "connect_004"), unhex("000c"), bytes("reply", "srv_t10_connect_008")].concat();
    let locale = (bytes("reply", "srv_t2_connect_010"), bytes("reply", "srv_t2_connect_012"));
    [bytes("reply", "conacc_gbase_1"), set_up, locale.0, locale.1]
});

/// Messages with a server's framing. A fuzzer would take long to find the lengths of messages, so each block of its
/// input becomes one message of a fixed or explicit length; the tag 0 passes bytes unchanged.
fn messages(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [tag, len, rest @ ..] = data {
        let body = &rest[..rest.len().min(usize::from(len & 0x7f))];
        data = &rest[body.len()..];
        let mut fixed = |size: usize| {
            let mut body = body.to_vec();
            body.resize(size, 0);
            out.extend_from_slice(&[0, *tag]);
            out.extend_from_slice(&body);
        };
        match tag {
            12 | 56 => fixed(0),
            15 => fixed(14),
            25 => fixed(4),
            55 => fixed(8),
            94 => fixed(18),
            99 => fixed(6),
            14 => {
                out.extend_from_slice(&[0, 14, 0, 0]);
                out.extend_from_slice(&(body.len() as u32).to_be_bytes());
                out.extend_from_slice(body);
                out.resize(out.len() + body.len() % 2, 0);
            }
            39 | 53 | 126 => {
                out.extend_from_slice(&[0, *tag, 0, body.len() as u8]);
                out.extend_from_slice(body);
                out.resize(out.len() + body.len() % 2, 0);
            }
            // A routine's handle, and a routine's result of one INTEGER.
            101 => out.extend_from_slice(&unhex("0065000674657374646200000001")),
            103 => out.extend_from_slice(&unhex("00670001000200000a0000000003")),
            // The content of a large object, in one piece; and the number of bytes of it that were written.
            97 => {
                out.extend_from_slice(&[0, 97, 0, 0, 0, 0, 0, body.len() as u8, 0, body.len() as u8]);
                out.extend_from_slice(body);
                out.resize(out.len() + body.len() % 2, 0);
            }
            98 => out.extend_from_slice(&[0, 97, 0, 2, 0, 0, 0, *len]),
            // Possible descriptions by a server: of a select, of an insert, of a select with TEXT.
            200 => out.extend_from_slice(&SELECT),
            201 => out.extend_from_slice(&SELECT_TEXT),
            202 => out.extend_from_slice(&INSERT),
            0 => out.extend_from_slice(body),
            tag => {
                out.extend_from_slice(&[0, *tag]);
                out.extend_from_slice(body);
            }
        }
    }
    out
}

/// A query that is prepared, so that several executions of it are in flight at a time.
const QUERY: &str = "select a from t where a > ?";
/// The number of further executions.
const QUERIES: usize = 7;

fn request(kind: u8, sql: &str, flag: bool) -> Request {
    let sql = sql.into();
    let strategy = [None, Some(BatchStrategy::Put), Some(BatchStrategy::Groups), Some(BatchStrategy::Rows)]
        [usize::from(kind >> 4) % 4];
    match kind % 14 {
        0 | 1 => Request::Execute(Execute { sql, rows: ParameterRows::One, begin: flag, strategy: None }),
        2 => Request::Execute(Execute { sql, rows: ParameterRows::Batch, begin: flag, strategy }),
        3 => Request::Declare(Declare {
            cursor: 1,
            sql,
            name: None,
            scroll: flag,
            with_hold: false,
            begin: false,
            bytes: 64,
        }),
        4 => Request::Fetch { cursor: 1, bytes: 64 },
        5 => Request::Scroll { cursor: 1, to: if flag { Position::Last } else { Position::Row(2) } },
        6 if flag => Request::Close { cursor: 1 },
        6 => Request::Verb(Verb::Savepoint { name: "s".into(), begin: (kind & 16 == 16).then(Modes::default) }),
        7 if flag => Request::Verb(Verb::Commit(if kind & 16 == 16 { IfUnsent::RollBack } else { IfUnsent::Forget })),
        7 => Request::Verb(Verb::Rollback(IfUnsent::RollBack)),
        8 => Request::Verb(Verb::Begin(Modes::default())),
        9 => Request::Verb(Verb::Ping),
        10 => Request::Routine { signature: "function informix.ifx_lo_close(integer)".into(), begin: flag },
        11 => Request::ReadObject { object: 3, bytes: i32::from(kind) },
        12 => Request::WriteObject { object: 3, data: vec![b'x'; usize::from(kind) * 300].into() },
        _ => Request::Verb(if flag { Verb::Release("s".into()) } else { Verb::RollbackTo("s".into()) }),
    }
}

fn handler(batch: Vec<Vec<V>>, rewinds: bool) -> (TestHandler, Shared) {
    let (mut handler, received) = TestHandler::new(vec![V::Int(7)], batch);
    handler.rewinds = rewinds;
    (handler, received)
}

/// Gives the input to a machine as replies of a server.
pub fn machine(data: &[u8]) {
    let [script, first, second, third, discards, lanes, data @ ..] = data else { return };
    let options = SessionOptions {
        user: "informix".into(),
        server: "informix".into(),
        database: Some("testdb".into()),
        ..SessionOptions::default()
    };
    let (mut read_buffer, mut write_buffer) = (ReadBuffer::new(), WriteBuffer::new());
    let mut machine: Machine<TestHandler> = Machine::new(options, 2, &mut write_buffer).expect("the options fit");
    if script & 1 == 0 {
        for reply in GREETING.iter() {
            read_buffer.extend(reply);
            machine.receive((), &mut read_buffer, &mut write_buffer).expect("a right greeting");
        }
        assert!(machine.is_ready());
    }
    let mut handlers = Vec::new();
    let side_by_side = script & 17 == 16;
    if side_by_side {
        machine.submit(request(0, QUERY, false), handler(Vec::new(), false).0);
        machine.transmit((), &mut write_buffer);
        // First the reply that closes the cursor of the query for the locale, and releases its statement.
        for reply in [&unhex("000c000c"), &SELECT[..], &bytes("reply", "prep_select_036"), &unhex("000c")] {
            read_buffer.extend(reply);
            machine.receive((), &mut read_buffer, &mut write_buffer).expect("a right answer");
            machine.transmit((), &mut write_buffer);
        }
    }
    for _ in 0..if side_by_side { QUERIES } else { 0 } {
        let (handler, received) = handler(Vec::new(), false);
        machine.submit(request(0, QUERY, false), handler);
        handlers.push(received);
    }
    for (i, kind) in [first, second, third].into_iter().enumerate() {
        let batch = match script & 2 {
            0 => vec![vec![V::Int(1)], vec![V::text("two")], vec![V::Null]],
            _ => vec![vec![V::Int(1), V::text("one"), V::Null]; 3],
        };
        let (mut handler, received) = handler(batch, script & 8 == 0);
        handler.lane = u64::from(lanes >> i & 1);
        handler.fills = lanes >> (4 + i) & 1 == 1;
        handlers.push(received);
        let sql = match script >> 1 & 3 {
            0 => QUERY.into(),
            1 => "insert into t values (?,?,?)".into(),
            _ => format!("statement {i} with ?"),
        };
        machine.submit(request(*kind, &sql, kind & 0x80 != 0), handler);
    }
    drive(&mut machine, (&mut read_buffer, &mut write_buffer), &messages(data), *discards, &handlers);
}
