//! Queries, written for SQLite.

use super::ast::*;
use super::compile::*;
use super::{print, quote, table};
use crate::convert::Mode;
use crate::errors::{Error, Result};
use crate::types::Type;
use crate::types::code::*;

impl Compiler<'_> {
    pub(super) fn query(&mut self, query: &Query) -> Result<(String, Vec<ResultColumn>)> {
        let known = self.named.len();
        let with = self.tables_of_with(query)?;
        let (mut sql, columns) = self.body(&query.body, &query.order)?;
        if let Some((offset, count)) = &query.limit {
            let count = self.count(count)?;
            sql += &match offset {
                Some(offset) => {
                    let offset = self.count(offset)?;
                    format!(" LIMIT cub_limit({count}, {offset}) OFFSET {offset}")
                }
                None => format!(" LIMIT {count}"),
            };
        }
        self.named.truncate(known);
        Ok((with + &sql, columns))
    }

    /// WITH, in SQLite's SQL, whose tables are known from here on; empty without one.
    pub(super) fn tables_of_with(&mut self, query: &Query) -> Result<String> {
        let mut with = Vec::new();
        for named in &query.with {
            let recursive = query.recursive && matches!(named.query.body, Body::Both(..));
            if recursive && let Body::Both(_, _, first, _) = &named.query.body {
                let (_, columns) = self.body(first, &[])?;
                self.named.push((named.name.clone(), renamed(columns, &named.columns)));
            }
            let (sql, columns) = self.query(&named.query)?;
            let columns = renamed(columns, &named.columns);
            if recursive {
                self.named.pop();
            }
            let list: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
            with.push(format!("{} ({}) AS ({sql})", quote(&named.name), list.join(", ")));
            self.named.push((named.name.clone(), columns));
        }
        Ok(if with.is_empty() { String::new() } else { format!("WITH RECURSIVE {} ", with.join(", ")) })
    }

    pub(super) fn count(&mut self, value: &Expr) -> Result<String> {
        let value = self.expression(value)?;
        self.coerce(value, &Type::of(BIGINT), Mode::Assign)
    }

    pub(super) fn body(&mut self, body: &Body, order: &[Order]) -> Result<(String, Vec<ResultColumn>)> {
        match body {
            Body::Select(select) => self.select(select, order),
            Body::Values(rows) => {
                let mut columns: Vec<ResultColumn> = Vec::new();
                let mut all = Vec::new();
                for (index, row) in rows.iter().enumerate() {
                    let mut cells = Vec::new();
                    for (place, value) in row.iter().enumerate() {
                        let typed = self.expression(value)?;
                        match index {
                            0 => {
                                let name = print::expression(value);
                                columns.push(ResultColumn { name, ty: typed.ty, meta: None });
                            }
                            _ => {
                                let column = columns.get_mut(place).ok_or_else(|| unequal(rows[0].len(), row.len()))?;
                                column.ty = common(&column.ty, &typed.ty);
                            }
                        }
                        cells.push(typed.sql);
                    }
                    if cells.len() != columns.len() {
                        return Err(unequal(columns.len(), cells.len()));
                    }
                    all.push(format!("({})", cells.join(", ")));
                }
                let sql = format!("SELECT * FROM (VALUES {})", all.join(", "));
                let order = self.order_of_result(order, &columns)?;
                Ok((sql + &order, columns))
            }
            Body::Query(query) => {
                let (sql, columns) = self.query(query)?;
                let order = self.order_of_result(order, &columns)?;
                Ok((format!("SELECT * FROM ({sql}){order}"), columns))
            }
            Body::Both(operator, all, left, right) => {
                let (left_sql, mut columns) = self.body(left, &[])?;
                let (right_sql, others) = self.body(right, &[])?;
                if columns.len() != others.len() {
                    return Err(Error::syntax(format!(
                        "The number of columns, {}, in the left query do not match\nthe number of columns, {}, in \
                         the right query. ",
                        columns.len(),
                        others.len()
                    )));
                }
                let types: Vec<Type> =
                    columns.iter().zip(&others).map(|(left, right)| common(&left.ty, &right.ty)).collect();
                let left_sql = wrapped(left, &left_sql, &columns, &types);
                let right_sql = wrapped(right, &right_sql, &others, &types);
                for (column, ty) in columns.iter_mut().zip(types) {
                    column.ty = ty;
                    column.meta = None;
                }
                let all_word = if *all { " ALL" } else { "" };
                let sql = match (*operator, *all) {
                    ("UNION", _) => format!("{left_sql} UNION{all_word} {right_sql}"),
                    (operator, false) => format!("{left_sql} {operator} {right_sql}"),
                    (operator, true) => {
                        return Err(Error::syntax(format!("syntax error, unexpected ALL after {operator} ")));
                    }
                };
                let order = self.order_of_result(order, &columns)?;
                Ok((sql + &order, columns))
            }
        }
    }

    /// ORDER BY behind a UNION: names and numbers of columns.
    pub(super) fn order_of_result(&mut self, order: &[Order], columns: &[ResultColumn]) -> Result<String> {
        let mut items = Vec::new();
        for item in order {
            let place = match &item.value {
                Expr::Integer(number) => number.parse::<usize>().ok().filter(|at| (1..=columns.len()).contains(at)),
                Expr::Name(_, name) => columns.iter().position(|column| column.name == *name).map(|at| at + 1),
                _ => None,
            };
            let place = place.ok_or_else(|| {
                let text = print::expression(&item.value);
                Error::semantic(format!("{text} in sort spec doesn't match any select column. "))
            })?;
            items.push(format!("{place}{}{}", collation(&columns[place - 1].ty), direction(item)));
        }
        Ok(if items.is_empty() { String::new() } else { format!(" ORDER BY {}", items.join(", ")) })
    }

    pub(super) fn select(&mut self, select: &Select, order: &[Order]) -> Result<(String, Vec<ResultColumn>)> {
        self.scopes.push(Vec::new());
        let done = self.select_in_scope(select, order);
        self.scopes.pop();
        done
    }

    pub(super) fn select_in_scope(&mut self, select: &Select, order: &[Order]) -> Result<(String, Vec<ResultColumn>)> {
        let (from, joined) = self.from(&select.from)?;
        let mut columns: Vec<ResultColumn> = Vec::new();
        let mut items = Vec::new();
        for (value, alias) in &select.items {
            if let Expr::Star(table) = value {
                self.star(table.as_deref(), &mut columns, &mut items)?;
                continue;
            }
            let typed = self.expression(value)?;
            let name = alias.clone().unwrap_or_else(|| match value {
                Expr::Name(_, name) => name.clone(),
                value => print::expression(value),
            });
            let mut ty = typed.ty;
            if matches!(typed.form, Form::Parameter(_)) || matches!(value, Expr::Variable(_) | Expr::Assign(..)) {
                self.open = true;
                ty = if self.bound.is_some() { ty } else { Type::unknown() };
            }
            let collate = if typed.form == Form::Computed { collation(&ty) } else { "" };
            items.push(format!("{}{collate} AS {}", typed.sql, quote(&name)));
            columns.push(ResultColumn { name, ty, meta: typed.meta });
        }
        let mut conditions: Vec<String> = joined;
        let mut rows = None;
        if let Some(condition) = &select.condition {
            for part in conjuncts(condition) {
                match rownum(part) {
                    Some(limit) => rows = Some(self.count(limit)?),
                    None => conditions.push(self.truth(part)?),
                }
            }
            if let Some(Expr::Binary("<", ..)) = conjuncts(condition).into_iter().find(|part| rownum(part).is_some()) {
                rows = rows.map(|rows| format!("({rows}) - 1"));
            }
        }
        let distinct = if select.distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{}{from}", items.join(", "));
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        if !select.group.is_empty() {
            let group = self.group(&select.group, select, &columns)?;
            sql += &format!(" GROUP BY {group}");
        }
        if let Some(having) = &select.having {
            sql += &format!(" HAVING {}", self.truth(having)?);
        }
        if let Some(rows) = rows {
            sql += &format!(" LIMIT {rows}");
            if !order.is_empty() {
                let order = self.order_of_result(order, &columns)?;
                sql = format!("SELECT * FROM ({sql}){order}");
            }
            return Ok((sql, columns));
        }
        let mut by = Vec::new();
        for item in order {
            by.push(self.order_item(item, &columns, true)?);
        }
        // Groups come sorted.
        if by.is_empty() && !select.group.is_empty() {
            for item in &select.group {
                by.push(self.order_item(item, &columns, false)?);
            }
        }
        if !by.is_empty() {
            sql += &format!(" ORDER BY {}", by.join(", "));
        }
        Ok((sql, columns))
    }

    pub(super) fn group(&mut self, group: &[Order], select: &Select, columns: &[ResultColumn]) -> Result<String> {
        let mut items = Vec::new();
        for item in group {
            match &item.value {
                Expr::Integer(number) => {
                    let at = number.parse::<usize>().ok().filter(|at| (1..=columns.len()).contains(at));
                    items.push(at.ok_or_else(|| out_of_range(number))?.to_string());
                }
                Expr::Name(None, name) if self.find(None, name)?.is_none() => {
                    let aliased = select.items.iter().find(|(_, alias)| alias.as_ref() == Some(name));
                    let (value, _) = aliased.ok_or_else(|| not_found(name))?;
                    items.push(self.expression(value)?.sql);
                }
                value => {
                    let typed = self.expression(value)?;
                    items.push(format!("{}{}", typed.sql, collation(&typed.ty)));
                }
            }
        }
        Ok(items.join(", "))
    }

    pub(super) fn order_item(&mut self, item: &Order, columns: &[ResultColumn], by_position: bool) -> Result<String> {
        let direction = direction(item);
        if let Expr::Integer(number) = &item.value
            && by_position
        {
            let at = number.parse::<usize>().ok().filter(|at| (1..=columns.len()).contains(at));
            let at = at.ok_or_else(|| out_of_range(number))?;
            return Ok(format!("{at}{}{direction}", collation(&columns[at - 1].ty)));
        }
        if let Expr::Name(None, name) = &item.value
            && let Some(at) = columns.iter().position(|column| column.name == *name)
        {
            return Ok(format!("{}{}{direction}", at + 1, collation(&columns[at].ty)));
        }
        let typed = self.expression(&item.value)?;
        Ok(format!("{}{}{direction}", typed.sql, collation(&typed.ty)))
    }

    pub(super) fn star(
        &mut self,
        table: Option<&str>,
        columns: &mut Vec<ResultColumn>,
        items: &mut Vec<String>,
    ) -> Result<()> {
        let scope = self.scopes.last().cloned().unwrap_or_default();
        let mut any = false;
        for source in &scope {
            if table.is_some_and(|wanted| wanted != source.alias) {
                continue;
            }
            any = true;
            for column in &source.columns {
                items.push(format!("{}.{}", quote(&source.alias), quote(&column.name)));
                columns.push(column.clone());
            }
        }
        match (any, table) {
            (true, _) => Ok(()),
            (false, Some(table)) => Err(Error::semantic(format!("{table} is not defined. "))),
            (false, None) => Err(Error::semantic("No tables used. ")),
        }
    }

    /// FROM, and the conditions that it adds.
    pub(super) fn from(&mut self, from: &[From]) -> Result<(String, Vec<String>)> {
        let mut sql = String::new();
        for (index, item) in from.iter().enumerate() {
            let (source, columns, name) = self.source(item)?;
            let alias = item.alias.clone().unwrap_or(name);
            if self.scopes.last().is_some_and(|scope| scope.iter().any(|known| known.alias == alias)) {
                return Err(Error::semantic(format!("Exposed name {alias} is ambiguous. ")));
            }
            let join = match item.join {
                "" if index == 0 => " FROM ",
                "" => " CROSS JOIN ",
                join => join,
            };
            let natural = if item.natural { " NATURAL " } else { " " };
            sql += &format!("{natural}{join} {source} AS {}", quote(&alias));
            if let Some(scope) = self.scopes.last_mut() {
                scope.push(InScope { alias, columns });
            }
            if let Some(on) = &item.on {
                sql += &format!(" ON {}", self.truth(on)?);
            } else if !item.using.is_empty() {
                let list: Vec<String> = item.using.iter().map(|name| quote(name)).collect();
                sql += &format!(" USING ({})", list.join(", "));
            } else if matches!(item.join, "LEFT JOIN" | "RIGHT JOIN") && !item.natural {
                return Err(Error::syntax("Expecting ON. Outer Joins require join condition. "));
            }
        }
        Ok((sql, Vec::new()))
    }

    pub(super) fn source(&mut self, item: &From) -> Result<(String, Vec<ResultColumn>, String)> {
        match &item.source {
            Source::Query(query) => {
                let (sql, columns) = self.query(query)?;
                let renamed_columns = renamed(columns.clone(), &item.columns);
                let sql = if item.columns.is_empty() {
                    format!("({sql})")
                } else {
                    // By their places: two of them may have the same name.
                    let names: Vec<String> = renamed_columns.iter().map(|column| quote(&column.name)).collect();
                    format!("(WITH u({}) AS ({sql}) SELECT * FROM u)", names.join(", "))
                };
                Ok((sql, derived(renamed_columns), String::new()))
            }
            Source::Table(name) => self.named_source(name, item),
        }
    }

    pub(super) fn named_source(&mut self, name: &str, item: &From) -> Result<(String, Vec<ResultColumn>, String)> {
        if let Some((_, columns)) = self.named.iter().rev().find(|(known, _)| known == name) {
            return Ok((quote(name), derived(columns.clone()), name.to_owned()));
        }
        if name == "db_root" {
            let charset = ResultColumn { name: "charset".into(), ty: Type::of(INT), meta: None };
            let sql = "(SELECT 1 AS \"dual\", cub_session('charset') AS \"charset\")";
            return Ok((sql.into(), vec![charset], name.to_owned()));
        }
        if let Some(found) = self.catalog.table(name) {
            return Ok((table(name), table_columns(&found), name.to_owned()));
        }
        if let Some((names, text)) = self.catalog.view(name) {
            self.views += 1;
            if self.views > crate::limits::NESTING {
                return Err(Error::semantic(format!(
                    "The query specification of {name} has a cyclic reference to itself. "
                )));
            }
            let mut parser = super::Parser::new(&text, super::tokenize(&text)?);
            let inner = parser.query()?;
            let (scopes, named) = (std::mem::take(&mut self.scopes), std::mem::take(&mut self.named));
            let done = self.source(&From { source: Source::Query(Box::new(inner)), columns: names, ..item.clone() });
            self.scopes = scopes;
            self.named = named;
            let (sql, mut columns, _) = done?;
            for column in &mut columns {
                column.meta = Some(Meta { class: format!("dba.{name}"), ..Meta::default() });
            }
            return Ok((sql, columns, name.to_owned()));
        }
        if let Some((sql, columns)) = crate::catalog::system(name) {
            return Ok((sql, columns, name.to_owned()));
        }
        Err(unknown_class(name, &format!("select * from [dba.{name}]")))
    }

    /// A column in sight: SQLite's text and what it is.
    pub(super) fn find(&mut self, table: Option<&str>, name: &str) -> Result<Option<(String, ResultColumn)>> {
        for scope in self.scopes.iter().rev() {
            let mut found = None;
            for source in scope {
                if table.is_some_and(|wanted| wanted != source.alias) {
                    continue;
                }
                if let Some(column) = source.columns.iter().find(|column| column.name == name) {
                    if found.is_some() && table.is_none() {
                        return Err(Error::semantic(format!("Reference to {name} is ambiguous. ")));
                    }
                    found = Some((format!("{}.{}", quote(&source.alias), quote(name)), column.clone()));
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn wrapped(body: &Body, sql: &str, columns: &[ResultColumn], types: &[Type]) -> String {
    let unchanged = columns.iter().zip(types).all(|(column, ty)| same(&column.ty, ty, Mode::Cast));
    let numbers = |condition: &Expr| conjuncts(condition).into_iter().any(|part| rownum(part).is_some());
    // A query that refers to itself has to stay as it is.
    if unchanged
        && let Body::Select(select) = body
        && select.group.is_empty()
        && !select.condition.as_ref().is_some_and(numbers)
    {
        return sql.to_owned();
    }
    let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
    let items: Vec<String> = columns
        .iter()
        .zip(types)
        .zip(&names)
        .map(|((column, ty), name)| match same(&column.ty, ty, Mode::Cast) || column.ty.code == NULL {
            true => format!("{name}{} AS {}", collation(ty), quote(&column.name)),
            false => {
                format!("{}{} AS {}", cast(name, &column.ty, ty, Mode::Cast), collation(ty), quote(&column.name))
            }
        })
        .collect();
    format!("SELECT {} FROM (WITH u({}) AS ({sql}) SELECT * FROM u)", items.join(", "), names.join(", "))
}

fn derived(mut columns: Vec<ResultColumn>) -> Vec<ResultColumn> {
    for column in &mut columns {
        column.meta = None;
    }
    columns
}

fn renamed(mut columns: Vec<ResultColumn>, names: &[String]) -> Vec<ResultColumn> {
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    columns
}

fn direction(item: &Order) -> String {
    let nulls = match item.nulls_first {
        Some(true) => " NULLS FIRST",
        Some(false) => " NULLS LAST",
        None => "",
    };
    format!("{}{nulls}", if item.descending { " DESC" } else { "" })
}

fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Binary("and", left, right) => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

/// The bound of `ROWNUM <= n` or `ROWNUM < n`.
fn rownum(condition: &Expr) -> Option<&Expr> {
    match condition {
        Expr::Binary("<" | "<=", left, right) => match &**left {
            Expr::Call(call) if call.name == "rownum" => Some(right),
            _ => None,
        },
        _ => None,
    }
}

fn out_of_range(number: &str) -> Error {
    Error::semantic(format!("{number} in sort spec is out of range. "))
}

fn unequal(left: usize, right: usize) -> Error {
    Error::semantic(format!("The number of columns({left}) and values({right}) are not equal. "))
}
