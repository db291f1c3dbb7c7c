//! The messages of the protocol, by the names of the manual ("Message Formats", chapter 54.7 of PostgreSQL 18).

pub mod backend;
pub mod frontend;
pub mod tag;
