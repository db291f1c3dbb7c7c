//! Whether the rows of an INSERT can be joined without changing what the server makes of their values.
//!
//! A statement of one row refuses a value that does not fit, if the session's mode is strict. Of the rows of one statement
//! the server refuses only the first row's, and stores another value for those of later rows, where the mode is not
//! strict for the table: without `STRICT_ALL_TABLES` a table without transactions, and without a strict mode every table
//! (NULL for a column that is NOT NULL; MySQL: "Server SQL Modes"; MariaDB: "SQL_MODE"). There the rows are sent one by
//! one. Not into a table of the engine Aria, which writes each statement to the disk: a row alone takes a millisecond, 60
//! times as long as one of many (60,000 rows, MariaDB 10.11). The server is asked once for each table, and again when the
//! session may have changed what it answers.

use super::pending::Stage;
use super::reply::{Kind, Reply};
use super::stage::Event;
use super::{Machine, MyHandler};
use crate::limits::TABLES_KNOWN;
use crate::sql::Table;
use headrace_core::{Epoch, Fatal, WriteBuffer};
use std::collections::BTreeMap;

/// What the server has answered.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Whether rows can be joined, by the table.
    joins: BTreeMap<Table, bool>,
    epoch: Epoch,
}

/// A query that has a row if the rows of a statement into the table cannot be joined.
fn question(table: &Table) -> String {
    let literal = |text: &str| {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("_utf8mb4 x'{hex}'")
    };
    let schema = table.schema.as_deref().map_or_else(|| "DATABASE()".to_owned(), literal);
    let name = literal(&table.name);
    format!(
        "SELECT 1 FROM DUAL WHERE NOT (FIND_IN_SET('STRICT_ALL_TABLES', @@sql_mode) \
         OR (FIND_IN_SET('STRICT_TRANS_TABLES', @@sql_mode) AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES t \
         JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
         WHERE t.TABLE_SCHEMA = {schema} AND t.TABLE_NAME = {name} AND e.TRANSACTIONS = 'NO' AND e.ENGINE <> 'Aria')))"
    )
}

impl<H: MyHandler> Machine<H> {
    /// Returns true if rows can be joined into statements of many; `None` if the server has to be asked.
    pub(super) fn joins(&mut self, table: &Table) -> Option<bool> {
        if self.tables.epoch != self.statements.epoch() {
            self.tables = Tables { joins: BTreeMap::new(), epoch: self.statements.epoch() };
        }
        self.tables.joins.get(table).copied()
    }

    /// Asks the server, before the request `at`, a batch, is begun.
    pub(super) fn ask_about_table(&mut self, at: usize, table: Table, write_buffer: &mut WriteBuffer) {
        let sql = question(&table);
        self.queue[at].go(Event::AskTable, Stage::Asking { table, joins: true });
        self.own_query(&sql, Kind::Table, write_buffer);
    }

    /// The answer has a row.
    pub(super) fn note_table_row(&mut self) {
        if let Some(Stage::Asking { joins, .. }) = self.queue.first_mut().map(|pending| pending.stage_mut()) {
            *joins = false;
        }
    }

    /// The answer is complete, or was refused, in which case nothing is known that speaks against joining: the batch, the
    /// only request that was started, begins.
    pub(super) fn table_is_known(&mut self) -> Result<(), Fatal> {
        self.expects.pop_front();
        self.reply = Reply::First;
        let pending = self.front()?;
        pending.replies_due = 0;
        let Stage::Asking { table, joins } = pending.stage_mut() else { return Ok(()) };
        let (table, joins) = (table.clone(), *joins);
        pending.go(Event::TableKnown, Stage::Queued);
        self.queue.unstart();
        if self.tables.joins.len() >= TABLES_KNOWN {
            self.tables.joins.clear();
        }
        self.tables.joins.insert(table, joins);
        Ok(())
    }
}
