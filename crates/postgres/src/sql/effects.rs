//! What a text does to the settings and the prepared statements of its session, besides what [`super::session_state_of`] finds.

use super::lexer::{Lexer, Reading};
use super::script::{Splitter, TokenPlace};
use headrace_core::token::{Token, TokenKind};

/// Settings that go back to what they were when the session began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    /// RESET ALL: every setting.
    All,
    /// DISCARD ALL: every setting, and what else the session has. It is a transaction of its own.
    Discard,
    /// This one, in lower case.
    Setting(String),
    /// This one, until the transaction ends.
    Local(String),
}

/// See [`effects`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It may change a setting, perhaps for its transaction only.
    pub settings: bool,
    /// The settings that it sets back.
    pub resets: Vec<Reset>,
    /// It may deallocate prepared statements.
    pub deallocates: bool,
    /// It makes a table, or something else to which a name in another text may refer afterwards.
    pub creates: bool,
    /// The server prepares and executes it in a transaction that has failed: it ends that, or is empty.
    pub in_failed_block: bool,
    /// It ends a transaction block.
    pub ends_block: bool,
    /// Its columns are those of the cursor or the statement that it names, whatever that is when it is executed: the server does
    /// not compare them with those of its Parse.
    pub borrows_columns: bool,
}

/// What a text does. What a function does that it calls is not known here, except for `set_config()`.
///
/// ```
/// use headrace_postgres::sql::{Reset, effects};
/// assert_eq!(effects("RESET TimeZone; SELECT 1").resets, [Reset::Setting("timezone".to_owned())]);
/// assert!(effects("SELECT 1 AS n INTO t").creates);
/// assert!(!effects("INSERT INTO t SELECT 1").creates);
/// ```
pub fn effects(sql: &str) -> Effects {
    let mut lexer = Lexer::new(sql);
    read(&mut lexer).end(&lexer)
}

fn read<'a>(lexer: &mut Lexer<'a>) -> Reader<'a> {
    let (mut splitter, mut reader) = (Splitter::default(), Reader::default());
    while let Some(token) = lexer.next() {
        reader.next(splitter.place(token), token, lexer);
    }
    reader
}

/// What a text does that has escapes in strings without an E; `None` if it is not complete then.
fn with_escapes(sql: &str) -> Option<Effects> {
    let mut lexer = Lexer::with_reading(sql, Reading { escapes: true, second_bytes: false });
    let reader = read(&mut lexer);
    (!lexer.incomplete && !lexer.has_second_byte).then_some(reader.found)
}

impl Effects {
    /// Those of a text that does one or the other; `None` if that cannot be said in this way.
    fn or(self, other: Self) -> Option<Self> {
        (self.resets == other.resets).then_some(Self {
            settings: self.settings || other.settings,
            resets: self.resets,
            deallocates: self.deallocates || other.deallocates,
            creates: self.creates || other.creates,
            in_failed_block: self.in_failed_block && other.in_failed_block,
            ends_block: self.ends_block || other.ends_block,
            borrows_columns: self.borrows_columns || other.borrows_columns,
        })
    }
}

/// Reads the tokens of a script for what it does.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    found: Effects,
    /// The token before, in a statement that has begun.
    before: Option<Token<'a>>,
    /// Tokens of a SET that are read already.
    done: usize,
    explains: bool,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        let found = Effects { in_failed_block: true, ..Effects::default() };
        Self { found, before: None, done: 0, explains: false }
    }
}

impl<'a> Reader<'a> {
    /// Reads the next token; the lexer is after it.
    pub(super) fn next(&mut self, place: TokenPlace, token: Token<'a>, lexer: &Lexer<'a>) {
        match (place, self.before) {
            (TokenPlace::End, _) => self.before = None,
            (_, None) if token.is_punctuation(b'(') => {}
            (_, None) => self.begin(token, lexer),
            (_, Some(before)) => self.within(before, token),
        }
    }

    /// Returns true if what was read may change a setting.
    pub(super) fn changes_settings(&self) -> bool {
        self.found.settings
    }

    fn begin(&mut self, first: Token<'a>, lexer: &Lexer<'a>) {
        let is = |words: &[&str]| words.iter().any(|word| first.is(word));
        let rest = || lexer.clone().take_while(|token| !token.is_punctuation(b';'));
        let found = &mut self.found;
        found.ends_block |= super::declared::ends_block(first, &mut rest());
        found.in_failed_block &= is(&["commit", "rollback", "end", "abort", "prepare"]);
        found.borrows_columns |= is(&["fetch", "execute"]);
        // What is renamed may be what a name in another text means from then on.
        let renames = |token: Token<'_>| token.is("rename") || token.is("schema");
        found.creates |= first.is("create") || first.is("alter") && rest().any(renames);
        found.deallocates |= is(&["deallocate", "discard"]);
        (self.before, self.done, self.explains) = (Some(first), 0, first.is("explain"));
        if is(&["set", "reset", "discard"]) {
            found.settings = true;
            let start: Vec<Token<'_>> = rest().take(SETTING).collect();
            found.resets.extend(reset(first, &start));
            self.done = start.len();
        }
    }

    fn within(&mut self, before: Token<'a>, token: Token<'a>) {
        if self.done > 0 {
            self.done -= 1;
            return;
        }
        if token.is_name() {
            self.found.creates |=
                token.is("into") && !before.is("insert") && !before.is("merge") || self.explains && token.is("create");
            self.found.settings |= calls(token, "set_config");
        }
        self.before = Some(token);
    }

    /// What the text does; the lexer is at its end.
    pub(super) fn end(mut self, lexer: &Lexer<'_>) -> Effects {
        let is_clear = !lexer.uncertain && !lexer.has_second_byte;
        if is_clear {
            return self.found;
        }
        // A backslash in a string is an escape or not, as standard_conforming_strings is.
        let is_either = !lexer.incomplete && !lexer.has_second_byte;
        let other = if is_either { with_escapes(lexer.whole()) } else { None };
        if let Some(found) = other.and_then(|other| self.found.clone().or(other)) {
            return found;
        }
        (self.found.settings, self.found.deallocates, self.found.creates) = (true, true, true);
        self.found
    }
}

/// Tokens after SET up to its value: SESSION, the parts of a name, and `=`.
const SETTING: usize = 16;

fn calls(token: Token<'_>, name: &str) -> bool {
    // A name in quotes may have others within.
    let text = token.unquoted();
    let may_be = text.len() >= name.len() && text.as_bytes()[..1].eq_ignore_ascii_case(&name.as_bytes()[..1]);
    may_be && super::name(token).is_some_and(|found| found == name)
}

fn reset(first: Token<'_>, rest: &[Token<'_>]) -> Option<Reset> {
    if first.is("discard") {
        return rest.first()?.is("all").then_some(Reset::Discard);
    }
    let is_local = first.is("set") && rest.first().is_some_and(|scope| scope.is("local"));
    let rest = match rest {
        [scope, rest @ ..] if is_local || (first.is("set") && scope.is("session")) => rest,
        rest => rest,
    };
    let (name, rest) = match rest {
        [time, zone, rest @ ..] if time.is("time") && zone.is("zone") => ("timezone".to_owned(), rest),
        [names, rest @ ..] if first.is("set") && names.is("names") => ("client_encoding".to_owned(), rest),
        [all] if first.is("reset") && all.is("all") => return Some(Reset::All),
        [word, rest @ ..] => {
            let mut name = super::name(*word)?;
            let mut rest = rest;
            while let [Token { kind: TokenKind::Punctuation(b'.'), .. }, part, after @ ..] = rest {
                name = format!("{name}.{}", super::name(*part)?);
                rest = after;
            }
            (name.to_ascii_lowercase(), rest)
        }
        [] => return None,
    };
    let rest = match rest {
        [sign, rest @ ..] if sign.is_punctuation(b'=') => rest,
        [to, rest @ ..] if to.is("to") => rest,
        rest => rest,
    };
    let goes_back = first.is("reset") || rest.first().is_some_and(|value| value.is("default") || value.is("local"));
    goes_back.then_some(if is_local { Reset::Local(name) } else { Reset::Setting(name) })
}

#[cfg(test)]
mod tests {
    use super::super::script;
    use super::*;

    #[test]
    fn settings_that_go_back_are_found() {
        let one = |name: &str| vec![Reset::Setting(name.to_owned())];
        for (sql, resets) in [
            ("reset all", vec![Reset::All]),
            ("/* all */ RESET ALL;", vec![Reset::All]),
            ("discard all", vec![Reset::Discard]),
            ("discard plans", vec![]),
            ("reset TimeZone", one("timezone")),
            ("reset time zone", one("timezone")),
            ("set time zone local", one("timezone")),
            ("set session time zone default", one("timezone")),
            ("set names default", one("client_encoding")),
            ("set search_path to default", one("search_path")),
            ("set local \"search_path\" = DEFAULT", vec![Reset::Local("search_path".to_owned())]),
            ("set local time zone default", vec![Reset::Local("timezone".to_owned())]),
            ("reset app.tenant", one("app.tenant")),
            ("set search_path = a, b", vec![]),
            ("set timezone to 'UTC'", vec![]),
            ("set application_name to 'default'", vec![]),
            ("update t set a = default", vec![]),
            ("select 1; close all; reset all", vec![Reset::All]),
        ] {
            assert_eq!(effects(sql).resets, resets, "{sql}");
        }
    }

    #[test]
    fn statements_that_set_settings_back_are_found_in_a_script() {
        for (sql, expected) in [
            ("reset all", vec!["reset all"]),
            (" ;; reset all -- all\n; select 1;", vec![" reset all -- all\n"]),
            ("select 'reset all'", vec![]),
            ("reset a; set b to default; set b to c", vec!["reset a", " set b to default"]),
        ] {
            let mut parts = script(sql).unwrap();
            parts.retain(|part| !effects(part).resets.is_empty());
            assert_eq!(parts, expected, "{sql}");
        }
        assert_eq!(script(r"select 'a\'; reset all; select '"), None, "read in two ways");
    }

    #[test]
    fn what_else_a_text_does_is_found() {
        let of = |sql: &str| {
            let found = effects(sql);
            let named = [
                ("settings", found.settings),
                ("deallocates", found.deallocates),
                ("creates", found.creates),
                ("ends", found.in_failed_block),
                ("borrows", found.borrows_columns),
            ];
            named.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        for (sql, expected) in [
            ("select 1", ""),
            ("insert into t values (1)", ""),
            ("merge into t using s on true when matched then delete", ""),
            ("update t set a = 1", ""),
            ("set a = 1", "settings"),
            ("begin; set local a = 1; commit", "settings"),
            ("select set_config('a', 'b', true)", "settings"),
            ("select pg_catalog.\"set_config\"('a', 'b', true)", "settings"),
            ("select 'set_config(1)'", ""),
            ("deallocate s", "deallocates"),
            ("discard all", "settings deallocates"),
            ("discard temp", "settings deallocates"),
            ("create table t as select 1", "creates"),
            ("alter table other rename to t", "creates"),
            ("alter table other.t set schema nearer", "creates"),
            ("alter table t add n int", ""),
            ("explain analyze create table t as select 1", "creates"),
            ("with q as (insert into t values (1) returning a) select * from q", ""),
            ("(select 1 as a into t)", "creates"),
            ("rollback to s", "ends"),
            ("fetch 10 from c", "borrows"),
            ("execute s (1)", "borrows"),
            ("commit; -- the end", "ends"),
            ("", "ends"),
        ] {
            assert_eq!(of(sql), expected, "{sql}");
        }
        for (sql, expected) in [
            (r"select 'a\'", "settings deallocates creates"),
            (r"select '\d+', 'it\'", "settings deallocates creates"),
            ("select 'é\\n'", "settings deallocates creates"),
            (r"select regexp_replace(a, '\d+', '') from t where b like '\_%'", ""),
            (r"select 'a\\'", ""),
            (r"select '\'; deallocate a -- '", "deallocates"),
            (r"select '\', ' deallocate a'", "settings deallocates creates"),
            (r"select '\'', set_config('a', '\n', true); --'", "settings"),
            (r"create table t as select '\d'", "creates"),
        ] {
            assert_eq!(of(sql), expected, "read in two ways: {sql}");
        }
    }
}
