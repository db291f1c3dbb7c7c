//! Tokens of SQL text, which the lexer of each dialect returns.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name without quotes, a keyword or a number; `$1` is one, too.
    Word,
    /// A string, in the dialects in which its quotes enclose nothing else.
    String,
    /// A name in quotes, and in the other dialects a string.
    Quoted,
    /// `?`
    Placeholder,
    /// `:1`
    Numbered,
    /// Any other single byte.
    Punctuation(u8),
}

/// A token and its position, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}
