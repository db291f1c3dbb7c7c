//! The cost of each strategy of a batch, and of a fetch, measured on a real MariaDB on this machine: `cargo bench -p
//! headrace-mysql`. The figures that determine the order of [`BatchStrategy::Auto`] are in `machine/batch.rs`.

#[path = "../tests/support/mod.rs"]
mod support;

use headrace_mysql::machine::BatchStrategy;
use headrace_testkit::TestValue as V;
use std::time::{Duration, Instant};
use support::server::Server;

/// The median of some runs.
fn median(mut run: impl FnMut() -> Duration) -> f64 {
    let mut times: Vec<Duration> = (0..7).map(|_| run()).collect();
    times.sort();
    times[3].as_secs_f64() * 1e3
}

fn main() {
    let mut session = Server::shared().session();
    session.must("create table strategies (id int primary key, v varchar(40), w double)");
    for count in [100i64, 1_000, 10_000, 100_000] {
        let values: Vec<Vec<V>> =
            (0..count).map(|n| vec![V::Int(n), V::from("a value of some length"), V::Float(n as f64)]).collect();
        for strategy in [BatchStrategy::Pipelined, BatchStrategy::Joined, BatchStrategy::Bulk] {
            let took = median(|| {
                session.must("truncate strategies");
                let values = values.clone();
                let start = Instant::now();
                let received = session.batch("insert into strategies values (?, ?, ?)", strategy, true, values);
                session.run().expect("the server is there");
                assert_eq!(received.get().affected(), count as u64);
                start.elapsed()
            });
            println!("insert {count:>6} rows, {strategy:?}: {took:.2} ms");
        }
    }
    for count in [1_000i64, 10_000] {
        let keys: Vec<Vec<V>> = (0..count).map(|n| vec![V::Int(n)]).collect();
        for strategy in [BatchStrategy::Pipelined, BatchStrategy::Bulk] {
            let took = median(|| {
                let keys = keys.clone();
                let start = Instant::now();
                let received = session.batch("update strategies set w = w + 1 where id = ?", strategy, true, keys);
                session.run().expect("the server is there");
                assert_eq!(received.get().affected(), count as u64);
                start.elapsed()
            });
            println!("update {count:>6} rows, {strategy:?}: {took:.2} ms");
        }
    }
    for text in [true, false] {
        let took = median(|| {
            let start = Instant::now();
            let sql = "select * from strategies";
            let received = if text { session.query(sql) } else { session.execute(sql, vec![]) };
            session.run().expect("the server is there");
            assert_eq!(received.get().rows.len(), 100_000);
            start.elapsed()
        });
        println!("fetch 100000 rows into the tests' own sink, text {text}: {took:.2} ms");
    }
    let took = median(|| {
        let start = Instant::now();
        for n in 0..10_000 {
            session.execute("select v from strategies where id = ?", vec![V::Int(n)]);
        }
        session.run().expect("the server is there");
        start.elapsed()
    });
    println!("10000 pipelined selects: {took:.2} ms");
}
