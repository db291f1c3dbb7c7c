//! Exact numbers whose type does not limit their digits, such as `numeric` of PostgreSQL.
//!
//! Their Arrow type is `decimal128(38, 20)` as long as the numbers of the first batch fit it, and else the smallest change of
//! it that they fit: `sum(bigint)` has more digits before the point, and quotients of small numbers more after it. Arrow has
//! one type for all batches of a result, so that the numbers of later batches fit it or fail the result.

use crate::flat::{Build, Decimals, Put, too_long};
use crate::options::{DECIMAL128_PRECISION, DECIMAL256_PRECISION, UNLIMITED_PRECISION, UNLIMITED_SCALE};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, Decimal128Array, Decimal256Array};
use arrow_buffer::{NullBufferBuilder, i256};
use arrow_schema::{ArrowError, DataType};
use headrace_core::sink::decimal_text;
use std::sync::Arc;

/// The digits after the point of numbers that take 256 bits, if those before it leave room for them.
const WIDE_SCALE: u32 = 38;

/// The numbers of a column until its type is known.
#[derive(Debug)]
pub struct Unconstrained {
    /// Those until the first that does not fit.
    narrow: Decimals<Decimal128Type>,
    wide: Option<Wide>,
}

impl Default for Unconstrained {
    fn default() -> Self {
        Self { narrow: Decimals::new(UNLIMITED_PRECISION, UNLIMITED_SCALE), wide: None }
    }
}

/// Numbers of any digits, with as few after the point as they need.
#[derive(Debug)]
struct Wide {
    values: Vec<i256>,
    /// Of each value how many of its digits are after the point.
    scales: Vec<u8>,
    nulls: NullBufferBuilder,
    /// The most digits before the point, and after it.
    whole: u32,
    fraction: u32,
}

impl Default for Wide {
    fn default() -> Self {
        let nulls = NullBufferBuilder::new(0);
        Self { values: Vec::new(), scales: Vec::new(), nulls, whole: 0, fraction: 0 }
    }
}

impl Wide {
    /// The bytes of its values.
    fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice()) + self.scales.len()
    }

    /// Adds a number; returns false if no type has room for it and those before it. Then it was not added.
    fn push(&mut self, mut value: i256, mut scale: u32) -> bool {
        let ten = i256::from_i128(10);
        while scale > 0 && value.checked_rem(ten) == Some(i256::ZERO) {
            value = value.checked_div(ten).unwrap_or(value);
            scale -= 1;
        }
        let digits = value.to_string().trim_start_matches(['-', '0']).len() as u32;
        let (whole, fraction) = (self.whole.max(digits.saturating_sub(scale)), self.fraction.max(scale));
        if whole + fraction > u32::from(DECIMAL256_PRECISION) {
            return false;
        }
        (self.whole, self.fraction) = (whole, fraction);
        self.values.push(value);
        // As many as the type has digits, or less.
        self.scales.push(scale as u8);
        self.nulls.append_non_null();
        true
    }

    fn push_null(&mut self) {
        self.values.push(i256::ZERO);
        self.scales.push(0);
        self.nulls.append_null();
    }

    /// Precision and scale of the smallest type for all.
    fn shape(&self) -> (u8, u32) {
        let most = u32::from(DECIMAL128_PRECISION);
        if self.whole + self.fraction <= most {
            return (DECIMAL128_PRECISION, self.fraction.max((most - self.whole).min(UNLIMITED_SCALE as u32)));
        }
        let room = u32::from(DECIMAL256_PRECISION) - self.whole;
        (DECIMAL256_PRECISION, self.fraction.max(room.min(WIDE_SCALE)))
    }

    fn array(mut self) -> Result<ArrayRef, ArrowError> {
        let (precision, scale) = self.shape();
        let ten = i256::from_i128(10);
        let at_scale = |(value, own): (&i256, &u8)| {
            // The shape has room for it.
            ten.checked_pow(scale - u32::from(*own)).and_then(|power| value.checked_mul(power)).unwrap_or_default()
        };
        let values = self.values.iter().zip(&self.scales).map(at_scale);
        let nulls = self.nulls.finish();
        Ok(if precision == DECIMAL128_PRECISION {
            let values: Vec<i128> = values.map(|value| value.to_i128().unwrap_or_default()).collect();
            Arc::new(Decimal128Array::try_new(values.into(), nulls)?.with_precision_and_scale(precision, scale as i8)?)
        } else {
            let values: Vec<i256> = values.collect();
            Arc::new(Decimal256Array::try_new(values.into(), nulls)?.with_precision_and_scale(precision, scale as i8)?)
        })
    }
}

impl Unconstrained {
    /// Those until now as numbers of any digits.
    #[cold]
    fn widened(&mut self) -> Option<&mut Wide> {
        if self.wide.is_none() {
            let mut wide = Wide::default();
            let before = self.narrow.finish().ok()?;
            for value in before.as_primitive::<Decimal128Type>() {
                match value {
                    // They fit 38 digits.
                    Some(value) => drop(wide.push(i256::from_i128(value), UNLIMITED_SCALE as u32)),
                    None => wide.push_null(),
                }
            }
            self.wide = Some(wide);
        }
        self.wide.as_mut()
    }

    /// The numbers of both have one type from now on, if there is one with room for them: those of a range's bounds.
    pub(crate) fn agree(&mut self, other: &mut Self) {
        if self.wide.is_none() && other.wide.is_none() {
            return;
        }
        if let (Some(first), Some(second)) = (self.widened(), other.widened()) {
            let (whole, fraction) = (first.whole.max(second.whole), first.fraction.max(second.fraction));
            if whole + fraction <= u32::from(DECIMAL256_PRECISION) {
                for each in [first, second] {
                    (each.whole, each.fraction) = (whole, fraction);
                }
            }
        }
    }

    #[cold]
    fn widely(&mut self, value: Option<i256>, scale: u32, text: &str) -> Put {
        let fits = value.is_some_and(|value| self.widened().is_some_and(|wide| wide.push(value, scale)));
        if fits { Ok(()) } else { too_long(text, &DataType::Decimal128(UNLIMITED_PRECISION, UNLIMITED_SCALE)) }
    }
}

/// A number of any length without a point, and its scale.
fn parts(ascii: &str) -> (Option<i256>, u32) {
    let (whole, fraction) = ascii.split_once('.').unwrap_or((ascii, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > usize::from(DECIMAL256_PRECISION) {
        return (None, 0);
    }
    (i256::from_string(&format!("{whole}{fraction}")), fraction.len() as u32)
}

impl Build for Unconstrained {
    fn null(&mut self) {
        match &mut self.wide {
            Some(wide) => wide.push_null(),
            None => self.narrow.null(),
        }
    }
    fn count(&self) -> usize {
        self.wide.as_ref().map_or_else(|| self.narrow.count(), |wide| wide.values.len())
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.wide.take().map_or_else(|| self.narrow.finish(), Wide::array)
    }
    fn bytes(&self) -> usize {
        self.wide.as_ref().map_or_else(|| self.narrow.bytes(), Wide::bytes)
    }
    fn int(&mut self, value: i64) -> Put {
        self.decimal128(value < 0, value.unsigned_abs().into(), 0)
    }
    fn uint(&mut self, value: u64) -> Put {
        self.decimal128(false, value.into(), 0)
    }
    fn decimal(&mut self, ascii: &str) -> Put {
        if self.wide.is_none() && self.narrow.decimal(ascii).is_ok() {
            return Ok(());
        }
        let (value, scale) = parts(ascii);
        self.widely(value, scale, ascii)
    }
    #[inline]
    fn decimal128(&mut self, negative: bool, coefficient: u128, scale: u32) -> Put {
        if self.wide.is_none() && self.narrow.decimal128(negative, coefficient, scale).is_ok() {
            return Ok(());
        }
        let text = decimal_text(negative, coefficient, scale);
        let (value, scale) = parts(&text);
        self.widely(value, scale, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type and the values of numbers, of which none is a null.
    fn made(numbers: &[&str]) -> (DataType, Vec<String>) {
        let mut column = Unconstrained::default();
        for number in numbers {
            match *number {
                "" => column.null(),
                number => column.decimal(number).unwrap(),
            }
        }
        assert_eq!(column.count(), numbers.len());
        let array = column.finish().unwrap();
        let text = |row: usize| arrow_array_text(&array, row);
        (array.data_type().clone(), (0..array.len()).map(text).collect())
    }

    fn arrow_array_text(array: &ArrayRef, row: usize) -> String {
        use arrow_array::types::Decimal256Type;
        if array.is_null(row) {
            return String::new();
        }
        let text = match array.data_type() {
            DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
            _ => array.as_primitive::<Decimal256Type>().value_as_string(row),
        };
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    #[test]
    fn the_type_is_that_which_the_numbers_need() {
        let small = "0.0000000000333333333333333333";
        let most = "99999999999999999999999999999999999999";
        for (numbers, precision, scale) in [
            (&["1.5", "", "-0.33333333333333333333"][..], 38, 20),
            (&[][..], 38, 20),
            (&["1.5", "", "18446744073709551614"], 38, 18),
            (&["18446744073709551614.0000000000000000000000", "-1"], 38, 18),
            (&["2.25", small, ""], 38, 28),
            (&[most], 38, 0),
            (&[most, "0.5"], 76, 38),
            (&["18446744073709551614", small], 76, 38),
        ] {
            let (data_type, values) = made(numbers);
            let wanted = match precision {
                38 => DataType::Decimal128(38, scale),
                _ => DataType::Decimal256(76, scale),
            };
            let numbers = numbers.iter().map(|number| match number.split_once('.') {
                Some(_) => number.trim_end_matches('0').trim_end_matches('.'),
                None => number,
            });
            assert_eq!((data_type, values), (wanted, numbers.map(str::to_owned).collect()));
        }
    }

    #[test]
    fn what_no_type_has_room_for_is_a_fault() {
        let mut column = Unconstrained::default();
        assert!(column.decimal("NaN").unwrap_err().contains("NaN does not fit"));
        column.decimal("1").unwrap();
        assert!(column.decimal(&format!("1{}", "0".repeat(76))).is_err());
        assert!(column.decimal(&format!("0.{}1", "0".repeat(80))).is_err());
        column.decimal(&format!("1{}", "0".repeat(60))).unwrap();
        // The number, and where its point is.
        assert_eq!(column.bytes(), 2 * (size_of::<i256>() + 1));
        assert!(column.decimal(&format!("0.{}1", "0".repeat(20))).is_err());
        assert_eq!(column.finish().unwrap().len(), 2);
    }
}
