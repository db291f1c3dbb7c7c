//! What a statement leaves in its session: for programs that lend one session to several clients.

use super::lexer::{Lexer, Token};

/// Functions that lock until the session ends.
const SESSION_LOCKS: [&str; 4] =
    ["pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock", "pg_try_advisory_lock_shared"];

/// What a text leaves in the session that runs it, which neither the status of the transaction nor ParameterStatus
/// shows; `None` if nothing is found.
///
/// `reported` says whether the server reports a setting (in lower case) by ParameterStatus. What a function does that a
/// statement calls is not known here, except for functions of the server that are named.
///
/// ```
/// use headrace_postgres::sql::leaves;
/// let reported = |name: &str| name == "timezone";
/// assert_eq!(leaves("CREATE TEMP TABLE t (n int)", reported), Some("a temporary table"));
/// assert_eq!(leaves("SET TIME ZONE 'UTC'; SELECT temp FROM weather", reported), None);
/// ```
pub fn leaves(sql: &str, reported: impl Fn(&str) -> bool) -> Option<&'static str> {
    super::statements(sql).into_iter().find_map(|statement| of_statement(statement, &reported))
}

/// What [`leaves`] calls tables that are the session's own.
pub const TEMPORARY_TABLE: &str = "a temporary table";

/// A token with its text.
type Piece<'a> = (Token<'a>, &'a str);

fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let mut lexer = Lexer::new(sql);
    let mut found = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.end();
        let Some(token) = lexer.next() else { return found };
        found.push((token, &sql[start..lexer.end()]));
    }
}

fn of_statement(sql: &str, reported: &impl Fn(&str) -> bool) -> Option<&'static str> {
    let pieces = pieces(sql);
    let is = |at: usize, word: &str| pieces.get(at).is_some_and(|(token, _)| token.is(word));
    let named = |at: usize| pieces.get(at).map(|(_, text)| text.trim_matches('"').to_ascii_lowercase());
    let (first, _) = *pieces.first()?;
    if first.is("listen") {
        return Some("LISTEN");
    }
    if first.is("load") {
        return Some("LOAD");
    }
    if first.is("prepare") && !is(1, "transaction") {
        return Some("PREPARE");
    }
    if first.is("set") {
        let at = if is(1, "session") { 2 } else { 1 };
        let harmless = is(1, "local")
            || is(1, "transaction")
            || is(1, "constraints")
            || (is(at, "time") && is(at + 1, "zone") && reported("timezone"))
            || (is(at, "names") && reported("client_encoding"))
            || named(at).is_some_and(|name| reported(&name));
        return (!harmless).then_some("SET of a setting that the server does not report");
    }
    if first.is("declare") && pieces.windows(2).any(|pair| pair[0].0.is("with") && pair[1].0.is("hold")) {
        return Some("a cursor WITH HOLD");
    }
    if first.is("do") {
        let told = |text: &str| {
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.map(str::to_ascii_lowercase).any(|word| {
                ["temp", "temporary", "pg_temp", "listen", "set", "set_config", "load"].contains(&word.as_str())
                    || SESSION_LOCKS.contains(&word.as_str())
            })
        };
        return pieces.iter().any(|(_, text)| told(text)).then_some("DO with something that may last");
    }
    let temporary = |at: usize| is(at, "temp") || is(at, "temporary");
    if first.is("create") {
        let before = ["or", "replace", "local", "global"];
        let at = (1..).find(|at| !before.iter().any(|word| is(*at, word)));
        if at.is_some_and(temporary) {
            return Some(TEMPORARY_TABLE);
        }
    }
    for at in 0..pieces.len() {
        if is(at, "into") && temporary(at + 1) {
            return Some(TEMPORARY_TABLE);
        }
        if named(at).is_some_and(|name| name == "pg_temp") && pieces.get(at + 1).is_some_and(|next| next.1 == ".") {
            return Some(TEMPORARY_TABLE);
        }
        if !matches!(pieces[at].0, Token::Word(_)) || pieces.get(at + 1).is_none_or(|next| next.1 != "(") {
            continue;
        }
        if SESSION_LOCKS.iter().any(|name| is(at, name)) {
            return Some("an advisory lock of the session");
        }
        if is(at, "set_config") && !config_is_harmless(&pieces[at + 2..], reported) {
            return Some("set_config() of a setting that the server does not report");
        }
    }
    None
}

/// Of what follows `set_config(`: whether the setting is reported, or set for the transaction only.
fn config_is_harmless(rest: &[Piece<'_>], reported: &impl Fn(&str) -> bool) -> bool {
    let Some((Token::Constant, text)) = rest.first() else { return false };
    if reported(&text.trim_matches('\'').to_ascii_lowercase()) {
        return true;
    }
    let mut depth = 0;
    for pair in rest.windows(2) {
        match pair[1].1 {
            "(" => depth += 1,
            ")" if depth == 0 => return pair[0].0.is("true"),
            ")" => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_found() {
        let reported = |name: &str| ["timezone", "client_encoding", "application_name"].contains(&name);
        for (sql, expected) in [
            ("select 1", None),
            ("", None),
            ("select temp, temporary from weather", None),
            ("create table temp (n int)", None),
            ("create temp table t (n int)", Some("a temporary table")),
            ("CREATE LOCAL TEMPORARY VIEW v AS SELECT 1", Some("a temporary table")),
            ("create or replace temp view v as select 1", Some("a temporary table")),
            ("select 1 into temp t", Some("a temporary table")),
            ("create table pg_temp.t (n int)", Some("a temporary table")),
            ("begin; create temp table t (n int); commit", Some("a temporary table")),
            ("/* x */ listen a", Some("LISTEN")),
            ("unlisten *", None),
            ("prepare p as select 1", Some("PREPARE")),
            ("prepare transaction 'x'", None),
            ("set statement_timeout = 5", Some("SET of a setting that the server does not report")),
            ("set session statement_timeout = 5", Some("SET of a setting that the server does not report")),
            ("set local statement_timeout = 5", None),
            ("set transaction isolation level serializable", None),
            (
                "set session characteristics as transaction read only",
                Some("SET of a setting that the server does not report"),
            ),
            ("set role bob", Some("SET of a setting that the server does not report")),
            ("SET TimeZone TO 'UTC'", None),
            ("set time zone 'UTC'", None),
            ("set session \"application_name\" = 'x'", None),
            ("set names 'utf8'", None),
            ("declare c cursor with hold for select 1", Some("a cursor WITH HOLD")),
            ("declare c cursor for select 1", None),
            ("select pg_advisory_lock(1)", Some("an advisory lock of the session")),
            ("select pg_catalog.pg_try_advisory_lock_shared(1)", Some("an advisory lock of the session")),
            ("select pg_advisory_xact_lock(1)", None),
            ("select 'pg_advisory_lock(1)'", None),
            ("select set_config('timezone', 'UTC', false)", None),
            ("select set_config('app.user', $1, true)", None),
            ("select set_config('app.user', f(1, false), true)", None),
            (
                "select set_config('app.user', $1, false)",
                Some("set_config() of a setting that the server does not report"),
            ),
            ("select set_config($1, $2, true)", Some("set_config() of a setting that the server does not report")),
            ("load 'auto_explain'", Some("LOAD")),
            ("do $$ begin create temp table t (n int); end $$", Some("DO with something that may last")),
            ("do $$ begin perform 1; end $$", None),
        ] {
            assert_eq!(leaves(sql, reported), expected, "{sql}");
        }
    }
}
