//! The list between SELECT and FROM, and those after GROUP BY and ORDER BY.

use super::Column;
use super::expr::{Expr, Form};
use super::lexer::TokenKind;
use super::parser::{Parser, quote};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// The columns that an item of a list names, outside of aggregates: SQLite's text and the name.
pub type Plain = Vec<(String, String)>;

/// Returns true if a word begins the clause after a table or an item of a list, so that it is not an alias.
fn ends_item(word: &str) -> bool {
    matches!(
        word,
        "from"
            | "where"
            | "group"
            | "having"
            | "order"
            | "union"
            | "intersect"
            | "minus"
            | "except"
            | "into"
            | "for"
            | "on"
            | "inner"
            | "left"
            | "right"
            | "full"
            | "cross"
            | "join"
            | "natural"
            | "limit"
            | "set"
            | "with"
            | "values"
            | "select"
    )
}

impl Parser<'_> {
    /// If rows are grouped, everything shown of a row must be the same for the whole group.
    pub(super) fn check_groups(groups: &[String], list: &[String], plain: &[Plain]) -> Result<()> {
        for (index, (item, named)) in list.iter().zip(plain).enumerate() {
            let whole = |group: &String| {
                *group == (index + 1).to_string()
                    || item == group
                    || item.strip_prefix(group.as_str()).is_some_and(|rest| rest.starts_with(" AS "))
            };
            if groups.iter().any(whole) {
                continue;
            }
            if let Some((_, name)) = named.iter().find(|(sql, _)| !groups.contains(sql)) {
                return Err(SqlError::new(-294, name.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn items(&mut self) -> Result<(Vec<String>, Vec<Column>, Vec<Plain>)> {
        let (mut list, mut columns, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let depth = self.scopes.len() - 1;
        loop {
            let star = self.is_symbol("*");
            let table_star = !star
                && matches!(self.ahead(1), TokenKind::Symbol("."))
                && matches!(self.ahead(2), TokenKind::Symbol("*"));
            if star || table_star {
                let offset = self.offset();
                let table = if table_star { Some(self.identifier()?) } else { None };
                self.at += if table_star { 2 } else { 1 };
                let scope = self.scopes.last().cloned().unwrap_or_default();
                let mut found = false;
                for source in scope.iter().filter(|source| table.as_ref().is_none_or(|name| *name == source.alias)) {
                    found = true;
                    for column in &source.columns {
                        let sql = format!("{}.{}", quote(&source.alias), quote(&column.name));
                        plain.push(vec![(sql.clone(), column.name.clone())]);
                        list.push(sql);
                        columns.push(column.clone());
                    }
                }
                if !found {
                    return Err(SqlError::syntax(offset, "*"));
                }
            } else {
                let offset = self.offset();
                let start = self.plain.len();
                let item = self.expression()?;
                let named = self.plain.drain(start..).filter(|(at, ..)| *at == depth);
                plain.push(named.map(|(_, sql, name)| (sql, name)).collect());
                if matches!(item.form, Form::Parameter(_)) {
                    return Err(SqlError::syntax(offset, "?"));
                }
                let name = self.alias()?.unwrap_or_else(|| item.name.clone());
                list.push(format!("{} AS {}", item.sql, quote(&name)));
                let ty = item.ty.unwrap_or(Type::new(Kind::Char, 1));
                let refuses = |column: &&Column| column.name == item.name && column.not_null;
                let not_null = item.form == Form::Column
                    && self
                        .scopes
                        .last()
                        .is_some_and(|scope| scope.iter().any(|it| it.columns.iter().any(|c| refuses(&c))));
                columns.push(Column { name, ty, not_null });
            }
            if !self.accept_symbol(",") {
                return Ok((list, columns, plain));
            }
        }
    }

    /// The name that a table or an item of a list is given, with AS or without.
    pub(super) fn alias(&mut self) -> Result<Option<String>> {
        let given = self.accept("as")
            || match self.peek() {
                TokenKind::Word(word) => !ends_item(word),
                TokenKind::Quoted(_) => true,
                _ => false,
            };
        if given { self.identifier().map(Some) } else { Ok(None) }
    }

    /// GROUP BY and the like: numbers, names of the list, expressions.
    pub(super) fn plain_list(&mut self, columns: &[Column]) -> Result<Vec<String>> {
        let mut list = Vec::new();
        loop {
            list.push(self.list_item(columns)?);
            if !self.accept_symbol(",") {
                return Ok(list);
            }
        }
    }

    pub(super) fn list_item(&mut self, columns: &[Column]) -> Result<String> {
        let offset = self.offset();
        if let TokenKind::Number(number) = self.peek().clone() {
            self.at += 1;
            let index: usize = number.parse().unwrap_or(0);
            if index == 0 || index > columns.len() {
                return Err(SqlError::new(-251, "").at(offset));
            }
            return Ok(number);
        }
        let start = self.at;
        match self.expression() {
            Ok(expr) => Ok(self.ordered(expr)),
            Err(error) => {
                self.at = start;
                let name = self.identifier()?;
                if columns.iter().any(|column| column.name == name) { Ok(quote(&name)) } else { Err(error) }
            }
        }
    }

    /// Computed decimals and text sort by their values, not as SQLite's text.
    pub(super) fn ordered(&self, expr: Expr) -> String {
        match expr.ty {
            Some(ty) if matches!(expr.form, Form::Computed | Form::Derived) && ty.kind.is_decimal() => {
                format!("{} COLLATE IFXDECIMAL", expr.sql)
            }
            _ => expr.sql,
        }
    }

    /// The text after ORDER BY; `named` if only columns of the result are allowed.
    pub(super) fn order_list(&mut self, columns: &[Column], named: bool) -> Result<String> {
        let mut list = Vec::new();
        loop {
            let mut item = if named { self.result_column(columns)? } else { self.list_item(columns)? };
            let named = columns.iter().position(|column| quote(&column.name) == item).map(|at| at + 1);
            if let Some(index) = item.parse::<usize>().ok().or(named)
                && columns[index - 1].ty.kind.is_decimal()
            {
                item = format!("{index} COLLATE IFXDECIMAL");
            }
            if self.accept("desc") {
                item += " DESC";
            } else {
                self.accept("asc");
            }
            if self.accept("nulls") {
                item += if self.accept("first") {
                    " NULLS FIRST"
                } else {
                    self.expect("last")?;
                    " NULLS LAST"
                };
            }
            list.push(item);
            if !self.accept_symbol(",") {
                return Ok(list.join(", "));
            }
        }
    }

    /// A column of the result by its number or name, as its number.
    pub(super) fn result_column(&mut self, columns: &[Column]) -> Result<String> {
        let offset = self.offset();
        if matches!(self.peek(), TokenKind::Number(_)) {
            return self.list_item(columns);
        }
        let name = self.identifier()?;
        let found = columns.iter().position(|column| column.name == name);
        found.map(|index| (index + 1).to_string()).ok_or_else(|| SqlError::new(-309, name).at(offset))
    }
}
