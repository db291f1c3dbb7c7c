//! The response handler: rows become record batches.

use crate::bound::{Bound, Params, Unsent};
use crate::databases::type_name;
use crate::error::{Refusal, misplaced_copy, of, of_fatal, of_server};
use adbc_core::error::{Error, Status};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use headrace_arrow::schema::inner;
use headrace_arrow::{ArrowOptions, Batches};
use headrace_core::column::ColumnKind;
use headrace_core::protocol::{BulkDirection, RowWriter, Summary, Taken};
use headrace_core::{Described, Fatal, Outcome, ResponseHandler, Room, Run};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens to the rows of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Nothing further is received while there is a batch that was not taken.
    Batches,
    /// All are kept.
    All,
    /// They are dropped.
    Nothing,
}

/// What has come of the reply to a request, and not yet been taken.
#[derive(Debug)]
pub struct Reply(Mutex<ReplyState>);

#[derive(Debug)]
struct ReplyState {
    options: ArrowOptions,
    take: Take,
    /// `None` before the columns are known.
    batches: Option<Batches>,
    /// The parameters of a statement that was described.
    parameters: Vec<ColumnKind>,
    /// The first result has ended: what follows is another one.
    ended: bool,
    /// Rows of statements that return none.
    affected: Option<u64>,
    /// The program has cancelled the statement.
    cancelled: bool,
    over: bool,
    error: Option<Error>,
    /// The statement is a COPY, for whose data ADBC has no place.
    misplaced: Option<BulkDirection>,
    /// Rows of the result were dropped: it is not complete, and this is what its reader is told.
    discarded: Option<Error>,
}

impl Reply {
    /// Of a request that was not sent yet.
    pub fn new(options: ArrowOptions, take: Take) -> Arc<Self> {
        let state = ReplyState {
            options,
            take,
            batches: None,
            parameters: Vec::new(),
            ended: false,
            affected: None,
            cancelled: false,
            over: false,
            error: None,
            misplaced: None,
            discarded: None,
        };
        Arc::new(Self(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, ReplyState> {
        // Nothing in it is half done after a panic that its batches could show.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true once the request is over.
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Returns true once there is something to take, or the request is over.
    pub fn is_ready(&self) -> bool {
        let state = self.lock();
        let has_come = |batches: &Batches| batches.ready() > 0 || batches.refused().is_some();
        state.over || state.discarded.is_none() && state.batches.as_ref().is_some_and(has_come)
    }

    /// The schema; without columns if the statement returns no rows.
    pub fn schema(&self) -> SchemaRef {
        let schema = self.lock().batches.as_mut().map(|batches| batches.fixed().clone());
        schema.unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// The schema of the parameters of a statement that was described. They have no names, and the type of some is not
    /// known.
    pub fn parameters(&self) -> Schema {
        let state = self.lock();
        let fields = state.parameters.iter().map(|kind| inner("", kind, &state.options));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// The number of rows that the statement has changed, if the server reports it.
    pub fn affected(&self) -> Option<u64> {
        self.lock().affected
    }

    /// Drops the rows that come, and what has come. Who reads the result is told the reason.
    pub fn discard(&self, reason: Error) {
        let mut state = self.lock();
        state.take = Take::Nothing;
        state.discarded = Some(reason);
        if let Some(batches) = &mut state.batches {
            while batches.take().is_some() {}
        }
    }

    /// The program has cancelled the statement: a failure from now on is due to that.
    pub fn cancelled(&self) {
        self.lock().cancelled = true;
    }

    /// Returns true if the program has cancelled the statement.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Takes the next batch; `None` if there is none (yet).
    ///
    /// # Errors
    /// The request has failed, a value does not fit its column, or the result was discarded.
    pub fn take(&self) -> Result<Option<RecordBatch>, Error> {
        let mut state = self.lock();
        if let Some(reason) = &state.discarded {
            return Err(reason.clone());
        }
        if let Some(batches) = &mut state.batches {
            if let Some(batch) = batches.take() {
                return Ok(Some(batch));
            }
            if let Some(refused) = batches.refused() {
                return Err(of(Status::InvalidData, refused.to_string()));
            }
        }
        state.error.take().map_or(Ok(None), Err)
    }

    /// The error of the request, if it has failed before there was a batch.
    ///
    /// # Errors
    /// That error.
    pub fn check_beginning(&self) -> Result<(), Error> {
        let mut state = self.lock();
        let ReplyState { batches, error, .. } = &mut *state;
        match batches {
            Some(batches) if batches.ready() > 0 => Ok(()),
            Some(batches) => match batches.refused() {
                Some(refused) => Err(of(Status::InvalidData, refused.to_string())),
                None => error.clone().map_or(Ok(()), Err),
            },
            None => error.clone().map_or(Ok(()), Err),
        }
    }

    /// The error of the request, if it has failed.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> Result<(), Error> {
        self.lock().error.clone().map_or(Ok(()), Err)
    }
}

/// A request's response handler. `C` and `E` are the protocol's columns and its servers' error.
#[derive(Debug)]
pub struct Call<C, E> {
    /// The parameters.
    pub bound: Option<Bound>,
    /// The row of parameters is one of many.
    pub many: bool,
    /// Where the reply goes.
    pub reply: Arc<Reply>,
    /// The protocol.
    pub protocol: PhantomData<fn() -> (C, E)>,
}

impl<C: Described, E: Refusal> ResponseHandler for Call<C, E> {
    type Context<'a> = ();
    type Params<'s, 'c: 's>
        = Params<'s>
    where
        Self: 's;
    type Error = Unsent;
    type Columns = C;
    type ServerError = E;

    fn is_stream(&self) -> bool {
        self.reply.lock().take == Take::Batches
    }
    fn next_row(&mut self, (): ()) -> Result<bool, Unsent> {
        self.bound.as_mut().map_or(Ok(false), Bound::advance)
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> Params<'s> {
        self.bound.as_ref().map_or(Params(None), Bound::current)
    }
    fn write_rows<W: RowWriter<Unsent>>(&mut self, (): (), writer: &mut W) {
        match &mut self.bound {
            Some(bound) => bound.each(|row| writer.write(row) == Taken::More),
            None => {
                writer.write(&Params(None));
            }
        }
    }
    fn columns(&mut self, (): (), columns: &C) {
        let mut state = self.reply.lock();
        if state.ended || state.batches.as_ref().is_some_and(|batches| batches.rows() > 0) {
            return;
        }
        let columns = columns.columns();
        state.batches = Some(Batches::new(columns, state.options).annotated(columns, type_name));
    }
    fn parameters(&mut self, (): (), kinds: &[ColumnKind]) {
        self.reply.lock().parameters = kinds.to_vec();
    }
    fn rows<R: Run>(&mut self, (): (), run: &mut R) -> Result<Room, Fatal> {
        let mut state = self.reply.lock();
        let ReplyState { batches: Some(batches), ended: false, take, .. } = &mut *state else { return Ok(Room::More) };
        if *take == Take::Nothing {
            return Ok(Room::More);
        }
        run.by_column(batches)?;
        batches.settle();
        let is_full = *take == Take::Batches && (batches.ready() > 0 || batches.refused().is_some());
        Ok(if is_full { Room::Full } else { Room::More })
    }
    fn rereads(&self) -> bool {
        self.bound.as_ref().is_none_or(Bound::rereads)
    }
    fn rewind(&mut self, (): ()) -> bool {
        let mut state = self.reply.lock();
        state.batches = None;
        state.ended = false;
        state.affected = None;
        state.misplaced = None;
        drop(state);
        self.bound.as_mut().is_none_or(Bound::rewind)
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn bulk_misplaced(&mut self, (): (), direction: BulkDirection) {
        self.reply.lock().misplaced = Some(direction);
    }
    fn block(&mut self, (): (), _: &[u8]) -> Room {
        Room::More
    }
    fn result(&mut self, (): (), summary: Summary<'_>) {
        let mut state = self.reply.lock();
        if state.batches.is_some() && !self.many && !summary.suspended {
            state.ended = true;
        }
        if state.batches.is_none()
            && let Some(rows) = summary.rows
        {
            state.affected = Some(state.affected.unwrap_or(0) + rows);
        }
    }
    fn finish(self, (): (), outcome: Outcome<E, Unsent>) {
        let mut state = self.reply.lock();
        let cancelled = state.cancelled;
        // A batch of no rows changes none.
        if self.many && state.batches.is_none() && matches!(outcome, Outcome::Done) {
            state.affected.get_or_insert(0);
        }
        state.error = match outcome {
            Outcome::Done => state.misplaced.map(misplaced_copy),
            // The server's error means only that the client has ended it.
            Outcome::Server { .. } if state.misplaced == Some(BulkDirection::In) => {
                Some(misplaced_copy(BulkDirection::In))
            }
            Outcome::Server { error, row } => Some(of_server(&error, row, cancelled)),
            Outcome::Client { error, row } => {
                let error = match &self.bound {
                    Some(bound) => bound.located(error),
                    None => error,
                };
                Some(error.into_error(row))
            }
            Outcome::Skipped => Some(of(Status::InvalidState, "an earlier statement has failed")),
            Outcome::Fatal(fatal) => Some(of_fatal(&fatal)),
        };
        let wanted = state.take != Take::Nothing;
        if let Some(batches) = state.batches.as_mut().filter(|_| wanted) {
            batches.cut();
        }
        state.over = true;
    }
}
