//! Collections and rows as SQL text: `SET{1, 2}`, `ROW('one', 1)`. The server has casts from that text to their types;
//! the binary form has no public description.

use super::code;
use super::encode::{hundred_thousandths, is_of_months};
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::{Mismatch, Value, ValueKind, limits};

/// Appends a value inside of a collection or row, or a collection or row itself. `wanted` is the type of the column, if
/// it is known: it decides between SET, MULTISET and LIST, which Python's own types do not.
///
/// # Errors
/// The error of the value, or a [`Mismatch`] for a value that has no text, or is nested too deep.
pub fn write<V: Value>(value: &V, wanted: Option<u16>, depth: usize, out: &mut String) -> Result<(), V::Error> {
    if depth > limits::NESTING {
        return Err(Mismatch::wrong_type(format!("a collection is nested deeper than {}", limits::NESTING)).into());
    }
    match value.kind() {
        ValueKind::Null => out.push_str("NULL"),
        ValueKind::Bool => quote(if value.bool()? { "t" } else { "f" }, out),
        ValueKind::Int | ValueKind::Decimal => {
            value.with_decimal(|text| finite(text).map(|text| out.push_str(text)))??
        }
        ValueKind::Float => {
            let number = value.float()?;
            if !number.is_finite() {
                return Err(Mismatch::out_of_range(format!("{} does not fit FLOAT", value.describe())).into());
            }
            *out += &format!("{number:?}");
        }
        ValueKind::Date => quote(&civil::date_text(value.date()?), out),
        ValueKind::Time => quote(&cut(&civil::time_text(hundred_thousandths(value.time()?) * 10)), out),
        ValueKind::Timestamp => {
            let ticks = hundred_thousandths(value.timestamp()?);
            quote(&cut(&civil::timestamp_text(ticks * 10, false)), out);
        }
        ValueKind::Interval => {
            let (months, days, micros) = value.interval()?;
            quote(&interval(months, days, micros, value.is_calendar())?, out);
        }
        ValueKind::Text | ValueKind::Uuid => value.with_text(|utf8| quote(&String::from_utf8_lossy(utf8), out))?,
        kind @ (ValueKind::List | ValueKind::Set | ValueKind::Record) => {
            let (word, open, close) = match (wanted, kind) {
                (Some(code::SET), _) => ("SET", '{', '}'),
                (Some(code::MULTISET), _) => ("MULTISET", '{', '}'),
                (Some(code::LIST), _) => ("LIST", '{', '}'),
                (Some(code::ROW), _) | (_, ValueKind::Record) => ("ROW", '(', ')'),
                (_, ValueKind::Set) => ("SET", '{', '}'),
                _ => ("LIST", '{', '}'),
            };
            *out += word;
            out.push(open);
            for (i, item) in value.items()?.iter().enumerate() {
                *out += if i > 0 { "," } else { "" };
                write(item, None, depth + 1, out)?;
            }
            out.push(close);
        }
        _ => {
            let message = format!("{} has no text inside of a collection or row", value.describe());
            return Err(Mismatch::wrong_type(message).into());
        }
    }
    Ok(())
}

/// The digits of a number, which would be a name if it was none: `NaN`.
pub(super) fn finite(text: &str) -> Result<&str, Mismatch> {
    match text.trim_start_matches('-').bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.') {
        true => Ok(text),
        false => Err(Mismatch::out_of_range(format!("{text} is not a number that Informix can store"))),
    }
}

/// Text in quotes.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('\'');
    *out += &text.replace('\'', "''");
    out.push('\'');
}

/// The last of the six digits after the second, which is zero.
fn cut(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{whole}.{}", &fraction[..fraction.len().min(5)]),
        None => text.to_owned(),
    }
}

fn interval(months: i32, days: i32, micros: i64, calendar: bool) -> Result<String, Mismatch> {
    if is_of_months(months, days, micros, calendar)? {
        let sign = if months < 0 { "-" } else { "" };
        return Ok(format!("{sign}{}-{:02}", months.unsigned_abs() / 12, months.unsigned_abs() % 12));
    }
    let total = i128::from(days) * i128::from(DAY_MICROS) + i128::from(micros);
    let ticks = total.unsigned_abs() / 10;
    let (seconds, fraction) = (ticks / 100_000, ticks % 100_000);
    let sign = if total < 0 { "-" } else { "" };
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    // A fraction in a column without one would be refused, even if it is zero.
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:05}") };
    Ok(format!("{sign}{} {clock}{fraction}", seconds / 86_400))
}
