//! Tokens of SQL text, which the lexer of each dialect returns.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name without quotes or a keyword, and in the dialects that have no [`TokenKind::Constant`] a number. In some of
    /// them `$1` is one, too.
    Word,
    /// A number, or a string in single quotes, in the dialect that distinguishes both from words and names.
    Constant,
    /// A string, in the dialects in which its quotes enclose nothing else.
    String,
    /// A string in dollar quotes.
    DollarQuoted,
    /// A name in quotes, and in the dialects that have no kind for strings a string.
    Quoted,
    /// `?`
    Placeholder,
    /// `:1`, or `$1` where that is one.
    Numbered,
    /// Any other single byte.
    Punctuation(u8),
}

/// A token. White space and comments are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: TokenKind,
    /// Its text, with its quotes.
    pub text: &'a str,
    /// The position of its first byte.
    pub start: usize,
}

impl<'a> Token<'a> {
    /// The position after its last byte.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns true for this word, in any case.
    pub fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Returns true for this byte.
    pub fn is_punctuation(&self, byte: u8) -> bool {
        self.kind == TokenKind::Punctuation(byte)
    }

    /// Returns true for words and names in quotes.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Quoted)
    }

    /// The text of a word; empty for every other token.
    pub fn word(&self) -> &'a str {
        if self.kind == TokenKind::Word { self.text } else { "" }
    }

    /// The text of a word or of a name without its outer double quotes; empty for every other token.
    pub fn unquoted(&self) -> &'a str {
        match self.kind {
            TokenKind::Quoted => self.text[1..].strip_suffix('"').unwrap_or_default(),
            _ => self.word(),
        }
    }
}

/// Which bytes words consist of, by their values: letters and digits of ASCII, bytes of all other characters, and `others`.
pub const fn word_bytes(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}
