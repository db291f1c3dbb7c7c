//! The response handler of a client's statements: it makes PostgreSQL's messages of the server's rows.

use super::replies;
use super::sql::Server;
use super::types::TargetColumn;
use super::values::{Layout, Shape, Writer, csv_header};
use crate::lock;
use headrace_core::protocol::Summary;
use headrace_core::{Described, Diagnostics, Fatal, Mismatch, Outcome, ResponseHandler, Room, Run};
use headrace_io::rows::{Datum, Row};
use headrace_postgres::types::Format;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// What is made of the rows of a request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The formats of Bind.
    pub formats: Vec<Format>,
    /// RowDescription is sent before the rows.
    pub describes: bool,
    /// The form of the rows.
    pub shape: Shape,
    /// COPY as CSV begins with the names of the columns.
    pub header: bool,
    /// Several results may follow each other, as in the simple protocol.
    pub several: bool,
    /// The columns that the client was told of, if it was: a server may make others of them when it has the parameters.
    pub promised: Option<Option<Vec<TargetColumn>>>,
    /// Nothing is executed: the columns are all that is wanted.
    pub only_columns: bool,
    /// The statement only reads: it can be executed again.
    pub reads: bool,
}

impl Plan {
    /// Of a statement for the server.
    pub fn of(server: &Server, formats: &[Format], describes: bool) -> Self {
        let shape = server.copy.map_or(Shape::Row, |copy| copy.shape);
        let header = server.copy.is_some_and(|copy| copy.header);
        Self {
            formats: formats.to_vec(),
            describes,
            shape,
            header,
            several: false,
            promised: None,
            only_columns: false,
            reads: server.reads,
        }
    }
}

/// The reply to a request, as far as it has come.
#[derive(Debug)]
pub struct Slot<E> {
    /// Messages for the client.
    pub bytes: Vec<u8>,
    /// Bytes that may be kept here.
    pub room: usize,
    /// The handler has told the machine that it is full.
    pub is_full: bool,
    /// Columns of the last result that has rows.
    pub columns: Option<Vec<TargetColumn>>,
    /// Rows in `bytes`, and those taken from there.
    pub rows: u64,
    /// Rows that the server counts.
    pub affected: u64,
    /// Why a row could not be passed on.
    pub problem: Option<String>,
    /// A result has ended.
    pub has_result: bool,
    /// The result has other columns than the client was told.
    pub is_outdated: bool,
    /// How the request ended.
    pub outcome: Option<Outcome<E, Mismatch>>,
}

/// Shared by a handler and the session.
pub type Shared<E> = Arc<Mutex<Slot<E>>>;

/// The response handler.
#[derive(Debug)]
pub struct Handler<C, E> {
    params: Vec<Datum>,
    plan: Plan,
    layout: Option<Layout>,
    slot: Shared<E>,
    columns: PhantomData<fn(C)>,
}

impl<C, E> Handler<C, E> {
    /// A handler for a request with these parameters, and the place of its reply.
    pub fn new(params: Vec<Datum>, plan: Plan, room: usize) -> (Self, Shared<E>) {
        let slot = Arc::new(Mutex::new(Slot {
            bytes: Vec::new(),
            room,
            is_full: false,
            columns: None,
            rows: 0,
            affected: 0,
            problem: None,
            has_result: false,
            is_outdated: false,
            outcome: None,
        }));
        (Self { params, plan, layout: None, slot: slot.clone(), columns: PhantomData }, slot)
    }
}

/// Returns true if columns have the names that the client was told, and the types, but for expressions. Some servers
/// name a column after its expression, which differs where the expression has parameters.
fn are_as_promised(promised: &[TargetColumn], targets: &[TargetColumn]) -> bool {
    let is_same = |(one, other): (&TargetColumn, &TargetColumn)| {
        (one.name == other.name || one.name.contains('?')) && (one.oid == other.oid || !one.is_fixed && !other.is_fixed)
    };
    promised.len() == targets.len() && promised.iter().zip(targets).all(is_same)
}

/// CommandComplete of a result that is followed by another one.
fn complete(slot_rows: u64, out: &mut Vec<u8>) {
    replies::complete(out, &format!("SELECT {slot_rows}"));
}

impl<C: Described, E: Diagnostics> ResponseHandler for Handler<C, E> {
    type Context<'a> = ();
    type Params<'s, 'c: 's>
        = Row<'s>
    where
        Self: 's;
    type Error = Mismatch;
    type Columns = C;
    type ServerError = E;

    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        Ok(false)
    }

    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> Row<'s> {
        Row::new(&self.params)
    }

    fn columns(&mut self, (): (), columns: &C) {
        let targets: Vec<TargetColumn> = columns.columns().iter().map(TargetColumn::from).collect();
        let mut slot = lock(&self.slot);
        if self.plan.only_columns {
            slot.columns = Some(targets);
            return;
        }
        // A statement that the server does not take any more is prepared again.
        let again = slot.rows == 0 && !slot.has_result && (!self.plan.describes || !slot.bytes.is_empty());
        if slot.columns.is_some() && again && !self.plan.several {
            slot.bytes.clear();
        } else if slot.columns.is_some() {
            if !self.plan.several {
                slot.problem.get_or_insert_with(|| {
                    "the statement has several results: execute it in the simple protocol, without parameters".into()
                });
                return;
            }
            let rows = std::mem::take(&mut slot.rows);
            complete(rows, &mut slot.bytes);
        }
        let count = targets.len();
        let targets = match &self.plan.promised {
            Some(Some(promised)) if are_as_promised(promised, &targets) => promised.clone(),
            Some(_) => {
                // Of rows of the columns that the server has told before it prepared the statement again.
                self.layout = None;
                slot.is_outdated = true;
                if !self.plan.reads {
                    slot.problem = Some(
                        "the statement was executed; its result has other columns than were described, prepare it again"
                            .into(),
                    );
                }
                return;
            }
            None => targets,
        };
        match self.plan.shape {
            Shape::Row if self.plan.describes => replies::columns(&mut slot.bytes, &targets, &self.plan.formats),
            Shape::Row => {}
            Shape::CopyBinary => {
                replies::copy_out(&mut slot.bytes, count, Format::Binary);
            }
            Shape::CopyText | Shape::CopyCsv => {
                replies::copy_out(&mut slot.bytes, count, Format::Text);
                if self.plan.header {
                    csv_header(&mut slot.bytes, &targets);
                }
            }
        }
        if self.plan.formats.len() > 1 && self.plan.formats.len() != count {
            let formats = self.plan.formats.len();
            slot.problem = Some(format!("the Bind has {formats} formats for a result of {count} columns"));
        }
        self.layout = Some(Layout::new(&targets, &self.plan.formats, self.plan.shape));
        slot.columns = Some(targets);
    }

    fn rows<R: Run>(&mut self, (): (), run: &mut R) -> Result<Room, Fatal> {
        let mut slot = lock(&self.slot);
        let slot = &mut *slot;
        let Some(layout) = self.layout.as_ref().filter(|_| slot.problem.is_none()) else { return Ok(Room::More) };
        let mut writer = Writer::new(layout, &mut slot.bytes);
        writer.begins = slot.rows == 0;
        run.each(&mut writer)?;
        slot.rows += writer.rows;
        slot.problem = writer.problem;
        slot.is_full = slot.bytes.len() >= slot.room;
        Ok(if slot.is_full { Room::Full } else { Room::More })
    }

    fn rereads(&self) -> bool {
        false
    }
    fn rewind(&mut self, (): ()) -> bool {
        false
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn block(&mut self, (): (), _: &[u8]) -> Room {
        Room::More
    }

    fn result(&mut self, (): (), summary: Summary<'_>) {
        let mut slot = lock(&self.slot);
        slot.affected = summary.rows.unwrap_or_default();
        slot.has_result = true;
    }

    fn finish(self, (): (), outcome: Outcome<E, Mismatch>) {
        lock(&self.slot).outcome = Some(outcome);
    }
}
