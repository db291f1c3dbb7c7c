//! What the statements of a text declare of the transaction that they are executed in (manual, "BEGIN", "SET TRANSACTION").

use super::effects::Reader;
use super::lexer::Lexer;
use super::script::{Splitter, TokenPlace};
use super::session_state::SessionStateReader;
use headrace_core::token::{Token, TokenKind};

/// What a statement has to do with transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// BEGIN or START TRANSACTION, with its modes.
    Begin {
        /// READ ONLY (`true`) or READ WRITE; `None` if neither is said, or both are.
        read_only: Option<bool>,
        /// The isolation level is SERIALIZABLE.
        serializable: bool,
    },
    /// SET TRANSACTION, also SESSION CHARACTERISTICS, or a SET of what this sets.
    Modes,
    /// It ends the transaction block.
    End,
    /// It may change another setting.
    Setting,
    /// Anything else.
    Nothing,
}

/// The same for each statement of a text that is not empty; `None` if the server may read the text in another way than
/// here, or if it leaves something in the session ([`super::session_state_of`], also for `reported`). The text is read once.
///
/// ```
/// use headrace_postgres::sql::{Declared, declared};
/// let begin = Declared::Begin { read_only: Some(true), serializable: false };
/// let found = declared("BEGIN READ ONLY; SELECT 1; COMMIT", |_| true);
/// assert_eq!(found, Some(vec![begin, Declared::Nothing, Declared::End]));
/// assert_eq!(declared("BEGIN READ ONLY; LISTEN a", |_| true), None);
/// ```
pub fn declared(sql: &str, reported: impl Fn(&str) -> bool) -> Option<Vec<Declared>> {
    let (mut lexer, mut splitter) = (Lexer::new(sql), Splitter::default());
    let (mut left, mut found, mut current) = (SessionStateReader::default(), Vec::new(), None);
    let mut effects = Reader::default();
    while let Some(token) = lexer.next() {
        let place = splitter.place(token);
        if left.next((place, token), &lexer, &reported, &|_| true).is_some() {
            return None;
        }
        match place {
            TokenPlace::End => {
                found.extend(of_statement(current.take(), &effects));
                effects = Reader::default();
                continue;
            }
            TokenPlace::First => current = Some(by_its_beginning(token, &lexer)),
            TokenPlace::Within => {}
        }
        effects.next(place, token, &lexer);
    }
    found.extend(of_statement(current, &effects));
    (!lexer.uncertain && !lexer.has_second_byte).then_some(found)
}

/// A statement that was read to its end.
fn of_statement(beginning: Option<Declared>, effects: &Reader<'_>) -> Option<Declared> {
    match beginning {
        Some(Declared::Nothing) if effects.changes_settings() => Some(Declared::Setting),
        beginning => beginning,
    }
}

/// Returns false if the first word of a text shows that its first statement does not begin a transaction block. The rest of
/// the text is not read.
///
/// ```
/// use headrace_postgres::sql::may_begin;
/// assert!(may_begin("/* x */ BEGIN READ ONLY; SELECT 1") && may_begin("; start transaction"));
/// assert!(!may_begin("SELECT 1; BEGIN READ ONLY"));
/// ```
pub fn may_begin(sql: &str) -> bool {
    match Lexer::new(sql).next() {
        Some(first) if first.kind == TokenKind::Word => first.is("begin") || first.is("start"),
        _ => true,
    }
}

/// What the first token of a statement and those after it show; the lexer is after the first.
fn by_its_beginning<'a>(first: Token<'a>, lexer: &Lexer<'a>) -> Declared {
    let mut rest = lexer.clone().take_while(|token| !token.is_punctuation(b';'));
    let is = |words: &[&str]| words.iter().any(|word| first.is(word));
    if is(&["begin", "start"]) {
        return modes(rest);
    }
    if is(&["set", "reset"]) {
        const MODES: &str = "transaction";
        let is_mode = |token: Token<'_>| {
            let name = token.unquoted();
            let is_begun = name.get(..MODES.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(MODES));
            is_begun && !name.to_ascii_lowercase().ends_with("_timeout")
        };
        return if rest.take(NAME).any(is_mode) { Declared::Modes } else { Declared::Setting };
    }
    if ends_block(first, &mut rest) { Declared::End } else { Declared::Nothing }
}

/// Tokens of a SET among which the name is.
const NAME: usize = 5;

fn modes<'a>(tokens: impl Iterator<Item = Token<'a>>) -> Declared {
    let (mut reads, mut writes, mut serializable, mut before) = (false, false, false, None);
    for token in tokens {
        let is_access = before.is_some_and(|before: Token<'_>| before.is("read"));
        reads |= is_access && token.is("only");
        writes |= is_access && token.is("write");
        serializable |= token.is("serializable");
        before = Some(token);
    }
    Declared::Begin { read_only: (reads != writes).then_some(reads), serializable }
}

/// Returns true if a statement with this first word ends a transaction block; `rest` are its other tokens.
pub(super) fn ends_block<'a>(first: Token<'a>, rest: &mut impl Iterator<Item = Token<'a>>) -> bool {
    if first.is("prepare") {
        return rest.next().is_some_and(|second| second.is("transaction"));
    }
    // ROLLBACK TO goes back to a savepoint.
    first.is("commit")
        || first.is("end")
        || first.is("abort")
        || first.is("rollback") && !rest.any(|word| word.is("to"))
}

#[cfg(test)]
mod tests {
    use super::Declared::*;
    use super::*;

    #[test]
    fn what_is_declared_of_a_transaction_is_read() {
        let begin = |read_only| Begin { read_only, serializable: false };
        for (sql, expected) in [
            ("begin", vec![begin(None)]),
            ("BEGIN READ ONLY", vec![begin(Some(true))]),
            ("/* x */ start transaction read only;", vec![begin(Some(true))]),
            ("begin work isolation level repeatable read, read only", vec![begin(Some(true))]),
            ("begin transaction isolation level read committed read write", vec![begin(Some(false))]),
            ("begin isolation level read uncommitted", vec![begin(None)]),
            ("begin read only read write", vec![begin(None)]),
            (
                "begin isolation level serializable read only deferrable",
                vec![Begin { read_only: Some(true), serializable: true }],
            ),
            ("begin read only; select 1; commit", vec![begin(Some(true)), Nothing, End]),
            ("select 'begin read only'", vec![Nothing]),
            ("rollback to s; rollback work to savepoint s; rollback; abort", vec![Nothing, Nothing, End, End]),
            ("prepare transaction 'x'; end", vec![End, End]),
            ("set transaction read write", vec![Modes]),
            ("set local transaction_read_only = off", vec![Modes]),
            ("set \"transaction_isolation\" to serializable", vec![Modes]),
            ("reset transaction_read_only", vec![Modes]),
            ("set session characteristics as transaction read only", vec![Modes]),
            ("set default_transaction_read_only = off", vec![Setting]),
            ("set transaction_timeout = 5", vec![Setting]),
            ("select set_config('transaction_read_only', 'off', true)", vec![Setting]),
            (" ; ;", vec![]),
        ] {
            assert!(may_begin(sql) || !matches!(expected.first(), Some(Begin { .. })), "{sql}");
            assert_eq!(declared(sql, |_| true), Some(expected), "{sql}");
        }
        assert_eq!(declared(r"begin read only; select 'a\'", |_| true), None, "read in two ways");
        for leaves in
            ["begin read only; prepare x as select 1", "set work_mem = 1; select 1", "select pg_advisory_lock(1)"]
        {
            assert_eq!(declared(leaves, |name| name == "timezone"), None, "{leaves}");
        }
    }
}
