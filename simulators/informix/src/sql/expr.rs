//! Expressions: each is written for SQLite while its type is worked out.

use super::lexer::TokenKind;
use super::parser::{Parser, literal};
use super::select::Query;
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
                    own.kind == ty.kind || both(Kind::is_integer) || both(Kind::is_text)
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

    /// Compares, after giving both sides one type where SQLite would not see that they mean the same.
    pub(super) fn compare(&mut self, left: Expr, operator: &str, right: Expr) -> Expr {
        let (left, right) = self.meet(left, right);
        if let (Some(a), Some(b)) = (left.ty, right.ty) {
            if let Some(code) = incomparable(a, b) {
                return Expr::computed(format!("ifx_fail({code})"), BOOLEAN);
            }
            if a.kind == Kind::DateTime && b.kind == Kind::DateTime && a.qualifier().start() != b.qualifier().start() {
                let (one, two) = (a.qualifier(), b.qualifier());
                let wide = Qualifier::datetime(one.start().min(two.start()), one.end().max(two.end())).0;
                let extended = |side: &Expr, ty: Type| format!("ifx_extend({}, {}, {wide})", side.sql, ty.tag());
                let sql = format!("({} {operator} {})", extended(&left, a), extended(&right, b));
                return Expr::computed(sql, BOOLEAN);
            }
        }
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
        let incompatible = || SqlError::new(-1266, "");
        let day = Type::new(Kind::DateTime, Qualifier::datetime(0, 4).0);
        Ok(match (a.kind, b.kind) {
            (Kind::Date, Kind::Date) if subtract => Expr::computed(plain, Type::of(Kind::Int)),
            (Kind::Date, kind) if kind.is_integer() && operator != "*" && operator != "/" => Expr::computed(plain, a),
            (kind, Kind::Date) if kind.is_integer() && operator == "+" => Expr::computed(plain, b),
            // Beside a DATETIME or an INTERVAL, a DATE is a DATETIME YEAR TO DAY.
            (Kind::Date, Kind::Interval | Kind::DateTime) => {
                let left = Expr::computed(self.coerce(left, day), day);
                self.arithmetic(left, operator, right)?
            }
            (Kind::Interval | Kind::DateTime, Kind::Date) => {
                let right = Expr::computed(self.coerce(right, day), day);
                self.arithmetic(left, operator, right)?
            }
            (Kind::Interval, Kind::DateTime) if operator == "+" => self.arithmetic(right, operator, left)?,
            (Kind::DateTime, Kind::Interval) if operator == "+" || subtract => {
                let (moment, span) = (a.qualifier(), b.qualifier());
                // Who adds finer fields than there are extends the moment first.
                if span.start() < moment.start() || span.end().min(11) > moment.end().min(11) {
                    return Err(incompatible());
                }
                if span.is_months() {
                    let sign = if subtract { "-" } else { "" };
                    let sql = format!("ifx_add_months({}, {sign}({}), {}, 0)", left.sql, right.sql, a.tag());
                    Expr::computed(sql, a)
                } else {
                    Expr::computed(format!("ifx_in_range({plain}, {})", moment.0), a)
                }
            }
            (Kind::DateTime, Kind::DateTime) if subtract => {
                // The first operand has the fields that count.
                let (one, two) = (a.qualifier(), b.qualifier());
                let right = match one == two {
                    true => right.sql,
                    false => format!("ifx_extend({}, {}, {})", right.sql, b.tag(), one.0),
                };
                if one.end() < 4 {
                    let sql = format!("(ifx_months({}) - ifx_months({right}))", left.sql);
                    return Ok(Expr::computed(sql, Type::new(Kind::Interval, Qualifier::interval(0, one.end(), 4).0)));
                }
                let ty = Type::new(Kind::Interval, Qualifier::interval(4, one.end(), 8).0);
                Expr::computed(format!("({} - {right})", left.sql), ty)
            }
            (Kind::Interval, Kind::Interval) if operator == "+" || subtract => {
                let (one, two) = (a.qualifier(), b.qualifier());
                if one.is_months() != two.is_months() || two.start() < one.start() {
                    return Err(incompatible());
                }
                // Fields of the second that the first has not do not count.
                match two.end() > one.end() {
                    true => {
                        let right = format!("ifx_cut_interval({}, {})", right.sql, one.0);
                        Expr::computed(format!("({} {operator} {right})", left.sql), a)
                    }
                    false => Expr::computed(plain, a),
                }
            }
            (Kind::Interval, kind)
                if (kind.is_integer() || kind.is_decimal() || kind.is_float()) && matches!(operator, "*" | "/") =>
            {
                let divide = operator == "/";
                let sql = format!("ifx_scaled({}, {}, {divide}, {})", left.sql, right.sql, a.qualifier().0);
                Expr::computed(sql, a)
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
                    // Two numbers of 32 bits cannot leave the 64 that SQLite has.
                    let simple = |side: &Expr| matches!(side.form, Form::Column | Form::Number);
                    if kind == Kind::Int && simple(&left) && simple(&right) {
                        return Ok(Expr::computed(plain, Type::of(kind)));
                    }
                    let (function, code) = match operator {
                        "+" => ("ifx_iadd", if kind == Kind::Int { -1215 } else { -1284 }),
                        "-" => ("ifx_isub", if kind == Kind::Int { -1215 } else { -1284 }),
                        _ => ("ifx_imul", if kind == Kind::Int { -1215 } else { -1284 }),
                    };
                    let sql = format!("{function}({}, {}, {code})", left.sql, right.sql);
                    return Ok(Expr::computed(sql, Type::of(kind)));
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

/// The error for values that nobody can compare, though SQLite keeps numbers for both.
fn incomparable(left: Type, right: Type) -> Option<i16> {
    let class = |ty: Type| match ty.kind {
        Kind::DateTime => 1,
        Kind::Interval if ty.qualifier().is_months() => 2,
        Kind::Interval => 3,
        Kind::Date => 4,
        kind if kind.is_integer() || kind.is_decimal() || kind.is_float() => 5,
        _ => 0,
    };
    match (class(left), class(right)) {
        (a, b) if a == b || a == 0 || b == 0 => None,
        (2, 3) | (3, 2) | (1 | 4, 2 | 3) | (2 | 3, 1 | 4) => Some(-1266),
        (1 | 2 | 3, 5) | (5, 1 | 2 | 3) => Some(-1260),
        _ => None,
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
