//! A database that no crate is about: it is written as ARCHITECTURE.md, "One database more", has it, and not a line of
//! the engine is about it.
//!
//! Its server greets with a line. A statement is a line, and so is each part of the answer: `C` and the name of the only
//! column, `R` and a value for each row, `.` at the end; or `E` and an error.

mod driver;
mod machine;

use driver::{DRIVER, Toy};
use headrace_core::{Diagnostics, Outcome, Protocol as _, Session as _};
use headrace_drivers::{Database, Encryption, Login, Parts, Product, Repeats, Settings};
use headrace_io::blocking::Client;
use headrace_io::rows::{Collector, Datum, Received};
use headrace_io::{Address, TcpOptions};
use machine::{Columns, ServerError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What is awaited comes at once; this only ends a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server for one client, which returns the statements of that client when it has left.
fn server() -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HELLO toy\n").unwrap();
        let mut asked = Vec::new();
        for line in BufReader::new(socket.try_clone().unwrap()).lines() {
            let statement = line.unwrap();
            let answer: &[u8] = match statement.as_str() {
                "select n from t" => b"C n\nR one\nR two\n.\n",
                "BYE" => break,
                _ => b"E there is one query, and this is another\n",
            };
            socket.write_all(answer).unwrap();
            asked.push(statement);
        }
        asked
    });
    (address, served)
}

type Machine = <Toy as Database>::Machine<Collector<Columns, ServerError>>;

fn open(url: &str, address: SocketAddr) -> Client<Machine> {
    let mut settings = Settings::new(&DRIVER, Product::Adbc);
    for (name, value) in Parts::parse(url).unwrap().pairs {
        settings.set(&name, value).unwrap();
    }
    let place = settings.places().unwrap().swap_remove(0);
    let login = Login {
        settings: &settings,
        host: &place.host,
        port: place.port,
        is_local: false,
        user: settings.text("user").unwrap_or_default(),
        password: None,
        database: settings.text(Toy::DRIVER.database_setting()),
        encryption: &Encryption::No,
        program: "toy",
        statements: 0,
    };
    let connection = Toy::connection(&login).unwrap();
    let deadline = Some(Instant::now() + PATIENCE);
    Client::open(&Address::Tcp(address), &TcpOptions::default(), connection, (), deadline).unwrap()
}

fn ask(client: &mut Client<Machine>, statements: &[&str]) -> Vec<Received<ServerError>> {
    let replies: Vec<_> = statements
        .iter()
        .map(|sql| {
            let (collector, reply) = Collector::new(Vec::new());
            client.connection.machine.submit(Toy::execute((*sql).into(), Repeats::Often), collector);
            reply
        })
        .collect();
    let is_over = |_: &mut _| replies.iter().all(|reply| reply.is_over());
    client.drive((), Some(Instant::now() + PATIENCE), is_over).unwrap();
    replies.iter().map(|reply| reply.take().unwrap()).collect()
}

#[test]
fn a_fifth_database_answers_a_query() {
    let (address, served) = server();
    let mut client = open(&format!("toy://me@127.0.0.1:{}/things", address.port()), address);
    let answers = ask(&mut client, &["select n from t", "select m from t", "select n from t"]);
    for answer in [&answers[0], &answers[2]] {
        let text = |text: &str| vec![Datum::Text(text.to_owned())];
        assert_eq!(answer.rows, [text("one"), text("two")]);
        assert_eq!(&*answer.columns[0].name, "n");
        assert!(matches!(answer.outcome, Outcome::Done));
    }
    let Outcome::Server { error, .. } = &answers[1].outcome else { panic!("{:?}", answers[1].outcome) };
    assert_eq!(error.message(), "there is one query, and this is another");
    assert!(client.connection.machine.is_idle());
    client.close(());
    assert_eq!(served.join().unwrap(), ["select n from t", "select m from t", "select n from t"]);
}
