//! What an execution returns beside its stream of record batches: the number of changed rows, and the error that ends the
//! stream. The traits of `adbc_core` have no place for either; [`crate::exported`] hands them to the driver manager.

use adbc_core::error::Error;
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

/// The error that has ended a stream, once there is one.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    /// The error.
    pub fn error(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The stream has ended with it.
    pub fn set(&self, error: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// What an execution has reported.
#[derive(Debug)]
pub struct Outcome {
    /// The number of rows that it has changed; `None` if that is unknown, or it returns rows.
    pub affected: Option<i64>,
    /// That of its stream; `None` if it is in memory.
    pub failure: Option<Failure>,
}

thread_local! {
    /// Of the call that this thread is in.
    static LAST: Cell<Option<Outcome>> = const { Cell::new(None) };
}

/// Reports what the stream that is returned next does not have.
pub fn report(affected: Option<i64>, failure: Option<Failure>) {
    LAST.set(Some(Outcome { affected, failure }));
}

/// Takes what was reported in this thread.
pub fn take() -> Option<Outcome> {
    LAST.take()
}
