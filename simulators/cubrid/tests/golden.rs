//! Requests that were sent to a genuine CUBRID 11.3, and its replies: this server answers with the same bytes, except
//! for what names a page, a file or a process.

use crate::support::{Client, bytes, start};
use std::io::{Read, Write};
use std::net::TcpStream;

fn vectors() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    include_str!("golden.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut parts = line.split('\t');
            let name = parts.next().unwrap().to_owned();
            (name, bytes(parts.next().unwrap()), bytes(parts.next().unwrap()))
        })
        .collect()
}

/// What the file lacks: the statements of executions whose PREPARE was not captured.
const STATEMENTS: [(&str, &str); 6] = [
    ("val_int_execute", "SELECT CAST(1234567 AS INT)"),
    ("val_numeric_execute", "SELECT CAST(-123.45 AS NUMERIC(10,4))"),
    ("val_varchar_execute", "SELECT CAST('ab' AS VARCHAR(10))"),
    ("val_varbit_execute", "SELECT CAST(X'ABCD' AS BIT VARYING(100))"),
    ("val_varbit_empty_execute", "SELECT CAST(X'' AS BIT VARYING(16))"),
    ("val_sequence_empty_execute", "SELECT CAST({} AS SEQUENCE(INT))"),
];

/// The requests around the captured ones, which bring the connection into the state that it was in.
fn before(client: &mut Client, name: &str) {
    match name {
        "insert_prepare" => {
            client.close(1);
            client.sql("CREATE TABLE cp_gold (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), d DOUBLE)");
            client.run(1, &[&[1]]);
        }
        "last_insert_id" => client.execute(1, 0x40, &[&[2], b"x\0", &[12], &0.5f64.to_be_bytes()]),
        "execute_few_binds" => {
            for id in [101u32, 102] {
                client.execute(2, 0, &[&[8], &id.to_be_bytes()]);
            }
        }
        "savepoint_rollback" => {
            client.run(26, &[&[1], b"sp1\0"]);
        }
        "pages_execute" => assert_eq!(client.prepare("SELECT id FROM cp_gold ORDER BY id"), 5),
        "bind_null" => {
            client.close(1);
            assert_eq!(client.prepare("SELECT ?"), 1);
        }
        _ => {}
    }
    if name.starts_with("val_") {
        let own = STATEMENTS.iter().find(|(known, _)| *known == name);
        if let Some((_, sql)) = own {
            client.close(1);
            assert_eq!(client.prepare(sql), 1);
        } else if name.ends_with("_prepare") {
            client.close(1);
        }
    }
}

/// A reply without what names a page or a row.
fn masked(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply).into_owned();
    let Some((head, rest)) = text.split_once("Operation would have caused") else { return text };
    let (message, tail) = rest.split_once('\0').unwrap();
    let kept: Vec<&str> = message
        .split(['(', ')'])
        .filter(|part| !["B+tree", "CLASS_OID", "OID:"].iter().any(|name| part.starts_with(name)))
        .collect();
    // The lengths before the text count the masked digits, too.
    let head: String = head.chars().skip(4).collect();
    let head: String = head.chars().take(head.chars().count() - 1).collect();
    format!("{head}{}{tail}", kept.join(""))
}

const LOGINS: [&str; 10] = [
    "hello_plain",
    "login_bad_db",
    "login_bad_user",
    "login_bad_password",
    "ping",
    "bad_magic_client_type",
    "ssl_on_plain",
    "cancel_x1_unknown_pid",
    "health_check",
    "bad_function",
];

#[test]
fn requests_of_a_connection_are_answered_as_a_genuine_server_answers_them() {
    let (address, _folder) = start("golden", |_| {});
    let mut client = Client::connect(address);
    // The first requests were captured in a transaction.
    client.run(32, &[]);
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, request, expected) in vectors() {
        if LOGINS.contains(&name.as_str()) || name.starts_with("lob_") {
            continue;
        }
        if name == "select1_prepare" {
            client.run(32, &[]);
        }
        before(&mut client, &name);
        let reply = client.ask(&request);
        if masked(&reply) != masked(&expected) {
            let shown = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            wrong.push(format!("{name}:\n  {}\n  {}", shown(&reply), shown(&expected)));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ, ours first:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(count, 108);
}

#[test]
fn connecting_is_answered_as_a_genuine_broker_answers_it() {
    let (address, _folder) = start("login", |_| {});
    for (name, request, expected) in vectors() {
        if !LOGINS.contains(&name.as_str()) || name == "bad_function" {
            continue;
        }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&request).unwrap();
        let mut reply = vec![0u8; expected.len()];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply, expected, "{name}");
        // A broker that goes on waits for more; all others close.
        if name != "hello_plain" {
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "{name}");
        }
    }
    let (_, request, expected) = vectors().into_iter().find(|(name, ..)| name == "bad_function").unwrap();
    let mut client = Client::connect(address);
    assert_eq!(client.ask(&request), expected);
    assert_eq!(client.stream.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_large_object_grows_at_its_end_and_is_read_in_pieces() {
    let (address, _folder) = start("lobs", |_| {});
    let mut client = Client::connect(address);
    let (_, request, expected) = vectors().into_iter().find(|(name, ..)| name == "lob_new").unwrap();
    let reply = client.ask(&request);
    // Status, type and size are the same; the name of the file is not.
    assert_eq!(reply[4..8], expected[4..8]);
    assert_eq!(reply[12..24], expected[12..24]);
    let mut handle = reply[12..].to_vec();
    let data = vec![7u8; 100_000];
    let written = client.run(36, &[&handle, &0i64.to_be_bytes(), &data]);
    assert_eq!(written[8..12], 100_000u32.to_be_bytes());
    handle[4..12].copy_from_slice(&100_000i64.to_be_bytes());
    let read = client.run(37, &[&handle, &0i64.to_be_bytes(), &100_000i32.to_be_bytes()]);
    assert_eq!(read[8..12], 81_908u32.to_be_bytes());
    let end = client.run(37, &[&handle, &100_000i64.to_be_bytes(), &10i32.to_be_bytes()]);
    let (_, _, expected) = vectors().into_iter().find(|(name, ..)| name == "lob_read_eof").unwrap();
    assert_eq!(end[8..], expected[8..]);
}
