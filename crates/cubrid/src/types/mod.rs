//! Column values ([`decode`]), parameters ([`encode`]) and zones of time ([`zone`]).

pub mod cast;
mod column;
pub mod decode;
pub mod encode;
mod literal;
pub mod zone;

pub use column::{CubridType, columns, type_name};
pub use decode::{Decoder, decode_page, decode_row};
pub use encode::encode_param;
pub use literal::write_literal;

/// Type numbers.
pub mod code {
    macro_rules! codes {
        ($($name:ident = $value:literal),* $(,)?) => {
            $(#[doc = stringify!($name)] pub const $name: u8 = $value;)*

            /// The name of a type in SQL.
            pub fn name(code: u8) -> Option<&'static str> {
                match code {
                    $($name => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// The number of the type of a name in SQL, in capitals or not.
            pub fn of_name(name: &str) -> Option<u8> {
                match name {
                    $(_ if name.eq_ignore_ascii_case(stringify!($name)) => Some($name),)*
                    _ => None,
                }
            }
        };
    }
    codes! {
        NULL = 0, CHAR = 1, VARCHAR = 2, NCHAR = 3, VARNCHAR = 4, BIT = 5, VARBIT = 6, NUMERIC = 7, INT = 8, SHORT = 9,
        MONETARY = 10, FLOAT = 11, DOUBLE = 12, DATE = 13, TIME = 14, TIMESTAMP = 15, SET = 16, MULTISET = 17,
        SEQUENCE = 18, OBJECT = 19, RESULTSET = 20, BIGINT = 21, DATETIME = 22, BLOB = 23, CLOB = 24, ENUM = 25,
        USHORT = 26, UINT = 27, UBIGINT = 28, TIMESTAMPTZ = 29, TIMESTAMPLTZ = 30, DATETIMETZ = 31, DATETIMELTZ = 32,
        TIMETZ = 33, JSON = 34,
    }
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn types_have_names_and_numbers() {
        assert_eq!((code::name(22), code::of_name("datetime")), (Some("DATETIME"), Some(22)));
        assert_eq!((code::name(99), code::of_name("point")), (None, None));
    }
}
