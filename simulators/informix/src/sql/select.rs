//! Queries.

use super::expr::{Expr, Form, common_type};
use super::lexer::TokenKind;
use super::parser::{Parser, Source, quote};
use super::{Action, Column, Compiled, NewTable, Table};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// A query in SQLite's words.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// SQLite's text.
    pub sql: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The one table it reads, if it is one.
    single_table: Option<(String, String)>,
    into_temp: Option<String>,
    for_update: bool,
}

impl Query {
    /// A query for how many rows there are, two standing for all that is more than one.
    pub(super) fn counted(&self) -> String {
        format!("SELECT count(*) FROM (SELECT * FROM ({}) LIMIT 2)", self.sql)
    }
}

/// Whether a name stands for what follows a table, so that it is no alias.
fn ends_table(word: &str) -> bool {
    matches!(
        word,
        "where"
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
    pub(super) fn query_statement(&mut self) -> Result<Compiled> {
        let mut query = self.query()?;
        if let Some(name) = query.into_temp.take() {
            let columns: Vec<String> = query.columns.iter().map(|column| quote(&column.name)).collect();
            for column in &mut query.columns {
                column.not_null = false;
                if column.ty.kind.is_serial() {
                    column.ty = Type::of(if column.ty.kind == Kind::Serial { Kind::Int } else { Kind::BigInt });
                }
            }
            let definitions: Vec<String> = query
                .columns
                .iter()
                .map(|column| format!("{} {}", quote(&column.name), column.ty.affinity()))
                .collect();
            let create = format!("CREATE TEMP TABLE {} ({})", quote(&name), definitions.join(", "));
            let fill = format!("INSERT INTO temp.{} ({}) {}", quote(&name), columns.join(", "), query.sql);
            let table = NewTable {
                name,
                columns: query.columns,
                temporary: true,
                kind: 'T',
                sql: format!("{create};{fill}"),
                constraints: Vec::new(),
                if_not_exists: false,
            };
            return Ok(self.compiled(3, Action::SelectInto(table), Vec::new()));
        }
        let mut update_table = None;
        if query.for_update {
            let (name, alias) = query.single_table.clone().ok_or_else(|| SqlError::new(-201, "for update"))?;
            query.sql = query.sql.replacen(" FROM ", &format!(", {}.rowid FROM ", quote(&alias)), 1);
            update_table = Some(name);
        }
        let columns = query.columns;
        Ok(self.compiled(2, Action::Query { sql: query.sql, update_table }, columns))
    }

    /// A query inside an expression or a FROM clause.
    pub(super) fn subquery(&mut self) -> Result<Query> {
        self.query()
    }

    fn query(&mut self) -> Result<Query> {
        let named = self.named.len();
        let mut prefix = String::new();
        if self.accept("with") {
            let recursive = if self.accept("recursive") { "RECURSIVE " } else { "" };
            prefix = format!("WITH {recursive}{} ", self.common_tables()?);
        }
        let mut query = self.query_term()?;
        while let Some(operator) = self.set_operator() {
            let right = self.query_term()?;
            if right.columns.len() != query.columns.len() {
                return Err(SqlError::new(-203, "").at(self.offset()));
            }
            query.sql = format!("{} {operator} {}", query.sql, right.sql);
            query.single_table = None;
            query.into_temp = query.into_temp.or(right.into_temp);
            for (column, other) in query.columns.iter_mut().zip(right.columns) {
                column.ty = common_type(&[column.ty, other.ty]).unwrap_or(column.ty);
            }
        }
        query.sql = prefix + &query.sql;
        self.named.truncate(named);
        Ok(query)
    }

    fn common_tables(&mut self) -> Result<String> {
        let mut parts = Vec::new();
        loop {
            let name = self.identifier()?;
            let mut names = Vec::new();
            if self.accept_symbol("(") {
                loop {
                    names.push(self.identifier()?);
                    if !self.accept_symbol(",") {
                        break;
                    }
                }
                self.expect_symbol(")")?;
            }
            self.expect("as")?;
            self.expect_symbol("(")?;
            let query = self.query()?;
            self.expect_symbol(")")?;
            let mut columns = query.columns;
            for (column, name) in columns.iter_mut().zip(names) {
                column.name = name;
            }
            let list: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
            parts.push(format!("{}({}) AS ({})", quote(&name), list.join(", "), query.sql));
            self.named.push(Table { name, columns });
            if !self.accept_symbol(",") {
                return Ok(parts.join(", "));
            }
        }
    }

    fn set_operator(&mut self) -> Option<&'static str> {
        for (word, operator) in
            [("union", "UNION"), ("intersect", "INTERSECT"), ("minus", "EXCEPT"), ("except", "EXCEPT")]
        {
            if self.accept(word) {
                return Some(if word == "union" && self.accept("all") { "UNION ALL" } else { operator });
            }
        }
        None
    }

    fn query_term(&mut self) -> Result<Query> {
        if self.accept_symbol("(") {
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(query);
        }
        self.expect("select")?;
        self.select()
    }

    fn row_limit(&mut self) -> Result<String> {
        if let TokenKind::Parameter(index) = *self.peek() {
            self.at += 1;
            self.parameters[index - 1] = Some(Type::of(Kind::Int));
            return Ok(format!("?{index}"));
        }
        Ok(self.integer()?.to_string())
    }

    fn is_limit_word(&self) -> bool {
        matches!(self.ahead(1), TokenKind::Number(_) | TokenKind::Parameter(_))
    }

    fn select(&mut self) -> Result<Query> {
        let (mut skip, mut limit) = (None, None);
        while self.is_limit_word() && (self.is("skip") || self.is("first") || self.is("limit")) {
            let is_skip = self.is("skip");
            self.at += 1;
            let count = self.row_limit()?;
            *(if is_skip { &mut skip } else { &mut limit }) = Some(count);
        }
        let distinct = if self.accept("distinct") || self.accept("unique") { "DISTINCT " } else { "" };
        self.accept("all");

        let items = self.at;
        let from = self.find_from();
        let mut tables = String::new();
        let mut single_table = None;
        let mut after_from = None;
        self.scopes.push(Vec::new());
        if let Some(from) = from {
            self.at = from + 1;
            (tables, single_table) = self.table_clause()?;
            after_from = Some(self.at);
        }
        self.at = items;
        let (mut list, mut columns) = self.items()?;
        let mut into_temp = self.temp_target()?;
        if let Some(after) = after_from {
            if !self.is("from") {
                return Err(self.syntax());
            }
            self.at = after;
        }
        let mut sql = String::new();
        if self.accept("where") {
            sql += &format!(" WHERE {}", self.expression()?.sql);
        }
        if self.accept("group") {
            self.expect("by")?;
            sql += &format!(" GROUP BY {}", self.plain_list(&columns)?);
        }
        if self.accept("having") {
            sql += &format!(" HAVING {}", self.expression()?.sql);
        }
        let in_union = matches!(self.peek(), TokenKind::Word(word) if matches!(word.as_str(), "union" | "intersect" | "minus" | "except"));
        if self.accept("order") {
            self.expect("by")?;
            sql += &format!(" ORDER BY {}", self.order_list(&columns)?);
        }
        while self.is_limit_word() && (self.is("limit") || self.is("skip")) {
            let is_skip = self.is("skip");
            self.at += 1;
            let count = self.row_limit()?;
            if !is_skip && self.accept_symbol(",") {
                skip = Some(count);
                limit = Some(self.row_limit()?);
            } else {
                *(if is_skip { &mut skip } else { &mut limit }) = Some(count);
            }
        }
        let mut for_update = false;
        if self.accept("for") {
            if self.accept("update") {
                for_update = true;
                if self.accept("of") {
                    self.plain_list(&columns)?;
                }
            } else {
                self.expect("read")?;
                self.expect("only")?;
            }
        }
        into_temp = into_temp.or(self.temp_target()?);
        self.scopes.pop();
        if list.is_empty() {
            list.push("NULL".to_owned());
        }
        let mut text = format!("SELECT {distinct}{}{tables}{sql}", list.join(", "));
        if limit.is_some() || skip.is_some() {
            text += &format!(" LIMIT {} OFFSET {}", limit.unwrap_or("-1".into()), skip.unwrap_or("0".into()));
            if in_union {
                text = format!("SELECT * FROM ({text})");
            }
        }
        for column in &mut columns {
            column.not_null = false;
        }
        Ok(Query { sql: text, columns, single_table, into_temp, for_update })
    }

    fn temp_target(&mut self) -> Result<Option<String>> {
        if !self.accept("into") {
            return Ok(None);
        }
        self.expect("temp")?;
        let name = self.identifier()?;
        if self.is("with") && self.is_ahead(1, "no") {
            self.at += 3;
        }
        Ok(Some(name))
    }

    /// The FROM of the query whose list starts here.
    fn find_from(&self) -> Option<usize> {
        let mut depth = 0;
        for at in self.at..self.tokens.len() {
            match &self.tokens[at].kind {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") if depth == 0 => return None,
                TokenKind::Symbol(")") => depth -= 1,
                TokenKind::Word(word) if depth == 0 => match word.as_str() {
                    "from" => return Some(at),
                    "union" | "intersect" | "minus" | "except" | "where" => return None,
                    _ => {}
                },
                _ => {}
            }
        }
        None
    }

    fn items(&mut self) -> Result<(Vec<String>, Vec<Column>)> {
        let (mut list, mut columns) = (Vec::new(), Vec::new());
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
                        list.push(format!("{}.{}", quote(&source.alias), quote(&column.name)));
                        columns.push(column.clone());
                    }
                }
                if !found {
                    return Err(SqlError::syntax(offset, "*"));
                }
            } else {
                let offset = self.offset();
                let item = self.expression()?;
                if matches!(item.form, Form::Parameter(_)) {
                    return Err(SqlError::syntax(offset, "?"));
                }
                let name = self.item_alias()?.unwrap_or_else(|| item.name.clone());
                list.push(format!("{} AS {}", item.sql, quote(&name)));
                let ty = item.ty.unwrap_or(Type::new(Kind::Char, 1));
                columns.push(Column { name, ty, not_null: false });
            }
            if !self.accept_symbol(",") {
                return Ok((list, columns));
            }
        }
    }

    fn item_alias(&mut self) -> Result<Option<String>> {
        if self.accept("as") {
            return self.identifier().map(Some);
        }
        match self.peek().clone() {
            TokenKind::Word(word) if !ends_table(&word) && word != "from" => {
                self.at += 1;
                Ok(Some(word))
            }
            TokenKind::Quoted(word) => {
                self.at += 1;
                Ok(Some(word))
            }
            _ => Ok(None),
        }
    }

    /// GROUP BY and the like: numbers, names of the list, expressions.
    fn plain_list(&mut self, columns: &[Column]) -> Result<String> {
        let mut list = Vec::new();
        loop {
            list.push(self.list_item(columns)?);
            if !self.accept_symbol(",") {
                return Ok(list.join(", "));
            }
        }
    }

    fn list_item(&mut self, columns: &[Column]) -> Result<String> {
        let offset = self.offset();
        if let TokenKind::Number(number) = self.peek().clone() {
            self.at += 1;
            let index: usize = number.parse().unwrap_or(0);
            if index == 0 || index > columns.len() {
                return Err(SqlError::syntax(offset, &number));
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

    /// Computed decimals and text sort as what they mean, not as SQLite's text.
    fn ordered(&self, expr: Expr) -> String {
        match expr.ty {
            Some(ty) if expr.form == Form::Computed && ty.kind.is_decimal() => {
                format!("{} COLLATE IFXDECIMAL", expr.sql)
            }
            _ => expr.sql,
        }
    }

    fn order_list(&mut self, columns: &[Column]) -> Result<String> {
        let mut list = Vec::new();
        loop {
            let mut item = self.list_item(columns)?;
            if let Ok(index) = item.parse::<usize>()
                && columns[index - 1].ty.kind.is_decimal()
            {
                item = format!("{} COLLATE IFXDECIMAL", quote(&columns[index - 1].name));
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

    /// Everything after FROM up to WHERE, its tables put into the innermost scope.
    fn table_clause(&mut self) -> Result<(String, Option<(String, String)>)> {
        let mut sql = " FROM ".to_owned();
        let (first, mut single) = self.table_item()?;
        sql += &first;
        loop {
            if self.accept_symbol(",") {
                sql += &format!(", {}", self.table_item()?.0);
                single = None;
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
                    _ => return Ok((sql, single)),
                },
                _ => return Ok((sql, single)),
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

    fn add_source(&mut self, alias: &str, columns: Vec<Column>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Source { alias: alias.to_owned(), columns });
        }
    }

    fn table_alias(&mut self) -> Result<Option<String>> {
        if self.accept("as") {
            return self.identifier().map(Some);
        }
        match self.peek().clone() {
            TokenKind::Word(word) if !ends_table(&word) => {
                self.at += 1;
                Ok(Some(word))
            }
            TokenKind::Quoted(word) => {
                self.at += 1;
                Ok(Some(word))
            }
            _ => Ok(None),
        }
    }

    fn table_item(&mut self) -> Result<(String, Option<(String, String)>)> {
        let offset = self.offset();
        if self.is("outer") {
            return Err(SqlError::unsupported("OUTER tables; write LEFT JOIN").at(offset));
        }
        if self.accept_symbol("(") {
            if !self.is("select") && !self.is("with") {
                let inner = self.table_clause()?.0;
                self.expect_symbol(")")?;
                return Ok((format!("({})", inner.trim_start_matches(" FROM ")), None));
            }
            // A derived table sees the queries around it, not the tables beside it.
            let scope = self.scopes.pop().unwrap_or_default();
            let query = self.query();
            self.scopes.push(scope);
            let query = query?;
            self.expect_symbol(")")?;
            let alias = self.table_alias()?.unwrap_or_else(|| format!("ifx_derived_{offset}"));
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
            self.add_source(&alias, columns);
            return Ok((format!("({sql}) AS {}", quote(&alias)), None));
        }
        if self.is("table") && matches!(self.ahead(1), TokenKind::Symbol("(")) {
            return self.collection_table();
        }
        let table = self.table()?;
        let alias = self.table_alias()?;
        let alias = alias.unwrap_or_else(|| table.name.rsplit(':').next().unwrap_or_default().to_owned());
        self.add_source(&alias, table.columns.clone());
        Ok((format!("{} AS {}", quote(&table.name), quote(&alias)), Some((table.name, alias))))
    }

    /// `TABLE(SET{1})`, as drivers write it to have one row.
    fn collection_table(&mut self) -> Result<(String, Option<(String, String)>)> {
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
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol("}")?;
        self.expect_symbol(")")?;
        let alias = self.table_alias()?.unwrap_or_else(|| "ifx_collection".to_owned());
        let mut name = "unnamed_col_1".to_owned();
        if self.accept_symbol("(") {
            name = self.identifier()?;
            self.expect_symbol(")")?;
        }
        let sql = rows.join(" UNION ALL ").replace("unnamed_col_1", &name);
        self.add_source(&alias, vec![Column { name, ty, not_null: false }]);
        Ok((format!("({sql}) AS {}", quote(&alias)), None))
    }
}
