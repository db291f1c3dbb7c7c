//! A value of a column as a parameter.

use super::column::{Coefficients, Column, Values};
use super::text::{Digits, float_text, json_text, place_point, shown};
use crate::limits;
use crate::options::Nanoseconds;
use arrow_schema::TimeUnit;
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::params::RangeParts;
use headrace_core::{Mismatch, Value, ValueKind};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The first day that a database has: 4714-11-24 BC in the Gregorian calendar.
const FIRST_DAY: i64 = -2_440_588;
/// A day that is later than those of every database, and that can be counted from any of their epochs.
const LAST_DAY: i64 = 2_147_000_000;

/// A value.
#[derive(Debug)]
pub struct Cell<'a, E> {
    /// `None` if it is null.
    place: Option<(&'a Column, usize)>,
    error: PhantomData<fn() -> E>,
}

impl<E> Clone for Cell<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Cell<'_, E> {}

fn outside(message: impl Into<String>) -> Mismatch {
    Mismatch::out_of_range(message)
}

/// A count of a unit in microseconds.
fn micros(count: i64, unit: TimeUnit, nanoseconds: Nanoseconds) -> Result<i64, Mismatch> {
    let per = match unit {
        TimeUnit::Second => 1_000_000,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => return Ok(count),
        TimeUnit::Nanosecond if count % 1_000 == 0 || nanoseconds == Nanoseconds::Truncated => {
            return Ok(count.div_euclid(1_000));
        }
        TimeUnit::Nanosecond => {
            return Err(outside(format!("{count} nanoseconds are no whole microseconds, and would be rounded")));
        }
    };
    count.checked_mul(per).ok_or_else(|| outside(format!("{count} {unit:?}s do not fit 64 bits in microseconds")))
}

impl<'a, E: From<Mismatch>> Cell<'a, E> {
    #[inline]
    pub(super) fn new(column: &'a Column, row: usize) -> Self {
        Self { place: column.resolve(row), error: PhantomData }
    }

    fn wrong(&self, expected: &str) -> E {
        Mismatch::wrong_type(format!("{} cannot be sent as {expected}", self.describe())).into()
    }

    /// The values and the row in them; an error for null.
    #[inline]
    fn values(&self, expected: &str) -> Result<(&'a Values, usize), E> {
        match self.place {
            Some((column, row)) => Ok((&column.values, row)),
            None => Err(self.wrong(expected)),
        }
    }

    fn nanoseconds(&self) -> Nanoseconds {
        self.place.map_or(Nanoseconds::Refused, |(column, _)| column.meaning.nanoseconds)
    }

    fn ticks(&self, expected: &str) -> Result<i64, E> {
        match self.values(expected)? {
            (Values::Ticks(counts, unit), row) => Ok(micros(counts.get(row), *unit, self.nanoseconds())?),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The bytes of a text, which are UTF-8.
    #[inline]
    fn utf8(&self) -> Result<&'a str, E> {
        match self.values("text")? {
            (Values::Strings(strings), row) => {
                Ok(std::str::from_utf8(strings.get(row)).map_err(|_| outside("the text is not UTF-8"))?)
            }
            _ => Err(self.wrong("text")),
        }
    }

    /// The text of a number.
    fn number_text(&self) -> Result<Cow<'a, str>, E> {
        let (values, row) = self.values("a number")?;
        Ok(match values {
            Values::Whole(numbers) if self.kind() == ValueKind::Int => numbers.get(row).to_string().into(),
            Values::Unsigned(numbers) => numbers[row].to_string().into(),
            Values::Half(_) | Values::Single(_) | Values::Double(_) => float_text(self.float()?).into(),
            Values::Decimal(coefficients, scale) => match coefficients {
                Coefficients::Narrow(numbers) => place_point(&numbers[row].to_string(), *scale).into(),
                Coefficients::Middle(numbers) => place_point(&numbers[row].to_string(), *scale).into(),
                Coefficients::Wide(numbers) => place_point(&numbers[row].to_string(), *scale).into(),
                Coefficients::Widest(numbers) => place_point(&numbers[row].to_string(), *scale).into(),
            },
            Values::Strings(_) if self.kind() == ValueKind::Text => self.utf8()?.into(),
            _ => return Err(self.wrong("a number")),
        })
    }

    /// The text of a value that is not text.
    fn own_text(&self) -> Result<String, E> {
        Ok(match self.kind() {
            ValueKind::Bool => if self.bool()? { "True" } else { "False" }.to_owned(),
            ValueKind::Date => civil::date_text(self.date()?),
            ValueKind::Time => civil::time_text(self.time()?),
            ValueKind::Timestamp => civil::timestamp_text(self.timestamp()?, false),
            ValueKind::TimestampTz => civil::timestamp_text(self.timestamptz()?, true),
            ValueKind::Uuid => {
                let hex = format!("{:032x}", u128::from_be_bytes(self.uuid()?));
                [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
            }
            _ => self.number_text()?.into_owned(),
        })
    }

    /// The fields of a struct, and their names.
    pub(super) fn fields(&self) -> Option<impl Iterator<Item = (&'a str, Self)>> {
        let (Values::Struct(parts), row) = self.place.map(|(column, row)| (&column.values, row))? else { return None };
        Some(parts.iter().map(move |part| (part.name(), Self::new(part, row))))
    }

    /// The keys and the values of a map.
    pub(super) fn entries(&self) -> Option<impl Iterator<Item = (Self, Self)>> {
        let (Values::Map(offsets, entries), row) = self.place.map(|(column, row)| (&column.values, row))? else {
            return None;
        };
        let Values::Struct(parts) = &entries.values else { return None };
        let [keys, values] = parts.as_slice() else { return None };
        let rows = offsets[row] as usize..offsets[row + 1] as usize;
        Some(rows.map(move |row| (Self::new(keys, row), Self::new(values, row))))
    }

    fn part(&self, name: &str) -> Result<Self, E> {
        let found = self.fields().and_then(|mut fields| fields.find(|(own, _)| *own == name));
        found.map(|(_, cell)| cell).ok_or_else(|| self.wrong(&format!("a composite value: it has no attribute {name}")))
    }
}

/// Appends the numbers of a cell and of the lists in it.
fn put_numbers<E: From<Mismatch>>(cell: &Cell<'_, E>, into: &mut Vec<f64>, max: usize, depth: usize) -> Result<(), E> {
    let is_list =
        matches!(cell.place, Some((column, _)) if matches!(column.values, Values::List(..) | Values::Struct(_)));
    if !is_list || depth > limits::NESTING {
        into.push(cell.float()?);
        return Ok(());
    }
    for i in 0..cell.len()? {
        if into.len() > max {
            break;
        }
        put_numbers(&cell.item(i)?, into, max, depth + 1)?;
    }
    Ok(())
}

impl<E: From<Mismatch>> Value for Cell<'_, E> {
    type Error = E;

    #[inline]
    fn kind(&self) -> ValueKind {
        self.place.map_or(ValueKind::Null, |(column, _)| column.kind)
    }

    fn describe(&self) -> String {
        shown(self)
    }

    #[inline]
    fn bool(&self) -> Result<bool, E> {
        match self.values("a truth value")? {
            (Values::Bool(bits), row) => Ok(bits.value(row)),
            (Values::Whole(numbers), row) => Ok(numbers.get(row) != 0),
            _ => Err(self.wrong("a truth value")),
        }
    }

    #[inline]
    fn int(&self) -> Result<i64, E> {
        match self.values("a whole number")? {
            (Values::Whole(numbers), row) => Ok(numbers.get(row)),
            (Values::Unsigned(numbers), row) => Ok(i64::try_from(numbers[row])
                .map_err(|_| outside(format!("{} does not fit 64 bits with a sign", numbers[row])))?),
            (Values::Bool(bits), row) => Ok(bits.value(row).into()),
            _ => Err(self.wrong("a whole number")),
        }
    }

    #[inline]
    fn float(&self) -> Result<f64, E> {
        match self.values("a floating-point number")? {
            (Values::Double(numbers), row) => Ok(numbers[row]),
            (Values::Single(numbers), row) => Ok(numbers[row].into()),
            (Values::Half(numbers), row) => Ok(numbers[row].to_f64()),
            (Values::Whole(numbers), row) => Ok(numbers.get(row) as f64),
            (Values::Unsigned(numbers), row) => Ok(numbers[row] as f64),
            (Values::Decimal(..), _) => {
                let text = self.number_text()?;
                text.parse().map_err(|_| self.wrong("a floating-point number"))
            }
            _ => Err(self.wrong("a floating-point number")),
        }
    }

    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, E> {
        if let Some((column, row)) = self.place {
            // Without an allocation: nearly all numbers.
            let mut digits = Digits::default();
            match &column.values {
                Values::Decimal(Coefficients::Wide(numbers), scale) => {
                    if let Some(text) = digits.decimal(numbers[row], *scale) {
                        return Ok(use_it(text));
                    }
                }
                Values::Whole(numbers) if column.kind == ValueKind::Int => {
                    if let Some(text) = digits.decimal(numbers.get(row).into(), 0) {
                        return Ok(use_it(text));
                    }
                }
                _ => {}
            }
        }
        self.number_text().map(|text| use_it(&text))
    }

    #[inline]
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, E> {
        match self.kind() {
            ValueKind::Text | ValueKind::Json => self.utf8().map(|text| use_it(text.as_bytes())),
            _ => self.own_text().map(|text| use_it(text.as_bytes())),
        }
    }

    #[inline]
    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, E> {
        match self.values("bytes")? {
            (Values::Strings(strings), row) => Ok(use_it(strings.get(row))),
            _ => Err(self.wrong("bytes")),
        }
    }

    #[inline]
    fn date(&self) -> Result<i32, E> {
        let days = match self.values("a date")? {
            (Values::Days(days), row) => i64::from(days[row]),
            (Values::Millis(millis), row) => {
                let day = DAY_MICROS / 1_000;
                if millis[row].rem_euclid(day) != 0 {
                    return Err(outside(format!("{} milliseconds are no whole days", millis[row])).into());
                }
                millis[row].div_euclid(day)
            }
            _ => return Err(self.wrong("a date")),
        };
        if !(FIRST_DAY..=LAST_DAY).contains(&days) {
            return Err(outside(format!("the date {days} days after 1970-01-01 is outside all calendars")).into());
        }
        Ok(days as i32)
    }

    fn time(&self) -> Result<i64, E> {
        let micros = self.ticks("a time")?;
        if !(0..DAY_MICROS).contains(&micros) {
            return Err(outside(format!("{micros} microseconds are no time of a day")).into());
        }
        Ok(micros)
    }

    fn timetz(&self) -> Result<(i64, i32), E> {
        Ok((self.time()?, 0))
    }

    #[inline]
    fn timestamp(&self) -> Result<i64, E> {
        if self.kind() == ValueKind::Date {
            return i64::from(self.date()?)
                .checked_mul(DAY_MICROS)
                .ok_or_else(|| outside("the date is outside those of a timestamp").into());
        }
        let micros = self.ticks("a timestamp")?;
        // The largest is infinity for some databases.
        if micros < FIRST_DAY * DAY_MICROS || micros == i64::MAX {
            return Err(outside(format!("{micros} microseconds after 1970-01-01 are outside all calendars")).into());
        }
        Ok(micros)
    }

    #[inline]
    fn timestamptz(&self) -> Result<i64, E> {
        let micros = self.timestamp()?;
        match self.place {
            Some((column, _)) if column.kind != ValueKind::TimestampTz => Ok((column.meaning.local)(micros)?),
            _ => Ok(micros),
        }
    }

    fn is_calendar(&self) -> bool {
        !self.place.is_some_and(|(column, _)| matches!(column.values, Values::Ticks(..)))
    }

    fn interval(&self) -> Result<(i32, i32, i64), E> {
        match self.values("an interval")? {
            // Elapsed time: a day would be 23 or 25 hours of it where the clocks change.
            (Values::Ticks(..), _) => Ok((0, 0, self.ticks("an interval")?)),
            (Values::Months(months), row) => Ok((months[row], 0, 0)),
            (Values::DayTime(spans), row) => Ok((0, spans[row].days, i64::from(spans[row].milliseconds) * 1_000)),
            (Values::MonthDayNano(spans), row) => {
                let span = spans[row];
                Ok((span.months, span.days, micros(span.nanoseconds, TimeUnit::Nanosecond, self.nanoseconds())?))
            }
            _ => Err(self.wrong("an interval")),
        }
    }

    fn uuid(&self) -> Result<[u8; 16], E> {
        let bytes = match self.values("a UUID")? {
            (Values::Strings(strings), row) => strings.get(row),
            _ => return Err(self.wrong("a UUID")),
        };
        bytes.try_into().map_err(|_| self.wrong("a UUID"))
    }

    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, E> {
        match self.kind() {
            ValueKind::Json if matches!(self.values("JSON")?.0, Values::Strings(_)) => {
                self.utf8().map(|text| use_it(text.as_bytes()))
            }
            _ => {
                let mut text = String::new();
                json_text(self, &mut text, 0)?;
                Ok(use_it(text.as_bytes()))
            }
        }
    }

    fn inet(&self) -> Result<([u8; 16], usize, u8), E> {
        Err(self.wrong("a network address"))
    }

    fn bits(&self) -> Result<(usize, Vec<u8>), E> {
        Err(self.wrong("a string of bits"))
    }

    fn len(&self) -> Result<usize, E> {
        match self.values("a list")? {
            (Values::List(spans, _), row) => Ok(spans.get(row).1),
            (Values::Struct(parts), _) => Ok(parts.len()),
            _ => Err(self.wrong("a list")),
        }
    }

    fn item(&self, i: usize) -> Result<Self, E> {
        match self.values("a list")? {
            (Values::List(spans, items), row) => {
                let (from, count) = spans.get(row);
                if i >= count {
                    return Err(self.wrong("a list with more items"));
                }
                Ok(Self::new(items, from + i))
            }
            (Values::Struct(parts), row) => {
                let part = parts.get(i).ok_or_else(|| self.wrong("a composite value with more attributes"))?;
                Ok(Self::new(part, row))
            }
            _ => Err(self.wrong("a list")),
        }
    }

    fn field(&self, i: usize, name: &str) -> Result<Self, E> {
        if self.kind() == ValueKind::List { self.item(i) } else { self.part(name) }
    }

    fn range(&self) -> Result<RangeParts<Self>, E> {
        let bound = |name| self.part(name).map(|bound| Some(bound).filter(|bound| bound.place.is_some()));
        // A flag that is null is false.
        let flag = |name| self.part(name).map(|flag| flag.place.is_some() && flag.bool().unwrap_or(false));
        Ok(RangeParts {
            empty: flag("empty")?,
            lower: bound("lower")?,
            upper: bound("upper")?,
            lower_inc: flag("lower_inc")?,
            upper_inc: flag("upper_inc")?,
        })
    }

    fn floats(&self, max: usize) -> Result<Vec<f64>, E> {
        let mut numbers = Vec::new();
        put_numbers(self, &mut numbers, max, 0).map_err(|_: E| self.wrong("a geometric value"))?;
        Ok(numbers)
    }

    fn points(&self) -> Result<(Vec<f64>, Option<bool>), E> {
        let mut numbers = Vec::new();
        for i in 0..self.len()? {
            let before = numbers.len();
            let pair = put_numbers(&self.item(i)?, &mut numbers, usize::MAX, 0);
            if pair.is_err() || numbers.len() - before != 2 {
                return Err(self.wrong("a geometric value: its points are pairs of numbers"));
            }
        }
        Ok((numbers, None))
    }

    fn with_custom<R>(&self, _type_id: u32, _use_it: impl FnOnce(&[u8], bool) -> R) -> Result<R, E> {
        Err(self.wrong("a value with a dumper"))
    }

    fn has_custom(&self, _type_id: u32) -> bool {
        false
    }
}
