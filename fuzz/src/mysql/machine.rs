//! Any packets as a server's replies: no panic, and each response handler receives exactly one outcome.

#[path = "../../../crates/mysql/tests/support/handler.rs"]
#[allow(dead_code)]
mod support;

use headrace_core::protocol::Protocol;
use headrace_core::{IfUnsent, Modes, ReadBuffer, Session as _, Verb, WriteBuffer};
use headrace_mysql::auth::Secret;
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, Machine, ParameterRows, Request, SessionOptions};
use headrace_testkit::{TestValue, drive_with};
use support::TestHandler;

/// Packets with correct lengths and numbers: each block of the input becomes one, and its first bit indicates whether a
/// new reply begins with it. Some are packets of a server.
fn packets(mut data: &[u8]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 0u8);
    while let [kind, len, rest @ ..] = data {
        let given = &rest[..rest.len().min(usize::from(len & 0x7f))];
        data = &rest[given.len()..];
        sequence = if len & 0x80 == 0 { sequence.wrapping_add(1) } else { 1 };
        let body = match kind {
            // OK; EOF; a statement of one parameter and one column; a column of a type of its choice.
            250 => b"\0\x01\0\x02\0\0\0".to_vec(),
            251 => b"\xfe\0\0\x02\0".to_vec(),
            252 => b"\0\x01\0\0\0\x01\0\x01\0\0\0\0".to_vec(),
            253 => {
                let kind = given.first().copied().unwrap_or(3);
                [b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x0b\0\0\0".as_slice(), &[kind, 0, 0, 0, 0, 0]].concat()
            }
            254 => [b"\xff\x15\x04#42000".as_slice(), given].concat(),
            first => [&[*first], given].concat(),
        };
        out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        out.extend_from_slice(&body);
    }
    out
}

/// The greeting and the first OK of the recorded conversation.
fn greeting() -> [Vec<u8>; 2] {
    let mut lines = include_str!("../../../crates/mysql/tests/recorded/mariadb-10.11.txt").lines();
    let mut next = || {
        let text = lines.by_ref().find_map(|line| line.strip_prefix("< ")).expect("the server speaks twice");
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal")).collect()
    };
    [next(), next()]
}

/// The request of a verb that has one.
fn verb(verb: &Verb) -> Request {
    Machine::<TestHandler>::of_verb(verb).expect("MySQL has it").remove(0)
}

fn request(kind: u8, sql: &str, flag: bool, earlier: u64) -> Request {
    let sql = sql.into();
    let strategy = [BatchStrategy::Auto, BatchStrategy::Pipelined, BatchStrategy::Bulk, BatchStrategy::Joined]
        [usize::from(kind >> 4) % 4];
    match kind % 13 {
        0 => Request::Execute(Execute {
            facts: None,
            sql,
            rows: ParameterRows::One,
            text: if flag { AsText::Always } else { AsText::IfUnprepared },
            cursor: None,
        }),
        1 => Request::Execute(Execute {
            facts: None,
            sql,
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor: Some(2),
        }),
        2 | 3 => Request::Execute(Execute {
            facts: None,
            sql,
            rows: ParameterRows::Batch { strategy, atomic: flag },
            text: AsText::IfUnprepared,
            cursor: None,
        }),
        4 => Request::Query { sql, infile: flag },
        5 => Request::Prepare { sql },
        6 if flag => Request::Fetch { cursor: earlier, rows: 2 },
        6 => Request::CloseCursor { cursor: earlier },
        7 if flag => Request::InitDb { schema: "t".into() },
        7 => Request::Ping,
        8 => Request::ResetConnection,
        9 => Request::Reserve,
        10 => verb(&Verb::Commit(IfUnsent::RollBack)),
        11 => verb(&if flag { Verb::Release("s".into()) } else { Verb::Begin(Modes::default()) }),
        _ => {
            let request = request(kind / 13, &sql, flag, earlier);
            // A reservation contains requests of other kinds only.
            match request {
                Request::Reserve | Request::Within { .. } => Request::Ping,
                request => Request::Within { reservation: earlier, request: Box::new(request) },
            }
        }
    }
}

/// Gives the input to a machine as replies of a server.
pub fn machine(data: &[u8]) {
    let [script, first, second, third, discards, lanes, data @ ..] = data else { return };
    let options = SessionOptions {
        user: "tester".into(),
        password: Some(Secret(b"tiger".to_vec())),
        database: Some("t".into()),
        local_infile: script & 8 != 0,
        multi_statements: script & 16 != 0,
        ..SessionOptions::default()
    };
    let (mut read_buffer, mut write_buffer) = (ReadBuffer::new(), WriteBuffer::new());
    let mut machine: Machine<TestHandler> = Machine::new(options, 2).expect("the options are fine");
    if script & 1 == 0 {
        for reply in greeting() {
            read_buffer.extend(&reply);
            machine.receive((), &mut read_buffer, &mut write_buffer).expect("a right greeting");
            machine.transmit((), &mut write_buffer);
        }
        assert!(machine.is_ready());
    }
    let (mut handlers, mut numbers, mut reservations) = (Vec::new(), Vec::new(), Vec::new());
    let mut earlier = 0;
    for (i, kind) in [first, second, third].into_iter().enumerate() {
        let batch = vec![vec![TestValue::Int(1)], vec!["two".into()], vec![TestValue::Null]];
        let (mut handler, received) = TestHandler::new(vec![TestValue::Int(7)], batch);
        handler.lane = u64::from(lanes >> i & 1);
        handler.fills = lanes >> (4 + i) & 1 == 1;
        handlers.push(received.clone());
        let sql = match script >> 1 & 3 {
            0 => "insert into t values (?)".into(),
            1 => "select a from t where a > ?".into(),
            2 => "load data local infile 'x' into table t".into(),
            _ => format!("update t set a = ? where b = {i}"),
        };
        let request = request(*kind, &sql, kind & 0x80 != 0, earlier);
        let reserves = matches!(request, Request::Reserve);
        let number = machine.submit(request, handler);
        numbers.push(number);
        if reserves {
            reservations.push((number, received));
        }
        // The reservation or the cursor of a later request: usually the request before it.
        if earlier == 0 || reserves || kind & 0x40 == 0 {
            earlier = number;
        }
    }
    drive_with(
        &mut machine,
        (&mut read_buffer, &mut write_buffer),
        &packets(data),
        *discards,
        &handlers,
        |machine, block, write_buffer| {
            for number in &numbers {
                machine.infile_data(*number, write_buffer, |out| out.extend_from_slice(b"1\n"));
                if block % 3 == 2 {
                    machine.infile_end(*number, write_buffer);
                }
            }
            // A reservation that has not begun would be discarded.
            for (number, _) in reservations.iter().filter(|(_, received)| block > 3 && received.has_ended()) {
                machine.release(*number);
            }
        },
    );
}
