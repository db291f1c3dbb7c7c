//! Placeholders and statements in CUBRID's SQL.
//!
//! In a string a quote is doubled; a backslash is an ordinary character unless the server has
//! `no_backslash_escapes=no`. Identifiers are enclosed in `"…"`, `[…]` or `` `…` ``; comments are `-- …`, `// …` and
//! `/* … */`.

use headrace_core::placeholders::{Converted, Placeholders};
use headrace_core::token::{Token, TokenKind, word_bytes};
use headrace_core::words;

/// The tokens of a text; white space and comments are skipped.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    sql: &'a [u8],
    at: usize,
    /// A backslash in a string begins an escape.
    escapes: bool,
}

/// True if a byte may be part of a word, by its value.
const WORD_BYTES: [bool; 256] = word_bytes(b"_#$");

fn is_word(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

impl<'a> Lexer<'a> {
    /// At the beginning of `sql`; a backslash in a string is an ordinary character.
    pub fn new(sql: &'a str) -> Self {
        Self::with_escapes(sql, false)
    }

    /// The same for a server on which a backslash may begin an escape.
    pub fn with_escapes(sql: &'a str, escapes: bool) -> Self {
        Self { text: sql, sql: sql.as_bytes(), at: 0, escapes }
    }

    fn skip_to(&mut self, end: &[u8]) {
        let found = self.sql[self.at..].windows(end.len()).position(|window| window == end);
        self.at = found.map_or(self.sql.len(), |offset| self.at + offset + end.len());
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        loop {
            match self.sql[self.at..] {
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                [b'-', b'-', ..] | [b'/', b'/', ..] => self.skip_to(b"\n"),
                [b'/', b'*', ..] => {
                    self.at += 2;
                    self.skip_to(b"*/");
                }
                _ => return,
            }
        }
    }

    /// To the end of a string or identifier that has begun; a doubled end is part of it.
    fn skip_quoted(&mut self, end: u8) {
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += 1;
            if byte == b'\\' && end == b'\'' && self.escapes {
                self.at += 1;
            } else if byte == end {
                if self.sql.get(self.at) != Some(&end) {
                    return;
                }
                self.at += 1;
            }
        }
        self.at = self.sql.len();
    }

    fn skip_while(&mut self, is: impl Fn(u8) -> bool) {
        while self.sql.get(self.at).is_some_and(|byte| is(*byte)) {
            self.at += 1;
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip();
        let start = self.at;
        let first = *self.sql.get(start)?;
        self.at += 1;
        let kind = match first {
            b'\'' => {
                self.skip_quoted(b'\'');
                TokenKind::String
            }
            b'"' | b'`' => {
                self.skip_quoted(first);
                TokenKind::Quoted
            }
            b'[' => {
                self.skip_quoted(b']');
                TokenKind::Quoted
            }
            b'?' => TokenKind::Placeholder,
            b':' if self.sql.get(self.at).is_some_and(u8::is_ascii_digit) => {
                self.skip_while(|byte| byte.is_ascii_digit());
                TokenKind::Numbered
            }
            byte if is_word(byte) => {
                self.skip_while(is_word);
                TokenKind::Word
            }
            byte => TokenKind::Punctuation(byte),
        };
        Some(Token { kind, text: &self.text[start..self.at], start })
    }
}

/// Returns true if a statement that returns rows may change something: see [`words::may_write`].
/// A backslash may begin an escape, if the server is set so: then it is not certain where strings end.
pub fn may_write(sql: &str) -> bool {
    words::may_write(sql, Lexer::new(sql)) || sql.contains('\\') && words::has_writing_word(sql)
}

/// A statement whose placeholders are all `?`, which is the server's own style; `:1` is converted.
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
    for token in Lexer::new(sql) {
        match token.kind {
            TokenKind::Placeholder => questions += 1,
            TokenKind::Numbered => numbers.push(token.start..token.end()),
            _ => {}
        }
    }
    Placeholders::of(sql, questions, &numbers)
}

/// An INSERT or REPLACE of one row whose parameters are all among the values of the row: more rows can be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneRow<'a> {
    /// Up to the row.
    before: &'a str,
    /// The row in its parentheses.
    row: &'a str,
    /// After it: ON DUPLICATE KEY UPDATE.
    after: &'a str,
}

impl<'a> OneRow<'a> {
    /// The parts of a statement; `None` if it is another one.
    pub fn of(sql: &'a str) -> Option<Self> {
        let mut tokens = Lexer::new(sql);
        tokens.next().filter(|first| first.is("insert") || first.is("replace"))?;
        tokens.find(|token| token.is("values") || token.is("value"))?;
        let open = tokens.next().filter(|token| token.is_punctuation(b'('))?;
        let mut depth = 1;
        let close = tokens.find(|token| {
            match token.kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        // Another row, a further statement, or parameters after the row.
        let is_other = |token: Token| {
            matches!(token.kind, TokenKind::Placeholder | TokenKind::Numbered | TokenKind::Punctuation(b';'))
        };
        let next = tokens.clone().next();
        if next.is_some_and(|token| token.kind != TokenKind::Word) || tokens.any(is_other) {
            return None;
        }
        let before_row = Lexer::new(&sql[..open.start]).any(|token| token.kind == TokenKind::Placeholder);
        let (before, row) = (&sql[..open.start], &sql[open.start..close.end()]);
        // A line comment in the row would hide the rows after it.
        let is_plain = !row.contains("--") && !row.contains("//");
        (!before_row && is_plain).then_some(Self { before, row, after: &sql[close.end()..] })
    }

    /// The positions in the statement of the parameters that are values of the row as they are, by their numbers.
    pub fn whole_values(&self) -> Vec<(usize, usize)> {
        let tokens: Vec<Token<'_>> = Lexer::new(self.row).collect();
        let (mut found, mut count, mut depth) = (Vec::new(), 0, 0);
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => depth -= 1,
                TokenKind::Placeholder => {
                    let is = |at: usize, byte| tokens.get(at).is_some_and(|token| token.is_punctuation(byte));
                    let begins = at > 0 && (is(at - 1, b'(') || is(at - 1, b','));
                    if depth == 1 && begins && (is(at + 1, b')') || is(at + 1, b',')) {
                        found.push((count, self.before.len() + token.start));
                    }
                    count += 1;
                }
                _ => {}
            }
        }
        found
    }

    /// The statement with this number of rows.
    pub fn repeated(&self, rows: usize) -> String {
        let rows = vec![self.row; rows].join(",");
        [self.before, &rows, self.after].concat()
    }

    /// The number of rows with which the statement has at most this number of bytes.
    pub fn rows_in(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.before.len() + self.after.len()) / (self.row.len() + 1)
    }
}

/// Returns true if a text contains several statements.
pub fn is_several(sql: &str) -> bool {
    if !sql.as_bytes().contains(&b';') {
        return false;
    }
    let mut tokens = Lexer::new(sql).skip_while(|token| !token.is_punctuation(b';'));
    tokens.any(|token| !token.is_punctuation(b';'))
}

/// Returns true for a CALL that returns the values of its parameters, `? = CALL f(?)`: a text that begins with a
/// placeholder, as the server has it.
pub fn is_call(sql: &str) -> bool {
    sql.starts_with('?')
}

/// What the machine reads in a text, read once for each text: by who keeps the text, or else when it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it does.
    pub effect: Effect,
    /// It has several statements.
    pub is_several: bool,
}

impl Facts {
    /// Those of a request without a text.
    pub const NONE: Self = Self { effect: Effect::None, is_several: false };

    /// Those of a text.
    pub fn of(sql: &str) -> Self {
        let is_several = is_several(sql);
        let changes = |statement| effect_of_one(statement) == Effect::ChangesDefinitions;
        let effect = match is_several {
            false => effect_of_one(sql),
            true if statements(sql).any(changes) => Effect::ChangesDefinitions,
            true => Effect::None,
        };
        Self { effect, is_several }
    }
}

/// What a text does apart from reading and writing rows: its statement, or all of several together, judged by their first
/// words. Those of several do not end the transaction: such texts are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, as far as they show.
    None,
    /// It commits the transaction.
    Commits,
    /// It rolls the transaction back.
    RollsBack,
    /// It changes definitions, or settings by which constants are read (SET SYSTEM PARAMETERS, SET TIME ZONE), so that
    /// statements which were prepared before may have other columns, or mean something else.
    ChangesDefinitions,
}

/// The first words of statements that change definitions.
const DEFINITIONS: [&str; 5] = ["create", "alter", "drop", "rename", "truncate"];

/// The statements of a text, which are separated by semicolons.
fn statements(sql: &str) -> impl Iterator<Item = &str> {
    let ends = Lexer::new(sql).filter(|token| token.is_punctuation(b';')).map(|token| token.start);
    let mut from = 0;
    ends.chain([sql.len()]).map(move |end| {
        let statement = &sql[from..end];
        from = (end + 1).min(sql.len());
        statement
    })
}

/// Returns true if a text has parameters.
pub fn has_parameters(sql: &str) -> bool {
    Lexer::new(sql).any(|token| token.kind == TokenKind::Placeholder)
}

/// Returns true if a quoted name of a text has a `?` in it, which the CAS takes for a parameter.
pub fn has_marker_in_name(sql: &str) -> bool {
    Lexer::new(sql).any(|token| token.kind == TokenKind::Quoted && token.text.contains('?'))
}

/// Returns true if one of the statements of a text ends the transaction.
pub fn has_end(sql: &str) -> bool {
    statements(sql).any(|statement| matches!(effect_of_one(statement), Effect::Commits | Effect::RollsBack))
}

fn effect_of_one(sql: &str) -> Effect {
    let mut words = Lexer::new(sql).map(|token| token.text);
    let mut word = || words.next().unwrap_or_default();
    let first = word();
    let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
    if DEFINITIONS.iter().any(|known| is(first, known)) {
        return Effect::ChangesDefinitions;
    }
    if is(first, "set") {
        let second = word();
        let is_setting = ["system", "timezone", "time", "names"].iter().any(|known| is(second, known));
        return if is_setting { Effect::ChangesDefinitions } else { Effect::None };
    }
    if is(first, "commit") {
        return Effect::Commits;
    }
    if !is(first, "rollback") {
        return Effect::None;
    }
    // ROLLBACK [WORK] TO [SAVEPOINT] does not end it.
    let second = word();
    let to = if is(second, "work") { word() } else { second };
    if is(to, "to") { Effect::None } else { Effect::RollsBack }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_core::placeholders::Style;

    fn count(sql: &str) -> usize {
        placeholders(sql).unwrap().order.len()
    }

    #[test]
    fn placeholders_are_outside_of_strings_names_and_comments() {
        for (sql, expected) in [
            ("select ?, ?", 2),
            ("select '?', 'it''s ?', ?", 1),
            (r"select '\', ?", 1),
            ("select \"a?\", [b?], `c?`, ?", 1),
            ("select ? -- ?\n, ? // ?\n, ? /* ? */", 3),
            ("select a/b, ?", 1),
            ("select 'open ?", 0),
            ("select {1, ?}", 1),
        ] {
            assert_eq!(count(sql), expected, "{sql}");
        }
        let escaped =
            Lexer::with_escapes(r"select '\' ?', ?", true).filter(|token| token.kind == TokenKind::Placeholder);
        assert_eq!(escaped.count(), 1);
    }

    #[test]
    fn markers_in_names_are_found() {
        for (sql, found) in
            [("select \"a?\"", true), ("select [b?], 1", true), ("select ?, \"a\", '?' -- \"?\"", false)]
        {
            assert_eq!(has_marker_in_name(sql), found, "{sql}");
        }
    }

    #[test]
    fn numbers_become_question_marks() {
        let converted = convert("select :2, ':1', a:b, :1, :2").unwrap();
        assert_eq!((converted.sql.as_str(), converted.order.as_slice()), ("select ?, ':1', a:b, ?, ?", &[1, 0, 1][..]));
        assert_eq!((converted.count, converted.style), (2, Style::Numeric));
        assert_eq!(convert("select ?").unwrap(), Converted::native("select ?"));
        for wrong in ["select :1, ?", "select :0", "select :99999999999", "select '\0'"] {
            assert!(convert(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_are_appended_to_an_insert_of_one() {
        for (sql, joined) in [
            ("insert into t values (?, ?)", Some("insert into t values (?, ?),(?, ?)")),
            (
                "INSERT INTO t(a) VALUES (lower(?)) ON DUPLICATE KEY UPDATE a = 'x'",
                Some("INSERT INTO t(a) VALUES (lower(?)),(lower(?)) ON DUPLICATE KEY UPDATE a = 'x'"),
            ),
            ("replace into [values] (a) value (?)", Some("replace into [values] (a) value (?),(?)")),
            ("insert into t values (?), (?)", None),
            ("insert into t values (?); select 1", None),
            ("insert into t values (?) on duplicate key update a = ?", None),
            ("insert into t select ? from u", None),
            ("insert into t set a = ?", None),
            ("insert into t values (? -- a\n)", None),
            ("insert into t values (?", None),
            ("update t set a = ?", None),
        ] {
            let found = OneRow::of(sql).map(|insert| insert.repeated(2));
            assert_eq!(found.as_deref(), joined, "{sql}");
        }
        let insert = OneRow::of("insert into t values (?)").unwrap();
        assert_eq!((insert.rows_in(40), insert.repeated(insert.rows_in(40)).len()), (4, 36));
        assert_eq!(insert.rows_in(5), 0);
    }

    #[test]
    fn values_of_a_row_that_are_parameters_alone_are_found() {
        for (sql, expected) in [
            ("insert into t (a) values (?, ?)", &[(0, 26), (1, 29)][..]),
            ("replace t value (?, f(?), (?), ? + 1, 'a', ?)", &[(0, 17), (4, 43)]),
            ("insert into t values (1) on duplicate key update a = 1", &[]),
        ] {
            assert_eq!(OneRow::of(sql).unwrap().whole_values(), expected, "{sql}");
        }
    }

    #[test]
    fn several_statements_are_noticed() {
        for (sql, several) in
            [("select 1", false), ("select 1; -- end\n ;", false), ("select ';'", false), ("select 1; select 2", true)]
        {
            assert_eq!(is_several(sql), several, "{sql}");
        }
    }

    #[test]
    fn the_first_words_tell_the_effect() {
        for (sql, expected) in [
            ("select 1", Effect::None),
            ("/* a */ Commit", Effect::Commits),
            ("rollback work", Effect::RollsBack),
            ("rollback work to savepoint a", Effect::None),
            ("ROLLBACK TO a", Effect::None),
            ("// a\n create table t (a int)", Effect::ChangesDefinitions),
            ("", Effect::None),
            ("set system parameters 'intl_date_lang=de_DE'", Effect::ChangesDefinitions),
            ("SET TIMEZONE 'Asia/Seoul'", Effect::ChangesDefinitions),
            ("set @a = 1", Effect::None),
            ("set transaction isolation level 4", Effect::None),
            ("commit; -- end", Effect::Commits),
            ("commit; select 1", Effect::None),
            ("select ';create'; create table t (a int)", Effect::ChangesDefinitions),
        ] {
            assert_eq!(Facts::of(sql).effect, expected, "{sql}");
        }
        assert!(has_end("select 1; rollback"));
        assert!(!has_end("select 1; rollback to a; select 'commit'; select 2"));
    }
}
