//! The machine, on bytes.

mod blocks;
mod conversations;
mod replay;
mod stages;
#[path = "../support/mod.rs"]
mod support;
mod transitions;
