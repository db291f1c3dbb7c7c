//! Prepared statements and portals of a client.

use super::memory::MemoryReservation;
use super::replies::Failure;
use super::requests::Running;
use super::sql::{Action, ClientStatement};
use super::types::TargetColumn;
use crate::lock;
use headrace_io::rows::Datum;
use headrace_postgres::types::Format;
use std::sync::{Arc, Mutex};

/// A prepared statement. The server's own is prepared when it is first needed, and kept with its connection.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) statement: ClientStatement,
    /// The memory of its text.
    _held: MemoryReservation,
    /// Its columns, once the server has described them; `None` in it for a statement without rows.
    described: Mutex<Option<Option<Vec<TargetColumn>>>>,
}

impl Prepared {
    pub(super) fn new(statement: ClientStatement, held: MemoryReservation) -> Result<Self, Failure> {
        let described = match &statement.action {
            Action::Refused(failure) => return Err(failure.clone()),
            Action::Answer(answer) => Some(answer.columns.clone()),
            // COPY has none, nor have verbs.
            Action::Server(server) if server.copy.is_some() => Some(None),
            Action::Server(_) => None,
            Action::Empty | Action::Transaction(_) => Some(None),
        };
        Ok(Self { statement, _held: held, described: Mutex::new(described) })
    }

    pub(super) fn is_described(&self) -> bool {
        lock(&self.described).is_some()
    }

    /// Its columns, if they are known.
    pub(super) fn described(&self) -> Option<Option<Vec<TargetColumn>>> {
        lock(&self.described).clone()
    }

    pub(super) fn set_columns(&self, columns: Option<Vec<TargetColumn>>) {
        *lock(&self.described) = Some(columns);
    }

    pub(super) fn columns(&self) -> Option<Vec<TargetColumn>> {
        lock(&self.described).clone().flatten()
    }
}

/// A portal.
#[derive(Debug)]
pub(super) struct Portal<E> {
    pub(super) prepared: Arc<Prepared>,
    /// In the order of the server's placeholders.
    pub(super) values: Vec<Datum>,
    /// The memory of `values`.
    pub(super) held: Option<MemoryReservation>,
    pub(super) formats: Vec<Format>,
    /// It was executed.
    pub(super) is_done: bool,
    /// It was executed up to a number of rows. Until they were sent, what it runs is in the queue.
    pub(super) is_limited: bool,
    /// It has rows that the client has not asked for yet.
    pub(super) running: Option<Running<E>>,
}

impl<E> Portal<E> {
    pub(super) fn new(
        prepared: Arc<Prepared>,
        values: Vec<Datum>,
        held: Option<MemoryReservation>,
        formats: Vec<Format>,
    ) -> Self {
        Self { prepared, values, held, formats, is_done: false, is_limited: false, running: None }
    }

    /// Returns true if the server has not sent all of its rows.
    pub(super) fn is_unfinished(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.is_over())
    }
}
