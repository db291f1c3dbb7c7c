//! The properties of a column, in the form of [`headrace_core::column`].

use super::Decoder;
use crate::packets::column::Column as Field;
use headrace_core::column::{Column, ColumnKind, Fraction, Native, NativeType, Part};
use std::borrow::Cow;
use std::sync::Arc;

/// The type of a column as its definition has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlType {
    /// The type's number: `enum_field_types`.
    pub type_number: u8,
    /// The type's name in SQL.
    pub type_name: Arc<str>,
    /// The column's flags.
    pub flags: u16,
    /// The number of its collation; 63 for bytes and numbers.
    pub collation: u16,
    /// The longest value in bytes; for BIT in bits.
    pub length: u32,
    /// Digits after the point; 31 if they vary.
    pub decimals: u8,
    /// The alias of its table.
    pub table: Arc<str>,
    /// The name of the table that it is a column of, or empty: an expression's may be of another type once the server
    /// has the parameters.
    pub org_table: Arc<str>,
}

impl NativeType for MySqlType {
    fn system(&self) -> &'static str {
        "MYSQL"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        Some((&*self.type_name).into())
    }
    fn identification(&self) -> String {
        self.type_name.to_string()
    }
    fn takes_bits_as_bytes(&self) -> bool {
        true
    }
    fn is_fixed(&self) -> bool {
        !self.org_table.is_empty()
    }
}

/// The columns that the server defines as `fields`, which are decoded by `decoders`.
pub fn columns(fields: &[Field], decoders: &[Decoder]) -> Arc<[Column]> {
    let column = |(field, decoder): (&Field, &Decoder)| Column {
        name: field.name.as_str().into(),
        kind: kind(field, *decoder),
        nullable: Some(field.is_nullable()),
        native: Native::new(MySqlType {
            type_number: field.kind.0,
            type_name: field.type_name().into(),
            flags: field.flags.bits(),
            collation: field.collation,
            length: field.length,
            decimals: field.decimals,
            table: field.table.as_str().into(),
            org_table: field.org_table.as_str().into(),
        }),
    };
    fields.iter().zip(decoders).map(column).collect()
}

fn kind(field: &Field, decoder: Decoder) -> ColumnKind {
    match decoder {
        Decoder::Null => ColumnKind::Null,
        Decoder::Int(bytes) => ColumnKind::Int { bits: bytes * 8, signed: true },
        Decoder::UInt(bytes) => ColumnKind::Int { bits: bytes * 8, signed: false },
        Decoder::Float => ColumnKind::Float { bits: 32 },
        Decoder::Double => ColumnKind::Float { bits: 64 },
        Decoder::Decimal => decimal(field),
        Decoder::Date => ColumnKind::Date,
        Decoder::DateTime => ColumnKind::Timestamp(Fraction::new(field.decimals)),
        Decoder::Time => {
            ColumnKind::Interval { first: Part::Hour, last: Part::Second, fraction: Fraction::new(field.decimals) }
        }
        Decoder::Bits(_) | Decoder::DecimalBits(_) | Decoder::DoubtfulBits(_) => ColumnKind::Bits,
        Decoder::Text => ColumnKind::Text,
        Decoder::Bytes => ColumnKind::Bytes,
        Decoder::Json => ColumnKind::Json,
        Decoder::Uuid => ColumnKind::Uuid,
        Decoder::Inet => ColumnKind::Inet,
        Decoder::Vector => ColumnKind::List(ColumnKind::Float { bits: 32 }.into()),
    }
}

fn decimal(field: &Field) -> ColumnKind {
    let (precision, scale) = field.decimal().unzip();
    ColumnKind::Decimal {
        precision: precision.and_then(|digits| u16::try_from(digits).ok()),
        scale: scale.map(i16::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::capabilities::ColumnFlags;
    use crate::packets::column::BINARY_COLLATION;
    use crate::types::ColumnType;

    fn field(kind: ColumnType, flags: u16, length: u32, decimals: u8) -> Field {
        Field {
            schema: String::new(),
            table: "t".into(),
            org_table: "t".into(),
            name: "c".into(),
            org_name: "c".into(),
            extended_type: None,
            extended_format: None,
            collation: BINARY_COLLATION,
            length,
            kind,
            flags: ColumnFlags::from_bits_retain(flags),
            decimals,
        }
    }

    #[test]
    fn each_type_has_a_kind_with_its_digits() {
        const UNSIGNED: u16 = 1 << 5;
        let int = |bits, signed| ColumnKind::Int { bits, signed };
        let decimal = |precision, scale| ColumnKind::Decimal { precision: Some(precision), scale: Some(scale) };
        let span = |fraction| ColumnKind::Interval {
            first: Part::Hour,
            last: Part::Second,
            fraction: Fraction::new(fraction),
        };
        for (number, flags, length, decimals, expected) in [
            (ColumnType::TINY, 0, 4, 0, int(8, true)),
            (ColumnType::SHORT, UNSIGNED, 5, 0, int(16, false)),
            (ColumnType::INT24, 0, 9, 0, int(32, true)),
            (ColumnType::LONGLONG, UNSIGNED, 20, 0, int(64, false)),
            (ColumnType::YEAR, UNSIGNED, 4, 0, int(16, false)),
            (ColumnType::FLOAT, 0, 12, 31, ColumnKind::Float { bits: 32 }),
            (ColumnType::DOUBLE, 0, 22, 31, ColumnKind::Float { bits: 64 }),
            (ColumnType::NEWDECIMAL, 0, 12, 2, decimal(10, 2)),
            (ColumnType::NEWDECIMAL, UNSIGNED, 11, 2, decimal(10, 2)),
            (ColumnType::NEWDECIMAL, 0, 6, 0, decimal(5, 0)),
            (ColumnType::NEWDECIMAL, UNSIGNED, 65, 0, decimal(65, 0)),
            (ColumnType::DATE, 0, 10, 0, ColumnKind::Date),
            (ColumnType::DATETIME, 0, 19, 0, ColumnKind::Timestamp(Fraction::NONE)),
            (ColumnType::TIMESTAMP, 0, 26, 6, ColumnKind::Timestamp(Fraction::MICROS)),
            (ColumnType::TIME, 0, 14, 3, span(3)),
            (ColumnType::BIT, UNSIGNED, 9, 0, ColumnKind::Bits),
            (ColumnType::BLOB, 0, 65_535, 0, ColumnKind::Bytes),
            (ColumnType::JSON, 0, 65_535, 0, ColumnKind::Json),
            (ColumnType::VECTOR, 0, 12, 31, ColumnKind::List(ColumnKind::Float { bits: 32 }.into())),
            (ColumnType::NULL, 0, 0, 0, ColumnKind::Null),
        ] {
            let field = field(number, flags, length, decimals);
            let decoders = [Decoder::new(&field)];
            let columns = columns(&[field], &decoders);
            assert_eq!(columns[0].kind, expected, "{number:?} {flags} {length} {decimals}");
            assert_eq!((&*columns[0].name, columns[0].nullable), ("c", Some(true)));
        }
    }

    #[test]
    fn strings_are_distinguished_by_collation_and_extended_type() {
        let text = Field { collation: 33, ..field(ColumnType::VAR_STRING, 1, 30, 0) };
        let uuid = Field { extended_type: Some("uuid".into()), ..field(ColumnType::STRING, 0, 36, 0) };
        let json = Field { extended_format: Some("json".into()), ..text.clone() };
        let inet = Field { extended_type: Some("inet6".into()), ..uuid.clone() };
        let bytes = field(ColumnType::VAR_STRING, 0, 10, 0);
        let fields = [text, uuid, json, inet, bytes];
        let columns = columns(&fields, &fields.each_ref().map(Decoder::new));
        let kinds: Vec<_> = columns.iter().map(|column| column.kind.clone()).collect();
        assert_eq!(kinds, [ColumnKind::Text, ColumnKind::Uuid, ColumnKind::Json, ColumnKind::Inet, ColumnKind::Bytes]);
        assert_eq!(columns[0].nullable, Some(false));
        let MySqlType { type_name, .. } = columns[2].native.of().expect("a column of MySQL's");
        assert_eq!(&**type_name, "json");
    }
}
