//! The types of PostgreSQL, their decoders and encoders.
//!
//! A [`Decoder`] or [`Encoder`] is chosen once per column or parameter of a statement; the hot loops only follow it.

mod builtin;
mod column;
pub mod copy_binary;
mod copy_text;
mod decode;
mod encode;
mod extension;
mod hint;
mod inside;
mod introspect;
mod literal;
mod numeric;
pub mod oid;
mod pg_type;
mod refusal;
mod registry;
mod scalars;
mod sql_literal;
mod text;
mod write;

pub(crate) use builtin::is_multirange_of;
pub use builtin::name;
pub use column::{PostgresType, columns, kinds, precision_and_scale, size};
pub use copy_binary::{decode_binary_row, encode_binary_row};
pub use copy_text::{decode_text_line, encode_text_row};
pub use decode::{Decoder, decode_row, find_cells};
pub use encode::Encoder;
pub use hint::{hint, hint_of, time_hint};
pub use inside::{Inside, Texts};
pub use introspect::{introspection_query, introspection_query_after};
pub use refusal::EXECUTED;
pub use registry::{TypeKind, TypeRegistry, UserType};
pub use sql_literal::write_literal;
pub use text::DateOrder;

/// The number of a type in `pg_type`.
pub type Oid = u32;

/// The transfer format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As SQL text.
    Text,
    /// In the type's binary form.
    Binary,
}

/// Dimensions of an array that the server accepts (`MAXDIM` in its `utils/array.h`).
pub(crate) const DIMENSIONS: usize = 6;

/// Days from 1970-01-01 to 2000-01-01, PostgreSQL's own epoch.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub(crate) const EPOCH_MICROS: i64 = 946_684_800_000_000;
