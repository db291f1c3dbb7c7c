//! Cursors that stay open at the server: a page of rows is fetched whenever it is wanted, from any row on.
//!
//! Their statements are prepared for them alone, as the result belongs to the handle. With HOLDABLE a result survives the
//! commit of its transaction; the broker does not give the CAS to another client while there is one. A CAS that was lost
//! nevertheless has crashed: its cursors are forgotten.

use super::pages::Pages;
use super::pending::{PendingRequest, Stage};
use super::request::Request;
use super::stage::RequestEvent;
use super::statement::Statement;
use super::{CasHandler, Expect, Machine};
use crate::messages::client;
use headrace_core::{Mismatch, WriteBuffer};
use std::collections::HashMap;
use std::sync::Arc;

/// An open cursor.
#[derive(Debug)]
pub(super) struct Cursor {
    statement: Arc<Statement>,
    /// Rows of its result.
    total: i32,
}

/// The open cursors, by the numbers that the client has given them.
pub(super) type Cursors = HashMap<u64, Cursor>;

impl<H: CasHandler> Machine<H> {
    /// Returns true if a cursor is open as of what was answered.
    pub fn has_cursor(&self, number: u64) -> bool {
        self.cursors.contains_key(&number)
    }

    /// Starts a FETCH of one page, or the closing of a cursor.
    pub(super) fn start_cursor(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let info = self.info;
        let (pending, out) = (&mut self.queue[at], write_buffer.tail());
        match pending.request {
            Request::FetchAt { number, position } => {
                let Some(Cursor { statement, total }) = self.cursors.get(&number) else {
                    let reason = "the cursor is not open any more: the session has lost its process";
                    pending.refuse(Mismatch::wrong_type(reason).into());
                    return self.complete(cx, write_buffer);
                };
                if let (Some(columns), Some(handler)) = (&statement.columns, &mut pending.slot.handler) {
                    handler.columns(cx, columns);
                }
                client::fetch(out, info, statement.handle, position);
                pending.statement = Some(statement.clone());
                pending.go(RequestEvent::Opened, Stage::Reading { rows: 0, total: *total, pages: Pages::default() });
                self.expect(Expect::Page);
            }
            Request::CloseCursor { number } => {
                pending.go(RequestEvent::StartWhole, Stage::Sent);
                match self.cursors.remove(&number) {
                    // With its result, which has kept the broker from giving the CAS to another client.
                    Some(Cursor { statement, .. }) => {
                        client::close_req_handle(out, info, statement.handle, false);
                        self.expect(Expect::Simple);
                    }
                    None => self.complete(cx, write_buffer),
                }
            }
            _ => {}
        }
    }

    /// The first page of a cursor has come: it is open from now on.
    pub(super) fn opened(&mut self) {
        let Some(pending) = self.queue.first_mut() else { return };
        let Request::Open { number, .. } = pending.request else { return };
        let Some(statement) = pending.statement.clone() else { return };
        let is_wanted = pending.slot.handler.is_some();
        if let Stage::Reading { rows, total, .. } = pending.stage_mut()
            && is_wanted
        {
            // Its result has the number of rows there are, not how many have come.
            *rows = *total;
            self.cursors.insert(number, Cursor { statement, total: *total });
        }
    }

    /// A request is over. The statement of a cursor that was not opened is closed.
    pub(super) fn close_unopened(&mut self, pending: &PendingRequest<H>) {
        if let (Request::Open { number, .. }, Some(statement)) = (&pending.request, &pending.statement)
            && !self.cursors.contains_key(number)
        {
            self.statements.close(statement);
        }
    }
}
