//! All that a program needs of a text which it passes on to a session that it lends, by one reading.

use super::effects::{Effects, Reader};
use super::lexer::Lexer;
use super::script::Splitter;
use super::session_state::{SessionStateReader, session_state_of};

/// What a text does, and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// See [`super::effects`].
    pub effects: Effects,
    /// See [`session_state_of`].
    pub session_state: Option<&'static str>,
}

/// What [`super::effects`] and [`session_state_of`] find in a text.
///
/// ```
/// use headrace_postgres::sql::facts;
/// let found = facts("SET a.b TO DEFAULT; CREATE TEMP TABLE t (n int)", |_| true);
/// assert!(found.effects.settings && found.effects.creates);
/// assert_eq!(found.session_state, Some("a temporary table"));
/// ```
pub fn facts(sql: &str, reported: impl Fn(&str) -> bool) -> Facts {
    let (mut lexer, mut splitter) = (Lexer::new(sql), Splitter::default());
    let (mut effects, mut statement, mut left) = (Reader::default(), SessionStateReader::default(), None);
    while let Some(token) = lexer.next() {
        let place = splitter.place(token);
        effects.next(place, token, &lexer);
        if left.is_none() {
            left = statement.next((place, token), &lexer, &reported, &|_| true);
        }
    }
    if left.is_none() && (lexer.uncertain || lexer.has_second_byte) {
        // The server may read it in another way.
        left = session_state_of(sql, reported);
    }
    Facts { effects: effects.end(&lexer), session_state: left }
}

#[cfg(test)]
mod tests {
    use super::super::{custom_settings, effects, survives_discard};
    use super::*;

    #[test]
    fn one_reading_finds_what_two_find() {
        let parts = [
            "select 1",
            "set timezone to 'UTC'",
            "set a.b = 'c'",
            "reset all",
            "(select 1 as a into t)",
            "create temp table t (n int)",
            "select 'it\\'s', set_config('a', 'b', false)",
            "select 'C:\\'",
            "select e'\u{e9}\\'', pg_advisory_lock(1)",
            "create function f() begin atomic select 1; reset b; end",
            "deallocate s",
            "explain (analyze) create table t as select 1",
            "rollback to s",
            "load 'auto_explain'",
            "",
        ];
        let reported = |name: &str| name == "timezone";
        for one in parts {
            for other in parts {
                let sql = format!("{one}; {other}");
                let expected = Facts { effects: effects(&sql), session_state: session_state_of(&sql, reported) };
                let found = facts(&sql, reported);
                assert_eq!(found, expected, "{sql}");
                // Who asks for these need not read a text again of which so much is known.
                assert!(found.effects.settings || custom_settings(&sql) == Some(Vec::new()), "{sql}");
                assert!(found.session_state.is_some() || survives_discard(&sql).is_none(), "{sql}");
            }
        }
    }
}
