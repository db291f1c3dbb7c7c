//! The types of expressions.

use rusqlite::types::Value;

use super::ast::*;
use super::comparisons::{Beside, set_word};
use super::compile::{Compiler, Form, Typed, cast, common, literal_of, truth_type};
use super::{literal, print};
use crate::convert::{self, Mode};
use crate::errors::{Error, Result};
use crate::types::code::*;
use crate::types::{Family, Type};
use crate::values;

fn literal_value(value: Value, ty: Type, text: String) -> Typed {
    Typed { sql: literal_of(&value), ty, form: Form::Literal(value, text), meta: None }
}

/// The bytes of B'…' or X'…'.
fn bits(letter: char, digits: &str) -> Option<Vec<u8>> {
    let width = if letter == 'X' { 4 } else { 1 };
    let mut bytes = vec![0u8; (digits.len() * width).div_ceil(8)];
    for (index, digit) in digits.chars().enumerate() {
        let value = digit.to_digit(1 << width)?;
        for bit in 0..width {
            if value >> (width - 1 - bit) & 1 == 1 {
                let at = index * width + bit;
                bytes[at / 8] |= 0x80 >> (at % 8);
            }
        }
    }
    Some(bytes)
}

impl Compiler<'_> {
    pub(super) fn expression(&mut self, value: &Expr) -> Result<Typed> {
        Ok(match value {
            Expr::Null => literal_value(Value::Null, Type::unknown(), "null".into()),
            Expr::Default => return Err(Error::syntax("syntax error, unexpected DEFAULT ")),
            Expr::Truth(truth) => {
                let number = u8::from(*truth);
                literal_value(Value::Integer(number.into()), Type::of(INT), number.to_string())
            }
            Expr::Integer(text) => match text.parse::<i64>() {
                Ok(number) if i32::try_from(number).is_ok() => {
                    literal_value(Value::Integer(number), Type::of(INT), text.clone())
                }
                Ok(number) => literal_value(Value::Integer(number), Type::of(BIGINT), text.clone()),
                Err(_) => self.decimal(text)?,
            },
            Expr::Decimal(text) => self.decimal(text)?,
            Expr::Float(text) => {
                let number = text.parse().map_err(|_| Error::overflow("double"))?;
                literal_value(Value::Real(number), Type::of(DOUBLE), text.clone())
            }
            Expr::Text(text) => {
                literal_value(Value::Text(text.clone()), Type::sized(CHAR, -1), print::expression(value))
            }
            Expr::National(text) => {
                literal_value(Value::Text(text.clone()), Type::sized(NCHAR, -1), print::expression(value))
            }
            Expr::Bits(letter, digits) => {
                let bytes = bits(*letter, digits)
                    .ok_or_else(|| Error::semantic(format!("{digits} is not a valid bit string. ")))?;
                literal_value(Value::Blob(bytes), Type::sized(BIT, -1), print::expression(value))
            }
            Expr::Typed(ty, text) => {
                let to = Type::of(*ty);
                let zone = self.catalog.zone();
                let from = Type::sized(CHAR, -1);
                let invalid = || Error::semantic(format!("Invalid {}: '{text}'. ", to.base_name()));
                // CAST is less strict.
                let has_iso_time = text.as_bytes().windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1] == b'T');
                if has_iso_time || (*ty == DATE && text.contains(':')) {
                    return Err(invalid());
                }
                let kept = convert::convert(Value::Text(text.clone()), &from, &to, Mode::Cast, &zone)
                    .map_err(|_| invalid())?;
                literal_value(kept, to, print::expression(value))
            }
            Expr::Parameter(index) => self.parameter(*index),
            Expr::Name(table, name) => self.name(table.as_deref(), name)?,
            Expr::Star(_) => return Err(Error::syntax("syntax error, unexpected '*' ")),
            Expr::Negative(inner) => {
                let inner = late(self.expression(inner)?);
                let ty = inner.ty.clone();
                let negative = self.arithmetic("-", literal_value(Value::Integer(0), ty.clone(), "0".into()), inner)?;
                if ty.is_number() { Typed { ty, ..negative } } else { negative }
            }
            Expr::Not(inner) => {
                let inner = self.expression(inner)?;
                Typed::computed(format!("(NOT {})", inner.sql), truth_type())
            }
            Expr::OtherBits(inner) => {
                let inner = self.expression(inner)?;
                let ty = Type::of(BIGINT);
                Typed::computed(format!("(~{})", self.coerce(inner, &ty, Mode::Compare)?), ty)
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.binary(operator, left, right)?
            }
            Expr::IsNull(inner, not) => {
                let inner = self.expression(inner)?;
                Typed::computed(format!("({} IS {}NULL)", inner.sql, if *not { "NOT " } else { "" }), truth_type())
            }
            Expr::Between(inner, not, low, high) => {
                let (value, low, high) = (self.expression(inner)?, self.expression(low)?, self.expression(high)?);
                let beside = if *not { Beside::NotBetween } else { Beside::Between };
                let above = self.compare_beside(beside, ">=", value.clone(), low)?;
                let below = self.compare_beside(beside, "<=", value, high)?;
                let not = if *not { "NOT " } else { "" };
                Typed::computed(format!("({not}({above} AND {below}))"), truth_type())
            }
            Expr::In(inner, not, all) => self.membership(inner, *not, all)?,
            Expr::InQuery(inner, not, query) => self.membership_of_query(inner, *not, query)?,
            Expr::Quantified(inner, operator, all, query) => {
                let left = self.expression(inner)?;
                let (sql, columns) = self.query(query)?;
                let right = Typed::computed("cub_each.c".into(), columns[0].ty.clone());
                let test = self.compare(operator, left, right)?;
                let rows = format!("WITH cub_each(c) AS ({sql}) SELECT 1 FROM cub_each");
                let sql = match *all {
                    true => format!("(NOT EXISTS ({rows} WHERE ({test}) IS NOT TRUE))"),
                    false => format!("EXISTS ({rows} WHERE {test})"),
                };
                Typed::computed(sql, truth_type())
            }
            Expr::Like(inner, not, pattern, escape, word) => {
                let text = Type::sized(VARCHAR, crate::limits::STRING);
                let (value, pattern) = (self.expression(inner)?, self.expression(pattern)?);
                let value = self.coerce(value, &text, Mode::Compare)?;
                let pattern = self.coerce(pattern, &text, Mode::Compare)?;
                let escape = match escape {
                    Some(escape) => self.expression(escape)?.sql,
                    None => "NULL".into(),
                };
                let not = if *not { "NOT " } else { "" };
                Typed::computed(format!("({not}cub_{word}({value}, {pattern}, {escape}))"), truth_type())
            }
            Expr::Exists(query) => Typed::computed(format!("EXISTS ({})", self.query(query)?.0), truth_type()),
            Expr::Query(query) => {
                let (sql, mut columns) = self.query(query)?;
                if columns.len() != 1 {
                    return Err(Error::semantic(
                        "Only one column can be specified in the select list when the subquery is not introduced with EXISTS. ",
                    ));
                }
                Typed::computed(
                    format!("(SELECT cub_single(count(*), c) FROM (WITH s(c) AS ({sql}) SELECT c FROM s))"),
                    columns.remove(0).ty,
                )
            }
            Expr::Case(operand, whens, otherwise) => self.case(operand.as_deref(), whens, otherwise.as_deref())?,
            Expr::Cast(inner, ty) => {
                let inner = untyped(self.expression(inner)?);
                let sql = self.coerce(inner, ty, Mode::Cast)?;
                // A result in the session's zone is described as one with a zone of its own.
                let shown = match ty.code {
                    TIMESTAMPLTZ => Type::of(TIMESTAMPTZ),
                    DATETIMELTZ => Type::of(DATETIMETZ),
                    _ => ty.clone(),
                };
                Typed::computed(sql, shown)
            }
            Expr::Call(call) => self.call(call)?,
            Expr::Set(kind, elements) => self.set(*kind, elements)?,
            Expr::Variable(name) => {
                // What is in it is known when the statement runs.
                let found = if self.has_values() { self.catalog.variable(name) } else { None };
                let ty = found.map_or_else(Type::unknown, |bound| bound.ty);
                self.open = true;
                Typed::computed(format!("cub_variable({})", literal(name)), ty)
            }
            Expr::Assign(name, value) => {
                let value = self.expression(value)?;
                self.open = true;
                let sql =
                    format!("cub_assign({}, {}, {})", literal(name), value.sql, literal(&convert::tag(&value.ty)));
                Typed::computed(sql, value.ty)
            }
            Expr::Extract(unit, inner) => {
                let value = self.expression(inner)?;
                let value = self.as_time(value, DATETIME)?;
                Typed::computed(format!("cub_extract({}, {value})", literal(unit)), Type::of(INT))
            }
            Expr::Interval(..) => return Err(Error::syntax("syntax error, unexpected INTERVAL ")),
            Expr::Row(_) => return Err(Error::semantic("'(' operator is not defined on rows here. ")),
            Expr::Contains(word, left, right) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                let ty = if left.form == Form::Column { left.ty.clone() } else { right.ty.clone() };
                let side = |compiler: &mut Self, value: Typed| match ty.family() {
                    Family::Collection => compiler.coerce(value, &ty, Mode::Compare),
                    _ => Ok(value.sql),
                };
                let (left, right) = (side(self, left)?, side(self, right)?);
                let sql = format!("cub_contains({}, {left}, {right})", literal(word));
                Typed::computed(sql, truth_type())
            }
        })
    }

    fn decimal(&mut self, text: &str) -> Result<Typed> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let scale = fraction.len();
        let digits = (whole.trim_start_matches(['-', '0']).len() + scale).max(1) as i32;
        if digits > 38 {
            let number = text.parse().map_err(|_| Error::overflow("numeric"))?;
            return Ok(literal_value(Value::Real(number), Type::of(DOUBLE), text.to_owned()));
        }
        let number = crate::decimal::Decimal::parse(text, false).ok_or_else(|| Error::overflow("numeric"))?;
        Ok(literal_value(Value::Text(number.to_string()), Type::numeric(digits, scale as i16), text.to_owned()))
    }

    /// A value as a date or time of a kind, if it is none.
    pub(super) fn as_time(&mut self, value: Typed, kind: u8) -> Result<String> {
        if value.ty.family() == Family::Time && !value.ty.has_zone() {
            return Ok(value.sql);
        }
        self.coerce(value, &Type::of(kind), Mode::Compare)
    }

    fn binary(&mut self, operator: &'static str, left: Typed, right: Typed) -> Result<Typed> {
        match operator {
            "and" | "or" => Ok(Typed::computed(format!("({} {operator} {})", left.sql, right.sql), truth_type())),
            "xor" => Ok(Typed::computed(format!("((NOT {}) <> (NOT {}))", left.sql, right.sql), truth_type())),
            "=" | "<>" | "<" | "<=" | ">" | ">=" if is_null(&left) || is_null(&right) => Ok(nothing()),
            "=" | "<>" | "<" | "<=" | ">" | ">=" | "<=>" => {
                Ok(Typed::computed(self.compare(operator, left, right)?, truth_type()))
            }
            "||" => self.concatenated(left, right),
            "&" | "|" | "^" | "<<" | ">>" => {
                let ty = Type::of(BIGINT);
                let left = self.coerce(left, &ty, Mode::Compare)?;
                let right = self.coerce(right, &ty, Mode::Compare)?;
                Ok(Typed::computed(
                    match operator {
                        "^" => format!("(({left} | {right}) - ({left} & {right}))"),
                        "<<" | ">>" => format!("cub_shift({left}, {right}, {})", literal(operator)),
                        _ => format!("({left} {operator} {right})"),
                    },
                    ty,
                ))
            }
            _ => self.arithmetic(operator, left, right),
        }
    }

    fn concatenated(&mut self, left: Typed, right: Typed) -> Result<Typed> {
        if is_null(&left) || is_null(&right) {
            return Ok(nothing());
        }
        let is_bits = |side: &Typed| side.ty.family() == Family::Bits && !matches!(side.form, Form::Parameter(_));
        if is_bits(&left) && is_bits(&right) {
            return Ok(Typed::computed(format!("cub_join({}, {})", left.sql, right.sql), Type::of(VARBIT)));
        }
        let (left, right) = (untyped(left), untyped(right));
        let literals = matches!(left.form, Form::Literal(..)) && matches!(right.form, Form::Literal(..));
        let text = Type::sized(VARCHAR, if literals { crate::limits::STRING } else { -1 });
        let left = self.coerce(left, &Type::sized(VARCHAR, crate::limits::STRING), Mode::Compare)?;
        let right = self.coerce(right, &Type::sized(VARCHAR, crate::limits::STRING), Mode::Compare)?;
        Ok(Typed::computed(format!("({left} || {right})"), text))
    }

    pub(super) fn arithmetic(&mut self, operator: &'static str, left: Typed, right: Typed) -> Result<Typed> {
        use Family::*;
        if is_null(&left) || is_null(&right) {
            return Ok(nothing());
        }
        let (left, right) = (late(left), late(right));
        let (l, r) = (left.ty.family(), right.ty.family());
        if l == Unknown || r == Unknown {
            // The types are those of the values, once there are any.
            self.open = true;
            let sql = format!("cub_arith({}, {}, {}, 'a')", literal(operator), left.sql, right.sql);
            return Ok(Typed::computed(sql, Type::unknown()));
        }
        if l == Time || r == Time {
            return self.time_arithmetic(operator, left, right);
        }
        if (l, r) == (Collection, Collection) {
            let sql = format!("cub_set_{}({}, {})", set_word(operator), left.sql, right.sql);
            return Ok(Typed::computed(sql, left.ty));
        }
        if l == Text && r == Text && operator == "+" {
            return self.concatenated(left, right);
        }
        for side in [&left, &right] {
            if matches!(side.ty.family(), Bits | Lob | Json | Collection) {
                return Err(Error::semantic(format!(
                    "before ' '\n'{operator}' operator is not defined on types {} and {}. ",
                    left.ty.long_name(),
                    right.ty.long_name()
                )));
            }
        }
        if let Form::Literal(value, _) = &right.form
            && matches!(operator, "/" | "div" | "%")
            && matches!(left.form, Form::Literal(..))
            && zero(value)
        {
            return Err(Error::semantic("Attempt to divide by zero. "));
        }
        let double = Type::of(DOUBLE);
        let (lt, rt) = (numeric_type(&left.ty), numeric_type(&right.ty));
        let ty = match (lt.family(), rt.family()) {
            (Real, _) | (_, Real) if lt.code == FLOAT && rt.code == FLOAT => Type::of(FLOAT),
            (Real, _) | (_, Real) => double.clone(),
            (Numeric, _) | (_, Numeric) => arithmetic_type(operator, &lt, &rt),
            _ if lt.code == BIGINT || rt.code == BIGINT => Type::of(BIGINT),
            _ if lt.code == INT || rt.code == INT => {
                let constants = matches!((&left.form, &right.form), (Form::Literal(..), Form::Literal(..)));
                if constants && overflows(operator, &left.form, &right.form) { Type::of(BIGINT) } else { Type::of(INT) }
            }
            _ => Type::of(SHORT),
        };
        let kind = match (ty.family(), ty.code) {
            (Integer, SHORT) => "s",
            (Integer, INT) => "i",
            (Integer, _) => "b",
            (Numeric, _) => "n",
            (_, FLOAT) => "f",
            _ => "d",
        };
        let number = |compiler: &mut Self, side: Typed, own: &Type| match side.ty.family() {
            Text => compiler.coerce(side, own, Mode::Compare),
            _ => Ok(side.sql),
        };
        let (left, right) = (number(self, left, &lt)?, number(self, right, &rt)?);
        Ok(Typed::computed(format!("cub_arith({}, {left}, {right}, '{kind}')", literal(operator)), ty))
    }

    fn time_arithmetic(&mut self, operator: &'static str, left: Typed, right: Typed) -> Result<Typed> {
        let both = left.ty.family() == Family::Time && right.ty.family() == Family::Time;
        if both && operator == "-" {
            let fine = left.ty.code == DATETIME || right.ty.code == DATETIME;
            let sql = format!(
                "cub_time_minus({}, {}, '{}')",
                left.sql,
                right.sql,
                if left.ty.code == DATE && right.ty.code == DATE {
                    "d"
                } else if fine {
                    "m"
                } else {
                    "s"
                }
            );
            return Ok(Typed::computed(sql, Type::of(BIGINT)));
        }
        let (time, number) = if left.ty.family() == Family::Time { (left, right) } else { (right, left) };
        if both || !matches!(operator, "+" | "-") {
            return Err(Error::semantic(format!(
                "before ' '\n'{operator}' operator is not defined on types {} and {}. ",
                time.ty.long_name(),
                number.ty.long_name()
            )));
        }
        let count = self.coerce(number, &Type::of(BIGINT), Mode::Compare)?;
        let sql = format!("cub_time_add({}, {operator}({count}), {})", time.sql, time.ty.code);
        Ok(Typed::computed(sql, time.ty))
    }

    fn case(&mut self, operand: Option<&Expr>, whens: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<Typed> {
        // Each WHEN is within the ELSE of the one before.
        if whens.len() >= crate::limits::EVALUATED {
            let level = crate::limits::EVALUATED;
            let text = "The query has been rejected due to attempt to exceed the maximum allowed nesting level";
            return Err(Error::server(-1137, format!("{text}({level}).")));
        }
        let mut results = Vec::new();
        let mut tests = Vec::new();
        for (when, then) in whens {
            tests.push(match operand {
                Some(operand) => {
                    let (left, right) = (self.expression(operand)?, self.expression(when)?);
                    self.compare("=", left, right)?
                }
                None => self.truth(when)?,
            });
            results.push(self.expression(then)?);
        }
        if let Some(otherwise) = otherwise {
            results.push(self.expression(otherwise)?);
        }
        let (sqls, ty) = self.results(results)?;
        let mut sql = String::from("(CASE");
        for (test, then) in tests.iter().zip(&sqls) {
            sql += &format!(" WHEN {test} THEN {then}");
        }
        if otherwise.is_some() {
            sql += &format!(" ELSE {}", sqls[sqls.len() - 1]);
        }
        Ok(Typed::computed(sql + " END)", ty))
    }

    /// The results of CASE, IF and DECODE as one type. What is not bound gives the markers their type; if there is no
    /// such, they are text.
    pub(super) fn results(&mut self, all: Vec<Typed>) -> Result<(Vec<String>, Type)> {
        let all: Vec<Typed> = all.into_iter().map(untyped).collect();
        let are_parameters = all.iter().any(|value| matches!(value.form, Form::Parameter(_)));
        if are_parameters && all.iter().all(|value| value.ty.family() == Family::Unknown) {
            let text = Type::sized(VARCHAR, crate::limits::STRING);
            let sqls: Result<Vec<String>> =
                all.into_iter().map(|value| self.coerce(value, &text, Mode::Compare)).collect();
            return Ok((sqls?, text));
        }
        self.unified(all)
    }

    /// Several values as one type.
    pub(super) fn unified(&mut self, all: Vec<Typed>) -> Result<(Vec<String>, Type)> {
        let ty = all.iter().fold(Type::unknown(), |ty, value| common(&ty, &value.ty));
        let ty = if ty.code == CHAR && ty.precision < 0 { Type::sized(CHAR, -1) } else { ty };
        let mut sqls = Vec::new();
        for value in all {
            sqls.push(if ty.family() == Family::Unknown { value.sql } else { self.coerce(value, &ty, Mode::Compare)? });
        }
        Ok((sqls, ty))
    }

    fn set(&mut self, kind: u8, elements: &[Expr]) -> Result<Typed> {
        let mut all = Vec::new();
        for element in elements {
            all.push(self.expression(element)?);
        }
        let element = all.iter().fold(Type::unknown(), |ty, value| common(&ty, &value.ty));
        let kind = if kind == 0 { 0x60 } else { kind };
        if all.iter().all(|value| matches!(value.form, Form::Literal(..))) {
            let zone = self.catalog.zone();
            let mut values = Vec::new();
            for value in all {
                if let Form::Literal(kept, _) = value.form {
                    values.push(convert::convert(kept, &value.ty, &element, Mode::Compare, &zone)?);
                }
            }
            let bytes = values::collected(&element, kind, values);
            let ty = element.collected(kind);
            return Ok(Typed {
                sql: literal_of(&Value::Blob(bytes.clone())),
                ty,
                form: Form::Literal(Value::Blob(bytes), "set".into()),
                meta: None,
            });
        }
        let mut sqls = Vec::new();
        for value in all {
            sqls.push(if element.family() == Family::Unknown {
                value.sql
            } else {
                self.coerce(value, &element, Mode::Compare)?
            });
        }
        let sql = format!(
            "cub_set({kind}, {}{})",
            literal(&convert::tag(&element)),
            sqls.iter().map(|sql| format!(", {sql}")).collect::<String>()
        );
        Ok(Typed::computed(sql, element.collected(kind)))
    }

    /// A value converted as CAST does.
    pub(super) fn as_type(&mut self, value: Typed, to: &Type) -> Result<String> {
        if value.ty.family() == to.family() && to.family() != Family::Time {
            return Ok(value.sql);
        }
        if value.ty.family() == Family::Unknown && value.form == Form::Computed {
            return Ok(cast(&value.sql, &value.ty, to, Mode::Compare));
        }
        self.coerce(value, to, Mode::Compare)
    }
}

/// A marker as an operator has it whose type the server decides when it executes the statement: what is bound to it.
pub(super) fn late(value: Typed) -> Typed {
    match value.form {
        Form::Parameter(_) if value.ty.family() != Family::Unknown => Typed { form: Form::Computed, ..value },
        _ => value,
    }
}

/// A marker whose type is decided before anything is bound to it.
pub(super) fn untyped(value: Typed) -> Typed {
    match value.form {
        Form::Parameter(_) => Typed { ty: Type::unknown(), ..value },
        _ => value,
    }
}

pub(super) fn is_null(value: &Typed) -> bool {
    matches!(value.form, Form::Literal(Value::Null, _))
}

/// NULL, which every constant expression with a NULL is.
fn nothing() -> Typed {
    literal_value(Value::Null, Type::unknown(), "null".into())
}

/// The type that a marker beside a value of this one gets.
pub(super) fn marker_type(ty: &Type) -> Type {
    match ty.family() {
        Family::Text => Type::sized(VARCHAR, crate::limits::STRING),
        Family::Numeric => Type::numeric(38, -1),
        _ => ty.clone(),
    }
}

fn zero(value: &Value) -> bool {
    match value {
        Value::Integer(number) => *number == 0,
        Value::Real(number) => *number == 0.0,
        Value::Text(text) => crate::decimal::Decimal::parse(text, false).is_some_and(crate::decimal::Decimal::is_zero),
        _ => false,
    }
}

fn overflows(operator: &str, left: &Form, right: &Form) -> bool {
    let (Form::Literal(Value::Integer(left), _), Form::Literal(Value::Integer(right), _)) = (left, right) else {
        return false;
    };
    let result = match operator {
        "+" => left.checked_add(*right),
        "-" => left.checked_sub(*right),
        "*" => left.checked_mul(*right),
        _ => Some(0),
    };
    result.is_some_and(|result| i32::try_from(result).is_err())
}

/// The type of a value in arithmetic; text is a DOUBLE.
fn numeric_type(ty: &Type) -> Type {
    if ty.family() == Family::Text { Type::of(DOUBLE) } else { ty.clone() }
}

/// The precision and scale of arithmetic with NUMERIC.
fn arithmetic_type(operator: &str, left: &Type, right: &Type) -> Type {
    let (ls, rs) = (left.scale, right.scale);
    let (lw, rw) = (left.precision - i32::from(ls), right.precision - i32::from(rs));
    let (precision, scale) = match operator {
        "*" => (left.precision + right.precision + 1, ls + rs),
        "/" => {
            let scale = ls.max(rs).max(9);
            (lw + i32::from(rs) + i32::from(scale), scale)
        }
        "%" | "div" => (left.precision.max(right.precision), ls.max(rs)),
        _ => (lw.max(rw) + i32::from(ls.max(rs)) + 1, ls.max(rs)),
    };
    Type::numeric(precision.min(38), scale.min(38))
}
