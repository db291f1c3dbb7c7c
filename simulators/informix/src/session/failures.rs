//! SQLite's refusals, as the codes that clients expect.

use rusqlite::ffi;

use crate::database::Open;
use crate::engine::Failure;
use crate::errors::SqlError;

/// The constraint or index that a list of `table.column` names belongs to.
fn duplicate(open: &Open, message: &str) -> SqlError {
    let list = message.split_once(": ").map_or("", |(_, list)| list);
    let mut table = "";
    let mut columns = Vec::new();
    for item in list.split(", ") {
        if let Some((owner, column)) = item.rsplit_once('.') {
            table = owner;
            columns.push(column);
        }
    }
    // A second index keeps NULLs distinct; it is identified by its name alone.
    if let Some(name) = list.strip_prefix("index 'ix ").and_then(|name| name.strip_suffix(":null'")) {
        let table = open.table_of_key(name);
        return match open.constraint_named(name) {
            true => SqlError::isam(-268, -100, format!("informix.{name}")),
            false => SqlError::isam(-239, -100, table),
        };
    }
    match open.constraint(table, &columns.join(",")) {
        Some(name) => SqlError::isam(-268, -100, format!("informix.{name}")),
        None => SqlError::isam(-239, -100, table),
    }
}

/// A violated foreign key. SQLite does not name it: the table's own one is known if it is the only one.
fn foreign(open: &Open, table: &str, deleting: bool) -> SqlError {
    if table.is_empty() {
        // Found at the end of a transaction, for all that it did.
        return SqlError::isam(-691, -111, "");
    }
    let own = open.constraints_of(table, 'R');
    if deleting || own.is_empty() {
        let key = open.constraints_of(table, 'P').pop().unwrap_or_else(|| format!("r_{table}"));
        return SqlError::new(-692, format!("informix.{key}"));
    }
    let name = if let [only] = &own[..] { only.clone() } else { format!("r_{table}") };
    SqlError::isam(-691, -111, format!("informix.{name}"))
}

/// An Informix error for a failure of SQLite; `table` is the one that was to change.
pub fn translate(open: &Open, failure: &Failure, table: &str, deleting: bool, waited: bool) -> SqlError {
    if let Some(error) = SqlError::from_sqlite_text(&failure.message) {
        return error;
    }
    let detail = failure.message.split_once(": ").map_or("", |(_, detail)| detail);
    match failure.code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => duplicate(open, &failure.message),
        // A primary key without an explicit NOT NULL has an error of its own.
        ffi::SQLITE_CONSTRAINT_NOTNULL if open.only_key(detail) => SqlError::new(-703, table),
        ffi::SQLITE_CONSTRAINT_NOTNULL => SqlError::new(-391, detail),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => foreign(open, table, deleting),
        ffi::SQLITE_CONSTRAINT_CHECK => SqlError::new(-530, format!("informix.{detail}")),
        ffi::SQLITE_INTERRUPT => SqlError::new(-213, ""),
        ffi::SQLITE_BUSY_SNAPSHOT => SqlError::isam(-244, -143, table),
        code if code & 0xff == ffi::SQLITE_BUSY || code & 0xff == ffi::SQLITE_LOCKED => {
            SqlError::isam(-244, if waited { -154 } else { -107 }, table)
        }
        _ if failure.message.contains("already exists") => {
            let name = failure.message.split_whitespace().nth(1).unwrap_or_default().trim_matches('"');
            if failure.message.starts_with("index") { SqlError::new(-316, name) } else { SqlError::new(-310, name) }
        }
        _ if failure.message.starts_with("no such index") => SqlError::new(-319, detail.trim_start_matches("ix ")),
        _ if failure.message.starts_with("misuse of aggregate") => SqlError::new(-294, ""),
        ffi::SQLITE_FULL => SqlError::isam(-271, -131, table),
        // SQLite's message is about translated SQL.
        _ if failure.message.contains("because it is a view") => SqlError::unsupported("a change of a view's rows"),
        _ if failure.message.starts_with("Expression tree is too large") => {
            SqlError::unsupported("an expression as long as this")
        }
        _ if open.state.trace => {
            eprintln!("{} ! SQLite: {}", open.state.session, failure.message);
            SqlError::unsupported("this statement")
        }
        _ => SqlError::unsupported("this statement"),
    }
}
