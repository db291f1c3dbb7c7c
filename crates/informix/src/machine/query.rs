//! The rows of a query: requested in blocks, ahead of their end; and the BYTE and TEXT values of which they have only
//! descriptors.

use super::pending::{PendingRequest, RequestState};
use super::request::{Expect, Group, Reply};
use super::run::{BufferedRows, Taken, Tuples};
use super::stage::{HasState, RequestEvent, go};
use super::{IfxHandler, Machine};
use crate::limits as own;
use crate::messages::client;
use crate::types::decode;
use headrace_core::{Fatal, Room, WriteBuffer, limits};
use std::sync::atomic::Ordering;

/// A query whose rows are being read, or were read.
#[derive(Debug)]
pub(super) struct Query {
    step: Step,
    fetched: Fetched,
    /// The number of rows that have come.
    pub rows: i64,
    /// The number of the last row of a scroll cursor.
    pub row_number: Option<i32>,
    buffered: Buffered,
}

/// The state of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Fetching,
    FetchMore,
    FetchLarge,
    Sent,
}

impl HasState for Step {
    #[inline]
    fn state(&self) -> RequestState {
        match self {
            Step::Fetching => RequestState::Fetching,
            Step::FetchMore => RequestState::FetchMore,
            Step::FetchLarge => RequestState::FetchLarge,
            Step::Sent => RequestState::Sent,
        }
    }
}

/// How much of a result has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetched {
    /// No block has ended.
    Nothing,
    /// A block has, or several.
    Blocks,
    /// SQ_DONE or an error has come: the cursor is at its end.
    All,
}

/// Rows that wait for their BYTE and TEXT values, and the values that have come.
#[derive(Debug, Default)]
struct Buffered {
    rows: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
}

impl Query {
    /// A query whose first rows were requested.
    pub(super) fn fetching() -> Self {
        Self::new(Step::Fetching)
    }

    /// A query whose only row was requested.
    pub(super) fn sent() -> Self {
        Self::new(Step::Sent)
    }

    fn new(step: Step) -> Self {
        Self { step, fetched: Fetched::Nothing, rows: 0, row_number: None, buffered: Buffered::default() }
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// Returns true if the cursor is at its end.
    pub(super) fn is_ended(&self) -> bool {
        self.fetched == Fetched::All
    }

    /// The response handler is gone: no more rows are requested.
    pub(super) fn abandon(&mut self) {
        if let Step::FetchMore | Step::FetchLarge = self.step {
            self.buffered = Buffered::default();
            self.go(RequestEvent::Abandoned, Step::Sent);
        }
    }

    fn go(&mut self, event: RequestEvent, to: Step) {
        go(&mut self.step, event, to);
    }
}

impl<H: IfxHandler> Machine<H> {
    /// Requests the next blocks, as many as may be in flight; only one if its rows contain descriptors.
    pub(super) fn fetch_more(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let size = self.buffer(own::FETCH_BYTES);
        let pending = &mut self.queue[at];
        let groups = pending.groups;
        let Some((query, _, statement)) = pending.query_parts() else { return };
        if query.step == Step::FetchMore {
            query.go(RequestEvent::BlockRequested, Step::Fetching);
        }
        let id = statement.id;
        let large = statement.columns.as_ref().is_none_or(|columns| columns.large);
        for _ in groups..if large { 1 } else { own::FETCHES_IN_FLIGHT } {
            client::id(write_buffer.tail(), id);
            client::nfetch(write_buffer.tail(), size);
            client::eot(write_buffer.tail());
            self.expect_for(at, Expect::Fetch);
        }
    }

    /// Requests the next blocks while the first is still coming, if nothing else was requested after it.
    pub(super) fn read_ahead(&mut self, write_buffer: &mut WriteBuffer) {
        let full = self.reply.row_bytes * 2 > own::FIRST_FETCH_BYTES as usize;
        let reading = self.groups.front().map(|group| group.request_id);
        let Some(at) = self.queue.last_at() else { return };
        let pending = &self.queue[at];
        let whole = pending.request.cursor().is_none() && Some(pending.slot.id) == reading;
        if full
            && whole
            && pending.groups == 1
            && pending.state() == RequestState::Fetching
            && pending.slot.handler.is_some()
        {
            self.fetch_more(at, write_buffer);
        }
    }

    /// Requests the BYTE and TEXT values of the buffered rows, one group each.
    pub(super) fn fetch_large(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Some((query, _, statement)) = pending.query_parts() else { return };
        let Some(columns) = &statement.columns else { return };
        query.go(RequestEvent::ValuesRequested, Step::Fetching);
        let mut asked = 0;
        for row in &query.buffered.rows {
            // Rows were checked when they came.
            for descriptor in decode::descriptors(&columns.decoders, row).unwrap_or_default() {
                let out = write_buffer.tail();
                client::id(out, statement.id);
                client::fetchblob(out, descriptor);
                client::eot(out);
                asked += 1;
            }
        }
        for _ in 0..asked {
            self.expect_for(at, Expect::Large);
        }
    }

    /// SQ_TUPLE: as many as are whole.
    pub(super) fn rows(&mut self, cx: H::Context<'_>, unread: &[u8]) -> Result<usize, Fatal> {
        let group = self.group()?;
        if group.expect == Expect::LocaleFetch {
            return self.locale_row(unread);
        }
        if group.expect != Expect::Fetch {
            return Err(Fatal::peer("the server sent a row although none was requested"));
        }
        let mut room = Room::More;
        let Taken { bytes, row_bytes, .. } =
            match self.queue.started_by_id_mut(group.request_id).and_then(PendingRequest::query_parts) {
                Some((query, slot, statement)) => {
                    let columns = statement.columns.as_deref();
                    let mut run = Tuples::new(columns, unread);
                    match (columns, &mut slot.handler) {
                        (Some(columns), Some(_)) if columns.large => {
                            while let Some(row) = run.next()? {
                                decode::descriptors(&columns.decoders, row)?;
                                query.buffered.rows.push(row.to_vec());
                            }
                        }
                        (Some(_), Some(handler)) if !run.is_empty()? => room = handler.rows(cx, &mut run)?,
                        _ => {}
                    }
                    let taken = run.end()?;
                    query.rows += taken.rows;
                    taken
                }
                // A block that was requested ahead of the end.
                None => Tuples::new(None, unread).end()?,
            };
        self.reply.row_bytes += row_bytes;
        self.queue.note(group.request_id, room);
        Ok(bytes)
    }

    /// SQ_BLOB: a piece of a BYTE or TEXT value.
    pub(super) fn value_piece(&mut self, group: Group, piece: &[u8]) -> Result<(), Fatal> {
        let begins = !std::mem::replace(&mut self.reply.pieces, true);
        let Some(query) = self.pending(group.request_id).and_then(PendingRequest::query_mut) else { return Ok(()) };
        if begins {
            query.buffered.values.push(Vec::new());
        }
        let Some(value) = query.buffered.values.last_mut() else { return Ok(()) };
        if value.len() + piece.len() > limits::MESSAGE_BYTES {
            return Err(Fatal::peer("the server sent a BYTE or TEXT value of more than 1 GiB"));
        }
        value.extend_from_slice(piece);
        Ok(())
    }

    /// A block of rows has ended.
    pub(super) fn fetched(&mut self, cx: H::Context<'_>, group: Group, reply: Reply) -> Result<(), Fatal> {
        let Some((query, slot, statement)) = self.pending(group.request_id).and_then(PendingRequest::query_parts)
        else {
            return Ok(());
        };
        let first = query.fetched == Fetched::Nothing;
        if reply.dones > 0 || first {
            query.fetched = if reply.dones > 0 { Fetched::All } else { Fetched::Blocks };
        }
        let more = !query.is_ended();
        if first || more {
            statement.long.store(more, Ordering::Relaxed);
        }
        if let Some(error) = reply.error {
            query.fetched = Fetched::All;
            slot.fail(error);
        }
        if query.buffered.rows.is_empty() || slot.handler.is_none() || slot.failure.is_some() {
            self.next_block(group);
            return Ok(());
        }
        let Some(columns) = &statement.columns else { return Ok(()) };
        let mut any = false;
        for row in &query.buffered.rows {
            any |= !decode::descriptors(&columns.decoders, row)?.is_empty();
        }
        if any {
            query.go(RequestEvent::ValuesDescribed, Step::FetchLarge);
            return Ok(());
        }
        self.values_came(cx, group)
    }

    fn next_block(&mut self, group: Group) {
        let Some(pending) = self.pending(group.request_id) else { return };
        let stays_open = pending.request.cursor().is_some();
        let Some((query, slot, _)) = pending.query_parts() else { return };
        let is_over = query.is_ended() || slot.handler.is_none() || slot.failure.is_some() || stays_open;
        match query.step {
            // Blocks that were requested ahead.
            Step::Sent => {}
            _ if is_over => query.go(RequestEvent::LastBlock, Step::Sent),
            Step::FetchMore => {}
            _ => query.go(RequestEvent::BlockEnded, Step::FetchMore),
        }
    }

    /// A BYTE or TEXT value has ended.
    pub(super) fn value_came(&mut self, cx: H::Context<'_>, group: Group, reply: Reply) -> Result<(), Fatal> {
        let Some(pending) = self.pending(group.request_id) else { return Ok(()) };
        let last = pending.groups == 0;
        let Some((query, slot, _)) = pending.query_parts() else { return Ok(()) };
        match reply.error {
            Some(error) => slot.fail(error),
            // A value without bytes may come without a message.
            None if !reply.pieces => query.buffered.values.push(Vec::new()),
            None => {}
        }
        if last { self.values_came(cx, group) } else { Ok(()) }
    }

    /// The buffered rows have all their values.
    fn values_came(&mut self, cx: H::Context<'_>, group: Group) -> Result<(), Fatal> {
        let parts = self.queue.started_by_id_mut(group.request_id).and_then(PendingRequest::query_parts);
        let Some((query, slot, statement)) = parts else { return Ok(()) };
        let Buffered { rows, values } = std::mem::take(&mut query.buffered);
        if let (Some(columns), Some(handler), None) = (&statement.columns, &mut slot.handler, &slot.failure) {
            let room = handler.rows(cx, &mut BufferedRows::new(columns, &rows, &values))?;
            self.queue.note(group.request_id, room);
        }
        self.next_block(group);
        Ok(())
    }
}
