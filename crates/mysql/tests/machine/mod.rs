//! The machine, on bytes.

mod blocks;
mod cancelling;
mod charsets;
mod conversations;
mod ended;
mod interrupted;
mod replay;
mod stages;
mod transitions;
