//! Decodes rows into a sink. The decoder of a column is chosen once, when its statement is described.

use super::{code, zone};
use crate::messages::Reader;
use crate::messages::description::{Collection, Type, charset};
use crate::messages::server::RowHead;
use headrace_core::civil::{DAY_MICROS, days_from_civil};
use headrace_core::run::{DecodeCell, Grid};
use headrace_core::{CodeSet, Container, Fatal, Sink};

/// The decoder of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// SET, MULTISET, SEQUENCE: the elements' type is in each value, their character set here.
    Collection(u8),
    /// The type is in each value.
    Typed,
    /// CHAR, VARCHAR, NCHAR, VARNCHAR, ENUM, in a character set.
    Text(u8),
    /// JSON, which is UTF-8 whatever the database has.
    Json,
    /// BIT, VARBIT: whole bytes, of which the last may have unused bits.
    Bytes,
    /// NUMERIC, as text.
    Numeric,
    /// SHORT.
    Short,
    /// INT.
    Int,
    /// BIGINT.
    BigInt,
    /// FLOAT.
    Float,
    /// DOUBLE, MONETARY.
    Double,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// TIMESTAMP.
    Timestamp,
    /// DATETIME.
    DateTime,
    /// TIMESTAMPTZ, TIMESTAMPLTZ.
    TimestampTz,
    /// DATETIMETZ, DATETIMELTZ.
    DateTimeTz,
    /// OBJECT: page, slot, volume.
    Object,
    /// RESULTSET: the number of a query.
    ResultSet,
    /// BLOB and CLOB, by their type: the handle of an external file.
    Lob(u8),
    /// A type that is not known.
    Unknown(u8),
}

impl Decoder {
    /// The decoder of a column, or of a value that has its type with it.
    pub fn new(ty: Type) -> Self {
        match ty.collection {
            Collection::None => Self::scalar(ty.code, ty.charset),
            _ => Self::Collection(ty.charset),
        }
    }

    fn scalar(number: u8, charset: u8) -> Self {
        match number {
            code::NULL => Self::Typed,
            code::CHAR | code::VARCHAR | code::NCHAR | code::VARNCHAR | code::ENUM => Self::Text(charset),
            code::BIT | code::VARBIT => Self::Bytes,
            code::NUMERIC => Self::Numeric,
            code::INT => Self::Int,
            code::SHORT => Self::Short,
            code::MONETARY | code::DOUBLE => Self::Double,
            code::FLOAT => Self::Float,
            code::DATE => Self::Date,
            code::TIME => Self::Time,
            code::TIMESTAMP => Self::Timestamp,
            code::SET | code::MULTISET | code::SEQUENCE => Self::Collection(charset),
            code::OBJECT => Self::Object,
            code::RESULTSET => Self::ResultSet,
            code::BIGINT => Self::BigInt,
            code::DATETIME => Self::DateTime,
            code::BLOB | code::CLOB => Self::Lob(number),
            code::TIMESTAMPTZ | code::TIMESTAMPLTZ => Self::TimestampTz,
            code::DATETIMETZ | code::DATETIMELTZ => Self::DateTimeTz,
            code::JSON => Self::Json,
            _ => Self::Unknown(number),
        }
    }
}

/// Decodes `count` rows of a page.
///
/// # Errors
/// [`Fatal`] if a row does not have a cell for each column: the position in the stream is then unknown.
pub fn decode_page<S: Sink>(
    decoders: &[Decoder],
    count: usize,
    rows: &mut Reader<'_>,
    sink: &mut S,
) -> Result<(), Fatal> {
    for _ in 0..count {
        decode_row(decoders, rows, sink)?;
    }
    Ok(())
}

/// Decodes one row.
///
/// # Errors
/// [`Fatal`] as for [`decode_page`].
#[inline]
pub fn decode_row<S: Sink>(decoders: &[Decoder], row: &mut Reader<'_>, sink: &mut S) -> Result<RowHead, Fatal> {
    let head = RowHead::read(row)?;
    sink.begin_row(decoders.len());
    for decoder in decoders {
        decode(*decoder, row.cell()?, sink);
    }
    sink.end_row();
    Ok(head)
}

/// Finds the cells of one row.
///
/// # Errors
/// [`Fatal`] as for [`decode_page`].
pub fn find_cells<'a>(columns: usize, row: &mut Reader<'a>, grid: &mut Grid<'a>) -> Result<(), Fatal> {
    RowHead::read(row)?;
    for _ in 0..columns {
        grid.push(row.cell()?);
    }
    grid.end_row();
    Ok(())
}

impl DecodeCell for Decoder {
    #[inline]
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S) {
        decode(*self, cell, sink);
    }
}

#[inline]
fn decode<S: Sink>(decoder: Decoder, cell: Option<&[u8]>, sink: &mut S) {
    match cell {
        None => sink.null(),
        Some(cell) => {
            if value(decoder, cell, sink).is_none() {
                sink.invalid("the server sent a value that does not have the form of its type");
            }
        }
    }
}

fn text_of(cell: &[u8]) -> &[u8] {
    cell.strip_suffix(&[0]).unwrap_or(cell)
}

fn converted<S: Sink>(codeset: CodeSet, text: &[u8], sink: &mut S) {
    match codeset.decode(text) {
        Some(text) => sink.text(&text),
        None => sink.invalid(&format!("the text is not in {}, the character set of its column", codeset.name())),
    }
}

fn text<S: Sink>(charset: u8, text: &[u8], sink: &mut S) {
    match charset {
        charset::EUC_KR => converted(CodeSet::euc_kr(), text, sink),
        charset::ISO_8859_1 => converted(CodeSet::Latin1, text, sink),
        _ => sink.text(text),
    }
}

/// `None` if the cell does not have the form of the type; the sink has no value then.
#[inline]
fn value<S: Sink>(decoder: Decoder, cell: &[u8], sink: &mut S) -> Option<()> {
    match decoder {
        Decoder::Int => sink.int(i32::from_be_bytes(cell.try_into().ok()?).into()),
        Decoder::Text(charset) => text(charset, text_of(cell), sink),
        Decoder::BigInt => sink.int(i64::from_be_bytes(cell.try_into().ok()?)),
        Decoder::Double => sink.float(f64::from_be_bytes(cell.try_into().ok()?)),
        Decoder::Numeric => sink.decimal(numeric(text_of(cell))?),
        Decoder::Short => sink.int(i16::from_be_bytes(cell.try_into().ok()?).into()),
        Decoder::Float => sink.float(f32::from_be_bytes(cell.try_into().ok()?).into()),
        Decoder::Bytes => sink.bytes(cell),
        Decoder::Json => sink.json(text_of(cell)),
        Decoder::Date | Decoder::Time | Decoder::Timestamp | Decoder::DateTime => civil(decoder, cell, sink)?,
        Decoder::TimestampTz => zoned(cell, 6, sink)?,
        Decoder::DateTimeTz => zoned(cell, 7, sink)?,
        Decoder::Typed => typed(cell, sink)?,
        Decoder::Collection(charset) => collection(cell, charset, sink)?,
        Decoder::Object => {
            let mut reader = Reader::new(cell);
            let (page, slot, volume) = (reader.i32().ok()?, reader.i16().ok()?, reader.i16().ok()?);
            reader.end().ok()?;
            sink.text(format!("@{page}|{slot}|{volume}").as_bytes());
        }
        Decoder::ResultSet => sink.int(match cell.len() {
            // A handle, before version 11 of the protocol.
            4 => i32::from_be_bytes(cell.try_into().ok()?).into(),
            _ => i64::from_be_bytes(cell.try_into().ok()?),
        }),
        Decoder::Lob(number) => sink.custom(number.into(), true, cell),
        Decoder::Unknown(number) => sink.invalid(&format!("the type {number} is not known")),
    }
    Some(())
}

fn numeric(text: &[u8]) -> Option<&str> {
    let plain =
        text.iter().any(u8::is_ascii_digit) && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    std::str::from_utf8(text).ok().filter(|_| plain)
}

/// Year, month, day, hour, minute, second and milliseconds, of which the last may be missing.
#[derive(Clone, Copy, Debug, Default)]
struct Fields([i16; 7]);

impl Fields {
    /// As many as there are bytes for.
    fn read(bytes: &[u8]) -> Self {
        let mut fields = Self::default();
        for (field, bytes) in fields.0.iter_mut().zip(bytes.chunks_exact(2)) {
            *field = i16::from_be_bytes([bytes[0], bytes[1]]);
        }
        fields
    }

    /// Days since 1970-01-01; `None` if no calendar has the date.
    fn days(&self) -> Option<i32> {
        let [year, month, day, ..] = self.0;
        let of_month = match month {
            4 | 6 | 9 | 11 => 30,
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            1..=12 => 31,
            _ => return None,
        };
        let exists = (1..=9999).contains(&year) && (1..=of_month).contains(&day);
        let days = days_from_civil(year.into(), u32::try_from(month).ok()?, u32::try_from(day).ok()?);
        i32::try_from(days).ok().filter(|_| exists)
    }

    /// Microseconds since midnight; `None` if no day has the time.
    fn micros(&self) -> Option<i64> {
        let [_, _, _, hour, minute, second, millis] = self.0.map(i64::from);
        let exists = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1000).contains(&millis);
        exists.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000 + millis * 1000)
    }

    fn date_text(&self) -> String {
        let [year, month, day, ..] = self.0;
        format!("{year:04}-{month:02}-{day:02}")
    }

    fn text(&self) -> String {
        let [.., hour, minute, second, millis] = self.0;
        let clock = format!("{} {hour:02}:{minute:02}:{second:02}", self.date_text());
        if millis == 0 { clock } else { format!("{clock}.{millis:03}") }
    }
}

fn civil<S: Sink>(decoder: Decoder, cell: &[u8], sink: &mut S) -> Option<()> {
    let fields = Fields::read(cell);
    match (decoder, cell.len()) {
        (Decoder::Date, 6) => match fields.days() {
            Some(days) => sink.date(days),
            None => sink.no_such_date(&fields.date_text()),
        },
        (Decoder::Time, 6) => {
            let [hour, minute, second, ..] = fields.0;
            sink.time(Fields([0, 0, 0, hour, minute, second, 0]).micros()?);
        }
        (Decoder::Timestamp, 12) | (Decoder::DateTime, 14) => match (fields.days(), fields.micros()) {
            (Some(days), Some(micros)) => sink.timestamp(i64::from(days) * DAY_MICROS + micros),
            _ => sink.no_such_date(&fields.text()),
        },
        _ => return None,
    }
    Some(())
}

/// A date and time of this number of fields, and the zone that they are in.
fn zoned<S: Sink>(cell: &[u8], fields: usize, sink: &mut S) -> Option<()> {
    let (local, zone) = cell.split_at_checked(fields * 2)?;
    let (fields, zone) = (Fields::read(local), std::str::from_utf8(text_of(zone)).ok()?);
    let (Some(days), Some(micros)) = (fields.days(), fields.micros()) else {
        sink.no_such_date(&format!("{} {zone}", fields.text()));
        return Some(());
    };
    let local = i64::from(days) * DAY_MICROS + micros;
    match zone::offset(zone, local) {
        Some(offset) => sink.timestamptz(local - i64::from(offset) * 1_000_000),
        None => sink.invalid(&format!("the time zone {zone} is not known")),
    }
    Some(())
}

/// A value with its type before it. A JSON value has none; a collection has the number of another numbering, but the
/// right one in its value.
fn typed<S: Sink>(cell: &[u8], sink: &mut S) -> Option<()> {
    match Type::of_cell(cell) {
        None => value(Decoder::Json, cell, sink),
        Some((ty, cell)) if ty.collection != Collection::None => collection(cell, ty.charset, sink),
        // A type in the value of a typed value: a server has no such thing.
        Some((Type { code: code::NULL, .. }, _)) => None,
        Some((ty, cell)) => value(Decoder::new(ty), cell, sink),
    }
}

/// The type of the elements, their number, and each with its size.
fn collection<S: Sink>(cell: &[u8], charset: u8, sink: &mut S) -> Option<()> {
    let mut reader = Reader::new(cell);
    let number = reader.u8().ok()?;
    let count = reader.count("elements").ok()?;
    // Each has a size of four bytes. It is checked before the sink is given anything.
    let mut check = reader;
    for _ in 0..count {
        check.cell().ok()?;
    }
    check.end().ok()?;
    let decoder = match Decoder::scalar(number, charset) {
        // All elements are NULL, or there are none.
        Decoder::Typed | Decoder::Collection(_) => Decoder::Unknown(number),
        decoder => decoder,
    };
    sink.begin(Container::List, count);
    for _ in 0..count {
        decode(decoder, reader.cell().ok()?, sink);
    }
    sink.end();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (year, month, day, days since 1970-01-01) at the ends of months, centuries and the calendar.
    const DATES: &[(i16, i16, i16, Option<i32>)] = &[
        (1, 1, 1, Some(-719_162)),
        (1600, 2, 29, Some(-135_081)),
        (1900, 2, 28, Some(-25_509)),
        (1900, 2, 29, None),
        (1970, 1, 1, Some(0)),
        (2000, 2, 29, Some(11_016)),
        (2000, 2, 30, None),
        (2023, 2, 29, None),
        (2024, 2, 29, Some(19_782)),
        (2100, 2, 29, None),
        (2023, 4, 31, None),
        (2023, 13, 1, None),
        (2023, 1, 0, None),
        (0, 1, 1, None),
        (0, 0, 0, None),
        (9999, 12, 31, Some(2_932_896)),
        (10_000, 1, 1, None),
    ];

    #[test]
    fn leap_days_are_those_of_the_gregorian_calendar() {
        for &(year, month, day, days) in DATES {
            let fields = Fields([year, month, day, 0, 0, 0, 0]);
            assert_eq!(fields.days(), days, "{year}-{month}-{day}");
        }
    }
}
