//! What the statements of a text declare of the transaction that they are executed in (manual, "BEGIN", "SET TRANSACTION").

use super::lexer::{Lexer, Token};

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
/// here.
///
/// ```
/// use headrace_postgres::sql::{Declared, declared};
/// let begin = Declared::Begin { read_only: Some(true), serializable: false };
/// assert_eq!(declared("BEGIN READ ONLY; SELECT 1; COMMIT"), Some(vec![begin, Declared::Nothing, Declared::End]));
/// ```
pub fn declared(sql: &str) -> Option<Vec<Declared>> {
    let mut whole = Lexer::new(sql);
    whole.by_ref().for_each(drop);
    if whole.uncertain || whole.has_second_byte {
        return None;
    }
    Some(super::statements(sql).into_iter().filter_map(of_statement).collect())
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
        Some(first @ Token::Word(_)) => first.is("begin") || first.is("start"),
        _ => true,
    }
}

fn of_statement(sql: &str) -> Option<Declared> {
    let mut lexer = Lexer::new(sql);
    let first = lexer.next()?;
    let is = |words: &[&str]| words.iter().any(|word| first.is(word));
    if is(&["begin", "start"]) {
        return Some(modes(lexer));
    }
    if ends_block(first, &mut lexer.clone()) {
        return Some(Declared::End);
    }
    if is(&["set", "reset"]) {
        const MODES: &str = "transaction";
        let is_mode = |token: Token<'_>| {
            let name = token.unquoted();
            let is_begun = name.get(..MODES.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(MODES));
            is_begun && !name.to_ascii_lowercase().ends_with("_timeout")
        };
        return Some(if lexer.take(NAME).any(is_mode) { Declared::Modes } else { Declared::Setting });
    }
    let changes = super::effects(sql).settings;
    Some(if changes { Declared::Setting } else { Declared::Nothing })
}

/// Tokens of a SET among which the name is.
const NAME: usize = 5;

fn modes(tokens: Lexer<'_>) -> Declared {
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
            ("prepare transaction 'x'; prepare x as select 1; end", vec![End, Nothing, End]),
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
            assert_eq!(declared(sql), Some(expected), "{sql}");
        }
        assert_eq!(declared(r"begin read only; select 'a\'"), None, "read in two ways");
    }
}
