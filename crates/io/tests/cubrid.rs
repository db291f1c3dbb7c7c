//! CUBRID's machine on real sockets: with a broker that passes the connection on, and with one that names a port.

#[path = "../../cubrid/tests/support/mod.rs"]
mod support;

#[path = "../../connection/tests/support/mod.rs"]
#[allow(dead_code)]
mod tls;

use headrace_connection::{Connection, TlsSettings};
use headrace_core::{Fatal, FatalKind, Outcome, WriteBuffer};
use headrace_cubrid::machine::{Columns, Execute, Loss, Machine, ParameterRows, Request, SessionOptions};
use headrace_cubrid::messages::server::ServerError;
use headrace_io::blocking::Client;
use headrace_io::rows::{Collector, Datum};
use headrace_io::{Address, TcpOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::session::{greeting, options, resumed};
use support::{done, fetched, prepared, selected, trace};

type CubridMachine = Machine<Collector<Arc<Columns>, ServerError>>;

const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of the first message.
const HELLO: usize = 10;
/// Bytes of the second, with which END_TRAN is sent.
const DB_INFO: usize = 628 + 14;
/// Bytes of both where a session is resumed.
const RESUMED: usize = HELLO + 628;

fn read(stream: &mut impl Read, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Answers each request with the next of the replies, and returns the requests.
fn answer(stream: &mut (impl Read + Write), replies: &[Vec<u8>]) -> Vec<String> {
    let mut requests = Vec::new();
    for reply in replies {
        let header = read(stream, 8);
        let length = u32::from_be_bytes(header[..4].try_into().unwrap()) as usize;
        let request = [header, read(stream, length)].concat();
        requests.extend_from_slice(trace(&request).messages());
        stream.write_all(reply).unwrap();
    }
    requests
}

/// The replies to a SELECT of three rows in two pages, and to CON_CLOSE.
fn replies() -> Vec<Vec<u8>> {
    let first = selected(1, 3, &[(1, 10), (2, 20)], false);
    vec![prepared(1, 21, 1), first, fetched(0, &[(3, 30)], true), done(0)]
}

fn listen() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    (listener, address)
}

fn open(address: &Address, options: &SessionOptions) -> Result<Client<CubridMachine>, Fatal> {
    open_with(address, options, None)
}

fn open_with(
    address: &Address,
    options: &SessionOptions,
    tls: Option<TlsSettings>,
) -> Result<Client<CubridMachine>, Fatal> {
    let mut write_buffer = WriteBuffer::new();
    let machine = Machine::new(options, 16, &mut write_buffer)?;
    let connection = Connection::new(Box::new(machine), write_buffer, tls);
    Client::open(address, &TcpOptions::default(), connection, (), Some(Instant::now() + PATIENCE))
}

/// Executes a SELECT, and returns its rows.
fn select(client: &mut Client<CubridMachine>) -> Result<Vec<Vec<Datum>>, Fatal> {
    let (collector, reply) = Collector::new(vec![Datum::Int(0)]);
    let request =
        Execute { facts: None, sql: "select a from t where a > ?".into(), rows: ParameterRows::One, begin: false };
    headrace_core::Protocol::submit(&mut *client.connection.machine, Request::Execute(request), collector);
    client.drive((), Some(Instant::now() + PATIENCE), |_| reply.is_over())?;
    let received = reply.take().expect("an answer in time");
    assert!(matches!(received.outcome, Outcome::Done), "{:?}", received.outcome);
    Ok(received.rows)
}

fn rows() -> Vec<Vec<Datum>> {
    [10, 20, 30].map(|number| vec![Datum::Int(number)]).to_vec()
}

const REQUESTS: [&str; 4] =
    ["PREPARE select a from t where a > ?", "EXECUTE 1 fetch autocommit", "FETCH 1 from 3", "CON_CLOSE"];

#[test]
fn a_session_is_opened_in_one_round_trip_used_and_closed() {
    let (listener, address) = listen();
    let server: JoinHandle<Vec<String>> = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        // Nothing is answered before both messages have come.
        read(&mut stream, HELLO + DB_INFO);
        stream.write_all(&greeting()).unwrap();
        answer(&mut stream, &replies())
    });
    let mut client = open(&address, &options()).unwrap();
    assert_eq!(select(&mut client).unwrap(), rows());
    client.close(());
    assert_eq!(server.join().unwrap(), REQUESTS);
}

#[test]
fn tls_begins_after_the_first_message() {
    let (listener, address) = listen();
    let tls::Server { tls: mut session, pem, .. } = tls::Server::new();
    let server = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        assert!(read(&mut stream, HELLO).starts_with(b"CUBRS"));
        stream.write_all(&[0; 4]).unwrap();
        let mut stream = rustls::Stream::new(&mut session, &mut stream);
        read(&mut stream, DB_INFO);
        stream.write_all(&greeting()[4..]).unwrap();
        answer(&mut stream, &replies())
    });
    let options = SessionOptions { tls: true, ..options() };
    let mut client = open_with(&address, &options, Some(tls::trusting(&pem))).unwrap();
    assert_eq!(select(&mut client).unwrap(), rows());
    client.close(());
    assert_eq!(server.join().unwrap(), REQUESTS);
    // Without settings for TLS there is no connection.
    let (listener, address) = listen();
    thread::spawn(move || listener.accept().unwrap().0.write_all(&[0; 4]));
    assert_eq!(open(&address, &options).unwrap_err().kind, FatalKind::UnusableSetting);
}

#[test]
fn a_broker_that_names_a_port_is_followed_to_it() {
    let ((broker, address), (cas, at)) = (listen(), listen());
    let Address::Tcp(at) = at else { panic!("a TCP address") };
    let server = thread::spawn(move || {
        let mut stream = broker.accept().unwrap().0;
        read(&mut stream, HELLO);
        stream.write_all(&i32::from(at.port()).to_be_bytes()).unwrap();
        drop(stream);
        let mut stream = cas.accept().unwrap().0;
        read(&mut stream, DB_INFO);
        stream.write_all(&greeting()[4..]).unwrap();
        answer(&mut stream, &replies())
    });
    let options = SessionOptions { host: "127.0.0.1".into(), sends_ahead: false, ..options() };
    let mut client = open(&address, &options).unwrap();
    assert_eq!(select(&mut client).unwrap(), rows());
    client.close(());
    assert_eq!(server.join().unwrap(), REQUESTS);
}

#[test]
fn a_connection_that_the_broker_takes_away_is_recognised() {
    let (listener, address) = listen();
    let server = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        read(&mut stream, HELLO + DB_INFO);
        stream.write_all(&greeting()).unwrap();
        answer(&mut stream, &replies()[..3]);
    });
    let mut client = open(&address, &options()).unwrap();
    assert_eq!(select(&mut client).unwrap(), rows());
    server.join().unwrap();
    let lost = select(&mut client).unwrap_err();
    assert_eq!((lost.kind, client.connection.machine.loss()), (FatalKind::ConnectionLost, Some(Loss::Released)));
}

/// A session that goes on within this time, and whose broker has taken its process away. Each further connection to it
/// is one of `talks`.
fn taken<T: Send + 'static>(
    within: Duration,
    talks: Vec<fn(TcpStream) -> T>,
) -> (Client<CubridMachine>, JoinHandle<Vec<T>>) {
    let (listener, address) = listen();
    let Address::Tcp(at) = address else { panic!("a TCP address") };
    let (gone, is_gone) = mpsc::channel();
    let server = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        read(&mut stream, HELLO + DB_INFO);
        stream.write_all(&greeting()).unwrap();
        answer(&mut stream, &replies()[..3]);
        drop(stream);
        gone.send(()).unwrap();
        talks.into_iter().map(|talk| talk(listener.accept().unwrap().0)).collect()
    });
    let options = SessionOptions { host: "127.0.0.1".into(), port: at.port(), ..options() };
    let mut client = open(&address, &options).unwrap();
    client.resume_when_lost(&TcpOptions::default(), Some(within));
    assert_eq!(select(&mut client).unwrap(), rows());
    is_gone.recv().unwrap();
    (client, server)
}

#[test]
fn a_process_that_does_not_know_the_session_is_left_for_the_next() {
    let stranger = |mut stream: TcpStream| {
        read(&mut stream, RESUMED);
        let mut another = resumed();
        another[36] ^= 1;
        stream.write_all(&another).unwrap();
        Vec::new()
    };
    let own = |mut stream: TcpStream| {
        read(&mut stream, RESUMED);
        stream.write_all(&resumed()).unwrap();
        answer(&mut stream, &replies())
    };
    let (mut client, server) = taken(PATIENCE, vec![stranger, own]);
    assert_eq!(select(&mut client).unwrap(), rows());
    client.close(());
    assert_eq!(server.join().unwrap()[1], REQUESTS);
}

#[test]
fn a_session_that_is_not_opened_again_in_time_ends() {
    let silent = |mut stream: TcpStream| stream.read_to_end(&mut Vec::new()).unwrap();
    let (mut client, server) = taken(Duration::from_millis(50), vec![silent]);
    let late = select(&mut client).unwrap_err();
    assert_eq!(late.kind, FatalKind::ConnectFailed, "{late:?}");
    drop(client);
    server.join().unwrap();
}
