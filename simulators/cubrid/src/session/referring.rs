//! Tables that refer to one that is changed.

use super::CasSession;
use crate::catalog;
use crate::errors::Result;
use crate::sql::ast::{Key, Table};
use crate::sql::{quote, table as in_sqlite};

impl CasSession {
    /// Makes a table again: `values` are the columns with their values in SQLite's SQL, of the old one.
    ///
    /// The rows are inserted under the table's own name: SQLite then finds those that rows of other tables refer to.
    pub(super) fn rebuild(&self, table: &Table, values: &[(String, String)]) -> Result<()> {
        let own: Vec<(String, String)> = match values {
            [] => table.columns.iter().map(|column| (column.name.clone(), quote(&column.name))).collect(),
            values => values.to_vec(),
        };
        let list: Vec<String> = own.iter().map(|(name, _)| quote(name)).collect();
        let items: Vec<String> = own.iter().map(|(name, sql)| format!("{sql} AS {}", quote(name))).collect();
        let (rows, name) = (format!("temp.{}", quote(&format!("{} rows", table.name))), in_sqlite(&table.name));
        self.batch(&format!(
            "PRAGMA defer_foreign_keys = ON; CREATE TABLE {rows} AS SELECT {} FROM {name}; DROP TABLE {name}",
            items.join(", "),
        ))?;
        for sql in catalog::create(table, &table.name) {
            self.batch(&sql)?;
        }
        // Without the index of a key that is referred to nothing can be inserted.
        for key in &table.keys {
            if let Some(sql) = catalog::create_index(&table.name, key) {
                self.batch(&sql)?;
            }
        }
        let list = list.join(", ");
        self.batch(&format!("INSERT INTO {name} ({list}) SELECT {list} FROM {rows}; DROP TABLE {rows}"))?;
        Ok(())
    }

    /// The other tables that have a foreign key to a table.
    fn tables_referring(&self, name: &str) -> Vec<Table> {
        let sql = "SELECT name FROM cub_class WHERE kind = 'T' AND name <> ?";
        let found = self.connection.prepare_cached(sql).and_then(|mut found| {
            found.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        });
        let tables = found.unwrap_or_default().into_iter().filter_map(|other| catalog::table(&self.connection, &other));
        tables.filter(|other| other.keys.iter().any(|key| refers(key, name))).collect()
    }

    /// Changes the definitions of keys of other tables to a table. SQLite has changed its own.
    pub(super) fn change_keys_to(&self, name: &str, change: impl Fn(&mut Key)) -> Result<()> {
        for mut other in self.tables_referring(name) {
            other.keys.iter_mut().for_each(&change);
            self.save(&other)?;
        }
        Ok(())
    }

    /// Drops the keys of other tables to a table.
    pub(super) fn forget_keys_to(&self, name: &str) -> Result<()> {
        for mut other in self.tables_referring(name) {
            other.keys.retain(|key| !refers(key, name));
            self.rebuild(&other, &[])?;
            self.save(&other)?;
        }
        Ok(())
    }
}

fn refers(key: &Key, name: &str) -> bool {
    key.references.as_ref().is_some_and(|it| it.0 == name)
}
