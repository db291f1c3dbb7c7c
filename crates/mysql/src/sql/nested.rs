//! Whether a statement has queries within it that MariaDB may execute otherwise when it executes it again.
//!
//! MariaDB (10.11 and 11.8 are such) makes joins of IN and EXISTS when it executes a prepared statement first. With other values it
//! may then find rows twice, or not at all; if there is another query beside it, in the place of a table or in a condition, it
//! may not find its columns (error 1054), or crash. A statement that is sent as text is executed once.

use super::is_one_of;
use headrace_core::token::{Token, TokenKind};

const BEFORE_QUERIES: [&str; 5] = ["in", "exists", "any", "all", "some"];

/// Checks the tokens of a statement in turn.
#[derive(Debug, Default)]
pub(super) struct Nested {
    /// Nothing but parentheses was there.
    begun: bool,
    /// The word before is one that a query in a condition comes after.
    asks: bool,
    /// Parentheses are opened after such a word.
    opened_after_asking: bool,
    /// Parentheses are opened.
    opened: bool,
    queries: usize,
    in_condition: bool,
}

impl Nested {
    /// The next token.
    pub fn token(&mut self, token: &Token<'_>) {
        let (asks, opened, after_asking) = (
            std::mem::take(&mut self.asks),
            std::mem::take(&mut self.opened),
            std::mem::take(&mut self.opened_after_asking),
        );
        match token.kind {
            TokenKind::Punctuation(b'(') => {
                self.opened = self.begun;
                self.opened_after_asking = asks || after_asking;
            }
            TokenKind::Word => {
                if opened && is_one_of(token.text, &["select", "with"]) {
                    self.queries += 1;
                    self.in_condition |= after_asking;
                }
                self.asks = is_one_of(token.text, &BEFORE_QUERIES);
                self.begun = true;
            }
            _ => self.begun = true,
        }
    }

    /// Returns true if one of them is after IN, EXISTS, ANY, ALL or SOME, or there are several.
    pub fn is_so(&self) -> bool {
        self.in_condition || self.queries > 1
    }
}
