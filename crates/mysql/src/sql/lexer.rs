//! Tokens of SQL text.

use crate::packets::capabilities::StatusFlags;
use headrace_core::token::{Token, TokenKind, word_bytes};

/// The SQL modes that change how a string is parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// NO_BACKSLASH_ESCAPES: a backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// ANSI_QUOTES: double quotes enclose a name, in which a backslash is an ordinary character.
    pub ansi_quotes: bool,
}

impl From<StatusFlags> for Modes {
    fn from(status: StatusFlags) -> Self {
        Self {
            no_backslash_escapes: status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
            ansi_quotes: status.contains(StatusFlags::ANSI_QUOTES),
        }
    }
}

/// Returns the tokens of a text; white space and comments are skipped. The content of a comment that some versions
/// execute (`/*! ... */`, `/*M! ... */`) is returned as tokens, and makes the text uncertain.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    sql: &'a [u8],
    at: usize,
    modes: Modes,
    executable: bool,
    uncertain: bool,
}

impl<'a> Lexer<'a> {
    /// A lexer at the beginning of `sql`.
    pub fn new(sql: &'a str, modes: Modes) -> Self {
        Self { text: sql, sql: sql.as_bytes(), at: 0, modes, executable: false, uncertain: false }
    }

    /// Returns true if the server may see other tokens than were given.
    pub fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    fn skip_to(&mut self, end: &[u8]) {
        match self.sql[self.at..].windows(end.len()).position(|window| window == end) {
            Some(offset) => self.at += offset + end.len(),
            None => {
                // A line comment may end with the text; the server refuses anything else without an end.
                self.uncertain |= end != b"\n";
                self.at = self.sql.len();
            }
        }
    }

    /// Passes over white space and comments.
    fn skip_gap(&mut self) {
        loop {
            match &self.sql[self.at..] {
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0x0b => self.at += 1,
                [b'#', ..] => self.skip_to(b"\n"),
                [b'-', b'-'] => self.at += 2,
                [b'-', b'-', byte, ..] if byte.is_ascii_whitespace() || byte.is_ascii_control() => self.skip_to(b"\n"),
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => {
                    self.uncertain = true;
                    self.executable = true;
                    self.at += if self.sql[self.at + 2] == b'!' { 3 } else { 4 };
                    while self.sql.get(self.at).is_some_and(u8::is_ascii_digit) {
                        self.at += 1;
                    }
                }
                [b'*', b'/', ..] if self.executable => {
                    self.executable = false;
                    self.at += 2;
                }
                [b'/', b'*', ..] => {
                    self.at += 2;
                    self.skip_to(b"*/");
                }
                _ => return,
            }
        }
    }

    /// Passes over a string or quoted name that begins here.
    fn skip_quoted(&mut self, quote: u8) {
        let name = quote == b'`' || (quote == b'"' && self.modes.ansi_quotes);
        let escapes = !name && !self.modes.no_backslash_escapes;
        self.at += 1;
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += 1;
            if byte == b'\\' && escapes {
                self.at += 1;
            } else if byte == quote {
                if self.sql.get(self.at) != Some(&quote) {
                    return;
                }
                self.at += 1;
            }
        }
        self.at = self.sql.len();
        self.uncertain = true;
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
        let start = self.at;
        let kind = match *self.sql.get(start)? {
            quote @ (b'\'' | b'"' | b'`') => {
                self.skip_quoted(quote);
                TokenKind::Quoted
            }
            b'?' => {
                self.at += 1;
                TokenKind::Placeholder
            }
            byte if is_word(byte) => {
                while self.sql.get(self.at).copied().is_some_and(is_word) {
                    self.at += 1;
                }
                TokenKind::Word
            }
            byte => {
                self.at += 1;
                TokenKind::Punctuation(byte)
            }
        };
        Some(Token { kind, text: &self.text[start..self.at], start })
    }
}
