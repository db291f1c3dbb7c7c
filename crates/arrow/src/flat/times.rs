//! Columns of dates, times and spans of time.

use super::{Build, Fixed, Put, misfit};
use arrow_array::ArrayRef;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, IntervalMonthDayNanoType};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{ArrowError, TimeUnit};
use headrace_core::civil::{self, DAY_MICROS};

/// Dates.
#[derive(Debug)]
pub struct Dates(pub Fixed<Date32Type>);

impl Build for Dates {
    fixed!();
    #[inline]
    fn date(&mut self, days: i32) -> Put {
        if days == i32::MIN || days == i32::MAX {
            return misfit(civil::date_text(days));
        }
        self.0.push(days);
        Ok(())
    }
}

/// Microseconds in a unit that may be coarser.
#[inline]
fn counted(micros: i64, unit: TimeUnit) -> Option<i64> {
    let divisor = match unit {
        TimeUnit::Second => 1_000_000,
        TimeUnit::Millisecond => 1000,
        _ => return Some(micros),
    };
    (micros % divisor == 0).then_some(micros / divisor)
}

/// Times of day.
#[derive(Debug)]
pub struct Times<T: ArrowPrimitiveType>(pub Fixed<T>, pub TimeUnit);

impl<T: ArrowPrimitiveType> Build for Times<T>
where
    T::Native: TryFrom<i64>,
{
    fixed!();
    fn time(&mut self, micros: i64) -> Put {
        let counted = counted(micros, self.1).filter(|_| (0..DAY_MICROS).contains(&micros));
        match counted.and_then(|count| T::Native::try_from(count).ok()) {
            Some(count) => {
                self.0.push(count);
                Ok(())
            }
            None => misfit(civil::time_text(micros)),
        }
    }
}

/// Dates with a time, or instants.
#[derive(Debug)]
pub struct Timestamps<T: ArrowPrimitiveType>(pub Fixed<T>, pub TimeUnit);

impl<T: ArrowPrimitiveType<Native = i64>> Build for Timestamps<T> {
    fixed!();
    #[inline]
    fn timestamp(&mut self, micros: i64) -> Put {
        match counted(micros, self.1).filter(|_| micros != i64::MIN && micros != i64::MAX) {
            Some(count) => {
                self.0.push(count);
                Ok(())
            }
            None => misfit(civil::timestamp_text(micros, false)),
        }
    }
}

/// Spans of time that are counted in one unit.
#[derive(Debug)]
pub struct Durations<T: ArrowPrimitiveType>(pub Fixed<T>, pub TimeUnit);

impl<T: ArrowPrimitiveType<Native = i64>> Build for Durations<T> {
    fixed!();
    fn interval(&mut self, months: i32, days: i32, micros: i64) -> Put {
        let all = i64::from(days).checked_mul(DAY_MICROS).and_then(|days| days.checked_add(micros));
        match all.filter(|_| months == 0).and_then(|all| counted(all, self.1)) {
            Some(count) => {
                self.0.push(count);
                Ok(())
            }
            None => misfit(format!("{months} months, {days} days, {micros} microseconds")),
        }
    }
}

/// Spans of months, days and time.
#[derive(Debug)]
pub struct Intervals(pub Fixed<IntervalMonthDayNanoType>);

impl Build for Intervals {
    fixed!();
    fn interval(&mut self, months: i32, days: i32, micros: i64) -> Put {
        match micros.checked_mul(1000) {
            Some(nanos) => {
                self.0.push(IntervalMonthDayNano::new(months, days, nanos));
                Ok(())
            }
            None => misfit(format!("{months} months, {days} days, {micros} microseconds")),
        }
    }
}
