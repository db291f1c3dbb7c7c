//! A response handler that keeps what it receives.

use crate::{TestParameters, TestValue, TextSink, ways};
use headrace_core::protocol::{BulkDirection, Outcome, ResponseHandler, Summary};
use headrace_core::{Described, Diagnostics, Fatal, Mismatch, Room, Run, Sink};
use std::cell::RefCell;
use std::rc::Rc;

/// The columns and errors of a protocol, and their names in tests.
pub trait Dialect: 'static {
    /// The protocol's description of a result's columns.
    type Columns: Described + Clone + std::fmt::Debug;
    /// The error that its servers send.
    type ServerError: Diagnostics;

    /// Decodes rows of these columns from the messages that contain them.
    ///
    /// # Errors
    /// [`Fatal`] as the run has it.
    fn read_again<S: Sink>(columns: &Self::Columns, messages: &[u8], sink: &mut S) -> Result<(), Fatal>;
    /// The code by which an error is known, such as `23505`.
    fn code(error: &Self::ServerError) -> String;
    /// The server's text about the column.
    fn message(error: &Self::ServerError) -> String;
}

/// What a server reported at the end of one result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The command tag of the statement, or the server's other text about it.
    pub tag: String,
    /// The number of rows affected or returned, if the server reports it.
    pub rows: Option<u64>,
    /// The value that an INSERT made for a serial column.
    pub generated: Option<i128>,
    /// The number of warnings that can be requested.
    pub warnings: u16,
    /// More rows can be fetched.
    pub suspended: bool,
}

/// What a handler received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The columns of the last result.
    pub columns: Vec<String>,
    /// The rows of all results, as a [`TextSink`] shows them.
    pub rows: Vec<Vec<String>>,
    /// Each result.
    pub results: Vec<Completion>,
    /// `done`, `server CODE`, `client REASON`, `skipped` or `fatal REASON`, with ` at row N` if a row is known.
    pub end: Option<String>,
    /// The server's text about the error.
    pub error: Option<String>,
    /// The statement was a bulk transfer, which the request was not.
    pub misplaced: Option<BulkDirection>,
}

impl Received {
    /// The rows as lines.
    pub fn lines(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.join("|")).collect()
    }

    /// Rows affected over all results.
    pub fn affected(&self) -> u64 {
        self.results.iter().filter_map(|result| result.rows).sum()
    }

    /// The tag of each result.
    pub fn tags(&self) -> Vec<&str> {
        self.results.iter().map(|result| result.tag.as_str()).collect()
    }
}

/// What a handler received, shared with the test.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    received: Rc<RefCell<Received>>,
    rows: Rc<RefCell<Vec<Vec<String>>>>,
}

impl Shared {
    /// What it has received so far.
    pub fn get(&self) -> Received {
        Received { rows: self.rows.borrow().clone(), ..self.received.borrow().clone() }
    }

    /// Returns true if the request has ended.
    pub fn has_ended(&self) -> bool {
        self.received.borrow().end.is_some()
    }
}

/// A response handler with one row of parameters, or a batch of them.
#[derive(Debug)]
pub struct TestHandler<D: Dialect> {
    received: Shared,
    row: Vec<TestValue>,
    batch: Vec<Vec<TestValue>>,
    next: usize,
    /// True if the batch can be read again from its beginning.
    pub rewinds: bool,
    /// The rows of a batch after which it cannot be read again, if there are more.
    pub kept: usize,
    /// True if it is full after each run of rows, and after each block.
    pub fills: bool,
    /// The lane of its request, see [`ResponseHandler::lane`].
    pub lane: u64,
    columns: Option<D::Columns>,
}

impl<D: Dialect> TestHandler<D> {
    /// With its parameters.
    pub fn new(row: Vec<TestValue>, batch: Vec<Vec<TestValue>>) -> (Self, Shared) {
        let received = Shared::default();
        (
            Self {
                received: received.clone(),
                row,
                batch,
                next: 0,
                rewinds: true,
                kept: usize::MAX,
                fills: true,
                lane: 0,
                columns: None,
            },
            received,
        )
    }
}

impl<D: Dialect> TestHandler<D> {
    fn room(&self) -> Room {
        if self.fills { Room::Full } else { Room::More }
    }
}

impl<D: Dialect> ResponseHandler for TestHandler<D> {
    type Context<'a> = ();
    type Params<'s, 'c: 's> = TestParameters<'s>;
    type Error = Mismatch;
    type Columns = D::Columns;
    type ServerError = D::ServerError;

    fn lane(&self) -> u64 {
        self.lane
    }
    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        let Some(row) = self.batch.get(self.next) else { return Ok(false) };
        self.row.clone_from(row);
        self.next += 1;
        Ok(true)
    }
    fn rereads(&self) -> bool {
        self.rewinds
    }
    fn loses_next(&self) -> bool {
        self.rewinds && self.next == self.kept
    }
    fn rows_in_all(&self, (): ()) -> Option<u64> {
        self.rewinds.then_some(self.batch.len() as u64)
    }
    fn rewind(&mut self, (): ()) -> bool {
        let rewinds = self.rewinds && self.next <= self.kept;
        if rewinds {
            self.next = 0;
        }
        rewinds
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> TestParameters<'s> {
        TestParameters(&self.row)
    }
    fn columns(&mut self, (): (), columns: &D::Columns) {
        let names = columns.columns().iter().map(|column| column.name.to_string());
        self.received.received.borrow_mut().columns = names.collect();
        self.columns = Some(columns.clone());
    }
    fn rows<R: Run>(&mut self, (): (), run: &mut R) -> Result<Room, Fatal> {
        let columns = self.columns.as_ref().expect("rows without columns");
        ways::compare(run, columns.columns(), |messages, sink| D::read_again(columns, messages, sink));
        run.each(&mut TextSink::new(self.received.rows.clone()))?;
        Ok(self.room())
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn bulk_misplaced(&mut self, (): (), direction: BulkDirection) {
        self.received.received.borrow_mut().misplaced = Some(direction);
    }
    fn block(&mut self, (): (), _: &[u8]) -> Room {
        self.room()
    }
    fn result(&mut self, (): (), summary: Summary<'_>) {
        self.received.received.borrow_mut().results.push(Completion {
            tag: String::from_utf8_lossy(summary.tag).into_owned(),
            rows: summary.rows,
            generated: summary.generated,
            warnings: summary.warnings,
            suspended: summary.suspended,
        });
    }
    fn finish(self, (): (), outcome: Outcome<D::ServerError, Mismatch>) {
        let mut received = self.received.received.borrow_mut();
        assert!(received.end.is_none(), "a handler received two outcomes");
        let at = |row: Option<u64>| row.map_or(String::new(), |row| format!(" at row {row}"));
        received.end = Some(match outcome {
            Outcome::Done => "done".into(),
            Outcome::Server { error, row } => {
                received.error = Some(D::message(&error));
                format!("server {}{}", D::code(&error), at(row))
            }
            Outcome::Client { error, row } => format!("client {error}{}", at(row)),
            Outcome::Skipped => "skipped".into(),
            Outcome::Fatal(reason) => format!("fatal {reason}"),
        });
    }
}
