//! Values as SQL literals, for statements that take no parameters (CUBRID SQL Guide, "Literal").
//!
//! A literal means the same with `no_backslash_escapes` yes and no, which a client cannot see: a backslash is CHR(92).

use super::encode::{date_fields, plain_decimal, timestamp_fields, uuid_text};
use headrace_core::{Mismatch, Value, ValueKind, civil, limits};
use std::fmt::Write;

/// Appends a value as an SQL literal.
///
/// # Errors
/// [`Mismatch`] for values that the server has no type for; the buffer then has part of a literal.
pub fn write_literal<V: Value>(value: &V, out: &mut String) -> Result<(), V::Error> {
    write_nested(value, 0, out)
}

fn write_nested<V: Value>(value: &V, depth: usize, out: &mut String) -> Result<(), V::Error> {
    if depth > limits::NESTING {
        return Err(Mismatch::wrong_type(format!("a collection is nested deeper than {}", limits::NESTING)).into());
    }
    match value.kind() {
        ValueKind::Null => *out += "NULL",
        ValueKind::Bool => *out += if value.bool()? { "1" } else { "0" },
        ValueKind::Int | ValueKind::Decimal => {
            value.with_decimal(|text| plain_decimal(text).map(|plain| number(&plain, out)))??;
        }
        ValueKind::Float => {
            let float = value.float()?;
            if !float.is_finite() {
                return Err(Mismatch::out_of_range(format!("{float} is not a number that CUBRID can store")).into());
            }
            // Without an exponent it is a NUMERIC.
            number(&format!("{float:e}"), out);
        }
        ValueKind::Text | ValueKind::Inet | ValueKind::Cidr => value.with_text(|text| string(text, out))?,
        ValueKind::Uuid => string(uuid_text(value.uuid()?).as_bytes(), out),
        ValueKind::Json | ValueKind::Jsonb => {
            *out += "CAST(";
            value.with_json(|json| string(json, out))?;
            *out += " AS JSON)";
        }
        ValueKind::Bytes => value.with_bytes(|bytes| hexadecimal(bytes, out))?,
        ValueKind::Date => {
            let [year, month, day, ..] = date_fields(i64::from(value.date()?))?;
            append(out, format_args!("DATE'{year:04}-{month:02}-{day:02}'"));
        }
        // TIME has whole seconds.
        ValueKind::Time => append(out, format_args!("TIME'{}'", &civil::time_text(value.time()?)[..8])),
        ValueKind::Timestamp => append(out, format_args!("DATETIME'{}'", timestamp(value.timestamp()?)?)),
        ValueKind::TimestampTz => {
            append(out, format_args!("DATETIMETZ'{} +00:00'", timestamp(value.timestamptz()?)?));
        }
        ValueKind::List | ValueKind::Set => {
            for (i, item) in value.items()?.iter().enumerate() {
                *out += if i == 0 { "{" } else { "," };
                write_nested(item, depth + 1, out)?;
            }
            *out += if value.len()? == 0 { "{}" } else { "}" };
        }
        ValueKind::Custom => {
            value.with_custom(0, |bytes, binary| if binary { hexadecimal(bytes, out) } else { string(bytes, out) })?
        }
        _ => {
            let message = format!("{} has no literal: CUBRID has no type for it", value.describe());
            return Err(Mismatch::wrong_type(message).into());
        }
    }
    Ok(())
}

/// After a minus sign another one would begin a comment.
fn number(digits: &str, out: &mut String) {
    if digits.starts_with('-') {
        out.push(' ');
    }
    *out += digits;
}

fn string(text: &[u8], out: &mut String) {
    let text = String::from_utf8_lossy(text);
    let quoted = |part: &str| format!("'{}'", part.replace('\'', "''"));
    match text.contains('\\') {
        false => *out += &quoted(&text),
        true => {
            let parts = text.split('\\').map(quoted).collect::<Vec<_>>();
            append(out, format_args!("CONCAT({})", parts.join(",CHR(92),")));
        }
    }
}

fn hexadecimal(bytes: &[u8], out: &mut String) {
    *out += "X'";
    bytes.iter().for_each(|byte| append(out, format_args!("{byte:02x}")));
    out.push('\'');
}

/// The text of a timestamp in milliseconds, as a parameter has it.
fn timestamp(micros: i64) -> Result<String, Mismatch> {
    let [year, month, day, hour, minute, second, millis] = timestamp_fields(micros)?;
    Ok(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}"))
}

/// Writing to a string cannot fail.
fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
