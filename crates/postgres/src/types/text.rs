//! Values in text form into sinks: what the simple protocol, COPY as text and types without a binary form give.
//!
//! Every style that the server can be told to write is read (DateStyle, IntervalStyle, bytea_output), so that a value is
//! the same one whichever way it came. What cannot be read is refused, never handed over as the text it is.

use super::builtin::Scalar;
use super::decode::{CompositePlan, Decoder};
use headrace_core::civil::{DAY_MICROS, days_from_civil};
use headrace_core::{Container, Inet, Sink};

/// What comes first in a date that does not show it: DateStyle's second word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    MonthFirst,
    /// Day, month, year.
    DayFirst,
}

impl DateOrder {
    /// The order that a DateStyle as the server reports it (`SQL, DMY`) has.
    pub fn of_style(style: &str) -> Self {
        if style.contains("DMY") { Self::DayFirst } else { Self::MonthFirst }
    }
}

/// A type whose text depends on more than on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Styled {
    /// cidr, which looks like inet.
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
    sink.invalid(&format!("the server sent {text:.60?}, which is no text of the type {scalar:?}"));
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

/// Whether these bytes are text without control characters.
pub(super) fn is_plain(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok() && !body.iter().any(|byte| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r'))
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
            // What is no ASCII is written in octal.
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

/// The numbers of a geometric value, whatever stands around them.
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

/// The last year of PostgreSQL's own date type.
const MAX_YEAR: i64 = 5_874_897;

/// A date in any DateStyle: `2020-12-31`, `31.12.2020`, `12/31/2020`, `12-31-2020`, and ` BC` behind it.
fn date(text: &str, order: Option<DateOrder>) -> Option<i32> {
    match text {
        "infinity" => return Some(i32::MAX),
        "-infinity" => return Some(i32::MIN),
        _ => {}
    }
    let (text, bc) = without_era(text);
    days(text, bc, order)
}

fn without_era(text: &str) -> (&str, bool) {
    text.strip_suffix(" BC").map_or((text, false), |text| (text, true))
}

/// The days of a date without its era.
fn days(text: &str, bc: bool, order: Option<DateOrder>) -> Option<i32> {
    let separator = text.find(|c: char| !c.is_ascii_digit())?;
    let mut parts = text.split(char::from(text.as_bytes()[separator]));
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (year, month, day) = match text.as_bytes()[separator] {
        b'-' if separator >= 4 => (a, b, c),
        b'.' => (c, b, a),
        b'/' | b'-' => match order? {
            DateOrder::MonthFirst => (c, a, b),
            DateOrder::DayFirst => (c, b, a),
        },
        _ => return None,
    };
    civil(year, month.parse().ok()?, day, bc)
}

fn civil(year: &str, month: u32, day: &str, bc: bool) -> Option<i32> {
    let year: i64 = year.parse().ok().filter(|n| (0..=MAX_YEAR).contains(n) && year.len() >= 4)?;
    let day = day.parse().ok()?;
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

/// A timestamp in any DateStyle, into the sink: it may be one that 64 bits cannot count from 1970.
fn timestamp<S: Sink>(text: &str, zoned: bool, order: Option<DateOrder>, sink: &mut S) -> Option<()> {
    let mut put = |micros| if zoned { sink.timestamptz(micros) } else { sink.timestamp(micros) };
    if let Some(infinite) = infinite(text) {
        put(infinite);
        return Some(());
    }
    let (plain, bc) = without_era(text);
    let (days, clock) = day_and_clock(plain, bc, order)?;
    let (clock, east) = if zoned { split_zone(&clock)? } else { (clock.as_str(), 0) };
    let micros = time(clock)? - i64::from(east) * 1_000_000;
    match i64::from(days).checked_mul(DAY_MICROS).and_then(|day| day.checked_add(micros)) {
        Some(micros) => put(micros),
        None => sink.no_such_date(text),
    }
    Some(())
}

/// The days of a timestamp without its era, and what is left: the time of day, and the zone behind it.
fn day_and_clock(text: &str, bc: bool, order: Option<DateOrder>) -> Option<(i32, String)> {
    let words: Vec<&str> = text.split(' ').collect();
    if text.as_bytes().first()?.is_ascii_digit() {
        // ISO, SQL and German, which may have a blank in front of the zone.
        let (day, clock) = words.split_first()?;
        return Some((days(day, bc, order)?, clock.concat()));
    }
    // Postgres: Wed Dec 31 23:59:59.5 2020 UTC, or Wed 31 Dec 23:59:59.5 2020 UTC
    let [_, a, b, clock, year, zone @ ..] = &words[..] else { return None };
    let (name, day) = if a.as_bytes().first()?.is_ascii_digit() { (b, a) } else { (a, b) };
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|month| month == name)? as u32 + 1;
    Some((civil(year, month, day, bc)?, format!("{clock}{}", zone.concat())))
}

/// A time of day and its zone's offset east of UTC. The abbreviation of any other zone is nobody's to interpret.
fn split_zone(text: &str) -> Option<(&str, i32)> {
    let at = text.find(['+', '-']).or_else(|| text.find(|c: char| c.is_ascii_alphabetic()))?;
    let (clock, zone) = text.split_at(at);
    match zone {
        "UTC" | "GMT" | "Z" | "Etc/UTC" => Some((clock, 0)),
        zone => Some((clock, offset(zone)?)),
    }
}

/// An interval in any IntervalStyle: months, days, microseconds.
fn interval(text: &str) -> Option<(i32, i32, i64)> {
    match infinite(text) {
        Some(i64::MAX) => return Some((i32::MAX, i32::MAX, i64::MAX)),
        Some(_) => return Some((i32::MIN, i32::MIN, i64::MIN)),
        None => {}
    }
    if let Some(iso) = text.strip_prefix('P') {
        return iso_interval(iso);
    }
    let (text, verbose) = text.strip_prefix("@ ").map_or((text, false), |text| (text, true));
    if verbose || text.bytes().any(|byte| byte.is_ascii_alphabetic()) || !is_sql_interval(text) {
        return worded_interval(text);
    }
    sql_interval(text)
}

/// Whether this is sql_standard: numbers alone, of which the year and month have a hyphen between them.
fn is_sql_interval(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b" +-:.".contains(&byte))
}

/// postgres (`1 year 2 mons -3 days 04:05:06.7`) and postgres_verbose (`1 year 4 hours 5 mins -6.7 secs ago`).
fn worded_interval(text: &str) -> Option<(i32, i32, i64)> {
    let (text, sign) = text.strip_suffix(" ago").map_or((text, 1), |text| (text, -1));
    let (mut months, mut days, mut micros) = (0i32, 0i32, 0i64);
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word == "0" {
            continue;
        }
        if word.contains(':') {
            micros = signed_time(word)?;
            continue;
        }
        let unit = words.next()?.trim_end_matches('s');
        let n = || word.parse::<i32>().ok();
        let scaled = |scale: i64| word.parse::<i64>().ok()?.checked_mul(scale);
        match unit {
            "year" => months = months.checked_add(n()?.checked_mul(12)?)?,
            "mon" => months = months.checked_add(n()?)?,
            "day" => days = n()?,
            "hour" => micros = micros.checked_add(scaled(3_600_000_000)?)?,
            "min" => micros = micros.checked_add(scaled(60_000_000)?)?,
            "sec" => micros = micros.checked_add(seconds(word)?)?,
            _ => return None,
        }
    }
    Some((months.checked_mul(sign)?, days.checked_mul(sign)?, micros.checked_mul(i64::from(sign))?))
}

/// iso_8601: `1Y2M-3DT4H5M6.7S`
fn iso_interval(text: &str) -> Option<(i32, i32, i64)> {
    let (mut months, mut days, mut micros) = (0i32, 0i32, 0i64);
    let (mut rest, mut clock) = (text, false);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            (rest, clock) = (after, true);
            continue;
        }
        let at = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, unit) = (&rest[..at], rest.as_bytes()[at]);
        let n = || number.parse::<i32>().ok();
        let scaled = |scale: i64| number.parse::<i64>().ok()?.checked_mul(scale);
        match (unit, clock) {
            (b'Y', false) => months = months.checked_add(n()?.checked_mul(12)?)?,
            (b'M', false) => months = months.checked_add(n()?)?,
            (b'D', false) => days = n()?,
            (b'H', true) => micros = micros.checked_add(scaled(3_600_000_000)?)?,
            (b'M', true) => micros = micros.checked_add(scaled(60_000_000)?)?,
            (b'S', true) => micros = micros.checked_add(seconds(number)?)?,
            _ => return None,
        }
        rest = &rest[at + 1..];
    }
    Some((months, days, micros))
}

/// sql_standard: `1-2`, `3 4:05:06.7`, `+1-2 -3 +4:05:06.7`, `0`. A sign in front of the first part alone is that of all.
fn sql_interval(text: &str) -> Option<(i32, i32, i64)> {
    let words: Vec<&str> = text.split(' ').collect();
    let signed = |word: &str| word.starts_with(['+', '-']);
    let all = words.first()?.starts_with('-') && !words[1..].iter().any(|word| signed(word));
    let (mut months, mut days, mut micros) = (0i32, 0i32, 0i64);
    for word in words {
        let negative = all || word.starts_with('-');
        let plain = word.trim_start_matches(['+', '-']);
        let sign = if negative { -1 } else { 1 };
        if plain.contains(':') {
            micros = i64::from(sign) * time(plain)?;
        } else if let Some((years, rest)) = plain.split_once('-') {
            months = sign * years.parse::<i32>().ok()?.checked_mul(12)?.checked_add(rest.parse().ok()?)?;
        } else {
            days = sign * plain.parse::<i32>().ok()?;
        }
    }
    Some((months, days, micros))
}

fn signed_time(text: &str) -> Option<i64> {
    match text.as_bytes().first()? {
        b'-' => Some(-time(&text[1..])?),
        b'+' => time(&text[1..]),
        _ => time(text),
    }
}

/// Seconds with a fraction, in microseconds.
fn seconds(text: &str) -> Option<i64> {
    let (sign, plain) = text.strip_prefix('-').map_or((1, text), |plain| (-1, plain));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<6}").parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)?.checked_mul(sign)
}

/// int2vector and oidvector: numbers with blanks between them.
pub fn vector<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let text = std::str::from_utf8(body).ok()?;
    let numbers: Vec<i64> = text.split_ascii_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    sink.begin(Container::List, numbers.len());
    numbers.into_iter().for_each(|number| sink.int(number));
    sink.end();
    Some(())
}

/// One part of a range or composite in text form, up to one of `ends`, and where that stands. `None` for an empty part
/// that is not quoted: NULL, or no bound.
#[allow(clippy::type_complexity)]
fn part(body: &[u8], mut at: usize, ends: &[u8]) -> Option<(Option<Vec<u8>>, usize)> {
    let mut value = Vec::new();
    let (mut quoted, mut is_null) = (false, true);
    loop {
        let byte = *body.get(at)?;
        if !quoted && ends.contains(&byte) {
            return Some((Some(value).filter(|_| !is_null), at));
        }
        is_null = false;
        match byte {
            b'"' if quoted && body.get(at + 1) == Some(&b'"') => {
                value.push(byte);
                at += 1;
            }
            b'"' => quoted = !quoted,
            b'\\' => {
                at += 1;
                value.push(*body.get(at)?);
            }
            _ => value.push(byte),
        }
        at += 1;
    }
}

/// `[1,5)`, `(,5]`, `empty`
pub fn range<S: Sink>(bound: &Decoder, body: &[u8], sink: &mut S) -> Option<()> {
    let end = one_range(bound, body, 0, sink)?;
    (end == body.len()).then_some(())
}

/// The range that begins at `at`, into the sink once it is whole; says where it ends.
fn one_range<S: Sink>(bound: &Decoder, body: &[u8], at: usize, sink: &mut S) -> Option<usize> {
    if body[at..].starts_with(b"empty") {
        let nothing =
            Container::Range { empty: true, has_lower: false, has_upper: false, lower_inc: false, upper_inc: false };
        sink.begin(nothing, 0);
        sink.end();
        return Some(at + 5);
    }
    let lower_inc = match body.get(at)? {
        b'[' => true,
        b'(' => false,
        _ => return None,
    };
    let (lower, comma) = part(body, at + 1, b",")?;
    let (upper, end) = part(body, comma + 1, b")]")?;
    let container = Container::Range {
        empty: false,
        has_lower: lower.is_some(),
        has_upper: upper.is_some(),
        lower_inc,
        upper_inc: body[end] == b']',
    };
    sink.begin(container, usize::from(lower.is_some()) + usize::from(upper.is_some()));
    for value in [lower, upper].iter().flatten() {
        bound.decode(value, sink);
    }
    sink.end();
    Some(end + 1)
}

/// `{[1,3),[5,7)}`
pub fn multirange<S: Sink>(inner: &Decoder, body: &[u8], sink: &mut S) -> Option<()> {
    let Decoder::ParseRange(bound) = inner else { return None };
    let inside = body.strip_prefix(b"{")?.strip_suffix(b"}")?;
    // The ends are found first, so that the sink never sees half of a multirange.
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < inside.len() {
        if !matches!(inside[at], b'[' | b'(') {
            return None;
        }
        starts.push(at);
        let (_, comma) = part(inside, at + 1, b",")?;
        let (_, end) = part(inside, comma + 1, b")]")?;
        at = match inside.get(end + 1) {
            None => inside.len(),
            Some(b',') => end + 2,
            Some(_) => return None,
        };
    }
    sink.begin(Container::Multirange, starts.len());
    for start in starts {
        one_range(bound, inside, start, sink)?;
    }
    sink.end();
    Some(())
}

/// `(1,"a b",)`
pub(super) fn composite<S: Sink>(plan: &CompositePlan, body: &[u8], sink: &mut S) -> Option<()> {
    let mut values = Vec::new();
    let mut at = 0;
    if body == b"()" {
        // No attribute at all, or one that is NULL.
        at = 1;
        if !plan.is_empty() {
            values.push(None);
        }
    }
    while body.get(at) != Some(&b')') || at == 0 {
        let (value, end) = part(body, at + 1, b",)")?;
        values.push(value);
        at = end;
    }
    if at + 1 != body.len() || (body[0] != b'(') {
        return None;
    }
    let Some(decoders) = plan.attributes(values.len()) else {
        sink.invalid(
            "the server sent a composite value of another number of attributes than its type had: the type has changed; \
             execute the statement again",
        );
        return Some(());
    };
    sink.begin(plan.container(), values.len());
    for (decoder, value) in decoders.zip(&values) {
        match value {
            Some(value) => decoder.decode(value, sink),
            None => sink.null(),
        }
    }
    sink.end();
    Some(())
}

/// An array in text form: `{1,NULL,"a \"b\""}`, `{{1},{2}}`, `[0:1]={1,2}`.
pub fn array<S: Sink>(element: &Decoder, separator: u8, body: &[u8], sink: &mut S) -> Option<()> {
    let start = if body.first() == Some(&b'[') { body.iter().position(|b| *b == b'=').map_or(0, |i| i + 1) } else { 0 };
    for token in &tokens(&body[start..], separator)? {
        match token {
            Token::Open(len) => sink.begin(Container::List, *len),
            Token::Close => sink.end(),
            Token::Null => sink.null(),
            Token::Value(value) => element.decode(value, sink),
        }
    }
    Some(())
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
        assert_eq!(date("1970-01-02", None), Some(1));
        assert_eq!(date("0001-01-01 BC", None), Some(days_from_civil(0, 1, 1) as i32));
        assert_eq!(time("24:00:00"), Some(DAY_MICROS));
        assert_eq!(date("99999999999-01-01", None), None);
        assert_eq!(time("4294967295:00:00"), None);
        assert_eq!(offset("+9999999"), None);
    }

    #[test]
    fn dates_in_every_style() {
        for (text, order, expected) in [
            ("02.01.1970", None, Some(1)),
            ("01/02/1970", None, None),
            ("01/02/1970", Some(DateOrder::MonthFirst), Some(1)),
            ("02/01/1970", Some(DateOrder::DayFirst), Some(1)),
            ("02-01-1970", Some(DateOrder::DayFirst), Some(1)),
            ("13/01/1970", Some(DateOrder::MonthFirst), None),
        ] {
            assert_eq!(date(text, order), expected, "{text}");
        }
    }

    #[test]
    fn intervals_in_every_style() {
        let mixed = Some((14, -3, 14_706_700_000));
        for (text, expected) in [
            ("1 year 2 mons -3 days +04:05:06.7", mixed),
            ("@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs", mixed),
            ("+1-2 -3 +4:05:06.7", mixed),
            ("P1Y2M-3DT4H5M6.7S", mixed),
            ("@ 3 days 4 hours 5 mins 6.7 secs ago", Some((0, -3, -14_706_700_000))),
            ("-3 4:05:06.7", Some((0, -3, -14_706_700_000))),
            ("P-3DT-4H-5M-6.7S", Some((0, -3, -14_706_700_000))),
            ("-1-2", Some((-14, 0, 0))),
            ("00:00:00", Some((0, 0, 0))),
            ("@ 0", Some((0, 0, 0))),
            ("0", Some((0, 0, 0))),
            ("PT0S", Some((0, 0, 0))),
            ("-04:05:06.7", Some((0, 0, -14_706_700_000))),
            ("PT1X", None),
            ("one day", None),
        ] {
            assert_eq!(interval(text), expected, "{text}");
        }
    }

    #[test]
    fn a_malformed_multirange_leaves_nothing_open() {
        for text in ["{!){,1!)}", "{empty,1)}", "{[1,2),x,3)}"] {
            let mut sink = headrace_testkit::CheckedSink::default();
            let inner = Decoder::ParseRange(Box::new(Decoder::Parse(Scalar::Int4)));
            assert_eq!((multirange(&inner, text.as_bytes(), &mut sink), sink.depth), (None, 0), "{text}");
        }
    }

    #[test]
    fn bytea_in_both_outputs() {
        assert_eq!(bytea(b"\\x00ff41"), Some(vec![0, 255, 65]));
        assert_eq!(bytea(b"a\\000\\\\b"), Some(vec![b'a', 0, b'\\', b'b']));
        assert_eq!(bytea(b"\\x0"), None);
    }
}
