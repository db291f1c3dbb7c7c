//! Whether an INSERT or REPLACE has the same effect in MariaDB's bulk execution as row by row.
//!
//! The server (10.11 is one) treats many expressions that depend on parameters as constant there: a subquery, the
//! pattern of a REGEXP, an XPath or the argument of JSON_CONTAINS silently gets the value of the first row for every
//! row of a chunk. So its parameters must be alone, or in sums and similar expressions, which it evaluates again.
//! UPDATE and DELETE are not affected: each of their rows is executed separately.

use super::{LOOKING_BACK, is_one_of};
use headrace_core::token::{Token, TokenKind};

/// Checks the tokens of a statement in turn.
#[derive(Debug, Default)]
pub(super) struct Bare {
    depth: usize,
    /// The parentheses at depth 1 are those of a row.
    in_row: bool,
    /// VALUES was there.
    values: bool,
    previous: Option<TokenKind>,
    after_values: bool,
    /// A parameter that is part of something.
    involved: bool,
    subquery: bool,
    looks_back: bool,
}

impl Bare {
    /// The next token.
    pub fn token(&mut self, &Token { kind, text, .. }: &Token<'_>) {
        let previous = self.previous.replace(kind);
        let after_values = std::mem::take(&mut self.after_values);
        if previous == Some(TokenKind::Placeholder) {
            self.involved |= match kind {
                TokenKind::Punctuation(byte) => !b"),;+-*/".contains(&byte),
                TokenKind::Word => !is_one_of(text, &["on", "as"]),
                _ => true,
            };
        }
        match kind {
            TokenKind::Punctuation(b'(') => {
                if self.depth == 0 {
                    let another = self.values && previous == Some(TokenKind::Punctuation(b','));
                    self.in_row = after_values || another;
                }
                self.depth += 1;
            }
            TokenKind::Punctuation(b')') => self.depth = self.depth.saturating_sub(1),
            TokenKind::Placeholder => {
                let placed = self.depth == 0 || self.depth == 1 && self.in_row;
                let free = matches!(previous, Some(TokenKind::Punctuation(byte)) if b"(,=+-*/".contains(&byte));
                self.involved |= !(placed && free);
            }
            TokenKind::Word => {
                self.after_values = is_one_of(text, &["values", "value"]);
                self.values |= self.after_values;
                self.subquery |= text.eq_ignore_ascii_case("select");
                let variable = previous == Some(TokenKind::Punctuation(b'@')) && text.eq_ignore_ascii_case("identity");
                self.looks_back |= variable || is_one_of(text, &LOOKING_BACK);
            }
            _ => {}
        }
    }

    /// Returns true if it does.
    pub fn is_so(&self) -> bool {
        !self.involved && !self.subquery && !self.looks_back
    }

    /// Returns true if the statement depends on the result of the one before it, which in bulk is another one.
    pub fn looks_back(&self) -> bool {
        self.looks_back
    }
}
