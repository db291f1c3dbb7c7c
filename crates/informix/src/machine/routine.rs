//! The fast path: routines called by a handle, which is requested once; and the content of smart large objects, whose
//! functions are called that way.

use super::pending::{Failure, Stage};
use super::request::{Expect, Group, Reply, Request};
use super::run::BufferedRows;
use super::stage::RequestEvent;
use super::statement::Columns;
use super::{IfxHandler, Logging, Machine};
use crate::messages::client;
use crate::messages::server::Field;
use crate::messages::server::Returned;
use crate::types::decode::{Decoder, Inner};
use crate::types::{code, encode, returned};
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, Mismatch, Parameters, WriteBuffer};
use std::sync::Arc;

/// The call of a routine.
#[derive(Debug)]
pub(super) struct Handle {
    database: Vec<u8>,
    number: i32,
    arguments: Vec<Option<Field>>,
}

impl<H: IfxHandler> Machine<H> {
    /// Sends the first group of a request about a routine or an object.
    pub(super) fn start_routine(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let (capabilities, codeset) = (self.capabilities, self.codeset);
        let pending = &mut self.queue[at];
        let request = pending.request.clone();
        match &request {
            Request::Routine { signature, .. } if self.routines.contains_key(signature) => {
                pending.go(RequestEvent::StartKnown, Stage::Bindable);
            }
            Request::Routine { signature, .. } => match codeset.encode(signature.as_bytes()) {
                Ok(text) if client::fits(&text, capabilities) => {
                    client::get_routine(write_buffer.tail(), &text, capabilities);
                    client::eot(write_buffer.tail());
                    pending.go(RequestEvent::StartPrepare, Stage::Preparing);
                    self.expect(Expect::GetRoutine);
                }
                _ => pending
                    .refuse("the routine's signature is too long, or has characters that the code set of the database does not have".into()),
            },
            Request::ReadObject { object, bytes } => {
                client::read_object(write_buffer.tail(), *object, *bytes);
                client::eot(write_buffer.tail());
                self.expect(Expect::Object);
            }
            Request::WriteObject { object, data } => {
                client::write_object(write_buffer.tail(), *object, data);
                client::eot(write_buffer.tail());
                self.expect(Expect::Object);
            }
            _ => {}
        }
    }

    /// The handle is known: calls the routine.
    pub(super) fn call_routine(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let codeset = self.codeset;
        let Some(at) = self.queue.last_at() else { return };
        let pending = &mut self.queue[at];
        let Request::Routine { signature, begin } = &pending.request else { return };
        let (Some(handle), Some(handler)) = (self.routines.get(signature), &mut pending.slot.handler) else {
            return pending.go(RequestEvent::Abandoned, Stage::Sent);
        };
        let params = handler.params(cx);
        let (given, expected) = (params.count(), handle.arguments.len());
        let mut group = Vec::new();
        client::call_routine(&mut group, &handle.database, handle.number, given as u16);
        let bound = if given == expected {
            encode::bind(&params, &handle.arguments, true, codeset, &mut group)
        } else {
            Err(Mismatch::wrong_type(format!("the routine has {expected} arguments, and {given} were given")).into())
        };
        drop(params);
        if let Err(error) = bound {
            pending.slot.failure = Some(Failure::Client { error, row: None });
            return pending.go(RequestEvent::Refused, Stage::Sent);
        }
        let begin = *begin;
        pending.go(RequestEvent::Executed, Stage::Sent);
        if begin && !self.transaction.is_open_ahead() && self.logging != Logging::None {
            self.begin(write_buffer);
        }
        write_buffer.tail().extend_from_slice(&group);
        client::eot(write_buffer.tail());
        self.expect(Expect::Routine);
    }

    /// The reply to SQ_GETROUTINE.
    pub(super) fn got_routine(&mut self, group: Group, database: &[u8], number: i32) {
        let Some(pending) = self.pending(group.request_id) else { return };
        let Request::Routine { signature, .. } = &pending.request else { return };
        let signature = signature.clone();
        let arguments = returned::arguments(&signature);
        self.routines.insert(signature, Handle { database: database.to_vec(), number, arguments });
    }

    /// SQ_FPROUTINE: one row.
    pub(super) fn returned(&mut self, cx: H::Context<'_>, group: Group, values: &[Returned<'_>]) -> Result<(), Fatal> {
        let (decoders, row) = returned::row(values, self.capabilities);
        let fields = values.iter().map(|value| value.field.clone()).collect();
        self.give_row(cx, group, fields, decoders, row)
    }

    /// SQ_LODATA: the bytes read from an object, as one value.
    pub(super) fn read_object(&mut self, cx: H::Context<'_>, group: Group, pieces: &[&[u8]]) -> Result<(), Fatal> {
        let field = Field { name: "data".into(), type_word: code::BYTE, ..Field::default() };
        let mut row = vec![0];
        let size: usize = pieces.iter().map(|piece| piece.len()).sum();
        row.reserve(size + 4);
        row.extend_from_slice(&(size as u32).to_be_bytes());
        pieces.iter().for_each(|piece| row.extend_from_slice(piece));
        self.give_row(cx, group, vec![field], vec![Decoder::Envelope(Inner::Bytes)], row)
    }

    /// SQ_LODATA: the number of bytes written to an object.
    pub(super) fn wrote_object(&mut self, cx: H::Context<'_>, group: Group, bytes: i32) {
        if let Some(handler) = self.pending(group.request_id).and_then(|pending| pending.slot.handler.as_mut()) {
            handler.result(cx, Summary { rows: u64::try_from(bytes).ok(), ..Summary::default() });
        }
    }

    fn give_row(
        &mut self,
        cx: H::Context<'_>,
        group: Group,
        fields: Vec<Field>,
        decoders: Vec<Decoder>,
        row: Vec<u8>,
    ) -> Result<(), Fatal> {
        let columns = Arc::new(Columns::of_row(fields, decoders, self.codeset));
        let Some(handler) = self.pending(group.request_id).and_then(|pending| pending.slot.handler.as_mut()) else {
            return Ok(());
        };
        handler.columns(cx, &columns);
        let room = handler.rows(cx, &mut BufferedRows::new(&columns, &[row], &[]))?;
        self.queue.note(group.request_id, room);
        Ok(())
    }

    /// The end of a reply about a routine or an object.
    pub(super) fn routine_answered(&mut self, group: Group, reply: Reply) {
        let known = matches!(
            self.pending(group.request_id).map(|pending| pending.request.clone()),
            Some(Request::Routine { signature, .. }) if self.routines.contains_key(&signature)
        );
        let Some(pending) = self.pending(group.request_id) else { return };
        if let Some(error) = reply.error {
            pending.slot.failure.get_or_insert(Failure::Server { error, row: None });
        }
        match (pending.stage(), &pending.slot.failure) {
            (Stage::Preparing, None) if known => pending.go(RequestEvent::Described, Stage::Bindable),
            (Stage::Preparing, _) => pending.go(RequestEvent::Error, Stage::Sent),
            _ => {}
        }
    }
}
