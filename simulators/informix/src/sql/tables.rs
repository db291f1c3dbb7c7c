//! FROM clauses.

use super::Column;
use super::lexer::TokenKind;
use super::parser::{Parser, Source, quote};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// A FROM clause.
#[derive(Default)]
pub struct Tables {
    /// The tables that rows must be in.
    pub(super) inner: String,
    /// Tables after OUTER with their conditions in WHERE.
    pub(super) outer: Vec<(String, String, Vec<String>)>,
    /// The one table there is, with its alias.
    pub(super) single: Option<(String, String)>,
}

impl Tables {
    /// SQLite's text.
    pub(super) fn sql(&self) -> String {
        let mut sql = self.inner.clone();
        for (table, _, conditions) in &self.outer {
            let on = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
            sql += &format!(" LEFT JOIN {table} ON {on}");
        }
        sql
    }
}

impl Parser<'_> {
    /// WHERE. Conditions on a table after OUTER decide whether it is joined, not whether there is a row.
    pub(super) fn outer_condition(&mut self, tables: &mut Tables) -> Result<String> {
        if tables.outer.is_empty() {
            return Ok(format!(" WHERE {}", self.expression()?.sql));
        }
        let mut kept = Vec::new();
        loop {
            self.touched.clear();
            let condition = self.negation()?.sql;
            if self.is("or") {
                return Err(SqlError::unsupported("OR beside OUTER").at(self.offset()));
            }
            let touched = std::mem::take(&mut self.touched);
            match tables.outer.iter_mut().rev().find(|(_, alias, _)| touched.contains(alias)) {
                Some((.., conditions)) => conditions.push(condition),
                None => kept.push(condition),
            }
            if !self.accept("and") {
                break;
            }
        }
        Ok(if kept.is_empty() { String::new() } else { format!(" WHERE {}", kept.join(" AND ")) })
    }

    /// Everything after FROM up to WHERE; its tables are put into the innermost scope.
    pub(super) fn table_clause(&mut self) -> Result<Tables> {
        let mut outer = Vec::new();
        let mut sql = " FROM ".to_owned();
        let (first, mut single) = self.table_item()?;
        sql += &first;
        loop {
            if self.accept_symbol(",") {
                single = None;
                if self.accept("outer") {
                    let bracket = self.accept_symbol("(");
                    let (table, named) = self.table_item()?;
                    if bracket {
                        if self.is_symbol(",") || self.is("join") {
                            return Err(SqlError::unsupported("OUTER of several tables").at(self.offset()));
                        }
                        self.expect_symbol(")")?;
                    }
                    let alias = named.map(|(_, alias)| alias).unwrap_or_default();
                    outer.push((table, alias, Vec::new()));
                    continue;
                }
                sql += &format!(", {}", self.table_item()?.0);
                continue;
            }
            let join = match self.peek().clone() {
                TokenKind::Word(word) => match word.as_str() {
                    "join" => "JOIN",
                    "inner" => "INNER JOIN",
                    "left" => "LEFT JOIN",
                    "right" => "RIGHT JOIN",
                    "full" => "FULL JOIN",
                    "cross" => "CROSS JOIN",
                    _ => return Ok(Tables { inner: sql, outer, single }),
                },
                _ => return Ok(Tables { inner: sql, outer, single }),
            };
            if !self.accept("join") {
                self.at += 1;
                self.accept("outer");
                self.expect("join")?;
            }
            single = None;
            sql += &format!(" {join} {}", self.table_item()?.0);
            if self.accept("on") {
                sql += &format!(" ON {}", self.expression()?.sql);
            }
        }
    }

    fn add_source(&mut self, alias: &str, columns: Vec<Column>, derived: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Source { derived, ..Source::new(alias, columns) });
        }
    }

    pub(super) fn table_item(&mut self) -> Result<(String, Option<(String, String)>)> {
        let offset = self.offset();
        if self.is("outer") {
            return Err(SqlError::unsupported("OUTER in front of all tables").at(offset));
        }
        if self.is("lateral") && matches!(self.ahead(1), TokenKind::Symbol("(")) {
            return Err(SqlError::unsupported("LATERAL").at(offset));
        }
        if self.accept_symbol("(") {
            if !self.is("select") && !self.is("with") {
                let inner = self.deeper(Self::table_clause)?.sql();
                self.expect_symbol(")")?;
                return Ok((format!("({})", inner.trim_start_matches(" FROM ")), None));
            }
            // A derived table sees the queries around it, not the tables beside it.
            let scope = self.scopes.pop().unwrap_or_default();
            let query = self.query();
            self.scopes.push(scope);
            let query = query?;
            self.expect_symbol(")")?;
            let alias = self.alias()?.unwrap_or_else(|| format!("ifx_derived_{offset}"));
            let mut columns = query.columns;
            let mut sql = query.sql;
            if self.accept_symbol("(") {
                for column in &mut columns {
                    column.name = self.identifier()?;
                    self.accept_symbol(",");
                }
                self.expect_symbol(")")?;
                let names: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
                sql = format!("WITH ifx_renamed({}) AS ({sql}) SELECT * FROM ifx_renamed", names.join(", "));
            }
            self.add_source(&alias, columns, true);
            return Ok((format!("({sql}) AS {}", quote(&alias)), None));
        }
        if self.is("table") && matches!(self.ahead(1), TokenKind::Symbol("(")) {
            return self.collection_table();
        }
        let table = self.table()?;
        let alias = self.alias()?;
        let alias = alias.unwrap_or_else(|| table.name.rsplit(':').next().unwrap_or_default().to_owned());
        if self.scopes.last().is_some_and(|scope| scope.iter().any(|source| source.alias == alias)) {
            return Err(SqlError::new(-223, alias).at(offset));
        }
        self.add_source(&alias, table.columns.clone(), table.derived);
        Ok((format!("{} AS {}", quote(&table.name), quote(&alias)), Some((table.name, alias))))
    }

    /// `TABLE(SET{1})`, as drivers write it to have one row.
    pub(super) fn collection_table(&mut self) -> Result<(String, Option<(String, String)>)> {
        self.at += 2;
        let mut rows = Vec::new();
        let mut ty = Type::of(Kind::Int);
        if !(self.accept("set") || self.accept("multiset") || self.accept("list")) {
            return Err(self.syntax());
        }
        self.expect_symbol("{")?;
        while !self.is_symbol("}") {
            let item = self.expression()?;
            ty = item.ty.unwrap_or(ty);
            rows.push(format!("SELECT {} AS \"unnamed_col_1\"", item.sql));
            if !self.another("}")? {
                break;
            }
        }
        self.expect_symbol("}")?;
        self.expect_symbol(")")?;
        let alias = self.alias()?.unwrap_or_else(|| "ifx_collection".to_owned());
        let mut name = "unnamed_col_1".to_owned();
        if self.accept_symbol("(") {
            name = self.identifier()?;
            self.expect_symbol(")")?;
        }
        if rows.is_empty() {
            rows.push("SELECT NULL AS \"unnamed_col_1\" WHERE 0".to_owned());
        }
        let sql = rows.join(" UNION ALL ").replace("unnamed_col_1", &name);
        self.add_source(&alias, vec![Column { name, ty, not_null: false }], true);
        Ok((format!("({sql}) AS {}", quote(&alias)), None))
    }
}
