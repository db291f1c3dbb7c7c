//! The tokens of a statement, read by their positions.

use super::is_one_of;
use super::lexer::{Lexer, Modes};
use headrace_core::token::{Token, TokenKind};

/// The tokens of a statement.
pub(super) struct Tokens<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) modes: Modes,
    /// The server may see other tokens.
    pub(super) is_uncertain: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(sql: &'a str, modes: Modes) -> Self {
        let mut lexer = Lexer::new(sql, modes);
        let tokens = lexer.by_ref().collect();
        Self { tokens, modes, is_uncertain: lexer.is_uncertain() }
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The text of the token at `at`; nothing after the last.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The word at `at`; nothing for other tokens.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", Token::word)
    }

    pub(super) fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at).eq_ignore_ascii_case(word)
    }

    pub(super) fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        is_one_of(self.word(at), words)
    }

    pub(super) fn is_punctuation(&self, at: usize, byte: u8) -> bool {
        self.kind(at) == Some(TokenKind::Punctuation(byte))
    }

    /// The name at `at`, without its quotes.
    pub(super) fn name(&self, at: usize) -> Option<String> {
        let text = self.text(at);
        match self.kind(at)? {
            TokenKind::Word => Some(text.to_owned()),
            TokenKind::Quoted => {
                let quote = text.get(..1)?;
                Some(text.get(1..text.len() - 1)?.replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_their_quotes() {
        let tokens = Tokens::new("`a``b`.c, \"d\"\"e\" (", Modes::default());
        let names: Vec<Option<String>> = (0..8).map(|at| tokens.name(at)).collect();
        let name = |text: &str| Some(text.to_owned());
        assert_eq!(names, [name("a`b"), None, name("c"), None, name("d\"e"), None, None, None]);
    }
}
