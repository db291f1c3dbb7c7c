//! The built-in types and ranges of PostgreSQL 18.
//!
//! Made by tools/update_postgres_types.py from postgres.bki of PostgreSQL 18 (in its source: pg_type.dat and
//! pg_range.dat of src/include/catalog).

use super::builtin::{Builtin, Range, Scalar};

macro_rules! builtins {
    ($($oid:literal $name:literal $array:literal $kind:ident,)*) => {
        &[$(Builtin { oid: $oid, name: $name, array: $array, kind: Scalar::$kind },)*]
    };
}

macro_rules! ranges {
    ($($oid:literal $name:literal $array:literal of $element:literal,
       $multirange:literal $multirange_name:literal $multirange_array:literal;)*) => {
        &[$(Range {
            oid: $oid, name: $name, array: $array, element: $element,
            multirange: $multirange, multirange_name: $multirange_name, multirange_array: $multirange_array,
        },)*]
    };
}

/// Types that are neither arrays nor ranges.
pub static BUILTINS: &[Builtin] = builtins! {
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
    194 "pg_node_tree" 0 AsText,
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
    3361 "pg_ndistinct" 0 AsText,
    3402 "pg_dependencies" 0 AsText,
    3614 "tsvector" 3643 AsText,
    3615 "tsquery" 3645 AsText,
    3642 "gtsvector" 3644 AsText,
    3734 "regconfig" 3735 AsText,
    3769 "regdictionary" 3770 AsText,
    3802 "jsonb" 3807 Jsonb,
    4072 "jsonpath" 4073 AsText,
    4089 "regnamespace" 4090 AsText,
    4096 "regrole" 4097 AsText,
    4191 "regcollation" 4192 AsText,
    4600 "pg_brin_bloom_summary" 0 AsText,
    4601 "pg_brin_minmax_multi_summary" 0 AsText,
    5017 "pg_mcv_list" 0 AsText,
    5038 "pg_snapshot" 5039 AsText,
    5069 "xid8" 271 UInt8,
};

/// Range types, each with its multirange type.
pub static RANGES: &[Range] = ranges! {
    3904 "int4range" 3905 of 23, 4451 "int4multirange" 6150;
    3906 "numrange" 3907 of 1700, 4532 "nummultirange" 6151;
    3908 "tsrange" 3909 of 1114, 4533 "tsmultirange" 6152;
    3910 "tstzrange" 3911 of 1184, 4534 "tstzmultirange" 6153;
    3912 "daterange" 3913 of 1082, 4535 "datemultirange" 6155;
    3926 "int8range" 3927 of 20, 4536 "int8multirange" 6157;
};
