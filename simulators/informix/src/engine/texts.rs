//! The functions of texts.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result};

use super::convert::render;
use crate::errors::SqlError;
use rusqlite::types::Value;

/// An argument as text, unless it is NULL.
pub fn text(context: &Context<'_>, index: usize) -> Result<Option<String>> {
    let value: Value = context.get(index)?;
    Ok(if matches!(value, Value::Null) { None } else { Some(render(&value, None)) })
}

/// A piece of a pattern of LIKE or MATCHES.
enum Piece {
    /// Any number of characters.
    Any,
    /// One character.
    One,
    /// This character.
    Is(char),
    /// A character within, or outside of, these ranges.
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Piece {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Is(own) => *own == character,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != *negated
            }
        }
    }
}

/// `any` matches any number of characters, `one` a single one; MATCHES also has sets in brackets.
fn pieces(pattern: &[char], any: char, one: char, escape: Option<char>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if Some(first) == escape
            && let Some((&meant, after)) = rest.split_first()
        {
            pieces.push(Piece::Is(meant));
            rest = after;
        } else if first == any {
            pieces.push(Piece::Any);
        } else if first == one {
            pieces.push(Piece::One);
        } else if first == '['
            && any == '*'
            && let Some(end) = rest.iter().position(|&next| next == ']')
        {
            let (negated, mut set) = if rest[0] == '^' { (true, &rest[1..end]) } else { (false, &rest[..end]) };
            let mut ranges = Vec::new();
            while let Some(&from) = set.first() {
                let to = if set.len() > 2 && set[1] == '-' { set[2] } else { from };
                set = &set[if set.len() > 2 && set[1] == '-' { 3 } else { 1 }..];
                ranges.push((from, to));
            }
            pieces.push(Piece::Set { negated, ranges });
            rest = &rest[end + 1..];
        } else {
            pieces.push(Piece::Is(first));
        }
    }
    pieces
}

/// Returns true if a text matches a pattern. It backtracks to the last [`Piece::Any`] only, so it takes at most the
/// product of both lengths, whatever the pattern is.
fn has_pattern(text: &[char], pattern: &[Piece]) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(piece) {
            Some(Piece::Any) => {
                last = Some((at, piece));
                piece += 1;
            }
            Some(found) if found.takes(text[at]) => {
                at += 1;
                piece += 1;
            }
            _ => {
                let Some((taken, any)) = last else { return false };
                last = Some((taken + 1, any));
                at = taken + 1;
                piece = any + 1;
            }
        }
    }
    pattern[piece..].iter().all(|rest| matches!(rest, Piece::Any))
}

/// `length` characters from the `start`-th, counted from 1; positions before the first count as empty characters.
fn substring(text: &str, start: i64, length: Option<i64>) -> String {
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let skipped = (start.max(1) - 1) as usize;
    text.chars().skip(skipped).take((end - start.max(1)).max(0) as usize).collect()
}

/// The position of the n-th occurrence from a position on, from 1; counted from the end if that is negative.
fn place(text: &str, wanted: &str, start: i64, mut count: i64) -> i64 {
    let (text, wanted): (Vec<char>, Vec<char>) = (text.chars().collect(), wanted.chars().collect());
    if wanted.is_empty() || wanted.len() > text.len() || start == 0 || count < 1 {
        return 0;
    }
    let last = (text.len() - wanted.len()) as i64;
    let places: Box<dyn Iterator<Item = i64>> =
        if start > 0 { Box::new(start - 1..=last) } else { Box::new((0..=last.min(text.len() as i64 + start)).rev()) };
    for at in places {
        if text[at as usize..].starts_with(&wanted) {
            count -= 1;
            if count == 0 {
                return at + 1;
            }
        }
    }
    0
}

/// The text before the n-th delimiter, or after the n-th from the end.
fn before_delimiter(text: &str, delimiter: &str, count: i64) -> String {
    if delimiter.is_empty() || count == 0 {
        return String::new();
    }
    let parts: Vec<&str> = text.split(delimiter).collect();
    let kept = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(parts.len());
    let range = if count > 0 { 0..kept } else { parts.len() - kept..parts.len() };
    parts[range].join(delimiter)
}

/// Registers all of them with a connection.
pub fn register(connection: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for (name, any, one) in [("ifx_like", '%', '_'), ("ifx_matches", '*', '?')] {
        connection.create_scalar_function(name, 3, pure, move |context| {
            let (Some(value), Some(pattern)) = (text(context, 0)?, text(context, 1)?) else { return Ok(None) };
            let escape = text(context, 2)?.and_then(|escape| escape.chars().next());
            let value: Vec<char> = value.trim_end_matches(' ').chars().collect();
            let pattern: Vec<char> = pattern.trim_end_matches(' ').chars().collect();
            Ok(Some(has_pattern(&value, &pieces(&pattern, any, one, escape))))
        })?;
    }
    connection.create_scalar_function("ifx_pad", 2, pure, |context| {
        let width: usize = context.get::<i64>(1)? as usize;
        Ok(text(context, 0)?.map(|value| format!("{value:<width$}")))
    })?;
    connection.create_scalar_function("ifx_upper", 1, pure, |context| {
        Ok(text(context, 0)?.map(|value| value.to_uppercase()))
    })?;
    connection.create_scalar_function("ifx_lower", 1, pure, |context| {
        Ok(text(context, 0)?.map(|value| value.to_lowercase()))
    })?;
    connection.create_scalar_function("ifx_initcap", 1, pure, |context| {
        let mut inside = false;
        Ok(text(context, 0)?.map(|value| {
            let step = |character: char| {
                let shown: String =
                    if inside { character.to_lowercase().collect() } else { character.to_uppercase().collect() };
                inside = character.is_alphanumeric();
                shown
            };
            value.chars().map(step).collect::<String>()
        }))
    })?;
    for (name, left) in [("ifx_lpad", true), ("ifx_rpad", false)] {
        connection.create_scalar_function(name, 3, pure, move |context| {
            let (Some(value), Some(fill)) = (text(context, 0)?, text(context, 2)?) else { return Ok(None) };
            let Some(width) = context.get::<Option<i64>>(1)? else { return Ok(None) };
            let width = width.clamp(0, 32_739) as usize;
            let value: Vec<char> = value.chars().take(width).collect();
            let padding = fill.chars().cycle().take(if fill.is_empty() { 0 } else { width - value.len() });
            Ok(Some(if left {
                padding.chain(value.iter().copied()).collect::<String>()
            } else {
                value.iter().copied().chain(padding).collect()
            }))
        })?;
    }
    // Text, position, length; the last indicates whether a negative position counts from the end, as that of SUBSTR
    // does.
    connection.create_scalar_function("ifx_substring", 4, pure, |context| {
        let (Some(value), Some(start)) = (text(context, 0)?, context.get::<Option<i64>>(1)?) else { return Ok(None) };
        let length: Option<i64> = context.get(2)?;
        if length.is_some_and(|length| length < 0) {
            return Err(SqlError::unsupported("a substring of negative length").through_sqlite());
        }
        let start = match (context.get::<bool>(3)?, start) {
            (true, 0) => 1,
            (true, ..0) => value.chars().count() as i64 + start + 1,
            (_, start) => start,
        };
        Ok(Some(substring(&value, start, length)))
    })?;
    for (name, left) in [("ifx_left", true), ("ifx_right", false)] {
        connection.create_scalar_function(name, 2, pure, move |context| {
            let (Some(value), Some(count)) = (text(context, 0)?, context.get::<Option<i64>>(1)?) else {
                return Ok(None);
            };
            let (all, count) = (value.chars().count(), count.max(0) as usize);
            let skipped = if left { 0 } else { all.saturating_sub(count) };
            Ok(Some(value.chars().skip(skipped).take(count).collect::<String>()))
        })?;
    }
    connection.create_scalar_function("ifx_reverse", 1, pure, |context| {
        Ok(text(context, 0)?.map(|value| value.chars().rev().collect::<String>()))
    })?;
    connection.create_scalar_function("ifx_place", 4, pure, |context| {
        let (Some(value), Some(wanted)) = (text(context, 0)?, text(context, 1)?) else { return Ok(None) };
        let (Some(start), Some(count)) = (context.get::<Option<i64>>(2)?, context.get::<Option<i64>>(3)?) else {
            return Ok(None);
        };
        Ok(Some(place(&value, &wanted, start, count)))
    })?;
    connection.create_scalar_function("ifx_substring_index", 3, pure, |context| {
        let (Some(value), Some(delimiter)) = (text(context, 0)?, text(context, 1)?) else { return Ok(None) };
        Ok(context.get::<Option<i64>>(2)?.map(|count| before_delimiter(&value, &delimiter, count)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, pattern: &str) -> bool {
        let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
        has_pattern(&text, &pieces(&pattern, '*', '?', Some('\\')))
    }

    #[test]
    fn patterns_of_matches() {
        for (text, pattern, found) in [
            ("headrace", "*race", true),
            ("headrace", "h*a*e", true),
            ("headrace", "h?ad*[a-c]e", true),
            ("headrace", "[^h]*", false),
            ("a*b", "a\\*b", true),
            ("axb", "a\\*b", false),
            ("a-b", "a[a-]b", true),
            ("a[c", "a[c", true),
            ("", "*", true),
            ("", "?", false),
            ("ab", "a", false),
        ] {
            assert_eq!(matches(text, pattern), found, "{text} {pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_ends() {
        assert!(!matches(&"a".repeat(5000), &format!("{}b", "*a".repeat(500))));
    }

    #[test]
    fn places_before_the_text_are_nothing() {
        assert_eq!(substring("abcdef", -1, Some(4)), "ab");
        assert_eq!(substring("abcdef", 0, Some(2)), "a");
        assert_eq!(substring("abcdef", 5, Some(9)), "ef");
        assert_eq!(substring("abcdef", i64::MAX, None), "");
    }

    #[test]
    fn the_nth_place_from_either_end() {
        assert_eq!(place("abcabc", "c", 4, 1), 6);
        assert_eq!(place("abcabc", "c", 1, 2), 6);
        assert_eq!(place("abcabc", "b", -1, 2), 2);
        assert_eq!(place("abcabc", "x", 1, 1), 0);
    }
}
