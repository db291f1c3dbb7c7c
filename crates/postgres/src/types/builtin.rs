//! The built-in types: `pg_type.dat` of PostgreSQL 18, as far as users meet them.

use super::registry::Kind;
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

/// The forms of built-in scalar types.
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
}

macro_rules! builtins {
    ($($oid:literal $name:literal $array:literal $kind:ident,)*) => {
        &[$(Builtin { oid: $oid, name: $name, array: $array, kind: Scalar::$kind },)*]
    };
}

static BUILTINS: &[Builtin] = builtins! {
    16 "bool" 1000 Bool,
    17 "bytea" 1001 Bytea,
    18 "char" 1002 Char,
    19 "name" 1003 Text,
    20 "int8" 1016 Int8,
    21 "int2" 1005 Int2,
    23 "int4" 1007 Int4,
    24 "regproc" 1008 AsText,
    25 "text" 1009 Text,
    26 "oid" 1028 Oid,
    27 "tid" 1010 AsText,
    28 "xid" 1011 Oid,
    29 "cid" 1012 Oid,
    114 "json" 199 Json,
    142 "xml" 143 Text,
    600 "point" 1017 Point,
    601 "lseg" 1018 LineSegment,
    602 "path" 1019 Path,
    603 "box" 1020 Box,
    604 "polygon" 1027 Polygon,
    628 "line" 629 Line,
    650 "cidr" 651 Inet,
    700 "float4" 1021 Float4,
    701 "float8" 1022 Float8,
    705 "unknown" 0 Text,
    718 "circle" 719 Circle,
    774 "macaddr8" 775 MacAddr,
    790 "money" 791 AsText,
    829 "macaddr" 1040 MacAddr,
    869 "inet" 1041 Inet,
    1033 "aclitem" 1034 AsText,
    1042 "bpchar" 1014 Text,
    1043 "varchar" 1015 Text,
    1082 "date" 1182 Date,
    1083 "time" 1183 Time,
    1114 "timestamp" 1115 Timestamp,
    1184 "timestamptz" 1185 TimestampTz,
    1186 "interval" 1187 Interval,
    1266 "timetz" 1270 TimeTz,
    1560 "bit" 1561 Bits,
    1562 "varbit" 1563 Bits,
    1700 "numeric" 1231 Numeric,
    1790 "refcursor" 2201 Text,
    2202 "regprocedure" 2207 AsText,
    2203 "regoper" 2208 AsText,
    2204 "regoperator" 2209 AsText,
    2205 "regclass" 2210 AsText,
    2206 "regtype" 2211 AsText,
    2249 "record" 2287 Record,
    2275 "cstring" 1263 Text,
    2278 "void" 0 Void,
    2950 "uuid" 2951 Uuid,
    2970 "txid_snapshot" 2949 AsText,
    3220 "pg_lsn" 3221 AsText,
    3614 "tsvector" 3643 AsText,
    3615 "tsquery" 3645 AsText,
    3734 "regconfig" 3735 AsText,
    3769 "regdictionary" 3770 AsText,
    3802 "jsonb" 3807 Jsonb,
    4072 "jsonpath" 4073 AsText,
    4089 "regnamespace" 4090 AsText,
    4096 "regrole" 4097 AsText,
    4191 "regcollation" 4192 AsText,
    5038 "pg_snapshot" 5039 AsText,
    5069 "xid8" 271 UInt8,
};

/// Range types: oid, name, array, element, multirange, array of multiranges.
static RANGES: &[(Oid, &str, Oid, Oid, Oid, Oid)] = &[
    (3904, "int4range", 3905, oid::INT4, oid::INT4MULTIRANGE, 6150),
    (3906, "numrange", 3907, oid::NUMERIC, oid::NUMMULTIRANGE, 6151),
    (3908, "tsrange", 3909, oid::TIMESTAMP, oid::TSMULTIRANGE, 6152),
    (3910, "tstzrange", 3911, oid::TIMESTAMPTZ, oid::TSTZMULTIRANGE, 6153),
    (3912, "daterange", 3913, oid::DATE, oid::DATEMULTIRANGE, 6155),
    (3926, "int8range", 3927, oid::INT8, oid::INT8MULTIRANGE, 6157),
];

/// The built-in type of this number.
pub fn kind(oid: Oid) -> Option<Kind> {
    if let Some(builtin) = BUILTINS.iter().find(|b| b.oid == oid) {
        return Some(Kind::Scalar(builtin.kind));
    }
    if let Some(builtin) = BUILTINS.iter().find(|b| b.array != 0 && b.array == oid) {
        return Some(Kind::Array { element: builtin.oid });
    }
    // int2vector and oidvector travel as arrays.
    match oid {
        oid::INT2VECTOR => return Some(Kind::Array { element: oid::INT2 }),
        oid::OIDVECTOR => return Some(Kind::Array { element: oid::OID }),
        _ => {}
    }
    RANGES.iter().find_map(|&(range, _, array, element, multirange, multiranges)| match oid {
        _ if oid == range => Some(Kind::Range { subtype: element }),
        _ if oid == array => Some(Kind::Array { element: range }),
        _ if oid == multirange => Some(Kind::Multirange { range }),
        _ if oid == multiranges => Some(Kind::Array { element: multirange }),
        _ => None,
    })
}

/// The OID of the built-in array type with elements of this type, or 0.
pub fn array_of(oid: Oid) -> Oid {
    let plain = BUILTINS.iter().find(|b| b.oid == oid).map(|b| b.array);
    plain.or_else(|| RANGES.iter().find(|r| r.0 == oid).map(|r| r.2)).unwrap_or(0)
}

/// The built-in range over this type, or 0.
pub fn range_of(oid: Oid) -> Oid {
    RANGES.iter().find(|r| r.3 == oid).map_or(0, |r| r.0)
}

/// The built-in multirange over this type, or 0.
pub fn multirange_of(oid: Oid) -> Oid {
    RANGES.iter().find(|r| r.3 == oid).map_or(0, |r| r.4)
}

/// The name of a built-in type.
pub fn name(oid: Oid) -> Option<&'static str> {
    let plain = BUILTINS.iter().find(|b| b.oid == oid).map(|b| b.name);
    plain.or_else(|| RANGES.iter().find(|r| r.0 == oid).map(|r| r.1)).or(match oid {
        oid::INT2VECTOR => Some("int2vector"),
        oid::OIDVECTOR => Some("oidvector"),
        oid::INT4MULTIRANGE => Some("int4multirange"),
        oid::NUMMULTIRANGE => Some("nummultirange"),
        oid::TSMULTIRANGE => Some("tsmultirange"),
        oid::TSTZMULTIRANGE => Some("tstzmultirange"),
        oid::DATEMULTIRANGE => Some("datemultirange"),
        oid::INT8MULTIRANGE => Some("int8multirange"),
        _ => None,
    })
}
