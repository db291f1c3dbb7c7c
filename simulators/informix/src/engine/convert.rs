//! One type's value as another's, with the errors that a server has for it.

use rusqlite::types::Value;

use super::functions::now;
use super::times::extend;
use crate::codec::charset::Charset;
use crate::codec::decimal::Decimal;
use crate::codec::timestamp::{self, DATE_EPOCH, DAY_UNITS, FIRST_DATE, LAST_DATE};
use crate::codec::{clientvalue, complex};
use crate::errors::{Result, SqlError};
use crate::types::{Kind, Type};

/// A value as SQL text.
pub fn render(value: &Value, from: Option<Type>) -> String {
    match (value, from.map(|ty| (ty.kind, ty))) {
        (Value::Integer(days), Some((Kind::Date, _))) => timestamp::format_date(*days),
        (Value::Integer(value), Some((Kind::DateTime, ty))) => timestamp::format_datetime(*value, ty.qualifier()),
        (Value::Integer(value), Some((Kind::Interval, ty))) => {
            timestamp::format_interval(*value, ty.qualifier()).trim_start().to_owned()
        }
        (Value::Integer(value), Some((Kind::Boolean, _))) => (if *value == 0 { "f" } else { "t" }).to_owned(),
        (Value::Integer(value), _) => value.to_string(),
        (Value::Real(value), _) => format!("{value:?}").trim_end_matches(".0").to_owned(),
        (Value::Text(text), Some((Kind::Decimal | Kind::Money, ty))) if ty.scale() != 255 => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let scale = ty.scale() as usize;
            let sign = if ty.kind == Kind::Money { "$" } else { "" };
            // MONEY has the currency sign before its digits, after a minus.
            let (minus, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
            if scale == 0 {
                format!("{minus}{sign}{whole}")
            } else {
                format!("{minus}{sign}{whole}.{fraction:0<scale$}")
            }
        }
        (Value::Text(text), _) => text.clone(),
        (Value::Blob(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (Value::Null, _) => String::new(),
    }
}

fn whole(value: &Value, kind: Kind) -> Result<i64> {
    // The lowest number of each type is its NULL, so it is out of range as well.
    let (most, code) = match kind {
        Kind::SmallInt => (32_767, -1214),
        Kind::Int | Kind::Serial => (i64::from(i32::MAX), -1215),
        _ => (i64::MAX, -1284),
    };
    let number = match value {
        Value::Integer(value) => Some(*value),
        Value::Real(value) if value.abs() < 9.2e18 => Some(*value as i64),
        Value::Real(_) => None,
        Value::Text(text) => Decimal::parse(text).ok_or_else(|| SqlError::new(-1213, ""))?.truncate(0).to_i64(),
        _ => return Err(SqlError::new(-1213, "")),
    };
    number.filter(|number| (-most..=most).contains(number)).ok_or_else(|| SqlError::new(code, ""))
}

/// `value`, which is of type `from` if that is known, as a value of `to`.
pub fn convert(value: Value, from: Option<Type>, to: Type, charset: Charset) -> Result<Value> {
    if matches!(value, Value::Null) {
        return Ok(Value::Null);
    }
    let from_kind = from.map(|ty| ty.kind);
    let mismatch = || SqlError::new(-1260, "");
    // Internally they are numbers, which must not be visible.
    let timed = matches!(from_kind, Some(Kind::DateTime | Kind::Interval));
    match to.kind {
        kind if timed && (kind.is_integer() || kind.is_decimal() || kind.is_float() || kind == Kind::Boolean) => {
            Err(mismatch())
        }
        kind if kind.is_text() => {
            let text = render(&value, from);
            let limit = if kind == Kind::LVarChar { to.length } else { to.length & 0x7fff };
            let kept = charset.fit(&text, limit as usize);
            // Text is truncated; a shorter number or date would be another value.
            if kept.len() < text.len() && from_kind.is_some_and(|kind| !kind.is_text() && !kind.is_complex()) {
                return Err(SqlError::new(-1207, ""));
            }
            let kept = if matches!(kind, Kind::Char | Kind::NChar) { kept.trim_end_matches(' ') } else { kept };
            Ok(Value::Text(kept.to_owned()))
        }
        kind if kind.is_integer() => Ok(Value::Integer(whole(&value, kind)?)),
        kind if kind.is_decimal() => {
            let number = match &value {
                Value::Integer(value) => Some(Decimal::new(i128::from(*value), 0)),
                Value::Real(value) => Decimal::parse(&format!("{value:e}")),
                Value::Text(text) => Decimal::parse(&text.replacen('$', "", 1)),
                _ => None,
            };
            let number = number.ok_or_else(|| SqlError::new(-1213, ""))?.checked()?.shaped(to.precision(), to.scale());
            if !number.fits(to.precision(), to.scale()) {
                return Err(SqlError::new(-1226, ""));
            }
            Ok(Value::Text(number.to_string()))
        }
        Kind::Float | Kind::SmallFloat => {
            let number = match &value {
                Value::Integer(value) => Some(*value as f64),
                Value::Real(value) => Some(*value),
                Value::Text(text) => text.trim().parse().ok(),
                _ => None,
            };
            let number: f64 = number.ok_or_else(|| SqlError::new(-1213, ""))?;
            let number = if to.kind == Kind::SmallFloat { f64::from(number as f32) } else { number };
            if number.is_infinite() { Err(SqlError::new(-1226, "")) } else { Ok(Value::Real(number)) }
        }
        Kind::Date => match (&value, from_kind) {
            (Value::Integer(value), Some(Kind::DateTime)) => {
                Ok(Value::Integer(value.div_euclid(DAY_UNITS) - DATE_EPOCH))
            }
            (Value::Integer(_), Some(Kind::Interval)) => Err(mismatch()),
            (Value::Integer(day), _) if !(FIRST_DATE..=LAST_DATE).contains(day) => Err(SqlError::new(-1210, "")),
            (Value::Integer(_), _) => Ok(value),
            (Value::Text(text), _) => {
                let date = timestamp::parse_date(text.split(' ').next().unwrap_or_default());
                date.map(Value::Integer).ok_or_else(|| date_error(text))
            }
            _ => Err(mismatch()),
        },
        Kind::DateTime => match (&value, from_kind) {
            (Value::Integer(value), Some(Kind::DateTime)) => {
                let own = from.map_or(to.qualifier(), Type::qualifier);
                Ok(Value::Integer(extend(*value, own, to.qualifier(), now())))
            }
            (Value::Integer(days), Some(Kind::Date)) => {
                Ok(Value::Integer(timestamp::cut((days + DATE_EPOCH) * DAY_UNITS, to.qualifier())))
            }
            (Value::Text(text), _) => {
                timestamp::parse_datetime(text, to.qualifier()).map(Value::Integer).ok_or_else(|| timestamp_error(text))
            }
            _ => Err(mismatch()),
        },
        Kind::Interval => match (&value, from) {
            (Value::Integer(value), Some(ty)) if ty.kind == Kind::Interval => {
                if ty.qualifier().is_months() != to.qualifier().is_months() {
                    return Err(mismatch());
                }
                if timestamp::encode_interval(*value, to.qualifier()).is_none() {
                    return Err(SqlError::new(-1265, ""));
                }
                Ok(Value::Integer(timestamp::cut_interval(*value, to.qualifier())))
            }
            (Value::Text(text), _) => {
                let value = timestamp::parse_interval(text, to.qualifier()).ok_or_else(|| timestamp_error(text))?;
                if timestamp::encode_interval(value, to.qualifier()).is_none() {
                    return Err(SqlError::new(-1261, ""));
                }
                Ok(Value::Integer(value))
            }
            _ => Err(mismatch()),
        },
        kind if kind.is_complex() && matches!(&value, Value::Blob(bytes) if clientvalue::is_one(bytes)) => {
            let Value::Blob(bytes) = &value else { return Err(mismatch()) };
            let text = clientvalue::decode(bytes, kind, |input, ty| {
                let bound = crate::session::read_value(input, ty, charset)?;
                Ok((bound.ty, bound.value))
            });
            let text = text.map_err(|error| SqlError::unsupported(error.to_string()))?;
            complex::shaped(&text, to, charset).map(Value::Text)
        }
        kind if kind.is_complex() => complex::shaped(&render(&value, from), to, charset).map(Value::Text),
        Kind::Bson => match value {
            Value::Blob(_) => Ok(value),
            value => Ok(Value::Blob(render(&value, from).into_bytes())),
        },
        Kind::Boolean => match &value {
            Value::Integer(value @ (0 | 1)) => Ok(Value::Integer(*value)),
            Value::Integer(_) => Err(SqlError::new(-9648, "")),
            Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "t" | "true" | "1" | "y" => Ok(Value::Integer(1)),
                "f" | "false" | "0" | "n" => Ok(Value::Integer(0)),
                _ => Err(SqlError::new(-9648, "")),
            },
            _ => Err(mismatch()),
        },
        Kind::Byte | Kind::Text => match value {
            Value::Blob(bytes) => Ok(Value::Blob(bytes)),
            value => Ok(Value::Blob(charset.encode(&render(&value, from)).into_owned())),
        },
        Kind::Blob | Kind::Clob => match (&value, from_kind) {
            (Value::Integer(_), Some(Kind::Blob | Kind::Clob)) => Ok(value),
            _ => Err(SqlError::new(-9634, to.name())),
        },
        _ => Ok(Value::Text(render(&value, from))),
    }
}

/// Returns true if a conversion reads or writes a DATE as text, for which the session may have its own form.
pub fn writes_dates(from: Option<Type>, to: Type) -> bool {
    let (date, text) = (|ty: Type| ty.kind == Kind::Date, |ty: Type| ty.kind.is_text());
    from.is_some_and(|from| (date(from) && text(to)) || (text(from) && date(to)))
}

/// The error of the text of a DATETIME or INTERVAL.
pub fn timestamp_error(text: &str) -> SqlError {
    let known = |character: char| character.is_ascii_digit() || "-:. +".contains(character);
    SqlError::new(if text.trim().chars().all(known) { -1263 } else { -1262 }, "")
}

fn date_error(text: &str) -> SqlError {
    let numbers: Vec<i64> = text.split(['-', '/', '.']).filter_map(|part| part.trim().parse().ok()).collect();
    match numbers.as_slice() {
        [_, month, _] if text.find('-') == Some(4) && !(1..=12).contains(month) => SqlError::new(-1205, ""),
        [month, ..] if numbers.len() == 3 && text.contains('/') && !(1..=12).contains(month) => {
            SqlError::new(-1205, "")
        }
        [_, _, _] => SqlError::new(-1206, ""),
        _ => SqlError::new(-1218, ""),
    }
}
