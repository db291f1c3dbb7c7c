//! Rows: column values in the form of a tuple, and back for SQ_PUT.

use std::collections::HashMap;
use std::io;

use crate::codec::charset::Charset;
use crate::codec::clientvalue;
use crate::codec::decimal::Decimal;
use crate::codec::int8;
use crate::codec::timestamp::{
    FIRST_DATE, LAST_DATE, decode_datetime, decode_interval, encode_datetime, encode_interval,
};
use crate::engine::convert::convert;
use crate::engine::{Value, ValueRef, owned};
use crate::errors::{Result, SqlError};
use crate::messages::{Bound, locator, locator_id};
use crate::types::{Kind, Type};
use crate::wire::{Input, Output};

/// The form of the rows of one cursor.
pub struct Encoder<'a> {
    /// The code set of the database.
    pub charset: Charset,
    /// True if SQ_RET_TYPE requested the binary form of the current column.
    pub binary: bool,
    /// True if descriptors of BYTE and TEXT have 68 bytes.
    pub long_descriptors: bool,
    /// The bytes of BYTE and TEXT that wait to be fetched.
    pub blobs: &'a mut HashMap<i32, Vec<u8>>,
}

/// Descriptors are numbered from here; a client only hands the number back.
const DESCRIPTOR_BASE: i32 = 0x10_0000;

impl Encoder<'_> {
    /// Appends one value.
    pub fn value(&mut self, out: &mut Vec<u8>, ty: Type, value: ValueRef<'_>) -> Result<()> {
        match (ty.kind, value) {
            (_, ValueRef::Null) => self.null(out, ty),
            (Kind::SmallInt, ValueRef::Integer(value)) => out.put_i16(value as i16),
            (Kind::Date, ValueRef::Integer(value)) if !(FIRST_DATE..=LAST_DATE).contains(&value) => {
                return Err(SqlError::new(-1210, ""));
            }
            (Kind::Float | Kind::SmallFloat, ValueRef::Real(value)) if value.is_infinite() => {
                return Err(SqlError::new(-1226, ""));
            }
            (Kind::Int | Kind::Serial | Kind::Date, ValueRef::Integer(value)) => match i32::try_from(value) {
                Ok(value) => out.put_i32(value),
                Err(_) => return Err(SqlError::new(-1215, "")),
            },
            (Kind::BigInt | Kind::BigSerial, ValueRef::Integer(value)) => out.put_i64(value),
            (Kind::Int8 | Kind::Serial8, ValueRef::Integer(value)) => out.extend_from_slice(&int8::encode(Some(value))),
            (Kind::Float, ValueRef::Real(value)) => out.extend_from_slice(&value.to_be_bytes()),
            (Kind::SmallFloat, ValueRef::Real(value)) => out.extend_from_slice(&(value as f32).to_be_bytes()),
            (Kind::Decimal | Kind::Money, ValueRef::Text(text)) => self.decimal(out, ty, text),
            (Kind::Decimal | Kind::Money, ValueRef::Integer(value)) => {
                let bytes = Decimal::new(value.into(), 0).encode_to(ty.width(false) as usize);
                out.extend_from_slice(&bytes);
            }
            (Kind::DateTime, ValueRef::Integer(value)) => {
                encode_datetime(out, value, ty.qualifier());
            }
            (Kind::Interval, ValueRef::Integer(value)) => {
                let bytes = encode_interval(value, ty.qualifier()).ok_or_else(|| SqlError::new(-1265, ""))?;
                out.extend_from_slice(&bytes);
            }
            (kind, ValueRef::Text(text)) if kind.is_text() => self.text(out, ty, text),
            (Kind::Boolean, ValueRef::Integer(value)) => {
                let text = if value == 0 { b'f' } else { b't' };
                self.envelope(out, &[if self.binary { u8::from(value != 0) } else { text }]);
            }
            (Kind::Blob | Kind::Clob, ValueRef::Integer(id)) => {
                let raw = locator(id);
                if self.binary {
                    self.envelope(out, &raw);
                } else {
                    let text: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
                    self.envelope(out, text.as_bytes());
                }
            }
            (kind, ValueRef::Text(text)) if kind.is_complex() && self.binary => {
                let text = String::from_utf8_lossy(text);
                let charset = self.charset;
                let mut write = |out: &mut Vec<u8>, ty: Type, value: &Value| self.value(out, ty, ValueRef::from(value));
                let bytes = clientvalue::encode(&text, ty, charset, &mut write)?;
                out.put_i32(bytes.len() as i32);
                out.extend_from_slice(&bytes);
            }
            (kind, ValueRef::Text(text)) if kind.is_complex() || kind.is_opaque() => {
                let text = String::from_utf8_lossy(text);
                self.envelope(out, &self.charset.encode(&text));
            }
            (Kind::Bson, ValueRef::Blob(bytes)) => self.envelope(out, bytes),
            (Kind::Byte | Kind::Text, ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => {
                self.descriptor(out, Some(bytes))
            }
            (_, value) => {
                // SQLite may compute a value of another class than that of the type; it is converted, once.
                let converted = convert(owned(value), None, ty, self.charset)?;
                return self.value(out, ty, ValueRef::from(&converted));
            }
        }
        Ok(())
    }

    fn decimal(&self, out: &mut Vec<u8>, ty: Type, text: &[u8]) {
        let width = ty.width(false) as usize;
        if !Decimal::encode_text(out, text, width) {
            let value = std::str::from_utf8(text).ok().and_then(Decimal::parse);
            out.extend_from_slice(&value.unwrap_or(Decimal::new(0, 0)).encode_to(width));
        }
    }

    fn text(&self, out: &mut Vec<u8>, ty: Type, text: &[u8]) {
        let encoded;
        let mut bytes = text;
        if self.charset != Charset::Utf8 && !text.is_ascii() {
            encoded = self.charset.encode(&String::from_utf8_lossy(text)).into_owned();
            bytes = &encoded;
        }
        match ty.kind {
            Kind::Char | Kind::NChar => {
                let width = (ty.length & 0x7fff) as usize;
                let kept = &bytes[..bytes.len().min(width)];
                out.extend_from_slice(kept);
                out.resize(out.len() + width - kept.len(), b' ');
            }
            Kind::VarChar | Kind::NVarChar => {
                let kept = &bytes[..bytes.len().min(255)];
                out.push(kept.len() as u8);
                out.extend_from_slice(kept);
            }
            _ => self.envelope(out, bytes),
        }
    }

    fn envelope(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        out.push(0);
        out.put_i32(bytes.len() as i32);
        out.extend_from_slice(bytes);
    }

    fn descriptor(&mut self, out: &mut Vec<u8>, bytes: Option<&[u8]>) {
        let start = out.len();
        out.resize(start + if self.long_descriptors { 68 } else { 56 }, 0);
        let Some(bytes) = bytes else {
            // The flag of NULL is at the same position in the longer descriptor.
            out[start + 39] = 1;
            return;
        };
        let number = self.blobs.len() as i32 + 1;
        let size = bytes.len() as i32;
        out[start + 3] = 4;
        out[start + 4..start + 8].copy_from_slice(&(DESCRIPTOR_BASE + number).to_be_bytes());
        // Start, end and size: a client allocates room by these, and takes a zero for "no such object".
        out[start + 11] = 1;
        out[start + 12..start + 16].copy_from_slice(&size.max(1).to_be_bytes());
        out[start + 16..start + 20].copy_from_slice(&size.to_be_bytes());
        self.blobs.insert(number, bytes.to_vec());
    }

    fn null(&mut self, out: &mut Vec<u8>, ty: Type) {
        match ty.kind {
            Kind::SmallInt => out.put_i16(i16::MIN),
            Kind::Int | Kind::Serial | Kind::Date => out.put_i32(i32::MIN),
            Kind::BigInt | Kind::BigSerial => out.put_i64(i64::MIN),
            Kind::Int8 | Kind::Serial8 => out.extend_from_slice(&int8::encode(None)),
            Kind::Float => out.extend_from_slice(&[0xff; 8]),
            Kind::SmallFloat => out.extend_from_slice(&[0xff; 4]),
            Kind::Char | Kind::NChar => {
                let start = out.len();
                out.resize(start + (ty.length & 0x7fff) as usize, b' ');
                out[start] = 0;
            }
            Kind::VarChar | Kind::NVarChar => out.extend_from_slice(&[1, 0]),
            Kind::Decimal | Kind::Money | Kind::DateTime | Kind::Interval => {
                out.resize(out.len() + ty.width(false) as usize, 0);
            }
            Kind::Byte | Kind::Text => self.descriptor(out, None),
            kind if kind.is_complex() && self.binary => {
                let bytes = clientvalue::encode_null(ty).unwrap_or_default();
                out.put_i32(bytes.len() as i32);
                out.extend_from_slice(&bytes);
            }
            _ => out.extend_from_slice(&[1, 0, 0, 0, 0]),
        }
    }
}

/// Which object a descriptor of BYTE or TEXT names.
pub fn descriptor_number(descriptor: &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(descriptor.get(4..8)?.try_into().ok()?) - DESCRIPTOR_BASE)
}

/// Reads `count` rows of SQ_PUT.
pub fn read_rows(bytes: &[u8], count: u16, types: &[Type], charset: Charset) -> io::Result<Vec<Vec<Bound>>> {
    let mut input = Input::whole(bytes);
    (0..count).map(|_| types.iter().map(|ty| read_value(&mut input, *ty, charset)).collect()).collect()
}

/// Reads one value in the form of a tuple.
pub fn read_value(input: &mut Input<&[u8]>, ty: Type, charset: Charset) -> io::Result<Bound> {
    let integer = |value: i64, null: i64| if value == null { Value::Null } else { Value::Integer(value) };
    let value =
        match ty.kind {
            Kind::SmallInt => integer(input.i16()?.into(), i16::MIN.into()),
            Kind::Int | Kind::Serial | Kind::Date => integer(input.i32()?.into(), i32::MIN.into()),
            Kind::BigInt | Kind::BigSerial => {
                integer(i64::from_be_bytes(input.bytes(8)?.try_into().unwrap_or_default()), i64::MIN)
            }
            Kind::Int8 | Kind::Serial8 => {
                int8::decode(&input.bytes(10)?.try_into().unwrap_or_default()).map_or(Value::Null, Value::Integer)
            }
            Kind::Float => real(f64::from_be_bytes(input.bytes(8)?.try_into().unwrap_or_default())),
            Kind::SmallFloat => real(f32::from_be_bytes(input.bytes(4)?.try_into().unwrap_or_default()).into()),
            Kind::Char | Kind::NChar => {
                let bytes = input.bytes((ty.length & 0x7fff) as usize)?;
                if bytes.first() == Some(&0) { Value::Null } else { Value::Text(charset.decode(&bytes)) }
            }
            Kind::VarChar | Kind::NVarChar => {
                let length = usize::from(input.u8()?);
                let bytes = input.bytes(length)?;
                if bytes == [0] { Value::Null } else { Value::Text(charset.decode(&bytes)) }
            }
            Kind::Decimal | Kind::Money => Decimal::decode(&input.bytes(ty.width(false) as usize)?)
                .map_or(Value::Null, |value| Value::Text(value.to_string())),
            Kind::DateTime => decode_datetime(&input.bytes(ty.qualifier().width())?, ty.qualifier())
                .map_or(Value::Null, Value::Integer),
            Kind::Interval => decode_interval(&input.bytes(ty.qualifier().width())?, ty.qualifier())
                .map_or(Value::Null, Value::Integer),
            Kind::Byte | Kind::Text => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "BYTE or TEXT in SQ_PUT"));
            }
            kind => {
                let null = input.u8()? == 1;
                let length = usize::try_from(input.i32()?).unwrap_or(usize::MAX);
                let bytes = input.bytes(length)?;
                match kind {
                    _ if null => Value::Null,
                    Kind::Boolean => Value::Integer(i64::from(matches!(bytes.first(), Some(1 | b't')))),
                    Kind::Bson => Value::Blob(bytes),
                    Kind::Blob | Kind::Clob => locator_id(&bytes).map_or(Value::Null, Value::Integer),
                    _ => Value::Text(charset.decode(&bytes)),
                }
            }
        };
    Ok(Bound { ty, value, blob_follows: false })
}

fn real(value: f64) -> Value {
    if value.is_nan() { Value::Null } else { Value::Real(value) }
}
