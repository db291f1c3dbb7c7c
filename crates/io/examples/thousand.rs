//! A thousand connections in one thread, on tokio: a share of them to each database, all of them open at the same time,
//! each with queries of its own.
//!
//!     cargo run -p headrace-io --features tokio --example thousand -- 1000 \
//!         postgres 127.0.0.1:5432 postgres secret postgres "" \
//!         mysql 127.0.0.1:3306 root secret test "" \
//!         informix 127.0.0.1:9088 informix secret stores ol_informix \
//!         cubrid 127.0.0.1:33000 dba secret demodb ""

mod databases;

use databases::{Cubrid, Database, Informix, MySql, Postgres, Target};
use headrace_core::rows::{Datum, Received};
use headrace_core::{Fatal, Outcome};
use headrace_io::tokio::Client;
use headrace_io::{Address, TcpOptions};
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::{JoinSet, LocalSet};

/// Time limit of the whole program.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of connections opened at a time: the queue of connections that a server has not accepted yet is short.
const OPENING: usize = 32;

/// The barrier that all connections wait for.
struct Crowd {
    opening: Semaphore,
    all_are_open: Barrier,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, databases) = arguments.split_first().ok_or("thousand COUNT DATABASE...")?;
    let count: usize = count.parse()?;
    let crowd = Rc::new(Crowd { opening: Semaphore::new(OPENING), all_are_open: Barrier::new(count) });
    let databases: Vec<&[String]> = databases.chunks(6).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    let all = tasks.run_until(async {
        let mut asked = JoinSet::new();
        for number in 0..count {
            let [database, address, user, password, name, server] = databases[number % databases.len()] else {
                return Err("each database has six arguments".into());
            };
            let target = Target {
                address: Address::Tcp(address.parse()?),
                user: user.clone(),
                password: password.clone(),
                database: name.clone(),
                server: server.clone(),
            };
            let (number, crowd) = (number as i64, crowd.clone());
            match database.as_str() {
                "postgres" => asked.spawn_local(visit::<Postgres>(target, "select $1::bigint * 2", number, crowd)),
                "mysql" => asked.spawn_local(visit::<MySql>(target, "select ? * 2", number, crowd)),
                "informix" => {
                    let question = "select ?::bigint * 2 from systables where tabid = 1";
                    asked.spawn_local(visit::<Informix>(target, question, number, crowd))
                }
                "cubrid" => asked.spawn_local(visit::<Cubrid>(target, "select cast(? as bigint) * 2", number, crowd)),
                other => return Err(format!("{other:?} is not one of postgres, mysql, informix, cubrid").into()),
            };
        }
        let mut right = 0;
        while let Some(answered) = asked.join_next().await {
            right += answered??;
        }
        Ok::<usize, Box<dyn Error>>(right)
    });
    let right = runtime.block_on(async { tokio::time::timeout(PATIENCE, all).await })??;
    println!("{count} connections in one thread, {right} right answers");
    Ok(())
}

/// Opens a connection, waits until all are open, sends three queries, and returns how many were answered correctly.
async fn visit<D: Database>(
    target: Target,
    question: &'static str,
    number: i64,
    crowd: Rc<Crowd>,
) -> Result<usize, Fatal> {
    let mut client = {
        let _turn = crowd.opening.acquire().await;
        Client::<D>::open(&target.address, &TcpOptions::default(), D::connection(&target)?, ()).await?
    };
    crowd.all_are_open.wait().await;
    let numbers = [number, number + 1_000_000, -number];
    let replies = numbers.map(|number| D::ask(&mut client.connection, question, vec![Datum::Int(number)]));
    client.drive((), |_| replies.iter().all(|reply| reply.is_over())).await?;
    let mut right = 0;
    for (number, reply) in numbers.into_iter().zip(replies) {
        match reply.take() {
            Some(Received { rows, outcome: Outcome::Done, .. }) if is_double(&rows, number) => right += 1,
            other => eprintln!("{} gave {other:?} for {number}", std::any::type_name::<D>()),
        }
    }
    client.close(());
    Ok(right)
}

fn is_double(rows: &[Vec<Datum>], number: i64) -> bool {
    match rows {
        [row] => match &row[..] {
            [Datum::Int(double)] => *double == number * 2,
            [Datum::Decimal(double)] => double.parse::<f64>().is_ok_and(|double| double == number as f64 * 2.0),
            _ => false,
        },
        _ => false,
    }
}
