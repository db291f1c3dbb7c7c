//! A program without Python: connects to a database, runs a query, cancels a statement that takes too long and waits for
//! its end, cancels another one without waiting, runs another query, and closes.
//!
//!     cargo run -p headrace-io --example session -- postgres 127.0.0.1:5432 postgres secret postgres
//!     cargo run -p headrace-io --example session -- mysql 127.0.0.1:3306 root secret test
//!     cargo run -p headrace-io --example session -- informix 127.0.0.1:9088 informix secret stores ol_informix
//!     cargo run -p headrace-io --example session -- cubrid 127.0.0.1:33000 dba secret demodb
//!
//! The protocol is a type that does not depend on a socket; `databases` has the differences between them.
//! `Connection` adds buffers and optional TLS, and `Client` is the loop that moves their bytes while this thread waits.

mod databases;

use databases::{Cubrid, Database, Informix, MySql, Postgres, Target};
use headrace_core::rows::{Datum, Received, Reply};
use headrace_core::{Cancellation, Diagnostics, Discarded, Fatal, Interrupt, Left, Outcome};
use headrace_io::blocking::{Client, cancel};
use headrace_io::{Address, TcpOptions};
use std::time::{Duration, Instant};

/// Time limit of opening a session, and of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time in which a statement that is slow has begun, and not ended.
const SHORT: Duration = Duration::from_millis(300);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, address, user, password, name, rest @ ..] = &arguments[..] else {
        return Err("session postgres|mysql|informix|cubrid ADDRESS:PORT USER PASSWORD DATABASE [DBSERVERNAME]".into());
    };
    let target = Target {
        address: Address::Tcp(address.parse()?),
        user: user.clone(),
        password: password.clone(),
        database: name.clone(),
        server: rest.first().cloned().unwrap_or_default(),
    };
    match database.as_str() {
        "postgres" => visit::<Postgres>(&target, "select $1 || ' from headrace', 6 * 7", "select pg_sleep(60)")?,
        "mysql" => {
            let slow = "select count(*) from information_schema.columns a, information_schema.columns b, \
                        information_schema.columns c where a.table_name > concat(b.table_name, c.table_name)";
            visit::<MySql>(&target, "select concat(?, ' from headrace'), 6 * 7", slow)?;
        }
        "informix" => {
            let greeting = "select ? || ' from headrace', 6 * 7 from systables where tabid = 1";
            let slow = "select count(*) from syscolumns a, syscolumns b, syscolumns c, syscolumns d \
                        where a.colno + b.colno + c.colno + d.colno = 7";
            visit::<Informix>(&target, greeting, slow)?;
        }
        "cubrid" => {
            let slow = "select count(*) from db_attribute a, db_attribute b, db_attribute c, db_attribute d \
                        where a.def_order + b.def_order + c.def_order + d.def_order = 7";
            visit::<Cubrid>(&target, "select ? || ' from headrace', 6 * 7", slow)?;
        }
        other => return Err(format!("{other:?} is not one of postgres, mysql, informix, cubrid").into()),
    }
    Ok(())
}

fn visit<D: Database>(target: &Target, greeting: &str, slow: &str) -> Result<(), Fatal> {
    let mut client = open::<D>(target)?;
    println!("connected, process {}", client.connection.machine.process_id());

    // Both are sent before the first is answered.
    let first = D::ask(&mut client.connection, greeting, vec![Datum::Text("one".into())]);
    let second = D::ask(&mut client.connection, greeting, vec![Datum::Text("two".into())]);
    for reply in [first, second] {
        println!("answered: {:?}", rows(wait(&mut client, &reply, PATIENCE)?));
    }

    let awaited = D::ask(&mut client.connection, slow, Vec::new());
    if wait(&mut client, &awaited, SHORT)?.is_none() {
        stop(&mut client, target)?;
        match wait(&mut client, &awaited, PATIENCE)?.map(|received| received.outcome) {
            Some(Outcome::Server { error, .. }) => {
                println!("cancelled: {:?} error: {}", error.class(), error.message())
            }
            other => println!("not cancelled: {other:?}"),
        }
    }

    let abandoned = D::ask(&mut client.connection, slow, Vec::new());
    if wait(&mut client, &abandoned, SHORT)?.is_none() {
        println!("left: {}", leave::<D>(&mut client, target)?);
    }

    let again = D::ask(&mut client.connection, greeting, vec![Datum::Text("after".into())]);
    println!("answered: {:?}", rows(wait(&mut client, &again, PATIENCE)?));
    client.close(());
    println!("closed");
    Ok(())
}

fn open<D: Database>(target: &Target) -> Result<Client<D>, Fatal> {
    let connection = D::connection(target)?;
    Client::open(&target.address, &TcpOptions::default(), connection, (), Some(Instant::now() + PATIENCE))
}

/// Waits for a reply; `None` if it takes longer.
fn wait<D: Database>(
    client: &mut Client<D>,
    reply: &Reply<D::Error>,
    patience: Duration,
) -> Result<Option<Received<D::Error>>, Fatal> {
    client.drive((), Some(Instant::now() + patience), |_| reply.is_over())?;
    Ok(reply.take())
}

/// Cancels the running statement in the way that its protocol has. Its reply still comes, most often an error. Nothing else is
/// started meanwhile: a cancel request that arrives late would hit the next statement.
fn stop<D: Database>(client: &mut Client<D>, target: &Target) -> Result<(), Fatal> {
    client.connection.machine.pause();
    let sent = send_cancel(client, target);
    client.connection.machine.cancel_sent();
    client.connection.machine.unpause();
    sent
}

/// Cancels the running statement without waiting for its end, in which nobody is interested any more: the next statement is
/// sent after it. Returns true if it was cancelled.
fn leave<D: Database>(client: &mut Client<D>, target: &Target) -> Result<bool, Fatal> {
    let machine = &mut client.connection.machine;
    let Some(id) = machine.find(|_| true) else { return Ok(false) };
    if machine.abandon(id) != Discarded::Alone {
        return Ok(false);
    }
    let sent = send_cancel(client, target);
    client.connection.machine.leave_cancelled(Left { request: Some(id), until: Instant::now() + PATIENCE });
    sent.map(|()| true)
}

fn send_cancel<D: Database>(client: &mut Client<D>, target: &Target) -> Result<(), Fatal> {
    let deadline = Some(Instant::now() + PATIENCE);
    match client.connection.machine.cancellation() {
        Cancellation::Message(message) => cancel(&target.address, &TcpOptions::default(), message, deadline),
        Cancellation::Statement(statement) => {
            let mut other = open::<D>(target)?;
            let reply = D::ask(&mut other.connection, &statement, Vec::new());
            wait(&mut other, &reply, PATIENCE)?;
            other.close(());
            Ok(())
        }
        Cancellation::UrgentByte(byte) => {
            if client.connection.machine.interrupt(Instant::now()) == Interrupt::Send {
                client.link().hangup().urge(byte).map_err(|error| Fatal::gone(error.to_string()))?;
            }
            Ok(())
        }
        Cancellation::Impossible => Ok(()),
    }
}

fn rows<E: std::fmt::Debug>(received: Option<Received<E>>) -> Result<Vec<Vec<Datum>>, String> {
    match received {
        Some(Received { rows, outcome: Outcome::Done, .. }) => Ok(rows),
        Some(received) => Err(format!("{:?}", received.outcome)),
        None => Err("no answer in time".into()),
    }
}
