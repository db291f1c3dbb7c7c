//! INSERT, UPDATE, DELETE.

use super::parser::{Parser, Source, literal, quote};
use super::{Action, Column, Compiled, Table};
use crate::catalog;
use crate::errors::{Result, SqlError};
use crate::sql::expr::Form;

/// A change, ready to run.
#[derive(Clone, Debug)]
pub struct Written {
    /// SQL for SQLite.
    pub sql: String,
    /// The table that changes.
    pub table: String,
    /// The statement type.
    pub kind: i16,
}

impl Parser<'_> {
    /// A table whose rows are to change; the catalog's cannot be changed.
    fn changed_table(&mut self) -> Result<Table> {
        let offset = self.offset();
        let table = self.table()?;
        if catalog::is_system(&table.name) {
            return Err(SqlError::new(-511, table.name).at(offset));
        }
        Ok(table)
    }

    fn target_columns(&mut self, table: &Table) -> Result<Vec<Column>> {
        if !self.is_symbol("(") || self.is_ahead(1, "select") {
            return Ok(table.columns.clone());
        }
        self.at += 1;
        let mut columns = Vec::new();
        loop {
            let offset = self.offset();
            let name = self.identifier()?;
            if columns.iter().any(|column: &Column| column.name == name) {
                return Err(SqlError::syntax(offset, &name));
            }
            let found = table.columns.iter().find(|column| column.name == name);
            columns.push(found.ok_or_else(|| SqlError::new(-217, name).at(offset))?.clone());
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(columns)
    }

    pub(super) fn insert(&mut self) -> Result<Compiled> {
        self.expect("into")?;
        let table = self.changed_table()?;
        let columns = self.target_columns(&table)?;
        // A column left out gets its default, and a SERIAL left out its next number.
        let serial = table.columns.iter().find(|column| column.ty.kind.is_serial());
        let added = serial.filter(|serial| columns.iter().all(|column| column.name != serial.name));
        let next = |value: &str| format!("ifx_serial({}, {value})", literal(&table.name));
        let mut names: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
        names.extend(added.map(|serial| quote(&serial.name)));
        let missing = |(name, _): &&(String, String)| columns.iter().all(|column| column.name != *name);
        let defaults: Vec<&(String, String)> = table.defaults.iter().filter(missing).collect();
        names.extend(defaults.iter().map(|(name, _)| quote(name)));
        let mut sql = format!("INSERT INTO {} ({}) ", quote(&table.name), names.join(", "));
        if self.accept("values") {
            self.expect_symbol("(")?;
            let mut values = Vec::new();
            while !self.is_symbol(")") {
                let offset = self.offset();
                let value = self.expression()?;
                let Some(column) = columns.get(values.len()) else {
                    return Err(SqlError::new(-236, "").at(offset));
                };
                let value = self.coerce(value, column.ty);
                values.push(if column.ty.kind.is_serial() { next(&value) } else { value });
                if !self.another(")")? {
                    break;
                }
            }
            self.expect_symbol(")")?;
            if values.len() != columns.len() {
                return Err(SqlError::new(-236, "").at(self.offset()));
            }
            values.extend(added.map(|_| next("0")));
            values.extend(defaults.iter().map(|(_, value)| value.clone()));
            sql += &format!("VALUES ({})", values.join(", "));
        } else {
            let query = self.query()?;
            if query.columns.len() != columns.len() {
                return Err(SqlError::new(-236, "").at(self.offset()));
            }
            let placeholders: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
            let mut values = Vec::new();
            for ((column, given), place) in columns.iter().zip(&query.columns).zip(&placeholders) {
                let value = if given.ty == column.ty {
                    place.clone()
                } else {
                    format!("ifx_conv({place}, {}, {})", given.ty.tag(), column.ty.tag())
                };
                values.push(if column.ty.kind.is_serial() { next(&value) } else { value });
            }
            values.extend(added.map(|_| next("0")));
            values.extend(defaults.iter().map(|(_, value)| value.clone()));
            sql += &format!(
                "WITH ifx_rows({}) AS ({}) SELECT {} FROM ifx_rows",
                placeholders.join(", "),
                query.sql,
                values.join(", ")
            );
        }
        let serial = serial.map(|serial| serial.ty.kind);
        Ok(self.compiled(6, Action::Write { sql, table: table.name, serial }, columns))
    }

    /// WHERE, with CURRENT OF for the current row of a cursor.
    fn condition(&mut self, table: &str) -> Result<(String, bool, bool)> {
        if !self.accept("where") {
            return Ok((String::new(), false, false));
        }
        if self.accept("current") {
            self.expect("of")?;
            let offset = self.offset();
            let name = self.identifier()?;
            let read = self.catalog.cursor(&name).ok_or_else(|| SqlError::new(-507, name.clone()).at(offset))?;
            if read != table {
                return Err(SqlError::new(-277, read).at(offset));
            }
            // Which row that is, is known when the statement runs.
            return Ok((format!(" WHERE rowid = ifx_current_row({})", literal(&name)), true, true));
        }
        Ok((format!(" WHERE {}", self.expression()?.sql), true, false))
    }

    fn enter(&mut self, table: &Table) -> Result<String> {
        let alias = if self.is("set") || self.is("where") || self.at + 1 >= self.tokens.len() || self.is_symbol(";") {
            table.name.clone()
        } else {
            self.accept("as");
            self.identifier()?
        };
        self.scopes.push(vec![Source::new(&alias, table.columns.clone())]);
        Ok(alias)
    }

    pub(super) fn update(&mut self) -> Result<Compiled> {
        let table = self.changed_table()?;
        let alias = self.enter(&table)?;
        self.expect("set")?;
        let mut assignments = Vec::new();
        loop {
            let offset = self.offset();
            let mut targets = Vec::new();
            let several = self.accept_symbol("(");
            loop {
                let mut name = self.identifier()?;
                if self.accept_symbol(".") {
                    name = self.identifier()?;
                }
                let found = table.columns.iter().find(|column| column.name == name).cloned();
                let found = found.ok_or_else(|| SqlError::new(-217, name.clone()).at(offset))?;
                if found.ty.kind.is_serial() {
                    return Err(SqlError::new(-232, name).at(offset));
                }
                targets.push(found);
                if !several || !self.accept_symbol(",") {
                    break;
                }
            }
            if several {
                self.expect_symbol(")")?;
            }
            self.expect_symbol("=")?;
            if several {
                self.expect_symbol("(")?;
            }
            for (index, column) in targets.iter().enumerate() {
                if index > 0 {
                    self.expect_symbol(",")?;
                }
                let value = self.expression()?;
                let value = if value.form == Form::Null { "NULL".into() } else { self.coerce(value, column.ty) };
                assignments.push(format!("{} = {value}", quote(&column.name)));
            }
            if several {
                self.expect_symbol(")")?;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        let (condition, conditional, current) = self.condition(&table.name)?;
        self.scopes.pop();
        let sql =
            format!("UPDATE {} AS {} SET {}{condition}", quote(&table.name), quote(&alias), assignments.join(", "));
        let kind = if current {
            7
        } else if conditional {
            4
        } else {
            33
        };
        Ok(self.compiled(kind, Action::Write { sql, table: table.name, serial: None }, Vec::new()))
    }

    pub(super) fn delete(&mut self) -> Result<Compiled> {
        self.accept("from");
        let table = self.changed_table()?;
        let alias = self.enter(&table)?;
        let (condition, conditional, current) = self.condition(&table.name)?;
        self.scopes.pop();
        let sql = format!("DELETE FROM {} AS {}{condition}", quote(&table.name), quote(&alias));
        let kind = if current {
            8
        } else if conditional {
            5
        } else {
            32
        };
        Ok(self.compiled(kind, Action::Write { sql, table: table.name, serial: None }, Vec::new()))
    }

    pub(super) fn truncate(&mut self) -> Result<Compiled> {
        self.accept("table");
        let table = self.changed_table()?;
        for word in ["drop", "reuse", "storage"] {
            self.accept(word);
        }
        let sql = format!("DELETE FROM {}", quote(&table.name));
        Ok(self.compiled(109, Action::Write { sql, table: table.name, serial: None }, Vec::new()))
    }
}
