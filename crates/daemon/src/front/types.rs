//! The types of other databases as PostgreSQL's.

use headrace_core::column::{Column, ColumnKind, Fraction, Part};
use headrace_postgres::types::{Oid, oid};

/// The type of a parameter whose type the server does not report. It is in the range of users' types, so that clients
/// which have the built-in ones take it for none of them, and send text or ask the catalogue, which calls it a domain
/// of text.
pub const ANY: Oid = 16_384;
/// float4.
pub const FLOAT4: Oid = 700;
/// unknown: a literal without a type.
pub const UNKNOWN: Oid = 705;

/// A column of a result, as RowDescription has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub oid: Oid,
    /// The type's size in bytes, negative for variable ones.
    pub size: i16,
    /// Digits of a numeric, or -1.
    pub modifier: i32,
    /// The server has decided its type when it prepared the statement: parameters do not change it.
    pub is_fixed: bool,
}

impl TargetColumn {
    /// A column of this type.
    pub fn new(name: &str, oid: Oid) -> Self {
        Self { name: name.into(), oid, size: size(oid), modifier: -1, is_fixed: false }
    }
}

impl From<&Column> for TargetColumn {
    fn from(column: &Column) -> Self {
        let is_fixed = column.native.is_fixed();
        Self { modifier: modifier(&column.kind), is_fixed, ..Self::new(&column.name, of_kind(&column.kind)) }
    }
}

/// The type for values of a kind.
pub fn of_kind(kind: &ColumnKind) -> Oid {
    match kind {
        ColumnKind::Bool => oid::BOOL,
        ColumnKind::Int { bits: ..=8, .. } | ColumnKind::Int { bits: 16, signed: true } => oid::INT2,
        ColumnKind::Int { bits: 16, signed: false } | ColumnKind::Int { bits: 32, signed: true } => oid::INT4,
        ColumnKind::Int { bits: 64, signed: false } => oid::NUMERIC,
        ColumnKind::Int { .. } => oid::INT8,
        ColumnKind::Float { bits: 32 } => FLOAT4,
        ColumnKind::Float { .. } => oid::FLOAT8,
        ColumnKind::Decimal { .. } => oid::NUMERIC,
        ColumnKind::Bytes => oid::BYTEA,
        ColumnKind::Date => oid::DATE,
        ColumnKind::Time(_) => oid::TIME,
        ColumnKind::TimeTz(_) => oid::TIMETZ,
        ColumnKind::Timestamp(_) => oid::TIMESTAMP,
        ColumnKind::TimestampTz(_) => oid::TIMESTAMPTZ,
        ColumnKind::Interval { .. } => oid::INTERVAL,
        ColumnKind::Uuid => oid::UUID,
        ColumnKind::Json => oid::JSON,
        ColumnKind::Inet => oid::INET,
        ColumnKind::Bits => oid::VARBIT,
        ColumnKind::List(element) => array_of(of_kind(element)),
        ColumnKind::Null
        | ColumnKind::Text
        | ColumnKind::Record(_)
        | ColumnKind::Range(_)
        | ColumnKind::Multirange(_)
        | ColumnKind::Other(_) => oid::TEXT,
    }
}

/// The array type of an element's; that of text for any other.
fn array_of(element: Oid) -> Oid {
    match element {
        oid::BOOL => 1000,
        oid::BYTEA => 1001,
        oid::INT2 => oid::INT2_ARRAY,
        oid::INT4 => oid::INT4_ARRAY,
        oid::INT8 => oid::INT8_ARRAY,
        FLOAT4 => 1021,
        oid::FLOAT8 => 1022,
        oid::NUMERIC => oid::NUMERIC_ARRAY,
        oid::DATE => 1182,
        oid::TIME => 1183,
        oid::TIMESTAMP => 1115,
        oid::TIMESTAMPTZ => 1185,
        oid::INTERVAL => 1187,
        oid::UUID => 2951,
        oid::JSON => 199,
        oid::VARBIT => 1563,
        _ => 1009,
    }
}

fn size(oid: Oid) -> i16 {
    match oid {
        oid::BOOL => 1,
        oid::INT2 => 2,
        oid::INT4 | oid::DATE | FLOAT4 | oid::OID => 4,
        oid::INT8 | oid::FLOAT8 | oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ => 8,
        oid::TIMETZ => 12,
        oid::INTERVAL | oid::UUID => 16,
        _ => -1,
    }
}

fn modifier(kind: &ColumnKind) -> i32 {
    let digits = |fraction: &Fraction| i32::from(fraction.digits());
    match kind {
        // The scale is in the low 11 bits, and may be negative (PostgreSQL's numeric.c, make_numeric_typmod).
        ColumnKind::Decimal { precision: Some(precision @ 1..=1000), scale: Some(scale @ -1000..=1000) } => {
            (i32::from(*precision) << 16 | (i32::from(*scale) & 0x7ff)) + 4
        }
        ColumnKind::Time(fraction)
        | ColumnKind::TimeTz(fraction)
        | ColumnKind::Timestamp(fraction)
        | ColumnKind::TimestampTz(fraction) => digits(fraction),
        ColumnKind::Interval { first: Part::Year, .. } => -1,
        _ => -1,
    }
}

/// The type that a name in SQL has, for a parameter that is written `$1::name`.
pub fn of_name(name: &str) -> Option<Oid> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => oid::BOOL,
        "bytea" => oid::BYTEA,
        "int2" | "smallint" => oid::INT2,
        "int" | "int4" | "integer" => oid::INT4,
        "int8" | "bigint" => oid::INT8,
        "float4" | "real" => FLOAT4,
        "float8" | "float" => oid::FLOAT8,
        "numeric" | "decimal" => oid::NUMERIC,
        "text" => oid::TEXT,
        "varchar" => oid::VARCHAR,
        "date" => oid::DATE,
        "time" => oid::TIME,
        "timestamp" => oid::TIMESTAMP,
        "timestamptz" => oid::TIMESTAMPTZ,
        "interval" => oid::INTERVAL,
        "uuid" => oid::UUID,
        "json" => oid::JSON,
        "jsonb" => oid::JSONB,
        _ => return None,
    })
}
