//! Where the statements of a script begin and end.

use super::lexer::{Lexer, Reading};
use headrace_core::token::{Token, TokenKind};

/// The statements of a script. A semicolon in a string, a comment, a dollar quote, parentheses (the actions of a rule)
/// or the body of a function does not end one.
pub(crate) fn statements(sql: &str) -> Vec<&str> {
    let (mut found, mut start) = (Vec::new(), 0);
    let (mut lexer, mut splitter) = (Lexer::new(sql), Splitter::default());
    while let Some(token) = lexer.next() {
        if splitter.place(token) == TokenPlace::End {
            found.push(&sql[start..lexer.end() - 1]);
            start = lexer.end();
        }
    }
    found.push(&sql[start..]);
    found
}

/// The statements of a script; `None` if the server may read the text in another way than here. One of them may be empty.
///
/// ```
/// use headrace_postgres::sql::script;
/// assert_eq!(script("begin; select ';'").unwrap(), ["begin", " select ';'"]);
/// assert_eq!(script(r"select 'a\'; select '"), None);
/// ```
pub fn script(sql: &str) -> Option<Vec<&str>> {
    let mut whole = Lexer::new(sql);
    whole.by_ref().for_each(drop);
    (!whole.uncertain && !whole.has_second_byte).then(|| statements(sql))
}

/// Returns true if a statement is one to execute which nothing is planned, and which may have to come before everything
/// that is: BEGIN, SET, SAVEPOINT and their like, or an empty one. Those for which the server takes no snapshot, as LOCK,
/// are among them: what a transaction sees would be what was there before it had its locks. So are those that cannot be in
/// a transaction, as VACUUM. COMMIT and SET CONSTRAINTS are not, as they may execute triggers, but for SET CONSTRAINTS ...
/// DEFERRED.
///
/// ```
/// use headrace_postgres::sql::plans_nothing;
/// assert!(plans_nothing("LOCK TABLE t") && plans_nothing("SET CONSTRAINTS ALL DEFERRED"));
/// assert!(!plans_nothing("COMMIT") && !plans_nothing("SET CONSTRAINTS ALL IMMEDIATE"));
/// ```
pub fn plans_nothing(sql: &str) -> bool {
    const WORDS: [&str; 18] = [
        "begin",
        "start",
        "set",
        "reset",
        "show",
        "savepoint",
        "release",
        "rollback",
        "abort",
        "lock",
        "listen",
        "unlisten",
        "notify",
        "checkpoint",
        "discard",
        "vacuum",
        "cluster",
        "reindex",
    ];
    let mut lexer = Lexer::new(sql);
    let Some(first) = lexer.next() else { return true };
    let fires_triggers = first.is("set")
        && lexer.next().is_some_and(|second| second.is("constraints"))
        && lexer.any(|token| token.is("immediate"));
    !fires_triggers && WORDS.iter().any(|word| first.is(word))
}

/// Returns true if a statement ends a transaction whose changes are kept, or prepares its end, unless it has failed.
///
/// ```
/// use headrace_postgres::sql::commits;
/// assert!(commits("COMMIT") && commits("end work") && commits("prepare transaction 'x'"));
/// assert!(!commits("ROLLBACK") && !commits("prepare x as select 1"));
/// ```
pub fn commits(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql);
    let Some(first) = lexer.next() else { return false };
    first.is("commit")
        || first.is("end")
        || (first.is("prepare") && lexer.next().is_some_and(|second| second.is("transaction")))
}

/// Returns true if a statement may execute functions after it has made something, or has changed a setting, itself: DO,
/// what makes a table of the rows of a query, and `set_config()` beside other functions or a relation, which may be a view.
///
/// ```
/// use headrace_postgres::sql::may_call_after_change;
/// assert!(may_call_after_change("SELECT set_config('TimeZone', $1, true), f()"));
/// assert!(may_call_after_change("CREATE TABLE t AS SELECT f()"));
/// assert!(!may_call_after_change("SELECT set_config('TimeZone', $1, true), set_config('role', $2, true)"));
/// assert!(!may_call_after_change("CREATE TABLE t (n int)"));
/// ```
pub fn may_call_after_change(sql: &str) -> bool {
    const NOT_TABLES: [&str; 6] = ["view", "function", "procedure", "rule", "trigger", "schema"];
    let mut lexer = Lexer::new(sql);
    let Some(first) = lexer.next() else { return false };
    if first.is("create") {
        let defines = |token: &Token<'_>| NOT_TABLES.iter().any(|word| token.is(word));
        return !lexer.clone().take(4).any(|token| defines(&token)) && lexer.any(|token| token.is("as"));
    }
    if ["set", "reset", "discard", "alter", "drop"].iter().any(|word| first.is(word)) {
        return false;
    }
    let mut before = first;
    let is_more = |token: Token<'_>, before: Token<'_>| {
        let calls =
            token.is_punctuation(b'(') && before.is_name() && !before.unquoted().eq_ignore_ascii_case("set_config");
        calls || token.is("from") || token.is("into") || token.is("table")
    };
    first.is("do") || first.is("call") || lexer.any(|token| is_more(token, std::mem::replace(&mut before, token)))
}

/// Returns true if a statement is a query: one that is planned, and may follow others in any transaction.
///
/// ```
/// use headrace_postgres::sql::is_query;
/// assert!(is_query("WITH a AS (SELECT 1) SELECT 1") && is_query("(select 1)"));
/// assert!(!is_query("BEGIN") && !is_query("CALL p()"));
/// ```
pub fn is_query(sql: &str) -> bool {
    const WORDS: [&str; 9] = ["select", "with", "insert", "update", "delete", "merge", "values", "table", "execute"];
    let first = Lexer::new(sql).find(|token| !token.is_punctuation(b'('));
    first.is_some_and(|first| WORDS.iter().any(|word| first.is(word)))
}

/// Returns true if a statement is COPY.
///
/// ```
/// use headrace_postgres::sql::copies_rows;
/// assert!(copies_rows("/* all */ COPY t FROM STDIN") && !copies_rows("SELECT copy FROM t"));
/// ```
pub fn copies_rows(sql: &str) -> bool {
    super::begins_with(sql, &["copy"])
}

/// Returns true if a text has no statement.
pub fn is_empty(sql: &str) -> bool {
    Lexer::new(sql).next().is_none()
}

/// Returns true if a text has several statements, which only the simple protocol executes.
pub fn is_several(sql: &str) -> bool {
    // Most texts have one, and at most a semicolon at their end.
    sql.trim_end_matches([';', ' ', '\n']).contains(';')
        && statements(sql).into_iter().filter(|statement| Lexer::new(statement).next().is_some()).nth(1).is_some()
}

/// Returns true if a text begins a transaction block, however the server reads its strings ([`in_each_reading`]).
pub fn begins_block(sql: &str) -> bool {
    let found = in_each_reading(sql, |lexer| {
        let mut splitter = Splitter::default();
        let begins = |token: Token<'_>| token.is("begin") || token.is("start");
        lexer.find(|token| splitter.place(*token) == TokenPlace::First && begins(*token)).map(|_| ())
    });
    found.is_some()
}

/// What `find` finds in a text in one of the ways in which the server may read it: with and without
/// `standard_conforming_strings`, and in each encoding, which every client can choose.
pub(super) fn in_each_reading<'a, T>(sql: &'a str, find: impl Fn(&mut Lexer<'a>) -> Option<T>) -> Option<T> {
    let mut differs = Reading::default();
    for (escapes, second_bytes) in [(false, false), (true, false), (false, true), (true, true)] {
        if (escapes && !differs.escapes) || (second_bytes && !differs.second_bytes) {
            continue;
        }
        let mut lexer = Lexer::with_reading(sql, Reading { escapes, second_bytes });
        let found = find(&mut lexer);
        if found.is_some() {
            return found;
        }
        differs.escapes |= lexer.uncertain;
        differs.second_bytes |= lexer.has_second_byte;
    }
    None
}

/// Where a token stands in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenPlace {
    /// It is the first of a statement.
    First,
    /// It follows the first.
    Within,
    /// It is the semicolon that ends a statement, or an empty one.
    End,
}

/// Finds the ends of statements: has to be given each token of a script, in order.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    within: Within,
    /// Open parentheses.
    depth: usize,
}

/// What the next token follows. In `BEGIN ATOMIC ... END`, the body of a function or procedure in SQL, semicolons
/// separate statements; everywhere else `atomic` is a name.
#[derive(Clone, Copy, Debug, Default)]
enum Within {
    /// The beginning of the script, or a semicolon that ended a statement.
    #[default]
    Nothing,
    /// CREATE or CREATE OR REPLACE.
    Create,
    /// CREATE FUNCTION or PROCEDURE.
    Routine,
    /// BEGIN in it.
    Begin,
    /// ATOMIC, or a semicolon of the body. Only after these END is the body's, not that of CASE or a
    /// label.
    BodyStatement,
    /// Something else of the body.
    Body,
    /// Anything else.
    Statement,
}

impl Splitter {
    pub fn place(&mut self, token: Token<'_>) -> TokenPlace {
        if let Within::Body | Within::BodyStatement = self.within {
            self.within = match self.within {
                _ if token.is_punctuation(b';') => Within::BodyStatement,
                Within::BodyStatement if token.is("end") => Within::Statement,
                _ => Within::Body,
            };
            return TokenPlace::Within;
        }
        match token.kind {
            TokenKind::Punctuation(b';') if self.depth == 0 => {
                self.within = Within::Nothing;
                return TokenPlace::End;
            }
            TokenKind::Punctuation(b'(') => self.depth += 1,
            TokenKind::Punctuation(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let place = if let Within::Nothing = self.within { TokenPlace::First } else { TokenPlace::Within };
        self.within = match self.within {
            Within::Nothing if token.is("create") => Within::Create,
            Within::Create if token.is("or") || token.is("replace") => Within::Create,
            Within::Create if token.is("function") || token.is("procedure") => Within::Routine,
            // A parameter or a column of RETURNS TABLE may be called begin, and its type atomic.
            Within::Routine | Within::Begin if self.depth == 0 && token.is("begin") => Within::Begin,
            Within::Begin if token.is("atomic") => Within::BodyStatement,
            Within::Routine | Within::Begin => Within::Routine,
            _ => Within::Statement,
        };
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_statements_are_told_from_one() {
        for (sql, expected) in [
            ("select 1", false),
            ("select 1;", false),
            ("select 1 ; \n", false),
            ("select 1; -- the end", false),
            ("select ';'; /* ; */", false),
            ("do $$ begin null; end $$", false),
            ("create rule r as on insert to t do also (notify a; notify b)", false),
            ("select 1; select 2", true),
            (";select 1;\nselect 2;", true),
            ("select 1 as atomic; select 2", true),
        ] {
            assert_eq!(is_several(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_script_is_cut_at_its_semicolons_alone() {
        for (script, expected) in [
            ("a; b", vec!["a", " b"]),
            ("';' ; \";\"", vec!["';' ", " \";\""]),
            ("E'\\';' ; x", vec!["E'\\';' ", " x"]),
            ("$$;$$; $b$ ;$$; $b$;c", vec!["$$;$$", " $b$ ;$$; $b$", "c"]),
            ("a$1;b -- ;\n;/* ; /* ; */ */ c", vec!["a$1", "b -- ;\n", "/* ; /* ; */ */ c"]),
            ("create rule r as on insert to t do (a; b); c", vec!["create rule r as on insert to t do (a; b)", " c"]),
            (") ; a", vec![") ", " a"]),
            ("'never ends; b", vec!["'never ends; b"]),
            ("$1; $ ;", vec!["$1", " $ ", ""]),
        ] {
            assert_eq!(statements(script), expected, "{script}");
        }
    }

    #[test]
    fn only_the_body_of_a_routine_in_sql_has_semicolons() {
        for statement in [
            "CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END",
            "create or replace procedure p() begin atomic end",
            "create function f(begin int) returns int begin /* x */ atomic; select 1; end",
            "create function f() returns int begin atomic select case 1 when 1 then 2 end; select 1 as end; end",
            "create function f() returns int begin atomic select 1 end; select (2); end stable",
            "create function f() returns begin begin atomic select 1; end",
            // Names alone, of which none opens a body.
            "select 1 as atomic",
            "begin atomic",
            "create table atomic (begin atomic)",
            "create function f(begin atomic) returns int language sql as 'select 1'",
            "create function f() returns table (begin atomic) language sql as 'select 1'",
            "create function \"begin\"() returns atomic as 'begin atomic'",
        ] {
            let script = format!("{statement}; x");
            assert_eq!(statements(&script), [statement, " x"], "{script}");
        }
        let never_ends = "create function f() begin atomic select 1; x";
        assert_eq!(statements(never_ends), [never_ends]);
    }

    #[test]
    fn a_transaction_block_is_found_in_each_reading() {
        for (sql, expected) in [
            ("begin", true),
            ("/* x */ START transaction", true),
            ("select 1; begin", true),
            ("select 1 as atomic; begin", true),
            ("create function f() begin atomic select 1; end; begin", true),
            ("create function f() begin atomic select 1; end", false),
            ("select 'it\\'s'; begin; select 'x'", true),
            ("select 'it\\'; begin; select 'x'", true),
            ("select e'\u{fffd}\\'; begin; select e'\u{fffd}\\'", true),
            ("select 'a; begin'", false),
            ("select 'C:\\'", false),
            ("select begin", false),
        ] {
            assert_eq!(begins_block(sql), expected, "{sql}");
        }
    }
}
