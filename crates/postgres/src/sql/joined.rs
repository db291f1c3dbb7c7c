//! INSERTs whose row of values can be written several times in one statement.

use super::{is_end, name, number, row_of_values, tokens};
use headrace_core::token::{Token, TokenKind};
use std::fmt::Write as _;
use std::ops::Range;

/// An INSERT of one row, which may have expressions and ON CONFLICT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinableInsert {
    /// The table, as written, with its schema if it was named.
    pub table: String,
    /// The number of parameters, each of which is in the row.
    pub count: usize,
    /// It has ON CONFLICT, so that it may update rows.
    pub has_conflict: bool,
    /// The words of the row and of what follows it, as they may name a function, a type or a column.
    pub names: Vec<String>,
    /// The operators there, and for a run of several characters also its parts.
    pub operators: Vec<String>,
    /// The statement up to the row.
    head: String,
    /// The row between its parameters.
    pieces: Vec<String>,
    /// The parameter after each piece but the last.
    numbers: Vec<usize>,
    /// What follows the row.
    tail: String,
}

impl JoinableInsert {
    /// The statement with so many rows.
    pub fn of_rows(&self, rows: usize) -> String {
        let mut sql = self.head.clone();
        for row in 0..rows {
            sql.push_str(if row == 0 { "" } else { ", " });
            for (i, piece) in self.pieces.iter().enumerate() {
                sql.push_str(piece);
                if let Some(number) = self.numbers.get(i) {
                    let _ = write!(sql, "${}", row * self.count + number);
                }
            }
        }
        sql.push_str(&self.tail);
        sql
    }

    /// The length of a row, in bytes, with the numbers of its parameters.
    pub fn row_bytes(&self) -> usize {
        self.pieces.iter().map(String::len).sum::<usize>() + 6 * self.numbers.len()
    }
}

/// Words that key words stand for as operators.
const SPOKEN: [(&str, &[&str]); 7] = [
    ("like", &["~~", "!~~"]),
    ("ilike", &["~~*", "!~~*"]),
    ("similar", &["~"]),
    ("between", &[">=", "<=", "<", ">"]),
    ("in", &["=", "<>"]),
    ("distinct", &["="]),
    ("case", &["="]),
];

/// `INSERT INTO t [(columns)] [OVERRIDING ...] VALUES (a row with parameters) [ON CONFLICT ...]`; `None` for every other
/// statement: with a query within it, which would not see the rows of its own statement, with RETURNING, with a parameter
/// outside of the row, and with names that [`PlainInsert`](super::PlainInsert) does not take either.
pub(crate) fn joinable_insert(sql: &str) -> Option<JoinableInsert> {
    let all = tokens(sql)?;
    let row = row_of_values(&all)?;
    let (table, columns) = target(&all, row.start)?;
    let is_columns =
        |token: &Token<'_>| token.is_name() || matches!(token.kind, TokenKind::Punctuation(b',' | b'(' | b')'));
    if !all[columns].iter().all(is_columns) {
        return None;
    }
    let behind = &all[row.end..];
    let has_conflict = match behind {
        tokens if is_end(tokens) => false,
        [on, conflict, ..] => on.is("on") && conflict.is("conflict"),
        _ => return None,
    };
    let ends = |token: &Token<'_>| token.is_punctuation(b';');
    let behind = if behind.last().is_some_and(ends) { &behind[..behind.len() - 1] } else { behind };
    if behind.iter().any(ends) || (!has_conflict && !behind.is_empty()) {
        return None;
    }
    let (mut names, mut uses) = (Vec::new(), Vec::new());
    for (i, token) in all.iter().enumerate() {
        let within = row.contains(&i);
        match token.kind {
            TokenKind::Numbered if !within => return None,
            TokenKind::Numbered => uses.push(number(*token)?),
            TokenKind::Word | TokenKind::Quoted if i >= row.start => {
                const REFUSED: [&str; 5] = ["select", "values", "table", "with", "returning"];
                // U&"..." has escapes.
                let is_escaped = token.is("u") && all.get(i + 1).is_some_and(|next| next.is_punctuation(b'&'));
                if is_escaped || REFUSED.iter().any(|word| token.is(word)) {
                    return None;
                }
                names.push(name(*token)?);
            }
            _ => {}
        }
    }
    let count = uses.iter().copied().max()?;
    if (1..=count).any(|number| !uses.contains(&number)) {
        return None;
    }
    let mut operators = operators(sql, &all[row.start..]);
    for (word, spoken) in SPOKEN {
        if names.iter().any(|name| name == word) {
            operators.extend(spoken.iter().map(|&operator| operator.to_owned()));
        }
    }
    operators.sort_unstable();
    operators.dedup();
    names.sort_unstable();
    names.dedup();
    let (mut pieces, mut numbers) = (Vec::new(), Vec::new());
    let mut from = all[row.start].start;
    for i in row.clone() {
        if let Some(number) = number(all[i]) {
            pieces.push(sql[from..all[i].start].to_owned());
            numbers.push(number);
            from = all[i].end();
        }
    }
    let end = all[row.end - 1].end();
    pieces.push(sql[from..end].to_owned());
    let last = all.get(row.end + behind.len()).map_or(sql.len(), |semicolon| semicolon.start);
    Some(JoinableInsert {
        table,
        count,
        has_conflict,
        names,
        operators,
        head: sql[..all[row.start].start].to_owned(),
        pieces,
        numbers,
        tail: sql[end..last].to_owned(),
    })
}

/// The table's name, and the tokens between it and VALUES.
fn target(tokens: &[Token<'_>], row: usize) -> Option<(String, Range<usize>)> {
    let (mut table, mut at) = (String::new(), 2);
    while tokens[at].is_name() {
        name(tokens[at])?;
        table.push_str(tokens[at].text);
        at += 1;
        if !tokens[at].is_punctuation(b'.') {
            break;
        }
        table.push('.');
        at += 1;
    }
    Some((table, at..row - 1))
}

/// The operators of a text, by its tokens: every part of each run of operator characters.
fn operators(sql: &str, tokens: &[Token<'_>]) -> Vec<String> {
    const CHARACTERS: &str = "+-*/<>=~!@#%^&|`?";
    let mut runs: Vec<Range<usize>> = Vec::new();
    for token in tokens {
        if token.text.len() != 1 || !CHARACTERS.contains(token.text) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == token.start => run.end = token.end(),
            _ => runs.push(token.start..token.end()),
        }
    }
    let mut found = Vec::new();
    for run in runs {
        let run = &sql[run];
        for from in 0..run.len() {
            found.extend((from + 1..=run.len()).map(|to| run[from..to].to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_several_times() {
        for (sql, expected) in [
            ("insert into t values ($1, lower($2))", "insert into t values ($1, lower($2)), ($3, lower($4))"),
            (
                "INSERT INTO s.\"T\" (a, b)\nVALUES ($2, /* $9 */ $1 + $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b; -- x",
                "INSERT INTO s.\"T\" (a, b)\nVALUES ($2, /* $9 */ $1 + $2), ($4, /* $9 */ $3 + $4) \
                 ON CONFLICT (a) DO UPDATE SET b = excluded.b",
            ),
            (
                "insert into t(a)values($1::int)on conflict do nothing",
                "insert into t(a)values($1::int), ($2::int)on conflict do nothing",
            ),
            (
                "insert into t overriding system value values (default, '$1', $1) -- end",
                "insert into t overriding system value values (default, '$1', $1), (default, '$1', $2) -- end",
            ),
        ] {
            let insert = joinable_insert(sql).expect(sql);
            assert_eq!(insert.of_rows(2), expected, "{sql}");
        }
    }

    #[test]
    fn what_the_server_is_asked_about() {
        let sql = "insert into t values (f($1), $2 <=> 3, cast($3 as \"D\")) on conflict (a) do update set b = t.b||excluded.b";
        let insert = joinable_insert(sql).expect(sql);
        for expected in ["f", "D", "b", "t", "excluded"] {
            assert!(insert.names.iter().any(|name| name == expected), "{expected}");
        }
        assert_eq!(insert.operators, ["<", "<=", "<=>", "=", "=>", ">", "|", "||"]);
        assert!(insert.has_conflict && insert.count == 3);
        let insert = joinable_insert("insert into t values (($1) in ('a'), 1 - -$2)").expect("has no query");
        assert_eq!(insert.operators, ["-", "<>", "="]);
    }

    #[test]
    fn what_would_mean_something_else_is_left_alone() {
        for sql in [
            "insert into t values ((select max(a) + $1 from t))",
            "insert into t values ($1) returning a",
            "insert into t values ($1) on conflict (a) do update set b = $2",
            "insert into t values ($1) on conflict (a) do update set b = (table u)",
            "insert into t values (7)",
            "insert into t values ($2)",
            "insert into t values ($1), ($2)",
            "insert into t values ($1); select 1",
            "insert into t values ($1) on conflict do nothing; select 1",
            "insert into t (a[1]) values ($1)",
            "insert into t (a.b) values ($1)",
            "insert into t as u values ($1)",
            "insert into t values ($1, U&\"f\"($2))",
            "insert into t values ($1, \"it's\"($2))",
            "insert into t values ($1, $$x$$)",
            "insert into \"a'b\" values ($1)",
            "with q as (select 1) insert into t values ($1)",
            "update t set a = $1",
        ] {
            assert_eq!(joinable_insert(sql), None, "{sql}");
        }
    }
}
