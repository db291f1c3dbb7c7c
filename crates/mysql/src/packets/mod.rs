//! Packets, by the names that the manuals give them. Each file holds one family, reading and writing side by side.

pub mod body;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod compress;
pub mod frame;
pub mod handshake;
pub mod reply;
