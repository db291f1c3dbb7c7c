//! DATE, DATETIME and INTERVAL: qualifiers, the numbers that SQLite keeps for them, and their base-100 form.
//!
//! Inside, a DATE is days since 1899-12-31, a DATETIME is 10 µs units since 1970-01-01 with the fields that the
//! qualifier lacks taken from 2000-01-01, an INTERVAL is months or 10 µs units. So order and difference are plain.

use std::time::{SystemTime, UNIX_EPOCH};

use super::decimal::{pack, unpack};

const YEAR: i32 = 0;
const MONTH: i32 = 2;
const DAY: i32 = 4;
const SECOND: i32 = 10;
/// 10 µs units of a second and of a day.
pub const SECOND_UNITS: i64 = 100_000;
/// 10 µs units of a day.
pub const DAY_UNITS: i64 = 86_400 * SECOND_UNITS;
/// 1899-12-31 in days since 1970-01-01.
pub const DATE_EPOCH: i64 = -25_568;

/// 0001-01-01 as a DATE.
pub const FIRST_DATE: i64 = -693_594;
/// 9999-12-31 as a DATE.
pub const LAST_DATE: i64 = 2_958_464;

/// Which fields a DATETIME or INTERVAL has: `digits << 8 | start << 4 | end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qualifier(pub i32);

const NAMES: [(&str, i32); 6] =
    [("year", YEAR), ("month", MONTH), ("day", DAY), ("hour", 6), ("minute", 8), ("second", SECOND)];

impl Qualifier {
    /// The code of a field's name; FRACTION is 15 unless it has a number of digits.
    pub fn field(name: &str) -> Option<i32> {
        if name == "fraction" {
            return Some(13);
        }
        NAMES.iter().find(|(field, _)| *field == name).map(|(_, code)| *code)
    }

    /// The qualifier of a DATETIME.
    pub fn datetime(start: i32, end: i32) -> Self {
        Self::interval(start, end, if start == YEAR { 4 } else { 2 })
    }

    /// The qualifier of an INTERVAL with `leading` digits in its first field.
    pub fn interval(start: i32, end: i32, leading: i32) -> Self {
        let mut digits = if start > SECOND { end - SECOND } else { leading };
        let mut field = start + 2;
        while field <= end.min(SECOND) {
            digits += 2;
            field += 2;
        }
        if end > SECOND && start <= SECOND {
            digits += end - SECOND;
        }
        Self(digits << 8 | start << 4 | end)
    }

    /// The first field.
    pub fn start(self) -> i32 {
        self.0 >> 4 & 15
    }

    /// The last field.
    pub fn end(self) -> i32 {
        self.0 & 15
    }

    /// Returns true if an INTERVAL with it counts months.
    pub fn is_months(self) -> bool {
        self.start() <= MONTH
    }

    /// The number of its fields.
    pub fn fields(self) -> i32 {
        (index(self.end()) - index(self.start()) + 1) as i32
    }

    fn exponent(self) -> i32 {
        ((self.0 >> 8) + 10 - self.end() + 1) / 2
    }

    fn leading_digits(self) -> i32 {
        let rest = Self::interval(self.start(), self.end(), 0).0 >> 8;
        if self.start() > SECOND { self.end() - SECOND } else { (self.0 >> 8) - rest }
    }

    /// The qualifier of an INTERVAL that has the fields of two of one family.
    pub fn wider(self, other: Self) -> Self {
        let (start, end) = (self.start().min(other.start()), self.end().max(other.end()));
        let digits = |one: Self| if one.start() == start { one.leading_digits() } else { 2 };
        Self::interval(start, end, digits(self).max(digits(other)))
    }

    /// The bytes it takes in a row.
    pub fn width(self) -> usize {
        (((self.0 >> 8) + (self.0 & 1) + 3) / 2) as usize
    }

    /// As SQL text.
    pub fn words(self, interval: bool) -> String {
        let name = |code: i32| match NAMES.iter().find(|(_, field)| *field == code) {
            Some((name, _)) => (*name).to_owned(),
            None => format!("fraction({})", code - SECOND),
        };
        let leading = if interval { format!("({})", self.leading_digits()) } else { String::new() };
        format!("{}{leading} to {}", name(self.start().min(11)), name(self.end()))
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns true if such a day exists.
pub fn is_date(year: i64, month: i64, day: i64) -> bool {
    (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && day >= 1
        && civil_from_days(days_from_civil(year, month, day)) == (year, month, day)
}

/// The seven fields of a DATETIME: year, month, day, hour, minute, second, 10 µs units.
pub fn fields(value: i64) -> [i64; 7] {
    let (year, month, day) = civil_from_days(value.div_euclid(DAY_UNITS));
    let time = value.rem_euclid(DAY_UNITS);
    let seconds = time / SECOND_UNITS;
    [year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, time % SECOND_UNITS]
}

/// The DATETIME of seven fields, unless they are invalid.
pub fn from_fields(fields: [i64; 7]) -> Option<i64> {
    let [year, month, day, hour, minute, second, units] = fields;
    let valid = is_date(year, month, day) && hour < 24 && minute < 60 && second < 60 && units < SECOND_UNITS;
    (valid && hour >= 0 && minute >= 0 && second >= 0).then(|| {
        days_from_civil(year, month, day) * DAY_UNITS + (hour * 3600 + minute * 60 + second) * SECOND_UNITS + units
    })
}

/// The year of its digits; two of them are of this century, as DBCENTURY=R has it.
pub fn full_year(digits: &str) -> Option<i64> {
    let year: i64 = digits.parse().ok()?;
    if digits.len() > 2 {
        return Some(year);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    Some(civil_from_days(now as i64).0 / 100 * 100 + year)
}

fn index(field: i32) -> usize {
    (field.min(11) as usize).div_ceil(2)
}

/// Cuts a DATETIME to the fields of a qualifier; the fields that it lacks are those of 2000-01-01.
pub fn cut(value: i64, qualifier: Qualifier) -> i64 {
    let mut all = fields(value);
    let blank = [2000, 1, 1, 0, 0, 0, 0];
    for (at, field) in all.iter_mut().enumerate() {
        if at < index(qualifier.start()) || at > index(qualifier.end()) {
            *field = blank[at];
        }
    }
    if qualifier.end() > SECOND {
        let step = 10i64.pow((15 - qualifier.end()) as u32);
        all[6] -= all[6] % step;
    }
    from_fields(all).unwrap_or(value)
}

fn fraction_pairs(units: i64, digits: i32) -> Vec<u8> {
    let text = format!("{units:05}0");
    let kept: String = text.chars().take(digits as usize).chain("000000".chars()).take(6).collect();
    let pairs = kept.as_bytes().chunks(2).map(|pair| (pair[0] - b'0') * 10 + pair[1] - b'0');
    pairs.take((digits as usize).div_ceil(2)).collect()
}

/// Appends a DATETIME in its base-100 form.
pub fn encode_datetime(out: &mut Vec<u8>, value: i64, qualifier: Qualifier) {
    let all = fields(value);
    out.push(0x80 | (qualifier.exponent() + 64) as u8);
    for at in index(qualifier.start())..=index(qualifier.end()) {
        match at {
            0 => out.extend([(all[0] / 100) as u8, (all[0] % 100) as u8]),
            6 => out.extend(fraction_pairs(all[6], qualifier.end() - SECOND)),
            _ => out.push(all[at] as u8),
        }
    }
}

/// The pairs of a packed value, as many as the qualifier has, whatever zeros the sender left out.
fn pairs_for(bytes: &[u8], qualifier: Qualifier) -> Option<(bool, Vec<u8>)> {
    let (negative, exponent, mut pairs) = unpack(bytes)?;
    for _ in exponent..qualifier.exponent() {
        pairs.insert(0, 0);
    }
    for _ in qualifier.exponent()..exponent {
        if !pairs.is_empty() {
            pairs.remove(0);
        }
    }
    pairs.resize(16, 0);
    Some((negative, pairs))
}

/// The DATETIME of a base-100 form; `None` for NULL or for an invalid one.
pub fn decode_datetime(bytes: &[u8], qualifier: Qualifier) -> Option<i64> {
    let (_, pairs) = pairs_for(bytes, qualifier)?;
    let mut next = pairs.into_iter().map(i64::from);
    let mut all = [2000, 1, 1, 0, 0, 0, 0];
    for (at, field) in all.iter_mut().enumerate() {
        if at < index(qualifier.start()) || at > index(qualifier.end()) {
            continue;
        }
        *field = match at {
            0 => next.next()? * 100 + next.next()?,
            6 => next.next()? * 1000 + next.next()? * 10 + next.next()? / 10,
            _ => next.next()?,
        };
    }
    from_fields(all)
}

/// The sizes of the fields of an INTERVAL, months or 10 µs units, from the first to the last whole field.
fn steps(qualifier: Qualifier) -> Vec<i64> {
    let sizes = [12, 1, DAY_UNITS, 3600 * SECOND_UNITS, 60 * SECOND_UNITS, SECOND_UNITS];
    let last = index(qualifier.end()).min(5);
    (index(qualifier.start())..=last).map(|at| sizes[at]).collect()
}

/// An INTERVAL in its base-100 form; `None` if the first field is too large for its digits.
pub fn encode_interval(value: i64, qualifier: Qualifier) -> Option<Vec<u8>> {
    let mut rest = value.abs();
    let mut pairs = Vec::with_capacity(11);
    for (at, size) in steps(qualifier).into_iter().enumerate() {
        let count = rest / size;
        rest %= size;
        if at > 0 {
            pairs.push(count as u8);
            continue;
        }
        let digits = qualifier.leading_digits();
        if count >= 10i64.pow(digits as u32) {
            return None;
        }
        for pair in (0..(digits + 1) / 2).rev() {
            pairs.push((count / 100i64.pow(pair as u32) % 100) as u8);
        }
    }
    if qualifier.end() > SECOND {
        pairs.extend(fraction_pairs(rest, qualifier.end() - SECOND));
    }
    Some(pack(value < 0, qualifier.exponent(), pairs))
}

/// The INTERVAL of a base-100 form; `None` for NULL.
pub fn decode_interval(bytes: &[u8], qualifier: Qualifier) -> Option<i64> {
    let (negative, pairs) = pairs_for(bytes, qualifier)?;
    let mut next = pairs.into_iter().map(i64::from);
    let mut total = 0;
    for (at, size) in steps(qualifier).into_iter().enumerate() {
        let mut count = next.next()?;
        if at == 0 {
            for _ in 1..(qualifier.leading_digits() + 1) / 2 {
                count = count * 100 + next.next()?;
            }
        }
        total += count * size;
    }
    if qualifier.end() > SECOND {
        total += next.next()? * 1000 + next.next()? * 10 + next.next()? / 10;
    }
    Some(if negative { -total } else { total })
}

/// Reads `2024-01-02 03:04:05.5` with the fields of a qualifier; `None` if the text is not of that shape.
pub fn parse_datetime(text: &str, qualifier: Qualifier) -> Option<i64> {
    let mut all = [2000, 1, 1, 0, 0, 0, 0];
    let mut parts = text.trim().split(['-', ' ', ':', '.', 'T']).filter(|part| !part.is_empty());
    for (at, field) in all.iter_mut().enumerate() {
        if at < index(qualifier.start()) || at > index(qualifier.end()) {
            continue;
        }
        let Some(part) = parts.next() else {
            // A server fills missing fields on the right with zeros, if there is at least one field.
            return if at > index(qualifier.start()) { from_fields(all) } else { None };
        };
        *field = match at {
            0 => full_year(part)?,
            6 => fraction_units(part)?,
            _ => part.parse().ok()?,
        };
    }
    // Finer fields than the qualifier's are cut when they are times, as they are on assignment.
    if parts.any(|part| !part.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    Some(cut(from_fields(all)?, qualifier))
}

fn fraction_units(part: &str) -> Option<i64> {
    part.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let five: String = part.chars().chain("00000".chars()).take(5).collect();
    five.parse().ok()
}

/// A DATETIME as text.
pub fn format_datetime(value: i64, qualifier: Qualifier) -> String {
    let all = fields(value);
    let mut text = String::new();
    for at in index(qualifier.start())..=index(qualifier.end()) {
        if at > index(qualifier.start()) {
            text.push(['-', '-', '-', ' ', ':', ':', '.'][at]);
        }
        match at {
            0 => text += &format!("{:04}", all[0]),
            6 => text += &format!("{:05}", all[6])[..(qualifier.end() - SECOND) as usize],
            _ => text += &format!("{:02}", all[at]),
        }
    }
    text
}

/// Reads `3 04:05:06.5` or `-5-03` with the fields of a qualifier.
pub fn parse_interval(text: &str, qualifier: Qualifier) -> Option<i64> {
    let text = text.trim();
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut parts = text.split(['-', ' ', ':', '.']).filter(|part| !part.is_empty());
    let mut total = 0;
    let sizes = steps(qualifier);
    for (at, size) in sizes.iter().enumerate() {
        let count = parts.next()?.parse::<i64>().ok()?;
        // Only the first field may be as large as its digits allow.
        if at > 0 && count >= sizes[at - 1] / size {
            return None;
        }
        total += count.checked_mul(*size)?;
    }
    if qualifier.end() > SECOND {
        total += parts.next().map_or(Some(0), fraction_units)?;
    }
    parts.next().is_none().then_some(if negative { -total } else { total })
}

/// Cuts an INTERVAL to the fields of a qualifier.
pub fn cut_interval(value: i64, qualifier: Qualifier) -> i64 {
    let last = steps(qualifier).last().copied().unwrap_or(1);
    value - value % if qualifier.end() > SECOND { 10i64.pow((15 - qualifier.end()) as u32) } else { last }
}

/// An INTERVAL as text, its first field padded with blanks to its digits as the server prints it.
pub fn format_interval(value: i64, qualifier: Qualifier) -> String {
    let mut rest = value.abs();
    let mut text = String::new();
    let first = index(qualifier.start());
    for (at, size) in steps(qualifier).into_iter().enumerate() {
        if at > 0 {
            text.push(['-', '-', '-', ' ', ':', ':'][first + at]);
            text += &format!("{:02}", rest / size);
        } else {
            let sign = if value < 0 { "-" } else { "" };
            let number = format!("{sign}{}", rest / size);
            text += &format!("{number:>width$}", width = qualifier.leading_digits() as usize + 1);
        }
        rest %= size;
    }
    if qualifier.end() > SECOND {
        text += &format!(".{}", &format!("{rest:05}")[..(qualifier.end() - SECOND) as usize]);
    }
    text
}

/// Reads a DATE as DBDATE=Y4MD- or the default MDY4/ writes it.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    let mut numbers = text.split(['-', '/', '.']).map(str::trim);
    let (first, second, third) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let iso = first.len() == 4;
    if !iso && !text.contains('/') {
        return None;
    }
    let (year, month, day) = if iso { (first, second, third) } else { (third, first, second) };
    let (year, month, day) = (full_year(year)?, month.parse().ok()?, day.parse().ok()?);
    (numbers.next().is_none() && is_date(year, month, day)).then(|| days_from_civil(year, month, day) - DATE_EPOCH)
}

/// A DATE as DBDATE=Y4MD- writes it.
pub fn format_date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days + DATE_EPOCH);
    format!("{year:04}-{month:02}-{day:02}")
}
