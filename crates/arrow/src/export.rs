//! Schemas and batches in Arrow's C data interface, for programs in other languages.

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};

/// `struct ArrowArray`; dropped without having been taken, it releases its memory.
pub use arrow_array::ffi::FFI_ArrowArray as ArrowArray;
/// `struct ArrowArrayStream`; dropped without having been taken, it releases its batches.
pub use arrow_array::ffi_stream::FFI_ArrowArrayStream as ArrowArrayStream;
/// `struct ArrowSchema`
pub use arrow_schema::ffi::FFI_ArrowSchema as ArrowSchema;

/// A schema for other programs.
///
/// # Errors
/// For a name with a NUL character.
pub fn export_schema(schema: &SchemaRef) -> Result<ArrowSchema, ArrowError> {
    ArrowSchema::try_from(&**schema)
}

/// Batches for other programs, which share their memory.
pub fn export_stream(schema: &SchemaRef, batches: Vec<RecordBatch>) -> ArrowArrayStream {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema.clone());
    ArrowArrayStream::new(Box::new(reader))
}

/// Batches for other programs, each when they ask for it.
pub fn export_reader(batches: Box<dyn RecordBatchReader + Send>) -> ArrowArrayStream {
    ArrowArrayStream::new(batches)
}

/// A batch for other programs, which share its memory: a struct of its columns, whose schema is that of the batch.
///
/// # Errors
/// For a name with a NUL character.
pub fn export_array(batch: &RecordBatch) -> Result<ArrowArray, ArrowError> {
    Ok(to_ffi(&StructArray::from(batch.clone()).to_data())?.0)
}
