//! The formats of TO_CHAR and TO_DATE.

use crate::codec::timestamp::{self, DAY_UNITS};
use crate::errors::{Result, SqlError};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The parts of a format: literal text, and the letters after `%`.
fn parts(format: &str) -> Result<Vec<(char, bool)>> {
    let mut parts = Vec::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('%', Some('%')) => {
                characters.next();
                parts.push(('%', false));
            }
            ('%', Some(letter)) => {
                characters.next();
                // Letters that are replaced by several others.
                let long = match letter {
                    'D' => "%m/%d/%y",
                    'T' => "%H:%M:%S",
                    'R' => "%H:%M",
                    'r' => "%I:%M:%S %p",
                    'A' | 'a' | 'B' | 'b' | 'h' | 'd' | 'e' | 'H' | 'I' | 'j' | 'M' | 'm' | 'p' | 'S' | 'Y' | 'y' => {
                        parts.push((letter, true));
                        continue;
                    }
                    'n' | 't' => {
                        parts.push((if letter == 'n' { '\n' } else { '\t' }, false));
                        continue;
                    }
                    _ => return Err(SqlError::new(-1276, "")),
                };
                parts.extend(self::parts(long)?);
            }
            ('%', None) => return Err(SqlError::new(-1276, "")),
            (character, _) => parts.push((character, false)),
        }
    }
    if !parts.iter().any(|(_, field)| *field) {
        return Err(SqlError::unsupported("a format without any %"));
    }
    Ok(parts)
}

/// A DATETIME as text, names as English has them.
pub fn format_timestamp(value: i64, format: &str) -> Result<String> {
    let [year, month, day, hour, minute, second, _] = timestamp::fields(value);
    let days = value.div_euclid(DAY_UNITS);
    // 1970-01-01 was a Thursday.
    let weekday = DAYS[(days + 4).rem_euclid(7) as usize];
    let month_name = MONTHS[(month - 1) as usize];
    let mut result = String::new();
    for (letter, field) in parts(format)? {
        if !field {
            result.push(letter);
            continue;
        }
        result += &match letter {
            'A' => weekday.to_owned(),
            'a' => weekday[..3].to_owned(),
            'B' => month_name.to_owned(),
            'b' | 'h' => month_name[..3].to_owned(),
            'd' => format!("{day:02}"),
            'e' => format!("{day:2}"),
            'H' => format!("{hour:02}"),
            'I' => format!("{:02}", (hour + 11) % 12 + 1),
            'j' => format!("{:03}", days - timestamp::days_from_civil(year, 1, 1) + 1),
            'M' => format!("{minute:02}"),
            'm' => format!("{month:02}"),
            'p' => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
            'S' => format!("{second:02}"),
            'y' => format!("{:02}", year % 100),
            _ => format!("{year:04}"),
        };
    }
    Ok(result)
}

/// Reads a DATETIME from text.
pub fn parse_timestamp(text: &str, format: &str) -> Result<i64> {
    let wrong = || SqlError::new(-1277, "");
    let mut rest = text.trim();
    let mut all = [0, 1, 1, 0, 0, 0, 0];
    let mut afternoon = None;
    for (letter, field) in parts(format)? {
        if !field {
            rest = match letter.is_whitespace() {
                true => rest.trim_start(),
                false => rest.strip_prefix(letter).ok_or_else(wrong)?,
            };
            continue;
        }
        match letter {
            'A' | 'a' | 'B' | 'b' | 'h' => {
                let end = rest.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(rest.len());
                let names = if matches!(letter, 'A' | 'a') { &DAYS[..] } else { &MONTHS[..] };
                let word = &rest[..end];
                let same = |name: &&str| name.eq_ignore_ascii_case(word) || name[..3].eq_ignore_ascii_case(word);
                let found = names.iter().position(same).ok_or_else(wrong)?;
                if names.len() == MONTHS.len() {
                    all[1] = found as i64 + 1;
                }
                rest = &rest[end..];
                continue;
            }
            'p' => {
                let word = rest.get(..2).ok_or_else(wrong)?.to_ascii_lowercase();
                afternoon = Some(match word.as_str() {
                    "am" => false,
                    "pm" => true,
                    _ => return Err(wrong()),
                });
                rest = &rest[2..];
                continue;
            }
            _ => {}
        }
        rest = rest.trim_start();
        let most = match letter {
            'Y' => 4,
            'j' => 3,
            _ => 2,
        };
        let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().map_err(|_| wrong())?;
        match letter {
            'Y' => all[0] = number,
            'y' => all[0] = timestamp::full_year(&rest[..digits]).ok_or_else(wrong)?,
            'm' => all[1] = number,
            'd' | 'e' => all[2] = number,
            'H' | 'I' => all[3] = number,
            'M' => all[4] = number,
            'S' => all[5] = number,
            _ => return Err(SqlError::new(-1276, "")),
        }
        rest = &rest[digits..];
    }
    if let Some(afternoon) = afternoon {
        all[3] = all[3] % 12 + if afternoon { 12 } else { 0 };
    }
    if !rest.trim().is_empty() {
        return Err(wrong());
    }
    timestamp::from_fields(all).ok_or_else(|| SqlError::new(-1263, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_written_and_read() {
        let timestamp = timestamp::from_fields([2024, 2, 29, 13, 4, 5, 0]).unwrap();
        for (format, text) in [
            ("%A %B %d, %Y %R", "Thursday February 29, 2024 13:04"),
            ("%a %b %e %j %y %D", "Thu Feb 29 060 24 02/29/24"),
            ("%Y-%m-%d %T", "2024-02-29 13:04:05"),
            ("%d.%m.%Y %r 100%%", "29.02.2024 01:04:05 PM 100%"),
        ] {
            assert_eq!(format_timestamp(timestamp, format).unwrap(), text);
        }
        for format in ["%Y-%m-%d %T", "%d.%m.%Y %r", "%A, %d %B %Y %H:%M:%S"] {
            assert_eq!(
                parse_timestamp(&format_timestamp(timestamp, format).unwrap(), format).unwrap(),
                timestamp,
                "{format}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert_eq!(format_timestamp(0, "%Q").unwrap_err().code, -1276);
        assert_eq!(format_timestamp(0, "YYYY-MM-DD").unwrap_err().code, -999);
        assert_eq!(parse_timestamp("2024-02-30", "%Y-%m-%d").unwrap_err().code, -1263);
        assert_eq!(parse_timestamp("2024", "%Y-%m-%d").unwrap_err().code, -1277);
        assert_eq!(parse_timestamp("2024-01-01 x", "%Y-%m-%d").unwrap_err().code, -1277);
    }
}
