//! Messages that a server may send, in any order, to requests of every kind: each response handler receives exactly one
//! outcome, and no state is entered that the table does not allow.

use crate::machine::session::*;
use crate::support::TestHandler;
use headrace_core::Protocol;
use headrace_postgres::machine::{Copy, ParameterRows, PortalId, Request};
use headrace_postgres::messages::tag::backend;
use headrace_testkit::{Shared, TestValue, drive};
use proptest::prelude::*;

/// Any message; those that continue a conversation come more often.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let catalogue = data_row(&[Some(b"99999"), Some(b"c"), Some(b"c"), None, Some(b"1033 a"), None]);
    let begun = [msg(backend::PARSE_COMPLETE, b""), msg(backend::BIND_COMPLETE, b"")].concat();
    prop_oneof![
        3 => Just(ready(b'I')),
        1 => Just(ready(b'T')),
        1 => Just(ready(b'E')),
        2 => Just(described(&[], &[("n", 23)])),
        2 => Just(described(&[25], &[])),
        1 => Just(described(&[25], &[("c", 99_999)])),
        2 => Just([begun.clone(), completed("INSERT 0 1")].concat()),
        2 => Just([msg(backend::BIND_COMPLETE, b""), completed("SELECT 0")].concat()),
        1 => Just([begun, catalogue, completed("SELECT 1")].concat()),
        1 => Just(row_description(&[("c", 99_999)])),
        1 => Just(row_description(&[("n", 23)])),
        1 => Just(data_row(&[Some(&[0, 0, 0, 1])])),
        1 => Just(completed("COPY 1")),
        1 => Just(copy_response(backend::COPY_IN_RESPONSE)),
        1 => Just(copy_response(backend::COPY_OUT_RESPONSE)),
        1 => Just(msg(backend::COPY_DATA, b"x\n")),
        1 => Just(msg(backend::PORTAL_SUSPENDED, b"")),
        1 => Just(msg(backend::EMPTY_QUERY_RESPONSE, b"")),
        1 => Just(msg(backend::NO_DATA, b"")),
        1 => Just(error("22012")),
        1 => Just(error("26000")),
    ]
}

/// A request, its row and its batch.
fn request() -> impl Strategy<Value = (Request, Vec<TestValue>, Vec<Vec<TestValue>>)> {
    let portal = || PortalId { name: "p".into(), number: 7 };
    let copy = |into, left_out: bool| {
        let left_out = left_out.then(|| "select attnum".into());
        Request::Copy(Copy {
            query: "select a".into(),
            left_out,
            binary: None,
            text: "copy".into(),
            into,
            prelude: None,
        })
    };
    let rows = || vec![vec![1.into()], vec!["x".into()], vec!["y".into()]];
    let many = (0..2000).map(|n: i64| vec![n.to_string().into()]).collect::<Vec<_>>();
    prop_oneof![
        any::<bool>().prop_map(|sync| (execution("select 1", ParameterRows::One, sync), vec![], vec![])),
        any::<bool>().prop_map(|sync| (execution("select $1", ParameterRows::One, sync), vec!["x".into()], vec![])),
        Just((execution("insert", ParameterRows::Batch, true), vec![], many)),
        Just((execution("select $1", ParameterRows::TypedBatch, true), vec![], rows())),
        Just((execution("select $1", ParameterRows::TimeTypedBatch, true), vec![], rows())),
        Just((execution("copy t from stdin", ParameterRows::One, true), vec![], vec![])),
        any::<bool>().prop_map(|copy| (script("copy t from stdin", copy), vec![], vec![])),
        (any::<bool>(), any::<bool>()).prop_map(move |(into, left_out)| (copy(into, left_out), vec![], vec![])),
        Just((Request::Describe { sql: "select 1".into() }, vec![], vec![])),
        Just((Request::DescribePortal { portal: portal() }, vec![], vec![])),
        Just((Request::ClosePortal { portal: portal() }, vec![], vec![])),
        Just((Request::Sync, vec![], vec![])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn whatever_the_server_sends_no_state_is_entered_that_the_table_does_not_allow(
        requests in proptest::collection::vec(request(), 1..5),
        messages in proptest::collection::vec(message(), 1..24),
        discards: u8,
    ) {
        let Conversation { mut machine, mut read_buffer, mut write_buffer } = Conversation::start();
        let submit = |(request, row, batch)| {
            let (handler, received) = TestHandler::new(row, batch);
            machine.submit(request, handler);
            received
        };
        let received: Vec<Shared> = requests.into_iter().map(submit).collect();
        drive(&mut machine, (&mut read_buffer, &mut write_buffer), &messages.concat(), discards, &received);
    }
}
