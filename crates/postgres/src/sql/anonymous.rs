//! DO: what the code of an anonymous block may leave in the session that runs it.

use super::lexer::is_word;
use super::session_state::of_function;
use super::settings::is_pg_temp;
use headrace_core::token::{Token, TokenKind};

/// Words of PL/pgSQL and of the statements in it. EXECUTE runs a text that is only known when it runs.
const WORDS: [&str; 11] = [
    "temp",
    "temporary",
    "listen",
    "set",
    "load",
    "prepare",
    "hold",
    "execute",
    "pg_settings",
    "discard",
    "deallocate",
];

/// A DO that is being read.
#[derive(Debug, Default)]
pub(super) struct AnonymousBlock {
    has_code: bool,
}

impl AnonymousBlock {
    /// Returns true if the next token of DO shows that something may last: the code has one of the words, or it is not
    /// understood, as it is in another language than PL/pgSQL, has escapes, or consists of several strings.
    pub fn may_last(&mut self, previous: Token<'_>, token: Token<'_>) -> bool {
        let text = token.text;
        if previous.is("language") {
            return !text.trim_matches(['\'', '"']).eq_ignore_ascii_case("plpgsql");
        }
        match token.kind {
            TokenKind::Constant if self.has_code || text.contains('\\') => true,
            TokenKind::DollarQuoted if self.has_code => true,
            TokenKind::Constant | TokenKind::DollarQuoted => {
                self.has_code = true;
                ["u&\"", "U&\""].iter().any(|escaped| text.contains(escaped)) || words(text).any(may_leave)
            }
            _ => false,
        }
    }
}

fn may_leave(word: &str) -> bool {
    let is_listed = WORDS.iter().any(|other| word.eq_ignore_ascii_case(other));
    is_listed || is_pg_temp(word) || of_function(word).is_some()
}

/// The words of a text, also of those in strings, names and comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && !is_word(c as u8))
}

#[cfg(test)]
mod tests {
    use crate::sql::session_state_of;

    #[test]
    fn code_that_may_leave_something_is_found() {
        for code in [
            "create temp table t (n int)",
            "create table pg_temp.t (n int)",
            "create table pg_temp_3.t (n int)",
            "select 1 into local TEMPORARY t",
            "listen a",
            "load 'auto_explain'",
            "set statement_timeout = 5",
            "prepare p as select 42",
            "execute 'pre' || 'pare p as select 42'",
            "EXECUTE format('declare c cursor with %s for select 42', 'hold')",
            "perform set_config('a.b', 'c', false)",
            "perform \"set_config\"('a.b', 'c', false)",
            "perform U&\"set\\005fconfig\"('a.b', 'c', false)",
            "perform pg_advisory_lock(1)",
            "perform setseed(0.5)",
            "update pg_settings set setting = 5",
            "deallocate all",
        ] {
            for sql in [
                format!("do $$ begin {code}; end $$"),
                format!("DO LANGUAGE plpgsql $a$ begin {code}; end $a$"),
                format!("select 1; do 'begin {}; end'", code.replace('\'', "''")),
            ] {
                assert_eq!(session_state_of(&sql, |_| false), Some("DO with something that may last"), "{sql}");
            }
        }
    }

    #[test]
    fn code_that_is_not_understood_may_leave_something() {
        for (sql, may_last) in [
            ("do $$ begin perform 1; end $$", false),
            ("do language 'plpgsql' $$ begin perform 1; end $$", false),
            ("do $$ begin perform 1; end $$ language \"plpgsql\"", false),
            ("do 'begin perform 1; end'", false),
            ("do $$ begin raise notice 'settings of the é executed: \\'; end $$", false),
            ("do language plpython3u $$ plpy.notice(1) $$", true),
            ("do $$ 1 $$ language 'plperl'", true),
            ("do e'begin perform \\x73et_config(); end'", true),
            ("do 'begin exec'\n'ute x; end'", true),
            ("do U&'begin perform !0073et_config(); end' uescape '!'", true),
        ] {
            assert_eq!(session_state_of(sql, |_| false).is_some(), may_last, "{sql}");
        }
    }
}
