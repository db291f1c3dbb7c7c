//! Constants whose value is decided when a text is parsed.

use super::lexer::Lexer;
use crate::limits;
use headrace_core::token::TokenKind;

/// Reported settings by which the server reads the constants of a text when it parses it, and not again.
pub const CONSTANT_SETTINGS: [&str; 4] = ["DateStyle", "IntervalStyle", "TimeZone", "standard_conforming_strings"];

/// Settings that the server does not report, by which it reads constants when it parses a text, or computes with them when
/// it plans it, and not again; in lower case, as texts name them.
const UNREPORTED: [&str; 9] = [
    "array_nulls",
    "backslash_quote",
    "bytea_output",
    "extra_float_digits",
    "lc_monetary",
    "timezone_abbreviations",
    "transform_null_equals",
    "xml option",
    "xmloption",
];

/// How else a text names one of [`CONSTANT_SETTINGS`], or all.
const OTHERWISE: [&str; 3] = ["time zone", "reset all", "discard all"];

/// Returns true if a text may change a setting by which the server reads constants, by SET, RESET, DISCARD, a block (DO),
/// `set_config()` with the setting's name, or an UPDATE of `pg_settings`. What a function does that it calls is not known here.
///
/// ```
/// use headrace_postgres::sql::may_set_constants;
/// assert!(may_set_constants("SET LOCAL array_nulls = off"));
/// assert!(!may_set_constants("SET statement_timeout = 5"));
/// ```
pub fn may_set_constants(sql: &str) -> bool {
    let first = Lexer::new(sql).next();
    let sets = first.is_some_and(|first| ["set", "reset", "discard", "do"].iter().any(|verb| first.is(verb)));
    let is_several = || sql.trim_end_matches([';', ' ', '\n']).contains(';');
    if updates_settings(sql) {
        return true;
    }
    if !(sets || contains_name(sql, "set_config") || is_several()) {
        return false;
    }
    if sql.len() > limits::SETTING_SQL_BYTES {
        return true;
    }
    let words: Vec<String> = sql.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let text = words.join(" ");
    let names = CONSTANT_SETTINGS.iter().map(|name| name.to_ascii_lowercase());
    let mut others = UNREPORTED.iter().chain(&OTHERWISE);
    others.any(|name| text.contains(name)) || names.into_iter().any(|name| text.contains(&name))
}

/// Returns true if a text that [`may_set_constants`] is a SET or RESET of one of [`CONSTANT_SETTINGS`], and nothing else: what
/// the setting is after it is what the server reports.
///
/// ```
/// use headrace_postgres::sql::only_sets_reported_constants;
/// assert!(only_sets_reported_constants("SET LOCAL TIME ZONE 'UTC';"));
/// assert!(!only_sets_reported_constants("SET array_nulls = off"));
/// assert!(!only_sets_reported_constants("SET timezone = 'UTC'; SELECT f()"));
/// ```
pub fn only_sets_reported_constants(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql);
    let is_one = lexer.next().is_some_and(|first| first.is("set") || first.is("reset"));
    let name = lexer.find(|token| !["session", "local"].iter().any(|scope| token.is(scope)));
    let is_reported =
        name.is_some_and(|name| name.is("time") || CONSTANT_SETTINGS.iter().any(|setting| name.is(setting)));
    is_one && is_reported && !super::is_several(sql)
}

/// Returns true if a text may be an UPDATE of the view `pg_settings`, whose rule calls `set_config()` (manual,
/// "pg_settings"): for any settings, whose names may be parameters.
pub(crate) fn updates_settings(sql: &str) -> bool {
    contains_name(sql, "pg_settings") && Lexer::new(sql).any(|token| token.is("update"))
}

/// Returns true if a name with one underscore is in a text, in any case. Underscores are rarer than letters, and this is
/// done for each statement that is prepared.
fn contains_name(sql: &str, name: &str) -> bool {
    let before = name.find('_').unwrap_or_default();
    let around = |at: usize| sql.as_bytes().get(at.wrapping_sub(before)..(at + name.len()).wrapping_sub(before));
    sql.match_indices('_').any(|(at, _)| around(at).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())))
}

/// Words that a date, a time or a timestamp may be given by (manual, "Special Values"), and whose value is that of the
/// moment in which the constant is read.
const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Returns true if a text may have a constant whose value is that of the moment in which the server parses the text:
/// `'now'::timestamptz`, but not `now()`. A string with such a word, or with escapes that may spell one, counts whatever
/// its type is, and so do strings on several lines that the server reads as one.
///
/// ```
/// use headrace_postgres::sql::has_parse_time_constant;
/// assert!(has_parse_time_constant("select 'Today 12:00'::timestamp"));
/// assert!(!has_parse_time_constant("select now(), 'known', \"today\" from t"));
/// ```
pub fn has_parse_time_constant(sql: &str) -> bool {
    // Most texts have neither such a word nor an escape, nor strings on several lines.
    let has_strings_on_lines = sql.contains(['\n', '\r']) && sql.matches('\'').count() >= 4;
    (has_word(sql) || sql.contains(['\\', '&']) || has_strings_on_lines) && has_constant(sql, Spelling::Any)
}

/// The same for who has to do with what one program writes: escapes that spell such a word do not count.
pub fn has_plain_parse_time_constant(sql: &str) -> bool {
    has_word(sql) && has_constant(sql, Spelling::Plain)
}

/// How a word in a string is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Maybe with escapes.
    Any,
    /// As it is.
    Plain,
}

fn has_constant(sql: &str, spelling: Spelling) -> bool {
    let is_any = spelling == Spelling::Any;
    let mut lexer = Lexer::new(sql);
    // Of the strings up to here that may be one.
    let mut joined = String::new();
    while let Some(token) = lexer.next() {
        let (is_constant, text) = (token.kind == TokenKind::Constant, token.text);
        match (is_constant, joined.strip_suffix('\'')) {
            (false, _) => joined.clear(),
            (true, Some(begun)) => joined = format!("{begun}{}", text.trim_start_matches('\'')),
            (true, None) => text.clone_into(&mut joined),
        }
        let found = match token.kind {
            TokenKind::Constant => {
                has_word(&joined) || has_word(text) || is_any && (may_spell_word(&joined) || may_spell_word(text))
            }
            TokenKind::DollarQuoted => has_word(text) || is_any && text.contains('\\'),
            _ => is_any && token.is("u") && lexer.rest().starts_with("&'"),
        };
        if found {
            return true;
        }
    }
    is_any && (lexer.incomplete || lexer.has_second_byte || lexer.uncertain && may_spell_word(sql))
}

/// Returns true if a text may have such a word when its escapes are read (manual, "String Constants with C-Style Escapes"):
/// control characters are between words, those by a number may be any, and another character is itself.
fn may_spell_word(text: &str) -> bool {
    if !text.contains('\\') {
        return false;
    }
    let (mut read, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        read.push(match c {
            '\\' => match chars.next() {
                Some('0'..='7' | 'x' | 'u' | 'U') => return true,
                Some('b' | 'f' | 'n' | 'r' | 't') => ' ',
                Some(other) => other,
                None => c,
            },
            c => c,
        });
    }
    has_word(&read)
}

/// Everything but letters is between words: digits and underscores, too.
fn has_word(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphabetic()).any(is_moment)
}

fn is_moment(word: &str) -> bool {
    WORDS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_time_constants_are_found() {
        for (sql, expected) in [
            ("select 'now'::timestamptz", true),
            ("select timestamp ' NOW '", true),
            ("select date 'today'", true),
            ("select $$yesterday$$::date, $1", true),
            ("select '_now'::timestamp", true),
            ("select '1:00:00now2'::timestamp", true),
            ("select $a$tomorrow 12:00$a$::timestamp", true),
            ("select e'n\\x6fw'::timestamp", true),
            ("select U&'n!006fw' uescape '!' ::timestamp", true),
            ("select e'n\\ow'::timestamp", true),
            ("select e'\\tnow'::timestamp", true),
            ("select e'\\\\now'::text", true),
            ("select e'\\now'::text", true),
            ("select 'n\\ow'::timestamp", true),
            ("select 'n\\157w'::timestamp", true),
            ("select '\\' now', 'x'", true),
            ("select 'to'\n'd\\ay'::date", true),
            ("select '\\d+', e'\\n', '{\"a\": \"\\n\"}' from t where b like '\\_%'", false),
            ("insert into t values ('do it now')", true),
            ("select 'to'\n'd' -- and\n'ay'::date", true),
            ("select 'no'\n, 'w'", false),
            ("select now(), clock_timestamp()", false),
            ("select \"today\", today from t -- 'now'", false),
            ("select 'known', 'nowhere', 'todays'", false),
            ("select u & 1 from t", false),
            ("select 'infinity'::date, 'epoch'::date, current_date", false),
            ("", false),
        ] {
            assert_eq!(has_parse_time_constant(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_word_without_escapes_is_found_alone() {
        for (sql, expected) in [
            ("select 'now'::timestamptz", true),
            ("select date $$today$$", true),
            ("select 'Today 12:00'::timestamp, 'a\\b'", true),
            ("select a like '%\\_%', now()", false),
            ("select e'n\\x6fw'::timestamp", false),
            ("select 'a\\'", false),
        ] {
            assert_eq!(has_plain_parse_time_constant(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_may_set_settings_of_constants_is_found() {
        for sql in [
            "set TimeZone to 'UTC'",
            "SET LOCAL TIME  ZONE 'UTC'",
            "set session \"DateStyle\" = 'ISO'",
            "/* x */ set local array_nulls = off",
            "set xml\noption document",
            "reset bytea_output",
            "RESET ALL",
            "discard all",
            "do $$ begin set lc_monetary = 'C'; end $$",
            "select pg_catalog.SET_CONFIG('extra_float_digits', $1, true)",
            "select 1; set transform_null_equals = on",
            "update pg_settings set setting = 'escape' where name = 'bytea_output'",
            "with s as (select $1) update only pg_catalog.\"pg_settings\" set setting = $2 where name = $1",
        ] {
            assert!(may_set_constants(sql), "{sql}");
        }
        for sql in [
            "",
            "select 1",
            "set local app.tenant = 'x'",
            "set statement_timeout = 5",
            "select set_config('app.tenant', $1, true)",
            "select _, set_confi('TimeZone'), current_setting('TimeZone')",
            "update t set a = timezone('UTC', b)",
            "select setting from pg_settings where name = 'TimeZone'",
            "begin; set local app.tenant = 'x'; commit",
        ] {
            assert!(!may_set_constants(sql), "{sql}");
        }
    }
}
