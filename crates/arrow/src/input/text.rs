//! Values as text: of numbers, as JSON, and for error messages.

use super::cell::Cell;
use crate::limits;
use crate::limits::SHOWN_CHARACTERS;
use headrace_core::{Mismatch, Value, ValueKind};
use std::fmt::Write;

/// Room for the text of a decimal number.
#[derive(Debug)]
pub(super) struct Digits([u8; Digits::ROOM]);

impl Default for Digits {
    fn default() -> Self {
        Self([0; Self::ROOM])
    }
}

impl Digits {
    /// A sign, a point, and 39 digits, or more zeros.
    const ROOM: usize = 48;

    /// The text of a coefficient with `scale` digits after the point; `None` if it is too long for the room.
    pub(super) fn decimal(&mut self, coefficient: i128, scale: i8) -> Option<&str> {
        let scale = usize::try_from(scale).ok().filter(|scale| *scale <= 38)?;
        let mut at = Self::ROOM;
        let mut rest = coefficient.unsigned_abs();
        let mut digits = 0;
        let mut put = |byte: u8| {
            at -= 1;
            self.0[at] = byte;
        };
        loop {
            // Nearly always the rest fits a machine word, whose division takes a tenth of the time.
            let digit = match u64::try_from(rest) {
                Ok(small) => {
                    rest = u128::from(small / 10);
                    small % 10
                }
                Err(_) => {
                    let digit = (rest % 10) as u64;
                    rest /= 10;
                    digit
                }
            };
            put(b'0' + digit as u8);
            digits += 1;
            if digits == scale {
                put(b'.');
            }
            if rest == 0 && digits > scale {
                break;
            }
        }
        if coefficient < 0 {
            put(b'-');
        }
        std::str::from_utf8(&self.0[at..]).ok()
    }
}

/// Digits, maybe with a sign, with a point before the last `scale`.
pub(super) fn place_point(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    match usize::try_from(scale) {
        Ok(0) => format!("{sign}{digits}"),
        Ok(scale) => {
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) if digits == "0" => "0".to_owned(),
        Err(_) => format!("{sign}{digits}{}", "0".repeat(scale.unsigned_abs().into())),
    }
}

/// The fewest digits that identify a number, as Python writes it.
pub(super) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{number}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A value for an error message.
pub(super) fn shown<E: From<Mismatch>>(cell: &Cell<'_, E>) -> String {
    let text = match cell.kind() {
        ValueKind::Null => return "null".to_owned(),
        ValueKind::Bytes => cell.with_bytes(|bytes| format!("{} bytes", bytes.len())),
        ValueKind::Text => cell.with_text(|text| format!("{:?}", String::from_utf8_lossy(text))),
        ValueKind::Json | ValueKind::List | ValueKind::Range | ValueKind::Record | ValueKind::Other => {
            let mut text = String::new();
            json_text(cell, &mut text, 0).map(|()| text)
        }
        ValueKind::Interval => cell.interval().map(|(months, days, micros)| {
            format!("an interval of {months} months, {days} days and {micros} microseconds")
        }),
        _ => cell.with_text(|text| String::from_utf8_lossy(text).into_owned()),
    };
    let text = text.unwrap_or_else(|_: E| "the value".to_owned());
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text;
    }
    text.chars().take(SHOWN_CHARACTERS - 3).chain("...".chars()).collect()
}

/// A value as JSON: structs and maps as objects, lists as arrays, and what else JSON has a form of.
///
/// # Errors
/// For a value that it has none of.
pub(super) fn json_text<E: From<Mismatch>>(cell: &Cell<'_, E>, out: &mut String, depth: usize) -> Result<(), E> {
    let no_json = || -> E { Mismatch::wrong_type(format!("{} has no form in JSON", kind_name(cell))).into() };
    if depth > limits::NESTING {
        return Err(no_json());
    }
    if let Some(fields) = cell.fields() {
        out.push('{');
        for (i, (name, field)) in fields.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            put_string(name, out);
            out.push_str(": ");
            json_text(&field, out, depth + 1)?;
        }
        out.push('}');
        return Ok(());
    }
    if let Some(entries) = cell.entries() {
        out.push('{');
        for (i, (key, value)) in entries.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            key.with_text(|key| put_string(&String::from_utf8_lossy(key), out))?;
            out.push_str(": ");
            json_text(&value, out, depth + 1)?;
        }
        out.push('}');
        return Ok(());
    }
    match cell.kind() {
        ValueKind::Null => out.push_str("null"),
        ValueKind::Bool => out.push_str(if cell.bool()? { "true" } else { "false" }),
        ValueKind::Float if !cell.float()?.is_finite() => return Err(no_json()),
        ValueKind::Int | ValueKind::Float | ValueKind::Decimal => cell.with_decimal(|text| out.push_str(text))?,
        ValueKind::Text | ValueKind::Uuid => {
            cell.with_text(|text| put_string(&String::from_utf8_lossy(text), out))?;
        }
        ValueKind::Json => cell.with_text(|text| out.push_str(&String::from_utf8_lossy(text)))?,
        ValueKind::List => {
            out.push('[');
            for i in 0..cell.len()? {
                if i > 0 {
                    out.push_str(", ");
                }
                json_text(&cell.item(i)?, out, depth + 1)?;
            }
            out.push(']');
        }
        _ => return Err(no_json()),
    }
    Ok(())
}

fn kind_name<E: From<Mismatch>>(cell: &Cell<'_, E>) -> String {
    format!("a value of the kind {:?}", cell.kind())
}

fn put_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_alike_with_and_without_room() {
        for (coefficient, scale, wanted) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 3, "-0.005"),
            (1_234, 2, "12.34"),
            (-100, 0, "-100"),
            (i128::MAX, 0, "170141183460469231731687303715884105727"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
            (1, 38, "0.00000000000000000000000000000000000001"),
        ] {
            assert_eq!(Digits::default().decimal(coefficient, scale), Some(wanted));
            assert_eq!(place_point(&coefficient.to_string(), scale), wanted);
        }
        // What has no room.
        assert_eq!(Digits::default().decimal(12, -3), None);
        assert_eq!(Digits::default().decimal(12, 39), None);
        assert_eq!(place_point("12", -3), "12000");
        assert_eq!(place_point("-12", -1), "-120");
        assert_eq!(place_point("0", -3), "0");
        assert_eq!(place_point("-7", 40), format!("-0.{}7", "0".repeat(39)));
    }

    #[test]
    fn floats_are_those_of_python() {
        for (number, wanted) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (-1.25e-300, "-1.25e-300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float_text(number), wanted);
        }
    }

    #[test]
    fn strings_of_json_are_escaped() {
        let mut text = String::new();
        put_string("a\"b\\c\n\u{1}ü", &mut text);
        assert_eq!(text, "\"a\\\"b\\\\c\\n\\u0001ü\"");
    }
}
