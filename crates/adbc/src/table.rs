//! Rows of the driver's own queries: few, and read as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// The rows of some batches.
#[derive(Clone, Debug, Default)]
pub struct Table(Vec<Vec<Option<String>>>);

impl Table {
    /// Reads them.
    pub fn of(batches: &[RecordBatch]) -> Self {
        let mut rows = Vec::new();
        for batch in batches {
            for row in 0..batch.num_rows() {
                rows.push(batch.columns().iter().map(|column| value(column.as_ref(), row)).collect());
            }
        }
        Self(rows)
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Option<String>>] {
        &self.0
    }

    /// The text of a value; `None` if it is null, or there is no such row.
    pub fn text(&self, row: usize, column: usize) -> Option<String> {
        self.0.get(row)?.get(column)?.clone()
    }
}

/// A value as text; `None` for null, and for types that no query of the driver's own has.
fn value(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    macro_rules! number {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row).to_string()
        };
    }
    Some(match array.data_type() {
        // Names in columns of a fixed length are padded.
        DataType::Utf8 => array.as_string::<i32>().value(row).trim_end_matches(' ').to_owned(),
        DataType::Binary => String::from_utf8_lossy(array.as_binary::<i32>().value(row)).into_owned(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Decimal128(_, 0) => number!(Decimal128Type),
        _ => return None,
    })
}

impl Table {
    /// The rows, to be taken apart.
    pub fn into_rows(self) -> Vec<Vec<Option<String>>> {
        self.0
    }
}
