//! Parameters into SQ_BIND.
//!
//! A parameter has a type of its own, and the server converts it to the type that the statement needs. If an INSERT or
//! an UPDATE assigns it directly to a column, the column is known, so that text goes into TEXT unchanged, and a value
//! that is too long is refused here: the server would truncate it silently.

use super::{DATE_EPOCH, code, extended, literal, packed, qualifier};
use crate::codeset::CodeSet;
use crate::messages::server::Field;
use crate::messages::{client, pad, put_char, put_i32, put_u16, tag::SQ_BIND};
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::{Mismatch, Parameters, Value, ValueKind};
use std::borrow::Cow;

/// Bytes of CHAR that one parameter can carry.
const CHAR_BYTES: usize = 32_767;

/// Appends SQ_BIND for one row, and the values of its BYTE and TEXT parameters.
///
/// `targets` are the columns that the parameters fill, if they are known. For a routine that is called by its handle
/// they are its arguments: then a value takes their types (`exact`), because the server converts nothing.
///
/// # Errors
/// The error of the value, or a [`Mismatch`] for values that Informix cannot store. What was appended must then be
/// removed.
pub fn bind<P: Parameters>(
    params: &P,
    targets: &[Option<Field>],
    exact: bool,
    codeset: CodeSet,
    out: &mut Vec<u8>,
) -> Result<(), P::Error> {
    // Most parameters take no more. Of one vector that grows for each of its parts all would be copied again and again.
    out.reserve(4 + 16 * params.count());
    put_u16(out, SQ_BIND);
    put_u16(out, params.count() as u16);
    let mut large = Vec::new();
    for i in 0..params.count() {
        let value = params.get(i)?;
        let target = targets.get(i).and_then(Option::as_ref);
        parameter(&value, target, exact, codeset, out, &mut large).map_err(|error| match error {
            ParameterError::Mismatch(mut mismatch) => {
                let named = target.filter(|field| !field.name.is_empty());
                let name = named.map_or(String::new(), |field| format!(" ('{}')", field.name));
                mismatch.message = format!("parameter {}{name}: {}", i + 1, mismatch.message);
                P::Error::from(mismatch)
            }
            ParameterError::Own(error) => error,
        })?;
    }
    if !large.is_empty() {
        client::bbind(out, &large);
    }
    Ok(())
}

enum ParameterError<E> {
    Mismatch(Mismatch),
    Own(E),
}

impl<E> From<Mismatch> for ParameterError<E> {
    fn from(mismatch: Mismatch) -> Self {
        ParameterError::Mismatch(mismatch)
    }
}

/// Type, no owner and name, indicator 0, precision.
fn head(out: &mut Vec<u8>, type_code: u16, precision: u16) {
    put_u16(out, type_code);
    put_u16(out, 0);
    put_u16(out, precision);
}

fn parameter<V: Value>(
    value: &V,
    target: Option<&Field>,
    exact: bool,
    codeset: CodeSet,
    out: &mut Vec<u8>,
    large: &mut Vec<Vec<u8>>,
) -> Result<(), ParameterError<V::Error>> {
    let own = ParameterError::Own;
    let wanted = target.map(|field| field.type_word & 0xff);
    match value.kind() {
        ValueKind::Null => {
            put_u16(out, target.map_or(code::CHAR, null_type));
            out.extend_from_slice(&[0xff, 0xff, 0, 0]);
        }
        ValueKind::Bool => boolean(value.bool().map_err(own)?, target, out),
        ValueKind::Int => match value.int() {
            Ok(number) => integer(number, wanted.filter(|_| exact), out),
            // More than 64 bits: DECIMAL has 32 digits.
            Err(_) => value.with_decimal(|text| decimal(text, out)).map_err(own)??,
        },
        ValueKind::Float => {
            let number = value.float().map_err(own)?;
            if !number.is_finite() {
                return Err(Mismatch::out_of_range(format!("{} does not fit FLOAT", value.describe())).into());
            }
            head(out, code::FLOAT, 0);
            out.extend_from_slice(&number.to_be_bytes());
        }
        ValueKind::Decimal => value.with_decimal(|text| decimal(text, out)).map_err(own)??,
        ValueKind::Date => date(value.date().map_err(own)?, out)?,
        ValueKind::Time => time(value.time().map_err(own)?, out),
        ValueKind::Timestamp => timestamp(value.timestamp().map_err(own)?, out)?,
        ValueKind::Interval => {
            let (months, days, micros) = value.interval().map_err(own)?;
            let column = target.filter(|field| field.type_word & 0xff == code::INTERVAL);
            interval(months, days, micros, column.map_or_else(|| value.is_calendar(), counts_months), out)?;
        }
        ValueKind::Bytes | ValueKind::Text if target.is_some_and(is_object) => {
            return Err(Mismatch::wrong_type(format!(
                "{} is not a smart large object; make one with create_lob(), write to it, and give its locator",
                value.describe()
            ))
            .into());
        }
        ValueKind::Bytes if !exact && target.is_some_and(is_text) => {
            let name =
                target.map_or(String::new(), |field| super::name(field.type_word, &field.type_name, field.length));
            let why = format!("{} is not text, which {name} holds; decode it first", value.describe());
            return Err(Mismatch::wrong_type(why).into());
        }
        ValueKind::Bytes => value.with_bytes(|bytes| descriptor(code::BYTE, bytes, out, large)).map_err(own)??,
        ValueKind::Text if exact && wanted == Some(code::LVARCHAR) => {
            value.with_text(|utf8| lvarchar(utf8, codeset, b"lvarchar", out)).map_err(own)??;
        }
        ValueKind::List | ValueKind::Record if target.is_some_and(|field| field.extended_id == extended::JSON) => {
            value.with_json(|utf8| text(utf8, target, codeset, out, large)).map_err(own)??;
        }
        ValueKind::List | ValueKind::Set | ValueKind::Record => {
            if let Some(field) = target.filter(|field| !exact && !may_hold_items(field)) {
                let name = super::name(field.type_word, &field.type_name, field.length);
                return Err(Mismatch::wrong_type(format!("{} does not go into {name}", value.describe())).into());
            }
            let mut text = String::new();
            literal::write(value, wanted, 0, &mut text).map_err(own)?;
            lvarchar(text.as_bytes(), codeset, b"", out)?;
        }
        ValueKind::Opaque => value.with_opaque(|name, bytes| opaque(name, bytes, codeset, out)).map_err(own)??,
        ValueKind::Text | ValueKind::Uuid => {
            value.with_text(|utf8| text(utf8, target, codeset, out, large)).map_err(own)??;
        }
        ValueKind::Json | ValueKind::Jsonb => {
            value.with_json(|utf8| text(utf8, target, codeset, out, large)).map_err(own)??;
        }
        ValueKind::Custom => {
            let made = value.with_custom(0, |bytes, binary| match binary {
                true => descriptor(code::BYTE, bytes, out, large),
                false => text(bytes, target, codeset, out, large),
            });
            made.map_err(own)??;
        }
        ValueKind::TimestampTz | ValueKind::TimeTz => {
            return Err(Mismatch::wrong_type(format!(
                "{} has a time zone, and no type of Informix has one; convert it to the zone you keep and drop tzinfo",
                value.describe()
            ))
            .into());
        }
        _ => {
            return Err(Mismatch::wrong_type(format!("{} has no type in Informix", value.describe())).into());
        }
    }
    Ok(())
}

/// NULL of a built-in column's own type; of any other as CHAR, which the server converts.
fn null_type(field: &Field) -> u16 {
    match field.type_word & 0xff {
        type_code if client::is_named(type_code) => code::CHAR,
        code::SERIAL => code::INTEGER,
        code::SERIAL8 => code::INT8,
        code::BIGSERIAL => code::BIGINT,
        type_code => type_code,
    }
}

fn boolean(value: bool, target: Option<&Field>, out: &mut Vec<u8>) {
    let target = target.map_or(code::BOOLEAN, |field| field.type_word & 0xff);
    if matches!(target, code::SMALLINT | code::INTEGER | code::BIGINT | code::INT8 | code::DECIMAL) {
        head(out, code::SMALLINT, 0x0500);
        put_u16(out, u16::from(value));
        return;
    }
    put_u16(out, code::BOOLEAN);
    put_char(out, b"informix");
    put_char(out, b"boolean");
    put_u16(out, 0);
    put_u16(out, 1);
    put_i32(out, 1);
    out.extend_from_slice(&[u8::from(value), 0]);
}

fn integer(value: i64, wanted: Option<u16>, out: &mut Vec<u8>) {
    if wanted == Some(code::INT8) && value != i64::MIN {
        head(out, code::INT8, 0x1300);
        super::write_int8(value, out);
        return;
    }
    if wanted == Some(code::BIGINT) && value != i64::MIN {
        head(out, code::BIGINT, 0x1300);
        out.extend_from_slice(&value.to_be_bytes());
        return;
    }
    match i32::try_from(value) {
        // The smallest number of each type represents NULL.
        Ok(small) if small != i32::MIN => {
            head(out, code::INTEGER, 0x0a00);
            put_i32(out, small);
        }
        _ if value != i64::MIN => {
            head(out, code::BIGINT, 0x1300);
            out.extend_from_slice(&value.to_be_bytes());
        }
        _ => {
            let number = packed::decimal(&value.to_string()).expect("19 digits fit");
            head(out, code::DECIMAL, number.scale as u16);
            put_char(out, &number.packed);
        }
    }
}

/// Text as LVARCHAR, which the server has casts from to every type that has a text form.
fn lvarchar(utf8: &[u8], codeset: CodeSet, name: &[u8], out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let bytes = encoded(utf8, codeset)?;
    if bytes.len() > CHAR_BYTES {
        return Err(Mismatch::out_of_range(format!("text of {} bytes; LVARCHAR holds {CHAR_BYTES}", bytes.len())));
    }
    named(code::LVARCHAR, name, &bytes, out);
    Ok(())
}

fn opaque(name: &str, bytes: &[u8], codeset: CodeSet, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let name = encoded(name.as_bytes(), codeset)?;
    if i32::try_from(bytes.len()).is_err() {
        return Err(Mismatch::out_of_range("a value of more than 2 GiB"));
    }
    named(code::SENDRECV, &name, bytes, out);
    Ok(())
}

/// A value of a type that is identified by its name; an empty owner matches any owner of the type.
fn named(type_code: u16, name: &[u8], bytes: &[u8], out: &mut Vec<u8>) {
    put_u16(out, type_code);
    put_char(out, b"");
    put_char(out, name);
    put_u16(out, 0);
    put_u16(out, 0);
    put_i32(out, bytes.len() as i32);
    out.extend_from_slice(bytes);
    pad(out, bytes.len());
}

/// Returns true if a column may be of a collection or row type, or of one made of such.
fn may_hold_items(field: &Field) -> bool {
    match field.type_word & 0xff {
        code::SET..=code::COLLECTION => true,
        code::UDTVAR | code::UDTFIXED => {
            !matches!(field.extended_id, extended::LVARCHAR | extended::BOOLEAN | extended::BLOB | extended::CLOB)
        }
        _ => false,
    }
}

/// Returns true if a column stores text in the row itself.
fn is_text(field: &Field) -> bool {
    matches!(field.type_word & 0xff, code::CHAR | code::VARCHAR | code::NCHAR | code::NVARCHAR | code::LVARCHAR)
        || field.extended_id == extended::LVARCHAR
}

/// Returns true if a column stores smart large objects.
fn is_object(field: &Field) -> bool {
    matches!(field.extended_id, extended::BLOB | extended::CLOB) && field.type_word & 0xff == code::UDTFIXED
}

fn decimal(text: &str, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let number = packed::decimal(text).map_err(Mismatch::out_of_range)?;
    head(out, code::DECIMAL, number.scale as u16);
    put_char(out, &number.packed);
    Ok(())
}

fn date(days: i32, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let counted = days.checked_add(DATE_EPOCH).filter(|_| days != i32::MAX && days != i32::MIN);
    let counted = counted.ok_or_else(|| Mismatch::out_of_range("DATE has no infinity"))?;
    head(out, code::DATE, 0);
    put_i32(out, counted);
    Ok(())
}

fn packed_value(out: &mut Vec<u8>, type_code: u16, word: u16, negative: bool, pairs: &[u8]) {
    let digits = i32::from(word >> 8);
    let last = i32::from(word & 15);
    let mut value = Vec::with_capacity(pairs.len() + 1);
    packed::write(&mut value, negative, (digits + 10 - last + 1) / 2, pairs);
    head(out, type_code, word);
    put_char(out, &value);
}

fn word(digits: u8, first: u8, last: u8) -> u16 {
    u16::from(digits) << 8 | u16::from(first) << 4 | u16::from(last)
}

/// To ten microseconds, the finest that Informix has. They are cut, as the server cuts them for a column without
/// fractions: rounded, the last instant of a year would be the next one in a DATETIME YEAR TO DAY.
pub(super) fn hundred_thousandths(micros: i64) -> i64 {
    micros.div_euclid(10)
}

/// Hours, minutes, seconds and five digits after them as pairs.
pub(super) fn clock(ticks: i64) -> [u8; 6] {
    let (seconds, fraction) = (ticks / 100_000, ticks % 100_000);
    let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    [hour, minute, second, fraction / 1000, fraction / 10 % 100, fraction % 10 * 10].map(|pair| pair as u8)
}

fn time(micros: i64, out: &mut Vec<u8>) {
    let ticks = hundred_thousandths(micros);
    let pairs = clock(ticks);
    if ticks % 100_000 == 0 {
        packed_value(out, code::DATETIME, word(6, qualifier::HOUR, qualifier::SECOND), false, &pairs[..3]);
    } else {
        packed_value(out, code::DATETIME, word(11, qualifier::HOUR, qualifier::FRACTION5), false, &pairs);
    }
}

fn timestamp(micros: i64, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let ticks = hundred_thousandths(micros);
    let day_ticks = DAY_MICROS / 10;
    let (year, month, day) = civil::civil_from_days(ticks.div_euclid(day_ticks));
    if !(1..=9999).contains(&year) {
        return Err(Mismatch::out_of_range("DATETIME holds the years 1 to 9999"));
    }
    let mut pairs = [0; 10];
    pairs[..4].copy_from_slice(&[(year / 100) as u8, (year % 100) as u8, month as u8, day as u8]);
    pairs[4..].copy_from_slice(&clock(ticks.rem_euclid(day_ticks)));
    packed_value(out, code::DATETIME, word(19, qualifier::YEAR, qualifier::FRACTION5), false, &pairs);
    Ok(())
}

/// Returns true if an INTERVAL column is one of years and months.
fn counts_months(field: &Field) -> bool {
    (field.length >> 4 & 15) as u8 <= qualifier::MONTH
}

/// Returns true if an interval counts months; one of length zero does if `calendar` is true.
pub(super) fn is_of_months(months: i32, days: i32, micros: i64, calendar: bool) -> Result<bool, Mismatch> {
    match (months, days, micros) {
        (0, 0, 0) => Ok(calendar),
        (0, ..) => Ok(false),
        (_, 0, 0) => Ok(true),
        _ => {
            let why = "an INTERVAL counts years and months or days and seconds, and this value has both";
            Err(Mismatch::wrong_type(why))
        }
    }
}

fn interval(months: i32, days: i32, micros: i64, calendar: bool, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    if is_of_months(months, days, micros, calendar)? {
        let (years, rest) = (months.unsigned_abs() / 12, months.unsigned_abs() % 12);
        let lead: u8 = if years > 9999 { 9 } else { 4 };
        let mut pairs = leading(u64::from(years), lead);
        pairs.push(rest as u8);
        packed_value(out, code::INTERVAL, word(lead + 2, qualifier::YEAR, qualifier::MONTH), months < 0, &pairs);
        return Ok(());
    }
    let total = i128::from(days) * i128::from(DAY_MICROS) + i128::from(micros);
    let ticks = total.unsigned_abs() / 10;
    let day_ticks = (DAY_MICROS / 10) as u128;
    let days = u64::try_from(ticks / day_ticks).ok().filter(|days| *days <= 999_999_999);
    let days = days.ok_or_else(|| Mismatch::out_of_range("an INTERVAL holds at most 999999999 days"))?;
    let lead = (2..=8).step_by(2).find(|digits| days < 10u64.pow(u32::from(*digits))).unwrap_or(9);
    let mut pairs = leading(days, lead);
    pairs.extend(clock((ticks % day_ticks) as i64));
    packed_value(out, code::INTERVAL, word(lead + 11, qualifier::DAY, qualifier::FRACTION5), total < 0, &pairs);
    Ok(())
}

/// A leading part of `digits` digits, as pairs.
pub(super) fn leading(value: u64, digits: u8) -> Vec<u8> {
    (0..u32::from(digits.div_ceil(2))).rev().map(|i| (value / 100u64.pow(i) % 100) as u8).collect()
}

fn text(
    utf8: &[u8],
    target: Option<&Field>,
    codeset: CodeSet,
    out: &mut Vec<u8>,
    large: &mut Vec<Vec<u8>>,
) -> Result<(), Mismatch> {
    let bytes = encoded(utf8, codeset)?;
    if let Some(field) = target {
        let room = match field.type_word & 0xff {
            code::CHAR | code::NCHAR => usize::try_from(field.length).ok(),
            code::VARCHAR | code::NVARCHAR => Some((field.length & 0xff) as usize),
            code::TEXT | code::BYTE => return descriptor(field.type_word & 0xff, &bytes, out, large),
            code::LVARCHAR => usize::try_from(field.length).ok(),
            _ if field.extended_id == extended::LVARCHAR => usize::try_from(field.length).ok(),
            _ => None,
        };
        let len = bytes.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
        if let Some(room) = room.filter(|room| *room > 0 && len > *room) {
            let name = super::name(field.type_word, &field.type_name, field.length);
            return Err(Mismatch::out_of_range(format!("text of {len} bytes does not fit {name}, which holds {room}")));
        }
    }
    if bytes.len() > CHAR_BYTES {
        return descriptor(code::TEXT, &bytes, out, large);
    }
    head(out, code::CHAR, 0);
    put_char(out, &bytes);
    Ok(())
}

fn encoded(utf8: &[u8], codeset: CodeSet) -> Result<Cow<'_, [u8]>, Mismatch> {
    let bytes = codeset.encode(utf8).map_err(|character| {
        Mismatch::out_of_range(format!("{character:?} is not in the database's code set, {}", codeset.name()))
    })?;
    if bytes.contains(&0) {
        return Err(Mismatch::out_of_range("text with a NUL character, which Informix cannot hold"));
    }
    Ok(bytes)
}

/// A BYTE or TEXT parameter: here only its size, the bytes follow after all parameters.
fn descriptor(type_code: u16, bytes: &[u8], out: &mut Vec<u8>, large: &mut Vec<Vec<u8>>) -> Result<(), Mismatch> {
    let size = i32::try_from(bytes.len()).map_err(|_| Mismatch::out_of_range("a value of more than 2 GiB"))?;
    head(out, type_code, 0x38);
    out.extend_from_slice(&[0; 16]);
    put_i32(out, size);
    out.resize(out.len() + 36, 0);
    large.push(bytes.to_vec());
    Ok(())
}
