//! Columns of exact numbers.

use super::{Build, Fixed, Put};
use crate::options::{UNLIMITED_PRECISION, UNLIMITED_SCALE};
use arrow_array::ArrayRef;
use arrow_array::types::DecimalType;
use arrow_buffer::{ArrowNativeType, i256};
use arrow_schema::{ArrowError, DataType};
use headrace_core::sink::decimal_text;

/// A coefficient of exact numbers.
pub trait Coefficient: ArrowNativeType {
    /// `value` × 10^`digits`.
    fn scaled(value: u128, digits: u32) -> Option<Self>;
    /// -`self`
    fn negated(self) -> Self;
    /// A number without a point.
    fn parsed(ascii: &str) -> Option<Self>;
}

impl Coefficient for i128 {
    fn scaled(value: u128, digits: u32) -> Option<Self> {
        i128::try_from(value).ok()?.checked_mul(10i128.checked_pow(digits)?)
    }
    fn negated(self) -> Self {
        -self
    }
    fn parsed(ascii: &str) -> Option<Self> {
        ascii.parse().ok()
    }
}

impl Coefficient for i256 {
    fn scaled(value: u128, digits: u32) -> Option<Self> {
        i256::from_parts(value, 0).checked_mul(i256::from_i128(10).checked_pow(digits)?)
    }
    fn negated(self) -> Self {
        -self
    }
    fn parsed(ascii: &str) -> Option<Self> {
        i256::from_string(ascii)
    }
}

/// Exact numbers.
#[derive(Debug)]
pub struct Decimals<T: DecimalType> {
    values: Fixed<T>,
    precision: u8,
    scale: u32,
}

impl<T: DecimalType> Decimals<T>
where
    T::Native: Coefficient,
{
    /// Without values.
    pub fn new(precision: u8, scale: i8) -> Self {
        Self {
            values: Fixed::new(T::TYPE_CONSTRUCTOR(precision, scale)),
            precision,
            scale: u32::from(scale.unsigned_abs()),
        }
    }

    /// The digits of a number, all that are known to be there.
    fn exactly(&self, negative: bool, coefficient: u128, scale: u32) -> Option<T::Native> {
        let value = match scale.checked_sub(self.scale) {
            None => T::Native::scaled(coefficient, self.scale - scale)?,
            Some(surplus) => {
                let divisor = 10u128.checked_pow(surplus)?;
                // A digit that would be lost is not.
                T::Native::scaled(Some(coefficient / divisor).filter(|_| coefficient.is_multiple_of(divisor))?, 0)?
            }
        };
        let value = if negative { value.negated() } else { value };
        T::is_valid_decimal_precision(value, self.precision).then_some(value)
    }

    /// The same of a text of any length.
    fn of_text(&self, ascii: &str) -> Option<T::Native> {
        let (whole, fraction) = ascii.split_once('.').unwrap_or((ascii, ""));
        let wanted = self.scale as usize;
        let kept = &fraction[..fraction.len().min(wanted)];
        if !fraction[kept.len()..].bytes().all(|digit| digit == b'0') {
            return None;
        }
        let value = T::Native::parsed(&format!("{whole}{kept:0<wanted$}"))?;
        T::is_valid_decimal_precision(value, self.precision).then_some(value)
    }
}

#[cold]
pub(crate) fn too_long(text: &str, data_type: &DataType) -> Put {
    // A type with a precision of its own keeps it as text, too.
    let unlimited = *data_type == DataType::Decimal128(UNLIMITED_PRECISION, UNLIMITED_SCALE);
    let string = if unlimited { "numeric='string' gives text, " } else { "" };
    Err(format!("{text} does not fit into {data_type}; {string}numeric='float64' rounds").into())
}

impl<T: DecimalType> Build for Decimals<T>
where
    T::Native: Coefficient,
{
    #[inline]
    fn null(&mut self) {
        self.values.push_null();
    }
    fn count(&self) -> usize {
        self.values.values.len()
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.values.array()
    }
    fn bytes(&self) -> usize {
        self.values.size()
    }
    fn int(&mut self, value: i64) -> Put {
        self.decimal128(value < 0, value.unsigned_abs().into(), 0)
    }
    fn uint(&mut self, value: u64) -> Put {
        self.decimal128(false, value.into(), 0)
    }
    fn decimal(&mut self, ascii: &str) -> Put {
        match self.of_text(ascii) {
            Some(value) => {
                self.values.push(value);
                Ok(())
            }
            None => too_long(ascii, &self.values.data_type),
        }
    }
    #[inline]
    fn decimal128(&mut self, negative: bool, coefficient: u128, scale: u32) -> Put {
        match self.exactly(negative, coefficient, scale) {
            Some(value) => {
                self.values.push(value);
                Ok(())
            }
            None => too_long(&decimal_text(negative, coefficient, scale), &self.values.data_type),
        }
    }
}
