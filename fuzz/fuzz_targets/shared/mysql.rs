//! What the tests of the crate share, without their server.

#[path = "../../../crates/mysql/tests/support/caller.rs"]
mod caller;
#[path = "../../../crates/mysql/tests/support/sink.rs"]
pub mod sink;
#[path = "../../../crates/mysql/tests/support/value.rs"]
pub mod value;

pub use caller::{Shared, TestCaller};
