//! Expressions: each is written for SQLite while its type is worked out.

use super::lexer::TokenKind;
use super::parser::{Parser, literal};
use crate::codec::moment::{DAY_UNITS, Qualifier};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// Where an expression comes from, as far as it matters to what stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A column: it has an affinity and a collation in SQLite.
    Column,
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

/// An expression in SQLite's words.
#[derive(Clone, Debug)]
pub struct Expr {
    /// SQLite's text.
    pub sql: String,
    /// Its type, where it is known.
    pub ty: Option<Type>,
    /// Its origin.
    pub form: Form,
    /// What a result column made of it is called.
    pub name: String,
}

impl Expr {
    pub(super) fn computed(sql: String, ty: Type) -> Self {
        Self { sql, ty: Some(ty), form: Form::Computed, name: "(expression)".to_owned() }
    }

    fn is(&self, test: impl Fn(Kind) -> bool) -> bool {
        self.ty.is_some_and(|ty| test(ty.kind))
    }
}

const BOOLEAN: Type = Type::of(Kind::Boolean);

impl Parser<'_> {
    /// An expression, OR and all.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        let mut left = self.conjunction()?;
        while self.accept("or") {
            let right = self.conjunction()?;
            left = Expr::computed(format!("({} OR {})", left.sql, right.sql), BOOLEAN);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let mut left = self.negation()?;
        while self.accept("and") {
            let right = self.negation()?;
            left = Expr::computed(format!("({} AND {})", left.sql, right.sql), BOOLEAN);
        }
        Ok(left)
    }

    pub(super) fn negation(&mut self) -> Result<Expr> {
        if self.accept("not") {
            let inner = self.negation()?;
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
        let inner = self.query()?;
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

    fn membership(&mut self, left: Expr, not: &str) -> Result<Expr> {
        if !self.is_symbol("(") {
            return self.collection_member(left, not);
        }
        self.expect_symbol("(")?;
        if self.is("select") || self.is("with") {
            let inner = self.query()?;
            self.expect_symbol(")")?;
            let target = inner.columns.first().map(|column| column.ty);
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
        Ok(Expr::computed(format!("({not}({}))", tests.join(" OR ")), BOOLEAN))
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

    /// Compares, after giving both sides one type where SQLite would not see that they mean the same.
    pub(super) fn compare(&mut self, left: Expr, operator: &str, right: Expr) -> Expr {
        let (left, right) = self.meet(left, right);
        let plain = |left: &Expr, right: &Expr| format!("({} {operator} {})", left.sql, right.sql);
        let sql = match (left.ty, right.ty) {
            (Some(a), Some(b)) if a.kind.is_decimal() || b.kind.is_decimal() => {
                let simple = |side: &Expr| matches!(side.form, Form::Column | Form::Number | Form::Parameter(_));
                let columns = left.form == Form::Column || right.form == Form::Column;
                if columns && simple(&left) && simple(&right) && !(a.kind.is_text() || b.kind.is_text()) {
                    plain(&left, &right)
                } else {
                    format!("(ifx_dcmp({}, {}) {operator} 0)", left.sql, right.sql)
                }
            }
            (Some(a), Some(b)) if a.kind.is_text() && b.kind.is_text() => {
                if left.form == Form::Column || right.form == Form::Column {
                    plain(&left, &right)
                } else {
                    format!("({} COLLATE RTRIM {operator} {})", left.sql, right.sql)
                }
            }
            _ => plain(&left, &right),
        };
        Expr::computed(sql, BOOLEAN)
    }

    /// Gives a literal or parameter the type of the other side, a DATE that of a DATETIME, text that of a number.
    fn meet(&mut self, left: Expr, right: Expr) -> (Expr, Expr) {
        let settle = |parser: &mut Self, side: Expr, other: &Expr| -> Expr {
            let Some(target) = other.ty else { return side };
            let weak = match side.form {
                Form::Parameter(_) => true,
                _ => side.is(Kind::is_text) && !target.kind.is_text(),
            };
            let widen = side.is(|kind| kind == Kind::Date) && target.kind == Kind::DateTime;
            if (weak && !target.kind.is_smart_lob() && !target.kind.is_simple_lob()) || widen {
                let form = side.form;
                let target =
                    if target.kind.is_text() && target.length < 255 { Type::new(target.kind, 255) } else { target };
                let sql = parser.coerce(side, target);
                let form = if matches!(form, Form::Parameter(_)) { form } else { Form::Computed };
                return Expr { sql, ty: Some(target), form, name: "(expression)".into() };
            }
            side
        };
        if left.ty.is_none() {
            let left = settle(self, left, &right);
            return (left, right);
        }
        let right = settle(self, right, &left);
        let left = settle(self, left, &right);
        (left, right)
    }

    /// The expression as a value of a type: a parameter learns it, anything else is converted.
    pub(super) fn coerce(&mut self, expr: Expr, target: Type) -> String {
        match (expr.form, expr.ty) {
            (Form::Parameter(index), _) => {
                self.parameters[index - 1].get_or_insert(target);
                expr.sql
            }
            (Form::Null, _) => expr.sql,
            (_, Some(ty)) if ty == target => expr.sql,
            (_, ty) => {
                let from = ty.map_or(-1, Type::tag);
                format!("ifx_conv({}, {from}, {})", expr.sql, target.tag())
            }
        }
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

    fn concatenate(&mut self, left: Expr, right: Expr) -> Expr {
        let text = Type::new(Kind::LVarChar, 32_739);
        let mut length = 0;
        let mut side = |parser: &mut Self, side: Expr| {
            length += side.ty.map_or(255, |ty| if ty.kind.is_text() { ty.length & 0x7fff } else { 40 });
            match side.ty {
                // A CHAR keeps its blanks when something is put behind it; stored it has none.
                Some(ty) if matches!(ty.kind, Kind::Char | Kind::NChar) && side.form == Form::Column => {
                    format!("ifx_pad({}, {})", side.sql, ty.length)
                }
                Some(ty) if ty.kind.is_text() => side.sql,
                _ => parser.coerce(side, text),
            }
        };
        let (left, right) = (side(self, left), side(self, right));
        let ty = if length <= 255 { Type::new(Kind::VarChar, length) } else { Type::new(Kind::LVarChar, length) };
        Expr::computed(format!("({left} || {right})"), ty)
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

    fn arithmetic(&mut self, left: Expr, operator: &str, right: Expr) -> Result<Expr> {
        let (left, right) = match (left.ty, right.ty) {
            (Some(_), Some(_)) => (left, right),
            _ => self.meet(left, right),
        };
        let number = |parser: &mut Self, side: Expr| -> Expr {
            match side.ty {
                Some(ty) if !ty.kind.is_text() => side,
                _ => Expr::computed(parser.coerce(side, Type::decimal(32, 255)), Type::decimal(32, 255)),
            }
        };
        let (left, right) = (number(self, left), number(self, right));
        let (Some(a), Some(b)) = (left.ty, right.ty) else { return Err(self.syntax()) };
        let plain = format!("({} {operator} {})", left.sql, right.sql);
        let subtract = operator == "-";
        let day_interval = Type::new(Kind::Interval, Qualifier::interval(4, 4, 8).0);
        Ok(match (a.kind, b.kind) {
            (Kind::Date, Kind::Date) if subtract => Expr::computed(plain, Type::of(Kind::Int)),
            (Kind::Date, kind) if kind.is_integer() && operator != "*" && operator != "/" => Expr::computed(plain, a),
            (kind, Kind::Date) if kind.is_integer() && operator == "+" => Expr::computed(plain, b),
            (Kind::Date | Kind::DateTime, Kind::Interval) if operator == "+" || subtract => {
                let sign = if subtract { "-" } else { "" };
                if b.qualifier().is_months() {
                    let months = format!("ifx_add_months({}, {sign}({}), {})", left.sql, right.sql, a.tag());
                    Expr::computed(months, a)
                } else if a.kind == Kind::Date {
                    let sql = format!("({} {operator} ({}) / {DAY_UNITS})", left.sql, right.sql);
                    Expr::computed(sql, a)
                } else {
                    Expr::computed(plain, a)
                }
            }
            (Kind::DateTime | Kind::Date, Kind::DateTime | Kind::Date) if subtract => {
                let end = if a.kind == Kind::DateTime { a.qualifier().end() } else { b.qualifier().end() };
                if end < 4 {
                    let sql = format!("(ifx_months({}) - ifx_months({}))", left.sql, right.sql);
                    return Ok(Expr::computed(sql, Type::new(Kind::Interval, Qualifier::interval(0, end, 4).0)));
                }
                let wide = Type::new(Kind::DateTime, 0x130f);
                let (left, right) = (self.coerce(left, wide), self.coerce(right, wide));
                let ty =
                    if end <= 4 { day_interval } else { Type::new(Kind::Interval, Qualifier::interval(4, end, 8).0) };
                Expr::computed(format!("({left} - {right})"), ty)
            }
            (Kind::Interval, Kind::Interval)
                if a.qualifier().is_months() == b.qualifier().is_months() && (operator == "+" || subtract) =>
            {
                Expr::computed(plain, a)
            }
            (Kind::Interval, kind) if kind.is_integer() && (operator == "*" || operator == "/") => {
                Expr::computed(plain, a)
            }
            (x, y) if x.is_float() || y.is_float() => {
                if operator == "/" {
                    Expr::computed(format!("ifx_fdiv({}, {})", left.sql, right.sql), Type::of(Kind::Float))
                } else {
                    let real = |side: &Expr| format!("CAST({} AS REAL)", side.sql);
                    Expr::computed(format!("({} {operator} {})", real(&left), real(&right)), Type::of(Kind::Float))
                }
            }
            (x, y) if (x.is_integer() || x.is_decimal()) && (y.is_integer() || y.is_decimal()) => {
                if operator != "/" && x.is_integer() && y.is_integer() {
                    let wide = |kind| !matches!(kind, Kind::SmallInt | Kind::Int | Kind::Serial);
                    let kind = if wide(x) || wide(y) { Kind::BigInt } else { Kind::Int };
                    return Ok(Expr::computed(plain, Type::of(kind)));
                }
                let function = match operator {
                    "+" => "ifx_dadd",
                    "-" => "ifx_dsub",
                    "*" => "ifx_dmul",
                    _ => "ifx_ddiv",
                };
                Expr::computed(format!("{function}({}, {})", left.sql, right.sql), Type::decimal(32, 255))
            }
            _ => return Err(SqlError::new(-1260, "")),
        })
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.accept_symbol("+") {
            return self.unary();
        }
        if self.accept_symbol("-") {
            let inner = self.unary()?;
            if inner.form == Form::Number {
                return Ok(Expr { sql: format!("-{}", inner.sql).replace("-'", "'-"), ..inner });
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
                let from = self.integer()?;
                let to = if self.accept_symbol(",") { self.integer()? } else { from };
                self.expect_symbol("]")?;
                let length = (to - from + 1).max(0);
                let sql = format!("substr({}, {from}, {length})", expr.sql);
                expr = Expr { name: expr.name.clone(), ..Expr::computed(sql, Type::new(Kind::Char, length as i32)) };
            } else {
                return Ok(expr);
            }
        }
    }

    /// A cast. SQL that casts a parameter thereby says its type.
    pub(super) fn cast(&mut self, expr: Expr, target: Type) -> Expr {
        let sql = self.coerce(expr, target);
        Expr::computed(sql, target)
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
                            .ok_or_else(|| SqlError::syntax(offset, &number))?;
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
                    let inner = self.query()?;
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
            "datetime" | "interval" if call => self.moment_literal(&word, offset),
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

/// The type that can hold values of all of these.
pub fn common_type(types: &[Type]) -> Option<Type> {
    let mut types = types.iter().copied();
    let mut result = types.next()?;
    for ty in types {
        let (a, b) = (result.kind, ty.kind);
        result = if a == b {
            if result.scale() == 255 || a.is_text() || a == Kind::Interval || a == Kind::DateTime {
                Type::new(a, result.length.max(ty.length))
            } else if a.is_decimal() {
                let scale = result.scale().max(ty.scale());
                let whole = (result.precision() - result.scale()).max(ty.precision() - ty.scale());
                if ty.scale() == 255 { Type::decimal(32, 255) } else { Type::decimal((whole + scale).min(32), scale) }
            } else {
                result
            }
        } else if a.is_text() && b.is_text() {
            let kind = if a == Kind::LVarChar || b == Kind::LVarChar { Kind::LVarChar } else { Kind::VarChar };
            Type::new(kind, (result.length & 0x7fff).max(ty.length & 0x7fff))
        } else if a.is_float() || b.is_float() {
            Type::of(Kind::Float)
        } else if a.is_decimal() || b.is_decimal() {
            Type::decimal(32, 255)
        } else if a.is_integer() && b.is_integer() {
            let small = |kind| matches!(kind, Kind::SmallInt | Kind::Int | Kind::Serial);
            Type::of(if small(a) && small(b) { Kind::Int } else { Kind::BigInt })
        } else if a.is_text() || matches!((a, b), (Kind::Date, Kind::DateTime)) {
            ty
        } else {
            result
        };
    }
    Some(result)
}
