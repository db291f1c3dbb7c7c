//! What a statement leaves in its session: for programs that lend one session to several clients.

use super::anonymous::AnonymousBlock;
use super::lexer::Lexer;
use super::script::{Splitter, TokenPlace, in_each_reading};
use super::settings;
use headrace_core::token::{Token, TokenKind};

/// What [`session_state_of`] calls tables that are the session's own.
pub const TEMPORARY_TABLE: &str = "a temporary table";

const ADVISORY_LOCK: &str = "an advisory lock of the session";
const DBLINK: &str = "a connection of dblink";
const REPLICATION_SLOT: &str = "a replication slot that may be temporary";
const BACKUP: &str = "a backup";
const ORIGIN: &str = "an origin of replication";
const SEED: &str = "the seed of random()";
const LOAD: &str = "LOAD";
/// What [`session_state_of`] calls a DO whose code may leave something.
pub(super) const LASTING_BLOCK: &str = "DO with something that may last";
const ESCAPED_NAME: &str = "a name with Unicode escapes";
const UPDATE_OF_SETTINGS: &str = "an UPDATE of pg_settings";

/// What DISCARD ALL does not undo: it is CLOSE ALL, SET SESSION AUTHORIZATION DEFAULT, RESET ALL, DEALLOCATE ALL,
/// UNLISTEN, `pg_advisory_unlock_all()` and DISCARD PLANS, TEMP and SEQUENCES (manual, "DISCARD"). Those of which it is
/// not known what they leave are among them.
const OUTLASTS_DISCARD: [&str; 10] =
    [DBLINK, REPLICATION_SLOT, BACKUP, ORIGIN, SEED, LOAD, LASTING_BLOCK, ESCAPED_NAME, UPDATE_OF_SETTINGS, SET_CONFIG];

const LISTEN: &str = "LISTEN";
const PREPARE: &str = "PREPARE";
const HELD_CURSOR: &str = "a cursor WITH HOLD";
const UNREPORTED_SETTING: &str = "SET of a setting that the server does not report";
const SIMILARITY: &str = "a limit of similarity";

/// What may be gone before the session ends, and can be asked for: by UNLISTEN, DEALLOCATE, CLOSE, DROP, RESET or the
/// end of a transaction. A call of `set_config()` whose setting is not known is found by [`survives_discard`], too.
const MAY_END: [&str; 9] =
    [TEMPORARY_TABLE, PG_TEMP, LISTEN, PREPARE, HELD_CURSOR, ADVISORY_LOCK, UNREPORTED_SETTING, SIMILARITY, SET_CONFIG];

/// Returns true if what [`session_state_of`] has found is a setting.
pub fn is_setting(reason: &str) -> bool {
    [UNREPORTED_SETTING, SIMILARITY, SET_CONFIG].contains(&reason)
}

/// Returns true if a session may be without what [`session_state_of`] has found in a text, before it ends.
pub fn may_end(reason: &str) -> bool {
    MAY_END.contains(&reason)
}

/// Returns true if a text may end something that [`may_end`].
pub fn ends_something(sql: &str) -> bool {
    const WORDS: [&str; 6] = ["unlisten", "deallocate", "close", "drop", "discard", "reset"];
    const UNLOCK: &str = "pg_advisory_unlock";
    let is_begun = |name: &str| name.get(..UNLOCK.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(UNLOCK));
    Lexer::new(sql).any(|token| WORDS.iter().any(|word| token.is(word)) || is_begun(token.unquoted()))
}

/// Functions of the server and of its extensions that leave something until the session ends (manual, "System
/// Administration Functions", "Random Functions", "dblink", "pg_trgm"), and what.
const FUNCTIONS: [(&str, &str); 16] = [
    ("pg_advisory_lock", ADVISORY_LOCK),
    ("pg_advisory_lock_shared", ADVISORY_LOCK),
    ("pg_try_advisory_lock", ADVISORY_LOCK),
    ("pg_try_advisory_lock_shared", ADVISORY_LOCK),
    ("pg_create_logical_replication_slot", REPLICATION_SLOT),
    ("pg_create_physical_replication_slot", REPLICATION_SLOT),
    ("pg_copy_logical_replication_slot", REPLICATION_SLOT),
    ("pg_copy_physical_replication_slot", REPLICATION_SLOT),
    ("pg_replication_origin_session_setup", ORIGIN),
    ("pg_backup_start", BACKUP),
    ("pg_start_backup", BACKUP),
    ("setseed", SEED),
    ("set_limit", SIMILARITY),
    ("dblink_connect", DBLINK),
    ("dblink_connect_u", DBLINK),
    ("set_config", SET_CONFIG),
];
const SET_CONFIG: &str = "set_config() of a setting that the server does not report";

/// What a text leaves in the session that runs it, which neither the status of the transaction nor ParameterStatus
/// shows; `None` if nothing is found.
///
/// `reported` returns whether the server reports a setting (in lower case) by ParameterStatus. What a function does
/// that a statement calls is not known here, except for functions of the server that are named; nor is the value of a
/// parameter or an expression. Where a text means something else if `standard_conforming_strings` is off, or in another
/// encoding, each meaning counts, and so does what EXPLAIN does only with ANALYZE.
///
/// ```
/// use headrace_postgres::sql::session_state_of;
/// let reported = |name: &str| name == "timezone";
/// assert_eq!(session_state_of("CREATE TEMP TABLE t (n int)", reported), Some("a temporary table"));
/// assert_eq!(session_state_of("SET TIME ZONE 'UTC'; SELECT temp FROM weather", reported), None);
/// ```
pub fn session_state_of(sql: &str, reported: impl Fn(&str) -> bool) -> Option<&'static str> {
    first(sql, reported, |_| true)
}

/// The part of what [`session_state_of`] finds that DISCARD ALL does not undo: a session with it cannot be lent to anybody else.
///
/// ```
/// use headrace_postgres::sql::survives_discard;
/// assert_eq!(survives_discard("CREATE TEMP TABLE t (n int); LOAD 'auto_explain'"), Some("LOAD"));
/// assert_eq!(survives_discard("LISTEN a"), None);
/// ```
pub fn survives_discard(sql: &str) -> Option<&'static str> {
    first(sql, |_| true, |reason| OUTLASTS_DISCARD.contains(&reason))
}

/// Returns true if a text has a DO whose code may leave something.
pub(super) fn has_lasting_block(sql: &str) -> bool {
    first(sql, |_| true, |reason| reason == LASTING_BLOCK).is_some()
}

/// Returns true if [`survives_discard`] finds what was found, and is before the lexer.
pub(super) fn outlasts_discard(reason: &'static str, lexer: &Lexer<'_>) -> bool {
    let is_known = || {
        let mut lexer = lexer.clone();
        lexer.next_is(b'(') && settings::is_harmless_call(lexer, &|_| true)
    };
    OUTLASTS_DISCARD.contains(&reason) && (reason != SET_CONFIG || !is_known())
}

/// The first thing that a text leaves and that `counts`.
fn first(sql: &str, reported: impl Fn(&str) -> bool, counts: impl Fn(&'static str) -> bool) -> Option<&'static str> {
    in_each_reading(sql, |lexer| {
        let mut splitter = Splitter::default();
        let mut statement = SessionStateReader::default();
        while let Some(token) = lexer.next() {
            let found = statement.next((splitter.place(token), token), lexer, &reported, &counts);
            if found.is_some() {
                return found;
            }
        }
        None
    })
}

/// What stands for the tokens before a statement.
const START: Token<'_> = Token { kind: TokenKind::Punctuation(b';'), text: ";", start: 0 };

/// The statement that is being read.
#[derive(Debug)]
pub(super) struct SessionStateReader<'a> {
    kind: StatementKind,
    /// The token before the one that is read, and the one before that.
    previous: [Token<'a>; 2],
}

#[derive(Debug)]
enum StatementKind {
    /// CREATE and ALTER, in which `SET search_path TO ..., pg_temp` is a property of a function or a role.
    Definition,
    /// A SET of the search path that is harmless unless it names the schema of temporary tables.
    SearchPath,
    Do(AnonymousBlock),
    Other,
}

impl Default for SessionStateReader<'_> {
    fn default() -> Self {
        Self { kind: StatementKind::Other, previous: [START; 2] }
    }
}

impl<'a> SessionStateReader<'a> {
    /// Reads the next token of a script, and returns what it shows, if that counts; the lexer is after it.
    pub(super) fn next(
        &mut self,
        (place, token): (TokenPlace, Token<'a>),
        lexer: &Lexer<'a>,
        reported: &impl Fn(&str) -> bool,
        counts: &impl Fn(&'static str) -> bool,
    ) -> Option<&'static str> {
        let found = match place {
            TokenPlace::End => {
                *self = Self::default();
                return None;
            }
            TokenPlace::First => self.begin(token, lexer, reported),
            TokenPlace::Within => None,
        };
        let found = found.filter(|reason| counts(reason));
        found.or_else(|| self.read(token, lexer, reported).filter(|reason| counts(reason)))
    }

    /// Classifies a statement by its first token; the lexer is after it.
    fn begin(&mut self, first: Token<'a>, lexer: &Lexer<'a>, reported: &impl Fn(&str) -> bool) -> Option<&'static str> {
        let is = |name: &str| first.is(name);
        match first.text.as_bytes()[0].to_ascii_lowercase() {
            b'a' if is("alter") => self.kind = StatementKind::Definition,
            b'c' if is("create") => self.kind = StatementKind::Definition,
            b'd' if is("do") => self.kind = StatementKind::Do(AnonymousBlock::default()),
            b'l' if is("listen") => return Some(LISTEN),
            b'l' if is("load") => return Some(LOAD),
            b'p' if is("prepare") && !is_of_transaction(lexer.clone()) => return Some(PREPARE),
            b's' if is("set") => match settings::of_set(lexer.clone(), reported) {
                settings::Effect::None => {}
                settings::Effect::OfSchemas => self.kind = StatementKind::SearchPath,
                settings::Effect::Seeds => return Some(SEED),
                settings::Effect::Lasts => return Some(UNREPORTED_SETTING),
            },
            _ => {}
        }
        None
    }

    /// Reads one token; the lexer is after it.
    fn read(&mut self, token: Token<'a>, lexer: &Lexer<'a>, reported: &impl Fn(&str) -> bool) -> Option<&'static str> {
        let text = token.text;
        let found = match token.kind {
            TokenKind::Word => self.of_word(text, lexer).or_else(|| self.of_name(text, lexer, reported)),
            TokenKind::Quoted => self.of_name(token.unquoted(), lexer, reported),
            TokenKind::Constant if text.ends_with(['o', 'O']) => {
                // Before version 15 a number ends where a word begins.
                self.of_word(text.trim_start_matches(|byte: char| byte.is_ascii_digit()), lexer)
            }
            TokenKind::Constant | TokenKind::DollarQuoted
                if matches!(self.kind, StatementKind::SearchPath) && settings::may_name_pg_temp(text) =>
            {
                Some(PG_TEMP)
            }
            _ => None,
        };
        let lasts = match &mut self.kind {
            StatementKind::Do(block) if found.is_none() => block.may_last(self.previous[0], token),
            _ => false,
        };
        self.previous = [token, self.previous[0]];
        if lasts { Some(LASTING_BLOCK) } else { found }
    }

    fn of_word(&self, word: &str, lexer: &Lexer<'a>) -> Option<&'static str> {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let [previous, before] = self.previous;
        match word.as_bytes().first()?.to_ascii_lowercase() {
            b'c' if is("create") => is_temporary(lexer.clone()).then_some(TEMPORARY_TABLE),
            b'i' if is("into") => {
                // INSERT INTO temp and MERGE INTO temp are of a table with this name.
                let creates = !previous.is("insert") && !previous.is("merge") && is_temporary(lexer.clone());
                creates.then_some(TEMPORARY_TABLE)
            }
            b'h' if is("hold") => (previous.is("with") && before.is("cursor")).then_some(HELD_CURSOR),
            b'u' if is("update") => is_pg_settings(lexer.clone()).then_some(UPDATE_OF_SETTINGS),
            // U&"..." and U&'...' can stand for any name.
            b'u' if is("u") && lexer.rest().starts_with("&\"") => Some(ESCAPED_NAME),
            b'u' if is("u") => {
                (matches!(self.kind, StatementKind::SearchPath) && lexer.rest().starts_with("&'")).then_some(PG_TEMP)
            }
            _ => None,
        }
    }

    /// Of a name, without its quotes: upper and lower case are not told apart, which finds more.
    fn of_name(&self, name: &str, lexer: &Lexer<'a>, reported: &impl Fn(&str) -> bool) -> Option<&'static str> {
        if !matches!(name.as_bytes().first()?.to_ascii_lowercase(), b'p' | b's' | b'd') {
            return None;
        }
        if settings::is_pg_temp(name) {
            if lexer.clone().next_is(b'.') {
                return Some(TEMPORARY_TABLE);
            }
            return (!matches!(self.kind, StatementKind::Definition)).then_some(PG_TEMP);
        }
        let reason = of_function(name)?;
        let mut lexer = lexer.clone();
        if !lexer.next_is(b'(') {
            return None;
        }
        (reason != SET_CONFIG || !settings::is_harmless_call(lexer, reported)).then_some(reason)
    }
}

/// Where temporary tables are made without the word.
const PG_TEMP: &str = "use of the schema pg_temp";

/// What a function leaves until the session ends; its name in any case.
pub(super) fn of_function(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other)).map(|(_, reason)| *reason)
}

/// After CREATE or INTO: what is created is temporary.
fn is_temporary(lexer: Lexer<'_>) -> bool {
    let mut rest = lexer.skip_while(|token| ["or", "replace", "local", "global"].iter().any(|word| token.is(word)));
    rest.next().is_some_and(|token| token.is("temp") || token.is("temporary"))
}

/// After PREPARE: PREPARE TRANSACTION 'id'. A statement can have this name, too.
fn is_of_transaction(mut lexer: Lexer<'_>) -> bool {
    let named = lexer.next().is_some_and(|token| token.is("transaction"));
    named && lexer.next().is_some_and(|token| !token.is_punctuation(b'(') && !token.is("as"))
}

/// After UPDATE: the relation is `pg_settings`, whose rule calls `set_config()`.
fn is_pg_settings(lexer: Lexer<'_>) -> bool {
    let mut relation = lexer.filter(|token| !token.is("only") && !token.is_punctuation(b'('));
    let is_named =
        |token: Option<Token<'_>>| token.is_some_and(|token| token.unquoted().eq_ignore_ascii_case("pg_settings"));
    let first = relation.next();
    is_named(first) || (relation.next().is_some_and(|token| token.is_punctuation(b'.')) && is_named(relation.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: &str = UNREPORTED_SETTING;

    fn reported(name: &str) -> bool {
        ["timezone", "client_encoding", "application_name"].contains(&name)
    }

    #[test]
    fn what_lasts_is_found() {
        for (sql, expected) in [
            ("create temp table t (n int)", TEMPORARY_TABLE),
            ("CREATE LOCAL TEMPORARY VIEW v AS SELECT 1", TEMPORARY_TABLE),
            ("create or replace temp view v as select 1", TEMPORARY_TABLE),
            ("create global temp recursive view v (a) as select 1", TEMPORARY_TABLE),
            ("create temp sequence s", TEMPORARY_TABLE),
            ("create temp table t as execute p", TEMPORARY_TABLE),
            ("explain analyze create temp table t as select 1", TEMPORARY_TABLE),
            ("EXPLAIN (ANALYZE, COSTS off) CREATE TEMP TABLE t AS SELECT 1", TEMPORARY_TABLE),
            ("explain analyze select 1 into temp t", TEMPORARY_TABLE),
            ("select 1 into temp t", TEMPORARY_TABLE),
            ("select 1 into temporary table t", TEMPORARY_TABLE),
            ("select 1 into local temp t", TEMPORARY_TABLE),
            ("select 1 INTO /* x */ GLOBAL TEMPORARY t", TEMPORARY_TABLE),
            ("select 1into temp t", TEMPORARY_TABLE),
            ("create table pg_temp.t (n int)", TEMPORARY_TABLE),
            ("create table \"pg_temp\" . t (n int)", TEMPORARY_TABLE),
            ("create view pg_temp_12.v as select 1", TEMPORARY_TABLE),
            ("create function pg_temp.f() returns int language sql as 'select 1'", TEMPORARY_TABLE),
            ("select 1 into pg_temp.t", TEMPORARY_TABLE),
            ("begin; create temp table t (n int); commit", TEMPORARY_TABLE),
            ("import foreign schema s from server f into pg_temp", PG_TEMP),
            ("/* x */ listen a", "LISTEN"),
            ("load 'auto_explain'", "LOAD"),
            ("prepare p as select 1", "PREPARE"),
            ("prepare transaction as select 1", "PREPARE"),
            ("prepare transaction (int) as select $1", "PREPARE"),
            ("declare c cursor with hold for select 1", "a cursor WITH HOLD"),
            ("declare c binary no scroll cursor with hold for select 1", "a cursor WITH HOLD"),
            ("update pg_settings set setting = 5 where name = 'statement_timeout'", "an UPDATE of pg_settings"),
            ("UPDATE ONLY pg_catalog.\"pg_settings\" AS s SET setting = 5", "an UPDATE of pg_settings"),
            ("explain analyze update only (pg_settings) set setting = 5", "an UPDATE of pg_settings"),
            ("with u as (update pg_settings set setting = 5) select 1", "an UPDATE of pg_settings"),
            ("set statement_timeout = 5", SETTING),
            ("set role bob", SETTING),
            ("set local.tenant = 'x'", SETTING),
            ("begin; set session characteristics as transaction read only", SETTING),
        ] {
            assert_eq!(session_state_of(sql, reported), Some(expected), "{sql}");
        }
    }

    #[test]
    fn what_ends_with_its_transaction_is_no_reason() {
        for sql in [
            "select 1",
            "",
            ";",
            "select temp, temporary from weather",
            "create table temp (n int)",
            "insert into temp values (1)",
            "merge into temp using t on true when matched then delete",
            "select 1 into t",
            "select 1 into table t",
            "select 1 into unlogged table t",
            "grant create, temp on database d to bob",
            "select 'create temp table t (n int)', $$ listen a $$",
            "select nspname from pg_namespace where nspname !~ '^pg_temp_'",
            "select pg_temperature from t",
            "unlisten *",
            "notify a",
            "prepare transaction 'x'",
            "declare c cursor for select 1",
            "declare c cursor without hold for with hold as (select 1) select * from hold",
            "update t set a = (select setting from pg_settings where name = 'x') from pg_settings",
            "select * from pg_settings for update",
            "set local statement_timeout = 5",
            "set transaction isolation level serializable",
            "set time zone 'UTC'",
            "set session \"application_name\" = 'set_config'",
            "set local search_path to a, \"$user\"",
            "reset role",
            "reset all",
            "discard all",
            "select lo_open(1, 262144), lo_creat(-1)",
            "copy t from program 'x'",
            "select u & \"a\" from t",
            "alter role bob set search_path to a, pg_temp",
            "create function f() returns int language sql set search_path = a, pg_temp as 'select 1'",
            "create or replace function f() returns int begin atomic select 1; end; select 1",
        ] {
            assert_eq!(session_state_of(sql, reported), None, "{sql}");
        }
    }

    #[test]
    fn calls_of_functions_that_last_are_found() {
        for (sql, expected) in [
            ("select pg_advisory_lock(1)", Some(ADVISORY_LOCK)),
            ("select pg_catalog . PG_TRY_ADVISORY_LOCK_SHARED /* x */ (1)", Some(ADVISORY_LOCK)),
            ("select \"pg_advisory_lock\"(1)", Some(ADVISORY_LOCK)),
            ("select pg_catalog.\"pg_advisory_lock_shared\" (1)", Some(ADVISORY_LOCK)),
            ("insert into t values (1) returning pg_advisory_lock(1)", Some(ADVISORY_LOCK)),
            ("copy (select pg_advisory_lock(1)) to stdout", Some(ADVISORY_LOCK)),
            ("select pg_advisory_xact_lock(1)", None),
            ("select pg_advisory_unlock(1)", None),
            ("select 'pg_advisory_lock(1)'", None),
            ("select pg_advisory_lock from t", None),
            ("select U&\"set\\005Fconfig\"('a.b', 'c', false)", Some("a name with Unicode escapes")),
            ("select u&\"set!005fconfig\" uescape '!' ('a.b', 'c', false)", Some("a name with Unicode escapes")),
            ("select setseed(0.5)", Some("the seed of random()")),
            ("select dblink_connect('a', 'b')", Some(DBLINK)),
            ("select pg_create_logical_replication_slot('a', 'b', temporary => true)", Some(REPLICATION_SLOT)),
            ("select pg_backup_start('a')", Some(BACKUP)),
            ("select set_config('timezone', 'UTC', false)", None),
            ("select set_config('app.user', $1, true)", None),
            ("select set_config('app.user', f(1, false), true)", None),
            ("select set_config('app.user', $1, false)", Some(SET_CONFIG)),
            ("select \"set_config\"('app.user', $1, false)", Some(SET_CONFIG)),
            ("explain (analyze) select set_config('app.user', $1, not true)", Some(SET_CONFIG)),
            ("select set_config('a.b', 'c', true), set_config('a.b', 'c', false)", Some(SET_CONFIG)),
            ("select set_config($1, $2, true)", Some(SET_CONFIG)),
        ] {
            assert_eq!(session_state_of(sql, reported), expected, "{sql}");
        }
    }

    #[test]
    fn what_discard_all_does_not_undo_is_found_behind_what_it_does() {
        for (sql, expected) in [
            ("create temp table t (n int); select setseed(0.5)", Some(SEED)),
            ("set seed to 0.5", Some(SEED)),
            ("begin; set local seed = 0.5", Some(SEED)),
            ("select set_config('seed', '0.5', true)", Some(SET_CONFIG)),
            ("select set_config($1, $2, true)", Some(SET_CONFIG)),
            ("update pg_settings set setting = '0.5' where name = 'seed'", Some(UPDATE_OF_SETTINGS)),
            ("prepare p as select dblink_connect('a', 'b')", Some(DBLINK)),
            ("select dblink_connect_u('a', 'b')", Some(DBLINK)),
            ("select pg_create_physical_replication_slot('a', true, true)", Some(REPLICATION_SLOT)),
            ("select pg_copy_logical_replication_slot('a', 'b', true)", Some(REPLICATION_SLOT)),
            ("select pg_replication_origin_session_setup('a')", Some(ORIGIN)),
            ("select pg_backup_start('a', true)", Some(BACKUP)),
            ("select pg_start_backup('a', true, false)", Some(BACKUP)),
            ("listen a; load 'auto_explain'", Some(LOAD)),
            ("do language plperl $$ $_SHARED{a} = 1 $$", Some(LASTING_BLOCK)),
            ("select u&\"setse!0065d\" uescape '!' (0.5)", Some(ESCAPED_NAME)),
            ("create temp table t (n int)", None),
            ("listen a", None),
            ("prepare p as select 1", None),
            ("declare c cursor with hold for select 1", None),
            ("select pg_advisory_lock(1)", None),
            ("set statement_timeout = 5", None),
            ("set search_path to pg_temp", None),
            ("select set_config('app.user', $1, false)", None),
            ("select set_limit(0.5)", None),
            ("do $$ begin perform 1; end $$", None),
        ] {
            assert_eq!(survives_discard(sql), expected, "{sql}");
            assert!(expected.is_none() || session_state_of(sql, reported).is_some(), "{sql}");
        }
    }

    #[test]
    fn a_search_path_with_the_temporary_schema_is_found() {
        for (sql, expected) in [
            ("set search_path to pg_temp, public", Some(PG_TEMP)),
            ("set search_path = a, \"pg_temp\"", Some(PG_TEMP)),
            ("set local search_path = PG_TEMP", Some(PG_TEMP)),
            ("set search_path = 'a', 'pg_temp'", Some(PG_TEMP)),
            ("set search_path = $$pg_temp$$", Some(PG_TEMP)),
            ("set search_path = E'pg\\x5ftemp'", Some(PG_TEMP)),
            ("set search_path = U&'pg!005ftemp' uescape '!'", Some(PG_TEMP)),
            ("set schema 'pg_temp'", Some(PG_TEMP)),
            ("set search_path to a, 'b', \"$user\"; select 'pg_temp'", None),
            ("set application_name = 'pg_temp'", None),
        ] {
            assert_eq!(session_state_of(sql, |_| true), expected, "{sql}");
        }
    }

    #[test]
    fn a_text_is_read_in_each_way() {
        for (sql, expected) in [
            ("select 'it\\'s'; set statement_timeout = 66; select 'x'", Some(SETTING)),
            ("select 'it\\'; set statement_timeout = 66; select 'x'", Some(SETTING)),
            ("select 'a\\' || pg_advisory_lock(1) || '", Some(ADVISORY_LOCK)),
            ("select 'a\\'' || pg_advisory_lock(1) || '", Some(ADVISORY_LOCK)),
            ("select e'\u{fffd}\\'; set statement_timeout = 67; select e'\u{fffd}\\'", Some(SETTING)),
            ("select e'Õ\\'; set statement_timeout = 67; select e'Õ\\'", Some(SETTING)),
            ("select '\u{fffd}\\', 'it\\'s'; set statement_timeout = 67; select '\u{fffd}\\'", Some(SETTING)),
            ("select 'C:\\dir\\', 'set a = b'", None),
            ("select e'é\\n', e'è\\'', 'set a = b'", None),
            ("select e'it\\'s; set statement_timeout = 66'", None),
        ] {
            assert_eq!(session_state_of(sql, reported), expected, "{sql}");
        }
    }

    #[test]
    fn what_follows_the_word_atomic_is_read() {
        for sql in [
            "select 1 as atomic; create temp table t (n int)",
            "create function f() returns int begin atomic select 1; end; create temp table t (n int)",
            "create procedure p() begin atomic select case 1 when 1 then 1 end; end; create temp table t ()",
        ] {
            assert_eq!(session_state_of(sql, reported), Some(TEMPORARY_TABLE), "{sql}");
        }
    }
}
