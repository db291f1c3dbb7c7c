//! Results of scripts that cannot be decoded when they come.
//!
//! The simple protocol has no description before the rows, all of them are text, and the text of a composite value does not
//! say what its attributes are. From the first result on whose types have to be looked up, a script's messages are held. Once
//! the script is over its types are looked up, composite types each time, and what was held is decoded.

use super::request::{Entry, Request, Stage};
use super::statement::Columns;
use super::{Machine, PgCaller};
use crate::messages::backend::{self, Field, header};
use crate::messages::frontend;
use crate::types::{self, Decoder, Oid, TypeRegistry};
use headrace_core::protocol::Summary;
use headrace_core::{Fatal, Outbox};
use std::collections::VecDeque;
use std::sync::Arc;

/// Results that wait for their types.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The messages, as the server sent them.
    messages: Vec<u8>,
    /// What was known when each result came.
    results: VecDeque<Known>,
    /// The types to look up.
    oids: Vec<Oid>,
}

/// What was known when a result came.
#[derive(Debug)]
struct Known {
    registry: TypeRegistry,
    /// How often the session had altered types.
    alterations: u64,
}

impl Held {
    /// Keeps a message.
    pub(super) fn keep(&mut self, tag: u8, body: &[u8]) {
        frontend::message(&mut self.messages, tag, |out| out.extend_from_slice(body));
    }
}

impl<C: PgCaller> Machine<C> {
    /// A script's result has these columns.
    pub(super) fn script_described(&mut self, cx: C::Cx<'_>, body: &[u8], fields: Vec<Field>) -> Result<(), Fatal> {
        let entry = self.front("RowDescription")?;
        // What the server last said of its style may be over; it tells only at the end of a script.
        let order = if entry.may_set_style() { None } else { self.registry.date_order };
        let oids: Vec<Oid> = fields.iter().map(|field| field.type_oid).collect();
        let unsure = if self.introspection { self.registry.unsure(&oids) } else { Vec::new() };
        let mut registry = self.registry.clone();
        registry.date_order = order;
        let columns = Arc::new(Columns::as_sent(&registry, fields));
        let alterations = self.alterations;
        let entry = self.front("RowDescription")?;
        if !unsure.is_empty() && matches!(entry.request, Request::Script { copy: false, .. }) && entry.caller.is_some()
        {
            entry.held.get_or_insert_default();
        }
        if let Some(held) = &mut entry.held {
            held.keep(b'T', body);
            held.results.push_back(Known { registry, alterations });
            held.oids.extend(unsure);
        } else if let Some(caller) = &mut entry.caller {
            caller.columns(cx, &columns);
        }
        entry.columns = Some(columns);
        Ok(())
    }

    /// The first entry's results are held: has their types looked up as soon as that can be sent.
    pub(super) fn look_up_later(&mut self) {
        let Some(mut entry) = self.queue.pop_front() else { return };
        self.started -= 1;
        let before = self.started.checked_sub(1).and_then(|at| self.queue.get(at));
        entry.request = Request::LookUp { pipeline: before.and_then(|before| before.request.open_group()) };
        entry.stage = Stage::Queued;
        self.queue.insert(self.started, entry);
    }

    /// Sends what looks up the types of the entry `at`.
    pub(super) fn look_up(&mut self, at: usize, outbox: &mut Outbox) {
        let Entry { request, held: Some(held), stage, .. } = &mut self.queue[at] else { return };
        let out = outbox.tail();
        frontend::parse(out, "", &types::introspection_query(&held.oids), &[]);
        frontend::bind_empty(out, "", "");
        frontend::execute(out, "", 0);
        if request.syncs() {
            frontend::sync(out);
        } else {
            frontend::flush(out);
        }
        *stage = Stage::Introspecting { rows: Vec::new(), statement: None };
        self.registry.mark_asked(&held.oids);
    }

    /// The catalogue has told what it knows of the types of the first entry's results.
    pub(super) fn types_are_known(&mut self, cx: C::Cx<'_>) -> Result<(), Fatal> {
        let entry = self.front("CommandComplete")?;
        let Stage::Introspecting { rows, .. } = std::mem::replace(&mut entry.stage, Stage::Sent) else { return Ok(()) };
        let changed = rows.iter().filter(|row| self.registry.learn(row)).count();
        if changed > 0 {
            // Plans that were made with what these types were.
            self.forget_statements();
        }
        self.decode_held(cx)?;
        self.after_result(cx)
    }

    /// Decodes what the first entry held.
    fn decode_held(&mut self, cx: C::Cx<'_>) -> Result<(), Fatal> {
        let mut registry = self.registry.clone();
        let alterations = self.alterations;
        let entry = self.front("CommandComplete")?;
        let Some(mut held) = entry.held.take() else { return Ok(()) };
        let Some(caller) = &mut entry.caller else { return Ok(()) };
        let (mut rest, mut columns) = (&held.messages[..], None);
        while let Some((tag, total)) = header(rest)? {
            let (message, after) = rest.split_at(total);
            let body = &message[5..];
            match tag {
                b'T' => {
                    let Some(known) = held.results.pop_front() else { return Ok(()) };
                    registry.date_order = known.registry.date_order;
                    let mut described = Columns::as_sent(&registry, backend::row_description(body)?);
                    let altered = known.alterations != alterations;
                    for (decoder, Field { type_oid: oid, .. }) in described.decoders.iter_mut().zip(&described.fields) {
                        let unsure = altered && registry.has_composite(*oid) && !registry.agrees(&known.registry, *oid);
                        if unsure || !registry.knows(*oid) {
                            *decoder = Decoder::Gone(registry.name(*oid));
                        }
                    }
                    caller.columns(cx, columns.insert(Arc::new(described)));
                }
                b'D' => {
                    rest = decode_rows(rest, columns.as_deref(), caller, cx)?;
                    continue;
                }
                b'C' => {
                    let tag = backend::command_complete(body)?;
                    caller.result(cx, Summary { tag, rows: backend::rows_of_tag(tag), ..Summary::default() });
                }
                b'I' => caller.result(cx, Summary::default()),
                b'H' => {
                    let (binary, columns) = backend::copy_response(body)?;
                    caller.bulk_ready(cx, binary, columns);
                }
                _ => caller.block(cx, body),
            }
            rest = after;
        }
        Ok(())
    }
}

/// Decodes the run of rows that `messages` begins with; what follows them.
fn decode_rows<'m, C: PgCaller>(
    messages: &'m [u8],
    columns: Option<&Columns>,
    caller: &mut C,
    cx: C::Cx<'_>,
) -> Result<&'m [u8], Fatal> {
    let decoders = columns.map_or(&[][..], |columns| &columns.decoders);
    let mut rest = messages;
    let mut sink = caller.rows(cx);
    while let Some((b'D', total)) = header(rest)? {
        let (message, after) = rest.split_at(total);
        types::decode_row(decoders, &message[5..], &mut sink)?;
        rest = after;
    }
    Ok(rest)
}
