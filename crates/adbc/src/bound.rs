//! Rows of parameters: record batches that the program has bound.

use crate::session::Cancel;
use adbc_core::error::{Error, Status};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::SchemaRef;
use headrace_arrow::export::export_reader;
use headrace_arrow::input::{Batch, Cell, Input, InputError, Meaning, Row};
use headrace_core::{Mismatch, Parameters, limits};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The reason why a row of parameters was not sent.
#[derive(Clone, Debug)]
pub enum Unsent {
    /// A value does not fit.
    Mismatch(Mismatch),
    /// The stream has failed.
    Stream(String),
    /// The program has cancelled the statement.
    Cancelled,
}

impl From<Mismatch> for Unsent {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(mismatch)
    }
}

impl From<InputError> for Unsent {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Producer(_) => Self::Stream(error.to_string()),
            InputError::NoBatches(_) => Mismatch::wrong_type(error.to_string()).into(),
            InputError::Unsupported(..) | InputError::Malformed(..) => Mismatch::out_of_range(error.to_string()).into(),
        }
    }
}

impl Unsent {
    /// As an error of ADBC, about a row.
    pub fn into_error(self, row: Option<u64>) -> Error {
        match self {
            Self::Mismatch(mismatch) => crate::error::of_mismatch(&mismatch, row),
            Self::Stream(message) => Error::with_message_and_status(message, Status::IO),
            Self::Cancelled => crate::error::cancelled(),
        }
    }
}

/// Rows of parameters.
pub struct Bound {
    input: Option<Input>,
    /// Of one batch: it can be read again.
    only: Option<(RecordBatch, Meaning)>,
    schema: SchemaRef,
    batch: Option<Arc<Batch>>,
    at: usize,
    kept: Kept,
    /// Batches that were read already, before the next one.
    ahead: VecDeque<Arc<Batch>>,
    /// No row is sent once it is wanted.
    cancel: Option<Arc<Cancel>>,
}

/// The batches until now, so that they can be read again.
#[derive(Default)]
struct Kept {
    batches: Vec<Arc<Batch>>,
    bytes: usize,
    /// The number of those that were read since the last rewind.
    next: usize,
    /// There were too many.
    lost: bool,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Bound {
    /// The rows of a batch.
    ///
    /// # Errors
    /// It has a column that cannot be sent.
    pub fn batch(batch: RecordBatch, meaning: Meaning) -> Result<Self, Unsent> {
        let (schema, input) = (batch.schema(), input_of(&batch, meaning)?);
        Ok(Self {
            input: Some(input),
            only: Some((batch, meaning)),
            schema,
            batch: None,
            at: 0,
            kept: Kept::default(),
            ahead: VecDeque::new(),
            cancel: None,
        })
    }

    /// The rows of a stream.
    ///
    /// # Errors
    /// It has a column that cannot be sent.
    pub fn stream(reader: Box<dyn RecordBatchReader + Send>, meaning: Meaning) -> Result<Self, Unsent> {
        let schema = reader.schema();
        let input = Some(Input::of_stream(export_reader(reader), meaning)?);
        let (kept, ahead) = (Kept::default(), VecDeque::new());
        Ok(Self { input, only: None, schema, batch: None, at: 0, kept, ahead, cancel: None })
    }

    /// The same rows, until the statement is cancelled: the source of a stream may take its time.
    pub fn until(self, cancel: Arc<Cancel>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    fn check_cancelled(&self) -> Result<(), Unsent> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.is_wanted()) { Err(Unsent::Cancelled) } else { Ok(()) }
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns true if there is exactly one row, in a batch or a stream, of which as much is read. To be called before the
    /// first row.
    ///
    /// # Errors
    /// The stream has failed.
    pub fn is_one(&mut self) -> Result<bool, Unsent> {
        if let Some((batch, _)) = &self.only {
            return Ok(batch.num_rows() == 1);
        }
        let (mut ahead, mut rows) = (VecDeque::new(), 0);
        while rows < 2
            && let Some(batch) = self.next_batch()?
        {
            rows += batch.rows();
            ahead.push_back(batch);
        }
        self.ahead = ahead;
        Ok(rows == 1)
    }

    /// To the next row; false after the last.
    ///
    /// # Errors
    /// The stream has failed, or the row is null.
    pub fn advance(&mut self) -> Result<bool, Unsent> {
        match &self.batch {
            Some(batch) if self.at + 1 < batch.rows() => {
                self.check_cancelled()?;
                self.at += 1;
            }
            _ => {
                self.batch = self.next_batch()?;
                self.at = 0;
            }
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        batch.settle();
        if batch.is_null(self.at) {
            return Err(Mismatch::out_of_range("the row is null as a whole; make it one of nulls").into());
        }
        Ok(true)
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, Unsent> {
        if let Some(batch) = self.ahead.pop_front() {
            return Ok(Some(batch));
        }
        if let Some(batch) = self.kept.batches.get(self.kept.next) {
            self.kept.next += 1;
            return Ok(Some(batch.clone()));
        }
        // The memory of the batch before is free before the next one is made.
        self.batch = None;
        self.check_cancelled()?;
        let Some(input) = &mut self.input else { return Ok(None) };
        let next = input.next_batch()?.map(Arc::new);
        self.check_cancelled()?;
        let Some(batch) = next else { return Ok(None) };
        if self.only.is_none() {
            self.kept.keep(&batch);
        }
        Ok(Some(batch))
    }

    /// Returns true if the rows can be read again however many of them were read.
    pub fn rereads(&self) -> bool {
        self.only.is_some()
    }

    /// Returns to before the first row; returns false if the rows cannot be read again.
    pub fn rewind(&mut self) -> bool {
        if let Some((batch, meaning)) = &self.only {
            self.input = input_of(batch, *meaning).ok();
        } else if self.kept.lost {
            return false;
        }
        self.kept.next = 0;
        self.ahead.clear();
        self.batch = None;
        self.at = 0;
        true
    }

    /// The current row.
    pub fn current(&self) -> Params<'_> {
        Params(self.batch.as_ref().map(|batch| batch.row(self.at, None)))
    }

    /// Passes the current row to `write`, and the rows after it for as long as it returns true and they are of the same
    /// batch, which are then the current one in turn.
    pub fn each(&mut self, mut write: impl FnMut(&Row<'_, Unsent>) -> bool) {
        let Some(batch) = self.batch.as_deref() else { return };
        let cancel = self.cancel.as_deref();
        // What is cancelled has no next row.
        let goes_on =
            |at: usize| at < batch.rows() && !batch.is_null(at) && !cancel.is_some_and(|cancel| cancel.is_wanted());
        while write(&batch.row(self.at, None)) && goes_on(self.at + 1) {
            batch.settle();
            self.at += 1;
        }
    }

    /// An error about a value, with its column.
    pub fn located(&self, error: Unsent) -> Unsent {
        let column = self.batch.as_ref().and_then(|batch| batch.last_read());
        match (error, column) {
            (Unsent::Mismatch(mismatch), Some(column)) => {
                Mismatch { message: format!("{column}: {}", mismatch.message), ..mismatch }.into()
            }
            (error, _) => error,
        }
    }
}

impl Kept {
    /// Keeps a batch, or no batch at all from the limit on. The first is always kept.
    fn keep(&mut self, batch: &Arc<Batch>) {
        if self.lost {
            return;
        }
        self.bytes += batch.bytes();
        if self.bytes > limits::ROWS_KEPT_BYTES && !self.batches.is_empty() {
            self.batches.clear();
            (self.next, self.lost) = (0, true);
            return;
        }
        self.batches.push(batch.clone());
        self.next += 1;
    }
}

fn input_of(batch: &RecordBatch, meaning: Meaning) -> Result<Input, Unsent> {
    let array: Arc<dyn Array> = Arc::new(StructArray::from(batch.clone()));
    Ok(Input::of_array(array, meaning)?)
}

/// A row of parameters; none of a statement that has none.
#[derive(Debug)]
pub struct Params<'a>(pub Option<Row<'a, Unsent>>);

impl Parameters for Params<'_> {
    type Value<'v>
        = Cell<'v, Unsent>
    where
        Self: 'v;
    type Error = Unsent;

    fn count(&self) -> usize {
        self.0.as_ref().map_or(0, Parameters::count)
    }

    fn get(&self, i: usize) -> Result<Cell<'_, Unsent>, Unsent> {
        match &self.0 {
            Some(row) => row.cell(i),
            None => Err(Mismatch::wrong_type("the statement has parameters, and none are bound").into()),
        }
    }
}
