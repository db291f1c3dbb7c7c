//! The types of what batches send: a CAS needs much memory for each value of the type JSON in a request, and some
//! parameters are sent with a type around them.

use crate::support::session::Conversation;
use crate::support::{array, done, prepared};
use headrace_cubrid::limits::DOCUMENTS;
use headrace_cubrid::machine::BatchStrategy;
use headrace_testkit::TestValue as V;

fn rows(count: usize) -> Vec<Vec<V>> {
    (0..count).map(|_| vec![V::Int(1), V::Json("{}")]).collect()
}

/// How often a value that is sent as JSON is in the requests.
fn documents(session: &mut Conversation) -> usize {
    const JSON: &[u8] = b"\x00\x00\x00\x01\x22\x00\x00\x00\x03{}\x00";
    session.write_buffer.take().windows(JSON.len()).filter(|bytes| *bytes == JSON).count()
}

#[test]
pub fn json_that_is_stored_is_sent_as_text() {
    let mut session = Conversation::start();
    let insert = "insert into t values (?, ?)";
    let received = session.batch_of(BatchStrategy::Array, insert, rows(1000));
    assert_eq!(session.sent(), ["PREPARE insert into t values (?, CAST(? AS JSON))"]);
    session.feed(&prepared(1, 20, 2)).unwrap();
    assert_eq!(documents(&mut session), 0);
    session.feed(&array(1, &[1; 1000])).unwrap();
    session.feed(&done(0)).unwrap();
    assert_eq!(received.get().affected(), 1000);
}

#[test]
pub fn json_beside_other_values_keeps_its_type() {
    for (sql, other) in [
        ("insert into t values (?, ?)", Some(V::text("a"))),
        ("insert into t values (?, f(?))", None),
        ("update t set a = ?, b = ?", None),
    ] {
        let mut session = Conversation::start();
        let rows = rows(2).into_iter().chain(other.map(|value| vec![V::Int(1), value])).collect();
        session.batch_of(BatchStrategy::Array, sql, rows);
        let prepare = format!("PREPARE {sql}");
        assert_eq!(session.sent(), [&*prepare], "{sql}");
        session.feed(&prepared(1, 20, 2)).unwrap();
        assert_eq!(documents(&mut session), 2, "{sql}");
    }
}

#[test]
pub fn a_request_has_a_bounded_number_of_values_of_the_type_json() {
    let mut session = Conversation::start();
    session.batch_of(BatchStrategy::Array, "update t set a = ?, b = ?", rows(DOCUMENTS * 2 + 1));
    session.feed(&prepared(1, 22, 2)).unwrap();
    let whole = format!("EXECUTE_ARRAY 1 {} values", 2 * DOCUMENTS);
    assert!(session.sent().ends_with(&[&*whole, &*whole]));
    session.feed(&array(1, &[1; DOCUMENTS])).unwrap();
    assert_eq!(session.sent(), ["EXECUTE_ARRAY 1 2 values"]);
}

#[test]
pub fn a_batch_whose_rows_are_read_once_is_sent_as_it_is() {
    for (condition, typed) in [
        ("b in (?, 'x')", "b in ((CASE WHEN 1=1 THEN ? ELSE 'x' END), 'x')"),
        ("b like nvl(?, '%')", "b like nvl(NVL2(RAND(), ?, ''), '%')"),
        ("coalesce(c, ?) = 1.5", "coalesce(c, CAST(? AS INTEGER)) = 1.5"),
    ] {
        for rereads in [true, false] {
            let mut session = Conversation::start();
            session.rewinds = rereads;
            let value = if condition.starts_with("coalesce") { V::Int(5) } else { V::text("") };
            let rows = vec![vec![value], vec![V::Null]];
            session.batch_of(BatchStrategy::Array, &format!("update t set a = 1 where {condition}"), rows);
            let sent = if rereads { typed } else { condition };
            let prepare = format!("PREPARE update t set a = 1 where {sent}");
            assert_eq!(session.sent(), [&*prepare]);
        }
    }
}
