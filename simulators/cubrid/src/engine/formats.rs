//! The functions of texts, dates and JSON.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::calls::text;
use crate::convert::{self, from_tag};
use crate::decimal::Decimal;
use crate::errors::Error;
use crate::times::{self, Fields};
use crate::types::code::*;
use crate::types::{Family, Type};

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

fn number(context: &Context<'_>, index: usize) -> Option<i64> {
    match context.get_raw(index) {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number.round() as i64),
        ValueRef::Text(_) => text(context, index)?.trim().parse::<f64>().ok().map(|number| number.round() as i64),
        _ => None,
    }
}

fn field(unit: &str, text: &str) -> Option<i64> {
    let fields = Fields::kept(text);
    let [year, month, day, hour, minute, second, milli] = fields.all.map(i64::from);
    Some(match unit {
        "year" => year,
        "month" => month,
        "day" => day,
        "hour" => hour,
        "minute" => minute,
        "second" => second,
        "millisecond" => milli,
        "quarter" => (month + 2) / 3,
        "dayofweek" => times::days(&fields)?.0,
        "weekday" => (times::days(&fields)?.0 + 5) % 7,
        "dayofyear" => times::days(&fields)?.1,
        _ => times::week(&fields, unit.strip_prefix("week")?.parse().ok()?)?,
    })
}

/// TO_CHAR of a date or time.
fn to_char(fields: &Fields, format: &str) -> String {
    let [year, month, day, hour, minute, second, milli] = fields.all;
    let weekday = times::days(fields).map_or(1, |(weekday, _)| weekday);
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let parts: [(&str, String); 22] = [
        ("YYYY", format!("{year:04}")),
        ("MONTH", MONTHS[(month.max(1) - 1) as usize % 12].to_owned()),
        ("HH24", format!("{hour:02}")),
        ("HH12", format!("{twelve:02}")),
        ("A.M.", if hour < 12 { "A.M." } else { "P.M." }.into()),
        ("P.M.", if hour < 12 { "A.M." } else { "P.M." }.into()),
        ("MON", MONTHS[(month.max(1) - 1) as usize % 12][..3].to_owned()),
        ("DAY", DAYS[(weekday - 1) as usize % 7].to_owned()),
        ("YY", format!("{:02}", year % 100)),
        ("MM", format!("{month:02}")),
        ("DD", format!("{day:02}")),
        ("DY", DAYS[(weekday - 1) as usize % 7][..3].to_owned()),
        ("HH", format!("{twelve:02}")),
        ("MI", format!("{minute:02}")),
        ("SS", format!("{second:02}")),
        ("FF", format!("{milli:03}")),
        ("AM", if hour < 12 { "AM" } else { "PM" }.into()),
        ("PM", if hour < 12 { "AM" } else { "PM" }.into()),
        ("CC", format!("{:02}", (year + 99) / 100)),
        ("Q", format!("{}", (month + 2) / 3)),
        ("D", weekday.to_string()),
        ("Y", format!("{}", year % 10)),
    ];
    let mut out = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        if first == '"'
            && let Some(end) = rest[1..].find('"')
        {
            out += &rest[1..=end];
            rest = &rest[end + 2..];
            continue;
        }
        let found =
            parts.iter().find(|(name, _)| rest.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name)));
        match found {
            Some((name, value)) => {
                let written = &rest[..name.len()];
                let lower = written.chars().all(|it| !it.is_uppercase());
                let mixed = !lower && written.chars().skip(1).any(char::is_lowercase);
                out += &match (name.len() > 1 && value.starts_with(char::is_alphabetic), lower, mixed) {
                    (true, true, _) => value.to_lowercase(),
                    (true, false, false) => value.to_uppercase(),
                    _ => value.clone(),
                };
                rest = &rest[name.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Reads a date by a format of TO_DATE, or of STR_TO_DATE.
fn read(text: &str, format: &str, percent: bool) -> Option<Fields> {
    let mut fields = Fields { all: [1, 1, 1, 0, 0, 0, 0] };
    let mut rest = text;
    let mut format = format;
    let mut afternoon = None;
    while let Some(first) = format.chars().next() {
        let names: &[(&str, usize, usize)] = if percent {
            &[
                ("%Y", 0, 4),
                ("%m", 1, 2),
                ("%c", 1, 2),
                ("%d", 2, 2),
                ("%e", 2, 2),
                ("%H", 3, 2),
                ("%h", 3, 2),
                ("%i", 4, 2),
                ("%s", 5, 2),
                ("%S", 5, 2),
                ("%f", 6, 3),
                ("%p", 9, 2),
            ]
        } else {
            &[
                ("YYYY", 0, 4),
                ("MM", 1, 2),
                ("DD", 2, 2),
                ("HH24", 3, 2),
                ("HH12", 3, 2),
                ("HH", 3, 2),
                ("MI", 4, 2),
                ("SS", 5, 2),
                ("FF", 6, 3),
                ("YY", 7, 2),
                ("AM", 9, 2),
                ("PM", 9, 2),
            ]
        };
        let found = names.iter().find(|(name, ..)| {
            format.get(..name.len()).is_some_and(|it| if percent { it == *name } else { it.eq_ignore_ascii_case(name) })
        });
        match found {
            Some((name, 9, _)) => {
                afternoon = Some(rest.get(..2)?.eq_ignore_ascii_case("pm"));
                rest = &rest[2..];
                format = &format[name.len()..];
            }
            Some((name, at, width)) => {
                let length = rest.bytes().take(*width).take_while(u8::is_ascii_digit).count();
                let value: i16 = rest.get(..length)?.parse().ok()?;
                match at {
                    7 => fields.all[0] = 2000 + value,
                    at => fields.all[*at] = value,
                }
                rest = &rest[length..];
                format = &format[name.len()..];
            }
            None => {
                rest = rest.strip_prefix(first)?;
                format = &format[first.len_utf8()..];
            }
        }
    }
    match afternoon {
        Some(true) if fields.all[3] < 12 => fields.all[3] += 12,
        Some(false) if fields.all[3] == 12 => fields.all[3] = 0,
        _ => {}
    }
    fields.is_valid().then_some(fields)
}

fn date_format(fields: &Fields, format: &str) -> String {
    let [year, month, day, hour, minute, second, milli] = fields.all;
    let weekday = times::days(fields).map_or(1, |(weekday, _)| weekday);
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let mut out = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        out += &match characters.next() {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{month:02}"),
            Some('c') => format!("{month}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day}"),
            Some('H') => format!("{hour:02}"),
            Some('k') => format!("{hour}"),
            Some('h' | 'I') => format!("{twelve:02}"),
            Some('i') => format!("{minute:02}"),
            Some('s' | 'S') => format!("{second:02}"),
            Some('f') => format!("{milli:03}"),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('M') => MONTHS[(month.max(1) - 1) as usize % 12].to_owned(),
            Some('b') => MONTHS[(month.max(1) - 1) as usize % 12][..3].to_owned(),
            Some('W') => DAYS[(weekday - 1) as usize % 7].to_owned(),
            Some('a') => DAYS[(weekday - 1) as usize % 7][..3].to_owned(),
            Some('w') => (weekday - 1).to_string(),
            Some('j') => format!("{:03}", times::days(fields).map_or(0, |(_, day)| day)),
            Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
            Some('r') => {
                format!("{twelve:02}:{minute:02}:{second:02} {}", if hour < 12 { "AM" } else { "PM" })
            }
            Some(other) => other.to_string(),
            None => String::new(),
        };
    }
    out
}

/// `count` of a unit, added.
fn interval(time: &str, count: &str, unit: &str, sign: i64, kind: u8) -> Option<String> {
    let parts: Vec<i64> =
        count.split(|it: char| !it.is_ascii_digit() && it != '-').filter_map(|it| it.parse().ok()).collect();
    let at = |index: usize| parts.get(index).copied().unwrap_or(0);
    let (months, millis) = match unit {
        "millisecond" => (0, at(0)),
        "second" => (0, at(0) * 1000),
        "minute" => (0, at(0) * 60_000),
        "hour" => (0, at(0) * 3_600_000),
        "day" => (0, at(0) * 86_400_000),
        "week" => (0, at(0) * 7 * 86_400_000),
        "month" => (at(0), 0),
        "quarter" => (at(0) * 3, 0),
        "year" => (at(0) * 12, 0),
        "year_month" => (at(0) * 12 + at(1), 0),
        "minute_second" => (0, (at(0) * 60 + at(1)) * 1000),
        "hour_minute" => (0, (at(0) * 60 + at(1)) * 60_000),
        "hour_second" => (0, ((at(0) * 60 + at(1)) * 60 + at(2)) * 1000),
        "day_hour" => (0, (at(0) * 24 + at(1)) * 3_600_000),
        "day_minute" => (0, ((at(0) * 24 + at(1)) * 60 + at(2)) * 60_000),
        "day_second" => (0, (((at(0) * 24 + at(1)) * 60 + at(2)) * 60 + at(3)) * 1000),
        _ => return None,
    };
    let mut fields = Fields::kept(time);
    if kind == TIME {
        fields.all[..3].copy_from_slice(&[2000, 1, 1]);
    }
    times::add(&fields, sign * months, sign * millis).map(|fields| fields.text(kind))
}

fn substring(text: &str, from: i64, length: Option<i64>) -> Option<String> {
    let count = text.chars().count() as i64;
    let start = if from > 0 {
        from - 1
    } else if from == 0 {
        0
    } else {
        count + from
    };
    let start = start.max(0);
    let length = length.unwrap_or(count);
    if length < 0 {
        return None;
    }
    Some(text.chars().skip(start as usize).take(length as usize).collect())
}

fn trimmed(text: &str, sought: &str, side: &str) -> String {
    let mut rest = text;
    if sought.is_empty() {
        return text.to_owned();
    }
    while side != "r" && rest.starts_with(sought) {
        rest = &rest[sought.len()..];
    }
    while side != "l" && rest.ends_with(sought) {
        rest = &rest[..rest.len() - sought.len()];
    }
    rest.to_owned()
}

/// Registers the functions.
///
/// # Errors
/// SQLite's.
pub fn register(connection: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    type OfText = fn(&str) -> String;
    let of_text: [(&str, OfText); 5] = [
        ("cub_upper", |text| text.to_uppercase()),
        ("cub_lower", |text| text.to_lowercase()),
        ("cub_reverse", |text| text.chars().rev().collect()),
        ("cub_json_unquote", |text| match serde_json::from_str(text) {
            Ok(serde_json::Value::String(inner)) => inner,
            _ => text.to_owned(),
        }),
        ("cub_json_type", |text| {
            match serde_json::from_str(text) {
                Ok(serde_json::Value::Null) => "NULL",
                Ok(serde_json::Value::Bool(_)) => "BOOLEAN",
                Ok(serde_json::Value::Number(number)) if number.is_i64() => "INTEGER",
                Ok(serde_json::Value::Number(_)) => "DOUBLE",
                Ok(serde_json::Value::String(_)) => "STRING",
                Ok(serde_json::Value::Array(_)) => "JSON_ARRAY",
                _ => "JSON_OBJECT",
            }
            .to_owned()
        }),
    ];
    for (name, function) in of_text {
        connection
            .create_scalar_function(name, 1, pure, move |context| Ok(text(context, 0).map(|text| function(&text))))?;
    }
    connection.create_scalar_function("cub_json_length", 1, pure, |context| {
        let parsed = text(context, 0).and_then(|text| serde_json::from_str(&text).ok());
        Ok(parsed.map(|value| match value {
            serde_json::Value::Array(all) => all.len() as i64,
            serde_json::Value::Object(all) => all.len() as i64,
            _ => 1,
        }))
    })?;
    connection.create_scalar_function("cub_hex", 1, pure, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Integer(number) => Some(format!("{number:X}")),
            ValueRef::Null => None,
            _ => text(context, 0).map(|text| text.bytes().map(|byte| format!("{byte:02X}")).collect()),
        })
    })?;
    connection
        .create_scalar_function("cub_bin", 1, pure, |context| Ok(number(context, 0).map(|it| format!("{it:b}"))))?;
    connection.create_scalar_function("cub_bit_count", 1, pure, |context| {
        Ok(number(context, 0).map(|it| i64::from(it.count_ones())))
    })?;
    connection.create_scalar_function("cub_space", 1, pure, |context| {
        Ok(number(context, 0).map(|count| " ".repeat(count.clamp(0, 1 << 24) as usize)))
    })?;
    connection.create_scalar_function("cub_chr", 1, pure, |context| {
        Ok(number(context, 0).and_then(|code| char::from_u32(code as u32)).map(String::from))
    })?;
    connection.create_scalar_function("cub_ascii", 1, pure, |context| {
        Ok(text(context, 0).map(|text| i64::from(text.bytes().next().unwrap_or(0))))
    })?;
    connection.create_scalar_function("cub_repeat", 2, pure, |context| {
        let (Some(text), Some(count)) = (text(context, 0), number(context, 1)) else { return Ok(None) };
        Ok(Some(text.repeat(count.clamp(0, 1 << 24) as usize)))
    })?;
    connection.create_scalar_function("cub_concat_ws", -1, pure, |context| {
        let Some(separator) = text(context, 0) else { return Ok(None) };
        let all: Vec<String> = (1..context.len()).filter_map(|index| text(context, index)).collect();
        Ok(Some(all.join(&separator)))
    })?;
    connection.create_scalar_function("cub_substr", -1, pure, |context| {
        let (Some(text), Some(from)) = (text(context, 0), number(context, 1)) else { return Ok(None) };
        let length = if context.len() > 2 { number(context, 2).map(Some) } else { Some(None) };
        Ok(length.and_then(|length| substring(&text, from, length)))
    })?;
    connection.create_scalar_function("cub_left", 2, pure, |context| {
        let (Some(text), Some(count)) = (text(context, 0), number(context, 1)) else { return Ok(None) };
        Ok(Some(text.chars().take(count.max(0) as usize).collect::<String>()))
    })?;
    connection.create_scalar_function("cub_right", 2, pure, |context| {
        let (Some(text), Some(count)) = (text(context, 0), number(context, 1)) else { return Ok(None) };
        let skip = text.chars().count().saturating_sub(count.max(0) as usize);
        Ok(Some(text.chars().skip(skip).collect::<String>()))
    })?;
    connection.create_scalar_function("cub_pad", 4, pure, |context| {
        let (Some(value), Some(width), Some(fill)) = (text(context, 0), number(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        let (length, width) = (value.chars().count(), width.clamp(0, 1 << 24) as usize);
        if length >= width {
            return Ok(Some(value.chars().take(width).collect()));
        }
        if fill.is_empty() {
            return Ok(None);
        }
        let padding: String = fill.chars().cycle().take(width - length).collect();
        Ok(Some(if text(context, 3).as_deref() == Some("l") { padding + &value } else { value + &padding }))
    })?;
    connection.create_scalar_function("cub_trim", 3, pure, |context| {
        let (Some(value), Some(sought), Some(side)) = (text(context, 0), text(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        Ok(Some(trimmed(&value, &sought, &side)))
    })?;
    connection.create_scalar_function("cub_replace", 3, pure, |context| {
        let (Some(value), Some(from), Some(to)) = (text(context, 0), text(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        Ok(Some(if from.is_empty() { value } else { value.replace(&from, &to) }))
    })?;
    connection.create_scalar_function("cub_translate", 3, pure, |context| {
        let (Some(value), Some(from), Some(to)) = (text(context, 0), text(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        let translated = value.chars().filter_map(|character| match from.chars().position(|it| it == character) {
            Some(at) => to.chars().nth(at),
            None => Some(character),
        });
        Ok(Some(translated.collect::<String>()))
    })?;
    connection.create_scalar_function("cub_find", 3, pure, |context| {
        let (Some(value), Some(sought), Some(from)) = (text(context, 0), text(context, 1), number(context, 2)) else {
            return Ok(None);
        };
        let skip = (from.max(1) - 1) as usize;
        let rest: String = value.chars().skip(skip).collect();
        Ok(Some(rest.find(&sought).map_or(0, |at| rest[..at].chars().count() as i64 + 1 + skip as i64)))
    })?;
    register_times(connection, pure)
}

fn register_times(connection: &Connection, pure: FunctionFlags) -> Result<()> {
    connection.create_scalar_function("cub_extract", 2, pure, |context| {
        let (Some(unit), Some(time)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        Ok(field(&unit, &time))
    })?;
    connection.create_scalar_function("cub_to_char", 3, pure, |context| {
        let value: Value = context.get(0)?;
        let ty = from_tag(context.get_raw(2).as_str().unwrap_or_default());
        if value == Value::Null {
            return Ok(None);
        }
        Ok(Some(match (text(context, 1), ty.family(), &value) {
            (Some(format), Family::Time, Value::Text(kept)) => {
                let fields = if ty.has_zone() { times::local(kept).unwrap_or_default().0 } else { Fields::kept(kept) };
                to_char(&fields, &format)
            }
            (Some(_), _, _) => {
                return Err(Error::semantic("'to_char' function with a format is not defined here. ").through_sqlite());
            }
            _ => convert::shown(&value, &ty),
        }))
    })?;
    connection.create_scalar_function("cub_date_format", 2, pure, |context| {
        let (Some(time), Some(format)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        Ok(Some(date_format(&Fields::kept(&time), &format)))
    })?;
    connection.create_scalar_function("cub_from_text", 4, pure, |context| {
        let Some(value) = text(context, 0) else { return Ok(None) };
        let ty: i64 = context.get(2)?;
        let percent = context.get::<i64>(3)? == 1;
        let found = match text(context, 1) {
            Some(format) => read(&value, &format, percent),
            None => times::parse(&value).map(|(fields, ..)| fields),
        };
        let found = found.ok_or_else(|| {
            match ty as u8 {
                DATE => Error::server(-176, "Conversion error in date format."),
                TIME => Error::server(-164, "Conversion error in time format."),
                _ => Error::server(-175, "Conversion error in timestamp format."),
            }
            .through_sqlite()
        })?;
        Ok(Some(found.text(ty as u8)))
    })?;
    connection.create_scalar_function("cub_to_number", 1, pure, |context| {
        let Some(value) = text(context, 0) else { return Ok(None) };
        let number = Decimal::parse(&value.replace(',', ""), false);
        let invalid = || {
            Error::server(-181, "Cannot coerce value of domain \"character\" to domain \"numeric\".").through_sqlite()
        };
        number.map(|number| Some(number.to_string())).ok_or_else(invalid)
    })?;
    connection.create_scalar_function("cub_part", 2, pure, |context| {
        let ty: i64 = context.get(1)?;
        Ok(text(context, 0).map(|time| Fields::kept(&time).text(ty as u8)))
    })?;
    connection.create_scalar_function("cub_datediff", 2, pure, |context| {
        let (Some(left), Some(right)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        let day = |text: &str| Fields::kept(&Fields::kept(text).text(DATE));
        Ok(times::difference(&day(&left), &day(&right)).map(|millis| millis / 86_400_000))
    })?;
    connection.create_scalar_function("cub_timediff", 2, pure, |context| {
        let (Some(left), Some(right)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        let on_a_day = |text: &str| {
            let mut fields = Fields::kept(text);
            fields.all[..3].copy_from_slice(&[2000, 1, 1]);
            fields
        };
        let millis = times::difference(&on_a_day(&left), &on_a_day(&right));
        Ok(millis.map(|millis| {
            let seconds = millis / 1000;
            format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        }))
    })?;
    connection.create_scalar_function("cub_last_day", 1, pure, |context| {
        Ok(text(context, 0).map(|time| {
            let mut fields = Fields::kept(&time);
            fields.all[2] = times::days_in_month(fields.all[0], fields.all[1]);
            fields.text(DATE)
        }))
    })?;
    connection.create_scalar_function("cub_to_days", 1, pure, |context| {
        let Some(time) = text(context, 0) else { return Ok(None) };
        let first = Fields { all: [1, 1, 1, 0, 0, 0, 0] };
        let millis = times::difference(&Fields::kept(&Fields::kept(&time).text(DATE)), &first);
        Ok(millis.map(|millis| millis / 86_400_000 + 366))
    })?;
    connection.create_scalar_function("cub_time_to_sec", 1, pure, |context| {
        Ok(text(context, 0).map(|time| {
            let [_, _, _, hour, minute, second, _] = Fields::kept(&time).all.map(i64::from);
            hour * 3600 + minute * 60 + second
        }))
    })?;
    connection.create_scalar_function("cub_interval", 5, pure, |context| {
        let (Some(time), Some(count), Some(unit)) = (text(context, 0), text(context, 1), text(context, 2)) else {
            return Ok(None);
        };
        let (sign, kind): (i64, i64) = (context.get(3)?, context.get(4)?);
        Ok(interval(&time, &count, &unit, sign, kind as u8))
    })?;
    connection.create_scalar_function("cub_time_add", 3, pure, |context| {
        let (Some(time), Some(count)) = (text(context, 0), number(context, 1)) else { return Ok(None) };
        let code: i64 = context.get(2)?;
        let ty = Type::of(code as u8);
        let unit = match ty.code {
            DATE => "day",
            DATETIME | DATETIMETZ | DATETIMELTZ => "millisecond",
            _ => "second",
        };
        let (kept, zone) = time.split_once('|').map_or((time.as_str(), None), |(utc, zone)| (utc, Some(zone)));
        let kind = if zone.is_some() { DATETIME } else { ty.code };
        let moved = interval(kept, &count.to_string(), unit, 1, kind);
        Ok(moved.map(|moved| zone.map_or(moved.clone(), |zone| format!("{moved}|{zone}"))))
    })?;
    connection.create_scalar_function("cub_time_minus", 3, pure, |context| {
        let (Some(left), Some(right)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        let kept = |text: &str| {
            let mut fields = Fields::kept(text.split('|').next().unwrap_or(text));
            if !text.contains('-') {
                fields.all[..3].copy_from_slice(&[2000, 1, 1]);
            }
            fields
        };
        let unit = match text(context, 2).as_deref() {
            Some("d") => 86_400_000,
            Some("m") => 1,
            _ => 1000,
        };
        Ok(times::difference(&kept(&left), &kept(&right)).map(|millis| millis / unit))
    })
}
