//! The limits of TLS, each with its unit, and those of the engine.

pub use headrace_core::limits::*;

/// Bytes of plaintext that are encrypted at a time, so that ciphertext never outgrows the write buffer by much.
pub const TLS_PLAINTEXT_BYTES: usize = 64 * 1024;
/// TLS configurations that a process keeps, each with the certificates that it read and the sessions that can be
/// resumed.
pub const TLS_CONFIGURATIONS: usize = 64;
/// Seconds after which the system's certificate store is read again.
pub const TLS_STORE_SECONDS: u64 = 60;
