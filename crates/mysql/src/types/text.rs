//! Rows of the text protocol into sinks. MySQL: "Text Resultset Row"; MariaDB: "Resultset row, text".

use super::civil::{Clock, Ymd};
use super::decode::{broken, lenenc_bytes, point, span, string, unsigned};
use super::decoder::Decoder;
use crate::packets::body::lenenc;
use headrace_core::run::Grid;
use headrace_core::{Fatal, Inet, Sink};
use std::net::IpAddr;

/// Decodes one row: the payload of its packet.
///
/// # Errors
/// [`Fatal`] when the row's lengths do not add up. A value that is malformed inside its length is the sink's business.
#[inline]
pub fn decode_text_row<S: Sink>(decoders: &[Decoder], payload: &[u8], sink: &mut S) -> Result<(), Fatal> {
    let mut rest = payload;
    sink.begin_row(decoders.len());
    for decoder in decoders {
        if let [lenenc::NULL, tail @ ..] = rest {
            sink.null();
            rest = tail;
            continue;
        }
        let (body, tail) = lenenc_bytes(rest).ok_or_else(broken)?;
        value(*decoder, body, sink);
        rest = tail;
    }
    if !rest.is_empty() {
        return Err(broken());
    }
    sink.end_row();
    Ok(())
}

/// Finds the cells of one row: the payload of its packet.
///
/// # Errors
/// [`Fatal`] as for [`decode_text_row`].
pub fn find_text_cells<'a>(decoders: &[Decoder], payload: &'a [u8], grid: &mut Grid<'a>) -> Result<(), Fatal> {
    let mut rest = payload;
    for _ in decoders {
        let (cell, tail) = match rest {
            [lenenc::NULL, tail @ ..] => (None, tail),
            _ => {
                let (body, tail) = lenenc_bytes(rest).ok_or_else(broken)?;
                (Some(body), tail)
            }
        };
        grid.push(cell);
        rest = tail;
    }
    if !rest.is_empty() {
        return Err(broken());
    }
    grid.end_row();
    Ok(())
}

#[inline]
pub(super) fn value<S: Sink>(decoder: Decoder, body: &[u8], sink: &mut S) {
    match decoder {
        Decoder::Text => sink.text(body),
        Decoder::Bytes => sink.bytes(body),
        Decoder::Json => sink.json(body),
        Decoder::Int(_) => match integer(body) {
            Some((false, n)) if n <= i64::MAX as u64 => sink.int(n as i64),
            Some((true, n)) if n <= 1 << 63 => sink.int(0i64.wrapping_sub_unsigned(n)),
            _ => refuse(decoder, body, sink),
        },
        Decoder::UInt(_) => match integer(body) {
            Some((false, n)) => unsigned(n, sink),
            _ => refuse(decoder, body, sink),
        },
        Decoder::Decimal
        | Decoder::Bits(_)
        | Decoder::DecimalBits(_)
        | Decoder::DoubtfulBits(_)
        | Decoder::Uuid
        | Decoder::Inet
        | Decoder::Vector => string(decoder, body, sink),
        Decoder::Float | Decoder::Double => {
            let text = std::str::from_utf8(body).ok();
            // A FLOAT is parsed as f32, so that it is the number of the binary protocol.
            let number = match decoder {
                Decoder::Float => text.and_then(|text| text.parse::<f32>().ok()).map(f64::from),
                _ => text.and_then(|text| text.parse().ok()),
            };
            match number {
                Some(number) => sink.float(number),
                None => refuse(decoder, body, sink),
            }
        }
        Decoder::Date => match date(body) {
            Some((date, [])) => point(decoder, date, Clock::default(), sink),
            _ => refuse(decoder, body, sink),
        },
        Decoder::DateTime => match date_time(body) {
            Some((date, clock)) => point(decoder, date, clock, sink),
            None => refuse(decoder, body, sink),
        },
        Decoder::Time => {
            let (negative, unsigned) = body.strip_prefix(b"-").map_or((false, body), |rest| (true, rest));
            match clock(unsigned).and_then(Clock::total) {
                Some(micros) => span(Some(if negative { -micros } else { micros }), sink),
                None => refuse(decoder, body, sink),
            }
        }
        Decoder::Null => refuse(decoder, body, sink),
    }
}

#[cold]
pub(super) fn refuse<S: Sink>(decoder: Decoder, body: &[u8], sink: &mut S) {
    let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
    sink.invalid(&format!("the server sent {shown:?} as {}", decoder.name()));
}

/// Sign and digits; `None` for anything else, or more digits than fit 64 bits.
#[inline]
pub(super) fn integer(body: &[u8]) -> Option<(bool, u64)> {
    let (negative, digits) = body.strip_prefix(b"-").map_or((false, body), |rest| (true, rest));
    Some((negative, number(digits)?))
}

#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn small(digits: &[u8]) -> Option<u8> {
    u8::try_from(number(digits)?).ok()
}

/// `YYYY-MM-DD` and the rest.
fn date(body: &[u8]) -> Option<(Ymd, &[u8])> {
    let (head, rest) = body.split_at_checked(10)?;
    let [y @ .., b'-', m1, m2, b'-', d1, d2] = head else { return None };
    let year = u16::try_from(number(y)?).ok()?;
    Some((Ymd { year, month: small(&[*m1, *m2])?, day: small(&[*d1, *d2])? }, rest))
}

fn date_time(body: &[u8]) -> Option<(Ymd, Clock)> {
    match date(body)? {
        (date, []) => Some((date, Clock::default())),
        (date, [b' ', rest @ ..]) => Some((date, clock(rest)?)),
        _ => None,
    }
}

/// `H...:MM:SS[.ffffff]`
fn clock(body: &[u8]) -> Option<Clock> {
    let mut parts = body.splitn(3, |byte| *byte == b':');
    let hours = u32::try_from(number(parts.next()?)?).ok()?;
    let minutes = small(parts.next()?)?;
    let seconds = parts.next()?;
    let (seconds, micros) = match seconds.split_at_checked(2)? {
        (seconds, []) => (seconds, 0),
        (seconds, [b'.', fraction @ ..]) if (1..=6).contains(&fraction.len()) => {
            let scale = 10u32.pow(6 - fraction.len() as u32);
            (seconds, u32::try_from(number(fraction)?).ok()? * scale)
        }
        _ => return None,
    };
    Some(Clock { hours, minutes, seconds: small(seconds)?, micros })
}

/// DECIMAL: digits with a sign and a point.
pub(super) fn decimal<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let plain = !body.is_empty() && body.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    sink.decimal(std::str::from_utf8(body).ok().filter(|_| plain)?);
    Some(())
}

pub(super) fn uuid<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let hex: Vec<u8> = body.iter().copied().filter(|byte| *byte != b'-').collect();
    let text = std::str::from_utf8(&hex).ok().filter(|text| text.len() == 32 && !text.starts_with('+'))?;
    sink.uuid(&u128::from_str_radix(text, 16).ok()?.to_be_bytes());
    Some(())
}

pub(super) fn inet<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    match std::str::from_utf8(body).ok()?.parse().ok()? {
        IpAddr::V4(ip) => sink.inet(Inet { address: &ip.octets(), prefix: 32, network: false }),
        IpAddr::V6(ip) => sink.inet(Inet { address: &ip.octets(), prefix: 128, network: false }),
    }
    Some(())
}
