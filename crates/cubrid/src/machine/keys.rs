//! The keys that an INSERT has generated, of all of its rows.

use super::pending::Stage;
use super::request::{Execute, ParameterRows, Request};
use super::run::PageRows;
use super::statement::Columns;
use super::{CasHandler, Expect, Machine};
use crate::messages::server::{GeneratedKeys, RowHead, ServerError};
use crate::messages::{Reader, client, function};
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, WriteBuffer};
use std::sync::Arc;

/// Returns true if the rows are numbered from 1, and have all of their keys. A CAS (11.3.2:
/// `ux_get_generated_keys_server_insert`) sometimes takes a row for an object of another class, most likely one that it
/// has read before at the same place. It sends no key of that, and the number of columns of the last row.
fn are_whole(keys: &GeneratedKeys, mut rows: Reader<'_>) -> bool {
    let mut position = 0;
    while !rows.rest().is_empty() {
        position += 1;
        let is_next = RowHead::read(&mut rows).is_ok_and(|head| head.position == position);
        if !is_next || !keys.fields.iter().all(|_| matches!(rows.cell(), Ok(Some(_)))) {
            return false;
        }
    }
    usize::try_from(position).is_ok_and(|rows| rows == keys.rows) && (keys.rows == 0 || !keys.fields.is_empty())
}

impl Request {
    /// Returns true if its result is the keys that it generates.
    pub(super) fn wants_keys(&self) -> bool {
        matches!(self, Request::Execute(Execute { rows: ParameterRows::Keys, .. }))
    }
}

impl<H: CasHandler> Machine<H> {
    /// The statement was executed: its keys are requested. They are gone after the end of the transaction.
    pub(super) fn request_keys(&mut self, write_buffer: &mut WriteBuffer) {
        let Some(pending) = self.queue.first_mut() else { return };
        let Some(statement) = &pending.statement else { return };
        pending.replies_due += 1;
        client::of_handle(write_buffer.tail(), self.info, function::GET_GENERATED_KEYS, statement.handle);
        self.expects.push_back(Expect::Keys);
    }

    /// The keys, as the rows of a result.
    pub(super) fn keys(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let read = GeneratedKeys::read(&mut reader);
        let Some(keys) = read.ok().filter(|keys| are_whole(keys, reader)) else {
            // The reply has an end, so that the connection is in step.
            self.failed(ServerError::unreported_keys());
            return Ok(());
        };
        let columns = Arc::new(Columns::new(keys.fields));
        let mut run = PageRows::new(&columns, reader.rest());
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some(handler) = &mut pending.slot.handler else { return run.end(keys.rows) };
        handler.columns(cx, &columns);
        let room = handler.rows(cx, &mut run)?;
        run.end(keys.rows)?;
        let tag = pending.statement.as_ref().map_or(&b""[..], |statement| statement.tag());
        handler.result(cx, Summary { tag, rows: Some(keys.rows as u64), ..Summary::default() });
        let id = pending.slot.id;
        self.queue.note(id, room);
        Ok(())
    }

    /// A statement whose keys are wanted has been executed: returns true if these are requested now.
    pub(super) fn goes_on_with_keys(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let wanted = self.queue.first_mut().is_some_and(|pending| {
            pending.request.wants_keys()
                && pending.slot.handler.is_some()
                && !matches!(pending.stage_mut(), Stage::Queued)
        });
        if wanted {
            self.request_keys(write_buffer);
        }
        wanted
    }
}
