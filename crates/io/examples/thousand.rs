//! A thousand connections in one thread, on tokio: a share of them to each database, all of them open at the same time,
//! each with queries of its own.
//!
//!     cargo run -p headrace-io --features tokio --example thousand -- 1000 \
//!         postgresql://postgres:secret@localhost/postgres 'select $1::bigint * 2' \
//!         mysql://root:secret@localhost/test 'select ? * 2'

mod connecting;

use connecting::{Machine, Target, ask};
use headrace_core::{Fatal, FatalKind, Outcome};
use headrace_drivers::{Database, Unusable, Visitor};
use headrace_io::TcpOptions;
use headrace_io::rows::{Datum, Received};
use headrace_io::tokio::Client;
use std::error::Error;
use std::pin::Pin;
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
    let (count, databases) = arguments.split_first().ok_or("thousand COUNT URL QUESTION...")?;
    let count: usize = count.parse()?;
    let crowd = Rc::new(Crowd { opening: Semaphore::new(OPENING), all_are_open: Barrier::new(count) });
    let databases: Vec<&[String]> = databases.chunks(2).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    let all = tasks.run_until(async {
        let mut asked = JoinSet::new();
        for number in 0..count {
            let [url, question] = databases[number % databases.len()] else {
                return Err("each database has a URL and a question".into());
            };
            let target = Target::of_url(url)?;
            let driver = target.settings.driver;
            let visit = Visit { target, question: question.clone(), number: number as i64, crowd: crowd.clone() };
            asked.spawn_local(driver.visit(visit));
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

/// What is done with one connection, to any database.
struct Visit {
    target: Target,
    question: String,
    number: i64,
    crowd: Rc<Crowd>,
}

impl Visitor for Visit {
    type Output = Pin<Box<dyn Future<Output = Result<usize, Fatal>>>>;

    fn visit<D: Database>(self) -> Self::Output {
        Box::pin(visit::<D>(self))
    }
}

/// Opens a connection, waits until all are open, sends three queries, and returns how many were answered correctly.
async fn visit<D: Database>(visit: Visit) -> Result<usize, Fatal> {
    let Visit { target, question, number, crowd } = visit;
    let unusable = |error: Unusable| Fatal::new(FatalKind::UnusableSetting, error.to_string());
    let mut client = {
        let _turn = crowd.opening.acquire().await;
        let connection = target.connection::<D>().map_err(unusable)?;
        Client::<Machine<D>>::open(&target.address, &TcpOptions::default(), connection, ()).await?
    };
    crowd.all_are_open.wait().await;
    let numbers = [number, number + 1_000_000, -number];
    let replies = numbers.map(|number| ask::<D>(&mut client.connection, &question, vec![Datum::Int(number)]));
    client.drive((), |_| replies.iter().all(|reply| reply.is_over())).await?;
    let mut right = 0;
    for (number, reply) in numbers.into_iter().zip(replies) {
        match reply.take() {
            Some(Received { rows, outcome: Outcome::Done, .. }) if is_double(&rows, number) => right += 1,
            other => eprintln!("{} gave {other:?} for {number}", D::DRIVER.name),
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
