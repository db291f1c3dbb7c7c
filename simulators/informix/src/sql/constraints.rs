//! The parts of a table's definition: keys, foreign keys, checks.

use super::lexer::TokenKind;
use super::parser::{Parser, Source, index_name, quote};
use super::{Column, Constraint, Default};
use crate::errors::{Result, SqlError};

/// The parts of a CREATE TABLE.
#[derive(Default)]
pub(super) struct Definition {
    pub(super) columns: Vec<Column>,
    pub(super) parts: Vec<String>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) defaults: Vec<Default>,
    /// The first number of a SERIAL that has one.
    pub(super) serial: Option<i64>,
}

impl Definition {
    pub(super) fn key(&mut self, name: String, primary: bool, columns: Vec<String>) -> Result<()> {
        let known = |other: &Constraint| match other.kind {
            'P' => primary || other.columns == columns,
            'U' => other.columns == columns,
            _ => false,
        };
        if self.constraints.iter().any(known) {
            return Err(SqlError::new(-577, ""));
        }
        for column in self.columns.iter_mut().filter(|column| primary && columns.contains(&column.name)) {
            column.not_null = true;
            let start = quote(&column.name);
            for part in self.parts.iter_mut().filter(|part| part.starts_with(&start) && !part.ends_with(" NOT NULL")) {
                *part += " NOT NULL";
            }
        }
        let kind = if primary { 'P' } else { 'U' };
        self.constraints.push(Constraint { name, kind, columns, references: None, check: None });
        Ok(())
    }
}

/// SQL for a unique key. SQLite allows any number of NULLs in one; here they are equal, as all other values.
pub(super) fn unique_index(name: &str, table: &str, temporary: bool, columns: &[(&Column, bool)]) -> Vec<String> {
    let schema = if temporary { "temp." } else { "" };
    let list: Vec<String> = columns
        .iter()
        .map(|(column, down)| format!("{}{}", quote(&column.name), if *down { " DESC" } else { "" }))
        .collect();
    let target = quote(table);
    let mut sql = vec![format!("CREATE UNIQUE INDEX {schema}{} ON {target} ({})", index_name(name), list.join(", "))];
    if columns.iter().any(|(column, _)| !column.not_null) {
        let names = columns.iter().map(|(column, _)| quote(&column.name));
        let keys: Vec<String> = names.clone().map(|name| format!("ifnull({name}, x'00')")).collect();
        let null: Vec<String> = names.map(|name| format!("{name} IS NULL")).collect();
        sql.push(format!(
            "CREATE UNIQUE INDEX {schema}{} ON {target} ({}) WHERE {}",
            index_name(&format!("{name}:null")),
            keys.join(", "),
            null.join(" OR ")
        ));
    }
    sql
}

impl Definition {
    fn primary_key(&self) -> Vec<String> {
        let found = self.constraints.iter().find(|constraint| constraint.kind == 'P');
        found.map(|constraint| constraint.columns.clone()).unwrap_or_default()
    }

    /// SQL for the indexes of the keys from the n-th constraint on.
    pub(super) fn unique_indexes(&self, table: &str, temporary: bool, from: usize) -> Vec<String> {
        let keys = self.constraints[from..].iter().filter(|constraint| matches!(constraint.kind, 'P' | 'U' | 'R'));
        keys.flat_map(|constraint| {
            if constraint.kind == 'R' {
                let schema = if temporary { "temp." } else { "" };
                let list: Vec<String> = constraint.columns.iter().map(|name| quote(name)).collect();
                let name = index_name(&constraint.name);
                return vec![format!("CREATE INDEX {schema}{name} ON {} ({})", quote(table), list.join(", "))];
            }
            let columns: Vec<(&Column, bool)> = constraint
                .columns
                .iter()
                .filter_map(|name| self.columns.iter().find(|column| column.name == *name))
                .map(|column| (column, false))
                .collect();
            unique_index(&constraint.name, table, temporary, &columns)
        })
        .collect()
    }
}

impl Parser<'_> {
    pub(super) fn constraint_name(&mut self, default: String) -> Result<String> {
        if self.accept("constraint") { Ok(self.object_name()?.1) } else { Ok(default) }
    }

    /// The text after REFERENCES. SQLite checks at the end of the statement by itself, as deferred checks would not.
    pub(super) fn reference(
        &mut self,
        own: &str,
        made: &mut Definition,
        columns: Vec<String>,
        (inline, early): (bool, Option<String>),
    ) -> Result<String> {
        // A table may point to itself, which is not there yet.
        let parent = match self.peek().clone() {
            TokenKind::Word(name) if name == own => self.identifier()?,
            _ => self.table()?.name,
        };
        let offset = self.offset();
        let names = if self.is_symbol("(") { self.column_names()? } else { self.catalog.primary_key(&parent) };
        let names = if names.is_empty() { made.primary_key() } else { names };
        if parent != own && !self.catalog.unique_keys(&parent).contains(&names) {
            return Err(SqlError::new(-297, parent).at(offset));
        }
        let list = |names: &[String]| names.iter().map(|name| quote(name)).collect::<Vec<String>>().join(", ");
        let cascade = self.accept("on");
        if cascade {
            self.expect("delete")?;
            self.expect("cascade")?;
        }
        let name = self.constraint_name(early.unwrap_or(format!("r{}_{own}", made.constraints.len() + 1)))?;
        let sql = format!(
            " CONSTRAINT {} {}REFERENCES {}({}){}",
            quote(&name),
            if inline { String::new() } else { format!("FOREIGN KEY ({}) ", list(&columns)) },
            quote(&parent),
            list(&names),
            if cascade { " ON DELETE CASCADE" } else { "" }
        );
        let references = Some((parent, names, cascade));
        made.constraints.push(Constraint { name, kind: 'R', columns, references, check: None });
        Ok(sql)
    }

    pub(super) fn check(
        &mut self,
        table: &str,
        made: &mut Definition,
        current: Option<Column>,
        early: Option<String>,
    ) -> Result<String> {
        self.expect("check")?;
        let mut columns = made.columns.clone();
        columns.extend(current);
        self.scopes.push(vec![Source::new(table, columns)]);
        let start = self.at;
        self.expect_symbol("(")?;
        let condition = self.expression();
        self.scopes.pop();
        let condition = condition?.sql.replace(&format!("{}.", quote(table)), "");
        self.expect_symbol(")")?;
        let check = Some(self.source(start, self.at).to_owned());
        let name = self.constraint_name(early.unwrap_or(format!("c{}_{table}", made.constraints.len() + 1)))?;
        let sql = format!(" CONSTRAINT {} CHECK ({condition})", quote(&name));
        made.constraints.push(Constraint { name, kind: 'C', columns: Vec::new(), references: None, check });
        Ok(sql)
    }

    pub(super) fn table_constraint(&mut self, table: &str, made: &mut Definition) -> Result<()> {
        let default = format!("u{}_{table}", made.constraints.len() + 1);
        // Informix puts the name after the constraint; the standard position before it is accepted too.
        let early = if self.accept("constraint") { Some(self.object_name()?.1) } else { None };
        if self.accept("foreign") {
            self.expect("key")?;
            let offset = self.offset();
            let names = self.column_names()?;
            Self::known_columns(made, &names, offset)?;
            self.expect("references")?;
            let part = self.reference(table, made, names, (false, early))?;
            made.parts.push(part);
            return Ok(());
        }
        if self.is("check") {
            let check = self.check(table, made, None, early)?;
            made.parts.push(check);
            return Ok(());
        }
        let primary = self.accept("primary");
        if primary {
            self.expect("key")?;
        } else {
            self.expect("unique")?;
        }
        let offset = self.offset();
        let names = self.column_names()?;
        Self::known_columns(made, &names, offset)?;
        let name = self.constraint_name(early.unwrap_or(default))?;
        made.key(name, primary, names).map_err(|error| error.at(offset))
    }

    fn known_columns(made: &Definition, names: &[String], offset: usize) -> Result<()> {
        match names.iter().find(|name| made.columns.iter().all(|column| column.name != **name)) {
            Some(unknown) => Err(SqlError::new(-217, unknown.clone()).at(offset)),
            None => Ok(()),
        }
    }
}
