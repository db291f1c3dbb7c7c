//! The parts of a statement's text that the driver itself reads.

mod anonymous;
mod constants;
mod custom;
mod deallocate;
mod declared;
mod effects;
mod facts;
mod joined;
mod lexer;
mod script;
mod session_state;
mod settings;

pub(crate) use constants::updates_settings;
pub use constants::{
    CONSTANT_SETTINGS, has_parse_time_constant, has_plain_parse_time_constant, may_set_constants,
    only_sets_reported_constants,
};
pub use custom::custom_settings;
pub use deallocate::{Deallocated, deallocates};
pub use declared::{Declared, declared, may_begin};
pub use effects::{Effects, Reset, effects};
pub use facts::{Facts, facts};
use headrace_core::placeholders::{self, Converted, Marks};
use headrace_core::token::{Token, TokenKind};
use headrace_core::words;
pub(crate) use joined::{JoinableInsert, joinable_insert};
pub(crate) use lexer::{Lexer, is_word, leading_word};
pub(crate) use script::statements;
pub use script::{
    begins_block, commits, copies_rows, is_empty, is_query, is_several, may_call_after_change, plans_nothing, script,
};
pub use session_state::{TEMPORARY_TABLE, ends_something, is_setting, may_end, session_state_of, survives_discard};

/// Returns true if a statement that returns rows may change something: see [`words::may_write`].
pub fn may_write(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql);
    words::may_write(sql, lexer.by_ref()) || lexer.uncertain && words::has_writing_word(sql)
}

/// For each parameter `$1`, `$2`, ... of an `INSERT INTO ... VALUES (...)` with one row: true if it is there alone, and
/// nowhere else, so that its value is only assigned to a column. Empty for every other statement, and if the text
/// cannot be parsed.
///
/// Such a parameter can be sent as its column's type whenever the assignment would convert the value to the same:
/// nothing else in the statement depends on its type.
pub(crate) fn assigned(sql: &str) -> Vec<bool> {
    let Some(tokens) = tokens(sql) else { return Vec::new() };
    let Some(row) = row_of_values(&tokens) else { return Vec::new() };
    let mut uses: Vec<usize> = Vec::new();
    for token in &tokens {
        if let Some(number) = number(*token) {
            if uses.len() < number {
                uses.resize(number, 0);
            }
            uses[number - 1] += 1;
        }
    }
    let mut assigned = vec![false; uses.len()];
    let mut depth = 0;
    for window in tokens[row].windows(3) {
        let [before, parameter, after] = window else { continue };
        match before.kind {
            TokenKind::Punctuation(b'(' | b'[') => depth += 1,
            TokenKind::Punctuation(b')' | b']') => depth -= 1,
            _ => {}
        }
        if let TokenKind::Punctuation(b'(' | b',') = before.kind
            && let TokenKind::Punctuation(b',' | b')') = after.kind
            && let Some(number) = number(*parameter)
        {
            assigned[number - 1] = depth == 1 && uses[number - 1] == 1;
        }
    }
    assigned
}

/// The tokens of the only row after VALUES, with its parentheses.
fn row_of_values(tokens: &[Token<'_>]) -> Option<std::ops::Range<usize>> {
    let token = |at: usize| tokens.get(at).copied();
    let is = |at: usize, word: &str| token(at).is_some_and(|token| token.is(word));
    if !is(0, "insert") || !is(1, "into") {
        return None;
    }
    let mut at = 2;
    loop {
        if !token(at)?.is_name() {
            return None;
        }
        at += 1;
        if !token(at)?.is_punctuation(b'.') {
            break;
        }
        at += 1;
    }
    if token(at)?.is_punctuation(b'(') {
        at = end_of_parentheses(tokens, at)?;
    }
    if is(at, "overriding") {
        at += 3;
    }
    if !is(at, "values") || !token(at + 1)?.is_punctuation(b'(') {
        return None;
    }
    let end = end_of_parentheses(tokens, at + 1)?;
    // With more rows than one, their types are worked out together.
    (!token(end).is_some_and(|next| next.is_punctuation(b','))).then_some(at + 1..end)
}

/// An INSERT of one row of parameters, each assigned to a column and in their order, and nothing else.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlainInsert {
    /// The table, as written, with its schema if it was named.
    pub table: String,
    /// The name of the table alone, without quotes, as the server writes it into a context.
    pub relation: String,
    /// The columns' names, without quotes; empty for the first ones of the table.
    pub columns: Vec<String>,
    /// The number of parameters.
    pub count: usize,
}

/// `INSERT INTO t [(columns)] VALUES ($1, $2, ...)`; `None` for every other statement, and for names with a backslash or
/// an apostrophe, or longer than the server keeps.
pub(crate) fn plain_insert(sql: &str) -> Option<PlainInsert> {
    let tokens = tokens(sql)?;
    let row = row_of_values(&tokens)?;
    let (mut table, mut at) = (String::new(), 2);
    let mut relation = String::new();
    while tokens[at].is_name() {
        table.push_str(tokens[at].text);
        relation = name(tokens[at])?;
        at += 1;
        if !tokens[at].is_punctuation(b'.') {
            break;
        }
        table.push('.');
        at += 1;
    }
    let mut columns = Vec::new();
    if tokens[at].is_punctuation(b'(') {
        loop {
            columns.push(name(tokens[at + 1])?);
            at += 2;
            match tokens[at].kind {
                TokenKind::Punctuation(b',') => {}
                TokenKind::Punctuation(b')') => break,
                _ => return None,
            }
        }
        at += 1;
    }
    // Nothing between the columns and VALUES, and nothing after the row.
    if at + 1 != row.start || !is_end(&tokens[row.end..]) {
        return None;
    }
    let mut count = 0;
    for (i, token) in tokens[row].iter().skip(1).enumerate() {
        match (i % 2, token.kind) {
            (0, _) if number(*token) == Some(count + 1) => count += 1,
            (1, TokenKind::Punctuation(b',' | b')')) => {}
            _ => return None,
        }
    }
    (columns.is_empty() || columns.len() == count).then_some(PlainInsert { table, relation, columns, count })
}

/// The name that an identifier stands for; `None` for one with characters that could be read in two ways.
fn name(token: Token<'_>) -> Option<String> {
    let name = match token.kind {
        TokenKind::Word => token.text.to_ascii_lowercase(),
        TokenKind::Quoted => token.text.strip_prefix('"')?.strip_suffix('"')?.replace("\"\"", "\""),
        _ => return None,
    };
    // NAMEDATALEN: the server cuts longer names.
    (name.len() < 64 && !name.contains(['\\', '\''])).then_some(name)
}

/// The position after the parenthesis that closes the one at `at`.
fn end_of_parentheses(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.kind {
            TokenKind::Punctuation(b'(') => depth += 1,
            TokenKind::Punctuation(b')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i + 1);
        }
    }
    None
}

/// Returns true if a statement is over before these tokens.
fn is_end(tokens: &[Token<'_>]) -> bool {
    tokens.is_empty() || tokens.len() == 1 && tokens[0].is_punctuation(b';')
}

/// The tokens of a statement; `None` if it is ambiguous, or has parts that are not parsed here (dollar quotes).
fn tokens(sql: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer::new(sql);
    let tokens: Vec<Token<'_>> = lexer.by_ref().collect();
    let known = |token: &Token<'_>| !matches!(token.kind, TokenKind::DollarQuoted | TokenKind::Punctuation(b'$'));
    let counts = |token: &Token<'_>| token.kind != TokenKind::Numbered || number(*token).is_some();
    (!lexer.uncertain && tokens.iter().all(|token| known(token) && counts(token))).then_some(tokens)
}

/// The digits of a parameter.
fn digits(token: Token<'_>) -> Option<&str> {
    token.text.strip_prefix('$').filter(|_| token.kind == TokenKind::Numbered)
}

/// The number of a parameter.
fn number(token: Token<'_>) -> Option<usize> {
    digits(token)?.parse().ok().filter(|number| (1..=usize::from(u16::MAX)).contains(number))
}

/// Returns true if a statement has a parameter in the server's own style, `$1`.
fn has_parameter(sql: &str) -> bool {
    sql.contains('$') && Lexer::new(sql).any(|token| token.kind == TokenKind::Numbered)
}

/// The number of parameters of a statement in the server's own style: the largest of `$1`, `$2`, ...
///
/// The server takes more types than that with a Parse, and then as many values, which it drops.
pub fn parameters(sql: &str) -> usize {
    Lexer::new(sql).filter_map(|token| digits(token)?.parse().ok()).max().unwrap_or(0)
}

/// Returns true if a statement begins with one of these words, after comments and opening parentheses.
pub(crate) fn begins_with(sql: &str, words: &[&str]) -> bool {
    let word = leading_word(sql);
    // Most texts begin with a word that is a token of its own.
    if !word.is_empty() && !sql[word.len()..].starts_with('$') {
        return words.iter().any(|other| word.eq_ignore_ascii_case(other));
    }
    let first = Lexer::new(sql).find(|token| !token.is_punctuation(b'('));
    first.is_some_and(|first| words.iter().any(|word| first.is(word)))
}

/// A statement with the server's own parameters. `with_params` indicates whether parameters are given: without them a
/// percent sign is an ordinary character.
///
/// # Errors
/// A message, for a NUL character, a stray percent sign, or mixed styles.
pub fn convert(sql: &str, with_params: bool) -> Result<Converted, String> {
    placeholders::check(sql)?;
    if !with_params {
        return Ok(Converted::native(sql));
    }
    if has_parameter(sql) {
        // A percent sign in a string, a name or a comment is not Python's then.
        if placeholders::are_in(sql) && has_python_parameter(sql) {
            return Err(placeholders::mixed("$1"));
        }
        return Ok(Converted::native(sql));
    }
    let converted = placeholders::rewrite(sql, Marks::Numbers)?;
    check_places(sql)?;
    Ok(converted)
}

/// Refuses a parameter in Python's style that is within a string or a name: the server would take its number for text, and
/// the value, whose type it is told, would be dropped in silence.
///
/// # Errors
/// A message.
fn check_places(sql: &str) -> Result<(), String> {
    let bytes = sql.as_bytes();
    let is_after_word = |pair: &[u8]| pair[1] == b'%' && is_word(pair[0]);
    if !sql.contains(['\'', '"', '$']) && !bytes.windows(2).any(is_after_word) {
        return Ok(());
    }
    let mut lexer = Lexer::new(sql);
    let mut word_ends = None;
    let mut found = None;
    for token in lexer.by_ref() {
        let start = token.start;
        let within = match token.kind {
            TokenKind::Constant | TokenKind::Quoted | TokenKind::DollarQuoted => placeholders::first_in(token.text),
            TokenKind::Punctuation(b'%') if word_ends == Some(start) && placeholders::begins(&sql[start..]) => Some(0),
            _ => None,
        };
        found = found.or(within.map(|at| start + at));
        word_ends = (token.kind == TokenKind::Word).then(|| token.end());
    }
    match found {
        // Where a string ends is not certain.
        Some(at) if !lexer.uncertain => Err(format!(
            "the parameter at position {at} is within a string or a name, where the server takes it for text: write it \
             without quotes, and a percent sign as %%"
        )),
        _ => Ok(()),
    }
}

/// Returns true if a statement has a parameter in Python's style outside of strings, names and comments.
fn has_python_parameter(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql);
    let mut literal = false;
    while let Some(token) = lexer.next() {
        let percent = token.is_punctuation(b'%');
        if percent && !literal && placeholders::begins(&sql[token.start..]) {
            return true;
        }
        // Two percent signs are one.
        literal = percent && !literal && lexer.rest().starts_with('%');
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_within_a_string_or_a_name_is_refused() {
        for (sql, position) in [
            ("select '%s'", Some(8)),
            ("select %s, 'a%(b)s'", None),
            ("select %(a)s, 'a%(b)s'", Some(16)),
            ("select '%%s', %s", None),
            ("select \"%s\", %s", Some(8)),
            ("create table x%s (a int)", Some(14)),
            ("do $a$ select %s $a$", Some(14)),
            ("select e'\\'%s', %s", Some(11)),
            // A backslash: whether the string ends here depends on a setting.
            ("select '\\', %s, '%s'", None),
            ("select a%%2, a %% %s", None),
            ("select 'a' -- '%s'\n, %s", None),
            ("select 5%s", None),
            ("select '', %s", None),
        ] {
            let wanted = position.map(|at| format!("the parameter at position {at} is within"));
            let found = convert(sql, true).err().filter(|message| !message.contains("mixes"));
            assert_eq!(found.is_some(), wanted.is_some(), "{sql}: {found:?}");
            assert!(wanted.is_none_or(|wanted| found.is_some_and(|found| found.starts_with(&wanted))), "{sql}");
        }
    }

    #[test]
    fn parameters_are_counted() {
        for (sql, expected) in [
            ("select 1", 0),
            ("select $1, $3, $2", 3),
            ("select '$4', $$ $5 $$, \"$6\" /* $7 */ where a = $1", 1),
            ("select $99999999999999999999999", 0),
        ] {
            assert_eq!(parameters(sql), expected, "{sql}");
        }
    }

    #[test]
    fn parameters_that_are_only_assigned_are_found() {
        for (sql, expected) in [
            ("insert into t values ($1, $2)", &[true, true][..]),
            ("INSERT INTO s.\"T\" (a, b[1])\nVALUES ($2,/* $9 */$1) -- $3", &[true, true]),
            (
                "insert into t values ($1, 7/$2, coalesce($3, 1), $4::int, ($5), -$6)",
                &[true, false, false, false, false, false],
            ),
            ("insert into t values ($1, f($2, $3), a[$4])", &[true, false, false, false]),
            ("insert into t values ($1, $2, $1)", &[false, true]),
            ("insert into t values ($1) on conflict do update set a = $2 returning $1", &[false, false]),
            ("insert into t values ($1) returning $2", &[true, false]),
            ("insert into t overriding system value values ($1)", &[true]),
            ("insert into t values ('$9, (', $1, 'it''s', $2)", &[true, true]),
        ] {
            assert_eq!(assigned(sql), expected, "{sql}");
        }
    }

    #[test]
    fn an_insert_of_parameters_alone_is_found() {
        let plain = |table: &str, relation: &str, columns: &[&str], count| {
            let columns = columns.iter().map(|&column| column.to_owned()).collect();
            Some(PlainInsert { table: table.to_owned(), relation: relation.to_owned(), columns, count })
        };
        for (sql, expected) in [
            ("insert into t values ($1, $2)", plain("t", "t", &[], 2)),
            (
                "INSERT INTO S.\"T\"\"x\" (A, \"B\")\nVALUES ($1,/* $9 */$2); -- $3",
                plain("S.\"T\"\"x\"", "T\"x", &["a", "B"], 2),
            ),
            ("insert into a.b.c(d)values($1)", plain("a.b.c", "c", &["d"], 1)),
            ("insert into t values ($2, $1)", None),
            ("insert into t values ($1, $1)", None),
            ("insert into t values ($1, 7)", None),
            ("insert into t values ($1, $2::int)", None),
            ("insert into t values ($1, ($2))", None),
            ("insert into t values ($1, -$2)", None),
            ("insert into t values ($1, default)", None),
            ("insert into t values ()", None),
            ("insert into t (a, b) values ($1)", None),
            ("insert into t (a[1]) values ($1)", None),
            ("insert into t (a.b) values ($1)", None),
            ("insert into t () values ($1)", None),
            ("insert into t (a) overriding system value values ($1)", None),
            ("insert into t overriding system value values ($1)", None),
            ("insert into t values ($1) returning a", None),
            ("insert into t values ($1) on conflict do nothing", None),
            ("insert into t values ($1); select 1", None),
            ("insert into t as u values ($1)", None),
            ("insert into \"a'b\" values ($1)", None),
            ("insert into U&\"x\" values ($1)", None),
            ("with q as (select 1) insert into t values ($1)", None),
            ("update t set a = $1", None),
        ] {
            assert_eq!(plain_insert(sql), expected, "{sql}");
        }
        let long = "a".repeat(64);
        assert_eq!(plain_insert(&format!("insert into {long} values ($1)")), None);
    }

    #[test]
    fn native_parameters_are_found_only_where_they_are_parameters() {
        for (sql, native) in [
            ("select $1", true),
            ("select '$1'", false),
            ("select e'\\'$1'", false),
            ("select \"$1\"", false),
            ("select $$ $1 $$", false),
            ("select $a$ $1 $a$, $2", true),
            ("select 1 -- $1", false),
            ("select 1 -- c\n, $1", true),
            ("select 1 -- c\r, $1", true),
            ("select /* /* $1 */ $2 */ 1", false),
            ("select a$1 from t", false),
            ("select 'it''s', $1", true),
            ("select 'a\\', $1", true),
        ] {
            assert_eq!(has_parameter(sql), native, "{sql}");
        }
    }

    #[test]
    fn a_percent_sign_beside_native_parameters_is_python_s_only_outside_of_strings() {
        for sql in [
            "select 'a%s' || $1",
            "select \"%(n)s\" from t where a = $1",
            "select $1 /* %s */ -- %s",
            "select $$%s$$ || $1",
            "select a %size + $1",
            "select a % b, $1",
            "select a %% b, $1, '%s'",
        ] {
            assert_eq!(convert(sql, true), Ok(Converted::native(sql)), "{sql}");
        }
        for sql in ["select $1, %s", "select '%s', %(a)s, $1"] {
            assert_eq!(convert(sql, true), Err("the statement mixes $1 and %s parameters".to_owned()), "{sql}");
        }
        assert!(convert("select '$1 %s'", true).is_err());
    }

    #[test]
    fn a_statement_is_classified_by_its_first_word() {
        for (sql, found) in [
            ("  ((select 1))", true),
            ("-- x\n/* a /* b */ c */ Select", true),
            ("select'x'", true),
            ("VALUES(1)", true),
            ("selects", false),
            ("select$1", false),
            ("e'select'", false),
            ("", false),
            ("/*", false),
        ] {
            assert_eq!(begins_with(sql, &["VALUES", "SELECT"]), found, "{sql}");
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for sql in [
            "",
            "insert",
            "insert into t values ($1), ($2)",
            "insert into t as x values ($1)",
            "insert into t select $1",
            "insert into t (a) select $1",
            "insert into t values ($1",
            "insert into t values ($1, 'a\\', $2, '')",
            "insert into t values ($1, $$ $2 $$)",
            "insert into t values ($0)",
            "insert into t values ($1 /* )",
            "with x as (select 1) insert into t values ($1)",
            "update t set a = $1",
            "values ($1)",
        ] {
            assert_eq!(assigned(sql), &[] as &[bool], "{sql}");
        }
    }
}
