//! The functions of dates and times.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Result};

use super::functions::now;
use crate::codec::moment::{self, DATE_EPOCH, DAY_UNITS, Qualifier};
use crate::errors::SqlError;
use crate::types::{Kind, Type};

fn add_months(value: i64, months: i64, ty: Type) -> Result<i64> {
    let date = ty.kind == Kind::Date;
    let days = if date { value + DATE_EPOCH } else { value.div_euclid(DAY_UNITS) };
    let (year, month, day) = moment::civil_from_days(days);
    let total = year * 12 + month - 1 + months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    if !moment::is_date(year, month, day) {
        return Err(SqlError::new(-1267, "").through_sqlite());
    }
    let days = moment::days_from_civil(year, month, day);
    Ok(if date { days - DATE_EPOCH } else { days * DAY_UNITS + value.rem_euclid(DAY_UNITS) })
}

fn strftime(value: i64, format: &str) -> String {
    let fields = moment::fields(value);
    let mut result = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            result.push(character);
            continue;
        }
        match characters.next() {
            Some('Y') => result += &format!("{:04}", fields[0]),
            Some('y') => result += &format!("{:02}", fields[0] % 100),
            Some('m') => result += &format!("{:02}", fields[1]),
            Some('d') => result += &format!("{:02}", fields[2]),
            Some('H') => result += &format!("{:02}", fields[3]),
            Some('M') => result += &format!("{:02}", fields[4]),
            Some('S') => result += &format!("{:02}", fields[5]),
            Some(other) => result.push(other),
            None => {}
        }
    }
    result
}

/// Gives a connection all of them.
pub fn register(connection: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let impure = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("ifx_today", 0, impure, |_| Ok(now().div_euclid(DAY_UNITS) - DATE_EPOCH))?;
    connection.create_scalar_function("ifx_current", 1, impure, |context| {
        Ok(moment::cut(now(), Qualifier(context.get(0)?)))
    })?;
    connection.create_scalar_function("ifx_extend", 3, impure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let from = Type::from_tag(context.get(1)?).unwrap_or(Type::of(Kind::DateTime));
        let to = Qualifier(context.get(2)?);
        if from.kind == Kind::Date {
            return Ok(Some(moment::cut((value + DATE_EPOCH) * DAY_UNITS, to)));
        }
        // Fields in front of those that the value has come from the clock.
        let mut fields = moment::fields(value);
        let today = moment::fields(now());
        let have = (from.qualifier().start().min(11) as usize).div_ceil(2);
        fields[..have].copy_from_slice(&today[..have]);
        Ok(moment::from_fields(fields).map(|value| moment::cut(value, to)))
    })?;
    connection.create_scalar_function("ifx_part", 2, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(1)? else { return Ok(None) };
        let fields = moment::fields(value);
        Ok(Some(match context.get::<String>(0)?.as_str() {
            "year" => fields[0],
            "month" => fields[1],
            "day" => fields[2],
            "hour" => fields[3],
            "minute" => fields[4],
            "second" => fields[5],
            // 1970-01-01 was a Thursday, and Sunday is 0.
            _ => (value.div_euclid(DAY_UNITS) + 4).rem_euclid(7),
        }))
    })?;
    connection.create_scalar_function("ifx_mdy", 3, pure, |context| {
        let (month, day, year): (i64, i64, i64) = (context.get(0)?, context.get(1)?, context.get(2)?);
        if !moment::is_date(year, month, day) {
            let code = if (1..=12).contains(&month) { -1206 } else { -1205 };
            return Err(SqlError::new(code, "").through_sqlite());
        }
        Ok(moment::days_from_civil(year, month, day) - DATE_EPOCH)
    })?;
    connection.create_scalar_function("ifx_add_months", 3, pure, |context| {
        let (value, months): (Option<i64>, Option<i64>) = (context.get(0)?, context.get(1)?);
        let ty = Type::from_tag(context.get(2)?).unwrap_or(Type::of(Kind::Date));
        value.zip(months).map(|(value, months)| add_months(value, months, ty)).transpose()
    })?;
    connection.create_scalar_function("ifx_last_day", 1, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let (year, month, _) = moment::civil_from_days(value + DATE_EPOCH);
        let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        Ok(Some(moment::days_from_civil(year, month, 1) - 1 - DATE_EPOCH))
    })?;
    connection.create_scalar_function("ifx_strftime", 2, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        Ok(Some(strftime(value, &context.get::<String>(1)?)))
    })
}
