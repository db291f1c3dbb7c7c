//! What the driver reads of a statement's text itself.

/// For each parameter `$1`, `$2`, ... of an `INSERT INTO ... VALUES (...)` with one row: whether it stands there alone, and
/// nowhere else, so that its value is only assigned to a column. Empty for every other statement, and where the text
/// is not understood.
///
/// Such a parameter can be sent as its column's type wherever the assignment would convert the value to the same: nothing
/// else of the statement can see which type it had.
pub fn assigned(sql: &str) -> Vec<bool> {
    let Some(tokens) = tokens(sql) else { return Vec::new() };
    let Some(row) = row_of_values(&tokens) else { return Vec::new() };
    let mut uses: Vec<usize> = Vec::new();
    for token in &tokens {
        if let Token::Parameter(number) = token {
            if uses.len() < *number {
                uses.resize(*number, 0);
            }
            uses[number - 1] += 1;
        }
    }
    let mut assigned = vec![false; uses.len()];
    let mut depth = 0;
    for window in tokens[row].windows(3) {
        match window[0] {
            Token::Sign(b'(' | b'[') => depth += 1,
            Token::Sign(b')' | b']') => depth -= 1,
            _ => {}
        }
        if let [Token::Sign(b'(' | b','), Token::Parameter(number), Token::Sign(b',' | b')')] = window {
            assigned[number - 1] = depth == 1 && uses[number - 1] == 1;
        }
    }
    assigned
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// A quoted identifier.
    Name,
    /// A number or a string.
    Constant,
    /// `$1` is 1.
    Parameter(usize),
    Sign(u8),
}

impl Token<'_> {
    fn is(self, word: &str) -> bool {
        matches!(self, Token::Word(text) if text.eq_ignore_ascii_case(word))
    }
}

/// Where the tokens of the only row behind VALUES are, with its parentheses.
fn row_of_values(tokens: &[Token<'_>]) -> Option<std::ops::Range<usize>> {
    let token = |at: usize| tokens.get(at).copied();
    let is = |at: usize, word: &str| token(at).is_some_and(|token| token.is(word));
    if !is(0, "insert") || !is(1, "into") {
        return None;
    }
    let mut at = 2;
    loop {
        if !matches!(token(at)?, Token::Word(_) | Token::Name) {
            return None;
        }
        at += 1;
        if token(at)? != Token::Sign(b'.') {
            break;
        }
        at += 1;
    }
    if token(at)? == Token::Sign(b'(') {
        at = end_of_parentheses(tokens, at)?;
    }
    if is(at, "overriding") {
        at += 3;
    }
    if !is(at, "values") || token(at + 1)? != Token::Sign(b'(') {
        return None;
    }
    let end = end_of_parentheses(tokens, at + 1)?;
    // With more rows than one, their types are worked out together.
    (token(end) != Some(Token::Sign(b','))).then_some(at + 1..end)
}

/// The position behind the parenthesis that closes the one at `at`.
fn end_of_parentheses(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign(b'(') => depth += 1,
            Token::Sign(b')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i + 1);
        }
    }
    None
}

/// The tokens of a statement; `None` where it has what is read in more ways than one (a backslash in a string) or not at
/// all here (dollar quotes).
fn tokens(sql: &str) -> Option<Vec<Token<'_>>> {
    let bytes = sql.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            _ if byte.is_ascii_whitespace() || byte == b'\x0b' => 1,
            b'-' if rest.starts_with(b"--") => {
                rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
            }
            b'/' if rest.starts_with(b"/*") => comment(rest)?,
            b'\'' | b'"' => {
                let length = quoted(rest)?;
                tokens.push(if byte == b'"' { Token::Name } else { Token::Constant });
                length
            }
            b'$' => {
                let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
                let number: usize = sql[at + 1..at + 1 + digits].parse().ok()?;
                if number == 0 || number > usize::from(u16::MAX) {
                    return None;
                }
                tokens.push(Token::Parameter(number));
                digits + 1
            }
            _ if byte.is_ascii_digit() => {
                tokens.push(Token::Constant);
                rest.iter().take_while(|b| is_word(**b)).count()
            }
            _ if is_word(byte) => {
                let length = rest.iter().take_while(|b| is_word(**b) || **b == b'$').count();
                tokens.push(Token::Word(&sql[at..at + length]));
                length
            }
            _ => {
                tokens.push(Token::Sign(byte));
                1
            }
        };
        at += length;
    }
    Some(tokens)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The statements of a script. A semicolon in a string, a comment, a dollar quote or the body of a function does not end one.
pub fn statements(sql: &str) -> Vec<&str> {
    let bytes = sql.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'-' if rest.starts_with(b"--") => {
                rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
            }
            b'/' if rest.starts_with(b"/*") => comment(rest).unwrap_or(rest.len()),
            b'\'' | b'"' => string(rest, 1, false),
            b'e' | b'E' if rest.get(1) == Some(&b'\'') => string(rest, 2, true),
            b'$' => dollar_quoted(rest),
            b';' => {
                found.push(&sql[start..at]);
                start = at + 1;
                1
            }
            _ if is_word(byte) => {
                let length = rest.iter().take_while(|b| is_word(**b) || **b == b'$').count();
                if rest[..length].eq_ignore_ascii_case(b"atomic") {
                    // The body of a function in SQL, in which semicolons stand between statements: it is not looked into.
                    break;
                }
                length
            }
            _ => 1,
        };
    }
    found.push(&sql[start..]);
    found
}

/// How long the string or quoted name is that begins here with so many bytes.
fn string(bytes: &[u8], opening: usize, escapes: bool) -> usize {
    let quote = bytes[opening - 1];
    let mut at = opening;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if escapes => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// How long the dollar quote is that begins here; 1 where it is none.
fn dollar_quoted(bytes: &[u8]) -> usize {
    let name = bytes[1..].iter().take_while(|b| is_word(**b)).count();
    let tag = &bytes[..name + 1];
    if bytes.get(name + 1) != Some(&b'$') || tag.get(1).is_some_and(u8::is_ascii_digit) {
        return 1;
    }
    let tag = &bytes[..name + 2];
    let body = &bytes[tag.len()..];
    body.windows(tag.len()).position(|part| part == tag).map_or(bytes.len(), |end| end + 2 * tag.len())
}

/// How long the quoted text is that begins here. A doubled quote inside makes two pieces of it, which does no harm.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let end = bytes[1..].iter().position(|b| *b == bytes[0])? + 2;
    (!bytes[..end].contains(&b'\\')).then_some(end)
}

/// How long the comment is that begins here; comments nest.
fn comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_script_is_cut_at_its_semicolons_alone() {
        for (script, expected) in [
            ("a; b", vec!["a", " b"]),
            ("';' ; \";\"", vec!["';' ", " \";\""]),
            ("E'\\';' ; x", vec!["E'\\';' ", " x"]),
            ("$$;$$; $b$ ;$$; $b$;c", vec!["$$;$$", " $b$ ;$$; $b$", "c"]),
            ("a$1;b -- ;\n;/* ; /* ; */ */ c", vec!["a$1", "b -- ;\n", "/* ; /* ; */ */ c"]),
            (
                "CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END; x",
                vec!["CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END; x"],
            ),
            ("'never ends; b", vec!["'never ends; b"]),
            ("$1; $ ;", vec!["$1", " $ ", ""]),
        ] {
            assert_eq!(statements(script), expected, "{script}");
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
