//! All tests in one program: each program more would compile and link the crate's code again.

mod batches;
mod codecs;
mod genuine;
mod machine;
mod meanings;
mod server;
mod sql;
mod support;
mod tls;
