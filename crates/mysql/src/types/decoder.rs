//! Which decoder a column gets.

use super::ColumnType;
use crate::packets::capabilities::ColumnFlags;
use crate::packets::column::{BINARY_COLLATION, Column};

/// The decoder of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// NULL and nothing else.
    Null,
    /// A whole number of this many bytes (1, 2, 4, 8), signed.
    Int(u8),
    /// A whole number of this many bytes, unsigned; YEAR is one of two bytes.
    UInt(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL, which travels as text in both protocols.
    Decimal,
    /// DATE.
    Date,
    /// DATETIME and TIMESTAMP, a date and time without zone: TIMESTAMP comes in the session's time zone.
    DateTime,
    /// TIME: a span, which may be negative and longer than a day.
    Time,
    /// BIT of this many bits.
    Bits(u8),
    /// BIT that was computed, which MariaDB sends as a number in decimal digits, and marks.
    DecimalBits(u8),
    /// BIT that may be such a number: MySQL marks it not.
    DoubtfulBits(u8),
    /// Text in the connection's character set.
    Text,
    /// Bytes.
    Bytes,
    /// JSON.
    Json,
    /// MariaDB's UUID, which travels as text.
    Uuid,
    /// MariaDB's INET4 and INET6, which travel as text.
    Inet,
    /// MySQL's VECTOR: four-byte floats.
    Vector,
}

impl Decoder {
    /// The decoder of a column.
    pub fn new(column: &Column) -> Self {
        let int = |bytes| match column.flags.contains(ColumnFlags::UNSIGNED) {
            true => Decoder::UInt(bytes),
            false => Decoder::Int(bytes),
        };
        match column.kind {
            ColumnType::TINY => int(1),
            ColumnType::SHORT => int(2),
            ColumnType::LONG | ColumnType::INT24 => int(4),
            ColumnType::LONGLONG => int(8),
            ColumnType::YEAR => Decoder::UInt(2),
            ColumnType::FLOAT => Decoder::Float,
            ColumnType::DOUBLE => Decoder::Double,
            ColumnType::NULL => Decoder::Null,
            ColumnType::DECIMAL | ColumnType::NEWDECIMAL => Decoder::Decimal,
            ColumnType::DATE | ColumnType::NEWDATE => Decoder::Date,
            ColumnType::DATETIME | ColumnType::TIMESTAMP => Decoder::DateTime,
            ColumnType::TIME => Decoder::Time,
            ColumnType::BIT => Self::bit(column),
            ColumnType::JSON => Decoder::Json,
            ColumnType::VECTOR => Decoder::Vector,
            ColumnType::GEOMETRY => Decoder::Bytes,
            _ => Self::string(column),
        }
    }

    /// BIT: for a table's column it is bits. `coalesce(v, v)` sends a number: MariaDB (10.11 is one) marks it as
    /// BINARY, MySQL (9.7 is one) does not.
    fn bit(column: &Column) -> Self {
        let bits = column.length.min(64) as u8;
        match column.org_table.is_empty() {
            _ if column.flags.contains(ColumnFlags::BINARY) => Decoder::DecimalBits(bits),
            true => Decoder::DoubtfulBits(bits),
            false => Decoder::Bits(bits),
        }
    }

    /// The string and blob types, and those of a later version: text unless the collation is that of bytes.
    fn string(column: &Column) -> Self {
        match (column.extended_type.as_deref(), column.extended_format.as_deref()) {
            (Some("uuid"), _) => Decoder::Uuid,
            (Some("inet4" | "inet6"), _) => Decoder::Inet,
            (Some("vector"), _) => Decoder::Vector,
            (_, Some("json")) => Decoder::Json,
            _ if column.collation == BINARY_COLLATION => Decoder::Bytes,
            _ => Decoder::Text,
        }
    }

    /// The name of the type in errors.
    pub fn name(self) -> &'static str {
        match self {
            Decoder::Null => "NULL",
            Decoder::Int(_) | Decoder::UInt(_) => "whole number",
            Decoder::Float => "FLOAT",
            Decoder::Double => "DOUBLE",
            Decoder::Decimal => "DECIMAL",
            Decoder::Date => "DATE",
            Decoder::DateTime => "DATETIME",
            Decoder::Time => "TIME",
            Decoder::Bits(_) | Decoder::DecimalBits(_) => "BIT",
            Decoder::DoubtfulBits(_) => {
                "BIT, which may be these digits or these bytes: add 0 to the expression or cast it to UNSIGNED, or give an \
                 OUT parameter a type of whole numbers"
            }
            Decoder::Text => "text",
            Decoder::Bytes => "bytes",
            Decoder::Json => "JSON",
            Decoder::Uuid => "UUID",
            Decoder::Inet => "INET",
            Decoder::Vector => "VECTOR",
        }
    }
}
