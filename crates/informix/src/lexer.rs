//! Placeholders in Informix's SQL.
//!
//! Placeholders inside a string, a quoted identifier or a comment do not count. In a string a quote is doubled, and a
//! backslash is an ordinary character; comments are `-- …`, `/* … */` and `{ … }`, except that `SET{…}`, `MULTISET{…}`
//! and `LIST{…}` are values.

use headrace_core::placeholders::{Converted, Style};
use headrace_core::token::{Kind, Token};
use std::borrow::Cow;

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

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_gap();
        let (bytes, start) = (self.sql.as_bytes(), self.at);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        let (kind, end) = match *bytes.get(start)? {
            quote @ (b'\'' | b'"') => (Kind::Quoted, after(bytes, start + 1, &[quote])),
            b'?' => (Kind::Placeholder, start + 1),
            byte if is_word(&byte) => {
                (Kind::Word, start + bytes[start..].iter().take_while(|byte| is_word(byte)).count())
            }
            byte => (Kind::Punctuation(byte), start + 1),
        };
        self.at = end;
        Some(Token { kind, start, end })
    }
}

/// A statement whose placeholders are all `?`, and the parameter of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholders<'a> {
    /// The statement in the server's style.
    pub sql: Cow<'a, str>,
    /// For each `?` in order the 0-based number of its parameter.
    pub order: Vec<usize>,
    /// The parameters were written `:1`, so one may be in several places.
    pub numbered: bool,
}

/// A statement whose placeholders are all `?`, which is the server's own style.
///
/// # Errors
/// A message, for a NUL character, mixed styles, or a number out of range.
pub fn convert(sql: &str) -> Result<Converted, String> {
    headrace_core::placeholders::check(sql)?;
    let found = placeholders(sql)?;
    if !found.numbered {
        return Ok(Converted::native(sql));
    }
    let count = found.order.iter().max().map_or(0, |last| last + 1);
    let style = Style::Numeric;
    Ok(Converted {
        sql: found.sql.into_owned(),
        style,
        names: Vec::new(),
        count,
        order: found.order,
        has_letters: false,
    })
}

/// Finds the placeholders, and turns `:1` into `?`.
///
/// # Errors
/// A message, when both styles are mixed or a number is out of range.
pub fn placeholders(sql: &str) -> Result<Placeholders<'_>, String> {
    let bytes = sql.as_bytes();
    let mut order = Vec::new();
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            quote @ (b'\'' | b'"') => i = after(bytes, i + 1, &[quote]),
            b'-' if bytes.get(i + 1) == Some(&b'-') => i = after(bytes, i + 2, b"\n"),
            b'/' if bytes.get(i + 1) == Some(&b'*') => i = after(bytes, i + 2, b"*/"),
            b'{' if !opens_collection(&sql[..i]) => i = after(bytes, i + 1, b"}"),
            b'?' => {
                order.push(order.len());
                i += 1;
            }
            b':' if bytes.get(i + 1) == Some(&b':') => i += 2,
            b':' if bytes.get(i + 1).is_some_and(u8::is_ascii_digit) && !follows_word(bytes, i) => {
                let digits = bytes[i + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
                numbers.push((i, i + 1 + digits));
                i += 1 + digits;
            }
            _ => i += 1,
        }
    }
    if numbers.is_empty() {
        return Ok(Placeholders { sql: Cow::Borrowed(sql), order, numbered: false });
    }
    if !order.is_empty() {
        return Err("the statement mixes ? and :1 parameters; use one style".into());
    }
    let mut out = String::with_capacity(sql.len());
    let mut from = 0;
    for (start, end) in numbers {
        let number = sql[start + 1..end].parse::<usize>().ok().filter(|n| (1..=65_535).contains(n));
        let number = number.ok_or_else(|| format!("{} is not a parameter: they count from :1", &sql[start..end]))?;
        order.push(number - 1);
        out.push_str(&sql[from..start]);
        out.push('?');
        from = end;
    }
    out.push_str(&sql[from..]);
    Ok(Placeholders { sql: Cow::Owned(out), order, numbered: true })
}

/// Returns true if a ROLLBACK is one to a savepoint, which does not end the transaction: the server describes both as
/// the same.
pub fn rolls_back_to_savepoint(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'-' if bytes.get(i + 1) == Some(&b'-') => i = after(bytes, i + 2, b"\n"),
            b'/' if bytes.get(i + 1) == Some(&b'*') => i = after(bytes, i + 2, b"*/"),
            b'{' => i = after(bytes, i + 1, b"}"),
            byte if byte.is_ascii_alphabetic() => {
                let word = bytes[i..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                if bytes[i..i + word].eq_ignore_ascii_case(b"to") {
                    return true;
                }
                i += word;
            }
            _ => i += 1,
        }
    }
    false
}

/// Returns true if a statement is an INSERT of one row of placeholders and nothing else: `INSERT INTO t (a, b) VALUES
/// (?, ?)`. Its parameters are then exactly the columns' values.
pub fn inserts_placeholders(sql: &str) -> bool {
    let words = outside(sql);
    let text = words.trim().trim_end_matches(';').trim_end();
    let Some(list) = text.strip_suffix(')') else { return false };
    let Some((before, list)) = list.rsplit_once('(') else { return false };
    let before = before.trim_end();
    let Some(at) = before.len().checked_sub("values".len()) else { return false };
    let begins = text.get(.."insert".len()).is_some_and(|word| word.eq_ignore_ascii_case("insert"));
    let values = before.get(at..).is_some_and(|word| word.eq_ignore_ascii_case("values"));
    let alone = before.as_bytes()[..at].last().is_some_and(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    begins && values && alone && list.split(',').all(|item| item.trim() == "?")
}

/// For each `?` of an INSERT the index of the item of VALUES that consists of it, if there is one: `(?, 1, UPPER(?),
/// ?)` has 0, none, 3. Also the number of items. `None` if the statement is not of this form.
pub fn inserted(sql: &str) -> Option<(Vec<Option<usize>>, usize)> {
    let text = outside(sql);
    let words = words(&text);
    let begins = words.first().is_some_and(|(_, word)| word.eq_ignore_ascii_case("insert"));
    let (at, _) = words.iter().find(|(_, word)| word.eq_ignore_ascii_case("values")).filter(|_| begins)?;
    let list = text[at + "values".len()..].trim().trim_end_matches(';').trim_end();
    let items = parts(list.strip_prefix('(')?.strip_suffix(')')?)?;
    let marks = items.iter().enumerate().flat_map(|(i, item)| marked(item, |alone| alone.then_some(i)));
    Some((marks.collect(), items.len()))
}

/// For each `?` of an UPDATE whether it alone is assigned to a column: in `SET a = ?, (b, c) = (?, ?), d = UPPER(?)
/// WHERE e = ?` the first three are.
pub fn assigned(sql: &str) -> Vec<bool> {
    let text = outside(sql);
    let words = words(&text);
    let find = |name: &str, from: usize| words.iter().find(|(at, w)| *at >= from && w.eq_ignore_ascii_case(name));
    let none = || vec![false; text.matches('?').count()];
    let Some((set, _)) = find("set", 0).filter(|_| words[0].1.eq_ignore_ascii_case("update")) else { return none() };
    let start = set + "set".len();
    let end = ["where", "from"].iter().filter_map(|name| find(name, start)).map(|(at, _)| *at).min();
    let end = end.unwrap_or(text.trim_end().trim_end_matches(';').len());
    let (before, rest) = text.split_at(start);
    let (list, after) = rest.split_at(end - start);
    let Some(items) = parts(list) else { return none() };
    let mut found = vec![false; before.matches('?').count()];
    for item in items {
        let (names, value) = item.split_once('=').unwrap_or(("", item));
        found.resize(found.len() + names.matches('?').count(), false);
        let value = value.trim();
        match value.strip_prefix('(').and_then(|list| list.strip_suffix(')')).and_then(parts) {
            Some(values) => found.extend(values.iter().flat_map(|value| marked(value, |alone| alone))),
            None => found.extend(marked(value, |alone| alone)),
        }
    }
    found.resize(found.len() + after.matches('?').count(), false);
    found
}

/// One entry for each `?` of an expression; `of` is called with whether that is all of it.
fn marked<T>(item: &str, of: impl Fn(bool) -> T) -> Vec<T> {
    let alone = item.trim() == "?";
    item.matches('?').map(|_| of(alone)).collect()
}

/// The parts between commas outside of brackets; `None` if the brackets do not match.
fn parts(list: &str) -> Option<Vec<&str>> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' if depth == 0 => return None,
            b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                found.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[from..]);
    (depth == 0).then_some(found)
}

/// The words outside of brackets, and their positions.
fn words(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let (mut depth, mut at, mut found) = (0, 0, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let len = bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                if depth == 0 {
                    found.push((at, &text[at..at + len]));
                }
                at += len;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns true if a text has several statements. DESCRIBE reports the type of the first alone.
pub fn is_several(sql: &str) -> bool {
    let ends = |c: char| c == ';' || c.is_ascii_whitespace();
    sql.contains(';') && outside(sql).split_once(';').is_some_and(|(_, rest)| !rest.chars().all(ends))
}

/// A statement without its comments; strings and quoted names are one letter each.
fn outside(sql: &str) -> String {
    let bytes = sql.as_bytes();
    let mut out = String::with_capacity(sql.len());
    let mut i = 0;
    while i < bytes.len() {
        let (end, stands_for) = match bytes[i] {
            quote @ (b'\'' | b'"') => (after(bytes, i + 1, &[quote]), "x"),
            b'-' if bytes.get(i + 1) == Some(&b'-') => (after(bytes, i + 2, b"\n"), " "),
            b'/' if bytes.get(i + 1) == Some(&b'*') => (after(bytes, i + 2, b"*/"), " "),
            b'{' if !opens_collection(&sql[..i]) => (after(bytes, i + 1, b"}"), " "),
            byte => {
                // Letters beyond ASCII are only parts of names.
                out.push(if byte.is_ascii() { char::from(byte) } else { 'x' });
                i += 1;
                continue;
            }
        };
        out.push_str(stands_for);
        i = end;
    }
    out
}

/// The number of `?` in a statement.
pub fn count(sql: &str) -> usize {
    placeholders(sql).map_or(0, |found| found.order.len())
}

fn after(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    bytes[from..].windows(end.len()).position(|w| w == end).map_or(bytes.len(), |at| from + at + end.len())
}

/// `database:2…` is not a placeholder, nor is the minute of `10:30` outside of a string.
fn follows_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'_' | b'$' | b'"' | b'\''))
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
        let tokens: Vec<_> = Lexer::new(sql).map(|token| &sql[token.start..token.end]).collect();
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
        assert_eq!(placeholders("select 10:30").unwrap().sql, "select 10:30");
    }
}
