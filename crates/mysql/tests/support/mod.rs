//! What the tests share: a caller that notes what it is told, values, and sessions over a socket or a recording.
#![allow(dead_code, unused_imports)] // Each test file uses its part.

mod caller;
pub mod recorded;
pub mod server;
pub mod session;
pub mod sink;
pub mod value;

#[allow(unused_imports)]
pub use caller::{Shared, TestCaller, Told};
