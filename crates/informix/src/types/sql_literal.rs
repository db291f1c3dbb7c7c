//! Values as SQL literals, for statements that take no parameters (IBM Informix Guide to SQL: Syntax, "Literal Number",
//! "Literal DATETIME", "Literal INTERVAL", "Quoted String"). A literal means the same whatever DBDATE and GL_DATE are.

use super::literal;
use headrace_core::civil::civil_from_days;
use headrace_core::{Mismatch, Value, ValueKind};
use std::fmt::Write;

/// Appends a value as an SQL literal.
///
/// # Errors
/// [`Mismatch`] for values that the server has no type or no literal for; the buffer then has part of a literal.
pub fn write_literal<V: Value>(value: &V, out: &mut String) -> Result<(), V::Error> {
    match value.kind() {
        ValueKind::Int | ValueKind::Decimal => {
            value.with_decimal(|digits| literal::finite(digits).map(|digits| number(digits, out)))??
        }
        ValueKind::Float => {
            let float = value.float()?;
            if !float.is_finite() {
                return Err(Mismatch::out_of_range(format!("{} does not fit FLOAT", value.describe())).into());
            }
            number(&format!("{float:e}"), out);
        }
        ValueKind::Date => {
            let (year, month, day) = civil_from_days(i64::from(value.date()?));
            append(out, format_args!("MDY({month},{day},{year})"));
        }
        ValueKind::Time => qualified(value, "DATETIME", "HOUR TO FRACTION(5)", out)?,
        ValueKind::Timestamp => qualified(value, "DATETIME", "YEAR TO FRACTION(5)", out)?,
        ValueKind::Interval => {
            let (months, days, micros) = value.interval()?;
            let of_months = super::encode::is_of_months(months, days, micros, value.is_calendar())?;
            qualified(value, "INTERVAL", if of_months { "YEAR(9) TO MONTH" } else { "DAY(9) TO FRACTION(5)" }, out)?;
        }
        ValueKind::Custom => {
            let is_binary = value.with_custom(0, |bytes, binary| {
                literal::quote(&String::from_utf8_lossy(bytes), out);
                binary
            })?;
            if is_binary {
                return Err(no_literal(value).into());
            }
        }
        ValueKind::Json | ValueKind::Jsonb => {
            value.with_json(|json| literal::quote(&String::from_utf8_lossy(json), out))?;
        }
        _ => literal::write(value, None, 0, out)?,
    }
    Ok(())
}

/// A literal with a qualifier: the text of the value inside of a collection, without its quotes.
fn qualified<V: Value>(value: &V, word: &str, qualifier: &str, out: &mut String) -> Result<(), V::Error> {
    let mut text = String::new();
    literal::write(value, None, 0, &mut text)?;
    append(out, format_args!("{word} ({}) {qualifier}", text.trim_matches('\'')));
    Ok(())
}

#[cold]
fn no_literal<V: Value>(value: &V) -> Mismatch {
    Mismatch::wrong_type(format!("{} has no literal: its dumper returns bytes; let it return str", value.describe()))
}

/// After a minus sign another one would begin a comment.
fn number(digits: &str, out: &mut String) {
    if digits.starts_with('-') {
        out.push(' ');
    }
    *out += digits;
}

/// Writing to a string cannot fail.
fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
