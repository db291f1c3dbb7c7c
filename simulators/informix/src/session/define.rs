//! Definitions: tables, their columns and constraints, indexes.

use std::rc::Rc;

use super::SqliSession;
use super::failures;
use crate::catalog;
use crate::engine::Statement;
use crate::engine::definition::{constraints_about, redefine, with_column, with_part, without_constraint};
use crate::errors::{Result, SqlError};
use crate::sql::{Alter, Alteration, Catalog, NewIndex, NewTable, index_name, quote};
use headrace_simulator_common::lock;

impl SqliSession {
    /// SQLite's messages about its own tables mean nothing to a client.
    pub(super) fn catalog_failure(_: rusqlite::Error) -> SqlError {
        SqlError::isam(-243, -107, "")
    }

    pub(super) fn create_table(&mut self, table: &NewTable) -> Result<()> {
        let known = self.opened()?.table(None, &table.name).is_some();
        if known && table.if_not_exists {
            return Ok(());
        }
        if known {
            return Err(SqlError::new(if table.temporary { -958 } else { -310 }, table.name.clone()));
        }
        self.together(|session| {
            session.run_sql(&table.sql, &table.name)?;
            for sql in &table.indexes {
                session.run_sql(sql, &table.name)?;
            }
            session.opened()?.add_table(table).map_err(Self::catalog_failure)
        })
    }

    pub(super) fn select_into(&mut self, table: &NewTable) -> Result<i64> {
        let values = self.parameter_values()?;
        if self.opened()?.table(None, &table.name).is_some() {
            return Err(SqlError::isam(-958, 0, table.name.clone()));
        }
        self.remember()?;
        let (create, fill) = table.sql.split_once(';').unwrap_or((&table.sql, ""));
        self.run_sql(create, &table.name)?;
        let open = self.opened()?;
        let filled = Statement::prepare(&open.connection, fill).and_then(|mut statement| {
            statement.bind(&values)?;
            statement.step()
        });
        filled.map_err(|failure| failures::translate(open, &failure, "", false, false))?;
        open.add_table(table).map_err(Self::catalog_failure)?;
        Ok(open.connection.changes() as i64)
    }

    pub(super) fn rename_table(&mut self, from: &str, to: &str) -> Result<()> {
        if self.opened()?.table(None, to).is_some() {
            return Err(SqlError::new(-310, to));
        }
        self.together(|session| {
            session.run_sql(&format!("ALTER TABLE {} RENAME TO {}", quote(from), quote(to)), from)?;
            let open = session.opened()?;
            let mut serials = lock(&open.database.serials);
            if let Some(last) = serials.remove(from) {
                serials.insert(to.to_owned(), last);
            }
            for table in ["systables", "ifx_constraints", "ifx_defaults"] {
                let update = format!("UPDATE {table} SET tabname = ? WHERE tabname = ?");
                open.connection.execute(&update, [to, from]).map_err(Self::catalog_failure)?;
            }
            Ok(())
        })
    }

    pub(super) fn alter_table(&mut self, change: &Alter) -> Result<()> {
        let Alter { table, steps, columns, defaults, constraints, renamed, serial } = change;
        for prepared in self.statements.iter_mut().flatten() {
            prepared.write = None;
        }
        self.together(|session| {
            for step in steps {
                session.alteration(table, step)?;
            }
            let open = session.opened()?;
            if let Some((from, to)) = renamed {
                open.rename_own_column(table, from, to);
                catalog::rename_column(&open.connection, table, from, to).map_err(Self::catalog_failure)?;
            }
            if let Some(next) = serial {
                open.start_serial(table, *next);
            }
            open.change_table(table, columns, renamed.as_ref()).map_err(Self::catalog_failure)?;
            open.add_defaults(table, defaults).map_err(Self::catalog_failure)?;
            open.add_constraints(table, constraints).map_err(Self::catalog_failure)
        })
    }

    fn alteration(&mut self, table: &str, step: &Alteration) -> Result<()> {
        let open = self.opened()?;
        let connection = Rc::clone(&open.connection);
        let temporary = open.is_temporary(table);
        let written = |done: rusqlite::Result<()>| done.map_err(Self::catalog_failure);
        match step {
            Alteration::Sql(sql) => self.run_sql(sql, table),
            Alteration::Never(sql, error) => {
                let broken = Statement::prepare(&connection, sql).and_then(|mut statement| statement.step());
                match broken.map_err(|failure| failures::translate(open, &failure, table, false, false))? {
                    true => Err(error.clone()),
                    false => Ok(()),
                }
            }
            Alteration::Column { name, part, value } => {
                written(redefine(&connection, table, temporary, |sql| with_column(sql, &quote(name), part)))?;
                match temporary {
                    true => open.forget_default(table, name),
                    false => written(catalog::forget_column_rules(&connection, table, name))?,
                }
                match value {
                    Some(value) => {
                        self.run_sql(&format!("UPDATE {} SET {} = {value}", quote(table), quote(name)), table)
                    }
                    None => Ok(()),
                }
            }
            Alteration::Part(part) => written(redefine(&connection, table, temporary, |sql| with_part(sql, part))),
            Alteration::DropConstraint(name) => {
                if !open.has_constraint(table, name) {
                    return Err(SqlError::new(-623, name.clone()));
                }
                self.drop_constraint(table, name)
            }
            Alteration::DropColumn(name) => {
                open.forget_default(table, name);
                let mut hanging = catalog::keys_of_column(&connection, table, name).map_err(Self::catalog_failure)?;
                if !temporary {
                    let checks = constraints_about(&connection, table, open.constraints_of(table, 'C'), &quote(name));
                    hanging.extend(checks.map_err(Self::catalog_failure)?);
                }
                for key in hanging {
                    self.drop_constraint(table, &key)?;
                }
                if !temporary {
                    written(catalog::forget_column_rules(&connection, table, name))?;
                }
                self.run_sql(&format!("ALTER TABLE {} DROP COLUMN {}", quote(table), quote(name)), table)
            }
        }
    }

    /// Removes a constraint or an index from a table, in whichever form it exists.
    fn drop_constraint(&mut self, table: &str, name: &str) -> Result<()> {
        for index in [name.to_owned(), format!("{name}:null")] {
            self.run_sql(&format!("DROP INDEX IF EXISTS {}", index_name(&index)), table)?;
        }
        let open = self.opened()?;
        open.forget_constraint(table, name);
        let change = |sql: &str| without_constraint(sql, &quote(name));
        redefine(&open.connection, table, open.is_temporary(table), change).map_err(Self::catalog_failure)?;
        catalog::remove_constraint(&open.connection, table, name).map_err(Self::catalog_failure)?;
        catalog::remove_index(&open.connection, name).map_err(Self::catalog_failure)
    }

    pub(super) fn drop_table(&mut self, kind: i16, name: &str, if_exists: bool, restrict: bool) -> Result<()> {
        if if_exists && self.opened()?.table(None, name).is_none() {
            return Ok(());
        }
        let found = if kind == 41 { 'V' } else { 'T' };
        let open = self.opened()?;
        if !open.is_temporary(name) {
            let tabtype = catalog::table_kind(&open.connection, name).map_err(Self::catalog_failure)?;
            if tabtype != Some(found) {
                return Err(SqlError::isam(-206, -111, name));
            }
        }
        for prepared in self.statements.iter_mut().flatten() {
            prepared.write = None;
        }
        let what = if kind == 41 { "VIEW" } else { "TABLE" };
        self.together(|session| {
            // References to a table that is dropped are dropped, and not checked.
            let pointing = catalog::pointing(&session.opened()?.connection, name).map_err(Self::catalog_failure)?;
            if restrict && !pointing.is_empty() {
                return Err(SqlError::unsupported("DROP TABLE RESTRICT of a table that others reference"));
            }
            for (table, constraint) in pointing {
                session.drop_constraint(&table, &constraint)?;
            }
            session.run_sql(&format!("DROP {what} {}", quote(name)), name)?;
            session.opened()?.remove_table(name).map_err(Self::catalog_failure)?;
            // Views are dropped with the tables that they read, and other views with those.
            loop {
                let open = session.opened()?;
                let broken = catalog::broken_views(&open.connection).map_err(Self::catalog_failure)?;
                let Some(view) = broken.first() else { return Ok(()) };
                open.remove_table(view).map_err(Self::catalog_failure)?;
                session.run_sql(&format!("DROP VIEW {}", quote(view)), view)?;
            }
        })
    }

    pub(super) fn with_catalog<T>(
        &mut self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut made = None;
        self.together(|session| {
            made = Some(work(&session.opened()?.connection).map_err(Self::catalog_failure)?);
            Ok(())
        })?;
        made.ok_or_else(|| SqlError::new(-243, ""))
    }

    pub(super) fn create_index(&mut self, index: &NewIndex, if_not_exists: bool) -> Result<()> {
        let known = "SELECT count(*) FROM sysindices WHERE idxname = ?";
        let open = self.opened()?;
        let count: i64 =
            open.connection.query_row(known, [&index.name], |row| row.get(0)).map_err(Self::catalog_failure)?;
        if count > 0 && if_not_exists {
            return Ok(());
        }
        if count > 0 {
            return Err(SqlError::new(-316, index.name.clone()));
        }
        let temporary = open.is_temporary(&index.table);
        self.together(|session| {
            for sql in &index.sql {
                session.run_sql(sql, &index.table).map_err(|error| {
                    // Rows that are there already and not unique.
                    if matches!(error.code, -239 | -268) {
                        SqlError::isam(-371, -100, index.name.clone())
                    } else {
                        error
                    }
                })?;
            }
            if temporary {
                return Ok(());
            }
            catalog::add_index(&session.opened()?.connection, index).map_err(Self::catalog_failure)
        })
    }

    pub(super) fn drop_index(&mut self, name: &str, if_exists: bool) -> Result<()> {
        self.together(|session| {
            let exists = if if_exists { "IF EXISTS " } else { "" };
            session.run_sql(&format!("DROP INDEX {exists}{}", index_name(name)), "")?;
            session.run_sql(&format!("DROP INDEX IF EXISTS {}", index_name(&format!("{name}:null"))), "")?;
            catalog::remove_index(&session.opened()?.connection, name).map_err(Self::catalog_failure)
        })
    }
}
