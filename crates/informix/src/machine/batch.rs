//! Batches: one statement and many rows of parameters, all of them or none.
//!
//! Rows travel by one of three roads ([`Road`]). An insert cursor takes them in the columns' own form, which is the
//! shortest; but nothing is converted there, so a row with another value goes on by SQ_BIND and SQ_EXECUTE, and so does
//! what is behind it. Whatever goes wrong with an insert cursor is undone, and the batch repeated without one: the error
//! that the user sees, and the row that it names, are those of plain executions.

use super::entry::{Failure, State};
use super::request::{Asked, Execute, Group, Guard, Request, Road};
use super::send::bind_row;
use super::stage::Event;
use super::{IfxCaller, Logging, Machine};
use crate::capabilities::Feature;
use crate::limits as own;
use crate::messages::server::ServerError;
use crate::messages::{client, tag};
use headrace_core::Outbox;
use std::sync::atomic::Ordering;

/// The savepoint of a batch inside a transaction.
const SAVEPOINT: &[u8] = b"headrace_batch";

impl<C: IfxCaller> Machine<C> {
    /// Makes a batch atomic: a transaction of its own, or a savepoint in the one that is open.
    pub(super) fn begin_batch(&mut self, cx: C::Cx<'_>, at: usize, outbox: &mut Outbox) {
        let guard = match self.logging {
            Logging::None => Guard::None,
            _ if !self.in_block => Guard::Transaction,
            _ if self.capabilities.has(Feature::Savepoints) => Guard::Savepoint,
            // A server before 11.50: what a failed batch did stays in the user's transaction.
            _ => Guard::None,
        };
        self.guard_batch(guard, outbox);
        let entry = &mut self.queue[at];
        entry.guard = guard;
        entry.go(Event::BatchBegun, State::Sending);
        let Request::Execute(Execute { road, .. }) = &entry.request else { return };
        let Some(statement) = entry.used.as_ref().map(|used| &used.statement) else { return };
        let plan = statement.put.as_ref().filter(|_| !statement.put_refused.load(Ordering::Relaxed));
        let best = plan.filter(|plan| !plan.padded).map_or(Road::Groups, |_| Road::Put);
        entry.batch.road = road.unwrap_or(best);
        // Only what can be undone and read a second time is put.
        let can = plan.is_some() && guard != Guard::None;
        let again = can && entry.slot.caller.as_mut().is_some_and(|caller| caller.rewind(cx));
        if entry.batch.road == Road::Put && !again {
            entry.batch.road = Road::Groups;
        }
    }

    fn guard_batch(&mut self, guard: Guard, outbox: &mut Outbox) {
        match guard {
            Guard::None => {}
            Guard::Transaction => self.begin(outbox),
            Guard::Savepoint => {
                client::savepoint(outbox.tail(), tag::SQ_SQLISETSVPT, SAVEPOINT);
                client::eot(outbox.tail());
                self.ask(Asked::Guard);
            }
        }
    }

    /// Sends one group of rows.
    pub(super) fn send_rows(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) {
        match self.queue.last_mut().map(|entry| entry.batch.road) {
            Some(Road::Put) => self.put_rows(cx, outbox),
            Some(Road::Groups) => self.execute_rows(cx, own::GROUP_BYTES, outbox),
            Some(Road::Rows) => self.execute_rows(cx, 1, outbox),
            None => {}
        }
    }

    /// Sends SQ_BIND and SQ_EXECUTE for rows until a group of `bytes` is full.
    fn execute_rows(&mut self, cx: C::Cx<'_>, bytes: usize, outbox: &mut Outbox) {
        let codeset = self.codeset;
        let Some(entry) = self.queue.last_mut() else { return };
        let Some(statement) = entry.statement().cloned() else { return };
        let first = entry.rows_sent;
        let out = outbox.tail();
        let start = out.len();
        client::id(out, statement.id);
        let empty = out.len();
        let mut more = entry.slot.failure.is_none();
        while more && (out.len() == empty || out.len() - start < bytes) {
            let mark = out.len();
            let waits = std::mem::take(&mut entry.batch.row_waits);
            let Some(caller) = &mut entry.slot.caller else {
                more = false;
                break;
            };
            let written = match if waits { Ok(true) } else { caller.next_row(cx) } {
                Ok(true) => bind_row(entry, &statement, codeset, cx, out),
                Ok(false) => {
                    more = false;
                    break;
                }
                Err(error) => Err(error),
            };
            match written {
                Ok(()) => {
                    client::plain(out, tag::SQ_EXECUTE);
                    entry.rows_sent += 1;
                }
                Err(error) => {
                    out.truncate(mark);
                    entry.slot.failure = Some(Failure::Caller { error, row: Some(entry.rows_sent) });
                    more = false;
                }
            }
        }
        if !more {
            entry.go(Event::RowsSent, State::Draining);
        }
        if entry.rows_sent == first {
            out.truncate(start);
        } else {
            client::eot(out);
            self.ask(Asked::Execute { first });
        }
    }

    /// Opens the insert cursor, puts rows until a group is full, and closes it: what the server counts is then this
    /// group's, and an error behind it belongs to none before.
    fn put_rows(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) {
        let codeset = self.codeset;
        let cursor = self.cursor_name();
        let Some(entry) = self.queue.last_mut() else { return };
        let Some(statement) = entry.statement().cloned() else { return };
        let Some(plan) = &statement.put else { return };
        let first = entry.rows_sent;
        let out = outbox.tail();
        let start = out.len();
        client::id(out, statement.id);
        client::curname(out, &cursor);
        client::plain(out, tag::SQ_OPEN);
        client::ret_type(out, true, &plan.types);
        let mut more = entry.slot.failure.is_none();
        while more && out.len() - start < own::GROUP_BYTES {
            let Some(caller) = &mut entry.slot.caller else {
                more = false;
                break;
            };
            let put = match caller.next_row(cx) {
                Ok(true) => client::put(out, |out| plan.row(&caller.params(cx), codeset, out)),
                Ok(false) => {
                    more = false;
                    break;
                }
                Err(error) => Err(error),
            };
            match put {
                Ok(true) => entry.rows_sent += 1,
                Ok(false) => {
                    entry.batch.road = Road::Groups;
                    entry.batch.row_waits = true;
                    break;
                }
                Err(error) => {
                    entry.slot.failure = Some(Failure::Caller { error, row: Some(entry.rows_sent) });
                    more = false;
                }
            }
        }
        if !more {
            entry.go(Event::RowsSent, State::Draining);
        }
        let count = entry.rows_sent - first;
        if count == 0 {
            out.truncate(start);
            return;
        }
        client::eot(out);
        client::id(out, statement.id);
        client::plain(out, tag::SQ_CLOSE);
        client::eot(out);
        self.ask(Asked::Put { first, count });
        self.ask(Asked::PutClose { first, count });
    }

    /// Every row is answered: keeps them all, or none, or begins once more on another road.
    pub(super) fn end_batch(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) {
        if self.repeat_batch(cx, outbox) {
            return;
        }
        let Some(entry) = self.queue.last_mut() else { return };
        entry.go(Event::BatchEnded, State::Sent);
        if let Some(first) = entry.batch.first_failure.take() {
            match &entry.slot.failure {
                None => {
                    if let Some(statement) = entry.statement() {
                        statement.put_refused.store(true, Ordering::Relaxed);
                    }
                }
                // Rows that could not be read a second time.
                Some(Failure::Caller { .. }) => entry.slot.failure = Some(first),
                Some(Failure::Server { .. }) => {}
            }
        }
        let good = entry.slot.failure.is_none() && entry.slot.caller.is_some();
        let guard = entry.guard;
        let out = outbox.tail();
        match (guard, good) {
            (Guard::None, _) => return,
            (Guard::Transaction, true) => client::plain(out, tag::SQ_CMMTWORK),
            (Guard::Transaction, false) => client::rollback(out),
            (Guard::Savepoint, true) => {
                // Nobody waits for this: it goes out with whatever comes next, as the closing of a cursor does.
                client::savepoint(out, tag::SQ_SQLIRELSVPT, SAVEPOINT);
                client::eot(out);
                self.groups.push_back(Group { entry: 0, asked: Asked::CleanUp });
                return;
            }
            (Guard::Savepoint, false) => client::savepoint(out, tag::SQ_SQLIRBACKSVPT, SAVEPOINT),
        }
        client::eot(out);
        if guard == Guard::Transaction {
            self.in_block = false;
        }
        self.ask(match (guard, good) {
            (Guard::Transaction, true) => Asked::Commit,
            (Guard::Transaction, false) => Asked::Rollback,
            _ => Asked::Guard,
        });
    }

    /// Undoes what an insert cursor could not do to its end, and begins again without one; says whether it does.
    fn repeat_batch(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) -> bool {
        let Some(entry) = self.queue.last_mut() else { return false };
        let told = matches!(&entry.slot.failure, Some(Failure::Server { error, .. }) if !is_of_others(error));
        let put = std::mem::take(&mut entry.batch.put_failed);
        if !put || !told || entry.is_stale() || !entry.slot.caller.as_mut().is_some_and(|caller| caller.rewind(cx)) {
            return false;
        }
        entry.batch.first_failure = entry.slot.failure.take();
        entry.batch.road = Road::Groups;
        entry.batch.row_waits = false;
        entry.rows_sent = 0;
        entry.rows = 0;
        entry.go(Event::PutFailed, State::Sending);
        let guard = entry.guard;
        match guard {
            Guard::Savepoint => client::savepoint(outbox.tail(), tag::SQ_SQLIRBACKSVPT, SAVEPOINT),
            _ => client::rollback(outbox.tail()),
        }
        client::eot(outbox.tail());
        self.ask(Asked::Undo);
        if guard == Guard::Transaction {
            self.in_block = false;
            self.guard_batch(guard, outbox);
        }
        true
    }
}

/// Whether an error has nothing to do with the rows: an interrupt, or somebody else's lock. It comes again, or takes its
/// time again, however the rows travel.
fn is_of_others(error: &ServerError) -> bool {
    error.sqlcode == own::INTERRUPTED || own::LOCKED.contains(&error.isam)
}
