//! Column values ([`decode`]), parameters ([`encode`]) and rows of an insert cursor ([`put`]); [`packed`] is the base-100
//! form that DECIMAL, DATETIME and INTERVAL share.

mod column;
pub mod decode;
pub mod encode;
mod literal;
pub mod packed;
pub mod put;
pub mod returned;
mod sql_literal;

pub use column::{InformixType, columns};
pub use decode::{Decoder, decode_row};
pub use sql_literal::write_literal;

/// Type numbers, the low byte of a type word.
pub mod code {
    macro_rules! codes {
        ($($name:ident = $value:literal),* $(,)?) => {
            $(#[doc = stringify!($name)] pub const $name: u16 = $value;)*
        };
    }
    codes! {
        CHAR = 0, SMALLINT = 1, INTEGER = 2, FLOAT = 3, SMALLFLOAT = 4, DECIMAL = 5, SERIAL = 6, DATE = 7, MONEY = 8,
        DATETIME = 10, BYTE = 11, TEXT = 12, VARCHAR = 13, INTERVAL = 14, NCHAR = 15, NVARCHAR = 16, INT8 = 17,
        SERIAL8 = 18, SET = 19, MULTISET = 20, LIST = 21, ROW = 22, COLLECTION = 23, UDTVAR = 40, UDTFIXED = 41,
        LVARCHAR = 43, SENDRECV = 44, BOOLEAN = 45, BIGINT = 52, BIGSERIAL = 53,
    }

    /// Flag of a type word: a distinct type.
    pub const DISTINCT: u16 = 0x0800;
    /// Flag of a type word: a distinct type made of LVARCHAR.
    pub const DISTINCT_LVARCHAR: u16 = 0x2000;
    /// Flag of a type word: a distinct type made of BOOLEAN.
    pub const DISTINCT_BOOLEAN: u16 = 0x4000;
}

/// Numbers of extended types.
pub mod extended {
    /// LVARCHAR.
    pub const LVARCHAR: i32 = 1;
    /// BOOLEAN.
    pub const BOOLEAN: i32 = 5;
    /// BLOB.
    pub const BLOB: i32 = 10;
    /// CLOB.
    pub const CLOB: i32 = 11;
    /// JSON.
    pub const JSON: i32 = 25;
    /// BSON.
    pub const BSON: i32 = 26;
}

/// Days from 1899-12-31, the epoch of DATE, to 1970-01-01.
pub const DATE_EPOCH: i32 = 25_568;

/// Parts of a DATETIME or INTERVAL qualifier.
pub mod qualifier {
    /// YEAR.
    pub const YEAR: u8 = 0;
    /// MONTH.
    pub const MONTH: u8 = 2;
    /// DAY.
    pub const DAY: u8 = 4;
    /// HOUR.
    pub const HOUR: u8 = 6;
    /// MINUTE.
    pub const MINUTE: u8 = 8;
    /// SECOND.
    pub const SECOND: u8 = 10;
    /// FRACTION(5), the finest.
    pub const FRACTION5: u8 = 15;
}

/// Bytes that DECIMAL, MONEY, DATETIME and INTERVAL take in a row.
pub fn packed_width(length: i32) -> usize {
    let (high, low) = (length >> 8 & 0xff, length & 0xff);
    ((high + (low & 1) + 3) / 2) as usize
}

/// INT8 and SERIAL8: a sign, the low and the high word of the magnitude. `None` is NULL.
pub fn read_int8(bytes: &[u8]) -> Option<i128> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| i128::from(u32::from_be_bytes([b[0], b[1], b[2], b[3]])));
    let magnitude = word(6)? << 32 | word(2)?;
    match i16::from_be_bytes([bytes[0], bytes[1]]) {
        0 => None,
        sign if sign < 0 => Some(-magnitude),
        _ => Some(magnitude),
    }
}

/// Appends INT8. [`i64::MIN`] cannot be represented.
pub(crate) fn write_int8(value: i64, out: &mut Vec<u8>) {
    let magnitude = value.unsigned_abs();
    let sign: i16 = if value < 0 { -1 } else { 1 };
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(magnitude as u32).to_be_bytes());
    out.extend_from_slice(&((magnitude >> 32) as u32).to_be_bytes());
}

/// The size in bytes of all values of a type, or the longest; `None` for a type whose values have precision or a qualifier
/// instead, and for BYTE and TEXT.
pub fn size(type_word: u16, length: i32) -> Option<i32> {
    match type_word & 0xff {
        code::VARCHAR | code::NVARCHAR => Some(length & 0xff),
        code::DECIMAL | code::MONEY | code::DATETIME | code::INTERVAL | code::BYTE | code::TEXT => None,
        _ => Some(length),
    }
}

/// The type as SQL writes it: `DECIMAL(10,2)`, `DATETIME YEAR TO SECOND`.
pub fn name(type_word: u16, type_name: &str, length: i32) -> String {
    let (high, low) = (length >> 8 & 0xff, length & 0xff);
    let part = |code: i32| match code {
        0 => "YEAR".to_owned(),
        2 => "MONTH".to_owned(),
        4 => "DAY".to_owned(),
        6 => "HOUR".to_owned(),
        8 => "MINUTE".to_owned(),
        10 => "SECOND".to_owned(),
        code => format!("FRACTION({})", code - 10),
    };
    match type_word & 0xff {
        code::CHAR => format!("CHAR({length})"),
        code::NCHAR => format!("NCHAR({length})"),
        code::VARCHAR => format!("VARCHAR({low})"),
        code::NVARCHAR => format!("NVARCHAR({low})"),
        code::SMALLINT => "SMALLINT".into(),
        code::INTEGER => "INTEGER".into(),
        code::FLOAT => "FLOAT".into(),
        code::SMALLFLOAT => "SMALLFLOAT".into(),
        code::DECIMAL if low == 255 => format!("DECIMAL({high})"),
        code::DECIMAL => format!("DECIMAL({high},{low})"),
        code::MONEY => format!("MONEY({high},{low})"),
        code::SERIAL => "SERIAL".into(),
        code::DATE => "DATE".into(),
        code::DATETIME => format!("DATETIME {} TO {}", part(length >> 4 & 15), part(length & 15)),
        code::INTERVAL => format!("INTERVAL {} TO {}", part(length >> 4 & 15), part(length & 15)),
        code::BYTE => "BYTE".into(),
        code::TEXT => "TEXT".into(),
        code::INT8 => "INT8".into(),
        code::SERIAL8 => "SERIAL8".into(),
        code::SET => "SET".into(),
        code::MULTISET => "MULTISET".into(),
        code::LIST => "LIST".into(),
        code::ROW if type_name.is_empty() => "ROW".into(),
        code::LVARCHAR => "LVARCHAR".into(),
        code::BOOLEAN => "BOOLEAN".into(),
        code::BIGINT => "BIGINT".into(),
        code::BIGSERIAL => "BIGSERIAL".into(),
        other if type_name.is_empty() => format!("type {other}"),
        _ => type_name.to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_size_of_their_longest_value_or_none() {
        // VARCHAR(20, 5): the reserved size is in the high byte.
        assert_eq!(size(code::VARCHAR, 5 << 8 | 20), Some(20));
        assert_eq!(size(code::CHAR | 0x100, 300), Some(300));
        assert_eq!(size(code::INTEGER, 4), Some(4));
        assert_eq!(size(code::DECIMAL, 10 << 8 | 2), None);
        assert_eq!(size(code::TEXT, 56), None);
    }
}
