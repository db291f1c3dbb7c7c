//! The limits of MySQL's protocol, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// Default level of zstd compression (1 to 22); 3 is the algorithm's own default.
pub const ZSTD_LEVEL: u8 = 3;
/// Digits before the point that the server reads of a number: nine groups of nine (`DECIMAL_BUFF_LENGTH`). Of one with
/// more it makes 65 nines, also where that is stored as text.
pub const NUMBER_DIGITS: usize = 81;
/// Tables of which the answer is kept.
pub const TABLES_KNOWN: usize = 256;
