//! Values to send.

use headrace_core::params::RangeParts;
use headrace_core::{Mismatch, Parameters, Value, ValueKind};
use std::borrow::Cow;

/// A parameter of any kind. Those that borrow cost nothing to clone, so that a benchmark of an encoder measures the
/// encoder.
#[derive(Clone, Debug, PartialEq)]
pub enum TestValue {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number of more than 64 bits, or an unsigned one.
    Wide(&'static str),
    /// A floating-point number.
    Float(f64),
    /// A decimal number.
    Decimal(Cow<'static, str>),
    /// Text.
    Text(Cow<'static, str>),
    /// Bytes.
    Bytes(Cow<'static, [u8]>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01, without a time zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC.
    TimestampTz(i64),
    /// Months, days and microseconds.
    Interval(i32, i32, i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// A JSON document.
    Json(&'static str),
    /// An IPv4 address.
    Inet([u8; 4]),
    /// The number of bits, and the bits.
    Bits(usize, Vec<u8>),
    /// A list.
    List(Vec<TestValue>),
    /// A value of a kind that no database supports.
    Other,
}

impl TestValue {
    /// Text of the program.
    pub fn text(text: &'static str) -> Self {
        TestValue::Text(text.into())
    }

    /// A decimal number.
    pub fn decimal(text: &'static str) -> Self {
        TestValue::Decimal(text.into())
    }

    /// Bytes of the program.
    pub fn bytes(bytes: &'static [u8]) -> Self {
        TestValue::Bytes(bytes.into())
    }
}

impl From<i64> for TestValue {
    fn from(n: i64) -> Self {
        TestValue::Int(n)
    }
}

impl From<&'static str> for TestValue {
    fn from(text: &'static str) -> Self {
        TestValue::text(text)
    }
}

impl From<String> for TestValue {
    fn from(text: String) -> Self {
        TestValue::Text(text.into())
    }
}

fn wrong<T>() -> Result<T, Mismatch> {
    Err(Mismatch::wrong_type("not that kind of value"))
}

macro_rules! getters {
    ($($name:ident -> $out:ty { $($pattern:pat => $value:expr),+ })*) => {
        $(#[inline] fn $name(&self) -> Result<$out, Mismatch> {
            match self { $($pattern => Ok($value),)+ _ => wrong() }
        })*
    };
}

macro_rules! lenders {
    ($($name:ident($lent:ty) { $($pattern:pat => $value:expr),+ })*) => {
        $(#[inline] fn $name<R>(&self, use_it: impl FnOnce($lent) -> R) -> Result<R, Mismatch> {
            match self { $($pattern => Ok(use_it($value)),)+ _ => wrong() }
        })*
    };
}

impl Value for TestValue {
    type Error = Mismatch;

    fn kind(&self) -> ValueKind {
        match self {
            TestValue::Null => ValueKind::Null,
            TestValue::Bool(_) => ValueKind::Bool,
            TestValue::Int(_) | TestValue::Wide(_) => ValueKind::Int,
            TestValue::Float(_) => ValueKind::Float,
            TestValue::Decimal(_) => ValueKind::Decimal,
            TestValue::Text(_) => ValueKind::Text,
            TestValue::Bytes(_) => ValueKind::Bytes,
            TestValue::Date(_) => ValueKind::Date,
            TestValue::Time(_) => ValueKind::Time,
            TestValue::Timestamp(_) => ValueKind::Timestamp,
            TestValue::TimestampTz(_) => ValueKind::TimestampTz,
            TestValue::Interval(..) => ValueKind::Interval,
            TestValue::Uuid(_) => ValueKind::Uuid,
            TestValue::Json(_) => ValueKind::Json,
            TestValue::Inet(_) => ValueKind::Inet,
            TestValue::Bits(..) => ValueKind::Bits,
            TestValue::List(_) => ValueKind::List,
            TestValue::Other => ValueKind::Other,
        }
    }
    fn describe(&self) -> String {
        format!("{self:.40?}")
    }
    #[inline]
    fn int(&self) -> Result<i64, Mismatch> {
        match self {
            TestValue::Int(n) => Ok(*n),
            TestValue::Wide(_) => Err(Mismatch::out_of_range("more than 64 bits")),
            _ => wrong(),
        }
    }
    getters! {
        bool -> bool { TestValue::Bool(value) => *value }
        float -> f64 { TestValue::Float(n) => *n, TestValue::Int(n) => *n as f64 }
        date -> i32 { TestValue::Date(days) => *days }
        time -> i64 { TestValue::Time(micros) => *micros }
        timestamp -> i64 { TestValue::Timestamp(micros) | TestValue::TimestampTz(micros) => *micros }
        timestamptz -> i64 { TestValue::TimestampTz(micros) => *micros }
        interval -> (i32, i32, i64) { TestValue::Interval(months, days, micros) => (*months, *days, *micros) }
        uuid -> [u8; 16] { TestValue::Uuid(bytes) => *bytes }
        bits -> (usize, Vec<u8>) { TestValue::Bits(bits, bytes) => (*bits, bytes.clone()) }
        len -> usize { TestValue::List(items) => items.len() }
    }
    lenders! {
        with_decimal(&str) {
            TestValue::Int(n) => &n.to_string(),
            TestValue::Decimal(text) => text,
            TestValue::Wide(text) => text
        }
        with_text(&[u8]) { TestValue::Text(text) => text.as_bytes() }
        with_bytes(&[u8]) { TestValue::Bytes(bytes) => bytes }
        with_json(&[u8]) { TestValue::Json(text) => text.as_bytes() }
    }
    fn inet(&self) -> Result<([u8; 16], usize, u8), Mismatch> {
        let TestValue::Inet(address) = self else { return wrong() };
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(address);
        Ok((bytes, 4, 32))
    }
    #[inline]
    fn item(&self, i: usize) -> Result<Self, Mismatch> {
        if let TestValue::List(items) = self { Ok(items[i].clone()) } else { wrong() }
    }
    fn timetz(&self) -> Result<(i64, i32), Mismatch> {
        wrong()
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        wrong()
    }
    fn range(&self) -> Result<RangeParts<Self>, Mismatch> {
        wrong()
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        wrong()
    }
    fn points(&self) -> Result<(Vec<f64>, Option<bool>), Mismatch> {
        wrong()
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        wrong()
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}

/// One row of parameters.
#[derive(Clone, Copy, Debug)]
pub struct TestParameters<'a>(pub &'a [TestValue]);

impl Parameters for TestParameters<'_> {
    type Value<'v>
        = TestValue
    where
        Self: 'v;
    type Error = Mismatch;

    fn count(&self) -> usize {
        self.0.len()
    }
    #[inline]
    fn get(&self, i: usize) -> Result<TestValue, Mismatch> {
        Ok(self.0[i].clone())
    }
}
