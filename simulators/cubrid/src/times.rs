//! Dates and times: texts that sort, and their fields on the wire.
//!
//! DATE is `YYYY-MM-DD`, TIME `HH:MM:SS`, TIMESTAMP both, DATETIME with `.mmm`. The types with a zone are a DATETIME in
//! UTC, a bar, and the zone as it is shown.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::types::code::*;

/// The fields of a value, of which a type has some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Year, month, day, hour, minute, second, milliseconds.
    pub all: [i16; 7],
}

impl Fields {
    /// The text that is kept for a type without a zone.
    pub fn text(&self, ty: u8) -> String {
        let [year, month, day, hour, minute, second, milli] = self.all;
        match ty {
            DATE => format!("{year:04}-{month:02}-{day:02}"),
            TIME => format!("{hour:02}:{minute:02}:{second:02}"),
            TIMESTAMP => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            _ => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{milli:03}"),
        }
    }

    /// Reads a text that was kept.
    pub fn kept(text: &str) -> Self {
        let mut fields = Self::default();
        let (date, time) = match text.split_once(' ') {
            Some(both) => both,
            None if text.contains(':') => ("", text),
            None => (text, ""),
        };
        for (index, part) in date.splitn(3, '-').enumerate() {
            fields.all[index] = part.parse().unwrap_or(0);
        }
        for (index, part) in time.splitn(4, [':', '.']).enumerate() {
            fields.all[3 + index] = part.parse().unwrap_or(0);
        }
        fields
    }

    /// True if there is such a date, or it is the zero date.
    pub fn is_valid(&self) -> bool {
        let [year, month, day, hour, minute, second, milli] = self.all;
        let zero = year == 0 && month == 0 && day == 0;
        let date = zero || jiff::civil::Date::new(year, month as i8, day as i8).is_ok_and(|date| date.year() > 0);
        date && (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second) && milli >= 0
    }

    fn civil(&self) -> Option<DateTime> {
        let [year, month, day, hour, minute, second, milli] = self.all;
        let nanos = i32::from(milli) * 1_000_000;
        DateTime::new(year, month as i8, day as i8, hour as i8, minute as i8, second as i8, nanos).ok()
    }

    fn of(time: DateTime) -> Self {
        let small = [time.month(), time.day(), time.hour(), time.minute(), time.second()].map(i16::from);
        let [month, day, hour, minute, second] = small;
        Self { all: [time.year(), month, day, hour, minute, second, (time.subsec_nanosecond() / 1_000_000) as i16] }
    }
}

/// Reads a date, a time or both, as users write them: `2024-02-29`, `02/29/2024`, `13:45`, `1:45:59 pm`,
/// `2024-02-29 13:45:59.123`, `20240229134559`.
pub fn parse(text: &str) -> Option<(Fields, bool, bool)> {
    let text = text.trim();
    let mut fields = Fields::default();
    if text.len() >= 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let part = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        fields.all = [part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12), part(12, 14), 0];
        return fields.is_valid().then_some((fields, true, text.len() > 8));
    }
    let (mut date, mut time, mut afternoon) = (None, None, None);
    for word in text.split([' ', 'T']).filter(|word| !word.is_empty()) {
        if word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm") {
            afternoon = Some(word.eq_ignore_ascii_case("pm"));
        } else if word.contains(':') && time.is_none() {
            time = Some(word);
        } else if word.contains(['-', '/']) && date.is_none() {
            date = Some(word);
        } else {
            return None;
        }
    }
    if let Some(date) = date {
        let slashes = date.contains('/');
        let parts: Vec<i16> = date.split(['-', '/']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [first, second, third] = parts[..] else { return None };
        let american = slashes && date.find('/').is_some_and(|at| at <= 2);
        [fields.all[0], fields.all[1], fields.all[2]] =
            if american { [third, first, second] } else { [first, second, third] };
        // Of a year with two digits the century is the nearest one of two.
        let year = date.split(['-', '/']).nth(if american { 2 } else { 0 }).unwrap_or_default();
        if year.len() == 2 {
            fields.all[0] += if fields.all[0] < 70 { 2000 } else { 1900 };
        }
    }
    if let Some(time) = time {
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        for (index, part) in clock.splitn(3, ':').enumerate() {
            fields.all[3 + index] = part.parse().ok()?;
        }
        if !fraction.is_empty() {
            let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
            fields.all[6] = digits.parse().ok()?;
        }
        match afternoon {
            Some(true) if fields.all[3] < 12 => fields.all[3] += 12,
            Some(false) if fields.all[3] == 12 => fields.all[3] = 0,
            _ => {}
        }
    }
    (fields.is_valid() && (date.is_some() || time.is_some())).then_some((fields, date.is_some(), time.is_some()))
}

/// A time zone by name or offset, with the abbreviation after it if there is one.
fn zone(text: &str) -> Option<(TimeZone, Option<&str>)> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix(['+', '-']) {
        let mut parts = rest.splitn(3, ':').map(|part| part.parse::<i32>().ok());
        let (hours, minutes) = (parts.next()??, parts.next().unwrap_or(Some(0))?);
        let seconds = (hours * 60 + minutes) * 60;
        let offset = Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()?;
        return Some((TimeZone::fixed(offset), None));
    }
    let mut words = text.split_whitespace();
    let name = words.next()?;
    if name.eq_ignore_ascii_case("UTC") || name.eq_ignore_ascii_case("Z") {
        return Some((TimeZone::UTC, words.next()));
    }
    Some((TimeZone::get(name).ok()?, words.next()))
}

/// Splits a zone from the end of a text.
pub fn split_zone(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    // The zone begins with a letter or a sign after a space; `am` and `pm` are none.
    for (at, _) in text.match_indices(' ') {
        let rest = text[at + 1..].trim_start();
        let word = rest.split_whitespace().next().unwrap_or_default();
        let half = word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm");
        if !half && rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '+' || first == '-') {
            return (text[..at].trim_end(), Some(rest));
        }
    }
    (text, None)
}

/// 0000-00-00 00:00:00.
const ZERO: [i16; 7] = [0; 7];

/// A local time in a zone, as it is kept; nothing if there is no such zone or time.
pub fn zoned(fields: &Fields, name: &str) -> Option<String> {
    let (zone, abbreviation) = zone(name)?;
    if fields.all == ZERO {
        return Some(kept_zero(fields, &zone, name));
    }
    let ambiguous = zone.to_ambiguous_zoned_datetime(fields.civil()?);
    let mut instant = ambiguous.clone().compatible().ok()?.timestamp();
    if let Some(wanted) = abbreviation {
        for candidate in [ambiguous.clone().earlier(), ambiguous.later()].into_iter().flatten() {
            if zone.to_offset_info(candidate.timestamp()).abbreviation() == wanted {
                instant = candidate.timestamp();
            }
        }
    }
    Some(kept_instant(instant, &zone, name))
}

/// The time that no calendar has is the same in every zone.
fn kept_zero(fields: &Fields, zone: &TimeZone, name: &str) -> String {
    format!("{}|{}", fields.text(DATETIME), shown_zone(Timestamp::UNIX_EPOCH, zone, name))
}

fn kept_instant(instant: Timestamp, zone: &TimeZone, name: &str) -> String {
    let utc = Fields::of(Offset::UTC.to_datetime(instant)).text(DATETIME);
    format!("{utc}|{}", shown_zone(instant, zone, name))
}

fn shown_zone(instant: Timestamp, zone: &TimeZone, name: &str) -> String {
    match zone.iana_name() {
        _ if name.starts_with(['+', '-']) => name.to_owned(),
        Some(iana) => format!("{iana} {}", zone.to_offset_info(instant).abbreviation()),
        None => "UTC UTC".to_owned(),
    }
}

fn instant_of(utc: &str) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(Fields::kept(utc).civil()?).ok()
}

/// The local fields and the zone of a value that was kept.
pub fn local(kept: &str) -> Option<(Fields, String)> {
    let (utc, shown) = kept.split_once('|')?;
    let (zone, _) = zone(shown)?;
    if Fields::kept(utc).all == ZERO {
        return Some((Fields::default(), shown.to_owned()));
    }
    let instant = instant_of(utc)?;
    Some((Fields::of(zone.to_datetime(instant)), shown.to_owned()))
}

/// A value with a zone, in another one.
pub fn moved(kept: &str, name: &str) -> Option<String> {
    let (utc, _) = kept.split_once('|')?;
    let (zone, _) = zone(name)?;
    if Fields::kept(utc).all == ZERO {
        return Some(kept_zero(&Fields::default(), &zone, name));
    }
    Some(kept_instant(instant_of(utc)?, &zone, name))
}

/// True if there is a zone of this name.
pub fn is_zone(name: &str) -> bool {
    zone(name).is_some()
}

/// The current time in a zone.
pub fn now(name: &str) -> Fields {
    let zone = zone(name).map_or(TimeZone::UTC, |(zone, _)| zone);
    Fields::of(zone.to_datetime(Timestamp::now()))
}

/// Seconds since 1970 of a local time.
pub fn epoch(fields: &Fields, name: &str) -> Option<i64> {
    instant_of(zoned(fields, name)?.split_once('|')?.0).map(Timestamp::as_second)
}

/// The local time of seconds since 1970.
pub fn from_epoch(seconds: i64, name: &str) -> Option<Fields> {
    let (zone, _) = zone(name)?;
    Some(Fields::of(zone.to_datetime(Timestamp::from_second(seconds).ok()?)))
}

/// Adds months, then milliseconds; a day that the month does not have becomes its last one.
pub fn add(fields: &Fields, months: i64, millis: i64) -> Option<Fields> {
    let total = i64::from(fields.all[0]) * 12 + i64::from(fields.all[1]) - 1 + months;
    let mut moved = *fields;
    moved.all[0] = i16::try_from(total.div_euclid(12)).ok()?;
    moved.all[1] = total.rem_euclid(12) as i16 + 1;
    moved.all[2] = moved.all[2].min(days_in_month(moved.all[0], moved.all[1]));
    let civil = moved.civil()?.checked_add(SignedDuration::from_millis(millis)).ok()?;
    (civil.year() > 0).then(|| Fields::of(civil))
}

/// The days of a month.
pub fn days_in_month(year: i16, month: i16) -> i16 {
    jiff::civil::Date::new(year, month as i8, 1).map_or(31, |date| i16::from(date.days_in_month()))
}

/// Milliseconds between two local times.
pub fn difference(left: &Fields, right: &Fields) -> Option<i64> {
    let millis = |fields: &Fields| Offset::UTC.to_timestamp(fields.civil()?).ok().map(Timestamp::as_millisecond);
    Some(millis(left)? - millis(right)?)
}

/// The day of the week, 1 for Sunday, and the day of the year.
pub fn days(fields: &Fields) -> Option<(i64, i64)> {
    let civil = fields.civil()?;
    Some((i64::from(civil.weekday().to_sunday_one_offset()), i64::from(civil.day_of_year())))
}

/// The number of the week in one of the modes of WEEK(), from 0 to 7. A last week of a year that is the first of the next
/// one has the number 53 all the same (11.3.2).
pub fn week(fields: &Fields, mode: u8) -> Option<i64> {
    let (weekday, day) = days(fields)?;
    let begins_on_monday = mode % 2 == 1;
    // How far into its week the first of January of a year is.
    let into = |weekday: i64, day: i64| (weekday - i64::from(begins_on_monday) - day).rem_euclid(7);
    let first = into(weekday, day);
    let is_whole = matches!(mode, 0 | 2 | 5 | 7);
    // The last day of the year before the first week begins.
    let skipped = |first: i64| match is_whole {
        true => (7 - first) % 7,
        false if first > 3 => 7 - first,
        false => -first,
    };
    let since = day - 1 - skipped(first);
    if since >= 0 {
        return Some(since / 7 + 1);
    }
    if matches!(mode, 0 | 1 | 4 | 5) {
        return Some(0);
    }
    let year = i64::from(fields.all[0]) - 1;
    let days_before = if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 };
    let before = (first - days_before).rem_euclid(7);
    Some((days_before + day - 1 - skipped(before)) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_counted_in_eight_ways() {
        for (day, expected) in [
            ("2018-01-01", [0, 1, 53, 1, 1, 1, 1, 1]),
            ("2018-12-31", [52, 53, 52, 53, 53, 53, 53, 53]),
            ("2021-01-01", [0, 0, 52, 53, 0, 0, 53, 52]),
            ("2021-01-03", [1, 0, 1, 53, 1, 0, 1, 52]),
            ("2024-09-09", [36, 37, 36, 37, 37, 37, 37, 37]),
        ] {
            let (fields, ..) = parse(day).unwrap();
            let found: Vec<_> = (0..8).map(|mode| week(&fields, mode).unwrap()).collect();
            assert_eq!(found, expected, "{day}");
        }
    }

    #[test]
    fn a_repeated_hour_is_told_apart_by_its_abbreviation() {
        let (fields, ..) = parse("2024-11-03 01:30:00").unwrap();
        let first = zoned(&fields, "America/New_York EDT").unwrap();
        let second = zoned(&fields, "America/New_York EST").unwrap();
        assert_eq!(first, "2024-11-03 05:30:00.000|America/New_York EDT");
        assert_eq!(second, "2024-11-03 06:30:00.000|America/New_York EST");
        assert_eq!(local(&second).unwrap().0, fields);
    }

    #[test]
    fn texts_of_dates() {
        assert_eq!(parse("02/29/2024").unwrap().0.text(DATE), "2024-02-29");
        assert_eq!(parse("1:45:59 pm").unwrap().0.text(TIME), "13:45:59");
        assert_eq!(parse("2024-02-29 13:45:59.12").unwrap().0.text(DATETIME), "2024-02-29 13:45:59.120");
        assert!(parse("2023-02-29").is_none());
        assert_eq!(parse("0000-00-00").unwrap().0.text(DATE), "0000-00-00");
        assert_eq!(split_zone("2024-02-29 13:45:59 pm Asia/Seoul KST").1, Some("Asia/Seoul KST"));
        assert_eq!(split_zone("2024-02-29 13:45:59 +09:30").1, Some("+09:30"));
    }
}
