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
use super::stage::{CatalogueRow, RequestEvent};
use super::statement::Columns;
use super::work::Work;
use super::{Machine, PgHandler};
use crate::limits;
use crate::messages::backend::{self, Field, ServerError, header};
use crate::messages::frontend;
use crate::messages::tag::{backend as tag, field};
use crate::types::{self, Decoder, Inside, Oid, Texts, TypeRegistry, oid};
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
    /// The types of columns have been looked up.
    is_looked_up: bool,
    /// It is a part of a portal's rows, which come in order.
    is_fetched: bool,
    /// Parts of values that are read only as text, of which the server is asked to make text next, or was asked.
    parts: Vec<(Oid, Vec<u8>)>,
    /// Those that it is asked about after them.
    next_parts: Vec<(Oid, Vec<u8>)>,
    /// What it has made of others.
    texts: Arc<Texts>,
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

    /// Finds out what has to be asked next about what the values of the rows contain; returns true if there is anything.
    fn find_unknown(&mut self, registry: &TypeRegistry) -> bool {
        if self.take_next_parts() {
            return true;
        }
        let mut registry = registry.clone();
        registry.set_texts(self.texts.clone());
        let (mut rest, mut found) = (&self.messages[..], Inside::default());
        let mut results = self.results.iter();
        let mut columns = None;
        while let Ok(Some((tag, total))) = header(rest) {
            let (message, after) = rest.split_at(total);
            match (tag, &columns) {
                (tag::ROW_DESCRIPTION, _) => {
                    columns = results.next().map(|known| Columns::as_sent(&registry, known.fields.clone()));
                    if let Some(columns) = &columns {
                        columns.find_forgotten(&registry, &mut found);
                    }
                }
                (tag::DATA_ROW, Some(columns)) => columns.find_unknown(&registry, &message[5..], &mut found),
                (tag::COPY_DATA, Some(columns)) => columns.find_unknown_copied(&registry, &message[5..], &mut found),
                _ => {}
            }
            rest = after;
        }
        let Inside { mut types, mut parts } = found;
        types.retain(|oid| !self.oids.contains(oid) && !self.inside.contains(oid));
        types.sort_unstable();
        types.dedup();
        self.inside.extend(&types);
        if types.is_empty() && (self.is_looked_up || self.oids.is_empty()) {
            parts.sort_unstable();
            parts.dedup();
            self.next_parts = parts;
        }
        self.take_next_parts() || !types.is_empty()
    }

    /// As many parts as fit into one question are those that the server is asked about next; returns false if none is left.
    fn take_next_parts(&mut self) -> bool {
        let mut bytes = 0;
        let fits = |part: &&(Oid, Vec<u8>)| {
            bytes += part.1.len();
            bytes <= limits::PARTS_BYTES
        };
        let fitting = self.next_parts.iter().rev().take(limits::PARTS).take_while(fits).count();
        // One that is larger goes alone.
        let left = self.next_parts.len().saturating_sub(fitting.max(1));
        self.parts = self.next_parts.split_off(left);
        !self.parts.is_empty()
    }

    /// Sends the question. A composite type that was altered since the transaction's snapshot matters only to values in
    /// text form: those in binary form contain the types that they have.
    fn ask(&self, out: &mut Vec<u8>) {
        if self.parts.is_empty() {
            // Another request may have looked up what values contain: no type has the number 0.
            let mut oids = [&[oid::UNSPECIFIED][..], &self.oids, &self.inside].concat();
            oids.sort_unstable();
            oids.dedup();
            let is_after = !self.oids.is_empty();
            let query =
                if is_after { types::introspection_query_after(&oids) } else { types::introspection_query(&oids) };
            frontend::parse(out, "", &query, &[]);
            frontend::bind_empty(out, "", "");
        } else {
            // Not a cast: a type may have a function for that, which writes something else than the text of a column.
            let rows: Vec<String> = (1..=self.parts.len()).map(|n| format!("(pg_catalog.concat(${n}))")).collect();
            let oids: Vec<Oid> = self.parts.iter().map(|(oid, _)| *oid).collect();
            let mut values = Vec::new();
            for (_, part) in &self.parts {
                values.extend_from_slice(&(part.len() as u32).to_be_bytes());
                values.extend_from_slice(part);
            }
            frontend::parse(out, "", &format!("VALUES {}", rows.join(",")), &oids);
            frontend::bind_encoded(out, "", &vec![1; oids.len()], &values);
        }
        frontend::execute(out, "", 0);
    }

    /// The server has made text of parts of values.
    fn take_texts(&mut self, rows: Vec<CatalogueRow>) -> Result<(), Fatal> {
        let parts = std::mem::take(&mut self.parts);
        if rows.len() != parts.len() {
            return Err(Fatal::peer("the server made text of another number of values"));
        }
        let texts = Arc::make_mut(&mut self.texts);
        for ((oid, part), row) in parts.into_iter().zip(rows) {
            let text = row.into_iter().next().flatten().unwrap_or_default();
            texts.entry(oid).or_default().insert(part, text.into_bytes());
        }
        Ok(())
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
            // A statement's plan has the types that were known when it was made.
            if let Some(renewed) = columns.renewed(&self.registry) {
                *columns = Arc::new(renewed);
            }
            return Ok(());
        }
        let deferred = deferred.get_or_insert_default();
        deferred.is_fetched = matches!(pending.request, Request::Fetch { .. });
        deferred.describe(columns, self.registry.clone(), self.counted.alterations);
        if let Some(known) = deferred.results.back_mut() {
            known.is_begun = is_inside && *rows > 0;
        }
        Ok(())
    }

    /// The rows of a COPY out of the server, of which `block` are the next: from the first on that contain what is not
    /// known they are deferred, to the end of the COPY, before which the server cannot be asked.
    pub(super) fn defer_unknown_copied(&mut self, block: &[u8]) -> Result<(), Fatal> {
        let (registry, alterations) = (&self.registry, self.counted.alterations);
        let Some(pending) = self.queue.first_mut().filter(|pending| pending.slot.handler.is_some()) else {
            return Ok(());
        };
        let (Request::Copy(_), Some(columns)) = (&pending.request, &pending.answer.columns) else { return Ok(()) };
        if let Some(deferred) = &pending.answer.deferred {
            if deferred.messages.len() > limits::COPY_DEFERRED_BYTES {
                let why = "the COPY has more rows than are kept until the types of values inside of its records are known: \
                           the first such value is of a type that this connection has not met, or that is read only as \
                           text; select the rows instead, or one with such a value before";
                pending.slot.failure = Some(Failure::Client { error: Mismatch::out_of_range(why).into(), row: None });
                pending.answer.deferred = None;
            }
        } else if columns.names_types() && pending.slot.failure.is_none() {
            let mut found = Inside::default();
            columns.find_unknown_copied(registry, block, &mut found);
            if !found.is_empty() {
                let columns = columns.clone();
                pending.answer.deferred.insert(Box::default()).describe(&columns, registry.clone(), alterations);
            }
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
                Work::Copy { .. } if deferred.oids.is_empty() => Work::Decode(deferred),
                Work::Copy { .. } => Work::Check(deferred),
                _ => Work::Decode(deferred),
            };
        }
        pending.go(RequestEvent::ResultsDeferred, Stage::Queued);
        self.queue.put_back_after(pending, |waiting| matches!(waiting.request, Request::LookUp { .. }));
        self.defer_fetches();
    }

    /// What was fetched ahead of a portal waits for the rows before it.
    fn defer_fetches(&mut self) {
        let (registry, alterations) = (&self.registry, self.counted.alterations);
        for at in 0..self.queue.started() {
            let PendingRequest { request: Request::Fetch { .. }, answer, slot, .. } = &mut self.queue[at] else {
                continue;
            };
            let Answer { columns: Some(columns), deferred: deferred @ None, rows: 0, results: 0, .. } = answer else {
                continue;
            };
            if slot.handler.is_some() && (columns.names_types() || !columns.unsure.is_empty()) {
                let deferred = deferred.insert(Box::default());
                deferred.is_fetched = true;
                deferred.describe(columns, registry.clone(), alterations);
            }
        }
    }

    /// Returns true if the first request is a part of a portal's rows, and parts before it are still looked up.
    fn is_behind(&self) -> bool {
        let Some(PendingRequest { slot, work: Work::Decode(deferred), .. }) = self.queue.first() else { return false };
        let is_before = |other: &PendingRequest<H>| {
            matches!(other.request, Request::LookUp { .. }) && other.slot.id < slot.id && other.slot.lane == slot.lane
        };
        deferred.is_fetched && self.queue.iter().any(is_before)
    }

    /// Sends the query for the types of the request `at`.
    pub(super) fn look_up(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let PendingRequest { request, work: Work::Decode(deferred) | Work::Check(deferred), .. } = pending else {
            return;
        };
        // What was asked, and skipped, is asked again.
        if !deferred.is_looked_up && deferred.inside.is_empty() && deferred.parts.is_empty() {
            deferred.find_unknown(&self.registry);
        }
        let out = write_buffer.tail();
        deferred.ask(out);
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
        if let Work::Decode(deferred) = &mut pending.work {
            deferred.is_looked_up = true;
            if !deferred.parts.is_empty() {
                deferred.take_texts(rows)?;
                return self.decode_or_ask(cx);
            }
        }
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
        self.decode_or_ask(cx)
    }

    /// Decodes the deferred messages of the first request, unless values contain more that cannot be read yet, now that
    /// their own types are known.
    fn decode_or_ask(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let registry = self.registry.clone();
        let is_behind = self.is_behind();
        let PendingRequest { work, answer, .. } = self.front("CommandComplete")?;
        if let Work::Decode(deferred) = work
            && (deferred.find_unknown(&registry) || is_behind)
        {
            answer.deferred = Some(std::mem::take(deferred));
            *work = Work::Nothing;
        } else {
            self.decode_deferred(cx)?;
        }
        self.after_result(cx)
    }

    /// Decodes the deferred messages of the first request.
    fn decode_deferred(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let mut registry = self.registry.clone();
        let alterations = self.counted.alterations;
        let pending = self.front("CommandComplete")?;
        let Work::Decode(mut deferred) = std::mem::replace(&mut pending.work, Work::Nothing) else { return Ok(()) };
        registry.set_texts(std::mem::take(&mut deferred.texts));
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

impl<H: PgHandler> PendingRequest<H> {
    /// The failure that it is if the server refuses a part of a record that it has sent itself. The statement has been
    /// executed: its error is another's.
    pub(super) fn refusal_of_parts(&self, error: &ServerError) -> Option<Failure<H>> {
        let Work::Decode(deferred) = &self.work else { return None };
        // A cancelled question, one of a transaction that has failed, and a session that ends have errors of their own.
        let is_of_values = matches!(error.sqlstate().get(..2), Some("0A" | "22" | "42" | "XX"));
        if deferred.parts.is_empty() || !is_of_values {
            return None;
        }
        let why = format!(
            "the server does not read values that it has sent inside of a record, to make text of them ({}): {}. Select \
             them as columns of their own, or as text",
            error.field(field::MESSAGE),
            types::EXECUTED
        );
        Some(Failure::Client { error: Mismatch::out_of_range(why).into(), row: None })
    }

    /// Returns true if rows of it, which have come, wait for their types.
    pub(super) fn has_deferred_rows(&self) -> bool {
        self.answer.deferred.is_some() || matches!(self.work, Work::Decode(_))
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
