//! All tests in one program: each program more would compile and link the crate's code again.

mod any_bytes;
mod relay;
