//! Rows of the binary protocol into sinks: the hot loop of every fetch. MySQL: "Binary Protocol Resultset Row",
//! "Binary Protocol Value"; MariaDB: "Resultset row, binary".

use super::civil::{Clock, Ymd, length, timestamp};
use super::decoder::Decoder;
use super::text;
use crate::packets::body::split_lenenc;
use headrace_core::run::{DecodeCell, Grid};
use headrace_core::{Container, Fatal, Sink};

#[cold]
pub(super) fn broken() -> Fatal {
    Fatal::peer("the server sent a row that does not fit its column definitions")
}

/// Decodes one row: the payload of its packet.
///
/// # Errors
/// [`Fatal`] when the row's lengths do not add up. A value that is malformed inside its length is the sink's business.
#[inline]
pub fn decode_binary_row<S: Sink>(decoders: &[Decoder], payload: &[u8], sink: &mut S) -> Result<(), Fatal> {
    // A byte 0, then a bit per column whose first two are not used, then the values that are not NULL.
    let bitmap_len = (decoders.len() + 9) / 8;
    let Some((head, mut rest)) = payload.split_at_checked(1 + bitmap_len) else { return Err(broken()) };
    if head[0] != 0 {
        return Err(broken());
    }
    let nulls = &head[1..];
    sink.begin_row(decoders.len());
    for (i, decoder) in decoders.iter().enumerate() {
        if nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1 == 1 {
            sink.null();
        } else {
            rest = value(*decoder, rest, sink).ok_or_else(broken)?;
        }
    }
    if !rest.is_empty() {
        return Err(broken());
    }
    sink.end_row();
    Ok(())
}

/// Finds the cells of one row: the payload of its packet. A cell of a type without a fixed width begins with its length.
///
/// # Errors
/// [`Fatal`] as for [`decode_binary_row`].
pub fn find_binary_cells<'a>(decoders: &[Decoder], payload: &'a [u8], grid: &mut Grid<'a>) -> Result<(), Fatal> {
    let Some((head, mut rest)) = payload.split_at_checked(1 + (decoders.len() + 9) / 8) else { return Err(broken()) };
    if head[0] != 0 {
        return Err(broken());
    }
    let nulls = &head[1..];
    for (i, decoder) in decoders.iter().enumerate() {
        if nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1 == 1 {
            grid.push(None);
            continue;
        }
        let (cell, tail) = cell(*decoder, rest).ok_or_else(broken)?;
        grid.push(Some(cell));
        rest = tail;
    }
    if !rest.is_empty() {
        return Err(broken());
    }
    grid.end_row();
    Ok(())
}

/// The bytes that [`value`] reads, and the rest; `None` if it refuses them.
fn cell(decoder: Decoder, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let width = match decoder {
        Decoder::Int(bytes @ (2 | 4 | 8)) | Decoder::UInt(bytes @ (1 | 2 | 4)) => usize::from(bytes),
        Decoder::Int(_) => 1,
        Decoder::UInt(_) | Decoder::Double => 8,
        Decoder::Float => 4,
        Decoder::Null => 0,
        Decoder::Date | Decoder::DateTime => {
            1 + usize::from(*rest.first().filter(|len| {
                matches!(usize::from(**len), length::ZERO | length::DATE | length::DATE_TIME | length::DATE_TIME_MICROS)
            })?)
        }
        Decoder::Time => {
            1 + usize::from(
                *rest
                    .first()
                    .filter(|len| matches!(usize::from(**len), length::ZERO | length::TIME | length::TIME_MICROS))?,
            )
        }
        _ => rest.len() - lenenc_bytes(rest)?.1.len(),
    };
    rest.split_at_checked(width)
}

/// The decoder of the cells of a column.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The decoder of the column.
    pub decoder: Decoder,
    /// True if the row came in the binary protocol.
    pub binary: bool,
}

impl DecodeCell for Cell {
    #[inline]
    fn decode<S: Sink>(&self, cell: Option<&[u8]>, sink: &mut S) {
        match cell {
            None => sink.null(),
            Some(body) if self.binary => {
                if value(self.decoder, body, sink).is_none() {
                    sink.invalid("the server sent a value that does not fit its column definition");
                }
            }
            Some(body) => text::value(self.decoder, body, sink),
        }
    }
}

/// Decodes one value and returns the rest, `None` if the payload is too short.
#[inline]
fn value<'a, S: Sink>(decoder: Decoder, rest: &'a [u8], sink: &mut S) -> Option<&'a [u8]> {
    macro_rules! fixed {
        ($kind:ty) => {{
            let (head, tail) = rest.split_first_chunk::<{ size_of::<$kind>() }>()?;
            (<$kind>::from_le_bytes(*head), tail)
        }};
    }
    macro_rules! int {
        ($kind:ty) => {{
            let (n, tail) = fixed!($kind);
            sink.int(i64::from(n));
            tail
        }};
    }
    Some(match decoder {
        Decoder::Int(4) => int!(i32),
        Decoder::Int(8) => int!(i64),
        Decoder::Int(2) => int!(i16),
        Decoder::Int(_) => int!(i8),
        Decoder::UInt(4) => int!(u32),
        Decoder::UInt(2) => int!(u16),
        Decoder::UInt(1) => int!(u8),
        Decoder::UInt(_) => {
            let (n, tail) = fixed!(u64);
            unsigned(n, sink);
            tail
        }
        Decoder::Double => {
            let (n, tail) = fixed!(f64);
            sink.float(n);
            tail
        }
        Decoder::Float => {
            let (n, tail) = fixed!(f32);
            sink.float(f64::from(n));
            tail
        }
        Decoder::Date | Decoder::DateTime => {
            let (&len, tail) = rest.split_first()?;
            let (body, tail) = tail.split_at_checked(usize::from(len))?;
            let (date, clock) = date_time(body)?;
            point(decoder, date, clock, sink);
            tail
        }
        Decoder::Time => {
            let (&len, tail) = rest.split_first()?;
            let (body, tail) = tail.split_at_checked(usize::from(len))?;
            span(time(body)?, sink);
            tail
        }
        Decoder::Null => {
            sink.null();
            rest
        }
        _ => {
            let (body, tail) = lenenc_bytes(rest)?;
            match decoder {
                Decoder::Text => sink.text(body),
                Decoder::Bytes => sink.bytes(body),
                Decoder::Json => sink.json(body),
                _ => string(decoder, body, sink),
            }
            tail
        }
    })
}

/// `string<lenenc>`: the bytes and the rest.
#[inline]
pub(super) fn lenenc_bytes(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, tail) = split_lenenc(rest)?;
    tail.split_at_checked(usize::try_from(len).ok()?)
}

#[inline]
pub(super) fn unsigned<S: Sink>(n: u64, sink: &mut S) {
    match i64::try_from(n) {
        Ok(n) => sink.int(n),
        Err(_) => sink.uint(n),
    }
}

/// The types that are strings in both protocols.
#[inline(never)]
pub(super) fn string<S: Sink>(decoder: Decoder, body: &[u8], sink: &mut S) {
    let done = match decoder {
        Decoder::Decimal => text::decimal(body, sink),
        Decoder::Bits(bits) => {
            let whole = body.len() * 8 >= usize::from(bits);
            bit_string(bits, bits_of(body).filter(|_| whole), sink)
        }
        Decoder::DecimalBits(bits) => bit_string(bits, digits_of(bits, body), sink),
        Decoder::DoubtfulBits(bits) => match (raw_bits_of(bits, body), digits_of(bits, body)) {
            (Some(_), Some(_)) => None,
            (raw, digits) => bit_string(bits, raw.or(digits), sink),
        },
        Decoder::Uuid => text::uuid(body, sink),
        Decoder::Inet => text::inet(body, sink),
        Decoder::Vector => vector(body, sink),
        _ => None,
    };
    if done.is_none() {
        text::refuse(decoder, body, sink);
    }
}

/// The number of a BIT: its bytes, the highest first.
fn bits_of(body: &[u8]) -> Option<u64> {
    (body.len() <= 8).then(|| body.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
}

/// The same if the encoding is unambiguous: the right number of bytes, and no bits beyond the length.
fn raw_bits_of(bits: u8, body: &[u8]) -> Option<u64> {
    bits_of(body).filter(|number| body.len() == usize::from(bits).div_ceil(8) && fits(bits, *number))
}

/// The number of a BIT that was sent in digits.
fn digits_of(bits: u8, body: &[u8]) -> Option<u64> {
    match text::integer(body) {
        Some((false, number)) if fits(bits, number) => Some(number),
        // MySQL (9.7 is one) takes the 64 bits of an OUT parameter for a signed number.
        Some((true, number)) if bits == 64 && number <= 1 << 63 => Some(number.wrapping_neg()),
        _ => None,
    }
}

fn fits(bits: u8, number: u64) -> bool {
    number.checked_shr(u32::from(bits)).unwrap_or(0) == 0
}

/// BIT: the bits are at the low end of the number; sinks need them at the high end.
fn bit_string<S: Sink>(bits: u8, number: Option<u64>, sink: &mut S) -> Option<()> {
    let bits = usize::from(bits);
    let aligned = if bits == 0 { 0 } else { number? << (64 - bits) };
    sink.bits(bits, &aligned.to_be_bytes()[..bits.div_ceil(8)]);
    Some(())
}

fn vector<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let (numbers, rest) = body.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    sink.begin(Container::List, numbers.len());
    numbers.iter().for_each(|number| sink.float(f64::from(f32::from_le_bytes(*number))));
    sink.end();
    Some(())
}

/// MYSQL_TYPE_DATE, _DATETIME, _TIMESTAMP: 0, 4, 7 or 11 bytes; parts that are left out are 0.
#[inline]
fn date_time(body: &[u8]) -> Option<(Ymd, Clock)> {
    let date = |b: &[u8]| Ymd { year: u16::from_le_bytes([b[0], b[1]]), month: b[2], day: b[3] };
    let micros = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let clock = |b: &[u8]| Clock { hours: u32::from(b[4]), minutes: b[5], seconds: b[6], micros: 0 };
    Some(match body.len() {
        length::ZERO => (Ymd::default(), Clock::default()),
        length::DATE => (date(body), Clock::default()),
        length::DATE_TIME => (date(body), clock(body)),
        length::DATE_TIME_MICROS => (date(body), Clock { micros: micros(&body[7..]), ..clock(body) }),
        _ => return None,
    })
}

/// Passes a date or date and time to a sink; dates that no calendar has as the server would print them.
#[inline]
pub(super) fn point<S: Sink>(decoder: Decoder, date: Ymd, clock: Clock, sink: &mut S) {
    match (decoder, date.days()) {
        (Decoder::Date, Some(days)) => sink.date(days),
        (Decoder::Date, None) => sink.no_such_date(&date.text()),
        (_, Some(days)) => match timestamp(days, clock) {
            Some(micros) => sink.timestamp(micros),
            None => sink.no_such_date(&format!("{} {}", date.text(), clock.text())),
        },
        (_, None) => sink.no_such_date(&format!("{} {}", date.text(), clock.text())),
    }
}

/// MYSQL_TYPE_TIME: 0, 8 or 12 bytes: sign, days, hours, minutes, seconds, microseconds. `None` inside for fields that
/// are out of range.
#[inline]
fn time(body: &[u8]) -> Option<Option<i64>> {
    let len = body.len();
    let (negative, clock) = match len {
        length::ZERO => (0, Clock::default()),
        length::TIME | length::TIME_MICROS => {
            let days = u32::from_le_bytes([body[1], body[2], body[3], body[4]]);
            let micros = match len {
                length::TIME_MICROS => u32::from_le_bytes([body[8], body[9], body[10], body[11]]),
                _ => 0,
            };
            let Some(hours) = days.checked_mul(24).and_then(|h| h.checked_add(u32::from(body[5]))) else {
                return Some(None);
            };
            (body[0], Clock { hours, minutes: body[6], seconds: body[7], micros })
        }
        _ => return None,
    };
    Some(clock.total().map(|micros| if negative == 0 { micros } else { -micros }))
}

#[inline]
pub(super) fn span<S: Sink>(micros: Option<i64>, sink: &mut S) {
    match micros {
        Some(micros) => sink.interval(0, 0, micros),
        None => sink.invalid("the server sent a malformed TIME"),
    }
}
