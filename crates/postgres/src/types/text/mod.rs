//! Values in text form into sinks: those of the simple protocol, of COPY as text, and of types without a binary form.
//!
//! Every style that the server can be set to is parsed (DateStyle, IntervalStyle, bytea_output), so that a value is the
//! same in whichever form it came. Text that cannot be parsed is refused, never passed on unchanged.

mod containers;
mod dates;

pub(super) use containers::{array, composite, multirange, range, vector};
pub use dates::DateOrder;

use super::builtin::Scalar;
use super::extension;
use dates::{date, interval, offset, time, timestamp};
use headrace_core::{Container, Inet, Sink};

/// A type whose text depends on the session or on another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Styled {
    /// cidr, whose text has the form of inet's.
    Cidr,
    /// A date or timestamp, in any DateStyle.
    Date(Scalar, Option<DateOrder>),
}

/// Parses one value.
#[inline(never)]
pub fn parse<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) {
    let done = match std::str::from_utf8(body) {
        Ok(text) => try_parse(scalar, text, sink),
        Err(_) => None,
    };
    if done.is_none() {
        refuse(scalar, body, sink);
    }
}

#[cold]
fn refuse<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) {
    let text = String::from_utf8_lossy(body);
    sink.invalid(&format!("the server sent {text:.60?}, which is not text of the type {}", scalar.label()));
}

/// Parses a value whose text depends on the session.
pub fn parse_styled<S: Sink>(styled: Styled, body: &[u8], sink: &mut S) {
    let text = std::str::from_utf8(body).unwrap_or("");
    let done = match styled {
        Styled::Cidr => inet(text, true, sink),
        Styled::Date(Scalar::Date, order) => date(text, order).map(|days| sink.date(days)),
        Styled::Date(scalar, order) => timestamp(text, scalar == Scalar::TimestampTz, order, sink),
    };
    if done.is_none() {
        let text = String::from_utf8_lossy(body);
        sink.invalid(&format!(
            "the server sent {text:.60?}, which cannot be read for sure in the session's DateStyle; SET DateStyle TO ISO"
        ));
    }
}

/// Returns true if `text` is a number as `numeric_out` writes it.
fn is_decimal(text: &str) -> bool {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    (digits(whole) && digits(fraction)) || matches!(text, "NaN" | "Infinity" | "-Infinity")
}

fn try_parse<S: Sink>(scalar: Scalar, text: &str, sink: &mut S) -> Option<()> {
    match scalar {
        Scalar::Bool => match text {
            "t" => sink.bool(true),
            "f" => sink.bool(false),
            _ => return None,
        },
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Oid => sink.int(text.parse().ok()?),
        Scalar::UInt8 => sink.uint(text.parse().ok()?),
        Scalar::Float8 => sink.float(text.parse().ok()?),
        Scalar::Float4 => sink.float(f64::from(text.parse::<f32>().ok()?)),
        Scalar::Numeric if is_decimal(text) => sink.decimal(text),
        Scalar::Numeric => return None,
        Scalar::Bytea => sink.bytes(&bytea(text.as_bytes())?),
        Scalar::Json | Scalar::Jsonb => sink.json(text.as_bytes()),
        Scalar::Uuid => {
            let hex: String = text.chars().filter(|c| *c != '-').collect();
            let number = u128::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 32)?;
            sink.uuid(&number.to_be_bytes());
        }
        Scalar::Time => sink.time(time(text)?),
        Scalar::TimeTz => {
            let at = text.rfind(['+', '-'])?;
            sink.timetz(time(&text[..at])?, offset(&text[at..])?);
        }
        Scalar::Interval => {
            let (months, days, micros) = interval(text)?;
            sink.interval(months, days, micros);
        }
        Scalar::Bits => {
            let mut bytes = vec![0u8; text.len().div_ceil(8)];
            for (i, c) in text.bytes().enumerate() {
                match c {
                    b'1' => bytes[i / 8] |= 0x80 >> (i % 8),
                    b'0' => {}
                    _ => return None,
                }
            }
            sink.bits(text.len(), &bytes);
        }
        Scalar::Inet => inet(text, false, sink)?,
        Scalar::Char => match text.as_bytes() {
            // Bytes outside ASCII are written in octal.
            [b'\\', a @ b'2'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
                sink.bytes(&[(a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')]);
            }
            _ => sink.text(text.as_bytes()),
        },
        Scalar::Point => shape(Container::Point, text, Some(2), sink)?,
        Scalar::Line => shape(Container::Line, text, Some(3), sink)?,
        Scalar::LineSegment => points(Container::LineSegment, text, Some(2), sink)?,
        Scalar::Box => points(Container::Box, text, Some(2), sink)?,
        Scalar::Path => points(Container::Path { closed: text.starts_with('(') }, text, None, sink)?,
        Scalar::Polygon => points(Container::Polygon, text, None, sink)?,
        Scalar::Circle => {
            let [x, y, radius] = numbers(text)?[..] else { return None };
            sink.begin(Container::Circle, 2);
            point(x, y, sink);
            sink.float(radius);
            sink.end();
        }
        Scalar::Date | Scalar::Timestamp | Scalar::TimestampTz => {
            parse_styled(Styled::Date(scalar, None), text.as_bytes(), sink)
        }
        Scalar::Void => sink.null(),
        Scalar::Hstore
        | Scalar::Versioned
        | Scalar::Vector
        | Scalar::HalfVector
        | Scalar::SparseVector
        | Scalar::Geometry => extension::text(scalar, text, sink)?,
        _ => sink.text(text.as_bytes()),
    }
    Some(())
}

fn inet<S: Sink>(text: &str, network: bool, sink: &mut S) -> Option<()> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
        None => (text, None),
    };
    let octets = |address: &[u8], sink: &mut S| {
        let bits = 8 * address.len() as u8;
        let prefix = prefix.unwrap_or(bits);
        (prefix <= bits).then(|| sink.inet(Inet { address, prefix, network }))
    };
    match address.parse().ok()? {
        std::net::IpAddr::V4(ip) => octets(&ip.octets(), sink),
        std::net::IpAddr::V6(ip) => octets(&ip.octets(), sink),
    }
}

/// The numbers of a geometric value, whatever is between them.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let plain: String = text.chars().filter(|c| !"()[]{}<>".contains(*c)).collect();
    plain.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn point<S: Sink>(x: f64, y: f64, sink: &mut S) {
    sink.begin(Container::Point, 2);
    sink.float(x);
    sink.float(y);
    sink.end();
}

fn shape<S: Sink>(container: Container, text: &str, n: Option<usize>, sink: &mut S) -> Option<()> {
    let numbers = numbers(text).filter(|numbers| n.is_none_or(|n| n == numbers.len()))?;
    sink.begin(container, numbers.len());
    numbers.into_iter().for_each(|number| sink.float(number));
    sink.end();
    Some(())
}

fn points<S: Sink>(container: Container, text: &str, n: Option<usize>, sink: &mut S) -> Option<()> {
    let numbers = numbers(text).filter(|all| all.len().is_multiple_of(2) && n.is_none_or(|n| 2 * n == all.len()))?;
    sink.begin(container, numbers.len() / 2);
    numbers.chunks_exact(2).for_each(|pair| point(pair[0], pair[1], sink));
    sink.end();
    Some(())
}

fn bytea(text: &[u8]) -> Option<Vec<u8>> {
    if let [b'\\', b'x', hex @ ..] = text {
        let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
        return hex.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect();
    }
    // bytea_output = escape
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        match rest {
            [] => return Some(out),
            [b'\\', b'\\', after @ ..] => {
                out.push(b'\\');
                rest = after;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            [b'\\', ..] => return None,
            [byte, after @ ..] => {
                out.push(*byte);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytea_in_both_outputs() {
        assert_eq!(bytea(b"\\x00ff41"), Some(vec![0, 255, 65]));
        assert_eq!(bytea(b"a\\000\\\\b"), Some(vec![b'a', 0, b'\\', b'b']));
        assert_eq!(bytea(b"\\x0"), None);
    }
}
