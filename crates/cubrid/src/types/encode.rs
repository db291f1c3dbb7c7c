//! Values into parameters: each is two arguments, a type and a value.
//!
//! The server converts a parameter to the type of its column, so the type follows the value.

use super::code;
use crate::mirrored::CastTexts;
use headrace_core::civil::{DAY_MICROS, civil_from_days};
use headrace_core::{CodeSet, Mismatch, Parameters, Value, ValueKind};
use std::borrow::Cow;

/// The digits of a NUMERIC.
const NUMERIC_DIGITS: usize = 38;
/// The zone that instants are sent in. A zone has no NUL at its end.
const UTC: &[u8] = b"+00:00";
/// The two arguments of an empty text: the type, and the NUL at the end of every text.
const EMPTY_TEXT: [u8; 10] = [0, 0, 0, 1, code::VARCHAR, 0, 0, 0, 1, 0];

/// Appends one row of parameters, of which some are cast by the statement: a JSON value is text there, and so are empty
/// bytes. Returns how many were sent as JSON.
///
/// # Errors
/// [`Mismatch`] for a value that the server has no type for; part of the row is appended then.
pub fn encode_row<P: Parameters>(
    params: &P,
    codeset: CodeSet,
    casts: &CastTexts,
    out: &mut Vec<u8>,
) -> Result<usize, P::Error> {
    let mut documents = 0;
    for i in 0..params.count() {
        let type_at = out.len() + size_of::<u32>();
        let value = params.get(i)?;
        if casts.bits.contains(&i) && is_empty_bytes(&value) {
            out.extend_from_slice(&EMPTY_TEXT);
            continue;
        }
        if encode_param(&value, codeset, out)? == code::JSON {
            match codeset == CodeSet::Utf8 && casts.json.contains(&i) {
                true => out[type_at] = code::VARCHAR,
                false => documents += 1,
            }
        }
    }
    Ok(documents)
}

/// Appends a value as its two arguments, and returns its type.
///
/// # Errors
/// [`Mismatch`] for a value that the server has no type for; part of it is appended then.
#[inline]
pub fn encode_param<V: Value>(value: &V, codeset: CodeSet, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    out.extend_from_slice(&1u32.to_be_bytes());
    let type_at = out.len();
    out.push(code::NULL);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let number = put(value, codeset, out)?;
    let length = out.len() - length_at - 4;
    check_empty(number, length)?;
    let length = u32::try_from(length).ok().filter(|length| *length <= i32::MAX as u32);
    let length = length.ok_or_else(|| Mismatch::out_of_range("the value is longer than 2 GiB"))?;
    out[type_at] = number;
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(number)
}

/// Appends the bytes of a value and returns its type; nothing for NULL.
#[inline]
fn put<V: Value>(value: &V, codeset: CodeSet, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    Ok(match value.kind() {
        ValueKind::Null => code::NULL,
        ValueKind::Int => return int(value, out),
        ValueKind::Text => {
            value.with_text(|text| put_coded(out, text, codeset))??;
            code::VARCHAR
        }
        ValueKind::Float => {
            let number = value.float()?;
            if !number.is_finite() {
                return Err(Mismatch::out_of_range(format!("{number} is not a number that CUBRID can store")).into());
            }
            out.extend_from_slice(&number.to_be_bytes());
            code::DOUBLE
        }
        ValueKind::Bytes => {
            value.with_bytes(|bytes| out.extend_from_slice(bytes))?;
            code::VARBIT
        }
        ValueKind::Bool => {
            out.extend_from_slice(&i16::from(value.bool()?).to_be_bytes());
            code::SHORT
        }
        ValueKind::Decimal => decimal(value, out)?,
        ValueKind::Date => {
            put_fields(out, &date_fields(i64::from(value.date()?))?);
            code::DATE
        }
        ValueKind::Time => {
            let [hour, minute, second, _] = clock(value.time()?);
            put_fields(out, &[0, 0, 0, hour, minute, second, 0]);
            code::TIME
        }
        ValueKind::Timestamp => {
            put_fields(out, &timestamp_fields(value.timestamp()?)?);
            code::DATETIME
        }
        ValueKind::TimestampTz => {
            put_fields(out, &timestamp_fields(value.timestamptz()?)?);
            out.extend_from_slice(UTC);
            code::DATETIMETZ
        }
        _ => return rare(value, codeset, out),
    })
}

#[inline(never)]
fn rare<V: Value>(value: &V, codeset: CodeSet, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    Ok(match value.kind() {
        ValueKind::Json | ValueKind::Jsonb => {
            // JSON is in UTF-8 in every database.
            value.with_json(|json| put_text(out, json))?;
            code::JSON
        }
        ValueKind::Uuid => {
            let text = uuid_text(value.uuid()?);
            put_text(out, text.as_bytes());
            code::VARCHAR
        }
        ValueKind::Bits => {
            let (bits, bytes) = value.bits()?;
            if bits % 8 != 0 {
                return Err(Mismatch::out_of_range(format!(
                    "a string of {bits} bits cannot be a parameter: CUBRID takes whole bytes"
                ))
                .into());
            }
            out.extend_from_slice(&bytes);
            code::VARBIT
        }
        ValueKind::List => collection(value, code::SEQUENCE, codeset, out)?,
        ValueKind::Set => collection(value, code::SET, codeset, out)?,
        ValueKind::Custom => {
            let number = value.with_custom(0, |bytes, binary| match binary {
                true => {
                    out.extend_from_slice(bytes);
                    Ok(code::VARBIT)
                }
                false => put_coded(out, bytes, codeset).map(|()| code::VARCHAR),
            })?;
            number?
        }
        ValueKind::Opaque => {
            let number = value.with_opaque(|name, bytes| {
                out.extend_from_slice(bytes);
                code::of_name(name).ok_or_else(|| Mismatch::wrong_type(format!("CUBRID has no type {name}")))
            })?;
            number?
        }
        ValueKind::Inet | ValueKind::Cidr => {
            value.with_text(|text| put_text(out, text))?;
            code::VARCHAR
        }
        _ => return Err(no_type(value)),
    })
}

#[cold]
fn no_type<V: Value>(value: &V) -> V::Error {
    let tuple = match value.kind() {
        ValueKind::Record => {
            "; fetch(), fetchrow() and fetchval() take the values one by one, execute() takes one sequence of them"
        }
        _ => "",
    };
    let what = value.describe();
    Mismatch::wrong_type(format!("{what} cannot be a parameter: CUBRID has no type for it{tuple}")).into()
}

/// The text of a UUID.
pub(super) fn uuid_text(bytes: [u8; 16]) -> String {
    let id = u128::from_be_bytes(bytes);
    let part = |from: u32, digits: u32| (id >> from) & ((1 << (4 * digits)) - 1);
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12))
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Appends text in the code set of the database.
#[inline]
fn put_coded(out: &mut Vec<u8>, text: &[u8], codeset: CodeSet) -> Result<(), Mismatch> {
    put_text(out, &coded(text, codeset)?);
    Ok(())
}

/// Text in the code set of the database.
///
/// # Errors
/// [`Mismatch`] for text with a character that it does not have.
pub fn coded(text: &[u8], codeset: CodeSet) -> Result<Cow<'_, [u8]>, Mismatch> {
    codeset.encode(text).map_err(|character| {
        let name = codeset.name();
        Mismatch::out_of_range(format!("{character:?} is not in the character set of the database, {name}"))
    })
}

fn put_fields(out: &mut Vec<u8>, fields: &[i16; 7]) {
    for field in fields {
        out.extend_from_slice(&field.to_be_bytes());
    }
}

/// INT, BIGINT or NUMERIC, the shortest that the number fits.
fn int<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    let Ok(number) = value.int() else { return decimal(value, out) };
    Ok(match i32::try_from(number) {
        Ok(number) => {
            out.extend_from_slice(&number.to_be_bytes());
            code::INT
        }
        Err(_) => {
            out.extend_from_slice(&number.to_be_bytes());
            code::BIGINT
        }
    })
}

fn decimal<V: Value>(value: &V, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    value.with_decimal(|text| plain_decimal(text).map(|plain| put_text(out, plain.as_bytes())))??;
    Ok(code::NUMERIC)
}

/// A decimal number without exponent and without zeros before its point, which count as digits.
pub(super) fn plain_decimal(text: &str) -> Result<Cow<'_, str>, Mismatch> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let is_number = digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_number {
        return Err(Mismatch::out_of_range(format!("{text} is not a number that CUBRID can store")));
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(i64::MAX)),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let too_long =
        || Mismatch::out_of_range(format!("{text:.60} has more than the {NUMERIC_DIGITS} digits of NUMERIC"));
    if whole.len() + fraction.len() > 4096 || exponent.unsigned_abs() > 4096 {
        return Err(too_long());
    }
    // The point is moved by the exponent.
    let mut all = format!("{whole}{fraction}");
    let mut point = whole.len() as i64 + exponent;
    while point < 0 {
        all.insert(0, '0');
        point += 1;
    }
    while point as usize > all.len() {
        all.push('0');
    }
    let (whole, fraction) = all.split_at(point as usize);
    let whole = whole.trim_start_matches('0');
    if whole.len() + fraction.len() > NUMERIC_DIGITS {
        return Err(too_long());
    }
    Ok(match (whole, fraction) {
        ("", "") => "0".into(),
        (whole, "") => format!("{sign}{whole}").into(),
        (whole, fraction) => format!("{sign}{whole}.{fraction}").into(),
    })
}

/// Hour, minute, second, milliseconds: what is finer is dropped, as the types have no room for it.
fn clock(micros: i64) -> [i16; 4] {
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    [seconds / 3600, seconds / 60 % 60, seconds % 60, micros / 1000].map(|part| part as i16)
}

pub(super) fn date_fields(days: i64) -> Result<[i16; 7], Mismatch> {
    let (year, month, day) = civil_from_days(days);
    if !(1..=9999).contains(&year) {
        return Err(Mismatch::out_of_range("the date is outside the years 1 to 9999"));
    }
    Ok([year as i16, month as i16, day as i16, 0, 0, 0, 0])
}

pub(super) fn timestamp_fields(micros: i64) -> Result<[i16; 7], Mismatch> {
    let [year, month, day, ..] = date_fields(micros.div_euclid(DAY_MICROS))?;
    let [hour, minute, second, millis] = clock(micros.rem_euclid(DAY_MICROS));
    Ok([year, month, day, hour, minute, second, millis])
}

/// Returns true for bytes that are empty, which are no parameter but where the statement makes them of a text.
pub fn is_empty_bytes<V: Value>(value: &V) -> bool {
    value.kind() == ValueKind::Bytes && value.with_bytes(<[u8]>::is_empty).unwrap_or(false)
}

/// Refuses a value of no bytes: the server takes it for NULL.
fn check_empty(number: u8, length: usize) -> Result<(), Mismatch> {
    match length {
        0 if number != code::NULL => Err(Mismatch::out_of_range(
            "empty bytes cannot be a parameter of a batch or an element of a collection, as CUBRID reads them as NULL; write X'' in the statement",
        )),
        _ => Ok(()),
    }
}

/// The type of the elements, and each with its size; no number of elements. The column may be a MULTISET: servers
/// refuse one as a parameter, and accept a SEQUENCE for it.
fn collection<V: Value>(value: &V, number: u8, codeset: CodeSet, out: &mut Vec<u8>) -> Result<u8, V::Error> {
    let items = value.items()?;
    let mut elements = Vec::with_capacity(items.len());
    for item in &items {
        if matches!(item.kind(), ValueKind::List | ValueKind::Set | ValueKind::Record) {
            return Err(Mismatch::wrong_type("a collection cannot contain a collection").into());
        }
        let mut bytes = Vec::new();
        let ty = put(item, codeset, &mut bytes)?;
        check_empty(ty, bytes.len())?;
        elements.push((ty, bytes));
    }
    let common = common_type(elements.iter().map(|(ty, _)| *ty)).ok_or_else(|| {
        Mismatch::wrong_type(format!("the elements of {} are of types that do not go together", value.describe()))
    })?;
    out.push(common);
    for ((ty, bytes), item) in elements.iter().zip(&items) {
        let wider = match (*ty, common) {
            (code::NULL, _) => None,
            (ty, common) if ty == common => None,
            _ => Some(widened(item, common)?),
        };
        let bytes = wider.as_ref().unwrap_or(bytes);
        out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        out.extend_from_slice(bytes);
    }
    Ok(number)
}

/// Numbers, from the narrowest type to the widest.
const NUMBERS: [u8; 4] = [code::SHORT, code::INT, code::BIGINT, code::NUMERIC];

/// The type that all elements can have; INT if there are none but NULLs.
fn common_type(types: impl Iterator<Item = u8>) -> Option<u8> {
    let rank = |ty| NUMBERS.iter().position(|number| *number == ty);
    let mut common = None;
    for ty in types.filter(|ty| *ty != code::NULL) {
        common = match common {
            None => Some(ty),
            Some(known) if known == ty => Some(known),
            Some(known) => match (rank(known), rank(ty)) {
                (Some(a), Some(b)) => Some(NUMBERS[a.max(b)]),
                // A DOUBLE takes whole numbers.
                (Some(_), None) if ty == code::DOUBLE && known != code::NUMERIC => Some(ty),
                (None, Some(_)) if known == code::DOUBLE && ty != code::NUMERIC => Some(known),
                _ => return None,
            },
        };
    }
    Some(common.unwrap_or(code::INT))
}

/// The bytes of a number in a wider type.
fn widened<V: Value>(item: &V, ty: u8) -> Result<Vec<u8>, V::Error> {
    let mut out = Vec::new();
    let whole = |item: &V| match item.kind() {
        ValueKind::Bool => item.bool().map(i64::from),
        _ => item.int(),
    };
    match ty {
        code::INT => out.extend_from_slice(&(whole(item)? as i32).to_be_bytes()),
        code::BIGINT => out.extend_from_slice(&whole(item)?.to_be_bytes()),
        code::DOUBLE => out.extend_from_slice(&(whole(item)? as f64).to_be_bytes()),
        _ if item.kind() == ValueKind::Bool => put_text(&mut out, if item.bool()? { b"1" } else { b"0" }),
        _ => drop(decimal(item, &mut out)?),
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_testkit::{TestValue as V, hex};

    fn encoded(value: &V) -> Result<String, Mismatch> {
        let mut out = Vec::new();
        encode_param(value, CodeSet::Utf8, &mut out).map(|_| hex(&out))
    }

    #[test]
    fn values_become_a_type_and_bytes() {
        for (value, bytes) in [
            (V::Null, "0000000100 00000000"),
            (V::Bool(true), "0000000109 00000002 0001"),
            (V::Int(5), "0000000108 00000004 00000005"),
            (V::Int(1 << 40), "0000000115 00000008 0000010000000000"),
            (V::Wide("18446744073709551615"), "0000000107 00000015 313834343637343430373337303935353136313500"),
            (V::Float(0.5), "000000010c 00000008 3fe0000000000000"),
            (V::decimal("-0012.50"), "0000000107 00000007 2d31322e353000"),
            (V::decimal("1.5E+3"), "0000000107 00000005 3135303000"),
            (V::decimal("0.5"), "0000000107 00000003 2e3500"),
            (V::decimal("5E-3"), "0000000107 00000005 2e30303500"),
            (V::decimal("0"), "0000000107 00000002 3000"),
            (V::text(""), "0000000102 00000001 00"),
            (V::text("abc"), "0000000102 00000004 61626300"),
            (V::bytes(b"\xab\xcd"), "0000000106 00000002 abcd"),
            (V::Bits(8, vec![0xa0]), "0000000106 00000001 a0"),
            (V::Date(19_782), "000000010d 0000000e 07e80002001d 0000000000000000"),
            (V::Time(49_559_999_999), "000000010e 0000000e 000000000000 000d002d003b 0000"),
            (V::Timestamp(1_709_214_359_123_456), "0000000116 0000000e 07e80002001d 000d002d003b 007b"),
            (V::TimestampTz(1_709_214_359_123_456), "000000011f 00000014 07e80002001d 000d002d003b 007b 2b30303a3030"),
            (V::Json("{}"), "0000000122 00000003 7b7d00"),
            (V::List(vec![]), "0000000112 00000001 08"),
            (V::List(vec![V::Int(1), V::Null]), "0000000112 0000000d 08 00000004 00000001 00000000"),
            (
                V::List(vec![V::Int(1), V::Int(1 << 40)]),
                "0000000112 00000019 15 00000008 0000000000000001 00000008 0000010000000000",
            ),
            (
                V::List(vec![V::Bool(true), V::Float(0.5)]),
                "0000000112 00000019 0c 00000008 3ff0000000000000 00000008 3fe0000000000000",
            ),
            (V::List(vec![V::Int(1), V::decimal("1.5")]), "0000000112 0000000f 07 00000002 3100 00000004 312e3500"),
        ] {
            assert_eq!(encoded(&value), Ok(bytes.replace(' ', "")), "{value:?}");
        }
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        for (value, reason) in [
            (V::Float(f64::NAN), "NaN is not a number"),
            (V::decimal("Infinity"), "Infinity is not a number"),
            (V::decimal("123456789012345678901234567890123456789"), "more than the 38 digits"),
            (V::decimal("1E+99999999999999999999"), "more than the 38 digits"),
            (V::bytes(b""), "reads them as NULL"),
            (V::Bits(3, vec![0xa0]), "whole bytes"),
            (V::Date(-800_000), "outside the years"),
            (V::Interval(1, 2, 3), "no type for it"),
            (V::List(vec![V::Int(1), V::text("a")]), "do not go together"),
            (V::List(vec![V::List(vec![])]), "cannot contain a collection"),
            (V::List(vec![V::bytes(b"a"), V::bytes(b"")]), "reads them as NULL"),
        ] {
            let refused = encoded(&value).expect_err("a value that cannot be stored");
            assert!(refused.message.contains(reason), "{value:?}: {refused}");
        }
    }

    #[test]
    fn text_is_in_the_code_set_of_the_database() {
        let mut out = Vec::new();
        let list = V::List(vec![V::text("가"), V::text("é")]);
        encode_param(&V::text("가"), CodeSet::euc_kr(), &mut out).unwrap();
        encode_param(&V::text("é"), CodeSet::Latin1, &mut out).unwrap();
        assert_eq!(hex(&out), "00000001020000000 3b0a100 0000000102 00000002 e900".replace(' ', ""));
        assert!(encode_param(&V::text("가"), CodeSet::Latin1, &mut out).unwrap_err().message.contains("ISO-8859-1"));
        assert!(encode_param(&list, CodeSet::euc_kr(), &mut out).unwrap_err().message.contains("EUC-KR"));
        out.clear();
        encode_param(&V::Json("\"é\""), CodeSet::Latin1, &mut out).unwrap();
        assert_eq!(hex(&out), "0000000122 00000005 22c3a92200".replace(' ', ""));
    }

    #[test]
    fn as_many_digits_as_numeric_has_are_sent() {
        let digits = "9".repeat(NUMERIC_DIGITS);
        assert_eq!(plain_decimal(&digits).as_deref(), Ok(digits.as_str()));
        let fraction = format!("0.{digits}");
        assert_eq!(plain_decimal(&fraction).as_deref(), Ok(&fraction[1..]));
    }
}
