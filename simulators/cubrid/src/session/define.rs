//! Definitions, and the settings of a session.

use headrace_simulator_common::lock;
use rusqlite::types::Value;

use super::alter::without_null_default;
use super::{CasSession, Executed};
use crate::catalog;
use crate::errors::{Error, Result};
use crate::sql::ast::{Column, Expr, Key, KeyKind, Query, Statement, Table};
use crate::sql::{key_name, table as in_sqlite};
use crate::types::Type;
use crate::values::Bound;

impl CasSession {
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| self.failure(error, None, &[]))
    }

    pub(super) fn kept_or(&self, done: rusqlite::Result<()>) -> Result<()> {
        done.map_err(|error| self.failure(error, None, &[]))
    }

    pub(super) fn define(&mut self, kind: i8, statement: &Statement) -> Result<Executed> {
        match statement {
            Statement::Commit => self.commit()?,
            Statement::Rollback(None) => self.rollback()?,
            Statement::Rollback(Some(name)) => self.rollback_to(name)?,
            Statement::Savepoint(name) => self.set_savepoint(name)?,
            Statement::SetIsolation(level) => self.set_isolation(*level)?,
            Statement::SetLockTimeout(millis) => self.lock_timeout = *millis,
            Statement::SetTimeZone(zone) => {
                if !crate::times::is_zone(zone) {
                    return Err(Error::server(-1162, "Error while parsing time zone string."));
                }
                self.zone.clone_from(zone);
            }
            Statement::SetParameters(text) => self.set_parameters(text)?,
            Statement::SetVariables(set) => {
                for (name, value) in set {
                    let value = self.computed(value)?;
                    lock(&self.kept).variables.insert(name.clone(), value);
                }
            }
            Statement::Do(value) => drop(self.computed(value)?),
            Statement::Get(_, variable) => {
                if let Some(name) = variable {
                    let value = match kind {
                        25 => self.isolation.into(),
                        26 => self.lock_timeout.into(),
                        _ => 1,
                    };
                    let value = Bound { ty: Type::of(crate::types::code::INT), value: Value::Integer(value) };
                    lock(&self.kept).variables.insert(crate::sql::interpreted(name), value);
                }
                return Ok(Executed::changed(kind, 1));
            }
            Statement::Nothing(_) => {}
            Statement::Show(show) => return self.show(show),
            other => return self.definition(kind, other),
        }
        Ok(Executed::changed(kind, 0))
    }

    /// The value of an expression that stands alone.
    fn computed(&self, value: &Expr) -> Result<Bound> {
        let (sql, ty) = self.alone(value, None)?;
        let value: Value = self
            .connection
            .query_row(&format!("SELECT {sql}"), [], |row| row.get(0))
            .map_err(|error| self.failure(error, None, &[]))?;
        Ok(Bound { ty, value })
    }

    fn set_parameters(&mut self, text: &str) -> Result<()> {
        for part in text.split(';') {
            let Some((name, value)) = part.split_once('=') else { continue };
            let problem = || Error::semantic(format!("{part}: not a fault. "));
            match name.trim() {
                "headrace_fault" => {
                    let mut faults = self.hooks.faults.unwrap_or(self.faults);
                    faults.set(value.trim()).map_err(|message| Error::semantic(message + " "))?;
                    self.hooks.faults = Some(faults);
                }
                "headrace_release" => self.hooks.release = value.trim() == "1",
                "headrace_again" => self.hooks.again = value.trim().parse().map_err(|_| problem())?,
                "headrace_idle" => self.hooks.idle = value.trim() == "1",
                "headrace_deadlock" => self.hooks.deadlock = value.trim() == "1",
                // Parameters of a genuine server are taken and left.
                _ => {}
            }
        }
        Ok(())
    }

    /// A change of definitions, all of it or nothing.
    fn definition(&mut self, kind: i8, statement: &Statement) -> Result<Executed> {
        self.begin(true)?;
        self.batch("SAVEPOINT cub_definition")?;
        let done = self.change(statement);
        let end =
            if done.is_ok() { "RELEASE cub_definition" } else { "ROLLBACK TO cub_definition; RELEASE cub_definition" };
        self.batch(end)?;
        self.redefine();
        Ok(Executed::changed(kind, done?))
    }

    fn change(&mut self, statement: &Statement) -> Result<i64> {
        match statement {
            Statement::CreateTable { table, if_not_exists, like, query, replace } => {
                return self.create_table(table, *if_not_exists, like.as_deref(), query.as_ref(), *replace);
            }
            Statement::CreateView { name, columns, text, replace } => {
                if catalog::exists(&self.connection, name, "TV") && !replace {
                    return Err(exists(name, "create vclass"));
                }
                let mut parser = crate::sql::Parser::new(text, crate::sql::tokenize(text)?);
                if let Some((Statement::Query(query), _)) = parser.statement()? {
                    self.alone_query(&query)?;
                }
                let saved = self.connection.execute(
                    "INSERT OR REPLACE INTO cub_class VALUES (?, 'V', ?, ?, '')",
                    [name, text, &columns.join(",")],
                );
                self.kept_or(saved.map(|_| ()))?;
            }
            Statement::CreateIndex { table, key } => {
                let mut defined = self.defined(table)?;
                self.add_key(&mut defined, key)?;
                self.save(&defined)?;
            }
            Statement::CreateSerial { name, start, step, if_not_exists } => {
                if catalog::exists(&self.connection, name, "S") {
                    let error = Error::semantic(format!("Serial '{name}' already exist. "));
                    return if *if_not_exists { Ok(0) } else { Err(error) };
                }
                let saved = self.connection.execute("INSERT INTO cub_class VALUES (?, 'S', '', '', '')", [name]);
                self.kept_or(saved.map(|_| ()))?;
                self.set_number(&format!("serial {name}"), *start, *step);
            }
            Statement::DropSerial { name, if_exists } => {
                if !catalog::exists(&self.connection, name, "S") && !if_exists {
                    return Err(Error::server(-773, format!("Serial \"dba.{name}\" not found.")));
                }
                self.kept_or(catalog::forget(&self.connection, name))?;
            }
            Statement::DropTable { names, if_exists, cascade } => {
                for name in names {
                    self.drop_table(name, *if_exists, *cascade)?;
                }
            }
            Statement::DropView { names, if_exists } => {
                for name in names {
                    if !catalog::exists(&self.connection, name, "V") && !if_exists {
                        return Err(Error::semantic(format!("Unknown class \"dba.{name}\". drop vclass [dba.{name}]")));
                    }
                    self.kept_or(catalog::forget(&self.connection, name))?;
                }
            }
            Statement::DropIndex { name, table } => self.drop_index(name, table.as_deref())?,
            Statement::Truncate(name) => {
                let defined = self.defined(name)?;
                self.batch(&format!("DELETE FROM {}", in_sqlite(name)))?;
                if let Some((start, step)) = defined.columns.iter().find_map(|column| column.auto) {
                    self.set_number(&format!("table {name}"), start, step);
                }
            }
            Statement::RenameTable(pairs) => {
                for (from, to) in pairs {
                    self.rename_table(from, to)?;
                }
            }
            Statement::AlterTable { table, steps } => {
                for step in steps {
                    self.alter(table, step)?;
                }
            }
            _ => return Err(Error::semantic("System error -- this statement is not supported by the test server. ")),
        }
        Ok(0)
    }

    pub(super) fn defined(&self, name: &str) -> Result<Table> {
        let found = catalog::table(&self.connection, name);
        found.ok_or_else(|| Error::semantic(format!("Unknown class \"dba.{name}\". ")))
    }

    pub(super) fn save(&self, table: &Table) -> Result<()> {
        self.kept_or(catalog::save(&self.connection, table))
    }

    fn create_table(
        &mut self,
        table: &Table,
        if_not_exists: bool,
        like: Option<&str>,
        query: Option<&Query>,
        replace: bool,
    ) -> Result<i64> {
        let mut table = table.clone();
        if catalog::exists(&self.connection, &table.name, "TV") {
            match () {
                () if if_not_exists => return Ok(0),
                () if replace => self.drop_table(&table.name, true, true)?,
                () => return Err(exists(&table.name, "create class")),
            }
        }
        if let Some(like) = like {
            let other = self.defined(like)?;
            table.columns = other.columns;
            table.keys = other.keys;
            for key in &mut table.keys {
                key.name = key_name(key.kind, &table.name, &key.columns);
            }
        }
        let mut rows = None;
        if let Some(query) = query {
            let (sql, columns) = self.alone_query(query)?;
            if table.columns.is_empty() {
                for column in columns {
                    table.columns.push(Column {
                        name: column.name,
                        ty: column.ty,
                        not_null: false,
                        says_null: false,
                        default: None,
                        auto: None,
                        comment: String::new(),
                        says_comment: false,
                        on_update: None,
                    });
                }
            }
            rows = Some(sql);
        }
        self.check_columns(&table)?;
        let keys = std::mem::take(&mut table.keys);
        let (foreign, others): (Vec<Key>, Vec<Key>) = keys.into_iter().partition(|key| key.kind == KeyKind::Foreign);
        for key in &others {
            if key.kind == KeyKind::Primary {
                for column in &mut table.columns {
                    column.not_null |= key.columns.iter().any(|(name, _)| *name == column.name);
                }
            }
        }
        for column in &mut table.columns {
            let is_primary = is_primary(&others, &column.name);
            without_null_default(column, is_primary)?;
        }
        for key in foreign {
            let key = self.complete(key, &table, &others)?;
            table.keys.push(key);
        }
        for sql in catalog::create(&table, &table.name) {
            self.batch(&sql)?;
        }
        for key in &others {
            self.add_key(&mut table, key)?;
        }
        self.save(&table)?;
        if let Some((start, step)) = table.columns.iter().find_map(|column| column.auto) {
            self.set_number(&format!("table {}", table.name), start, step);
        }
        let Some(sql) = rows else { return Ok(0) };
        let count = self.connection.execute(&format!("INSERT INTO {} {sql}", in_sqlite(&table.name)), []);
        count.map(|_| 0).map_err(|error| self.failure(error, None, &[]))
    }

    fn check_columns(&self, table: &Table) -> Result<()> {
        for (index, column) in table.columns.iter().enumerate() {
            if table.columns[..index].iter().any(|other| other.name == column.name) {
                return Err(Error::semantic(format!(
                    "Attribute names in each class must be unique. Attribute name '{}' in class '{}' is specified more than once. ",
                    column.name, table.name
                )));
            }
            if let Some(default) = &column.default {
                self.alone(default, Some(&column.ty))?;
            }
        }
        Ok(())
    }

    /// A foreign key with the columns that it refers to: those of the primary key.
    pub(super) fn complete(&self, mut key: Key, table: &Table, own: &[Key]) -> Result<Key> {
        let Some((parent, columns, ..)) = &mut key.references else { return Ok(key) };
        let is_own = *parent == table.name;
        let (keys, known) = match is_own {
            true => (own.to_vec(), Vec::new()),
            false => {
                let found = catalog::table(&self.connection, parent).ok_or_else(|| {
                    let text = format!("The class 'dba.{parent}' referred by the foreign key does not exist.");
                    Error::server(-918, text)
                })?;
                (found.keys, found.columns)
            }
        };
        let primary = keys.iter().find(|key| key.kind == KeyKind::Primary);
        if is_own && !columns.is_empty() {
            // The server looks at the keys of other tables.
            return Ok(key);
        }
        let primary = primary.ok_or_else(|| {
            let text = format!("The class 'dba.{parent}' referred by the foreign key does not have the primary key.");
            Error::server(-919, text)
        })?;
        if columns.is_empty() {
            *columns = primary.columns.iter().map(|(name, _)| name.clone()).collect();
        }
        if let Some(name) = columns.iter().find(|name| !is_own && !known.iter().any(|column| column.name == **name)) {
            return Err(Error::server(-239, format!("Attribute \"{name}\" was not found.")));
        }
        if columns.len() != primary.columns.len() {
            let (own, name) = (&key.name, &primary.name);
            let text = format!(
                "The number of keys of the foreign key '{own}' is different from that of the primary key '{name}'."
            );
            return Err(Error::server(-927, text));
        }
        if let Some((name, _)) = primary.columns.iter().find(|(name, _)| !columns.contains(name)) {
            let text = format!("The foreign key '{}' does not include the primary key member '{name}'.", key.name);
            return Err(Error::server(-920, text));
        }
        Ok(key)
    }

    pub(super) fn add_key(&self, table: &mut Table, key: &Key) -> Result<()> {
        if key.columns.is_empty() {
            return Ok(());
        }
        for (name, _) in &key.columns {
            if !table.columns.iter().any(|column| column.name == *name) {
                return Err(Error::semantic(format!("before ' '\nAttribute \"{name}\" was not found. ")));
            }
        }
        if table.keys.iter().any(|known| known.name == key.name) {
            return Err(Error::server(-643, format!("Index \"{}\" already exists.", key.name)));
        }
        if let Some(sql) = catalog::create_index(&table.name, key) {
            self.batch(&sql)?;
        }
        table.keys.push(key.clone());
        Ok(())
    }

    fn drop_table(&mut self, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        if !catalog::exists(&self.connection, name, "TV") {
            let error = Error::semantic(format!("Unknown class \"dba.{name}\". drop [dba.{name}]"));
            return if if_exists { Ok(()) } else { Err(error) };
        }
        if catalog::exists(&self.connection, name, "T") {
            let referred = self.referring(name, |other| other != name);
            if let (Some(key), false) = (referred, cascade) {
                let primary = self.defined(name)?.keys.into_iter().find(|key| key.kind == KeyKind::Primary);
                let primary = primary.map_or(String::new(), |key| key.name);
                let text = format!(
                    "The primary key '{primary}' referred by a foreign key '{key}' is not supposed to be dropped."
                );
                return Err(Error::server(-923, text));
            }
            if cascade {
                self.forget_keys_to(name)?;
            }
            // A row may refer to another one of the same table.
            self.batch(&format!(
                "PRAGMA defer_foreign_keys = ON; DROP TABLE {}; PRAGMA defer_foreign_keys = OFF",
                in_sqlite(name)
            ))?;
        }
        self.kept_or(catalog::forget(&self.connection, name))
    }

    fn drop_index(&mut self, name: &str, table: Option<&str>) -> Result<()> {
        let mut statement = self
            .connection
            .prepare("SELECT class FROM cub_index WHERE name = ?")
            .map_err(|error| self.failure(error, None, &[]))?;
        let found: Option<String> = statement.query_row([name], |row| row.get(0)).ok();
        drop(statement);
        let table = table.map(str::to_owned).or(found);
        let table = table.ok_or_else(|| Error::server(-273, format!("Index \"{name}\" does not exist.")))?;
        self.drop_key(&table, name)
    }

    pub(super) fn drop_key(&mut self, table: &str, name: &str) -> Result<()> {
        let mut defined = self.defined(table)?;
        let at = defined.keys.iter().position(|key| key.name == name);
        let at = at.ok_or_else(|| Error::server(-273, format!("Index \"{name}\" does not exist.")))?;
        let key = defined.keys.remove(at);
        if key.kind == KeyKind::Foreign {
            self.rebuild(&defined, &[])?;
        } else {
            self.batch(&format!("DROP INDEX {}", catalog::index(table, name)))?;
        }
        self.save(&defined)
    }
}

/// True if a column is in the primary key.
pub(super) fn is_primary(keys: &[Key], column: &str) -> bool {
    let mut primary = keys.iter().filter(|key| key.kind == KeyKind::Primary);
    primary.any(|key| key.columns.iter().any(|(name, _)| name == column))
}

pub(super) fn exists(name: &str, verb: &str) -> Error {
    Error::semantic(format!("before ' '\nClass dba.{name} already exists. {verb} [dba.{name}]"))
}
