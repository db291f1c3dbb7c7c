//! ALTER TABLE and RENAME.

use super::ddl::Definition;
use super::lexer::TokenKind;
use super::parser::{Parser, index_name, quote};
use super::{Action, Compiled};
use crate::errors::{Result, SqlError};

impl Parser<'_> {
    pub(super) fn rename(&mut self) -> Result<Compiled> {
        if self.accept("table") {
            let table = self.table()?;
            self.expect("to")?;
            let to = self.identifier()?;
            return Ok(self.compiled(20, Action::RenameTable { from: table.name, to }, Vec::new()));
        }
        self.expect("column")?;
        let table = self.table()?;
        self.expect_symbol(".")?;
        let offset = self.offset();
        let from = self.identifier()?;
        self.expect("to")?;
        let to = self.identifier()?;
        let mut columns = table.columns;
        let column = columns.iter_mut().find(|column| column.name == from);
        column.ok_or_else(|| SqlError::new(-217, from.clone()).at(offset))?.name.clone_from(&to);
        let sql = vec![format!("ALTER TABLE {} RENAME COLUMN {} TO {}", quote(&table.name), quote(&from), quote(&to))];
        let action = Action::Alter {
            table: table.name,
            sql,
            columns,
            defaults: Vec::new(),
            constraints: Vec::new(),
            dropped: Vec::new(),
            renamed: Some((from, to)),
        };
        Ok(self.compiled(21, action, Vec::new()))
    }

    pub(super) fn alter(&mut self) -> Result<Compiled> {
        self.expect("table")?;
        let table = self.table()?;
        let temporary = self.catalog.is_temporary(&table.name);
        let target = quote(&table.name);
        let mut made = Definition { columns: table.columns.clone(), ..Definition::default() };
        let (mut sql, mut dropped) = (Vec::new(), Vec::new());
        loop {
            let offset = self.offset();
            let before = made.constraints.len();
            if self.accept("add") {
                if self.accept("constraint") || self.is("primary") || self.is("unique") {
                    self.table_constraint(&table.name, &mut made)?;
                    sql.extend(made.unique_indexes(&table.name, temporary, before));
                } else {
                    self.added_columns(&table.name, &mut made, &mut sql)?;
                    sql.extend(made.unique_indexes(&table.name, temporary, before));
                }
                if made.constraints[before..].iter().any(|constraint| constraint.kind == 'R') && !made.parts.is_empty()
                {
                    return Err(SqlError::unsupported("ALTER TABLE ADD CONSTRAINT FOREIGN KEY").at(offset));
                }
            } else if self.accept("drop") {
                if self.accept("constraint") {
                    let (_, name) = self.object_name()?;
                    sql.push(format!("DROP INDEX IF EXISTS {}", index_name(&name)));
                    sql.push(format!("DROP INDEX IF EXISTS {}", index_name(&format!("{name}:null"))));
                    dropped.push(name);
                } else {
                    let names = if self.is_symbol("(") { self.column_names()? } else { vec![self.identifier()?] };
                    for name in names {
                        if made.columns.iter().all(|column| column.name != name) {
                            return Err(SqlError::new(-217, name).at(offset));
                        }
                        made.columns.retain(|column| column.name != name);
                        sql.push(format!("ALTER TABLE {target} DROP COLUMN {}", quote(&name)));
                    }
                }
            } else if self.accept("modify") {
                let bracket = self.accept_symbol("(");
                loop {
                    self.modified_column(&table.name, &mut made, &mut sql)?;
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
        let Definition { columns, constraints, defaults, .. } = made;
        let action = Action::Alter { table: table.name, sql, columns, defaults, constraints, dropped, renamed: None };
        Ok(self.compiled(29, action, Vec::new()))
    }

    /// What follows ADD: one column, or several in brackets, each with the column it stands before.
    pub(super) fn added_columns(&mut self, table: &str, made: &mut Definition, sql: &mut Vec<String>) -> Result<()> {
        let bracket = self.accept_symbol("(");
        loop {
            self.column_definition(table, made)?;
            let part = made.parts.pop().unwrap_or_default();
            let (own, part) = (made.columns.last().map(|column| column.name.clone()).unwrap_or_default(), part);
            // SQLite wants a default that is a constant for a column that may not be NULL; whoever adds one to rows
            // that are there already gives it a default.
            let default = made.defaults.iter().rev().find(|default| default.column == own).map(|found| &found.sql);
            match default {
                Some(value) => {
                    sql.push(format!("ALTER TABLE {} ADD COLUMN {}", quote(table), part.replace(" NOT NULL", "")));
                    sql.push(format!("UPDATE {} SET {} = {value}", quote(table), quote(&own)));
                }
                None => sql.push(format!("ALTER TABLE {} ADD COLUMN {part}", quote(table))),
            }
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

    /// What follows MODIFY: the column is made anew and its values converted.
    pub(super) fn modified_column(&mut self, table: &str, made: &mut Definition, sql: &mut Vec<String>) -> Result<()> {
        let offset = self.offset();
        let TokenKind::Word(name) = self.peek().clone() else { return Err(self.syntax()) };
        let at = made.columns.iter().position(|column| column.name == name);
        let at = at.ok_or_else(|| SqlError::new(-217, name.clone()).at(offset))?;
        let old = made.columns.remove(at);
        self.column_definition(table, made)?;
        let part = made.parts.pop().unwrap_or_default();
        let Some(new) = made.columns.pop() else { return Err(self.syntax()) };
        let (target, own, other) = (quote(table), quote(&name), quote("ifx_modified"));
        let part = part.replacen(&own, &other, 1).replace(" NOT NULL", "");
        let value = format!("ifx_conv({own}, {}, {})", old.ty.tag(), new.ty.tag());
        sql.push(format!("ALTER TABLE {target} ADD COLUMN {part}"));
        sql.push(format!("UPDATE {target} SET {other} = {value}"));
        sql.push(format!("ALTER TABLE {target} DROP COLUMN {own}"));
        sql.push(format!("ALTER TABLE {target} RENAME COLUMN {other} TO {own}"));
        made.columns.insert(at, new);
        Ok(())
    }
}
