//! Batches whose values decide the types of their parameters, row by row, as they do for a statement executed alone.
//!
//! The values of a row choose a statement: the same text with other parameter types. Consecutive rows of the same types share
//! one; a row of other types goes on with another in the same group, without a Sync and, where the server has nothing to
//! tell that is not known, without waiting. Where a value is only assigned to a column, and the assignment would
//! convert it to what is sent for the column's own type, the type is left to the server: whole numbers of all sizes then
//! need one statement.

use super::entry::Entry;
use super::request::{Execute, Prepare, Request};
use super::statement::{Lookup, Statement};
use super::{Machine, PgCaller, Server};
use crate::messages::frontend;
use crate::sql;
use crate::types::{self, Encoder, Kind, Oid, TypeRegistry};
use headrace_core::{Outbox, Parameters, Value, ValueKind, limits};
use std::sync::Arc;

/// What a batch knows of the types of its rows, and of the statements that it has used.
#[derive(Debug)]
pub(super) struct Typing {
    /// The parameters that are only assigned to columns.
    assigned: Vec<bool>,
    /// The types of those columns, once the first description has told; 0 for all else.
    targets: Vec<Oid>,
    encoders: Vec<Encoder>,
    returns_rows: bool,
    /// The types of the current row.
    row: Vec<Oid>,
    /// What kinds of values the row had that `row` was read from, where the kind alone decides the type.
    kinds: Vec<Option<ValueKind>>,
    /// The current row has a value that can be encoded only once the server has told its type.
    needs_description: bool,
    used: Vec<Used>,
    named: usize,
    /// What the unnamed statement is at present.
    unnamed: Option<Arc<Statement>>,
    current_is_blind: bool,
}

#[derive(Debug)]
struct Used {
    hints: Vec<Oid>,
    statement: Arc<Statement>,
    /// The server has not described it: it was prepared and bound without waiting.
    blind: bool,
}

impl Typing {
    fn new(sql: &str) -> Self {
        Self {
            assigned: sql::assigned(sql),
            targets: Vec::new(),
            encoders: Vec::new(),
            returns_rows: false,
            row: Vec::new(),
            kinds: Vec::new(),
            needs_description: false,
            used: Vec::new(),
            named: 0,
            unnamed: None,
            current_is_blind: false,
        }
    }

    /// Reads the types of a row. A row of the same kinds as the one before has the same types.
    #[inline]
    fn read<P: Parameters>(&mut self, params: &P) -> Result<(), P::Error> {
        let count = params.count();
        let mut same = 0;
        if count == self.kinds.len() {
            while same < count && self.kinds[same] == Some(params.get(same)?.kind()) {
                same += 1;
            }
        }
        if same == count && !self.kinds.is_empty() { Ok(()) } else { self.read_all(params) }
    }

    fn read_all<P: Parameters>(&mut self, params: &P) -> Result<(), P::Error> {
        self.row.clear();
        self.kinds.clear();
        self.needs_description = false;
        for i in 0..params.count() {
            let value = params.get(i)?;
            let kind = value.kind();
            let assigned = self.assigned.get(i).copied().unwrap_or(false);
            let target = self.targets.get(i).copied();
            let alike = assigned && target.is_none_or(|target| is_converted_alike(&value, kind, target));
            let by_value = match kind {
                ValueKind::Int => !alike,
                ValueKind::List | ValueKind::Range | ValueKind::Multirange => true,
                _ => false,
            };
            self.kinds.push(Some(kind).filter(|_| !by_value));
            let hint = if alike { 0 } else { types::hint_of(&value, kind) };
            let plain = matches!(kind, ValueKind::Null | ValueKind::Text | ValueKind::Custom);
            self.needs_description |= hint == 0 && !plain && !assigned;
            self.row.push(hint);
        }
        Ok(())
    }

    fn find(&self) -> Option<&Used> {
        self.used.iter().find(|used| used.hints == self.row && !(used.blind && self.needs_description))
    }

    /// Remembers a statement. What has a name is kept to the end of the batch: the server keeps it as long.
    fn remember(&mut self, hints: Vec<Oid>, statement: Arc<Statement>, blind: bool) {
        self.named += usize::from(!statement.name.is_empty());
        if self.used.len() >= 4 * limits::BATCH_STATEMENTS {
            let oldest = self.used.iter().position(|used| used.statement.name.is_empty());
            self.used.remove(oldest.unwrap_or(0));
        }
        self.used.push(Used { hints, statement, blind });
    }

    /// Whether one more statement of this batch can have a name.
    pub(super) fn has_room(&self) -> bool {
        self.named < limits::BATCH_STATEMENTS
    }

    /// The types that statements of this batch were asked for with, and are in the cache by.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[Oid]> {
        self.used.iter().filter(|used| !used.blind).map(|used| used.hints.as_slice())
    }
}

/// Whether a value that is assigned to a column of the type `target` becomes the same there, be it sent as the type that it
/// shows by itself, or as the column's.
#[inline]
fn is_converted_alike<V: Value>(value: &V, kind: ValueKind, target: Oid) -> bool {
    match kind {
        ValueKind::Null | ValueKind::Text | ValueKind::Custom => true,
        ValueKind::Int => matches!(target, 20 | 21 | 23 | 701 | 1700),
        ValueKind::Json => matches!(target, 114 | 3802),
        ValueKind::List => {
            let hint = types::hint_of(value, kind);
            hint == target || hint == 0 || (is_int_array(hint) && is_int_array(target))
        }
        _ => {
            let hint = types::hint_of(value, kind);
            hint == target || hint == 0
        }
    }
}

fn is_int_array(oid: Oid) -> bool {
    matches!(oid, 1005 | 1007 | 1016 | 1231)
}

/// The type that a domain restricts in the end.
fn base_of(registry: &TypeRegistry, mut oid: Oid) -> Oid {
    for _ in 0..limits::NESTING {
        match registry.kind(oid) {
            Kind::Domain { base } => oid = base,
            _ => break,
        }
    }
    oid
}

impl<C: PgCaller> Entry<C> {
    /// Takes the next row of a batch, unless one was taken and not sent; false after the last.
    pub(super) fn take_row(&mut self, cx: C::Cx<'_>) -> Result<bool, C::Error> {
        if !self.pending {
            self.pending = match &mut self.slot.caller {
                Some(caller) => caller.next_row(cx)?,
                None => false,
            };
        }
        Ok(self.pending)
    }

    /// Begins a batch whose values decide: its first row chooses the first statement.
    pub(super) fn begin_typing(&mut self, cx: C::Cx<'_>) -> Result<(), C::Error> {
        let Request::Execute(Execute { rows: super::Rows::TypedBatch, sql, .. }) = &self.request else { return Ok(()) };
        let mut typing = Box::new(Typing::new(sql));
        if self.take_row(cx)?
            && let Some(caller) = &mut self.slot.caller
        {
            typing.read(&caller.params(cx))?;
        }
        self.hints.clone_from(&typing.row);
        self.typing = Some(typing);
        Ok(())
    }

    /// Whether the current statement is the one that the current row chooses.
    #[inline]
    pub(super) fn suits(&mut self, cx: C::Cx<'_>) -> Result<bool, C::Error> {
        let (Some(typing), Some(caller)) = (&mut self.typing, &mut self.slot.caller) else { return Ok(true) };
        typing.read(&caller.params(cx))?;
        Ok(typing.row == self.hints && !(typing.current_is_blind && typing.needs_description))
    }
}

impl<C: PgCaller> Machine<C> {
    /// The entry `at` goes on with a statement that is known: notes what its batch has to know of it.
    pub(super) fn note_statement(&mut self, at: usize, statement: &Arc<Statement>) {
        let entry = &mut self.queue[at];
        let Some(typing) = &mut entry.typing else { return };
        if typing.encoders.is_empty() {
            let assigned = &typing.assigned;
            let target = |(i, oid): (usize, &Oid)| match assigned.get(i) {
                Some(true) => base_of(&self.registry, *oid),
                _ => 0,
            };
            typing.targets = statement.parameters.iter().enumerate().map(target).collect();
            typing.encoders.clone_from(&statement.encoders);
            typing.returns_rows = statement.columns.is_some() || statement.describes_portal();
            typing.kinds.clear();
        }
        typing.current_is_blind = false;
        if statement.name.is_empty() {
            typing.unnamed = Some(statement.clone());
        }
        typing.remember(entry.hints.clone(), statement.clone(), false);
    }

    /// Goes on with the statement that the current row of the batch `at` chooses; false if the server has to describe it
    /// first.
    pub(super) fn change_statement(&mut self, at: usize, cx: C::Cx<'_>, outbox: &mut Outbox) -> bool {
        let entry = &mut self.queue[at];
        let (Some(typing), Request::Execute(execute)) = (&mut entry.typing, &entry.request) else { return true };
        entry.hints.clone_from(&typing.row);
        let (statement, blind) = if let Some(used) = typing.find() {
            (used.statement.clone(), used.blind)
        } else if let Some(known) = self
            .statements
            .get(&(execute.sql.as_ref(), entry.hints.as_slice()) as &dyn Lookup)
            .filter(|known| !known.describes_portal() && (self.server == Server::Own || known.is_same_everywhere()))
            .cloned()
            .filter(|known| !self.statements.is_outdated(known) || !known.has_chosen_types(&entry.hints))
        {
            entry.from_cache = true;
            typing.remember(entry.hints.clone(), known.clone(), false);
            (known, false)
        } else if typing.needs_description || typing.returns_rows {
            self.describe(at, outbox);
            return false;
        } else {
            let named = execute.prepare == Prepare::Named && self.statements.capacity() > 0 && typing.has_room();
            let mut name = String::new();
            if named {
                self.statement_number += 1;
                name = format!("headrace_{}", self.statement_number);
                // The Close goes out once the batch is over: nothing describes it, so nobody else can use it.
                self.statements.close_name(name.clone());
                frontend::parse(outbox.tail(), &name, &execute.sql, &entry.hints);
            }
            let encoder = |(i, oid): (usize, &Oid)| match typing.encoders.get(i) {
                Some(encoder) if *oid == 0 && typing.assigned.get(i) == Some(&true) => encoder.clone(),
                _ => Encoder::new(&self.registry, *oid),
            };
            let encoders = entry.hints.iter().enumerate().map(encoder).collect();
            let draft = Statement::draft(name, execute.sql.clone(), self.statements.epoch(), self.names);
            let statement = Arc::new(Statement { parameters: entry.hints.clone(), encoders, ..draft });
            typing.remember(entry.hints.clone(), statement.clone(), true);
            (statement, true)
        };
        typing.current_is_blind = blind;
        if statement.name.is_empty() && !typing.unnamed.as_ref().is_some_and(|now| Arc::ptr_eq(now, &statement)) {
            frontend::parse(outbox.tail(), "", &statement.sql, &statement.parameters);
            typing.unnamed = Some(statement.clone());
        }
        entry.columns_from_here(cx, statement.columns.as_ref());
        entry.statement = Some(statement);
        true
    }

    /// Forgets every statement that the first entry has used.
    pub(super) fn forget_used(&mut self, on_the_server: bool) {
        let Some(entry) = self.queue.first() else { return };
        let Some(sql) = entry.statement.as_ref().map(|statement| statement.sql.clone()) else { return };
        let used = entry.typing.iter().flat_map(|typing| typing.keys());
        let keys: Vec<Vec<Oid>> = std::iter::once(entry.hints.as_slice()).chain(used).map(<[Oid]>::to_vec).collect();
        for hints in keys {
            let key = (sql.as_ref(), hints.as_slice());
            if on_the_server {
                self.statements.forget(&key as &dyn Lookup);
            } else {
                self.statements.take(&key as &dyn Lookup);
            }
        }
    }
}
