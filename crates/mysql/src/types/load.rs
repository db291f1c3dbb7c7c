//! Values as fields of a file for LOAD DATA, in the statement's default format: fields end with a tab, lines with a line
//! feed, a backslash escapes, `\\N` is NULL. MySQL: "LOAD DATA Statement, Field and Line Handling".

use super::civil::Clock;
use super::encode::{
    Lists, bit_number, date_fields, finite, no_type, plain_decimal, plain_text, time_micros, timestamp_fields, vector,
};
use headrace_core::{Value, ValueKind};
use std::io::Write;

/// Appends a value as a field. Bytes for a column of bytes are written `hexadecimal`, for UNHEX: the file as a whole is
/// text.
///
/// # Errors
/// [`headrace_core::Mismatch`] for what the server has no type for; the buffer then holds part of a field.
pub fn write_field<V: Value>(value: &V, hexadecimal: bool, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let kind = value.kind();
    match kind {
        ValueKind::Null => out.extend_from_slice(b"\\N"),
        ValueKind::Bytes => value.with_bytes(|bytes| field(bytes, hexadecimal, out))?,
        ValueKind::Text => value.with_text(|text| field(text, hexadecimal, out))?,
        ValueKind::Json | ValueKind::Jsonb => value.with_json(|json| field(json, hexadecimal, out))?,
        ValueKind::List => {
            let lists = if hexadecimal { Lists::Vector } else { Lists::Refused };
            field(&vector(value, lists)?, hexadecimal, out);
        }
        ValueKind::Custom => value.with_custom(0, |bytes, _| field(bytes, hexadecimal, out))?,
        _ if hexadecimal => {
            // A number or a date in a column of bytes is its text there, as the server has it.
            let mut text = Vec::new();
            plain(value, kind, &mut text)?;
            field(&text, true, out);
        }
        _ => plain(value, kind, out)?,
    }
    Ok(())
}

/// What holds nothing that would have to be escaped.
fn plain<V: Value>(value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
    match kind {
        ValueKind::Bool => out.push(b'0' + u8::from(value.bool()?)),
        ValueKind::Int => value.with_decimal(|text| out.extend_from_slice(text.as_bytes()))?,
        ValueKind::Float => append(out, format_args!("{:e}", finite(value)?)),
        ValueKind::Decimal => {
            value.with_decimal(|text| plain_decimal(text).map(|plain| out.extend_from_slice(plain.as_bytes())))??;
        }
        ValueKind::Date => out.extend_from_slice(date_fields(value)?.text().as_bytes()),
        ValueKind::Timestamp => {
            let (date, clock) = timestamp_fields(value)?;
            append(out, format_args!("{} {}", date.text(), clock.text()));
        }
        ValueKind::Time | ValueKind::Interval => {
            let micros = time_micros(value, kind)?;
            let sign = if micros < 0 { "-" } else { "" };
            append(out, format_args!("{sign}{}", Clock::of_micros(micros.abs()).text()));
        }
        ValueKind::Uuid | ValueKind::Inet | ValueKind::Cidr => {
            out.extend_from_slice(plain_text(value, kind)?.as_bytes());
        }
        ValueKind::Bits => append(out, format_args!("{}", bit_number(value)?)),
        _ => return Err(no_type(value)),
    }
    Ok(())
}

/// Writing to a vector cannot fail.
fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn field(bytes: &[u8], hexadecimal: bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if hexadecimal {
        for byte in bytes {
            out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        return;
    }
    for part in bytes.split_inclusive(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r' | 0)) {
        let Some((last, head)) = part.split_last() else { continue };
        out.extend_from_slice(head);
        match last {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(*last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_field_is_escaped() {
        for (bytes, written) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"", b""),
            (b"a\tb", b"a\\tb"),
            (b"\n\r\0", b"\\n\\r\\0"),
            (b"\\N", b"\\\\N"),
            (b"ends with \\", b"ends with \\\\"),
        ] {
            let mut out = Vec::new();
            field(bytes, false, &mut out);
            assert_eq!(out, written);
        }
        let mut out = Vec::new();
        field(b"\0\xff\t", true, &mut out);
        assert_eq!(out, b"00FF09");
    }
}
