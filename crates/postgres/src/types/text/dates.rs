//! Dates, times and intervals in text form, in every DateStyle and IntervalStyle.

use headrace_core::Sink;
use headrace_core::civil::{DAY_MICROS, days_from_civil};

/// The order of day and month in a date that does not show it: DateStyle's second word.
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

/// The last year of PostgreSQL's own date type.
const MAX_YEAR: i64 = 5_874_897;

/// A date in any DateStyle: `2020-12-31`, `31.12.2020`, `12/31/2020`, `12-31-2020`, and ` BC` after it.
pub(super) fn date(text: &str, order: Option<DateOrder>) -> Option<i32> {
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

pub(super) fn time(text: &str) -> Option<i64> {
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
pub(super) fn offset(text: &str) -> Option<i32> {
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
pub(super) fn timestamp<S: Sink>(text: &str, zoned: bool, order: Option<DateOrder>, sink: &mut S) -> Option<()> {
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

/// The days of a timestamp without its era, and the rest: the time of day, and the zone after it.
fn day_and_clock(text: &str, bc: bool, order: Option<DateOrder>) -> Option<(i32, String)> {
    let words: Vec<&str> = text.split(' ').collect();
    if text.as_bytes().first()?.is_ascii_digit() {
        // ISO, SQL and German, which may have a blank before the zone.
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

/// A time of day and its zone's offset east of UTC. The abbreviation of any other zone is ambiguous.
fn split_zone(text: &str) -> Option<(&str, i32)> {
    let at = text.find(['+', '-']).or_else(|| text.find(|c: char| c.is_ascii_alphabetic()))?;
    let (clock, zone) = text.split_at(at);
    match zone {
        "UTC" | "GMT" | "Z" | "Etc/UTC" => Some((clock, 0)),
        zone => Some((clock, offset(zone)?)),
    }
}

/// An interval in any IntervalStyle: months, days, microseconds.
pub(super) fn interval(text: &str) -> Option<(i32, i32, i64)> {
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

/// Returns true if this is sql_standard: numbers alone, of which the year and month have a hyphen between them.
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

/// sql_standard: `1-2`, `3 4:05:06.7`, `+1-2 -3 +4:05:06.7`, `0`. A sign before the first part alone is that of
/// all.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_as_iso_text() {
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
}
