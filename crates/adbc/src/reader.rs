//! A result that is read batch by batch.

use crate::call::Reply;
use crate::error::of;
use crate::link::{CLOSED, Link};
use crate::outcome::Failure;
use adbc_core::error::{Error, Status};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The batches of a result.
pub struct Reader {
    link: Link,
    reply: Arc<Reply>,
    schema: SchemaRef,
    over: bool,
    failure: Failure,
}

impl Reader {
    /// Of a statement that was executed.
    fn new(link: Link, reply: Arc<Reply>) -> Self {
        let schema = reply.schema();
        Self { link, reply, schema, over: false, failure: Failure::default() }
    }
}

impl Reader {
    /// The same, or the error of a statement that has failed before its first batch.
    ///
    /// # Errors
    /// That error.
    pub fn begin(link: Link, reply: Arc<Reply>) -> Result<Self, Error> {
        let beginning = reply.check_beginning();
        // Dropped with an error, it ends the request.
        let reader = Self::new(link, reply);
        beginning.map(|()| reader)
    }

    /// Where the error is that has ended the stream: of Arrow's interface, it has no other form than text.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            // Who asks again after an error does not find a complete result.
            return self.failure.error().map(|error| Err(external(&error)));
        }
        // The C interface of a stream ends the process where a panic reaches it. Afterwards the session is in step or
        // closed, as after any panic within a request, and this stream has ended.
        let next = catch_unwind(AssertUnwindSafe(|| self.link.next(&self.reply)))
            .unwrap_or_else(|_| Err(of(Status::Internal, "a panic in the driver: see the standard error output")));
        self.over = !matches!(next, Ok(Some(_)));
        next.inspect_err(|error| self.failure.set(error.clone())).map_err(|error| external(&error)).transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.link.release(&self.reply, CLOSED);
    }
}

/// An error in the course of a stream, as Arrow has it: text.
fn external(error: &Error) -> ArrowError {
    ArrowError::ExternalError(error.to_string().into())
}
