//! The results of queries that the server keeps in a transaction.
//!
//! A transaction has room for a number of them (`max_query_per_tran`, 100 by default). A result that was read to its end
//! stays until its statement is executed again or closed, or until the transaction ends. The oldest one is therefore
//! closed, in the same write as the next execution, where there would be too many.

use crate::limits::RESULTS_KEPT;
use std::collections::VecDeque;

/// The handles of the statements whose results the server keeps, the oldest first. All of them were read to their end,
/// but for the last, as no request is sent while a result is read.
#[derive(Debug, Default)]
pub(super) struct OpenResults(VecDeque<i32>);

impl OpenResults {
    /// A query is executed in the transaction. Returns the handle whose result has to be closed before.
    pub fn open(&mut self, handle: i32) -> Option<i32> {
        self.0.retain(|known| *known != handle);
        let oldest = if self.0.len() < RESULTS_KEPT { None } else { self.0.pop_front() };
        self.0.push_back(handle);
        oldest
    }

    /// Statements are closed, and their results with them.
    pub fn close(&mut self, handles: &[i32]) {
        self.0.retain(|known| !handles.contains(known));
    }

    /// The transaction has ended.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_result_is_closed_where_there_would_be_too_many() {
        let mut results = OpenResults::default();
        let kept = RESULTS_KEPT as i32;
        assert!((1..=kept).all(|handle| results.open(handle).is_none()));
        assert_eq!((results.open(1), results.open(kept + 1), results.open(kept + 2)), (None, Some(2), Some(3)));
        results.close(&[5, 6]);
        assert_eq!((results.open(kept + 3), results.open(kept + 4), results.open(kept + 5)), (None, None, Some(4)));
        results.clear();
        assert_eq!(results.open(1), None);
    }
}
