//! The columns of a result, described in the same way for every database, for programs that build a schema from them.
//!
//! A [`Kind`] shows which values a column delivers, whatever the server calls its type: for a column of [`Kind::Int`]
//! only `int`, `uint` and `null` of a [`crate::Sink`] are called. Two more calls are possible for every kind:
//! [`crate::Sink::invalid`], for a value that cannot be decoded, and [`crate::Sink::no_such_date`] for the kinds that
//! contain a date.

use std::sync::Arc;

/// One column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// Which values it has.
    pub kind: Kind,
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
pub enum Kind {
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
    List(Box<Kind>),
    /// The name and kind of each attribute of a record; empty if they are known only from each value.
    Record(Arc<[(Arc<str>, Kind)]>),
    /// Ranges between two values of one kind.
    Range(Box<Kind>),
    /// Several ranges between values of one kind.
    Multirange(Box<Kind>),
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

/// A column's type in the server's own terms, as its description of the result has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Native {
    /// PostgreSQL: RowDescription.
    Postgres {
        /// The type's number: `pg_type.oid`.
        type_oid: u32,
        /// The type's modifier, -1 for none.
        type_modifier: i32,
        /// The type's size in bytes, negative for variable ones.
        type_size: i16,
        /// The table that the column is of, or 0.
        table_oid: u32,
        /// Its number in that table, or 0.
        column_number: i16,
    },
    /// MySQL and MariaDB: a column definition.
    MySql {
        /// The type's number: `enum_field_types`.
        type_number: u8,
        /// The type's name in SQL.
        type_name: Arc<str>,
        /// The column's flags.
        flags: u16,
        /// The number of its collation; 63 for bytes and numbers.
        collation: u16,
        /// The longest value in bytes; for BIT in bits.
        length: u32,
        /// Digits after the point; 31 if they vary.
        decimals: u8,
        /// The alias of its table.
        table: Arc<str>,
        /// The name of the table that it is a column of, or empty: an expression's may be of another type once the
        /// server knows the parameters.
        org_table: Arc<str>,
    },
    /// Informix: SQ_DESCRIBE.
    Informix {
        /// The type's number in the low byte, flags above.
        type_word: u16,
        /// The number of an extended type, 0 for a built-in one.
        extended_id: i32,
        /// The name of an extended type, or empty.
        type_name: Arc<str>,
        /// The encoded length: bytes, or digits, or the qualifier of a DATETIME or INTERVAL.
        length: i32,
    },
    /// CUBRID: the reply to PREPARE.
    Cubrid {
        /// The type's number; of a collection that of its elements.
        type_number: u8,
        /// The type's name in SQL.
        type_name: Arc<str>,
        /// Digits, characters or bits; -1 without a limit.
        precision: i32,
        /// Digits after the point.
        scale: i16,
        /// The number of the character set.
        charset: u8,
        /// `owner.table`, or empty.
        class: Arc<str>,
    },
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
