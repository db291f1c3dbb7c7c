//! INSERT, UPDATE, DELETE and MERGE, written for SQLite.

use std::sync::Arc;

use super::ast::*;
use super::compile::*;
use super::{literal, quote, table};
use crate::convert::Mode;
use crate::errors::{Error, Result};

impl Compiler<'_> {
    pub(super) fn defined(&self, name: &str, text: &str) -> Result<Arc<Table>> {
        self.catalog.table(name).ok_or_else(|| unknown_class(name, text))
    }

    pub(super) fn insert(&mut self, insert: &Insert) -> Result<Write> {
        let name = &insert.table;
        let Some(defined) = self.catalog.table(name) else {
            // Of INSERT and REPLACE the server shows what follows in the statement, unlike of others.
            return Err(Error::syntax(format!("before ' '\nUnknown class \"dba.{name}\". insert into [dba.{name}]")));
        };
        let columns: Vec<String> = match &insert.columns {
            Some(columns) => columns.clone(),
            None => defined.columns.iter().map(|column| column.name.clone()).collect(),
        };
        let mut targets = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if columns[..index].contains(column) {
                return Err(Error::semantic(format!("There are multiple assignments to {name}.{column}. ")));
            }
            targets.push(column_of(&defined, column)?);
        }
        let missing: Vec<&Column> = defined.columns.iter().filter(|column| !columns.contains(&column.name)).collect();
        for column in &missing {
            if column.not_null && column.default.is_none() && column.auto.is_none() {
                let text = format!("Missing value for attribute \"{}\" with the NOT NULL constraint.", column.name);
                return Err(Error::server(-225, text));
            }
        }
        let filled: Vec<&&Column> =
            missing.iter().filter(|column| column.auto.is_some() || column.default.is_some()).collect();
        let mut list: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        list.extend(filled.iter().map(|column| quote(&column.name)));
        let mut row_values = Vec::new();
        let source = if let Some(query) = &insert.query {
            let (sql, found) = self.query(query)?;
            if found.len() != columns.len() {
                return Err(counts(columns.len(), found.len(), true));
            }
            let mut items = Vec::new();
            for (index, (target, column)) in targets.iter().zip(&found).enumerate() {
                let value = Typed::computed(format!("cub_source.c{index}"), column.ty.clone());
                let sql = self.coerce(value, &target.ty, Mode::Assign)?;
                items.push(filled_in(name, target, sql));
            }
            for column in &filled {
                items.push(self.default(name, column)?);
            }
            let names: Vec<String> = (0..found.len()).map(|index| format!("c{index}")).collect();
            format!(
                "WITH cub_source({}) AS ({sql}) SELECT {} FROM cub_source WHERE true",
                names.join(", "),
                items.join(", ")
            )
        } else {
            let mut rows = Vec::new();
            for row in &insert.rows {
                let empty = row.is_empty();
                if row.len() != columns.len() && !empty {
                    return Err(counts(columns.len(), row.len(), false));
                }
                let mut cells = Vec::new();
                for (index, target) in targets.iter().enumerate() {
                    cells.push(match row.get(index) {
                        None | Some(Expr::Default) => self.default(name, target)?,
                        Some(value) => {
                            let typed = self.expression(value)?;
                            let sql = self.coerce(typed, &target.ty, Mode::Assign)?;
                            filled_in(name, target, sql)
                        }
                    });
                }
                for column in &filled {
                    cells.push(self.default(name, column)?);
                }
                if insert.rows.len() == 1 {
                    let names = columns.iter().cloned().chain(filled.iter().map(|column| column.name.clone()));
                    row_values = names.zip(cells.iter().cloned()).collect();
                }
                rows.push(format!("({})", cells.join(", ")));
            }
            if list.is_empty() {
                list.push(quote(&defined.columns[0].name));
                rows = vec!["(NULL)".into()];
            }
            format!("VALUES {}", rows.join(", "))
        };
        let verb = if insert.replace { "REPLACE" } else { "INSERT" };
        let mut sql = format!("{verb} INTO {} ({}) {source}", table(name), list.join(", "));
        if insert.duplicate_given {
            self.scopes.push(vec![InScope { alias: format!("t {name}"), columns: table_columns(&defined) }]);
            let set = self.assignments(&defined, &insert.duplicate);
            self.scopes.pop();
            sql += &format!(" ON CONFLICT DO UPDATE SET {}", set?);
        }
        Ok(Write {
            sql,
            table: name.clone(),
            replace: insert.replace,
            upsert: insert.duplicate_given,
            row: row_values,
            deletes: false,
        })
    }

    pub(super) fn assignments(&mut self, table: &Table, set: &[(String, Expr)]) -> Result<String> {
        let mut items = Vec::new();
        for (name, value) in set {
            let target = column_of(table, name)?;
            if target.not_null && *value == Expr::Null {
                return Err(Error::semantic(format!("before ' '\nAttribute \"{name}\" cannot be made NULL. ")));
            }
            let sql = match value {
                Expr::Default => self.default(&table.name, target)?,
                value => {
                    let typed = self.expression(value)?;
                    self.coerce(typed, &target.ty, Mode::Assign)?
                }
            };
            items.push(format!("{} = {sql}", quote(name)));
        }
        Ok(items.join(", "))
    }

    /// The value of a column that has none in a row.
    pub(super) fn default(&mut self, table: &str, column: &Column) -> Result<String> {
        if column.auto.is_some() {
            return Ok(format!("cub_auto({})", literal(table)));
        }
        match &column.default {
            Some(value) => {
                let typed = self.expression(value)?;
                self.coerce(typed, &column.ty, Mode::Assign)
            }
            None => Ok("NULL".into()),
        }
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<Write> {
        let [first, others @ ..] = &update.from[..] else { return Err(Error::semantic("No tables used. ")) };
        let Source::Table(name) = &first.source else {
            return Err(Error::semantic("Updating derived tables is not allowed. "));
        };
        let defined = self.defined(name, &format!("update [dba.{name}] set"))?;
        let alias = first.alias.clone().unwrap_or_else(|| name.clone());
        let known = self.named.len();
        let with = update.with.as_ref().map(|with| self.tables_of_with(with)).transpose()?.unwrap_or_default();
        self.scopes.push(vec![InScope { alias: alias.clone(), columns: table_columns(&defined) }]);
        let done = self.update_in_scope(update, &defined, &alias, others);
        self.scopes.pop();
        self.named.truncate(known);
        Ok(Write { sql: with + &done?, table: name.clone(), ..Write::default() })
    }

    pub(super) fn update_in_scope(
        &mut self,
        update: &Update,
        defined: &Table,
        alias: &str,
        others: &[From],
    ) -> Result<String> {
        let mut conditions = Vec::new();
        let mut from = String::new();
        for item in others {
            let (source, columns, name) = self.source(item)?;
            let other = item.alias.clone().unwrap_or(name);
            from += &format!("{}{source} AS {}", if from.is_empty() { " FROM " } else { ", " }, quote(&other));
            if let Some(scope) = self.scopes.last_mut() {
                scope.push(InScope { alias: other, columns });
            }
            if let Some(on) = &item.on {
                conditions.push(self.truth(on)?);
            }
        }
        let set: Vec<(String, Expr)> =
            update.set.iter().map(|(_, name, value)| (name.clone(), value.clone())).collect();
        for (index, (name, _)) in set.iter().enumerate() {
            if set[..index].iter().any(|(known, _)| known == name) {
                return Err(Error::semantic(format!("There are multiple assignments to {}.{name}. ", defined.name)));
            }
        }
        let mut set = self.assignments(defined, &set)?;
        for column in &defined.columns {
            let given = update.set.iter().any(|(_, name, _)| *name == column.name);
            if let (Some(value), false) = (&column.on_update, given) {
                let typed = self.expression(value)?;
                let sql = self.coerce(typed, &column.ty, Mode::Assign)?;
                set += &format!(", {} = {sql}", quote(&column.name));
            }
        }
        if let Some(condition) = &update.condition {
            conditions.push(self.truth(condition)?);
        }
        let mut condition =
            if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        if update.limit.is_some() || !update.order.is_empty() {
            let mut by = Vec::new();
            for item in &update.order {
                by.push(self.order_item(item, &[], false)?);
            }
            let order = if by.is_empty() { String::new() } else { format!(" ORDER BY {}", by.join(", ")) };
            let limit = match &update.limit {
                Some(limit) => format!(" LIMIT {}", self.count(limit)?),
                None => String::new(),
            };
            let inner = format!(
                "SELECT {}.rowid FROM {} AS {}{condition}{order}{limit}",
                quote(alias),
                table(&defined.name),
                quote(alias)
            );
            condition = format!(" WHERE {}.rowid IN ({inner})", quote(alias));
        }
        Ok(format!("UPDATE {} AS {} SET {set}{from}{condition}", table(&defined.name), quote(alias)))
    }

    pub(super) fn delete(
        &mut self,
        with: Option<&Query>,
        name: &str,
        alias: Option<&str>,
        from: &[From],
        condition: Option<&Expr>,
        limit: Option<&Expr>,
    ) -> Result<Write> {
        let defined = self.defined(name, &format!("delete [dba.{name}] from [dba.{name}]"))?;
        let alias = alias.unwrap_or(name);
        let known = self.named.len();
        let with = with.map(|with| self.tables_of_with(with)).transpose()?.unwrap_or_default();
        self.scopes.push(if from.is_empty() {
            vec![InScope { alias: alias.to_owned(), columns: table_columns(&defined) }]
        } else {
            Vec::new()
        });
        let done = self.delete_in_scope(name, alias, from, condition, limit);
        self.scopes.pop();
        self.named.truncate(known);
        Ok(Write { sql: with + &done?, table: name.to_owned(), deletes: true, ..Write::default() })
    }

    pub(super) fn delete_in_scope(
        &mut self,
        name: &str,
        alias: &str,
        from: &[From],
        condition: Option<&Expr>,
        limit: Option<&Expr>,
    ) -> Result<String> {
        let target = format!("{} AS {}", table(name), quote(alias));
        let joined = if from.is_empty() { format!(" FROM {target}") } else { self.from(from)?.0 };
        let condition = match condition {
            Some(condition) => format!(" WHERE {}", self.truth(condition)?),
            None => String::new(),
        };
        if from.is_empty() && limit.is_none() {
            return Ok(format!("DELETE{joined}{condition}"));
        }
        let limit = match limit {
            Some(limit) => format!(" LIMIT {}", self.count(limit)?),
            None => String::new(),
        };
        Ok(format!(
            "DELETE FROM {} WHERE rowid IN (SELECT {}.rowid{joined}{condition}{limit})",
            table(name),
            quote(alias)
        ))
    }

    pub(super) fn merge(&mut self, merge: &Merge) -> Result<Vec<Write>> {
        let defined = self.defined(&merge.table, "merge into")?;
        let alias = merge.alias.clone().unwrap_or_else(|| merge.table.clone());
        let (source, columns, name) = self.source(&merge.source)?;
        let other = merge.source.alias.clone().unwrap_or(name);
        let mut writes = Vec::new();
        if let Some((row_columns, row, condition)) = &merge.insert {
            self.scopes.push(vec![InScope { alias: other.clone(), columns: columns.clone() }]);
            let names: Vec<String> = if row_columns.is_empty() {
                defined.columns.iter().map(|column| column.name.clone()).collect()
            } else {
                row_columns.clone()
            };
            let mut cells = Vec::new();
            for (name, value) in names.iter().zip(row) {
                let target = column_of(&defined, name)?;
                let typed = self.expression(value)?;
                cells.push(self.coerce(typed, &target.ty, Mode::Assign)?);
            }
            let condition = condition.as_ref().map(|condition| self.truth(condition)).transpose()?;
            self.scopes.push(vec![InScope { alias: alias.clone(), columns: table_columns(&defined) }]);
            let on = self.truth(&merge.on)?;
            self.scopes.pop();
            self.scopes.pop();
            let list: Vec<String> = names.iter().map(|name| quote(name)).collect();
            let condition = condition.map_or(String::new(), |condition| format!(" AND {condition}"));
            writes.push(Write {
                sql: format!(
                    "INSERT INTO {0} ({1}) SELECT {2} FROM {source} AS {3} WHERE NOT EXISTS (SELECT 1 FROM {0} AS {4} \
                     WHERE {on}){condition}",
                    table(&merge.table),
                    list.join(", "),
                    cells.join(", "),
                    quote(&other),
                    quote(&alias)
                ),
                table: merge.table.clone(),
                ..Write::default()
            });
        }
        if let Some((set, condition)) = &merge.update {
            self.scopes.push(vec![
                InScope { alias: alias.clone(), columns: table_columns(&defined) },
                InScope { alias: other.clone(), columns },
            ]);
            let set = self.assignments(&defined, set)?;
            let on = self.truth(&merge.on)?;
            let condition = match condition {
                Some(condition) => format!(" AND {}", self.truth(condition)?),
                None => String::new(),
            };
            self.scopes.pop();
            let update = Write {
                sql: format!(
                    "UPDATE {} AS {} SET {set} FROM {source} AS {} WHERE {on}{condition}",
                    table(&merge.table),
                    quote(&alias),
                    quote(&other)
                ),
                table: merge.table.clone(),
                ..Write::default()
            };
            // Rows that are there before the new ones come.
            writes.insert(0, update);
        }
        Ok(writes)
    }
}

fn filled_in(table: &str, column: &Column, sql: String) -> String {
    if column.auto.is_some() { format!("coalesce({sql}, cub_auto({}))", literal(table)) } else { sql }
}

fn counts(attributes: usize, values: usize, query: bool) -> Error {
    let what = if query { "select columns" } else { "values" };
    Error::semantic(format!("before ' '\nThe number of attributes({attributes}) and {what}({values}) are not equal. "))
}
