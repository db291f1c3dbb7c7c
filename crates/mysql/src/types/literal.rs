//! Values as SQL literals, for statements that carry their values in their text.
//!
//! The literals have the same meaning under every SQL mode: a quote is doubled, never escaped, and a string that
//! contains a backslash (an escape unless NO_BACKSLASH_ESCAPES is set, which another statement in flight may be
//! changing) is written in hexadecimal. So no value can end its literal early.

use super::encode::{
    Lists, bit_number, date_fields, finite, no_list, no_type, plain_decimal, plain_int, plain_text, time_micros,
    time_text, timestamp_fields, vector,
};
use headrace_core::{Mismatch, Value, ValueKind};
use std::io::Write;

/// Appends a value as an SQL literal; a list or tuple becomes `(1,2,3)`, for IN.
///
/// # Errors
/// [`Mismatch`] for values that the server has no type for; the buffer then has part of a literal.
pub fn write_literal<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let kind = value.kind();
    match kind {
        ValueKind::Null => out.extend_from_slice(b"NULL"),
        ValueKind::Bool => out.push(b'0' + u8::from(value.bool()?)),
        ValueKind::Int => {
            value.with_decimal(|text| plain_int(text).map(|plain| out.extend_from_slice(plain.as_bytes())))??;
        }
        // With an exponent it is a DOUBLE; without, the server would read a DECIMAL.
        ValueKind::Float => append(out, format_args!("{:e}", finite(value)?)),
        ValueKind::Decimal => {
            value.with_decimal(|text| plain_decimal(text).map(|plain| out.extend_from_slice(plain.as_bytes())))??;
        }
        ValueKind::Text => value.with_text(|text| string(out, "_utf8mb4 ", false, text))?,
        ValueKind::Json | ValueKind::Jsonb => value.with_json(|json| string(out, "_utf8mb4 ", false, json))?,
        ValueKind::Bytes => value.with_bytes(|bytes| string(out, "_binary ", true, bytes))?,
        // Without the type's name the server would convert the text to the type of its context: a number 2020, and a
        // time for a date.
        ValueKind::Date => append(out, format_args!("DATE'{}'", date_fields(value)?.text())),
        ValueKind::Timestamp => {
            let (date, clock) = timestamp_fields(value)?;
            append(out, format_args!("TIMESTAMP'{} {}'", date.text(), clock.text()));
        }
        ValueKind::Time | ValueKind::Interval => {
            append(out, format_args!("TIME'{}'", time_text(time_micros(value, kind)?)));
        }
        ValueKind::Uuid | ValueKind::Inet | ValueKind::Cidr => {
            append(out, format_args!("'{}'", plain_text(value, kind)?));
        }
        ValueKind::Bits => append(out, format_args!("{}", bit_number(value)?)),
        ValueKind::List | ValueKind::Record => list(value, out)?,
        ValueKind::Custom => value.with_custom(0, |bytes, binary| {
            string(out, if binary { "_binary " } else { "_utf8mb4 " }, binary, bytes);
        })?,
        _ => return Err(no_type(value)),
    }
    Ok(())
}

/// Appends a value as an SQL literal whose text is UTF-8: bytes are in hexadecimal.
///
/// # Errors
/// As [`write_literal`].
pub fn write_literal_as_text<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
    match value.kind() {
        ValueKind::Bytes => value.with_bytes(|bytes| hexadecimal(out, "_binary ", bytes)),
        ValueKind::Custom => value.with_custom(0, |bytes, binary| match binary {
            true => hexadecimal(out, "_binary ", bytes),
            false => string(out, "_utf8mb4 ", false, bytes),
        }),
        _ => write_literal(value, out),
    }
}

/// Appends a value as an SQL literal in the place of a placeholder: `following` is the text after it. If the literal
/// would run into an adjacent word or quote (`LIMIT?`), a space separates them. `lists` is the form of a list except
/// after IN.
///
/// # Errors
/// As [`write_literal`].
pub fn splice_literal<V: Value>(value: &V, lists: Lists, following: &[u8], out: &mut Vec<u8>) -> Result<(), V::Error> {
    if matches!(value.kind(), ValueKind::List | ValueKind::Record) && !ends_with_in(out) {
        if value.kind() == ValueKind::Record || out.trim_ascii_end().strip_suffix(b"(").is_some_and(ends_with_in) {
            return Err(no_list(value, Lists::Refused));
        }
        let bytes = vector(value, lists)?;
        hexadecimal(out, " _binary ", &bytes);
        return Ok(());
    }
    let clings = |byte: Option<&u8>| {
        byte.is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\'' | b'"' | b'`' | 0x80..)
        })
    };
    if clings(out.last()) {
        out.push(b' ');
    }
    write_literal(value, out)?;
    if clings(following.first()) {
        out.push(b' ');
    }
    Ok(())
}

/// Returns true if a list comes next, and not a list of numbers as one value: a VECTOR.
fn ends_with_in(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let Some((before, word)) = text.len().checked_sub(2).map(|at| text.split_at(at)) else { return false };
    let whole =
        before.last().is_none_or(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)));
    word.eq_ignore_ascii_case(b"in") && whole
}

/// Writing to a vector cannot fail.
fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn list<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let len = value.len()?;
    if len == 0 {
        return Err(Mismatch::wrong_type("an empty list has no SQL form; leave the condition out").into());
    }
    for i in 0..len {
        out.push(if i == 0 { b'(' } else { b',' });
        write_literal(&value.item(i)?, out)?;
    }
    out.push(b')');
    Ok(())
}

/// A string literal; `introducer` names its character set if it is hexadecimal, and always with `introduce`.
fn string(out: &mut Vec<u8>, introducer: &str, introduce: bool, body: &[u8]) {
    // NUL is allowed between quotes, but tools that show the statement would stop there.
    if body.iter().any(|byte| matches!(byte, b'\\' | 0)) {
        hexadecimal(out, introducer, body);
    } else {
        if introduce {
            out.extend_from_slice(introducer.as_bytes());
        }
        out.push(b'\'');
        for part in body.split_inclusive(|byte| *byte == b'\'') {
            out.extend_from_slice(part);
            if part.ends_with(b"'") {
                out.push(b'\'');
            }
        }
        out.push(b'\'');
    }
}

fn hexadecimal(out: &mut Vec<u8>, introducer: &str, body: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(introducer.as_bytes());
    out.extend_from_slice(b"x'");
    for byte in body {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}
