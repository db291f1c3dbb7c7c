//! Batches whose values decide the types of their parameters, row by row, as they do for a statement executed alone.
//!
//! The values of a row choose a statement: the same text with other parameter types. Consecutive rows of the same types
//! share one; a row of other types continues with another statement in the same group, without a Sync and, if its
//! description is known, without waiting. If a value is only assigned to a column, and the assignment would convert it
//! to what is sent for the column's own type, the type is left to the server: whole numbers of all sizes then need one
//! statement.

use super::pending::PendingRequest;
use super::request::{Execute, ParameterRows, Prepare, Request};
use super::statement::{Lookup, Statement};
use super::work::{Preparation, Source, Work};
use super::{Machine, PgHandler, Server};
use crate::limits;
use crate::messages::frontend;
use crate::sql;
use crate::types::{self, Encoder, Oid, TypeKind, TypeRegistry, oid};
use headrace_core::{Parameters, Value, ValueKind, WriteBuffer};
use std::sync::Arc;

/// The types of a batch's rows, and the statements that it has used.
#[derive(Debug)]
pub(super) struct Typing {
    /// Only dates and times decide types.
    times_only: bool,
    /// The parameters that are only assigned to columns.
    assigned: Vec<bool>,
    /// The types of those columns, once the first description has come; 0 for all others.
    targets: Vec<Oid>,
    /// The types that the server has described for the parameters.
    described: Vec<Oid>,
    encoders: Vec<Encoder>,
    /// That description was in the cache.
    is_of_reused: bool,
    returns_rows: bool,
    /// The types of the current row.
    row: Vec<Oid>,
    /// The kinds of values in the row that `row` was read from, if the kind alone decides the type.
    kinds: Vec<Option<ValueKind>>,
    /// The current row has a value that can be encoded only once the server has reported its type.
    needs_description: bool,
    used: Vec<Used>,
    named: usize,
    /// The current unnamed statement.
    unnamed: Option<Arc<Statement>>,
    /// A statement that it has used came from the cache.
    has_reused: bool,
}

#[derive(Debug)]
struct Used {
    hints: Vec<Oid>,
    source: Source,
}

impl Typing {
    fn new(sql: &str, times_only: bool) -> Self {
        Self {
            times_only,
            assigned: sql::assigned(sql),
            targets: Vec::new(),
            described: Vec::new(),
            encoders: Vec::new(),
            is_of_reused: false,
            returns_rows: false,
            row: Vec::new(),
            kinds: Vec::new(),
            needs_description: false,
            used: Vec::new(),
            named: 0,
            unnamed: None,
            has_reused: false,
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
                ValueKind::Int => (!alike || target == Some(oid::FLOAT8)) && !self.times_only,
                ValueKind::List | ValueKind::Range | ValueKind::Multirange => true,
                _ => false,
            };
            self.kinds.push(Some(kind).filter(|_| !by_value));
            let hint = match alike {
                true => oid::UNSPECIFIED,
                false if self.times_only => types::time_hint(&value),
                false => types::hint_of(&value, kind),
            };
            let plain = matches!(kind, ValueKind::Null | ValueKind::Text | ValueKind::Custom);
            self.needs_description |= hint == 0 && !plain && !assigned;
            self.row.push(hint);
        }
        Ok(())
    }

    fn find(&self) -> Option<&Used> {
        self.used.iter().find(|used| used.hints == self.row && !(used.source.is_blind() && self.needs_description))
    }

    /// Records a statement. A named one is kept to the end of the batch, as long as the server keeps it.
    fn remember(&mut self, hints: Vec<Oid>, source: Source) {
        self.named += usize::from(!source.statement().name.is_empty());
        self.has_reused |= source.is_reused();
        if self.used.len() >= 4 * limits::BATCH_STATEMENTS {
            let oldest = self.used.iter().position(|used| used.source.statement().name.is_empty());
            self.used.remove(oldest.unwrap_or(0));
        }
        self.used.push(Used { hints, source });
    }

    /// Returns true if one more statement of this batch can have a name.
    pub(super) fn has_room(&self) -> bool {
        self.named < limits::BATCH_STATEMENTS
    }

    /// Returns true if statements that are not described are encoded by a description that was in the cache.
    pub(super) fn is_of_reused(&self) -> bool {
        self.is_of_reused
    }

    /// Returns true if the server has chosen types for a statement that it has used.
    pub(super) fn has_chosen_types(&self) -> bool {
        self.used.iter().any(|used| used.source.statement().has_chosen_types(&used.hints))
    }

    /// The statements that it has used may be outdated, and so may the types of the columns: the next statements are
    /// described.
    pub(super) fn renew(&mut self) {
        self.used.retain(|used| matches!(used.source, Source::Described(_)));
        self.encoders.clear();
    }

    /// Returns true if a statement that it has used came from the cache.
    pub(super) fn has_reused(&self) -> bool {
        self.has_reused
    }

    /// The statement that was prepared again for this batch, without waiting, and the types it was prepared with.
    pub(super) fn reprepared(&self) -> Option<(&[Oid], &Arc<Statement>)> {
        self.used.iter().find_map(|used| match &used.source {
            Source::Reprepared(statement) => Some((used.hints.as_slice(), statement)),
            _ => None,
        })
    }

    /// The types that statements of this batch were prepared with, and which are part of their keys in the cache.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[Oid]> {
        self.used.iter().filter(|used| !used.source.is_blind()).map(|used| used.hints.as_slice())
    }
}

/// From here on the server casts a FLOAT8 to another NUMERIC or text than the whole number has.
const FLOAT8_CASTS: u64 = 1_000_000_000_000_000;

/// Returns true if a value that is assigned to a column of the type `target` becomes the same there, whether it is sent
/// as the type that it has by itself or as the column's.
#[inline]
fn is_converted_alike<V: Value>(value: &V, kind: ValueKind, target: Oid) -> bool {
    match kind {
        ValueKind::Null | ValueKind::Text | ValueKind::Custom => true,
        // By now the column may be a NUMERIC or a text, to which the server casts 15 digits of a FLOAT8.
        ValueKind::Int if target == oid::FLOAT8 => value.int().is_ok_and(|n| n.unsigned_abs() < FLOAT8_CASTS),
        ValueKind::Int => matches!(target, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC),
        ValueKind::Json => matches!(target, oid::JSON | oid::JSONB),
        ValueKind::List => {
            let hint = types::hint_of(value, kind);
            hint == target
                || hint == 0
                || [hint, target].iter().all(|oid| oid::NUMBER_ARRAYS.contains(oid))
                || types::is_multirange_of(target, hint)
        }
        _ => {
            let hint = types::hint_of(value, kind);
            hint == target || hint == 0
        }
    }
}

/// The type that a domain restricts in the end.
fn base_of(registry: &TypeRegistry, mut oid: Oid) -> Oid {
    for _ in 0..limits::NESTING {
        match registry.kind(oid) {
            TypeKind::Domain { base, .. } => oid = base,
            _ => break,
        }
    }
    oid
}

impl<H: PgHandler> PendingRequest<H> {
    /// Takes the next row of a batch, unless one was taken and not sent; false after the last.
    pub(super) fn take_row(&mut self, cx: H::Context<'_>) -> Result<bool, H::Error> {
        let Work::Statement(Preparation { types_pending, .. }) = &mut self.work else { return Ok(false) };
        if !*types_pending {
            *types_pending = match &mut self.slot.handler {
                Some(handler) => handler.next_row(cx)?,
                None => false,
            };
        }
        Ok(*types_pending)
    }

    /// Begins a batch whose values decide the types: its first row chooses the first statement.
    pub(super) fn begin_typing(&mut self, cx: H::Context<'_>) -> Result<(), H::Error> {
        let Request::Execute(Execute { rows, sql, .. }) = &self.request else { return Ok(()) };
        let times_only = match rows {
            ParameterRows::TypedBatch => false,
            ParameterRows::TimeTypedBatch => true,
            ParameterRows::One | ParameterRows::Batch => return Ok(()),
        };
        let mut typing = Box::new(Typing::new(sql, times_only));
        if self.take_row(cx)?
            && let Some(handler) = &mut self.slot.handler
        {
            typing.read(&handler.params(cx))?;
        }
        if let Some(preparation) = self.preparation_mut() {
            preparation.hints.clone_from(&typing.row);
            preparation.typing = Some(typing);
        }
        Ok(())
    }

    /// Returns true if the current statement is the one that the current row chooses.
    #[inline]
    pub(super) fn suits(&mut self, cx: H::Context<'_>) -> Result<bool, H::Error> {
        match (&mut self.work, &mut self.slot.handler) {
            (Work::Statement(preparation), Some(handler)) if preparation.typing.is_some() => {
                preparation.suits(&handler.params(cx))
            }
            _ => Ok(true),
        }
    }
}

impl Preparation {
    /// Returns true if the statement is the one that a row chooses.
    #[inline]
    pub(super) fn suits<P: Parameters>(&mut self, row: &P) -> Result<bool, P::Error> {
        let Preparation { hints, source, typing: Some(typing), .. } = self else { return Ok(true) };
        typing.read(row)?;
        Ok(typing.row == *hints && !(source.as_ref().is_some_and(Source::is_blind) && typing.needs_description))
    }
}

impl<H: PgHandler> Machine<H> {
    /// The request `at` continues with a known statement: records the data that its batch needs of it.
    pub(super) fn note_statement(&mut self, at: usize) {
        let pending = &mut self.queue[at];
        let Work::Statement(Preparation { hints, source: Some(source), typing: Some(typing), .. }) = &mut pending.work
        else {
            return;
        };
        let statement = source.statement();
        let leaves_columns = || hints.iter().zip(&typing.assigned).all(|(oid, assigned)| *oid == 0 || !assigned);
        if typing.encoders.is_empty() && leaves_columns() {
            let is_assigned = |i: usize| typing.assigned.get(i) == Some(&true);
            let target = |(i, oid): (usize, &Oid)| if is_assigned(i) { base_of(&self.registry, *oid) } else { 0 };
            typing.targets = statement.parameters.iter().enumerate().map(target).collect();
            typing.described.clone_from(&statement.parameters);
            typing.encoders.clone_from(&statement.encoders);
            typing.is_of_reused = source.is_reused();
            typing.returns_rows = statement.columns.is_some() || statement.describes_portal();
            typing.kinds.clear();
        }
        if statement.name.is_empty() {
            typing.unnamed = Some(statement.clone());
        }
        typing.remember(hints.clone(), source.clone());
    }

    /// Continues with the statement that the current row of the batch `at` chooses; returns false if the server has to
    /// describe it first.
    pub(super) fn change_statement(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let (is_changing, constants) = (self.is_changing(at), self.counted.constants);
        let pending = &mut self.queue[at];
        let Request::Execute(execute) = &pending.request else { return true };
        let Work::Statement(Preparation { hints, source, typing: Some(typing), .. }) = &mut pending.work else {
            return true;
        };
        hints.clone_from(&typing.row);
        let next = if let Some(used) = typing.find() {
            used.source.clone()
        } else if let Some(known) = self
            .statements
            .get(&(execute.sql.as_ref(), hints.as_slice()) as &dyn Lookup)
            .filter(|known| !known.describes_portal() && (self.server == Server::Own || known.is_same_everywhere()))
            .cloned()
            // The rows before this one are in flight, so a refusal by the server ends the batch.
            .filter(|known| !self.statements.is_outdated(known))
            .filter(|known| !is_changing && known.counted.constants == constants)
        {
            let known = Source::Cached(known);
            typing.remember(hints.clone(), known.clone());
            known
        } else if typing.needs_description || typing.returns_rows || typing.encoders.is_empty() {
            self.describe(at, write_buffer);
            return false;
        } else {
            let named = execute.prepare == Prepare::Named && self.statements.capacity() > 0 && typing.has_room();
            let mut name = String::new();
            // An encoder is of the type that it was described for, which the column need not have any more: the server is
            // told which it is.
            let of_type = |(i, oid): (usize, &Oid)| match typing.described.get(i) {
                Some(described) if *oid == 0 && typing.assigned.get(i) == Some(&true) => *described,
                _ => *oid,
            };
            let parameters: Vec<Oid> = hints.iter().enumerate().map(of_type).collect();
            if named {
                name = self.names_of_statements.next_name();
                // The Close is sent once the batch has ended: the statement has no description, so no other request can
                // use it.
                self.statements.close_name(name.clone());
                frontend::parse(write_buffer.tail(), &name, &execute.sql, &parameters);
            }
            let encoder = |(i, oid): (usize, &Oid)| match typing.encoders.get(i) {
                Some(encoder) if *oid == 0 && typing.assigned.get(i) == Some(&true) => encoder.clone(),
                _ => Encoder::new(&self.registry, *oid),
            };
            let encoders = hints.iter().enumerate().map(encoder).collect();
            let draft = Statement::draft(name, execute.sql.clone(), self.statements.epoch(), self.counted);
            let blind = Source::Blind(Arc::new(Statement { parameters, encoders, ..draft }));
            typing.remember(hints.clone(), blind.clone());
            blind
        };
        let statement = next.statement().clone();
        if statement.name.is_empty() && !typing.unnamed.as_ref().is_some_and(|now| Arc::ptr_eq(now, &statement)) {
            frontend::parse(write_buffer.tail(), "", &statement.sql, &statement.parameters);
            typing.unnamed = Some(statement.clone());
        }
        *source = Some(next);
        pending.columns_from_here(cx, statement.columns.as_ref());
        true
    }

    /// Forgets every statement that the request `at` has used.
    pub(super) fn forget_used(&mut self, at: usize, on_the_server: bool) {
        let Some(pending) = self.queue.get(at) else { return };
        let Some(sql) = pending.statement().map(|statement| statement.sql.clone()) else { return };
        let used = pending.typing().into_iter().flat_map(Typing::keys);
        let keys: Vec<Vec<Oid>> = std::iter::once(pending.hints()).chain(used).map(<[Oid]>::to_vec).collect();
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
