//! A program without Python: connects to a database, runs a query, cancels a statement that takes too long and waits for
//! its end, cancels another one without waiting, runs another query, and closes.
//!
//!     cargo run -p headrace-io --example session -- postgresql://postgres:secret@localhost/postgres \
//!         "select $1 || ' from headrace', 6 * 7" "select pg_sleep(60)"
//!
//! The protocol is a type that does not depend on a socket; `headrace-drivers` has the databases, and what is needed to
//! open a session of each. `Connection` adds buffers and optional TLS, and `Client` is the loop that moves their bytes
//! while this thread waits.

mod connecting;

use connecting::{Machine, Target, ask};
use headrace_core::{CancelledRequest, Diagnostics, Discarded, Fatal, FatalKind, Outcome, Protocol as _, Session as _};
use headrace_drivers::{Database, Visitor};
use headrace_io::blocking::Client;
use headrace_io::rows::{Datum, Received, Reply};
use headrace_io::{CancelSent, TcpOptions};
use std::time::{Duration, Instant};

/// Time limit of opening a session, and of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time in which a statement that is slow has begun, and not ended.
const SHORT: Duration = Duration::from_millis(300);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, greeting, slow] = &arguments[..] else {
        return Err(
            "session URL GREETING SLOW: a query with a text as parameter, and a statement that takes long".into()
        );
    };
    let target = Target::of_url(url)?;
    Ok(target.settings.driver.visit(Visit { target: &target, greeting, slow })?)
}

/// The program, for any database.
struct Visit<'a> {
    target: &'a Target,
    greeting: &'a str,
    slow: &'a str,
}

impl Visitor for Visit<'_> {
    type Output = Result<(), Fatal>;

    fn visit<D: Database>(self) -> Result<(), Fatal> {
        visit::<D>(self.target, self.greeting, self.slow)
    }
}

fn visit<D: Database>(target: &Target, greeting: &str, slow: &str) -> Result<(), Fatal> {
    let mut client = open::<D>(target)?;
    println!("connected, process {}", client.connection.machine.process_id());

    // Both are sent before the first is answered.
    let first = ask::<D>(&mut client.connection, greeting, vec![Datum::Text("one".into())]);
    let second = ask::<D>(&mut client.connection, greeting, vec![Datum::Text("two".into())]);
    for reply in [first, second] {
        println!("answered: {:?}", rows(wait::<D>(&mut client, &reply, PATIENCE)?));
    }

    let awaited = ask::<D>(&mut client.connection, slow, Vec::new());
    if wait::<D>(&mut client, &awaited, SHORT)?.is_none() {
        stop::<D>(&mut client, target)?;
        match wait::<D>(&mut client, &awaited, PATIENCE)?.map(|received| received.outcome) {
            Some(Outcome::Server { error, .. }) => {
                println!("cancelled: {:?} error: {}", error.class(), error.message())
            }
            other => println!("not cancelled: {other:?}"),
        }
    }

    let abandoned = ask::<D>(&mut client.connection, slow, Vec::new());
    if wait::<D>(&mut client, &abandoned, SHORT)?.is_none() {
        println!("left: {}", leave::<D>(&mut client, target)?);
    }

    let again = ask::<D>(&mut client.connection, greeting, vec![Datum::Text("after".into())]);
    println!("answered: {:?}", rows(wait::<D>(&mut client, &again, PATIENCE)?));
    client.close(());
    println!("closed");
    Ok(())
}

fn open<D: Database>(target: &Target) -> Result<Client<Machine<D>>, Fatal> {
    let connection =
        target.connection::<D>().map_err(|error| Fatal::new(FatalKind::UnusableSetting, error.to_string()))?;
    Client::open(&target.address, &TcpOptions::default(), connection, (), Some(Instant::now() + PATIENCE))
}

/// Waits for a reply; `None` if it takes longer.
fn wait<D: Database>(
    client: &mut Client<Machine<D>>,
    reply: &Reply<D::Error>,
    patience: Duration,
) -> Result<Option<Received<D::Error>>, Fatal> {
    client.drive((), Some(Instant::now() + patience), |_| reply.is_over())?;
    Ok(reply.take())
}

/// Cancels the running statement in the way that its protocol has. Its reply still comes, most often an error. Nothing else is
/// started meanwhile: a cancel request that arrives late would hit the next statement.
fn stop<D: Database>(client: &mut Client<Machine<D>>, target: &Target) -> Result<(), Fatal> {
    client.connection.machine.pause();
    let sent = send_cancel::<D>(client, target);
    client.connection.machine.cancel_sent();
    client.connection.machine.unpause();
    sent
}

/// Cancels the running statement without waiting for its end, in which nobody is interested any more: the next statement is
/// sent after it. Returns true if it was cancelled.
fn leave<D: Database>(client: &mut Client<Machine<D>>, target: &Target) -> Result<bool, Fatal> {
    let machine = &mut client.connection.machine;
    let Some(id) = machine.find(|_| true) else { return Ok(false) };
    if machine.abandon(id) != Discarded::Alone {
        return Ok(false);
    }
    let sent = send_cancel::<D>(client, target);
    client.connection.machine.leave_cancelled(CancelledRequest { request: Some(id), until: Instant::now() + PATIENCE });
    sent.map(|()| true)
}

fn send_cancel<D: Database>(client: &mut Client<Machine<D>>, target: &Target) -> Result<(), Fatal> {
    let deadline = Some(Instant::now() + PATIENCE);
    if let CancelSent::Statement(statement) = client.send_cancel(&target.address, &TcpOptions::default(), deadline)? {
        let mut other = open::<D>(target)?;
        let number = other.connection.machine.process_id();
        let mut answer = |sql: &str| {
            let reply = ask::<D>(&mut other.connection, sql, Vec::new());
            wait::<D>(&mut other, &reply, PATIENCE)
        };
        let question = statement.question(number);
        let rows = question.map(|question| answer(&question)).transpose()?.flatten().map(|answered| answered.rows);
        // With one, it would reach another server.
        if rows.is_none_or(|rows| rows.is_empty()) {
            answer(&statement.sql)?;
        }
        other.close(());
    }
    Ok(())
}

fn rows<E: std::fmt::Debug>(received: Option<Received<E>>) -> Result<Vec<Vec<Datum>>, String> {
    match received {
        Some(Received { rows, outcome: Outcome::Done, .. }) => Ok(rows),
        Some(received) => Err(format!("{:?}", received.outcome)),
        None => Err("no answer in time".into()),
    }
}
