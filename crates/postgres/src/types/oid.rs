//! The numbers of the built-in types that the driver itself has to name. The others are rows of the table in `pg_type.rs`.

use super::Oid;

/// No type: the server is to find it out (manual, "Parse").
pub const UNSPECIFIED: Oid = 0;

/// The first number that objects of users can have (`FirstNormalObjectId` in PostgreSQL's `access/transam.h`).
pub const FIRST_OWN: Oid = 16384;

macro_rules! oids {
    ($($constant:ident = $oid:literal $name:literal,)*) => {
        $(#[doc = $name] pub const $constant: Oid = $oid;)*

        #[cfg(test)]
        const NAMES: &[(Oid, &str)] = &[$(($oid, $name),)*];
    };
}

oids! {
    BOOL = 16 "bool",
    BYTEA = 17 "bytea",
    NAME = 19 "name",
    INT8 = 20 "int8",
    INT2 = 21 "int2",
    INT2VECTOR = 22 "int2vector",
    INT4 = 23 "int4",
    TEXT = 25 "text",
    OID = 26 "oid",
    OIDVECTOR = 30 "oidvector",
    JSON = 114 "json",
    BOX = 603 "box",
    CIDR = 650 "cidr",
    FLOAT8 = 701 "float8",
    INET = 869 "inet",
    INT2_ARRAY = 1005 "int2[]",
    INT4_ARRAY = 1007 "int4[]",
    INT8_ARRAY = 1016 "int8[]",
    BPCHAR = 1042 "bpchar",
    VARCHAR = 1043 "varchar",
    DATE = 1082 "date",
    TIME = 1083 "time",
    TIMESTAMP = 1114 "timestamp",
    TIMESTAMPTZ = 1184 "timestamptz",
    INTERVAL = 1186 "interval",
    NUMERIC_ARRAY = 1231 "numeric[]",
    TIMETZ = 1266 "timetz",
    VARBIT = 1562 "varbit",
    NUMERIC = 1700 "numeric",
    RECORD = 2249 "record",
    RECORD_ARRAY = 2287 "record[]",
    UUID = 2950 "uuid",
    JSONB = 3802 "jsonb",
}

/// int2vector and oidvector: arrays in binary form, numbers with blanks between them in text form.
pub const VECTORS: [Oid; 2] = [INT2VECTOR, OIDVECTOR];
/// The types of whole numbers and numeric, each of which holds all values of those before it.
pub const NUMBERS: [Oid; 4] = [INT2, INT4, INT8, NUMERIC];
/// The types of dates and times.
pub const TIMES: [Oid; 5] = [DATE, TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ];
/// Arrays of [`NUMBERS`].
pub const NUMBER_ARRAYS: [Oid; 4] = [INT2_ARRAY, INT4_ARRAY, INT8_ARRAY, NUMERIC_ARRAY];

#[cfg(test)]
mod tests {
    use super::super::builtin;
    use super::*;

    #[test]
    fn constants_are_the_types_that_the_table_has() {
        for (oid, name) in NAMES {
            match name.strip_suffix("[]") {
                None => assert_eq!(builtin::name(*oid), Some(*name)),
                Some(element) => {
                    let (element, _) = NAMES.iter().find(|(_, name)| *name == element).expect("it is a constant, too");
                    assert_eq!(builtin::array_of(*element), *oid);
                }
            }
        }
        assert_eq!(NUMBERS.map(builtin::array_of), NUMBER_ARRAYS);
    }
}
