//! Values to send.

use headrace_core::params::RangeParts;
use headrace_core::{Mismatch, Parameters, Value, ValueKind};

#[derive(Clone, Debug, PartialEq)]
pub enum TestValue {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number beyond 64 bits, or an unsigned one.
    Wide(&'static str),
    Float(f64),
    Decimal(&'static str),
    Text(String),
    Bytes(Vec<u8>),
    Date(i32),
    Time(i64),
    Timestamp(i64),
    TimestampTz(i64),
    Interval(i32, i32, i64),
    Uuid([u8; 16]),
    Json(&'static str),
    Inet([u8; 4]),
    Bits(usize, Vec<u8>),
    List(Vec<TestValue>),
    Other,
}

impl From<i64> for TestValue {
    fn from(n: i64) -> Self {
        TestValue::Int(n)
    }
}

impl From<&str> for TestValue {
    fn from(text: &str) -> Self {
        TestValue::Text(text.to_owned())
    }
}

fn no<T>() -> Result<T, Mismatch> {
    Err(Mismatch::wrong_type("not that kind of value"))
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
    fn bool(&self) -> Result<bool, Mismatch> {
        if let TestValue::Bool(value) = self { Ok(*value) } else { no() }
    }
    fn int(&self) -> Result<i64, Mismatch> {
        match self {
            TestValue::Int(n) => Ok(*n),
            TestValue::Wide(_) => Err(Mismatch::out_of_range("more than 64 bits")),
            _ => no(),
        }
    }
    fn float(&self) -> Result<f64, Mismatch> {
        match self {
            TestValue::Float(n) => Ok(*n),
            TestValue::Int(n) => Ok(*n as f64),
            _ => no(),
        }
    }
    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, Mismatch> {
        match self {
            TestValue::Int(n) => Ok(use_it(&n.to_string())),
            TestValue::Decimal(text) | TestValue::Wide(text) => Ok(use_it(text)),
            _ => no(),
        }
    }
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let TestValue::Text(text) = self { Ok(use_it(text.as_bytes())) } else { no() }
    }
    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let TestValue::Bytes(bytes) = self { Ok(use_it(bytes)) } else { no() }
    }
    fn date(&self) -> Result<i32, Mismatch> {
        if let TestValue::Date(days) = self { Ok(*days) } else { no() }
    }
    fn time(&self) -> Result<i64, Mismatch> {
        if let TestValue::Time(micros) = self { Ok(*micros) } else { no() }
    }
    fn timetz(&self) -> Result<(i64, i32), Mismatch> {
        no()
    }
    fn timestamp(&self) -> Result<i64, Mismatch> {
        if let TestValue::Timestamp(micros) = self { Ok(*micros) } else { no() }
    }
    fn timestamptz(&self) -> Result<i64, Mismatch> {
        if let TestValue::TimestampTz(micros) = self { Ok(*micros) } else { no() }
    }
    fn interval(&self) -> Result<(i32, i32, i64), Mismatch> {
        if let TestValue::Interval(months, days, micros) = self { Ok((*months, *days, *micros)) } else { no() }
    }
    fn uuid(&self) -> Result<[u8; 16], Mismatch> {
        if let TestValue::Uuid(bytes) = self { Ok(*bytes) } else { no() }
    }
    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        if let TestValue::Json(text) = self { Ok(use_it(text.as_bytes())) } else { no() }
    }
    fn inet(&self) -> Result<([u8; 16], usize, u8), Mismatch> {
        let TestValue::Inet(address) = self else { return no() };
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(address);
        Ok((bytes, 4, 32))
    }
    fn bits(&self) -> Result<(usize, Vec<u8>), Mismatch> {
        if let TestValue::Bits(bits, bytes) = self { Ok((*bits, bytes.clone())) } else { no() }
    }
    fn len(&self) -> Result<usize, Mismatch> {
        if let TestValue::List(items) = self { Ok(items.len()) } else { no() }
    }
    fn item(&self, i: usize) -> Result<Self, Mismatch> {
        if let TestValue::List(items) = self { Ok(items[i].clone()) } else { no() }
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        no()
    }
    fn range(&self) -> Result<RangeParts<Self>, Mismatch> {
        no()
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        no()
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        no()
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}

pub struct TestParams<'a>(pub &'a [TestValue]);

impl Parameters for TestParams<'_> {
    type Value<'v>
        = TestValue
    where
        Self: 'v;
    type Error = Mismatch;
    fn count(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Result<TestValue, Mismatch> {
        Ok(self.0[i].clone())
    }
}
