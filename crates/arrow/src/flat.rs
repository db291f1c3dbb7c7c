//! Columns of flat values: one method of a [`Sink`] each, and null.

use crate::options::ArrowOptions;
use crate::text::Texts;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, NullArray, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use headrace_core::civil;
use headrace_core::sink::decimal_text;
use headrace_core::{Container, Inet, Sink};
use std::sync::Arc;

/// A value that a column cannot have: which one of its values it is, from 0, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the value.
    pub index: usize,
    /// The reason, for people.
    pub reason: String,
}

/// The values of one flat type. What a type does not receive by the contract of [`headrace_core::column::ColumnKind`] is a
/// fault, and null.
pub trait Build: Send {
    /// Adds a null, or a zero where the array has no nulls of its own.
    fn null(&mut self);
    /// The number of values.
    fn count(&self) -> usize;
    /// The array of the values, which are gone then.
    ///
    /// # Errors
    /// For text that is not UTF-8.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
    /// Approximate bytes of the values.
    fn bytes(&self) -> usize;
    /// [`Sink::bool`]
    fn bool(&mut self, _: bool) -> Put {
        misfit("a truth value")
    }
    /// [`Sink::int`]
    fn int(&mut self, value: i64) -> Put {
        misfit(value)
    }
    /// [`Sink::uint`]
    fn uint(&mut self, value: u64) -> Put {
        misfit(value)
    }
    /// [`Sink::float`]
    fn float(&mut self, value: f64) -> Put {
        misfit(value)
    }
    /// [`Sink::decimal`]
    fn decimal(&mut self, ascii: &str) -> Put {
        misfit(ascii)
    }
    /// [`Sink::decimal128`]
    fn decimal128(&mut self, negative: bool, coefficient: u128, scale: u32) -> Put {
        self.decimal(&decimal_text(negative, coefficient, scale))
    }
    /// [`Sink::text`] and [`Sink::json`]
    fn text(&mut self, _: &[u8]) -> Put {
        misfit("text")
    }
    /// [`Sink::bytes`]
    fn binary(&mut self, _: &[u8]) -> Put {
        misfit("bytes")
    }
    /// [`Sink::date`]
    fn date(&mut self, days: i32) -> Put {
        misfit(civil::date_text(days))
    }
    /// [`Sink::time`]
    fn time(&mut self, micros: i64) -> Put {
        misfit(civil::time_text(micros))
    }
    /// [`Sink::timestamp`] and [`Sink::timestamptz`]
    fn timestamp(&mut self, micros: i64) -> Put {
        misfit(civil::timestamp_text(micros, false))
    }
    /// [`Sink::interval`]
    fn interval(&mut self, months: i32, days: i32, micros: i64) -> Put {
        misfit(format!("{months} months, {days} days, {micros} microseconds"))
    }
    /// [`Sink::uuid`]
    fn uuid(&mut self, _: &[u8; 16]) -> Put {
        misfit("a UUID")
    }
    /// [`Sink::bits`]
    fn bits(&mut self, bits: usize, _: &[u8]) -> Put {
        misfit(format!("{bits} bits"))
    }
}

/// Nothing, or why the value is not one of the column's; then nothing was added.
pub type Put = Result<(), Box<str>>;

#[cold]
pub(crate) fn misfit(what: impl std::fmt::Display) -> Put {
    Err(format!("{what} does not fit into the column's Arrow type").into())
}

/// A [`Sink`] for the values of one flat type, which remembers its first fault.
#[derive(Debug)]
pub struct Flat<B> {
    build: B,
    fault: Option<Fault>,
    null_unrepresentable: bool,
}

impl<B: Build> Flat<B> {
    /// Without values.
    pub fn new(build: B, options: &ArrowOptions) -> Self {
        Self { build, fault: None, null_unrepresentable: options.null_unrepresentable }
    }

    /// The values.
    pub(crate) fn build_mut(&mut self) -> &mut B {
        &mut self.build
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.build.count()
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [`Build::bytes`]
    pub fn bytes(&self) -> usize {
        self.build.bytes()
    }

    /// [`Build::finish`]
    ///
    /// # Errors
    /// As there.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.build.finish()
    }

    /// The first fault, which is forgotten then.
    pub fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// A null in place of a value that Arrow cannot represent, and a fault unless the caller allows the null.
    #[cold]
    fn refuse(&mut self, reason: &str) {
        if !self.null_unrepresentable {
            self.fault_of(reason);
        }
        self.build.null();
    }

    #[cold]
    fn fault_of(&mut self, reason: &str) {
        let index = self.build.count();
        self.fault.get_or_insert_with(|| Fault { index, reason: reason.to_owned() });
    }

    #[inline]
    fn put(&mut self, put: Put) {
        if let Err(reason) = put {
            self.refuse(&reason);
        }
    }
}

macro_rules! pass {
    ($($name:ident($($value:ident: $kind:ty),*) => $method:ident($($given:expr),*);)*) => {
        $(#[inline] fn $name(&mut self, $($value: $kind),*) {
            let put = self.build.$method($($given),*);
            self.put(put);
        })*
    };
}

impl<B: Build> Sink for Flat<B> {
    fn takes_custom(&self) -> bool {
        false
    }
    fn begin_row(&mut self, _: usize) {}
    fn end_row(&mut self) {}
    #[inline]
    fn null(&mut self) {
        self.build.null();
    }
    pass! {
        bool(value: bool) => bool(value);
        int(value: i64) => int(value);
        uint(value: u64) => uint(value);
        float(value: f64) => float(value);
        decimal(ascii: &str) => decimal(ascii);
        decimal128(negative: bool, coefficient: u128, scale: u32) => decimal128(negative, coefficient, scale);
        text(utf8: &[u8]) => text(utf8);
        json(utf8: &[u8]) => text(utf8);
        bytes(value: &[u8]) => binary(value);
        date(days: i32) => date(days);
        time(micros: i64) => time(micros);
        timestamp(micros: i64) => timestamp(micros);
        timestamptz(micros: i64) => timestamp(micros);
        interval(months: i32, days: i32, micros: i64) => interval(months, days, micros);
        uuid(value: &[u8; 16]) => uuid(value);
        bits(bits: usize, bytes: &[u8]) => bits(bits, bytes);
    }
    fn timetz(&mut self, micros: i64, _: i32) {
        self.refuse(&format!("{} with a zone does not fit into the column's Arrow type", civil::time_text(micros)));
    }
    fn inet(&mut self, _: Inet<'_>) {
        self.refuse("an address does not fit into the column's Arrow type");
    }
    fn custom(&mut self, type_id: u32, _: bool, _: &[u8]) {
        self.refuse(&format!("a value of the type {type_id} does not fit into the column's Arrow type"));
    }
    fn begin(&mut self, container: Container, _: usize) {
        // The protocol breaks the contract of the column's kind: the lengths of the columns will differ.
        self.fault_of(&format!("{container:?} does not fit into the column's Arrow type"));
    }
    fn end(&mut self) {}
    fn no_such_date(&mut self, text: &str) {
        self.refuse(&format!("the date {text} is in no calendar"));
    }
    fn invalid(&mut self, why: &str) {
        // Not a value at all, so that null would hide an error.
        self.fault_of(why);
        self.build.null();
    }
}

/// Nothing but nulls.
#[derive(Debug, Default)]
pub struct Nulls(usize);

impl Build for Nulls {
    fn null(&mut self) {
        self.0 += 1;
    }
    fn count(&self) -> usize {
        self.0
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(NullArray::new(std::mem::take(&mut self.0))))
    }
    fn bytes(&self) -> usize {
        0
    }
}

/// Truth values.
#[derive(Debug)]
pub struct Bools {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Default for Bools {
    fn default() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }
}

impl Build for Bools {
    fn null(&mut self) {
        self.values.append(false);
        self.nulls.append_null();
    }
    fn count(&self) -> usize {
        self.values.len()
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish())))
    }
    fn bytes(&self) -> usize {
        self.values.len() / 8
    }
    #[inline]
    fn bool(&mut self, value: bool) -> Put {
        self.values.append(value);
        self.nulls.append_non_null();
        Ok(())
    }
}

/// Values of a fixed width, and which of them are null.
#[derive(Debug)]
pub struct Fixed<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
    data_type: DataType,
}

impl<T: ArrowPrimitiveType> Fixed<T> {
    /// Without values; `data_type` has the parameters that `T` leaves open.
    pub fn new(data_type: DataType) -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0), data_type }
    }

    #[inline]
    fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    #[inline]
    fn push_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    fn array(&mut self) -> Result<ArrayRef, ArrowError> {
        let next = Vec::with_capacity(self.values.len());
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, next));
        let array = PrimitiveArray::<T>::try_new(values, self.nulls.finish())?;
        Ok(Arc::new(array.with_data_type(self.data_type.clone())))
    }

    fn size(&self) -> usize {
        self.values.len() * size_of::<T::Native>()
    }
}

macro_rules! fixed {
    () => {
        #[inline]
        fn null(&mut self) {
            self.0.push_null();
        }
        fn count(&self) -> usize {
            self.0.values.len()
        }
        fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
            self.0.array()
        }
        fn bytes(&self) -> usize {
            self.0.size()
        }
    };
}

mod decimals;
mod times;

pub(crate) use decimals::too_long;
pub use decimals::{Coefficient, Decimals};
pub use times::{Dates, Durations, Intervals, Times, Timestamps};

/// Whole numbers.
#[derive(Debug)]
pub struct Ints<T: ArrowPrimitiveType>(pub Fixed<T>);

impl<T: ArrowPrimitiveType> Build for Ints<T>
where
    T::Native: TryFrom<i64> + TryFrom<u64>,
{
    fixed!();
    #[inline]
    fn int(&mut self, value: i64) -> Put {
        match T::Native::try_from(value) {
            Ok(value) => {
                self.0.push(value);
                Ok(())
            }
            Err(_) => misfit(value),
        }
    }
    fn uint(&mut self, value: u64) -> Put {
        match T::Native::try_from(value) {
            Ok(value) => {
                self.0.push(value);
                Ok(())
            }
            Err(_) => misfit(value),
        }
    }
}

/// Floating-point numbers of 32 bits.
#[derive(Debug)]
pub struct Floats32(pub Fixed<Float32Type>);

impl Build for Floats32 {
    fixed!();
    #[inline]
    fn float(&mut self, value: f64) -> Put {
        self.0.push(value as f32);
        Ok(())
    }
}

/// Floating-point numbers of 64 bits, exact numbers among them if the caller has chosen that.
#[derive(Debug)]
pub struct Floats64(pub Fixed<Float64Type>);

impl Build for Floats64 {
    fixed!();
    #[inline]
    fn float(&mut self, value: f64) -> Put {
        self.0.push(value);
        Ok(())
    }
    fn decimal(&mut self, ascii: &str) -> Put {
        match ascii.parse() {
            Ok(value) => {
                self.0.push(value);
                Ok(())
            }
            Err(_) => misfit(ascii),
        }
    }
}

/// Text, and exact numbers as text.
impl Build for Texts {
    #[inline]
    fn null(&mut self) {
        self.push_null();
    }
    fn count(&self) -> usize {
        Texts::len(self)
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.array()
    }
    fn bytes(&self) -> usize {
        self.size()
    }
    fn decimal(&mut self, ascii: &str) -> Put {
        self.push(ascii.as_bytes())
    }
    #[inline]
    fn text(&mut self, utf8: &[u8]) -> Put {
        self.push(utf8)
    }
}

/// Bytes.
#[derive(Debug, Default)]
pub struct Binaries(pub Texts);

impl Build for Binaries {
    #[inline]
    fn null(&mut self) {
        self.0.push_null();
    }
    fn count(&self) -> usize {
        self.0.len()
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (offsets, values, nulls) = self.0.parts();
        Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls)?))
    }
    fn bytes(&self) -> usize {
        self.0.size()
    }
    #[inline]
    fn binary(&mut self, value: &[u8]) -> Put {
        self.0.push(value)
    }
    /// As a number, whose last bit is the last of the last byte.
    fn bits(&mut self, bits: usize, bytes: &[u8]) -> Put {
        let (length, spare) = (bits.div_ceil(8), bits.div_ceil(8) * 8 - bits);
        let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or_default());
        let moved = |at: usize| {
            let before = if at == 0 { 0 } else { byte(at - 1) };
            ((before << 8 | byte(at)) >> spare) as u8
        };
        self.0.push(&(0..length).map(moved).collect::<Vec<_>>())
    }
}

/// The offsets, bytes and nulls of an array of variable width.
pub type Parts = (OffsetBuffer<i32>, Buffer, Option<NullBuffer>);

/// UUIDs.
#[derive(Debug)]
pub struct Uuids {
    values: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Default for Uuids {
    fn default() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl Build for Uuids {
    fn null(&mut self) {
        self.values.extend_from_slice(&[0; 16]);
        self.nulls.append_null();
    }
    fn count(&self) -> usize {
        self.values.len() / 16
    }
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = Buffer::from_vec(std::mem::take(&mut self.values));
        Ok(Arc::new(FixedSizeBinaryArray::try_new(16, values, self.nulls.finish())?))
    }
    fn bytes(&self) -> usize {
        self.values.len()
    }
    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Put {
        self.values.extend_from_slice(value);
        self.nulls.append_non_null();
        Ok(())
    }
}
