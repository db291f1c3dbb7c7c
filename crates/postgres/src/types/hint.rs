//! The type that a parameter is declared with if only Python's value determines it.

use super::{DIMENSIONS, Oid, builtin, oid};
use headrace_core::{Value, ValueKind};

/// The type that a value has by itself, for statements whose parameters take their types from the values;
/// [`oid::UNSPECIFIED`] leaves it to the server. Whole numbers take the smallest type that fits, so that they match any function's argument.
pub fn hint<V: Value>(value: &V) -> Oid {
    hint_of(value, value.kind())
}

/// [`hint`] of dates and times, and of lists of them; all other types are left to the server.
pub fn time_hint<V: Value>(value: &V) -> Oid {
    let kind = value.kind();
    match kind {
        ValueKind::Date
        | ValueKind::Time
        | ValueKind::TimeTz
        | ValueKind::Timestamp
        | ValueKind::TimestampTz
        | ValueKind::List => {
            let hint = hint_of(value, kind);
            let is_time = oid::TIMES.iter().any(|time| [*time, builtin::array_of(*time)].contains(&hint));
            if is_time { hint } else { oid::UNSPECIFIED }
        }
        _ => oid::UNSPECIFIED,
    }
}

/// [`hint`], if the kind of the value is known.
#[inline]
pub fn hint_of<V: Value>(value: &V, kind: ValueKind) -> Oid {
    match kind {
        ValueKind::Bool => oid::BOOL,
        ValueKind::Int => match value.int() {
            Ok(n) if i16::try_from(n).is_ok() => oid::INT2,
            Ok(n) if i32::try_from(n).is_ok() => oid::INT4,
            Ok(_) => oid::INT8,
            Err(_) => oid::NUMERIC,
        },
        ValueKind::Float => oid::FLOAT8,
        ValueKind::Decimal => oid::NUMERIC,
        ValueKind::Bytes => oid::BYTEA,
        ValueKind::Date => oid::DATE,
        ValueKind::Time => oid::TIME,
        ValueKind::TimeTz => oid::TIMETZ,
        ValueKind::Timestamp => oid::TIMESTAMP,
        ValueKind::TimestampTz => oid::TIMESTAMPTZ,
        ValueKind::Interval => oid::INTERVAL,
        ValueKind::Uuid => oid::UUID,
        ValueKind::Json if value.is_untyped() => oid::UNSPECIFIED,
        ValueKind::Json => oid::JSON,
        ValueKind::Jsonb => oid::JSONB,
        ValueKind::Inet => oid::INET,
        ValueKind::Cidr => oid::CIDR,
        ValueKind::Bits => oid::VARBIT,
        ValueKind::List if value.is_untyped() => oid::UNSPECIFIED,
        ValueKind::List => match element_hint(value) {
            // As for text itself: it may represent elements of any type.
            oid::TEXT => oid::UNSPECIFIED,
            element => builtin::array_of(element),
        },
        ValueKind::Range => match value.range() {
            Ok(parts) => {
                parts.lower.or(parts.upper).map_or(oid::UNSPECIFIED, |bound| builtin::range_of(not_whole(hint(&bound))))
            }
            Err(_) => oid::UNSPECIFIED,
        },
        ValueKind::Multirange => match value.item(0) {
            Ok(first) => match first.range() {
                Ok(parts) => parts
                    .lower
                    .or(parts.upper)
                    .map_or(oid::UNSPECIFIED, |b| builtin::multirange_of(not_whole(hint(&b)))),
                Err(_) => oid::UNSPECIFIED,
            },
            Err(_) => oid::UNSPECIFIED,
        },
        ValueKind::Null
        | ValueKind::Text
        | ValueKind::Set
        | ValueKind::Record
        | ValueKind::Opaque
        | ValueKind::Custom
        | ValueKind::Other => oid::UNSPECIFIED,
    }
}

/// Whole numbers bound ranges over integer, bigint and numeric alike, so they determine no type.
fn not_whole(oid: Oid) -> Oid {
    if matches!(oid, oid::INT2 | oid::INT4 | oid::INT8) { oid::UNSPECIFIED } else { oid }
}

/// The hint that serves all elements of a list, the nested ones too.
fn element_hint<V: Value>(list: &V) -> Oid {
    let mut found = oid::UNSPECIFIED;
    match widen(list, 0, &mut found) {
        Some(()) => found,
        None => oid::UNSPECIFIED,
    }
}

/// Makes a hint serve the elements of a list, too; None if no hint does. An array has few dimensions, so that a list
/// which contains itself ends this soon.
fn widen<V: Value>(list: &V, depth: usize, found: &mut Oid) -> Option<()> {
    for i in 0..list.len().unwrap_or(0) {
        let item = list.item(i).ok()?;
        let one = match item.kind() {
            ValueKind::Null => continue,
            ValueKind::List if item.is_untyped() => return None,
            ValueKind::List if depth + 1 < DIMENSIONS => {
                widen(&item, depth + 1, found)?;
                continue;
            }
            ValueKind::List => return None,
            ValueKind::Text => oid::TEXT,
            _ => hint(&item),
        };
        let size = |oid| oid::NUMBERS.iter().position(|int| *int == oid);
        *found = match (*found, one) {
            (oid::UNSPECIFIED, one) => one,
            (found, one) if found == one => found,
            (found, one) => match (size(found), size(one)) {
                (Some(a), Some(b)) => oid::NUMBERS[a.max(b)],
                _ => return None,
            },
        };
    }
    Some(())
}
