//! Definitions: tables, indexes, views, databases, and routines of one expression.

use super::expr::Form;
use super::lexer::TokenKind;
use super::parser::{Parser, Source, quote};
use super::{Action, Column, Compiled, NewTable, Routine};
use crate::errors::{Result, SqlError};

/// Where the parts of a CREATE TABLE are gathered.
#[derive(Default)]
struct Definition {
    columns: Vec<Column>,
    parts: Vec<String>,
    constraints: Vec<(String, Vec<String>)>,
}

impl Parser<'_> {
    fn if_exists(&mut self, not: bool) -> Result<bool> {
        if !self.accept("if") {
            return Ok(false);
        }
        if not {
            self.expect("not")?;
        }
        self.expect("exists")?;
        Ok(true)
    }

    pub(super) fn create(&mut self) -> Result<Compiled> {
        let offset = self.offset();
        let temporary = self.accept("temp") || self.accept("temporary");
        for word in ["raw", "standard", "external", "dba", "or", "replace"] {
            self.accept(word);
        }
        if self.accept("table") {
            return self.create_table(temporary);
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
        for (word, kind) in
            [("synonym", 43), ("role", 83), ("sequence", 77), ("trigger", 70), ("type", 95), ("cast", 93)]
        {
            if self.is(word) || self.is_ahead(1, word) {
                return Err(
                    SqlError::unsupported(format!("CREATE {} (statement type {kind})", word.to_uppercase())).at(offset)
                );
            }
        }
        Err(self.syntax())
    }

    fn column_names(&mut self) -> Result<Vec<String>> {
        self.expect_symbol("(")?;
        let mut names = Vec::new();
        loop {
            names.push(self.identifier()?);
            self.accept("asc");
            self.accept("desc");
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(names)
    }

    fn constraint_name(&mut self, default: String) -> Result<String> {
        if self.accept("constraint") { Ok(self.object_name()?.1) } else { Ok(default) }
    }

    fn create_table(&mut self, temporary: bool) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        self.expect_symbol("(")?;
        let mut made = Definition::default();
        loop {
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
                break;
            }
        }
        self.expect_symbol(")")?;
        // Where and how it is stored is the business of a real server.
        self.skip_statement();
        let keyword = if temporary { "CREATE TEMP TABLE" } else { "CREATE TABLE" };
        let sql = format!("{keyword} {} ({})", quote(&name), made.parts.join(", "));
        let kind = if temporary { 45 } else { 14 };
        let Definition { columns, constraints, .. } = made;
        let table = NewTable { name, columns, temporary, kind: 'T', sql, constraints, if_not_exists };
        Ok(self.compiled(kind, Action::CreateTable(table), Vec::new()))
    }

    fn column_definition(&mut self, table: &str, made: &mut Definition) -> Result<()> {
        let offset = self.offset();
        let name = self.identifier()?;
        if made.columns.iter().any(|column| column.name == name) {
            return Err(SqlError::new(-328, name).at(offset));
        }
        let ty = self.type_declaration()?;
        let mut sql = format!("{} {}", quote(&name), ty.affinity());
        let mut not_null = ty.kind.is_serial();
        loop {
            let ordinal = made.constraints.len() + 1;
            if self.accept("default") {
                let value = self.expression()?;
                let value = if value.form == Form::Null { value.sql } else { self.coerce(value, ty) };
                sql += &format!(" DEFAULT ({value})");
            } else if self.accept("not") {
                self.expect("null")?;
                not_null = true;
                self.constraint_name(String::new())?;
            } else if self.accept("null") {
            } else if self.is("primary") || self.is("unique") || self.is("distinct") {
                not_null |= self.is("primary");
                if self.accept("primary") {
                    self.expect("key")?;
                } else {
                    self.at += 1;
                }
                let constraint = self.constraint_name(format!("u{ordinal}_{table}"))?;
                made.constraints.push((constraint, vec![name.clone()]));
                sql += " UNIQUE";
            } else if self.accept("references") {
                sql += &self.reference()?;
            } else if self.is("check") {
                sql += &self.check(table, made, Column { name: name.clone(), ty, not_null })?;
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
        made.columns.push(Column { name, ty, not_null });
        made.parts.push(sql);
        Ok(())
    }

    fn reference(&mut self) -> Result<String> {
        let table = self.table()?;
        let mut sql = format!(" REFERENCES {}", quote(&table.name));
        if self.is_symbol("(") {
            let names: Vec<String> = self.column_names()?.iter().map(|name| quote(name)).collect();
            sql += &format!("({})", names.join(", "));
        }
        if self.accept("on") {
            self.expect("delete")?;
            self.expect("cascade")?;
            sql += " ON DELETE CASCADE";
        }
        self.constraint_name(String::new())?;
        Ok(sql)
    }

    fn check(&mut self, table: &str, made: &Definition, current: Column) -> Result<String> {
        self.expect("check")?;
        let mut columns = made.columns.clone();
        columns.push(current);
        self.scopes.push(vec![Source { alias: table.to_owned(), columns }]);
        self.expect_symbol("(")?;
        let condition = self.expression();
        self.scopes.pop();
        let condition = condition?.sql.replace(&format!("{}.", quote(table)), "");
        self.expect_symbol(")")?;
        let name = self.constraint_name(format!("c{}_{table}", made.parts.len() + 1))?;
        Ok(format!(" CONSTRAINT {} CHECK ({condition})", quote(&name)))
    }

    fn table_constraint(&mut self, table: &str, made: &mut Definition) -> Result<()> {
        let default = format!("u{}_{table}", made.constraints.len() + 1);
        // Informix puts the name behind the constraint; in front of it, as elsewhere, is taken too.
        let early = if self.accept("constraint") { Some(self.object_name()?.1) } else { None };
        if self.accept("foreign") {
            self.expect("key")?;
            let names: Vec<String> = self.column_names()?.iter().map(|name| quote(name)).collect();
            self.expect("references")?;
            let target = self.reference()?;
            made.parts.push(format!("FOREIGN KEY ({}){target}", names.join(", ")));
            return Ok(());
        }
        if self.is("check") {
            let last = made.columns.pop().ok_or_else(|| self.syntax())?;
            let check = self.check(table, made, last.clone());
            made.columns.push(last);
            made.parts.push(check?);
            return Ok(());
        }
        let primary = self.accept("primary");
        if primary {
            self.expect("key")?;
        } else {
            self.expect("unique")?;
        }
        let names = self.column_names()?;
        let name = self.constraint_name(early.unwrap_or(default))?;
        let list: Vec<String> = names.iter().map(|name| quote(name)).collect();
        made.parts.push(format!("UNIQUE ({})", list.join(", ")));
        made.constraints.push((name, names));
        Ok(())
    }

    fn create_index(&mut self, unique: bool) -> Result<Compiled> {
        let exists = if self.if_exists(true)? { "IF NOT EXISTS " } else { "" };
        let (_, name) = self.object_name()?;
        self.expect("on")?;
        let table = self.table()?;
        let offset = self.offset();
        let names = self.column_names()?;
        for name in &names {
            if table.columns.iter().all(|column| column.name != *name) {
                return Err(SqlError::new(-217, name.clone()).at(offset));
            }
        }
        self.skip_statement();
        let list: Vec<String> = names.iter().map(|name| quote(name)).collect();
        let unique = if unique { "UNIQUE " } else { "" };
        let sql =
            format!("CREATE {unique}INDEX {exists}{} ON {} ({})", quote(&name), quote(&table.name), list.join(", "));
        Ok(self.compiled(16, Action::Ddl(sql), Vec::new()))
    }

    fn create_view(&mut self) -> Result<Compiled> {
        let if_not_exists = self.if_exists(true)?;
        let (_, name) = self.object_name()?;
        let names = if self.is_symbol("(") { self.column_names()? } else { Vec::new() };
        self.expect("as")?;
        let query = self.subquery()?;
        if self.accept("with") {
            self.skip_statement();
        }
        let mut columns = query.columns;
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name;
        }
        let list: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
        let sql = format!("CREATE VIEW {} ({}) AS {}", quote(&name), list.join(", "), query.sql);
        let table =
            NewTable { name, columns, temporary: false, kind: 'V', sql, constraints: Vec::new(), if_not_exists };
        Ok(self.compiled(40, Action::CreateTable(table), Vec::new()))
    }

    /// `CREATE FUNCTION f(a INT) RETURNING INT; RETURN a + 1; END FUNCTION`, and nothing beyond it.
    fn create_routine(&mut self) -> Result<Compiled> {
        let TokenKind::Word(word) = self.next() else { return Err(self.syntax()) };
        let (_, name) = self.object_name()?;
        self.expect_symbol("(")?;
        let mut parameters = Vec::new();
        while !self.is_symbol(")") {
            let name = self.identifier()?;
            let ty = self.type_declaration()?;
            parameters.push(Column { name, ty, not_null: false });
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        let mut returns = Vec::new();
        if self.accept("returning") || self.accept("returns") {
            loop {
                returns.push(self.type_declaration()?);
                if self.accept("as") {
                    self.identifier()?;
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        self.accept_symbol(";");
        let mut body = Vec::new();
        let offset = self.offset();
        if self.accept("return") {
            let mut depth = 0;
            let mut start = self.at;
            loop {
                let end = self.at;
                match self.peek() {
                    TokenKind::Symbol("(") => depth += 1,
                    TokenKind::Symbol(")") => depth -= 1,
                    TokenKind::Symbol(separator @ ("," | ";")) if depth == 0 => {
                        body.push(self.source(start, end).to_owned());
                        start = end + 1;
                        if *separator == ";" {
                            break;
                        }
                    }
                    TokenKind::End => return Err(self.syntax()),
                    _ => {}
                }
                self.at += 1;
            }
            self.at += 1;
        }
        if !self.accept("end") || body.len() != returns.len() {
            return Err(SqlError::unsupported("routines of more than one RETURN").at(offset));
        }
        self.expect(&word)?;
        let routine = Routine { parameters, returns, body };
        Ok(self.compiled(53, Action::CreateRoutine(name, routine), Vec::new()))
    }

    pub(super) fn drop(&mut self) -> Result<Compiled> {
        let TokenKind::Word(what) = self.next() else { return Err(self.syntax()) };
        let if_exists = self.if_exists(false)?;
        let offset = self.offset();
        let (_, name) = self.object_name()?;
        match what.as_str() {
            "table" | "view" => {
                let kind = if what == "table" { 15 } else { 41 };
                if !if_exists && self.catalog.table(None, &name).is_none() {
                    return Err(SqlError::isam(-206, -111, name).at(offset));
                }
                self.accept("cascade");
                self.accept("restrict");
                Ok(self.compiled(kind, Action::DropTable { name, if_exists }, Vec::new()))
            }
            "index" => {
                let exists = if if_exists { "IF EXISTS " } else { "" };
                Ok(self.compiled(17, Action::Ddl(format!("DROP INDEX {exists}{}", quote(&name))), Vec::new()))
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
            "database" => Ok(self.compiled(13, Action::DropDatabase(name), Vec::new())),
            _ => Err(SqlError::unsupported(format!("DROP {}", what.to_uppercase())).at(offset)),
        }
    }

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
        Ok(self.compiled(21, Action::Alter { table: table.name, sql, columns, constraints: Vec::new() }, Vec::new()))
    }

    pub(super) fn alter(&mut self) -> Result<Compiled> {
        self.expect("table")?;
        let table = self.table()?;
        let target = quote(&table.name);
        let mut made = Definition { columns: table.columns.clone(), ..Definition::default() };
        let mut sql = Vec::new();
        loop {
            let offset = self.offset();
            if self.accept("add") {
                let constraint = self.accept("constraint");
                if constraint || self.is("primary") || self.is("unique") {
                    let before = made.constraints.len();
                    self.table_constraint(&table.name, &mut made)?;
                    let Some((name, names)) = made.constraints.get(before) else {
                        return Err(SqlError::unsupported("ALTER TABLE with this constraint").at(offset));
                    };
                    let list: Vec<String> = names.iter().map(|name| quote(name)).collect();
                    sql.push(format!("CREATE UNIQUE INDEX {} ON {target} ({})", quote(name), list.join(", ")));
                } else {
                    let bracket = self.accept_symbol("(");
                    loop {
                        self.column_definition(&table.name, &mut made)?;
                        let part = made.parts.pop().unwrap_or_default();
                        sql.push(format!("ALTER TABLE {target} ADD COLUMN {part}"));
                        if !(bracket && self.accept_symbol(",")) {
                            break;
                        }
                    }
                    if bracket {
                        self.expect_symbol(")")?;
                    }
                }
            } else if self.accept("drop") {
                let names = if self.is_symbol("(") { self.column_names()? } else { vec![self.identifier()?] };
                for name in names {
                    if made.columns.iter().all(|column| column.name != name) {
                        return Err(SqlError::new(-217, name).at(offset));
                    }
                    made.columns.retain(|column| column.name != name);
                    sql.push(format!("ALTER TABLE {target} DROP COLUMN {}", quote(&name)));
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
        let action = Action::Alter { table: table.name, sql, columns: made.columns, constraints: made.constraints };
        Ok(self.compiled(29, action, Vec::new()))
    }
}
