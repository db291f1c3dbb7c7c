//! Settings that a statement sets for its session: SET and `set_config()`.

use super::lexer::Lexer;
use headrace_core::token::{Token, TokenKind};

/// What a SET leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing after the transaction, or a setting that the server reports.
    None,
    /// Nothing, unless the search path has the schema of temporary tables: those that are created there last.
    OfSchemas,
    /// A setting that the server does not report.
    Lasts,
    /// The seed of `random()`, which nothing sets back: neither the end of the transaction nor RESET.
    Seeds,
}

/// The setting that is the seed of `random()`.
const SEED: &str = "seed";

/// Reads what follows SET. Where a dot follows, every key word is the first part of a setting's name.
pub(super) fn of_set(mut lexer: Lexer<'_>, reported: &impl Fn(&str) -> bool) -> Effect {
    let (mut name, mut next) = (lexer.next(), lexer.next());
    let is_dot = |token: Option<Token<'_>>| token.is_some_and(|token| token.is_punctuation(b'.'));
    let is = |token: Option<Token<'_>>, word: &str| token.is_some_and(|token| token.is(word));
    let is_local = is(name, "local") && !is_dot(next);
    if is_local || (is(name, "session") && !is_dot(next)) {
        (name, next) = (next, lexer.next());
    }
    let setting = match name {
        Some(name) if !is_dot(next) => name.unquoted().to_ascii_lowercase(),
        _ => String::new(),
    };
    let (setting, lasts) = match setting.as_str() {
        "transaction" | "constraints" if name.is_some_and(|name| name.kind == TokenKind::Word) => ("", false),
        "time" if is(next, "zone") => ("timezone", !reported("timezone")),
        "names" => ("client_encoding", !reported("client_encoding")),
        "schema" => ("search_path", !reported("search_path")),
        setting => (setting, !reported(setting)),
    };
    if setting == SEED {
        return Effect::Seeds;
    }
    match lasts && !is_local {
        true => Effect::Lasts,
        false if setting == "search_path" => Effect::OfSchemas,
        false => Effect::None,
    }
}

/// Of what follows `set_config(`: the setting is reported, or set for the transaction only, and no search path with the
/// schema of temporary tables. The name has to be one literal, and the third argument one that means true; a call
/// within another is not read.
pub(super) fn is_harmless_call(mut lexer: Lexer<'_>, reported: &impl Fn(&str) -> bool) -> bool {
    let Some(name) = lexer.next().and_then(|token| literal(token.text)) else { return false };
    if !lexer.next_is(b',') {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let is_search_path = name == "search_path";
    if name == SEED {
        return false;
    }
    if reported(&name) && !is_search_path {
        return true;
    }
    let (mut depth, mut argument) = (0, 2);
    // Of the argument that is being read: its number of tokens, and whether the last means true.
    let (mut tokens, mut is_true) = (0, false);
    for token in lexer {
        match token.kind {
            TokenKind::Punctuation(b',') if depth == 0 => {
                (argument, tokens) = (argument + 1, 0);
                continue;
            }
            TokenKind::Punctuation(b')') if depth == 0 => {
                return (argument == 3 && tokens == 1 && is_true) || (is_search_path && reported(&name));
            }
            TokenKind::Punctuation(b'(' | b'[') => depth += 1,
            TokenKind::Punctuation(b')' | b']') => depth -= 1,
            TokenKind::Constant | TokenKind::DollarQuoted if is_search_path && may_name_pg_temp(token.text) => {
                return false;
            }
            _ if is_search_path && token.is("u") => return false,
            // Each would be read as often as it is nested.
            _ if token.unquoted().eq_ignore_ascii_case("set_config") => return false,
            _ => {}
        }
        tokens += 1;
        is_true = token.is("true") || literal(token.text).is_some_and(is_read_as_true);
    }
    false
}

/// Returns true for the name of the schema of temporary tables: `pg_temp`, or the one of a session, `pg_temp_3`.
pub(super) fn is_pg_temp(name: &str) -> bool {
    const NAME: &str = "pg_temp";
    let is_begun = name.get(..NAME.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(NAME));
    is_begun && matches!(name.as_bytes().get(NAME.len()), None | Some(b'_'))
}

/// Returns true if a string may name the schema of temporary tables, maybe by escapes.
pub(super) fn may_name_pg_temp(text: &str) -> bool {
    text.contains('\\') || text.as_bytes().windows(7).any(|bytes| bytes.eq_ignore_ascii_case(b"pg_temp"))
}

/// The value of a string without escapes and quotes in it.
fn literal(text: &str) -> Option<&str> {
    let value = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!value.contains(['\'', '\\'])).then_some(value)
}

/// Returns true for a string that the server converts to true (manual, "Boolean Type").
fn is_read_as_true(value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_ascii_whitespace());
    ["t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"].iter().any(|other| value.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(name: &str) -> bool {
        ["timezone", "client_encoding", "application_name"].contains(&name)
    }

    #[test]
    fn a_set_leaves_settings_that_the_server_does_not_report() {
        for (sql, expected) in [
            ("statement_timeout = 5", Effect::Lasts),
            ("session statement_timeout = 5", Effect::Lasts),
            ("local statement_timeout = 5", Effect::None),
            ("seed = 0.5", Effect::Seeds),
            ("local seed to 0.5", Effect::Seeds),
            ("seed.tenant = 'x'", Effect::Lasts),
            ("transaction isolation level serializable", Effect::None),
            ("transaction snapshot 'x'", Effect::None),
            ("session characteristics as transaction read only", Effect::Lasts),
            ("constraints all deferred", Effect::None),
            ("constraints a.b deferred", Effect::None),
            ("role bob", Effect::Lasts),
            ("local role bob", Effect::None),
            ("session authorization bob", Effect::Lasts),
            ("local session authorization bob", Effect::None),
            ("xml option document", Effect::Lasts),
            ("TimeZone TO 'UTC'", Effect::None),
            ("time zone 'UTC'", Effect::None),
            ("session time zone 'UTC'", Effect::None),
            ("names 'utf8'", Effect::None),
            ("session \"application_name\" = 'x'", Effect::None),
            ("search_path to a", Effect::Lasts),
            ("schema 'a'", Effect::Lasts),
            ("local schema 'a'", Effect::OfSchemas),
            ("LOCAL \"search_path\" to a", Effect::OfSchemas),
            // Settings of an extension or of the application, whose first part is a key word.
            ("local.tenant = 'x'", Effect::Lasts),
            ("session.tenant = 'x'", Effect::Lasts),
            ("session local.tenant = 'x'", Effect::Lasts),
            ("session session.tenant = 'x'", Effect::Lasts),
            ("local local.tenant = 'x'", Effect::None),
            ("local /* x */ . tenant = 'x'", Effect::Lasts),
            ("\"local\".tenant = 'x'", Effect::Lasts),
            ("transaction.tenant = 'x'", Effect::Lasts),
            ("constraints.tenant = 'x'", Effect::Lasts),
            ("timezone.tenant = 'x'", Effect::Lasts),
            ("time.zone = 'x'", Effect::Lasts),
            ("names.tenant = 'x'", Effect::Lasts),
            ("U&\"timezone\" = 'x'", Effect::Lasts),
        ] {
            assert_eq!(of_set(Lexer::new(sql), &reported), expected, "{sql}");
        }
        assert_eq!(of_set(Lexer::new("search_path to a"), &|_| true), Effect::OfSchemas);
    }

    #[test]
    fn set_config_is_harmless_if_its_literals_are() {
        for (arguments, expected) in [
            ("'timezone', 'UTC', false)", true),
            ("'TimeZone', 'UTC', $1)", true),
            ("'a.b', $1, true)", true),
            ("'Seed', $1, true)", false),
            ("'a.b', $1, TRUE )", true),
            ("'a.b', f(1, false), 'on')", true),
            ("'a.b', (array['x', 'y'])[1], ' T')", true),
            ("'a.b', $1, false)", false),
            ("'a.b', $1, 'off')", false),
            ("'a.b', $1, $2)", false),
            ("'a.b', $1, not true)", false),
            ("'a.b', $1, null is true)", false),
            ("'a.b', $1, false and true)", false),
            ("'a.b', $1, 't' < 'on')", false),
            ("'a.b', $1, e'true')", false),
            ("'a.b', f($1, true))", false),
            ("'a.b', true)", false),
            ("'a.b', $1, 't'\n'rue')", false),
            ("$1, $2, true)", false),
            ("'application_name' || '.x', 'y', false)", false),
            ("'application_name' || '.x', 'y', true)", false),
            ("'application_name'\n'.x', 'y', false)", false),
            ("e'timezone', 'UTC', false)", false),
            ("is_local => true, setting_name => 'timezone', new_value => 'UTC')", false),
            ("'a.b', set_config('c.d', 'e', true), true)", false),
            ("'search_path', 'a, b', true)", true),
            ("'search_path', $1, true)", true),
            ("'search_path', 'a, PG_TEMP', true)", false),
            ("'search_path', $$pg_temp$$, true)", false),
            ("'search_path', e'pg\\x5ftemp', true)", false),
            ("'search_path', U&'pg!005ftemp' uescape '!', true)", false),
            ("'search_path', 'a', false)", false),
            ("'a.b', 'pg_temp', true)", true),
            ("'a.b', 'x', true", false),
            ("", false),
        ] {
            assert_eq!(is_harmless_call(Lexer::new(arguments), &reported), expected, "{arguments}");
        }
        assert!(is_harmless_call(Lexer::new("'search_path', 'a', false)"), &|_| true));
        assert!(!is_harmless_call(Lexer::new("'search_path', 'pg_temp', false)"), &|_| true));
    }
}
