//! The bytes that prepared statements take: their texts, what clients call them, and what servers have said of them. Most
//! are shared by clients, and count once.

use std::sync::atomic::{AtomicI64, Ordering};

static BYTES: AtomicI64 = AtomicI64::new(0);

/// Bytes that count as long as this is kept.
#[derive(Debug)]
pub struct Counted(i64);

impl Counted {
    /// Counts so many.
    pub fn new(bytes: usize) -> Self {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// All of them.
pub fn bytes() -> i64 {
    BYTES.load(Ordering::Relaxed)
}
