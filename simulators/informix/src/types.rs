//! Column types: declaration, description, and width in a row.

use crate::codec::timestamp::Qualifier;
use crate::usertypes::{self, FIRST_EXTENDED, UserType};

/// A type by its number in the protocol, and the names of the types that have no number of their own.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Char,
    SmallInt,
    Int,
    Float,
    SmallFloat,
    Decimal,
    Serial,
    Date,
    Money,
    DateTime,
    Byte,
    Text,
    VarChar,
    Interval,
    NChar,
    NVarChar,
    Int8,
    Serial8,
    Set,
    MultiSet,
    List,
    Row,
    LVarChar,
    Boolean,
    Blob,
    Clob,
    BigInt,
    BigSerial,
    Json,
    Bson,
    OpaqueVar,
    OpaqueFixed,
}

/// A column's type with its encoded length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Which.
    pub kind: Kind,
    /// The encoded length of DESCRIBE: bytes, `precision << 8 | scale`, or a qualifier.
    pub length: i32,
    /// The number of a [`UserType`], 0 for none.
    pub user: u16,
}

/// The properties of each kind for rows and DESCRIBE: number, extended id, type name, affinity in SQLite.
struct Facts(Kind, i16, i32, &'static str, &'static str);

const FACTS: [Facts; 32] = [
    Facts(Kind::Char, 0, 0, "char", "TEXT COLLATE RTRIM"),
    Facts(Kind::SmallInt, 1, 0, "smallint", "INT"),
    Facts(Kind::Int, 2, 0, "integer", "INT"),
    Facts(Kind::Float, 3, 0, "float", "REAL"),
    Facts(Kind::SmallFloat, 4, 0, "smallfloat", "REAL"),
    Facts(Kind::Decimal, 5, 0, "decimal", "TEXT COLLATE IFXDECIMAL"),
    Facts(Kind::Serial, 6, 0, "serial", "INT"),
    Facts(Kind::Date, 7, 0, "date", "INT"),
    Facts(Kind::Money, 8, 0, "money", "TEXT COLLATE IFXDECIMAL"),
    Facts(Kind::DateTime, 10, 0, "datetime", "INT"),
    Facts(Kind::Byte, 11, 0, "byte", "BLOB"),
    Facts(Kind::Text, 12, 0, "text", "BLOB"),
    Facts(Kind::VarChar, 13, 0, "varchar", "TEXT COLLATE RTRIM"),
    Facts(Kind::Interval, 14, 0, "interval", "INT"),
    Facts(Kind::NChar, 15, 0, "nchar", "TEXT COLLATE RTRIM"),
    Facts(Kind::NVarChar, 16, 0, "nvarchar", "TEXT COLLATE RTRIM"),
    Facts(Kind::Int8, 17, 0, "int8", "INT"),
    Facts(Kind::Serial8, 18, 0, "serial8", "INT"),
    Facts(Kind::Set, 19, 0, "set", "TEXT"),
    Facts(Kind::MultiSet, 20, 0, "multiset", "TEXT"),
    Facts(Kind::List, 21, 0, "list", "TEXT"),
    Facts(Kind::Row, 22, 0, "row", "TEXT"),
    Facts(Kind::LVarChar, 40, 1, "lvarchar", "TEXT COLLATE RTRIM"),
    Facts(Kind::Boolean, 41, 5, "boolean", "INT"),
    Facts(Kind::Blob, 41, 10, "blob", "INT"),
    Facts(Kind::Clob, 41, 11, "clob", "INT"),
    Facts(Kind::BigInt, 52, 0, "bigint", "INT"),
    Facts(Kind::BigSerial, 53, 0, "bigserial", "INT"),
    Facts(Kind::Json, 40, 25, "json", "TEXT"),
    Facts(Kind::Bson, 40, 26, "bson", "BLOB"),
    Facts(Kind::OpaqueVar, 40, 0, "opaque", "TEXT"),
    Facts(Kind::OpaqueFixed, 41, 0, "opaque", "TEXT"),
];

impl Kind {
    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The kind of a type number and an extended id.
    pub fn from_number(number: i16, extended: i32) -> Option<Self> {
        let number = number & 0xff;
        let found =
            FACTS.iter().find(|facts| facts.1 == number && (facts.2 == extended || !(40..=41).contains(&number)));
        found.map(|facts| facts.0).or(match number {
            43 => Some(Self::LVarChar),
            45 => Some(Self::Boolean),
            _ => None,
        })
    }

    /// Returns true if values are plain text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Char | Self::VarChar | Self::NChar | Self::NVarChar | Self::LVarChar)
    }

    /// Returns true if values are whole numbers.
    pub fn is_integer(self) -> bool {
        use Kind::{BigInt, BigSerial, Int, Int8, Serial, Serial8, SmallInt};
        matches!(self, SmallInt | Int | Serial | Int8 | Serial8 | BigInt | BigSerial)
    }

    /// Returns true if a zero requests the next number.
    pub fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::Serial8 | Self::BigSerial)
    }

    /// Returns true if values are exact decimals.
    pub fn is_decimal(self) -> bool {
        matches!(self, Self::Decimal | Self::Money)
    }

    /// Returns true if values are IEEE floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::SmallFloat)
    }

    /// Returns true if values are bytes in a form of the type.
    pub fn is_opaque(self) -> bool {
        matches!(self, Self::Json | Self::Bson | Self::OpaqueVar | Self::OpaqueFixed)
    }

    /// Returns true if it is a collection or a row.
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Set | Self::MultiSet | Self::List | Self::Row)
    }

    /// Returns true if a value in a row is a descriptor for SQ_FETCHBLOB.
    pub fn is_simple_lob(self) -> bool {
        matches!(self, Self::Byte | Self::Text)
    }

    /// Returns true if a value in a row is the locator of a smart large object.
    pub fn is_smart_lob(self) -> bool {
        matches!(self, Self::Blob | Self::Clob)
    }
}

impl Type {
    /// A type with its encoded length.
    pub const fn new(kind: Kind, length: i32) -> Self {
        Self { kind, length, user: 0 }
    }

    /// A type whose length is determined by its kind.
    pub const fn of(kind: Kind) -> Self {
        let length = match kind {
            Kind::SmallInt => 2,
            Kind::Int | Kind::Serial | Kind::Date | Kind::SmallFloat => 4,
            Kind::Float | Kind::BigInt | Kind::BigSerial => 8,
            Kind::Int8 | Kind::Serial8 => 10,
            Kind::Decimal | Kind::Money => 16 << 8 | 255,
            Kind::DateTime | Kind::Interval => 0x130f,
            Kind::Byte | Kind::Text => 56,
            Kind::LVarChar => 2048,
            Kind::Blob | Kind::Clob => 72,
            Kind::Boolean | Kind::Char | Kind::NChar | Kind::VarChar | Kind::NVarChar => 1,
            Kind::Set | Kind::MultiSet | Kind::List | Kind::Row => 4096,
            Kind::Json | Kind::Bson | Kind::OpaqueVar | Kind::OpaqueFixed => 4096,
        };
        Self { kind, length, user: 0 }
    }

    /// DECIMAL(precision, scale).
    pub const fn decimal(precision: i32, scale: i32) -> Self {
        Self::new(Kind::Decimal, precision << 8 | scale)
    }

    /// The number in the protocol, with the flags of types that users made.
    pub fn number(self) -> i16 {
        let flags = match self.definition().as_deref() {
            Some(UserType::Distinct { source, .. }) => match source.kind {
                Kind::LVarChar => 0x2800,
                Kind::Boolean => 0x4800,
                _ => 0x0800,
            },
            Some(UserType::Row { name: Some(_), .. }) => 0x1000,
            _ => 0,
        };
        self.kind.facts().1 | flags
    }

    /// The definition of a type that a user made.
    pub fn definition(self) -> Option<std::sync::Arc<UserType>> {
        usertypes::get(self.user)
    }

    /// The extended id.
    pub fn extended(self) -> i32 {
        if self.user == 0 { self.kind.facts().2 } else { FIRST_EXTENDED - 1 + i32::from(self.user) }
    }

    /// The extended id of the source of a DISTINCT type, 0 for built-in types and for all others.
    pub fn source(self) -> i32 {
        match self.definition().as_deref() {
            Some(UserType::Distinct { source, .. }) => source.extended(),
            _ => 0,
        }
    }

    /// The name of the type that its kind has.
    pub fn name(self) -> &'static str {
        self.kind.facts().3
    }

    /// The declaration of the column in SQLite.
    pub fn affinity(self) -> &'static str {
        self.kind.facts().4
    }

    /// Digits of a DECIMAL.
    pub fn precision(self) -> i32 {
        self.length >> 8
    }

    /// Digits after the point of a DECIMAL, 255 if it floats.
    pub fn scale(self) -> i32 {
        self.length & 255
    }

    /// The fields of a DATETIME or INTERVAL.
    pub fn qualifier(self) -> Qualifier {
        Qualifier(self.length)
    }

    /// Bytes in a row, the most there can be.
    pub fn width(self, long_descriptors: bool) -> i32 {
        match self.kind {
            Kind::Decimal | Kind::Money => (self.precision() + (self.length & 1) + 3) / 2,
            Kind::DateTime | Kind::Interval => self.qualifier().width() as i32,
            Kind::VarChar | Kind::NVarChar => (self.length & 255) + 1,
            Kind::LVarChar | Kind::Boolean | Kind::Blob | Kind::Clob => self.length + 5,
            Kind::Json | Kind::Bson | Kind::OpaqueVar | Kind::OpaqueFixed => self.length + 5,
            Kind::Set | Kind::MultiSet | Kind::List | Kind::Row => self.length + 5,
            Kind::Byte | Kind::Text if long_descriptors => 68,
            _ => self.length,
        }
    }

    /// The type as SQL writes it.
    pub fn declaration(self) -> String {
        if let Some(definition) = self.definition() {
            return definition.label();
        }
        match self.kind {
            Kind::Decimal | Kind::Money if self.scale() == 255 => format!("{}({})", self.name(), self.precision()),
            Kind::Decimal | Kind::Money => format!("{}({},{})", self.name(), self.precision(), self.scale()),
            Kind::DateTime => format!("datetime {}", self.qualifier().words(false)),
            Kind::Interval => format!("interval {}", self.qualifier().words(true)),
            Kind::Char | Kind::NChar | Kind::VarChar | Kind::NVarChar | Kind::LVarChar => {
                format!(
                    "{}({})",
                    self.name(),
                    if self.kind == Kind::LVarChar { self.length } else { self.length & 0x7fff }
                )
            }
            _ => self.name().to_owned(),
        }
    }

    /// A form that fits into a call of one of our functions inside SQLite.
    pub fn tag(self) -> i64 {
        i64::from(self.user) << 40 | (self.kind as i64) << 32 | i64::from(self.length as u32)
    }

    /// Reads a [`Type::tag`].
    pub fn from_tag(tag: i64) -> Option<Self> {
        let facts = FACTS.get(usize::try_from(tag >> 32).ok()? & 0xff)?;
        Some(Self { user: u16::try_from(tag >> 40).ok()?, ..Self::new(facts.0, tag as u32 as i32) })
    }
}
