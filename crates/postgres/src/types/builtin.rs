//! The built-in types: what the rows of `pg_type.rs` mean.

use super::pg_type::{BUILTINS, RANGES};
use super::registry::TypeKind;
use super::{Oid, oid};

/// A built-in type.
#[derive(Debug)]
pub struct Builtin {
    /// `pg_type.oid`
    pub oid: Oid,
    /// `pg_type.typname`
    pub name: &'static str,
    /// `pg_type.typarray`
    pub array: Oid,
    /// How it is decoded and encoded.
    pub kind: Scalar,
}

/// A built-in range type, and the multirange type of it.
#[derive(Debug)]
pub struct Range {
    /// `pg_type.oid`
    pub oid: Oid,
    /// `pg_type.typname`
    pub name: &'static str,
    /// `pg_type.typarray`
    pub array: Oid,
    /// `pg_range.rngsubtype`
    pub element: Oid,
    /// `pg_range.rngmultitypid`
    pub multirange: Oid,
    /// `pg_type.typname` of the multirange type
    pub multirange_name: &'static str,
    /// `pg_type.typarray` of the multirange type
    pub multirange_array: Oid,
}

/// The forms of scalar types: built-in ones, and those of extensions that are identified by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// boolean
    Bool,
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// oid and its like: 32 bits unsigned
    Oid,
    /// xid8: 64 bits unsigned
    UInt8,
    /// real
    Float4,
    /// double precision
    Float8,
    /// numeric
    Numeric,
    /// text and all that travels as such
    Text,
    /// Requested as text: its binary form depends on the locale, is internal or missing
    AsText,
    /// "char"
    Char,
    /// bytea
    Bytea,
    /// date
    Date,
    /// time
    Time,
    /// timetz
    TimeTz,
    /// timestamp
    Timestamp,
    /// timestamptz
    TimestampTz,
    /// interval
    Interval,
    /// uuid
    Uuid,
    /// json
    Json,
    /// jsonb
    Jsonb,
    /// inet, cidr
    Inet,
    /// bit, varbit
    Bits,
    /// point
    Point,
    /// line
    Line,
    /// lseg
    LineSegment,
    /// box
    Box,
    /// path
    Path,
    /// polygon
    Polygon,
    /// circle
    Circle,
    /// macaddr, macaddr8
    MacAddr,
    /// void
    Void,
    /// record
    Record,
    /// hstore
    Hstore,
    /// ltree, lquery and ltxtquery: text after the version of the form
    Versioned,
    /// vector of pgvector: floats of 32 bits
    Vector,
    /// halfvec of pgvector: floats of 16 bits
    HalfVector,
    /// sparsevec of pgvector: floats of 32 bits with their indices
    SparseVector,
    /// geometry and geography of PostGIS: EWKB
    Geometry,
}

impl Scalar {
    /// The server's name of such a type, for messages.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hstore => "hstore",
            Self::Versioned => "ltree or the like",
            Self::Vector => "vector",
            Self::HalfVector => "halfvec",
            Self::SparseVector => "sparsevec",
            Self::Geometry => "geometry",
            _ => BUILTINS.iter().find(|builtin| builtin.kind == self).map_or("that it has", |builtin| builtin.name),
        }
    }
}

/// The built-in type of this number.
pub fn kind(oid: Oid) -> Option<TypeKind> {
    if let Some(builtin) = BUILTINS.iter().find(|b| b.oid == oid) {
        return Some(TypeKind::Scalar(builtin.kind));
    }
    if let Some(builtin) = BUILTINS.iter().find(|b| b.array != 0 && b.array == oid) {
        return Some(TypeKind::Array { element: builtin.oid });
    }
    // int2vector and oidvector travel as arrays.
    match oid {
        oid::INT2VECTOR => return Some(TypeKind::Array { element: oid::INT2 }),
        oid::OIDVECTOR => return Some(TypeKind::Array { element: oid::OID }),
        _ => {}
    }
    RANGES.iter().find_map(|range| match oid {
        _ if oid == range.oid => Some(TypeKind::Range { subtype: range.element }),
        _ if oid == range.array => Some(TypeKind::Array { element: range.oid }),
        _ if oid == range.multirange => Some(TypeKind::Multirange { range: range.oid }),
        _ if oid == range.multirange_array => Some(TypeKind::Array { element: range.multirange }),
        _ => None,
    })
}

/// The OID of the built-in array type with elements of this type, or 0.
pub fn array_of(oid: Oid) -> Oid {
    let plain = BUILTINS.iter().find(|b| b.oid == oid).map(|b| b.array);
    plain.or_else(|| RANGES.iter().find(|r| r.oid == oid).map(|r| r.array)).unwrap_or(0)
}

/// The built-in range over this type, or 0.
pub fn range_of(oid: Oid) -> Oid {
    RANGES.iter().find(|r| r.element == oid).map_or(0, |r| r.oid)
}

/// The built-in multirange over this type, or 0.
pub fn multirange_of(oid: Oid) -> Oid {
    RANGES.iter().find(|r| r.element == oid).map_or(0, |r| r.multirange)
}

/// Returns true if a type is the built-in multirange of the ranges that an array type holds.
pub fn is_multirange_of(multirange: Oid, array: Oid) -> bool {
    RANGES.iter().any(|r| r.multirange == multirange && r.array == array)
}

/// The name of a built-in type.
pub fn name(oid: Oid) -> Option<&'static str> {
    let plain = BUILTINS.iter().find(|b| b.oid == oid).map(|b| b.name);
    plain.or_else(|| RANGES.iter().find(|r| r.oid == oid).map(|r| r.name)).or_else(|| match oid {
        oid::INT2VECTOR => Some("int2vector"),
        oid::OIDVECTOR => Some("oidvector"),
        _ => RANGES.iter().find(|r| r.multirange == oid).map(|r| r.multirange_name),
    })
}
