//! Whether the rows of an INSERT can be sent together without changing what the server makes of their values.
//!
//! A statement of one row refuses a value that does not fit, if the session's mode is strict. Of the rows of one statement
//! the server refuses only the first row's, and stores another value for those of later rows, where the mode is not
//! strict for the table: without `STRICT_ALL_TABLES` a table without transactions, and without a strict mode every table
//! (NULL for a column that is NOT NULL; MySQL: "Server SQL Modes"; MariaDB: "SQL_MODE"). The server is asked once for each
//! table, and again when the session may have changed what it answers.
//!
//! | the mode is strict | joined | in bulk |
//! |---|---|---|
//! | for the table | freely | freely |
//! | for no table | never | freely: each row is a statement of its own to the server there |
//! | not for this one, without transactions | never | strictly |
//! | not for this one, of the engine Aria | strictly | strictly |
//!
//! Strictly: with `STRICT_ALL_TABLES` as long as the batch lasts. The first row that is refused ends it then, as it would
//! alone, and which one it was is not known. Aria writes each statement to the disk: a row alone takes a millisecond, 60
//! times as long as one of many (60,000 rows, MariaDB 10.11).

use super::pending::Stage;
use super::reply::{Reply, ReplyKind};
use super::stage::RequestEvent;
use super::{Machine, MyHandler};
use crate::limits::TABLES_KNOWN;
use crate::packets::body::Body;
use crate::packets::reply::ServerError;
use crate::sql::{Table, TableChanges};
use headrace_core::{Epoch, Fatal, WriteBuffer};
use std::collections::BTreeMap;

/// Where the server stores another value than the one that it would refuse in a single row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leniency {
    /// Nowhere.
    #[default]
    Strict,
    /// In every table: the mode is not strict.
    OfMode,
    /// In this table, which has no transactions.
    OfTable,
    /// The same, and its engine is Aria.
    OfAria,
}

/// The row of an answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// Of one column.
    Word(Vec<u8>),
    /// Of SHOW CREATE TABLE: the name of the table comes before it.
    Definition(Vec<u8>),
    Unknown,
}

impl Answer {
    /// That in a row's packet.
    pub(super) fn of(payload: &[u8]) -> Self {
        let mut row = Body::new("row", payload);
        match (row.lenenc_bytes(), row.lenenc_bytes()) {
            (Ok(word), Err(_)) => Self::Word(word.to_vec()),
            (_, Ok(definition)) => Self::Definition(definition.to_vec()),
            _ => Self::Unknown,
        }
    }
}

/// What a server has answered so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The row of [`question`] or of [`MODES`]; `None` if there was none, or the question was refused.
    row: Option<Vec<u8>>,
    /// The text of SHOW CREATE TABLE; `None` if the server was not asked, or refused it.
    definition: Option<Vec<u8>>,
}

impl Said {
    fn leniency(&self) -> Leniency {
        // Without an answer nothing is known that speaks against sending rows together.
        let Some(row) = self.row.as_deref() else { return Leniency::Strict };
        let engine = match &self.definition {
            _ if is(row, MODE) => return Leniency::OfMode,
            _ if is(row, MODE_OF_ALL) => return Leniency::Strict,
            Some(definition) if is(row, MODE_OF_TRANSACTIONS) => engine(definition).unwrap_or_default(),
            None if is(row, MODE_OF_TRANSACTIONS) => return Leniency::Strict,
            _ => row,
        };
        match engine {
            engine if TRANSACTIONAL.iter().any(|other| is(engine, other)) => Leniency::Strict,
            engine if is(engine, ARIA) => Leniency::OfAria,
            // A view has none.
            _ => Leniency::OfTable,
        }
    }
}

fn is(text: &[u8], word: &str) -> bool {
    text.eq_ignore_ascii_case(word.as_bytes())
}

/// The engine in the text of SHOW CREATE TABLE, whose last line but for partitions begins with it: a line feed in a name or a
/// comment is written as an escape there.
fn engine(definition: &[u8]) -> Option<&[u8]> {
    const BEFORE: &[u8] = b"\n) ENGINE=";
    let start = definition.windows(BEFORE.len()).position(|window| window == BEFORE)? + BEFORE.len();
    let rest = &definition[start..];
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len());
    Some(&rest[..end])
}

/// How rows may be sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    Freely,
    /// While the mode is strict for every table: see [`STRICTLY`].
    Strictly,
    Never,
}

/// Makes the mode, which is strict for tables with transactions, strict for every table.
pub(super) const STRICTLY: &str =
    "SET sql_mode=REPLACE(@@sql_mode, 'STRICT_TRANS_TABLES', 'STRICT_TRANS_TABLES,STRICT_ALL_TABLES')";
/// Takes that back, also where it has failed.
pub(super) const AS_BEFORE: &str = "SET sql_mode=REPLACE(@@sql_mode, 'STRICT_ALL_TABLES', 'STRICT_TRANS_TABLES')";

const MODE: &str = "mode";
const MODE_OF_ALL: &str = "all";
const MODE_OF_TRANSACTIONS: &str = "transactional";
/// For which tables the mode is strict: [`MODE_OF_ALL`], [`MODE_OF_TRANSACTIONS`], or [`MODE`] for none.
const MODES: &str = "SELECT CASE WHEN FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) THEN 'all' \
                     WHEN FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode) THEN 'transactional' ELSE 'mode' END";
const ARIA: &str = "Aria";
/// Engines with transactions, to which the mode `STRICT_TRANS_TABLES` applies.
const TRANSACTIONAL: [&str; 4] = ["InnoDB", "ROCKSDB", "TokuDB", "ndbcluster"];

/// What the server has answered.
#[derive(Debug, Default)]
pub(super) struct Tables {
    known: BTreeMap<Table, Leniency>,
    epoch: Epoch,
    /// The session may have temporary tables.
    may_be_temporary: bool,
}

/// A query whose only row is [`MODE`], or the engine of a table without transactions; it has none if nothing is lenient. A
/// view counts as such a table: what is behind it is not known.
fn question(table: &Table) -> String {
    let literal = |text: &str| {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("_utf8mb4 x'{hex}'")
    };
    let schema = table.schema.as_deref().map_or_else(|| "DATABASE()".to_owned(), literal);
    let name = literal(&table.name);
    format!(
        "SELECT '{MODE}' FROM DUAL WHERE NOT FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) \
         AND NOT FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode) \
         UNION ALL SELECT COALESCE(e.ENGINE, 'VIEW') FROM information_schema.TABLES t \
         LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
         WHERE t.TABLE_SCHEMA = {schema} AND t.TABLE_NAME = {name} AND (e.TRANSACTIONS = 'NO' OR t.TABLE_TYPE = 'VIEW') \
         AND NOT FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) AND FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode)"
    )
}

/// Asks for the definition of what a name stands for in this session.
fn show_create(table: &Table) -> String {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let schema = table.schema.as_deref().map_or_else(String::new, |schema| format!("{}.", quoted(schema)));
    format!("SHOW CREATE TABLE {schema}{}", quoted(&table.name))
}

impl<H: MyHandler> Machine<H> {
    /// How rows may be sent together, in bulk or joined; `None` if the server has to be asked.
    pub(super) fn together(&mut self, table: &Table, in_bulk: bool) -> Option<Together> {
        if self.tables.epoch != self.statements.epoch() {
            self.tables.known.clear();
            self.tables.epoch = self.statements.epoch();
        }
        Some(match (self.tables.known.get(table)?, in_bulk) {
            (Leniency::Strict, _) | (Leniency::OfMode, true) => Together::Freely,
            (Leniency::OfAria, _) | (Leniency::OfTable, true) => Together::Strictly,
            (Leniency::OfMode | Leniency::OfTable, false) => Together::Never,
        })
    }

    /// Asks the server, before the request `at`, a batch, is begun.
    pub(super) fn ask_about_table(&mut self, at: usize, table: Table, write_buffer: &mut WriteBuffer) {
        let (question, definition) = (question(&table), show_create(&table));
        self.queue[at].go(RequestEvent::AskTable, Stage::Asking { table, said: Box::default() });
        if self.tables.may_be_temporary {
            // `information_schema.TABLES` has no temporary tables, which hide others of their name.
            self.own_query(MODES, ReplyKind::Table, write_buffer);
            self.own_query(&definition, ReplyKind::Table, write_buffer);
        } else {
            self.own_query(&question, ReplyKind::Table, write_buffer);
        }
    }

    /// An answer has a row.
    pub(super) fn note_table_row(&mut self, row: Answer) {
        if let Some(Stage::Asking { said, .. }) = self.queue.first_mut().map(|pending| pending.stage_mut()) {
            match row {
                Answer::Word(word) => said.row = Some(word),
                Answer::Definition(definition) => said.definition = Some(definition),
                Answer::Unknown => {}
            }
        }
    }

    /// A question was refused. What ends one before it is answered is not about the table: it was meant for the batch.
    pub(super) fn table_is_refused(&mut self, error: ServerError) {
        let Some(pending) = self.queue.first_mut().filter(|_| error.is_interruption()) else { return };
        pending.slot.fail(error);
    }

    /// One of the answers is complete, or was refused; after the last the batch, the only request that was started, begins.
    pub(super) fn table_is_known(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let pending = self.front()?;
        if pending.slot.failure.is_some() {
            if matches!(pending.stage(), Stage::Asking { .. }) {
                pending.go(RequestEvent::Interrupted, Stage::Sent);
            }
            return self.answered(cx);
        }
        self.expects.pop_front();
        self.reply = Reply::First;
        let pending = self.front()?;
        pending.replies_due -= 1;
        if pending.replies_due > 0 {
            return Ok(());
        }
        let Stage::Asking { table, said } = pending.stage_mut() else { return Ok(()) };
        let (table, answer) = (table.clone(), said.leniency());
        pending.go(RequestEvent::TableKnown, Stage::Queued);
        self.queue.unstart();
        if self.tables.known.len() >= TABLES_KNOWN {
            self.tables.known.clear();
        }
        self.tables.known.insert(table, answer);
        Ok(())
    }

    /// A text is sent, or answered, that may make another table of a name, which may be a temporary one.
    pub(super) fn tables_change(&mut self, changes: TableChanges) {
        if changes != TableChanges::None {
            self.tables.known.clear();
        }
        self.tables.may_be_temporary |= changes == TableChanges::Temporary;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_is_that_of_the_table_and_no_word_of_a_comment() {
        let said = |row: &str, definition: Option<&str>| Said {
            row: Some(row.as_bytes().to_vec()),
            definition: definition.map(|text| text.as_bytes().to_vec()),
        };
        let inno =
            "CREATE TABLE `t` (\n  `a` int COMMENT '\\n) ENGINE=MyISAM'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        let memory = "CREATE TEMPORARY TABLE `t` (\n  `a` int\n) ENGINE=MEMORY DEFAULT CHARSET=utf8mb4";
        let aria = "CREATE TABLE `t` (\n  `a` int\n) ENGINE=Aria";
        for (row, definition, expected) in [
            ("all", Some(memory), Leniency::Strict),
            ("mode", Some(inno), Leniency::OfMode),
            ("mode", None, Leniency::OfMode),
            ("MyISAM", None, Leniency::OfTable),
            ("Aria", None, Leniency::OfAria),
            ("transactional", Some(inno), Leniency::Strict),
            ("transactional", Some(memory), Leniency::OfTable),
            ("transactional", Some(aria), Leniency::OfAria),
            ("transactional", Some("CREATE VIEW `v` AS select 1"), Leniency::OfTable),
            ("transactional", None, Leniency::Strict),
        ] {
            assert_eq!(said(row, definition).leniency(), expected, "{row} {definition:?}");
        }
        assert_eq!(Said::default().leniency(), Leniency::Strict);
        let table = Table { schema: Some("a`b".into()), name: "c".into() };
        assert_eq!(show_create(&table), "SHOW CREATE TABLE `a``b`.`c`");
    }
}
