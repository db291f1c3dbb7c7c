//! The limits of a connection, each with its unit.

/// Bytes of ciphertext that are read at a time.
pub const TLS_CIPHERTEXT_BYTES: usize = 64 * 1024;
/// How many times in a row a server may redirect to another server.
pub const REDIRECTS: usize = 8;
