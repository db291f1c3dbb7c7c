//! COPY: described and begun in one transaction, fed and ended.

use super::pending::Stage;
use super::request::{Copy, Request};
use super::stage::RequestEvent;
use super::statement::Columns;
use super::work::Work;
use super::{CopyState, Machine, PgHandler};
use crate::messages::backend::{self, Field, ServerError};
use crate::messages::frontend;
use crate::messages::tag::{self, StatementOrPortal};
use crate::types::{self, Encoder};
use headrace_core::protocol::BulkDirection;
use headrace_core::{Fatal, WriteBuffer};
use std::sync::Arc;

/// The reason that the server is given for the end of a COPY that only `copy()` and `copy_in()` feed.
const MISPLACED: &str = "COPY FROM STDIN has to be fed: use copy() or copy_in()";
/// The SQLSTATE of a COPY that the client has ended: `query_canceled`.
const ENDED: &str = "57014";

/// Returns true if an error is the server's answer to the end of a COPY that was misplaced, which repeats its reason in
/// any language, and not another that has come in its stead.
pub(super) fn is_of_misplaced(error: &ServerError) -> bool {
    error.sqlstate() == ENDED && error.field(tag::field::MESSAGE).contains(MISPLACED)
}

impl<H: PgHandler> Machine<H> {
    /// The state of the COPY of request `id`.
    pub fn copy_state(&self, id: u64) -> CopyState {
        match self.queue.by_id(id) {
            None => CopyState::Ended,
            Some(pending) if pending.slot.failure.is_some() => CopyState::Ended,
            // Its rows come once their types are known.
            Some(pending) if pending.has_deferred_rows() => CopyState::Waiting,
            Some(pending) => match pending.stage() {
                Stage::Copying => CopyState::Streaming,
                Stage::Sent if pending.answer.results > 0 => CopyState::Ended,
                _ => CopyState::Waiting,
            },
        }
    }

    /// Appends CopyData, written by `write`, to a COPY that is streaming; returns true if it was.
    pub fn copy_data(&mut self, id: u64, write_buffer: &mut WriteBuffer, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let streaming = self.copy_state(id) == CopyState::Streaming;
        if streaming {
            frontend::message(write_buffer.tail(), tag::frontend::COPY_DATA, write);
        }
        streaming
    }

    /// Ends a COPY, with a reason to make it fail. Does nothing if it has ended already.
    pub fn copy_end(&mut self, id: u64, write_buffer: &mut WriteBuffer, failure: Option<&str>) {
        if self.copy_state(id) != CopyState::Streaming {
            return;
        }
        match failure {
            None => frontend::copy_done(write_buffer.tail()),
            Some(reason) => frontend::copy_fail(write_buffer.tail(), reason),
        }
        if let Some(pending) = self.queue.by_id_mut(id) {
            pending.go(RequestEvent::CopyEnded, Stage::Sent);
            if !pending.request.is_script() {
                frontend::sync(write_buffer.tail());
            }
        }
    }

    /// Sends the request for the columns of the COPY that the last started request is. There is no Sync before its end,
    /// so that all of it is one transaction, and the table is locked from here on.
    pub(super) fn describe_copy(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let Request::Copy(copy) = &pending.request else { return };
        let out = write_buffer.tail();
        frontend::parse(out, "", &copy.query, &[]);
        frontend::describe(out, StatementOrPortal::Statement, "");
        if let Some(left_out) = &copy.left_out {
            frontend::parse(out, "", left_out, &[]);
            frontend::bind_empty(out, "", "");
            frontend::execute(out, "", 0);
        }
        frontend::flush(out);
        let event = match pending.stage() {
            Stage::IntrospectingCopy { .. } => RequestEvent::CatalogueRead,
            _ => RequestEvent::StartDescribeCopy,
        };
        pending.go(event, Stage::DescribingCopy { fields: None, left_out: Vec::new() });
    }

    /// The columns of the query have come, or it has none.
    pub(super) fn copy_query_described(
        &mut self,
        cx: H::Context<'_>,
        described: Vec<Field>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let pending = self.front("RowDescription")?;
        let Request::Copy(Copy { left_out, .. }) = &pending.request else { return Ok(()) };
        let whole = left_out.is_none();
        if let Stage::DescribingCopy { fields, .. } = pending.stage_mut() {
            *fields = Some(described);
        }
        if whole { self.copy_described(cx, write_buffer) } else { Ok(()) }
    }

    /// The columns of the COPY are known: chooses the format, and begins it.
    pub(super) fn copy_described(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let pending = self.front("RowDescription")?;
        let Stage::DescribingCopy { fields, left_out } = pending.stage_mut() else { return Ok(()) };
        let Some(mut fields) = fields.take() else {
            return Err(Fatal::peer("the server did not describe the columns of a COPY"));
        };
        fields.retain(|field| !left_out.contains(&field.number));
        let (looked_up, into) = (
            matches!(pending.work, Work::Copy { looked_up: true }),
            matches!(&pending.request, Request::Copy(copy) if copy.into),
        );
        let types = fields.iter().map(|field| field.type_oid).collect::<Vec<_>>();
        let mut missing = self.registry.missing(&types);
        if !looked_up && into {
            // Rows cannot be sent again, and values that have the names of attributes fit by them.
            missing = self.registry.unsure(&types);
        } else if missing.is_empty() && !looked_up {
            let planned = Columns::plan(&self.registry, fields.clone());
            if planned.fields.iter().any(|field| field.format == 0) {
                // Then all of it is text.
                missing.extend(Columns::as_text(&self.registry, planned.fields).unsure);
            }
        }
        if !missing.is_empty() {
            let query = types::introspection_query(&missing);
            self.registry.mark_requested(&missing);
            let pending = self.front("RowDescription")?;
            pending.work = Work::Copy { looked_up: true };
            pending.go(RequestEvent::DescribedUnknown, Stage::IntrospectingCopy { rows: Vec::new() });
            frontend::query(write_buffer.tail(), "", &query);
            return Ok(());
        }
        self.begin_copy(cx, fields, write_buffer);
        Ok(())
    }

    fn begin_copy(&mut self, cx: H::Context<'_>, fields: Vec<Field>, write_buffer: &mut WriteBuffer) {
        let registry = &self.registry;
        let Some(pending) = self.queue.first_mut() else { return };
        let Request::Copy(copy) = &pending.request else { return };
        let planned = Columns::plan(registry, fields);
        let binary = copy.binary.as_ref().filter(|_| match copy.into {
            true => planned.fields.iter().all(|field| Encoder::new(registry, field.type_oid).has_binary()),
            false => planned.fields.iter().all(|field| field.format == 1),
        });
        let columns = if binary.is_some() { planned } else { Columns::as_text(registry, planned.fields) };
        if pending.slot.handler.is_none() {
            // Discarded while it waited for its description.
            pending.go(RequestEvent::Abandoned, Stage::AwaitSync);
            return;
        }
        let out = write_buffer.tail();
        frontend::parse(out, "", binary.unwrap_or(&copy.text), &[]);
        frontend::bind_empty(out, "", "");
        frontend::execute(out, "", 0);
        if copy.into {
            // While it takes rows the server reads no Sync.
            frontend::flush(out);
            pending.go(RequestEvent::StartCopy, Stage::Opening);
        } else {
            frontend::sync(out);
            pending.go(RequestEvent::CopySent, Stage::Sent);
        }
        pending.answer.owed = 1;
        let columns = Arc::new(columns);
        pending.answer.columns = Some(columns.clone());
        if let Some(handler) = &mut pending.slot.handler {
            handler.columns(cx, &columns);
        }
    }

    /// The server is ready for the data of a COPY, or begins to send it.
    pub(super) fn copy_response(
        &mut self,
        cx: H::Context<'_>,
        tag: u8,
        body: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let (binary, columns) = backend::copy_response(body)?;
        let pending = self.front("CopyResponse")?;
        if pending.answer.copied.is_some() && matches!(pending.stage(), Stage::Opening) {
            return self.batch_ready(tag, write_buffer);
        }
        let wanted = matches!(pending.request, Request::Script { copy: true, .. } | Request::Copy(_));
        let described = pending.answer.columns.as_ref().filter(|_| matches!(pending.request, Request::Copy(_)));
        let differs = described.is_some_and(|described| described.fields.len() != columns);
        if tag != tag::backend::COPY_IN_RESPONSE && differs {
            return Err(Fatal::peer("the server copies another number of columns than it described"));
        }
        let comes = match pending.stage() {
            Stage::Opening | Stage::Sent => true,
            // Of a text that is executed for one row or many, and is refused.
            Stage::AwaitSync | Stage::Sending { .. } | Stage::Answering => !wanted,
            _ => false,
        };
        if !comes {
            return Err(Fatal::peer("the server began a COPY although none was sent"));
        }
        if tag == tag::backend::COPY_IN_RESPONSE && wanted && !differs && pending.slot.handler.is_some() {
            pending.go(RequestEvent::CopyInResponse, Stage::Copying);
            if let Work::Script { fed, .. } = &mut pending.work {
                *fed = true;
            }
        }
        match (tag, wanted && !differs, &mut pending.slot.handler) {
            (tag::backend::COPY_IN_RESPONSE, true, Some(handler)) => handler.bulk_ready(cx, binary, columns),
            (tag::backend::COPY_IN_RESPONSE, ..) => {
                let reason = match (wanted, differs) {
                    (true, true) => "the table has other columns than were described",
                    (true, false) => "cancelled by the client",
                    _ => MISPLACED,
                };
                frontend::copy_fail(write_buffer.tail(), reason);
                if !pending.request.is_script() {
                    // In the extended protocol the server ignores a Sync that comes earlier.
                    frontend::sync(write_buffer.tail());
                }
                pending.go(RequestEvent::CopyRefused, Stage::Sent);
            }
            _ => {
                if matches!(pending.stage(), Stage::Opening) {
                    pending.go(RequestEvent::CopyOutResponse, Stage::Sent);
                }
                match &mut pending.slot.handler {
                    Some(handler) if wanted => handler.bulk_ready(cx, binary, columns),
                    Some(handler) => handler.bulk_misplaced(cx, BulkDirection::Out),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Makes a COPY fail whose response handler was discarded; returns true if it did.
    pub(super) fn abandon_copy(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let Some(pending) = self.queue.last_mut().filter(|pending| pending.slot.handler.is_none()) else {
            return false;
        };
        pending.go(RequestEvent::CopyEnded, Stage::Sent);
        let extended = !pending.request.is_script();
        frontend::copy_fail(write_buffer.tail(), "cancelled by the client");
        if extended {
            frontend::sync(write_buffer.tail());
        }
        true
    }
}
