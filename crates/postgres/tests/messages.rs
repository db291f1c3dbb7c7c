//! Messages that the client must not send.

use headrace_core::{Mismatch, limits};
use headrace_postgres::messages::frontend;

#[test]
fn parameters_that_are_too_long_together_are_refused() {
    let mut out = Vec::new();
    let bound = frontend::bind::<Mismatch>(&mut out, "", "", 1, &[0, 0], |_, out| {
        // Zeros that are not read take no memory.
        *out = vec![0; limits::MESSAGE_BYTES];
        Ok(1)
    });
    let refusal = bound.unwrap_err();
    assert!(format!("{refusal:?}").contains("bytes together"), "{refusal:?}");
}
