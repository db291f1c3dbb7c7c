//! Conversations replayed into the machine, cut and split at every byte: never a panic, never a wrong row, and
//! whoever waits is always told.

mod support;

use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Discarded, Inbox, Outbox, Session as _, TransactionStatus};
use headrace_postgres::machine::{
    Binding, Execute, Machine, Options, Portal, PortalId, Prepare, Purpose, Request, Rows, Tls,
};
use headrace_postgres::messages::backend::header;
use headrace_postgres::messages::tag::{self, backend};
use headrace_testkit::{Completion, Received, Shared, TestValue, Trace};
use support::TestHandler;

/// A connection in a test.
struct Session {
    machine: Machine<TestHandler>,
    inbox: Inbox,
    outbox: Outbox,
}

fn msg(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

fn ready(status: u8) -> Vec<u8> {
    msg(backend::READY_FOR_QUERY, &[status])
}

fn error(code: &str) -> Vec<u8> {
    msg(backend::ERROR_RESPONSE, format!("SERROR\0VERROR\0C{code}\0Mno\0\0").as_bytes())
}

fn data_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                body.extend_from_slice(&(value.len() as i32).to_be_bytes());
                body.extend_from_slice(value);
            }
        }
    }
    msg(backend::DATA_ROW, &body)
}

fn row_description(fields: &[(&str, u32)]) -> Vec<u8> {
    let mut body = (fields.len() as u16).to_be_bytes().to_vec();
    for (name, oid) in fields {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.extend_from_slice(&[0; 6]);
        body.extend_from_slice(&oid.to_be_bytes());
        body.extend_from_slice(&[0, 4, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    }
    msg(backend::ROW_DESCRIPTION, &body)
}

impl Session {
    /// The names of the messages that were sent since this was last asked.
    fn said(&mut self) -> Trace {
        Trace::read(&self.outbox.take(), |sent| {
            let (tag, total) = header(sent).unwrap()?;
            Some((tag::frontend::name(tag)?.to_owned(), total))
        })
    }

    fn start() -> Self {
        let options = Options {
            purpose: Purpose::Session,
            parameters: vec![("user".into(), "u".into())],
            user: "u".into(),
            password: None,
            tls: Tls::No,
            binding: Binding::Prefer,
            methods: Vec::new(),
        };
        let mut outbox = Outbox::new();
        let machine = Machine::new(options, 16, &mut outbox);
        let mut session = Self { machine, inbox: Inbox::new(), outbox };
        session
            .feed(
                &[
                    msg(backend::AUTHENTICATION, &[0, 0, 0, 0]),
                    msg(backend::BACKEND_KEY_DATA, &[0, 0, 0, 1, 0, 0, 0, 2]),
                    ready(b'I'),
                ]
                .concat(),
            )
            .unwrap();
        assert!(session.machine.is_ready());
        session.outbox.take();
        session
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fatal> {
        self.inbox.extend(bytes);
        self.machine.read((), &mut self.inbox, &mut self.outbox)?;
        self.machine.transmit((), &mut self.outbox);
        Ok(())
    }

    /// Feeds the bytes from `from` to `to` of a select's reply.
    fn replay(&mut self, reply: &[u8], from: usize, to: usize) -> Result<(), Fatal> {
        let pause = describe_reply().len().clamp(from, to);
        self.feed(&reply[from..pause])?;
        self.feed(&reply[pause..to])
    }

    fn execute(&mut self, sql: &str, batch: Option<Vec<Vec<TestValue>>>, row: Vec<TestValue>, sync: bool) -> Shared {
        self.execute_as(Prepare::Named, sql, batch, row, sync)
    }

    fn execute_as(
        &mut self,
        prepare: Prepare,
        sql: &str,
        batch: Option<Vec<Vec<TestValue>>>,
        row: Vec<TestValue>,
        sync: bool,
    ) -> Shared {
        let rows = if batch.is_some() { Rows::Batch } else { Rows::One };
        let (mut handler, received) = TestHandler::new(row, batch.unwrap_or_default());
        handler.rewinds = false;
        let request = Request::Execute(Execute {
            sql: sql.into(),
            hints: Vec::new(),
            rows,
            prepare,
            prelude: None,
            portal: None,
            cursor: None,
            sync,
            ordered: false,
            expected: None,
            pipeline: 0,
        });
        self.machine.submit(request, handler);
        self.machine.transmit((), &mut self.outbox);
        received
    }
}

/// The reply to Parse and Describe of a select of two columns with one parameter.
fn describe_reply() -> Vec<u8> {
    [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 23]),
        row_description(&[("id", 23), ("name", 25)]),
    ]
    .concat()
}

/// The reply to the whole select: three rows. What answers Bind comes only once Bind was sent, so whoever replays this
/// pauses where the description ends.
fn select_reply() -> Vec<u8> {
    [
        describe_reply(),
        msg(backend::BIND_COMPLETE, b""),
        data_row(&[Some(&[0, 0, 0, 1]), Some(b"one")]),
        msg(backend::NOTICE_RESPONSE, b"SNOTICE\0Mby the way\0\0"),
        data_row(&[Some(&[0, 0, 0, 2]), None]),
        msg(backend::PARAMETER_STATUS, b"TimeZone\0UTC\0"),
        data_row(&[Some(&[0, 0, 0, 3]), Some("drei ä".as_bytes())]),
        msg(backend::COMMAND_COMPLETE, b"SELECT 3\0"),
        ready(b'I'),
    ]
    .concat()
}

fn expected() -> Received {
    let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    Received {
        columns: row("id", "name"),
        rows: vec![row("1", "one"), row("2", "NULL"), row("3", "drei ä")],
        results: vec![Completion { tag: "SELECT 3".into(), rows: Some(3), ..Completion::default() }],
        end: Some("done".into()),
        error: None,
    }
}

#[test]
fn a_reply_split_at_every_byte_gives_the_same_rows() {
    let reply = select_reply();
    for split in 0..=reply.len() {
        let mut session = Session::start();
        let told = session.execute("select $1", None, vec![5.into()], true);
        session.replay(&reply, 0, split).unwrap();
        session.replay(&reply, split, reply.len()).unwrap();
        assert_eq!(told.get(), expected(), "split at {split}");
        assert!(session.machine.is_idle());
    }
    let mut session = Session::start();
    let told = session.execute("select $1", None, vec![5.into()], true);
    for byte in &reply {
        session.feed(&[*byte]).unwrap();
    }
    assert_eq!(told.get(), expected());
}

#[test]
fn a_reply_cut_at_every_byte_ends_in_an_error_never_in_a_short_result() {
    let reply = select_reply();
    for cut in 0..reply.len() {
        let mut session = Session::start();
        let told = session.execute("select $1", None, vec![5.into()], true);
        let before = expected();
        session.replay(&reply, 0, cut).unwrap();
        session.machine.abort((), &Fatal::gone("cut"));
        let told = told.get();
        assert_eq!(told.end.as_deref(), Some("fatal cut"), "cut at {cut}");
        assert!(before.rows.starts_with(&told.rows), "cut at {cut}");
    }
}

#[test]
fn a_spoilt_byte_never_panics_never_loses_a_row_and_never_leaves_a_caller_untold() {
    let reply = select_reply();
    for at in 0..reply.len() {
        for flip in 1..=255 {
            let mut bent = reply.clone();
            bent[at] ^= flip;
            let mut session = Session::start();
            let told = session.execute("select $1", None, vec![5.into()], true);
            let fatal = session.replay(&bent, 0, bent.len()).is_err();
            if fatal || told.get().end.is_none() {
                session.machine.abort((), &Fatal::peer("bent"));
            }
            let told = told.get();
            assert!(told.end.is_some(), "byte {at}");
            if told.end.as_deref() == Some("done") {
                let wrong = told.rows.iter().zip(expected().rows).filter(|(row, right)| *row != right).count();
                // One spoilt byte spoils one value; in the description, which has no checksum either, one column.
                let wrong = if at < describe_reply().len() { 0 } else { wrong };
                assert!(told.rows.len() == 3 && wrong <= 1, "byte {at} ^ {flip}: {:?}", told.rows);
            }
        }
    }
}

#[test]
fn a_batch_names_the_row_that_failed() {
    for failing in [0usize, 1, 2] {
        let mut session = Session::start();
        let told =
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
        assert_eq!(told.get().end, Some(format!("server 23505 at row {failing}")));
        assert!(session.machine.is_idle());
    }
}

#[test]
fn a_batch_is_ended_when_few_rows_are_unanswered_and_can_be_taken_back_until_then() {
    for discarded in [false, true] {
        let mut session = Session::start();
        let rows = (0..2000i64).map(|i| vec![i.into()]).collect();
        let told = session.execute("insert", Some(rows), Vec::new(), true);
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
        assert!(session.said().ends_with(&["Flush"]), "all rows are sent, and not their end");
        let answer = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat();
        session.feed(&answer.repeat(2000 - 1025)).unwrap();
        assert!(session.said().is_empty());
        if discarded {
            assert_eq!(session.machine.discard(1), Discarded::Alone, "the server is at it");
            session.machine.transmit((), &mut session.outbox);
            let sent = session.outbox.take();
            assert!(sent.windows(19).any(|w| w == b"abandoned by the cl"), "{sent:?}");
            session.feed(&answer.repeat(1025)).unwrap();
            session.feed(&[error("42601"), ready(b'I')].concat()).unwrap();
            assert_eq!(told.get().end, None);
        } else {
            session.feed(&answer).unwrap();
            assert_eq!(session.said(), ["Sync"]);
            session.feed(&answer.repeat(1024)).unwrap();
            session.feed(&ready(b'I')).unwrap();
            assert_eq!(told.get().end.as_deref(), Some("done"));
        }
        assert!(session.machine.is_idle());
    }
}

#[test]
fn what_waits_for_answers_is_not_sent_to_a_pooler_that_may_give_the_server_away() {
    let mut session = Session::start();
    let rows = |n: i64| Some((0..n).map(|i| vec![i.into()]).collect());
    session.execute_as(Prepare::Unnamed, "insert", rows(1), Vec::new(), true);
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
    assert!(session.said().ends_with(&["Bind", "Execute", "Sync"]));
    let batch = session.execute_as(Prepare::Unnamed, "insert", rows(2000), Vec::new(), true);
    session.execute_as(Prepare::Unnamed, "other", None, vec![1.into()], true);
    assert!(session.said().is_empty(), "the first Sync is not answered");
    let answer = [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat();
    session.feed(&[msg(backend::PARSE_COMPLETE, b""), answer.clone(), ready(b'I')].concat()).unwrap();
    assert!(session.said().ends_with(&["Flush"]));
    session.feed(&[msg(backend::PARSE_COMPLETE, b""), answer.repeat(2000)].concat()).unwrap();
    assert_eq!(session.said(), ["Sync"], "nor is one that is not known sent behind it");
    session.feed(&ready(b'I')).unwrap();
    assert_eq!(batch.get().end.as_deref(), Some("done"));
    assert!(!session.said().is_empty());
}

#[test]
fn nothing_is_sent_to_a_pooler_before_it_has_answered_unless_a_block_is_open() {
    let answer = |status| {
        [msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0"), ready(status)].concat()
    };
    for status in [b'I', b'T'] {
        let mut session = Session::start();
        session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        session
            .feed(
                &[
                    msg(backend::PARSE_COMPLETE, b""),
                    msg(backend::PARAMETER_DESCRIPTION, &[0, 0]),
                    msg(backend::NO_DATA, b""),
                    msg(backend::PARSE_COMPLETE, b""),
                    answer(status),
                ]
                .concat(),
            )
            .unwrap();
        session.outbox.take();
        session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        assert!(session.said().ends_with(&["Bind", "Execute", "Sync"]));
        let second = session.execute_as(Prepare::Unnamed, "insert", None, Vec::new(), true);
        assert_eq!(session.said().is_empty(), status == b'I', "a known statement");
        let answer = [msg(backend::PARSE_COMPLETE, b""), answer(status)].concat();
        session.feed(&answer).unwrap();
        session.feed(&answer).unwrap();
        assert_eq!(second.get().end.as_deref(), Some("done"));
    }
}

#[test]
fn nothing_is_sent_behind_a_copy_before_it_is_answered() {
    let texts = [("copy t from stdin", true), ("/* all */ COPY t TO STDOUT", true), ("select copy", false)];
    for (sql, waits) in texts {
        let mut session = Session::start();
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
        session.outbox.take();
        session.execute("select 1", None, Vec::new(), true);
        assert_eq!(session.said().is_empty(), waits, "{sql}");
    }
    let mut session = Session::start();
    let sql = "select 1; copy t to stdout".into();
    let (handler, _) = TestHandler::new(Vec::new(), Vec::new());
    let request = Request::Script { sql, prelude: None, copy: false, ends_block: false, discarded: None };
    session.machine.submit(request, handler);
    session.machine.transmit((), &mut session.outbox);
    session.outbox.take();
    session.execute("select 1", None, Vec::new(), true);
    assert!(session.said().is_empty(), "behind a script");
    session.feed(&[msg(backend::COMMAND_COMPLETE, b"COPY 1\0"), ready(b'I')].concat()).unwrap();
    assert!(!session.said().is_empty());
}

#[test]
fn the_end_of_a_block_is_sent_though_nobody_waits_for_it() {
    for discarded in [None, Some("ROLLBACK")] {
        let mut session = Session::start();
        session.machine.hold(true);
        let (handler, _) = TestHandler::new(Vec::new(), Vec::new());
        let (sql, discarded) = ("COMMIT".into(), discarded.map(Into::into));
        let kept = discarded.is_some();
        let request = Request::Script { sql, prelude: None, copy: false, ends_block: true, discarded };
        session.machine.submit(request, handler);
        assert_eq!(session.machine.discard(1), Discarded::Gone, "nothing of it was sent");
        session.machine.hold(false);
        session.machine.transmit((), &mut session.outbox);
        assert_eq!(session.outbox.take(), if kept { msg(tag::frontend::QUERY, b"ROLLBACK\0") } else { Vec::new() });
    }
}

#[test]
fn a_value_that_does_not_fit_sends_nothing_of_a_known_statement() {
    let mut session = Session::start();
    session.execute("insert", None, vec![1.into()], true);
    let learnt = [
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::PARAMETER_DESCRIPTION, &[0, 1, 0, 0, 0, 21]),
        msg(backend::NO_DATA, b""),
    ]
    .concat();
    session.feed(&learnt).unwrap();
    session
        .feed(
            &[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0"), ready(b'I')].concat(),
        )
        .unwrap();
    session.outbox.take();
    let told = session.execute("insert", Some(vec![vec![1.into()], vec![70_000.into()]]), Vec::new(), true);
    assert_eq!(session.outbox.len(), 0, "nothing may be sent");
    let end = told.get().end.clone().unwrap();
    assert!(end.contains("does not fit int2") && end.ends_with("at row 1"), "{end}");
    assert!(session.machine.is_idle());
}

#[test]
fn a_batch_that_was_partly_sent_is_made_to_fail_on_the_server() {
    let mut session = Session::start();
    // More rows than the outbox takes at once, and the last one bad.
    let mut rows: Vec<Vec<TestValue>> = (0..20_000i64).map(|i| vec![i.into()]).collect();
    rows.push(vec![TestValue::Other]);
    let told = session.execute("insert", Some(rows), Vec::new(), true);
    session.outbox.take();
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
        let some = session.outbox.take();
        if some.is_empty() {
            break;
        }
        sent.extend(some);
        session.machine.transmit((), &mut session.outbox);
    }
    assert!(sent.windows(19).any(|w| w == b"abandoned by the cl"), "the batch is poisoned");
    for _ in 0..20_000 {
        session
            .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"INSERT 0 1\0")].concat())
            .unwrap();
    }
    session.feed(&[error("42601"), ready(b'I')].concat()).unwrap();
    assert!(told.get().end.as_deref().unwrap().starts_with("caller"), "{:?}", told.get().end);
}

#[test]
fn after_an_error_the_rest_of_a_group_is_skipped_and_the_next_group_runs() {
    let mut session = Session::start();
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
fn a_forgotten_statement_is_prepared_again() {
    let mut session = Session::start();
    session.execute("s", None, Vec::new(), true);
    let described =
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::PARAMETER_DESCRIPTION, &[0, 0]), msg(backend::NO_DATA, b"")]
            .concat();
    session.feed(&described).unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')].concat())
        .unwrap();
    let told = session.execute("s", None, Vec::new(), true);
    session.outbox.take();
    session.feed(&[error("26000"), ready(b'I')].concat()).unwrap();
    assert!(told.get().end.is_none());
    assert_eq!(session.said(), ["Parse", "Describe", "Flush"], "it is prepared again");
    session.feed(&described).unwrap();
    session
        .feed(&[msg(backend::BIND_COMPLETE, b""), msg(backend::COMMAND_COMPLETE, b"OK\0"), ready(b'I')].concat())
        .unwrap();
    assert_eq!(told.get().end.as_deref(), Some("done"));
}

#[test]
fn a_value_that_does_not_fit_an_old_statement_is_tried_on_a_new_one() {
    let mut session = Session::start();
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
    session.outbox.take();
    let told = session.execute("insert", None, vec![70_000.into()], true);
    assert!(told.get().end.is_none());
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
    assert_eq!(told.get().end.as_deref(), Some("done"));
    assert!(session.machine.is_idle());
}

#[test]
fn in_a_failed_transaction_a_forgotten_statement_is_the_callers_to_repeat() {
    let mut session = Session::start();
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
    let told = session.execute("s", None, Vec::new(), true);
    session.feed(&[error("26000"), ready(b'E')].concat()).unwrap();
    assert_eq!(told.get().end.as_deref(), Some("server 26000"));
    assert_eq!(session.machine.transaction(), TransactionStatus::Failed);
    assert_eq!(session.machine.statements(), 0, "but the next time it is prepared again");
}

#[test]
fn a_discarded_request_keeps_the_order() {
    let mut session = Session::start();
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
fn a_portal_says_itself_what_its_rows_are() {
    let mut session = Session::start();
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
    // The cursor is another one by now, which nothing has told.
    let second = session.execute("fetch c", None, Vec::new(), true);
    session.feed(&[portal(25), data_row(&[Some(b"text")]), done()].concat()).unwrap();
    assert_eq!(second.get().rows, vec![vec!["text".to_owned()]]);
}

#[test]
fn who_is_the_first_to_wait_hears_why_the_server_ended_the_session() {
    let mut session = Session::start();
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
fn nobody_leaves_an_answer_unread_that_is_under_way_in_front_of_a_portals_end() {
    let mut session = Session::start();
    let portal = PortalId { name: "p".into(), number: 1 };
    let ask = |session: &mut Session, lane: u64, request: Request| {
        let (mut handler, received) = TestHandler::new(Vec::new(), Vec::new());
        handler.lane = lane;
        let id = session.machine.submit(request, handler);
        session.machine.transmit((), &mut session.outbox);
        (id, received)
    };
    let stream = Execute {
        sql: "select n".into(),
        hints: Vec::new(),
        rows: Rows::One,
        prepare: Prepare::Named,
        prelude: Some("BEGIN".into()),
        portal: Some(Portal { id: portal.clone(), max_rows: 1, reserves: true }),
        cursor: None,
        sync: true,
        ordered: false,
        expected: None,
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
    let (waits, _) = ask(
        &mut session,
        3,
        Request::Script { sql: "select 1".into(), prelude: None, copy: false, ends_block: false, discarded: None },
    );
    assert!(session.machine.is_kept_waiting(waits), "until the stream's reader goes on");
    ask(&mut session, 2, Request::Sync);
    let (end, ended) = ask(&mut session, 1, Request::ClosePortal { portal });
    assert!(!session.machine.is_kept_waiting(end) && !session.machine.is_kept_waiting(waits));
    session.feed(&ready(b'T')).unwrap();
    session.feed(&[msg(backend::COMMAND_COMPLETE, b"COMMIT\0"), ready(b'I')].concat()).unwrap();
    assert_eq!(ended.get().end.as_deref(), Some("done"));
}
