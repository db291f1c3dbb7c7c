//! Queries.

use super::lexer::TokenKind;
use super::operators::common_type;
use super::parser::{Parser, quote};
use super::tables::Tables;
use super::{Action, Column, Compiled, NewTable, Table};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// A query in SQLite's SQL.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// SQLite's text.
    pub sql: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The table that it reads, if it is only one.
    single_table: Option<(String, String)>,
    /// The columns of one table that refuse NULL, for DESCRIBE.
    required: Vec<bool>,
    into_temp: Option<String>,
    for_update: bool,
    /// True if it has an end of its own, so that nothing may be appended.
    closed: bool,
    /// ORDER BY and LIMIT for all of the queries that this one is the last of.
    tail: String,
    /// FIRST and SKIP of the first of several queries, which are those of all of them.
    head: String,
}

impl Query {
    /// A query for the number of rows, two meaning more than one.
    pub(super) fn counted(&self) -> String {
        format!("SELECT count(*) FROM (SELECT * FROM ({}) LIMIT 2)", self.sql)
    }
}

impl Parser<'_> {
    pub(super) fn query_statement(&mut self) -> Result<Compiled> {
        let mut query = self.query()?;
        if let Some(name) = query.into_temp.take() {
            Self::check_names(&query.columns)?;
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
                indexes: Vec::new(),
                constraints: Vec::new(),
                defaults: Vec::new(),
                text: String::new(),
                if_not_exists: false,
                serial: None,
            };
            return Ok(self.compiled(3, Action::SelectInto(table), Vec::new()));
        }
        let mut update_table = None;
        if query.for_update {
            // There must be one row of one table to change for each row that is read.
            let (name, alias) =
                query.single_table.clone().ok_or_else(|| SqlError::syntax(self.offset(), "for update"))?;
            query.sql = query.sql.replacen(" FROM ", &format!(", {}.rowid FROM ", quote(&alias)), 1);
            update_table = Some(name);
        }
        let mut columns = query.columns;
        for (column, required) in columns.iter_mut().zip(query.required) {
            column.not_null = required;
        }
        Ok(self.compiled(2, Action::Query { sql: query.sql, update_table }, columns))
    }

    /// A query, of a statement or inside one.
    pub(super) fn query(&mut self) -> Result<Query> {
        self.deeper(Self::whole_query)
    }

    fn whole_query(&mut self) -> Result<Query> {
        let named = self.named.len();
        let mut prefix = String::new();
        if self.accept("with") {
            self.accept("recursive");
            // SQLite accepts the key word without a recursive query, as Informix accepts a recursive query without it.
            prefix = format!("WITH RECURSIVE {} ", self.common_tables()?);
        }
        let mut query = self.query_term(None)?;
        let mut terms: Vec<(&str, Query)> = Vec::new();
        while let Some(operator) = self.set_operator() {
            let right = self.query_term(Some(&query.columns))?;
            if right.columns.len() != query.columns.len() {
                return Err(SqlError::new(-317, "").at(self.offset()));
            }
            let incompatible = |(own, other): (&Column, &Column)| own.ty.kind.is_text() != other.ty.kind.is_text();
            if query.columns.iter().zip(&right.columns).any(incompatible) {
                return Err(SqlError::new(-308, "").at(self.offset()));
            }
            query.into_temp = query.into_temp.or(right.into_temp.clone());
            terms.push((operator, right));
        }
        if !terms.is_empty() {
            query = Self::combined(query, terms);
        }
        query.sql = prefix + &query.sql;
        self.named.truncate(named);
        Ok(query)
    }

    /// Several queries as one; if their types differ, all get the one that can represent all values.
    fn combined(first: Query, others: Vec<(&str, Query)>) -> Query {
        let mut columns = first.columns.clone();
        for (_, other) in &others {
            for (column, theirs) in columns.iter_mut().zip(&other.columns) {
                column.ty = common_type(&[column.ty, theirs.ty]).unwrap_or(column.ty);
            }
        }
        let term = |query: &Query| {
            let same = query.columns.iter().zip(&columns).all(|(own, common)| own.ty.kind == common.ty.kind);
            if same && !query.closed {
                return query.sql.clone();
            }
            let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
            let list: Vec<String> = query
                .columns
                .iter()
                .zip(&columns)
                .zip(&names)
                .map(|((own, common), name)| {
                    let value = if own.ty.kind == common.ty.kind {
                        name.clone()
                    } else {
                        format!("ifx_conv({name}, {}, {})", own.ty.tag(), common.ty.tag())
                    };
                    format!("{value} AS {}", quote(&common.name))
                })
                .collect();
            format!(
                "SELECT {} FROM (WITH ifx_term({}) AS ({}) SELECT * FROM ifx_term)",
                list.join(", "),
                names.join(", "),
                query.sql
            )
        };
        let mut sql = term(&first);
        let mut tail = String::new();
        for (operator, query) in &others {
            sql += &format!(" {operator} {}", term(query));
            tail.clone_from(&query.tail);
        }
        tail += &first.head;
        let into_temp = first.into_temp;
        let for_update = first.for_update || others.iter().any(|(_, query)| query.for_update);
        Query { sql: sql + &tail, columns, into_temp, for_update, ..Query::default() }
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
            let renamed = |mut columns: Vec<Column>| {
                for (column, name) in columns.iter_mut().zip(&names) {
                    column.name.clone_from(name);
                }
                columns
            };
            // A recursive reference has the columns of the first part.
            let (start, known) = (self.at, self.named.len());
            if self.names_itself(&name) {
                let first = self.query_term(None)?;
                self.at = start;
                self.named.push(Table {
                    name: name.clone(),
                    columns: renamed(first.columns),
                    defaults: Vec::new(),
                    derived: true,
                });
            }
            let query = self.query();
            self.named.truncate(known);
            let query = query?;
            if !names.is_empty() && names.len() != query.columns.len() {
                return Err(self.syntax());
            }
            self.expect_symbol(")")?;
            let columns = renamed(query.columns);
            let list: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
            parts.push(format!("{}({}) AS ({})", quote(&name), list.join(", "), query.sql));
            self.named.push(Table { name, columns, defaults: Vec::new(), derived: true });
            if !self.accept_symbol(",") {
                return Ok(parts.join(", "));
            }
        }
    }

    /// Returns true if there is a name between here and the bracket that closes the current one.
    fn names_itself(&self, name: &str) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match &token.kind {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") if depth == 0 => return false,
                TokenKind::Symbol(")") => depth -= 1,
                TokenKind::Word(word) if word == name => return true,
                _ => {}
            }
        }
        false
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

    /// One SELECT; if it follows others, `first` has the columns that ORDER BY may name.
    fn query_term(&mut self, first: Option<&[Column]>) -> Result<Query> {
        if self.accept_symbol("(") {
            let mut query = self.query()?;
            self.expect_symbol(")")?;
            query.closed = true;
            if first.is_some() || self.is("order") {
                query.tail = self.tail(&query.columns)?;
                if first.is_none() {
                    query.sql = format!("SELECT * FROM ({}){}", query.sql, std::mem::take(&mut query.tail));
                }
            }
            return Ok(query);
        }
        self.expect("select")?;
        self.select(first)
    }

    /// ORDER BY and LIMIT after several queries: they name columns of the result only.
    fn tail(&mut self, columns: &[Column]) -> Result<String> {
        let mut sql = String::new();
        if self.accept("order") {
            self.expect("by")?;
            self.scopes.push(Vec::new());
            let list = self.order_list(columns, true);
            self.scopes.pop();
            sql = format!(" ORDER BY {}", list?);
        }
        let (mut skip, mut limit) = (None, None);
        self.limits(&mut skip, &mut limit)?;
        Ok(sql + &Self::limit_clause(skip, limit))
    }

    /// `LIMIT n`, `LIMIT m, n` and `SKIP n` after a query.
    fn limits(&mut self, skip: &mut Option<String>, limit: &mut Option<String>) -> Result<()> {
        while self.is_limit_word() && (self.is("limit") || self.is("skip")) {
            let is_skip = self.is("skip");
            self.at += 1;
            let count = self.row_limit()?;
            if !is_skip && self.accept_symbol(",") {
                *skip = Some(count);
                *limit = Some(self.row_limit()?);
            } else {
                *(if is_skip { &mut *skip } else { &mut *limit }) = Some(count);
            }
        }
        Ok(())
    }

    fn limit_clause(skip: Option<String>, limit: Option<String>) -> String {
        if limit.is_none() && skip.is_none() {
            return String::new();
        }
        format!(" LIMIT {} OFFSET {}", limit.unwrap_or("-1".into()), skip.unwrap_or("0".into()))
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

    fn select(&mut self, first: Option<&[Column]>) -> Result<Query> {
        let (mut skip, mut limit) = (None, None);
        while self.is_limit_word() && (self.is("skip") || self.is("first") || self.is("limit")) {
            let is_skip = self.is("skip");
            self.at += 1;
            let count = self.row_limit()?;
            *(if is_skip { &mut skip } else { &mut limit }) = Some(count);
        }
        let distinct = if self.accept("distinct") || self.accept("unique") { "DISTINCT " } else { "" };
        self.accept("all");
        if self.is("from") {
            // Nothing is selected.
            return Err(self.syntax());
        }

        let items = self.at;
        let from = self.find_from();
        let mut tables = Tables::default();
        let mut after_from = None;
        self.scopes.push(Vec::new());
        if let Some(from) = from {
            self.at = from + 1;
            tables = self.table_clause()?;
            after_from = Some(self.at);
        }
        self.at = items;
        let (mut list, mut columns, plain) = match self.items() {
            Err(error) if error.code == -217 && from.is_none() => return Err(self.without_from(items, error)),
            found => found?,
        };
        let mut into_temp = self.temp_target()?;
        if let Some(after) = after_from {
            if !self.is("from") {
                return Err(self.syntax());
            }
            self.at = after;
        }
        let mut sql = String::new();
        if self.accept("where") {
            sql += &self.outer_condition(&mut tables)?;
        }
        let mut groups = None;
        if self.accept("group") {
            self.expect("by")?;
            let by = self.plain_list(&columns)?;
            sql += &format!(" GROUP BY {}", by.join(", "));
            groups = Some(by);
        }
        let aggregated = self.aggregates.contains(&self.scopes.len());
        let grouped = groups.is_some();
        if grouped || aggregated {
            Self::check_groups(&groups.unwrap_or_default(), &list, &plain)?;
        }
        self.aggregates.retain(|depth| *depth < self.scopes.len());
        if self.accept("having") {
            sql += &format!(" HAVING {}", self.expression()?.sql);
        }
        // After the last of several queries, ORDER BY and LIMIT are those of all of them.
        let mut tail = String::new();
        if let Some(first) = first {
            tail = self.tail(first)?;
        } else if self.accept("order") {
            self.expect("by")?;
            sql += &format!(" ORDER BY {}", self.order_list(&columns, false)?);
        }
        self.limits(&mut skip, &mut limit)?;
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
        let plain_rows = distinct.is_empty() && !aggregated && !grouped;
        let is_first_of_several =
            first.is_none() && ["union", "intersect", "minus", "except"].iter().any(|word| self.is(word));
        let closed = !is_first_of_several && (limit.is_some() || skip.is_some());
        let tables_sql = tables.sql();
        let mut text = format!("SELECT {distinct}{}{tables_sql}{sql}", list.join(", "));
        let mut head = Self::limit_clause(skip, limit);
        if !is_first_of_several {
            text += &std::mem::take(&mut head);
        }
        let alone = tables.single.is_some();
        let required = columns.iter_mut().map(|column| std::mem::take(&mut column.not_null) && alone).collect();
        Ok(Query {
            sql: text,
            columns,
            required,
            single_table: tables.single.filter(|_| plain_rows),
            into_temp,
            for_update,
            closed,
            tail,
            head,
        })
    }

    /// The error of a list that is not followed by FROM: if it ends in the middle of a statement, that is the error.
    fn without_from(&mut self, items: usize, error: SqlError) -> SqlError {
        self.at = items;
        self.blind = true;
        let read = self.items();
        self.blind = false;
        match read {
            Err(error) => error,
            Ok(_) if matches!(self.peek(), TokenKind::End | TokenKind::Symbol(")" | ";")) => error,
            Ok(_) => self.syntax(),
        }
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
}
