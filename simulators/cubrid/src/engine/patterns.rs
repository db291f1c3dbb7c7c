//! REGEXP and REGEXP_REPLACE. A genuine server compiles patterns by RE2, whose syntax the crate `regex` shares.

use regex::{Regex, RegexBuilder};
use rusqlite::Result;
use rusqlite::functions::Context;

use super::calls::text;
use crate::errors::Error;

/// A pattern, for which upper and lower case may be the same.
///
/// # Errors
/// -1085.
pub(super) fn compiled(pattern: &str, any_case: bool) -> Result<Regex> {
    RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .build()
        .map_err(|error| Error::server(-1085, format!("Cannot compile regular expression: '{error}'")).through_sqlite())
}

/// Text, pattern, replacement; position from 1, occurrence (0 for all) and `c` or `i` may follow.
pub(super) fn replaced(context: &Context<'_>) -> Result<Option<String>> {
    let (Some(value), Some(pattern), Some(new)) = (text(context, 0), text(context, 1), text(context, 2)) else {
        return Ok(None);
    };
    let number = |index: usize, default: usize| match index < context.len() {
        true => context.get::<i64>(index).map(|number| usize::try_from(number).unwrap_or(0)),
        false => Ok(default),
    };
    let (position, occurrence) = (number(3, 1)?, number(4, 0)?);
    let pattern = compiled(&pattern, text(context, 5).is_none_or(|kind| kind == "i"))?;
    let skipped: usize = value.chars().take(position.saturating_sub(1)).map(char::len_utf8).sum();
    let (before, rest) = value.split_at(skipped);
    let mut done = before.to_owned();
    let mut at = 0;
    for (index, found) in pattern.find_iter(rest).enumerate() {
        if occurrence == 0 || occurrence == index + 1 {
            done += &rest[at..found.start()];
            done += &new;
            at = found.end();
        }
    }
    Ok(Some(done + &rest[at..]))
}
