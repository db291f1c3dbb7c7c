//! Days and microseconds to calendar fields, in the proleptic Gregorian calendar.
//!
//! Needed for values that the types of the language cannot represent (year 10000, 44 BC); the arithmetic is that of H.
//! Hinnant's "chrono-Compatible Low-Level Date Algorithms".

/// Microseconds of a day.
pub const DAY_MICROS: i64 = 86_400_000_000;

/// Year (astronomical: 0 is 1 BC), month and day of a count of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 of a year (astronomical), month and day.
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let mp = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let doy = (153 * mp + 2) / 5 + i64::from(day) - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
}

/// Appends [`date_text`].
pub fn put_date(days: i32, out: &mut Vec<u8>) {
    match civil_from_days(i64::from(days)) {
        (year @ 1..=9999, month, day) => {
            let year = year as u32;
            let [century, year] = [digits(year / 100), digits(year % 100)];
            let [month, day] = [digits(month), digits(day)];
            out.extend_from_slice(&[
                century[0], century[1], year[0], year[1], b'-', month[0], month[1], b'-', day[0], day[1],
            ]);
        }
        _ => out.extend_from_slice(date_text(days).as_bytes()),
    }
}

/// A number below 100 as two digits.
fn digits(number: u32) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// A date as ISO text with the era: `0044-03-15 BC`, `infinity`, `-infinity`.
pub fn date_text(days: i32) -> String {
    match days {
        i32::MAX => "infinity".into(),
        i32::MIN => "-infinity".into(),
        _ => {
            let (text, bc) = iso(i64::from(days));
            if bc { text + " BC" } else { text }
        }
    }
}

/// A timestamp as ISO text with the era, followed by `+00` if it is an instant.
pub fn timestamp_text(micros: i64, utc: bool) -> String {
    match micros {
        i64::MAX => return "infinity".into(),
        i64::MIN => return "-infinity".into(),
        _ => {}
    }
    let (mut text, bc) = iso(micros.div_euclid(DAY_MICROS));
    text.push(' ');
    text.push_str(&time_text(micros.rem_euclid(DAY_MICROS)));
    if utc {
        text.push_str("+00");
    }
    if bc {
        text.push_str(" BC");
    }
    text
}

/// A time of day as `HH:MM:SS[.ffffff]`.
pub fn time_text(micros: i64) -> String {
    let (secs, frac) = (micros / 1_000_000, micros % 1_000_000);
    let mut text = format!("{:02}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60);
    if frac != 0 {
        text.push_str(format!(".{frac:06}").trim_end_matches('0'));
    }
    text
}

fn iso(days: i64) -> (String, bool) {
    let (year, month, day) = civil_from_days(days);
    let bc = year <= 0;
    let shown = if bc { 1 - year } else { year };
    (format!("{shown:04}-{month:02}-{day:02}"), bc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-3_000_000..3_000_000).step_by(37) {
            let (y, m, d) = civil_from_days(days);
            assert_eq!(days_from_civil(y, m, d), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(days_from_civil(2000, 2, 29), 11_016);
    }

    #[test]
    fn dates_are_appended_as_their_text() {
        for days in
            (-1_000_000..3_500_000).step_by(37).chain([i32::MIN, i32::MAX, -719_162, -719_163, 2_932_896, 2_932_897])
        {
            let mut put = Vec::new();
            put_date(days, &mut put);
            assert_eq!(put, date_text(days).as_bytes());
        }
    }

    #[test]
    fn text_of_what_python_cannot_hold() {
        assert_eq!(date_text(i32::MAX), "infinity");
        assert_eq!(date_text(days_from_civil(-43, 3, 15) as i32), "0044-03-15 BC");
        assert_eq!(date_text(days_from_civil(10_000, 1, 1) as i32), "10000-01-01");
        assert_eq!(timestamp_text(i64::MIN, false), "-infinity");
        let noon = days_from_civil(10_000, 1, 1) * DAY_MICROS + DAY_MICROS / 2 + 1_500;
        assert_eq!(timestamp_text(noon, true), "10000-01-01 12:00:00.0015+00");
    }
}
