//! The messages that are sent and the outcome of requests, in conversations with a scripted server.

use crate::machine::session::*;
use crate::support::TestHandler;
use headrace_core::protocol::{Fatal, FatalKind, Protocol};
use headrace_core::{Discarded, IfUnsent, Session as _, TransactionStatus, Verb};
use headrace_postgres::machine::{Execute, ParameterRows, Portal, PortalId, Prepare, Request};
use headrace_postgres::messages::tag::{self, backend};
use headrace_testkit::TestValue;
use std::sync::atomic::Ordering;

#[test]
pub fn a_batch_names_the_row_that_failed() {
    for failing in [0usize, 1, 2] {
        let mut session = Conversation::start();
        let received =
            session.execute("insert", Some(vec![vec![1.into()], vec![2.into()], vec![3.into()]]), Vec::new(), true);
        session
            .feed(
                &[
                    msg(backend::PARSE_COMPLETE, b""),
                    msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 23]),
                    msg(backend::NO_DATA, b""),
                ]
                .concat(),
            )
            .unwrap();
        for _ in 0..failing {
            session
                .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat())
                .unwrap();
        }
        session.feed(&[error("23505"), ready(b'I')].concat()).unwrap();
        assert_eq!(received.get().end, Some(format!("server 23505 at row {failing}")));
        assert!(session.machine.is_idle());
    }
}

#[test]
pub fn a_batch_is_ended_when_few_rows_are_unanswered_and_can_be_taken_back_until_then() {
    for discarded in [false, true] {
        let mut session = Conversation::start();
        let rows = (0..2000i64).map(|i| vec![i.into()]).collect();
        let received = session.execute("insert", Some(rows), Vec::new(), true);
        session
            .feed(
                &[
                    msg(backend::PARSE_COMPLETE, b""),
                    msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 20]),
                    msg(backend::NO_DATA, b""),
                ]
                .concat(),
            )
            .unwrap();
        assert!(session.sent().ends_with(&["Flush"]), "all rows are sent, and not their end");
        let answer = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat();
        session.feed(&answer.repeat(2000 - 1025)).unwrap();
        assert!(session.sent().is_empty());
        if discarded {
            assert_eq!(session.machine.discard(1), Discarded::Alone, "the server is at it");
            session.machine.transmit((), &mut session.write_buffer);
            let sent = session.write_buffer.take();
            assert!(sent.windows(19).any(|w| w == b"abandoned by the cl"), "{sent:?}");
            session.feed(&answer.repeat(1025)).unwrap();
            session.feed(&[error("42601"), ready(b'I')].concat()).unwrap();
            assert_eq!(received.get().end, None);
        } else {
            session.feed(&answer).unwrap();
            assert_eq!(session.sent(), ["Sync"]);
            session.feed(&answer.repeat(1024)).unwrap();
            session.feed(&ready(b'I')).unwrap();
            assert_eq!(received.get().end.as_deref(), Some("done"));
        }
        assert!(session.machine.is_idle());
    }
}

#[test]
pub fn requests_that_wait_for_replies_are_not_sent_to_a_pooler_that_may_reassign_the_server() {
    let mut session = Conversation::start();
    let rows = |n: i64| Some((0..n).map(|i| vec![i.into()]).collect());
    let description = [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 20]),
        msg(backend::NO_DATA, b""),
    ]
    .concat();
    session.execute_as(Prepare::Unnamed, "insert", rows(1), Vec::new(), true);
    session.feed(&description).unwrap();
    assert!(session.sent().ends_with(&["Bind", "Execute", "Sync"]));
    let batch = session.execute_as(Prepare::Unnamed, "insert", rows(2000), Vec::new(), true);
    session.execute_as(Prepare::Unnamed, "other", None, vec![1.into()], true);
    assert!(session.sent().is_empty(), "the first Sync is not answered");
    let answer = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat();
    session.feed(&[msg(backend::PARSE_COMPLETE, b""), answer.clone(), ready(b'I')].concat()).unwrap();
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"], "its texts are parsed as what the columns are by now");
    session.feed(&description).unwrap();
    assert!(session.sent().ends_with(&["Bind", "Execute", "Flush"]));
    session.feed(&answer.repeat(2000)).unwrap();
    assert_eq!(session.sent(), ["Sync"], "nor is one that is not known sent after it");
    session.feed(&ready(b'I')).unwrap();
    assert_eq!(batch.get().end.as_deref(), Some("done"));
    assert!(!session.sent().is_empty());
}

#[test]
pub fn nothing_is_sent_to_a_pooler_before_it_has_answered_unless_a_block_is_open() {
    let answer = |status| {
        [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0"), ready(status)].concat()
    };
    for status in [b'I', b'T'] {
        let mut session = Conversation::start();
        session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        session
            .feed(
                &[
                    msg(backend::PARSE_COMPLETE, b""),
                    msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                    msg(backend::NO_DATA, b""),
                ]
                .concat(),
            )
            .unwrap();
        session.feed(&[msg(backend::PARSE_COMPLETE, b""), answer(status)].concat()).unwrap();
        session.write_buffer.take();
        session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        assert!(session.sent().ends_with(&["Bind", "Execute", "Sync"]));
        let second = session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        assert_eq!(session.sent().is_empty(), status == b'I', "a known statement");
        let answer = [msg(backend::PARSE_COMPLETE, b""), answer(status)].concat();
        session.feed(&answer).unwrap();
        session.feed(&answer).unwrap();
        assert_eq!(second.get().end.as_deref(), Some("done"));
    }
}

#[test]
pub fn nothing_is_sent_after_a_copy_before_it_is_answered() {
    let texts = [("copy t from stdin", true), ("/* all */ COPY t TO STDOUT", true), ("select copy", false)];
    for (sql, waits) in texts {
        let mut session = Conversation::start();
        session.execute(sql, None, Vec::new(), false);
        session
            .feed(
                &[
                    msg(backend::PARSE_COMPLETE, b""),
                    msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                    msg(backend::NO_DATA, b""),
                ]
                .concat(),
            )
            .unwrap();
        session.write_buffer.take();
        session.execute("select 1", None, Vec::new(), true);
        assert_eq!(session.sent().is_empty(), waits, "{sql}");
    }
    let mut session = Conversation::start();
    let sql = "select 1; copy t to stdout".into();
    let (handler, _) = TestHandler::new(Vec::new(), Vec::new());
    let request = Request::Script { sql, prelude: None, copy: false };
    session.machine.submit(request, handler);
    session.machine.transmit((), &mut session.write_buffer);
    session.write_buffer.take();
    session.execute("select 1", None, Vec::new(), true);
    assert!(session.sent().is_empty(), "after a script");
    session.feed(&[msg(backend::COMMAND_COMPLETE, b"COPY 1\0"), ready(b'I')].concat()).unwrap();
    assert!(!session.sent().is_empty());
}

#[test]
pub fn the_abandoned_end_of_a_block_is_sent() {
    for (unsent, kept) in [(IfUnsent::Forget, false), (IfUnsent::RollBack, true)] {
        let mut session = Conversation::start();
        session.machine.pause();
        let (handler, _) = TestHandler::new(Vec::new(), Vec::new());
        session.machine.submit(verb(&Verb::Commit(unsent)), handler);
        assert_eq!(session.machine.discard(1), Discarded::Gone, "nothing of it was sent");
        session.machine.unpause();
        session.machine.transmit((), &mut session.write_buffer);
        assert_eq!(
            session.write_buffer.take(),
            if kept { msg(tag::frontend::QUERY, b"ROLLBACK\0") } else { Vec::new() }
        );
    }
}

#[test]
pub fn a_value_that_does_not_fit_sends_nothing_of_a_known_statement() {
    let mut session = Conversation::start();
    // With a type that the server has not chosen, which another session cannot change.
    let typed = |rows| {
        let Request::Execute(execute) = execution("insert", rows, true) else { unreachable!() };
        Request::Execute(Execute { hints: vec![21], ..execute })
    };
    session.ask(typed(ParameterRows::One), vec![1.into()], vec![]);
    session.feed_messages(&[described(&[21], &[])]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1"), ready(b'I')]);
    session.write_buffer.take();
    let (_, received) = session.ask(typed(ParameterRows::Batch), vec![], vec![vec![1.into()], vec![70_000.into()]]);
    assert_eq!(session.write_buffer.len(), 0, "nothing may be sent");
    let end = received.get().end.clone().unwrap();
    assert!(end.contains("does not fit int2") && end.ends_with("at row 1"), "{end}");
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_batch_that_was_partly_sent_is_made_to_fail_on_the_server() {
    let mut session = Conversation::start();
    // More rows than the write buffer takes at once, and the last one bad.
    let mut rows: Vec<Vec<TestValue>> = (0..20_000i64).map(|i| vec![i.into()]).collect();
    rows.push(vec![TestValue::Other]);
    let received = session.execute("insert", Some(rows), Vec::new(), true);
    session.write_buffer.take();
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 20]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    let mut sent = Vec::new();
    loop {
        let some = session.write_buffer.take();
        if some.is_empty() {
            break;
        }
        sent.extend(some);
        session.machine.transmit((), &mut session.write_buffer);
    }
    assert!(sent.windows(19).any(|w| w == b"abandoned by the cl"), "the batch is poisoned");
    for _ in 0..20_000 {
        session
            .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat())
            .unwrap();
    }
    session.feed(&[error("42601"), ready(b'I')].concat()).unwrap();
    assert!(received.get().end.as_deref().unwrap().starts_with("client"), "{:?}", received.get().end);
}

#[test]
pub fn after_an_error_the_rest_of_a_group_is_skipped_and_the_next_group_runs() {
    let mut session = Conversation::start();
    let first = session.execute("a", None, Vec::new(), false);
    let second = session.execute("b", None, Vec::new(), false);
    let third = session.execute("c", None, Vec::new(), true);
    let fourth = session.execute("d", None, Vec::new(), true);
    session.feed(&error("42601")).unwrap();
    assert_eq!(first.get().end.as_deref(), Some("server 42601"));
    session.feed(&ready(b'I')).unwrap();
    assert_eq!(second.get().end.as_deref(), Some("skipped"));
    assert_eq!(third.get().end.as_deref(), Some("skipped"));
    assert!(fourth.get().end.is_none());
    session.feed(&server_process_queried()).unwrap();
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')].concat())
        .unwrap();
    assert_eq!(fourth.get().end.as_deref(), Some("done"));
    assert!(session.machine.is_idle());
}

#[test]
pub fn a_forgotten_statement_is_prepared_again() {
    let mut session = Conversation::start();
    session.execute("s", None, Vec::new(), true);
    let described =
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::PARAMETER_DESCRIPTION, &[0, 0]), msg(backend::NO_DATA, b"")]
            .concat();
    session.feed(&described).unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')].concat())
        .unwrap();
    let received = session.execute("s", None, Vec::new(), true);
    session.write_buffer.take();
    session.feed(&[error("26000"), ready(b'I')].concat()).unwrap();
    assert!(received.get().end.is_none());
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"], "it is prepared again");
    session.feed(&described).unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')].concat())
        .unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn a_statement_that_is_executing_is_not_repeated_whatever_its_error_is() {
    let mut session = Conversation::start();
    let described =
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::PARAMETER_DESCRIPTION, &[0, 0]), msg(backend::NO_DATA, b"")]
            .concat();
    session.execute("call p()", None, Vec::new(), true);
    session.feed(&described).unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"CALL\0"), ready(b'I')].concat())
        .unwrap();
    // The procedure has committed, and then executed a statement that there is not.
    let received = session.execute("call p()", None, Vec::new(), true);
    session.write_buffer.take();
    session.feed(&[msg(backend::BIND_COMPLETE, b""), error("26000"), ready(b'I')].concat()).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("server 26000"));
    assert!(session.sent().is_empty());
}

#[test]
pub fn a_discarded_request_is_not_repeated_with_a_fresh_statement() {
    for discarded in [false, true] {
        let mut session = Conversation::start();
        session.execute("s", None, Vec::new(), true);
        let described =
            [(backend::PARSE_COMPLETE, &[][..]), (backend::PARAMETER_DESCRIPTION, &[0, 0]), (backend::NO_DATA, &[])];
        session.feed(&described.map(|(tag, body)| msg(tag, body)).concat()).unwrap();
        let done = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')];
        session.feed(&done.concat()).unwrap();
        session.execute("s", None, Vec::new(), true);
        session.write_buffer.take();
        if discarded {
            assert_eq!(session.machine.discard(2), Discarded::Alone);
        }
        session.feed(&[error("26000"), ready(b'I')].concat()).unwrap();
        let sent = session.sent();
        assert_eq!(sent.contains(&["Parse"]), !discarded, "{sent:?}");
        assert_eq!(session.machine.is_idle(), discarded);
    }
}

#[test]
pub fn a_value_that_does_not_fit_an_old_statement_is_tried_on_a_new_one() {
    let mut session = Conversation::start();
    session.execute("insert", None, vec![1.into()], true);
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 21]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    session
        .feed(
            &[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0"), ready(b'I')].concat(),
        )
        .unwrap();
    session.execute("alter", None, Vec::new(), true);
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    session
        .feed(
            &[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"ALTER TABLE\0"), ready(b'I')].concat(),
        )
        .unwrap();
    session.write_buffer.take();
    let received = session.execute("insert", None, vec![70_000.into()], true);
    assert!(received.get().end.is_none());
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 23]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    session
        .feed(
            &[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0"), ready(b'I')].concat(),
        )
        .unwrap();
    assert_eq!(received.get().end.as_deref(), Some("done"));
    assert!(session.machine.is_idle());
}

#[test]
pub fn in_a_failed_transaction_a_forgotten_statement_is_reported_to_the_handler() {
    let mut session = Conversation::start();
    session.execute("s", None, Vec::new(), true);
    session
        .feed(
            &[
                msg(backend::PARSE_COMPLETE, b""),
                msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                msg(backend::NO_DATA, b""),
            ]
            .concat(),
        )
        .unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'T')].concat())
        .unwrap();
    let received = session.execute("s", None, Vec::new(), true);
    session.feed(&[error("26000"), ready(b'E')].concat()).unwrap();
    assert_eq!(received.get().end.as_deref(), Some("server 26000"));
    assert_eq!(session.machine.transaction(), TransactionStatus::Failed);
    assert_eq!(session.machine.statements(), 0, "but the next time it is prepared again");
}

#[test]
pub fn the_abandoned_end_of_a_block_ends_the_block_or_the_session() {
    let (commit, rollback) = (Verb::Commit(IfUnsent::RollBack), Verb::Rollback(IfUnsent::RollBack));
    let asked = Verb::Commit(IfUnsent::Forget);
    for (end, answer, survives) in [
        (&asked, [completed("COMMIT"), ready(b'I')], true),
        (&asked, [error("57014"), ready(b'I')], false),
        (&rollback, [completed("ROLLBACK"), ready(b'I')], true),
        (&rollback, [error("57014"), ready(b'E')], false),
        (&commit, [error("57014"), ready(b'I')], true),
        (&commit, [error("57014"), ready(b'T')], false),
    ] {
        let mut session = Conversation::start();
        session.ask(script("BEGIN", false), vec![], vec![]);
        session.feed_messages(&[completed("BEGIN"), ready(b'T')]);
        let (id, _) = session.ask(verb(end), vec![], vec![]);
        assert_eq!(session.machine.discard(id), Discarded::Alone, "{end:?}");
        let ended = session.feed(&answer.concat());
        assert_eq!(
            ended.map_err(|fatal| fatal.kind).err(),
            (!survives).then_some(FatalKind::TransactionInDoubt),
            "{end:?}"
        );
    }
}

#[test]
pub fn a_discarded_request_keeps_the_order() {
    let mut session = Conversation::start();
    let first = session.execute("select a", None, Vec::new(), true);
    let id = session.machine.find(|_| true).unwrap();
    let second = session.execute("select b", None, Vec::new(), true);
    assert_eq!(session.machine.discard(id), Discarded::Alone, "the server is working on it");
    let described = [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
        row_description(&[("n", 23)]),
    ]
    .concat();
    session.feed(&described).unwrap();
    // It was discarded before its Bind, so only Sync was sent.
    session.feed(&ready(b'I')).unwrap();
    session.feed(&server_process_queried()).unwrap();
    session.feed(&described).unwrap();
    session
        .feed(
            &[
                msg(backend::BIND_COMPLETE, b""),
                data_row(&[Some(&[0, 0, 0, 9])]),
                msg(backend::COMMAND_COMPLETE, b"SELECT 1\0"),
                ready(b'I'),
            ]
            .concat(),
        )
        .unwrap();
    assert!(first.get().end.is_none() && first.get().rows.is_empty());
    assert_eq!(second.get().rows, vec![vec!["9".to_owned()]]);
}

#[test]
pub fn a_portal_describes_its_rows() {
    let mut session = Conversation::start();
    let described = |oid| {
        [
            msg(backend::PARSE_COMPLETE, b""),
            msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
            row_description(&[("n", oid)]),
        ]
        .concat()
    };
    let portal = |oid: u32| {
        let mut description = row_description(&[("n", oid)]);
        *description.last_mut().unwrap() = 1;
        [msg(backend::BIND_COMPLETE, b""), description].concat()
    };
    let done = || [msg(backend::COMMAND_COMPLETE, b"FETCH 1\0"), ready(b'T')].concat();
    let first = session.execute("fetch c", None, Vec::new(), true);
    session.feed(&described(23)).unwrap();
    session.feed(&[portal(23), data_row(&[Some(&[0, 0, 0, 9])]), done()].concat()).unwrap();
    assert_eq!(first.get().rows, vec![vec!["9".to_owned()]]);
    // The name refers to another cursor by now, which no message has told.
    let second = session.execute("fetch c", None, Vec::new(), true);
    session.feed(&[portal(25), data_row(&[Some(b"text")]), done()].concat()).unwrap();
    assert_eq!(second.get().rows, vec![vec!["text".to_owned()]]);
}

#[test]
pub fn the_first_waiting_request_receives_the_closing_error() {
    let mut session = Conversation::start();
    session.execute("select a", None, Vec::new(), true);
    let discarded = session.machine.find(|_| true).unwrap();
    let first = session.execute("select b", None, Vec::new(), true);
    let second = session.execute("select c", None, Vec::new(), true);
    session.machine.discard(discarded);
    session.feed(&msg(backend::ERROR_RESPONSE, b"SFATAL\0VFATAL\0C57P01\0Mno\0\0")).unwrap();
    session.machine.abort((), &Fatal::gone("closed"));
    assert_eq!(first.get().end.as_deref(), Some("server 57P01"));
    assert_eq!(second.get().end.as_deref(), Some("fatal closed"));
}

#[test]
pub fn the_error_that_ends_a_session_says_what_may_be_stored() {
    let described =
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::PARAMETER_DESCRIPTION, &[0, 0]), msg(backend::NO_DATA, b"")];
    let executed = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")];
    let ended = msg(backend::ERROR_RESPONSE, b"SFATAL\0VFATAL\0C57P01\0Mno\0\0");
    for (answered, in_doubt) in [(0, false), (1, false), (2, true)] {
        let mut session = Conversation::start();
        let received = session.execute("insert", None, Vec::new(), true);
        session.feed(&described.concat()).unwrap();
        session.feed(&executed[..answered].concat()).unwrap();
        session.feed(&ended).unwrap();
        session.machine.abort((), &Fatal::gone("closed"));
        assert_eq!(received.get().end.as_deref(), Some("server 57P01"));
        let said = received.get().error.clone().unwrap_or_default();
        assert_eq!(said.contains("; it is unknown whether the statement in flight was executed"), in_doubt, "{said}");
    }
}

#[test]
pub fn replies_before_the_end_of_a_portal_are_read() {
    let mut session = Conversation::start();
    let portal = PortalId { name: "p".into(), number: 1 };
    let ask = |session: &mut Conversation, lane: u64, request: Request| {
        let (mut handler, received) = TestHandler::new(Vec::new(), Vec::new());
        handler.lane = lane;
        let id = session.machine.submit(request, handler);
        session.machine.transmit((), &mut session.write_buffer);
        (id, received)
    };
    let stream = Execute {
        sql: "select n".into(),
        facts: None,
        hints: Vec::new(),
        rows: ParameterRows::One,
        prepare: Prepare::Named,
        prelude: Some("BEGIN".into()),
        portal: Some(Portal { id: portal.clone(), max_rows: 1, reserves: true }),
        cursor: None,
        sync: true,
        ordered: false,
        expected: None,
        copy_after: None,
        join_from: None,
        pipeline: 0,
    };
    ask(&mut session, 1, Request::Execute(stream));
    let began = [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::BIND_COMPLETE, b""),
        msg(backend::COMMAND_COMPLETE, b"BEGIN\0"),
    ]
    .concat();
    let described = [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
        row_description(&[("n", 23)]),
    ]
    .concat();
    session.feed(&[began, described].concat()).unwrap();
    let first = [
        msg(backend::BIND_COMPLETE, b""),
        data_row(&[Some(&[0, 0, 0, 9])]),
        msg(backend::PORTAL_SUSPENDED, b""),
        ready(b'T'),
    ]
    .concat();
    session.feed(&first).unwrap();
    let (waits, _) = ask(&mut session, 3, Request::Script { sql: "select 1".into(), prelude: None, copy: false });
    assert!(session.machine.is_kept_waiting(waits), "until the stream's reader goes on");
    ask(&mut session, 2, Request::Sync);
    let (end, ended) = ask(&mut session, 1, Request::ClosePortal { portal });
    assert!(!session.machine.is_kept_waiting(end) && !session.machine.is_kept_waiting(waits));
    session.feed(&ready(b'T')).unwrap();
    session.feed(&[msg(backend::COMMAND_COMPLETE, b"COMMIT\0"), ready(b'I')].concat()).unwrap();
    assert_eq!(ended.get().end.as_deref(), Some("done"));
}

#[test]
pub fn nothing_of_a_block_is_executed_whose_begin_has_failed() {
    for fails in [false, true] {
        let mut session = Conversation::start();
        let update = |sql: &str| match execution(sql, ParameterRows::One, true) {
            Request::Execute(execute) => Request::Execute(Execute { prelude: Some("BEGIN".into()), ..execute }),
            other => other,
        };
        session.ask(execution("update t", ParameterRows::One, true), Vec::new(), Vec::new());
        session.feed_messages(&[described(&[], &[])]);
        session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed("UPDATE 1"), ready(b'I')]);
        session.sent();
        session.machine.requests().block().store(1, Ordering::SeqCst);
        let (_, first) = session.ask(update("update t"), Vec::new(), Vec::new());
        let (_, second) = session.ask(update("update t"), Vec::new(), Vec::new());
        let (_, end) = session.ask(verb(&Verb::Commit(IfUnsent::RollBack)), Vec::new(), Vec::new());
        session.machine.requests().block().store(0, Ordering::SeqCst);
        assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Bind", "Execute", "Sync"]);
        if fails {
            session.feed_messages(&[error("57014"), ready(b'I')]);
            assert_eq!(session.sent(), ["Query"], "ROLLBACK");
            assert_eq!(first.get().end.as_deref(), Some("server 57014"));
            assert!(second.get().end.is_some_and(|end| end.contains("not executed")));
            session.feed_messages(&[completed("ROLLBACK"), ready(b'I')]);
            assert!(end.get().end.is_some_and(|end| end.contains("not committed")));
        } else {
            let parsed = msg(backend::PARSE_COMPLETE, b"");
            let bound = msg(backend::BIND_COMPLETE, b"");
            session.feed_messages(&[parsed, bound.clone(), completed("BEGIN")]);
            assert_eq!(session.sent(), ["Bind", "Execute", "Sync", "Query"]);
            session.feed_messages(&[bound.clone(), completed("UPDATE 1"), ready(b'T')]);
            session.feed_messages(&[bound, completed("UPDATE 1"), ready(b'T'), completed("COMMIT"), ready(b'I')]);
            for received in [first, second, end] {
                assert_eq!(received.get().end.as_deref(), Some("done"));
            }
        }
        assert!(session.machine.is_idle());
    }
}
