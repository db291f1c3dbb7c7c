//! The functions of dates and times.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::formats::{format_timestamp, parse_timestamp};
use super::functions::State;
use super::texts::text;
use crate::codec::decimal::Decimal;
use crate::codec::timestamp::{self, DATE_EPOCH, DAY_UNITS, Qualifier};
use crate::errors::SqlError;
use crate::types::{Kind, Type};

fn days_of_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    timestamp::days_from_civil(next_year, next, 1) - timestamp::days_from_civil(year, month, 1)
}

/// Adds months; a day that the month does not have is an error, or with `clamped` becomes its last day, as the last day
/// of a month does in any case.
fn add_months(value: i64, months: i64, ty: Type, clamped: bool) -> Result<i64> {
    let date = ty.kind == Kind::Date;
    let days = if date { value + DATE_EPOCH } else { value.div_euclid(DAY_UNITS) };
    let (year, month, mut day) = timestamp::civil_from_days(days);
    let was_last = day == days_of_month(year, month);
    let total = (year * 12 + month - 1).saturating_add(months);
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    if clamped && (1..=9999).contains(&year) {
        let last = days_of_month(year, month);
        day = if was_last { last } else { day.min(last) };
    }
    if !timestamp::is_date(year, month, day) {
        return Err(SqlError::new(-1267, "").through_sqlite());
    }
    let days = timestamp::days_from_civil(year, month, day);
    Ok(if date { days - DATE_EPOCH } else { days * DAY_UNITS + value.rem_euclid(DAY_UNITS) })
}

/// A DATETIME with the fields of another qualifier; leading fields that it does not have are those of the clock.
pub fn extend(value: i64, from: Qualifier, to: Qualifier, clock: i64) -> i64 {
    let have = (from.start().min(11) as usize).div_ceil(2);
    let mut fields = timestamp::fields(value);
    fields[..have].copy_from_slice(&timestamp::fields(clock)[..have]);
    timestamp::cut(timestamp::from_fields(fields).unwrap_or(value), to)
}

/// The time, if a DATETIME of its fields can represent it.
fn in_range(value: i64, qualifier: Qualifier) -> Result<i64> {
    let year = timestamp::fields(value)[0];
    // A carry beyond its first field went into the fields before it.
    let kept =
        qualifier.start() == 0 || timestamp::cut(value, qualifier).div_euclid(DAY_UNITS) == value.div_euclid(DAY_UNITS);
    if kept && (1..=9999).contains(&year) { Ok(value) } else { Err(SqlError::new(-1267, "").through_sqlite()) }
}

/// An INTERVAL multiplied or divided by a number, to the precision of its fields.
fn scaled(value: i64, by: &Value, divide: bool, qualifier: Qualifier) -> Result<i64> {
    let number = match by {
        Value::Integer(by) => Some(Decimal::new(i128::from(*by), 0)),
        Value::Real(by) => Decimal::parse(&format!("{by:e}")),
        Value::Text(by) => Decimal::parse(by),
        _ => None,
    };
    let number = number.ok_or_else(|| SqlError::new(-1213, "").through_sqlite())?;
    let value = Decimal::new(i128::from(value), 0);
    let result = if divide { value.divided_by(number) } else { Some(value.times(number)) };
    let result = result.ok_or_else(|| SqlError::new(-1202, "").through_sqlite())?.truncate(0).to_i64();
    let result = result.ok_or_else(|| SqlError::new(-1265, "").through_sqlite())?;
    Ok(timestamp::cut_interval(result, qualifier))
}

/// Registers all of them with a connection.
pub fn register(connection: &Connection, state: &Arc<State>) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let impure = FunctionFlags::SQLITE_UTF8;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_today", 0, impure, move |_| {
        Ok(shared.clock.load(Ordering::Relaxed).div_euclid(DAY_UNITS) - DATE_EPOCH)
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_current", 1, impure, move |context| {
        Ok(timestamp::cut(shared.clock.load(Ordering::Relaxed), Qualifier(context.get(0)?)))
    })?;
    let shared = Arc::clone(state);
    connection.create_scalar_function("ifx_extend", 3, impure, move |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let from = Type::from_tag(context.get(1)?).unwrap_or(Type::of(Kind::DateTime));
        let to = Qualifier(context.get(2)?);
        if from.kind == Kind::Date {
            return Ok(Some(timestamp::cut((value + DATE_EPOCH) * DAY_UNITS, to)));
        }
        Ok(Some(extend(value, from.qualifier(), to, shared.clock.load(Ordering::Relaxed))))
    })?;
    connection.create_scalar_function("ifx_in_range", 2, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        in_range(value, Qualifier(context.get(1)?)).map(Some)
    })?;
    connection.create_scalar_function("ifx_cut_interval", 2, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        Ok(Some(timestamp::cut_interval(value, Qualifier(context.get(1)?))))
    })?;
    connection.create_scalar_function("ifx_scaled", 4, pure, |context| {
        let (Some(value), by) = (context.get::<Option<i64>>(0)?, context.get::<Value>(1)?) else { return Ok(None) };
        if by == Value::Null {
            return Ok(None);
        }
        scaled(value, &by, context.get(2)?, Qualifier(context.get(3)?)).map(Some)
    })?;
    connection.create_scalar_function("ifx_part", 2, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(1)? else { return Ok(None) };
        let fields = timestamp::fields(value);
        Ok(Some(match context.get::<String>(0)?.as_str() {
            "year" => fields[0],
            "quarter" => (fields[1] + 2) / 3,
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
        let parts: [Option<i64>; 3] = [context.get(0)?, context.get(1)?, context.get(2)?];
        let [Some(month), Some(day), Some(year)] = parts else { return Ok(None) };
        if !timestamp::is_date(year, month, day) {
            let code = if (1..=12).contains(&month) { -1206 } else { -1205 };
            return Err(SqlError::new(code, "").through_sqlite());
        }
        Ok(Some(timestamp::days_from_civil(year, month, day) - DATE_EPOCH))
    })?;
    connection.create_scalar_function("ifx_add_months", 4, pure, |context| {
        let (value, months): (Option<i64>, Option<i64>) = (context.get(0)?, context.get(1)?);
        let ty = Type::from_tag(context.get(2)?).unwrap_or(Type::of(Kind::Date));
        let clamped = context.get(3)?;
        value.zip(months).map(|(value, months)| add_months(value, months, ty, clamped)).transpose()
    })?;
    connection.create_scalar_function("ifx_months", 1, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let fields = timestamp::fields(value);
        Ok(Some(fields[0] * 12 + fields[1]))
    })?;
    connection.create_scalar_function("ifx_last_day", 1, pure, |context| {
        let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(None) };
        let (year, month, day) = timestamp::civil_from_days(value + DATE_EPOCH);
        Ok(Some(value - day + days_of_month(year, month)))
    })?;
    for (name, reads) in [("ifx_format", false), ("ifx_parse", true)] {
        connection.create_scalar_function(name, 2, pure, move |context| {
            let Some(format) = text(context, 1)? else { return Ok(Value::Null) };
            let made = if reads {
                let Some(value) = text(context, 0)? else { return Ok(Value::Null) };
                parse_timestamp(&value, &format).map(Value::Integer)
            } else {
                let Some(value) = context.get::<Option<i64>>(0)? else { return Ok(Value::Null) };
                format_timestamp(value, &format).map(Value::Text)
            };
            made.map_err(|error| error.through_sqlite())
        })?;
    }
    Ok(())
}
