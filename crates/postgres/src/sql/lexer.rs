//! The lexis of PostgreSQL's SQL, as far as the driver reads it (manual, section 4.1, "Lexical Structure").

use headrace_core::token::{Token, TokenKind, word_bytes};

/// Reads a statement token by token.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    sql: &'a str,
    at: usize,
    reading: Reading,
    /// The text is ambiguous or not complete: a backslash in a string without an E, which is an escape if
    /// `standard_conforming_strings` is off; a string, a quoted name or a comment without end.
    pub uncertain: bool,
    /// It is not complete, in this reading.
    pub incomplete: bool,
    /// Where a string has escapes, a backslash follows a character that is not ASCII. In Shift JIS, Big5, GBK and the
    /// like, which only clients have as their encodings, it can be the second byte of a character.
    pub has_second_byte: bool,
}

/// What the text alone does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// A string without an E has escapes, too: `standard_conforming_strings` is off.
    pub escapes: bool,
    /// A backslash after a character that is not ASCII is its second byte.
    pub second_bytes: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(sql: &'a str) -> Self {
        Self::with_reading(sql, Reading::default())
    }

    pub fn with_reading(sql: &'a str, reading: Reading) -> Self {
        Self { sql, at: 0, reading, uncertain: false, incomplete: false, has_second_byte: false }
    }

    /// The whole text.
    pub fn whole(&self) -> &'a str {
        self.sql
    }

    fn has_no_end(&mut self) {
        (self.uncertain, self.incomplete) = (true, true);
    }

    /// The part that was not read yet.
    pub fn rest(&self) -> &'a str {
        &self.sql[self.at..]
    }

    /// The end of the last token, in bytes.
    pub fn end(&self) -> usize {
        self.at
    }

    /// Reads the next token, and returns true if it is this byte.
    pub fn next_is(&mut self, byte: u8) -> bool {
        self.next().is_some_and(|token| token.is_punctuation(byte))
    }

    /// Skips white space and comments.
    pub fn skip_blank(&mut self) {
        while let Some(&byte) = self.sql.as_bytes().get(self.at) {
            let rest = &self.sql.as_bytes()[self.at..];
            self.at += match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => 1,
                b'-' if rest.starts_with(b"--") => {
                    rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
                }
                b'/' if rest.starts_with(b"/*") => self.comment(rest),
                _ => return,
            };
        }
    }

    /// The length of the comment that begins here; comments nest.
    fn comment(&mut self, rest: &[u8]) -> usize {
        let (mut depth, mut at) = (0, 0);
        while at + 1 < rest.len() {
            match &rest[at..at + 2] {
                b"/*" => depth += 1,
                b"*/" => depth -= 1,
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 2;
            if depth == 0 {
                return at;
            }
        }
        self.has_no_end();
        rest.len()
    }

    /// The length of the quoted text that begins here. A doubled quote is part of it.
    fn quoted(&mut self, rest: &[u8], escapes: bool) -> usize {
        let quote = rest[0];
        let mut at = 1;
        while let Some(&byte) = rest.get(at) {
            at += match byte {
                b'\\' if escapes && !rest[at - 1].is_ascii() => {
                    self.has_second_byte = true;
                    if self.reading.second_bytes { 1 } else { 2 }
                }
                b'\\' if escapes => 2,
                _ if byte == quote && rest.get(at + 1) == Some(&quote) => 2,
                _ if byte == quote => return at + 1,
                b'\\' if quote == b'\'' => {
                    self.uncertain = true;
                    1
                }
                _ => 1,
            };
        }
        self.has_no_end();
        rest.len()
    }

    /// The length of the string with escapes that begins here. After a line break it may be continued by another piece,
    /// which has escapes too.
    fn escaped(&mut self, rest: &[u8]) -> usize {
        let mut length = self.quoted(rest, true);
        loop {
            let blank = rest[length..].iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
            let (gap, after) = rest[length..].split_at(blank);
            if after.first() != Some(&b'\'') || !gap.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                return length;
            }
            length += blank + self.quoted(after, true);
        }
    }

    /// The length of the dollar-quoted string that begins here; `None` if none does.
    fn dollar_quoted(&mut self, rest: &str) -> Option<usize> {
        let name = rest[1..].bytes().take_while(|byte| is_word(*byte)).count();
        let tag = rest.get(..name + 2).filter(|tag| tag.ends_with('$') && !tag.as_bytes()[1].is_ascii_digit())?;
        let end = rest[tag.len()..].find(tag).map(|body| body + 2 * tag.len());
        if end.is_none() {
            self.has_no_end();
        }
        Some(end.unwrap_or(rest.len()))
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let (rest_of_text, start) = (self.rest(), self.at);
        let rest = rest_of_text.as_bytes();
        let word = || rest.iter().take_while(|byte| is_word(**byte) || **byte == b'$').count();
        let (length, kind) = match *rest.first()? {
            b'\'' if self.reading.escapes => (self.escaped(rest), TokenKind::Constant),
            b'\'' => (self.quoted(rest, false), TokenKind::Constant),
            b'e' | b'E' if rest.get(1) == Some(&b'\'') => (1 + self.escaped(&rest[1..]), TokenKind::Constant),
            b'"' => (self.quoted(rest, false), TokenKind::Quoted),
            b'$' if rest.get(1).is_some_and(u8::is_ascii_digit) => {
                let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                (digits + 1, TokenKind::Numbered)
            }
            b'$' => match self.dollar_quoted(rest_of_text) {
                Some(length) => (length, TokenKind::DollarQuoted),
                None => (1, TokenKind::Punctuation(b'$')),
            },
            byte if byte.is_ascii_digit() => (word(), TokenKind::Constant),
            byte if is_word(byte) => (word(), TokenKind::Word),
            byte => (1, TokenKind::Punctuation(byte)),
        };
        self.at += length;
        Some(Token { kind, text: &rest_of_text[..length], start })
    }
}

/// True if a byte may be part of a word, by its value: each statement's first word is read several times.
const WORD_BYTES: [bool; 256] = word_bytes(b"_");

pub(crate) fn is_word(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

/// The word that a text begins with, empty if it begins with anything else.
pub(crate) fn leading_word(sql: &str) -> &str {
    let length = sql.bytes().position(|byte| !is_word(byte)).unwrap_or(sql.len());
    &sql[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_read_as_the_server_reads_it() {
        use TokenKind::{Constant, DollarQuoted, Numbered, Punctuation, Quoted, Word};
        let cases: &[(&str, &[(TokenKind, &str)])] = &[
            ("select $1", &[(Word, "select"), (Numbered, "$1")]),
            ("a$1 é_1$", &[(Word, "a$1"), (Word, "é_1$")]),
            (
                "'it''s' \"a\"\"b\".c",
                &[(Constant, "'it''s'"), (Quoted, "\"a\"\"b\""), (Punctuation(b'.'), "."), (Word, "c")],
            ),
            ("e'\\'$1' E'\\\\'x", &[(Constant, "e'\\'$1'"), (Constant, "E'\\\\'"), (Word, "x")]),
            ("typee'a'", &[(Word, "typee"), (Constant, "'a'")]),
            ("e'a' \n 'b\\'c', $1", &[(Constant, "e'a' \n 'b\\'c'"), (Punctuation(b','), ","), (Numbered, "$1")]),
            ("e'a' 'b'", &[(Constant, "e'a'"), (Constant, "'b'")]),
            ("-- $1\r1 /* /* */ ' */ b", &[(Constant, "1"), (Word, "b")]),
            (
                "$$ ' $1 $$ $a$ $$ $b$ $a$ $1a",
                &[(DollarQuoted, "$$ ' $1 $$"), (DollarQuoted, "$a$ $$ $b$ $a$"), (Numbered, "$1"), (Word, "a")],
            ),
            ("$a b", &[(Punctuation(b'$'), "$"), (Word, "a"), (Word, "b")]),
            (
                "1e5 0x1f 1.5",
                &[(Constant, "1e5"), (Constant, "0x1f"), (Constant, "1"), (Punctuation(b'.'), "."), (Constant, "5")],
            ),
            ("$é$ $1 $é$", &[(DollarQuoted, "$é$ $1 $é$")]),
        ];
        for (sql, tokens) in cases {
            let mut lexer = Lexer::new(sql);
            let found: Vec<_> = lexer.by_ref().map(|token| (token.kind, token.text)).collect();
            assert_eq!(found, *tokens, "{sql}");
            assert!(!lexer.uncertain && lexer.end() == sql.len(), "{sql}");
        }
    }

    #[test]
    fn strings_have_escapes_if_they_do_not_conform() {
        let reading = Reading { escapes: true, second_bytes: false };
        for sql in ["'it\\'s'", "e'it\\'s'", "'a'\n'\\''", "'\\\\'", "'é\\''"] {
            let mut lexer = Lexer::with_reading(sql, reading);
            assert_eq!(lexer.by_ref().map(|token| token.kind).collect::<Vec<_>>(), [TokenKind::Constant], "{sql}");
            assert!(!lexer.uncertain, "{sql}");
        }
        assert_eq!(Lexer::with_reading("\"a\\\" 'b'", reading).count(), 2);
    }

    #[test]
    fn a_backslash_can_be_the_second_byte_of_a_character() {
        for (sql, found) in [("e'\u{fffd}\\'", true), ("e'é\\'", true), ("e'e\\n'", false), ("'é\\'", false)] {
            let mut lexer = Lexer::with_reading(sql, Reading { escapes: false, second_bytes: true });
            assert_eq!(lexer.by_ref().map(|token| token.kind).collect::<Vec<_>>(), [TokenKind::Constant], "{sql}");
            assert_eq!(lexer.has_second_byte, found, "{sql}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_uncertain() {
        for sql in ["'a\\' b", "'a", "\"a", "/* /* */", "$a$ b", "e'a\\'", "e'\\"] {
            let mut lexer = Lexer::new(sql);
            assert!(lexer.by_ref().count() < 3 && lexer.uncertain, "{sql}");
        }
        assert!(!Lexer::new("\"a\\\" e'\\n'").uncertain);
    }
}
