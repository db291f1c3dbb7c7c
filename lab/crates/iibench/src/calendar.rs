//! Days since 1970 to calendar fields, in the Gregorian calendar.

/// Year, month and day of a count of days since 1970-01-01, which is not before 0000-03-01: H. Hinnant's
/// "chrono-Compatible Low-Level Date Algorithms", where a year begins in March, so that a leap day is its last.
pub fn date_of_days(days: i64) -> (i64, u8, u8) {
    let since_march_0 = days + 719_468;
    let era = since_march_0 / 146_097;
    let day_of_era = since_march_0 % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year_of_era + year, month as u8, day as u8)
}
