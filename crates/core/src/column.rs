//! The columns of a result, described in the same way for every database, for programs that build a schema from them.
//!
//! A [`ColumnKind`] shows which values a column delivers, whatever the server calls its type: for a column of [`ColumnKind::Int`]
//! only `int`, `uint` and `null` of a [`crate::Sink`] are called. Two more calls are possible for every kind:
//! [`crate::Sink::invalid`], for a value that cannot be decoded, and [`crate::Sink::no_such_date`] for the kinds that
//! contain a date.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// One column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// Which values it has.
    pub kind: ColumnKind,
    /// True if a value can be NULL, if the server reports that.
    pub nullable: Option<bool>,
    /// Its type in the server's own terms.
    pub native: Native,
}

/// A description of a result with columns.
pub trait Described {
    /// The columns, in order. They are made once for each plan, and shared by all executions of its statement.
    fn columns(&self) -> &Arc<[Column]>;
}

impl<D: Described + ?Sized> Described for Arc<D> {
    fn columns(&self) -> &Arc<[Column]> {
        (**self).columns()
    }
}

/// Which values a column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// NULL and nothing else.
    Null,
    /// Truth values.
    Bool,
    /// Whole numbers.
    Int {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// True if numbers below 0 are among them.
        signed: bool,
    },
    /// Floating-point numbers.
    Float {
        /// 32 or 64.
        bits: u8,
    },
    /// Exact decimal numbers.
    Decimal {
        /// The number of digits, if it is fixed.
        precision: Option<u16>,
        /// The number of digits after the point, if it is fixed. It may be negative, and larger than the precision.
        scale: Option<i16>,
    },
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Dates.
    Date,
    /// Times of day.
    Time(Fraction),
    /// Times of day, each with an offset from UTC.
    TimeTz(Fraction),
    /// Dates with a time, without zone.
    Timestamp(Fraction),
    /// Instants.
    TimestampTz(Fraction),
    /// Spans of time.
    Interval {
        /// The largest part that they are counted in.
        first: Part,
        /// The smallest one.
        last: Part,
        /// The fraction of their seconds.
        fraction: Fraction,
    },
    /// UUIDs.
    Uuid,
    /// JSON documents.
    Json,
    /// IP addresses or networks.
    Inet,
    /// Strings of bits.
    Bits,
    /// Lists of values of one kind, which may be lists of lists.
    List(Box<ColumnKind>),
    /// The name and kind of each attribute of a record; empty if they are known only from each value.
    Record(Arc<[(Arc<str>, ColumnKind)]>),
    /// Ranges between two values of one kind.
    Range(Box<ColumnKind>),
    /// Several ranges between values of one kind.
    Multirange(Box<ColumnKind>),
    /// Values of a type that only one database has, identified by its name: points and circles, large objects, and
    /// values that the user's own loader decodes.
    Other(Arc<str>),
}

/// The number of fractional digits of a second, 0 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u8);

impl Fraction {
    /// Whole seconds.
    pub const NONE: Self = Self(0);
    /// Microseconds, which are the finest that a sink is given.
    pub const MICROS: Self = Self(6);

    /// This number of digits, at most 6.
    pub fn new(digits: u8) -> Self {
        Self(digits.min(Self::MICROS.0))
    }

    /// The number of digits.
    pub fn digits(self) -> u8 {
        self.0
    }

    /// The coarsest unit that can represent all of them.
    pub fn unit(self) -> TimeUnit {
        match self.0 {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            _ => TimeUnit::Microsecond,
        }
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Second,
    /// Milliseconds.
    Millisecond,
    /// Microseconds.
    Microsecond,
}

/// A part of a date and time, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Years.
    Year,
    /// Months.
    Month,
    /// Days.
    Day,
    /// Hours.
    Hour,
    /// Minutes.
    Minute,
    /// Seconds, with their fraction.
    Second,
}

/// A column's type in the server's own terms, as its description of the result has them: each protocol has a type of its
/// own for them.
pub trait NativeType: Any + Debug + Send + Sync {
    /// The server's system, as the keys of a schema's metadata have it: `POSTGRESQL`.
    fn system(&self) -> &'static str;
    /// The type's name in SQL; `None` if it is not known.
    fn type_name(&self) -> Option<Cow<'_, str>>;
    /// The type's name or its number.
    fn identification(&self) -> String;
    /// Strings of bits are bytes for the parameters of this server.
    fn takes_bits_as_bytes(&self) -> bool {
        false
    }
    /// The server has decided on the type when it prepared the statement: parameters do not change it.
    fn is_fixed(&self) -> bool {
        true
    }
}

/// A column's type in the server's own terms: see [`NativeType`].
#[derive(Clone, Debug)]
pub struct Native(Arc<dyn NativeType>);

impl Native {
    /// That of a protocol.
    pub fn new(native: impl NativeType) -> Self {
        Self(Arc::new(native))
    }

    /// The type of a protocol, if the column is one of its results.
    pub fn of<T: NativeType>(&self) -> Option<&T> {
        let native: &dyn Any = &*self.0;
        native.downcast_ref()
    }
}

impl Deref for Native {
    type Target = dyn NativeType;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_has_the_unit_that_holds_its_digits() {
        for (digits, unit) in [
            (0, TimeUnit::Second),
            (1, TimeUnit::Millisecond),
            (3, TimeUnit::Millisecond),
            (4, TimeUnit::Microsecond),
            (6, TimeUnit::Microsecond),
            (9, TimeUnit::Microsecond),
        ] {
            assert_eq!(Fraction::new(digits).unit(), unit, "{digits}");
        }
        assert_eq!(Fraction::new(9).digits(), 6);
    }
}
