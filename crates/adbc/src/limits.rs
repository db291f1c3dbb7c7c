//! The limits of the ADBC driver, each with its unit.
//!
//! They are of the crate alone: what is public is in the header of the C library.

use std::time::Duration;

/// Bytes of Arrow values of a record batch after which it ends, unless an option has another number.
pub(crate) const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// The time limit of a cancel request.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// A cancel request is repeated after this: the server may not have begun with the statement when it came.
pub(crate) const CANCEL_AGAIN: Duration = Duration::from_millis(500);
/// The time limit of connecting, by default.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
