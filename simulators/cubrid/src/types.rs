//! The types of columns and values, their numbers on the wire and their names.

use std::sync::Arc;

/// Numbers of types on the wire.
#[allow(missing_docs)]
pub mod code {
    pub const NULL: u8 = 0;
    pub const CHAR: u8 = 1;
    pub const VARCHAR: u8 = 2;
    pub const NCHAR: u8 = 3;
    pub const VARNCHAR: u8 = 4;
    pub const BIT: u8 = 5;
    pub const VARBIT: u8 = 6;
    pub const NUMERIC: u8 = 7;
    pub const INT: u8 = 8;
    pub const SHORT: u8 = 9;
    pub const MONETARY: u8 = 10;
    pub const FLOAT: u8 = 11;
    pub const DOUBLE: u8 = 12;
    pub const DATE: u8 = 13;
    pub const TIME: u8 = 14;
    pub const TIMESTAMP: u8 = 15;
    pub const SET: u8 = 16;
    pub const MULTISET: u8 = 17;
    pub const SEQUENCE: u8 = 18;
    pub const OBJECT: u8 = 19;
    pub const BIGINT: u8 = 21;
    pub const DATETIME: u8 = 22;
    pub const BLOB: u8 = 23;
    pub const CLOB: u8 = 24;
    pub const ENUM: u8 = 25;
    pub const TIMESTAMPTZ: u8 = 29;
    pub const TIMESTAMPLTZ: u8 = 30;
    pub const DATETIMETZ: u8 = 31;
    pub const DATETIMELTZ: u8 = 32;
    pub const JSON: u8 = 34;
}
use code::*;

/// Families of types whose values are kept alike in SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Nothing is known.
    Unknown,
    /// Integers.
    Integer,
    /// Floating-point numbers.
    Real,
    /// Decimal numbers, as text.
    Numeric,
    /// Text.
    Text,
    /// Dates and times, as text that sorts.
    Time,
    /// Bits.
    Bits,
    /// SET, MULTISET and SEQUENCE, as their bytes on the wire.
    Collection,
    /// JSON, as text.
    Json,
    /// The handle of a large object.
    Lob,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The number; of the elements, if this is a collection.
    pub code: u8,
    /// 0x20 SET, 0x40 MULTISET, 0x60 SEQUENCE, or 0.
    pub collection: u8,
    /// Digits, characters or bits; -1 if there is no bound.
    pub precision: i32,
    /// Digits behind the point.
    pub scale: i16,
    /// The labels of an ENUM.
    pub labels: Option<Arc<[String]>>,
}

impl Type {
    /// A type with the precision that it has by default.
    pub fn of(code: u8) -> Self {
        let (precision, scale) = match code {
            INT => (10, 0),
            SHORT => (5, 0),
            BIGINT => (19, 0),
            FLOAT => (7, 0),
            DOUBLE | MONETARY => (15, 0),
            NUMERIC => (15, 0),
            DATE => (10, 0),
            TIME => (8, 0),
            TIMESTAMP | TIMESTAMPTZ | TIMESTAMPLTZ => (19, 0),
            DATETIME | DATETIMETZ | DATETIMELTZ => (23, 3),
            CHAR | NCHAR | BIT => (1, 0),
            VARCHAR | VARNCHAR | VARBIT => (crate::limits::STRING, 0),
            _ => (0, 0),
        };
        Self { code, collection: 0, precision, scale, labels: None }
    }

    /// A type with a precision.
    pub fn sized(code: u8, precision: i32) -> Self {
        Self { precision, ..Self::of(code) }
    }

    /// NUMERIC.
    pub fn numeric(precision: i32, scale: i16) -> Self {
        Self { precision, scale, ..Self::of(NUMERIC) }
    }

    /// A type that nothing is known of.
    pub fn unknown() -> Self {
        Self::of(NULL)
    }

    /// A collection of elements of this type.
    pub fn collected(self, collection: u8) -> Self {
        Self { collection, ..self }
    }

    /// How its values are kept.
    pub fn family(&self) -> Family {
        if self.collection != 0 {
            return Family::Collection;
        }
        match self.code {
            INT | SHORT | BIGINT => Family::Integer,
            FLOAT | DOUBLE | MONETARY => Family::Real,
            NUMERIC => Family::Numeric,
            CHAR | VARCHAR | NCHAR | VARNCHAR | ENUM => Family::Text,
            DATE | TIME | TIMESTAMP | DATETIME | TIMESTAMPTZ | TIMESTAMPLTZ | DATETIMETZ | DATETIMELTZ => Family::Time,
            BIT | VARBIT => Family::Bits,
            JSON => Family::Json,
            BLOB | CLOB => Family::Lob,
            _ => Family::Unknown,
        }
    }

    /// True for integers, floating-point and decimal numbers.
    pub fn is_number(&self) -> bool {
        matches!(self.family(), Family::Integer | Family::Real | Family::Numeric)
    }

    /// True for text.
    pub fn is_text(&self) -> bool {
        self.family() == Family::Text
    }

    /// True for dates and times with a time zone.
    pub fn has_zone(&self) -> bool {
        self.collection == 0 && matches!(self.code, TIMESTAMPTZ | TIMESTAMPLTZ | DATETIMETZ | DATETIMELTZ)
    }

    /// Its name, as the text of an expression has it.
    pub fn name(&self) -> String {
        if self.collection != 0 {
            let kind = match self.collection {
                0x20 => "set",
                0x40 => "multiset",
                _ => "sequence",
            };
            let element = Self { collection: 0, ..self.clone() };
            return if self.code == NULL { kind.to_owned() } else { format!("{kind}({})", element.name()) };
        }
        let base = self.base_name();
        let unbound = self.precision == crate::limits::STRING;
        match self.code {
            CHAR | NCHAR | BIT => format!("{base}({})", self.precision),
            VARCHAR | VARNCHAR | VARBIT if !unbound => format!("{base}({})", self.precision),
            NUMERIC => format!("numeric({},{})", self.precision, self.scale),
            _ => base.to_owned(),
        }
    }

    /// Its name without precision.
    pub fn base_name(&self) -> &'static str {
        match self.collection {
            0x20 => return "set",
            0x40 => return "multiset",
            0x60 => return "sequence",
            _ => {}
        }
        match self.code {
            CHAR => "char",
            VARCHAR => "varchar",
            NCHAR => "nchar",
            VARNCHAR => "nchar varying",
            BIT => "bit",
            VARBIT => "bit varying",
            NUMERIC => "numeric",
            INT => "integer",
            SHORT => "smallint",
            MONETARY => "monetary",
            FLOAT => "float",
            DOUBLE => "double",
            DATE => "date",
            TIME => "time",
            TIMESTAMP => "timestamp",
            BIGINT => "bigint",
            DATETIME => "datetime",
            BLOB => "blob",
            CLOB => "clob",
            ENUM => "enum",
            TIMESTAMPTZ => "timestamptz",
            TIMESTAMPLTZ => "timestampltz",
            DATETIMETZ => "datetimetz",
            DATETIMELTZ => "datetimeltz",
            JSON => "json",
            OBJECT => "object",
            _ => "*null*",
        }
    }

    /// Its name in the catalog and in error texts.
    pub fn long_name(&self) -> &'static str {
        match (self.collection, self.code) {
            (0, CHAR) => "character",
            (0, VARCHAR) => "character varying",
            (0, NCHAR) => "national character",
            (0, VARNCHAR) => "national character varying",
            _ => self.base_name(),
        }
    }

    /// Its name in errors about bound values.
    pub fn host_name(&self) -> &'static str {
        match (self.collection, self.code) {
            (0, VARCHAR) => "char varying",
            (0, VARNCHAR) => "nchar varying",
            (0, VARBIT) => "bit varying",
            (0, SHORT) => "short",
            _ => self.base_name(),
        }
    }

    /// The engine's own number of the type, which typed cells of collections have.
    pub fn engine(code: u8) -> u8 {
        match code {
            INT => 1,
            FLOAT => 2,
            DOUBLE => 3,
            VARCHAR => 4,
            TIME => 10,
            TIMESTAMP => 11,
            DATE => 12,
            MONETARY => 13,
            SHORT => 18,
            NUMERIC => 22,
            BIT => 23,
            VARBIT => 24,
            CHAR => 25,
            NCHAR => 26,
            VARNCHAR => 27,
            BIGINT => 31,
            DATETIME => 32,
            BLOB => 33,
            CLOB => 34,
            ENUM => 35,
            TIMESTAMPTZ => 36,
            TIMESTAMPLTZ => 37,
            DATETIMETZ => 38,
            DATETIMELTZ => 39,
            JSON => 40,
            _ => 0,
        }
    }
}
