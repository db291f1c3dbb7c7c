//! Expressions: each is written for SQLite while its type is worked out.

use super::lexer::TokenKind;
use super::parser::{Parser, literal};
use super::select::Query;
use crate::codec::timestamp::{DAY_UNITS, Qualifier};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// The origin of an expression, as far as it matters to its operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A column: it has an affinity and a collation in SQLite.
    Column,
    /// A column of a query or view, which may have neither.
    Derived,
    /// The n-th parameter.
    Parameter(usize),
    /// A string literal.
    Text,
    /// A number.
    Number,
    /// NULL.
    Null,
    /// Anything computed.
    Computed,
}

/// An expression in SQLite's SQL.
#[derive(Clone, Debug)]
pub struct Expr {
    /// SQLite's text.
    pub sql: String,
    /// Its type, if it is known.
    pub ty: Option<Type>,
    /// Its origin.
    pub form: Form,
    /// The name of a result column made of it.
    pub name: String,
}

impl Expr {
    pub(super) fn computed(sql: String, ty: Type) -> Self {
        Self { sql, ty: Some(ty), form: Form::Computed, name: "(expression)".to_owned() }
    }

    pub(super) fn is(&self, test: impl Fn(Kind) -> bool) -> bool {
        self.ty.is_some_and(|ty| test(ty.kind))
    }
}

pub(super) const BOOLEAN: Type = Type::of(Kind::Boolean);

impl Parser<'_> {
    /// An expression, OR and all.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(|parser| parser.chain("or", Self::conjunction))
    }

    fn conjunction(&mut self) -> Result<Expr> {
        self.chain("and", Self::negation)
    }

    /// Conditions with one word between them.
    fn chain(&mut self, word: &str, read: fn(&mut Self) -> Result<Expr>) -> Result<Expr> {
        let first = read(self)?;
        if !self.is(word) {
            return Ok(first);
        }
        let mut conditions = vec![first.sql];
        while self.accept(word) {
            conditions.push(read(self)?.sql);
        }
        Ok(Expr::computed(balanced(&conditions, word), BOOLEAN))
    }

    pub(super) fn negation(&mut self) -> Result<Expr> {
        if self.accept("not") {
            let inner = self.deeper(Self::negation)?;
            return Ok(Expr::computed(format!("(NOT {})", inner.sql), BOOLEAN));
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<Expr> {
        if self.is("exists") {
            self.at += 1;
            self.expect_symbol("(")?;
            let inner = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::computed(format!("EXISTS ({})", inner.sql), BOOLEAN));
        }
        let left = self.sum()?;
        if self.accept("is") {
            let not = if self.accept("not") { "NOT " } else { "" };
            self.expect("null")?;
            return Ok(Expr::computed(format!("({} IS {not}NULL)", left.sql), BOOLEAN));
        }
        let not = if self.is("not") && !matches!(self.ahead(1), TokenKind::End) {
            self.at += 1;
            "NOT "
        } else {
            ""
        };
        if self.accept("in") {
            return self.membership(left, not);
        }
        if self.accept("between") {
            let low = self.sum()?;
            self.expect("and")?;
            let high = self.sum()?;
            let above = self.compare(left.clone(), ">=", low);
            let below = self.compare(left, "<=", high);
            return Ok(Expr::computed(format!("({not}({} AND {}))", above.sql, below.sql), BOOLEAN));
        }
        for (word, function) in [("like", "ifx_like"), ("matches", "ifx_matches")] {
            if self.accept(word) {
                let pattern = self.sum()?;
                let escape = if self.accept("escape") { self.sum()?.sql } else { "'\\'".to_owned() };
                let text = Type::new(Kind::LVarChar, 32_739);
                let (value, pattern) = (self.coerce(left, text), self.coerce(pattern, text));
                return Ok(Expr::computed(format!("({not}{function}({value}, {pattern}, {escape}))"), BOOLEAN));
            }
        }
        if !not.is_empty() {
            return Err(self.syntax());
        }
        for (symbol, operator) in
            [("=", "="), ("==", "="), ("<>", "<>"), ("!=", "<>"), ("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")]
        {
            if self.accept_symbol(symbol) {
                if (self.is("any") || self.is("all") || self.is("some"))
                    && matches!(self.ahead(1), TokenKind::Symbol("("))
                {
                    return self.quantified(left, operator);
                }
                let right = self.sum()?;
                return Ok(self.compare(left, operator, right));
            }
        }
        Ok(left)
    }

    /// `= ANY (SELECT …)` and `> ALL (SELECT …)`, as a search for a row that agrees, or one that does not.
    fn quantified(&mut self, left: Expr, operator: &str) -> Result<Expr> {
        let all = self.is("all");
        self.at += 1;
        self.expect_symbol("(")?;
        let inner = self.one_column()?;
        self.expect_symbol(")")?;
        let ty = inner.columns.first().map(|column| column.ty);
        let right = Expr { sql: "ifx_each.c".into(), ty, form: Form::Computed, name: String::new() };
        let test = self.compare(left, operator, right).sql;
        let rows = format!("WITH ifx_each(c) AS ({}) SELECT 1 FROM ifx_each", inner.sql);
        // Unknown is no: ALL over a NULL finds neither.
        let sql = if all {
            format!("(NOT EXISTS ({rows} WHERE ({test}) IS NOT TRUE))")
        } else {
            format!("EXISTS ({rows} WHERE {test})")
        };
        Ok(Expr::computed(sql, BOOLEAN))
    }

    /// A query whose rows are values.
    fn one_column(&mut self) -> Result<Query> {
        let offset = self.offset();
        let query = self.query()?;
        if query.columns.len() != 1 {
            return Err(SqlError::unsupported("several columns of a subquery as one value").at(offset));
        }
        Ok(query)
    }

    fn membership(&mut self, left: Expr, not: &str) -> Result<Expr> {
        if !self.is_symbol("(") {
            return self.collection_member(left, not);
        }
        self.expect_symbol("(")?;
        if self.is("select") || self.is("with") {
            let inner = self.one_column()?;
            self.expect_symbol(")")?;
            let target = inner.columns.first().map(|column| column.ty);
            let same = match (left.ty, target) {
                (Some(own), Some(ty)) => {
                    let both = |test: fn(Kind) -> bool| test(own.kind) && test(ty.kind);
                    // Only a column of a table determines how texts compare.
                    (own.kind == ty.kind && !own.kind.is_text())
                        || both(Kind::is_integer)
                        || (both(Kind::is_text) && left.form == Form::Column)
                }
                _ => true,
            };
            if !same {
                // Compared as any other two values, not as SQLite's.
                let right = Expr { sql: "ifx_each.c".into(), ty: target, form: Form::Computed, name: String::new() };
                let test = self.compare(left, "=", right).sql;
                let sql = format!(
                    "({not}(WITH ifx_each(c) AS ({}) SELECT CASE WHEN max({test}) = 1 THEN 1 \
                     WHEN count({test}) < count(*) THEN NULL ELSE 0 END FROM ifx_each))",
                    inner.sql
                );
                return Ok(Expr::computed(sql, BOOLEAN));
            }
            let value = match target {
                Some(ty) if matches!(left.form, Form::Parameter(_)) => self.coerce(left, ty),
                _ => left.sql,
            };
            return Ok(Expr::computed(format!("({value} {not}IN ({}))", inner.sql), BOOLEAN));
        }
        let mut tests = Vec::new();
        loop {
            let item = self.expression()?;
            if item.is(Kind::is_complex) && tests.is_empty() {
                self.expect_symbol(")")?;
                return Ok(self.member(left, not, item));
            }
            tests.push(self.compare(left.clone(), "=", item).sql);
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(Expr::computed(format!("({not}{})", balanced(&tests, "or")), BOOLEAN))
    }

    fn collection_member(&mut self, left: Expr, not: &str) -> Result<Expr> {
        let collection = self.sum()?;
        if !collection.is(Kind::is_complex) {
            return Err(SqlError::new(-9650, "").at(self.offset()));
        }
        Ok(self.member(left, not, collection))
    }

    fn member(&mut self, left: Expr, not: &str, collection: Expr) -> Expr {
        let value = self.coerce(left, Type::new(Kind::LVarChar, 32_739));
        Expr::computed(format!("({not}ifx_member({value}, {}))", collection.sql), BOOLEAN)
    }

    pub(super) fn sum(&mut self) -> Result<Expr> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Symbol(symbol @ ("+" | "-" | "||")) => *symbol,
                _ => return Ok(left),
            };
            let offset = self.offset();
            self.at += 1;
            let right = self.product()?;
            left = if operator == "||" {
                self.concatenate(left, right)
            } else {
                self.arithmetic(left, operator, right).map_err(|error| error.at(offset))?
            };
        }
    }

    fn product(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Symbol(symbol @ ("*" | "/")) => *symbol,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.unary()?;
            left = self.arithmetic(left, operator, right)?;
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.accept_symbol("+") {
            return self.deeper(Self::unary);
        }
        if self.accept_symbol("-") {
            let inner = self.deeper(Self::unary)?;
            if inner.form == Form::Number {
                // Two signs would begin a comment.
                let sql = match inner.sql.strip_prefix('-').or(inner.sql.strip_prefix("'-")) {
                    Some(rest) if inner.sql.starts_with('\'') => format!("'{rest}"),
                    Some(rest) => rest.to_owned(),
                    None => format!("-{}", inner.sql).replace("-'", "'-"),
                };
                return Ok(Expr { sql, ..inner });
            }
            let zero = Expr::computed("0".into(), Type::of(Kind::Int));
            if inner.is(|kind| kind == Kind::Interval) {
                return Ok(Expr { sql: format!("(-{})", inner.sql), form: Form::Computed, ..inner });
            }
            return self.arithmetic(zero, "-", inner);
        }
        let mut expr = self.primary()?;
        loop {
            if self.accept_symbol("::") {
                let target = self.type_declaration()?;
                expr = self.cast(expr, target);
            } else if self.is("units") {
                self.at += 1;
                let offset = self.offset();
                let field = Qualifier::field(&self.identifier()?).ok_or_else(|| SqlError::syntax(offset, "units"))?;
                let size = match field {
                    0 => 12,
                    2 => 1,
                    4 => DAY_UNITS,
                    6 => DAY_UNITS / 24,
                    8 => DAY_UNITS / 1440,
                    10 => DAY_UNITS / 86_400,
                    _ => 1,
                };
                let count = self.coerce(expr, Type::of(Kind::BigInt));
                let ty = Type::new(Kind::Interval, Qualifier::interval(field, field, 9).0);
                expr = Expr::computed(format!("({count} * {size})"), ty);
            } else if self.is_symbol("[") && expr.is(Kind::is_text) {
                self.at += 1;
                let offset = self.offset();
                let from = self.integer()?;
                let to = if self.accept_symbol(",") { self.integer()? } else { from };
                if from < 1 || to < from {
                    return Err(SqlError::syntax(offset, &to.to_string()));
                }
                self.expect_symbol("]")?;
                let length = to - from + 1;
                let sql = format!("substr({}, {from}, {length})", expr.sql);
                expr = Expr { name: expr.name.clone(), ..Expr::computed(sql, Type::new(Kind::Char, length as i32)) };
            } else {
                return Ok(expr);
            }
        }
    }

    /// A cast. SQL that casts a parameter determines its type.
    pub(super) fn cast(&mut self, expr: Expr, target: Type) -> Expr {
        let sql = self.coerce(expr, target);
        // A stored CHAR has no trailing blanks; the result of a cast to one has.
        match target.kind {
            Kind::Char | Kind::NChar => Expr::computed(format!("ifx_pad({sql}, {})", target.length), target),
            _ => Expr::computed(sql, target),
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let offset = self.offset();
        let constant = |sql: String, ty: Type, form: Form| Expr { sql, ty: Some(ty), form, name: "(constant)".into() };
        match self.next() {
            TokenKind::Number(number) => {
                let is_whole = number.bytes().all(|byte| byte.is_ascii_digit());
                Ok(match number.parse::<i64>() {
                    Ok(value) if is_whole && value <= i64::from(i32::MAX) => {
                        constant(value.to_string(), Type::of(Kind::Int), Form::Number)
                    }
                    Ok(value) if is_whole => constant(value.to_string(), Type::of(Kind::BigInt), Form::Number),
                    _ => {
                        let value = crate::codec::decimal::Decimal::parse(&number)
                            .ok_or_else(|| SqlError::syntax(offset, &number))?
                            .checked()
                            .map_err(|error| error.at(offset))?;
                        let digits = number.bytes().filter(u8::is_ascii_digit).count().clamp(1, 32);
                        let scale = number.split_once('.').map_or(255, |(_, fraction)| fraction.len());
                        let exponent = number.contains(['e', 'E']);
                        let ty =
                            if exponent { Type::decimal(32, 255) } else { Type::decimal(digits as i32, scale as i32) };
                        constant(format!("'{value}'"), ty, Form::Number)
                    }
                })
            }
            TokenKind::Text(text) => {
                let length = text.len().clamp(1, 32_739) as i32;
                Ok(constant(literal(&text), Type::new(Kind::Char, length), Form::Text))
            }
            TokenKind::Parameter(index) => Ok(Expr {
                sql: format!("?{index}"),
                ty: self.parameters[index - 1],
                form: Form::Parameter(index),
                name: "(expression)".into(),
            }),
            TokenKind::Symbol("(") => {
                if self.is("select") || self.is("with") {
                    let inner = self.one_column()?;
                    self.expect_symbol(")")?;
                    let ty = inner.columns.first().map(|column| column.ty);
                    let sql = format!("ifx_scalar(({}), ({}))", inner.counted(), inner.sql);
                    return Ok(Expr { sql, ty, form: Form::Computed, name: "(expression)".into() });
                }
                let inner = self.expression()?;
                self.expect_symbol(")")?;
                Ok(Expr { sql: format!("({})", inner.sql), ..inner })
            }
            TokenKind::Word(word) => self.word(word, offset),
            TokenKind::Quoted(name) => self.column(name, offset),
            _ => {
                self.at -= usize::from(*self.peek() != TokenKind::End || self.at > 0);
                Err(SqlError::syntax(offset, ""))
            }
        }
    }

    fn word(&mut self, word: String, offset: usize) -> Result<Expr> {
        let named = |sql: &str, ty: Type| Ok(Expr::computed(sql.to_owned(), ty));
        let call = self.is_symbol("(");
        match word.as_str() {
            // No name, wherever one is looked for.
            "from" | "where" if !self.is_column(&word) => Err(SqlError::syntax(offset, &word)),
            "null" => Ok(Expr { sql: "NULL".into(), ty: None, form: Form::Null, name: "(constant)".into() }),
            "case" => self.case(),
            "cast" if call => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect("as")?;
                let target = self.type_declaration()?;
                self.expect_symbol(")")?;
                Ok(self.cast(inner, target))
            }
            "datetime" | "interval" if call => self.timestamp_literal(&word, offset),
            "set" | "multiset" | "list" if self.is_symbol("{") => self.collection(&word, "}"),
            "row" if call => self.collection("row", ")"),
            _ if call => self.call(&word, offset),
            _ if self.is_column(&word) => self.column(word, offset),
            "today" => named("ifx_today()", Type::of(Kind::Date)),
            "current" | "sysdate" => {
                let qualifier = if word == "current"
                    && matches!(self.peek(), TokenKind::Word(next) if Qualifier::field(next).is_some())
                {
                    self.qualifier(false)?
                } else {
                    Qualifier::datetime(0, if word == "current" { 13 } else { 15 })
                };
                named(&format!("ifx_current({})", qualifier.0), Type::new(Kind::DateTime, qualifier.0))
            }
            "user" | "current_user" => named("ifx_session('user')", Type::new(Kind::Char, 32)),
            "dbservername" | "sitename" => named("ifx_session('server')", Type::new(Kind::Char, 128)),
            _ => self.column(word, offset),
        }
    }
}

/// Conditions with AND or OR between them, in a tree that is as flat as can be: SQLite's may be 1000 deep.
fn balanced(conditions: &[String], word: &str) -> String {
    match conditions {
        [] => "0".to_owned(),
        [one] => one.clone(),
        _ => {
            let (left, right) = conditions.split_at(conditions.len() / 2);
            format!("({} {word} {})", balanced(left, word), balanced(right, word))
        }
    }
}
