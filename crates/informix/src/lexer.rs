//! Placeholders in Informix's SQL.
//!
//! Placeholders inside a string, a quoted identifier or a comment do not count. In a string a quote is doubled, and a
//! backslash is an ordinary character; comments are `-- …`, `/* … */` and `{ … }`, except that `SET{…}`, `MULTISET{…}`
//! and `LIST{…}` are values.

use headrace_core::placeholders::{Converted, Placeholders};
use headrace_core::token::{Token, TokenKind, word_bytes};
use headrace_core::words;

/// The tokens of a text; white space and comments are skipped.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    sql: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// At the beginning of `sql`.
    pub fn new(sql: &'a str) -> Self {
        Self { sql, at: 0 }
    }

    fn skip_gap(&mut self) {
        let bytes = self.sql.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            self.at = match byte {
                byte if byte.is_ascii_whitespace() => self.at + 1,
                b'-' if bytes.get(self.at + 1) == Some(&b'-') => after(bytes, self.at + 2, b"\n"),
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => after(bytes, self.at + 2, b"*/"),
                b'{' if !opens_collection(&self.sql[..self.at]) => after(bytes, self.at + 1, b"}"),
                _ => return,
            };
        }
    }
}

/// True if a byte may be part of a word, by its value.
const WORD_BYTES: [bool; 256] = word_bytes(b"_$");

fn is_word(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_gap();
        let (bytes, start) = (self.sql.as_bytes(), self.at);
        let (kind, end) = match *bytes.get(start)? {
            quote @ (b'\'' | b'"') => (TokenKind::Quoted, after(bytes, start + 1, &[quote])),
            b'?' => (TokenKind::Placeholder, start + 1),
            byte if is_word(byte) => {
                let rest = &bytes[start..];
                let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                (TokenKind::Word, start + length)
            }
            byte => (TokenKind::Punctuation(byte), start + 1),
        };
        self.at = end;
        Some(Token { kind, text: &self.sql[start..end], start })
    }
}

/// Returns true if a statement that returns rows may change something: see [`words::may_write`].
pub fn may_write(sql: &str) -> bool {
    words::may_write(sql, Lexer::new(sql))
}

/// A statement whose placeholders are all `?`, which is the server's own style.
///
/// # Errors
/// A message, for a NUL character, mixed styles, or a number out of range.
pub fn convert(sql: &str) -> Result<Converted, String> {
    headrace_core::placeholders::check(sql)?;
    Ok(placeholders(sql)?.converted())
}

/// Finds the placeholders, and turns `:1` into `?`.
///
/// # Errors
/// A message, when both styles are mixed or a number is out of range.
pub fn placeholders(sql: &str) -> Result<Placeholders<'_>, String> {
    let (mut questions, mut numbers) = (0, Vec::new());
    // The end of the token before, if a number after it is none of a parameter: `database:2…` is a name, nor is the
    // minute of `10:30` outside of a string one, and `::` is a cast.
    let mut joined = None;
    let mut tokens = Lexer::new(sql).peekable();
    while let Some(token) = tokens.next() {
        let digits = |next: &Token<'_>| {
            let text = next.text.as_bytes();
            text.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        match token.kind {
            TokenKind::Placeholder => questions += 1,
            TokenKind::Punctuation(b':') if joined != Some(token.start) => {
                let next = tokens.peek().filter(|next| next.start == token.end() && digits(next) > 0);
                numbers.extend(next.map(|next| token.start..next.start + digits(next)));
            }
            _ => {}
        }
        let joins = matches!(token.kind, TokenKind::Word | TokenKind::Quoted | TokenKind::Punctuation(b':'));
        joined = joins.then_some(token.end());
    }
    Placeholders::of(sql, questions, &numbers)
}

/// Returns true if a ROLLBACK is one to a savepoint, which does not end the transaction: the server describes both as
/// the same.
pub fn rolls_back_to_savepoint(sql: &str) -> bool {
    Lexer::new(sql).any(|token| token.is("to"))
}

/// Returns true if an INSERT is one of one row of placeholders and nothing else: `INSERT INTO t (a, b) VALUES (?, ?)`.
/// Its parameters are then exactly the columns' values.
pub fn inserts_placeholders(sql: &str) -> bool {
    let tokens = tokens(sql);
    let opening = tokens.iter().rposition(|token| token.is_punctuation(b'('));
    let (Some(opening), Some(first)) = (opening.filter(|at| *at > 0), tokens.first()) else { return false };
    let is_of_values = first.is("insert") && tokens[opening - 1].is("values");
    let items = inner(&tokens[opening..]).and_then(parts).unwrap_or_default();
    is_of_values && items.iter().all(|item| is_placeholder(item)) && !items.is_empty()
}

/// For each `?` of an INSERT the index of the item of VALUES that consists of it, if there is one: `(?, 1, UPPER(?),
/// ?)` has 0, none, 3. Also the number of items. `None` if the statement is not of this form.
pub fn inserted(sql: &str) -> Option<(Vec<Option<usize>>, usize)> {
    let tokens = tokens(sql);
    let mut words = outside_of_brackets(&tokens);
    words.next().filter(|first| tokens[*first].is("insert"))?;
    let values = words.find(|at| tokens[*at].is("values"))?;
    let items = parts(inner(&tokens[values + 1..])?)?;
    let marks = items.iter().enumerate().flat_map(|(i, item)| marked(item, |alone| alone.then_some(i)));
    Some((marks.collect(), items.len()))
}

/// For each `?` of an UPDATE whether it alone is assigned to a column: in `SET a = ?, (b, c) = (?, ?), d = UPPER(?)
/// WHERE e = ?` the first three are.
pub fn assigned(sql: &str) -> Vec<bool> {
    let tokens = tokens(sql);
    let none = |of: &[Token<'_>]| vec![false; of.iter().filter(|token| token.kind == TokenKind::Placeholder).count()];
    let mut words = outside_of_brackets(&tokens);
    let is = |at: &usize, word: &str| tokens[*at].is(word);
    let Some(set) = words.next().filter(|first| is(first, "update")).and_then(|_| words.find(|at| is(at, "set")))
    else {
        return none(&tokens);
    };
    let end = words.find(|at| is(at, "where") || is(at, "from")).unwrap_or(tokens.len());
    let Some(items) = parts(&tokens[set + 1..end]) else { return none(&tokens) };
    let mut found = none(&tokens[..=set]);
    for item in items {
        let sign = item.iter().position(|token| token.is_punctuation(b'='));
        let (names, value) = item.split_at(sign.map_or(0, |at| at + 1));
        found.extend(none(names));
        match inner(value).and_then(parts) {
            Some(values) => found.extend(values.iter().flat_map(|value| marked(value, |alone| alone))),
            None => found.extend(marked(value, |alone| alone)),
        }
    }
    found.extend(none(&tokens[end..]));
    found
}

/// Returns true if a text has several statements. DESCRIBE reports the type of the first alone.
pub fn is_several(sql: &str) -> bool {
    if !sql.contains(';') {
        return false;
    }
    let mut tokens = Lexer::new(sql).skip_while(|token| !token.is_punctuation(b';'));
    tokens.any(|token| !token.is_punctuation(b';'))
}

/// The number of `?` in a statement.
pub fn count(sql: &str) -> usize {
    placeholders(sql).map_or(0, |found| found.order.len())
}

/// The tokens of a statement, without semicolons at its end.
fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<_> = Lexer::new(sql).collect();
    while tokens.pop_if(|last| last.is_punctuation(b';')).is_some() {}
    tokens
}

fn is_placeholder(item: &[Token<'_>]) -> bool {
    matches!(item, [Token { kind: TokenKind::Placeholder, .. }])
}

/// One entry for each `?` of an expression; `of` is called with whether that is all of it.
fn marked<T>(item: &[Token<'_>], of: impl Fn(bool) -> T) -> Vec<T> {
    let alone = is_placeholder(item);
    item.iter().filter(|token| token.kind == TokenKind::Placeholder).map(|_| of(alone)).collect()
}

/// What is between the parentheses that the tokens begin and end with.
fn inner<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    match tokens {
        [
            Token { kind: TokenKind::Punctuation(b'('), .. },
            inner @ ..,
            Token { kind: TokenKind::Punctuation(b')'), .. },
        ] => Some(inner),
        _ => None,
    }
}

/// How a token changes the number of brackets that are open.
fn nesting(token: &Token<'_>) -> i32 {
    match token.kind {
        TokenKind::Punctuation(b'(' | b'{' | b'[') => 1,
        TokenKind::Punctuation(b')' | b'}' | b']') => -1,
        _ => 0,
    }
}

/// The parts between commas outside of brackets; `None` if the brackets do not match.
fn parts<'t, 'a>(list: &'t [Token<'a>]) -> Option<Vec<&'t [Token<'a>]>> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, token) in list.iter().enumerate() {
        depth += nesting(token);
        if depth < 0 {
            return None;
        }
        if depth == 0 && token.is_punctuation(b',') {
            found.push(&list[from..at]);
            from = at + 1;
        }
    }
    found.push(&list[from..]);
    (depth == 0).then_some(found)
}

/// The places of the words outside of brackets.
fn outside_of_brackets(tokens: &[Token<'_>]) -> impl Iterator<Item = usize> {
    let mut depth = 0;
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        depth += nesting(token);
        (depth == 0 && token.kind == TokenKind::Word).then_some(at)
    })
}

fn after(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    bytes[from..].windows(end.len()).position(|w| w == end).map_or(bytes.len(), |at| from + at + end.len())
}

fn opens_collection(before: &str) -> bool {
    let before = before.trim_end();
    let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let word = before.get(start..).unwrap_or_default();
    ["set", "multiset", "list"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_between_comments() {
        let sql = "select {c} $1::int, 'a;''b' -- ;\n, set{?} from \"t;\"; /* ; */ größe";
        let tokens: Vec<_> = Lexer::new(sql).map(|token| token.text).collect();
        let expected = [
            "select", "$1", ":", ":", "int", ",", "'a;'", "'b'", ",", "set", "{", "?", "}", "from", "\"t;\"", ";",
            "größe",
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn only_real_placeholders_count() {
        for (sql, n) in [
            ("select a from t where a > ?", 1),
            ("insert into t values (?, '?', \"?\", ?)", 2),
            (r"select 'a\' , ? , 'b' from t", 1),
            ("select 'it''s ?' , ?", 1),
            ("select 1 -- ?\n, ?", 1),
            ("select /* ? */ {+ORDERED ?} ? from t", 1),
            ("select * from table(set{?, 1})", 1),
            ("select LIST {?}, multiset{?} from t", 2),
            ("select x::int from db:t where d = '10:30'", 0),
            ("select 'unfinished ?", 0),
        ] {
            assert_eq!(count(sql), n, "{sql}");
        }
    }

    #[test]
    fn an_insert_of_nothing_but_placeholders_is_recognised() {
        for sql in [
            "insert into t values (?,?)",
            "INSERT INTO db@srv:own.t (a, \"values (1)\") VALUES ( ? , ? ) ; ",
            "insert { values (1) } into größe values -- what\n(?)",
        ] {
            assert!(inserts_placeholders(sql), "{sql}");
        }
        for sql in [
            "insert into t values (?, 1)",
            "insert into t values (upper(?))",
            "insert into t values (?::int)",
            "insert into t values ('?')",
            "insert into t select a from u where b in (?)",
            "insert into t values (?) , (?)x",
            "insert into my_values (?)",
            "insert into t (a) values (?, (?))",
            "update t set a = ?",
            "insert into t values ()",
            "values (?)",
        ] {
            assert!(!inserts_placeholders(sql), "{sql}");
        }
    }

    #[test]
    fn parameters_that_are_inserted_unchanged_are_recognised() {
        for (sql, marks, items) in [
            ("insert into t values (?,?)", &[Some(0), Some(1)][..], 2),
            ("insert into t (a, b, c, d) values (0, ?, upper(?), ?) ;", &[Some(1), None, Some(3)], 4),
            ("INSERT INTO t VALUES (? || ?, 'x,?', substr(?, 1, 3), ?)", &[None, None, None, Some(3)], 4),
            ("insert { ? } into t values (set{?, 1}, f(\"a,\", ?), ?) -- ?", &[None, None, Some(2)], 3),
            ("insert into t (a) values (?::varchar(9))", &[None], 1),
            ("insert into t (a) values ((?))", &[None], 1),
        ] {
            assert_eq!(inserted(sql), Some((marks.to_vec(), items)), "{sql}");
        }
        for sql in ["insert into t select a from u where b = ?", "update t set a = ?", "insert into t values (?), (?)"]
        {
            assert_eq!(inserted(sql), None, "{sql}");
        }
    }

    #[test]
    fn parameters_that_are_assigned_to_a_column_are_recognised() {
        for (sql, found) in [
            ("update t set a = ?", "1"),
            ("UPDATE t SET a=?,b = upper(?), c = ? || ? WHERE d = ?", "10000"),
            ("update t set (a, b) = (?, f(?)), c = (?), d[1,2] = ? where (e = ? and f in (?, ?));", "1011000"),
            ("update t set a = (select b from u where c = ?), d = ?", "01"),
            ("update t set a = ? + 1, b = -?, c = ?", "001"),
            ("update \"set\" set a = 'where ?', b = ? -- ?\n where current of c", "1"),
            ("update t set l = list{?, ?}, m = ? where a = ? or b = ?", "00100"),
            ("update (t) set a = ? ; ", "1"),
            ("insert into t values (?)", "0"),
            ("update t set a = ?)", "0"),
            ("update t", ""),
        ] {
            let all: String = assigned(sql).iter().map(|found| if *found { '1' } else { '0' }).collect();
            assert_eq!(all, found, "{sql}");
        }
    }

    #[test]
    fn several_statements_are_distinguished_from_one() {
        for sql in ["set lock mode to wait; commit work", "insert into t values (';'); update t set a = 1;"] {
            assert!(is_several(sql), "{sql}");
        }
        for sql in ["commit work", "commit work; ; ", "insert into t values (';x')", "select 1 from t; -- that; is all"]
        {
            assert!(!is_several(sql), "{sql}");
        }
    }

    #[test]
    fn a_rollback_to_a_savepoint_is_distinguished_from_one_of_a_transaction() {
        for sql in ["rollback work to savepoint a", "ROLLBACK TO SAVEPOINT", "{ undo } rollback /* a */ to savepoint b"]
        {
            assert!(rolls_back_to_savepoint(sql), "{sql}");
        }
        for sql in ["rollback work", "rollback -- to savepoint a", "ROLLBACK WORK { to } /* to */"] {
            assert!(!rolls_back_to_savepoint(sql), "{sql}");
        }
    }

    #[test]
    fn numbers_become_question_marks() {
        let found = placeholders("select :2, :1, x::int from db:t where a = ':3' and b = :2").unwrap();
        assert_eq!(found.sql, "select ?, ?, x::int from db:t where a = ':3' and b = ?");
        assert_eq!(found.order, [1, 0, 1]);
        assert!(placeholders("select ?, :1").is_err());
        assert!(placeholders("select :0").is_err());
        for unchanged in ["select 10:30", "select a::1 from \"b\":2c", "select 'a':1", "select a : 1"] {
            assert_eq!(placeholders(unchanged).unwrap().sql, unchanged);
        }
    }
}
