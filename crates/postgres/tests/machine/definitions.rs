//! A session's own definitions, made or rolled back, apply to its next requests.

use crate::machine::session::*;
use headrace_core::{IfUnsent, Verb};
use headrace_postgres::machine::{Execute, ParameterRows, Request};
use headrace_postgres::messages::tag::backend;

const SQL: &str = "select * from t";

/// Executes a statement in an open block.
fn execute_in_block(session: &mut Conversation, sql: &str, columns: Option<&[(&str, u32)]>, tag: &str) {
    session.ask(execution(sql, ParameterRows::One, true), Vec::new(), Vec::new());
    if let Some(columns) = columns {
        session.feed_messages(&[described(&[], columns)]);
    }
    session.feed_messages(&[msg(backend::BIND_COMPLETE, b""), completed(tag), ready(b'T')]);
    session.sent();
}

#[test]
fn a_query_after_the_end_of_a_block_that_defined_something_is_described_again() {
    let ends = [Verb::Rollback(IfUnsent::Forget), Verb::Commit(IfUnsent::Forget)];
    for (end, defined) in ends.iter().flat_map(|end| [(end, true), (end, false)]) {
        let mut session = Conversation::start();
        let before = [("a", 23)];
        execute_in_block(&mut session, SQL, Some(&before), "SELECT 0");
        if defined {
            execute_in_block(&mut session, "alter table t add b int", Some(&[]), "ALTER TABLE");
            execute_in_block(&mut session, SQL, Some(&[("a", 23), ("b", 23)]), "SELECT 0");
        }
        session.ask(verb(end), Vec::new(), Vec::new());
        // One of a pipeline, which is not repeated.
        let Request::Execute(execute) = execution(SQL, ParameterRows::One, true) else { unreachable!() };
        session.ask(Request::Execute(Execute { ordered: true, ..execute }), Vec::new(), Vec::new());
        let sent = session.sent();
        assert_eq!(sent.contains(&["Parse", "Describe", "Flush"]), defined, "{sent:?}");
        assert_eq!(sent.contains(&["Bind"]), !defined, "{sent:?}");
    }
}
