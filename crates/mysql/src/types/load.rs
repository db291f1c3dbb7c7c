//! Values as fields of a file for LOAD DATA, in the statement's default format: fields end with a tab, lines with a
//! line feed, a backslash escapes, `\\N` is NULL. MySQL: "LOAD DATA Statement, Field and Line Handling".

use super::encode::{
    Lists, bit_number, date_fields, finite, no_type, outside, plain_decimal, plain_int, plain_text, time_micros,
    time_text, timestamp_fields, vector,
};
use headrace_core::number_text::int_text;
use headrace_core::{Mismatch, Value, ValueKind};
use std::cmp::Ordering;
use std::io::Write;

/// The kind of a field: all of them are text for the server, which reads a number or a date in them by the column's
/// type alone, and not by the value's as in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A column of text and whatever else.
    Text,
    /// DATE, DATETIME or TIMESTAMP.
    Date,
    /// TIME.
    Time,
    /// A column of bytes.
    Bytes,
    /// A column of whole numbers, to which a DOUBLE is rounded.
    Integer,
    /// YEAR, for which a DOUBLE is cut.
    Year,
    /// BIT, for which a DOUBLE is cut.
    Bit,
    /// FLOAT or DOUBLE.
    Float,
    /// DECIMAL.
    Decimal,
    /// ENUM or SET, of which a number is not a member's name.
    Members,
    /// MySQL's VECTOR, which would be made of the bytes of a text or a number.
    Vector,
}

impl FieldKind {
    fn is_number(self) -> bool {
        self.is_whole() || matches!(self, Self::Float | Self::Decimal)
    }

    /// Returns true if its fields are bytes.
    pub(crate) fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Vector)
    }

    fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Year | Self::Bit)
    }
}

/// Appends a row of values as a line. After an error the buffer has part of a line.
///
/// # Errors
/// [`headrace_core::Mismatch`] for another number of values than of `kinds`, and as [`write_field`].
pub fn write_line<V: Value>(
    kinds: &[FieldKind],
    values: usize,
    mut value: impl FnMut(usize) -> Result<V, V::Error>,
    out: &mut Vec<u8>,
) -> Result<(), V::Error> {
    if values != kinds.len() {
        let message = format!("the row has {values} values, but {} columns are loaded", kinds.len());
        return Err(Mismatch::wrong_type(message).into());
    }
    for (i, kind) in kinds.iter().enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        write_field(&value(i)?, *kind, out)?;
    }
    out.push(b'\n');
    Ok(())
}

/// Appends a value as a field. Bytes for a column of bytes are written in hexadecimal, for UNHEX: the file as a whole
/// is text.
///
/// # Errors
/// [`headrace_core::Mismatch`] for values that the server has no type for; the buffer then has part of a field.
fn write_field<V: Value>(value: &V, kind: FieldKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let hexadecimal = kind.is_bytes();
    let start = out.len();
    match value.kind() {
        ValueKind::Bytes if kind == FieldKind::Bit => {
            // As in a statement: the last bit of the last byte is the last of the number.
            let number = value.with_bytes(|bytes| {
                let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
                (bytes.len() <= 8).then(|| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            })?;
            let number = number.ok_or_else(|| outside(value, "BIT", "64 bits"))?;
            append(out, format_args!("{number}"));
            return Ok(());
        }
        ValueKind::Text if kind == FieldKind::Bit => {
            // In a statement its characters are the bits, here they would be the digits of a number.
            let message = format!("{} is neither a number nor a BitString, for a BIT column", value.describe());
            return Err(Mismatch::wrong_type(message).into());
        }
        ValueKind::Bool | ValueKind::Int | ValueKind::Float | ValueKind::Decimal | ValueKind::Bits
            if kind == FieldKind::Members =>
        {
            // In a statement it is the position of a member, or bits for members; here it would be a member's name.
            let message = format!("{} is a number, but the column is an ENUM or a SET", value.describe());
            return Err(Mismatch::wrong_type(message).into());
        }
        ValueKind::Null => {
            out.extend_from_slice(b"\\N");
            return Ok(());
        }
        found if kind == FieldKind::Vector && !matches!(found, ValueKind::Bytes | ValueKind::List) => {
            let message = format!("{} is neither a list nor bytes, for a VECTOR column", value.describe());
            return Err(Mismatch::wrong_type(message).into());
        }
        ValueKind::Bytes => value.with_bytes(|bytes| field(bytes, hexadecimal, out))?,
        ValueKind::Text => value.with_text(|text| field(text, hexadecimal, out))?,
        ValueKind::Json | ValueKind::Jsonb => value.with_json(|json| field(json, hexadecimal, out))?,
        ValueKind::List => {
            let lists = if hexadecimal { Lists::Vector } else { Lists::Refused };
            field(&vector(value, lists)?, hexadecimal, out);
        }
        ValueKind::Custom => value.with_custom(0, |bytes, _| field(bytes, hexadecimal, out))?,
        ValueKind::Uuid | ValueKind::Inet | ValueKind::Cidr => {
            field(plain_text(value, value.kind())?.as_bytes(), hexadecimal, out);
        }
        _ if hexadecimal => {
            // A number or a date in a column of bytes is its text there, as the server has it.
            let mut text = Vec::new();
            plain(value, kind, &mut text)?;
            field(&text, true, out);
        }
        _ => return plain(value, kind, out),
    }
    // As text, the year 0 is 2000. The statement makes a number of every field.
    if kind == FieldKind::Year && matches!(&out[start..], b"0" | b"00" | b"000") {
        out.truncate(start);
        out.extend_from_slice(b"2000");
    }
    // MySQL reads a leading number and ignores the rest of the text with a note.
    if kind == FieldKind::Decimal && !is_number(&out[start..]) {
        return Err(Mismatch::out_of_range(format!("{} is not a number for a DECIMAL column", value.describe())).into());
    }
    Ok(())
}

/// Text without characters that would have to be escaped.
fn plain<V: Value>(value: &V, column: FieldKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let kind = value.kind();
    let start = out.len();
    match kind {
        ValueKind::Bool => out.push(b'0' + u8::from(value.bool()?)),
        ValueKind::Int => match value.int() {
            Ok(number) => out.extend_from_slice(int_text(number).as_bytes()),
            Err(_) => {
                value.with_decimal(|text| plain_int(text).map(|plain| out.extend_from_slice(plain.as_bytes())))??;
            }
        },
        // Of a text the server would round a half away from zero, of a DOUBLE to the even number. Without a precision
        // digits beyond the 17th would be zeros.
        ValueKind::Float if column == FieldKind::Integer => {
            append(out, format_args!("{:.0}", finite(value)?.round_ties_even() + 0.0));
        }
        ValueKind::Float if column.is_whole() => append(out, format_args!("{:.0}", finite(value)?.trunc() + 0.0)),
        // Dates and times have no exponents, and of more than six decimals MySQL rounds a text up, where it cuts a DOUBLE.
        ValueKind::Float if matches!(column, FieldKind::Date | FieldKind::Time) => {
            let text = format!("{:.6}", finite(value)?);
            out.extend_from_slice(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
        }
        ValueKind::Float => float(finite(value)?, out),
        ValueKind::Decimal => value.with_decimal(|text| {
            plain_decimal(text).map(|plain| {
                let zero = !plain.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
                let plain = if zero { plain.trim_start_matches('-') } else { &plain };
                out.extend_from_slice(plain.as_bytes());
            })
        })??,
        ValueKind::Date => timestamp(&date_fields(value)?.text(), column, out),
        ValueKind::Timestamp => {
            let (date, clock) = timestamp_fields(value)?;
            timestamp(&format!("{} {}", date.text(), clock.text()), column, out);
        }
        ValueKind::Time | ValueKind::Interval => {
            if matches!(column, FieldKind::Date | FieldKind::Year) {
                // The server would read 03:04:05 as 2003-04-05; in a statement it is that time of the current day.
                let message = format!("{} is a time, but the column is of dates or years", value.describe());
                return Err(Mismatch::wrong_type(message).into());
            }
            let text = time_text(time_micros(value, kind)?);
            match text.strip_prefix('-') {
                Some(text) => {
                    out.push(b'-');
                    timestamp(text, column, out);
                }
                None => timestamp(&text, column, out),
            }
        }
        ValueKind::Bits => append(out, format_args!("{}", bit_number(value)?)),
        _ => return Err(no_type(value)),
    }
    let is_date = matches!(kind, ValueKind::Date | ValueKind::Timestamp);
    if column == FieldKind::Date && out[start..] == *b"0" {
        out.extend_from_slice(b"000-00-00");
    } else if column == FieldKind::Date && !is_date && !is_date_in_digits(&out[start..]) {
        let message = format!("{} is a number, but the column is of dates", value.describe());
        return Err(Mismatch::wrong_type(message).into());
    }
    Ok(())
}

/// Returns true if the server reads these digits as the date that the number is: of others it reads the digits from the
/// left, as `YYMMDD` or `YYMMDDhhmmss`.
fn is_date_in_digits(digits: &[u8]) -> bool {
    let whole = digits.split(|byte| *byte == b'.').next().unwrap_or_default();
    let is_complete = matches!(whole.len(), 6 | 8 | 12) && whole.len() == digits.len() || whole.len() == 14;
    is_complete && whole.iter().all(u8::is_ascii_digit)
}

/// A date or time: only its digits if the column is a number.
fn timestamp(text: &str, column: FieldKind, out: &mut Vec<u8>) {
    if !column.is_number() {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let text = if column.is_whole() { text.split('.').next().unwrap_or(text) } else { text };
    out.extend(text.bytes().filter(|byte| byte.is_ascii_digit() || *byte == b'.'));
}

/// A floating-point number, as the server makes text of one: the shortest digits, with an exponent if it is large.
fn float(number: f64, out: &mut Vec<u8>) {
    let start = out.len() + usize::from(number.is_sign_negative());
    append(out, format_args!("{number:e}"));
    let Some(end) = out[start..].iter().position(|&byte| byte == b'e').map(|at| start + at) else { return };
    let exponent = std::str::from_utf8(&out[end + 1..]).ok().and_then(|text| text.parse::<i32>().ok());
    let Some(exponent) = exponent.filter(|exponent| (-15..15).contains(exponent)) else { return };
    out.truncate(end);
    if end > start + 1 {
        // The point stands after the first digit.
        out.remove(start + 1);
    }
    let digits = out.len() - start;
    if exponent < 0 {
        let zeros = exponent.unsigned_abs() as usize - 1;
        out.splice(start..start, b"0.".iter().copied().chain(std::iter::repeat_n(b'0', zeros)));
        return;
    }
    let whole = exponent as usize + 1;
    match digits.cmp(&whole) {
        Ordering::Less => out.resize(start + whole, b'0'),
        Ordering::Equal => {}
        Ordering::Greater => out.insert(start + whole, b'.'),
    }
}

/// Returns true if a field is a number and nothing else.
fn is_number(field: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(field) else { return false };
    let text = text.trim_ascii();
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) && text.parse::<f64>().is_ok()
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

    #[test]
    fn floats_have_their_shortest_digits() {
        let powers = (-18..=18).map(|power| format!("e{power}"));
        let texts = powers.flat_map(|power| {
            ["0", "1", "-1.5", "9.25", "1.2345678901234567", "-9.999999999999999"]
                .map(|digits| format!("{digits}{power}"))
        });
        let mut bits = 1_u64;
        let others = (0..20_000).map(|_| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Of exponents about 0, where the form changes.
            f64::from_bits(bits & !(0x7ff << 52) | ((1023 - 60 + (bits >> 52) % 120) << 52))
        });
        for number in
            texts.filter_map(|text| text.parse().ok()).chain(others).chain([-0.0, f64::MAX, f64::MIN_POSITIVE])
        {
            let scientific = format!("{number:e}");
            let exponent: i32 = scientific.split_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(99);
            let wanted = if (-15..15).contains(&exponent) { number.to_string() } else { scientific };
            let mut out = b"before\t".to_vec();
            float(number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out[7..]), wanted);
        }
    }
}
