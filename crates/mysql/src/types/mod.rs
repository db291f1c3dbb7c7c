//! The column types: their decoders for the binary and the text protocol, and the encoders of values.
//!
//! A [`Decoder`] is chosen once per column of a result; the hot loops only use it. The two protocols deliver the same
//! value for the same column, except that the server rounds when it prints FLOAT as text.

mod civil;
mod column;
mod decode;
mod decoder;
mod encode;
mod literal;
mod load;
mod name;
mod text;

pub use column::{MySqlType, columns};
pub use decode::{Cell, decode_binary_row, find_binary_cells};
pub use decoder::Decoder;
pub use encode::{Destination, Lists, encode_param, encode_param_for_mysql};
pub use literal::{splice_literal, write_literal, write_literal_as_text};
pub use load::{FieldKind, write_line};
pub use text::{decode_text_row, find_text_cells};

/// The number of a column type. MySQL: "enum_field_types"; MariaDB: "Result set packets, Field types".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType(pub u8);

macro_rules! column_types {
    ($($name:ident = $number:literal;)*) => {
        impl ColumnType {
            $(#[doc = concat!("`MYSQL_TYPE_", stringify!($name), "`")] pub const $name: Self = Self($number);)*

            /// Its name without `MYSQL_TYPE_`, `None` for a number that no manual lists.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

column_types! {
    DECIMAL = 0; TINY = 1; SHORT = 2; LONG = 3; FLOAT = 4; DOUBLE = 5; NULL = 6; TIMESTAMP = 7; LONGLONG = 8;
    INT24 = 9; DATE = 10; TIME = 11; DATETIME = 12; YEAR = 13; NEWDATE = 14; VARCHAR = 15; BIT = 16;
    VECTOR = 242; JSON = 245; NEWDECIMAL = 246; ENUM = 247; SET = 248; TINY_BLOB = 249; MEDIUM_BLOB = 250;
    LONG_BLOB = 251; BLOB = 252; VAR_STRING = 253; STRING = 254; GEOMETRY = 255;
}
