//! A column, prepared so that a value of it is found without looking at its type again.

use super::sound::{self, Soundness};
use super::{InputError, Meaning};
use crate::limits;
use crate::schema::EXTENSION_NAME;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, BinaryViewType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, RunEndIndexType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_buffer::{
    BooleanBuffer, Buffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, RunEndBuffer, ScalarBuffer,
    i256,
};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use headrace_core::ValueKind;
use std::sync::Arc;

/// The fields of a struct that is a range, as [`crate::schema::schema`] makes them.
const RANGE: [&str; 5] = ["lower", "upper", "lower_inc", "upper_inc", "empty"];

/// Numbers of several widths, of one meaning.
#[derive(Debug)]
pub(super) enum Whole {
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
}

impl Whole {
    #[inline]
    pub(super) fn get(&self, row: usize) -> i64 {
        match self {
            Whole::I8(values) => values[row].into(),
            Whole::I16(values) => values[row].into(),
            Whole::I32(values) => values[row].into(),
            Whole::I64(values) => values[row],
            Whole::U8(values) => values[row].into(),
            Whole::U16(values) => values[row].into(),
            Whole::U32(values) => values[row].into(),
        }
    }
}

macro_rules! any_width {
    ($numbers:expr, $values:ident => $result:expr) => {
        match $numbers {
            Whole::I8($values) => $result,
            Whole::I16($values) => $result,
            Whole::I32($values) => $result,
            Whole::I64($values) => $result,
            Whole::U8($values) => $result,
            Whole::U16($values) => $result,
            Whole::U32($values) => $result,
        }
    };
}

impl Whole {
    /// As keys of a dictionary with so many values.
    fn check(&self, nulls: Option<&NullBuffer>, values: usize) -> Soundness {
        any_width!(self, numbers => sound::keys(numbers.iter(), nulls, values))
    }
}

/// The coefficients of decimal numbers.
#[derive(Debug)]
pub(super) enum Coefficients {
    Narrow(ScalarBuffer<i32>),
    Middle(ScalarBuffer<i64>),
    Wide(ScalarBuffer<i128>),
    Widest(ScalarBuffer<i256>),
}

/// Where lists have their items.
#[derive(Debug)]
pub(super) enum Spans {
    Offsets(OffsetBuffer<i32>),
    LargeOffsets(OffsetBuffer<i64>),
    Views(ScalarBuffer<i32>, ScalarBuffer<i32>),
    LargeViews(ScalarBuffer<i64>, ScalarBuffer<i64>),
    Fixed(usize),
}

impl Spans {
    /// The first item of a list, and the number of items.
    #[inline]
    pub(super) fn get(&self, row: usize) -> (usize, usize) {
        let between = |from: i64, to: i64| (from as usize, (to - from) as usize);
        match self {
            Spans::Offsets(offsets) => between(offsets[row].into(), offsets[row + 1].into()),
            Spans::LargeOffsets(offsets) => between(offsets[row], offsets[row + 1]),
            Spans::Views(offsets, sizes) => (offsets[row] as usize, sizes[row] as usize),
            Spans::LargeViews(offsets, sizes) => (offsets[row] as usize, sizes[row] as usize),
            Spans::Fixed(size) => (row * size, *size),
        }
    }
}

/// Texts or bytes.
#[derive(Debug)]
pub(super) enum Strings {
    Offsets(OffsetBuffer<i32>, Buffer),
    LargeOffsets(OffsetBuffer<i64>, Buffer),
    Views(GenericByteViewArray<BinaryViewType>),
    Fixed(usize, Buffer),
}

impl Strings {
    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        match self {
            Strings::Offsets(offsets, bytes) => &bytes[offsets[row] as usize..offsets[row + 1] as usize],
            Strings::LargeOffsets(offsets, bytes) => &bytes[offsets[row] as usize..offsets[row + 1] as usize],
            Strings::Views(views) => views.value(row),
            Strings::Fixed(size, bytes) => &bytes[row * size..(row + 1) * size],
        }
    }
}

impl Strings {
    fn check(&self, nulls: Option<&NullBuffer>) -> Soundness {
        match self {
            Strings::Offsets(offsets, bytes) => sound::offsets(offsets, bytes.len()),
            Strings::LargeOffsets(offsets, bytes) => sound::offsets(offsets, bytes.len()),
            Strings::Views(views) => {
                let lengths: Vec<usize> = views.data_buffers().iter().map(Buffer::len).collect();
                sound::views(views.views(), nulls, &lengths)
            }
            Strings::Fixed(..) => Ok(()),
        }
    }
}

/// The run that a row is in.
#[derive(Debug)]
pub(super) enum Runs {
    Narrow(RunEndBuffer<i16>),
    Middle(RunEndBuffer<i32>),
    Wide(RunEndBuffer<i64>),
}

impl Runs {
    fn get(&self, row: usize) -> usize {
        match self {
            Runs::Narrow(ends) => ends.get_physical_index(row),
            Runs::Middle(ends) => ends.get_physical_index(row),
            Runs::Wide(ends) => ends.get_physical_index(row),
        }
    }
}

impl Runs {
    fn check(&self, values: usize) -> Soundness {
        match self {
            Runs::Narrow(ends) => sound::runs(ends.values(), ends.offset() + ends.len(), values),
            Runs::Middle(ends) => sound::runs(ends.values(), ends.offset() + ends.len(), values),
            Runs::Wide(ends) => sound::runs(ends.values(), ends.offset() + ends.len(), values),
        }
    }
}

#[derive(Debug)]
pub(super) enum Values {
    Null,
    Bool(BooleanBuffer),
    Whole(Whole),
    /// Numbers of which some do not fit 64 bits with a sign.
    Unsigned(ScalarBuffer<u64>),
    Half(ScalarBuffer<<Float16Type as ArrowPrimitiveType>::Native>),
    Single(ScalarBuffer<f32>),
    Double(ScalarBuffer<f64>),
    Decimal(Coefficients, i8),
    Strings(Strings),
    Days(ScalarBuffer<i32>),
    /// Dates in milliseconds.
    Millis(ScalarBuffer<i64>),
    /// Times of day, timestamps and durations, in a unit.
    Ticks(Whole, TimeUnit),
    Months(ScalarBuffer<i32>),
    DayTime(ScalarBuffer<IntervalDayTime>),
    MonthDayNano(ScalarBuffer<IntervalMonthDayNano>),
    List(Spans, Box<Column>),
    /// Keys and values, as structs.
    Map(OffsetBuffer<i32>, Box<Column>),
    Struct(Vec<Column>),
    Dictionary(Whole, Box<Column>),
    Runs(Runs, Box<Column>),
}

/// A column of a batch, or a part of one.
#[derive(Debug)]
pub struct Column {
    field: FieldRef,
    pub(super) kind: ValueKind,
    pub(super) values: Values,
    nulls: Option<NullBuffer>,
    pub(super) meaning: Meaning,
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> ScalarBuffer<T::Native> {
    array.as_primitive::<T>().values().clone()
}

/// Returns true if values of a type can be sent.
fn is_known(data_type: &DataType, depth: usize) -> bool {
    let inner = |field: &Field| is_known(field.data_type(), depth + 1);
    match data_type {
        _ if depth > limits::NESTING => false,
        DataType::Union(..) => false,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => inner(item),
        DataType::Struct(fields) => fields.iter().all(|field| inner(field)),
        DataType::Dictionary(_, values) => is_known(values, depth + 1),
        DataType::RunEndEncoded(_, values) => inner(values),
        _ => true,
    }
}

/// # Errors
/// A column cannot be sent.
pub(super) fn check(field: &Field) -> Result<(), InputError> {
    if is_known(field.data_type(), 0) {
        return Ok(());
    }
    Err(InputError::Unsupported(field.name().clone(), field.data_type().to_string()))
}

impl Column {
    /// The values of an array.
    ///
    /// # Errors
    /// Its type cannot be sent.
    pub(super) fn new(field: &FieldRef, array: &ArrayRef, meaning: Meaning) -> Result<Self, InputError> {
        let extension = field.metadata().get(EXTENSION_NAME).map_or("", String::as_str);
        let array: &dyn Array = array;
        let unknown = || InputError::Unsupported(field.name().clone(), array.data_type().to_string());
        let malformed = |why: String| InputError::Malformed(field.name().clone(), why);
        let nulls = array.nulls();
        let (kind, values) = match array.data_type() {
            DataType::Null => (ValueKind::Null, Values::Null),
            DataType::Boolean => (ValueKind::Bool, Values::Bool(array.as_boolean().values().clone())),
            DataType::Int8 if extension == "arrow.bool8" => {
                // Any number but 0 is true, and none of them is a number.
                let numbers = primitive::<Int8Type>(array);
                (ValueKind::Bool, Values::Bool(BooleanBuffer::collect_bool(numbers.len(), |row| numbers[row] != 0)))
            }
            DataType::UInt64 => (ValueKind::Int, Values::Unsigned(primitive::<UInt64Type>(array))),
            data_type if data_type.is_integer() => (ValueKind::Int, Values::Whole(whole(array).ok_or_else(unknown)?)),
            DataType::Float16 => (ValueKind::Float, Values::Half(primitive::<Float16Type>(array))),
            DataType::Float32 => (ValueKind::Float, Values::Single(primitive::<Float32Type>(array))),
            DataType::Float64 => (ValueKind::Float, Values::Double(primitive::<Float64Type>(array))),
            DataType::Decimal32(_, scale) => {
                let numbers = Coefficients::Narrow(primitive::<Decimal32Type>(array));
                (ValueKind::Decimal, Values::Decimal(numbers, *scale))
            }
            DataType::Decimal64(_, scale) => {
                let numbers = Coefficients::Middle(primitive::<Decimal64Type>(array));
                (ValueKind::Decimal, Values::Decimal(numbers, *scale))
            }
            DataType::Decimal128(_, scale) => {
                let numbers = Coefficients::Wide(primitive::<Decimal128Type>(array));
                (ValueKind::Decimal, Values::Decimal(numbers, *scale))
            }
            DataType::Decimal256(_, scale) => {
                let numbers = Coefficients::Widest(primitive::<Decimal256Type>(array));
                (ValueKind::Decimal, Values::Decimal(numbers, *scale))
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let kind = if extension == "arrow.json" { ValueKind::Json } else { ValueKind::Text };
                (kind, Values::Strings(strings(array).ok_or_else(unknown)?))
            }
            DataType::FixedSizeBinary(16) if extension == "arrow.uuid" => {
                (ValueKind::Uuid, Values::Strings(strings(array).ok_or_else(unknown)?))
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                (ValueKind::Bytes, Values::Strings(strings(array).ok_or_else(unknown)?))
            }
            DataType::Date32 => (ValueKind::Date, Values::Days(primitive::<Date32Type>(array))),
            DataType::Date64 => (ValueKind::Date, Values::Millis(primitive::<Date64Type>(array))),
            DataType::Time32(unit) | DataType::Time64(unit) => {
                (ValueKind::Time, Values::Ticks(ticks(array).ok_or_else(unknown)?, *unit))
            }
            DataType::Timestamp(unit, zone) => {
                let kind = if zone.is_some() { ValueKind::TimestampTz } else { ValueKind::Timestamp };
                (kind, Values::Ticks(ticks(array).ok_or_else(unknown)?, *unit))
            }
            DataType::Duration(unit) => (ValueKind::Interval, Values::Ticks(ticks(array).ok_or_else(unknown)?, *unit)),
            DataType::Interval(IntervalUnit::YearMonth) => {
                (ValueKind::Interval, Values::Months(primitive::<IntervalYearMonthType>(array)))
            }
            DataType::Interval(IntervalUnit::DayTime) => {
                (ValueKind::Interval, Values::DayTime(primitive::<IntervalDayTimeType>(array)))
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                (ValueKind::Interval, Values::MonthDayNano(primitive::<IntervalMonthDayNanoType>(array)))
            }
            _ => Self::nested(field, array, meaning)?,
        };
        if let Values::Strings(strings) = &values {
            strings.check(nulls).map_err(malformed)?;
        }
        Ok(Self { field: field.clone(), kind, values, nulls: nulls.cloned(), meaning })
    }

    /// The values of an array whose type is made of others.
    fn nested(field: &FieldRef, array: &dyn Array, meaning: Meaning) -> Result<(ValueKind, Values), InputError> {
        let unknown = || InputError::Unsupported(field.name().clone(), array.data_type().to_string());
        let malformed = |why: String| InputError::Malformed(field.name().clone(), why);
        let part = |field: &FieldRef, array: &ArrayRef| Self::new(field, array, meaning).map(Box::new);
        let nulls = array.nulls();
        Ok(match array.data_type() {
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                sound::offsets(list.offsets(), list.values().len()).map_err(malformed)?;
                (ValueKind::List, Values::List(Spans::Offsets(list.offsets().clone()), part(item, list.values())?))
            }
            DataType::LargeList(item) => {
                let list = array.as_list::<i64>();
                sound::offsets(list.offsets(), list.values().len()).map_err(malformed)?;
                (ValueKind::List, Values::List(Spans::LargeOffsets(list.offsets().clone()), part(item, list.values())?))
            }
            DataType::ListView(item) => {
                let list = array.as_list_view::<i32>();
                sound::spans(list.offsets(), list.sizes(), nulls, list.values().len()).map_err(malformed)?;
                let spans = Spans::Views(list.offsets().clone(), list.sizes().clone());
                (ValueKind::List, Values::List(spans, part(item, list.values())?))
            }
            DataType::LargeListView(item) => {
                let list = array.as_list_view::<i64>();
                sound::spans(list.offsets(), list.sizes(), nulls, list.values().len()).map_err(malformed)?;
                let spans = Spans::LargeViews(list.offsets().clone(), list.sizes().clone());
                (ValueKind::List, Values::List(spans, part(item, list.values())?))
            }
            DataType::FixedSizeList(item, size) => {
                let list = array.as_fixed_size_list();
                let spans = Spans::Fixed(usize::try_from(*size).unwrap_or_default());
                (ValueKind::List, Values::List(spans, part(item, list.values())?))
            }
            DataType::Map(item, _) => {
                let map = array.as_map();
                sound::offsets(map.offsets(), map.entries().len()).map_err(malformed)?;
                let entries: ArrayRef = Arc::new(map.entries().clone());
                (ValueKind::Json, Values::Map(map.offsets().clone(), part(item, &entries)?))
            }
            DataType::Struct(fields) => {
                let parts = fields.iter().zip(array.as_struct().columns());
                let parts = parts.map(|(field, array)| Self::new(field, array, meaning)).collect::<Result<_, _>>()?;
                let is_range = fields.len() == RANGE.len()
                    && fields.iter().zip(RANGE).all(|(field, name)| field.name() == name)
                    && fields[2..].iter().all(|flag| *flag.data_type() == DataType::Boolean);
                (if is_range { ValueKind::Range } else { meaning.structs }, Values::Struct(parts))
            }
            DataType::Dictionary(_, value_type) => {
                let dictionary = array.as_any_dictionary();
                // The extension type of a dictionary's field is that of its values.
                let inner = Field::new(field.name(), (**value_type).clone(), true);
                let inner = Arc::new(inner.with_metadata(field.metadata().clone()));
                let keys = match dictionary.keys().data_type() {
                    DataType::UInt64 => Whole::I64(signed(&primitive::<UInt64Type>(dictionary.keys()))),
                    _ => whole(dictionary.keys()).ok_or_else(unknown)?,
                };
                keys.check(dictionary.nulls(), dictionary.values().len()).map_err(malformed)?;
                (ValueKind::Other, Values::Dictionary(keys, part(&inner, dictionary.values())?))
            }
            DataType::RunEndEncoded(ends, item) => {
                let (runs, values) = match ends.data_type() {
                    DataType::Int16 => run_ends::<Int16Type>(array).map(|(ends, v)| (Runs::Narrow(ends), v)),
                    DataType::Int32 => run_ends::<Int32Type>(array).map(|(ends, v)| (Runs::Middle(ends), v)),
                    _ => run_ends::<Int64Type>(array).map(|(ends, v)| (Runs::Wide(ends), v)),
                }
                .ok_or_else(unknown)?;
                runs.check(values.len()).map_err(malformed)?;
                (ValueKind::Other, Values::Runs(runs, part(item, &values)?))
            }
            _ => return Err(unknown()),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.field.name()
    }

    /// Its type.
    pub fn data_type(&self) -> &DataType {
        self.field.data_type()
    }

    /// The column and the row that have the value of a row: of a dictionary those of its entry. `None` if it is null.
    #[inline]
    pub(super) fn resolve(&self, row: usize) -> Option<(&Column, usize)> {
        if let Some(nulls) = &self.nulls
            && nulls.is_null(row)
        {
            return None;
        }
        match &self.values {
            Values::Null => None,
            Values::Dictionary(keys, values) => values.resolve(usize::try_from(keys.get(row)).ok()?),
            Values::Runs(runs, values) => values.resolve(runs.get(row)),
            _ => Some((self, row)),
        }
    }
}

fn signed(keys: &ScalarBuffer<u64>) -> ScalarBuffer<i64> {
    keys.iter().map(|key| *key as i64).collect()
}

fn whole(array: &dyn Array) -> Option<Whole> {
    Some(match array.data_type() {
        DataType::Int8 => Whole::I8(primitive::<Int8Type>(array)),
        DataType::Int16 => Whole::I16(primitive::<Int16Type>(array)),
        DataType::Int32 => Whole::I32(primitive::<Int32Type>(array)),
        DataType::Int64 => Whole::I64(primitive::<Int64Type>(array)),
        DataType::UInt8 => Whole::U8(primitive::<UInt8Type>(array)),
        DataType::UInt16 => Whole::U16(primitive::<UInt16Type>(array)),
        DataType::UInt32 => Whole::U32(primitive::<UInt32Type>(array)),
        _ => return None,
    })
}

/// The values of times, timestamps and durations.
fn ticks(array: &dyn Array) -> Option<Whole> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Time32(Second) => Whole::I32(primitive::<Time32SecondType>(array)),
        DataType::Time32(Millisecond) => Whole::I32(primitive::<Time32MillisecondType>(array)),
        DataType::Time64(Microsecond) => Whole::I64(primitive::<Time64MicrosecondType>(array)),
        DataType::Time64(Nanosecond) => Whole::I64(primitive::<Time64NanosecondType>(array)),
        DataType::Timestamp(Second, _) => Whole::I64(primitive::<TimestampSecondType>(array)),
        DataType::Timestamp(Millisecond, _) => Whole::I64(primitive::<TimestampMillisecondType>(array)),
        DataType::Timestamp(Microsecond, _) => Whole::I64(primitive::<TimestampMicrosecondType>(array)),
        DataType::Timestamp(Nanosecond, _) => Whole::I64(primitive::<TimestampNanosecondType>(array)),
        DataType::Duration(Second) => Whole::I64(primitive::<DurationSecondType>(array)),
        DataType::Duration(Millisecond) => Whole::I64(primitive::<DurationMillisecondType>(array)),
        DataType::Duration(Microsecond) => Whole::I64(primitive::<DurationMicrosecondType>(array)),
        DataType::Duration(Nanosecond) => Whole::I64(primitive::<DurationNanosecondType>(array)),
        _ => return None,
    })
}

fn strings(array: &dyn Array) -> Option<Strings> {
    Some(match array.data_type() {
        DataType::Utf8 => {
            let (offsets, bytes, _) = array.as_string::<i32>().clone().into_parts();
            Strings::Offsets(offsets, bytes)
        }
        DataType::LargeUtf8 => {
            let (offsets, bytes, _) = array.as_string::<i64>().clone().into_parts();
            Strings::LargeOffsets(offsets, bytes)
        }
        DataType::Utf8View => Strings::Views(array.as_string_view().clone().to_binary_view()),
        DataType::Binary => {
            let (offsets, bytes, _) = array.as_binary::<i32>().clone().into_parts();
            Strings::Offsets(offsets, bytes)
        }
        DataType::LargeBinary => {
            let (offsets, bytes, _) = array.as_binary::<i64>().clone().into_parts();
            Strings::LargeOffsets(offsets, bytes)
        }
        DataType::BinaryView => Strings::Views(array.as_binary_view().clone()),
        DataType::FixedSizeBinary(_) => {
            let (size, bytes, _) = array.as_fixed_size_binary().clone().into_parts();
            Strings::Fixed(usize::try_from(size).ok()?, bytes)
        }
        _ => return None,
    })
}

fn run_ends<T: RunEndIndexType>(array: &dyn Array) -> Option<(RunEndBuffer<T::Native>, ArrayRef)> {
    let runs = array.as_run_opt::<T>()?;
    Some((runs.run_ends().clone(), runs.values().clone()))
}
