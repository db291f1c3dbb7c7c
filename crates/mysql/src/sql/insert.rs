//! INSERT and REPLACE statements whose rows can be joined.

use super::LOOKING_BACK;
use super::lexer::Modes;
use super::tokens::Tokens;
use headrace_core::token::TokenKind;
use std::ops::Range;

/// A statement that inserts one row of parameters, taken apart so that it can insert many:
/// prefix, row, `,` row, ..., suffix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// Up to and with VALUES.
    pub prefix: String,
    /// The row's text around its parameters: one piece more than there are parameters.
    pub row: Vec<String>,
    /// The text after the row: ON DUPLICATE KEY UPDATE.
    pub suffix: String,
    /// The table.
    pub table: Table,
    /// It has IGNORE.
    pub ignores: bool,
}

/// A table, by its names without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Table {
    /// Its schema; `None` is the session's.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

impl Table {
    /// That of an INSERT or a REPLACE of any form; `None` for other statements, and where it is not certain.
    pub fn new(sql: &str, modes: Modes) -> Option<Self> {
        let statement = Tokens::new(sql, modes);
        let is_insert = !statement.is_uncertain && statement.is_one_of(0, &["insert", "replace"]);
        is_insert.then(|| statement.table()).flatten()
    }
}

impl Insert {
    /// Splits a statement into its parts, `None` if its rows cannot be joined without changing its meaning:
    ///
    /// * it is not an `INSERT ... VALUES` or `REPLACE ... VALUES` (SET, SELECT and TABLE forms have no rows to join);
    /// * there are placeholders outside the row, which would differ from row to row;
    /// * it returns rows, or is more than one statement;
    /// * the row depends on the effect of the rows before it: a subquery, LAST_INSERT_ID(), ROW_COUNT(), or a subquery
    ///   in the text after it, or one of them there without an argument;
    /// * a comment that some versions execute hides part of the statement.
    pub fn new(sql: &str, modes: Modes) -> Option<Self> {
        let statement = Tokens::new(sql, modes);
        let tokens = &statement.tokens;
        if statement.is_uncertain || !statement.is_one_of(0, &["insert", "replace"]) {
            return None;
        }
        let values = statement.values()?;
        let table = statement.table()?;
        let rows = statement.rows(values + 1)?;
        let (first, last) = (tokens[rows.start], tokens[rows.end - 1]);
        let tail = statement.tail(rows.end)?;
        let placeholders: Vec<usize> =
            tokens[rows.clone()].iter().filter(|token| token.kind == TokenKind::Placeholder).map(|t| t.start).collect();
        let elsewhere = tokens[..rows.start].iter().chain(&tokens[rows.end..]);
        if placeholders.is_empty()
            || elsewhere.into_iter().any(|token| token.kind == TokenKind::Placeholder)
            || rows
                .clone()
                .any(|i| statement.is_one_of(i, &LOOKING_BACK) || statement.is_one_of(i, &["select", "identity"]))
            || (rows.end..tokens.len()).any(|i| statement.looks_back(i))
        {
            return None;
        }
        let ignores = (1..values)
            .take_while(|i| statement.is_one_of(*i, &BEFORE_TABLE))
            .any(|i| statement.is_one_of(i, &["ignore"]));
        let mut row = Vec::with_capacity(placeholders.len() + 1);
        let mut at = first.start;
        for placeholder in placeholders {
            row.push(sql[at..placeholder].to_owned());
            at = placeholder + 1;
        }
        row.push(sql[at..last.end()].to_owned());
        // A comment in the tail is dropped with the space before it: it might be `-- ` without an end.
        Some(Self { prefix: sql[..first.start].to_owned(), row, suffix: sql[tail].to_owned(), table, ignores })
    }

    /// Returns true if its parameters are alone, and not in expressions.
    pub fn is_bare(&self) -> bool {
        self.row.iter().all(|piece| matches!(piece.trim(), "(" | "," | ")"))
    }

    /// The number of parameters of a row.
    pub fn parameters(&self) -> usize {
        self.row.len() - 1
    }
}

/// Words that may come before the table's name.
const BEFORE_TABLE: [&str; 7] = ["insert", "replace", "low_priority", "delayed", "high_priority", "ignore", "into"];

impl Tokens<'_> {
    /// Returns true if a function that returns what the statement before has done is called here. With an argument
    /// LAST_INSERT_ID() only keeps that.
    fn looks_back(&self, i: usize) -> bool {
        let is_variable =
            i > 0 && self.tokens[i - 1].is_punctuation(b'@') && self.is_one_of(i, &["identity", "last_insert_id"]);
        let is_closed = self.tokens.get(i + 2).is_some_and(|token| token.is_punctuation(b')'));
        is_variable || is_closed && self.is_one_of(i, &LOOKING_BACK)
    }

    /// The position of VALUES: outside parentheses, before a parenthesis, and not as a name after a point, or as the
    /// table's own name.
    fn values(&self) -> Option<usize> {
        let mut depth = 0usize;
        for at in 1..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => depth = depth.checked_sub(1)?,
                TokenKind::Word if depth == 0 => {
                    if self.is_one_of(at, &["select", "set", "table", "with"]) {
                        return None;
                    }
                    let named = self.is_punctuation(at - 1, b'.') || self.is_target(at);
                    if self.is_one_of(at, &["values", "value"]) && self.is_punctuation(at + 1, b'(') && !named {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns true if the word at `at` is in the place of the table's name.
    fn is_target(&self, at: usize) -> bool {
        (0..at).all(|i| self.is_one_of(i, &BEFORE_TABLE))
    }

    /// The table's name.
    fn table(&self) -> Option<Table> {
        let first = (0..self.tokens.len()).find(|at| !self.is_one_of(*at, &BEFORE_TABLE))?;
        let name = self.name(first)?;
        match self.is_punctuation(first + 1, b'.') {
            true => Some(Table { schema: Some(name), name: self.name(first + 2)? }),
            false => Some(Table { schema: None, name }),
        }
    }

    /// The tokens of the row, or rows, that begin at `from`.
    fn rows(&self, from: usize) -> Option<Range<usize>> {
        let mut at = from;
        loop {
            at = self.closing(at)? + 1;
            if !(self.is_punctuation(at, b',') && self.is_punctuation(at + 1, b'(')) {
                return Some(from..at);
            }
            at += 1;
        }
    }

    /// The parenthesis that closes the one at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.is_punctuation(open, b'(').then_some(at);
            }
        }
        None
    }

    /// The bytes after the rows, without the semicolon that may end them; `None` when rows are returned, another
    /// statement follows, or there is a subquery, which would see all rows or none of them.
    fn tail(&self, from: usize) -> Option<Range<usize>> {
        let mut end = self.tokens.len();
        while end > from && self.is_punctuation(end - 1, b';') {
            end -= 1;
        }
        if (from..end).any(|at| self.is_punctuation(at, b';') || self.is_one_of(at, &["returning", "select"])) {
            return None;
        }
        let start = self.tokens[from - 1].end();
        Some(start..if end > from { self.tokens[end - 1].end() } else { start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_is_a_word_before_the_table() {
        for (sql, expected) in [
            ("insert ignore into t values (?)", true),
            ("INSERT LOW_PRIORITY IGNORE t (a) VALUES (?)", true),
            ("insert into `ignore` values (?)", false),
            ("insert into t (ignore) values (?)", false),
            ("replace into t values (?)", false),
        ] {
            assert_eq!(Insert::new(sql, Modes::default()).map(|insert| insert.ignores), Some(expected), "{sql}");
        }
    }

    #[test]
    fn rows_that_are_told_of_those_before_are_not_joined() {
        let joins = |tail: &str| {
            Insert::new(&format!("insert into t (a) values (?) on duplicate key update {tail}"), Modes::default())
                .is_some()
        };
        assert!(joins("a = 1") && joins("id = last_insert_id(id)"));
        for tail in ["b = last_insert_id()", "b = 1 + row_count()", "b = @@last_insert_id", "b = @@identity"] {
            assert!(!joins(tail), "{tail}");
        }
    }
}
