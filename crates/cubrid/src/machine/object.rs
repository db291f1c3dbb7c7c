//! Large objects: BLOB and CLOB, whose data the server keeps in files of its own. A value of a row is a handle.

use super::pending::Stage;
use super::request::Request;
use super::run::PageRows;
use super::stage::RequestEvent;
use super::statement::Columns;
use super::{CasHandler, Expect, Machine};
use crate::messages::description::{Field, Type};
use crate::messages::{Reader, client, server};
use crate::types::code;
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, Mismatch, WriteBuffer};
use std::sync::Arc;

impl<H: CasHandler> Machine<H> {
    /// Starts a request about a large object. One that is made or written to is part of the transaction, whose end
    /// deletes it unless a row has its handle.
    pub(super) fn start_object(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let (in_block, info) = (self.transaction.is_open_ahead(), self.info);
        let (pending, out) = (&mut self.queue[at], write_buffer.tail());
        match &pending.request {
            Request::NewObject { .. } | Request::WriteObject { .. } if !in_block => {
                let reason = "a BLOB or CLOB is made and written in a transaction: begin one first";
                pending.refuse(Mismatch::wrong_type(reason).into());
                return self.complete(cx, write_buffer);
            }
            Request::NewObject { is_text, .. } => {
                client::lob_new(out, info, i32::from(if *is_text { code::CLOB } else { code::BLOB }));
            }
            Request::ReadObject { handle, offset, bytes } => client::lob_read(out, info, handle, *offset, *bytes),
            Request::WriteObject { handle, offset, data } => client::lob_write(out, info, handle, *offset, data),
            _ => return,
        }
        pending.go(RequestEvent::StartWhole, Stage::Sent);
        self.expect(Expect::Object);
    }

    /// The reply: a handle or data, as one row of one value, or the number of bytes that were written.
    pub(super) fn object_reply(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        if let Request::WriteObject { .. } = pending.request {
            let written = server::result(&mut reader)?;
            if let Some(handler) = &mut pending.slot.handler {
                handler.result(cx, Summary { rows: u64::try_from(written).ok(), ..Summary::default() });
            }
            return Ok(());
        }
        let bytes = server::bytes(&mut reader)?;
        self.one_value(cx, code::VARBIT, bytes)
    }

    /// The version of the server, as one row of one value.
    pub(super) fn version(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let text = server::text(&mut reader)?;
        self.one_value(cx, code::VARCHAR, text)
    }

    /// The result of the first request is one row of one value, which is of this type.
    pub(super) fn one_value(&mut self, cx: H::Context<'_>, code: u8, bytes: &[u8]) -> Result<(), Fatal> {
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some(handler) = &mut pending.slot.handler else { return Ok(()) };
        let ty = Type { code, ..Type::default() };
        let columns = Arc::new(Columns::new(vec![Field { ty, name: "value".into(), ..Field::default() }]));
        let position = 1i32.to_be_bytes();
        let size = (bytes.len() as u32).to_be_bytes();
        let row = [&position[..], &[0; 8], &size, bytes].concat();
        handler.columns(cx, &columns);
        let room = handler.rows(cx, &mut PageRows::new(&columns, &row))?;
        handler.result(cx, Summary { rows: Some(1), ..Summary::default() });
        let id = pending.slot.id;
        self.queue.note(id, room);
        Ok(())
    }
}
