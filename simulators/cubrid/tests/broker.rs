//! What the broker does with its CAS: it takes them from clients outside of a transaction, and cancels what runs.

use crate::support::{Client, bytes, start};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

fn service(address: SocketAddr, request: &[u8]) -> i32 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = [0u8; 4];
    stream.read_exact(&mut answer).unwrap();
    i32::from_be_bytes(answer)
}

fn code(reply: &[u8]) -> i32 {
    i32::from_be_bytes(reply[12..16].try_into().unwrap())
}

#[test]
fn a_cas_outside_of_a_transaction_is_taken_and_its_session_comes_back() {
    let (address, _folder) = start("release", |config| config.workers = 1);
    let mut first = Client::connect(address);
    first.sql("SET @kept = 5");
    first.run(1, &[&[1]]);
    let session = first.session;
    let mut second = Client::connect(address);
    assert_eq!(first.stream.read(&mut [0; 1]).unwrap_or(0), 0, "the first client is closed without a word");
    assert_eq!(second.pid, first.pid);
    second.run(1, &[&[1]]);
    let mut again = Client::resume(address, session);
    assert_eq!(again.session, session);
    let handle = again.prepare("SELECT @kept");
    again.execute(handle, 0, &[]);
    let page = again.run(8, &[&[0, 0, 0, handle], &1i32.to_be_bytes(), &[0, 0, 0, 100], &[0], &[0; 4]]);
    assert_eq!(page[page.len() - 5..], [0, 0, 0, 5, 1]);
    drop(second);
}

#[test]
fn a_cas_in_a_transaction_or_in_mode_keep_is_not_taken() {
    for what in ["connected", "transaction", "keep"] {
        let (address, _folder) = start(what, |config| config.workers = 1);
        let mut first = Client::connect(address);
        match what {
            "connected" => {}
            "transaction" => first.sql("SELECT 1"),
            _ => {
                first.run(1, &[&[1]]);
                first.run(44, &[&2i32.to_be_bytes()]);
            }
        }
        let newcomer = thread::spawn(move || Client::connect(address));
        thread::sleep(Duration::from_millis(100));
        assert!(!newcomer.is_finished(), "{what}");
        // The mode is answered with the one before.
        let reply = first.run(44, &[&1i32.to_be_bytes()]);
        assert_eq!(reply[15], if what == "keep" { 2 } else { 1 });
        if what != "keep" {
            first.run(1, &[&[2]]);
        }
        newcomer.join().unwrap();
    }
}

#[test]
fn a_request_to_a_cas_that_was_taken_does_not_run() {
    let (address, _folder) = start("taken", |config| config.workers = 1);
    let mut first = Client::connect(address);
    first.sql("CREATE TABLE t (n INT)");
    first.run(1, &[&[1]]);
    let mut second = Client::connect(address);
    // The first client does not know yet; its request is never answered, and never done.
    let batch =
        bytes("0000003000ffffff14000000010100000004000000000000001a494e5345525420494e544f20742056414c5545532028312900");
    let _ = first.stream.write_all(&batch);
    assert_eq!(first.stream.read(&mut [0; 1]).unwrap_or(0), 0);
    let handle = second.prepare("SELECT COUNT(*) FROM t");
    second.execute(handle, 0, &[]);
    let page = second.run(8, &[&[0, 0, 0, handle], &1i32.to_be_bytes(), &[0, 0, 0, 100], &[0], &[0; 4]]);
    assert_eq!(page[page.len() - 9..], [0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn what_runs_is_cancelled_by_the_process_id_and_by_its_timeout() {
    let (address, _folder) = start("cancel", |_| {});
    let mut client = Client::connect(address);
    let handle = client.prepare("SELECT SLEEP(20)");
    let pid = client.pid;
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        let mut request = b"X1\x4c\xc0\0\0".to_vec();
        request.extend(pid.to_be_bytes());
        service(address, &request)
    });
    let zero = [0u8; 4];
    let number = [0, 0, 0, handle];
    let started = Instant::now();
    let arguments = |timeout: &'static [u8]| -> Vec<&[u8]> {
        vec![&number, &[0], &zero, &zero, &[], &[1], &[0], &[1], &[0; 8], timeout]
    };
    let reply = client.request(3, &arguments(&[0; 4]));
    assert_eq!(code(&reply), -4);
    assert_eq!(canceller.join().unwrap(), 0);
    let reply = client.request(3, &arguments(&[0, 0, 0, 100]));
    assert_eq!(code(&reply), -4);
    assert!(started.elapsed() < Duration::from_secs(10));
    // The connection goes on.
    client.sql("SELECT 1");
}

#[test]
fn a_windows_broker_answers_with_a_port() {
    let (address, _folder) = start("port", |config| config.port_answer = true);
    let port = service(address, &bytes("435542524b014cc00000"));
    let stream = TcpStream::connect((address.ip(), u16::try_from(port).unwrap())).unwrap();
    Client::log_in(stream, [0; 20]).sql("SELECT 1");
}

#[test]
fn a_client_without_the_flag_gets_the_old_numbers() {
    let (address, _folder) = start("numbers", |_| {});
    assert_eq!(service(address, &bytes("435542524b094c000000")), -1018);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&bytes("435542524b014c000000")).unwrap();
    stream.read_exact(&mut [0; 4]).unwrap();
    let mut client = Client::log_in(stream, [0; 20]);
    assert_eq!(code(&client.request(8, &[&[0, 0, 0, 9], &[0; 4]])), -1006);
}

#[test]
fn hooks_of_a_session_fail_on_purpose() {
    let (address, _folder) = start("hooks", |_| {});
    let mut client = Client::connect(address);
    let handle = client.prepare("SELECT 1");
    let number = [0, 0, 0, handle];
    let zero = [0u8; 4];
    let arguments: Vec<&[u8]> = vec![&number, &[0], &zero, &zero, &[], &[1], &[0], &[1], &[0; 8], &zero];
    client.sql("SET SYSTEM PARAMETERS 'headrace_again=1'");
    assert_eq!(code(&client.request(3, &arguments)), -10024);
    client.sql("SET SYSTEM PARAMETERS 'headrace_deadlock=1'");
    assert_eq!(code(&client.request(3, &arguments)), -72);
    client.run(3, &arguments);
    let release = client.prepare("SET SYSTEM PARAMETERS 'headrace_release=1'");
    client.execute(release, 0, &[]);
    let _ = client.stream.write_all(&bytes("0000000100ffffff26"));
    assert_eq!(client.stream.read(&mut [0; 1]).unwrap_or(0), 0);
}
