//! The machine against a real MariaDB, over a plain socket.

use crate::support::server::{Server, end, session};
use crate::support::session::{Conversation, Socket};
use headrace_core::{Protocol as _, Session as _};
use headrace_mysql::auth::{Plugin, Secret};
use headrace_mysql::machine::{AsText, Execute, ParameterRows, Request, SessionOptions};
use headrace_mysql::packets::capabilities::StatusFlags;
use headrace_testkit::TestValue as V;

#[test]
fn authentication_by_each_plugin_that_this_server_has() {
    let mut root = session();
    for (user, how) in [
        ("native", "identified via mysql_native_password using password('pw')"),
        ("ed", "identified via ed25519 using password('pw')"),
        ("nopw", ""),
    ] {
        root.must(&format!("create or replace user {user}@'127.0.0.1' {how}"));
    }
    let login = |user: &str, password: &str, plugins: Vec<Plugin>| {
        let password = (!password.is_empty()).then(|| Secret(password.into()));
        let options = SessionOptions { user: user.into(), password, plugins, ..SessionOptions::default() };
        let mut session = Conversation::new(options, Socket::connect(Server::shared().port));
        session.start().map_err(|reason| (reason.message, session.machine.closing_error().map(|error| error.code)))
    };
    login("native", "pw", vec![]).unwrap();
    login("nopw", "", vec![]).unwrap();
    login("ed", "pw", vec![]).unwrap();
    login("ed", "pw", vec![Plugin::ClientEd25519]).unwrap();
    assert_eq!(login("ed", "wrong", vec![]).unwrap_err().1, Some(1045));
    assert_eq!(login("native", "wrong", vec![]).unwrap_err().1, Some(1045));
    assert_eq!(login("native", "", vec![]).unwrap_err().1, Some(1045));
    let (message, _) = login("ed", "pw", vec![Plugin::MysqlNativePassword]).unwrap_err();
    assert!(message.contains("only mysql_native_password may be used"), "{message}");
    assert!(!message.contains("pw"), "a secret in an error: {message}");
}

#[test]
fn the_session_reports_its_server() {
    let mut session = session();
    let known = session.machine.session();
    assert!(known.mariadb && known.version >= (10, 6, 0), "{}", known.server_version);
    assert!(known.thread_id > 0);
    assert!(known.status.contains(StatusFlags::AUTOCOMMIT));
    let id = known.thread_id.to_string();
    assert_eq!(session.must("select connection_id()"), [id]);
    session.must("create database if not exists other");
    session.must("use other");
    assert_eq!(session.machine.session().schema.as_deref(), Some("other"));
    session.ask(Request::InitDb { schema: "t".into() }, vec![], vec![]);
    session.run().unwrap();
    assert_eq!(session.must("select database()"), ["t"]);
    session.must("set autocommit=0");
    assert_eq!(session.machine.session().variables.get("autocommit").map(String::as_str), Some("OFF"));
    let attributes = session
        .must("select count(*) from information_schema.processlist where id = connection_id() and user = 'tester'");
    assert_eq!(attributes, ["1"]);
}

#[test]
fn every_type_has_the_same_value_in_both_protocols() {
    let day = 86_400_000_000i64;
    let at = |days: i64, micros: i64| format!("at {}", days * day + micros);
    let mut session = session();
    for (i, (kind, literals)) in [
        ("tinyint", vec![("-128", "-128".into()), ("127", "127".into())]),
        ("tinyint unsigned", vec![("255", "255".into())]),
        ("bool", vec![("true", "1".into())]),
        ("smallint", vec![("-32768", "-32768".into())]),
        ("smallint unsigned", vec![("65535", "65535".into())]),
        ("mediumint", vec![("-8388608", "-8388608".into())]),
        ("mediumint unsigned", vec![("16777215", "16777215".into())]),
        ("int", vec![("-2147483648", "-2147483648".into())]),
        ("int unsigned", vec![("4294967295", "4294967295".into())]),
        ("bigint", vec![("-9223372036854775808", "-9223372036854775808".into())]),
        ("bigint unsigned", vec![("18446744073709551615", "u18446744073709551615".into()), ("7", "7".into())]),
        ("int(5) zerofill", vec![("42", "42".into())]),
        ("float", vec![("1.5", "f1.5".into()), ("-0.25", "f-0.25".into())]),
        ("double", vec![("1e300", "f1".to_owned() + &"0".repeat(300)), ("0.1", "f0.1".into())]),
        ("decimal(65,30)", vec![("-12.5", format!("d-12.5{}", "0".repeat(29)))]),
        ("decimal(10,0)", vec![("42", "d42".into())]),
        ("bit(1)", vec![("b'1'", "bits 1 80".into())]),
        ("bit(10)", vec![("b'1000000001'", "bits 10 8040".into())]),
        ("bit(64)", vec![("b'11'", "bits 64 0000000000000003".into())]),
        ("char(5)", vec![("'ab'", "ab".into())]),
        ("varchar(20)", vec![("'grün 🙂'", "grün 🙂".into()), ("''", "".into())]),
        ("varchar(20) character set latin1", vec![("'grün'", "grün".into())]),
        ("varchar(20) collate utf8mb4_bin", vec![("'text'", "text".into())]),
        ("tinytext", vec![("'t'", "t".into())]),
        ("longtext", vec![("repeat('x', 300)", "x".repeat(300))]),
        ("binary(3)", vec![("x'0102'", "x010200".into())]),
        ("varbinary(5)", vec![("x'00ff'", "x00ff".into())]),
        ("blob", vec![("x'deadbeef'", "xdeadbeef".into())]),
        ("enum('a','b')", vec![("'b'", "b".into())]),
        ("set('a','b','c')", vec![("'a,c'", "a,c".into())]),
        ("json", vec![("'{\"a\": [1, null]}'", "json {\"a\": [1, null]}".into())]),
        ("date", vec![("'2024-02-29'", "day 19782".into()), ("'9999-12-31'", "day 2932896".into())]),
        ("datetime", vec![("'2024-02-29 12:34:56'", at(19782, 45_296_000_000))]),
        ("datetime(6)", vec![("'1969-12-31 23:59:59.999999'", at(0, -1)), ("'2000-01-01'", at(10_957, 0))]),
        ("datetime(3)", vec![("'2000-01-01 00:00:00.123'", at(10_957, 123_000))]),
        ("timestamp(6) null", vec![("'2024-02-29 00:00:01.5'", at(19782, 1_500_000))]),
        ("time", vec![("'-838:59:59'", "span -3020399000000".into()), ("'00:00:00'", "span 0".into())]),
        ("time(6)", vec![("'49:00:00.000001'", "span 176400000001".into())]),
        ("year", vec![("2024", "2024".into()), ("0", "0".into())]),
        ("point", vec![("point(1,2)", format!("x000000000101000000{}", "000000000000f03f0000000000000040"))]),
        ("uuid", vec![("'123e4567-e89b-12d3-a456-426655440000'", "uuid 123e4567e89b12d3a456426655440000".into())]),
        ("inet6", vec![("'::1'", "inet 00000000000000000000000000000001/128".into())]),
        ("inet4", vec![("'10.0.0.1'", "inet 0a000001/32".into())]),
    ]
    .into_iter()
    .enumerate()
    {
        session.must(&format!("create or replace table types_{i} (id int primary key auto_increment, v {kind} null)"));
        for (literal, _) in &literals {
            session.must(&format!("insert into types_{i} (v) values ({literal})"));
        }
        session.must(&format!("insert into types_{i} (v) values (null)"));
        let mut expected: Vec<String> = literals.into_iter().map(|(_, value)| value).collect();
        expected.push("NULL".into());
        let sql = format!("select v from types_{i} order by id");
        assert_eq!(session.must(&sql), expected, "{kind} as text");
        for _ in 0..2 {
            let received = session.execute(&sql, vec![]);
            session.run().unwrap();
            assert_eq!(received.get().lines(), expected, "{kind} in binary: {:?}", received.get().error);
        }
        session.must(&format!("drop table types_{i}"));
    }
}

#[test]
fn dates_that_are_in_no_calendar_are_handed_over_as_such() {
    let mut session = session();
    session.must("set sql_mode='ALLOW_INVALID_DATES'");
    session.must("create or replace table zero (a date, b datetime, c datetime(6), d timestamp)");
    session.must("insert into zero values ('0000-00-00', '0000-00-00', '2024-00-00', '0000-00-00')");
    session
        .must("insert into zero values ('2024-02-31', '2024-02-31 01:02:03', '2023-02-29 01:02:03.5', '2000-01-01')");
    let expected = [
        "no date 0000-00-00|no date 0000-00-00 00:00:00|no date 2024-00-00 00:00:00|no date 0000-00-00 00:00:00",
        "no date 2024-02-31|no date 2024-02-31 01:02:03|no date 2023-02-29 01:02:03.500000|at 946684800000000",
    ];
    assert_eq!(session.must("select * from zero"), expected);
    let received = session.execute("select * from zero", vec![]);
    session.run().unwrap();
    assert_eq!(received.get().lines(), expected);
}

#[test]
fn values_go_in_the_same_way_in_both_protocols() {
    let noon = 19_782 * 86_400_000_000 + 43_200_000_000;
    let mut session = session();
    for (kind, value, expected) in [
        ("bigint", V::Int(-5), "-5"),
        ("bigint unsigned", V::Wide("18446744073709551615"), "u18446744073709551615"),
        ("decimal(65,0)", V::Wide("123456789012345678901234567890"), "d123456789012345678901234567890"),
        ("bool", V::Bool(true), "1"),
        ("double", V::Float(1.5e-7), "f0.00000015"),
        ("double", V::Float(0.1), "f0.1"),
        ("decimal(30,10)", V::decimal("-1.25"), "d-1.2500000000"),
        ("decimal(65,10)", V::decimal("1.2345678901234567890123E+30"), "d1234567890123456789012300000000.0000000000"),
        ("decimal(30,10)", V::decimal("15E-4"), "d0.0015000000"),
        ("varchar(50)", V::from("it's \"so\" 🙂 \\ %s ?"), "it's \"so\" 🙂 \\ %s ?"),
        ("varchar(50)", V::from("a\0b"), "a\0b"),
        ("varchar(50)", V::from(""), ""),
        ("varbinary(50)", V::bytes(&[0, 255, 39, 92]), "x00ff275c"),
        ("varbinary(50)", V::bytes(b"it's"), "x69742773"),
        ("varbinary(50)", V::bytes(&[]), "x"),
        ("date", V::Date(19_782), "day 19782"),
        ("datetime", V::Timestamp(noon), "at 1709208000000000"),
        ("datetime(6)", V::Timestamp(noon + 1), "at 1709208000000001"),
        ("datetime", V::Date(19_782), "at 1709164800000000"),
        ("time(6)", V::Time(3_600_000_001), "span 3600000001"),
        ("time(6)", V::Interval(0, -2, -1), "span -172800000001"),
        ("time", V::Time(0), "span 0"),
        ("uuid", V::Uuid(*b"0123456789abcdef"), "uuid 30313233343536373839616263646566"),
        ("varchar(50)", V::Inet([10, 0, 0, 1]), "10.0.0.1"),
        ("json", V::Json("{\"a\":\"b\\nc\"}"), "json {\"a\":\"b\\nc\"}"),
        ("bit(10)", V::Bits(10, vec![0x80, 0x40]), "bits 10 8040"),
        ("int", V::Null, "NULL"),
    ] {
        session.must(&format!("create or replace table inputs (v {kind})"));
        let received = session.execute("insert into inputs values (?)", vec![value.clone()]);
        session.run().unwrap();
        assert_eq!(end(&received), "done", "{kind}: {:?}", received.get().error);
        let received = session.execute_text("insert into inputs values (?)", vec![value.clone()]);
        session.run().unwrap();
        assert_eq!(end(&received), "done", "{kind} as text: {:?}", received.get().error);
        assert_eq!(session.must("select v from inputs"), [expected; 2], "{kind} {value:?}");
        if kind == "varchar(50)" {
            session.must("set sql_mode='NO_BACKSLASH_ESCAPES'");
            let received = session.execute_text("select ?", vec![value]);
            session.run().unwrap();
            assert_eq!(received.get().lines(), [expected]);
            session.must("set sql_mode=default");
        }
    }
    let received = session.execute_text("select'a'?, 1 limit?", vec![V::from("b"), V::Int(1)]);
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["ab|1"], "{:?}", received.get().error);
    let received = session
        .execute_text("select 2 in ?, 5 in ?", vec![V::List(vec![V::Int(1), V::Int(2)]), V::List(vec![V::Int(1)])]);
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["1|0"]);
}

#[test]
fn what_the_server_has_no_type_for_is_refused_before_anything_is_sent() {
    let mut session = session();
    for (value, why) in [
        (V::Float(f64::NAN), "does not fit DOUBLE"),
        (V::Float(f64::INFINITY), "does not fit DOUBLE"),
        (V::decimal("NaN"), "does not fit DECIMAL"),
        (V::Time(839 * 3_600_000_000), "does not fit TIME"),
        (V::Interval(1, 0, 0), "no calendar months"),
        (V::Date(i32::MAX), "does not fit DATE"),
        (V::Timestamp(i64::MIN), "does not fit DATETIME"),
        (V::TimestampTz(0), "zone would be lost"),
        (V::List(vec![V::Float(1.0)]), "cannot be sent as one parameter"),
        (V::Other, "cannot be sent"),
    ] {
        for text in [AsText::IfUnprepared, AsText::Always] {
            let sql = "select 1 from dual where 1 = ?".into();
            let execute = Execute { facts: None, sql, rows: ParameterRows::One, text, cursor: None };
            let (_, received) = session.ask(Request::Execute(execute), vec![value.clone()], vec![]);
            session.run().unwrap();
            assert!(end(&received).contains(why), "{value:?}: {}", end(&received));
        }
    }
    let received = session.execute("select 1 from dual where 1 = ?", vec![]);
    session.run().unwrap();
    assert_eq!(end(&received), "client the statement has 1 parameter, but 0 were given");
    assert_eq!(session.must("select 1"), ["1"]);
}

#[test]
fn an_unknown_statement_takes_one_round_trip_and_is_kept() {
    let mut session = session();
    let before = session.must("show status like 'Com_stmt_prepare'");
    for i in 0..5i64 {
        let received = session.execute("select seq from seq_1_to_5 where seq = ?", vec![V::Int(i + 1)]);
        session.run().unwrap();
        assert_eq!(received.get().lines(), [(i + 1).to_string()]);
        assert_eq!(received.get().columns, ["seq"]);
    }
    assert_eq!(session.machine.statements(), 1);
    assert_eq!(before, ["Com_stmt_prepare|0"]);
    assert_eq!(session.must("show status like 'Com_stmt_prepare'"), ["Com_stmt_prepare|1"]);
    for i in 0..20 {
        session.execute(&format!("select {i}"), vec![]);
    }
    session.run().unwrap();
    assert_eq!(session.machine.statements(), 16, "the cache of the test's session");
    session.must("select 1");
    // Five left the cache. Twenty were closed before a PREPARE, so that MariaDB has no last statement if it refuses
    // that.
    assert_eq!(session.must("show status like 'Com_stmt_close'"), ["Com_stmt_close|25"]);
}

#[test]
fn a_cached_statement_returns_the_new_columns_of_a_changed_table() {
    let mut session = session();
    session.must("create or replace table changing (a int)");
    session.must("insert into changing values (1)");
    for (change, columns, row) in [
        ("select 1", vec!["a"], "1"),
        ("alter table changing add b varchar(5) default 'x'", vec!["a", "b"], "1|x"),
        ("alter table changing modify a varchar(5)", vec!["a", "b"], "1|x"),
        ("alter table changing drop a", vec!["b"], "x"),
    ] {
        session.must(change);
        for _ in 0..2 {
            let received = session.execute("select * from changing", vec![]);
            session.run().unwrap();
            assert_eq!(received.get().columns, columns);
            assert_eq!(received.get().lines(), [row]);
        }
    }
    assert_eq!(session.machine.statements(), 1);
}

#[test]
fn many_requests_in_flight_keep_their_order_and_their_own_errors() {
    let mut session = session();
    session.must("create or replace table piped (id int primary key)");
    let mut received = Vec::new();
    for i in 0..3000i64 {
        received.push(match i % 4 {
            0 => session.execute("select ?, 'prepared'", vec![V::Int(i)]),
            1 => session.query(&format!("select {i}, 'text'")),
            2 => session.execute("insert into piped values (?)", vec![V::Int(i / 8)]),
            _ => session.query("select no_such_column"),
        });
    }
    session.run().unwrap();
    for (i, received) in received.iter().enumerate() {
        let received = received.get();
        match i % 4 {
            0 => assert_eq!(received.lines(), [format!("{i}|prepared")]),
            1 => assert_eq!(received.lines(), [format!("{i}|text")]),
            2 if i % 8 == 2 => assert_eq!(received.affected(), 1, "{i}"),
            2 => assert_eq!(received.end.as_deref(), Some("server 1062")),
            _ => assert_eq!(received.error.as_deref().and_then(|message| message.get(..5)), Some("42S22")),
        }
    }
}

#[test]
fn without_pipelining_it_is_the_same_with_more_round_trips() {
    let mut session = Server::shared().session_with(SessionOptions { in_flight: 1, ..Server::options() });
    let received: Vec<_> = (0..50i64).map(|i| session.execute("select ?", vec![V::Int(i)])).collect();
    session.run().unwrap();
    for (i, received) in received.iter().enumerate() {
        assert_eq!(received.get().lines(), [i.to_string()]);
    }
}

#[test]
fn several_results_of_procedures_and_of_several_statements() {
    let mut session = Server::shared().session_with(SessionOptions { multi_statements: true, ..Server::options() });
    session
        .must("create or replace procedure two(in a int, out b int) begin select a; select a + 1, 'x'; set b = 9; end");
    let received = session.execute("call two(?, @b)", vec![V::Int(5)]);
    let next = session.query("select @b");
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["5", "6|x"]);
    assert_eq!(received.get().results.len(), 3, "two with rows, one of CALL itself");
    assert_eq!(next.get().lines(), ["9"]);
    let received = session
        .query("select 1; create or replace table several (a int); insert into several values (1),(2); select 2");
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["1", "2"]);
    assert_eq!(
        received.get().results.iter().map(|result| result.rows).collect::<Vec<_>>(),
        [None, Some(0), Some(2), None]
    );
    let received = session.query("select 1; select no_such_column; select 3");
    let next = session.query("select 4");
    session.run().unwrap();
    assert_eq!((end(&received).as_str(), received.get().lines()), ("server 1054", vec!["1".to_owned()]));
    assert_eq!(next.get().lines(), ["4"]);
}

#[test]
fn ok_packets_have_counts_ids_warnings_and_texts() {
    let mut session = session();
    session.must("create or replace table counted (id int primary key auto_increment, v int)");
    let received = session.query("insert into counted (v) values (1),(2),(3)");
    let update = session.query("update counted set v = 5 where id < 3");
    let warned = session.query("select 1/0, cast('x' as int)");
    session.run().unwrap();
    let [inserted] = &received.get().results[..] else { panic!("one result") };
    assert_eq!((inserted.rows, inserted.generated), (Some(3), Some(1)));
    assert_eq!(inserted.tag, "Records: 3  Duplicates: 0  Warnings: 0");
    let [updated] = &update.get().results[..] else { panic!("one result") };
    assert_eq!((updated.rows, updated.generated), (Some(2), None));
    assert!(warned.get().results[0].warnings >= 1);
    let mut found = Server::shared().session_with(SessionOptions { found_rows: true, ..Server::options() });
    let received = found.query("update counted set v = 5");
    found.run().unwrap();
    assert_eq!(received.get().affected(), 3);
}

#[test]
fn a_statement_that_cannot_be_prepared_goes_as_text() {
    let mut session = session();
    // PREPARE itself is one of the few that the binary protocol does not take.
    let received = session.execute("prepare inner_one from 'select 5'", vec![]);
    let after = session.execute("select ?", vec![V::Int(1)]);
    session.run().unwrap();
    assert_eq!(end(&received), "done", "{:?}", received.get().error);
    assert_eq!(after.get().lines(), ["1"]);
    let again = session.execute("prepare inner_one from 'select 6'", vec![]);
    let received = session.execute("execute inner_one", vec![]);
    session.run().unwrap();
    assert_eq!(end(&again), "done");
    assert_eq!(received.get().lines(), ["6"]);
}

#[test]
fn a_statement_that_the_server_forgot_is_prepared_again() {
    let mut session = session();
    let sql = "select ? as again";
    session.execute(sql, vec![V::Int(1)]);
    session.run().unwrap();
    // Another client of the same session would do it so: the driver receives no packet for it.
    let mut direct = Vec::new();
    headrace_mysql::packets::command::bare(&mut direct, headrace_mysql::packets::command::Command::ResetConnection);
    use headrace_testkit::Peer;
    session.peer.send(&direct);
    let reply = session.peer.receive().unwrap();
    assert_eq!(reply[4], 0, "COM_RESET_CONNECTION works");
    let received = session.execute(sql, vec![V::Int(2)]);
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["2"], "{:?}", received.get().error);
}

#[test]
fn a_reset_brings_the_session_back_to_its_beginning() {
    let mut session = session();
    session.must("set @x = 1, sql_mode = 'ANSI_QUOTES'");
    session.execute("select @x", vec![]);
    session.ask(Request::ResetConnection, vec![], vec![]);
    let received = session.execute("select @x, @@character_set_client, @@character_set_results, 'ü'", vec![]);
    let (_, pong) = session.ask(Request::Ping, vec![], vec![]);
    session.run().unwrap();
    assert_eq!(received.get().lines(), ["NULL|utf8mb4|utf8mb4|ü"]);
    assert_eq!(end(&pong), "done");
}

#[test]
fn quit_ends_the_session_on_both_sides() {
    use headrace_testkit::Peer;
    let mut session = session();
    let id = session.machine.session().thread_id;
    session.machine.terminate(&mut session.write_buffer);
    let bytes = session.write_buffer.take();
    assert_eq!(bytes, [1, 0, 0, 0, 1]);
    session.peer.send(&bytes);
    assert_eq!(session.peer.receive(), None, "the server closes without a reply");
    let gone = format!("select count(*) from information_schema.processlist where id = {id}");
    assert_eq!(self::session().must(&gone), ["0"]);
}
