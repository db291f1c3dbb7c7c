//! What the caller chooses.

use crate::limits::ARROW_BATCH_BYTES;

/// Precision of a column of exact numbers whose type does not limit their digits.
pub const UNLIMITED_PRECISION: u8 = 38;
/// Digits after the point of such a column: as many as PostgreSQL computes for a quotient of small numbers.
pub const UNLIMITED_SCALE: i8 = 20;
/// The precision above which a decimal number takes 256 bits: the largest that 128 bits can represent.
pub const DECIMAL128_PRECISION: u8 = 38;
/// The largest precision of Arrow's decimals.
pub const DECIMAL256_PRECISION: u8 = 76;

/// Arrow's type of a column of exact numbers whose type does not limit their digits (`numeric` without a precision).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numeric {
    /// `decimal128(38, 20)`, or what the numbers of the first batch need: [`crate::unconstrained`]. A later number that does not
    /// fit fails the result.
    #[default]
    Decimal,
    /// Text, with all the digits that the server shows.
    Text,
    /// `float64`, for columns with a precision, too.
    Float64,
}

/// What becomes of a value to be sent that has a part of a microsecond, as no type of a database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nanoseconds {
    /// It is an error.
    #[default]
    Refused,
    /// It is cut down to the microsecond before.
    Truncated,
}

/// What the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrowOptions {
    /// See the type.
    pub numeric: Numeric,
    /// A value that Arrow's type cannot represent (infinity, a date that no calendar has) is null instead of an error.
    pub null_unrepresentable: bool,
    /// See the type.
    pub nanoseconds: Nanoseconds,
    /// The types are those of [`crate::schema::schema`], whatever the values are: others have them already.
    pub fixed: bool,
    /// Rows of a batch, at most and at least 1. By default only its bytes end a batch.
    pub batch_rows: usize,
    /// Bytes of the values of a batch after which it ends: see [`ARROW_BATCH_BYTES`].
    pub batch_bytes: usize,
}

impl Default for ArrowOptions {
    fn default() -> Self {
        Self {
            numeric: Numeric::Decimal,
            null_unrepresentable: false,
            nanoseconds: Nanoseconds::Refused,
            fixed: false,
            batch_rows: usize::MAX,
            batch_bytes: ARROW_BATCH_BYTES,
        }
    }
}
