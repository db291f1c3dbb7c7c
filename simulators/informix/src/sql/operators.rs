//! Operators: on values of one type, and on those that have to be converted first.

use super::expr::{BOOLEAN, Expr, Form};
use super::parser::Parser;
use crate::codec::timestamp::Qualifier;
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

impl Parser<'_> {
    /// Compares, after converting both sides to one type if SQLite would not find them equal.
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

    pub(super) fn concatenate(&mut self, left: Expr, right: Expr) -> Expr {
        let text = Type::new(Kind::LVarChar, 32_739);
        let mut length = 0;
        let mut side = |parser: &mut Self, side: Expr| {
            length += side.ty.map_or(255, |ty| if ty.kind.is_text() { ty.length & 0x7fff } else { 40 });
            match side.ty {
                // A CHAR keeps its blanks when something is appended; stored it has none.
                Some(ty)
                    if matches!(ty.kind, Kind::Char | Kind::NChar)
                        && matches!(side.form, Form::Column | Form::Derived) =>
                {
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

    pub(super) fn arithmetic(&mut self, left: Expr, operator: &str, right: Expr) -> Result<Expr> {
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
                let (timestamp, span) = (a.qualifier(), b.qualifier());
                // An operand with finer fields extends the DATETIME first.
                if span.start() < timestamp.start() || span.end().min(11) > timestamp.end().min(11) {
                    return Err(incompatible());
                }
                if span.is_months() {
                    let sign = if subtract { "-" } else { "" };
                    let sql = format!("ifx_add_months({}, {sign}({}), {}, 0)", left.sql, right.sql, a.tag());
                    Expr::computed(sql, a)
                } else {
                    Expr::computed(format!("ifx_in_range({plain}, {})", timestamp.0), a)
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
                // Fields of the second that the first does not have are ignored.
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
}

/// Kinds of values that SQLite keeps as numbers, and that mean different things.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Number,
    Day,
    Timestamp,
    Months,
    Span,
    Other,
}

fn class(ty: Type) -> Class {
    match ty.kind {
        Kind::DateTime => Class::Timestamp,
        Kind::Interval if ty.qualifier().is_months() => Class::Months,
        Kind::Interval => Class::Span,
        Kind::Date => Class::Day,
        kind if kind.is_integer() || kind.is_decimal() || kind.is_float() => Class::Number,
        _ => Class::Other,
    }
}

/// The error for values that cannot be compared, though SQLite stores numbers for both.
fn incomparable(left: Type, right: Type) -> Option<i16> {
    match (class(left), class(right)) {
        (a, b) if a == b => None,
        (Class::Other, _) | (_, Class::Other) => None,
        // A DATE is a number of days, and a DATETIME next to one.
        (Class::Day, Class::Number | Class::Timestamp) | (Class::Number | Class::Timestamp, Class::Day) => None,
        (Class::Number, _) | (_, Class::Number) => Some(-1260),
        _ => Some(-1266),
    }
}

/// The type that can represent the values of all of these.
pub fn common_type(types: &[Type]) -> Option<Type> {
    let mut types = types.iter().copied();
    let mut result = types.next()?;
    for ty in types {
        let (a, b) = (result.kind, ty.kind);
        result = if a == b {
            match a {
                Kind::DateTime => {
                    let (one, two) = (result.qualifier(), ty.qualifier());
                    let both = Qualifier::datetime(one.start().min(two.start()), one.end().max(two.end()));
                    Type::new(a, both.0)
                }
                Kind::Interval if result.qualifier().is_months() == ty.qualifier().is_months() => {
                    Type::new(a, result.qualifier().wider(ty.qualifier()).0)
                }
                kind if kind.is_text() => Type::new(a, result.length.max(ty.length)),
                kind if kind.is_decimal() && (result.scale() == 255 || ty.scale() == 255) => Type::decimal(32, 255),
                kind if kind.is_decimal() => {
                    let scale = result.scale().max(ty.scale());
                    let whole = (result.precision() - result.scale()).max(ty.precision() - ty.scale());
                    Type::new(a, (whole + scale).min(32) << 8 | scale)
                }
                _ => result,
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
