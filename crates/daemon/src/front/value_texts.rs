//! The texts of decoded values, in PostgreSQL's forms, and of COPY's fields.

use super::types::FLOAT4;
use headrace_core::civil;
use headrace_io::rows::Datum;
use headrace_postgres::types::{Oid, oid};
use std::net::IpAddr;

/// The text of a value for a column of type text.
pub(super) fn text_of(datum: &Datum) -> String {
    match datum {
        Datum::Null => String::new(),
        Datum::Bool(value) => if *value { "t" } else { "f" }.into(),
        Datum::Int(value) => value.to_string(),
        Datum::Uint(value) => value.to_string(),
        Datum::Float(value) => float_text(*value),
        Datum::Decimal(text) | Datum::Text(text) | Datum::Json(text) => text.clone(),
        Datum::Bytes(bytes) | Datum::Custom(bytes) => {
            let mut out = Vec::with_capacity(bytes.len() * 2 + 2);
            hex(&mut out, bytes);
            String::from_utf8(out).unwrap_or_default()
        }
        Datum::Date(days) => civil::date_text(*days),
        Datum::Time(micros) => civil::time_text(*micros),
        Datum::Timestamp(micros) => civil::timestamp_text(*micros, false),
        Datum::TimestampTz(micros) => civil::timestamp_text(*micros, true),
        Datum::Uuid(bytes) => uuid_text(bytes),
        Datum::Inet(address, prefix) => inet_text(address, *prefix),
        Datum::Parts(_, parts) => {
            let parts: Vec<String> = parts.iter().map(text_of).collect();
            format!("{{{}}}", parts.join(","))
        }
        other => format!("{other:?}"),
    }
}

pub(super) fn inet_text(address: &[u8], prefix: u8) -> String {
    let (address, bits) = match (<[u8; 4]>::try_from(address), <[u8; 16]>::try_from(address)) {
        (Ok(four), _) => (IpAddr::from(four), 32),
        (_, Ok(sixteen)) => (IpAddr::from(sixteen), 128),
        _ => return String::new(),
    };
    if prefix == bits { address.to_string() } else { format!("{address}/{prefix}") }
}

pub(super) fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\\x");
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

pub(super) fn uuid_text(bytes: &[u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(*bytes));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// The fewest digits that identify a number, in PostgreSQL's form.
pub(super) fn float_text(value: f64) -> String {
    shortest(value, value.abs(), &value.to_string(), &format!("{value:e}"))
}

pub(super) fn float4_text(value: f32) -> String {
    shortest(f64::from(value), f64::from(value.abs()), &value.to_string(), &format!("{value:e}"))
}

fn shortest(value: f64, size: f64, plain: &str, scientific: &str) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    if size == 0.0 || (1e-4..1e15).contains(&size) {
        return plain.into();
    }
    match scientific.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power:0>2}"),
        Some((digits, power)) => format!("{digits}e-{:0>2}", &power[1..]),
        None => scientific.into(),
    }
}

/// Returns true if a number is the same one in a column that was described as this type: MySQL describes an expression of
/// parameters as DOUBLE before it has their values.
pub(super) fn keeps_digits(number: Oid, datum: &Datum) -> bool {
    let is_number = matches!(datum, Datum::Int(_) | Datum::Uint(_) | Datum::Decimal(_) | Datum::Text(_));
    if !matches!(number, oid::FLOAT8 | FLOAT4) || !is_number {
        return true;
    }
    let text = text_of(datum);
    if let Ok(whole) = text.parse::<i128>() {
        let kept = if number == FLOAT4 { (whole as f32) as i128 } else { (whole as f64) as i128 };
        return kept == whole;
    }
    let plain = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    match number {
        FLOAT4 => text.parse::<f32>().map_or(true, |float| float.to_string() == plain),
        _ => text.parse::<f64>().map_or(true, |float| float.to_string() == plain),
    }
}

/// COPY as text: manual, "COPY", "Text Format".
pub(super) fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0b => out.extend_from_slice(b"\\v"),
            0x0c => out.extend_from_slice(b"\\f"),
            other => out.push(*other),
        }
    }
}

/// COPY as CSV: an empty text is quoted, since NULL is written as nothing.
pub(super) fn quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    let plain = !bytes.is_empty() && bytes != b"\\." && !bytes.iter().any(|byte| b"\",\r\n".contains(byte));
    if plain {
        return out.extend_from_slice(bytes);
    }
    out.push(b'"');
    for byte in bytes {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_for_a_column_that_was_described_as_a_float_keeps_its_digits_or_is_refused() {
        let decimal = |text: &str| Datum::Decimal(text.into());
        for (datum, float8, float4) in [
            (Datum::Int(1 << 53), true, true),
            (Datum::Int((1 << 53) + 1), false, false),
            (Datum::Int(16_777_217), true, false),
            (Datum::Uint(1 << 63), true, true),
            (decimal("-1.50"), true, true),
            (decimal("0.1"), true, true),
            (decimal("100"), true, true),
            (decimal("12345678901234567890.12"), false, false),
            (Datum::Text("9007199254740993".into()), false, false),
            (Datum::Text("abc".into()), true, true),
        ] {
            assert_eq!(
                (keeps_digits(oid::FLOAT8, &datum), keeps_digits(FLOAT4, &datum)),
                (float8, float4),
                "{datum:?}"
            );
            assert!(keeps_digits(oid::NUMERIC, &datum));
        }
    }
}
