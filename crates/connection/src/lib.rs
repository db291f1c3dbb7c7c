//! A connection without a socket: a protocol, optional TLS, and both buffers. Bytes in, bytes out.
//!
//! * [`Connection`] is what a driver loop owns: opening, the next step, the loss of the connection, the server's
//!   closing error;
//! * [`Buffers`] is its lower half, which does not depend on a protocol: where received bytes are stored, what is to be
//!   written now, and TLS between the two. A loop that must not use the protocol while it waits moves bytes with this
//!   half alone;
//! * [`Driven`] is what a connection needs of a protocol, and is object-safe.
//!
//! The loops are in `headrace-io` (blocking, tokio) and in the Python extension (asyncio).
#![forbid(unsafe_code)]

mod buffers;
mod connection;
mod limits;

pub use buffers::Buffers;
pub use connection::{Connection, Driven, Limits, Silence, TlsSettings};
