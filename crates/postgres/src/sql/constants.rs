//! Constants whose value is decided when a text is parsed.

use super::lexer::{Lexer, Token, is_word};

/// Words that a date, a time or a timestamp may be given by (manual, "Special Values"), and whose value is that of the
/// moment in which the constant is read.
const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Returns true if a text may have a constant whose value is that of the moment in which the server parses the text:
/// `'now'::timestamptz`, but not `now()`. A string with such a word, or with escapes that may spell one, counts whatever
/// its type is.
///
/// ```
/// use headrace_postgres::sql::has_moment;
/// assert!(has_moment("select 'Today 12:00'::timestamp"));
/// assert!(!has_moment("select now(), 'known', \"today\" from t"));
/// ```
pub fn has_moment(sql: &str) -> bool {
    // Most texts have neither such a word nor an escape.
    if !has_word(sql) && !sql.contains(['\\', '&']) {
        return false;
    }
    let mut lexer = Lexer::new(sql);
    while let Some((token, text)) = lexer.next_with_text() {
        let found = match token {
            Token::Constant | Token::DollarQuoted => has_word(text) || text.contains('\\'),
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
    fn constants_of_the_moment_are_found() {
        for (sql, expected) in [
            ("select 'now'::timestamptz", true),
            ("select timestamp ' NOW '", true),
            ("select date 'today'", true),
            ("select $$yesterday$$::date, $1", true),
            ("select $a$tomorrow 12:00$a$::timestamp", true),
            ("select e'n\\x6fw'::timestamp", true),
            ("select U&'n!006fw' uescape '!' ::timestamp", true),
            ("insert into t values ('do it now')", true),
            ("select now(), clock_timestamp()", false),
            ("select \"today\", today from t -- 'now'", false),
            ("select 'known', 'nowhere', 'todays'", false),
            ("select u & 1 from t", false),
            ("select 'infinity'::date, 'epoch'::date, current_date", false),
            ("", false),
        ] {
            assert_eq!(has_moment(sql), expected, "{sql}");
        }
    }
}
