//! Batches, cursors, files, compression and large packets against a real MariaDB.

use crate::support::server::{STRATEGIES, Server, end, session};
use crate::support::session::{Conversation, Socket};
use headrace_core::{Discarded, Protocol, Session as _};
use headrace_mysql::machine::{AsText, BatchStrategy, Execute, InfileState, ParameterRows, Request, SessionOptions};
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_mysql::packets::compress::Algorithm;
use headrace_testkit::TestValue as V;

/// A table of this test's own.
fn table(session: &mut Conversation<Socket>, name: &str, rest: &str) {
    session.must(&format!("create or replace table {name} (id int primary key, v varchar(300)) {rest}"));
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<Vec<V>> {
    numbers.into_iter().map(|n| vec![V::Int(n), if n % 7 == 0 { V::Null } else { V::from("it's \\ ?") }]).collect()
}

fn others(numbers: impl IntoIterator<Item = i64>) -> Vec<Vec<V>> {
    numbers.into_iter().map(|n| vec![V::Int(n), V::from("other")]).collect()
}

#[test]
fn every_strategy_applies_all_rows() {
    let mut session = session();
    for strategy in STRATEGIES {
        for (atomic, count) in [(true, 0), (true, 1), (true, 30_000), (false, 500)] {
            table(&mut session, "strategies", "");
            let received = session.batch("insert into strategies values (?, ?)", strategy, atomic, rows(0..count));
            let after = session.query("select 'after', @@autocommit, @@in_transaction");
            session.run().unwrap();
            assert_eq!(end(&received), "done", "{strategy:?} {:?}", received.get().error);
            assert_eq!(received.get().affected(), count as u64, "{strategy:?}");
            assert_eq!(after.get().lines(), ["after|1|0"]);
            let sums = format!("{count}|{count}|{}", (count + 6) / 7);
            let check = "select count(*), count(distinct id), sum(v is null) from strategies where v is null or v = 'it''s \\\\ ?'";
            assert_eq!(session.must(check)[0].replace("NULL", "0").replace('d', ""), sums, "{strategy:?}");
        }
    }
}

#[test]
fn updates_deletes_and_on_duplicate_key_with_every_strategy() {
    let mut session = session();
    for strategy in STRATEGIES {
        table(&mut session, "changes", "");
        for (sql, values, affected) in [
            ("insert into changes values (?, ?)", rows(1..=100), 100),
            ("insert into changes values (?, ?) on duplicate key update v = values(v), id = id", rows(91..=110), 10),
            ("replace into changes values (?, ?)", others(105..=114), 6 * 2 + 4),
            ("update changes set v = 'new' where id = ?", (1..=50).map(|n| vec![V::Int(n)]).collect(), 50),
            ("delete from changes where id = ?", (1..=10).map(|n| vec![V::Int(n)]).collect(), 10),
        ] {
            let received = session.batch(sql, strategy, true, values);
            session.run().unwrap();
            assert_eq!(end(&received), "done", "{strategy:?} {sql} {:?}", received.get().error);
            assert_eq!(received.get().affected(), affected, "{strategy:?} {sql}");
        }
        assert_eq!(session.must("select count(*), min(id), sum(v = 'new') from changes"), ["104|11|d40"]);
    }
}

#[test]
fn statements_of_every_shape_do_the_same_with_the_best_strategy_as_one_by_one() {
    let mut session = session();
    let pairs = || (1..=30).map(|n| vec![V::Int(n), V::from("x")]).collect::<Vec<_>>();
    let keys = || (1..=30).map(|n| vec![V::Int(n)]).collect::<Vec<_>>();
    for (sql, values) in [
        ("insert into shapes select ? + 100, ?", pairs()),
        ("replace into shapes select ?, ?", pairs()),
        // A column of this name is taken for the key word, and the server then reports that it has no bulk for the
        // statement.
        ("insert into valued (id, value) select ? + 100, ?", pairs()),
        ("insert into shapes set id = ? + 100, v = ?", pairs()),
        ("insert into shapes values (? + 100, concat(?, (select count(*) from other_shapes)))", pairs()),
        (
            "insert into shapes (v, id) values (concat('a', ?), ? + 200)",
            keys().into_iter().map(|k| vec![V::from("b"), k[0].clone()]).collect(),
        ),
        ("insert ignore into shapes values (?, ?)", pairs()),
        (
            "insert into shapes values (?, ?) on duplicate key update v = concat(v, ?)",
            pairs()
                .into_iter()
                .map(|mut row| {
                    row.push(V::from("!"));
                    row
                })
                .collect(),
        ),
        ("update shapes set v = concat(v, '+') where id <= ? order by id desc limit 2", keys()),
        ("update shapes s join other_shapes o on s.id = o.id set s.v = o.v where o.id = ?", keys()),
        (
            "update shapes set v = ? where id > 5 limit ?",
            keys().into_iter().map(|k| vec![V::from("l"), k[0].clone()]).collect(),
        ),
        ("delete from shapes where id = ? or v = ?", pairs()),
        ("delete s from shapes s join other_shapes o on s.id = o.id where o.id = ?", keys()),
        ("with c as (select 1) select ?, ?", pairs()),
        ("call shaping(?)", keys()),
        ("do ?", keys()),
        ("set @x = ?", keys()),
        ("select /*! ?, */ 1", keys()),
        (
            "insert into shapes values (? + 300, 'a'), (? + 400, 'b')",
            (1..=30).map(|n| vec![V::Int(n), V::Int(n)]).collect(),
        ),
    ] {
        let mut seen = Vec::new();
        for strategy in STRATEGIES {
            table(&mut session, "shapes", "");
            table(&mut session, "other_shapes", "");
            session.must("create or replace table valued (id int primary key, value varchar(9)) as select seq as id from seq_1_to_9");
            session.must("create or replace procedure shaping(n int) insert into shapes values (n + 500, 'p')");
            session.must("insert into shapes select seq, 'old' from seq_1_to_20");
            session.must("insert into other_shapes select seq, 'other' from seq_1_to_20");
            let received = session.batch(sql, strategy, true, values.clone());
            session.run().unwrap();
            let affected = received.get().affected();
            let rows = session.must("select * from shapes union all select id, value from valued order by 1, 2");
            seen.push((end(&received), affected, received.get().rows.clone(), rows));
            assert_eq!(end(&received), "done", "{strategy:?} {sql}: {:?}", received.get().error);
        }
        assert!(seen.iter().all(|one| *one == seen[1]), "{sql}: {:?}", seen.iter().map(|s| s.1).collect::<Vec<_>>());
    }
}

#[test]
fn a_failing_row_is_named_and_none_is_applied() {
    let mut session = session();
    for strategy in STRATEGIES {
        for (count, bad) in [(3i64, 0i64), (3, 2), (1, 0), (20_000, 0), (20_000, 19_999), (20_000, 12_345)] {
            for open in ["", "start transaction", "set autocommit=0"] {
                table(&mut session, "failing", "");
                session.must("insert into failing values (-1, 'before')");
                session.must("commit");
                if !open.is_empty() {
                    session.must(open);
                    session.must("insert into failing values (-2, 'in the transaction')");
                }
                if open == "start transaction" && strategy == BatchStrategy::Pipelined && count > 3 {
                    continue; // one at a time: the small ones show it
                }
                let values = rows((0..count).map(|n| if n == bad { -1 } else { n }));
                let received = session.batch("insert into failing values (?, ?)", strategy, true, values);
                let after = session.query("select 'after', @@in_transaction");
                session.run().unwrap();
                assert_eq!(end(&received), format!("server 1062 at row {bad}"), "{strategy:?} {count} {open}");
                let inside = i64::from(!open.is_empty());
                assert_eq!(after.get().lines(), [format!("after|{inside}")], "{strategy:?} {open}");
                assert_eq!(
                    session.must("select count(*) from failing"),
                    [(1 + inside).to_string()],
                    "{strategy:?} {open}"
                );
                session.must("commit");
                session.must("set autocommit=1");
            }
        }
    }
}

#[test]
fn a_row_that_conflicts_with_an_earlier_one_of_the_batch_is_named() {
    let mut session = session();
    for strategy in STRATEGIES {
        table(&mut session, "twice", "");
        let values = rows((0..15_000).map(|n| if n == 14_000 { 3 } else { n }));
        let received = session.batch("insert into twice values (?, ?)", strategy, true, values);
        session.run().unwrap();
        assert_eq!(end(&received), "server 1062 at row 14000", "{strategy:?}");
        assert_eq!(session.must("select count(*) from twice"), ["0"]);
        let long = "x".repeat(301);
        let mut values = rows(0..100);
        values[42][1] = V::from(long);
        let received = session.batch("insert into twice values (?, ?)", strategy, true, values);
        session.run().unwrap();
        assert_eq!(end(&received), "server 1406 at row 42", "{strategy:?} {:?}", received.get().error);
    }
}

#[test]
fn without_transactions_a_row_is_named_only_where_it_is_certain() {
    let mut session = session();
    for strategy in STRATEGIES {
        table(&mut session, "untransacted", "engine=MyISAM");
        let values = rows((0..100).map(|n| if n == 50 { 3 } else { n }));
        let received = session.batch("insert into untransacted values (?, ?)", strategy, true, values);
        session.run().unwrap();
        // They are not joined into such a table.
        let is_alone = matches!(strategy, BatchStrategy::Pipelined | BatchStrategy::Joined);
        let expected = if is_alone { "server 1062 at row 50" } else { "server 1062" };
        assert_eq!(end(&received), expected, "{strategy:?}");
        if !is_alone {
            assert_eq!(session.must("select count(*) from untransacted"), ["50"], "nothing was applied twice");
        }
        assert_eq!(session.must("select @@autocommit"), ["1"]);
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_and_nothing_is_sent_or_all_is_undone() {
    let mut session = session();
    for strategy in STRATEGIES {
        for (count, bad) in [(5, 3), (30_000, 25_000), (30_000, 0)] {
            table(&mut session, "unfit", "");
            let mut values = rows(0..count);
            values[bad][1] = V::Other;
            let received = session.batch("insert into unfit values (?, ?)", strategy, true, values);
            let after = session.query("select @@autocommit, @@in_transaction");
            session.run().unwrap();
            let end = end(&received);
            assert!(end.contains("cannot be sent") && end.ends_with(&format!("at row {bad}")), "{strategy:?}: {end}");
            assert_eq!(after.get().lines(), ["1|0"], "{strategy:?}");
            assert_eq!(session.must("select count(*) from unfit"), ["0"], "{strategy:?}");
        }
        let received = session.batch("insert into unfit values (?, ?)", strategy, true, vec![vec![V::Int(1)]]);
        session.run().unwrap();
        assert_eq!(end(&received), "client the statement has 2 parameters, but 1 was given at row 0", "{strategy:?}");
    }
}

#[test]
fn mixed_types_in_a_column_are_no_obstacle() {
    let mut session = session();
    for strategy in STRATEGIES {
        session.must("create or replace table mixed (id int primary key auto_increment, v varchar(50), w double)");
        let values = vec![
            vec![V::Null, V::Null],
            vec![V::Int(1), V::Float(1.5)],
            vec![V::from("two"), V::Int(2)],
            vec![V::decimal("3.50"), V::Null],
            vec![V::Null, V::decimal("4.5")],
            vec![V::from("five"), V::from("5")],
        ];
        let received = session.batch("insert into mixed (v, w) values (?, ?)", strategy, true, values);
        session.run().unwrap();
        assert_eq!(end(&received), "done", "{strategy:?} {:?}", received.get().error);
        let expected = ["NULL|NULL", "1|f1.5", "two|f2", "3.50|NULL", "NULL|f4.5", "five|f5"];
        assert_eq!(session.must("select v, w from mixed order by id"), expected, "{strategy:?}");
    }
}

#[test]
fn rows_that_a_batch_returns_go_to_the_handler() {
    let mut session = session();
    session.must("create or replace table giving (id int primary key auto_increment, v int)");
    for strategy in STRATEGIES {
        session.must("truncate giving");
        let values = (0..100).map(|n| vec![V::Int(n)]).collect();
        let received = session.batch("insert into giving (v) values (?) returning id, v", strategy, true, values);
        session.run().unwrap();
        let expected: Vec<String> = (0..100).map(|n| format!("{}|{n}", n + 1)).collect();
        assert_eq!(received.get().lines(), expected, "{strategy:?}");
    }
}

#[test]
fn a_deadlock_in_the_middle_leaves_nothing_of_the_batch() {
    let mut session = session();
    for (strategy, open) in [
        (BatchStrategy::Pipelined, ""),
        (BatchStrategy::Bulk, ""),
        (BatchStrategy::Joined, ""),
        (BatchStrategy::Pipelined, "set autocommit=0"),
        (BatchStrategy::Bulk, "start transaction"),
        (BatchStrategy::Pipelined, "start transaction"),
    ] {
        table(&mut session, "locked", "");
        session.must("insert into locked select seq, 'old' from seq_1_to_1000");
        if !open.is_empty() {
            session.must(open);
        }
        // The other session has locked the rows from 400 on, and then requests row 1, which this session has locked by
        // then. The other one has changed more rows, so the deadlock rolls this one back.
        let (holds, held) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let mut other = Server::shared().session();
            other.must("start transaction");
            other.must("update locked set v = 'other' where id >= 400");
            holds.send(()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
            other.must("update locked set v = 'other' where id = 1");
            other.must("rollback");
        });
        held.recv().unwrap();
        let values = (1..=600).map(|n| vec![V::Int(n)]).collect();
        let received = session.batch("update locked set v = 'mine' where id = ?", strategy, true, values);
        session.run().unwrap();
        other.join().unwrap();
        let end = end(&received);
        assert!(end.starts_with("server 1213"), "{strategy:?} {open}: {end}");
        session.must("commit");
        assert_eq!(session.must("select count(*) from locked where v <> 'old'"), ["0"], "{strategy:?} {open}");
        session.must("set autocommit=1");
    }
}

#[test]
fn a_batch_whose_handler_is_gone_is_rolled_back() {
    let mut session = session();
    for strategy in STRATEGIES {
        // After the first reads: while the statement is prepared, the guard set, rows are in flight.
        for reads in 0..4 {
            table(&mut session, "abandoned", "");
            session.machine.forget_statements();
            let execute = Execute {
                facts: None,
                sql: "insert into abandoned values (?, ?)".into(),
                rows: ParameterRows::Batch { strategy, atomic: true },
                text: AsText::IfUnprepared,
                cursor: None,
            };
            let (id, received) = session.ask(Request::Execute(execute), vec![], rows(0..20_000));
            let count = std::cell::Cell::new(0);
            session.pump(|_| count.replace(count.get() + 1) == reads).unwrap();
            // After some reads the COMMIT may be in flight, which a cancel request must not hit: then all rows are
            // stored, never some.
            assert!(session.machine.discard(id) == Discarded::Alone || reads > 0, "{strategy:?} after {reads} reads");
            let after = session.query("select (select count(*) from abandoned), @@autocommit");
            session.run().unwrap();
            assert_eq!(received.get().end, None);
            let seen = after.get().lines();
            let whole = reads > 0 && seen == ["20000|1"];
            assert!(whole || seen == ["0|1"], "{strategy:?} after {reads} reads: {seen:?}");
        }
    }
}

#[test]
fn cursors_are_fetched_in_parts() {
    let mut session = session();
    for _ in 0..2 {
        let sql = "select seq, repeat('x', 10) from seq_1_to_1000";
        let execute = Execute {
            facts: None,
            sql: sql.into(),
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor: Some(300),
        };
        let (id, received) = session.ask(Request::Execute(execute.clone()), vec![], vec![]);
        let between = session.query("select 'between'");
        session.run().unwrap();
        assert_eq!(received.get().rows.len(), 300);
        assert!(received.get().results.last().is_some_and(|result| result.suspended) && session.machine.has_cursor(id));
        assert_eq!(between.get().lines(), ["between"]);
        let mut seen = received.get().rows.clone();
        while session.machine.has_cursor(id) {
            let (_, received) = session.ask(Request::Fetch { cursor: id, rows: 300 }, vec![], vec![]);
            session.run().unwrap();
            assert_eq!(end(&received), "done");
            seen.extend(received.get().rows.clone());
        }
        let numbers: Vec<String> = seen.into_iter().map(|row| row[0].clone()).collect();
        assert_eq!(numbers, (1..=1000).map(|n| n.to_string()).collect::<Vec<_>>());
        let (_, late) = session.ask(Request::Fetch { cursor: id, rows: 300 }, vec![], vec![]);
        let (id, _) = session.ask(Request::Execute(execute), vec![], vec![]);
        session.run().unwrap();
        assert_eq!(end(&late), "server 1421");
        session.ask(Request::CloseCursor { cursor: id }, vec![], vec![]);
        session.run().unwrap();
        assert!(!session.machine.has_cursor(id));
    }
    for sql in ["select 1", "show variables like 'version_comment'", "do 1", "select no_such_column"] {
        let execute = Execute {
            facts: None,
            sql: sql.into(),
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor: Some(10),
        };
        let (id, received) = session.ask(Request::Execute(execute), vec![], vec![]);
        session.run().unwrap();
        let expected = if sql.contains("no_such") { "server 1054" } else { "done" };
        assert_eq!(end(&received), expected, "{sql} {:?}", received.get().error);
        assert_eq!(
            received.get().rows.len(),
            usize::from(sql.contains("1") && sql.contains("select") || sql.contains("show"))
        );
        assert!(!session.machine.has_cursor(id), "{sql}");
    }
    assert_eq!(session.must("select 'still in step'"), ["still in step"]);
}

#[test]
fn a_local_file_is_what_the_handler_supplies() {
    let mut session = Server::shared().session_with(SessionOptions { local_infile: true, ..Server::options() });
    session.must("create or replace table loaded (a int, b varchar(20))");
    let sql = "load data local infile 'anything' into table loaded fields terminated by ','";
    let (id, received) = session.ask(Request::Query { sql: sql.into(), infile: true }, vec![], vec![]);
    let after = session.query("select count(*), sum(a) from loaded");
    let is_asked =
        move |machine: &headrace_mysql::machine::Machine<_>| machine.infile_state(id) != InfileState::Waiting;
    session.pump(is_asked).unwrap();
    assert_eq!(session.machine.infile_state(id), InfileState::Streaming(b"anything".to_vec()));
    for part in 0..10 {
        let lines: String = (0..1000).map(|i| format!("{},row\n", part * 1000 + i)).collect();
        assert!(
            session.machine.infile_data(id, &mut session.write_buffer, |out| out.extend_from_slice(lines.as_bytes()))
        );
    }
    session.machine.infile_end(id, &mut session.write_buffer);
    session.run().unwrap();
    assert_eq!(end(&received), "done");
    assert_eq!(received.get().affected(), 10_000);
    assert_eq!(after.get().lines(), ["10000|d49995000"]);
    // A request without data to supply ends with an error, and the connection stays usable.
    let received = session.query(sql);
    let after = session.query("select 1");
    session.run().unwrap();
    assert_eq!(end(&received), "server 2068");
    assert_eq!(after.get().lines(), ["1"]);
    // Without the option the server itself refuses.
    let mut plain = Server::shared().session();
    let received = plain.query(sql);
    plain.run().unwrap();
    assert!(end(&received).starts_with("server "), "{}", end(&received));
}

#[test]
fn compressed_sessions_do_the_same() {
    let options = SessionOptions { compression: Some(Algorithm::Zlib), local_infile: true, ..Server::options() };
    let mut session = Server::shared().session_with(options);
    assert_eq!(session.must("show status like 'Compression'"), ["Compression|ON"]);
    for strategy in STRATEGIES {
        table(&mut session, "packed", "");
        let received = session.batch("insert into packed values (?, ?)", strategy, true, rows(0..20_000));
        let all = session.query("select * from packed");
        let one = session.execute("select v from packed where id = ?", vec![V::Int(15)]);
        session.run().unwrap();
        assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 20_000), "{strategy:?}");
        assert_eq!(all.get().rows.len(), 20_000);
        assert_eq!(one.get().lines(), ["it's \\ ?"]);
        let mut values = rows(20_000..30_000);
        values[9_000][0] = V::Int(5);
        let received = session.batch("insert into packed values (?, ?)", strategy, true, values);
        session.run().unwrap();
        assert_eq!(end(&received), "server 1062 at row 9000");
    }
    session.must("create or replace table loaded_packed (a int)");
    let sql = "load data local infile 'x' into table loaded_packed";
    let (id, received) = session.ask(Request::Query { sql: sql.into(), infile: true }, vec![], vec![]);
    session.pump(move |machine| machine.infile_state(id) != InfileState::Waiting).unwrap();
    let lines = "7\n".repeat(100_000);
    session.machine.infile_data(id, &mut session.write_buffer, |out| out.extend_from_slice(lines.as_bytes()));
    session.machine.infile_end(id, &mut session.write_buffer);
    session.run().unwrap();
    assert_eq!(received.get().affected(), 100_000);
    let big = session.query("select repeat('ab', 9000000)");
    let after = session.query("select 1");
    session.run().unwrap();
    assert_eq!(big.get().rows[0][0].len(), 18_000_000);
    assert_eq!(after.get().lines(), ["1"]);
}

#[test]
fn packets_of_16_mib_and_more_in_both_directions() {
    let mut session = session();
    session.must("create or replace table large (id int primary key, v longblob)");
    // A payload of COM_STMT_EXECUTE that is exactly 16 MiB - 1, one less and one more; and two full packets.
    const HEAD: usize = 18;
    for len in [16_777_214 - HEAD, 16_777_215 - HEAD, 16_777_216 - HEAD, 33_554_430 - HEAD] {
        session.must("delete from large");
        let value: Vec<u8> = (0..len).map(|i: usize| (i % 251) as u8).collect();
        let received = session.execute("insert into large values (1, ?)", vec![V::Bytes(value.clone().into())]);
        let back = session.execute("select v from large where id = ?", vec![V::Int(1)]);
        let size = session.query("select length(v), md5(v) = md5(v), 'after' from large");
        session.run().unwrap();
        assert_eq!(end(&received), "done", "{:?}", received.get().error);
        let back = back.get();
        assert_eq!(back.lines(), [format!("{len} bytes to {}", value[len - 1])]);
        assert_eq!(size.get().lines(), [format!("{len}|1|after")]);
    }
    for len in [16_777_210, 16_777_211, 16_777_212, 16_777_215] {
        let received = session.query(&format!("select repeat('x', {len})"));
        let next = session.query("select 2");
        session.run().unwrap();
        assert_eq!(received.get().rows[0][0].len(), len, "{:?}", received.get().error);
        assert_eq!(next.get().lines(), ["2"]);
    }
}

#[test]
fn fewer_capabilities_do_the_same() {
    for without in [
        Capabilities::DEPRECATE_EOF,
        Capabilities::MARIADB_CACHE_METADATA,
        Capabilities::DEPRECATE_EOF | Capabilities::MARIADB_CACHE_METADATA,
        Capabilities::SESSION_TRACK,
        Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA | Capabilities::CONNECT_ATTRS,
        Capabilities::PLUGIN_AUTH,
        Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_EXTENDED_METADATA,
        Capabilities::all(),
    ] {
        let mut session =
            Server::shared().session_with(SessionOptions { without, database: None, ..Server::options() });
        session.must("use t");
        session.must("create or replace table fewer (id int primary key, v varchar(300))");
        for strategy in STRATEGIES {
            session.must("delete from fewer");
            let received = session.batch("insert into fewer values (?, ?)", strategy, true, rows(0..500));
            session.run().unwrap();
            assert_eq!((end(&received).as_str(), received.get().affected()), ("done", 500), "{without:?} {strategy:?}");
        }
        for i in 0..3 {
            let received = session.execute("select id, v from fewer where id between ? and 9", vec![V::Int(8)]);
            let text = session.query("select id, v from fewer where id between 8 and 9");
            let none = session.execute("select id from fewer where id < ?", vec![V::Int(0)]);
            session.run().unwrap();
            assert_eq!(received.get().lines(), ["8|it's \\ ?", "9|it's \\ ?"], "{without:?} {i}");
            assert_eq!(received.get().lines(), text.get().lines());
            assert_eq!((end(&none).as_str(), none.get().rows.len()), ("done", 0));
        }
        let sql = "select id from fewer order by id";
        let execute = Execute {
            facts: None,
            sql: sql.into(),
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor: Some(400),
        };
        let (id, received) = session.ask(Request::Execute(execute), vec![], vec![]);
        let (_, more) = session.ask(Request::Fetch { cursor: id, rows: 50 }, vec![], vec![]);
        session.run().unwrap();
        // The fetch was sent before it was known that there is a cursor.
        assert_eq!((received.get().rows.len(), end(&more).as_str()), (400, "server 1421"), "{without:?}");
        let (_, more) = session.ask(Request::Fetch { cursor: id, rows: 200 }, vec![], vec![]);
        session.run().unwrap();
        assert_eq!((more.get().rows.len(), end(&more).as_str()), (100, "done"), "{without:?}");
        assert!(!session.machine.has_cursor(id));
    }
}

#[test]
fn a_discarded_request_leaves_the_others_alone() {
    let mut session = session();
    let (first, received) =
        session.ask(Request::Query { sql: "select sleep(0.2), 'first'".into(), infile: false }, vec![], vec![]);
    let second = session.execute("select ?", vec![V::from("second")]);
    let (third, never) = session.ask(Request::Query { sql: "select 'third'".into(), infile: false }, vec![], vec![]);
    assert_eq!(session.machine.discard(third), Discarded::Gone, "nothing of it was sent");
    session.machine.transmit((), &mut session.write_buffer);
    assert_eq!(session.machine.discard(first), Discarded::Followed, "KILL QUERY could hit the second");
    session.run().unwrap();
    assert_eq!((received.get().end.clone(), received.get().rows.len()), (None, 0));
    assert_eq!(never.get().end, None);
    assert_eq!(second.get().lines(), ["second"]);
}

#[test]
fn a_killed_session_has_the_servers_reason() {
    let mut session = session();
    let id = session.machine.session().thread_id;
    let received = session.query("select sleep(5)");
    session.machine.transmit((), &mut session.write_buffer);
    let bytes = session.write_buffer.take();
    use headrace_testkit::Peer;
    session.peer.send(&bytes);
    std::thread::sleep(std::time::Duration::from_millis(100));
    Server::shared().session().must(&format!("kill {id}"));
    assert!(session.run().is_err());
    assert!(end(&received).starts_with("server 1927") || end(&received).starts_with("fatal"), "{}", end(&received));
    let mut other = Server::shared().session();
    let received = other.query("select sleep(5)");
    let id = other.machine.session().thread_id;
    other.machine.transmit((), &mut other.write_buffer);
    let bytes = other.write_buffer.take();
    other.peer.send(&bytes);
    std::thread::sleep(std::time::Duration::from_millis(100));
    Server::shared().session().must(&format!("kill query {id}"));
    other.run().unwrap();
    assert!(end(&received) == "server 1317" || received.get().lines() == ["1"], "{}", end(&received));
    assert_eq!(other.must("select 1"), ["1"]);
}
