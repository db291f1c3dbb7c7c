//! Calendar fields of the two protocols to days and microseconds, and back.

use headrace_core::civil::{DAY_MICROS, civil_from_days, days_from_civil};

/// What values of the binary protocol begin with: how many bytes follow, which decides which fields do (MySQL: "Binary
/// Protocol Value"; MariaDB: "Resultset row, binary").
pub(super) mod length {
    /// No field: the zero date, or midnight.
    pub const ZERO: usize = 0;
    /// Year, month, day.
    pub const DATE: usize = 4;
    /// Those, and hours, minutes, seconds.
    pub const DATE_TIME: usize = 7;
    /// Those, and microseconds.
    pub const DATE_TIME_MICROS: usize = 11;
    /// The sign of a TIME, days, hours, minutes, seconds.
    pub const TIME: usize = 8;
    /// Those, and microseconds.
    pub const TIME_MICROS: usize = 12;
}

/// The longest TIME, 838:59:59.999999, in microseconds.
pub(super) const MAX_TIME_MICROS: i64 = ((838 * 60 + 59) * 60 + 59) * 1_000_000 + 999_999;

/// A date's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ymd {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

/// A clock's fields; hours may exceed a day in TIME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    pub hours: u32,
    pub minutes: u8,
    pub seconds: u8,
    pub micros: u32,
}

impl Ymd {
    /// Days since 1970-01-01, `None` for dates that no calendar has: a month or day of 0, or 31 February, which the
    /// server stores under some SQL modes.
    #[inline]
    pub fn days(self) -> Option<i32> {
        let Ymd { year, month, day } = self;
        let long = match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if day == 0 || day > long {
            return None;
        }
        i32::try_from(days_from_civil(i64::from(year), u32::from(month), u32::from(day))).ok()
    }

    /// As the server prints it.
    pub fn text(self) -> String {
        let Ymd { year, month, day } = self;
        if year > 9999 || month > 99 || day > 99 {
            return format!("{year:04}-{month:02}-{day:02}");
        }
        // Formatting takes ten times as long.
        joined([&pair((year / 100) as u8), &pair((year % 100) as u8), b"-", &pair(month), b"-", &pair(day)])
    }

    /// The fields of a count of days, `None` outside of the years 0 to 9999 that the server supports.
    pub fn of_days(days: i32) -> Option<Self> {
        let (year, month, day) = civil_from_days(i64::from(days));
        (0..=9999).contains(&year).then_some(Self { year: year as u16, month: month as u8, day: day as u8 })
    }
}

impl Clock {
    /// Microseconds, `None` when minutes or seconds are none, or the hours more than any server has.
    #[inline]
    pub fn total(self) -> Option<i64> {
        if self.hours > u32::from(u16::MAX) || self.minutes > 59 || self.seconds > 59 || self.micros > 999_999 {
            return None;
        }
        let seconds = (i64::from(self.hours) * 60 + i64::from(self.minutes)) * 60 + i64::from(self.seconds);
        seconds.checked_mul(1_000_000)?.checked_add(i64::from(self.micros))
    }

    /// The fields of a count of microseconds that is not negative.
    pub fn of_micros(micros: i64) -> Self {
        let seconds = micros / 1_000_000;
        Self {
            hours: (seconds / 3600) as u32,
            minutes: (seconds / 60 % 60) as u8,
            seconds: (seconds % 60) as u8,
            micros: (micros % 1_000_000) as u32,
        }
    }

    /// As the server prints it; the fraction only if there is one.
    pub fn text(self) -> String {
        let Clock { hours, minutes, seconds, micros: _ } = self;
        let whole = if hours > 99 || minutes > 99 || seconds > 99 {
            format!("{hours:02}:{minutes:02}:{seconds:02}")
        } else {
            joined([&pair(hours as u8), b":", &pair(minutes), b":", &pair(seconds), b""])
        };
        if self.micros == 0 { whole } else { format!("{whole}.{:06}", self.micros) }
    }
}

/// Both digits of a number below 100.
fn pair(number: u8) -> [u8; 2] {
    [b'0' + number / 10, b'0' + number % 10]
}

fn joined(parts: [&[u8]; 6]) -> String {
    let mut text = Vec::with_capacity("2024-02-29 13:14:15.678901".len());
    parts.into_iter().for_each(|part| text.extend_from_slice(part));
    String::from_utf8(text).unwrap_or_default()
}

/// Microseconds since 1970-01-01 00:00.
#[inline]
pub(super) fn timestamp(days: i32, clock: Clock) -> Option<i64> {
    if clock.hours > 23 {
        return None;
    }
    Some(i64::from(days) * DAY_MICROS + clock.total()?)
}

/// The fields of microseconds since 1970-01-01 00:00, `None` outside the server's years.
pub(super) fn fields(micros: i64) -> Option<(Ymd, Clock)> {
    let days = i32::try_from(micros.div_euclid(DAY_MICROS)).ok()?;
    Some((Ymd::of_days(days)?, Clock::of_micros(micros.rem_euclid(DAY_MICROS))))
}
