//! The limits and times that the test servers share, by name and with their units.

use std::time::Duration;

/// How long a server that is silent on purpose stays so. The client's timeout ends it; no test takes as long.
pub const SILENCE: Duration = Duration::from_secs(3600);
/// The stack of a session's thread, in bytes: expressions are read by recursion. Only what is used of it takes memory.
pub const STACK: usize = 64 << 20;
