//! Constants whose value is decided when a text is parsed.

use super::lexer::{Lexer, Token, is_word};

/// Reported settings by which the server reads the constants of a text when it parses it, and not again.
pub const CONSTANT_SETTINGS: [&str; 4] = ["DateStyle", "IntervalStyle", "TimeZone", "standard_conforming_strings"];

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
    if !(has_word(sql) || sql.contains(['\\', '&']) || has_strings_on_lines) {
        return false;
    }
    let mut lexer = Lexer::new(sql);
    // Of the strings up to here that may be one.
    let mut joined = String::new();
    while let Some((token, text)) = lexer.next_with_text() {
        let is_constant = token == Token::Constant;
        match (is_constant, joined.strip_suffix('\'')) {
            (false, _) => joined.clear(),
            (true, Some(begun)) => joined = format!("{begun}{}", text.trim_start_matches('\'')),
            (true, None) => text.clone_into(&mut joined),
        }
        let found = match token {
            Token::Constant => has_word(&joined) || has_word(text) || text.contains('\\'),
            Token::DollarQuoted => has_word(text) || text.contains('\\'),
            token => token.is("u") && lexer.rest().starts_with("&'"),
        };
        if found {
            return true;
        }
    }
    lexer.uncertain || lexer.has_second_byte
}

fn has_word(text: &str) -> bool {
    text.split(|c: char| c.is_ascii() && !is_word(c as u8)).any(is_moment)
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
            ("select $a$tomorrow 12:00$a$::timestamp", true),
            ("select e'n\\x6fw'::timestamp", true),
            ("select U&'n!006fw' uescape '!' ::timestamp", true),
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
}
