//! Values as the text of SQL literals, without the quotes: for types that have no binary form here, and for parameters
//! whose type only the server has.

use super::encode::put_text;
use super::numeric;
use super::write::TextWriter;
use crate::limits;
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::params::RangeParts;
use headrace_core::{Container, Mismatch, Sink, Value, ValueKind};

/// Writes the text of a value that is not NULL.
pub fn write<V: Value>(value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
    match kind {
        ValueKind::Bool => out.extend_from_slice(if value.bool()? { b"true" } else { b"false" }),
        ValueKind::Date => civil::put_date(value.date()?, out),
        ValueKind::Time => out.extend_from_slice(civil::time_text(value.time()?).as_bytes()),
        ValueKind::TimeTz => {
            let (micros, east) = value.timetz()?;
            let (sign, east) = if east < 0 { ('-', -east) } else { ('+', east) };
            let zone = format!("{sign}{:02}:{:02}:{:02}", east / 3600, east / 60 % 60, east % 60);
            out.extend_from_slice((civil::time_text(micros) + &zone).as_bytes());
        }
        ValueKind::Timestamp => out.extend_from_slice(civil::timestamp_text(value.timestamp()?, false).as_bytes()),
        ValueKind::TimestampTz => out.extend_from_slice(civil::timestamp_text(value.timestamptz()?, true).as_bytes()),
        ValueKind::Interval => {
            let (months, days, micros) = value.interval()?;
            out.extend_from_slice(interval_text(months, days, micros).as_bytes());
        }
        ValueKind::Bytes => {
            value.with_bytes(|bytes| {
                out.extend_from_slice(b"\\x");
                out.extend(bytes.iter().flat_map(|b| {
                    [b"0123456789abcdef"[usize::from(b >> 4)], b"0123456789abcdef"[usize::from(b & 15)]]
                }));
            })?
        }
        ValueKind::Decimal => value.with_decimal(|text| numeric::write_text(text, out))??,
        ValueKind::Json | ValueKind::Jsonb => value.with_json(|json| out.extend_from_slice(json))?,
        ValueKind::List | ValueKind::Multirange => {
            let len = value.len()?;
            let delimiter = delimiter(value)?;
            out.push(b'{');
            for i in 0..len {
                if i > 0 {
                    out.push(delimiter);
                }
                let item = value.item(i)?;
                match item.kind() {
                    ValueKind::Null => out.extend_from_slice(b"NULL"),
                    kind @ ValueKind::List => write(&item, kind, out)?,
                    kind if value.kind() == ValueKind::Multirange => write(&item, kind, out)?,
                    kind => quoted(&item, kind, b"{},", out)?,
                }
            }
            out.push(b'}');
        }
        ValueKind::Record => {
            if let Some(shape) = value.geometry() {
                return put_geometry(value, shape, out);
            }
            out.push(b'(');
            for i in 0..value.len()? {
                if i > 0 {
                    out.push(b',');
                }
                let item = value.item(i)?;
                match item.kind() {
                    ValueKind::Null => {}
                    kind => quoted(&item, kind, b"(),", out)?,
                }
            }
            out.push(b')');
        }
        ValueKind::Range => {
            put_range(&value.range()?, out, |bound, out| quoted(bound, bound.kind(), b"()[],", out))?;
        }
        // An item: the bytes of a value itself are those of a parameter.
        ValueKind::Custom => {
            let mut made = Vec::new();
            if value.with_custom(0, |bytes, binary| {
                made.extend_from_slice(bytes);
                binary
            })? {
                let message = format!(
                    "{} cannot be sent inside of a value as text: its dumper returns bytes; let it return str",
                    value.describe()
                );
                return Err(Mismatch::wrong_type(message).into());
            }
            put_text(out, &made)?;
        }
        ValueKind::Set | ValueKind::Opaque | ValueKind::Other => {
            return Err(Mismatch::wrong_type(format!(
                "{} cannot be sent: no type of PostgreSQL is known for it; convert it, or register a dumper",
                value.describe()
            ))
            .into());
        }
        _ => value.with_text(|text| put_text(out, text))??,
    }
    Ok(())
}

/// What is between the items of an array: of boxes, whose text has commas without brackets around them, a semicolon.
fn delimiter<V: Value>(list: &V) -> Result<u8, V::Error> {
    for i in 0..list.len()? {
        let item = list.item(i)?;
        match item.kind() {
            ValueKind::Null => {}
            ValueKind::List => return delimiter(&item),
            ValueKind::Record if item.geometry() == Some(Container::Box) => return Ok(b';'),
            _ => break,
        }
    }
    Ok(b',')
}

/// The text of a geometric value: the server's input functions do not take that of a record.
fn put_geometry<V: Value>(value: &V, shape: Container, out: &mut Vec<u8>) -> Result<(), V::Error> {
    let (count, points) = match shape {
        Container::Point => (2, 0),
        Container::Line => (3, 0),
        Container::Circle => (3, 1),
        _ => (4, 2),
    };
    let (numbers, shape, points) = match shape {
        Container::Path { .. } | Container::Polygon => {
            let (numbers, closed) = value.points()?;
            let points = numbers.len() / 2;
            (numbers, closed.map_or(shape, |closed| Container::Path { closed }), points)
        }
        _ => (value.floats(count)?, shape, points),
    };
    if !matches!(shape, Container::Path { .. } | Container::Polygon) && numbers.len() != count {
        let message = format!("{} cannot be sent as a geometric value: it has {count} numbers", value.describe());
        return Err(Mismatch::wrong_type(message).into());
    }
    let mut text = TextWriter::default();
    text.begin(shape, points);
    let (pairs, rest) = numbers.split_at(2 * points);
    for pair in pairs.chunks_exact(2) {
        text.begin(Container::Point, 2);
        pair.iter().for_each(|number| text.float(*number));
        text.end();
    }
    rest.iter().for_each(|number| text.float(*number));
    text.end();
    out.extend_from_slice(&text.finish().unwrap_or_default());
    Ok(())
}

/// An interval with every sign shown: with IntervalStyle sql_standard the server takes that of the first part for the
/// others' otherwise.
pub(super) fn interval_text(months: i32, days: i32, micros: i64) -> String {
    match (months, days, micros) {
        (i32::MAX, i32::MAX, i64::MAX) => return "infinity".to_owned(),
        (i32::MIN, i32::MIN, i64::MIN) => return "-infinity".to_owned(),
        _ => {}
    }
    let sign = if micros < 0 { '-' } else { '+' };
    let micros = micros.unsigned_abs();
    let (hours, rest) = (micros / 3_600_000_000, (micros % 3_600_000_000) as i64);
    let clock = civil::time_text(rest % DAY_MICROS);
    format!("{months:+} mons {days:+} days {sign}{hours:02}{}", &clock[2..])
}

/// The text of an item inside an array, a record or a range, in double quotes if it needs them, as the server writes
/// it: it may become the text of a column. `signs` are the characters with a meaning there.
fn quoted<V: Value>(value: &V, kind: ValueKind, signs: &[u8], out: &mut Vec<u8>) -> Result<(), V::Error> {
    let mut text = Vec::new();
    write(value, kind, &mut text)?;
    // Each level of what is inside each other doubles the quotes.
    if text.len() > limits::MESSAGE_BYTES / 4 {
        return Err(Mismatch::out_of_range("the text of a value is more than PostgreSQL takes (1 GiB)").into());
    }
    let special = |b: &u8| matches!(b, b'"' | b'\\' | b'\x0b') || b.is_ascii_whitespace() || signs.contains(b);
    if !text.is_empty() && !text.iter().any(special) && !text.eq_ignore_ascii_case(b"null") {
        out.extend_from_slice(&text);
        return Ok(());
    }
    put_quoted(&text, out);
    Ok(())
}

/// The text of a range, whose bounds `put` writes.
pub(super) fn put_range<V: Value>(
    parts: &RangeParts<V>,
    out: &mut Vec<u8>,
    put: impl Fn(&V, &mut Vec<u8>) -> Result<(), V::Error>,
) -> Result<(), V::Error> {
    if parts.empty {
        out.extend_from_slice(b"empty");
        return Ok(());
    }
    out.push(if parts.lower_inc { b'[' } else { b'(' });
    if let Some(lower) = &parts.lower {
        put(lower, out)?;
    }
    out.push(b',');
    if let Some(upper) = &parts.upper {
        put(upper, out)?;
    }
    out.push(if parts.upper_inc { b']' } else { b')' });
    Ok(())
}

/// The text of an item in double quotes.
pub(super) fn put_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}
