//! The states of a request that no recording covers: prepared or not, bound again, dropped, with a file.

use crate::machine::conversations::*;
use crate::support::TestHandler;
use crate::support::session::Conversation;
use headrace_core::{Discarded, FatalKind, IfUnsent, Modes, Protocol, Session as _, Verb};
use headrace_mysql::machine::{
    AsText, BatchStrategy, Execute, Guarding, InfileState, Machine, ParameterRows, Request, SessionOptions,
};
use headrace_mysql::packets::capabilities::Capabilities;
use headrace_testkit::{Shared, TestValue as V};

const SELECT: &str = "select a from t where a = ?";
/// `ER_UNSUPPORTED_PS`
const NOT_PREPARED: &[u8] = b"\xff\x0f\x05#HY000This command is not supported in the prepared statement protocol yet";

/// COM_STMT_PREPARE_OK of a statement with one parameter, that of a DOUBLE, and no columns.
fn prepared(id: u8) -> Vec<u8> {
    reply(&[&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], &column("?", 5, 63)])
}

fn answer(session: &mut Conversation<Script>, replies: Vec<Vec<u8>>) {
    session.peer.replies.extend(replies);
    session.run().unwrap();
}

/// A session with a prepared statement that was executed with this value.
fn knows(first: V) -> Conversation<Script> {
    let mut session = session(mysql8());
    session.execute(SELECT, vec![first]);
    answer(&mut session, vec![prepared(1), reply(&[OK])]);
    session.peer.received.clear();
    session
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_default()
}

#[test]
pub fn the_abandoned_end_of_a_block_ends_the_block_or_the_session() {
    const INTERRUPTED: &[u8] = b"\xff\x25\x05#70100Query execution was interrupted";
    let (owed, forget) = (IfUnsent::RollBack, IfUnsent::Forget);
    for (verb, answer, survives) in [
        (Verb::Rollback(forget), INTERRUPTED, false),
        (Verb::Commit(forget), OK, true),
        (Verb::Commit(forget), INTERRUPTED, false),
        (Verb::Rollback(owed), OK, true),
        (Verb::Rollback(owed), INTERRUPTED, false),
        (Verb::Commit(owed), OK, true),
        (Verb::Commit(owed), INTERRUPTED, false),
    ] {
        let mut session = session(mysql8());
        let id = submit(&mut session, &verb);
        session.flush();
        assert_eq!(session.machine.discard(id), Discarded::Alone, "{verb:?}");
        session.peer.replies.push_back(reply(&[answer]));
        let ended = session.run().map_err(|fatal| fatal.kind).err();
        assert_eq!(ended, (!survives).then_some(FatalKind::TransactionInDoubt), "{verb:?}");
    }
}

/// Submits a verb of one statement, and returns the number of its request.
fn submit(session: &mut Conversation<Script>, verb: &Verb) -> u64 {
    let requests = Machine::<TestHandler>::of_verb(verb).unwrap();
    let [request] = requests.try_into().unwrap();
    session.ask(request, vec![], vec![]).0
}

#[test]
pub fn the_transaction_ahead_is_that_of_the_verbs_that_are_queued() {
    let (forget, owed) = (IfUnsent::Forget, IfUnsent::RollBack);
    let savepoint = || Verb::Savepoint { name: "COMMIT; load".into(), begin: None };
    for (verbs, queued, sent) in [
        (vec![Verb::Begin(Modes::default())], None, None),
        (vec![Verb::Commit(forget)], None, Some(false)),
        (vec![Verb::Commit(owed)], Some(false), Some(false)),
        (vec![Verb::Rollback(owed), savepoint()], Some(false), Some(false)),
        (vec![savepoint(), Verb::Release("COMMIT; load".into()), Verb::Ping], Some(false), Some(false)),
        (vec![Verb::Reset], None, None),
    ] {
        let mut session = session(mysql8());
        session.machine.pause();
        for verb in &verbs {
            submit(&mut session, verb);
        }
        assert_eq!(session.machine.transaction_ahead(), queued, "{verbs:?}");
        session.machine.unpause();
        session.flush();
        assert_eq!(session.machine.transaction_ahead(), sent, "{verbs:?}");
    }
}

#[test]
pub fn the_discarded_end_of_a_load_undoes_it() {
    const OPEN: &[u8] = &[0, 0, 0, 3, 0, 0, 0];
    for (status, begin, undo) in [
        (OK, "COM_QUERY START TRANSACTION", "COM_QUERY ROLLBACK"),
        (OPEN, "COM_QUERY SAVEPOINT `headrace_load`", "COM_QUERY ROLLBACK TO SAVEPOINT `headrace_load`"),
    ] {
        let mut session = session(mysql8());
        session.query("do 0");
        answer(&mut session, vec![reply(&[status])]);
        let (reservation, _) = session.ask(Request::Reserve, vec![], vec![]);
        session.flush();
        let guard = |session: &mut Conversation<Script>, guarding: Guarding| {
            session.machine.guard(guarding).map(|statement| {
                let request = Box::new(Request::Verb(statement));
                session.ask(Request::Within { reservation, request }, vec![], vec![]).0
            })
        };
        guard(&mut session, Guarding::Begin);
        answer(&mut session, vec![reply(&[OPEN]), reply(&[OPEN])]);
        assert!(session.peer.sent().contains(&[begin]), "{begin}");
        session.machine.pause();
        let [notes, end] = guard(&mut session, Guarding::Keep);
        for id in [notes, end] {
            assert_eq!(session.machine.discard(id), Discarded::Gone);
        }
        session.machine.unpause();
        session.machine.release(reservation);
        session.peer.received.clear();
        answer(&mut session, vec![reply(&[OPEN]), reply(&[status])]);
        assert_eq!(session.peer.sent(), ["COM_QUERY SET sql_notes = @headrace_notes", undo]);
    }
}

#[test]
pub fn a_statement_that_is_not_prepared_goes_as_text() {
    let mut session = session(mysql8());
    let received = session.execute(SELECT, vec![V::from("u")]);
    answer(&mut session, vec![reply(&[NOT_PREPARED]), reply(&[OK])]);
    assert_eq!(end(&received), "done");
    assert_eq!(
        session.peer.sent(),
        ["COM_STMT_PREPARE select a from t where a = ?", "COM_QUERY select a from t where a = 'u'"]
    );
}

#[test]
pub fn a_statement_that_is_bound_to_other_types_is_prepared_again() {
    let mut session = knows(V::Int(1));
    let received = session.execute(SELECT, vec![V::Float(1.5)]);
    answer(&mut session, vec![prepared(2), reply(&[OK])]);
    assert_eq!(end(&received), "done");
    assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE select a from t where a = ?", "COM_STMT_EXECUTE 2"]);
}

#[test]
pub fn a_value_of_another_kind_than_its_column_is_written() {
    let mut session = knows(V::Int(1));
    for value in [V::from("x"), V::Int(2)] {
        let received = session.execute(SELECT, vec![value]);
        answer(&mut session, vec![reply(&[OK])]);
        assert_eq!(end(&received), "done");
    }
    assert_eq!(session.peer.sent(), ["COM_QUERY select a from t where a = 'x'", "COM_STMT_EXECUTE 1"]);
}

#[test]
pub fn an_expression_is_written_and_only_described_is_prepared() {
    const EXPRESSION: &str = "select ? + 1";
    let mut session = session(mysql8());
    for _ in 0..2 {
        session.execute(EXPRESSION, vec![V::Int(1)]);
        answer(&mut session, vec![reply(&[OK])]);
        assert_eq!(session.peer.sent(), ["COM_QUERY select 1 + 1"]);
        session.peer.received.clear();
    }
    let (_, described) = session.ask(Request::Prepare { sql: EXPRESSION.into() }, vec![], vec![]);
    session.execute(EXPRESSION, vec![V::Int(2)]);
    let bound = session.execute_bound(EXPRESSION, vec![V::Int(3)]);
    answer(&mut session, vec![prepared(1), reply(&[OK]), reply(&[OK])]);
    assert_eq!((end(&described), end(&bound)), ("done".into(), "done".into()));
    assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE select ? + 1", "COM_QUERY select 2 + 1", "COM_STMT_EXECUTE 1"]);
}

#[test]
pub fn an_expression_that_was_prepared_without_its_values_is_written_with_them() {
    const EXPRESSION: &str = "select ? + 1";
    let mut session = session(mysql8());
    let without = session.execute(EXPRESSION, vec![]);
    answer(&mut session, vec![prepared(1)]);
    assert!(end(&without).contains("1 parameter"), "{}", end(&without));
    session.peer.received.clear();
    for _ in 0..2 {
        let received = session.execute(EXPRESSION, vec![V::Int(1)]);
        answer(&mut session, vec![reply(&[OK])]);
        assert_eq!(end(&received), "done");
    }
    let bound = session.execute_bound(EXPRESSION, vec![V::Int(3)]);
    answer(&mut session, vec![reply(&[OK])]);
    assert_eq!(end(&bound), "done");
    assert_eq!(session.peer.sent(), ["COM_QUERY select 1 + 1", "COM_QUERY select 1 + 1", "COM_STMT_EXECUTE 1"]);
}

#[test]
pub fn an_expression_without_its_values_is_refused_before_it_is_executed() {
    for cursor in [None, Some(2)] {
        let mut session = session(mysql8());
        let execute = Execute {
            facts: None,
            sql: "select ? + 1".into(),
            rows: ParameterRows::One,
            text: AsText::IfUnprepared,
            cursor,
        };
        let (_, received) = session.ask(Request::Execute(execute), vec![], vec![]);
        answer(&mut session, vec![prepared(1)]);
        assert!(end(&received).contains("the statement has 1 parameter, but 0 were given"), "{}", end(&received));
        assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE select ? + 1"]);
    }
}

#[test]
pub fn a_cursor_of_an_expression_is_that_of_a_statement_with_literals() {
    let mut session = session(mysql8());
    let cursor = || Execute {
        facts: None,
        sql: "select ? + 1".into(),
        rows: ParameterRows::One,
        text: AsText::IfUnprepared,
        cursor: Some(2),
    };
    for id in 1..3 {
        session.ask(Request::Execute(cursor()), vec![V::Int(1)], vec![]);
        let ok = reply(&[&[0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]);
        answer(&mut session, vec![ok, reply(&[OK]), reply(&[b"\xff\x26\x04#HY000no cursor"])]);
    }
    let sent = session.peer.sent();
    assert!(sent.starts_with(&["COM_STMT_PREPARE select 1 + 1", "COM_STMT_EXECUTE 1"]), "{sent:?}");
    assert!(sent.contains(&["COM_STMT_CLOSE 1", "COM_STMT_PREPARE select 1 + 1", "COM_STMT_EXECUTE 2"]), "{sent:?}");
}

#[test]
pub fn a_query_that_groups_by_a_constant_is_written_from_then_on() {
    const GROUPED: &str = "select a, count(*) from t where a = ?";
    let mut session = session(mysql8());
    let mixed = reply(&[b"\xff\x74\x04#42000In aggregated query without GROUP BY, ..."]);
    for replies in [vec![mixed, reply(&[OK])], vec![reply(&[OK])]] {
        let received = session.execute(GROUPED, vec![V::Int(1)]);
        answer(&mut session, replies);
        assert_eq!(end(&received), "done");
    }
    let text = "COM_QUERY select a, count(*) from t where a = 1";
    assert_eq!(session.peer.sent(), ["COM_STMT_PREPARE select a, count(*) from t where a = ?", text, text]);
}

#[test]
pub fn a_known_statement_is_not_prepared_again() {
    let mut session = knows(V::Int(1));
    session.machine.cancel_sent();
    let (_, received) = session.ask(Request::Prepare { sql: SELECT.into() }, vec![], vec![]);
    answer(&mut session, vec![reply(&[OK])]);
    assert_eq!((end(&received), session.peer.sent() == ["COM_QUERY DO 0"]), ("done".into(), true));
}

#[test]
pub fn a_value_that_does_not_fit_is_reported_once_earlier_rows_are_answered() {
    let mut session = session(mysql8());
    session.machine.cancel_sent();
    let received = session.execute_text(SELECT, vec![V::Other]);
    answer(&mut session, vec![reply(&[OK])]);
    assert!(end(&received).starts_with("client "), "{}", end(&received));
    assert_eq!(session.peer.sent(), ["COM_QUERY DO 0"]);

    let replies = vec![greeting("10.11.6-MariaDB", "mysql_native_password", mysql8()), packet(2, OK)];
    let mut session = ready(connecting(options("pw"), replies));
    session.machine.cancel_sent();
    let received = session.execute(SELECT, vec![V::Other]);
    answer(&mut session, vec![reply(&[OK])]);
    assert!(end(&received).starts_with("client "), "{}", end(&received));
    assert_eq!(session.peer.sent(), ["COM_QUERY DO 0"], "the COM_STMT_PREPARE was taken back");
}

/// A session whose server has requested a file.
fn uploading() -> (Conversation<Script>, u64, Shared) {
    let replies = vec![greeting("8.4.3", "mysql_native_password", mysql8()), packet(2, OK)];
    let mut session = ready(connecting(SessionOptions { local_infile: true, ..options("pw") }, replies));
    let request = Request::Query { sql: "load data local infile 'x'".into(), infile: true };
    let (id, received) = session.ask(request, vec![], vec![]);
    session.peer.replies.push_back(reply(&[b"\xfbx"]));
    session.pump(|machine| machine.infile_state(id) == InfileState::Streaming(b"x".to_vec())).unwrap();
    (session, id, received)
}

#[test]
pub fn a_file_is_sent_when_the_server_requests_it() {
    let (mut session, id, received) = uploading();
    assert!(session.machine.infile_data(id, &mut session.write_buffer, |out| out.extend_from_slice(b"1\n")));
    session.machine.infile_end(id, &mut session.write_buffer);
    answer(&mut session, vec![packet(4, OK)]);
    assert_eq!(end(&received), "done");
    let sent = session.peer.sent();
    assert!(sent.ends_with(&["packet 2: 2", "packet 3: 0"]), "{sent:?}");
}

#[test]
pub fn a_second_file_within_the_first_ends_the_session() {
    let (mut session, ..) = uploading();
    session.read_buffer.extend(&packet(2, b"\xfby"));
    assert!(session.machine.receive((), &mut session.read_buffer, &mut session.write_buffer).is_err());
}

/// A batch of two rows in bulk, and the server's replies, the first of which is about the table.
fn bulk(replies: Vec<Vec<u8>>) -> (Conversation<Script>, Shared) {
    let bulk = (mysql8() - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
    let mut session = session(bulk);
    let values = vec![vec![V::Int(7)], vec![V::Int(8)]];
    let received = session.batch("insert into t values (?)", BatchStrategy::Auto, true, values);
    answer(&mut session, replies);
    (session, received)
}

#[test]
pub fn rows_that_the_server_does_not_take_in_bulk_go_one_by_one() {
    let ok = || reply(&[OK]);
    let replies = vec![ok(), prepared(1), ok(), reply(&[NOT_PREPARED]), ok(), ok(), ok(), ok()];
    let (mut session, received) = bulk(replies);
    assert_eq!(end(&received), "done");
    assert_eq!(session.peer.sent().count(&["COM_STMT_EXECUTE 1"]), 2);
}

#[test]
pub fn rows_are_joined_only_where_the_server_refuses_in_all_what_it_refuses_in_one() {
    let ok = || reply(&[OK]);
    let row = |said: &[u8]| reply(&[&[1], &column("mode", 253, 45), said, &[0xfe, 0, 0, 2, 0, 0, 0]]);
    let values = || vec![vec![V::Int(7)], vec![V::Int(8)]];
    let refused = reply(&[b"\xff\x7a\x04#42S02no"]);
    for (answered, joins) in [(ok(), true), (refused, true), (row(b"\x04mode"), false), (row(b"\x06MyISAM"), false)] {
        let mut session = session(mysql8());
        session.batch("insert into `a``b`.t values (?)", BatchStrategy::Auto, true, values());
        let rest = if joins { vec![ok()] } else { vec![prepared(1), ok(), ok()] };
        answer(&mut session, [vec![answered], rest, vec![ok(), ok(), ok()]].concat());
        let sent = session.peer.sent();
        let question = sent.messages()[0].clone();
        assert!(
            question.contains("t.TABLE_SCHEMA = _utf8mb4 x'616062' AND t.TABLE_NAME = _utf8mb4 x'74'"),
            "{question}"
        );
        assert_eq!(sent.count(&["COM_STMT_EXECUTE 1"]), if joins { 0 } else { 2 }, "{sent:?}");
        // It is asked once, and again when the session may have changed.
        session.peer.received.clear();
        let rest = if joins { vec![ok()] } else { vec![ok(), ok()] };
        session.batch("insert into `a``b`.t values (?)", BatchStrategy::Auto, true, values());
        answer(&mut session, [rest, vec![ok(), ok(), ok()]].concat());
        assert_eq!(session.peer.sent().count(&[&question]), 0);
        session.query("set sql_mode = ''");
        session.batch("insert into `a``b`.t values (?)", BatchStrategy::Auto, true, values());
        answer(&mut session, [ok(), ok(), ok(), ok(), ok(), ok()].to_vec());
        assert_eq!(session.peer.sent().count(&[&question]), 1);
    }
}

#[test]
pub fn what_asks_for_warnings_is_sent_without_a_preparation_that_would_be_what_they_are_about() {
    for capabilities in [mysql8(), (mysql8() - Capabilities::LONG_PASSWORD)] {
        for sql in ["show warnings", "get diagnostics @n = number", "select @@session.warning_count"] {
            let mut session = session(capabilities);
            session.execute(sql, vec![]);
            answer(&mut session, vec![reply(&[OK])]);
            assert_eq!(session.peer.sent(), [format!("COM_QUERY {sql}").as_str()]);
        }
    }
}

#[test]
pub fn rows_that_mariadb_would_skip_in_all_and_refuses_in_one_are_not_joined() {
    let ok = || reply(&[OK]);
    for (verb, joins) in [("insert ignore", false), ("insert", true)] {
        let mariadb = (mysql8() - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
        let mut session = session(mariadb);
        let rows = vec![vec![V::Int(7)], vec![V::Int(8)]];
        session.batch(&format!("{verb} into t values (abs(?))"), BatchStrategy::Auto, true, rows);
        answer(&mut session, vec![ok(), ok(), ok(), ok(), ok(), ok(), ok()]);
        let sent = session.peer.sent();
        let joined = sent.messages().iter().any(|message| message.contains("(abs(7)),(abs(8))"));
        assert_eq!(joined, joins, "{sent:?}");
        let alone =
            ["COM_QUERY insert ignore into t values (abs(7))", "COM_QUERY insert ignore into t values (abs(8))"];
        assert_eq!(sent.count(&alone), usize::from(!joins), "{sent:?}");
    }
}

/// `ER_CHECK_NOT_IMPLEMENTED`
const NO_SAVEPOINT: &[u8] = b"\xff\x9a\x04#42000The storage engine for the table doesn't support SAVEPOINT";

#[test]
pub fn rows_are_sent_without_a_savepoint_that_the_engine_does_not_have() {
    let ok = || reply(&[OK]);
    let values = || vec![vec![V::Int(7)], vec![V::from("8")], vec![V::Int(9)], vec![V::from("10")]];
    for failed in [false, true] {
        let bulk = (mysql8() - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
        let mut session = session(bulk);
        let received = session.batch("insert into t values (?)", BatchStrategy::Auto, true, values());
        let last = if failed { reply(&[DUPLICATE]) } else { ok() };
        let mut end_of_guard = if failed { vec![reply(&[WARNED]), ok()] } else { vec![ok()] };
        end_of_guard.push(ok());
        // The second savepoint is in flight when the first one is refused.
        let none = || reply(&[NO_SAVEPOINT]);
        let replies = vec![ok(), prepared(1), ok(), ok(), none(), ok(), none(), ok(), last];
        answer(&mut session, [replies, end_of_guard].concat());
        assert_eq!(end(&received), if failed { "server 1062 at row 3" } else { "done" });
        let sent = session.peer.sent();
        assert_eq!(sent.count(&["COM_STMT_BULK_EXECUTE 1"]), 4);
        assert_eq!(sent.messages().iter().filter(|message| message.contains("SAVEPOINT")).count(), 2, "{sent:?}");
        if failed {
            let error = received.get().error.unwrap();
            assert!(error.contains("3 rows of it stay applied"), "{error}");
        }
    }
}

#[test]
pub fn rows_go_together_into_a_lenient_table_while_the_mode_is_strict_for_it() {
    let ok = || reply(&[OK]);
    let row = |said: &[u8]| reply(&[&[1], &column("mode", 253, 45), said, &[0xfe, 0, 0, 2, 0, 0, 0]]);
    for (answered, is_strict) in [(row(b"\x04mode"), false), (row(b"\x06MyISAM"), true), (row(b"\x04Aria"), true)] {
        for failed in [false, true] {
            let last = if failed { vec![reply(&[DUPLICATE]), reply(&[WARNED])] } else { vec![ok()] };
            let modes = usize::from(is_strict);
            let begun = vec![ok(); 1 + modes];
            let ended = vec![ok(); 2 + modes + usize::from(failed)];
            let replies = [vec![answered.clone(), prepared(1)], begun, last, ended].concat();
            let (mut session, received) = bulk(replies);
            assert_eq!(end(&received), if failed { "server 1062" } else { "done" });
            let sent = session.peer.sent();
            assert_eq!(sent.count(&["COM_STMT_BULK_EXECUTE 1"]), 1);
            let modes: Vec<_> = sent.messages().iter().filter(|message| message.contains("SET sql_mode")).collect();
            assert_eq!(modes.len(), if is_strict { 2 } else { 0 }, "{sent:?}");
            assert!(modes.first().is_none_or(|mode| mode.ends_with("'STRICT_TRANS_TABLES,STRICT_ALL_TABLES')")));
        }
    }
}

const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
/// OK with one warning, as of a ROLLBACK that could not undo everything.
const WARNED: &[u8] = &[0, 0, 0, 2, 0, 1, 0];

#[test]
pub fn rows_that_cannot_be_undone_are_not_sent_again() {
    let ok = || reply(&[OK]);
    let replies = vec![ok(), prepared(1), ok(), reply(&[DUPLICATE]), reply(&[WARNED]), ok(), ok(), ok()];
    let (mut session, received) = bulk(replies);
    assert_eq!(end(&received), "server 1062", "which row it is is not known");
    assert_eq!(session.peer.sent().count(&["COM_STMT_BULK_EXECUTE 1"]), 1);
}

#[test]
pub fn a_batch_that_is_abandoned_during_the_search_for_its_failing_row_is_rolled_back() {
    let (mut session, ok) = (session(mysql8()), || reply(&[OK]));
    let values = (0..2000).map(|n| vec![V::Int(n)]).collect();
    session.batch("insert into t values (?)", BatchStrategy::Joined, true, values);
    session.peer.replies.extend([ok(), ok(), reply(&[DUPLICATE]), ok()]);
    while !session.peer.replies.is_empty() {
        session.pump(|_| false).unwrap_err();
    }
    assert!(session.peer.sent().contains(&["COM_QUERY ROLLBACK", "COM_QUERY insert into t values (0)"]));
    let id = session.machine.find(|_| true).unwrap();
    session.machine.discard(id);
    session.peer.replies.extend((0..2002).map(|_| ok()));
    session.pump(|machine| machine.is_idle()).unwrap();
    assert!(session.peer.sent().ends_with(&["COM_QUERY ROLLBACK", "COM_QUERY SET autocommit=1"]));
}

#[test]
pub fn a_value_that_does_not_fit_ends_a_batch_that_was_partly_sent() {
    let (mut session, ok) = (session(mysql8()), || reply(&[OK]));
    let values = vec![vec!["x".repeat(300_000).into()], vec![V::Other]];
    let received = session.batch("insert into t values (?)", BatchStrategy::Pipelined, true, values);
    answer(&mut session, vec![prepared(1), ok(), ok(), ok(), ok()]);
    assert!(end(&received).ends_with("at row 1"), "{}", end(&received));
    assert!(session.peer.sent().ends_with(&["COM_QUERY ROLLBACK", "COM_QUERY SET autocommit=1"]));
}

#[test]
pub fn a_discarded_request_is_not_repeated_with_a_fresh_statement() {
    for (code, discarded) in [(1243u16, false), (1243, true), (1615, false), (1615, true)] {
        let mut session = knows(V::Int(1));
        let told = session.execute(SELECT, vec![V::Int(2)]);
        let id = session.machine.next_id() - 1;
        session.flush();
        if discarded {
            assert_eq!(session.machine.discard(id), Discarded::Alone);
        }
        session.peer.received.clear();
        let stale = reply(&[&[&[0xff][..], &code.to_le_bytes(), b"#HY000"].concat()]);
        let repeated = if discarded { vec![] } else { vec![prepared(2), reply(&[OK])] };
        answer(&mut session, [vec![stale], repeated].concat());
        let sent = session.peer.sent();
        assert_eq!(sent.contains(&["COM_STMT_PREPARE select a from t where a = ?"]), !discarded, "{code}: {sent:?}");
        assert_eq!(end(&told), if discarded { "" } else { "done" }, "{code}");
        assert_eq!((session.machine.statements(), session.machine.is_idle()), (usize::from(!discarded), true));
    }
}

#[test]
fn the_modes_that_a_routine_sets_end_with_it() {
    const PLAIN: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const NO_ESCAPES: &[u8] = &[0, 0, 0, 2, 2, 0, 0];
    for (statements, expected) in [
        (&[("call p()", NO_ESCAPES)][..], false),
        (&[("call p()", NO_ESCAPES), ("select @@sql_mode", NO_ESCAPES), ("SET a = 1", NO_ESCAPES)], false),
        (&[("select f(1)", NO_ESCAPES), ("SET SQL_MODE = @m", NO_ESCAPES)], true),
        (&[("call p()", NO_ESCAPES), ("SET sql_mode = ''", PLAIN)], false),
        (&[("set sql_mode = @m", NO_ESCAPES), ("insert into t values (1)", PLAIN)], true),
        (&[("set sql_mode = @m", NO_ESCAPES), ("call p()", PLAIN), ("call q()", NO_ESCAPES)], true),
        (&[("SET a = f(1)", NO_ESCAPES)], false),
        (&[("set statement sql_mode = 'NO_BACKSLASH_ESCAPES' for select 1", NO_ESCAPES)], false),
        (&[("begin not atomic set sql_mode = @m; end", NO_ESCAPES)], false),
        (&[("select 1; set sql_mode = @m", NO_ESCAPES)], true),
        (&[("execute s", NO_ESCAPES)], true),
        (&[("call p()", NO_ESCAPES), ("execute s", PLAIN)], false),
    ] {
        let mut session = session(mysql8());
        for (sql, status) in statements {
            session.query(sql);
            answer(&mut session, vec![reply(&[status])]);
        }
        assert_eq!(session.machine.session().modes().no_backslash_escapes, expected, "{statements:?}");
    }
}
