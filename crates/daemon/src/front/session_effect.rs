//! What a statement leaves in its session, or asks it for: read from all of its tokens, however long it is.

use super::sql::Tokens;
use headrace_core::token::{Token, TokenKind};

/// What a statement has to do with the state of the session that executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEffect {
    /// It leaves something that no other client must find, and that the server's reset of the session undoes, if it has one.
    Leaves(&'static str),
    /// It leaves something that only the end of the session undoes, or it is not known what.
    SurvivesReset(&'static str),
    /// It is none that is known. If the server cannot parse it either, it leaves nothing.
    Unknown,
    /// It asks for the result of an earlier statement, which may have been another client's.
    AsksForEarlier,
    /// It asks for such a result, and leaves it in something that a reset undoes.
    KeepsEarlier(&'static str),
}

impl SessionEffect {
    /// What the statement leaves in its session, if it leaves anything.
    pub fn left(self) -> Option<&'static str> {
        match self {
            Self::Leaves(what) | Self::SurvivesReset(what) | Self::KeepsEarlier(what) => Some(what),
            Self::Unknown => Some("a statement that may change the session"),
            Self::AsksForEarlier => None,
        }
    }

    /// Returns true if nothing but the end of the session undoes it.
    pub fn survives_reset(self) -> bool {
        matches!(self, Self::SurvivesReset(_) | Self::Unknown)
    }

    /// Returns true if the answer depends on what the session has executed before.
    pub fn asks_for_earlier(self) -> bool {
        matches!(self, Self::AsksForEarlier | Self::KeepsEarlier(_))
    }
}

impl Tokens<'_> {
    /// Returns true if one of these words is in it.
    pub fn has_word(&self, known: &[&str]) -> bool {
        self.tokens.iter().any(|token| is_one_of(token.word(), known))
    }

    /// Returns true if these words are in it, one after the other.
    pub fn has_words(&self, words: &[&str]) -> bool {
        self.tokens
            .windows(words.len())
            .any(|tokens| tokens.iter().zip(words).all(|(token, word)| is_one_of(token.word(), &[word])))
    }

    /// Returns true if it calls one of these functions; the name of one may be in quotes.
    pub fn calls(&self, known: &[&str]) -> bool {
        self.tokens
            .windows(2)
            .any(|pair| pair[1].is_punctuation(b'(') && name(&pair[0]).is_some_and(|name| is_one_of(name, known)))
    }

    /// Returns true if it reads one of these columns of something that has a name: `sequence.currval`.
    pub fn has_column(&self, known: &[&str]) -> bool {
        self.tokens.windows(2).any(|pair| pair[0].is_punctuation(b'.') && is_one_of(pair[1].word(), known))
    }

    /// Returns true if it reads one of these system variables of the session: `@@identity`, `@@session.identity`.
    pub fn reads_variable(&self, known: &[&str]) -> bool {
        let at = TokenKind::Punctuation(b'@');
        self.tokens.windows(3).enumerate().any(|(place, part)| {
            if part[0].kind != at || part[1].kind != at {
                return false;
            }
            let scoped = is_one_of(part[2].word(), &["session", "local"]);
            let variable = if scoped { self.tokens.get(place + 4) } else { Some(&part[2]) };
            variable.and_then(name).is_some_and(|name| is_one_of(name, known))
        })
    }

    /// Returns true if it gives a user variable a value: `@x := 1`, `INTO @x`.
    pub fn assigns_variable(&self) -> bool {
        self.tokens.windows(2).any(|pair| match (pair[0].kind, pair[1].kind) {
            (TokenKind::Punctuation(b':'), TokenKind::Punctuation(b'=')) => true,
            (TokenKind::Word, TokenKind::Punctuation(b'@')) => is_one_of(pair[0].word(), &["into"]),
            _ => false,
        })
    }
}

/// A name, without its quotes.
fn name<'a>(token: &Token<'a>) -> Option<&'a str> {
    let text = token.text;
    match (token.kind, text.as_bytes()) {
        (TokenKind::Word, _) => Some(text),
        (TokenKind::Quoted, [b'"' | b'`' | b'[', .., _]) => Some(&text[1..text.len() - 1]),
        _ => None,
    }
}

fn is_one_of(text: &str, known: &[&str]) -> bool {
    known.iter().any(|known| text.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::SessionEffect::{self, AsksForEarlier, KeepsEarlier, Leaves, SurvivesReset, Unknown};
    use crate::front::backend::{CubridDialect, InformixDialect, MySqlDialect};
    use crate::front::sql::{Action, Dialect, statement};

    fn session_effect(dialect: &dyn Dialect, sql: &str) -> Option<SessionEffect> {
        match statement(dialect, sql, &[]).action {
            Action::Server(server) => server.session_effect,
            action => panic!("{sql}: {action:?}"),
        }
    }

    fn columns(count: usize) -> String {
        (0..count).map(|number| format!("{number} as c{number}, ")).collect()
    }

    #[test]
    fn what_mysql_leaves_in_a_session_is_found_anywhere_in_the_statement() {
        let many = columns(70);
        let lock = Some(Leaves("a lock of GET_LOCK"));
        let variable = Some(Leaves("a user variable"));
        for (sql, effect) in [
            ("select 1", None),
            ("select a.row_count, warning_count, 'get_lock(' from a", None),
            ("insert into t (identity) values (':=')", None),
            ("select @x, @@sql_mode, @@global.identity", None),
            ("grant select on t to a@localhost", None),
            ("flush status", None),
            ("show tables", None),
            ("select @x := 'of A'", variable),
            ("select 4 into @w", variable),
            ("insert into t values (@y:=1)", variable),
            (&format!("select {many} @x := 1"), variable),
            (&format!("select {many} get_lock('l', 0)"), lock),
            ("select `get_lock`('l', 0)", lock),
            ("select GET_LOCK /* */ ('l', 0)", lock),
            ("flush tables with read lock", Some(Leaves("FLUSH TABLES with a lock"))),
            ("flush tables t for export", Some(Leaves("FLUSH TABLES with a lock"))),
            ("create or replace temporary table t (a int)", Some(Leaves("a temporary table"))),
            ("select 1 /*! + 1 */", Some(SurvivesReset("a comment that some servers execute"))),
            ("/*!99999 select */ set @x = 1", Some(SurvivesReset("a comment that some servers execute"))),
            ("do sleep(0)", None),
            ("do @x := 1", variable),
            ("do get_lock('l', 0)", lock),
            ("unlock tables", None),
            ("set role admin", Some(SurvivesReset("SET ROLE"))),
            ("SET SESSION AUTHORIZATION a@localhost", Some(SurvivesReset("SET ROLE"))),
            ("set statement max_statement_time = 1 for set role admin", Some(SurvivesReset("SET ROLE"))),
            ("set resource group batch", Some(SurvivesReset("SET RESOURCE GROUP"))),
            ("set names latin1", Some(Leaves("SET"))),
            ("execute s", Some(SurvivesReset("EXECUTE of a text that is not known"))),
            ("call p()", Some(SurvivesReset("a procedure, which may do anything"))),
            ("if 1 then set role admin; end if", Some(SurvivesReset("a compound statement"))),
            ("xa start 'x'", Some(SurvivesReset("a transaction of XA"))),
            ("selec 1", Some(Unknown)),
            ("select last_insert_id()", Some(AsksForEarlier)),
            ("select `last_insert_id`()", Some(AsksForEarlier)),
            ("select found_rows()", Some(AsksForEarlier)),
            ("select row_count ( )", Some(AsksForEarlier)),
            ("select lastval(s)", Some(AsksForEarlier)),
            ("select previous value for s", Some(AsksForEarlier)),
            ("select @@identity", Some(AsksForEarlier)),
            ("select @@session.last_insert_id", Some(AsksForEarlier)),
            ("select @@`warning_count`", Some(AsksForEarlier)),
            ("show warnings limit 1", Some(AsksForEarlier)),
            ("show errors", Some(AsksForEarlier)),
            ("show count(*) warnings", Some(AsksForEarlier)),
            ("get diagnostics condition 1 @p = message_text", Some(KeepsEarlier("a user variable"))),
        ] {
            assert_eq!(session_effect(&MySqlDialect::default(), sql), effect, "{sql}");
        }
    }

    #[test]
    fn what_informix_leaves_in_a_session_is_found_anywhere_in_the_statement() {
        let temporary = Some(SurvivesReset("a temporary table"));
        for (sql, effect) in [
            ("select tabid, temp from systables", None),
            ("create database other with log", Some(SurvivesReset("DATABASE"))),
            ("create table database (n int)", None),
            ("select tabid from systables into scratch tt", temporary),
            ("selec 1", Some(Unknown)),
            (&format!("select {} tabid from systables into temp tt", columns(70)), temporary),
            ("with a as (select 1 as b from systables) select b from a into temp tt", temporary),
            ("create temp table tt (a int)", temporary),
            ("select dbinfo('sqlca.sqlerrd1') from systables", Some(AsksForEarlier)),
            ("select s.currval from systables", Some(AsksForEarlier)),
        ] {
            assert_eq!(session_effect(&InformixDialect, sql), effect, "{sql}");
        }
    }

    #[test]
    fn what_cubrid_leaves_in_a_session_is_found_anywhere_in_the_statement() {
        for (sql, effect) in [
            ("select s.currval, row_count from a", None),
            (&format!("select {} @x := 1", columns(70)), Some(SurvivesReset("a user variable"))),
            ("do @x := 1", Some(SurvivesReset("a user variable"))),
            ("prepare s from 'select 1'", Some(SurvivesReset("a prepared statement of SQL"))),
            ("show trace", Some(AsksForEarlier)),
            ("selec 1", Some(Unknown)),
            ("select last_insert_id()", Some(AsksForEarlier)),
            ("select row_count()", Some(AsksForEarlier)),
        ] {
            assert_eq!(session_effect(&CubridDialect, sql), effect, "{sql}");
        }
    }
}
