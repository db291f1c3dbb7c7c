//! The type that a parameter is declared with if only Python's value determines it.

use super::{Oid, builtin};
use headrace_core::{Value, ValueKind, limits};

/// The type that a value has by itself, for statements whose parameters take their types from the values; 0 leaves it
/// to the server. Whole numbers take the smallest type that fits, so that they match any function's argument.
pub fn hint<V: Value>(value: &V) -> Oid {
    hint_of(value, value.kind())
}

/// [`hint`], if the kind of the value is known.
#[inline]
pub fn hint_of<V: Value>(value: &V, kind: ValueKind) -> Oid {
    match kind {
        ValueKind::Bool => 16,
        ValueKind::Int => match value.int() {
            Ok(n) if i16::try_from(n).is_ok() => 21,
            Ok(n) if i32::try_from(n).is_ok() => 23,
            Ok(_) => 20,
            Err(_) => 1700,
        },
        ValueKind::Float => 701,
        ValueKind::Decimal => 1700,
        ValueKind::Bytes => 17,
        ValueKind::Date => 1082,
        ValueKind::Time => 1083,
        ValueKind::TimeTz => 1266,
        ValueKind::Timestamp => 1114,
        ValueKind::TimestampTz => 1184,
        ValueKind::Interval => 1186,
        ValueKind::Uuid => 2950,
        ValueKind::Json => 114,
        ValueKind::Jsonb => 3802,
        ValueKind::Inet => 869,
        ValueKind::Cidr => 650,
        ValueKind::Bits => 1562,
        ValueKind::List => match element_hint(value, 0) {
            // As for text itself: it may represent elements of any type.
            25 => 0,
            element => builtin::array_of(element),
        },
        ValueKind::Range => match value.range() {
            Ok(parts) => parts.lower.or(parts.upper).map_or(0, |bound| builtin::range_of(not_whole(hint(&bound)))),
            Err(_) => 0,
        },
        ValueKind::Multirange => match value.item(0) {
            Ok(first) => match first.range() {
                Ok(parts) => parts.lower.or(parts.upper).map_or(0, |b| builtin::multirange_of(not_whole(hint(&b)))),
                Err(_) => 0,
            },
            Err(_) => 0,
        },
        ValueKind::Null
        | ValueKind::Text
        | ValueKind::Set
        | ValueKind::Record
        | ValueKind::Opaque
        | ValueKind::Custom
        | ValueKind::Other => 0,
    }
}

/// Whole numbers bound ranges over integer, bigint and numeric alike, so they determine no type.
fn not_whole(oid: Oid) -> Oid {
    if matches!(oid, 20 | 21 | 23) { 0 } else { oid }
}

/// The hint that serves all elements of a list, the nested ones too.
fn element_hint<V: Value>(list: &V, depth: usize) -> Oid {
    let mut found = 0;
    for i in 0..list.len().unwrap_or(0) {
        let Ok(item) = list.item(i) else { return 0 };
        let one = match item.kind() {
            ValueKind::Null => continue,
            ValueKind::List if depth < limits::NESTING => element_hint(&item, depth + 1),
            ValueKind::Text => 25,
            _ => hint(&item),
        };
        let size = |oid| [21, 23, 20, 1700].iter().position(|int| *int == oid);
        found = match (found, one) {
            (0, one) => one,
            (found, one) if found == one => found,
            (found, one) => match (size(found), size(one)) {
                (Some(a), Some(b)) => [21, 23, 20, 1700][a.max(b)],
                _ => return 0,
            },
        };
    }
    found
}
