//! Names: which column of which table they mean.

use super::expr::{Expr, Form};
use super::lexer::TokenKind;
use super::parser::{Parser, Source, literal, quote};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};
use crate::usertypes::UserType;

impl Parser<'_> {
    pub(super) fn is_column(&self, name: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol("."))
            || self.given.iter().any(|(column, _)| column.name == name)
            || self.scopes.iter().flatten().any(|source| source.columns.iter().any(|column| column.name == name))
    }

    /// `column`, `table.column` or `owner.table.column`, and the fields of a row after any of them.
    pub(super) fn column(&mut self, first: String, offset: usize) -> Result<Expr> {
        let mut path = vec![first];
        while self.is_symbol(".") {
            self.at += 1;
            path.push(self.identifier()?);
        }
        if path.len() > 1 && self.is_symbol("(") {
            // An owner before a function.
            return self.call(&path.pop().unwrap_or_default(), offset);
        }
        let tables: Vec<&str> = self.scopes.iter().flatten().map(|source| source.alias.as_str()).collect();
        // An alias takes precedence over a column of the same name; an owner is followed by an alias.
        let table = match path.as_slice() {
            [_] => None,
            [table, _, ..] if tables.contains(&table.as_str()) => Some(0),
            [_, table, _, ..] if tables.contains(&table.as_str()) => Some(1),
            _ => None,
        };
        let at = table.map_or(0, |table| table + 1);
        let found = self.find_column(table.map(|table| path[table].as_str()), &path[at], offset)?;
        if let Some(expr) = found {
            return path[at + 1..].iter().try_fold(expr, |expr, name| Self::row_field(expr, name, offset));
        }
        if let [name] = path.as_slice()
            && let Some((column, sql)) = self.given.iter().find(|(column, _)| column.name == *name)
        {
            return Ok(Expr { name: name.clone(), ..Expr::computed(sql.clone(), column.ty) });
        }
        if let [name, what] = path.as_slice()
            && (what == "nextval" || what == "currval")
            && let Some((start, step)) = self.catalog.sequence(name)
        {
            let next = what == "nextval";
            // A server counts once for each row, wherever in it the number is used.
            if self.sequences.iter().any(|(own, _)| own == name)
                && (next || !self.sequences.contains(&(name.clone(), true)))
            {
                return Err(SqlError::unsupported("a sequence that is asked twice").at(offset));
            }
            self.sequences.push((name.clone(), next));
            let sql = format!("ifx_sequence({}, {}, {start}, {step})", literal(name), what == "nextval");
            return Ok(Expr { name: what.clone(), ..Expr::computed(sql, Type::of(Kind::BigInt)) });
        }
        if self.blind {
            return Ok(Expr::computed("NULL".into(), Type::of(Kind::Int)));
        }
        if path.len() > 1 && table.is_none() {
            let table = path.swap_remove(path.len() - 2);
            return Err(SqlError::new(-522, table).at(offset));
        }
        Err(SqlError::new(-217, path.swap_remove(at)).at(offset))
    }

    pub(super) fn find_column(&mut self, table: Option<&str>, name: &str, offset: usize) -> Result<Option<Expr>> {
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            let mut found: Option<(&Source, Type)> = None;
            for source in scope.iter().filter(|source| table.is_none_or(|table| table == source.alias)) {
                let ty = match source.columns.iter().find(|column| column.name == name) {
                    Some(column) => column.ty,
                    None if name == "rowid" && (table.is_some() || scope.len() == 1) => Type::of(Kind::Int),
                    None => continue,
                };
                if found.is_some() {
                    return Err(SqlError::new(-324, name).at(offset));
                }
                found = Some((source, ty));
            }
            if let Some((source, ty)) = found {
                let form = if source.derived { Form::Derived } else { Form::Column };
                let sql = format!("{}.{}", quote(&source.alias), quote(name));
                self.touched.push(source.alias.clone());
                self.plain.push((depth, sql.clone(), name.to_owned()));
                return Ok(Some(Expr { sql, ty: Some(ty), form, name: name.to_owned() }));
            }
        }
        Ok(None)
    }

    pub(super) fn row_field(row: Expr, name: &str, offset: usize) -> Result<Expr> {
        let unknown = || SqlError::new(-217, name).at(offset);
        let definition = row.ty.and_then(Type::definition);
        let Some(UserType::Row { fields, .. }) = definition.as_deref() else { return Err(unknown()) };
        let place = fields.iter().position(|(field, _)| field == name).ok_or_else(unknown)?;
        let ty = fields[place].1;
        let sql = format!("ifx_field({}, {place}, {})", row.sql, ty.tag());
        Ok(Expr { name: name.to_owned(), ..Expr::computed(sql, ty) })
    }
}
