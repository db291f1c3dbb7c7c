//! The properties of a column, in the form of [`headrace_core::column`].

use super::{Decoder, code};
use crate::messages::description::{Collection, Field, Type};
use headrace_core::column::{Column, ColumnKind, Fraction, Native, NativeType};
use std::borrow::Cow;
use std::sync::Arc;

/// Digits of the fraction of a second of a DATETIME.
const MILLIS: u8 = 3;

/// The type of a column as the reply to PREPARE has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CubridType {
    /// The type's number; of a collection that of its elements.
    pub type_number: u8,
    /// The type's name in SQL.
    pub type_name: Arc<str>,
    /// Digits, characters or bits; -1 without a limit.
    pub precision: i32,
    /// Digits after the point.
    pub scale: i16,
    /// The number of the character set.
    pub charset: u8,
    /// `owner.table`, or empty.
    pub class: Arc<str>,
}

impl NativeType for CubridType {
    fn system(&self) -> &'static str {
        "CUBRID"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        Some((&*self.type_name).into())
    }
    fn identification(&self) -> String {
        self.type_name.to_string()
    }
    fn is_fixed(&self) -> bool {
        !self.class.is_empty()
    }
}

/// The columns that the server describes as `fields`.
pub fn columns(fields: &[Field]) -> Arc<[Column]> {
    let column = |field: &Field| Column {
        name: field.name.as_str().into(),
        kind: kind(field),
        // A primary key may lack the mark.
        nullable: (field.is_non_null || field.is_primary).then_some(false),
        native: Native::new(CubridType {
            type_number: field.ty.code,
            type_name: type_name(field.ty).into(),
            precision: field.precision,
            scale: field.scale,
            charset: field.ty.charset,
            class: field.class.as_str().into(),
        }),
    };
    fields.iter().map(column).collect()
}

/// The type's name in SQL: `INT`, `SET OF VARCHAR`.
pub fn type_name(ty: Type) -> String {
    let element = code::name(ty.code).map_or_else(|| format!("TYPE {}", ty.code), str::to_owned);
    match ty.collection {
        Collection::None => element,
        Collection::Set => format!("SET OF {element}"),
        Collection::Multiset => format!("MULTISET OF {element}"),
        Collection::Sequence => format!("SEQUENCE OF {element}"),
    }
}

fn kind(field: &Field) -> ColumnKind {
    if field.ty.collection != Collection::None {
        let element = Field { ty: Type { collection: Collection::None, ..field.ty }, ..field.clone() };
        return ColumnKind::List(Box::new(kind(&element)));
    }
    match Decoder::new(field.ty) {
        Decoder::Text(_) => ColumnKind::Text,
        Decoder::Json => ColumnKind::Json,
        Decoder::Bytes => ColumnKind::Bytes,
        Decoder::Numeric => ColumnKind::Decimal {
            precision: u16::try_from(field.precision).ok().filter(|digits| *digits > 0),
            scale: (field.precision > 0).then_some(field.scale),
        },
        Decoder::Short => ColumnKind::Int { bits: 16, signed: true },
        Decoder::Int => ColumnKind::Int { bits: 32, signed: true },
        Decoder::BigInt | Decoder::ResultSet => ColumnKind::Int { bits: 64, signed: true },
        Decoder::Float => ColumnKind::Float { bits: 32 },
        Decoder::Double => ColumnKind::Float { bits: 64 },
        Decoder::Date => ColumnKind::Date,
        Decoder::Time => ColumnKind::Time(Fraction::NONE),
        Decoder::Timestamp => ColumnKind::Timestamp(Fraction::NONE),
        Decoder::DateTime => ColumnKind::Timestamp(Fraction::new(MILLIS)),
        Decoder::TimestampTz => ColumnKind::TimestampTz(Fraction::NONE),
        Decoder::DateTimeTz => ColumnKind::TimestampTz(Fraction::new(MILLIS)),
        // Values of any type, of a type without a kind of its own, or of one that is not known.
        Decoder::Typed | Decoder::Object | Decoder::Lob(_) | Decoder::Unknown(_) | Decoder::Collection(_) => {
            ColumnKind::Other(type_name(field.ty).to_lowercase().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_a_kind_and_a_name() {
        let int = ColumnKind::Int { bits: 32, signed: true };
        for (number, collection, expected, name) in [
            (code::INT, Collection::None, int.clone(), "INT"),
            (code::INT, Collection::Set, ColumnKind::List(Box::new(int)), "SET OF INT"),
            (code::VARCHAR, Collection::Multiset, ColumnKind::List(Box::new(ColumnKind::Text)), "MULTISET OF VARCHAR"),
            (code::NUMERIC, Collection::None, ColumnKind::Decimal { precision: Some(15), scale: Some(2) }, "NUMERIC"),
            (code::DATETIME, Collection::None, ColumnKind::Timestamp(Fraction::new(3)), "DATETIME"),
            (code::BLOB, Collection::None, ColumnKind::Other("blob".into()), "BLOB"),
            (
                77,
                Collection::Sequence,
                ColumnKind::List(Box::new(ColumnKind::Other("type 77".into()))),
                "SEQUENCE OF TYPE 77",
            ),
        ] {
            let ty = Type { collection, charset: 5, code: number };
            let field = Field { ty, scale: 2, precision: 15, ..Field::default() };
            assert_eq!((kind(&field), type_name(ty).as_str()), (expected, name));
        }
    }

    #[test]
    fn a_column_takes_nulls_unless_the_server_denies_it() {
        let nullable = |field: Field| columns(&[field])[0].nullable;
        assert_eq!(nullable(Field::default()), None);
        assert_eq!(nullable(Field { is_non_null: true, ..Field::default() }), Some(false));
        assert_eq!(nullable(Field { is_primary: true, ..Field::default() }), Some(false));
    }
}
