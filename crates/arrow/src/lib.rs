//! Results as Arrow record batches, decoded column by column from the wire.
//!
//! * [`schema`]: the Arrow schema of a result's columns;
//! * [`batches`]: a [`headrace_core::ColumnSink`] that makes record batches of a bounded size;
//! * [`export`]: schemas and batches in Arrow's C data interface;
//! * [`input`]: record batches of other programs as rows of parameters; [`foreign`]: the streams that they come in;
//! * [`builder`]: the values of one column: flat ones, texts, lists, structs; [`unconstrained`]: numbers of any digits.
//!
//! One policy holds for rows and for Arrow: every value is exact, or the result fails with the column's name.
#![deny(unsafe_code)]

pub mod batches;
pub mod builder;
pub mod export;
pub mod flat;
#[allow(unsafe_code)]
pub mod foreign;
pub mod input;
pub mod limits;
pub mod nested;
pub mod options;
pub mod schema;
pub mod text;
pub mod unconstrained;

pub use arrow_array::{RecordBatch, RecordBatchReader};
pub use arrow_schema::{ArrowError, SchemaRef};
pub use batches::{Batches, Refused};
pub use options::{ArrowOptions, Nanoseconds, Numeric};
pub use schema::schema;
