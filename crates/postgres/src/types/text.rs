//! Values in text form into sinks: what the simple protocol and types without a binary form give.
//!
//! A form that is not the one expected (another DateStyle or IntervalStyle) is handed over as the text it is.

use super::builtin::Scalar;
use super::decode::Decoder;
use headrace_core::civil::{DAY_MICROS, days_from_civil};
use headrace_core::{Container, Inet, Sink};

/// Parses one value.
#[inline(never)]
pub fn parse<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) {
    let Ok(text) = std::str::from_utf8(body) else { return sink.text(body) };
    if try_parse(scalar, text, sink).is_none() {
        sink.text(body);
    }
}

/// Whether `text` is a number as `numeric_out` writes it.
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
        Scalar::Date => sink.date(date(text)?),
        Scalar::Time => sink.time(time(text)?),
        Scalar::TimeTz => {
            let at = text.rfind(['+', '-'])?;
            sink.timetz(time(&text[..at])?, offset(&text[at..])?);
        }
        Scalar::Timestamp => sink.timestamp(timestamp(text)?),
        Scalar::TimestampTz => sink.timestamptz(timestamptz(text)?),
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
        Scalar::Inet => {
            let (address, prefix) = match text.split_once('/') {
                Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
                None => (text, None),
            };
            // Only cidr always shows its prefix; a host network of either kind decodes to the same value but for that.
            let network = false;
            let octets = |address: &[u8], sink: &mut S| {
                let bits = 8 * address.len() as u8;
                let prefix = prefix.unwrap_or(bits);
                (prefix <= bits).then(|| sink.inet(Inet { address, prefix, network }))
            };
            match address.parse().ok()? {
                std::net::IpAddr::V4(ip) => octets(&ip.octets(), sink)?,
                std::net::IpAddr::V6(ip) => octets(&ip.octets(), sink)?,
            }
        }
        Scalar::Void => sink.null(),
        _ => sink.text(text.as_bytes()),
    }
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

/// The last year of PostgreSQL's own date type.
const MAX_YEAR: i64 = 5_874_897;

fn date(text: &str) -> Option<i32> {
    match text {
        "infinity" => return Some(i32::MAX),
        "-infinity" => return Some(i32::MIN),
        _ => {}
    }
    let (text, bc) = match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() < 4 {
        return None;
    }
    let year: i64 = year.parse().ok().filter(|year| (0..=MAX_YEAR).contains(year))?;
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    i32::try_from(days_from_civil(if bc { 1 - year } else { year }, month, day)).ok()
}

fn time(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds = 0i64;
    let mut parts = clock.split(':');
    for scale in [3600, 60, 1] {
        seconds += parts.next()?.parse::<u32>().ok().map(i64::from)? * scale;
    }
    if parts.next().is_some() || fraction.len() > 6 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction = if fraction.is_empty() { 0 } else { format!("{fraction:0<6}").parse::<i64>().ok()? };
    seconds.checked_mul(1_000_000)?.checked_add(fraction)
}

/// `+05`, `+05:30`, `-00:00:30`
fn offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let mut seconds = 0;
    for (part, scale) in rest.split(':').zip([3600, 60, 1]) {
        seconds += part.parse::<u8>().ok().map(i32::from)? * scale;
    }
    Some(sign * seconds)
}

fn infinite(text: &str) -> Option<i64> {
    match text {
        "infinity" => Some(i64::MAX),
        "-infinity" => Some(i64::MIN),
        _ => None,
    }
}

fn timestamp(text: &str) -> Option<i64> {
    if let Some(infinite) = infinite(text) {
        return Some(infinite);
    }
    let (text, era) = match text.strip_suffix(" BC") {
        Some(text) => (text, " BC"),
        None => (text, ""),
    };
    let (day, clock) = text.split_once(' ')?;
    let days = date(&format!("{day}{era}"))?;
    i64::from(days).checked_mul(DAY_MICROS)?.checked_add(time(clock)?)
}

fn timestamptz(text: &str) -> Option<i64> {
    if let Some(infinite) = infinite(text) {
        return Some(infinite);
    }
    let (text, era) = match text.strip_suffix(" BC") {
        Some(text) => (text, " BC"),
        None => (text, ""),
    };
    let clock = text.find(' ')?;
    let zone = clock + text[clock..].find(['+', '-'])?;
    let local = timestamp(&format!("{}{era}", &text[..zone]))?;
    local.checked_sub(i64::from(offset(&text[zone..])?) * 1_000_000)
}

/// IntervalStyle postgres: `1 year 2 mons -3 days 04:05:06.7`
fn interval(text: &str) -> Option<(i32, i32, i64)> {
    let (mut months, mut days, mut micros) = (0i32, 0i32, 0i64);
    let mut words = text.split(' ').peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            let (sign, clock) = match word.as_bytes()[0] {
                b'-' => (-1, &word[1..]),
                b'+' => (1, &word[1..]),
                _ => (1, word),
            };
            micros = sign * time(clock)?;
            continue;
        }
        let n: i32 = word.parse().ok()?;
        match words.next()?.trim_end_matches('s') {
            "year" => months = months.checked_add(n.checked_mul(12)?)?,
            "mon" => months = months.checked_add(n)?,
            "day" => days = n,
            _ => return None,
        }
    }
    Some((months, days, micros))
}

/// An array in text form: `{1,NULL,"a \"b\""}`, `{{1},{2}}`, `[0:1]={1,2}`.
pub fn array<S: Sink>(element: &Decoder, separator: u8, body: &[u8], sink: &mut S) {
    let start = if body.first() == Some(&b'[') { body.iter().position(|b| *b == b'=').map_or(0, |i| i + 1) } else { 0 };
    match tokens(&body[start..], separator) {
        None => sink.text(body),
        Some(tokens) => {
            for token in &tokens {
                match token {
                    Token::Open(len) => sink.begin(Container::List, *len),
                    Token::Close => sink.end(),
                    Token::Null => sink.null(),
                    Token::Value(value) => element.decode(value, sink),
                }
            }
        }
    }
}

enum Token {
    Open(usize),
    Close,
    Null,
    Value(Vec<u8>),
}

/// The tokens of a well-formed array, or nothing: so that a sink never sees half of one.
fn tokens(body: &[u8], separator: u8) -> Option<Vec<Token>> {
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut i = 0;
    while i < body.len() {
        match body[i] {
            b'{' => {
                depth += 1;
                if depth > 6 {
                    return None;
                }
                out.push(Token::Open(0));
                i += 1;
            }
            b'}' => {
                depth = depth.checked_sub(1)?;
                out.push(Token::Close);
                i += 1;
            }
            c if c == separator => i += 1,
            b'"' => {
                let mut value = Vec::new();
                i += 1;
                loop {
                    match *body.get(i)? {
                        b'"' => break,
                        b'\\' => {
                            value.push(*body.get(i + 1)?);
                            i += 2;
                        }
                        byte => {
                            value.push(byte);
                            i += 1;
                        }
                    }
                }
                i += 1;
                out.push(Token::Value(value));
            }
            _ => {
                let end = body[i..].iter().position(|b| *b == separator || *b == b'}')? + i;
                let word = &body[i..end];
                out.push(if word == b"NULL" { Token::Null } else { Token::Value(word.to_vec()) });
                i = end;
            }
        }
        if depth == 0 && i < body.len() {
            return None;
        }
    }
    (depth == 0 && !out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_iso_text() {
        assert_eq!(date("1970-01-02"), Some(1));
        assert_eq!(date("0001-01-01 BC"), Some(days_from_civil(0, 1, 1) as i32));
        assert_eq!(date("01/02/1970"), None);
        assert_eq!(time("24:00:00"), Some(DAY_MICROS));
        assert_eq!(timestamp("1970-01-01 00:00:01.5"), Some(1_500_000));
        assert_eq!(timestamptz("1970-01-01 05:30:00+05:30"), Some(0));
        assert_eq!(timestamptz("1969-12-31 19:00:00-05"), Some(0));
        assert_eq!(interval("1 year 2 mons -3 days -04:05:06.7"), Some((14, -3, -14_706_700_000)));
        assert_eq!(interval("00:00:00"), Some((0, 0, 0)));
        assert_eq!(interval("P1Y"), None);
        assert_eq!(date("99999999999-01-01"), None);
        assert_eq!(time("4294967295:00:00"), None);
        assert_eq!(offset("+9999999"), None);
    }

    #[test]
    fn bytea_in_both_outputs() {
        assert_eq!(bytea(b"\\x00ff41"), Some(vec![0, 255, 65]));
        assert_eq!(bytea(b"a\\000\\\\b"), Some(vec![b'a', 0, b'\\', b'b']));
        assert_eq!(bytea(b"\\x0"), None);
    }
}
