//! DEALLOCATE, for programs that give prepared statements names of their own.

use super::lexer::Lexer;
use headrace_core::token::{Token, TokenKind};

/// What DEALLOCATE names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deallocated {
    /// ALL.
    All,
    /// The statement with this name, as the server reads it: in lower case if it was not in quotes, and cut.
    Statement(String),
}

/// What a text deallocates, if it is `DEALLOCATE [PREPARE] {name | ALL}` alone, with or without comments and
/// semicolons around it; `None` for every other text, and for a name with Unicode escapes.
///
/// ```
/// use headrace_postgres::sql::{Deallocated, deallocates};
/// let named = |name: &str| Some(Deallocated::Statement(name.to_owned()));
/// assert_eq!(deallocates("DEALLOCATE prepare /* x */ Plan;"), named("plan"));
/// assert_eq!(deallocates("deallocate \"ALL\""), named("ALL"));
/// assert_eq!(deallocates("deallocate all"), Some(Deallocated::All));
/// assert_eq!(deallocates("deallocate plan; select 1"), None);
/// ```
pub fn deallocates(sql: &str) -> Option<Deallocated> {
    let mut lexer = Lexer::new(sql);
    if !lexer.find(|token| !token.is_punctuation(b';'))?.is("deallocate") {
        return None;
    }
    let mut named = lexer.next()?;
    // PREPARE alone is a name.
    if let Some(following) = lexer.clone().next().filter(Token::is_name)
        && named.is("prepare")
    {
        named = following;
        lexer.next();
    }
    if lexer.by_ref().any(|token| !token.is_punctuation(b';')) || lexer.uncertain {
        return None;
    }
    if named.is("all") {
        return Some(Deallocated::All);
    }
    let name = match named.kind {
        TokenKind::Word => named.text.to_ascii_lowercase(),
        TokenKind::Quoted => named.unquoted().replace("\"\"", "\""),
        _ => return None,
    };
    (!name.is_empty()).then(|| Deallocated::Statement(cut(name)))
}

/// A name as long as the server keeps it: at most `NAMEDATALEN - 1` bytes of whole characters.
fn cut(mut name: String) -> String {
    const NAME_BYTES: usize = 63;
    if name.len() > NAME_BYTES {
        let end = (0..=NAME_BYTES).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
        name.truncate(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deallocate_is_read_as_the_server_reads_it() {
        let named = |name: &str| Some(Deallocated::Statement(name.to_owned()));
        let long = "\u{e9}".repeat(40);
        for (sql, expected) in [
            ("deallocate s1", named("s1")),
            ("DEALLOCATE S1;", named("s1")),
            ("\n/* x */ deallocate -- y\n s1 /* z */ ; -- end", named("s1")),
            ("deallocate/**/s1", named("s1")),
            ("deallocate\tPREPARE\ts1", named("s1")),
            ("deallocate prepare\n\"S 1\"\"x\"", named("S 1\"x")),
            ("deallocate\"s1\"", named("s1")),
            ("deallocate s1;;", named("s1")),
            ("; deallocate s1", named("s1")),
            ("deallocate a$1", named("a$1")),
            ("deallocate prepare", named("prepare")),
            ("deallocate prepare;", named("prepare")),
            ("deallocate prepare prepare", named("prepare")),
            ("deallocate \"prepare\"", named("prepare")),
            ("deallocate all", Some(Deallocated::All)),
            ("deallocate prepare ALL", Some(Deallocated::All)),
            ("deallocate \"all\"", named("all")),
            (&format!("deallocate {long}"), named(&long[..62])),
            ("deallocate", None),
            ("deallocate;", None),
            ("deallocate \"\"", None),
            ("deallocate \"s1", None),
            ("deallocate s1 /*", None),
            ("deallocate 's1'", None),
            ("deallocate $1", None),
            ("deallocate U&\"s1\"", None),
            ("deallocate prepare U&\"s1\"", None),
            ("deallocate \"prepare\" s1", None),
            ("deallocate s1 s2", None),
            ("deallocate s.s1", None),
            ("deallocate s1; select 1", None),
            ("\"deallocate\" s1", None),
            ("deallocates1", None),
            ("select 1", None),
            ("", None),
        ] {
            assert_eq!(deallocates(sql), expected, "{sql}");
        }
    }
}
