//! Any bytes into everything of the daemon that reads what a client or a server sends.
#![no_main]

#[path = "../../crates/daemon/tests/support/any_bytes.rs"]
mod any_bytes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| any_bytes::read(data));
