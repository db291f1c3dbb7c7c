//! The rows of a query: asked for in blocks, ahead of their end; and the BYTE and TEXT values that they only name.

use super::entry::{Entry, State};
use super::request::{Asked, Group, Request};
use super::run::{HeldRows, Taken, Tuples};
use super::stage::Event;
use super::{IfxCaller, Machine};
use crate::limits as own;
use crate::messages::client;
use crate::types::decode;
use headrace_core::{Fatal, Outbox, Room, Slot};

impl<C: IfxCaller> Machine<C> {
    /// Asks for the next blocks, as many as may be in flight; for one where its rows only name some of their values.
    pub(super) fn fetch_more(&mut self, at: usize, outbox: &mut Outbox) {
        let size = self.buffer(own::FETCH_BYTES);
        let entry = &mut self.queue[at];
        if entry.state() == State::FetchMore {
            entry.go(Event::BlockAsked, State::Fetching);
        }
        let Some(statement) = entry.statement() else { return };
        let (id, groups) = (statement.id, entry.groups);
        let large = statement.columns.as_ref().is_none_or(|columns| columns.large);
        for _ in groups..if large { 1 } else { own::FETCHES_IN_FLIGHT } {
            client::id(outbox.tail(), id);
            client::nfetch(outbox.tail(), size);
            client::eot(outbox.tail());
            self.ask_for(at, Asked::Fetch);
        }
    }

    /// Asks for the next blocks while the first is still coming, if nothing else was asked for behind it.
    pub(super) fn read_ahead(&mut self, outbox: &mut Outbox) {
        let full = self.reply.row_bytes * 2 > own::FIRST_FETCH_BYTES as usize;
        let reading = self.groups.front().map(|group| group.entry);
        let Some(at) = self.queue.last_at() else { return };
        let entry = &self.queue[at];
        let whole = entry.request.cursor().is_none() && Some(entry.slot.id) == reading;
        if full && whole && entry.groups == 1 && entry.state() == State::Fetching && entry.slot.caller.is_some() {
            self.fetch_more(at, outbox);
        }
    }

    /// Asks for the BYTE and TEXT values of the rows that are held, one group each.
    pub(super) fn fetch_large(&mut self, at: usize, outbox: &mut Outbox) {
        let entry = &mut self.queue[at];
        let Some(statement) = entry.statement().cloned() else { return };
        let Some(columns) = &statement.columns else { return };
        let held = std::mem::take(&mut entry.held);
        let mut asked = 0;
        for row in &held {
            // Rows were checked when they came.
            for descriptor in decode::descriptors(&columns.decoders, row).unwrap_or_default() {
                let out = outbox.tail();
                client::id(out, statement.id);
                client::fetchblob(out, descriptor);
                client::eot(out);
                asked += 1;
            }
        }
        for _ in 0..asked {
            self.ask_for(at, Asked::Large);
        }
        let entry = &mut self.queue[at];
        entry.held = held;
        entry.go(Event::ValuesAsked, State::Fetching);
    }

    /// SQ_TUPLE: as many as are whole.
    pub(super) fn rows(&mut self, cx: C::Cx<'_>, unread: &[u8]) -> Result<usize, Fatal> {
        let group = self.group()?;
        if group.asked == Asked::LocaleFetch {
            return self.locale_row(unread);
        }
        if group.asked != Asked::Fetch {
            return Err(Fatal::peer("the server sent a row although none was asked for"));
        }
        let mut gone;
        let entry = match self.queue.started_by_id_mut(group.entry) {
            Some(entry) => entry,
            None => {
                // A block that was asked for ahead of the end.
                gone = Entry::new(Slot::own(0, 0), Request::Ping);
                &mut gone
            }
        };
        let columns = entry.statement().and_then(|statement| statement.columns.clone());
        let mut room = Room::More;
        let mut run = Tuples::new(columns.as_deref(), unread);
        match (&columns, &mut entry.slot.caller) {
            (Some(columns), Some(_)) if columns.large => {
                while let Some(row) = run.next()? {
                    decode::descriptors(&columns.decoders, row)?;
                    entry.held.push(row.to_vec());
                }
            }
            (Some(_), Some(caller)) if !run.is_empty()? => room = caller.rows(cx, &mut run)?,
            _ => {}
        }
        let Taken { bytes, rows, row_bytes } = run.end()?;
        entry.rows += rows;
        self.reply.row_bytes += row_bytes;
        self.queue.note(group.entry, room);
        Ok(bytes)
    }

    /// A block of rows is there.
    pub(super) fn block_ended(&mut self, cx: C::Cx<'_>, group: Group) -> Result<(), Fatal> {
        let Some(entry) = self.entry(group.entry) else { return Ok(()) };
        if !entry.held.is_empty() && entry.slot.caller.is_some() && entry.slot.failure.is_none() {
            let Some(columns) = entry.statement().and_then(|s| s.columns.clone()) else { return Ok(()) };
            let mut any = false;
            for row in &entry.held {
                any |= !decode::descriptors(&columns.decoders, row)?.is_empty();
            }
            if any {
                entry.go(Event::ValuesDescribed, State::FetchLarge);
                return Ok(());
            }
            return self.large_values_came(cx, group);
        }
        self.next_block(group);
        Ok(())
    }

    fn next_block(&mut self, group: Group) {
        let Some(entry) = self.entry(group.entry) else { return };
        let is_over = entry.ended
            || entry.slot.caller.is_none()
            || entry.slot.failure.is_some()
            || entry.request.cursor().is_some();
        match entry.state() {
            // Blocks that were asked for ahead.
            State::Sent => {}
            _ if is_over => entry.go(Event::LastBlock, State::Sent),
            State::FetchMore => {}
            _ => entry.go(Event::BlockEnded, State::FetchMore),
        }
    }

    /// The rows that were held have all their values.
    pub(super) fn large_values_came(&mut self, cx: C::Cx<'_>, group: Group) -> Result<(), Fatal> {
        let Some(entry) = self.entry(group.entry) else { return Ok(()) };
        let (held, large) = (std::mem::take(&mut entry.held), std::mem::take(&mut entry.large));
        let columns = entry.statement().and_then(|statement| statement.columns.clone());
        if let (Some(columns), Some(caller), None) = (columns, &mut entry.slot.caller, &entry.slot.failure) {
            let room = caller.rows(cx, &mut HeldRows::new(&columns, &held, &large))?;
            self.queue.note(group.entry, room);
        }
        self.next_block(group);
        Ok(())
    }
}
