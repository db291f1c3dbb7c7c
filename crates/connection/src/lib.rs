//! A connection without a socket: a protocol, TLS where it is asked for, and both buffers. Bytes in, bytes out.
//!
//! * [`Connection`] is what a driver loop owns: opening, what to do next, loss, the server's last message;
//! * [`Buffers`] is its lower half, which knows no protocol: where received bytes land, what is to be written now, and TLS
//!   between the two. A loop that may not touch the protocol while it waits moves bytes with this half alone;
//! * [`Driven`] is what a connection needs of a protocol, and fits behind a pointer.
//!
//! The loops are in `headrace-io` (blocking, tokio) and in the Python extension (asyncio).
#![forbid(unsafe_code)]

mod buffers;
mod connection;

pub use buffers::Buffers;
pub use connection::{Connection, Driven, Limits, Silence, TlsSettings};
