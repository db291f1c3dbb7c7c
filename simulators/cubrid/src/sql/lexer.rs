//! Tokens of CUBRID's SQL.

use crate::errors::{Error, Result};

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A word, in lower case.
    Word(String),
    /// A delimited identifier: `"…"`, `[…]` or with backquotes.
    Quoted(String),
    /// A string literal.
    Text(String),
    /// N'…'.
    National(String),
    /// B'…' or X'…': the letter and the digits.
    Bits(char, String),
    /// A number as it was written.
    Number(String),
    /// The n-th `?`, from 0.
    Parameter(usize),
    /// `@name`.
    Variable(String),
    /// One of the operators and brackets.
    Symbol(&'static str),
    /// Nothing more.
    End,
}

/// A token and its position.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// The bytes it takes in the text.
    pub span: (usize, usize),
}

const SYMBOLS: [&str; 31] = [
    "<=>", ":=", "<>", "!=", "<=", ">=", "||", "<<", ">>", "(", ")", "[", "]", ",", ".", ";", ":", "+", "-", "*", "/",
    "%", "<", ">", "=", "{", "}", "&", "|", "^", "~",
];

fn comment(rest: &str) -> Option<Option<usize>> {
    if rest.starts_with("--") || rest.starts_with("//") {
        return Some(Some(rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map(|at| at + 2));
    }
    None
}

/// Counts the markers as the CAS does: every `?` outside of `'…'` and comments, also within identifiers.
pub fn markers(text: &str) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        at += match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            '-' | '/' => comment(rest).map_or(1, |end| end.unwrap_or(rest.len())),
            first => {
                count += usize::from(first == '?');
                first.len_utf8()
            }
        };
    }
    count
}

/// Cuts a text into tokens.
///
/// # Errors
/// -493 where there is none.
pub fn tokenize(text: &str) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut parameters) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if let Some(end) = comment(rest) {
            at += end.ok_or_else(|| unterminated(text))?;
            continue;
        }
        let (kind, length) = token(rest, first, &mut parameters).ok_or_else(|| unterminated(text))?;
        tokens.push(Token { kind, span: (at, at + length) });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, span: (text.len(), text.len()) });
    Ok(tokens)
}

fn unterminated(text: &str) -> Error {
    let lines = text.matches('\n').count() + 1;
    let column = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    Error::syntax(format!(
        "In line {lines}, column {column} before END OF STATEMENT\nSyntax error: unexpected END OF STATEMENT "
    ))
}

fn token(rest: &str, first: char, parameters: &mut usize) -> Option<(TokenKind, usize)> {
    let second = rest[first.len_utf8()..].chars().next();
    Some(match first {
        '\'' => quoted(rest, '\'').map(|(text, length)| (TokenKind::Text(text), length))?,
        'n' | 'N' if second == Some('\'') => {
            quoted(&rest[1..], '\'').map(|(text, length)| (TokenKind::National(text), length + 1))?
        }
        'b' | 'B' | 'x' | 'X' if second == Some('\'') => quoted(&rest[1..], '\'')
            .map(|(text, length)| (TokenKind::Bits(first.to_ascii_uppercase(), text), length + 1))?,
        '"' | '`' => quoted(rest, first).map(|(text, length)| (TokenKind::Quoted(text.to_lowercase()), length))?,
        '[' => {
            let end = rest.find(']')?;
            (TokenKind::Quoted(rest[1..end].to_lowercase()), end + 1)
        }
        '?' => {
            *parameters += 1;
            (TokenKind::Parameter(*parameters - 1), 1)
        }
        '0'..='9' => number(rest),
        '.' if second.is_some_and(|next| next.is_ascii_digit()) => number(rest),
        '@' if second.is_some_and(|next| next.is_alphanumeric() || next == '_') => {
            let length = word(&rest[1..]);
            (TokenKind::Variable(rest[1..=length].to_lowercase()), length + 1)
        }
        first if first.is_alphabetic() || first == '_' || first == '#' => {
            let length = word(rest);
            (TokenKind::Word(rest[..length].to_lowercase()), length)
        }
        _ => SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)).map(|it| (TokenKind::Symbol(it), it.len()))?,
    })
}

fn word(rest: &str) -> usize {
    rest.find(|next: char| !(next.is_alphanumeric() || next == '_' || next == '#' || next == '$')).unwrap_or(rest.len())
}

fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            text.push(character);
        } else if matches!(characters.peek(), Some((_, next)) if *next == quote) {
            text.push(quote);
            characters.next();
        } else {
            return Some((text, at + 1));
        }
    }
    None
}

fn number(rest: &str) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    let (mut end, mut point) = (0, false);
    while end < bytes.len() && (bytes[end].is_ascii_digit() || (bytes[end] == b'.' && !point)) {
        point |= bytes[end] == b'.';
        end += 1;
    }
    if end < bytes.len() && bytes[end].eq_ignore_ascii_case(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = bytes[end + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    (TokenKind::Number(rest[..end].to_owned()), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_counted_within_identifiers() {
        assert_eq!(markers("SELECT 1 AS \"a?b\", 'it''s ?' -- ?\n, ? // ?"), 2);
        assert_eq!(markers("/* ? */ ?"), 1);
    }

    #[test]
    fn words_strings_and_numbers() {
        let kinds: Vec<TokenKind> =
            tokenize("SELECT [Id], N'x', X'0F', 1.5e3, @V").unwrap().into_iter().map(|token| token.kind).collect();
        assert_eq!(kinds[1], TokenKind::Quoted("id".into()));
        assert_eq!(kinds[3], TokenKind::National("x".into()));
        assert_eq!(kinds[5], TokenKind::Bits('X', "0F".into()));
        assert_eq!(kinds[7], TokenKind::Number("1.5e3".into()));
        assert_eq!(kinds[9], TokenKind::Variable("v".into()));
        assert!(tokenize("'a").is_err());
    }
}
