//! Values that cost nothing to read, so that a benchmark of the encoders measures the encoders.

use headrace_core::params::RangeParts;
use headrace_core::{Mismatch, Value, ValueKind};

/// A value that a caller might hold.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "the benchmarks of each database use their part")]
pub enum Fixed {
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Text.
    Text(&'static str),
    /// Bytes.
    Bytes(&'static [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 UTC.
    Instant(i64),
    /// Microseconds since 1970-01-01, of no zone.
    Moment(i64),
    /// Months, days, microseconds.
    Span(i32, i32, i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// A JSON document.
    Json(&'static str),
    /// A decimal number.
    Decimal(&'static str),
    /// A list of whole numbers.
    Ints(&'static [i64]),
}

fn other<T>() -> Result<T, Mismatch> {
    Err(Mismatch::wrong_type("a value of another kind"))
}

macro_rules! of {
    ($($name:ident: $variant:ident -> $out:ty;)*) => {
        $(#[inline] fn $name(&self) -> Result<$out, Mismatch> {
            if let Fixed::$variant(value) = self { Ok(*value) } else { other() }
        })*
    };
}

impl Value for Fixed {
    type Error = Mismatch;
    fn kind(&self) -> ValueKind {
        match self {
            Fixed::Int(_) => ValueKind::Int,
            Fixed::Float(_) => ValueKind::Float,
            Fixed::Bool(_) => ValueKind::Bool,
            Fixed::Text(_) => ValueKind::Text,
            Fixed::Bytes(_) => ValueKind::Bytes,
            Fixed::Date(_) => ValueKind::Date,
            Fixed::Instant(_) => ValueKind::TimestampTz,
            Fixed::Moment(_) => ValueKind::Timestamp,
            Fixed::Span(..) => ValueKind::Interval,
            Fixed::Uuid(_) => ValueKind::Uuid,
            Fixed::Json(_) => ValueKind::Json,
            Fixed::Decimal(_) => ValueKind::Decimal,
            Fixed::Ints(_) => ValueKind::List,
        }
    }
    fn describe(&self) -> String {
        format!("{self:?}")
    }
    of! {
        bool: Bool -> bool; int: Int -> i64; float: Float -> f64; date: Date -> i32; timestamptz: Instant -> i64;
        uuid: Uuid -> [u8; 16];
    }
    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, Mismatch> {
        if let Fixed::Decimal(text) = self { Ok(use_it(text)) } else { other() }
    }
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let Fixed::Text(text) = self { Ok(use_it(text.as_bytes())) } else { other() }
    }
    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let Fixed::Bytes(bytes) = self { Ok(use_it(bytes)) } else { other() }
    }
    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let Fixed::Json(text) = self { Ok(use_it(text.as_bytes())) } else { other() }
    }
    fn len(&self) -> Result<usize, Mismatch> {
        if let Fixed::Ints(items) = self { Ok(items.len()) } else { other() }
    }
    fn item(&self, i: usize) -> Result<Self, Mismatch> {
        if let Fixed::Ints(items) = self { Ok(Fixed::Int(items[i])) } else { other() }
    }
    fn time(&self) -> Result<i64, Mismatch> {
        other()
    }
    fn timetz(&self) -> Result<(i64, i32), Mismatch> {
        other()
    }
    fn timestamp(&self) -> Result<i64, Mismatch> {
        if let Fixed::Moment(value) | Fixed::Instant(value) = self { Ok(*value) } else { other() }
    }
    fn interval(&self) -> Result<(i32, i32, i64), Mismatch> {
        if let Fixed::Span(months, days, micros) = self { Ok((*months, *days, *micros)) } else { other() }
    }
    fn inet(&self) -> Result<([u8; 16], usize, u8), Mismatch> {
        other()
    }
    fn bits(&self) -> Result<(usize, Vec<u8>), Mismatch> {
        other()
    }
    fn range(&self) -> Result<RangeParts<Self>, Mismatch> {
        other()
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        other()
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        other()
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        other()
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}
