//! Conversion of values from one type to another.

use std::sync::Arc;

use rusqlite::types::Value;

use crate::decimal::Decimal;
use crate::errors::{Error, Result};
use crate::times::{self, Fields};
use crate::types::code::*;
use crate::types::{Family, Type};
use crate::values;

/// Why a value is converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is stored: a text that is too long is refused.
    Assign = 0,
    /// It is compared, or an operand.
    #[default]
    Compare = 1,
    /// CAST: a text that is too long is cut.
    Cast = 2,
}

impl Mode {
    /// The mode of a number in SQLite's SQL.
    pub fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Assign,
            1 => Self::Compare,
            _ => Self::Cast,
        }
    }
}

/// A type as text, for SQLite's SQL.
pub fn tag(ty: &Type) -> String {
    let labels = ty.labels.as_ref().map_or(String::new(), |labels| format!(":{}", labels.join("\u{1f}")));
    format!("{}:{}:{}:{}{labels}", ty.code, ty.collection, ty.precision, ty.scale)
}

/// Reads a [`tag`].
pub fn from_tag(text: &str) -> Type {
    let mut parts = text.splitn(5, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<i32>().ok()).unwrap_or(0);
    let (code, collection, precision, scale) = (number(), number(), number(), number());
    let labels = parts.next().map(|labels| labels.split('\u{1f}').map(str::to_owned).collect::<Arc<[String]>>());
    Type { code: code as u8, collection: collection as u8, precision, scale: scale as i16, labels }
}

fn too_long(value: &str, ty: &Type) -> Error {
    let _ = value;
    Error::semantic(format!("Cannot coerce value of domain \"character\" to domain \"{}\". ", ty.long_name()))
}

/// Converts a value.
///
/// # Errors
/// -181, -427, -494 and those of dates.
pub fn convert(value: Value, from: &Type, to: &Type, mode: Mode, zone: &str) -> Result<Value> {
    if value == Value::Null || (to.code == NULL && to.collection == 0) {
        return Ok(value);
    }
    let refused = || Error::coerce(from.long_name(), to.long_name());
    let value = match value {
        // As a number, a label is its place.
        Value::Text(label)
            if from.code == ENUM && matches!(to.family(), Family::Integer | Family::Real | Family::Numeric) =>
        {
            let place = from.labels.as_deref().unwrap_or_default().iter().position(|known| *known == label);
            Value::Integer(place.map_or(0, |place| place as i64 + 1))
        }
        // A truth is 1 or 0, and a text of a document what it is as a text.
        Value::Text(document)
            if from.code == JSON && matches!(to.family(), Family::Integer | Family::Real | Family::Numeric) =>
        {
            match serde_json::from_str(&document) {
                Ok(serde_json::Value::Null) => return Ok(Value::Null),
                Ok(serde_json::Value::Bool(is_true)) => Value::Integer(is_true.into()),
                Ok(serde_json::Value::String(text)) => Value::Text(text),
                _ => Value::Text(document),
            }
        }
        value => value,
    };
    match to.family() {
        Family::Integer => integer(&value, from, to).ok_or_else(refused)?,
        Family::Real => {
            let number = match &value {
                Value::Integer(number) => *number as f64,
                Value::Real(number) => *number,
                Value::Text(text) if from.family() != Family::Time => text.trim().parse().map_err(|_| refused())?,
                _ => return Err(refused()),
            };
            if to.code == FLOAT { Ok(Value::Real(f64::from(number as f32))) } else { Ok(Value::Real(number)) }
        }
        Family::Numeric => {
            let number = match &value {
                Value::Integer(number) => Some(Decimal::integer(*number)),
                Value::Real(number) => Decimal::from_f64(*number),
                Value::Text(text) if from.family() != Family::Time => Decimal::parse(text, true),
                _ => None,
            };
            let number = number.ok_or_else(refused)?;
            if to.scale < 0 {
                return Ok(Value::Text(number.to_string()));
            }
            let number = number
                .rescale(to.scale as u32)
                .filter(|number| number.is_zero() || number.precision() as i32 <= to.precision);
            Ok(Value::Text(number.ok_or_else(|| Error::overflow("numeric"))?.to_string()))
        }
        Family::Text if to.code == ENUM => enumerated(value, from, to),
        Family::Text => text(value, from, to, mode),
        Family::Time => time(&value, from, to, zone),
        Family::Bits => bits(value, from, to, mode),
        Family::Json => match value {
            Value::Text(text) if from.code == JSON => Ok(Value::Text(text)),
            Value::Text(text) if from.family() == Family::Text => Ok(Value::Text(values::json(&text)?)),
            Value::Text(text) if from.family() != Family::Time => Ok(Value::Text(text)),
            Value::Integer(number) => Ok(Value::Text(number.to_string())),
            Value::Real(number) => Ok(Value::Text(serde_json::json!(number).to_string())),
            _ => Err(refused()),
        },
        Family::Collection => {
            let Value::Blob(bytes) = value else { return Err(refused()) };
            if from.collection == 0 {
                return Err(refused());
            }
            let (code, elements) = values::elements(&bytes);
            let (own, wanted) = (
                Type { collection: 0, ..if code == from.code { from.clone() } else { Type::of(code) } },
                Type { collection: 0, ..to.clone() },
            );
            let element = if wanted.code == NULL { own.clone() } else { wanted };
            let converted: Result<Vec<Value>> =
                elements.into_iter().map(|value| convert(value, &own, &element, mode, zone)).collect();
            Ok(Value::Blob(values::collected(&element, to.collection, converted?)))
        }
        Family::Lob => match value {
            Value::Blob(handle) if from.family() == Family::Lob && from.code == to.code => Ok(Value::Blob(handle)),
            _ if mode == Mode::Assign => Err(Error::cas(crate::errors::cas::STATEMENT_POOLING)),
            _ => Err(refused()),
        },
        Family::Unknown => Ok(value),
    }
}

fn integer(value: &Value, from: &Type, to: &Type) -> Option<Result<Value>> {
    let number = match value {
        Value::Integer(number) => i128::from(*number),
        Value::Real(number) if number.is_finite() => number.round() as i128,
        Value::Text(text) if from.family() != Family::Time => {
            let number = Decimal::parse(text, true)?;
            number.rescale(0)?.to_string().parse().ok()?
        }
        _ => return None,
    };
    let fits = match to.code {
        SHORT => i16::try_from(number).is_ok(),
        INT => i32::try_from(number).is_ok(),
        _ => i64::try_from(number).is_ok(),
    };
    Some(if fits { Ok(Value::Integer(number as i64)) } else { Err(Error::overflow(to.long_name())) })
}

fn enumerated(value: Value, from: &Type, to: &Type) -> Result<Value> {
    let labels = to.labels.as_deref().unwrap_or_default();
    let found = match &value {
        Value::Integer(index) => {
            index.checked_sub(1).and_then(|index| usize::try_from(index).ok()).and_then(|index| labels.get(index))
        }
        Value::Text(text) => labels.iter().find(|label| *label == text.trim_end_matches(' ')),
        _ => None,
    };
    match found {
        Some(label) => Ok(Value::Text(label.clone())),
        None => Err(Error::coerce(from.long_name(), "enum")),
    }
}

/// A value as text.
pub fn shown(value: &Value, from: &Type) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) if from.code == FLOAT => real(&format!("{:e}", *number as f32), 7),
        Value::Real(number) => real(&format!("{number:e}"), 16),
        Value::Text(text) if from.family() == Family::Time => shown_time(text, from),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) if from.collection != 0 => {
            let (code, all) = values::elements(bytes);
            let ty = Type::of(code);
            let shown: Vec<String> = all
                .iter()
                .map(|value| match value {
                    Value::Null => "NULL".into(),
                    Value::Text(text) if ty.family() == Family::Text => format!("'{text}'"),
                    value => shown(value, &ty),
                })
                .collect();
            format!("{{{}}}", shown.join(", "))
        }
        Value::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let width = (from.precision.max(0) as usize).div_ceil(4);
            if from.precision > 0 && width < digits.len() { digits[..width].to_owned() } else { digits }
        }
    }
}

/// A floating-point number of so many digits, as `1.5`, `1e+20` and `1e-07`.
fn real(shortest: &str, digits: usize) -> String {
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return shortest.to_owned() };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let plain: String = mantissa.chars().filter(|character| *character != '.').collect();
    if exponent < -5 || exponent >= digits as i32 {
        let point = if plain.len() > 1 { "." } else { "" };
        return format!("{sign}{}{point}{}e{exponent:+03}", &plain[..1], &plain[1..]);
    }
    if exponent < 0 {
        return format!("{sign}0.{}{plain}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if plain.len() <= whole {
        return format!("{sign}{plain}{}", "0".repeat(whole - plain.len()));
    }
    format!("{sign}{}.{}", &plain[..whole], &plain[whole..])
}

fn shown_time(text: &str, from: &Type) -> String {
    let (fields, zone) = match from.has_zone() {
        true => times::local(text).unwrap_or_default(),
        false => (Fields::kept(text), String::new()),
    };
    let [year, month, day, hour, minute, second, milli] = fields.all;
    let date = format!("{month:02}/{day:02}/{year:04}");
    let half = if hour < 12 { "AM" } else { "PM" };
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let fraction =
        if matches!(from.code, DATETIME | DATETIMETZ | DATETIMELTZ) { format!(".{milli:03}") } else { String::new() };
    let time = format!("{twelve:02}:{minute:02}:{second:02}{fraction} {half}");
    match from.code {
        DATE => date,
        TIME => time,
        _ if zone.is_empty() => format!("{time} {date}"),
        _ => format!("{time} {date} {zone}"),
    }
}

fn text(value: Value, from: &Type, to: &Type, mode: Mode) -> Result<Value> {
    if from.family() == Family::Lob {
        return Err(Error::coerce(from.long_name(), to.long_name()));
    }
    let mut found = match value {
        Value::Text(document) if from.code == JSON => match serde_json::from_str(&document) {
            Ok(serde_json::Value::String(text)) => text,
            _ => document,
        },
        Value::Text(text) if from.family() != Family::Time => text,
        value => shown(&value, from),
    };
    let limit = match to.precision {
        precision if precision < 0 => return Ok(Value::Text(found)),
        precision => precision as usize,
    };
    let length = found.chars().count();
    if length > limit {
        let rest: String = found.chars().skip(limit).collect();
        if mode != Mode::Cast && rest.chars().any(|character| character != ' ') {
            return Err(too_long(&found, to));
        }
        found = found.chars().take(limit).collect();
    }
    if matches!(to.code, CHAR | NCHAR) && length < limit && limit < 1 << 20 {
        found.extend(std::iter::repeat_n(' ', limit - length));
    }
    Ok(Value::Text(found))
}

fn bits(value: Value, from: &Type, to: &Type, mode: Mode) -> Result<Value> {
    let mut bytes = match value {
        Value::Blob(bytes) if from.family() == Family::Bits => bytes,
        Value::Text(text) if from.family() == Family::Text => {
            let digit =
                |index: usize| text.as_bytes().get(index).map_or(Some(0), |byte| char::from(*byte).to_digit(16));
            let pairs =
                (0..text.len().div_ceil(2)).map(|pair| Some((digit(2 * pair)? * 16 + digit(2 * pair + 1)?) as u8));
            pairs.collect::<Option<Vec<u8>>>().ok_or_else(|| Error::coerce(from.long_name(), to.long_name()))?
        }
        _ => return Err(Error::coerce(from.long_name(), to.long_name())),
    };
    if to.precision < 0 {
        return Ok(Value::Blob(bytes));
    }
    let limit = to.precision as usize;
    if bytes.len() * 8 > limit.div_ceil(8) * 8 {
        if mode != Mode::Cast && bytes[limit.div_ceil(8)..].iter().any(|byte| *byte != 0) {
            return Err(Error::coerce(from.long_name(), to.long_name()));
        }
        bytes.truncate(limit.div_ceil(8));
    }
    if to.code == BIT {
        bytes.resize(limit.div_ceil(8), 0);
    }
    if to.precision > 0
        && bytes.len() == limit.div_ceil(8)
        && !limit.is_multiple_of(8)
        && let Some(last) = bytes.last_mut()
    {
        *last &= 0xff << (8 - limit % 8);
    }
    Ok(Value::Blob(bytes))
}

fn time(value: &Value, from: &Type, to: &Type, zone: &str) -> Result<Value> {
    let refused = || Error::coerce(from.long_name(), to.long_name());
    let conversion = || match to.code {
        DATE => Error::server(-176, "Conversion error in date format."),
        TIME => Error::server(-164, "Conversion error in time format."),
        _ => refused(),
    };
    let Value::Text(text) = value else { return Err(refused()) };
    let _ = conversion;
    let (mut fields, own_zone) = if from.family() == Family::Time {
        if from.has_zone() && to.has_zone() {
            let target = if matches!(to.code, TIMESTAMPLTZ | DATETIMELTZ) {
                times::moved(text, zone)
            } else {
                Some(text.clone())
            };
            return target.map(Value::Text).ok_or_else(refused);
        }
        // A TIMESTAMP is an instant. The others take the clock of the value's own zone, which those with a LOCAL one have not.
        let has_own = matches!(from.code, TIMESTAMPTZ | DATETIMETZ) && to.code != TIMESTAMP;
        let fields = match (from.has_zone(), has_own) {
            (true, true) => times::local(text).ok_or_else(refused)?.0,
            (true, false) => times::moved(text, zone).and_then(|moved| times::local(&moved)).ok_or_else(refused)?.0,
            (false, _) => Fields::kept(text),
        };
        (fields, None)
    } else if from.family() == Family::Text {
        let (time, own) = if to.has_zone() { times::split_zone(text) } else { (text.as_str(), None) };
        let (fields, date, clock) = times::parse(time).ok_or_else(refused)?;
        if (to.code == TIME && !clock && date) || (to.code != TIME && !date) {
            return Err(refused());
        }
        (fields, own)
    } else {
        return Err(refused());
    };
    match (from.code, to.code) {
        (TIME, code) if code != TIME => return Err(refused()),
        (_, TIMESTAMP | TIMESTAMPTZ | TIMESTAMPLTZ) => fields.all[6] = 0,
        _ => {}
    }
    if to.has_zone() {
        let local = matches!(to.code, TIMESTAMPLTZ | DATETIMELTZ);
        let kept = times::zoned(&fields, own_zone.unwrap_or(zone)).ok_or_else(refused)?;
        let kept = if local { times::moved(&kept, zone).ok_or_else(refused)? } else { kept };
        return Ok(Value::Text(kept));
    }
    Ok(Value::Text(fields.text(to.code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_numbers_and_times() {
        assert_eq!(shown(&Value::Real(1.5), &Type::of(DOUBLE)), "1.5");
        assert_eq!(shown(&Value::Real(1e20), &Type::of(DOUBLE)), "1e+20");
        assert_eq!(
            shown(&Value::Text("2024-02-29 13:45:59.123".into()), &Type::of(DATETIME)),
            "01:45:59.123 PM 02/29/2024"
        );
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_where_it_is_stored_and_cut_by_cast() {
        let to = Type::sized(VARCHAR, 2);
        let value = || Value::Text("abc".into());
        assert!(convert(value(), &Type::sized(CHAR, 3), &to, Mode::Assign, "UTC").is_err());
        assert_eq!(convert(value(), &Type::sized(CHAR, 3), &to, Mode::Cast, "UTC"), Ok(Value::Text("ab".into())));
    }
}
