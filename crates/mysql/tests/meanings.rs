//! Values mean for a real MariaDB what their literals mean, whichever way they are sent.

use crate::support::server::{STRATEGIES, end, session};
use crate::support::session::{Conversation, Socket};
use crate::support::trace;
use headrace_mysql::machine::BatchStrategy;
use headrace_testkit::{Step, TestValue as V, Trace};

/// A time of this many seconds.
fn time(seconds: i64) -> V {
    V::Interval(0, 0, seconds * 1_000_000)
}

/// What the session sent since the last call, and in how many parts.
fn sent(session: &mut Conversation<Socket>) -> (Trace, usize) {
    let steps = std::mem::take(&mut session.peer.recording);
    let parts: Vec<Vec<u8>> = steps
        .into_iter()
        .filter_map(|step| match step {
            Step::Client(bytes) => Some(bytes),
            _ => None,
        })
        .collect();
    (trace(&parts.concat()), parts.len())
}

#[test]
fn negative_times_keep_their_sign_in_every_row_of_a_batch() {
    let update = "update signs set n = n + ? where id = ?";
    let mut session = session();
    let cases: [(&str, &[V], &[&str]); 6] = [
        (update, &[V::Null, time(-3), time(3)], &["NULL", "97", "103"]),
        (update, &[V::Int(1), time(-3), time(-4), V::Null], &["101", "97", "96", "NULL"]),
        (update, &[V::Int(1), V::Int(2), time(4), time(-4), V::Int(5)], &["101", "102", "104", "96", "105"]),
        (update, &[time(-3), V::Int(1), time(3)], &["97", "101", "103"]),
        ("insert into signs (n, id) values (? + 1, ? + 10)", &[V::Null, time(-3)], &["NULL", "-2"]),
        ("insert into signs (n, id) values (1, ? + 10) on duplicate key update n = n * ?", &[V::Int(1)], &["1"]),
    ];
    for (sql, values, expected) in cases {
        for strategy in STRATEGIES {
            for (atomic, begin) in [(true, ""), (false, ""), (true, "start transaction"), (true, "set autocommit=0")] {
                session.must("create or replace table signs (id int primary key, n int)");
                session.must("insert into signs select seq, 100 from seq_1_to_5");
                session.must(if begin.is_empty() { "do 0" } else { begin });
                let row = |(id, value): (i64, &V)| match sql.contains("duplicate") {
                    true => vec![V::Int(id), value.clone()],
                    false => vec![value.clone(), V::Int(id)],
                };
                let rows: Vec<Vec<V>> = (1..).zip(values).map(row).collect();
                let received = session.batch(sql, strategy, atomic, rows);
                session.run().unwrap();
                assert_eq!(end(&received), "done", "{strategy:?} {sql} {:?}", received.get().error);
                session.must("commit");
                session.must("set autocommit=1");
                let from = if sql == update { 1 } else { 11 };
                let query = format!(
                    "select n from signs where id between {from} and {from} + {} order by id",
                    values.len() - 1
                );
                assert_eq!(session.must(&query), expected, "{strategy:?} {atomic} {begin} {values:?}");
            }
        }
    }
}

#[test]
fn rows_whose_parameters_are_part_of_an_expression_are_written() {
    let mut session = session();
    session.must("create or replace table bulks (id int primary key, n int, t time)");
    session.must("insert into bulks select seq, 100, null from seq_1_to_9");
    let mut count = |sql: &str, values: Vec<V>| {
        let rows = (1..).zip(values).map(|(id, value)| vec![value, V::Int(id)]).collect();
        sent(&mut session);
        let received = session.batch(sql, BatchStrategy::Auto, true, rows);
        session.run().unwrap();
        assert_eq!(end(&received), "done");
        let (sent, _) = sent(&mut session);
        ["COM_STMT_BULK_EXECUTE", "COM_STMT_EXECUTE", "COM_QUERY update"].map(|command| sent.count(&[command]))
    };
    let expression = "update bulks set n = n + ? where id = ?";
    assert_eq!(count(expression, vec![V::Int(1), V::Int(2), V::Int(3)]), [0, 0, 3]);
    assert_eq!(count("update bulks set t = ? where id = ?", vec![V::Null, time(-3), time(3), time(-3)]), [1, 0, 0]);
}

#[test]
fn the_row_with_a_negative_time_that_fails_is_named_and_none_is_applied() {
    let mut session = session();
    session.must("create or replace table refusing (id int primary key, n int, check (n > 0))");
    session.must("insert into refusing values (1, 10), (2, 2), (3, 10)");
    let rows = vec![vec![V::Int(1), V::Int(1)], vec![time(-3), V::Int(2)], vec![V::Int(1), V::Int(3)]];
    for begin in ["do 0", "start transaction", "set autocommit=0"] {
        session.must(begin);
        let received =
            session.batch("update refusing set n = n + ? where id = ?", BatchStrategy::Auto, true, rows.clone());
        session.run().unwrap();
        assert_eq!(end(&received), "server 4025 at row 1");
        session.must("commit");
        session.must("set autocommit=1");
        assert_eq!(session.must("select n from refusing order by id"), ["10", "2", "10"]);
    }
}

#[test]
fn rows_of_times_travel_together_in_a_batch_without_a_guard() {
    let mut session = session();
    session.must("create or replace table together (id int primary key, n int)");
    for first in [time(3), time(-3)] {
        let rows = (0..50).map(|id| vec![first.clone(), V::Int(id)]).collect();
        sent(&mut session);
        let received =
            session.batch("replace into together (n, id) values (? + 1, ?)", BatchStrategy::Bulk, false, rows);
        session.run().unwrap();
        assert_eq!(end(&received), "done");
        let (_, parts) = sent(&mut session);
        assert!(parts < 10, "{parts} parts");
    }
}

#[test]
fn what_was_executed_without_its_values_is_written_with_them() {
    let mut session = session();
    let query = "select cast(? as char)";
    for _ in 0..2 {
        let without = session.execute(query, vec![]);
        session.run().unwrap();
        assert!(end(&without).contains("1 parameter"), "{}", end(&without));
        let received = session.execute(query, vec![time(-3)]);
        session.run().unwrap();
        assert_eq!(received.get().lines(), ["-00:00:03"]);
    }
}

#[test]
fn queries_within_a_statement_with_an_executed_comment_are_prepared_for_one_execution() {
    let mut session = session();
    for name in ["within", "beside"] {
        session.must(&format!("create or replace table {name} (id int primary key, team int, key (team))"));
        session.must(&format!("insert into {name} select seq, seq % 3 from seq_0_to_8"));
    }
    let query = "select /*!40001 sql_no_cache */ count(*) from within w where exists \
                 (select 1 from beside b where b.id between ? and ? and b.team = w.team)";
    sent(&mut session);
    for (low, high, expected) in [(1, 1, "3"), (1, 1, "3"), (0, 8, "9"), (1, 5, "9"), (2, 2, "3"), (9, 9, "0")] {
        let received = session.execute(query, vec![V::Int(low), V::Int(high)]);
        session.run().unwrap();
        assert_eq!(received.get().lines(), [expected], "{low} {high}");
    }
    assert_eq!(sent(&mut session).0.count(&["COM_STMT_PREPARE"]), 6);
    let whole = query.replacen('?', "1", 1).replacen('?', "1", 1);
    for _ in 0..3 {
        let received = session.execute(&whole, vec![]);
        session.run().unwrap();
        assert_eq!(received.get().lines(), ["3"]);
    }
    assert_eq!(sent(&mut session).0.count(&["COM_STMT_PREPARE"]), 0, "as text");
    // A parameter that only the server sees.
    let hidden = "select /*! ? + */ 1 from within where id in (select 3)";
    for given in [vec![], vec![V::Int(7)], vec![V::Int(8)]] {
        let expected = given.first().map(|value| if *value == V::Int(7) { "8" } else { "9" });
        let received = session.execute(hidden, given);
        session.run().unwrap();
        assert_eq!(received.get().lines(), expected.as_slice());
    }
}
