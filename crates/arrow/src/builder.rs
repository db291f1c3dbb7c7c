//! The values of one column, of whatever type.

use crate::flat::{
    Binaries, Bools, Dates, Decimals, Durations, Fault, Fixed, Flat, Floats32, Floats64, Intervals, Ints, Nulls, Times,
    Timestamps, Uuids,
};
use crate::nested::Nested;
use crate::options::{ArrowOptions, UNLIMITED_PRECISION, UNLIMITED_SCALE};
use crate::schema::is_text_instead;
use crate::text::{Rendered, Texts};
use crate::unconstrained::Unconstrained;
use arrow_array::ArrayRef;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationSecondType, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use headrace_core::column::ColumnKind;
use headrace_core::{Cells, Container, Inet, Sink};

macro_rules! builders {
    ($($(#[$doc:meta])* $name:ident($kind:ty);)*) => {
        /// A column that is being built. A value that its type cannot represent is a [`Fault`].
        #[derive(Debug)]
        pub enum Builder {
            $($(#[$doc])* $name($kind),)*
        }

        impl Builder {
            /// Decodes the cells of the column, in a loop of their own for each type.
            pub fn decode<C: Cells>(&mut self, cells: &C) {
                match self { $(Self::$name(values) => cells.decode(values),)* }
            }

            /// The number of values.
            pub fn len(&self) -> usize {
                match self { $(Self::$name(values) => values.len(),)* }
            }

            /// Approximate bytes of the values.
            pub fn bytes(&self) -> usize {
                match self { $(Self::$name(values) => values.bytes(),)* }
            }

            /// The array of the values, which are gone then.
            ///
            /// # Errors
            /// For text that is not UTF-8.
            pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
                match self { $(Self::$name(values) => values.finish(),)* }
            }

            /// The first fault, which is forgotten then.
            pub fn fault(&mut self) -> Option<Fault> {
                match self { $(Self::$name(values) => values.fault(),)* }
            }

            fn sink(&mut self) -> &mut dyn Sink {
                match self { $(Self::$name(values) => values,)* }
            }
        }
    };
}

builders! {
    /// Nulls.
    Null(Flat<Nulls>);
    /// Truth values.
    Bool(Flat<Bools>);
    /// Whole numbers.
    Int8(Flat<Ints<Int8Type>>);
    /// Whole numbers.
    Int16(Flat<Ints<Int16Type>>);
    /// Whole numbers.
    Int32(Flat<Ints<Int32Type>>);
    /// Whole numbers.
    Int64(Flat<Ints<Int64Type>>);
    /// Whole numbers.
    UInt8(Flat<Ints<UInt8Type>>);
    /// Whole numbers.
    UInt16(Flat<Ints<UInt16Type>>);
    /// Whole numbers.
    UInt32(Flat<Ints<UInt32Type>>);
    /// Whole numbers.
    UInt64(Flat<Ints<UInt64Type>>);
    /// Floating-point numbers.
    Float32(Flat<Floats32>);
    /// Floating-point numbers.
    Float64(Flat<Floats64>);
    /// Exact numbers.
    Decimal128(Flat<Decimals<Decimal128Type>>);
    /// Exact numbers.
    Decimal256(Flat<Decimals<Decimal256Type>>);
    /// Exact numbers of any digits, until their type is known.
    Unconstrained(Flat<Unconstrained>);
    /// Text.
    Text(Flat<Texts>);
    /// Bytes.
    Binary(Flat<Binaries>);
    /// Dates.
    Date(Flat<Dates>);
    /// Times of day, in seconds.
    TimeSecond(Flat<Times<Time32SecondType>>);
    /// Times of day, in milliseconds.
    TimeMilli(Flat<Times<Time32MillisecondType>>);
    /// Times of day, in microseconds.
    TimeMicro(Flat<Times<Time64MicrosecondType>>);
    /// Dates with a time, in seconds.
    Second(Flat<Timestamps<TimestampSecondType>>);
    /// Dates with a time, in milliseconds.
    Milli(Flat<Timestamps<TimestampMillisecondType>>);
    /// Dates with a time, in microseconds.
    Micro(Flat<Timestamps<TimestampMicrosecondType>>);
    /// Spans of time, in seconds.
    DurationSecond(Flat<Durations<DurationSecondType>>);
    /// Spans of time, in milliseconds.
    DurationMilli(Flat<Durations<DurationMillisecondType>>);
    /// Spans of time, in microseconds.
    DurationMicro(Flat<Durations<DurationMicrosecondType>>);
    /// Spans of months, days and time.
    Interval(Flat<Intervals>);
    /// UUIDs.
    Uuid(Flat<Uuids>);
    /// Values of other types as text.
    Rendered(Rendered);
    /// Lists, composite values, ranges.
    Nested(Nested);
}

impl Builder {
    /// A column without values, for a kind and the type that [`crate::schema::data_type`] gives it. If that is left open, also
    /// within it, the first values determine it ([`crate::unconstrained`]), unless `options` fix it.
    pub fn new(kind: &ColumnKind, data_type: &DataType, options: &ArrowOptions) -> Self {
        if is_text_instead(kind) && *data_type == DataType::Utf8 {
            return Self::Rendered(Rendered::new(options));
        }
        let ty = data_type.clone();
        macro_rules! flat {
            ($name:ident, $build:expr) => {
                Self::$name(Flat::new($build, options))
            };
        }
        macro_rules! timed {
            ($name:ident, $build:ident, $unit:expr) => {
                Self::$name(Flat::new($build(Fixed::new(ty), $unit), options))
            };
        }
        match data_type {
            DataType::Null => flat!(Null, Nulls::default()),
            DataType::Boolean => flat!(Bool, Bools::default()),
            DataType::Int8 => flat!(Int8, Ints(Fixed::new(ty))),
            DataType::Int16 => flat!(Int16, Ints(Fixed::new(ty))),
            DataType::Int32 => flat!(Int32, Ints(Fixed::new(ty))),
            DataType::Int64 => flat!(Int64, Ints(Fixed::new(ty))),
            DataType::UInt8 => flat!(UInt8, Ints(Fixed::new(ty))),
            DataType::UInt16 => flat!(UInt16, Ints(Fixed::new(ty))),
            DataType::UInt32 => flat!(UInt32, Ints(Fixed::new(ty))),
            DataType::UInt64 => flat!(UInt64, Ints(Fixed::new(ty))),
            DataType::Float32 => flat!(Float32, Floats32(Fixed::new(ty))),
            DataType::Float64 => flat!(Float64, Floats64(Fixed::new(ty))),
            DataType::Decimal128(UNLIMITED_PRECISION, UNLIMITED_SCALE) if !options.fixed => {
                flat!(Unconstrained, Unconstrained::default())
            }
            DataType::Decimal128(precision, scale) => flat!(Decimal128, Decimals::new(*precision, *scale)),
            DataType::Decimal256(precision, scale) => flat!(Decimal256, Decimals::new(*precision, *scale)),
            DataType::Binary => flat!(Binary, Binaries::default()),
            DataType::Date32 => flat!(Date, Dates(Fixed::new(ty))),
            DataType::Time32(TimeUnit::Second) => timed!(TimeSecond, Times, TimeUnit::Second),
            DataType::Time32(_) => timed!(TimeMilli, Times, TimeUnit::Millisecond),
            DataType::Time64(_) => timed!(TimeMicro, Times, TimeUnit::Microsecond),
            DataType::Timestamp(TimeUnit::Second, _) => timed!(Second, Timestamps, TimeUnit::Second),
            DataType::Timestamp(TimeUnit::Millisecond, _) => timed!(Milli, Timestamps, TimeUnit::Millisecond),
            DataType::Timestamp(..) => timed!(Micro, Timestamps, TimeUnit::Microsecond),
            DataType::Duration(TimeUnit::Second) => timed!(DurationSecond, Durations, TimeUnit::Second),
            DataType::Duration(TimeUnit::Millisecond) => timed!(DurationMilli, Durations, TimeUnit::Millisecond),
            DataType::Duration(_) => timed!(DurationMicro, Durations, TimeUnit::Microsecond),
            DataType::Interval(_) => flat!(Interval, Intervals(Fixed::new(ty))),
            DataType::FixedSizeBinary(_) => flat!(Uuid, Uuids::default()),
            DataType::List(_) | DataType::Struct(_) => Self::nested(kind, data_type, options),
            _ => flat!(Text, Texts::default()),
        }
    }

    fn nested(kind: &ColumnKind, data_type: &DataType, options: &ArrowOptions) -> Self {
        let nulls = options.null_unrepresentable;
        let nested = match (kind, data_type) {
            (ColumnKind::List(item), DataType::List(field)) => {
                Nested::list(field.clone(), Self::new(item, field.data_type(), options), nulls)
            }
            (ColumnKind::Multirange(item), DataType::List(field)) => Nested::list(
                field.clone(),
                Self::new(&ColumnKind::Range(item.clone()), field.data_type(), options),
                nulls,
            ),
            (ColumnKind::Range(item), DataType::Struct(fields)) => {
                let bound = |number: usize| Self::new(item, fields[number].data_type(), options);
                Nested::range(fields.clone(), bound(0), bound(1), nulls)
            }
            (ColumnKind::Record(kinds), DataType::Struct(fields)) => {
                let attributes =
                    kinds.iter().zip(fields).map(|((_, kind), field)| Self::new(kind, field.data_type(), options));
                Nested::record(fields.clone(), attributes.collect(), nulls)
            }
            _ => unreachable!("the type is made of the kind"),
        };
        Self::Nested(nested)
    }

    /// From now on the values are of this type. There are none yet.
    pub fn fix(&mut self, data_type: &DataType, options: &ArrowOptions) {
        match (&mut *self, data_type) {
            (Self::Nested(nested), _) => nested.fix(data_type, options),
            (Self::Unconstrained(_), DataType::Decimal256(precision, scale)) => {
                *self = Self::Decimal256(Flat::new(Decimals::new(*precision, *scale), options));
            }
            (Self::Unconstrained(_), DataType::Decimal128(precision, scale)) => {
                *self = Self::Decimal128(Flat::new(Decimals::new(*precision, *scale), options));
            }
            _ => {}
        }
    }

    /// The numbers, if they are of any digits until their type is known.
    pub(crate) fn unconstrained(&mut self) -> Option<&mut Unconstrained> {
        if let Self::Unconstrained(values) = self { Some(values.build_mut()) } else { None }
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if its values are shown as text.
    pub fn is_rendered(&self) -> bool {
        matches!(self, Self::Rendered(_))
    }

    /// Returns true if its values may be containers.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Nested(_) | Self::Rendered(_))
    }
}

macro_rules! pass {
    ($($name:ident($($value:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, $($value: $kind),*) { self.sink().$name($($value),*); })*
    };
}

/// For the parts of nested values.
impl Sink for Builder {
    fn takes_custom(&self) -> bool {
        false
    }
    pass! {
        begin_row(columns: usize);
        end_row();
        null();
        bool(value: bool);
        int(value: i64);
        uint(value: u64);
        float(value: f64);
        decimal(ascii: &str);
        decimal128(negative: bool, coefficient: u128, scale: u32);
        text(utf8: &[u8]);
        bytes(value: &[u8]);
        date(days: i32);
        time(micros: i64);
        timetz(micros: i64, offset: i32);
        timestamp(micros: i64);
        timestamptz(micros: i64);
        interval(months: i32, days: i32, micros: i64);
        months(months: i32);
        uuid(value: &[u8; 16]);
        json(utf8: &[u8]);
        inet(value: Inet<'_>);
        bits(bits: usize, bytes: &[u8]);
        custom(type_id: u32, binary: bool, bytes: &[u8]);
        begin(container: Container, len: usize);
        end();
        no_such_date(text: &str);
        invalid(why: &str);
    }
}
