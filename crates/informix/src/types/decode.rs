//! Decodes rows into a sink. The decoder of a column is chosen once, when its statement is described.

use super::packed::{Packed, place};
use super::{DATE_EPOCH, code, extended, packed_width, qualifier, read_int8};
use crate::capabilities::Capabilities;
use crate::codeset::CodeSet;
use crate::messages::server::Field;
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::run::{DecodeCell, Grid};
use headrace_core::{Fatal, Sink};

/// The bytes that identify a smart large object at the server.
const LOCATOR_BYTES: usize = 72;

/// The content of an extended type: a NULL flag, a length of 32 bits, the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inner {
    /// Text: LVARCHAR, and the text form of ROW, SET, MULTISET, LIST.
    Text,
    /// `t`, `f`, or 1 and 0.
    Boolean,
    /// JSON.
    Json,
    /// An opaque type: its bytes.
    Bytes,
    /// A smart large object, by its type's number: the row has only its locator.
    Locator(u32),
    /// A distinct type of a built-in one.
    Distinct(Box<Decoder>),
}

/// The decoder of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// CHAR, NCHAR: this number of bytes.
    Char(usize),
    /// VARCHAR, NVARCHAR.
    VarChar,
    /// SMALLINT.
    SmallInt,
    /// INTEGER, SERIAL.
    Int,
    /// BIGINT, BIGSERIAL.
    BigInt,
    /// INT8, SERIAL8.
    Int8,
    /// FLOAT.
    Float,
    /// SMALLFLOAT.
    SmallFloat,
    /// DECIMAL, MONEY: bytes, and digits after the point if they are fixed.
    Decimal(usize, Option<u32>),
    /// DATE.
    Date,
    /// DATETIME: bytes, first and last part.
    DateTime(usize, u8, u8),
    /// INTERVAL: bytes, and its first part.
    Interval(usize, u8),
    /// BYTE, TEXT: whether it is text, and the bytes of its descriptor.
    Large(bool, usize),
    /// An extended type.
    Envelope(Inner),
}

impl Decoder {
    /// The plan for a column.
    pub fn new(field: &Field, capabilities: Capabilities) -> Self {
        let length = field.length;
        let low_nibbles = ((length >> 4 & 15) as u8, (length & 15) as u8);
        match field.type_word & 0xff {
            code::CHAR | code::NCHAR => Self::Char(usize::try_from(length).unwrap_or(0)),
            code::VARCHAR | code::NVARCHAR => Self::VarChar,
            code::SMALLINT => Self::SmallInt,
            code::INTEGER | code::SERIAL => Self::Int,
            code::BIGINT | code::BIGSERIAL => Self::BigInt,
            code::INT8 | code::SERIAL8 => Self::Int8,
            code::FLOAT => Self::Float,
            code::SMALLFLOAT => Self::SmallFloat,
            code::DECIMAL | code::MONEY => {
                let scale = (length & 0xff) as u32;
                Self::Decimal(packed_width(length), (scale != 255).then_some(scale))
            }
            code::DATE => Self::Date,
            code::DATETIME => Self::DateTime(packed_width(length), low_nibbles.0, low_nibbles.1),
            code::INTERVAL => Self::Interval(packed_width(length), low_nibbles.0),
            code::BYTE => Self::Large(false, capabilities.descriptor_bytes()),
            code::TEXT => Self::Large(true, capabilities.descriptor_bytes()),
            code::BOOLEAN => Self::Envelope(Inner::Boolean),
            code::LVARCHAR | code::SET | code::MULTISET | code::LIST | code::ROW | code::COLLECTION => {
                Self::Envelope(Inner::Text)
            }
            _ => Self::Envelope(Inner::new(field, capabilities)),
        }
    }

    /// Returns true if the row only has a descriptor, and the value has to be fetched.
    pub fn is_large(&self) -> bool {
        matches!(self, Self::Large(..))
    }
}

impl Inner {
    fn new(field: &Field, capabilities: Capabilities) -> Self {
        let source = u16::try_from(field.source_type).unwrap_or(0);
        match field.extended_id {
            extended::LVARCHAR => Self::Text,
            extended::BOOLEAN => Self::Boolean,
            extended::BLOB | extended::CLOB => Self::Locator(field.extended_id.unsigned_abs()),
            extended::JSON => Self::Json,
            extended::BSON => Self::Bytes,
            _ if field.type_word & code::DISTINCT_LVARCHAR != 0 => Self::Text,
            _ if field.type_word & code::DISTINCT_BOOLEAN != 0 => Self::Boolean,
            _ if matches!(source, 1..=8 | code::DATETIME | code::INTERVAL | code::INT8 | code::SERIAL8 | 52 | 53) => {
                let built_in = Field { type_word: source, extended_id: 0, ..field.clone() };
                Self::Distinct(Box::new(Decoder::new(&built_in, capabilities)))
            }
            _ => Self::Bytes,
        }
    }
}

/// The rest of a row.
struct Cells<'a>(&'a [u8]);

impl<'a> Cells<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Fatal> {
        let (head, tail) = self.0.split_at_checked(n).ok_or_else(short)?;
        self.0 = tail;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fatal> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = tail;
        Ok(*head)
    }
    /// The whole cell of a column.
    fn next(&mut self, decoder: &Decoder) -> Result<&'a [u8], Fatal> {
        let width = match decoder {
            Decoder::Char(n)
            | Decoder::Decimal(n, _)
            | Decoder::DateTime(n, ..)
            | Decoder::Interval(n, _)
            | Decoder::Large(_, n) => *n,
            Decoder::VarChar => 1 + usize::from(*self.0.first().ok_or_else(short)?),
            Decoder::SmallInt => 2,
            Decoder::Int | Decoder::Date | Decoder::SmallFloat => 4,
            Decoder::BigInt | Decoder::Float => 8,
            Decoder::Int8 => 10,
            Decoder::Envelope(_) => {
                let (_, rest) = self.0.split_first().ok_or_else(short)?;
                let (len, _) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                5 + u32::from_be_bytes(*len) as usize
            }
        };
        self.take(width)
    }
}

#[cold]
fn short() -> Fatal {
    Fatal::peer("the server sent a row that is shorter than its columns")
}

/// Decodes one row. `large` has the values of its BYTE and TEXT columns that are not NULL, in order.
///
/// # Errors
/// [`Fatal`] if the row and its columns do not have the same length: the position in the stream is then unknown.
pub fn decode_row<'l>(
    decoders: &[Decoder],
    codeset: CodeSet,
    row: &[u8],
    large: &mut impl Iterator<Item = &'l [u8]>,
    sink: &mut impl Sink,
) -> Result<(), Fatal> {
    let mut cells = Cells(row);
    sink.begin_row(decoders.len());
    for decoder in decoders {
        decode(decoder, codeset, &mut cells, large, sink)?;
    }
    sink.end_row();
    if !cells.0.is_empty() {
        return Err(Fatal::peer(format!("the server sent a row with {} bytes after its columns", cells.0.len())));
    }
    Ok(())
}

/// Finds the cells of one row. `large` has the values of its BYTE and TEXT columns that are not NULL, in order, which
/// are their cells. Whether another cell is NULL is in its own bytes.
///
/// # Errors
/// [`Fatal`] as for [`decode_row`].
pub fn find_cells<'a>(
    decoders: &[Decoder],
    row: &'a [u8],
    large: &mut impl Iterator<Item = &'a [u8]>,
    grid: &mut Grid<'a>,
) -> Result<(), Fatal> {
    let mut cells = Cells(row);
    for decoder in decoders {
        let cell = cells.next(decoder)?;
        grid.push(match decoder {
            Decoder::Large(..) => large.next_unless(is_null_descriptor(cell)),
            _ => Some(cell),
        });
        if let Decoder::Envelope(Inner::Distinct(decoder)) = decoder {
            // The content must have the length of its type.
            if let Some(value) = envelope(&mut Cells(cell))? {
                Cells(value).next(decoder)?;
            }
        }
    }
    grid.end_row();
    if !cells.0.is_empty() {
        return Err(Fatal::peer(format!("the server sent a row with {} bytes after its columns", cells.0.len())));
    }
    Ok(())
}

/// The decoder of the cells of a column.
#[derive(Debug)]
pub struct ColumnCell<'d> {
    /// The decoder of the column.
    pub decoder: &'d Decoder,
    /// The code set of its text.
    pub codeset: CodeSet,
}

impl DecodeCell for ColumnCell<'_> {
    #[inline]
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S) {
        match (cell, self.decoder) {
            (None, _) => sink.null(),
            (Some(value), Decoder::Large(true, _)) => words(self.codeset, value, false, sink),
            (Some(value), Decoder::Large(false, _)) => sink.bytes(value),
            (Some(cell), decoder) => {
                if decode(decoder, self.codeset, &mut Cells(cell), &mut std::iter::empty(), sink).is_err() {
                    sink.invalid("the server sent a value that is shorter than its column");
                }
            }
        }
    }
}

/// The descriptors of the BYTE and TEXT values of a row that are not NULL.
///
/// # Errors
/// [`Fatal`] as for [`decode_row`].
pub fn descriptors<'r>(decoders: &[Decoder], row: &'r [u8]) -> Result<Vec<&'r [u8]>, Fatal> {
    let mut cells = Cells(row);
    let mut found = Vec::new();
    for decoder in decoders {
        match decoder {
            Decoder::Large(_, size) => {
                let descriptor = cells.take(*size)?;
                if !is_null_descriptor(descriptor) {
                    found.push(descriptor);
                }
            }
            other => drop(cells.next(other)?),
        }
    }
    Ok(found)
}

fn is_null_descriptor(descriptor: &[u8]) -> bool {
    // A value that is not NULL has a size, or none of these bits.
    descriptor[39] & 3 != 0 && descriptor[16..20] == [0; 4]
}

fn envelope<'a>(cells: &mut Cells<'a>) -> Result<Option<&'a [u8]>, Fatal> {
    let [null] = cells.array()?;
    let len = u32::from_be_bytes(cells.array()?);
    let value = cells.take(len as usize)?;
    Ok((null == 0).then_some(value))
}

fn decode<'l>(
    decoder: &Decoder,
    codeset: CodeSet,
    cells: &mut Cells<'_>,
    large: &mut impl Iterator<Item = &'l [u8]>,
    sink: &mut impl Sink,
) -> Result<(), Fatal> {
    match decoder {
        Decoder::Int => match i32::from_be_bytes(cells.array()?) {
            i32::MIN => sink.null(),
            value => sink.int(i64::from(value)),
        },
        Decoder::VarChar => {
            let [len] = cells.array()?;
            match cells.take(usize::from(len))? {
                [0] => sink.null(),
                text => words(codeset, text, false, sink),
            }
        }
        Decoder::Char(n) => match cells.take(*n)? {
            [0, ..] => sink.null(),
            text => words(codeset, text, false, sink),
        },
        Decoder::Decimal(n, scale) => decimal(cells.take(*n)?, *scale, sink),
        Decoder::Date => match i32::from_be_bytes(cells.array()?) {
            i32::MIN => sink.null(),
            days => match days.checked_sub(DATE_EPOCH) {
                Some(days) => sink.date(days),
                None => sink.invalid("a DATE before any calendar"),
            },
        },
        Decoder::SmallInt => match i16::from_be_bytes(cells.array()?) {
            i16::MIN => sink.null(),
            value => sink.int(i64::from(value)),
        },
        Decoder::BigInt => match i64::from_be_bytes(cells.array()?) {
            i64::MIN => sink.null(),
            value => sink.int(value),
        },
        Decoder::Int8 => match read_int8(cells.take(10)?) {
            None => sink.null(),
            Some(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => sink.int(value),
                (_, Ok(value)) => sink.uint(value),
                _ => sink.decimal(&value.to_string()),
            },
        },
        Decoder::Float => match cells.array()? {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => sink.null(),
            bytes => sink.float(f64::from_be_bytes(bytes)),
        },
        Decoder::SmallFloat => match cells.array()? {
            [0xff, 0xff, 0xff, 0xff] => sink.null(),
            bytes => sink.float(f64::from(f32::from_be_bytes(bytes))),
        },
        Decoder::DateTime(n, first, last) => datetime(cells.take(*n)?, *first, *last, sink),
        Decoder::Interval(n, first) => interval(cells.take(*n)?, *first, sink),
        Decoder::Large(text, size) => {
            let descriptor = cells.take(*size)?;
            match large.next_unless(is_null_descriptor(descriptor)) {
                None => sink.null(),
                Some(value) if *text => words(codeset, value, false, sink),
                Some(value) => sink.bytes(value),
            }
        }
        Decoder::Envelope(inner) => match (envelope(cells)?, inner) {
            (None, _) => sink.null(),
            (Some(text), Inner::Text) => words(codeset, text, false, sink),
            (Some(text), Inner::Json) => words(codeset, text, true, sink),
            (Some(bytes), Inner::Bytes) => sink.bytes(bytes),
            (Some([b't' | 1]), Inner::Boolean) => sink.bool(true),
            (Some([b'f' | 0]), Inner::Boolean) => sink.bool(false),
            (Some(other), Inner::Boolean) => sink.invalid(&format!("a BOOLEAN of the bytes {other:?}")),
            (Some(bytes), Inner::Locator(number)) => match locator(bytes) {
                Some(raw) => sink.custom(*number, true, &raw),
                None => sink.invalid("a BLOB or CLOB without a locator"),
            },
            (Some(value), Inner::Distinct(decoder)) => {
                let mut cells = Cells(value);
                decode(decoder, codeset, &mut cells, large, sink)?;
            }
        },
    }
    Ok(())
}

/// Text, or JSON.
#[inline]
fn words(codeset: CodeSet, bytes: &[u8], json: bool, sink: &mut impl Sink) {
    match codeset.decode(bytes) {
        Some(utf8) if json => sink.json(&utf8),
        Some(utf8) => sink.text(&utf8),
        None => sink.invalid(&format!("the server sent bytes that are not text in {}", codeset.name())),
    }
}

/// The 72 bytes of a locator, as bytes or as hexadecimal digits.
fn locator(bytes: &[u8]) -> Option<[u8; LOCATOR_BYTES]> {
    if let Ok(raw) = bytes.try_into() {
        return Some(raw);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut raw = [0; LOCATOR_BYTES];
    if bytes.len() != 2 * LOCATOR_BYTES {
        return None;
    }
    for (byte, pair) in raw.iter_mut().zip(bytes.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(raw)
}

trait NextUnless: Iterator {
    fn next_unless(&mut self, null: bool) -> Option<Self::Item> {
        if null { None } else { self.next() }
    }
}
impl<I: Iterator> NextUnless for I {}

fn decimal(bytes: &[u8], scale: Option<u32>, sink: &mut impl Sink) {
    let number = match Packed::read(bytes) {
        Ok(Some(number)) if number.fits() => number,
        Ok(Some(_)) => return sink.invalid("a DECIMAL of more than 32 digits"),
        Ok(None) => return sink.null(),
        Err(why) => return sink.invalid(why),
    };
    let (mut coefficient, mut digits) = number.coefficient();
    let wanted = scale.map_or(0, |scale| scale as i32);
    // Pairs end at even digits: a zero after the last digit is not significant, unless the type has that many digits.
    while digits > wanted && coefficient % 10 == 0 {
        if coefficient == 0 {
            digits = wanted;
            break;
        }
        coefficient /= 10;
        digits -= 1;
    }
    while digits < wanted {
        match coefficient.checked_mul(10) {
            Some(wider) => coefficient = wider,
            None => break,
        }
        digits += 1;
    }
    match u32::try_from(digits) {
        Ok(digits) if digits <= 64 => sink.decimal128(number.negative, coefficient, digits),
        _ => sink.decimal(&format!("{}{coefficient}E{:+}", if number.negative { "-" } else { "" }, -digits)),
    }
}

fn datetime(bytes: &[u8], first: u8, last: u8, sink: &mut impl Sink) {
    let value = match Packed::read(bytes) {
        Ok(Some(value)) => value,
        Ok(None) => return sink.null(),
        Err(why) => return sink.invalid(why),
    };
    let year = value.at(place::YEAR + 1) * 100 + value.at(place::YEAR);
    let (month, day) = (value.at(place::MONTH) as u32, value.at(place::DAY) as u32);
    let seconds = (value.at(place::HOUR) * 60 + value.at(place::MINUTE)) * 60 + value.at(place::SECOND);
    let micros = seconds * 1_000_000 + value.fraction();
    match (first, last) {
        (qualifier::YEAR, qualifier::DAY..) => {
            if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
                return sink.invalid(&format!("a DATETIME of month {month}, day {day}"));
            }
            let days = civil::days_from_civil(year, month, day);
            match last {
                qualifier::DAY => sink.date(days as i32),
                _ => sink.timestamp(days * DAY_MICROS + micros),
            }
        }
        (qualifier::HOUR, _) => sink.time(micros),
        _ => sink.text(parts(&value, first, last).as_bytes()),
    }
}

/// A DATETIME of parts that are neither a date, a time nor both, as Informix writes it: `07-04` for MONTH TO DAY.
fn parts(value: &Packed, first: u8, last: u8) -> String {
    let mut text = String::new();
    for part in (first..=last.min(qualifier::SECOND)).step_by(2) {
        let separator = match part {
            _ if part == first => "",
            qualifier::MONTH | qualifier::DAY => "-",
            qualifier::HOUR => " ",
            _ => ":",
        };
        let place = place::SECOND + i32::from((qualifier::SECOND - part) / 2);
        text += separator;
        text += &match part {
            qualifier::YEAR => format!("{:04}", value.at(place + 1) * 100 + value.at(place)),
            _ => format!("{:02}", value.at(place)),
        };
    }
    if last > qualifier::SECOND {
        let digits = format!("{:06}", value.fraction());
        text += if first > qualifier::SECOND { "" } else { "." };
        text += &digits[..usize::from(last - qualifier::SECOND)];
    }
    text
}

/// Only the leading part may have more than two digits: those beyond are in the places of the parts above it.
fn interval(bytes: &[u8], first: u8, sink: &mut impl Sink) {
    let value = match Packed::read(bytes) {
        Ok(Some(value)) => value,
        Ok(None) => return sink.null(),
        Err(why) => return sink.invalid(why),
    };
    let leading = i32::from(qualifier::SECOND.saturating_sub(first) / 2);
    let part = |at: i32| match at {
        _ if at == leading => value.from(at),
        _ if at < leading => value.at(at),
        _ => 0,
    };
    let sign = if value.negative { -1 } else { 1 };
    if first <= qualifier::MONTH {
        let total = part(place::YEAR).saturating_mul(12).saturating_add(part(place::MONTH));
        return match i32::try_from(total) {
            Ok(total) => sink.months(sign as i32 * total),
            Err(_) => sink.invalid(&format!("an INTERVAL of {total} months")),
        };
    }
    let wide = |at| i128::from(part(at));
    let seconds = (wide(place::HOUR) * 60 + wide(place::MINUTE)) * 60 + wide(place::SECOND);
    let micros = i64::try_from(seconds * 1_000_000 + i128::from(value.fraction()));
    match (i32::try_from(part(place::DAY)), micros) {
        (Ok(days), Ok(micros)) => sink.interval(0, sign as i32 * days, sign * micros),
        _ => sink.invalid("an INTERVAL that is longer than any type of Informix"),
    }
}
