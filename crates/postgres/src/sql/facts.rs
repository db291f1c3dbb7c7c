//! All that a program needs of a text which it passes on to a session that it lends, by one reading.

use super::effects::{Effects, Reader};
use super::lexer::Lexer;
use super::script::Splitter;
use super::session_state::{
    LASTING_BLOCK, SessionStateReader, has_lasting_block, outlasts_discard, session_state_of, survives_discard,
};

/// What a text does, and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// See [`super::effects`].
    pub effects: Effects,
    /// The first thing that it leaves: see [`session_state_of`].
    pub session_state: Option<&'static str>,
    /// The first of what it leaves that DISCARD ALL does not undo: see [`survives_discard`].
    pub outlasts_discard: Option<&'static str>,
    /// It has a DO whose code may leave something, whatever it leaves before.
    pub has_lasting_block: bool,
}

/// What [`super::effects`], [`session_state_of`] and [`survives_discard`] find in a text.
///
/// ```
/// use headrace_postgres::sql::facts;
/// let found = facts("SET a.b TO DEFAULT; CREATE TEMP TABLE t (n int); LOAD 'auto_explain'", |_| true);
/// assert!(found.effects.settings && found.effects.creates);
/// assert_eq!(found.session_state, Some("a temporary table"));
/// assert_eq!(found.outlasts_discard, Some("LOAD"));
/// ```
pub fn facts(sql: &str, reported: impl Fn(&str) -> bool) -> Facts {
    let (mut lexer, mut splitter) = (Lexer::new(sql), Splitter::default());
    let (mut effects, mut statement) = (Reader::default(), SessionStateReader::default());
    let (mut left, mut outlasts, mut has_lasting_block_here) = (None, None, false);
    while let Some(token) = lexer.next() {
        let place = splitter.place(token);
        effects.next(place, token, &lexer);
        let Some(reason) = statement.next((place, token), &lexer, &reported, &|_| true) else { continue };
        left = left.or(Some(reason));
        if outlasts.is_none() && outlasts_discard(reason, &lexer) {
            outlasts = Some(reason);
        }
        has_lasting_block_here |= reason == LASTING_BLOCK;
    }
    let mut found = Facts {
        effects: effects.end(&lexer),
        session_state: left,
        outlasts_discard: outlasts,
        has_lasting_block: has_lasting_block_here,
    };
    if lexer.uncertain || lexer.has_second_byte {
        // The server may read it in another way.
        found.session_state = left.or_else(|| session_state_of(sql, reported));
        found.outlasts_discard = outlasts.or_else(|| survives_discard(sql));
        found.has_lasting_block |= has_lasting_block(sql);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{custom_settings, effects};
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
            "do $$ begin create temp table t (n int); end $$",
            "do $$ begin perform 1; end $$",
            "select set_config('statement_timeout', '5s', false)",
            "select set_config($1, '5s', false)",
            "set seed to 0.5",
            "listen a",
            "",
        ];
        let reported = |name: &str| name == "timezone";
        for one in parts {
            for other in parts {
                let sql = format!("{one}; {other}");
                let expected = Facts {
                    effects: effects(&sql),
                    session_state: session_state_of(&sql, reported),
                    outlasts_discard: survives_discard(&sql),
                    has_lasting_block: has_lasting_block(&sql),
                };
                let found = facts(&sql, reported);
                assert_eq!(found, expected, "{sql}");
                // Who asks for these need not read a text again of which so much is known.
                assert!(found.effects.settings || custom_settings(&sql) == Some(Vec::new()), "{sql}");
                assert!(found.session_state.is_some() || found.outlasts_discard.is_none(), "{sql}");
            }
        }
    }
}
