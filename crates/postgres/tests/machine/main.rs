//! The machine, on bytes.

mod conversations;
mod copy;
mod model;
mod refusals;
mod replay;
mod session;
#[path = "../support/mod.rs"]
mod support;
mod transitions;
mod types;
