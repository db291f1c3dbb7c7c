//! Any bytes into every decoder of a database: see the library.
#![no_main]

use headrace_fuzz::database;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some((fuzzed, rest)) = database(data) {
        (fuzzed.decode)(rest);
    }
});
