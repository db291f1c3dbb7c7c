//! The server's description of a statement's parameters and rows, and the plan that is made from it.

use super::pending::{Failure, PendingRequest, Stage};
use super::request::{Prepare, Request};
use super::stage::{RequestEvent, Unsent};
use super::statement::{Columns, Key, Lookup, Statement};
use super::work::{PortalDescription, Source, Work};
use super::{Machine, PgHandler};
use crate::messages::backend::{self, Field, ServerError};
use crate::messages::frontend;
use crate::types::{self, Encoder, Oid};
use headrace_core::{Fatal, Parameters, Session, WriteBuffer};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

impl<H: PgHandler> Machine<H> {
    pub(super) fn parameter_description(&mut self, body: &[u8]) -> Result<(), Fatal> {
        let described = backend::parameter_description(body)?;
        match self.front("ParameterDescription")?.stage_mut() {
            Stage::Describing { parameters, .. } => *parameters = described,
            Stage::DescribingCopy { .. } => {}
            _ => return Err(Fatal::peer("the server sent ParameterDescription although no statement was described")),
        }
        Ok(())
    }

    pub(super) fn row_description(
        &mut self,
        cx: H::Context<'_>,
        body: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let fields = backend::row_description(body)?;
        let pending = self.front("RowDescription")?;
        if pending.portal_is_described() {
            return self.portal_described(cx, fields);
        }
        match pending.stage() {
            Stage::Describing { .. } => self.described(Some(fields), write_buffer),
            Stage::Introspecting { .. } | Stage::IntrospectingCopy { .. } | Stage::LookingUp { .. } => Ok(()),
            Stage::DescribingCopy { .. } => self.copy_query_described(cx, fields, write_buffer),
            _ if pending.request.is_script() => self.script_described(cx, fields),
            _ => Err(Fatal::peer("the server described rows although no description was requested")),
        }
    }

    /// The description of the portal that is about to be executed.
    fn portal_described(&mut self, cx: H::Context<'_>, fields: Vec<Field>) -> Result<(), Fatal> {
        let pending = self.front("RowDescription")?;
        let expected = pending.statement().and_then(|statement| statement.columns.clone());
        let columns = match expected.filter(|expected| expected.fields == fields) {
            Some(expected) => expected,
            None => {
                // The next execution requests the formats that suit these columns.
                self.forget_front();
                Arc::new(Columns::as_sent(&self.registry, fields))
            }
        };
        let pending = self.front("RowDescription")?;
        if let Some(handler) = &mut pending.slot.handler {
            handler.columns(cx, &columns);
        }
        pending.answer.columns = Some(columns);
        Ok(())
    }

    /// Takes the statement of the first request out of the cache; its Close is sent with the next request.
    fn forget_front(&mut self) {
        let Some((pending, statement)) = self.queue.first().and_then(|pending| Some((pending, pending.statement()?)))
        else {
            return;
        };
        self.statements.forget(&(statement.sql.as_ref(), pending.hints()) as &dyn Lookup);
    }

    /// The reply to Describe is complete.
    pub(super) fn described(
        &mut self,
        fields: Option<Vec<Field>>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let pending = self.front("NoData")?;
        let Stage::Describing { draft, parameters } = pending.stage_mut() else {
            return Err(Fatal::peer("the server sent NoData although no statement was described"));
        };
        let (draft, parameters) = (draft.clone(), std::mem::take(parameters));
        let statement = Arc::new(Statement {
            name: draft.name.clone(),
            sql: draft.sql.clone(),
            parameters,
            encoders: Vec::new(),
            epoch: draft.epoch,
            counted: draft.counted,
            shape: draft.shape,
            typed: false,
            unjoinable: AtomicBool::new(false),
            sets_path: draft.sets_path,
            sets_constants: draft.sets_constants,
            has_composites: false,
            columns: fields.map(|fields| Arc::new(Columns::undecoded(&self.registry, fields))),
        });
        let oids = statement.columns.iter().flat_map(|c| c.fields.iter().map(|f| f.type_oid));
        let mut missing =
            self.registry.missing(&oids.chain(statement.parameters.iter().copied()).collect::<Vec<Oid>>());
        // Values that have the names of attributes fit by them, and another session may have changed these.
        missing.extend(self.registry.unsure(&statement.parameters));
        if missing.is_empty() {
            self.plan(&statement, RequestEvent::Described, write_buffer);
            return Ok(());
        }
        let query = types::introspection_query(&missing);
        self.registry.mark_requested(&missing);
        let pending = self.front("NoData")?;
        // In the middle of a batch: Query would end its group, and commit what has been sent of it.
        let within = pending.answer.owed > 0 || pending.has_executed;
        let stage = Stage::Introspecting { rows: Vec::new(), statement, checked: false, within };
        pending.go(RequestEvent::DescribedUnknown, stage);
        let out = write_buffer.tail();
        match within {
            true => ask_catalogue(out, &query),
            false => frontend::query(out, "", &query),
        }
        Ok(())
    }

    /// Requests the composite types of the parameters of a request that is started, and whose statement is known: its
    /// values have the names of attributes, which another session may have changed. There is no Sync before Bind: the
    /// request may begin a transaction.
    pub(super) fn check_attributes(&mut self, at: usize, known: Source, write_buffer: &mut WriteBuffer) {
        let statement = known.statement().clone();
        let query = types::introspection_query(&self.registry.unsure(&statement.parameters));
        let pending = &mut self.queue[at];
        let Work::Statement(preparation) = &mut pending.work else { return };
        preparation.source = Some(known);
        pending.has_executed = true;
        let stage = Stage::Introspecting { rows: Vec::new(), statement, checked: true, within: true };
        pending.go(RequestEvent::StartTypes, stage);
        ask_catalogue(write_buffer.tail(), &query);
    }

    /// The catalogue's rows for the types of the first request's statement have come; the request can continue.
    pub(super) fn introspected(&mut self, write_buffer: &mut WriteBuffer) {
        let Some(pending) = self.queue.first_mut() else { return };
        let rows = pending.catalogue_rows().map(std::mem::take).unwrap_or_default();
        let mut has_changed = false;
        for row in &rows {
            has_changed |= self.registry.learn(row);
        }
        // What was known of a type may have been forgotten since the statement was planned, or learnt again for another one.
        if let Some(Stage::Introspecting { statement, checked: true, .. }) =
            self.queue.first().map(PendingRequest::stage)
        {
            let planned = statement.parameters.iter().zip(&statement.encoders);
            has_changed |= planned.into_iter().any(|(oid, known)| !Encoder::new(&self.registry, *oid).agrees(known));
        }
        if has_changed {
            // Plans of other statements were made with what was known of a type until now.
            self.forget_statements();
        }
        let Some(pending) = self.queue.first() else { return };
        match pending.stage() {
            Stage::Introspecting { checked: true, .. } if has_changed => self.describe(0, write_buffer),
            Stage::Introspecting { checked: true, .. } => {
                let unsent = Unsent::Described(write_buffer.mark());
                if let Some(pending) = self.queue.first_mut() {
                    pending.go(RequestEvent::CatalogueRead, Stage::Bindable { unsent });
                }
            }
            Stage::Introspecting { statement, .. } => {
                let statement = statement.clone();
                self.plan(&statement, RequestEvent::CatalogueRead, write_buffer);
            }
            // Outside of a transaction block the query has ended the transaction that the description was part of.
            _ => self.describe_copy(0, write_buffer),
        }
    }

    /// Takes the error of a look-up of the first request's types; returns it if it ends the group of messages, as any other
    /// error does. One that another attempt may not meet, as of a cancelled query, is the request's error, and the types
    /// are looked up again the next time: their values would otherwise be read as text for as long as the session lasts.
    /// After all others the request continues, with values of unknown types as text.
    pub(super) fn note_look_up_failed(&mut self, error: ServerError) -> Option<ServerError> {
        let Some(pending) = self.queue.first_mut() else { return Some(error) };
        // Rolled back, no resources, locked, intervention of an operator, system error.
        let is_passing = ["40", "53", "55", "57", "58"].iter().any(|class| error.sqlstate().starts_with(class));
        let (is_apart, described) = match pending.stage() {
            Stage::Introspecting { within, statement, checked, .. } => {
                (!within, (!checked).then(|| statement.name.clone()))
            }
            Stage::IntrospectingCopy { .. } => (true, None),
            Stage::LookingUp { .. } => {
                // Its Sync, if it has one of its own, has been sent.
                pending.go(RequestEvent::Error, Stage::Sent);
                (false, None)
            }
            _ => return Some(error),
        };
        if is_passing {
            self.registry.forget_requested();
            // The server keeps the statement, of which nothing is planned.
            if let Some(name) = described.filter(|name| !name.is_empty()) {
                self.statements.close_name(name);
            }
        }
        if !is_apart {
            return Some(error);
        }
        // ReadyForQuery follows.
        if is_passing {
            let row = pending.row();
            pending.slot.fail_row(Failure::Server { error, row });
        }
        None
    }

    /// The first request has failed in a look-up by Query, which is over. What follows in its group is skipped, as after
    /// any error.
    pub(super) fn skip_after_look_up(&mut self, cx: H::Context<'_>) {
        let Some(pending) = self.queue.first_mut() else { return };
        pending.skip_to(Stage::AwaitSync);
        let syncs = pending.request.syncs();
        self.skipping = true;
        if !syncs {
            self.settle_front(cx);
        }
    }

    /// Makes the plan of a described statement, caches it, and lets its request continue.
    fn plan(&mut self, described: &Statement, event: RequestEvent, write_buffer: &WriteBuffer) {
        let registry = &self.registry;
        let hints = self.queue.first().map_or(&[][..], PendingRequest::hints);
        let encoder = |(i, oid): (usize, &Oid)| {
            let encoder = Encoder::new(registry, *oid);
            if hints.get(i) == Some(&0) { encoder.open() } else { encoder }
        };
        let statement = Arc::new(Statement {
            name: described.name.clone(),
            sql: described.sql.clone(),
            encoders: described.parameters.iter().enumerate().map(encoder).collect(),
            parameters: described.parameters.clone(),
            epoch: described.epoch,
            counted: described.counted,
            shape: described.shape,
            typed: described.parameters.iter().enumerate().all(|(i, _)| hints.get(i).is_some_and(|hint| *hint != 0)),
            unjoinable: AtomicBool::new(false),
            sets_path: described.sets_path,
            sets_constants: described.sets_constants,
            has_composites: described.parameters.iter().any(|oid| registry.has_composite(*oid)),
            columns: described.columns.as_ref().map(|c| Arc::new(Columns::plan(registry, c.fields.clone()))),
        });
        let Some(pending) = self.queue.first_mut() else { return };
        let prepare = match &pending.request {
            Request::Execute(execute) => execute.prepare,
            _ => Prepare::Named,
        };
        let Work::Statement(preparation) = &mut pending.work else { return };
        let hints = preparation.hints.clone();
        preparation.source = Some(Source::Described(statement.clone()));
        let unsent = if pending.answer.owed > 0 { Unsent::Nothing } else { Unsent::Described(write_buffer.mark()) };
        pending.go(event, Stage::Bindable { unsent });
        let keep = match &pending.request {
            Request::DescribePortal { .. } => false,
            _ if prepare == Prepare::Unnamed => statement.name.is_empty(),
            _ => !statement.name.is_empty(),
        };
        if keep {
            self.statements.keep(Key { sql: statement.sql.clone(), hints }, statement);
        }
    }
}

/// Writes the query for types, without a Sync.
fn ask_catalogue(out: &mut Vec<u8>, query: &str) {
    frontend::parse(out, "", query, &[]);
    frontend::bind_empty(out, "", "");
    frontend::execute(out, "", 0);
    frontend::flush(out);
}

impl<H: PgHandler> PendingRequest<H> {
    /// Returns true if its values may fit a statement by the names of attributes: those of a batch, of which the first row
    /// alone could be read now, and those that have such names.
    pub(super) fn may_name_attributes(&mut self, cx: H::Context<'_>, statement: &Statement) -> bool {
        if !statement.has_composites || self.answer.owed > 0 || !matches!(self.request, Request::Execute(_)) {
            return false;
        }
        let is_batch = self.is_batch();
        let Some(handler) = &mut self.slot.handler else { return false };
        let params = handler.params(cx);
        is_batch
            || statement.encoders.iter().enumerate().any(|(i, encoder)| {
                i < params.count() && params.get(i).is_ok_and(|value| encoder.names_attributes(&value))
            })
    }

    /// Returns true if this is the description of its portal; it then counts as received.
    pub(super) fn portal_is_described(&mut self) -> bool {
        match &mut self.work {
            Work::Statement(preparation) if preparation.portal == PortalDescription::Awaited => {
                preparation.portal = PortalDescription::Unneeded;
                true
            }
            _ => false,
        }
    }
}
