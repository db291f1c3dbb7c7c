//! Concurrent queries: a pipeline of SELECTs does not wait for one cursor to end before the next is opened.
//!
//! A prepared statement has one cursor. A query that is executed many times in a pipeline is therefore prepared several
//! times ("duplicates"), as soon as enough executions of it wait. Only SELECTs run concurrently: any other request
//! waits until all of them have been read to their ends, so that it can neither close their cursors nor change the rows
//! that are still to be read.
//!
//! The requests in question are the last ones that were started; together they are called the *run*.

use super::pending::{PendingRequest, RequestState};
use super::request::{Execute, Expect, Group, ParameterRows, Request};
use super::statement::Statement;
use super::{IfxHandler, Logging, Machine};
use crate::limits as own;
use crate::messages::server::Description;
use crate::messages::{client, kind};
use headrace_core::{Prepared, Verb, WriteBuffer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Further preparations of one query.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    /// The statement that they duplicate.
    of: Option<Arc<Statement>>,
    free: Vec<Arc<Statement>>,
    /// The number requested.
    count: usize,
    /// Those in flight.
    coming: usize,
    /// The server would not prepare it again.
    refused: bool,
}

impl<H: IfxHandler> Machine<H> {
    /// The requests of the run with their places, from the last one on. The last that was started is always one of
    /// them.
    fn places(&self) -> impl Iterator<Item = (usize, &PendingRequest<H>)> {
        let last = self.queue.started().saturating_sub(1);
        let run = self.queue.in_flight().enumerate().rev();
        run.take_while(move |(at, pending)| pending.reads() || *at == last)
    }

    fn run(&self) -> impl Iterator<Item = &PendingRequest<H>> {
        self.places().map(|(_, pending)| pending)
    }

    /// The position of the first request of the run whose rows or values are still to be requested.
    pub(super) fn unread(&self) -> Option<(usize, RequestState)> {
        let waits = |(_, pending): &(usize, &PendingRequest<H>)| match pending.state() {
            RequestState::FetchMore => true,
            RequestState::FetchLarge => pending.groups == 0,
            _ => false,
        };
        self.places().filter(waits).last().map(|(at, pending)| (at, pending.state()))
    }

    /// Returns true if the next request can be started now, while the run may still have something to read.
    pub(super) fn can_start(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        if self.transaction.redefined && self.run().any(takes_back) {
            return false;
        }
        if self.run().all(|pending| pending.state() == RequestState::Sent && !pending.closes_later()) {
            return self.queue.started() == 0 || !(self.run().any(PendingRequest::is_stale) || self.is_next_outdated());
        }
        let reads = |pending: &PendingRequest<H>| {
            pending.reads()
                && !pending.is_stale()
                && !pending.statement().is_some_and(|s| s.long.load(Ordering::Relaxed))
        };
        if !self.run().all(reads) || self.run().count() >= own::SELECTS_IN_FLIGHT {
            return false;
        }
        let Some(Request::Execute(Execute { sql, rows: ParameterRows::One, begin, .. })) =
            self.queue.next().map(|pending| &pending.request)
        else {
            return false;
        };
        if *begin && !self.transaction.is_open_ahead() && self.logging != Logging::None {
            return false;
        }
        let sql = sql.clone();
        match self.statements.get(&*sql).cloned() {
            Some(statement) if statement.kind == kind::SELECT && !self.statements.is_outdated(&statement) => {
                let free = !self.is_in_use(&statement) || self.duplicates.is_free(&statement);
                if !free {
                    self.prepare_duplicates(&statement, write_buffer);
                }
                free
            }
            _ => false,
        }
    }

    /// Returns true if the next request's statement has to be prepared again, for which those that use it have to be
    /// over.
    fn is_next_outdated(&mut self) -> bool {
        let Some(sql) = self.queue.next().and_then(|pending| pending.request.sql()) else { return false };
        self.statements.get(&**sql).cloned().is_some_and(|known| self.statements.is_outdated(&known))
    }

    fn is_in_use(&self, statement: &Statement) -> bool {
        self.run().any(|pending| pending.statement().is_some_and(|used| used.id == statement.id))
    }

    /// A duplicate to execute instead of a statement whose cursor is open.
    pub(super) fn duplicate_for(&mut self, known: &Statement) -> Option<Arc<Statement>> {
        if self.duplicates.are_of(known) && self.is_in_use(known) { self.duplicates.free.pop() } else { None }
    }

    /// Prepares a query once for each execution that waits for it, if that is often enough to be worthwhile.
    fn prepare_duplicates(&mut self, statement: &Arc<Statement>, write_buffer: &mut WriteBuffer) {
        if self.duplicates.coming > 0 {
            return;
        }
        if !self.duplicates.are_of(statement) {
            self.release_duplicates();
            self.duplicates.of = Some(statement.clone());
        }
        let room = if self.duplicates.refused { 0 } else { own::SELECTS_IN_FLIGHT - 1 - self.duplicates.count };
        let same = |pending: &&PendingRequest<H>| pending.request.sql().is_some_and(|sql| *sql == statement.sql);
        let waiting = self.queue.waiting().take(room).take_while(same).count();
        if waiting < own::COPIES_WORTH.min(room).max(1) {
            return;
        }
        // Text that was prepared once is text that the server can read.
        let Ok(text) = self.codeset.encode(statement.sql.as_bytes()) else { return };
        for _ in 0..waiting {
            client::prepare(write_buffer.tail(), &text, statement.parameters as u16, self.capabilities);
            client::eot(write_buffer.tail());
            self.groups.push_back(Group { request_id: 0, expect: Expect::Duplicate });
        }
        self.duplicates.count += waiting;
        self.duplicates.coming = waiting;
    }

    /// A copy is prepared.
    pub(super) fn duplicated(&mut self, described: &Description) {
        match self.duplicates.of.as_ref().and_then(|of| of.duplicate(described)) {
            Some(duplicate) => self.duplicates.free.push(Arc::new(duplicate)),
            None => {
                self.duplicates.refused = true;
                self.statements.close_name(described.id);
            }
        }
    }

    /// The reply about a copy is complete.
    pub(super) fn copy_answered(&mut self, failed: bool) {
        self.duplicates.coming = self.duplicates.coming.saturating_sub(1);
        self.duplicates.refused |= failed;
    }

    /// Takes a duplicate back whose cursor will be closed. Returns true if it is still needed.
    pub(super) fn take_back(&mut self, duplicate: &Arc<Statement>) -> bool {
        let wanted = self.duplicates.are_of(duplicate);
        if wanted {
            self.duplicates.free.push(duplicate.clone());
        }
        wanted
    }

    /// Releases the duplicates with the next request. Those in use are released when they come back.
    pub(super) fn release_duplicates(&mut self) {
        for duplicate in self.duplicates.free.drain(..) {
            self.statements.close(&duplicate);
        }
        self.duplicates = Duplicates { coming: self.duplicates.coming, ..Duplicates::default() };
    }
}

/// Returns true if a request rolls back what its transaction may have defined.
fn takes_back<H: IfxHandler>(pending: &PendingRequest<H>) -> bool {
    matches!(pending.request, Request::Verb(Verb::Rollback(_) | Verb::RollbackTo(_)))
}

impl Duplicates {
    /// Those of an earlier epoch may read another table.
    pub(super) fn are_of(&self, statement: &Statement) -> bool {
        self.of.as_ref().is_some_and(|of| of.sql == statement.sql && of.epoch() == statement.epoch())
    }

    fn is_free(&self, statement: &Statement) -> bool {
        self.are_of(statement) && !self.free.is_empty()
    }
}
