//! Arrays of nested types, of which ADBC's metadata consists.

use arrow_array::{ArrayRef, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use std::sync::Arc;

/// Lists, of which some are null; `values` are those of all.
///
/// # Errors
/// The values are not of the type.
pub fn lists<T>(ty: &DataType, all: &[Option<&Vec<T>>], values: ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let DataType::List(item) = ty else { return Err(ArrowError::SchemaError("not a list".to_owned())) };
    let lengths = all.iter().map(|list| list.map_or(0, Vec::len));
    let nulls: NullBuffer = all.iter().map(Option::is_some).collect();
    Ok(Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), values, Some(nulls))?))
}

/// Structs, none of which is null.
///
/// # Errors
/// The columns are not of the type.
pub fn structs(ty: &DataType, columns: Vec<ArrayRef>) -> std::result::Result<ArrayRef, ArrowError> {
    let DataType::Struct(fields) = ty else { return Err(ArrowError::SchemaError("not a struct".to_owned())) };
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

/// A column of text.
pub fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// The type of a field of a struct, or of the only field of a list's.
///
/// # Errors
/// There is none of this name.
pub fn field<'a>(ty: &'a DataType, name: &str) -> std::result::Result<&'a DataType, ArrowError> {
    let found = match ty {
        DataType::Struct(fields) => fields.find(name).map(|(_, field)| field.data_type()),
        _ => None,
    };
    found.ok_or_else(|| ArrowError::SchemaError(format!("no field {name}")))
}
