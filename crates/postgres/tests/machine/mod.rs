//! The machine, on bytes.

mod batch_copy;
mod batch_joined;
mod conversations;
mod copy;
mod definitions;
mod ends;
mod model;
mod pooled;
mod records;
mod refusals;
mod replay;
mod session;
mod streamed;
mod transitions;
mod types;
