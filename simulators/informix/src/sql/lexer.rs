//! Tokens of Informix SQL.

use crate::errors::{Result, SqlError};

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A word, in lower case.
    Word(String),
    /// A delimited identifier.
    Quoted(String),
    /// A string literal.
    Text(String),
    /// A number as it was written.
    Number(String),
    /// The n-th `?`, from 1.
    Parameter(usize),
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
    /// Characters before it, plus one.
    pub offset: usize,
    /// The bytes it takes in the text.
    pub span: (usize, usize),
}

const SYMBOLS: [&str; 25] = [
    "::", "<>", "!=", "<=", ">=", "==", "||", "(", ")", "[", "]", ",", ".", ";", ":", "+", "-", "*", "/", "<", ">",
    "=", "{", "}", "@",
];

fn comment_end(rest: &str) -> Option<Option<usize>> {
    if rest.starts_with("--") {
        return Some(Some(rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map(|at| at + 2));
    }
    None
}

/// Cuts a statement into tokens; `{…}` is a comment except after SET, MULTISET and LIST.
pub fn tokenize(text: &str, delimited: bool) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    let mut parameters = 0;
    let mut collections = 0;
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        let offset = text[..at].chars().count() + 1;
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if let Some(end) = comment_end(rest) {
            at += end.ok_or_else(|| SqlError::syntax(offset, "/*"))?;
            continue;
        }
        let after_collection = matches!(tokens.last(), Some(Token { kind: TokenKind::Word(word), .. })
            if matches!(word.as_str(), "set" | "multiset" | "list"));
        if first == '{' && !after_collection {
            at += rest.find('}').ok_or_else(|| SqlError::syntax(offset, "{"))? + 1;
            continue;
        }
        collections += i32::from(first == '{');
        let (kind, length) = match first {
            '\'' => quoted(rest, '\'', offset).map(|(text, length)| (TokenKind::Text(text), length))?,
            '"' => {
                let (text, length) = quoted(rest, '"', offset)?;
                (if delimited { TokenKind::Quoted(text) } else { TokenKind::Text(text) }, length)
            }
            '?' => {
                parameters += 1;
                (TokenKind::Parameter(parameters), 1)
            }
            '0'..='9' => number(rest),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(rest),
            first if first.is_alphabetic() || first == '_' => {
                let length = rest
                    .find(|next: char| !(next.is_alphanumeric() || next == '_' || next == '$'))
                    .unwrap_or(rest.len());
                (TokenKind::Word(rest[..length].to_lowercase()), length)
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(&"}") if collections == 0 => return Err(SqlError::syntax(offset, "}")),
                Some(symbol) => (TokenKind::Symbol(symbol), symbol.len()),
                None => return Err(SqlError::isam(-202, 0, first).at(offset)),
            },
        };
        // `0x41` is not a number with a name after it.
        if matches!(kind, TokenKind::Number(_)) && rest[length..].starts_with(|next: char| next.is_alphabetic()) {
            return Err(SqlError::syntax(offset, &rest[..length]));
        }
        tokens.push(Token { kind, offset, span: (at, at + length) });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, offset: text.chars().count() + 1, span: (at, at) });
    Ok(tokens)
}

fn quoted(rest: &str, quote: char, offset: usize) -> Result<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            text.push(character);
        } else if matches!(characters.peek(), Some((_, next)) if *next == quote) {
            text.push(quote);
            characters.next();
        } else {
            return Ok((text, at + 1));
        }
    }
    Err(SqlError::new(-282, quote).at(offset))
}

fn number(rest: &str) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    let mut end = 0;
    let mut point = false;
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
    fn comments_strings_and_collections_are_told_apart() {
        let kinds: Vec<TokenKind> = tokenize("select {no ?} 'it''s ?' -- ?\n, SET{1}, ?", false)
            .unwrap()
            .into_iter()
            .map(|token| token.kind)
            .collect();
        assert_eq!(kinds[1], TokenKind::Text("it's ?".into()));
        assert_eq!(kinds.iter().filter(|kind| matches!(kind, TokenKind::Parameter(_))).count(), 1);
        assert!(kinds.contains(&TokenKind::Symbol("{")));
    }

    #[test]
    fn an_open_string_is_282() {
        assert_eq!(tokenize(r"select 'a\'b'", false).unwrap_err().code, -282);
    }
}
