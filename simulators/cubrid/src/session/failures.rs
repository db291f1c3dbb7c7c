//! SQLite's refusals, as CUBRID's errors.

use headrace_simulator_common::sqlite::Failure;
use rusqlite::ffi;

use super::CasSession;
use crate::errors::Error;
use crate::sql::ast::{KeyKind, Table};
use crate::sql::{Write, quote};

/// Masks of identifiers that only a genuine server has.
const PLACE: &str = "(B+tree: 0|4096|4097)";
const CLASS: &str = "(CLASS_OID: 0|207|3)";
const ROW: &str = "(OID: 0|4161|3)";

impl CasSession {
    /// CUBRID's error for a failure of SQLite.
    pub(super) fn failure(
        &self,
        error: rusqlite::Error,
        write: Option<&Write>,
        values: &[rusqlite::types::Value],
    ) -> Error {
        let failure = Failure::from(error);
        if let Some(error) = Error::from_sqlite_text(&failure.message) {
            return error;
        }
        let table = write.and_then(|write| self.table_of(&write.table));
        match failure.code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
                self.duplicate(&failure.message, write, values)
            }
            ffi::SQLITE_CONSTRAINT_NOTNULL => Error::server(-631, "SQL statement violated NOT NULL constraint."),
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY | ffi::SQLITE_CONSTRAINT_TRIGGER => {
                foreign(table.as_deref(), write, values, self)
            }
            ffi::SQLITE_INTERRUPT => Error::interrupted(),
            ffi::SQLITE_BUSY_SNAPSHOT => self.deadlock(),
            code if code & 0xff == ffi::SQLITE_BUSY || code & 0xff == ffi::SQLITE_LOCKED => self.lock_timeout_error(),
            _ if failure.message.contains("integer overflow") => {
                Error::server(-458, "Overflow occurred in addition context.")
            }
            _ => {
                if self.server.config.trace {
                    eprintln!("{} ! SQLite: {}", self.number, failure.message);
                }
                Error::semantic("System error -- this statement is not supported by the test server. ")
            }
        }
    }

    /// -72, after which the transaction is gone.
    pub(super) fn deadlock(&self) -> Error {
        let who = format!("{}@localhost|{}", self.state.user, self.server.broker.pid(self.place));
        let text =
            format!("Your transaction (index {}, {who}) has been unilaterally aborted by the system.", self.place + 1);
        Error::server(-72, text)
    }

    fn lock_timeout_error(&self) -> Error {
        let who = format!("{}@localhost|{}", self.state.user, self.server.broker.pid(self.place));
        Error::server(
            -75,
            format!(
                "Your transaction (index {}, {who}) timed out waiting on X_LOCK lock on instance 0|4161|3 of class \
                 dba.table. You are waiting for user(s) DBA@localhost to finish.",
                self.place + 1
            ),
        )
    }

    fn duplicate(&self, message: &str, write: Option<&Write>, values: &[rusqlite::types::Value]) -> Error {
        let list = message.split_once(": ").map_or("", |(_, list)| list);
        let columns: Vec<&str> =
            list.split(", ").filter_map(|item| item.rsplit_once('.')).map(|(_, name)| name).collect();
        let name = list.split_once('.').map_or("", |(table, _)| table).trim_start_matches("t ");
        let table = self.table_of(name);
        let key = table.as_ref().and_then(|table| {
            table.keys.iter().find(|key| {
                matches!(key.kind, KeyKind::Primary | KeyKind::Unique)
                    && key.columns.iter().map(|(column, _)| column.as_str()).eq(columns.iter().copied())
            })
        });
        let index = key.map_or("unknown", |key| &key.name);
        let shown =
            write.and_then(|write| self.key_value(write, &columns, values)).unwrap_or_else(|| "*UNKNOWN-KEY*".into());
        Error::server(
            -670,
            format!(
                "Operation would have caused one or more unique constraint violations. INDEX {index}{PLACE} ON CLASS \
                 dba.{name}{CLASS}. key: {shown}{ROW}."
            ),
        )
    }

    /// The values of a key in the row that was to be inserted.
    fn key_value(&self, write: &Write, columns: &[&str], values: &[rusqlite::types::Value]) -> Option<String> {
        let mut shown = Vec::new();
        for column in columns {
            let (_, sql) = write.row.iter().find(|(name, _)| name == column)?;
            if sql.contains("cub_auto") && !sql.starts_with("coalesce(") {
                return None;
            }
            let mut statement = self.connection.prepare(&format!("SELECT {sql} AS {}", quote(column))).ok()?;
            for index in 1..=statement.parameter_count() {
                statement.raw_bind_parameter(index, values.get(index - 1)?).ok()?;
            }
            let value: rusqlite::types::Value = statement.raw_query().next().ok()??.get(0).ok()?;
            shown.push(match value {
                rusqlite::types::Value::Text(text) => {
                    let table = self.table_of(&write.table)?;
                    let ty = &table.columns.iter().find(|it| it.name == *column)?.ty;
                    if ty.is_text() { format!("'{text}'") } else { text }
                }
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Real(number) => number.to_string(),
                _ => return None,
            });
        }
        Some(if shown.len() == 1 { shown.remove(0) } else { format!("{{{}}}", shown.join(", ")) })
    }
}

/// A foreign key that is violated. SQLite does not name it: a table's own one is known if it is the only one.
fn foreign(
    table: Option<&Table>,
    write: Option<&Write>,
    values: &[rusqlite::types::Value],
    session: &CasSession,
) -> Error {
    let own = table.and_then(|table| table.keys.iter().find(|key| key.kind == KeyKind::Foreign));
    let deleting = write.is_some_and(|write| write.deletes);
    match (own, deleting) {
        (Some(key), false) => {
            let columns: Vec<&str> = key.columns.iter().map(|(name, _)| name.as_str()).collect();
            let value = write.and_then(|write| session.key_value(write, &columns, values));
            let value = value.unwrap_or_else(|| "*UNKNOWN-KEY*".into());
            let text = format!("The constraint of the foreign key '{}' is invalid, due to value '{value}'.", key.name);
            Error::server(-922, text)
        }
        _ => {
            let name = write.and_then(|write| session.referring(&write.table, |_| true)).unwrap_or_default();
            Error::server(-924, format!("Update/Delete operations are restricted by the foreign key '{name}'."))
        }
    }
}
