//! The limits of MySQL's protocol, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// Default level of zstd compression (1 to 22); 3 is the algorithm's own default.
pub const ZSTD_LEVEL: u8 = 3;
/// Tables of which the answer is kept.
pub const TABLES_KNOWN: usize = 256;
