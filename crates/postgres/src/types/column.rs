//! The properties of a column by its type, in the form of [`headrace_core::column`].

use super::builtin::{self, Scalar};
use super::decode::Decoder;
use super::registry::{self, Attribute, TypeRegistry};
use super::{Oid, oid};
use crate::limits;
use crate::messages::backend::Field;
use headrace_core::column::{Column, ColumnKind, Fraction, Native, NativeType, Part};
use std::borrow::Cow;
use std::sync::Arc;

/// The offset between a type modifier and the number that it represents: `VARHDRSZ`.
const HEADER: i32 = 4;

/// The type of a column as RowDescription has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresType {
    /// The type's number: `pg_type.oid`.
    pub type_oid: Oid,
    /// The type's modifier, -1 for none.
    pub type_modifier: i32,
    /// The type's size in bytes, negative for variable ones.
    pub type_size: i16,
    /// The table that the column is of, or 0.
    pub table_oid: u32,
    /// Its number in that table, or 0.
    pub column_number: i16,
}

impl NativeType for PostgresType {
    fn system(&self) -> &'static str {
        "POSTGRESQL"
    }
    fn type_name(&self) -> Option<Cow<'_, str>> {
        super::name(self.type_oid).map(Cow::Borrowed)
    }
    fn identification(&self) -> String {
        self.type_oid.to_string()
    }
}

/// The columns that the server describes as `fields`.
pub fn columns(registry: &TypeRegistry, fields: &[Field]) -> Arc<[Column]> {
    let column = |field: &Field| Column {
        name: field.name.as_str().into(),
        kind: kind(registry, field.type_oid, field.type_modifier, 0),
        nullable: None,
        native: Native::new(PostgresType {
            type_oid: field.type_oid,
            type_modifier: field.type_modifier,
            type_size: field.type_size,
            table_oid: field.table,
            column_number: field.number,
        }),
    };
    fields.iter().map(column).collect()
}

/// The properties of values of these types.
pub fn kinds(registry: &TypeRegistry, oids: &[Oid]) -> Vec<ColumnKind> {
    oids.iter().map(|oid| kind(registry, *oid, -1, 0)).collect()
}

/// The properties of a value of the type; it is inside `depth` other types.
fn kind(registry: &TypeRegistry, oid: u32, modifier: i32, depth: usize) -> ColumnKind {
    if !Decoder::is_plain(registry, oid, depth) {
        return ColumnKind::Other(registry.name(oid).into());
    }
    if depth > limits::NESTING {
        return ColumnKind::Text;
    }
    let inner = |oid, modifier| kind(registry, oid, modifier, depth + 1);
    match registry.kind(oid) {
        registry::TypeKind::Scalar(kind) if registry.is_read_as_text(kind) => ColumnKind::Text,
        registry::TypeKind::Scalar(kind) => scalar(kind, oid, modifier),
        registry::TypeKind::Array { element } => ColumnKind::List(inner(element, modifier).into()),
        registry::TypeKind::Range { subtype } => ColumnKind::Range(inner(subtype, -1).into()),
        registry::TypeKind::Multirange { range } => match inner(range, -1) {
            ColumnKind::Range(bound) => ColumnKind::Multirange(bound),
            other => ColumnKind::Multirange(other.into()),
        },
        registry::TypeKind::Composite { fields } => {
            let attribute = |field: &Attribute| (field.name.as_str().into(), inner(field.oid, field.modifier));
            ColumnKind::Record(fields.iter().map(attribute).collect())
        }
        // The server describes a column of a domain by the modifier of the base, and an item or attribute without one.
        registry::TypeKind::Domain { base, modifier: own } => inner(base, if own < 0 { modifier } else { own }),
        registry::TypeKind::Enum | registry::TypeKind::Unknown => ColumnKind::Text,
    }
}

fn scalar(scalar: Scalar, oid: u32, modifier: i32) -> ColumnKind {
    let int = |bits, signed| ColumnKind::Int { bits, signed };
    match scalar {
        Scalar::Bool => ColumnKind::Bool,
        Scalar::Int2 => int(16, true),
        Scalar::Int4 => int(32, true),
        Scalar::Int8 => int(64, true),
        Scalar::Oid => int(32, false),
        Scalar::UInt8 => int(64, false),
        Scalar::Float4 => ColumnKind::Float { bits: 32 },
        Scalar::Float8 => ColumnKind::Float { bits: 64 },
        Scalar::Numeric => numeric(modifier),
        Scalar::Text
        | Scalar::AsText
        | Scalar::Char
        | Scalar::MacAddr
        | Scalar::Hstore
        | Scalar::Versioned
        | Scalar::SparseVector => ColumnKind::Text,
        Scalar::Vector | Scalar::HalfVector => ColumnKind::List(ColumnKind::Float { bits: 32 }.into()),
        Scalar::Bytea | Scalar::Geometry => ColumnKind::Bytes,
        Scalar::Date => ColumnKind::Date,
        Scalar::Time => ColumnKind::Time(fraction(modifier)),
        Scalar::TimeTz => ColumnKind::TimeTz(fraction(modifier)),
        Scalar::Timestamp => ColumnKind::Timestamp(fraction(modifier)),
        Scalar::TimestampTz => ColumnKind::TimestampTz(fraction(modifier)),
        Scalar::Interval => interval(modifier),
        Scalar::Uuid => ColumnKind::Uuid,
        Scalar::Json | Scalar::Jsonb => ColumnKind::Json,
        Scalar::Inet => ColumnKind::Inet,
        Scalar::Bits => ColumnKind::Bits,
        Scalar::Void => ColumnKind::Null,
        Scalar::Record => ColumnKind::Record([].into()),
        Scalar::Point
        | Scalar::Line
        | Scalar::LineSegment
        | Scalar::Box
        | Scalar::Path
        | Scalar::Polygon
        | Scalar::Circle => ColumnKind::Other(builtin::name(oid).unwrap_or_default().into()),
    }
}

fn numeric(modifier: i32) -> ColumnKind {
    let (precision, scale) = precision_and_scale(oid::NUMERIC, modifier).unzip();
    ColumnKind::Decimal { precision, scale }
}

/// The precision and scale of a numeric column, if they are fixed.
///
/// PostgreSQL: `make_numeric_typmod`. The scale has 11 bits, of which the first is its sign.
pub fn precision_and_scale(type_oid: Oid, modifier: i32) -> Option<(u16, i16)> {
    let modifier = modifier.checked_sub(HEADER).filter(|modifier| type_oid == oid::NUMERIC && *modifier >= 0)?;
    Some(((modifier >> 16) as u16, (modifier as i16 & 0x7ff ^ 1024) - 1024))
}

/// The size of a column's values, if all have one: bytes of a type of fixed size, characters of `char(n)` and
/// `varchar(n)`.
pub fn size(type_oid: Oid, type_size: i16, modifier: i32) -> Option<i32> {
    let limited = || matches!(type_oid, oid::BPCHAR | oid::VARCHAR).then(|| modifier.checked_sub(HEADER))?;
    if type_size > 0 { Some(type_size.into()) } else { limited().filter(|characters| *characters > 0) }
}

fn fraction(modifier: i32) -> Fraction {
    u8::try_from(modifier).map_or(Fraction::MICROS, Fraction::new)
}

/// PostgreSQL: `INTERVAL_TYPMOD`: the fields of the type as bits, above the digits of the fraction.
fn interval(modifier: i32) -> ColumnKind {
    const PARTS: [(i32, Part); 6] = [
        (1 << 2, Part::Year),
        (1 << 1, Part::Month),
        (1 << 3, Part::Day),
        (1 << 10, Part::Hour),
        (1 << 11, Part::Minute),
        (1 << 12, Part::Second),
    ];
    let parts = || PARTS.iter().filter(|(bit, _)| modifier < 0 || modifier >> 16 & bit != 0).map(|(_, part)| *part);
    let (first, last) = (parts().next().unwrap_or(Part::Year), parts().next_back().unwrap_or(Part::Second));
    let fraction = match modifier & 0xffff {
        _ if last != Part::Second => Fraction::NONE,
        digits => u8::try_from(digits).map_or(Fraction::MICROS, Fraction::new),
    };
    ColumnKind::Interval { first, last, fraction }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::registry::UserType;

    const INT: ColumnKind = ColumnKind::Int { bits: 32, signed: true };

    #[test]
    fn each_type_has_a_kind_with_what_its_modifier_says() {
        let decimal = |precision, scale| ColumnKind::Decimal { precision: Some(precision), scale: Some(scale) };
        let interval = |first, last, fraction| ColumnKind::Interval { first, last, fraction: Fraction::new(fraction) };
        for (oid, modifier, expected) in [
            (16, -1, ColumnKind::Bool),
            (21, -1, ColumnKind::Int { bits: 16, signed: true }),
            (26, -1, ColumnKind::Int { bits: 32, signed: false }),
            (5069, -1, ColumnKind::Int { bits: 64, signed: false }),
            (700, -1, ColumnKind::Float { bits: 32 }),
            (1700, -1, ColumnKind::Decimal { precision: None, scale: None }),
            (1700, (10 << 16 | 2) + 4, decimal(10, 2)),
            (1700, (1000 << 16) + 4, decimal(1000, 0)),
            (1700, (3 << 16 | 0x7fe) + 4, decimal(3, -2)),
            (1700, (2 << 16 | 5) + 4, decimal(2, 5)),
            (1043, 24, ColumnKind::Text),
            (790, -1, ColumnKind::Text),
            (17, -1, ColumnKind::Bytes),
            (1083, 3, ColumnKind::Time(Fraction::new(3))),
            (1266, -1, ColumnKind::TimeTz(Fraction::MICROS)),
            (1114, 0, ColumnKind::Timestamp(Fraction::NONE)),
            (1184, -1, ColumnKind::TimestampTz(Fraction::MICROS)),
            (1186, -1, interval(Part::Year, Part::Second, 6)),
            (1186, 0x7fff << 16 | 3, interval(Part::Year, Part::Second, 3)),
            (1186, (1 << 2 | 1 << 1) << 16 | 0xffff, interval(Part::Year, Part::Month, 0)),
            (1186, (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12) << 16 | 2, interval(Part::Day, Part::Second, 2)),
            (1186, 1 << 26 | 0xffff, interval(Part::Hour, Part::Hour, 0)),
            (2950, -1, ColumnKind::Uuid),
            (3802, -1, ColumnKind::Json),
            (650, -1, ColumnKind::Inet),
            (1562, -1, ColumnKind::Bits),
            (2278, -1, ColumnKind::Null),
            (2249, -1, ColumnKind::Record([].into())),
            (600, -1, ColumnKind::Other("point".into())),
            (1231, (10 << 16 | 2) + 4, ColumnKind::List(decimal(10, 2).into())),
            (3904, -1, ColumnKind::Range(INT.into())),
            (4451, -1, ColumnKind::Multirange(INT.into())),
            (6150, -1, ColumnKind::List(ColumnKind::Multirange(INT.into()).into())),
            (22, -1, ColumnKind::List(ColumnKind::Int { bits: 16, signed: true }.into())),
            (99_999, -1, ColumnKind::Text),
        ] {
            assert_eq!(kind(&TypeRegistry::default(), oid, modifier, 0), expected, "{oid} {modifier}");
        }
    }

    #[test]
    fn types_of_the_user_are_what_they_are_built_from() {
        let mut registry = TypeRegistry::default();
        let mut add = |oid, name: &str, kind| registry.register(oid, UserType { name: name.into(), kind });
        add(20_001, "mood", registry::TypeKind::Enum);
        let attribute = |name: &str, oid, modifier| Attribute { name: name.into(), oid, modifier };
        add(20_002, "positive", registry::TypeKind::Domain { base: 23, modifier: -1 });
        let fields = [attribute("a", 23, -1), attribute("b", 20_001, -1)].into();
        add(20_003, "pair", registry::TypeKind::Composite { fields });
        add(20_004, "pair[]", registry::TypeKind::Array { element: 20_003 });
        add(20_005, "loop", registry::TypeKind::Domain { base: 20_005, modifier: -1 });
        let price = (10 << 16 | 2) + 4;
        add(20_006, "price", registry::TypeKind::Domain { base: oid::NUMERIC, modifier: price });
        add(20_007, "price[]", registry::TypeKind::Array { element: 20_006 });
        let fields = [attribute("at", 1114, 0), attribute("price", 20_006, -1), attribute("cost", 1231, price)].into();
        add(20_008, "offer", registry::TypeKind::Composite { fields });
        add(20_009, "cheap", registry::TypeKind::Domain { base: 20_006, modifier: -1 });
        add(20_010, "vector", registry::TypeKind::Scalar(Scalar::Vector));
        add(20_011, "hstore", registry::TypeKind::Scalar(Scalar::Hstore));
        // A loader of the user's own changes nothing, unless it needs a binary form that has no decoder here.
        registry.set_custom([(25, false), (3614, true), (20_010, true), (20_011, true)].into());
        let pair = ColumnKind::Record([("a".into(), INT), ("b".into(), ColumnKind::Text)].into());
        let price = ColumnKind::Decimal { precision: Some(10), scale: Some(2) };
        let cost = ColumnKind::List(price.clone().into());
        let at = ColumnKind::Timestamp(Fraction::NONE);
        for (oid, expected) in [
            (20_001, ColumnKind::Text),
            (20_002, INT),
            (20_003, pair.clone()),
            (20_004, ColumnKind::List(pair.into())),
            (20_005, ColumnKind::Text),
            (20_006, price.clone()),
            (20_007, cost.clone()),
            (
                20_008,
                ColumnKind::Record([("at".into(), at), ("price".into(), price.clone()), ("cost".into(), cost)].into()),
            ),
            (20_009, price),
            (20_010, ColumnKind::List(ColumnKind::Float { bits: 32 }.into())),
            (20_011, ColumnKind::Text),
            (25, ColumnKind::Text),
            (3614, ColumnKind::Other("tsvector".into())),
        ] {
            assert_eq!(kind(&registry, oid, -1, 0), expected, "{oid}");
        }
    }
}
