//! Whether a statement may change the meaning of names and literals in other statements.
//!
//! A prepared statement keeps the schema, the SQL mode, the character set and other settings of the time when it was
//! prepared (MariaDB 10.11, MySQL 8.0 and 9.7: executed after `USE b` it reads `a.t`, after `SET sql_mode =
//! 'ANSI_QUOTES'` it returns `"v"` as text; MySQL also keeps `lc_time_names`, `div_precision_increment`,
//! `group_concat_max_len` and `default_week_format`). So a statement that may change one of them invalidates every
//! statement that was prepared before it.
//!
//! A procedure restores the schema, the SQL mode and the character set at its end, so CALL is not among them.

use super::is_one_of;
use super::lexer::{Lexer, Modes};
use headrace_core::token::TokenKind;
use headrace_core::words::keeps_transaction;

/// Variables that change nothing a statement is prepared by.
const HARMLESS: [&str; 17] = [
    "autocommit",
    "transaction",
    "tx_isolation",
    "transaction_isolation",
    "tx_read_only",
    "transaction_read_only",
    "timestamp",
    "insert_id",
    "last_insert_id",
    "foreign_key_checks",
    "unique_checks",
    "sql_log_bin",
    "lock_wait_timeout",
    "innodb_lock_wait_timeout",
    "max_statement_time",
    "max_execution_time",
    "wait_timeout",
];
/// Words that, in one statement among several, or in a comment that some versions execute, may begin a statement that
/// changes the session.
const SUSPICIOUS: [&str; 4] = ["use", "set", "execute", "drop"];

/// Returns true if a system variable changes nothing a statement is prepared by.
pub fn is_harmless_variable(name: &str) -> bool {
    is_one_of(name, &HARMLESS)
}

/// Returns true if a text may change the meaning of other statements; `several` indicates whether the server accepts
/// more than one statement in it. Does not depend on the SQL mode, which requests in flight may be changing.
pub fn changes_session(sql: &str, several: bool) -> bool {
    let mut lexer = Lexer::new(sql, Modes::default());
    let Some(first) = lexer.next() else { return false };
    let conditional = lexer.is_uncertain();
    if conditional || is_several(sql, several) {
        return words(sql).any(|word| is_one_of(word, &SUSPICIOUS));
    }
    if is_one_of(first.text, &["select", "insert", "update", "delete"]) {
        return false;
    }
    // MariaDB's compound statements begin with a label, or with one of these.
    let verb = first.text.to_ascii_lowercase();
    let mut word = || lexer.next().map_or("", |token| token.text);
    match verb.as_str() {
        "use" | "execute" | "if" | "case" | "loop" | "repeat" | "while" | "for" => true,
        "begin" => word().eq_ignore_ascii_case("not"),
        "drop" | "alter" => is_one_of(word(), &["database", "schema"]),
        "set" => sets_more_than_harmless(sql, lexer),
        _ => first.kind == TokenKind::Word && word() == ":",
    }
}

/// Returns true if SET, whose tokens are left in `lexer`, assigns anything but user variables and harmless ones.
fn sets_more_than_harmless(sql: &str, mut lexer: Lexer<'_>) -> bool {
    if sql.contains('\\') {
        // The end of a string depends on the SQL mode.
        return true;
    }
    let (mut depth, mut at_target, mut ats) = (0i32, true, 0);
    for token in lexer.by_ref() {
        let text = token.text;
        match token.kind {
            TokenKind::Punctuation(b'(') => depth += 1,
            TokenKind::Punctuation(b')') => depth -= 1,
            TokenKind::Punctuation(b',') if depth == 0 => (at_target, ats) = (true, 0),
            TokenKind::Punctuation(b'@') if at_target => ats += 1,
            TokenKind::Punctuation(b'.') if at_target => {}
            TokenKind::Word | TokenKind::Quoted if at_target => {
                let scope = ats != 1 && is_one_of(text, &["session", "local"]);
                if text.eq_ignore_ascii_case("statement") {
                    // MariaDB's SET STATEMENT ... FOR is for the statement in it alone.
                    return words(sql).any(|word| is_one_of(word, &["use", "execute"]));
                }
                if ats != 1 && !scope && !is_harmless_variable(text) {
                    return true;
                }
                at_target = scope;
            }
            _ => at_target = false,
        }
    }
    lexer.is_uncertain()
}

/// The effect of a text on the tables that the session has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLocks {
    /// It may lock tables: LOCK TABLES, FLUSH TABLES WITH READ LOCK or FOR EXPORT.
    MayLock,
    /// UNLOCK TABLES.
    Unlocks,
    /// Neither.
    Keeps,
}

/// What a text may do to the tables that the session has locked; `several` indicates whether the server accepts more
/// than one statement in it.
pub fn table_locks(sql: &str, several: bool) -> TableLocks {
    if only_reads_or_writes(sql, several) {
        return TableLocks::Keeps;
    }
    if verb(sql).is_some_and(|verb| verb.eq_ignore_ascii_case("unlock")) && !is_several(sql, several) {
        return TableLocks::Unlocks;
    }
    let may_lock = words(sql).any(|word| is_one_of(word, &["lock", "export"]));
    if may_lock { TableLocks::MayLock } else { TableLocks::Keeps }
}

/// Returns true if a text may change the role of the session: SET ROLE, a procedure, or a text that is not in this one.
/// `several` indicates whether the server accepts more than one statement in it.
pub fn may_change_role(sql: &str, several: bool) -> bool {
    if only_reads_or_writes(sql, several) {
        return false;
    }
    words(sql).any(|word| is_one_of(word, &["role", "authorization", "execute", "call"]))
}

/// Returns true if a text may decide what the next transaction is like, and that one alone: SET TRANSACTION without a
/// scope, `SET @@transaction_isolation`, a procedure, or a text that is not in this one. `several` indicates whether the
/// server accepts more than one statement in it.
pub fn may_set_next_transaction(sql: &str, several: bool) -> bool {
    const CHARACTERISTICS: [&str; 5] =
        ["transaction", "tx_isolation", "transaction_isolation", "tx_read_only", "transaction_read_only"];
    if only_reads_or_writes(sql, several) {
        return false;
    }
    words(sql).any(|word| is_one_of(word, &["execute", "call"]))
        || (words(sql).any(|word| word.eq_ignore_ascii_case("set"))
            && words(sql).any(|word| is_one_of(word, &CHARACTERISTICS)))
}

/// The effect of a text on the tables that names stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableChanges {
    /// None, as far as it shows.
    None,
    /// It may make another table of a name, or give a table another engine.
    Any,
    /// The same, and the table may be a temporary one: CREATE TEMPORARY TABLE, a procedure, or a text that is not in this one.
    Temporary,
}

/// What a text may do to the tables that names stand for; `several` indicates whether the server accepts more than one
/// statement in it.
pub fn table_changes(sql: &str, several: bool) -> TableChanges {
    if only_reads_or_writes(sql, several) {
        return TableChanges::None;
    }
    if words(sql).any(|word| is_one_of(word, &["temporary", "call", "execute"])) {
        return TableChanges::Temporary;
    }
    let changes = words(sql).any(|word| is_one_of(word, &["create", "alter", "drop", "rename"]));
    if changes { TableChanges::Any } else { TableChanges::None }
}

/// What a text may change of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The meaning of other statements: see [`changes_session`].
    pub meaning: bool,
    /// See [`may_change_role`].
    pub role: bool,
    /// See [`may_set_next_transaction`].
    pub next_transaction: bool,
    /// See [`table_locks`].
    pub locks: TableLocks,
    /// See [`table_changes`].
    pub tables: TableChanges,
}

impl Changes {
    /// None.
    pub const NONE: Self = Self {
        meaning: false,
        role: false,
        next_transaction: false,
        locks: TableLocks::Keeps,
        tables: TableChanges::None,
    };

    /// Those of a text; `several` indicates whether the server accepts more than one statement in it.
    pub fn of(sql: &str, several: bool) -> Self {
        if only_reads_or_writes(sql, several) {
            return Self::NONE;
        }
        Self {
            meaning: changes_session(sql, several),
            role: may_change_role(sql, several),
            next_transaction: may_set_next_transaction(sql, several),
            locks: table_locks(sql, several),
            tables: table_changes(sql, several),
        }
    }
}

/// What the machine reads in the text of a statement: read once for each text where it is kept, or else for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The server accepts several statements in one text.
    pub several: bool,
    /// What it may change of its session.
    pub changes: Changes,
    /// It is one statement that neither begins nor ends a transaction: see [`keeps_transaction`].
    pub keeps_transaction: bool,
}

impl Facts {
    /// Those of a request without a text.
    pub const NONE: Self = Self { several: false, changes: Changes::NONE, keeps_transaction: true };

    /// Those of a text; `several` indicates whether the server accepts more than one statement in it.
    pub fn of(sql: &str, several: bool) -> Self {
        Self { several, changes: Changes::of(sql, several), keeps_transaction: keeps_transaction(sql) }
    }
}

/// Verbs of statements that change nothing of the session.
const READS_OR_WRITES: [&str; 6] = ["select", "insert", "update", "delete", "replace", "with"];

/// Returns true if a text is one statement that reads or writes rows: it locks no tables by name, changes no role, and
/// decides nothing for the next transaction. Asked first, it spares those three questions; a large INSERT
/// is not searched. `several` indicates whether the server accepts more than one statement in the text.
pub fn only_reads_or_writes(sql: &str, several: bool) -> bool {
    verb(sql).is_some_and(|verb| is_one_of(verb, &READS_OR_WRITES)) && !is_several(sql, several)
}

/// The word that a statement begins with, past parentheses and comments, whose words are none of the statement's; `None`
/// if there is none, or if a comment comes before it that some versions execute.
pub(crate) fn verb(sql: &str) -> Option<&str> {
    let plain = sql.trim_ascii_start();
    if plain.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        return Some(&plain[..plain.bytes().position(|byte| !is_part(&byte)).unwrap_or(plain.len())]);
    }
    let mut lexer = Lexer::new(sql, Modes::default());
    let first = lexer.by_ref().find(|token| !token.is_punctuation(b'('))?;
    (!lexer.is_uncertain()).then_some(first.text)
}

/// Returns true if a text may have more than one statement, if the server accepts `several`.
fn is_several(sql: &str, several: bool) -> bool {
    several && sql.trim_end_matches([';', ' ', '\t', '\r', '\n']).contains(';')
}

/// The words of a text, wherever they are.
pub(crate) fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_or_writes_changes_nothing() {
        for verb in READS_OR_WRITES {
            for sql in [format!("{verb} 1"), format!(" /* x */ ({verb} use b)"), format!("{verb} `set`; use b")] {
                assert_eq!(Changes::of(&sql, false), Changes::NONE, "{sql}");
                assert!(!changes_session(&sql, false), "{sql}");
            }
        }
        let changes = Changes::of("lock tables t read", false);
        assert_eq!(changes, Changes { locks: TableLocks::MayLock, ..Changes::NONE });
        assert!(Changes::of("select 1; set role r", true).role && Changes::of("use b", false).meaning);
    }

    #[test]
    fn what_may_change_the_session() {
        for sql in [
            "use b",
            "USE `b`",
            " /* x */ -- y\n use b",
            "# c\nuse b",
            "/*!40101 SET NAMES utf8 */",
            "/*!99999 select */ use b",
            "set names latin1",
            "SET @@session.sql_mode = ''",
            "set session sql_mode = ''",
            "set @a = 1, sql_mode = ''",
            "set @a = (1, 2), @@sql_mode = ''",
            "set autocommit = 1, `sql_mode` = ''",
            "set @a = 'x\\', sql_mode = '",
            "set role r",
            "set character set utf8mb4",
            "set global sql_mode = ''",
            "execute immediate 'use b'",
            "execute s",
            "begin not atomic set sql_mode = ''; end",
            "if 1 then set sql_mode = ''; end if",
            "l: loop leave l; end loop",
            "drop database a",
            "drop schema if exists a",
            "alter database a character set latin1",
            "set statement max_statement_time = 1 for execute s",
        ] {
            assert!(changes_session(sql, false), "{sql}");
        }
        for sql in ["select 1; use b", "insert into t values (1); set sql_mode = ''", "call p(); execute s"] {
            assert!(changes_session(sql, true), "{sql}");
        }
    }

    #[test]
    fn what_locks_tables() {
        for (sql, several, wanted) in [
            ("lock tables t read", false, TableLocks::MayLock),
            ("/* x */ LOCK TABLE t WRITE", false, TableLocks::MayLock),
            ("flush tables with read lock", false, TableLocks::MayLock),
            ("flush table t for export", false, TableLocks::MayLock),
            ("execute immediate 'lock tables t read'", false, TableLocks::MayLock),
            ("select 1; lock tables t read", true, TableLocks::MayLock),
            ("select 1; lock tables t read", false, TableLocks::Keeps),
            ("select * from t for update lock in share mode", false, TableLocks::Keeps),
            ("flush status", false, TableLocks::Keeps),
            ("UNLOCK TABLES", false, TableLocks::Unlocks),
            ("unlock tables; lock tables t read", true, TableLocks::MayLock),
            ("-- x\nUNLOCK TABLES", false, TableLocks::Unlocks),
            ("/* select */ lock tables t read", false, TableLocks::MayLock),
            ("# update\nlock tables t read", false, TableLocks::MayLock),
            ("/*! lock tables t read */", false, TableLocks::MayLock),
            ("/*!99999 select */ lock tables t read", false, TableLocks::MayLock),
            ("/* x */ select * from t for update lock in share mode", false, TableLocks::Keeps),
            ("((select 1) union (select lock_name from t))", false, TableLocks::Keeps),
        ] {
            assert_eq!(table_locks(sql, several), wanted, "{sql}");
        }
    }

    #[test]
    fn what_may_change_tables() {
        use TableChanges::{Any, None, Temporary};
        for (sql, several, expected) in [
            ("alter table t engine = MyISAM", false, Any),
            ("/* x */ DROP TABLE t", false, Any),
            ("rename table a to b", false, Any),
            ("create temporary table t (n int)", false, Temporary),
            ("call p()", false, Temporary),
            ("execute immediate 'x'", false, Temporary),
            ("select 1; drop table t", true, Any),
            ("select 1; drop table t", false, None),
            ("insert into t values ('drop')", false, None),
            ("set @a = 1", false, None),
            ("truncate t", false, None),
        ] {
            assert_eq!(table_changes(sql, several), expected, "{sql}");
        }
    }

    #[test]
    fn what_may_decide_the_next_transaction() {
        for sql in ["set transaction read only", "/* x */ SET @@tx_isolation = 'serializable'", "call p()", "execute s"]
        {
            assert!(may_set_next_transaction(sql, false), "{sql}");
        }
        assert!(may_set_next_transaction("select 1; set transaction read only", true));
        assert!(may_set_next_transaction("/* insert into t */ set transaction read only", false));
        for sql in ["start transaction", "set autocommit = 1", "insert into t values ('set transaction')", "commit"] {
            assert!(!may_set_next_transaction(sql, false), "{sql}");
        }
    }

    #[test]
    fn what_may_change_the_role() {
        for sql in ["set role r", "CALL p()", "execute s", "execute immediate 'set role r'"] {
            assert!(may_change_role(sql, false), "{sql}");
        }
        assert!(may_change_role("select 1; set role r", true));
        assert!(may_change_role("/* select the role */ set role r", false));
        for sql in ["select role from t", "set @a = 1", "insert into role values (1)"] {
            assert!(!may_change_role(sql, false), "{sql}");
        }
    }

    #[test]
    fn what_changes_nothing() {
        for sql in [
            "",
            ";",
            "select 1",
            "(select 1)",
            "select * from used",
            "update t set a = 1",
            "set @a = 1",
            "set @a = 1, @b = (select 2, 3), @c := 4",
            "set @`use` = 1",
            "SET autocommit=0",
            "set @@session.autocommit = 1",
            "set session transaction isolation level read committed",
            "SET TRANSACTION READ ONLY",
            "set local tx_isolation = 'serializable'",
            "begin",
            "begin work",
            "drop table t",
            "alter table t add n int",
            "call p()",
            "set statement max_statement_time = 1 for select 1",
            "select ';use b'",
        ] {
            assert!(!changes_session(sql, false), "{sql}");
        }
        for sql in ["select 1;", "select 1; select 2", "update t set a = 1 ; \n"] {
            assert!(!changes_session(sql, true), "{sql}");
        }
    }
}
