//! Values: as clients bind them, as SQLite keeps them, and as rows carry them.

use rusqlite::types::{Value, ValueRef};

use crate::charset::Charset;
use crate::decimal::{DIGITS, Decimal};
use crate::errors::{Error, Result, cas};
use crate::times::{self, Fields};
use crate::types::code::*;
use crate::types::{Family, Type};
use crate::wire::Output;

/// A value with its type, as it was bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The type.
    pub ty: Type,
    /// As SQLite keeps it.
    pub value: Value,
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    // The CAS reads what is there, whatever the length; missing bytes are zero here.
    let mut found = [0; N];
    let length = bytes.len().min(N);
    found[..length].copy_from_slice(&bytes[..length]);
    found
}

fn fields(bytes: &[u8], ty: u8) -> Fields {
    let mut fields = Fields::default();
    for (index, pair) in bytes.chunks_exact(2).take(7).enumerate() {
        fields.all[index] = i16::from_be_bytes([pair[0], pair[1]]);
    }
    if ty == DATE {
        fields.all[3..].fill(0);
    }
    fields
}

/// Reads a value that a client binds.
///
/// # Errors
/// -10008 for a type that cannot be bound, -454 for MULTISET, -649 and -204 for decimal numbers, -1162 for zones.
pub fn bound(ty: u8, bytes: &[u8], charset: Charset) -> Result<Bound> {
    if matches!(ty, 20 | 26..=28 | 33 | 35..) {
        return Err(Error::cas(cas::BIND_TYPE));
    }
    let null = |ty: Type| Ok(Bound { ty, value: Value::Null });
    if bytes.is_empty() || ty == NULL {
        return null(Type::unknown());
    }
    let text = |bytes: &[u8]| charset.decode(bytes.strip_suffix(&[0]).unwrap_or(bytes));
    let (ty, value) = match ty {
        INT => (Type::of(INT), Value::Integer(i32::from_be_bytes(fixed(bytes)).into())),
        SHORT => (Type::of(SHORT), Value::Integer(i16::from_be_bytes(fixed(bytes)).into())),
        BIGINT => (Type::of(BIGINT), Value::Integer(i64::from_be_bytes(fixed(bytes)))),
        FLOAT => (Type::of(FLOAT), Value::Real(f32::from_be_bytes(fixed(bytes)).into())),
        DOUBLE | MONETARY => (Type::of(ty), Value::Real(f64::from_be_bytes(fixed(bytes)))),
        NUMERIC => numeric(&text(bytes))?,
        CHAR | VARCHAR | NCHAR | VARNCHAR => {
            let text = text(bytes);
            let national = matches!(ty, NCHAR | VARNCHAR);
            let length = text.chars().count() as i32;
            (Type::sized(if national { NCHAR } else { CHAR }, length), Value::Text(text))
        }
        BIT | VARBIT => (Type::sized(BIT, bytes.len() as i32 * 8), Value::Blob(bytes.to_vec())),
        DATE | TIME | TIMESTAMP | DATETIME => {
            let found = fields(bytes, ty);
            if !found.is_valid() {
                return Err(match ty {
                    TIME => Error::server(-164, "Conversion error in time format."),
                    DATE => Error::server(-176, "Conversion error in date format."),
                    _ => Error::server(-175, "Conversion error in timestamp format."),
                });
            }
            (Type::of(ty), Value::Text(found.text(ty)))
        }
        TIMESTAMPTZ | TIMESTAMPLTZ | DATETIMETZ | DATETIMELTZ => {
            let (time, name) = bytes.split_at_checked(14).ok_or_else(zone_error)?;
            let name = std::str::from_utf8(name).map_err(|_| zone_error())?;
            if name.is_empty() || name.len() > 63 || name.contains('\0') {
                return Err(zone_error());
            }
            (Type::of(ty), Value::Text(times::zoned(&fields(time, ty), name).ok_or_else(zone_error)?))
        }
        SET | SEQUENCE => collection(ty, bytes, charset)?,
        MULTISET => return Err(Error::server(-454, "Invalid data type referenced.")),
        JSON => (Type::of(JSON), Value::Text(json(&text(bytes))?)),
        BLOB | CLOB => (Type::of(ty), Value::Blob(bytes.to_vec())),
        _ => return Err(Error::cas(cas::BIND_TYPE)),
    };
    Ok(Bound { ty, value })
}

fn zone_error() -> Error {
    Error::server(-1162, "Error while parsing time zone string.")
}

/// JSON text as the server writes it.
///
/// # Errors
/// -1197 if it is none.
pub fn json(text: &str) -> Result<String> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| Error::server(-1197, format!("Invalid json: {text} ({})", error.column())))?;
    Ok(value.to_string())
}

fn numeric(text: &str) -> Result<(Type, Value)> {
    let invalid = || Error::server(-204, "Function called with missing or invalid arguments.");
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if digits > DIGITS as usize {
        return Err(Error::server(
            -649,
            format!("Given precision of {digits} is invalid; it should be greater than 0 and no greater than 38."),
        ));
    }
    let number = Decimal::parse(text, false).ok_or_else(invalid)?;
    Ok((Type::numeric(digits as i32, number.scale() as i16), Value::Text(number.to_string())))
}

fn collection(ty: u8, bytes: &[u8], charset: Charset) -> Result<(Type, Value)> {
    let (element, mut rest) = bytes.split_first().ok_or_else(|| Error::cas(cas::ARGUMENTS))?;
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let (length, tail) = rest.split_at_checked(4).ok_or_else(|| Error::cas(cas::ARGUMENTS))?;
        let length = usize::try_from(i32::from_be_bytes(fixed(length))).map_err(|_| Error::cas(cas::ARGUMENTS))?;
        let (value, tail) = tail.split_at_checked(length).ok_or_else(|| Error::cas(cas::ARGUMENTS))?;
        elements.push(bound(*element, value, charset)?);
        rest = tail;
    }
    let kind = if ty == SET { 0x20 } else { 0x60 };
    let known = elements.iter().find(|element| element.ty.code != NULL).map_or_else(Type::unknown, |it| it.ty.clone());
    let values = elements.into_iter().map(|element| element.value).collect();
    Ok((known.clone().collected(kind), Value::Blob(collected(&known, kind, values))))
}

/// The order of values in a SET or MULTISET.
fn order(left: &Value, right: &Value, ty: &Type) -> std::cmp::Ordering {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => left.total_cmp(right),
        (Value::Text(left), Value::Text(right)) if ty.code == NUMERIC => {
            match (Decimal::parse(left, false), Decimal::parse(right, false)) {
                (Some(left), Some(right)) => left.compare(right),
                _ => left.cmp(right),
            }
        }
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
        // NULL is the last.
        (Value::Null, Value::Null) => std::cmp::Ordering::Equal,
        (Value::Null, _) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Less,
    }
}

/// The bytes of a collection; those of a SET and a MULTISET are sorted, and a SET has no value twice. Texts are UTF-8.
pub fn collected(element: &Type, kind: u8, mut values: Vec<Value>) -> Vec<u8> {
    if kind != 0x60 {
        values.sort_by(|left, right| order(left, right, element));
    }
    if kind == 0x20 {
        values.dedup_by(|left, right| left == right);
    }
    // The type is that of the first element that has one, or of the domain if there are no elements.
    let is_null = !values.is_empty() && values.iter().all(|value| *value == Value::Null);
    let mut bytes = vec![if is_null { NULL } else { element.code }];
    bytes.put_i32(values.len() as i32);
    for value in &values {
        put_cell(&mut bytes, element, ValueRef::from(value), Charset::Utf8);
    }
    bytes
}

/// The values of a collection that was kept.
pub fn elements(bytes: &[u8]) -> (u8, Vec<Value>) {
    let Some((code, rest)) = bytes.split_first() else { return (0, Vec::new()) };
    let mut rest = rest.get(4..).unwrap_or_default();
    let mut values = Vec::new();
    while let Some((length, tail)) = rest.split_at_checked(4) {
        let length = i32::from_be_bytes(fixed(length));
        let (value, tail) = tail.split_at_checked(length.max(0) as usize).unwrap_or((tail, &[]));
        values.push(if length < 0 { Value::Null } else { element(*code, value) });
        rest = tail;
    }
    (*code, values)
}

fn element(code: u8, bytes: &[u8]) -> Value {
    match Type::of(code).family() {
        Family::Integer => Value::Integer(match code {
            SHORT => i16::from_be_bytes(fixed(bytes)).into(),
            INT => i32::from_be_bytes(fixed(bytes)).into(),
            _ => i64::from_be_bytes(fixed(bytes)),
        }),
        Family::Real if code == FLOAT => Value::Real(f32::from_be_bytes(fixed(bytes)).into()),
        Family::Real => Value::Real(f64::from_be_bytes(fixed(bytes))),
        Family::Time => Value::Text(match code {
            TIME => {
                let mut fields = fields(bytes, code);
                fields.all.rotate_right(3);
                fields.text(code)
            }
            _ => fields(bytes, code).text(code),
        }),
        Family::Bits => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()),
    }
}

/// Writes a cell: its size and its value, or -1 for NULL.
pub fn put_cell(out: &mut Vec<u8>, ty: &Type, value: ValueRef<'_>, charset: Charset) {
    let at = out.len();
    out.put_i32(-1);
    if !put_value(out, ty, value, charset) {
        return;
    }
    let size = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&size.to_be_bytes());
}

/// Writes a cell of a column without a type: the type stands before the value.
pub fn put_typed_cell(out: &mut Vec<u8>, ty: &Type, value: ValueRef<'_>, charset: Charset) {
    let at = out.len();
    out.put_i32(-1);
    if matches!(value, ValueRef::Null) {
        return;
    }
    // JSON has no header here, which is a fault of the server.
    if ty.code != JSON || ty.collection != 0 {
        out.push(if ty.collection == 0 { 0x80 | charset.number() } else { 0x80 | ty.collection });
        out.push(match (ty.collection, ty.code) {
            (0, code) => code,
            (_, _) if value.as_blob().is_ok_and(|bytes| bytes.len() <= 5) => 0,
            (_, code) => Type::engine(code),
        });
    }
    put_value(out, ty, value, charset);
    let size = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&size.to_be_bytes());
}

fn put_value(out: &mut Vec<u8>, ty: &Type, value: ValueRef<'_>, charset: Charset) -> bool {
    match value {
        ValueRef::Null => return false,
        ValueRef::Integer(number) => match (ty.family(), ty.code) {
            (_, SHORT) => out.put_i16(number as i16),
            (_, INT) => out.put_i32(number as i32),
            (Family::Real, FLOAT) => out.extend((number as f32).to_be_bytes()),
            (Family::Real, _) => out.extend((number as f64).to_be_bytes()),
            (Family::Numeric | Family::Text, _) => put_text(out, &number.to_string(), charset),
            _ => out.put_i64(number),
        },
        ValueRef::Real(number) => match (ty.family(), ty.code) {
            (_, FLOAT) => out.extend((number as f32).to_be_bytes()),
            (Family::Integer, SHORT) => out.put_i16(number.round() as i16),
            (Family::Integer, INT) => out.put_i32(number.round() as i32),
            (Family::Integer, _) => out.put_i64(number.round() as i64),
            (Family::Numeric | Family::Text, _) => put_text(out, &number.to_string(), charset),
            _ => out.extend(number.to_be_bytes()),
        },
        ValueRef::Blob(bytes) if ty.collection != 0 && charset != Charset::Utf8 => recode(out, bytes, charset),
        ValueRef::Blob(bytes) => out.extend(bytes),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match ty.family() {
                Family::Time => put_time(out, ty, &text),
                _ if ty.code == JSON => put_text(out, &text, Charset::Utf8),
                _ => put_text(out, &text, charset),
            }
        }
    }
    true
}

fn recode(out: &mut Vec<u8>, bytes: &[u8], charset: Charset) {
    let (code, values) = elements(bytes);
    out.push(code);
    out.put_i32(values.len() as i32);
    for value in &values {
        put_cell(out, &Type::of(code), ValueRef::from(value), charset);
    }
}

fn put_text(out: &mut Vec<u8>, text: &str, charset: Charset) {
    match charset {
        Charset::Utf8 => out.extend(text.as_bytes()),
        charset => out.extend(charset.encode(text)),
    }
    out.push(0);
}

fn put_time(out: &mut Vec<u8>, ty: &Type, text: &str) {
    let (fields, zone) = match ty.has_zone() {
        true => times::local(text).unwrap_or_default(),
        false => (Fields::kept(text), String::new()),
    };
    let range = match ty.code {
        DATE => 0..3,
        TIME => 3..6,
        TIMESTAMP | TIMESTAMPTZ | TIMESTAMPLTZ => 0..6,
        _ => 0..7,
    };
    for field in &fields.all[range] {
        out.put_i16(*field);
    }
    if ty.has_zone() {
        out.extend(zone.as_bytes());
        out.push(0);
    }
}
