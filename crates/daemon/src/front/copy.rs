//! `COPY (query) TO STDOUT`.

use super::replies::Failure;
use super::sql::Tokens;
use super::values::Shape;
use headrace_core::token::TokenKind;

/// The form of a COPY's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Of its rows.
    pub shape: Shape,
    /// The first row has the names of the columns: CSV only.
    pub header: bool,
}

/// The query of a COPY, and its form.
///
/// # Errors
/// [`Failure`]: it is a COPY of another kind.
pub fn read<'a>(all: &Tokens<'a>) -> Result<(&'a str, Copy), Failure> {
    let other = || {
        Failure::unsupported(
            "headraced: COPY (query) TO STDOUT is the only form of COPY that databases other than PostgreSQL support",
        )
        .hint("load rows by INSERT with parameters, in a pipeline")
    };
    let tokens = all.tokens;
    let open = tokens.get(1).filter(|token| token.is_punctuation(b'(')).ok_or_else(other)?;
    let (mut depth, mut close) = (0, None);
    for (at, token) in tokens.iter().enumerate().skip(1) {
        match token.kind {
            TokenKind::Punctuation(b'(') => depth += 1,
            TokenKind::Punctuation(b')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            close = Some(at);
            break;
        }
    }
    let close = close.ok_or_else(other)?;
    let query = &all.sql[open.end()..tokens[close].start];
    let words: Vec<String> = tokens[close + 1..]
        .iter()
        .map(|token| token.text.to_ascii_lowercase())
        .filter(|word| !"(),".contains(word.as_str()))
        .collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim_matches('\'')).collect();
    let ["to", "stdout", ref options @ ..] = words[..] else { return Err(other()) };
    let mut copy = Copy { shape: Shape::CopyText, header: false };
    let mut rest = options;
    while let [word, after @ ..] = rest {
        rest = after;
        match *word {
            "with" | "format" | "text" => {}
            "csv" => copy.shape = Shape::CopyCsv,
            "binary" => copy.shape = Shape::CopyBinary,
            "header" => {
                copy.header = true;
                if let ["true" | "on", after @ ..] = rest {
                    rest = after;
                }
            }
            other => return Err(Failure::unsupported(format!("headraced: COPY has no option {other:?} here"))),
        }
    }
    if copy.header && copy.shape != Shape::CopyCsv {
        return Err(Failure::unsupported("headraced: COPY has a HEADER only as CSV here"));
    }
    Ok((query, copy))
}
