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
use super::reply::{Kind, Reply};
use super::stage::Event;
use super::{Machine, MyHandler};
use crate::limits::TABLES_KNOWN;
use crate::sql::Table;
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

impl Leniency {
    /// What a row of the answer says: its packet, of one short text.
    pub(super) fn of(payload: &[u8]) -> Self {
        match payload.get(1..).unwrap_or_default() {
            text if text == MODE.as_bytes() => Self::OfMode,
            text if text.eq_ignore_ascii_case(ARIA.as_bytes()) => Self::OfAria,
            _ => Self::OfTable,
        }
    }
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
const ARIA: &str = "Aria";

/// What the server has answered.
#[derive(Debug, Default)]
pub(super) struct Tables {
    known: BTreeMap<Table, Leniency>,
    epoch: Epoch,
}

/// A query whose only row is [`MODE`], or the engine of a table without transactions; it has none if nothing is lenient.
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
         UNION ALL SELECT e.ENGINE FROM information_schema.TABLES t \
         JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
         WHERE t.TABLE_SCHEMA = {schema} AND t.TABLE_NAME = {name} AND e.TRANSACTIONS = 'NO' \
         AND NOT FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) AND FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode)"
    )
}

impl<H: MyHandler> Machine<H> {
    /// How rows may be sent together, in bulk or joined; `None` if the server has to be asked.
    pub(super) fn together(&mut self, table: &Table, in_bulk: bool) -> Option<Together> {
        if self.tables.epoch != self.statements.epoch() {
            self.tables = Tables { known: BTreeMap::new(), epoch: self.statements.epoch() };
        }
        Some(match (self.tables.known.get(table)?, in_bulk) {
            (Leniency::Strict, _) | (Leniency::OfMode, true) => Together::Freely,
            (Leniency::OfAria, _) | (Leniency::OfTable, true) => Together::Strictly,
            (Leniency::OfMode | Leniency::OfTable, false) => Together::Never,
        })
    }

    /// Asks the server, before the request `at`, a batch, is begun.
    pub(super) fn ask_about_table(&mut self, at: usize, table: Table, write_buffer: &mut WriteBuffer) {
        let sql = question(&table);
        self.queue[at].go(Event::AskTable, Stage::Asking { table, answer: Leniency::Strict });
        self.own_query(&sql, Kind::Table, write_buffer);
    }

    /// The answer has a row, which says this.
    pub(super) fn note_table_row(&mut self, said: Leniency) {
        if let Some(Stage::Asking { answer, .. }) = self.queue.first_mut().map(|pending| pending.stage_mut()) {
            *answer = said;
        }
    }

    /// The answer is complete, or was refused, in which case nothing is known that speaks against sending rows together:
    /// the batch, the only request that was started, begins.
    pub(super) fn table_is_known(&mut self) -> Result<(), Fatal> {
        self.expects.pop_front();
        self.reply = Reply::First;
        let pending = self.front()?;
        pending.replies_due = 0;
        let Stage::Asking { table, answer } = pending.stage_mut() else { return Ok(()) };
        let (table, answer) = (table.clone(), *answer);
        pending.go(Event::TableKnown, Stage::Queued);
        self.queue.unstart();
        if self.tables.known.len() >= TABLES_KNOWN {
            self.tables.known.clear();
        }
        self.tables.known.insert(table, answer);
        Ok(())
    }
}
