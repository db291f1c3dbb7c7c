//! What the machine reads in the text of a statement, read once for each text: by who keeps the text, or else when it is
//! submitted.

use super::control::{self, Control};
use super::request::Request;
use crate::sql::{begins_with, effects};

/// The facts of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The effect on the transaction block.
    control: Control,
    /// It is a COPY, or may have one.
    copies: bool,
    /// It may change the meaning of other statements.
    may_change_schema: bool,
    /// It reads from an object of the session that is identified by its name alone, a cursor or a prepared statement.
    names_session_object: bool,
}

impl Facts {
    /// Those of one statement.
    pub fn of(sql: &str) -> Self {
        let (control, first) = control::first_words(sql);
        Self {
            control,
            copies: first.is_some_and(|word| word.eq_ignore_ascii_case("copy")),
            may_change_schema: first.is_some_and(|word| control::may_change_schema(word) || makes_table(word, sql)),
            names_session_object: begins_with(sql, &["FETCH", "EXECUTE"]),
        }
    }

    /// Those of several statements.
    fn of_script(sql: &str, copies: bool) -> Self {
        let control = control::of_script(sql);
        Self { control, copies: copies || control::may_copy(sql), ..Self::default() }
    }

    /// Those of a request's text; none of a verb, which is data.
    pub(super) fn of_request(request: &Request) -> Self {
        match request {
            Request::Execute(execute) => execute.facts.unwrap_or_else(|| Self::of(&execute.sql)),
            Request::Describe { sql } => Self::of(sql),
            Request::Script { sql, copy, .. } => Self::of_script(sql, *copy),
            Request::Copy(_) => Self { copies: true, ..Self::default() },
            _ => Self::default(),
        }
    }

    /// The effect on the transaction block.
    #[inline]
    pub(super) fn control(self) -> Control {
        self.control
    }

    /// Returns true if it is a COPY, or may have one. While the server receives rows it reads no other messages, and a
    /// pooler (PgBouncer before 1.22) forgets at the end of a COPY, in either direction, how many replies it has yet to
    /// deliver: it then assigns the server connection to another client. So nothing is sent after it before it is
    /// answered.
    #[inline]
    pub(super) fn copies(self) -> bool {
        self.copies
    }

    /// Returns true if it may change the meaning of other statements.
    #[inline]
    pub(super) fn may_change_schema(self) -> bool {
        self.may_change_schema
    }

    /// Returns true if it reads from a cursor or a prepared statement that it names.
    #[inline]
    pub(super) fn names_session_object(self) -> bool {
        self.names_session_object
    }
}

/// Returns true if a statement that begins with this word makes a table otherwise than by CREATE: SELECT INTO, and EXPLAIN
/// ANALYZE of what makes one.
fn makes_table(first: &str, sql: &str) -> bool {
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    // Most queries have no such letters, and this is looked for in each of them.
    let has_into =
        || sql.as_bytes().windows(4).any(|four| four[3] | 0x20 == b'o' && four.eq_ignore_ascii_case(b"into"));
    ((is("select") || is("with")) && has_into() || is("explain")) && effects(sql).creates
}

#[cfg(test)]
mod tests {
    use super::{Control, Facts};

    #[test]
    fn a_statement_is_read_once() {
        let none = Facts::default();
        for (sql, facts) in [
            ("SELECT 1", none),
            ("", none),
            ("/* open", none),
            (" ;/**/ commit", Facts { control: Control::Ends, ..none }),
            ("savepoint a", Facts { control: Control::Nests, ..none }),
            ("Copy t to stdout", Facts { copies: true, ..none }),
            ("alter table t add b int", Facts { may_change_schema: true, ..none }),
            ("rollback", Facts { control: Control::Ends, may_change_schema: true, ..none }),
            ("/**/fetch 1 from c", Facts { names_session_object: true, ..none }),
            ("execute p", Facts { names_session_object: true, ..none }),
            ("call f()", Facts { may_change_schema: true, ..none }),
            ("select 1 as a into temp t", Facts { may_change_schema: true, ..none }),
            ("explain analyze create temp table t as select 1", Facts { may_change_schema: true, ..none }),
            ("with a as (insert into t values (1) returning b) select 'into' from a", none),
            ("explain insert into t values (1)", none),
        ] {
            assert_eq!(Facts::of(sql), facts, "{sql}");
        }
        assert!(Facts::of_script("select 1; copy t to stdout", false).copies());
        assert!(Facts::of_script("select 1", true).copies());
    }
}
