//! Values as SQL literals, for statements that take no parameters: DDL, SET, CREATE USER.
//!
//! A literal means the same whatever `standard_conforming_strings` is: a text with a backslash is an escape string.

use super::hint::hint_of;
use super::{TypeRegistry, literal, oid};
use headrace_core::{Mismatch, Value, ValueKind};
use std::io::Write;

/// Appends a value as an SQL literal of the type that it has by itself as a parameter; whole numbers of a literal's own
/// type, and text, whose type the server decides.
///
/// # Errors
/// [`Mismatch`] for values that the server has no type for; the buffer then has part of a literal.
pub fn write_literal<V: Value>(value: &V, registry: &TypeRegistry, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let kind = value.kind();
    match kind {
        ValueKind::Null => out.extend_from_slice(b"NULL"),
        ValueKind::Bool => out.extend_from_slice(if value.bool()? { b"true" } else { b"false" }),
        ValueKind::Int => value.with_decimal(|digits| {
            // After a minus sign it would begin a comment.
            if digits.starts_with('-') {
                out.push(b' ');
            }
            out.extend_from_slice(digits.as_bytes());
        })?,
        _ => {
            let mut text = Vec::new();
            match kind {
                ValueKind::Float => append(&mut text, format_args!("{:?}", value.float()?)),
                // Not as an item of an array, where bytes of a dumper are refused.
                ValueKind::Custom => {
                    if value.with_custom(0, |bytes, binary| {
                        text.extend_from_slice(bytes);
                        binary
                    })? {
                        return Err(Mismatch::wrong_type(format!(
                            "{} has no literal: its dumper returns bytes; let it return str",
                            value.describe()
                        ))
                        .into());
                    }
                }
                _ => literal::write(value, kind, &mut text)?,
            }
            put_string(&text, value, out)?;
            match hint_of(value, kind) {
                oid::UNSPECIFIED => {}
                own => append(out, format_args!("::{}", registry.name(own))),
            }
        }
    }
    Ok(())
}

/// Text in quotes.
fn put_string<V: Value>(text: &[u8], value: &V, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    if text.contains(&0) {
        return Err(Mismatch::wrong_type(format!("{} has no literal: it has a NUL character", value.describe())));
    }
    // Without the space a word before it would be part of it: `LIKEE'...'`.
    out.extend_from_slice(if text.contains(&b'\\') { b" E'" } else { b"'" });
    for byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
    Ok(())
}

/// Writing to a vector cannot fail.
fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
