//! The properties of a column, in the form of [`headrace_core::column`].

use super::decode::Inner;
use super::{Decoder, qualifier};
use crate::messages::server::Field;
use headrace_core::column::{Column, ColumnKind, Fraction, Native, NativeType, Part};
use std::borrow::Cow;
use std::sync::Arc;

/// Flag of a type word: no value is NULL.
const NOT_NULL: u16 = 0x0100;

/// The type of a column as SQ_DESCRIBE has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InformixType {
    /// The type's number in the low byte, flags above.
    pub type_word: u16,
    /// The number of an extended type, 0 for a built-in one.
    pub extended_id: i32,
    /// The name of an extended type, or empty.
    pub type_name: Arc<str>,
    /// The encoded length: bytes, or digits, or the qualifier of a DATETIME or INTERVAL.
    pub length: i32,
}

impl NativeType for InformixType {
    fn system(&self) -> &'static str {
        "INFORMIX"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        Some(super::name(self.type_word, &self.type_name, self.length).into())
    }
    fn identification(&self) -> String {
        if self.type_name.is_empty() { self.type_word.to_string() } else { self.type_name.to_string() }
    }
}

/// The columns that the server describes as `fields`, which are decoded by `decoders`.
pub fn columns(fields: &[Field], decoders: &[Decoder]) -> Arc<[Column]> {
    let column = |(field, decoder): (&Field, &Decoder)| Column {
        name: field.name.as_str().into(),
        kind: kind(field, decoder),
        nullable: Some(field.type_word & NOT_NULL == 0),
        native: Native::new(InformixType {
            type_word: field.type_word,
            extended_id: field.extended_id,
            type_name: field.type_name.as_str().into(),
            length: field.length,
        }),
    };
    fields.iter().zip(decoders).map(column).collect()
}

fn kind(field: &Field, decoder: &Decoder) -> ColumnKind {
    match decoder {
        Decoder::Char(_) | Decoder::VarChar | Decoder::Large(true, _) => ColumnKind::Text,
        Decoder::SmallInt => ColumnKind::Int { bits: 16, signed: true },
        Decoder::Int => ColumnKind::Int { bits: 32, signed: true },
        Decoder::BigInt | Decoder::Int8 => ColumnKind::Int { bits: 64, signed: true },
        Decoder::Float => ColumnKind::Float { bits: 64 },
        Decoder::SmallFloat => ColumnKind::Float { bits: 32 },
        Decoder::Decimal(_, scale) => ColumnKind::Decimal {
            precision: Some((field.length >> 8 & 0xff) as u16),
            scale: scale.and_then(|scale| i16::try_from(scale).ok()),
        },
        Decoder::Date => ColumnKind::Date,
        Decoder::DateTime(_, first, last) => datetime(*first, *last),
        Decoder::Interval(_, first) => {
            let last = (field.length & 15) as u8;
            ColumnKind::Interval { first: part(*first), last: part(last), fraction: fraction(last) }
        }
        Decoder::Large(false, _) => ColumnKind::Bytes,
        Decoder::Envelope(Inner::Text) => ColumnKind::Text,
        Decoder::Envelope(Inner::Boolean) => ColumnKind::Bool,
        Decoder::Envelope(Inner::Json) => ColumnKind::Json,
        Decoder::Envelope(Inner::Bytes) => ColumnKind::Bytes,
        Decoder::Envelope(Inner::Locator(_)) => ColumnKind::Other(field.type_name.as_str().into()),
        Decoder::Envelope(Inner::Distinct(decoder)) => kind(field, decoder),
    }
}

/// A DATETIME of parts that are neither a date, a time nor both is text.
fn datetime(first: u8, last: u8) -> ColumnKind {
    match (first, last) {
        (qualifier::YEAR, qualifier::DAY) => ColumnKind::Date,
        (qualifier::YEAR, qualifier::HOUR..) => ColumnKind::Timestamp(fraction(last)),
        (qualifier::HOUR, _) => ColumnKind::Time(fraction(last)),
        _ => ColumnKind::Text,
    }
}

/// FRACTION(n) is the number of SECOND and n.
fn fraction(last: u8) -> Fraction {
    Fraction::new(last.saturating_sub(qualifier::SECOND))
}

fn part(code: u8) -> Part {
    match code {
        qualifier::YEAR => Part::Year,
        qualifier::MONTH => Part::Month,
        qualifier::DAY => Part::Day,
        qualifier::HOUR => Part::Hour,
        qualifier::MINUTE => Part::Minute,
        _ => Part::Second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Capabilities;
    use crate::types::{code, extended};

    fn described(type_word: u16, extended_id: i32, source_type: i32, length: i32) -> Column {
        let field = Field {
            name: "c".into(),
            type_word,
            extended_id,
            owner: String::new(),
            type_name: "clob".into(),
            source_type,
            length,
        };
        let decoder = Decoder::new(&field, Capabilities::default());
        columns(&[field], &[decoder])[0].clone()
    }

    #[test]
    fn each_type_has_a_kind_with_digits_and_qualifiers() {
        let int = |bits| ColumnKind::Int { bits, signed: true };
        let decimal = |scale| ColumnKind::Decimal { precision: Some(10), scale };
        let interval = |first, last, fraction| ColumnKind::Interval { first, last, fraction: Fraction::new(fraction) };
        for (number, length, expected) in [
            (code::CHAR, 10, ColumnKind::Text),
            (code::NVARCHAR, 10, ColumnKind::Text),
            (code::SMALLINT, 2, int(16)),
            (code::SERIAL, 4, int(32)),
            (code::BIGSERIAL, 8, int(64)),
            (code::INT8, 10, int(64)),
            (code::FLOAT, 8, ColumnKind::Float { bits: 64 }),
            (code::SMALLFLOAT, 4, ColumnKind::Float { bits: 32 }),
            (code::DECIMAL, 10 << 8 | 2, decimal(Some(2))),
            (code::MONEY, 10 << 8 | 4, decimal(Some(4))),
            (code::DECIMAL, 10 << 8 | 255, decimal(None)),
            (code::DATE, 4, ColumnKind::Date),
            (code::DATETIME, 8 << 8 | 0x04, ColumnKind::Date),
            (code::DATETIME, 14 << 8 | 0x0a, ColumnKind::Timestamp(Fraction::NONE)),
            (code::DATETIME, 19 << 8 | 0x0f, ColumnKind::Timestamp(Fraction::new(5))),
            (code::DATETIME, 4 << 8 | 0x68, ColumnKind::Time(Fraction::NONE)),
            (code::DATETIME, 9 << 8 | 0x6d, ColumnKind::Time(Fraction::new(3))),
            (code::DATETIME, 4 << 8 | 0x24, ColumnKind::Text),
            (code::INTERVAL, 6 << 8 | 0x02, interval(Part::Year, Part::Month, 0)),
            (code::INTERVAL, 10 << 8 | 0x4c, interval(Part::Day, Part::Second, 2)),
            (code::BYTE, 56, ColumnKind::Bytes),
            (code::TEXT, 56, ColumnKind::Text),
            (code::BOOLEAN, 1, ColumnKind::Bool),
            (code::SET, 0, ColumnKind::Text),
        ] {
            assert_eq!(described(number, 0, 0, length).kind, expected, "{number} {length:#x}");
        }
    }

    #[test]
    fn extended_types_are_identified_by_number_or_source() {
        for (id, flags, source, expected) in [
            (extended::BOOLEAN, 0, 0, ColumnKind::Bool),
            (extended::CLOB, 0, 0, ColumnKind::Other("clob".into())),
            (extended::JSON, 0, 0, ColumnKind::Json),
            (extended::BSON, 0, 0, ColumnKind::Bytes),
            (2048, code::DISTINCT, i32::from(code::INTEGER), ColumnKind::Int { bits: 32, signed: true }),
            (2049, 0, 0, ColumnKind::Bytes),
        ] {
            assert_eq!(described(code::UDTVAR | flags, id, source, 0).kind, expected, "{id}");
        }
        assert_eq!(described(code::INTEGER, 0, 0, 4).nullable, Some(true));
        assert_eq!(described(code::INTEGER | NOT_NULL, 0, 0, 4).nullable, Some(false));
    }
}
