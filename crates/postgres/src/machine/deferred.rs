//! Results that cannot be decoded when they arrive.
//!
//! The simple protocol sends no description before a statement is executed, all its rows are text, and the text of a
//! composite value does not contain the types of its attributes; composite types with an attribute that has no binary
//! form here are always text. A statement whose columns another session has changed since it was described has columns
//! of types that are new to the connection, in the binary form that was requested for the earlier ones. From the first
//! result whose types have to be looked up, the messages of a request are deferred. Once the request has ended its types
//! are looked up, composite types each time, and the deferred messages are decoded.

use super::answer::Answer;
use super::pending::{Failure, PendingRequest, Stage};
use super::request::Request;
use super::run::DataRows;
use super::stage::RequestEvent;
use super::statement::Columns;
use super::work::Work;
use super::{Machine, PgHandler};
use crate::messages::backend::{self, Field, header};
use crate::messages::frontend;
use crate::messages::tag::backend as tag;
use crate::types::{self, Decoder, Oid, TypeRegistry, oid};
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, Mismatch, Room, Session, WriteBuffer};
use std::collections::VecDeque;
use std::sync::Arc;

/// Results that wait for their types.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// The messages as received; an empty RowDescription marks the start of a result with other columns.
    messages: Vec<u8>,
    /// The columns of each.
    results: VecDeque<Known>,
    /// The types of columns to look up.
    oids: Vec<Oid>,
    /// Those that values contain.
    inside: Vec<Oid>,
}

/// The registry when a result came.
#[derive(Clone, Debug)]
struct Known {
    fields: Vec<Field>,
    registry: TypeRegistry,
    /// The number of type alterations by the session at that time.
    alterations: u64,
    /// The response handler has rows of it already.
    is_begun: bool,
}

impl Deferred {
    /// Keeps a message.
    pub(super) fn keep(&mut self, tag: u8, body: &[u8]) {
        frontend::message(&mut self.messages, tag, |out| out.extend_from_slice(body));
    }

    /// Results from here on have these columns.
    fn describe(&mut self, columns: &Columns, registry: TypeRegistry, alterations: u64) {
        self.keep(tag::ROW_DESCRIPTION, &[]);
        self.results.push_back(Known { fields: columns.fields.clone(), registry, alterations, is_begun: false });
        self.oids.extend(&columns.unsure);
    }

    /// The next row of a batch has these columns.
    pub(super) fn turn(&mut self, columns: &Columns) {
        if let Some(Known { registry, alterations, .. }) = self.results.back().cloned() {
            self.describe(columns, registry, alterations);
        }
    }

    /// Adds the types that the values of the rows contain, and that are not known, to those that are looked up; returns
    /// true if there are any that were not among them.
    fn add_unknown_inside(&mut self, registry: &TypeRegistry) -> bool {
        let (mut rest, mut found) = (&self.messages[..], Vec::new());
        let mut results = self.results.iter();
        let mut columns = None;
        while let Ok(Some((tag, total))) = header(rest) {
            let (message, after) = rest.split_at(total);
            match (tag, &columns) {
                (tag::ROW_DESCRIPTION, _) => {
                    columns = results.next().map(|known| Columns::as_sent(registry, known.fields.clone()));
                }
                (tag::DATA_ROW, Some(columns)) => columns.unknown_inside(registry, &message[5..], &mut found),
                _ => {}
            }
            rest = after;
        }
        found.retain(|oid| !self.oids.contains(oid) && !self.inside.contains(oid));
        found.sort_unstable();
        found.dedup();
        self.inside.extend(&found);
        !found.is_empty()
    }

    /// The query for its types. A composite type that was altered since the transaction's snapshot matters only to values
    /// in text form: those in binary form contain the types that they have.
    fn query(&mut self) -> String {
        // Another request may have looked up what values contain: no type has the number 0.
        let mut oids = [&[oid::UNSPECIFIED][..], &self.oids, &self.inside].concat();
        oids.sort_unstable();
        oids.dedup();
        if self.oids.is_empty() { types::introspection_query(&oids) } else { types::introspection_query_after(&oids) }
    }
}

impl<H: PgHandler> Machine<H> {
    /// A script's result has these columns.
    pub(super) fn script_described(&mut self, cx: H::Context<'_>, fields: Vec<Field>) -> Result<(), Fatal> {
        let pending = self.front("RowDescription")?;
        // The last reported style of the server may be outdated; it is reported only at the end of a script.
        let order = if pending.may_set_style() { None } else { self.registry.date_order };
        let mut registry = self.registry.clone();
        registry.date_order = order;
        let columns = Arc::new(Columns::as_sent(&registry, fields));
        let alterations = self.counted.alterations;
        let pending = self.front("RowDescription")?;
        if !columns.unsure.is_empty() && pending.can_be_deferred() {
            pending.answer.deferred.get_or_insert_default();
        }
        if let Some(deferred) = &mut pending.answer.deferred {
            deferred.describe(&columns, registry, alterations);
        } else if let Some(handler) = &mut pending.slot.handler {
            handler.columns(cx, &columns);
        }
        pending.answer.columns = Some(columns);
        Ok(())
    }

    /// The first request's rows, which `unread` begins with, have columns that have to be looked up, or values that
    /// contain the numbers of types: the rows are deferred if types are not known.
    pub(super) fn defer_unknown(&mut self, unread: &[u8]) -> Result<(), Fatal> {
        let Some(pending) = self.queue.first_mut().filter(|pending| pending.can_be_deferred()) else { return Ok(()) };
        let Answer { columns: Some(columns), deferred, rows, .. } = &mut pending.answer else { return Ok(()) };
        let is_inside = columns.unsure.is_empty();
        if is_inside && !DataRows::new(columns, unread).has_unknown_inside(&self.registry)? {
            // A statement's plan knows the types that were known when it was made.
            if let Some(renewed) = columns.renewed(&self.registry) {
                *columns = Arc::new(renewed);
            }
            return Ok(());
        }
        let deferred = deferred.get_or_insert_default();
        deferred.describe(columns, self.registry.clone(), self.counted.alterations);
        if let Some(known) = deferred.results.back_mut() {
            known.is_begun = is_inside && *rows > 0;
        }
        Ok(())
    }

    /// A COPY out of the server has ended. Its rows were decoded as they came, with the types that were looked up
    /// before it: afterwards it is checked whether those types have changed.
    pub(super) fn defer_end_of_copy(&mut self) {
        let Some(PendingRequest { request: Request::Copy(copy), work: Work::Copy { looked_up: true }, answer, .. }) =
            self.queue.first_mut()
        else {
            return;
        };
        let Answer { columns: Some(columns), deferred, .. } = answer else { return };
        if !copy.into && !columns.unsure.is_empty() {
            deferred.get_or_insert_default().describe(columns, self.registry.clone(), self.counted.alterations);
        }
    }

    /// Ends the first request, unless its results are deferred.
    pub(super) fn settle_or_look_up(&mut self, cx: H::Context<'_>) {
        match self.queue.first() {
            Some(pending)
                if pending.answer.deferred.is_some()
                    && pending.slot.failure.is_none()
                    && pending.slot.handler.is_some() =>
            {
                self.look_up_later();
            }
            _ => self.settle_front(cx),
        }
    }

    /// The results of the first request are deferred: its types are looked up as soon as that can be sent.
    pub(super) fn look_up_later(&mut self) {
        let Some(mut pending) = self.queue.pop_front() else { return };
        let before = self.queue.last();
        pending.request = Request::LookUp { pipeline: before.and_then(|before| before.request.open_group()) };
        // One that was skipped owns them already.
        if let Some(deferred) = pending.answer.deferred.take() {
            pending.work = match pending.work {
                Work::Copy { .. } => Work::Check(deferred),
                _ => Work::Decode(deferred),
            };
        }
        pending.go(RequestEvent::ResultsDeferred, Stage::Queued);
        self.queue.put_back(pending);
    }

    /// Sends the query for the types of the request `at`.
    pub(super) fn look_up(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let PendingRequest { request, work: Work::Decode(deferred) | Work::Check(deferred), .. } = pending else {
            return;
        };
        deferred.add_unknown_inside(&self.registry);
        let out = write_buffer.tail();
        frontend::parse(out, "", &deferred.query(), &[]);
        frontend::bind_empty(out, "", "");
        frontend::execute(out, "", 0);
        if request.syncs() {
            frontend::sync(out);
        } else {
            frontend::flush(out);
        }
        self.registry.mark_requested(&deferred.oids);
        self.registry.mark_requested(&deferred.inside);
        pending.go(RequestEvent::StartLookUp, Stage::LookingUp { rows: Vec::new() });
    }

    /// The rows of the catalogue for the types of the first request's results have come.
    pub(super) fn types_are_known(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let pending = self.front("CommandComplete")?;
        let Stage::LookingUp { rows } = pending.go(RequestEvent::CatalogueRead, Stage::Sent) else { return Ok(()) };
        if let Some(row) = rows.iter().find(|row| row.get(2).is_some_and(|kind| kind.as_deref() == Some("x"))) {
            let name = row.get(1).and_then(|name| name.as_deref()).unwrap_or_default();
            let why = format!(
                "a value of the type {name} cannot be read: it came as text, and another session has altered the type since \
                 this transaction's snapshot; end the transaction, and ask again"
            );
            pending.slot.failure = Some(Failure::Client { error: Mismatch::out_of_range(why).into(), row: None });
            pending.work = Work::Nothing;
            self.registry.forget();
            return self.after_result(cx);
        }
        let changed = rows.iter().filter(|row| self.registry.learn(row)).count();
        if changed > 0 {
            // Plans made with earlier definitions of these types.
            self.forget_statements();
        }
        let registry = self.registry.clone();
        let pending = self.front("CommandComplete")?;
        if let Work::Check(deferred) = &pending.work {
            let same = |known: &Known| deferred.oids.iter().all(|oid| registry.agrees(&known.registry, *oid));
            if !deferred.results.iter().all(same) {
                let why = "a composite type was altered while its values were copied as text: copy them again";
                pending.slot.failure = Some(Failure::Client { error: Mismatch::out_of_range(why).into(), row: None });
            }
            pending.work = Work::Nothing;
        }
        if self.is_more_inside()? {
            return self.after_result(cx);
        }
        self.decode_deferred(cx)?;
        self.after_result(cx)
    }

    /// Returns true if values of the first request contain types that are not known, now that their own are: they are
    /// looked up next.
    fn is_more_inside(&mut self) -> Result<bool, Fatal> {
        let registry = self.registry.clone();
        let PendingRequest { work, answer, .. } = self.front("CommandComplete")?;
        let Work::Decode(deferred) = work else { return Ok(false) };
        if !deferred.add_unknown_inside(&registry) {
            return Ok(false);
        }
        answer.deferred = Some(std::mem::take(deferred));
        *work = Work::Nothing;
        Ok(true)
    }

    /// Decodes the deferred messages of the first request.
    fn decode_deferred(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let mut registry = self.registry.clone();
        let alterations = self.counted.alterations;
        let pending = self.front("CommandComplete")?;
        let Work::Decode(mut deferred) = std::mem::replace(&mut pending.work, Work::Nothing) else { return Ok(()) };
        let id = pending.slot.id;
        let Some(handler) = &mut pending.slot.handler else { return Ok(()) };
        let (mut rest, mut columns) = (&deferred.messages[..], None);
        // All rows are in memory already: a handler that is full takes the rest too.
        let mut room = Room::More;
        while let Some((tag, total)) = header(rest)? {
            let (message, after) = rest.split_at(total);
            let body = &message[5..];
            match tag {
                tag::ROW_DESCRIPTION => {
                    let Some(known) = deferred.results.pop_front() else { return Ok(()) };
                    registry.date_order = known.registry.date_order;
                    let is_begun = known.is_begun;
                    let described = columns.insert(Arc::new(known.columns(&registry, alterations)));
                    if !is_begun {
                        handler.columns(cx, described);
                    }
                }
                tag::DATA_ROW => {
                    let Some(columns) = &columns else { return Ok(()) };
                    let mut run = DataRows::new(columns, rest);
                    room = handler.rows(cx, &mut run)?;
                    rest = &rest[run.end()?.0..];
                    continue;
                }
                tag::COMMAND_COMPLETE => {
                    let tag = backend::command_complete(body)?;
                    handler.result(cx, Summary { tag, rows: backend::rows_of_tag(tag), ..Summary::default() });
                }
                tag::EMPTY_QUERY_RESPONSE => handler.result(cx, Summary::default()),
                tag::PORTAL_SUSPENDED => handler.result(cx, Summary { suspended: true, ..Summary::default() }),
                tag::COPY_OUT_RESPONSE => {
                    let (binary, columns) = backend::copy_response(body)?;
                    handler.bulk_ready(cx, binary, columns);
                }
                _ => room = handler.block(cx, body),
            }
            rest = after;
        }
        self.queue.note(id, room);
        Ok(())
    }
}

impl<H: PgHandler> PendingRequest<H> {
    /// Returns true if its results can be deferred: a COPY cannot, as the program that feeds it waits for its reply.
    fn can_be_deferred(&self) -> bool {
        self.slot.handler.is_some() && !matches!(self.request, Request::Script { copy: true, .. })
    }
}

impl Known {
    /// The columns, by the types known now.
    fn columns(self, registry: &TypeRegistry, alterations: u64) -> Columns {
        let mut columns = Columns::as_sent(registry, self.fields);
        let altered = self.alterations != alterations;
        for (decoder, field) in columns.decoders.iter_mut().zip(&columns.fields).filter(|(_, field)| field.format == 0)
        {
            let oid = field.type_oid;
            let unsure = altered && registry.has_composite(oid) && !registry.agrees(&self.registry, oid);
            if unsure || !registry.knows(oid) {
                *decoder = Decoder::Gone(registry.name(oid));
            }
        }
        columns
    }
}
