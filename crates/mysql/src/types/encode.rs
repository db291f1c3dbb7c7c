//! Values into binary parameters. MySQL: "Binary Protocol Value"; MariaDB: "COM_STMT_EXECUTE".
//!
//! The server takes a parameter in whatever type the client names and converts it as it converts literals, so the
//! type follows the value, not the column. Lists are the exception: see [`Lists`].

use super::ColumnType;
use super::civil::{Clock, MAX_TIME_MICROS, Ymd, fields, length};
use crate::limits::NUMBER_DIGITS;
use crate::packets::body::put_lenenc_bytes;
use crate::packets::command::ParamType;
use headrace_core::{Mismatch, Value, ValueKind};
use std::borrow::Cow;

/// The limit of times with a fraction in MySQL's binary form: 838 hours.
const BINARY_TIME_MICROS: u64 = 838 * 3_600_000_000;
/// `unsigned` of a parameter's type.
const UNSIGNED: u8 = 0x80;

/// How a list is sent as one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Not at all: it is refused.
    Refused,
    /// A VECTOR if all of its items are floats; the server does not report whether it expects one.
    Floats,
    /// A VECTOR: the server expects one.
    Vector,
}

/// Appends a value in binary form and returns its type, `None` for NULL, for which nothing is appended.
///
/// # Errors
/// [`Mismatch`] for values that the server has no type for; the buffer then has part of a value.
#[inline]
pub fn encode_param<V: Value>(
    value: &V,
    lists: impl FnOnce() -> Lists,
    out: &mut Vec<u8>,
) -> Result<Option<ParamType>, V::Error> {
    let kind = value.kind();
    let signed = |kind: ColumnType| Ok(Some([kind.0, 0]));
    match kind {
        ValueKind::Null => Ok(None),
        ValueKind::Int => match value.int() {
            Ok(n) => {
                out.extend_from_slice(&n.to_le_bytes());
                signed(ColumnType::LONGLONG)
            }
            Err(_) => wide_int(value, out).map(Some),
        },
        ValueKind::Text => {
            value.with_text(|text| put_lenenc_bytes(out, text))?;
            signed(ColumnType::VAR_STRING)
        }
        ValueKind::Float => {
            out.extend_from_slice(&finite(value)?.to_le_bytes());
            signed(ColumnType::DOUBLE)
        }
        ValueKind::Bytes => {
            value.with_bytes(|bytes| put_lenenc_bytes(out, bytes))?;
            signed(ColumnType::BLOB)
        }
        ValueKind::Decimal => {
            value.with_decimal(|text| plain_decimal(text).map(|plain| put_lenenc_bytes(out, plain.as_bytes())))??;
            signed(ColumnType::NEWDECIMAL)
        }
        ValueKind::Bool => {
            out.push(u8::from(value.bool()?));
            signed(ColumnType::TINY)
        }
        ValueKind::Date => {
            let date = date_fields(value)?;
            out.push(length::DATE as u8);
            put_date(out, date);
            signed(ColumnType::DATE)
        }
        ValueKind::Timestamp => {
            let (date, clock) = timestamp_fields(value)?;
            put_datetime(out, date, clock);
            signed(ColumnType::DATETIME)
        }
        ValueKind::Time | ValueKind::Interval => {
            put_time(out, time_micros(value, kind)?);
            signed(ColumnType::TIME)
        }
        ValueKind::List => {
            put_lenenc_bytes(out, &vector(value, lists())?);
            signed(ColumnType::BLOB)
        }
        _ => rare(value, kind, out).map(Some),
    }
}

/// Where the value of a parameter goes, as far as its form depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into an expression, or that is not known.
    Expression,
    /// Into a column.
    Column,
    /// Into a column of text or bytes.
    Text,
}

/// [`encode_param`], except for values that MySQL (9.7 is one) mishandles in binary form: times beyond 838 hours with a
/// fraction, which it reports as out of range; timestamps that are stored in a column, which lose their fraction if that is
/// a column of text, all of them if the first parameter of the statement was not text; and times that are
/// stored as text, of whose decimals it leaves out the zeros at the end, of all if the first one had its own type. They are
/// sent as text.
///
/// # Errors
/// As those of [`encode_param`].
#[inline]
pub fn encode_param_for_mysql<V: Value>(
    value: &V,
    target: Destination,
    lists: impl FnOnce() -> Lists,
    out: &mut Vec<u8>,
) -> Result<Option<ParamType>, V::Error> {
    let kind = value.kind();
    if target != Destination::Expression && kind == ValueKind::Timestamp {
        let (date, clock) = timestamp_fields(value)?;
        put_lenenc_bytes(out, format!("{} {}", date.text(), clock.text()).as_bytes());
        return Ok(Some([ColumnType::VAR_STRING.0, 0]));
    }
    if matches!(kind, ValueKind::Time | ValueKind::Interval) {
        let micros = time_micros(value, kind)?;
        let is_long = micros.unsigned_abs() > BINARY_TIME_MICROS && micros % 1_000_000 != 0;
        if is_long || target == Destination::Text {
            put_lenenc_bytes(out, time_text(micros).as_bytes());
            return Ok(Some([ColumnType::VAR_STRING.0, 0]));
        }
    }
    encode_param(value, lists, out)
}

#[inline(never)]
fn rare<V: Value>(value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<ParamType, V::Error> {
    let text = [ColumnType::VAR_STRING.0, 0];
    match kind {
        ValueKind::Json | ValueKind::Jsonb => {
            value.with_json(|json| put_lenenc_bytes(out, json))?;
            Ok(text)
        }
        ValueKind::Uuid | ValueKind::Inet | ValueKind::Cidr => {
            put_lenenc_bytes(out, plain_text(value, kind)?.as_bytes());
            Ok(text)
        }
        ValueKind::Bits => {
            out.extend_from_slice(&bit_number(value)?.to_le_bytes());
            Ok([ColumnType::LONGLONG.0, UNSIGNED])
        }
        ValueKind::Custom => {
            let binary = value.with_custom(0, |bytes, binary| {
                put_lenenc_bytes(out, bytes);
                binary
            })?;
            Ok(if binary { [ColumnType::BLOB.0, 0] } else { text })
        }
        ValueKind::Record => Err(no_list(value, Lists::Refused)),
        _ => Err(no_type(value)),
    }
}

/// A whole number that does not fit an i64: unsigned, or a decimal, which has up to 65 digits.
#[inline(never)]
fn wide_int<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<ParamType, V::Error> {
    Ok(value.with_decimal(|text| match text.parse::<u64>() {
        Ok(n) => {
            out.extend_from_slice(&n.to_le_bytes());
            Ok([ColumnType::LONGLONG.0, UNSIGNED])
        }
        Err(_) => {
            put_lenenc_bytes(out, plain_int(text)?.as_bytes());
            Ok([ColumnType::NEWDECIMAL.0, 0])
        }
    })??)
}

/// A whole number that the server reads as what it is.
pub(super) fn plain_int(text: &str) -> Result<&str, Mismatch> {
    if is_too_long(text) { Err(no_number(text)) } else { Ok(text) }
}

/// Returns true if a whole number, or the digits of one before the point, has more digits than the server reads.
fn is_too_long(whole: &str) -> bool {
    whole.trim_start_matches(['-', '0']).len() > NUMBER_DIGITS
}

#[cold]
fn no_number(text: &str) -> Mismatch {
    let shown = headrace_core::shortened(text);
    Mismatch::out_of_range(format!("{shown} does not fit DECIMAL (finite numbers of 65 digits)"))
}

#[cold]
pub(super) fn no_type<V: Value>(value: &V) -> V::Error {
    let hint = match value.kind() {
        ValueKind::TimestampTz => ": its zone would be lost; convert it to the session's time zone and drop the zone",
        ValueKind::TimeTz => ": its zone would be lost",
        _ => "",
    };
    Mismatch::wrong_type(format!("{} cannot be sent to MySQL or MariaDB{hint}", value.describe())).into()
}

#[cold]
pub(super) fn outside<V: Value>(value: &V, kind: &str, bounds: &str) -> V::Error {
    Mismatch::out_of_range(format!("{} does not fit {kind} ({bounds})", value.describe())).into()
}

/// A floating-point number; the server has no infinity and no NaN.
pub(super) fn finite<V: Value>(value: &V) -> Result<f64, V::Error> {
    let number = value.float()?;
    if number.is_finite() { Ok(number) } else { Err(outside(value, "DOUBLE", "finite numbers")) }
}

/// A decimal number without exponent: with one, the server would read the literal as DOUBLE, and round it. DECIMAL has
/// 65 digits, so an exponent beyond hundreds is out of its range, or nothing.
pub(super) fn plain_decimal(text: &str) -> Result<Cow<'_, str>, Mismatch> {
    let outside = || no_number(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| outside())?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.strip_prefix(['-', '+']) {
        Some(digits) => (&mantissa[..1], digits),
        None => ("", mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !number || whole.len() + fraction.len() == 0 || exponent.unsigned_abs() > 300 {
        return Err(outside());
    }
    if exponent == 0 {
        return if is_too_long(whole) { Err(outside()) } else { Ok(Cow::Borrowed(mantissa)) };
    }
    let all = format!("{whole}{fraction}");
    let point = whole.len() as i64 + i64::from(exponent);
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
    let split = point.clamp(0, all.len() as i64) as usize;
    let whole = format!("{}{}", &all[..split], zeros(point - all.len() as i64));
    let fraction = format!("{}{}", zeros(-point), &all[split..]);
    if is_too_long(&whole) {
        return Err(outside());
    }
    let whole = if whole.is_empty() { "0" } else { &whole };
    Ok(Cow::Owned(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }))
}

pub(super) fn date_fields<V: Value>(value: &V) -> Result<Ymd, V::Error> {
    Ymd::of_days(value.date()?).ok_or_else(|| outside(value, "DATE", "years 0 to 9999"))
}

pub(super) fn timestamp_fields<V: Value>(value: &V) -> Result<(Ymd, Clock), V::Error> {
    fields(value.timestamp()?).ok_or_else(|| outside(value, "DATETIME", "years 0 to 9999"))
}

/// A time of day, or a span without calendar months.
pub(super) fn time_micros<V: Value>(value: &V, kind: ValueKind) -> Result<i64, V::Error> {
    let micros = match kind {
        ValueKind::Time => value.time()?,
        _ => {
            let (months, days, micros) = value.interval()?;
            if months != 0 {
                return Err(outside(value, "TIME", "no calendar months"));
            }
            i64::from(days).saturating_mul(headrace_core::civil::DAY_MICROS).saturating_add(micros)
        }
    };
    if micros.unsigned_abs() > MAX_TIME_MICROS as u64 {
        return Err(outside(value, "TIME", "-838:59:59.999999 to 838:59:59.999999"));
    }
    Ok(micros)
}

/// A time as text.
pub(super) fn time_text(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", Clock::of_micros(micros.abs()).text())
}

/// UUIDs and addresses as the text that the server's own types read.
pub(super) fn plain_text<V: Value>(value: &V, kind: ValueKind) -> Result<String, V::Error> {
    if kind == ValueKind::Uuid {
        let hex = format!("{:032x}", u128::from_be_bytes(value.uuid()?));
        return Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"));
    }
    let (bytes, len, prefix) = value.inet()?;
    let address: std::net::IpAddr = match len {
        4 => [bytes[0], bytes[1], bytes[2], bytes[3]].into(),
        _ => bytes.into(),
    };
    Ok(if kind == ValueKind::Inet && usize::from(prefix) == len * 8 {
        address.to_string()
    } else {
        format!("{address}/{prefix}")
    })
}

/// A string of up to 64 bits as the number that BIT takes.
pub(super) fn bit_number<V: Value>(value: &V) -> Result<u64, V::Error> {
    let (bits, bytes) = value.bits()?;
    if bits > 64 {
        return Err(outside(value, "BIT", "64 bits"));
    }
    let mut padded = [0; 8];
    padded[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    Ok(u64::from_be_bytes(padded).checked_shr(64 - bits as u32).unwrap_or(0))
}

/// A list of numbers in the form of VECTOR: four-byte floats.
pub(super) fn vector<V: Value>(value: &V, lists: Lists) -> Result<Vec<u8>, V::Error> {
    let len = value.len()?;
    let mut out = Vec::with_capacity(4 * len);
    for i in 0..len {
        let item = value.item(i)?;
        match (item.kind(), lists) {
            (ValueKind::Float, Lists::Floats | Lists::Vector) | (ValueKind::Int, Lists::Vector) => {}
            _ => return Err(no_list(value, lists)),
        }
        let narrow = finite(&item)? as f32;
        if narrow.is_infinite() {
            return Err(outside(&item, "VECTOR", "about -3.4e38 to 3.4e38"));
        }
        out.extend_from_slice(&narrow.to_le_bytes());
    }
    if len == 0 { Err(no_list(value, lists)) } else { Ok(out) }
}

#[cold]
pub(super) fn no_list<V: Value>(value: &V, lists: Lists) -> V::Error {
    let vector = match lists {
        Lists::Refused => "the server expects no VECTOR here",
        Lists::Floats => "a VECTOR is a list of floats",
        Lists::Vector => "a VECTOR is a list of numbers",
    };
    let tuple = match value.kind() {
        ValueKind::Record => {
            "; fetch(), fetchrow() and fetchval() take the values one by one, execute() takes one sequence of them"
        }
        _ => "",
    };
    Mismatch::wrong_type(format!(
        "{} cannot be sent as one parameter: after IN write the placeholder without parentheses (IN %s), for a JSON \
         column wrap it in headrace.types.Json; {vector}{tuple}",
        value.describe()
    ))
    .into()
}

fn put_date(out: &mut Vec<u8>, date: Ymd) {
    out.extend_from_slice(&date.year.to_le_bytes());
    out.extend_from_slice(&[date.month, date.day]);
}

fn put_datetime(out: &mut Vec<u8>, date: Ymd, clock: Clock) {
    let start = out.len();
    out.push(0);
    put_date(out, date);
    if clock != Clock::default() {
        out.extend_from_slice(&[clock.hours as u8, clock.minutes, clock.seconds]);
        if clock.micros != 0 {
            out.extend_from_slice(&clock.micros.to_le_bytes());
        }
    }
    out[start] = (out.len() - start - 1) as u8;
}

fn put_time(out: &mut Vec<u8>, micros: i64) {
    if micros == 0 {
        return out.push(length::ZERO as u8);
    }
    let clock = Clock::of_micros(micros.abs());
    out.push(if clock.micros == 0 { length::TIME as u8 } else { length::TIME_MICROS as u8 });
    out.push(u8::from(micros < 0));
    out.extend_from_slice(&(clock.hours / 24).to_le_bytes());
    out.extend_from_slice(&[(clock.hours % 24) as u8, clock.minutes, clock.seconds]);
    if clock.micros != 0 {
        out.extend_from_slice(&clock.micros.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_lose_their_exponent_and_nothing_else() {
        for (text, plain) in [
            ("1.50", "1.50"),
            ("-0", "-0"),
            ("1E+3", "1000"),
            ("-1.5e3", "-1500"),
            ("1.2345E+2", "123.45"),
            ("1.5E-3", "0.0015"),
            ("15E-1", "1.5"),
            ("+12.5E1", "+125"),
            ("1.23456789012345678901E+20", "123456789012345678901"),
            (".5", ".5"),
        ] {
            assert_eq!(plain_decimal(text).unwrap(), plain, "{text}");
        }
        for text in ["", "NaN", "Infinity", "-Infinity", "1E999", "1E99999999999", "1x", "-", ".", "1.2.3"] {
            assert!(plain_decimal(text).is_err(), "{text}");
        }
        let longest = "9".repeat(NUMBER_DIGITS);
        for text in [format!("-{longest}.5"), format!("{longest}E0"), format!("000{longest}")] {
            assert!(plain_decimal(&text).is_ok(), "{text}");
        }
        for text in [format!("1{longest}"), format!("-{longest}E1"), "1E+81".to_owned(), format!("1{longest}.5E-0")] {
            assert!(plain_decimal(&text).is_err(), "{text}");
        }
        assert!(plain_int(&format!("-{longest}")).is_ok());
        assert!(plain_int(&format!("-1{longest}")).is_err());
    }
}
