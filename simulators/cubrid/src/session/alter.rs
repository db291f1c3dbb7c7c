//! ALTER TABLE, and what it makes of the rows that are there.

use headrace_simulator_common::lock;

use super::CasSession;
use super::define::{exists, is_primary};
use crate::catalog;
use crate::errors::{Error, Result};
use crate::sql::ast::{Alter, Column, Expr, Key, KeyKind};
use crate::sql::{quote, table as in_sqlite};
use crate::types::Type;

impl CasSession {
    pub(super) fn rename_table(&mut self, from: &str, to: &str) -> Result<()> {
        let mut defined = self.defined(from)?;
        if catalog::exists(&self.connection, to, "TV") {
            return Err(exists(to, "rename"));
        }
        for key in &defined.keys {
            if key.kind != KeyKind::Foreign {
                self.batch(&format!("DROP INDEX {}", catalog::index(from, &key.name)))?;
            }
        }
        self.batch(&format!("ALTER TABLE {} RENAME TO {}", in_sqlite(from), in_sqlite(to)))?;
        self.kept_or(catalog::forget(&self.connection, from))?;
        to.clone_into(&mut defined.name);
        let renamed = |key: &mut Key| {
            if let Some((table, ..)) = key.references.as_mut().filter(|it| it.0 == from) {
                to.clone_into(table);
            }
        };
        defined.keys.iter_mut().for_each(renamed);
        self.change_keys_to(from, renamed)?;
        for key in &defined.keys {
            if let Some(sql) = catalog::create_index(to, key) {
                self.batch(&sql)?;
            }
        }
        let mut numbers = lock(&self.server.database.numbers);
        if let Some(number) = numbers.remove(&format!("table {from}")) {
            numbers.insert(format!("table {to}"), number);
        }
        drop(numbers);
        self.save(&defined)
    }

    pub(super) fn alter(&mut self, name: &str, step: &Alter) -> Result<()> {
        let found = catalog::table(&self.connection, name);
        let mut table =
            found.ok_or_else(|| Error::semantic(format!("before ' '\nClass dba.{name} does not exist. ")))?;
        let missing = |column: &str| Error::semantic(format!("{column} is not a method or attribute of dba.{name}. "));
        match step {
            Alter::Add(columns, keys) => {
                let before = table.clone();
                for column in columns {
                    if table.columns.iter().any(|known| known.name == column.name) {
                        let text = format!("The name \"{}\" has already been used as an attribute name.", column.name);
                        return Err(Error::server(-245, text));
                    }
                    let mut column = column.clone();
                    let is_primary = is_primary(keys, &column.name);
                    without_null_default(&mut column, is_primary)?;
                    table.columns.push(column);
                }
                let foreign = keys.iter().any(|key| key.kind == KeyKind::Foreign);
                for key in keys.iter().filter(|key| key.kind == KeyKind::Foreign) {
                    let key = self.complete(key.clone(), &table, &table.keys)?;
                    table.keys.push(key);
                }
                for key in keys.iter().filter(|key| key.kind == KeyKind::Primary) {
                    for column in &mut table.columns {
                        column.not_null |= key.columns.iter().any(|(own, _)| *own == column.name);
                    }
                }
                if !columns.is_empty() || foreign || keys.iter().any(|key| key.kind == KeyKind::Primary) {
                    let mut values: Vec<(String, String)> =
                        before.columns.iter().map(|column| (column.name.clone(), quote(&column.name))).collect();
                    for column in columns {
                        values.push((column.name.clone(), self.first_value(name, column)?));
                    }
                    self.rebuild(&table, &values)?;
                }
                for key in keys.iter().filter(|key| key.kind != KeyKind::Foreign) {
                    self.add_key(&mut table, key)?;
                }
            }
            Alter::Drop(columns) => {
                for column in columns {
                    if is_primary(&table.keys, column) {
                        let text = format!("Attribute '{column}', a member of the primary key, could not be dropped.");
                        return Err(Error::server(-893, text));
                    }
                    let at = table.columns.iter().position(|known| known.name == *column);
                    table.columns.remove(at.ok_or_else(|| missing(column))?);
                    table.keys.retain(|key| !key.columns.iter().any(|(own, _)| own == column));
                }
                self.rebuild(&table, &[])?;
            }
            Alter::DropKey(key) => return self.drop_key(name, key),
            Alter::DropPrimary => {
                let key = table.keys.iter().find(|key| key.kind == KeyKind::Primary).map(|key| key.name.clone());
                let key = key.ok_or_else(|| Error::semantic("Cannot find the primary key. "))?;
                return self.drop_key(name, &key);
            }
            Alter::RenameColumn(from, to) => {
                let column =
                    table.columns.iter_mut().find(|column| column.name == *from).ok_or_else(|| missing(from))?;
                column.name.clone_from(to);
                for key in &mut table.keys {
                    for (own, _) in &mut key.columns {
                        if own == from {
                            own.clone_from(to);
                        }
                    }
                }
                self.batch(&format!("ALTER TABLE {} RENAME COLUMN {} TO {}", in_sqlite(name), quote(from), quote(to)))?;
                let renamed = |key: &mut Key| {
                    if let Some((_, columns, ..)) = key.references.as_mut().filter(|it| it.0 == name) {
                        columns.iter_mut().filter(|column| *column == from).for_each(|column| column.clone_from(to));
                    }
                };
                table.keys.iter_mut().for_each(renamed);
                self.change_keys_to(name, renamed)?;
            }
            Alter::Rename(to) => return self.rename_table(name, to),
            Alter::Change(old, new, keys) => {
                let at = table.columns.iter().position(|column| column.name == *old).ok_or_else(|| missing(old))?;
                let mut changed = (**new).clone();
                let has_default = changed.default.is_some();
                without_null_default(&mut changed, is_primary(&table.keys, old))?;
                if !has_default {
                    changed.default.clone_from(&table.columns[at].default);
                }
                keep(&table.columns[at], &mut changed)?;
                let before = std::mem::replace(&mut table.columns[at], changed);
                if let (None, Some((start, step))) = (before.auto, new.auto) {
                    self.set_number(&format!("table {name}"), start, step);
                }
                for key in &mut table.keys {
                    for (own, _) in &mut key.columns {
                        if own == old {
                            own.clone_from(&new.name);
                        }
                    }
                }
                let values: Vec<(String, String)> = table
                    .columns
                    .iter()
                    .enumerate()
                    .map(|(index, column)| {
                        let value = match index == at {
                            true => conversion(&before, new),
                            false => quote(&column.name),
                        };
                        (column.name.clone(), value)
                    })
                    .collect();
                self.rebuild(&table, &values)?;
                for key in keys {
                    self.add_key(&mut table, key)?;
                }
            }
            Alter::Default(column, value) => {
                let found =
                    table.columns.iter_mut().find(|known| known.name == *column).ok_or_else(|| missing(column))?;
                found.default.clone_from(value);
                without_null_default(found, is_primary(&table.keys, column))?;
            }
            Alter::AutoIncrement(start) => {
                let step = table.columns.iter().find_map(|column| column.auto).map_or(1, |(_, step)| step);
                self.set_number(&format!("table {name}"), *start, step);
            }
            Alter::Comment(text) => table.comment.clone_from(text),
        }
        self.save(&table)
    }

    /// The value of a new column in the rows that are there.
    fn first_value(&self, table: &str, column: &Column) -> Result<String> {
        if let Some((start, step)) = column.auto {
            self.set_number(&format!("table {table}"), start, step);
            return Ok(format!("cub_auto({})", crate::sql::literal(table)));
        }
        match &column.default {
            Some(value) => Ok(self.alone(value, Some(&column.ty))?.0),
            None if column.not_null => Ok(self.hard_default(&column.ty)?),
            None => Ok("NULL".into()),
        }
    }

    /// What a new column that refuses NULL has in the rows that are there.
    fn hard_default(&self, ty: &Type) -> Result<String> {
        let value = if ty.is_number() { Expr::Integer("0".into()) } else { Expr::Text(String::new()) };
        Ok(self.alone(&value, Some(ty)).map_or_else(|_| "X''".into(), |(sql, _)| sql))
    }
}

/// What a column keeps in a MODIFY that does not say otherwise.
fn keep(before: &Column, changed: &mut Column) -> Result<()> {
    if !changed.says_null {
        changed.not_null |= before.not_null;
    } else if !before.not_null {
        return Err(Error::server(-709, "Constraint \"NON_NULL\" not found."));
    }
    if !changed.says_comment {
        changed.comment.clone_from(&before.comment);
    }
    changed.auto = changed.auto.or(before.auto);
    if changed.auto.is_some() && !changed.ty.is_number() {
        let text =
            format!("The domain of the attribute '{}' having an auto increment constraint is invalid. ", before.name);
        return Err(Error::server(-495, format!("Execute: before ' '\n{text}")));
    }
    Ok(())
}

/// Takes the default NULL from a column, which is none; one that refuses NULL cannot have it.
pub(super) fn without_null_default(column: &mut Column, is_primary: bool) -> Result<()> {
    if column.default != Some(Expr::Null) {
        return Ok(());
    }
    let (code, constraint) = match is_primary {
        true => (-1097, "PRIMARY KEY"),
        false => (-1067, "NOT NULL"),
    };
    if is_primary || column.not_null {
        let name = &column.name;
        let text = format!("Column '{name}' cannot have a {constraint} constraint and a NULL default value.");
        return Err(Error::server(code, text));
    }
    column.default = None;
    Ok(())
}

fn conversion(from: &Column, to: &Column) -> String {
    format!(
        "cub_cast({}, {}, {}, 0)",
        quote(&from.name),
        crate::sql::literal(&crate::convert::tag(&from.ty)),
        crate::sql::literal(&crate::convert::tag(&to.ty))
    )
}
