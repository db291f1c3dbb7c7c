//! Any bytes as a MySQL server's answers: no panic, no row out of nothing, and whoever waits is told once how it ended.
#![no_main]

#[path = "../../crates/mysql/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Inbox, Outbox};
use headrace_mysql::machine::{Execute, Machine, Options, Request, Road, Rows};
use libfuzzer_sys::fuzz_target;
use support::TestCaller;
use support::value::TestValue;

/// A greeting that offers what the script says, and the OK that ends the login.
fn greeting(mariadb: bool, eof: bool) -> Vec<u8> {
    let version: &[u8] = if mariadb { b"5.5.5-10.11.6-MariaDB" } else { b"8.4.3" };
    let mut low = 0xf7fe_u16 & !0x0800;
    low |= u16::from(!mariadb);
    let high = 0x81ff & !(u16::from(eof) << 8);
    let mut body = [&[10], version, &[0], &[7, 0, 0, 0], b"12345678\0"].concat();
    body.extend_from_slice(&low.to_le_bytes());
    body.extend_from_slice(&[45, 2, 0]);
    body.extend_from_slice(&high.to_le_bytes());
    body.extend_from_slice(&[21, 0, 0, 0, 0, 0, 0]);
    body.extend_from_slice(&u32::from(mariadb).wrapping_mul(0x1c).to_le_bytes());
    body.extend_from_slice(b"901234567890\0mysql_native_password\0");
    let mut out = (body.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(0);
    out.extend_from_slice(&body);
    out.extend_from_slice(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    out
}

/// Packets with the numbers that are due: a fuzzer would take long to find them. The high bit of a length begins the
/// reply to another command.
fn packets(mut data: &[u8]) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1u8);
    while let [len, rest @ ..] = data {
        let body = &rest[..rest.len().min(usize::from(len & 0x7f))];
        data = &rest[body.len()..];
        if len & 0x80 != 0 {
            sequence = 1;
        }
        out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        sequence = sequence.wrapping_add(1);
        out.extend_from_slice(body);
    }
    out
}

fuzz_target!(|data: &[u8]| {
    let Some((script, data)) = data.split_first() else { return };
    let bit = |n: u8| script >> n & 1 == 1;
    let options = Options { user: "u".into(), local_infile: bit(1), multi_statements: true, ..Options::default() };
    let (mut inbox, mut outbox) = (Inbox::new(), Outbox::new());
    let mut machine: Machine<TestCaller> = Machine::new(options, 2).expect("the options are right");
    if !bit(0) {
        inbox.extend(&greeting(bit(2), bit(3)));
        machine.read((), &mut inbox, &mut outbox).expect("a right greeting");
        assert!(machine.is_ready());
    }
    if bit(4) {
        machine.commit_manually();
    }
    let mut told = Vec::new();
    let mut ask = |machine: &mut Machine<TestCaller>, request: Request, batch: Vec<Vec<TestValue>>| {
        let (caller, mine) = TestCaller::new(vec![TestValue::Int(7)], batch);
        told.push(mine);
        machine.enqueue(request, caller)
    };
    let execute = |sql: &str, rows, text, cursor| Request::Execute(Execute { sql: sql.into(), rows, text, cursor });
    let rows = || vec![vec![TestValue::Int(1)], vec![TestValue::Null], vec![TestValue::Int(3)]];
    let atomic = Rows::Batch { road: Road::Auto, atomic: bit(5) };
    let cursor = ask(&mut machine, execute("select ?", Rows::One, bit(6), Some(2)), Vec::new());
    ask(&mut machine, Request::Fetch { cursor, rows: 1 }, Vec::new());
    ask(&mut machine, execute("select ?", Rows::One, bit(6), None), Vec::new());
    let insert = if bit(7) { "insert into t values (?)" } else { "update t set a = ?" };
    ask(&mut machine, execute(insert, atomic, bit(6), None), rows());
    ask(&mut machine, Request::Query { sql: "select 1; load data".into(), infile: bit(1) }, Vec::new());
    ask(&mut machine, Request::CloseCursor { cursor }, Vec::new());
    ask(&mut machine, Request::ResetConnection, Vec::new());
    machine.transmit((), &mut outbox);
    let mut failed = false;
    for block in packets(data).chunks(37) {
        inbox.extend(block);
        if machine.read((), &mut inbox, &mut outbox).is_err() {
            failed = true;
            break;
        }
        machine.transmit((), &mut outbox);
        outbox.take();
    }
    let open = told.iter().filter(|told| told.borrow().end.is_none()).count();
    assert!(failed || machine.queued() >= open, "a caller was forgotten");
    machine.abort((), &Fatal::gone("the end of the input"));
    assert!(told.iter().all(|told| told.borrow().end.is_some()), "a caller was not told");
});
