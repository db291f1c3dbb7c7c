//! The names of CUBRID's columns, errors and messages for the tests and the fuzz target.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod session;

use headrace_core::{Fatal, Run, Sink};
use headrace_cubrid::machine::{Columns, PageRows};
use headrace_cubrid::messages::server::ServerError;
use headrace_cubrid::messages::{function, header};
use headrace_testkit::{Dialect, Trace, unhex};
use std::sync::Arc;

/// CUBRID, to a test.
#[derive(Debug)]
pub struct Cubrid;

impl Dialect for Cubrid {
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn read_again<S: Sink>(columns: &Arc<Columns>, messages: &[u8], sink: &mut S) -> Result<(), Fatal> {
        PageRows::new(columns, messages).each(sink)
    }
    fn code(error: &ServerError) -> String {
        error.code.to_string()
    }
    fn message(error: &ServerError) -> String {
        error.message.clone()
    }
}

/// A response handler of a test.
pub type TestHandler = headrace_testkit::TestHandler<Cubrid>;

/// The request and the reply of a pair in the golden file.
pub fn golden(name: &str) -> (Vec<u8>, Vec<u8>) {
    let lines = include_str!("../golden.txt").lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let found = lines.into_iter().find(|parts| parts[0] == name).unwrap_or_else(|| panic!("no {name}"));
    (unhex(found[1]), unhex(found[2]))
}

/// The reply of a pair.
pub fn reply(name: &str) -> Vec<u8> {
    golden(name).1
}

/// A reply with this payload; `status` 1 means that a transaction is open.
pub fn frame(status: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[..], &[status, 0xff, 0xff, 0xfb], payload].concat()
}

/// An error reply.
pub fn error(status: u8, indicator: i32, code: i32) -> Vec<u8> {
    frame(status, &[&indicator.to_be_bytes()[..], &code.to_be_bytes(), b"\0"].concat())
}

/// The reply to a function that returns nothing but 0.
pub fn done(status: u8) -> Vec<u8> {
    frame(status, &[0; 4])
}

/// The reply to PREPARE of a statement of this type with this number of parameters, and one column of INT if it is 21.
pub fn prepared(handle: i32, statement_type: u8, parameters: i32) -> Vec<u8> {
    let column = "80080000 0000000a 00000002 6100 00000001 00 00000001 00 00 00000001 00 00000000000000";
    let columns = if statement_type == 21 { format!("00000001{column}") } else { "00000000".into() };
    let described = [
        &handle.to_be_bytes()[..],
        &[0xff; 4],
        &[statement_type],
        &parameters.to_be_bytes(),
        &[0],
        &unhex(&columns.replace(' ', "")),
    ];
    frame(1, &described.concat())
}

fn result(count: i32, statement_type: u8) -> Vec<u8> {
    let result =
        [&count.to_be_bytes()[..], &[0], &1i32.to_be_bytes(), &[statement_type], &count.to_be_bytes(), &[0; 16]];
    [&result.concat()[..], &[0], &(-2i32).to_be_bytes()].concat()
}

/// The reply to EXECUTE of an INSERT.
pub fn inserted(status: u8, count: i32) -> Vec<u8> {
    frame(status, &result(count, 20))
}

/// The reply to EXECUTE of a query that the server has found to be a constant without rows.
pub fn empty(status: u8) -> Vec<u8> {
    frame(status, &result(0, 106))
}

fn page(rows: &[(i32, i32)], is_last: bool) -> Vec<u8> {
    let mut page = [&[0; 4][..], &(rows.len() as u32).to_be_bytes()].concat();
    for (position, value) in rows {
        page.extend_from_slice(&position.to_be_bytes());
        page.extend_from_slice(&[0; 8]);
        page.extend_from_slice(&4u32.to_be_bytes());
        page.extend_from_slice(&value.to_be_bytes());
    }
    page.push(is_last.into());
    page
}

/// The reply to EXECUTE of a SELECT of `total` rows, with the first of them.
pub fn selected(status: u8, total: i32, rows: &[(i32, i32)], is_last: bool) -> Vec<u8> {
    frame(status, &[result(total, 21), page(rows, is_last)].concat())
}

/// The reply to EXECUTE of a CALL: an empty cell, and a typed one for each value of a parameter, in hexadecimal.
pub fn called(status: u8, values: &[&str]) -> Vec<u8> {
    let mut page = [&[0; 4][..], &[0, 0, 0, 1], &[0, 0, 0, 1], &[0; 8], &[0xff; 4]].concat();
    for value in values {
        let value = unhex(value);
        let size = if value.is_empty() { -1 } else { value.len() as i32 };
        page.extend_from_slice(&size.to_be_bytes());
        page.extend_from_slice(&value);
    }
    page.push(1);
    frame(status, &[result(1, 24), page].concat())
}

/// The reply to FETCH.
pub fn fetched(status: u8, rows: &[(i32, i32)], is_last: bool) -> Vec<u8> {
    frame(status, &page(rows, is_last))
}

/// The reply to EXECUTE_ARRAY: the number of changed rows, or an error's number.
pub fn array(status: u8, rows: &[i32]) -> Vec<u8> {
    results(status, rows, &[])
}

/// The reply to EXECUTE_BATCH, of INSERTs.
pub fn batch(status: u8, texts: &[i32]) -> Vec<u8> {
    results(status, texts, &[20])
}

fn results(status: u8, rows: &[i32], kind: &[u8]) -> Vec<u8> {
    let mut payload = [&[0; 4][..], &(rows.len() as u32).to_be_bytes()].concat();
    for row in rows {
        payload.extend_from_slice(kind);
        if *row >= 0 {
            payload.extend_from_slice(&row.to_be_bytes());
            payload.extend_from_slice(&[0; 8]);
        } else {
            payload.extend_from_slice(&(-2i32).to_be_bytes());
            payload.extend_from_slice(&row.to_be_bytes());
            payload.extend_from_slice(&[0, 0, 0, 3, b'n', b'o', 0]);
        }
    }
    payload.extend_from_slice(&(-2i32).to_be_bytes());
    frame(status, &payload)
}

fn arguments(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut arguments = Vec::new();
    while let [a, b, c, d, tail @ ..] = rest {
        let (argument, tail) = tail.split_at(u32::from_be_bytes([*a, *b, *c, *d]) as usize);
        arguments.push(argument);
        rest = tail;
    }
    arguments
}

/// The requests of a client after its login: `PREPARE select 1`, `EXECUTE 1 autocommit`, `FETCH 1 from 3`.
pub fn trace(sent: &[u8]) -> Trace {
    Trace::read(sent, |sent| {
        let (length, _) = header(sent).ok()??;
        let payload = sent.get(8..8 + length)?;
        let (function, arguments) = (payload[0], arguments(&payload[1..]));
        let number = |i: usize| i32::from_be_bytes(arguments[i].try_into().unwrap()).to_string();
        let text = |i: usize| String::from_utf8_lossy(arguments[i]).trim_end_matches('\0').to_owned();
        let is = |i: usize, name: &str| if arguments[i] == [1] { format!(" {name}") } else { String::new() };
        let about = match function {
            function::END_TRAN => (if arguments[0] == [1] { "COMMIT" } else { "ROLLBACK" }).into(),
            function::PREPARE => {
                let closed: Vec<String> = (3..arguments.len()).map(number).collect();
                let pinned = match arguments[1] {
                    [0x10] => " pinned",
                    [0x08] => " holdable",
                    [0x40] => " (call)",
                    _ => "",
                };
                let closes = if closed.is_empty() { String::new() } else { format!(" closes {}", closed.join(" ")) };
                text(0) + pinned + &closes
            }
            function::EXECUTE => {
                let all = match arguments[1] {
                    [0x02] => " all",
                    [0x40] => " keys",
                    _ => "",
                };
                let modes = arguments[4].iter().map(|mode| format!(" mode {mode}")).collect::<String>();
                number(0) + all + &modes + &is(5, "fetch") + &is(6, "autocommit")
            }
            function::FETCH => format!("{} from {}", number(0), number(1)),
            function::GET_DB_PARAMETER => number(0),
            function::SET_DB_PARAMETER => format!("{} to {}", number(0), number(1)),
            function::EXECUTE_ARRAY => {
                number(0) + &format!(" {} values", (arguments.len() - 3) / 2) + &is(2, "autocommit")
            }
            function::EXECUTE_BATCH => format!("{} texts", arguments.len() - 2) + &is(0, "autocommit"),
            function::SAVEPOINT => (if arguments[0] == [1] { "set " } else { "to " }).to_owned() + &text(1),
            function::MAKE_OUT_RS => {
                format!("{} of {} bytes", arguments[0][arguments[0].len() - 1], arguments[0].len())
            }
            function::PARAMETER_INFO
            | function::CURSOR_CLOSE
            | function::NEXT_RESULT
            | function::LOB_NEW
            | function::SET_CAS_CHANGE_MODE => number(0),
            function::LOB_READ => format!("{} bytes", number(2)),
            function::LOB_WRITE => format!("{} bytes", arguments[2].len()),
            _ => String::new(),
        };
        let name = function::name(function)?;
        Some((if about.is_empty() { name.to_owned() } else { format!("{name} {about}") }, 8 + length))
    })
}
