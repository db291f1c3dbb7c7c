//! Any bytes as the replies of a database's server: see the library.
#![no_main]

use headrace_fuzz::database;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some((fuzzed, rest)) = database(data) {
        (fuzzed.machine)(rest);
    }
});
