//! What a statement does to the SQL modes of its session.

use super::{Lexer, Modes, is_one_of, is_several, words};
use headrace_core::token::TokenKind;

/// What a statement does to the SQL modes that the status of its reply reports. Those that a procedure, a function or a
/// trigger sets end with it, but the servers (MySQL 9.7 and MariaDB 10.11 are some) report them on and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModesAfter {
    /// They are as before, whatever is reported.
    Kept,
    /// They are as reported.
    Set,
    /// They are as reported if that has changed.
    Unknown,
}

impl ModesAfter {
    /// Of a text that was read with `modes`. Of several statements it is not known which have set them.
    pub fn of(sql: &str, modes: Modes) -> Self {
        const PLAIN: [&str; 8] = ["call", "select", "insert", "replace", "update", "delete", "with", "do"];
        let mut lexer = Lexer::new(sql, modes);
        let first = lexer.by_ref().find(|token| !token.is_punctuation(b'(')).map_or("", |token| token.text);
        let second = lexer.clone().next().map_or("", |token| token.text);
        if first.eq_ignore_ascii_case("begin") && second.eq_ignore_ascii_case("not") {
            return Self::Kept;
        }
        if lexer.is_uncertain() || is_several(sql, modes) {
            return match words(sql).any(|word| word.eq_ignore_ascii_case("sql_mode")) {
                true => Self::Set,
                false => Self::Unknown,
            };
        }
        if is_one_of(first, &PLAIN) {
            return Self::Kept;
        }
        // MariaDB's SET STATEMENT ... FOR is for the statement in it alone.
        match first.eq_ignore_ascii_case("set") {
            true if second.eq_ignore_ascii_case("statement") => Self::Kept,
            true => Self::of_set(lexer),
            false => Self::Unknown,
        }
    }

    /// Of SET, whose other tokens are left in `lexer`.
    fn of_set(mut lexer: Lexer<'_>) -> Self {
        let (mut depth, mut target, mut is_global, mut after) = (0, String::new(), false, Self::Kept);
        for token in lexer.by_ref() {
            match token.kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => depth -= 1,
                TokenKind::Punctuation(b',') if depth == 0 => target.clear(),
                TokenKind::Punctuation(b'=' | b':') if depth == 0 && !target.is_empty() => {
                    let name = target.trim_start_matches("@@").rsplit('.').next().unwrap_or_default();
                    if name.trim_matches('`').eq_ignore_ascii_case("sql_mode") {
                        after = if is_global { Self::Unknown } else { Self::Set };
                    }
                    // What is left until the next comma is the value.
                    target = String::from("@");
                }
                TokenKind::Word if is_one_of(token.text, &["global", "persist", "persist_only"]) => is_global = true,
                TokenKind::Word if is_one_of(token.text, &["session", "local"]) => is_global = false,
                _ => target.push_str(token.text),
            }
        }
        if lexer.is_uncertain() { Self::Unknown } else { after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_the_modes() {
        let of = |sql| ModesAfter::of(sql, Modes::default());
        for sql in [
            "set sql_mode = @m",
            "SET SESSION sql_mode = ''",
            "set @@sql_mode := 'x'",
            "set @@session.sql_mode = default",
            "set @@local . `sql_mode` = ''",
            " /* c */ set @old = @@sql_mode, sql_mode = 'ANSI'",
            "set global max_connections = 9, session sql_mode = ''",
            "set @a = concat('a', (select 1)), sql_mode = ''",
            "/*!40101 SET SQL_MODE=@OLD */",
            "select 1; set sql_mode = ''",
        ] {
            assert_eq!(of(sql), ModesAfter::Set, "{sql}");
        }
        for sql in [
            "call p()",
            "(select 1)",
            "select 'a;b', f()",
            "do f()",
            "set @sql_mode = 1",
            "set @a = @@sql_mode",
            "set names utf8mb4",
            "set @x = (select sql_mode = 1 from t)",
            "set global sql_mode = ''",
            "set @@global.sql_mode = ''",
            "set persist sql_mode = ''",
            "set statement sql_mode = '' for select 1",
            "begin not atomic set sql_mode = ''; end",
        ] {
            assert_ne!(of(sql), ModesAfter::Set, "{sql}");
        }
        for sql in ["execute s", "alter table t add c int", "select 1; select 2", "load data infile 'x' into table t"] {
            assert_eq!(of(sql), ModesAfter::Unknown, "{sql}");
        }
    }
}
