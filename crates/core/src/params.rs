//! The source of the values to encode.

use crate::Container;
use std::fmt;

/// The kind of a value, in terms of the language that the program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// No value.
    Null,
    /// A truth value.
    Bool,
    /// A whole number of any size.
    Int,
    /// A binary floating-point number.
    Float,
    /// An exact decimal number.
    Decimal,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A calendar date.
    Date,
    /// A time of day without zone.
    Time,
    /// A time of day with zone.
    TimeTz,
    /// A date and time without zone.
    Timestamp,
    /// An instant.
    TimestampTz,
    /// A span of time.
    Interval,
    /// A UUID.
    Uuid,
    /// A mapping, or a wrapper that requests JSON.
    Json,
    /// A wrapper that requests binary JSON if the database has two kinds.
    Jsonb,
    /// A host address.
    Inet,
    /// A network.
    Cidr,
    /// A string of bits.
    Bits,
    /// A sequence that represents an array.
    List,
    /// Items in no order, each once.
    Set,
    /// A sequence that represents a composite value.
    Record,
    /// A range.
    Range,
    /// Several ranges.
    Multirange,
    /// A value in the binary form of a type that is identified by its name.
    Opaque,
    /// A value that the user's own dumper turns into bytes.
    Custom,
    /// Anything else.
    Other,
}

/// Why something is not sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MismatchKind {
    /// A value of the wrong kind, or a request that cannot be made of what was given.
    WrongType,
    /// The value is of the right kind but too large, too long or otherwise outside the type: DataError.
    OutOfRange,
    /// It is part of a transaction that the server has ended: see [`crate::block`].
    LostTransaction,
}

/// A value that does not match the type that the server expects, or a request that is refused before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What happened, ending with what would fit: "300 does not fit smallint (-32768 to 32767)".
    pub message: String,
    /// The kind of error, for programs.
    pub kind: MismatchKind,
}

impl Mismatch {
    /// A value of the wrong kind.
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: MismatchKind::WrongType }
    }

    /// A value of the right kind that is outside the type.
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: MismatchKind::OutOfRange }
    }

    /// A request of a transaction that the server has ended.
    pub fn lost_transaction(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: MismatchKind::LostTransaction }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

/// The bounds and flags of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeParts<V> {
    /// No value is in the range.
    pub empty: bool,
    /// The lower bound, `None` when there is none.
    pub lower: Option<V>,
    /// The upper bound, `None` when there is none.
    pub upper: Option<V>,
    /// The lower bound itself is in the range.
    pub lower_inc: bool,
    /// The upper bound itself is in the range.
    pub upper_inc: bool,
}

/// One value to encode. The protocol calls the getter for the form that the server expects.
///
/// Each getter converts if nothing is lost (a whole number can be read as a float or a decimal) and returns
/// [`Mismatch`] otherwise. Units and epochs are those of [`crate::Sink`].
pub trait Value: Sized {
    /// The error of a conversion: a mismatch, or an error that the program raised.
    type Error: From<Mismatch>;

    /// The kind of the value.
    fn kind(&self) -> ValueKind;
    /// The value as the program would print it, shortened to a few dozen characters, and the name of its type: for
    /// error messages.
    fn describe(&self) -> String;
    /// A truth value.
    fn bool(&self) -> Result<bool, Self::Error>;
    /// A whole number; out of range if it does not fit 64 bits.
    fn int(&self) -> Result<i64, Self::Error>;
    /// A floating-point number.
    fn float(&self) -> Result<f64, Self::Error>;
    /// A decimal number as ASCII text: optional sign, digits, optional point, optional exponent, or `NaN`,
    /// `Infinity`, `-Infinity`. Also for whole numbers of any size and floats (shortest round-trip text).
    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, Self::Error>;
    /// The value's own text, UTF-8, for kinds that are text; for other kinds the text that `str()` of the language
    /// returns.
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Self::Error>;
    /// Bytes of any bytes-like value.
    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Self::Error>;
    /// A date, in days since 1970-01-01.
    fn date(&self) -> Result<i32, Self::Error>;
    /// A time of day in microseconds.
    fn time(&self) -> Result<i64, Self::Error>;
    /// A time of day in microseconds, and its zone's offset in seconds east of UTC.
    fn timetz(&self) -> Result<(i64, i32), Self::Error>;
    /// A date and time without zone, in microseconds; a date counts as its midnight.
    fn timestamp(&self) -> Result<i64, Self::Error>;
    /// An instant in microseconds since 1970-01-01 UTC. A value without zone is taken in the machine's local zone.
    fn timestamptz(&self) -> Result<i64, Self::Error>;
    /// Months, days, microseconds.
    fn interval(&self) -> Result<(i32, i32, i64), Self::Error>;
    /// Returns true if an interval is of a type that can count months, even if it counts none.
    fn is_calendar(&self) -> bool {
        false
    }
    /// A UUID.
    fn uuid(&self) -> Result<[u8; 16], Self::Error>;
    /// A JSON document as UTF-8 text.
    fn with_json<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Self::Error>;
    /// A network address: its bytes (4 or 16), their number, and the prefix.
    fn inet(&self) -> Result<([u8; 16], usize, u8), Self::Error>;
    /// A string of bits: its length in bits, and its bytes.
    fn bits(&self) -> Result<(usize, Vec<u8>), Self::Error>;
    /// The number of items of a list, record or multirange.
    fn len(&self) -> Result<usize, Self::Error>;
    /// Returns true if it has none.
    fn is_empty(&self) -> Result<bool, Self::Error> {
        Ok(self.len()? == 0)
    }
    /// Item `i` of a list, record or multirange.
    fn item(&self, i: usize) -> Result<Self, Self::Error>;
    /// All items of a list, set or record.
    fn items(&self) -> Result<Vec<Self>, Self::Error> {
        (0..self.len()?).map(|i| self.item(i)).collect()
    }
    /// The name of the type that an opaque value is of, and its bytes.
    fn with_opaque<R>(&self, _use_it: impl FnOnce(&str, &[u8]) -> R) -> Result<R, Self::Error> {
        Err(Mismatch::wrong_type(format!(
            "{} cannot be encoded: no type of the server has a binary form for it",
            self.describe()
        ))
        .into())
    }
    /// The keys and values of a mapping; `None` if the value is none.
    #[allow(clippy::type_complexity)]
    fn entries(&self) -> Result<Option<Vec<(Self, Self)>>, Self::Error> {
        Ok(None)
    }
    /// The dimensions of a sparse vector, and its numbers with their indices from 0, in order; `None` if the value is
    /// none.
    #[allow(clippy::type_complexity)]
    fn sparse_vector(&self) -> Result<Option<(u32, Vec<(u32, f32)>)>, Self::Error> {
        Ok(None)
    }
    /// Returns true if a list has no type by its items, or a mapping is not JSON: the server decides on the type.
    fn is_untyped(&self) -> bool {
        false
    }
    /// The field called `name` at position `i` of a record: by position for sequences, by name for mappings and
    /// objects with attributes.
    fn field(&self, i: usize, name: &str) -> Result<Self, Self::Error>;
    /// The parts of a range.
    fn range(&self) -> Result<RangeParts<Self>, Self::Error>;
    /// The numbers of a geometric value of a fixed size in order, also those of its points: a few more than `max` of
    /// them are read at most.
    fn floats(&self, max: usize) -> Result<Vec<f64>, Self::Error>;
    /// The coordinates of the points of a path or polygon, x and y of each, and whether it is closed if it has that flag.
    fn points(&self) -> Result<(Vec<f64>, Option<bool>), Self::Error>;
    /// What it is among geometric values, if it is of one of the driver's own classes for them.
    fn geometry(&self) -> Option<Container> {
        None
    }
    /// What the user's own dumper returns for this value: the bytes, and whether they are in the binary format.
    fn with_custom<R>(&self, type_id: u32, use_it: impl FnOnce(&[u8], bool) -> R) -> Result<R, Self::Error>;
    /// Returns true if the user registered a dumper for values of this kind that are to become `type_id` (0: any).
    fn has_custom(&self, type_id: u32) -> bool;
}

/// The parameters of one execution, in order.
pub trait Parameters {
    /// One of them.
    type Value<'a>: Value<Error = Self::Error>
    where
        Self: 'a;
    /// The error of reading one.
    type Error: From<Mismatch>;
    /// The number of parameters.
    fn count(&self) -> usize;
    /// Parameter `i`, from 0.
    fn get(&self, i: usize) -> Result<Self::Value<'_>, Self::Error>;
    /// Returns true if text may be the form of a value of another type, as in a protocol whose clients send parameters
    /// without their types.
    fn has_untyped_text(&self) -> bool {
        false
    }
}
