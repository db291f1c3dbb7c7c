//! Reading types and definitions.

use std::sync::Arc;

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::errors::{Error, Result};
use crate::limits::STRING;
use crate::types::Type;
use crate::types::code::*;

impl Parser<'_> {
    fn number(&mut self) -> Result<i64> {
        let negative = self.accept_symbol("-");
        match self.next() {
            TokenKind::Number(number) => {
                let value: i64 = number.parse().map_err(|_| self.syntax(""))?;
                Ok(if negative { -value } else { value })
            }
            _ => Err(self.syntax("")),
        }
    }

    fn size(&mut self, unsized_is: i32) -> Result<i32> {
        if !self.accept_symbol("(") {
            return Ok(unsized_is);
        }
        let size = self.number()? as i32;
        self.expect_symbol(")")?;
        Ok(size)
    }

    /// A type.
    pub(super) fn data_type(&mut self) -> Result<Type> {
        let TokenKind::Word(word) = self.next() else { return Err(self.syntax("")) };
        let ty = match word.as_str() {
            "smallint" | "short" => Type::of(SHORT),
            "int" | "integer" => Type::of(INT),
            "bigint" => Type::of(BIGINT),
            "numeric" | "decimal" | "dec" => {
                let (mut precision, mut scale) = (15, 0);
                if self.accept_symbol("(") {
                    precision = self.number()? as i32;
                    if self.accept_symbol(",") {
                        scale = self.number()? as i16;
                    }
                    self.expect_symbol(")")?;
                }
                if !(1..=38).contains(&precision) {
                    return Err(Error::syntax(format!(
                        "Given precision of {precision} is invalid; it should be greater than 0 and no greater than 38. "
                    )));
                }
                Type::numeric(precision, scale)
            }
            "float" | "real" => {
                let precision = self.size(7)?;
                Type::of(if precision > 7 { DOUBLE } else { FLOAT })
            }
            "double" => {
                self.accept("precision");
                Type::of(DOUBLE)
            }
            "monetary" => Type::of(MONETARY),
            "char" | "character" => {
                if self.accept("varying") {
                    Type::sized(VARCHAR, self.size(STRING)?)
                } else {
                    Type::sized(CHAR, self.size(1)?)
                }
            }
            "varchar" => Type::sized(VARCHAR, self.size(STRING)?),
            "string" => Type::sized(VARCHAR, STRING),
            "nchar" | "national" => {
                if word == "national" && !self.accept("character") {
                    self.expect("char")?;
                }
                if self.accept("varying") {
                    Type::sized(VARNCHAR, self.size(STRING)?)
                } else {
                    Type::sized(NCHAR, self.size(1)?)
                }
            }
            "bit" => {
                if self.accept("varying") {
                    Type::sized(VARBIT, self.size(STRING)?)
                } else {
                    Type::sized(BIT, self.size(1)?)
                }
            }
            "varbit" => Type::sized(VARBIT, self.size(STRING)?),
            "date" => Type::of(DATE),
            "time" => Type::of(TIME),
            "timestamp" | "datetime" => {
                let long = word == "datetime";
                if self.accept("with") {
                    let local = self.accept("local");
                    self.expect("time")?;
                    self.expect("zone")?;
                    Type::of(match (long, local) {
                        (true, true) => DATETIMELTZ,
                        (true, false) => DATETIMETZ,
                        (false, true) => TIMESTAMPLTZ,
                        (false, false) => TIMESTAMPTZ,
                    })
                } else {
                    Type::of(if long { DATETIME } else { TIMESTAMP })
                }
            }
            "timestamptz" => Type::of(TIMESTAMPTZ),
            "timestampltz" => Type::of(TIMESTAMPLTZ),
            "datetimetz" => Type::of(DATETIMETZ),
            "datetimeltz" => Type::of(DATETIMELTZ),
            "blob" => Type::of(BLOB),
            "clob" => Type::of(CLOB),
            "json" => Type::of(JSON),
            "enum" => {
                let labels = self.bracketed(|parser| match parser.next() {
                    TokenKind::Text(text) => Ok(text),
                    _ => Err(parser.syntax("")),
                })?;
                Type { labels: Some(Arc::from(labels)), ..Type::of(ENUM) }
            }
            "set" | "multiset" | "sequence" | "list" => {
                let is_of = self.accept("of");
                let element = if self.accept_symbol("(") {
                    let element = if self.is_symbol(")") { Type::unknown() } else { self.data_type()? };
                    while self.accept_symbol(",") {
                        self.data_type()?;
                    }
                    self.expect_symbol(")")?;
                    element
                } else if matches!(self.peek(), TokenKind::Word(_)) && (is_of || word != "list") {
                    self.data_type().unwrap_or(Type::unknown())
                } else {
                    Type::unknown()
                };
                element.collected(match word.as_str() {
                    "set" => 0x20,
                    "multiset" => 0x40,
                    _ => 0x60,
                })
            }
            word => {
                self.at -= 1;
                if super::parser::is_reserved(word) {
                    return Err(self.syntax(""));
                }
                let (from, to) = self.tokens[self.at].span;
                return Err(Error::semantic(format!("before ' '\ndba.{} is not defined. ", &self.text[from..to])));
            }
        };
        if self.accept("collate") || self.accept("charset") || self.accept_all(&["character", "set"]) {
            self.at += 1;
            if self.accept("collate") {
                self.at += 1;
            }
        }
        Ok(ty)
    }

    pub(super) fn create(&mut self) -> Result<Statement> {
        let replace = self.accept_all(&["or", "replace"]);
        if self.accept("table") || self.accept("class") {
            return self.create_table(replace);
        }
        if self.accept("view") || self.accept("vclass") {
            let name = self.table_name()?;
            let columns = if self.is_symbol("(") { self.bracketed(Self::view_column)? } else { Vec::new() };
            self.expect("as")?;
            let from = self.tokens[self.at].span.0;
            self.query()?;
            let text = self.text[from..self.tokens[self.at].span.0].trim().to_owned();
            return Ok(Statement::CreateView { name, columns, text, replace });
        }
        if self.accept("serial") {
            return self.create_serial();
        }
        let unique = {
            self.accept("reverse");
            self.accept("unique")
        };
        if self.accept("index") {
            let name = if self.is("on") { String::new() } else { self.identifier()? };
            self.expect("on")?;
            let table = self.table_name()?;
            let columns = self.key_columns()?;
            let kind = if unique { KeyKind::Unique } else { KeyKind::Index };
            let name = if name.is_empty() { key_name(kind, &table, &columns) } else { name };
            return Ok(Statement::CreateIndex { table, key: Key { name, kind, columns, references: None } });
        }
        Err(self.syntax(""))
    }

    fn view_column(&mut self) -> Result<String> {
        let name = self.identifier()?;
        if !self.is_symbol(",") && !self.is_symbol(")") {
            self.data_type()?;
        }
        Ok(name)
    }

    fn create_serial(&mut self) -> Result<Statement> {
        let if_not_exists = self.accept_all(&["if", "not", "exists"]);
        let name = self.identifier()?;
        let (mut start, mut step) = (1, 1);
        loop {
            if self.accept_all(&["start", "with"]) {
                start = self.number()?;
            } else if self.accept_all(&["increment", "by"]) {
                step = self.number()?;
            } else if self.accept("maxvalue") || self.accept("minvalue") || self.accept("cache") {
                self.number()?;
            } else if !["nomaxvalue", "nominvalue", "nocache", "nocycle", "cycle"].iter().any(|word| self.accept(word))
            {
                break;
            }
        }
        Ok(Statement::CreateSerial { name, start, step, if_not_exists })
    }

    fn create_table(&mut self, replace: bool) -> Result<Statement> {
        let if_not_exists = self.accept_all(&["if", "not", "exists"]);
        let name = self.table_name()?;
        let mut table = Table { name, ..Table::default() };
        if self.accept("like") {
            let like = Some(self.table_name()?);
            return Ok(Statement::CreateTable { table, if_not_exists, like, query: None, replace });
        }
        self.accept_all(&["under", "root"]);
        if self.accept_symbol("(") {
            if self.accept("like") {
                let like = Some(self.table_name()?);
                self.expect_symbol(")")?;
                return Ok(Statement::CreateTable { table, if_not_exists, like, query: None, replace });
            }
            self.list(|parser| parser.table_part(&mut table))?;
            self.expect_symbol(")")?;
        }
        while self.table_option(&mut table)? {}
        let with_query = self.is("as") || self.is("select");
        self.accept("as");
        let query = if with_query { Some(self.query()?) } else { None };
        Ok(Statement::CreateTable { table, if_not_exists, like: None, query, replace })
    }

    fn table_option(&mut self, table: &mut Table) -> Result<bool> {
        if self.accept("comment") {
            self.accept_symbol("=");
            if let TokenKind::Text(text) = self.next() {
                table.comment = text;
            }
        } else if self.accept("auto_increment") {
            self.accept_symbol("=");
            let start = self.number()?;
            for column in &mut table.columns {
                column.auto = column.auto.map(|(_, step)| (start, step));
            }
        } else if self.accept("collate") || self.accept("charset") {
            self.accept_symbol("=");
            self.at += 1;
        } else if !(self.accept("reuse_oid") || self.accept("dont_reuse_oid") || self.accept_symbol(",")) {
            return Ok(false);
        }
        Ok(true)
    }

    fn table_part(&mut self, table: &mut Table) -> Result<()> {
        if let Some(key) = self.key(&table.name)? {
            table.keys.push(key);
            return Ok(());
        }
        let (column, keys) = self.column_definition(&table.name)?;
        table.columns.push(column);
        table.keys.extend(keys);
        Ok(())
    }

    /// A key of a table, if one begins here.
    fn key(&mut self, table: &str) -> Result<Option<Key>> {
        let start = self.at;
        let mut name = String::new();
        if self.accept("constraint") {
            name = self.identifier()?;
        }
        let kind = if self.accept_all(&["primary", "key"]) {
            KeyKind::Primary
        } else if self.accept_all(&["foreign", "key"]) {
            KeyKind::Foreign
        } else if self.accept("unique") {
            if !self.accept("key") {
                self.accept("index");
            }
            KeyKind::Unique
        } else if (self.is("index") || self.is("key")) && !matches!(self.ahead(2), TokenKind::Word(_)) {
            self.at += 1;
            KeyKind::Index
        } else if self.accept("check") {
            // Checks are read and left, as the server does.
            self.expect_symbol("(")?;
            self.expression()?;
            self.expect_symbol(")")?;
            return Ok(Some(Key { name, kind: KeyKind::Index, columns: Vec::new(), references: None }));
        } else {
            self.at = start;
            return Ok(None);
        };
        if name.is_empty() && !self.is_symbol("(") {
            name = self.identifier()?;
        }
        let columns = self.key_columns()?;
        let references = if kind == KeyKind::Foreign { Some(self.references()?) } else { None };
        let name = if name.is_empty() { key_name(kind, table, &columns) } else { name };
        Ok(Some(Key { name, kind, columns, references }))
    }

    fn key_columns(&mut self) -> Result<Vec<(String, bool)>> {
        self.bracketed(|parser| {
            let name = parser.identifier()?;
            parser.size(0)?;
            let descending = parser.accept("desc");
            if !descending {
                parser.accept("asc");
            }
            Ok((name, descending))
        })
    }

    fn references(&mut self) -> Result<(String, Vec<String>, String, String)> {
        self.expect("references")?;
        let table = self.table_name()?;
        let columns = if self.is_symbol("(") { self.bracketed(Self::identifier)? } else { Vec::new() };
        let (mut delete, mut update) = ("RESTRICT".to_owned(), "RESTRICT".to_owned());
        while self.accept("on") {
            let deleting = self.accept("delete");
            if !deleting {
                self.expect("update")?;
            }
            let action = if self.accept("cascade") {
                "CASCADE"
            } else if self.accept_all(&["set", "null"]) {
                "SET NULL"
            } else if self.accept_all(&["no", "action"]) {
                "NO ACTION"
            } else {
                self.expect("restrict")?;
                "RESTRICT"
            };
            *(if deleting { &mut delete } else { &mut update }) = action.to_owned();
        }
        Ok((table, columns, delete, update))
    }

    pub(super) fn column_definition(&mut self, table: &str) -> Result<(Column, Vec<Key>)> {
        let name = self.identifier()?;
        let ty = self.data_type()?;
        let mut column = Column {
            name: name.clone(),
            ty,
            not_null: false,
            says_null: false,
            default: None,
            auto: None,
            comment: String::new(),
            says_comment: false,
            on_update: None,
        };
        let mut keys = Vec::new();
        let own = vec![(name, false)];
        let key = |kind| Key { name: key_name(kind, table, &own), kind, columns: own.clone(), references: None };
        loop {
            if self.accept("constraint") {
                self.identifier()?;
            } else if self.accept_all(&["not", "null"]) {
                column.not_null = true;
            } else if self.accept("null") {
                column.says_null = true;
            } else if self.accept("default") || self.accept("shared") {
                column.default = Some(self.default_value()?);
            } else if self.accept_all(&["on", "update"]) {
                column.on_update = Some(self.expression()?);
            } else if self.accept("auto_increment") {
                let (mut start, mut step) = (1, 1);
                if self.accept_symbol("(") {
                    start = self.number()?;
                    if self.accept_symbol(",") {
                        step = self.number()?;
                    }
                    self.expect_symbol(")")?;
                }
                column.auto = Some((start, step));
            } else if self.accept_all(&["primary", "key"]) {
                column.not_null = true;
                keys.push(key(KeyKind::Primary));
            } else if self.accept("unique") {
                self.accept("key");
                keys.push(key(KeyKind::Unique));
            } else if self.is("references") || self.is("foreign") {
                self.accept_all(&["foreign", "key"]);
                let references = Some(self.references()?);
                keys.push(Key { references, ..key(KeyKind::Foreign) });
            } else if self.accept("comment") {
                if let TokenKind::Text(text) = self.next() {
                    column.comment = text;
                    column.says_comment = true;
                }
            } else if self.accept("check") {
                self.expect_symbol("(")?;
                self.expression()?;
                self.expect_symbol(")")?;
            } else {
                return Ok((column, keys));
            }
        }
    }

    fn default_value(&mut self) -> Result<Expr> {
        // Only as much as a value: NOT NULL may follow.
        self.default_expression()
    }

    fn default_expression(&mut self) -> Result<Expr> {
        self.deeper(Self::simple)
    }

    pub(super) fn drop(&mut self) -> Result<Statement> {
        let index = self.at;
        self.accept("reverse");
        self.accept("unique");
        if self.accept("index") {
            let name = self.identifier()?;
            let table = if self.accept("on") { Some(self.table_name()?) } else { None };
            return Ok(Statement::DropIndex { name, table });
        }
        self.at = index;
        if self.accept("serial") {
            let if_exists = self.accept_all(&["if", "exists"]);
            return Ok(Statement::DropSerial { name: self.identifier()?, if_exists });
        }
        let view = self.accept("view") || self.accept("vclass");
        if !view && !self.accept("table") {
            self.accept("class");
        }
        let if_exists = self.accept_all(&["if", "exists"]);
        let names = self.list(Self::table_name)?;
        let cascade = self.accept("cascade");
        if cascade {
            self.accept("constraints");
        }
        Ok(match view {
            true => Statement::DropView { names, if_exists },
            false => Statement::DropTable { names, if_exists, cascade },
        })
    }

    pub(super) fn rename(&mut self) -> Result<Statement> {
        if !self.accept("table") && !self.accept("class") {
            self.accept("view");
        }
        let pairs = self.list(|parser| {
            let from = parser.table_name()?;
            if !parser.accept("to") {
                parser.expect("as")?;
            }
            Ok((from, parser.table_name()?))
        })?;
        Ok(Statement::RenameTable(pairs))
    }

    pub(super) fn alter(&mut self) -> Result<Statement> {
        if !self.accept("table") {
            self.expect("class")?;
        }
        let table = self.table_name()?;
        let steps = self.list(|parser| parser.alter_step(&table))?;
        Ok(Statement::AlterTable { table, steps })
    }

    fn alter_step(&mut self, table: &str) -> Result<Alter> {
        if self.accept("add") {
            if let Some(key) = self.key(table)? {
                return Ok(Alter::Add(Vec::new(), vec![key]));
            }
            if !self.accept("column") {
                self.accept("attribute");
            }
            let mut found = Table { name: table.to_owned(), ..Table::default() };
            if self.is_symbol("(") {
                self.bracketed(|parser| parser.table_part(&mut found))?;
            } else {
                self.table_part(&mut found)?;
                if self.accept("after") {
                    self.identifier()?;
                } else {
                    self.accept("first");
                }
            }
            return Ok(Alter::Add(found.columns, found.keys));
        }
        if self.accept("drop") {
            if self.accept_all(&["primary", "key"]) {
                return Ok(Alter::DropPrimary);
            }
            if self.accept("constraint") || self.accept("index") || self.accept("key") {
                return Ok(Alter::DropKey(self.identifier()?));
            }
            if self.accept_all(&["foreign", "key"]) {
                return Ok(Alter::DropKey(self.identifier()?));
            }
            if !self.accept("column") {
                self.accept("attribute");
            }
            return Ok(Alter::Drop(vec![self.identifier()?]));
        }
        if self.accept("rename") {
            if self.accept("to") || self.accept("as") {
                return Ok(Alter::Rename(self.table_name()?));
            }
            if !self.accept("column") {
                self.accept("attribute");
            }
            let from = self.identifier()?;
            if !self.accept("to") {
                self.expect("as")?;
            }
            return Ok(Alter::RenameColumn(from, self.identifier()?));
        }
        let modify = self.accept("modify");
        if modify || self.accept("change") {
            self.accept("column");
            let old = if modify { None } else { Some(self.identifier()?) };
            let (column, keys) = self.column_definition(table)?;
            return Ok(Alter::Change(old.unwrap_or_else(|| column.name.clone()), Box::new(column), keys));
        }
        if self.accept("alter") {
            self.accept("column");
            let name = self.identifier()?;
            self.expect("set")?;
            self.expect("default")?;
            return Ok(Alter::Default(name, Some(self.default_value()?)));
        }
        if self.accept("auto_increment") {
            self.accept_symbol("=");
            return Ok(Alter::AutoIncrement(self.number()?));
        }
        if self.accept("comment") {
            self.accept_symbol("=");
            return match self.next() {
                TokenKind::Text(text) => Ok(Alter::Comment(text)),
                _ => Err(self.syntax("")),
            };
        }
        Err(self.syntax(""))
    }
}

/// The name that a key gets without one.
pub fn key_name(kind: KeyKind, table: &str, columns: &[(String, bool)]) -> String {
    let prefix = match kind {
        KeyKind::Primary => "pk",
        KeyKind::Unique => "u",
        KeyKind::Foreign => "fk",
        KeyKind::Index => "i",
    };
    columns.iter().fold(format!("{prefix}_{table}"), |name, (column, descending)| {
        format!("{name}_{column}{}", if *descending { "_d" } else { "" })
    })
}
