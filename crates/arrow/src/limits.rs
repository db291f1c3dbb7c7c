//! The limits of Arrow record batches, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// Bytes of the values of an Arrow record batch after which it ends, however few its rows are.
pub const ARROW_BATCH_BYTES: usize = 64 * 1024 * 1024;
/// The largest number of such bytes that a caller may choose: with one more message of [`MESSAGE_BYTES`] the offsets of
/// texts are still 32 bits.
pub const ARROW_BATCH_BYTES_MAX: usize = 1 << 30;
/// Characters of a value that are shown in an error.
pub const SHOWN_CHARACTERS: usize = 60;
