//! Types that are not known are looked up, before a statement is bound or after its results.

use crate::machine::session::*;
use headrace_core::Session as _;
use headrace_postgres::machine::{Execute, ParameterRows, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::{Shared, TestValue};

/// A composite type with an attribute that has no binary form here.
const COMPOSITE: u32 = 99_999;

/// The catalogue's rows for [`COMPOSITE`].
fn catalogue() -> Vec<u8> {
    data_row(&[Some(b"99999"), Some(b"c"), Some(b"c"), None, Some(b"1033 -1 a"), None])
}

/// A row whose only column is a composite value as text.
fn composite_row() -> Vec<u8> {
    data_row(&[Some(b"(x)")])
}

/// The reply to the query for types after results.
fn looked_up() -> Vec<u8> {
    let parsed = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    [parsed, catalogue(), completed("SELECT 1")].concat()
}

#[test]
pub fn a_statement_goes_on_when_its_types_are_known() {
    for known in [true, false] {
        let mut session = Conversation::start();
        let (_, received) = session.ask(execution("select c", ParameterRows::One, true), vec![], vec![]);
        session.feed_messages(&[described(&[], &[("c", 99_998)])]);
        assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Query"]);
        let asked = if known { completed("SELECT 0") } else { error("42501") };
        session.feed_messages(&[asked, ready(b'I')]);
        assert_eq!(session.sent(), ["Bind", "Execute", "Sync"]);
        session.feed_messages(&[
            msg(backend::BIND_COMPLETE, b""),
            data_row(&[Some(b"x")]),
            completed("SELECT 1"),
            ready(b'I'),
        ]);
        assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec!["x".to_owned()], Some("done")));
    }
}

#[test]
pub fn a_look_up_that_was_cancelled_fails_its_statement_and_is_made_again_by_the_next() {
    let mut session = Conversation::start();
    for syncs in [true, false] {
        let (_, received) = session.ask(execution("select c", ParameterRows::One, syncs), vec![], vec![]);
        session.feed_messages(&[described(&[], &[("c", COMPOSITE)])]);
        assert!(session.sent().contains(&["Query"]));
        session.feed_messages(&[error("57014"), ready(b'I')]);
        assert_eq!(received.get().end.as_deref(), (!syncs).then_some("server 57014"));
        if !syncs {
            let (_, skipped) = session.ask(execution("select 1", ParameterRows::One, false), vec![], vec![]);
            session.ask(Request::Sync, vec![], vec![]);
            assert_eq!(session.sent(), ["Sync"], "the rest of the group is skipped");
            session.feed_messages(&[ready(b'I')]);
            assert_eq!(skipped.get().end.as_deref(), Some("skipped"));
        } else {
            assert_eq!(session.sent(), ["Sync"]);
            session.feed_messages(&[ready(b'I')]);
            assert_eq!(received.get().end.as_deref(), Some("server 57014"));
        }
    }
    let (_, received) = session.ask(execution("select c", ParameterRows::One, true), vec![], vec![]);
    session.feed_messages(&[described(&[], &[("c", COMPOSITE)])]);
    session.feed_messages(&[catalogue(), completed("SELECT 1"), ready(b'I')]);
    session.sent();
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), composite_row(), completed("SELECT 1"), ready(b'I')]);
    assert!(received.get().rows.is_empty(), "it is no text");
}

#[test]
pub fn composite_types_of_the_parameters_of_a_known_statement_are_looked_up() {
    let attribute = |name: &'static [u8]| data_row(&[Some(b"99999"), Some(b"c"), Some(b"c"), None, Some(name), None]);
    let parsed = || [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    let stored = [msg(backend::BIND_COMPLETE, b""), completed("INSERT 0 1"), ready(b'I')];
    let mut session = Conversation::start();
    let batch = |session: &mut Conversation| {
        session.execute("insert into t values ($1)", Some(vec![vec![TestValue::Null]]), vec![], true)
    };
    let described_and_looked_up = |session: &mut Conversation, name: &'static [u8]| {
        session.feed_messages(&[described(&[COMPOSITE], &[])]);
        assert_eq!(session.sent(), ["Query"]);
        session.feed_messages(&[attribute(name), completed("SELECT 1"), ready(b'I')]);
        assert_eq!(session.sent(), ["Bind", "Execute", "Sync"]);
    };
    batch(&mut session);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    described_and_looked_up(&mut session, b"25 -1 a");
    session.feed_messages(&stored);
    // It may be a pooler's, to which the statement is prepared once more.
    batch(&mut session);
    assert_eq!(session.sent(), ["Parse", "Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), parsed(), attribute(b"25 -1 a"), completed("SELECT 1")]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Sync"]);
    session.feed_messages(&stored);
    // Another session has renamed the attribute.
    let received = batch(&mut session);
    session.sent();
    session.feed_messages(&[server_process_queried()]);
    assert_eq!(session.sent(), ["Close", "Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[msg(backend::CLOSE_COMPLETE, b""), parsed(), attribute(b"25 -1 b"), completed("SELECT 1")]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush"]);
    // Something was executed since the last Sync: a Query would not end its transaction.
    session.feed_messages(&[described(&[COMPOSITE], &[])]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[parsed(), attribute(b"25 -1 b"), completed("SELECT 1")]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Sync"]);
    session.feed_messages(&stored);
    assert_eq!(received.get().end.as_deref(), Some("done"));
}

#[test]
pub fn a_statement_that_is_only_described_is_not_executed() {
    let mut session = Conversation::start();
    let (_, received) = session.ask(Request::Describe { sql: "select 1".into() }, vec![], vec![]);
    session.feed_messages(&[described(&[], &[("n", 23)])]);
    assert_eq!(session.sent(), ["Parse", "Describe", "Flush", "Sync"]);
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().columns, ["n"]);
}

/// A batch that returns rows, whose second row has another type, up to the description of that one.
fn batch_of_two_types() -> (Conversation, u64, Shared) {
    let mut session = Conversation::start();
    let rows = vec![vec![1.into()], vec!["x".into()]];
    let (id, received) = session.ask(execution("select $1", ParameterRows::TypedBatch, true), vec![], rows);
    session.feed_messages(&[described(&[23], &[("n", 23)])]);
    let sent = ["Parse", "Describe", "Flush", "Bind", "Execute", "Parse", "Describe", "Flush"];
    assert_eq!(session.sent(), sent);
    let one = data_row(&[Some(&[0, 0, 0, 1])]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), one, completed("SELECT 1")]);
    (session, id, received)
}

#[test]
pub fn only_times_decide_the_types_of_a_batch_that_says_so() {
    use headrace_testkit::TestValue::{Timestamp, TimestampTz};
    let mut session = Conversation::start();
    let rows = vec![vec![1.into(), Timestamp(0)], vec![70_000.into(), Timestamp(0)], vec![1.into(), TimestampTz(0)]];
    session.ask(execution("select $1, $2", ParameterRows::TimeTypedBatch, true), vec![], rows);
    session.feed_messages(&[described(&[23, 1114], &[])]);
    let sent = ["Parse", "Describe", "Flush", "Bind", "Execute", "Bind", "Execute", "Parse", "Describe", "Flush"];
    assert_eq!(session.sent(), sent);
}

#[test]
pub fn in_the_middle_of_a_batch_types_are_requested_without_ending_its_group() {
    let (mut session, _, received) = batch_of_two_types();
    session.feed_messages(&[described(&[25], &[("c", 99_998)])]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Execute", "Flush"]);
    session.feed_messages(&[
        msg(backend::PARSE_COMPLETE, b""),
        msg(backend::BIND_COMPLETE, b""),
        completed("SELECT 0"),
    ]);
    assert_eq!(session.sent(), ["Bind", "Execute", "Sync"]);
    session.feed_messages(&[
        msg(backend::BIND_COMPLETE, b""),
        data_row(&[Some(b"x")]),
        completed("SELECT 1"),
        ready(b'I'),
    ]);
    assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec!["1".into(), "x".into()], Some("done")));
}

#[test]
pub fn an_error_at_the_query_for_types_ends_a_batch() {
    let (mut session, _, received) = batch_of_two_types();
    session.feed_messages(&[described(&[25], &[("c", 99_998)]), error("57014")]);
    assert!(session.sent().ends_with(&["Flush", "Sync"]));
    session.feed_messages(&[ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("server 57014 at row 1"));
}

#[test]
pub fn a_batch_that_is_abandoned_while_it_is_described_is_taken_back() {
    let (mut session, id, _) = batch_of_two_types();
    session.machine.discard(id);
    session.feed_messages(&[described(&[25], &[("n", 25)])]);
    assert_eq!(session.sent(), ["Parse", "Sync"], "what the server cannot parse");
    session.feed_messages(&[error("42601"), ready(b'I')]);
    assert!(session.machine.is_idle());
}

#[test]
pub fn results_of_a_script_wait_for_their_types() {
    for refused in [false, true] {
        let mut session = Conversation::start();
        let (_, received) = session.ask(script("select c", false), vec![], vec![]);
        session.feed_messages(&[
            row_description(&[("c", COMPOSITE)]),
            composite_row(),
            completed("SELECT 1"),
            ready(b'I'),
        ]);
        assert!(received.get().rows.is_empty(), "it is deferred");
        assert_eq!(session.sent(), ["Query", "Parse", "Bind", "Execute", "Sync"]);
        session.feed_messages(&[if refused { error("57014") } else { looked_up() }, ready(b'I')]);
        let end = if refused { "server 57014" } else { "done" };
        assert_eq!((received.get().rows.len(), received.get().end.as_deref()), (usize::from(!refused), Some(end)));
    }
}

/// A session with a known statement whose rows have to be deferred.
fn knows_deferred() -> Conversation {
    let mut session = Conversation::start();
    let (_, received) = session.ask(execution("select c, $1", ParameterRows::One, true), vec!["x".into()], vec![]);
    session.feed_messages(&[described(&[25], &[("c", COMPOSITE)]), catalogue(), completed("SELECT 1"), ready(b'I')]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), composite_row(), completed("SELECT 1"), ready(b'I')]);
    session.feed_messages(&[looked_up(), ready(b'I')]);
    assert_eq!(received.get().end.as_deref(), Some("done"));
    session.sent();
    session
}

/// The reply to an execution of the known statement, which a pooler might have prepared: it is prepared again with the
/// types that it got, and its portal is described.
fn held_result() -> Vec<u8> {
    let begun = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    [begun, row_description(&[("c", COMPOSITE)]), composite_row(), completed("SELECT 1")].concat()
}

#[test]
pub fn results_within_a_pipeline_are_looked_up_in_its_group_and_again_if_that_is_skipped() {
    let mut session = knows_deferred();
    let (_, deferred) = session.ask(execution("select c, $1", ParameterRows::One, false), vec!["x".into()], vec![]);
    let (_, failed) = session.ask(execution("select c, $1", ParameterRows::One, false), vec!["y".into()], vec![]);
    session.feed_messages(&[held_result()]);
    session.feed_messages(&[error("22012")]);
    session.ask(Request::Sync, vec![], vec![]);
    assert_eq!(failed.get().end.as_deref(), Some("server 22012"));
    session.feed_messages(&[ready(b'I')]);
    session.feed_messages(&[server_process_queried(), looked_up(), ready(b'I')]);
    assert_eq!((deferred.get().rows.len(), deferred.get().end.as_deref()), (1, Some("done")));
}

#[test]
pub fn results_that_come_before_the_rest_could_be_sent_are_looked_up_too() {
    let mut session = knows_deferred();
    let (_, deferred) =
        session.ask(execution("select c, $1", ParameterRows::One, false), vec!["x".repeat(300_000).into()], vec![]);
    session.feed_messages(&[held_result()]);
    session.sent();
    session.feed_messages(&[]);
    session.feed_messages(&[server_process_queried(), looked_up(), ready(b'I')]);
    assert_eq!((deferred.get().rows.len(), deferred.get().end.as_deref()), (1, Some("done")));
}

const INSERT: &str = "insert into t default values returning *, $1";
/// An enumeration that another session has made.
const MOOD: u32 = 99_997;

/// A session that has executed [`INSERT`], which returned an integer.
fn knows_insert() -> Conversation {
    let mut session = Conversation::start();
    session.ask(execution(INSERT, ParameterRows::One, true), vec!["x".into()], vec![]);
    session.feed_messages(&[described(&[25], &[("n", 23), ("p", 25)])]);
    let row = data_row(&[Some(&[0, 0, 0, 1]), Some(b"x")]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), row, completed("INSERT 0 1"), ready(b'I')]);
    session.sent();
    session
}

#[test]
pub fn a_type_that_is_new_to_the_session_is_looked_up_after_the_statement_was_executed() {
    let mut session = knows_insert();
    let (_, received) = session.ask(execution(INSERT, ParameterRows::One, true), vec!["x".into()], vec![]);
    assert_eq!(session.sent(), ["Parse", "Bind", "Describe", "Execute", "Sync"], "a pooler might have prepared it");
    session.feed_messages(&[
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat(),
        row_description_in(&[("mood", MOOD), ("p", 25)], 1),
        data_row(&[Some(b"happy"), Some(b"x")]),
        completed("INSERT 0 1"),
        ready(b'I'),
    ]);
    assert!(received.get().rows.is_empty(), "it is deferred");
    session.feed_messages(&[
        server_process_queried(),
        [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat(),
        data_row(&[Some(b"99997"), Some(b"mood"), Some(b"e"), None, None, None]),
        completed("SELECT 1"),
        ready(b'I'),
    ]);
    let lines = received.get().lines();
    assert_eq!((lines, received.get().end.as_deref()), (vec!["happy|x".to_owned()], Some("done")));
}

#[test]
pub fn a_statement_that_is_alone_is_refused_before_it_is_executed_if_it_has_another_number_of_columns() {
    for (sync, ordered, formats) in [(true, false, &[0, 2, 0, 1, 0, 1][..]), (true, true, &[0, 1, 0, 1])] {
        let mut session = knows_insert();
        let Request::Execute(execute) = execution(INSERT, ParameterRows::One, sync) else { unreachable!() };
        session.ask(Request::Execute(Execute { ordered, ..execute }), vec!["x".into()], vec![]);
        let sent = session.write_buffer.take();
        let bind = sent.windows(formats.len()).any(|bytes| bytes == formats);
        assert!(bind, "formats {formats:?} in {sent:?}");
    }
}

#[test]
pub fn what_was_refused_so_is_described_and_executed_again() {
    let mut session = knows_insert();
    let (_, received) = session.ask(execution(INSERT, ParameterRows::One, true), vec!["x".into()], vec![]);
    session.feed_messages(&[msg(backend::PARSE_COMPLETE, b""), error("08P01"), ready(b'I')]);
    session.feed_messages(&[server_process_queried()]);
    let sent = session.sent();
    assert!(sent.ends_with(&["Parse", "Describe", "Flush"]), "{sent:?}");
    session.feed_messages(&[described(&[25], &[("n", 23), ("p", 25), ("new", 25)])]);
    let row = data_row(&[Some(&[0, 0, 0, 1]), Some(b"x"), Some(b"y")]);
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), row, completed("INSERT 0 1"), ready(b'I')]);
    assert_eq!((received.get().lines(), received.get().end.as_deref()), (vec!["1|x|y".to_owned()], Some("done")));
}
