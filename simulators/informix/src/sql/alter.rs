//! ALTER TABLE and RENAME.

use super::constraints::Definition;
use super::lexer::TokenKind;
use super::parser::{Parser, literal, quote};
use super::{Action, Alter, Alteration, Column, Compiled};
use crate::catalog;
use crate::errors::{Result, SqlError};

impl Parser<'_> {
    pub(super) fn rename(&mut self) -> Result<Compiled> {
        if self.accept("table") {
            let offset = self.offset();
            let table = self.table()?;
            if catalog::is_system(&table.name) {
                return Err(SqlError::new(-511, table.name).at(offset));
            }
            self.expect("to")?;
            let to = self.identifier()?;
            return Ok(self.compiled(20, Action::RenameTable { from: table.name, to }, Vec::new()));
        }
        self.expect("column")?;
        let offset = self.offset();
        let mut path = vec![self.identifier()?];
        while self.accept_symbol(".") {
            path.push(self.identifier()?);
        }
        let (Some(from), Some(name)) = (path.pop(), path.pop()) else { return Err(self.syntax()) };
        let found = self.catalog.table(None, &name);
        let table = found.ok_or_else(|| SqlError::isam(-206, -111, name).at(offset))?;
        if catalog::is_system(&table.name) {
            return Err(SqlError::new(-511, table.name).at(offset));
        }
        self.expect("to")?;
        let to = self.identifier()?;
        let mut columns = table.columns;
        let column = columns.iter_mut().find(|column| column.name == from);
        column.ok_or_else(|| SqlError::new(-217, from.clone()).at(offset))?.name.clone_from(&to);
        if columns.iter().filter(|column| column.name == to).count() > 1 {
            return Err(SqlError::new(-328, to).at(offset));
        }
        let sql = format!("ALTER TABLE {} RENAME COLUMN {} TO {}", quote(&table.name), quote(&from), quote(&to));
        let steps = vec![Alteration::Sql(sql)];
        let renamed = Some((from, to));
        let change = Alter { table: table.name, steps, columns, renamed, ..Alter::default() };
        Ok(self.compiled(21, Action::Alter(change), Vec::new()))
    }

    pub(super) fn alter(&mut self) -> Result<Compiled> {
        self.expect("table")?;
        let offset = self.offset();
        let table = self.table()?;
        if catalog::is_system(&table.name) {
            return Err(SqlError::new(-511, table.name).at(offset));
        }
        let mut made = Definition { columns: table.columns.clone(), ..Definition::default() };
        let mut steps = Vec::new();
        loop {
            let offset = self.offset();
            if self.accept("add") {
                let constraint =
                    ["constraint", "primary", "unique", "foreign", "check"].iter().any(|word| self.is(word));
                match constraint {
                    true => self.added_constraint(&table.name, &mut made, &mut steps)?,
                    false => self.added_columns(&table.name, &mut made, &mut steps)?,
                }
            } else if self.accept("drop") {
                if self.accept("constraint") {
                    let bracket = self.accept_symbol("(");
                    loop {
                        steps.push(Alteration::DropConstraint(self.object_name()?.1));
                        if !(bracket && self.accept_symbol(",")) {
                            break;
                        }
                    }
                    if bracket {
                        self.expect_symbol(")")?;
                    }
                } else {
                    let names = if self.is_symbol("(") { self.column_names()? } else { vec![self.identifier()?] };
                    for name in names {
                        if made.columns.iter().all(|column| column.name != name) {
                            return Err(SqlError::new(-217, name).at(offset));
                        }
                        if made.columns.len() == 1 {
                            return Err(SqlError::unsupported("a table without columns").at(offset));
                        }
                        made.columns.retain(|column| column.name != name);
                        steps.push(Alteration::DropColumn(name));
                    }
                }
            } else if self.accept("modify") {
                let bracket = self.accept_symbol("(");
                loop {
                    self.modified_column(&table.name, &mut made, &mut steps)?;
                    if !(bracket && self.accept_symbol(",")) {
                        break;
                    }
                }
                if bracket {
                    self.expect_symbol(")")?;
                }
            } else if self.accept("lock") || self.accept("type") || self.accept("next") {
                self.skip_statement();
            } else {
                return Err(SqlError::unsupported("this form of ALTER TABLE").at(offset));
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        let Definition { columns, constraints, defaults, serial, .. } = made;
        let change = Alter { table: table.name, steps, columns, defaults, constraints, renamed: None, serial };
        Ok(self.compiled(29, Action::Alter(change), Vec::new()))
    }

    /// SQL for the keys that were defined since there were `before` constraints.
    fn keys(&self, table: &str, made: &Definition, before: usize) -> impl Iterator<Item = Alteration> + use<> {
        made.unique_indexes(table, self.catalog.is_temporary(table), before).into_iter().map(Alteration::Sql)
    }

    /// The text after ADD CONSTRAINT: all existing rows must satisfy it.
    fn added_constraint(&mut self, table: &str, made: &mut Definition, steps: &mut Vec<Alteration>) -> Result<()> {
        // CONSTRAINT is followed by several in brackets, by one, or, as elsewhere, by the name of one.
        let bracket = self.is("constraint") && matches!(self.ahead(1), TokenKind::Symbol("("));
        let begins = ["primary", "unique", "foreign", "check"].iter().any(|word| self.is_ahead(1, word));
        self.at += if bracket { 2 } else { usize::from(self.is("constraint") && begins) };
        loop {
            let before = made.constraints.len();
            self.table_constraint(table, made)?;
            // A primary key is NOT NULL by itself.
            let key = made.constraints[before..].iter().find(|constraint| constraint.kind == 'P').cloned();
            for name in key.iter().flat_map(|key| &key.columns) {
                let sql = format!("SELECT 1 FROM {} WHERE {} IS NULL", quote(table), quote(name));
                steps.push(Alteration::Never(sql, SqlError::new(-703, table)));
            }
            steps.extend(self.keys(table, made, before));
            let parts = std::mem::take(&mut made.parts);
            for (part, constraint) in parts.into_iter().zip(&made.constraints[before..]) {
                if constraint.kind == 'C' {
                    let condition = part.split_once(" CHECK ").map_or("", |(_, condition)| condition);
                    let sql = format!("SELECT 1 FROM {} WHERE NOT {condition}", quote(table));
                    let error = SqlError::new(-530, format!("informix.{}", constraint.name));
                    steps.push(Alteration::Never(sql, error));
                }
                steps.push(Alteration::Part(part));
                if constraint.kind == 'R' {
                    let sql = format!("SELECT 1 FROM pragma_foreign_key_check({})", literal(table));
                    let error = SqlError::isam(-525, -111, format!("informix.{}", constraint.name));
                    steps.push(Alteration::Never(sql, error));
                }
            }
            if !(bracket && self.accept_symbol(",")) {
                break;
            }
        }
        if bracket { self.expect_symbol(")") } else { Ok(()) }
    }

    /// The text after ADD: one column, or several in brackets, each with the column that it is inserted before.
    fn added_columns(&mut self, table: &str, made: &mut Definition, steps: &mut Vec<Alteration>) -> Result<()> {
        let bracket = self.accept_symbol("(");
        loop {
            let before = made.constraints.len();
            self.column_definition(table, made)?;
            let part = made.parts.pop().unwrap_or_default();
            let Some(column) = made.columns.last().cloned() else { return Err(self.syntax()) };
            // SQLite requires a constant for a column that may not be NULL; so it is added as one that may.
            let loose = format!("{} {}", quote(&column.name), column.ty.affinity());
            steps.push(Alteration::Sql(format!("ALTER TABLE {} ADD COLUMN {loose}", quote(table))));
            let default = made.defaults.iter().rev().find(|default| default.column == column.name);
            let value = match default {
                Some(default) => Some(default.sql.clone()),
                None if column.ty.kind.is_serial() => Some(format!("ifx_serial({}, 0)", literal(table))),
                None => None,
            };
            if let Some(value) = value {
                let sql = format!("UPDATE {} SET {} = {value}", quote(table), quote(&column.name));
                steps.push(Alteration::Sql(sql));
            }
            Self::defined_anew(table, &column, part, None, steps);
            steps.extend(self.keys(table, made, before));
            if self.accept("before") {
                let offset = self.offset();
                let name = self.identifier()?;
                let at = made.columns.iter().position(|column| column.name == name);
                let at = at.ok_or_else(|| SqlError::new(-217, name).at(offset))?;
                if let Some(column) = made.columns.pop() {
                    made.columns.insert(at, column);
                }
            }
            if !(bracket && self.accept_symbol(",")) {
                break;
            }
        }
        if bracket { self.expect_symbol(")") } else { Ok(()) }
    }

    /// A column gets its definition, which its values must keep.
    fn defined_anew(table: &str, column: &Column, part: String, value: Option<String>, steps: &mut Vec<Alteration>) {
        if column.not_null {
            let sql = format!("SELECT 1 FROM {} WHERE {} IS NULL", quote(table), quote(&column.name));
            let error = SqlError::new(-391, format!("{table}.{}", column.name));
            steps.push(Alteration::Never(sql, error));
        }
        steps.push(Alteration::Column { name: column.name.clone(), part, value });
    }

    /// The text after MODIFY: the values are converted, and properties that are not repeated are dropped.
    fn modified_column(&mut self, table: &str, made: &mut Definition, steps: &mut Vec<Alteration>) -> Result<()> {
        let offset = self.offset();
        let (TokenKind::Word(name) | TokenKind::Quoted(name)) = self.peek().clone() else { return Err(self.syntax()) };
        let at = made.columns.iter().position(|column| column.name == name);
        let at = at.ok_or_else(|| SqlError::new(-217, name.clone()).at(offset))?;
        let old = made.columns.remove(at);
        let before = made.constraints.len();
        self.column_definition(table, made)?;
        let mut part = made.parts.pop().unwrap_or_default();
        let Some(mut new) = made.columns.pop() else { return Err(self.syntax()) };
        if self.catalog.primary_key(table).contains(&name) && !new.not_null {
            new.not_null = true;
            part += " NOT NULL";
        }
        let value =
            (old.ty != new.ty).then(|| format!("ifx_conv({}, {}, {})", quote(&name), old.ty.tag(), new.ty.tag()));
        Self::defined_anew(table, &new, part, value, steps);
        made.columns.insert(at, new);
        steps.extend(self.keys(table, made, before));
        Ok(())
    }
}
