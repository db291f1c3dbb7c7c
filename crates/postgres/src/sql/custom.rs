//! The settings of applications that a text sets: those whose names have a dot, which no catalogue lists.

use super::lexer::Lexer;
use super::script::statements;
use headrace_core::token::Token;

/// The names, in lower case, of the settings with a dot that a text sets, by SET or by `set_config()` with a literal; `None` if
/// the server may read the text, or a name, in another way than here.
///
/// ```
/// use headrace_postgres::sql::custom_settings;
/// assert_eq!(custom_settings("SET App.Tenant = '7'; SELECT set_config('app.user', $1, false)").unwrap(), ["app.tenant", "app.user"]);
/// assert_eq!(custom_settings("SET statement_timeout = 5"), Some(Vec::new()));
/// assert_eq!(custom_settings("SET \"app.\u{e4}\".b = 5"), None);
/// ```
pub fn custom_settings(sql: &str) -> Option<Vec<String>> {
    let mut whole = Lexer::new(sql);
    whole.by_ref().for_each(drop);
    if whole.uncertain || whole.has_second_byte {
        return None;
    }
    let mut found = Vec::new();
    for statement in statements(sql) {
        let mut lexer = Lexer::new(statement);
        let mut first = true;
        while let Some(token) = lexer.next() {
            if first && token.is("set") {
                found.extend(of_set(lexer.clone())?);
            }
            first = false;
            if token.is_name() && token.unquoted().eq_ignore_ascii_case("set_config") {
                found.extend(of_call(lexer.clone())?);
            }
        }
    }
    Some(found)
}

/// What follows SET. `None` for a name that cannot be read, `Some(None)` for one without a dot.
fn of_set(mut lexer: Lexer<'_>) -> Option<Option<String>> {
    let is_dot = |token: Option<Token<'_>>| token.is_some_and(|token| token.is_punctuation(b'.'));
    let (mut part, mut next) = (lexer.next(), lexer.next());
    if !is_dot(next) && part.is_some_and(|word| word.is("session") || word.is("local")) {
        (part, next) = (next, lexer.next());
    }
    if !is_dot(next) {
        return Some(None);
    }
    let mut name = String::new();
    loop {
        name.push_str(part.filter(Token::is_name)?.unquoted());
        if !is_dot(next) {
            return readable(&name).map(Some);
        }
        name.push('.');
        (part, next) = (lexer.next(), lexer.next());
    }
}

/// What follows `set_config`.
fn of_call(mut lexer: Lexer<'_>) -> Option<Option<String>> {
    if !lexer.next_is(b'(') {
        return Some(None);
    }
    let name = lexer.next()?.text.strip_prefix('\'')?.strip_suffix('\'')?;
    if !lexer.next_is(b',') {
        return None;
    }
    if name.contains('.') { readable(name).map(Some) } else { Some(None) }
}

/// A name that can be asked for by a literal in every encoding.
fn readable(name: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    (name.len() < 128 && name.bytes().all(plain)).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_dot_are_found() {
        for (sql, expected) in [
            ("set app.tenant = '7'", Some(vec!["app.tenant"])),
            ("SET SESSION app . Tenant TO 7", Some(vec!["app.tenant"])),
            ("set local.tenant to 7", Some(vec!["local.tenant"])),
            ("set session session.x = 7", Some(vec!["session.x"])),
            ("set a.b.c = 7", Some(vec!["a.b.c"])),
            ("begin; set \"a\".b = 7; commit; set c.d = 8", Some(vec!["a.b", "c.d"])),
            (
                "select set_config('a.b', '7', false), pg_catalog.\"set_config\"('c.d', $1, true)",
                Some(vec!["a.b", "c.d"]),
            ),
            ("select set_config('work_mem', '7', false)", Some(vec![])),
            ("update t set a.b = 7", Some(vec![])),
            ("select 'set a.b = 7'", Some(vec![])),
            ("set timezone = 'UTC'", Some(vec![])),
            ("set", Some(vec![])),
            ("set a.", None),
            ("set a.'b' = 7", None),
            ("set \"a b\".c = 7", None),
            ("select set_config('a' || '.b', '7', false)", None),
            ("select set_config($1, '7', false)", None),
            ("select 'it\\'; set a.b = 7; select '", None),
        ] {
            let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(custom_settings(sql), expected, "{sql}");
        }
    }
}
