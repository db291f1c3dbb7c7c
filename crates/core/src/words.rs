//! The meaning of the words of a statement, in every dialect of SQL.

use crate::token::Token;

/// Statements that read or change rows, and savepoints.
const KEEP_TRANSACTION: [&str; 10] =
    ["select", "insert", "update", "delete", "merge", "replace", "values", "with", "savepoint", "release"];

/// Returns true if a text is a single statement that neither begins nor ends a transaction, judged by its own words.
/// False in case of doubt.
pub fn keeps_transaction(sql: &str) -> bool {
    let text = sql.trim_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    !text.contains(';') && KEEP_TRANSACTION.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// First words of statements that only read, unless they contain one of [`WRITES`].
const READS: [&str; 11] =
    ["select", "with", "values", "table", "show", "desc", "describe", "explain", "check", "checksum", "help"];

/// Words of statements within others: common table expressions of PostgreSQL, EXPLAIN ANALYZE, several in one text.
const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "call", "execute"];

/// Returns true if a statement that returns rows may change something: to cancel it while its rows are received may undo
/// that. What is not known to read counts as writing. `tokens` are those of the dialect's lexer; they are
/// read as far as the answer needs.
pub fn may_write<'a>(sql: &str, tokens: impl Iterator<Item = Token<'a>>) -> bool {
    let mut tokens = tokens.skip_while(|token| token.is_punctuation(b'('));
    if !tokens.next().is_some_and(|first| is_one_of(first.word(), &READS)) {
        return true;
    }
    // Of most texts this is all.
    if !has_writing_word(sql) {
        return false;
    }
    let mut before = ["", ""];
    for token in tokens {
        let word = token.word();
        // FOR UPDATE, FOR NO KEY UPDATE
        let locks = is_one_of(before[1], &["for"]) || is_one_of(before[0], &["no"]) && is_one_of(before[1], &["key"]);
        if is_one_of(word, &WRITES) && !(locks && word.eq_ignore_ascii_case("update")) {
            return true;
        }
        before = [before[1], word];
    }
    false
}

/// Returns true if a word of statements that write is anywhere in a text, in strings and comments, too: for texts of
/// which the lexer cannot be certain where those end.
pub fn has_writing_word(sql: &str) -> bool {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| is_one_of(word, &WRITES))
}

fn is_one_of(word: &str, of: &[&str]) -> bool {
    of.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::keeps_transaction;

    #[test]
    fn what_may_end_a_transaction_is_in_doubt() {
        for sql in ["select 1", " INSERT INTO t VALUES (1);", "with a as (select 1) select * from a", "savepoint s"] {
            assert!(keeps_transaction(sql), "{sql}");
        }
        for sql in [
            "",
            "commit",
            "begin work",
            "create table t (a int)",
            "/* select */ commit",
            "select 1; commit",
            "call p()",
        ] {
            assert!(!keeps_transaction(sql), "{sql}");
        }
    }
}
