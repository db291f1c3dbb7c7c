//! Scalars in binary form into sinks.

use super::builtin::Scalar;
use super::decode::split_u32;
use super::{EPOCH_DAYS, EPOCH_MICROS, extension, numeric};
use headrace_core::civil;
use headrace_core::{Container, Inet, Sink};

#[inline]
fn i16_of(body: &[u8]) -> Option<i16> {
    Some(i16::from_be_bytes(body.try_into().ok()?))
}

#[inline]
fn i32_of(body: &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(body.try_into().ok()?))
}

#[inline]
fn i64_of(body: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(body.try_into().ok()?))
}

/// Converts days since 2000 to days since 1970; the infinities stay, and values that would overflow become infinite.
#[inline]
pub(super) fn unix_days(days: i32) -> i32 {
    if days == i32::MIN { days } else { days.saturating_add(EPOCH_DAYS) }
}

/// Converts microseconds since 2000 to microseconds since 1970, `None` if they do not fit 64 bits; the infinities stay.
#[inline]
pub(super) fn unix_micros(micros: i64) -> Option<i64> {
    if matches!(micros, i64::MIN | i64::MAX) { Some(micros) } else { micros.checked_add(EPOCH_MICROS) }
}

/// The text of a timestamp of the last years that PostgreSQL has (294247 to 294276), from microseconds since 2000.
#[cold]
fn late(micros: i64, utc: bool) -> String {
    let (year, month, day) = civil::civil_from_days(micros.div_euclid(civil::DAY_MICROS) + i64::from(EPOCH_DAYS));
    let clock = civil::time_text(micros.rem_euclid(civil::DAY_MICROS));
    format!("{year:04}-{month:02}-{day:02} {clock}{}", if utc { "+00" } else { "" })
}

#[inline]
pub(super) fn scalar_value<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) -> Option<()> {
    match scalar {
        Scalar::Int4 => sink.int(i64::from(i32_of(body)?)),
        Scalar::Text => sink.text(body),
        Scalar::Float8 => sink.float(f64::from_bits(i64_of(body)? as u64)),
        Scalar::Int8 => sink.int(i64_of(body)?),
        Scalar::Int2 => sink.int(i64::from(i16_of(body)?)),
        Scalar::Bool => match body {
            [0] => sink.bool(false),
            [1] => sink.bool(true),
            _ => return None,
        },
        Scalar::Date => sink.date(unix_days(i32_of(body)?)),
        Scalar::Timestamp => match unix_micros(i64_of(body)?) {
            Some(micros) => sink.timestamp(micros),
            None => sink.no_such_date(&late(i64_of(body)?, false)),
        },
        Scalar::TimestampTz => match unix_micros(i64_of(body)?) {
            Some(micros) => sink.timestamptz(micros),
            None => sink.no_such_date(&late(i64_of(body)?, true)),
        },
        Scalar::Float4 => sink.float(f64::from(f32::from_bits(i32_of(body)? as u32))),
        Scalar::Oid => sink.int(i64::from(i32_of(body)? as u32)),
        Scalar::UInt8 => sink.uint(i64_of(body)? as u64),
        Scalar::Bytea => sink.bytes(body),
        Scalar::Uuid => sink.uuid(body.try_into().ok()?),
        Scalar::Json => sink.json(body),
        Scalar::Jsonb => match body {
            [1, json @ ..] => sink.json(json),
            _ => return None,
        },
        Scalar::Time => sink.time(i64_of(body)?),
        _ => return rare_scalar(scalar, body, sink),
    }
    Some(())
}

#[inline(never)]
fn rare_scalar<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) -> Option<()> {
    match scalar {
        Scalar::Numeric => {
            if let Some((negative, coefficient, scale)) = numeric::parts(body) {
                sink.decimal128(negative, coefficient, scale);
                return Some(());
            }
            let mut text = Vec::with_capacity(48);
            numeric::decode(body, &mut text)?;
            sink.decimal(std::str::from_utf8(&text).ok()?);
        }
        Scalar::TimeTz => {
            let (micros, west) = body.split_first_chunk::<8>()?;
            sink.timetz(i64::from_be_bytes(*micros), i32_of(west)?.checked_neg()?);
        }
        Scalar::Interval => {
            let (micros, rest) = body.split_first_chunk::<8>()?;
            let (days, months) = rest.split_first_chunk::<4>()?;
            sink.interval(i32_of(months)?, i32::from_be_bytes(*days), i64::from_be_bytes(*micros));
        }
        Scalar::Inet => match body {
            [2 | 3, prefix, network, len, address @ ..]
                if address.len() == usize::from(*len)
                    && matches!(len, 4 | 16)
                    && usize::from(*prefix) <= address.len() * 8 =>
            {
                sink.inet(Inet { address, prefix: *prefix, network: *network != 0 });
            }
            _ => return None,
        },
        Scalar::MacAddr if matches!(body.len(), 6 | 8) => {
            let parts: Vec<String> = body.iter().map(|b| format!("{b:02x}")).collect();
            sink.text(parts.join(":").as_bytes());
        }
        Scalar::Bits => {
            let (bits, bytes) = split_u32(body)?;
            let bits = bits as usize;
            if bytes.len() != bits.div_ceil(8) {
                return None;
            }
            sink.bits(bits, bytes);
        }
        Scalar::Char => match body {
            [byte] if byte.is_ascii() => sink.text(if *byte == 0 { b"" } else { body }),
            [_] => sink.bytes(body),
            _ => return None,
        },
        Scalar::Void => sink.null(),
        Scalar::Point => floats(Container::Point, body, 2, sink)?,
        Scalar::Line => floats(Container::Line, body, 3, sink)?,
        Scalar::LineSegment => points(Container::LineSegment, body, Some(2), sink)?,
        Scalar::Box => points(Container::Box, body, Some(2), sink)?,
        Scalar::Circle => {
            let (centre, radius) = body.split_at_checked(16)?;
            let radius = f64::from_bits(i64_of(radius)? as u64);
            sink.begin(Container::Circle, 2);
            floats(Container::Point, centre, 2, sink)?;
            sink.float(radius);
            sink.end();
        }
        Scalar::Path => {
            let (closed, rest) = body.split_first()?;
            let (n, rest) = split_u32(rest)?;
            points(Container::Path { closed: *closed != 0 }, rest, Some(n as usize), sink)?;
        }
        Scalar::Polygon => {
            let (n, rest) = split_u32(body)?;
            points(Container::Polygon, rest, Some(n as usize), sink)?;
        }
        other => extension::binary(other, body, sink)?,
    }
    Some(())
}

fn floats<S: Sink>(container: Container, body: &[u8], n: usize, sink: &mut S) -> Option<()> {
    if body.len() != n * 8 {
        return None;
    }
    sink.begin(container, n);
    for number in body.chunks_exact(8) {
        sink.float(f64::from_bits(i64_of(number)? as u64));
    }
    sink.end();
    Some(())
}

fn points<S: Sink>(container: Container, body: &[u8], n: Option<usize>, sink: &mut S) -> Option<()> {
    if !body.len().is_multiple_of(16) || n.is_some_and(|n| n != body.len() / 16) {
        return None;
    }
    sink.begin(container, body.len() / 16);
    for point in body.chunks_exact(16) {
        floats(Container::Point, point, 2, sink)?;
    }
    sink.end();
    Some(())
}
