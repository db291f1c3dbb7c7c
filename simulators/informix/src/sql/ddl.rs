//! Definitions: tables, indexes, views, types, databases.

use super::constraints::{Definition, unique_index};
use super::expr::Form;
use super::lexer::TokenKind;
use super::parser::{Parser, index_name, quote};
use super::{Action, Column, Compiled, Constraint, Default, NewIndex, NewTable};
use crate::catalog;
use crate::errors::{Result, SqlError};
use crate::types::Type;
use crate::usertypes::UserType;

impl Parser<'_> {
    pub(super) fn if_exists(&mut self, not: bool) -> Result<bool> {
        if !self.accept("if") {
            return Ok(false);
        }
        if not {
            self.expect("not")?;
        }
        self.expect("exists")?;
        Ok(true)
    }

    /// A statement that succeeds also if `excused` and this error occurs.
    pub(super) fn unless(&self, excused: bool, code: i16, kind: i16, action: Action) -> Compiled {
        let action = if excused { Action::Unless(Box::new(action), code) } else { action };
        self.compiled(kind, action, Vec::new())
    }

    pub(super) fn create(&mut self) -> Result<Compiled> {
        let offset = self.offset();
        let temporary = self.accept("temp") || self.accept("temporary");
        if self.is("external") {
            return Err(SqlError::unsupported("CREATE EXTERNAL TABLE").at(offset));
        }
        for word in ["raw", "standard", "dba"] {
            self.accept(word);
        }
        if self.accept("table") {
            return self.create_table(temporary);
        }
        if self.is_ahead(1, "type") {
            return self.create_type();
        }
        let unique = self.accept("unique") || self.accept("distinct");
        self.accept("cluster");
        if self.accept("index") {
            return self.create_index(unique);
        }
        if self.accept("view") {
            return self.create_view();
        }
        if self.accept("database") {
            self.if_exists(true)?;
            let name = self.identifier()?;
            let mut mode = "unlogged";
            while let TokenKind::Word(word) = self.next() {
                match word.as_str() {
                    "log" => mode = "logged",
                    "ansi" => mode = "ansi",
                    _ => {}
                }
            }
            self.skip_statement();
            return Ok(self.compiled(12, Action::CreateDatabase { name, mode }, Vec::new()));
        }
        if self.is("procedure") || self.is("function") {
            return self.create_routine();
        }
        if self.accept("synonym") || (self.is_ahead(1, "synonym") && (self.accept("private") || self.accept("public")))
        {
            self.accept("synonym");
            let if_not_exists = self.if_exists(true)?;
            let (_, name) = self.object_name()?;
            self.expect("for")?;
            let table = self.table()?.name;
            return Ok(self.compiled(43, Action::CreateSynonym { name, table, if_not_exists }, Vec::new()));
        }
        if self.accept("sequence") {
            return self.create_sequence();
        }
        for (word, kind) in [("role", 83), ("trigger", 70), ("cast", 93)] {
            if self.is(word) || self.is_ahead(1, word) {
                return Err(
                    SqlError::unsupported(format!("CREATE {} (statement type {kind})", word.to_uppercase())).at(offset)
                );
            }
        }
        Err(self.syntax())
    }

    pub(super) fn column_names(&mut self) -> Result<Vec<String>> {
        Ok(self.ordered_names()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Names in brackets, each with its direction.
    fn ordered_names(&mut self) -> Result<Vec<(String, bool)>> {
        self.expect_symbol("(")?;
        let mut names = Vec::new();
        loop {
            let name = self.identifier()?;
            self.accept("asc");
            names.push((name, self.accept("desc")));
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(names)
    }

    fn create_table(&mut self, temporary: bool) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let mut made = Definition::default();
        if self.accept("of") {
            self.typed_table(&mut made)?;
        } else {
            self.expect_symbol("(")?;
        }
        while made.columns.is_empty() || *self.peek() != TokenKind::End {
            if self.is("primary")
                || self.is("unique")
                || self.is("foreign")
                || self.is("check")
                || self.is("constraint")
            {
                self.table_constraint(&name, &mut made)?;
            } else {
                self.column_definition(&name, &mut made)?;
            }
            if !self.accept_symbol(",") {
                self.expect_symbol(")")?;
                break;
            }
        }
        self.storage(&[
            "in",
            "with",
            "extent",
            "next",
            "lock",
            "fragment",
            "partition",
            "put",
            "using",
            "compressed",
            "statchange",
        ])?;
        let keyword = if temporary { "CREATE TEMP TABLE" } else { "CREATE TABLE" };
        let sql = format!("{keyword} {} ({})", quote(&name), made.parts.join(", "));
        let kind = if temporary { 45 } else { 14 };
        let indexes = made.unique_indexes(&name, temporary, 0);
        let Definition { columns, constraints, defaults, serial, .. } = made;
        let table = NewTable {
            name,
            columns,
            temporary,
            kind: 'T',
            sql,
            indexes,
            constraints,
            defaults,
            text: String::new(),
            if_not_exists,
            serial,
        };
        Ok(self.compiled(kind, Action::CreateTable(table), Vec::new()))
    }

    /// Storage options, which only matter to a real server.
    fn storage(&mut self, words: &[&str]) -> Result<()> {
        let known = words.iter().any(|word| self.is(word));
        if !known && !matches!(self.peek(), TokenKind::End | TokenKind::Symbol(";")) {
            return Err(self.syntax());
        }
        self.skip_statement();
        Ok(())
    }

    /// `OF TYPE a`: the columns are the fields of a row type.
    fn typed_table(&mut self, made: &mut Definition) -> Result<()> {
        self.expect("type")?;
        let offset = self.offset();
        let name = self.identifier()?;
        let definition = self.catalog.user_type(&name).and_then(Type::definition);
        let Some(UserType::Row { fields, .. }) = definition.as_deref() else {
            return Err(SqlError::new(-9628, name).at(offset));
        };
        for (name, ty) in fields {
            made.parts.push(format!("{} {}", quote(name), ty.affinity()));
            made.columns.push(Column { name: name.clone(), ty: *ty, not_null: false });
        }
        self.skip_statement();
        Ok(())
    }

    pub(super) fn column_definition(&mut self, table: &str, made: &mut Definition) -> Result<()> {
        let offset = self.offset();
        let name = self.identifier()?;
        if made.columns.iter().any(|column| column.name == name) {
            return Err(SqlError::new(-328, name).at(offset));
        }
        if let (TokenKind::Word(word), TokenKind::Symbol("("), TokenKind::Number(first)) =
            (self.peek(), self.ahead(1), self.ahead(2))
            && word.contains("serial")
        {
            made.serial = first.parse().ok();
        }
        let ty = self.type_declaration()?;
        let mut sql = format!("{} {}", quote(&name), ty.affinity());
        let mut not_null = ty.kind.is_serial();
        let mut explicit = false;
        loop {
            let ordinal = made.constraints.len() + 1;
            if self.accept("default") {
                let start = self.at;
                let value = self.sum()?;
                let class = match self.tokens[start].kind {
                    TokenKind::Word(ref word) if word == "null" => 'N',
                    TokenKind::Word(ref word) if word.starts_with("current") || word == "sysdate" => 'C',
                    TokenKind::Word(ref word) if word == "today" => 'T',
                    TokenKind::Word(ref word) if word == "user" => 'U',
                    TokenKind::Word(ref word) if word == "dbservername" || word == "sitename" => 'S',
                    _ => 'L',
                };
                let text = if class == 'L' {
                    self.source(start, self.at).trim_matches('\'').to_owned()
                } else {
                    String::new()
                };
                let value = if value.form == Form::Null { value.sql } else { self.coerce(value, ty) };
                made.defaults.push(Default { column: name.clone(), class, text, sql: value });
            } else if self.accept("not") {
                self.expect("null")?;
                not_null = true;
                explicit = true;
                self.constraint_name(String::new())?;
            } else if self.accept("null") {
            } else if self.is("primary") || self.is("unique") || self.is("distinct") {
                let primary = self.accept("primary");
                not_null |= primary;
                if primary {
                    self.expect("key")?;
                } else {
                    self.at += 1;
                }
                let constraint = self.constraint_name(format!("u{ordinal}_{table}"))?;
                made.key(constraint, primary, vec![name.clone()]).map_err(|error| error.at(offset))?;
            } else if self.accept("references") {
                let reference = self.reference(table, made, vec![name.clone()], (true, None))?;
                sql += &reference;
            } else if self.is("check") {
                let check = self.check(table, made, Some(Column { name: name.clone(), ty, not_null }), None)?;
                sql += &check;
            } else if self.accept("put") {
                self.expect("in")?;
                self.skip_brackets()?;
                if self.is_symbol("(") {
                    self.skip_brackets()?;
                }
            } else {
                break;
            }
        }
        if not_null {
            sql += " NOT NULL";
        }
        if explicit {
            let column = &name;
            let name = format!("n{}_{table}", made.constraints.len() + 1);
            let columns = vec![column.clone()];
            made.constraints.push(Constraint { name, kind: 'N', columns, references: None, check: None });
        }
        made.columns.push(Column { name, ty, not_null });
        made.parts.push(sql);
        Ok(())
    }

    fn create_index(&mut self, unique: bool) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        self.expect("on")?;
        let offset = self.offset();
        let table = self.table()?;
        if catalog::is_system(&table.name) {
            return Err(SqlError::new(-511, table.name).at(offset));
        }
        let offset = self.offset();
        let names = self.ordered_names()?;
        let mut columns = Vec::new();
        for (index, (name, down)) in names.iter().enumerate() {
            if names[..index].iter().any(|(other, _)| other == name) {
                return Err(SqlError::syntax(offset, name));
            }
            let found = table.columns.iter().find(|column| column.name == *name);
            columns.push((found.ok_or_else(|| SqlError::new(-217, name.clone()).at(offset))?, *down));
        }
        self.storage(&[
            "in",
            "using",
            "fillfactor",
            "fragment",
            "partition",
            "online",
            "enabled",
            "extent",
            "compressed",
        ])?;
        let temporary = self.catalog.is_temporary(&table.name);
        let sql = if unique {
            unique_index(&name, &table.name, temporary, &columns)
        } else {
            let list: Vec<String> = names
                .iter()
                .map(|(name, down)| format!("{}{}", quote(name), if *down { " DESC" } else { "" }))
                .collect();
            let schema = if temporary { "temp." } else { "" };
            vec![format!("CREATE INDEX {schema}{} ON {} ({})", index_name(&name), quote(&table.name), list.join(", "))]
        };
        let (columns, descending) = names.into_iter().unzip();
        let index = NewIndex { name, table: table.name, columns, descending, unique, sql };
        Ok(self.compiled(16, Action::CreateIndex { index, if_not_exists }, Vec::new()))
    }

    fn create_view(&mut self) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let names = if self.is_symbol("(") { self.column_names()? } else { Vec::new() };
        self.expect("as")?;
        let start = self.at;
        let query = self.query()?;
        let text = format!("create view {name} as {}", self.source(start, self.at));
        if self.accept("with") {
            self.skip_statement();
        }
        let mut columns = query.columns;
        if !names.is_empty() && names.len() != columns.len() {
            return Err(self.syntax());
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name;
        }
        Self::check_names(&columns)?;
        let list: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
        let sql = format!("CREATE VIEW {} ({}) AS {}", quote(&name), list.join(", "), query.sql);
        let table = NewTable {
            name,
            columns,
            temporary: false,
            kind: 'V',
            sql,
            indexes: Vec::new(),
            constraints: Vec::new(),
            defaults: Vec::new(),
            text,
            if_not_exists,
            serial: None,
        };
        Ok(self.compiled(40, Action::CreateTable(table), Vec::new()))
    }

    /// Columns that become those of a table or view have names, each another.
    pub(super) fn check_names(columns: &[Column]) -> Result<()> {
        for (index, column) in columns.iter().enumerate() {
            if column.name.starts_with('(') {
                return Err(SqlError::new(-249, ""));
            }
            if columns[..index].iter().any(|other| other.name == column.name) {
                return Err(SqlError::new(-328, column.name.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn drop(&mut self) -> Result<Compiled> {
        let word_offset = self.offset();
        let TokenKind::Word(mut what) = self.next() else { return Err(self.syntax()) };
        if what == "row" && self.accept("type") {
            what = "type".to_owned();
        }
        let if_exists = self.if_exists(false)?;
        let offset = self.offset();
        let (_, name) = self.object_name()?;
        match what.as_str() {
            "table" | "view" => {
                let kind = if what == "table" { 15 } else { 41 };
                if catalog::is_system(&name) {
                    return Err(SqlError::new(-511, name).at(offset));
                }
                if !if_exists && self.catalog.table(None, &name).is_none() {
                    return Err(SqlError::isam(-206, -111, name).at(offset));
                }
                self.accept("cascade");
                let restrict = self.accept("restrict");
                Ok(self.compiled(kind, Action::DropTable { name, if_exists, restrict }, Vec::new()))
            }
            "index" => {
                self.accept("online");
                Ok(self.compiled(17, Action::DropIndex { name, if_exists }, Vec::new()))
            }
            "synonym" => Ok(self.unless(if_exists, -206, 44, Action::DropSynonym(name))),
            "sequence" => Ok(self.unless(if_exists, -8300, 79, Action::DropSequence(name))),
            "type" => {
                self.accept("restrict");
                Ok(self.unless(if_exists, -9628, 96, Action::DropType(name)))
            }
            "procedure" | "function" | "routine" => {
                if self.is_symbol("(") {
                    self.skip_brackets()?;
                }
                if !if_exists && self.catalog.routine(&name).is_none() {
                    return Err(SqlError::new(-674, name).at(offset));
                }
                Ok(self.compiled(54, Action::DropRoutine(name), Vec::new()))
            }
            "database" => Ok(self.unless(if_exists, -329, 13, Action::DropDatabase(name))),
            "role" | "trigger" | "cast" | "aggregate" | "opclass" | "security" | "xadatasource" => {
                Err(SqlError::unsupported(format!("DROP {}", what.to_uppercase())).at(offset))
            }
            _ => Err(SqlError::syntax(word_offset, &what)),
        }
    }
}
