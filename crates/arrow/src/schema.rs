//! The Arrow schema of a result's columns.

use crate::options::{
    ArrowOptions, DECIMAL128_PRECISION, DECIMAL256_PRECISION, Numeric, UNLIMITED_PRECISION, UNLIMITED_SCALE,
};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use headrace_core::Column;
use headrace_core::column::{self, ColumnKind, Fraction, Part};
use std::collections::HashMap;
use std::sync::Arc;

/// The key of a field's metadata whose value is the name or number of the column's type in the server's own terms.
pub const SERVER_TYPE: &str = "headrace:server_type";
/// The key of the name of a canonical extension type (Arrow's documentation, "Canonical Extension Types").
pub const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of an extension type's parameters.
pub const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The schema of these columns. Names may repeat, as they may in SQL.
pub fn schema(columns: &[Column], options: &ArrowOptions) -> Schema {
    Schema::new(columns.iter().map(|column| field(column, options)).collect::<Vec<_>>())
}

/// The field of a column. It is nullable whatever the server reports: a date that no calendar has may become null.
pub fn field(column: &Column, options: &ArrowOptions) -> Field {
    let data_type = match &column.kind {
        // In every way: the text of zeros and ones would be other bits there.
        ColumnKind::Bits if column.native.takes_bits_as_bytes() => DataType::Binary,
        kind => data_type(kind, options),
    };
    let field = Field::new(&*column.name, data_type, true);
    let mut metadata = extension(&column.kind);
    if is_text_instead(&column.kind) {
        metadata.insert(SERVER_TYPE.to_owned(), server_type(column));
    }
    field.with_metadata(metadata)
}

/// A field for values of a kind, without the column that they are of.
pub fn inner(name: &str, kind: &ColumnKind, options: &ArrowOptions) -> Field {
    Field::new(name, data_type(kind, options), true).with_metadata(extension(kind))
}

fn extension(kind: &ColumnKind) -> HashMap<String, String> {
    let name = match kind {
        ColumnKind::Uuid => "arrow.uuid",
        ColumnKind::Json => "arrow.json",
        _ => return HashMap::new(),
    };
    [(EXTENSION_NAME, name), (EXTENSION_METADATA, "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Returns true if values of this kind become text, as Arrow has no type for them.
pub(crate) fn is_text_instead(kind: &ColumnKind) -> bool {
    match kind {
        ColumnKind::Other(_) | ColumnKind::TimeTz(_) | ColumnKind::Inet | ColumnKind::Bits => true,
        ColumnKind::Record(fields) => fields.is_empty(),
        _ => false,
    }
}

fn server_type(column: &Column) -> String {
    if let ColumnKind::Other(name) = &column.kind {
        return name.to_string();
    }
    column.native.identification()
}

/// The type for values of a kind.
pub fn data_type(kind: &ColumnKind, options: &ArrowOptions) -> DataType {
    if is_text_instead(kind) {
        return DataType::Utf8;
    }
    match kind {
        ColumnKind::Null => DataType::Null,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Int { bits: 8, signed: true } => DataType::Int8,
        ColumnKind::Int { bits: 16, signed: true } => DataType::Int16,
        ColumnKind::Int { bits: 32, signed: true } => DataType::Int32,
        ColumnKind::Int { signed: true, .. } => DataType::Int64,
        ColumnKind::Int { bits: 8, .. } => DataType::UInt8,
        ColumnKind::Int { bits: 16, .. } => DataType::UInt16,
        ColumnKind::Int { bits: 32, .. } => DataType::UInt32,
        ColumnKind::Int { .. } => DataType::UInt64,
        ColumnKind::Float { bits: 32 } => DataType::Float32,
        ColumnKind::Float { .. } => DataType::Float64,
        ColumnKind::Decimal { precision, scale } => decimal(*precision, *scale, options.numeric),
        ColumnKind::Bytes => DataType::Binary,
        ColumnKind::Date => DataType::Date32,
        ColumnKind::Time(fraction) => match unit(*fraction) {
            TimeUnit::Microsecond => DataType::Time64(TimeUnit::Microsecond),
            unit => DataType::Time32(unit),
        },
        ColumnKind::Timestamp(fraction) => DataType::Timestamp(unit(*fraction), None),
        ColumnKind::TimestampTz(fraction) => DataType::Timestamp(unit(*fraction), Some("UTC".into())),
        // A span of hours, of days and hours: they are counted in one unit. A day of an interval that may have months is a
        // day of the calendar. Spans of months alone have the same type as others: few programs read Arrow's own for them.
        ColumnKind::Interval { first, fraction, .. } if *first >= Part::Day => DataType::Duration(unit(*fraction)),
        ColumnKind::Interval { .. } => DataType::Interval(IntervalUnit::MonthDayNano),
        ColumnKind::Uuid => DataType::FixedSizeBinary(16),
        ColumnKind::List(item) => DataType::List(Arc::new(inner("item", item, options))),
        ColumnKind::Multirange(item) => DataType::List(Arc::new(Field::new("item", range(item, options), true))),
        ColumnKind::Range(item) => range(item, options),
        ColumnKind::Record(fields) => {
            DataType::Struct(fields.iter().map(|(name, kind)| inner(name, kind, options)).collect())
        }
        ColumnKind::Text
        | ColumnKind::Json
        | ColumnKind::TimeTz(_)
        | ColumnKind::Inet
        | ColumnKind::Bits
        | ColumnKind::Other(_) => DataType::Utf8,
    }
}

/// A range: its bounds, null where it has none.
fn range(kind: &ColumnKind, options: &ArrowOptions) -> DataType {
    let flag = |name: &str| Field::new(name, DataType::Boolean, false);
    DataType::Struct(Fields::from(vec![
        inner("lower", kind, options),
        inner("upper", kind, options),
        flag("lower_inc"),
        flag("upper_inc"),
        flag("empty"),
    ]))
}

pub(crate) fn unit(fraction: Fraction) -> TimeUnit {
    match fraction.unit() {
        column::TimeUnit::Second => TimeUnit::Second,
        column::TimeUnit::Millisecond => TimeUnit::Millisecond,
        column::TimeUnit::Microsecond => TimeUnit::Microsecond,
    }
}

fn decimal(precision: Option<u16>, scale: Option<i16>, numeric: Numeric) -> DataType {
    if numeric == Numeric::Float64 {
        return DataType::Float64;
    }
    if let (Some(precision), Some(scale)) = (precision, scale) {
        // SQL's scale may be negative, or larger than the precision; Arrow's may not be larger, and few programs read
        // a negative one.
        let digits = (i32::from(precision) - i32::from(scale).min(0)).max(scale.into());
        let scale = scale.max(0);
        if let (Ok(digits), Ok(scale)) = (u8::try_from(digits), i8::try_from(scale)) {
            if digits <= DECIMAL128_PRECISION {
                return DataType::Decimal128(digits, scale);
            }
            if digits <= DECIMAL256_PRECISION {
                return DataType::Decimal256(digits, scale);
            }
        }
    }
    match numeric {
        Numeric::Text => DataType::Utf8,
        _ => DataType::Decimal128(UNLIMITED_PRECISION, UNLIMITED_SCALE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(kind: &ColumnKind, numeric: Numeric) -> DataType {
        data_type(kind, &ArrowOptions { numeric, ..ArrowOptions::default() })
    }

    #[test]
    fn numbers_have_the_type_of_their_digits() {
        use Numeric::{Decimal, Float64, Text};
        for (precision, scale, numeric, wanted) in [
            (Some(10), Some(2), Decimal, DataType::Decimal128(10, 2)),
            (Some(38), Some(0), Text, DataType::Decimal128(38, 0)),
            (Some(39), Some(5), Decimal, DataType::Decimal256(39, 5)),
            (Some(3), Some(-2), Decimal, DataType::Decimal128(5, 0)),
            (Some(2), Some(5), Decimal, DataType::Decimal128(5, 5)),
            (Some(100), Some(5), Decimal, DataType::Decimal128(38, 20)),
            (Some(100), Some(5), Text, DataType::Utf8),
            (None, None, Decimal, DataType::Decimal128(38, 20)),
            (None, None, Text, DataType::Utf8),
            (None, None, Float64, DataType::Float64),
            (Some(10), Some(2), Float64, DataType::Float64),
        ] {
            assert_eq!(with(&ColumnKind::Decimal { precision, scale }, numeric), wanted, "{precision:?}, {scale:?}");
        }
    }

    #[test]
    fn times_have_the_unit_of_their_fraction() {
        for (digits, wanted) in [(0, TimeUnit::Second), (3, TimeUnit::Millisecond), (6, TimeUnit::Microsecond)] {
            let fraction = Fraction::new(digits);
            assert_eq!(with(&ColumnKind::Timestamp(fraction), Numeric::Decimal), DataType::Timestamp(wanted, None));
        }
        let interval =
            |first, last| with(&ColumnKind::Interval { first, last, fraction: Fraction::MICROS }, Numeric::Decimal);
        assert_eq!(interval(Part::Year, Part::Month), DataType::Interval(IntervalUnit::MonthDayNano));
        assert_eq!(interval(Part::Hour, Part::Second), DataType::Duration(TimeUnit::Microsecond));
        assert_eq!(interval(Part::Year, Part::Second), DataType::Interval(IntervalUnit::MonthDayNano));
    }
}
