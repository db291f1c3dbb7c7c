//! The parameters of a statement as users of Python write them, turned into the server's own.
//!
//! `%s` and `%(name)s` become `$1`, `$2`, ... or `?`. A percent sign counts everywhere, also in a string or a comment,
//! as in every driver of this style: a literal one is written `%%`. Only a lexer of the dialect can find where a
//! server's own placeholders may be, so those are converted in each protocol's crate.

use crate::limits;
use std::borrow::Cow;
use std::ops::Range;

/// How a statement writes its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The text is sent unchanged: no parameters were given, or they are written in the server's own style.
    Native,
    /// `%s`
    Format,
    /// `%(name)s`
    Pyformat,
    /// `:1`
    Numeric,
}

/// The style that placeholders are converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// `$1`
    Numbers,
    /// `?`
    Questions,
}

/// A statement in the server's style, and the order of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The text with the server's placeholders.
    pub sql: String,
    /// The style that the parameters were written in.
    pub style: Style,
    /// The names of the parameters, each once, if they have names.
    pub names: Vec<String>,
    /// The number of parameters; 0 for the native style, in which they are not counted.
    pub count: usize,
    /// The index of each place's parameter, from 0, if a parameter can be in several places and the server has no
    /// numbers for them.
    pub order: Vec<usize>,
    /// One of them is written %b or %t, which may have been meant as a percent sign and a letter.
    pub has_letters: bool,
}

impl Converted {
    /// A statement that is sent unchanged.
    pub fn native(sql: &str) -> Self {
        Self {
            sql: sql.into(),
            style: Style::Native,
            names: Vec::new(),
            count: 0,
            order: Vec::new(),
            has_letters: false,
        }
    }
}

/// A statement whose placeholders are all `?`, and the parameter of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholders<'a> {
    /// The statement in the server's style.
    pub sql: Cow<'a, str>,
    /// For each `?` in order the 0-based number of its parameter.
    pub order: Vec<usize>,
    /// The parameters were written `:1`, so one may be in several places.
    pub numbered: bool,
}

impl<'a> Placeholders<'a> {
    /// Those that a lexer has found: how many `?`, and where there is a number with its colon, which becomes a `?`.
    ///
    /// # Errors
    /// A message, when both styles are mixed or a number is out of range.
    pub fn of(sql: &'a str, questions: usize, numbers: &[Range<usize>]) -> Result<Self, String> {
        if numbers.is_empty() {
            return Ok(Self { sql: Cow::Borrowed(sql), order: (0..questions).collect(), numbered: false });
        }
        if questions > 0 {
            return Err("the statement mixes ? and :1 parameters; use one style".into());
        }
        let (mut out, mut order, mut from) = (String::with_capacity(sql.len()), Vec::with_capacity(numbers.len()), 0);
        for place in numbers {
            let text = &sql[place.clone()];
            let number =
                text[1..].parse::<usize>().ok().filter(|number| (1..=limits::NUMBERED_PARAMETERS).contains(number));
            order.push(number.ok_or_else(|| format!("{text} is not a parameter: they count from :1"))? - 1);
            out.push_str(&sql[from..place.start]);
            out.push('?');
            from = place.end;
        }
        out.push_str(&sql[from..]);
        Ok(Self { sql: Cow::Owned(out), order, numbered: true })
    }

    /// The statement as it is sent.
    pub fn converted(self) -> Converted {
        if !self.numbered {
            return Converted::native(&self.sql);
        }
        Converted {
            style: Style::Numeric,
            count: self.order.iter().max().map_or(0, |last| last + 1),
            order: self.order,
            ..Converted::native(&self.sql)
        }
    }
}

/// Refuses more parameters than a server can take.
///
/// # Errors
/// A message, for a NUL character.
pub fn check(sql: &str) -> Result<(), String> {
    match sql.find('\0') {
        Some(at) => Err(format!("the statement has a NUL character at position {at}; remove it")),
        None => Ok(()),
    }
}

/// Returns true if the text contains `%s` or `%(`.
pub fn are_in(sql: &str) -> bool {
    first_in(sql).is_some()
}

/// The position of the first `%s` or `%(` of a text.
pub fn first_in(sql: &str) -> Option<usize> {
    let bytes = sql.as_bytes();
    let mut i = 0;
    while i + 1 < bytes.len() {
        if bytes[i] == b'%' {
            match bytes[i + 1] {
                b'%' => i += 1,
                b's' | b'(' | b'b' | b't' => return Some(i),
                _ => {}
            }
        }
        i += 1;
    }
    None
}

/// Returns true if a text begins with a parameter in Python's style: `%s` that no letter follows, or `%(name)s`.
pub fn begins(text: &str) -> bool {
    let is_kind = |byte: Option<&u8>| matches!(byte, Some(b's' | b'b' | b't'));
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'(') if bytes[0] == b'%' => text.find(')').is_some_and(|close| is_kind(bytes.get(close + 1))),
        byte if bytes.first() == Some(&b'%') && is_kind(byte) => {
            !bytes.get(2).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
        }
        _ => false,
    }
}

/// The error for a statement with both the server's own parameters and Python's, outside of strings and comments.
pub fn mixed(own: &str) -> String {
    format!("the statement mixes {own} and %s parameters")
}

/// Turns `%s` or `%(name)s` into the server's placeholders.
///
/// # Errors
/// A message, for a stray percent sign or mixed styles.
pub fn rewrite(sql: &str, marks: Marks) -> Result<Converted, String> {
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut names, mut count): (Vec<String>, usize) = (Vec::new(), 0);
    let mut order = Vec::new();
    let mut has_letters = false;
    let mark = |out: &mut String, number: usize| match marks {
        Marks::Numbers => out.push_str(&format!("${number}")),
        Marks::Questions => out.push('?'),
    };
    let mut rest = sql;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let position = sql.len() - rest.len() + at;
        let tail = &rest[at + 1..];
        match tail.as_bytes().first() {
            Some(b'%') => {
                out.push('%');
                rest = &tail[1..];
            }
            // %b and %t are psycopg's spellings for a fixed format; here the format is chosen by type.
            Some(letter @ (b's' | b'b' | b't')) => {
                has_letters |= *letter != b's';
                if !names.is_empty() {
                    return Err("the statement mixes %s and %(name)s parameters".into());
                }
                count += 1;
                mark(&mut out, count);
                rest = &tail[1..];
            }
            Some(b'(') => {
                if count > names.len() {
                    return Err("the statement mixes %s and %(name)s parameters".into());
                }
                let close =
                    tail.find(')').filter(|&close| matches!(tail.as_bytes().get(close + 1), Some(b's' | b'b' | b't')));
                let Some(close) = close else {
                    return Err(format!("the parameter at position {position} is not of the form %(name)s"));
                };
                let name = &tail[1..close];
                let number = names.iter().position(|known| known == name).map_or_else(
                    || {
                        names.push(name.to_owned());
                        names.len()
                    },
                    |known| known + 1,
                );
                count = names.len();
                order.push(number - 1);
                mark(&mut out, number);
                rest = &tail[close + 2..];
            }
            _ => {
                return Err(format!(
                    "the percent sign at position {position} begins no parameter (%s, %(name)s); a literal one is \
                     written %% when parameters are given"
                ));
            }
        }
    }
    out.push_str(rest);
    let style = if names.is_empty() { Style::Format } else { Style::Pyformat };
    if marks == Marks::Numbers {
        order.clear();
    }
    Ok(Converted { sql: out, style, names, count, order, has_letters })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_recognised_by_its_beginning() {
        for (text, expected) in [
            ("%s", true),
            ("%s, 1", true),
            ("%b::bytea", true),
            ("%(a)s", true),
            ("%(a) s", false),
            ("%(a", false),
            ("%size", false),
            ("% s", false),
            ("%%s", false),
            ("%", false),
            ("s%s", false),
            ("", false),
        ] {
            assert_eq!(begins(text), expected, "{text}");
        }
    }

    #[test]
    fn placeholders_become_numbers() {
        for (given, expected, names) in [
            ("select %s, %s", "select $1, $2", &[][..]),
            ("select %(a)s, %(b)s, %(a)s", "select $1, $2, $1", &["a", "b"]),
            ("select 5 %% %s", "select 5 % $1", &[]),
            ("select %b::bytea", "select $1::bytea", &[]),
        ] {
            let query = rewrite(given, Marks::Numbers).unwrap();
            assert_eq!(query.sql, expected);
            assert_eq!(query.names, names);
        }
        let query = rewrite("select %(a)s, %(b)s, %(a)s, 5 %% 2", Marks::Questions).unwrap();
        assert_eq!((query.sql.as_str(), query.order), ("select ?, ?, ?, 5 % 2", vec![0, 1, 0]));
        let query = rewrite("select %s, %s", Marks::Questions).unwrap();
        assert_eq!((query.sql.as_str(), query.count, query.order), ("select ?, ?", 2, vec![]));
    }

    #[test]
    fn an_invalid_placeholder_is_an_error_with_its_position() {
        for bad in ["select 5 % 2, %s", "select %(a", "select %(a)d", "select %s, %(a)s", "select %(a)s, %s", "%"] {
            assert!(rewrite(bad, Marks::Numbers).is_err(), "{bad}");
        }
    }
}
