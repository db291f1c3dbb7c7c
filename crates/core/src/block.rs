//! Transaction blocks of the program whose transaction the server has ended.
//!
//! A block promises that all of it is committed, or nothing. After a deadlock the server has rolled back what came
//! before, and would execute what follows outside of the block's transaction. So nothing of the block is sent any more:
//! its requests fail with the error of [`refused`], and its end becomes a rollback that fails with that of
//! [`not_committed`]. PostgreSQL's server does the same (SQLSTATE 25P02, `in_failed_sql_transaction`).
//!
//! | event | before | after |
//! |---|---|---|
//! | the server has ended the transaction of a block | whole | lost |
//! | a request of the block is to be started | lost | lost; the request fails |
//! | the end of the block is to be started | lost | lost; a COMMIT is sent as ROLLBACK, and fails |
//! | another block begins | lost | whole |
//!
//! Transactions that no block began are not in this table: after a deadlock the next statement begins another.

use crate::Mismatch;
use crate::protocol::shortened;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What becomes of a request of a block that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// It fails without being sent.
    Refused,
    /// It is sent: it neither reads nor changes anything in the transaction.
    Sent,
    /// It commits the block: a rollback is sent in its place, and it fails.
    Commits,
    /// It rolls the block back.
    RollsBack,
}

impl WhenLost {
    /// Returns true if the request ends the block.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Commits | Self::RollsBack)
    }
}

/// A block whose transaction the server has ended.
#[derive(Debug)]
struct Lost {
    /// Its number.
    block: u64,
    /// The server's error.
    reason: String,
}

/// The blocks of the program. Each request has the number of the block in which it was submitted, 0 for none.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The number of the one that is open; 0 if none is. The program's side sets it.
    open: Arc<AtomicU64>,
    lost: Option<Lost>,
}

impl Blocks {
    pub(crate) fn shared(&self) -> &Arc<AtomicU64> {
        &self.open
    }

    /// The number of the block that is open.
    pub(crate) fn open(&self) -> u64 {
        self.open.load(Ordering::SeqCst)
    }

    /// The server has ended the transaction of a block with an error.
    pub(crate) fn lose(&mut self, block: u64, reason: &str) {
        // What came first is the reason, and later errors may be its consequence.
        if block != 0 && self.reason(block).is_none() {
            self.lost = Some(Lost { block, reason: shortened(reason) });
        }
    }

    /// Why a block is lost, if it is.
    pub(crate) fn reason(&self, block: u64) -> Option<&str> {
        self.lost.as_ref().filter(|lost| lost.block == block).map(|lost| lost.reason.as_str())
    }
}

/// The error of a request that was not sent.
pub(crate) fn refused(reason: &str) -> Mismatch {
    Mismatch::lost_transaction(format!(
        "not executed: the server has rolled back the transaction of this transaction() block because of an earlier \
         error: {reason}. Leave the block, and repeat all of it"
    ))
}

/// The error of the end of a block.
pub(crate) fn not_committed(reason: &str) -> Mismatch {
    Mismatch::lost_transaction(format!(
        "the transaction was rolled back, not committed: the server had ended it before the end of its transaction() \
         block, because of the error: {reason}. Repeat all of the block"
    ))
}
