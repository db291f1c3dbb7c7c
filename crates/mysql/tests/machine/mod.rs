//! The machine, on bytes.

mod blocks;
mod conversations;
mod replay;
mod stages;
mod transitions;
